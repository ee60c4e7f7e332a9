"""The demo: the whole story, in seconds, and nothing of it stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from running import Cli, Ran, run
from samples import prompt


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(tmp_path_factory.mktemp("demo"))
        patched.setenv("OVSTORE_DB", "sqlite:///of-somebody-else.db")
        before = dict(os.environ)
        ran = run("demo")
        assert list(Path.cwd().iterdir()) == []
        assert dict(os.environ) == before
        return ran


def test_every_command_of_the_story_exits_as_the_story_says(told: Ran) -> None:
    assert told.code == 0


def test_each_command_is_shown_as_a_person_would_type_it(told: Ran) -> None:
    commands = [line.split()[2] for line in told.out.splitlines() if line.startswith("$ ovstore ")]
    first = "init list import publish render render explain diff"
    then = "publish render rollback render publish publish audit verify"
    assert commands == [*first.split(), *then.split()]


def test_two_tenants_get_two_texts(told: Ran) -> None:
    assert "You answer for Acme Ltd. Be formal, and never use first names." in told.out
    assert "You answer for our shop. Be brief and friendly." in told.out


def test_a_rollback_brings_the_first_text_back(told: Ran) -> None:
    after = told.out.partition("$ ovstore rollback")[2]
    assert "You answer for Acme Ltd. Be formal, and never use first names." in after
    assert "live 2 → 1" in after


def test_who_changed_merge_op_is_answered(told: Ran) -> None:
    audit = told.out.partition("$ ovstore audit --field merge_op\n")[2].partition("\n\n")[0]
    assert "ben" in audit
    assert 'fields[notes].merge_op  very_high  "patch" → "replace"' in audit
    assert "“notes are written anew each time”" in audit


def test_the_log_is_whole_at_the_end(told: Ran) -> None:
    assert "whole: every version, entry and label is as it was written" in told.out


def test_a_database_that_is_named_is_made_and_stays(folder: Path) -> None:
    run("--db", "sqlite:///demo.db", "demo")
    assert "acme" in run("--db", "sqlite:///demo.db", "tenants").out


def test_a_database_with_templates_of_somebody_is_left_alone(cli: Cli, sqlite_url: str) -> None:
    cli("publish", "-", "--tenant", "acme", text=prompt())
    assert "templates of acme" in cli("--db", sqlite_url, "demo", code=4).err
    assert cli("list").out == ""
