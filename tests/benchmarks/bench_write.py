"""Writes and lists: publish, import, and what lists a thousand versions.

Floors: checking the same texts (`ovstore.checking`, no database), one row inserted and committed, and all rows that an
import writes inserted at once into tables of the same columns without keys, indexes or triggers, and committed.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import scale
import sqlalchemy as sa
from measuring import BOLD, TEXT, Home, Row, interleaved, source

import ovstore
from ovstore.checking import check_source
from ovstore.db import tables as t

WRITTEN = (t.version, t.entry, t.change, t.label)


def rows(home: Home, url: str, rounds: int, templates: int = 1000) -> Iterator[Row]:
    engine = sa.create_engine(url)
    with ovstore.open(url) as store:
        yield from publish(store, engine, rounds)
        yield from bring(store, engine, templates)
    engine.dispose()
    yield from listed(home, rounds)


def publish(store: ovstore.Store, engine: sa.Engine, rounds: int) -> Iterator[Row]:
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE floor_row (n integer, t text)"))
    count = itertools.count()
    insert = sa.text("INSERT INTO floor_row VALUES (1, :t)")

    def one() -> None:
        with engine.begin() as connection:
            connection.execute(insert, {"t": TEXT})

    def ours(tenant: str | None) -> Callable[[], object]:
        return lambda: store.publish(source("bench.plain", f"{next(count)} {TEXT}"), tenant=tenant, **BOLD)

    calls: dict[str, Callable[[], object]] = {
        "check": lambda: check_source(source("bench.plain", f"{next(count)} {TEXT}").encode()),
        "insert": one,
        "in a tenant": ours("t5"),
        "in global": ours(None),
    }
    took = interleaved(calls, 40 * rounds)
    floors = {"checking": took["check"], "insert and commit": took["insert"]}
    for where in ("in a tenant", "in global"):
        limit = took["check"] + 10 * took["insert"]
        yield Row(f"publish a new version of 2 KB {where}", took[where], floors, "checking + 10 inserts", limit)


def bring(store: ovstore.Store, engine: sa.Engine, templates: int) -> Iterator[Row]:
    folder = Path(tempfile.mkdtemp(prefix="ovstore-bench-"))
    texts = {f"t{n:04}": source(f"bench.t{n:04}", f"{n} {TEXT}") for n in range(templates)}
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    tenants = itertools.count()
    again = itertools.count()
    calls: dict[str, Callable[[], object]] = {
        "check": lambda: [check_source(text.encode()) for text in texts.values()],
        "import": lambda: store.apply(store.plan_import(folder, tenant=f"new{next(tenants)}"), **BOLD),
        "again": lambda: store.apply(store.plan_import(folder, tenant=f"new{next(again)}"), **BOLD),
    }
    took = interleaved(calls, 2, warm=False)
    took |= interleaved({"bulk": bulk(engine)}, 3)
    limit = 1.5 * took["check"] + 10 * took["bulk"]
    floors = {"checking": took["check"], "bulk insert": took["bulk"]}
    bound = "1.5 checking + 10 bulk inserts"
    yield Row(f"import of {templates:,} new templates of 2 KB", took["import"], floors, bound, limit)
    yield Row("the same again, unchanged", took["again"], floors, "a tenth of that", limit / 10)
    shutil.rmtree(folder)


def bulk(engine: sa.Engine) -> Callable[[], object]:
    """What inserts all rows of the import of the first tenant, columns as they are."""
    copies = sa.MetaData()
    kept = []
    with engine.begin() as connection:
        scope = connection.scalar(sa.select(t.scope.c.id).where(t.scope.c.name == "new0"))
        for table in WRITTEN:
            copy = sa.Table(f"floor_{table.name}", copies, *(sa.Column(c.name, c.type) for c in table.columns))
            found = connection.execute(sa.select(table).where(table.c.scope_id == scope)).mappings()
            kept.append((copy, [dict(row) for row in found]))
        copies.create_all(connection)

    def insert() -> None:
        with engine.begin() as connection:
            for copy, values in kept:
                connection.execute(sa.insert(copy), values)

    return insert


def listed(home: Home, rounds: int, versions: int = 1000) -> Iterator[Row]:
    url = home.new()
    scale.fill(url, 1, versions=versions, keys=1)
    key = scale.key(1)
    with ovstore.open(url) as store:
        assert len(store.versions(key)) == len(store.history(key)) == versions
        calls = {"list": lambda: store.versions(key), "history": lambda: store.history(key)}
        took = interleaved(calls, 10 * rounds)
        for what, call in calls.items():
            floors = {"processor time here": processor_time(call)}
            yield Row(f"{what} of {versions:,} versions", took[what], floors, "10 ms", 10e-3)


def processor_time(call: Callable[[], object], times: int = 10) -> float:
    """Return what this process works for a call, however much it waits for others."""
    begun = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - begun) / times
