"""How long a refusal takes tells nothing either: it costs the same whether another tenant has the key or nobody."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy
from samples import prompt

import ovstore
from ovstore import Store
from ovstore.view import View

THEIRS = "semantic.theirs"
NOBODYS = "semantic.nobody"
ROUNDS = 9
PAIRS = 12
ASK: dict[str, Callable[[View, str], object]] = {
    "resolve": lambda view, key: view.resolve(key),
    "render": lambda view, key: view.render(key),
    "versions": lambda view, key: view.versions(key),
    "history": lambda view, key: view.history(key),
    "version": lambda view, key: view.resolve(key, version=3),
    "withdraw": lambda view, key: view.withdraw(key, actor="a", reason="r"),
}


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """Another tenant has many long versions of one key, and nobody has the other."""
    with ovstore.open(url) as opened:
        opened.publish(prompt(), actor="ann")
        opened.publish(prompt(), tenant="acme", actor="bob")
        for n in range(40):
            source = prompt(THEIRS, template=f"{n} {{{{ q }}}} {'text ' * 4_000}")
            opened.publish(source, tenant="globex", actor="carol")
        yield opened


def refused(view: View, ask: Callable[[View, str], object], key: str) -> float:
    begun = time.perf_counter()
    with pytest.raises(ovstore.NotFoundError):
        ask(view, key)
    return time.perf_counter() - begun


@pytest.mark.slow
@pytest.mark.parametrize("name", ASK)
def test_a_refusal_takes_as_long_for_what_another_has_as_for_what_nobody_has(store: Store, name: str) -> None:
    """Medians of medians of calls taken in turn: whatever else the machine does slows both alike."""
    view, ask = store.tenant("acme"), ASK[name]
    for key in (THEIRS, NOBODYS):
        refused(view, ask, key)
    ratios = []
    gc.disable()
    try:
        for _ in range(ROUNDS):
            pairs = [(refused(view, ask, THEIRS), refused(view, ask, NOBODYS)) for _ in range(PAIRS)]
            theirs, nobodys = (statistics.median(times) for times in zip(*pairs, strict=True))
            ratios.append(theirs / nobodys)
    finally:
        gc.enable()
    assert 0.6 < statistics.median(ratios) < 1.6


@pytest.mark.parametrize("name", ASK)
def test_a_refusal_asks_the_database_the_same_for_what_another_has(store: Store, name: str) -> None:
    view = store.tenant("acme")
    asked: dict[str, list[str]] = {THEIRS: [], NOBODYS: []}
    for key, statements in asked.items():

        def note(*given: object, statements: list[str] = statements) -> None:
            statements.append(str(given[2]))

        sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", note)
        refused(view, ASK[name], key)
        sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", note)
    assert asked[THEIRS] == asked[NOBODYS] != []
