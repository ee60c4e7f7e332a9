"""JSON: the names of the results, one object, or one a line for lists."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from running import Cli
from samples import memory, patch, prompt

from ovstore import results
from ovstore.cli import output
from ovstore.planning import Plan


def names(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if not field.name.startswith("_")]


@pytest.fixture
def filled(cli: Cli) -> Cli:
    """A store with a prompt of two versions, a patch of acme and a memory schema."""
    cli("publish", "-", text=prompt(template="One {{ q }}"))
    cli("publish", "-", text=prompt(template="Two {{ q }}"))
    cli("publish", "-", text=memory())
    cli("publish", "-", "--tenant", "acme", text=patch("semantic.note", template="Acme {{ q }}"))
    return cli


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (("show", "semantic.note"), results.Resolved, 0),
        (("show", "semantic.note", "--source"), results.Version, 0),
        (("explain", "semantic.note", "--tenant", "acme"), results.Explanation, 0),
        (("diff", "semantic.note", "1", "2"), results.Diff, 1),
        (("render", "semantic.note", "-v", "q=1"), results.Rendered, 0),
        (("activate", "semantic.note", "1"), results.Move, 0),
        (("rollback", "semantic.note"), results.Move, 0),
        (("withdraw", "semantic.note", "--tenant", "acme"), results.Move, 0),
        (("migrate", "--check"), output.Schema, 0),
    ],
)
def test_one_answer_is_one_object_with_the_names_of_the_result(
    filled: Cli, arguments: tuple[str, ...], kind: Any, code: int
) -> None:
    assert list(filled("--format", "json", *arguments, code=code).json) == names(kind)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("list",), results.Listing),
        (("versions", "semantic.note", "--tenant", "acme"), results.Version),
        (("history", "semantic.note", "--tenant", "acme"), results.Entry),
        (("audit",), results.Entry),
        (("tenants",), results.Tenant),
        (("rollback", "--all", "--tenant", "acme", "--to", "2020-01-01T00:00:00Z"), results.Move),
        (("doctor",), output.Health),
    ],
)
def test_a_list_is_an_object_a_line_with_the_names_of_the_result(
    filled: Cli, arguments: tuple[str, ...], kind: Any
) -> None:
    code = 6 if arguments == ("doctor",) else 0
    lines = filled("--format", "json", *arguments, code=code).lines
    labels = ["labels"] if kind is results.Version else []
    assert lines
    assert all(list(line) == names(kind) + labels for line in lines)


def test_the_versions_of_a_key_come_with_their_labels(filled: Cli) -> None:
    filled("activate", "semantic.note", "1", "--label", "staging")
    found = {line["number"]: line["labels"] for line in filled("--format", "json", "versions", "semantic.note").lines}
    assert found == {2: ["live"], 1: ["staging"]}


def test_a_refused_document_has_a_short_message_and_its_findings_beside_it(cli: Cli) -> None:
    told = json.loads(cli("--format", "json", "publish", "-", code=1, text=prompt(template="{{ other }}")).err)
    assert told["message"] == "1 error"
    assert [finding["code"] for finding in told["findings"]] == ["unused-variable", "undeclared-variable"]


def test_publish_answers_with_published(cli: Cli) -> None:
    assert list(cli("--format", "json", "publish", "-", text=prompt()).json) == names(results.Published)


def test_a_dry_run_answers_with_the_plan_and_an_import_with_the_change_set(cli: Cli, folder: Path) -> None:
    (folder / "semantic").mkdir()
    (folder / "semantic" / "note.yaml").write_text(prompt())
    plan = cli("--format", "json", "import", ".", "--dry-run").json
    assert list(plan) == names(Plan)
    assert list(plan["rows"][0]) == names(results.PlanRow)
    done = cli("--format", "json", "import", ".").json
    assert list(done) == names(results.ChangeSet)
    assert list(done["moves"][0]) == names(results.Move)


def test_check_answers_with_a_finding_a_line(cli: Cli, folder: Path) -> None:
    (folder / "note.yaml").write_text(prompt(template="{{ q }} {{ a }} {{ b }}"))
    lines = cli("--format", "json", "check", ".", code=1).lines
    assert len(lines) >= 2
    assert all(list(line) == names(results.Finding) for line in lines)


def test_verify_answers_with_a_problem_a_line(filled: Cli, folder: Path) -> None:
    (folder / "heads.json").write_text(json.dumps({"global": f"1.{'0' * 64}"}))
    lines = filled("--format", "json", "verify", "--against", "heads.json", code=1).lines
    assert list(lines[0]) == names(results.Problem)


def test_heads_are_one_object_that_verify_takes(filled: Cli, folder: Path) -> None:
    ran = filled("--format", "json", "heads")
    assert set(ran.json) == {"acme", "global"}
    (folder / "heads.json").write_text(ran.out)
    assert filled("--format", "json", "verify", "--against", "heads.json").out == ""


def test_heads_as_text_are_taken_by_verify_too(filled: Cli, folder: Path) -> None:
    (folder / "heads.txt").write_text(filled("heads").out)
    filled("verify", "--against", "heads.txt")


def test_exported_files_are_told_an_object_a_line(filled: Cli) -> None:
    lines = filled("--format", "json", "export", "out", "--tenant", "acme").lines
    assert [Path(line["path"]).name for line in lines] == ["note.yaml"]


def test_notes_are_json_too(folder: Path, cli: Cli) -> None:
    cli("publish", "-", text=prompt(variables=({"name": "q", "type": "string", "description": "q", "max_length": 3},)))
    ran = cli("--format", "json", "render", "semantic.note", "-v", "q=long text")
    assert ran.json["text"] == "Note lon"
    assert "note" in json.loads(ran.err)


def test_json_is_utf_8_and_readable(cli: Cli) -> None:
    cli("publish", "-", text=prompt(template="Grüße {{ q }} 🙂"))
    assert "Grüße" in cli("--format", "json", "show", "semantic.note").out
