"""Measure what ovstore promises of its speed, and print a row for each bound: `.venv/bin/python tests/benchmarks/run.py`.

    run.py --quick                         everything, small, in well under a minute
    run.py --tenants 1000                  one size of database only
    run.py --databases SQLite --only cold  some of it

Ratios are to floors that were measured in turns with ours. `bench_render.py` and `bench_context.py` measure rendering by
itself and context assembly, and are run by name.
"""

from __future__ import annotations

import argparse
import platform
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "freshness"))

import bench_cold
import bench_memory
import bench_push
import bench_start
import bench_warm
import bench_write
import scale
from measuring import HEAD, Home, Row, home, table

GROUPS = ("memory", "growth", "warm", "cold", "write", "push", "start")
DATABASES = ("SQLite", "PostgreSQL")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tenants", type=int, nargs="+", default=[1_000, 10_000], help="20 overrides of 3 versions each"
    )
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is repeated")
    parser.add_argument("--quick", action="store_true", help="one size of 200 tenants, one round")
    asked = parser.parse_args()
    if asked.quick:
        asked.tenants, asked.rounds = [200], 1
    begun = time.monotonic()
    print(
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )
    measured: dict[str, list[Row]] = {}
    for database in asked.databases:
        with home(database) as place:
            for tenants in asked.tenants:
                print(f"\n{database}, {tenants:,} tenants with 20 overrides of 3 versions\n{HEAD}", flush=True)
                measured[f"{database}, {tenants:,}"] = shown(rows(place, tenants, asked))
    if "start" in asked.only:
        print(f"\nStart\n{HEAD}")
        measured["start"] = shown(bench_start.rows(asked.rounds))
    missed = sum(row.missed for rows in measured.values() for row in rows)
    print(f"\n{table(measured)}\n\n{missed} bounds missed; {time.monotonic() - begun:.0f} s")
    return 0


def rows(place: Home, tenants: int, asked: argparse.Namespace) -> Iterator[Row]:
    url = place.new()
    scale.fill(url, tenants)
    rounds, largest = asked.rounds, tenants == max(asked.tenants)
    if "memory" in asked.only and largest:
        yield from bench_memory.rows(url, tenants, trace=place.name == "SQLite")
    if "growth" in asked.only and largest:
        yield from bench_cold.growth(place, url, tenants, rounds)
    if "warm" in asked.only:
        yield from bench_warm.rows(place, url, rounds)
    if "cold" in asked.only:
        yield from bench_cold.rows(url, rounds)
    if "write" in asked.only:
        yield from bench_write.rows(place, url, rounds, 100 if asked.quick else 1000)
    if "push" in asked.only:
        yield from bench_push.rows(place, url, 100 * rounds, 2.0 * rounds)


def shown(found: Iterator[Row]) -> list[Row]:
    """Print rows as they come."""
    kept = []
    for row in found:
        print(row, flush=True)
        kept.append(row)
    return kept


if __name__ == "__main__":
    raise SystemExit(main())
