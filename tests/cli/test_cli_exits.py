"""Exit codes: each error of the library has its number, and nobody ever sees a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import Cli
from samples import memory, patch, prompt

from ovstore import errors
from ovstore.cli import exits


def concrete(kind: type[errors.OvstoreError]) -> list[type[errors.OvstoreError]]:
    return [kind, *(found for below in kind.__subclasses__() for found in concrete(below))]


def test_every_error_of_the_library_has_an_exit_code() -> None:
    for kind in concrete(errors.OvstoreError)[1:]:
        assert any(issubclass(kind, known) for known, _ in exits.CODES), kind


def test_findings_are_1_and_all_of_them_are_told(cli: Cli) -> None:
    broken = prompt(template="{{ q }} {{ undeclared }} {{ other }}")
    err = cli("publish", "-", code=1, text=broken).err
    assert "undeclared" in err
    assert "other" in err


def test_a_difference_is_1_and_none_is_0(cli: Cli) -> None:
    cli("publish", "-", text=prompt(template="One {{ q }}"))
    cli("publish", "-", text=prompt(template="Two {{ q }}"))
    cli("diff", "semantic.note", "1", "2", code=1)
    assert "no difference" in cli("diff", "semantic.note", "2", "2").err


def test_a_render_that_fails_is_1(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    ran = cli("render", "semantic.note", code=1)
    assert ran.out == ""
    assert "q" in ran.err


def test_what_is_not_there_is_3_with_near_names(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    assert "did you mean semantic.note?" in cli("show", "semantic.nota", code=3).err
    assert "no version 9" in cli("show", "semantic.note", "--version", "9", code=3).err
    cli("show", "semantic.note", "--label", "staging", code=3)


def test_another_version_than_expected_is_4(cli: Cli) -> None:
    cli("publish", "-", text=prompt(template="One {{ q }}"))
    ran = cli("publish", "-", "--expected", "0", code=4, text=prompt(template="Two {{ q }}"))
    assert "expected no override, found version 1" in ran.err


def test_nothing_left_to_roll_back_is_4(cli: Cli) -> None:
    cli("publish", "-", "--tenant", "acme", text=prompt())
    cli("rollback", "semantic.note", "--tenant", "acme", "--accept-risk", "high")
    cli("rollback", "semantic.note", "--tenant", "acme", code=4)


def test_a_risk_that_is_not_accepted_is_5_and_told_how_to_accept_it(cli: Cli) -> None:
    cli("publish", "-", text=memory())
    riskier = memory(directory="viking://user/{{ user_space }}/elsewhere")
    err = cli("publish", "-", code=5, text=riskier).err
    assert "directory" in err
    assert "--accept-risk very_high --reason TEXT" in err
    cli("publish", "-", "--accept-risk", "very_high", code=5, text=riskier)
    cli("publish", "-", "--accept-risk", "very_high", "--reason", "moved", text=riskier)


def test_overrides_above_that_would_break_are_5_and_told_how_to_keep_them(cli: Cli) -> None:
    cli("publish", "-", text=prompt(variables=("q", "r"), template="{{ q }} {{ r }}"))
    cli("publish", "-", "--tenant", "acme", text=patch("semantic.note", template="Acme {{ q }} {{ r }}"))
    narrower = prompt(variables=("q",), template="{{ q }}")
    given = ("--accept-risk", "high", "--reason", "r is gone")
    err = cli("publish", "-", *given, code=5, text=narrower).err
    assert "acme" in err
    assert "--freeze-dependents" in err
    cli("publish", "-", *given, "--freeze-dependents", text=narrower)
    assert cli("render", "semantic.note", "-v", "q=1", "-v", "r=2", "--tenant", "acme").out == "Acme 1 2"


def test_a_database_that_is_no_database_is_6(cli: Cli, folder: Path) -> None:
    (folder / "text.db").write_text("this is no database, only a text of some length\n" * 50)
    assert "not a SQLite database" in cli("--db", "sqlite:///text.db", "list", code=6).err


def test_a_failed_verify_is_1(cli: Cli, folder: Path) -> None:
    cli("publish", "-", text=prompt())
    (folder / "heads.json").write_text(json.dumps({"global": f"1.{'0' * 64}"}))
    ran = cli("verify", "--against", "heads.json", code=1)
    assert "global" in ran.out


def test_kept_heads_that_name_a_scope_twice_are_wrong_usage(cli: Cli, folder: Path) -> None:
    (folder / "heads.json").write_text('{"global": "1.0", "global": "2.0"}')
    assert "more than once in one object: global" in cli("verify", "--against", "heads.json", code=2).err


def test_a_fault_of_ovstore_itself_is_told_without_a_traceback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ovstore.store.Store.tenants", lambda self: 1 // 0)
    err = cli("tenants", code=exits.FAULT).err
    assert "ZeroDivisionError" in err
    assert "Traceback" not in err
    monkeypatch.setenv("OVSTORE_TRACEBACK", "1")
    assert "Traceback" in cli("tenants", code=exits.FAULT).err


def test_an_error_as_json_has_its_data(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    told = json.loads(cli("--format", "json", "show", "semantic.nota", code=3).err)
    assert told["error"] == "NotFoundError"
    assert told["near"] == ["semantic.note"]


def test_findings_as_json_are_the_findings(cli: Cli) -> None:
    told = json.loads(cli("--format", "json", "publish", "-", code=1, text="metadata: {}\n").err)
    assert told["error"] == "InvalidDocumentError"
    assert {"code", "severity", "message", "path", "line", "column", "hint"} == set(told["findings"][0])
