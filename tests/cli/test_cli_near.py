"""Mistyped names are noted beside an answer that stays as it is; what was meant is named within one scope alone."""

from __future__ import annotations

import json

import pytest
from running import Cli
from samples import prompt

UNKNOWN = "nothing was ever written to acmee; `ovstore tenants` lists to whom something was"


@pytest.fixture
def acme(cli: Cli) -> Cli:
    """A store in which acme and its workspace support have a prompt of their own."""
    for tenant in ("acme", "acme/support", "t-101"):
        cli("publish", "-", "--tenant", tenant, text=prompt(template=f"{tenant} {{{{ q }}}}"))
    return cli


@pytest.mark.parametrize(
    "command",
    [
        ("audit",),
        ("verify",),
        ("export", "out"),
        ("rollback", "--all", "--to", "2026-01-01T00:00:00Z", "--accept-risk", "high"),
    ],
)
def test_a_mistyped_tenant_is_noted_and_the_answer_is_as_it_was(acme: Cli, command: tuple[str, ...]) -> None:
    assert UNKNOWN in acme(*command, "--tenant", "acmee").err
    assert UNKNOWN not in acme(*command, "--tenant", "acme").err


def test_a_tenant_never_written_to_is_only_noted_where_its_own_is_asked_for(acme: Cli) -> None:
    assert "nothing was ever written" not in acme("show", "semantic.note", "--tenant", "acme/new").err
    assert "nothing was ever written to globex;" in acme("verify", "--tenant", "globex").err


def test_a_question_about_the_log_that_finds_nothing_names_what_is_near(acme: Cli) -> None:
    assert "did you mean semantic.note?" in acme("audit", "--key", "semantic.nota", "--tenant", "acme").err
    assert acme("audit", "--by", "anne").err == "no entry by anne; did you mean ann?\n"
    assert acme("audit", "--category", "semantc").err == "no entry in the category semantc; did you mean semantic?\n"
    assert acme("audit", "--by", "ann", "--risk", "very_high").err == "no entry\n"


def test_what_is_known_is_not_doubted_where_only_all_of_it_together_finds_nothing(acme: Cli) -> None:
    acme("publish", "-", "--seed", "--actor", "berta", text=prompt("semantic.other"))
    assert acme("audit", "--key", "semantic.note", "--by", "berta").err == "no entry\n"
    assert acme("audit", "--by", "berta", "--category", "semantic", "--risk", "high").err == "no entry\n"


def test_names_of_one_tenant_are_not_named_to_another(acme: Cli) -> None:
    acme("publish", "-", "--tenant", "acme", "--actor", "berta", text=prompt(template="{{ q }}"))
    assert acme("audit", "--by", "bert", "--tenant", "t-101").err == "no entry by bert\n"


def test_a_note_is_an_object_in_json(acme: Cli) -> None:
    notes = acme("--format", "json", "verify", "--tenant", "acmee").err.splitlines()
    assert json.loads(notes[0]) == {"note": UNKNOWN}


def test_a_list_of_a_category_that_is_not_there_names_what_is_near(acme: Cli) -> None:
    err = acme("list", "--category", "semantc", "--tenant", "acme").err
    assert err == "0 templates for acme\nno category semantc; did you mean semantic?\n"
    assert (
        acme("list", "--category", "semantic", "--kind", "memory", "--tenant", "acme").err == "0 templates for acme\n"
    )
