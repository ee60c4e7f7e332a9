"""Fifty directories and more that went wrong in one place: each is refused whole, with the file and the line."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import postgres
import pytest
import yaml
from mutations import MUTATIONS, Mutation
from synthetic import TEMPLATES, copied

import ovstore
from ovstore import checking
from ovstore.errors import InvalidDocumentError
from ovstore.openviking import PromptManager


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def untouched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ovstore.Store]:
    """One store for all: whatever is refused leaves it as it was."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("untouched") / "ovstore.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        url = f"sqlite:///{path}"
    else:
        server: postgres.Server = request.getfixturevalue("postgres_server")
        url = server.create(request.getfixturevalue("postgres_template"))
    with ovstore.open(url) as store:
        yield store


def test_there_are_fifty_of_all_kinds() -> None:
    assert len(MUTATIONS) == len({str(mutation) for mutation in MUTATIONS}) >= 50
    assert len({mutation.code for mutation in MUTATIONS}) >= 20
    assert {Path(mutation.path).suffix for mutation in MUTATIONS} == {".yaml", ".yml"}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_a_harmful_change_is_refused_with_file_and_line_and_nothing_is_written(
    untouched: ovstore.Store, tmp_path: Path, mutation: Mutation
) -> None:
    folder = copied(tmp_path / "templates")
    line = mutation.apply(folder)
    heads = untouched.heads()
    plan = untouched.plan_import(folder)
    found = [(f.code, f.path, f.line) for f in plan.findings if f.severity == "error"]
    assert (mutation.code, str(folder / mutation.path), line) in found
    assert {path for _, path, _ in found} <= {str(folder / mutation.path)}
    with pytest.raises(InvalidDocumentError):
        untouched.apply(plan, actor="ann", reason="never", accept_risk="very_high")
    assert untouched.heads() == heads
    assert untouched.templates() == ()


def test_a_manager_refuses_such_a_directory_too(untouched: ovstore.Store, tmp_path: Path) -> None:
    folder = copied(tmp_path / "templates")
    for mutation in (MUTATIONS[0], MUTATIONS[20], MUTATIONS[-1]):
        mutation.apply(folder)
    with pytest.raises(InvalidDocumentError) as caught:
        PromptManager(folder, store=untouched)
    assert len({finding.path for finding in caught.value.findings if finding.severity == "error"}) == 2
    assert untouched.templates() == ()


# -- every key of every file, one at a time

FILES = sorted(path for path in TEMPLATES.rglob("*.y*ml"))
REQUIRED = {
    *(("metadata", name) for name in ("id", "name", "description", "version", "language", "category")),
    *(("metadata",), ("template",), ("memory_type",), ("name",), ("fields",), ("directory",), ("filename_template",)),
    *(("variables", 0, name) for name in ("name", "type", "description")),
    ("fields", 0, "name"),
}
FREE = ("llm_config", "output_schema")
IGNORED = {("metadata", "owner"), ("variables", 0, "example"), ("changelog",), ("version",), ("agent_only",)}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every key that the grammar knows."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        here = (*path, key)
        if isinstance(key, str):
            yield here
        if here[0] not in FREE and key != "default":
            yield from places(inner, here)


def changed(path: Path, place: tuple[Any, ...], change: str) -> bytes:
    data = copy.deepcopy(yaml.safe_load(path.read_bytes()))
    owner = data
    for step in place[:-1]:
        owner = owner[step]
    value = owner.pop(place[-1])
    if change == "wrong":
        owner[place[-1]] = ["b"] if place[-1] in FREE or isinstance(value, dict) else {"a": ["b"]}
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True).encode()


EVERY = [(path, place) for path in FILES for place in places(yaml.safe_load(path.read_bytes()))]
IDS = [f"{path.stem}-{'.'.join(map(str, place))}" for path, place in EVERY]


@pytest.mark.parametrize(("path", "place"), EVERY, ids=IDS)
def test_a_key_that_is_lost_is_missed_where_it_is_needed(path: Path, place: tuple[Any, ...]) -> None:
    checked = checking.check_source(changed(path, place, "lost"), str(path))
    general = tuple(0 if isinstance(step, int) else step for step in place)
    if general in REQUIRED and not (general == ("name",) and path.stem != "habits"):
        assert {"missing-key", "incomplete-schema", "unknown-document"} & {finding.code for finding in checked.errors}
    assert all(finding.path == str(path) and finding.line for finding in checked.findings)


@pytest.mark.parametrize(("path", "place"), EVERY, ids=IDS)
def test_a_value_of_another_form_is_refused_unless_the_key_is_free(path: Path, place: tuple[Any, ...]) -> None:
    checked = checking.check_source(changed(path, place, "wrong"), str(path))
    if place not in IGNORED and place[-1] != "default":
        assert checked.errors
    assert all(finding.path == str(path) and finding.line for finding in checked.findings)
