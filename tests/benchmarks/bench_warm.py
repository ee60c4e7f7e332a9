"""Warm renders through the store, freshness check, tenant, validation and provenance included.

The floor is the same template in plain Jinja2, compiled beforehand; on PostgreSQL strict, a select of one row besides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jinja2
from bench_cold import one_row
from measuring import BOLD, LOGIC, LOGIC_VALUES, TEXT, VALUES, Home, Row, core, interleaved, source

import ovstore

TENANT = "t5/desk"
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "5 variables": ("bench.plain", TEXT, VALUES),
    "if and for": ("bench.logic", LOGIC, LOGIC_VALUES),
}


def rows(home: Home, url: str, rounds: int) -> Iterator[Row]:
    with ovstore.open(url) as store:
        for key, text, values in CASES.values():
            store.publish(source(key, text, values), **BOLD)
    for freshness in ("strict",) if home.name == "SQLite" else ("push", "strict"):
        with ovstore.open(url, freshness=freshness) as store:
            for case in CASES:
                yield warm(home, url, store, freshness, case, rounds)


def warm(home: Home, url: str, store: ovstore.Store, freshness: str, case: str, rounds: int) -> Row:
    key, text, values = CASES[case]
    plain = jinja2.Environment(trim_blocks=False).from_string(text)
    assert store.render(key, values, tenant=TENANT).text == plain.render(values)
    while store.resolve(key, tenant=TENANT).fresh != freshness:
        pass
    calls = {"plain": lambda: plain.render(values), "ours": lambda: store.render(key, values, tenant=TENANT)}
    what = f"warm render, 2 KB, {case}, {home.name} {freshness}"
    if home.name == "SQLite" or freshness == "push":
        took = interleaved(calls, 100 * rounds, 40)
        floors = {"plain Jinja2": took["plain"]}
        return Row(what, took["ours"], floors, "1.5 Jinja2 + 6 µs", 1.5 * took["plain"] + 6e-6)
    with one_row(core(url), [key]) as select:
        took = interleaved({**calls, "select": select}, 200 * rounds)
    floors = {"plain Jinja2": took["plain"], "a select": took["select"]}
    limit = 1.5 * took["plain"] + 6e-6 + took["select"]
    return Row(what, took["ours"], floors, "1.5 Jinja2 + 6 µs + a select", limit)
