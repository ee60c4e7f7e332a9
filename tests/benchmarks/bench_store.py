"""Store calls as ratios to floors measured in the same run, on a SQLite file.

warm render    plain Jinja2, precompiled
cold resolve   a SQLAlchemy Core select of one row by primary key
publish        a single-row insert and commit
import         checking the same texts
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jinja2
import sqlalchemy as sa

import ovstore
from ovstore.checking import check_source

TEXT = "You work for {{ a }} and {{ b }}. " + "Say what is known, and nothing else. " * 52 + "{{ c }} {{ d }} {{ e }}"
VALUES = {name: f"value of {name}" for name in "abcde"}


def source(key: str, text: str = TEXT) -> str:
    variables = "".join(f"  - {{name: {n}, type: string, description: {n}}}\n" for n in "abcde")
    head = f"metadata:\n  id: {key}\n  name: n\n  description: d\n  version: '1'\n  language: en\n  category: bench\n"
    return f"{head}variables:\n{variables}template: |\n  {text}\n"


def median(call: Callable[[], object], times: int) -> float:
    """Microseconds of one call."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e6


def row(name: str, took: float, floor: float) -> None:
    print(f"{name:<44} {took:>12,.1f} µs {floor:>12,.1f} µs {took / floor:>7.2f}")


def main() -> None:
    print(f"{'':<44} {'ovstore':>15} {'floor':>15} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        with ovstore.open(f"sqlite:///{path}", create=True) as store:
            measure(store, path, Path(folder))


def measure(store: ovstore.Store, path: Path, folder: Path) -> None:
    store.publish(source("bench.prompt"), actor="bench")
    plain = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(TEXT)
    store.render("bench.prompt", VALUES, tenant="acme")
    row(
        "warm render, 2 KB, 5 variables, strict",
        median(lambda: store.render("bench.prompt", VALUES, tenant="acme"), 5000),
        median(lambda: plain.render(VALUES), 5000),
    )
    engine = sa.create_engine(f"sqlite:///{path}")
    query = sa.text("select * from ovstore_version where scope_id = 2 and key = 'bench.prompt' and number = 1")

    def select() -> None:
        with engine.connect() as conn:
            conn.execute(query).one()

    def cold() -> None:
        with ovstore.open(f"sqlite:///{path}") as fresh:
            begun = time.perf_counter()
            fresh.resolve("bench.prompt", tenant="acme/desk")
            taken.append(time.perf_counter() - begun)

    taken: list[float] = []
    for _ in range(40):
        cold()
    row("cold resolve, chain of 4 layers, a new store", statistics.median(taken) * 1e6, median(select, 500))
    with engine.begin() as conn:
        conn.execute(sa.text("create table floor (n integer primary key, t text)"))

    def insert() -> None:
        with engine.begin() as conn:
            conn.execute(sa.text("insert into floor (t) values ('x')"))

    count = iter(range(10_000))
    row(
        "publish a new version, 2 KB",
        median(lambda: store.publish(source("bench.prompt", f"{next(count)} {TEXT}"), actor="bench"), 100),
        median(insert, 100),
    )
    engine.dispose()
    measure_import(store, folder / "templates")


def measure_import(store: ovstore.Store, folder: Path) -> None:
    folder.mkdir()
    texts = {f"t{n:04}": source(f"bench.t{n:04}", f"{n} {TEXT}") for n in range(1000)}
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)

    def bring() -> None:
        store.apply(store.plan_import(folder), actor="bench")

    checked = median(lambda: [check_source(text.encode()) for text in texts.values()], 1)
    row("import 1,000 new templates (floor: checking)", median(bring, 1), checked)
    row("the same again, unchanged", median(bring, 1), checked)


if __name__ == "__main__":
    main()
