"""Promise 5 on the command line: no command tells a mark of another tenant, in its answers, notes or errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import pytest
from canaries import KEY, LETTERS, Tenant, marks, note, peopled, state
from click.testing import CliRunner, Result
from folders import contents, write
from samples import patch

import ovstore
from ovstore.cli import group

OF_NO_TENANT = {"check", "demo", "doctor", "heads", "init", "migrate", "schema", "tenants"}
"""Commands that take no tenant: of the machine, of files, or of every scope."""
REQUEST = '{"session_id": "s", "system_prompt": "x", "now": "2026-01-01T00:00:00Z", "memories": [{"id": "m", "content": "y"}]}'
WRITES = {"activate", "edit", "import", "publish", "rollback", "withdraw"}


@pytest.fixture
def tenants(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Tenant]]:
    monkeypatch.setenv("OVSTORE_DB", sqlite_url)
    monkeypatch.setenv("OVSTORE_ACTOR", "ann")
    monkeypatch.setenv("EDITOR", "true")
    with ovstore.open(sqlite_url) as store:
        yield peopled(store, LETTERS, tmp_path / "in")
        assert store.verify() == ()


def questions(own: Tenant, other: Tenant, folder: Path) -> dict[str, list[Sequence[object]]]:
    """By command what somebody asks who knows, or guesses, all names of another tenant."""
    mark = f"zq{LETTERS[other.name]}"
    borrowed = write(
        folder / "borrowed",
        {
            "patch.yaml": patch(other.key, template="mine"),
            "part.yaml": note("x", "semantic.mine").replace("xtext", f"{{% include 'shared.{mark}part' %}}"),
        },
    )
    request = write(folder / "request", {"request.json": REQUEST})
    moments = [other.revision, own.revision, other.at.isoformat()]
    why = ["--reason", "why", "--accept-risk", "very_high"]
    keys = [KEY, other.key, f"semantic.{mark}", "semantic.zzz"]
    labels = ["live", other.mark("label"), "lable"]
    asked: dict[str, list[Sequence[object]]] = {
        "list": [[], *(["--at", m] for m in moments), *(["--label", label] for label in labels)],
        "show": [[k, *more] for k in keys for more in ([], ["--source"], ["--version", other.reference])],
        "explain": [[k, *more] for k in keys for more in ([], ["--at", other.revision], ["--label", labels[1]])],
        "versions": [[k] for k in keys],
        "history": [[k] for k in keys],
        "diff": [[k, a, b] for k in keys for a, b in ((1, 2), (1, other.reference), (other.reference, "seed:1"))],
        "render": [
            [k, "-v", "q=x", *more] for k in keys for more in ([], ["--at", moments[0]], ["--label", labels[1]])
        ],
        "publish": [[borrowed / "patch.yaml", *why], [borrowed / "part.yaml", *why]],
        "edit": [[k] for k in keys],
        "activate": [[k, version, *why] for k in keys for version in (1, 9, other.reference)],
        "rollback": [
            *([k, *more, *why] for k in keys for more in ([], ["--to", 1], ["--to", 9])),
            *(["--all", "--to", moment, *why] for moment in (*moments, "2026-01-01T00:00:00Z")),
        ],
        "withdraw": [[k, *why, "--label", label] for k in keys[1:] for label in labels],
        "import": [[borrowed, "--dry-run"], [borrowed]],
        "export": [[folder / "out"], [folder / "out", other.key], [folder / "whole", "--effective"]],
        "audit": [
            [],
            ["--effective"],
            ["--key", other.key],
            ["--by", other.mark("actor")],
            ["--category", other.mark("category")],
            ["--field", other.mark("name")],
        ],
        "verify": [[]],
        "assemble": [[request / "request.json"]],
    }
    habits = [other.mark("habit"), f"{mark}habi", "zzz"]
    record = write(folder / "records", {"a.md": "text\n"})
    values = ["-v", "name=x", "-v", "content=y"]
    asked["memory path"] = [[kind, *values, "--user-space", "u"] for kind in habits]
    for name in ("content", "embedding"):
        asked[f"memory {name}"] = [[kind, *values] for kind in habits]
    asked["memory merge"] = [[kind, "--current", record / "a.md", "-v", "content=y"] for kind in habits]
    asked["memory impact"] = [[kind, "--with", "1", "--against", record] for kind in habits]
    return asked


def run(command: str, arguments: Sequence[object], tenant: str, form: str) -> Result:
    words = [*command.split(), *map(str, arguments), "--tenant", tenant, "--format", form]
    return CliRunner().invoke(group, words, prog_name="ovstore")


@pytest.mark.parametrize(("me", "them", "form"), [("globex", "acme", "text"), ("acme/bench", "acme/desk", "json")])
def test_no_command_tells_a_mark_of_another_tenant(
    tenants: Mapping[str, Tenant], sqlite_url: str, tmp_path: Path, me: str, them: str, form: str
) -> None:
    with ovstore.open(sqlite_url) as store:
        before = state(store, them)
        asked = questions(tenants[me], tenants[them], tmp_path)
        written: set[str] = set()
        for command, all_arguments in asked.items():
            for arguments in all_arguments:
                result = run(command, arguments, me, form)
                assert result.exit_code in range(7) and "Usage:" not in result.output, (
                    command,
                    arguments,
                    result.output,
                )
                known = marks([*map(str, arguments), contents(tmp_path / "borrowed")])
                if command in WRITES:
                    written |= known
                told = marks([result.output, result.stderr, contents(tmp_path / "out")])
                strange = {mark for mark in told - known - written if mark[2] == LETTERS[them]}
                assert strange == set(), (command, arguments, result.output)
        assert state(store, them) == before


def test_a_name_near_anothers_is_told_nothing_of_that_one(tenants: Mapping[str, Tenant], tmp_path: Path) -> None:
    asked: dict[str, list[object]] = {
        "list": [],
        "audit": [],
        "verify": [],
        "export": [tmp_path / "out"],
        "history": [KEY],
        "rollback": ["--all", "--to", "2026-01-01T00:00:00Z", "--reason", "x"],
    }
    for name in ("globexx", "acme/des"):
        for command, arguments in asked.items():
            words = run(command, arguments, name, "text").output.replace(";", " ").replace("?", " ").split()
            assert not {"globex", "acme/desk"} & set(words), (command, words)


def test_every_command_that_takes_a_tenant_is_tried(tenants: Mapping[str, Tenant], tmp_path: Path) -> None:
    assert questions(tenants["globex"], tenants["acme"], tmp_path).keys() == set(_commands(group, "")) - OF_NO_TENANT


def _commands(of: click.Group, before: str) -> Iterator[str]:
    context = click.Context(of)
    for name in of.list_commands(context):
        command = of.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"
