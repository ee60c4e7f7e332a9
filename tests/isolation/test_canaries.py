"""Nothing of one tenant is told, changed or served through another's name: promise 5, for every public method."""

from __future__ import annotations

import inspect
import itertools
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import surface
from canaries import KEY, LETTERS, Tenant, everything_for_all, marked, marks
from folders import contents
from probes import probes

import ovstore
from ovstore import Store
from ovstore.view import View

STRANGERS = [
    ("acme", "globex"),
    ("globex", "acme"),
    ("acme/desk", "globex"),
    ("globex", "acme/desk"),
    ("acme/desk", "acme/bench"),
]
OPERATORS = {"close", "heads", "seed", "tenant", "tenants", "verify"}
"""Of the store itself: these speak of every scope."""


@pytest.fixture
def tenants(url: str, tmp_path: Path) -> Iterator[tuple[Store, Mapping[str, Tenant]]]:
    with ovstore.open(url) as store:
        everything_for_all(store)
        found = {name: marked(store, name, tmp_path / "in") for name in LETTERS}
        # What everyone has looked at lies in the caches.
        for name in LETTERS:
            store.resolve_many(tenant=name)
            store.render(KEY, {"q": "?"}, tenant=name)
        yield store, {name: marked_again(store, tenant) for name, tenant in found.items()}
        assert store.verify() == ()


def marked_again(store: Store, tenant: Tenant) -> Tenant:
    """A workspace's revision names its tenant's, which may have moved since it was asked for."""
    return Tenant(tenant.name, store.resolve(KEY, tenant=tenant.name).revision, tenant.at, tenant.head, tenant.plan)


def told(target: Store | View, name: str, given: Mapping[str, Any]) -> object:
    """What a caller gets to see of a call: its answer, or what it raised, which is always an error of ours."""
    try:
        answer = surface.call(target, name, given)
    except ovstore.OvstoreError as error:
        return error
    if name == "export":
        return [answer, contents(given["path"])]
    return answer


@pytest.mark.parametrize(("me", "them"), STRANGERS)
@pytest.mark.parametrize("bound", [True, False], ids=["view", "store"])
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
    for name, given in [(name, given) for name, all_given in calls.items() for given in all_given]:
        if not bound:
            if "tenant" not in surface.methods(Store).get(name, inspect.Signature()).parameters:
                continue
            given = {**given, "tenant": me}
        caplog.clear()
        answer = told(target, name, given)
        known = marks(given) | marks({"key": other.key}) if name == "apply" else marks(given)
        strange = {mark for mark in marks([answer, caplog.messages]) - known if mark[2] == LETTERS[them]}
        assert strange == set(), (name, given, answer)
    assert state(store, them) == before


def state(store: Store, tenant: str) -> object:
    return store.heads()[tenant], store.resolve_many(tenant=tenant), store.render(KEY, {"q": "?"}, tenant=tenant).text


def test_every_method_of_store_and_view_is_tried(
    tenants: tuple[Store, Mapping[str, Tenant]], tmp_path: Path
) -> None:
    _, by_name = tenants
    tried = probes(by_name["acme"], by_name["globex"], tmp_path / "probes").keys()
    assert tried == surface.methods(View).keys()
    of_all = {name for name, _ in inspect.getmembers(Store) if not name.startswith("_")}
    assert of_all - tried == OPERATORS


@pytest.mark.parametrize(("me", "them"), STRANGERS)
def test_what_another_has_is_refused_in_the_words_for_what_nobody_has(
    tenants: tuple[Store, Mapping[str, Tenant]], me: str, them: str
) -> None:
    store, by_name = tenants
    view, other = store.tenant(me), by_name[them]
    for theirs, nobodys in (
        ({"key": other.key}, {"key": "semantic.zznever"}),
        ({"key": KEY, "label": other.mark("label")}, {"key": KEY, "label": "zznever"}),
        ({"key": KEY, "version": f"{them}:1"}, {"key": KEY, "version": "zznever:1"}),
    ):
        for method in (view.resolve, view.explain, view.render):
            errors = []
            for given in (theirs, nobodys):
                with pytest.raises(ovstore.OvstoreError) as refused:
                    method(**given)
                words = {*given.values(), them, them.partition("/")[0]} - {KEY, me}
                errors.append((type(refused.value), plain(refused.value, words | {"zznever"})))
            assert errors[0] == errors[1]


def plain(error: ovstore.OvstoreError, words: set[str]) -> tuple[str, dict[str, str]]:
    """An error without the words of its question."""

    def without(text: str) -> str:
        return str.join("…", [text]) if not words else _cut(text, sorted(words, key=len, reverse=True))

    return without(str(error)), {name: without(repr(value)) for name, value in vars(error).items()}


def _cut(text: str, words: list[str]) -> str:
    for word in words:
        text = text.replace(word, "…")
    return text


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
