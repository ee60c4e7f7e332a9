"""Cold resolves: connected, and with nothing in memory; and whether they grow with what lies in the database.

The floor is a SQLAlchemy Core select of one version by its primary key, all columns, on a connection taken from the
pool for it, in autocommit: `with engine.connect() as c: c.execute(query, values).one()`. Both are connected beforehand,
and both leave statements unprepared on the server, as ovstore does for poolers' sake.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import scale
import sqlalchemy as sa
from measuring import BOLD, TEXT, Home, Row, core, interleaved, source

import ovstore
from ovstore import Store
from ovstore.db import tables as t
from ovstore.freshness import Strict
from ovstore.rendering import RenderLimits
from ovstore.resolver import Resolver

FEW = 50
"""Tenants with 1,000 live overrides."""

VERSIONS = 10_000
KEYS = 200
TENANT = "t10/w"


def rows(url: str, rounds: int) -> Iterator[Row]:
    """One key after another that was not asked for yet, with 2 KB of its own in a workspace and as much in global."""
    keys = [f"cold.t{n:03}" for n in range(KEYS)]
    with ovstore.open(url) as store, one_row(core(url), keys) as select, tempfile.TemporaryDirectory() as folder:
        for tenant in (None, TENANT):
            for key in keys:
                Path(folder, f"{key}.yaml").write_text(source(key, f"{tenant} {key} {TEXT}"))
            store.apply(store.plan_import(folder, tenant=tenant), **BOLD)
        asked = (once.find(TENANT, key).resolved() for once in blanks(store) for key in keys)
        took = interleaved({"select": select, "ours": lambda: next(asked)}, KEYS * rounds)
        told = interleaved({"select": select, "ours": lambda: next(asked).document}, KEYS * rounds)
    yield Row("cold resolve, chain of 4 layers", took["ours"], floors(took), "2 selects", 2 * took["select"])
    yield Row("the same, and its document", told["ours"], floors(told))
    yield Row("the same as the first call of a store just opened", first(url, 10 * rounds), floors(took))


def floors(took: dict[str, float]) -> dict[str, float]:
    return {"Core select of one row": took["select"]}


@contextlib.contextmanager
def one_row(engine: sa.Engine, keys: Sequence[str]) -> Iterator[Callable[[], object]]:
    """Version 1 in global of one key after another."""
    key = itertools.cycle(keys)
    here = [t.version.c[name] == sa.bindparam(name) for name in ("scope_id", "key", "number")]
    query = sa.select(t.version).where(*here)

    def select() -> object:
        with engine.connect() as connection:
            return connection.execute(query, {"scope_id": 2, "key": next(key), "number": 1}).one()

    yield select
    engine.dispose()


def blanks(store: Store) -> Iterator[Resolver]:
    """One after another that has a store's connections, and knows nothing that the store or another one knows."""
    kept = store._resolver
    while True:
        yield Resolver(kept.database, kept._direct, Strict(kept._direct), RenderLimits())


def first(url: str, times: int) -> float:
    taken = []
    for _ in range(times):
        with ovstore.open(url) as store:
            begun = time.perf_counter()
            store.resolve("cold.t000", tenant=TENANT)
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def growth(home: Home, full: str, tenants: int, rounds: int) -> Iterator[Row]:
    """`full` is a database with that many tenants."""
    few = home.new()
    scale.fill(few, FEW)
    live = f"from {FEW * scale.KEYS:,} to {tenants * scale.KEYS:,} live overrides"
    yield grown(f"growth, {live}, one tenant", (few, [TENANT]), (full, [TENANT]), rounds)
    yield grown(f"growth, {live}, random ones", (few, drawn(FEW)), (full, drawn(tenants)), rounds, bounded=False)
    shallow, deep = home.new(), home.new()
    scale.fill(shallow, 1, versions=1, keys=1)
    scale.fill(deep, 1, versions=VERSIONS, keys=1)
    yield grown(f"growth, from 1 to {VERSIONS:,} versions", (shallow, ["t1"]), (deep, ["t1"]), rounds)


def drawn(tenants: int) -> list[str]:
    return [f"t{n}" for n in random.Random(7).choices(range(1, tenants + 1), k=10_000)]


def grown(
    what: str, small: tuple[str, Sequence[str]], large: tuple[str, Sequence[str]], rounds: int, bounded: bool = True
) -> Row:
    """Compare resolves, nothing known, in two databases: each a URL and the tenants that are asked for in turn."""
    with ovstore.open(small[0]) as one, ovstore.open(large[0]) as other:
        took = interleaved({"small": forgetful(one, small[1]), "large": forgetful(other, large[1])}, 300 * rounds)
    limit = 1.2 * took["small"] if bounded else None
    return Row(what, took["large"], {"the small one": took["small"]}, "1.2 small ones" if bounded else "", limit)


def forgetful(store: Store, tenants: Sequence[str]) -> Callable[[], object]:
    asked = zip(blanks(store), itertools.cycle(tenants))
    return lambda: _find(*next(asked))


def _find(once: Resolver, tenant: str) -> object:
    return once.find(tenant, scale.key(1)).resolved()
