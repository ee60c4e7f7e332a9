"""import --ov-conf: what OpenViking would read, with each place that was asked and the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import Cli
from samples import memory, prompt


@pytest.fixture
def configured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ov.conf that names a folder of prompts and one of memory schemas."""
    for name in ("OPENVIKING_PROMPT_TEMPLATES_DIR", "OPENVIKING_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    for path, content in {
        "prompts/semantic/note.yaml": prompt(),
        "prompts/memory/habits.yaml": memory(),
        "types/customs.yaml": memory("customs"),
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    conf = {"prompts": {"templates_dir": "prompts"}, "memory": {"custom_templates_dir": "types"}}
    (folder / "ov.conf").write_text(json.dumps(conf))
    return folder


def test_what_is_configured_is_imported_and_each_place_told(cli: Cli, configured: Path) -> None:
    ran = cli("import", "--ov-conf", "ov.conf")
    assert ran.err.splitlines() == [
        "prompts: the call itself: not set",
        "prompts: OPENVIKING_PROMPT_TEMPLATES_DIR: not set",
        "prompts: prompts.templates_dir of ov.conf: prompts - taken",
        "prompts: bundled: the seed layer - taken for what the directory lacks",
        "memory: memory.custom_templates_dir of ov.conf: types - taken",
        "memory: the prompts' directory: prompts/memory - not taken: memory.custom_templates_dir of ov.conf is set",
        "memory: bundled: the seed layer - taken for what the directory lacks",
        "experimental memory: memory.experimental_memory_switch of ov.conf: not set",
    ]
    assert {row["key"] for row in cli("--format", "json", "list").lines} == {"semantic.note", "customs"}


def test_the_variable_goes_before_the_configuration_and_a_path_before_both(
    cli: Cli, configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENVIKING_PROMPT_TEMPLATES_DIR", "prompts")
    (configured / "other" / "semantic").mkdir(parents=True)
    (configured / "other" / "semantic" / "more.yaml").write_text(prompt("semantic.more"))
    err = cli("import", "--ov-conf", "ov.conf", "--dry-run").err
    assert "templates_dir of ov.conf: prompts - not taken: OPENVIKING_PROMPT_TEMPLATES_DIR goes before it" in err
    ran = cli("import", "other", "--ov-conf", "ov.conf", "--dry-run")
    assert "OPENVIKING_PROMPT_TEMPLATES_DIR: prompts - not taken: the call itself goes before it" in ran.err
    assert "semantic.more" in ran.out
    assert "customs" in ran.out


def test_where_nothing_is_configured_nothing_is_imported_or_pruned(cli: Cli, configured: Path) -> None:
    cli("import", "prompts")
    (configured / "empty.conf").write_text("{}")
    ran = cli("import", "--ov-conf", "empty.conf", "--prune")
    assert ran.out == ""
    assert "no directory is configured" in ran.err
    assert len(cli("--format", "json", "list").lines) == 2


def test_a_configured_directory_that_does_not_exist_is_an_error(cli: Cli, configured: Path) -> None:
    (configured / "bad.conf").write_text(json.dumps({"prompts": {"templates_dir": "nowhere"}}))
    assert "prompts.templates_dir of bad.conf names nowhere" in cli("import", "--ov-conf", "bad.conf", code=2).err


def test_an_import_needs_a_path_or_a_configuration(cli: Cli) -> None:
    assert "name the folder to import" in cli("import", code=2).err


def test_each_place_is_a_note_in_json(cli: Cli, configured: Path) -> None:
    err = cli("--format", "json", "import", "--ov-conf", "ov.conf").err
    notes = [json.loads(line)["note"] for line in err.splitlines()]
    assert notes[2] == "prompts: prompts.templates_dir of ov.conf: prompts - taken"


def test_a_whole_directory_of_openviking_goes_in_and_lists_by_stage(cli: Cli) -> None:
    cli("import", Path(__file__).parents[1] / "openviking" / "templates")
    listed = cli("--format", "json", "list", "--kind", "memory", "--stage", "user", "--enabled").lines
    assert [row["key"] for row in listed] == ["acquaintances", "habits", "identity", "recipes", "session_skills"]
