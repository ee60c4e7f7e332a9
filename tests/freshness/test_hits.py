"""What is kept in memory: whose it is, that nobody can change it for others, and that it stays within bounds."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from others import BOLD, KEY, says, text
from samples import memory, patch, prompt

import ovstore
from ovstore import Store, resolver, results


@pytest.mark.parametrize("order", [("a", "b", None), ("b", None, "a"), (None, "b", "a")])
def test_43_a_tenants_text_is_served_to_nobody_else_in_whatever_order(
    store: Store, order: tuple[str | None, ...]
) -> None:
    store.publish(says("G"), actor="ann")
    store.publish(says("A"), tenant="a", **BOLD)
    expected = {"a": "A?", "b": "G?", None: "G?"}
    for _ in range(2):
        assert {tenant: text(store, tenant) for tenant in order} == expected


def test_43_threads_that_mix_tenants_and_keys_get_their_own(store: Store) -> None:
    wanted: dict[tuple[str | None, str], str] = {}
    for tenant, key, word in [
        (None, "x.y", "G"),
        ("a", "x.y", "A"),
        ("a", "a.x", "AX"),
        (None, "a.x", "GX"),
        ("a/x", "x.y", "W"),
        ("a.x", "x.y", "DOT"),
    ]:
        store.publish(says(word, key), tenant=tenant, **BOLD)
        wanted[tenant, key] = word + "?"
    wanted |= {("b", "x.y"): "G?", ("c", "x.y"): "G?", ("a/z", "x.y"): "A?", ("a/x", "a.x"): "AX?"}
    calls = sorted(wanted, key=str) * 100

    def render(asked: tuple[str | None, str]) -> bool:
        return store.render(asked[1], {"q": "?"}, tenant=asked[0]).text == wanted[asked]

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(render, calls))


def test_43_two_stores_on_two_databases_share_nothing(sqlite_url: str, postgres_url: str, tmp_path: Path) -> None:
    urls = [sqlite_url, postgres_url, f"sqlite:///{tmp_path / 'second.db'}", "sqlite://"]
    stores = [ovstore.open(url, create=True) for url in urls]
    for n, store in enumerate(stores):
        store.publish(says(f"store {n} "), tenant="acme", actor="ann")
    for _ in range(2):
        assert [text(store, "acme") for store in stores] == [f"store {n} ?" for n in range(4)]
    for store in stores:
        store.close()


def test_names_are_told_apart_also_where_they_were_seen_before(store: Store) -> None:
    store.publish(says("G"), actor="ann")
    text(store)
    text(store, "acme")
    for tenant in ("global", "seed", "", "Global", ["acme"], {}, 1, True):
        with pytest.raises(ovstore.InvalidArgumentError):
            text(store, tenant)  # type: ignore[arg-type]
    for key in ("", "semantic", "Semantic.note", ["x"], None, 1):
        with pytest.raises((ovstore.InvalidArgumentError, ovstore.NotFoundError)):
            store.resolve(key)  # type: ignore[arg-type]
    for label in ("", "Live", ["live"], None, "nobody"):
        with pytest.raises((ovstore.InvalidArgumentError, ovstore.NotFoundError)):
            store.resolve(KEY, label=label)  # type: ignore[arg-type]


def test_a_label_that_nobody_has_is_refused_each_time_and_known_once_it_is_there(store: Store) -> None:
    store.publish(says("G"), actor="ann")
    for _ in range(3):
        with pytest.raises(ovstore.NotFoundError, match="staging"):
            text(store, "acme", label="staging")
        with pytest.raises(ovstore.NotFoundError, match="staging"):
            store.resolve_many(tenant="acme", label="staging")
    store.publish(says("D"), live=False, **BOLD)
    store.activate(KEY, 2, label="staging", actor="ann")
    assert [text(store, "acme", label="staging"), text(store, "acme")] == ["D?", "G?"]
    store.withdraw(KEY, label="staging", actor="ann", reason="r")
    assert text(store, "acme", label="staging") == "G?"


def test_what_a_caller_changes_nobody_else_sees(store: Store) -> None:
    store.publish(prompt(llm_config={"stop": ["x"]}, output_schema={"type": "object"}), actor="ann")
    for _ in range(2):
        rendered = store.render(KEY, {"q": "?"})
        assert (rendered.llm_config, rendered.output_schema) == ({"stop": ["x"]}, {"type": "object"})
        rendered.llm_config["stop"].append("y")
        assert rendered.llm_config == {"stop": ["x", "y"]}
        rendered.output_schema["type"] = "array"  # type: ignore[index]
        resolved = rendered.resolved
        resolved.document.llm_config["stop"].append("z")
        resolved.document["template"]
        resolved.document.as_written()["llm_config"]["stop"].clear()
        dict(resolved.provenance.fields).clear()
        resolved.provenance.fields.clear()  # type: ignore[attr-defined]
    assert store.resolve(KEY).provenance.fields


def test_answers_are_dataclasses_that_can_be_compared_copied_and_sent(store: Store) -> None:
    store.publish(prompt(llm_config={"a": 1}), actor="ann")
    rendered, again = (store.render(KEY, {"q": "?"}) for _ in range(2))
    resolved = store.resolve(KEY)
    assert dataclasses.is_dataclass(resolved)
    assert rendered == again
    assert rendered.resolved == resolved
    for value in (rendered, resolved):
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.copy(value) == value
        assert dataclasses.replace(value) == value
        assert set(results.plain(value)) == {field.name for field in dataclasses.fields(value)}
        with pytest.raises(AttributeError):
            value.text2  # noqa: B018
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, dataclasses.fields(value)[0].name, "never")
    assert repr(resolved).startswith("Resolved(key='semantic.note', kind='prompt'")


@pytest.mark.parametrize(
    ("where", "freshness"), [("sqlite", "strict"), ("sqlite", 30), ("postgres", "push"), ("postgres", 30)]
)
def test_a_hit_takes_no_lock(request: pytest.FixtureRequest, where: str, freshness: Any) -> None:
    with ovstore.open(str(request.getfixturevalue(f"{where}_url")), freshness=freshness) as store:
        store.publish(says("G"), actor="ann")
        text(store, "acme")
        while store.resolve(KEY, tenant="acme").fresh != store._resolver._freshness.name:
            pass
        called: list[str] = []

        def note(frame: Any, event: str, function: Any) -> None:
            if event == "c_call" and type(getattr(function, "__self__", None)).__name__ in ("lock", "RLock"):
                called.append(f"{function.__name__} from {frame.f_code.co_qualname}")

        sys.setprofile(note)
        try:
            text(store, "acme")
        finally:
            sys.setprofile(None)
        assert called == []


def test_tenants_with_the_same_content_share_its_program(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    original = ovstore.rendering.compile
    monkeypatch.setattr(ovstore.rendering, "compile", lambda *args: compiled.append(args) or original(*args))
    store.publish(prompt(), actor="ann")
    for n in range(5):
        store.publish(patch(KEY, template="Same {{ q }}"), tenant=f"t{n}", actor="ann")
        store.publish(prompt(template="Whole {{ q }}"), tenant=f"w{n}", actor="ann")
    compiled.clear()
    for _ in range(2):
        assert {text(store, f"t{n}") for n in range(5)} == {"Same ?"}
        assert {text(store, f"w{n}") for n in range(5)} == {"Whole ?"}
    assert len(compiled) == 2
    first, second = (store.resolve(KEY, tenant=f"t{n}").provenance.fields["template"] for n in (0, 1))
    assert (first.scope, second.scope) == ("t0", "t1")


def test_the_same_source_on_two_bases_is_two_contents(store: Store) -> None:
    store.publish(prompt(llm_config={"a": 1}), tenant="a", actor="ann")
    store.publish(prompt(llm_config={"a": 2}), tenant="b", actor="ann")
    for tenant in ("a", "b"):
        store.publish(patch(KEY, template="Same {{ q }}"), tenant=f"{tenant}/w", actor="ann")
    configs = [store.render(KEY, {"q": "?"}, tenant=f"{tenant}/w").llm_config for tenant in ("a", "b")]
    assert configs == [{"a": 1}, {"a": 2}]


def test_a_part_that_moves_reaches_what_includes_it(store: Store) -> None:
    store.publish(prompt("shared.tone", template="kindly", variables=[]), actor="ann")
    store.publish(prompt(template="{{ q }} {% include 'shared.tone' %}"), actor="ann")
    assert [text(store, "acme"), text(store, "acme")] == ["? kindly"] * 2
    store.publish(prompt("shared.tone", template="bluntly", variables=[]), tenant="acme", actor="ann")
    assert [text(store, "acme"), text(store)] == ["? bluntly", "? kindly"]
    store.rollback("shared.tone", tenant="acme", actor="ann", reason="r")
    assert text(store, "acme") == "? kindly"


def test_many_keys_at_once_are_those_that_one_by_one_would_be(store: Store) -> None:
    for n in range(5):
        store.publish(says(f"G{n}", f"many.k{n}"), actor="ann")
    store.publish(says("A", "many.k1"), tenant="acme", **BOLD)
    store.publish(memory(), tenant="acme", actor="ann")
    store.publish(says("S", "many.k2"), tenant="acme", live=False, **BOLD)
    store.activate("many.k2", 1, label="staging", tenant="acme", **BOLD)
    for label in ("live", "staging", "live"):
        for keys in (None, ["many.k2", "many.k1"], None):
            many = store.resolve_many(keys, tenant="acme", label=label)
            names = keys or ["habits", *(f"many.k{n}" for n in range(5))]
            assert list(many) == names
            assert many == {key: store.resolve(key, tenant="acme", label=label) for key in names}
    with pytest.raises(ovstore.NotFoundError, match=r"many\.k9"):
        store.resolve_many(["many.k1", "many.k9"], tenant="acme")
    assert store.resolve_many(tenant="nobody", label="live").keys() == {f"many.k{n}" for n in range(5)}


def test_what_is_kept_stays_within_its_bounds(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "MOST_TEXT", 20_000)
    monkeypatch.setattr(resolver, "MOST_ANSWERS", 200)
    with ovstore.open(sqlite_url) as store:
        store.publish(says("G"), actor="ann")
        for n in range(100):
            store.publish(says(f"T{n} "), tenant=f"t{n}", **BOLD)
        for n in [*range(100), *range(100), 0, 1, 2]:
            assert text(store, f"t{n}") == f"T{n} ?"
        assert text(store) == "G?"
        gc.collect()
        alive = [type(thing).__name__ for thing in gc.get_objects()]
        kept = store._resolver
        assert sum(content.weight for content in contents(kept)) <= 20_000 + 2_000
        assert 1 <= alive.count("Sight") < 60
        assert 1 <= alive.count("Content") < 60


@pytest.mark.parametrize("freshness", ["strict", 60.0, "push"])
@pytest.mark.parametrize("where", ["memory", "sqlite", "postgres"])
def test_a_store_that_was_closed_answers_nothing_of_what_it_knows(
    request: pytest.FixtureRequest, where: str, freshness: Any
) -> None:
    there = "sqlite://" if where == "memory" else str(request.getfixturevalue(f"{where}_url"))
    with ovstore.open(there, create=True, freshness=freshness) as store:
        store.publish(says("G"), actor="ann")
        acme = store.tenant("acme")
        asked: list[Callable[[], object]] = [
            lambda: text(store),
            lambda: acme.resolve(KEY),
            lambda: store.memory("profile"),
            lambda: store.resolve_many(),
            lambda: store.templates(),
        ]
        for ask in asked:
            ask()
    for ask in asked:
        with pytest.raises(ovstore.DatabaseError, match="was closed: open the store again"):
            ask()


def contents(kept: resolver.Resolver) -> list[Any]:
    return [*kept._contents._young.values(), *kept._contents._old.values()]
