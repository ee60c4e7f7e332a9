"""Nothing of one tenant is told, changed or served through another's name: promise 5, for every public method."""

from __future__ import annotations

import inspect
import itertools
import logging
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import surface
from canaries import KEY, LETTERS, Tenant, marks, peopled, state, words
from folders import contents
from probes import probes

import ovstore
from ovstore import Store
from ovstore.view import View

STRANGERS = [("acme", "globex"), ("acme/desk", "acme/bench")]
OPERATORS = {"close", "seed", "tenant", "tenants"}
"""Of the store itself, which speaks of every scope."""
WRITES = ("apply", "publish", "activate", "rollback", "withdraw", "rollback_tenant")


@pytest.fixture
def tenants(url: str, tmp_path: Path) -> Iterator[tuple[Store, Mapping[str, Tenant]]]:
    with ovstore.open(url) as store:
        yield store, peopled(store, LETTERS, tmp_path / "in")
        assert store.verify() == ()


@pytest.fixture
def alone_url(sqlite_template: Path, tmp_path: Path) -> str:
    """A store for nobody else."""
    shutil.copyfile(sqlite_template, tmp_path / "alone.db")
    return f"sqlite:///{tmp_path / 'alone.db'}"


def told(target: Store | View, name: str, given: Mapping[str, Any]) -> object:
    """What a caller gets to see of a call: its answer, or what it raised, which is always an error of ours."""
    try:
        answer = surface.call(target, name, given)
    except ovstore.OvstoreError as error:
        return error
    if name == "export":
        return [answer, contents(given["path"])]
    return answer


@pytest.mark.parametrize(
    ("me", "them", "bound"),
    [*((*pair, True) for pair in STRANGERS), (*STRANGERS[0], False)],
)
def test_no_method_tells_a_mark_of_another_tenant(
    tenants: tuple[Store, Mapping[str, Tenant]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    me: str,
    them: str,
    bound: bool,
) -> None:
    caplog.set_level(logging.DEBUG, "ovstore")
    store, by_name = tenants
    own, other = by_name[me], by_name[them]
    before = state(store, them)
    target = store.tenant(me) if bound else store
    calls = probes(own, other, tmp_path / "probes")
    written: set[str] = set()
    for name, given in [(name, given) for name, all_given in calls.items() for given in all_given]:
        if not bound:
            if "tenant" not in surface.methods(Store).get(name, inspect.Signature()).parameters:
                continue
            given = {**given, "tenant": me}
        caplog.clear()
        answer = told(target, name, given)
        known = marks(given) | (marks(contents(given["path"])) if name == "plan_import" else set())
        if name in WRITES:
            # What I have written myself is mine.
            written |= known
        strange = {mark for mark in marks([answer, caplog.messages]) - known - written if mark[2] == LETTERS[them]}
        assert strange == set(), (name, given, answer)
    assert state(store, them) == before


def test_every_method_of_store_and_view_is_tried(tenants: tuple[Store, Mapping[str, Tenant]], tmp_path: Path) -> None:
    _, by_name = tenants
    tried = probes(by_name["acme"], by_name["globex"], tmp_path / "probes").keys()
    assert tried == surface.methods(View).keys()
    of_all = {name for name, _ in inspect.getmembers(Store) if not name.startswith("_")}
    assert of_all - tried == OPERATORS


@pytest.mark.parametrize(("me", "them"), STRANGERS)
def test_what_one_is_told_is_the_same_where_the_other_was_never_born(
    tenants: tuple[Store, Mapping[str, Tenant]], alone_url: str, tmp_path: Path, me: str, them: str
) -> None:
    """The same questions to a store that has nobody else: to the word the same answers and errors."""
    store, by_name = tenants
    mine = [name for name in reversed(ovstore.names.chain(me)) if name in LETTERS]
    with ovstore.open(alone_url) as alone:
        own_alone = peopled(alone, mine, tmp_path / "in")[me]
        # A moment at which all is written in both.
        other = replace(by_name[them], at=datetime.now(UTC))
        asked = probes(by_name[me], other, tmp_path / "probes")
        asked_alone = probes(own_alone, other, tmp_path / "probes")
        for name in asked.keys() - set(WRITES):
            for given, given_alone in zip(asked[name], asked_alone[name], strict=True):
                answers = told(store.tenant(me), name, given), told(alone.tenant(me), name, given_alone)
                assert words(answers[0]) == words(answers[1]), (name, given)


def test_a_view_has_no_way_out(sqlite_url: str) -> None:
    with ovstore.open(sqlite_url) as store:
        for view in (store.tenant("acme"), store.seed):
            public = {name: getattr(view, name) for name in dir(view) if not name.startswith("_")}
            assert public.keys() == surface.methods(View).keys()
            assert all(inspect.ismethod(member) for member in public.values())
            parameters = set(itertools.chain(*(inspect.signature(member).parameters for member in public.values())))
            assert parameters & {"tenant", "scope", "store", "database", "url"} == set()
            with pytest.raises(TypeError):
                view.resolve(KEY, tenant="globex")  # type: ignore[call-arg]
            assert "globex" not in repr(view) and "sqlite" not in repr(view)
