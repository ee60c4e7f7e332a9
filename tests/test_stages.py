"""What a template is for: known of every seed, by its category of everybody's own, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ovstore import bundled, documents, stages

SEEDS = sorted(bundled.folder("seed_templates").rglob("*.yaml"))


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_every_seed_has_a_stage_what_it_affects_and_what_to_run_again(path: Path) -> None:
    key = documents.parse(path.read_bytes()).key
    stage = stages.about(key)
    assert stage is not None, key
    assert stage.stage
    assert stage.affects
    assert stage.verify


def test_a_template_of_ones_own_has_the_stage_of_its_category() -> None:
    assert stages.about("semantic.ours") == stages.about("semantic.theirs")
    assert stages.about("ours") == stages.about("theirs")
    assert stages.about("semantic.ours") != stages.about("semantic.code_summary")


def test_nothing_is_known_of_a_category_of_ones_own() -> None:
    assert stages.about("support.answer") is None


def test_advice_is_that_of_the_category() -> None:
    assert stages.about("vision.table_understanding").verify == "parse a picture, a table or a scanned PDF again"
    assert stages.about("parsing.chapter_analysis").verify == "import the document again"
    assert stages.about("retrieval.intent_analysis").verify == "run the search again"
    assert stages.about("compression.ov_wm_v2").verify == "commit the session again"
