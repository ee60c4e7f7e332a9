"""Eight processes publish, roll back, withdraw and resolve at once: promise 2 of the store. Cases 39 and 52."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
import replays
import workers
from samples import prompt

import ovstore
from ovstore import Store, names

PROCESSES = 8
TENANTS = (None, "acme", "acme/desk", "globex")
MANY = tuple(f"semantic.note{n}" for n in range(12))


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with ovstore.open(url) as opened:
        for key in ("semantic.note", *MANY):
            opened.seed.publish(prompt(key), actor="pkg")
        yield opened
        assert opened.verify() == ()


def walked(url: str, calls: int, keys: Sequence[str], tenants: Sequence[str | None]) -> list[workers.Walked]:
    return workers.together([(workers.walk, url, f"p{n}", calls, keys, tenants) for n in range(PROCESSES)])


def assert_nothing_was_lost(store: Store, done: Sequence[workers.Walked]) -> None:
    """Every version that a process was told of is there, numbers have no gaps, and each move has its one entry."""
    told = {place: source for walk in done for place, source in walk.added.items()}
    assert len(told) == sum(len(walk.added) for walk in done)
    for scope, key in {(scope, key) for scope, key, _ in told}:
        own = [v for v in store.versions(key, tenant=replays.tenant(scope)) if v.scope == scope]
        assert [v.number for v in own] == list(range(len(own), 0, -1))
        assert {(scope, key, v.number): v.source.decode() for v in own} == {
            place: source for place, source in told.items() if place[:2] == (scope, key)
        }
    entries = [entry for entry in store.audit() if entry.scope != "seed"]
    assert len(entries) == sum(walk.moves for walk in done)
    assert max(Counter(entry.change_set for entry in entries).values()) == 1


@pytest.mark.parametrize("keys", [("semantic.note",), MANY], ids=["one template", "many templates"])
def test_eight_processes_lose_nothing(store: Store, url: str, keys: Sequence[str]) -> None:
    done = walked(url, 64, keys, TENANTS)
    assert sum(walk.calls for walk in done) == 512
    assert_nothing_was_lost(store, done)
    replays.assert_each_answer_was_committed(store, done)
    replays.assert_scopes_stood_at_once(store, done)


@pytest.mark.slow
@pytest.mark.parametrize("keys", [("semantic.note",), MANY], ids=["one template", "many templates"])
def test_eight_processes_lose_nothing_for_long(store: Store, url: str, keys: Sequence[str]) -> None:
    done = walked(url, 2_000, keys, TENANTS)
    assert_nothing_was_lost(store, done)
    replays.assert_each_answer_was_committed(store, done)
    replays.assert_scopes_stood_at_once(store, done)


def texts(count: int, key: str = "semantic.note", start: int = 0) -> list[str]:
    return [prompt(key, template=f"text {n} {{{{ q }}}}") for n in range(start, start + count)]


def assert_numbered(store: Store, tenant: str | None, sources: Sequence[str], before: int) -> None:
    """Each source is one version, numbers go on from `before`, the highest is live, each has its one entry."""
    scope = names.scope_of(tenant)
    own = [v for v in store.versions("semantic.note", tenant=tenant) if v.scope == scope][: len(sources)]
    assert [v.number for v in reversed(own)] == list(range(before + 1, before + 1 + len(sources)))
    assert sorted(v.source.decode() for v in own) == sorted(sources)
    assert store.resolve("semantic.note", tenant=tenant).version == before + len(sources)
    entries = list(store.audit(tenant=tenant))[: len(sources)]
    assert sorted(e.after or 0 for e in entries) == sorted(v.number for v in own)
    assert all(newer.before == older.after for newer, older in pairwise(entries))


@pytest.mark.parametrize("tenant", [None, "acme", "new/desk"])
def test_twenty_threads_race_for_the_first_version_and_for_later_ones(store: Store, tenant: str | None) -> None:
    sources = texts(40)
    for before in (0, 20):
        with ThreadPoolExecutor(20) as pool:
            chosen = sources[before : before + 20]
            list(pool.map(lambda source: store.publish(source, tenant=tenant, actor="t"), chosen))
        assert_numbered(store, tenant, chosen, before)


@pytest.mark.parametrize("tenant", [None, "new/desk"])
def test_four_processes_race_for_the_first_version_and_for_later_ones(
    store: Store, url: str, tenant: str | None
) -> None:
    sources = texts(40)
    for before in (0, 20):
        chosen = sources[before : before + 20]
        shares = [chosen[n::4] for n in range(4)]
        got = workers.together([(workers.publish_each, url, tenant, share, "p") for share in shares])
        assert sorted(sum(got, [])) == list(range(before + 1, before + 21))
        assert_numbered(store, tenant, chosen, before)


def test_a_hundred_publishes_of_four_processes_are_all_there_and_a_reader_never_fails(store: Store, url: str) -> None:
    own = [[prompt(f"semantic.of{n}", template=f"{m} {{{{ q }}}}") for m in range(25)] for n in range(4)]
    store.seed.publish(prompt("semantic.of3"), actor="pkg")
    store.publish(prompt(template="first {{ q }}"), actor="ann")
    same = [texts(25, start=25 * n) for n in range(4)]
    calls = [(workers.publish_each, url, None, share, "p") for share in own]
    *numbers, seen = workers.together([*calls, (workers.resolve_until, url, "semantic.of3", 25)])
    assert numbers == [list(range(1, 26))] * 4
    assert seen == sorted(seen)
    calls = [(workers.publish_each, url, None, share, "p") for share in same]
    *numbers, seen = workers.together([*calls, (workers.resolve_until, url, "semantic.note", 101)])
    assert sorted(sum(numbers, [])) == list(range(2, 102))
    assert seen == sorted(seen)
    assert_numbered(store, None, sum(same, []), 1)
