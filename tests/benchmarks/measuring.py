"""What the benchmarks share: where they measure, how, and what a row of the table says."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import postgres
import sqlalchemy as sa

from ovstore.db import migrate
from ovstore.db.engines import Database

BOLD: dict[str, Any] = {"actor": "bench", "reason": "r", "accept_risk": "very_high"}
TEXT = "You work for {{ a }} and {{ b }}. " + "Say what is known, and nothing else. " * 52 + "{{ c }} {{ d }} {{ e }}"
LOGIC = (
    "You work for {{ a }}{% if b %} and {{ b }}{% endif %}. "
    + "Say what is known, and nothing else. " * 52
    + "{% for x in xs %}- {{ x }}\n{% endfor %}{{ c }} {{ d }}"
)
VALUES: dict[str, Any] = {name: f"value of {name}" for name in "abcde"}
LOGIC_VALUES: dict[str, Any] = {**{name: VALUES[name] for name in "abcd"}, "xs": ["one", "two", "three"]}


def source(key: str, text: str = TEXT, values: Mapping[str, Any] = VALUES) -> str:
    """A prompt as people write it, about 2 KB; each value says of which type its variable is."""
    types = {name: "string" if isinstance(value, str) else "list" for name, value in values.items()}
    variables = "".join(f"  - {{name: {n}, type: {kind}, description: {n}}}\n" for n, kind in types.items())
    head = f"metadata:\n  id: {key}\n  name: n\n  description: d\n  version: '1'\n  language: en\n  category: bench\n"
    indented = text.replace("\n", "\n  ")
    return f"{head}variables:\n{variables}template: |\n  {indented}\n"


@dataclass(frozen=True)
class Row:
    """One measurement. `limit` is what it may be, which `bound` says in words; None for a figure beside the table."""

    what: str
    ours: float
    floors: Mapping[str, float]
    bound: str = ""
    limit: float | None = None
    unit: str = "s"

    @property
    def missed(self) -> bool:
        return self.limit is not None and self.ours > self.limit

    @property
    def ratio(self) -> str:
        first = next(iter(self.floors.values()), None)
        return f"{self.ours / first:.2f}" if first and self.unit == "s" else ""

    def __str__(self) -> str:
        floors = ", ".join(f"{name} {shown(value, self.unit)}" for name, value in self.floors.items())
        limit = "" if self.limit is None else shown(self.limit, self.unit)
        # A bound that is no time by itself says what it comes to here.
        words = f"{self.bound} = {limit}" if limit and not self.bound.endswith((" ms", " MB", "0")) else self.bound
        met = "" if self.limit is None else "MISSED" if self.missed else "met"
        ours = shown(self.ours, self.unit)
        return f"| {self.what:<58} | {ours:>9} | {floors:<48} | {self.ratio:>6} | {words:<44} | {met:<6} |"


def table(measured: Mapping[str, Sequence[Row]]) -> str:
    """Return all rows as a Markdown table with a column for each place; a bound that was missed is in bold."""
    by_place = {place: {row.what: row for row in rows} for place, rows in measured.items()}
    every = {row.what: row.bound for rows in measured.values() for row in rows}
    lines = ["| what | bound |" + "".join(f" {place} |" for place in measured), "| --- " * (len(measured) + 2) + "|"]
    for what, bound in every.items():
        cells = "".join(f" {_cell(rows.get(what))} |" for rows in by_place.values())
        lines.append(f"| {what} | {bound} |{cells}")
    return "\n".join(lines)


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    said = shown(row.ours, row.unit) + (f" ({row.ratio})" if row.ratio else "")
    return f"**{said}**" if row.missed else said


HEAD = f"| {'what':<58} | {'ovstore':>9} | {'floor':<48} | {'ratio':>6} | {'bound':<44} | {'':<6} |"


def shown(value: float, unit: str) -> str:
    if unit != "s":
        return f"{value:,.0f} {unit}".rstrip()
    for factor, name in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1 or name == "µs":
            return f"{value * factor:.{2 if value * factor < 10 else 1 if value * factor < 100 else 0}f} {name}"
    raise AssertionError


def interleaved(
    calls: Mapping[str, Callable[[], object]], rounds: int, number: int = 1, warm: bool = True
) -> dict[str, float]:
    """Return the median seconds of each call, all taken in turns, so that a busy moment hits them alike.

    What is short is called several times in each turn, but for less than a millisecond in all: what takes longer than
    the system's time slice is interrupted on a busy machine, what it is compared with not. `warm`: once before.
    """
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values() if warm else ():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            begun = time.perf_counter()
            for _ in range(number):
                call()
            taken[name].append((time.perf_counter() - begun) / number)
    return {name: statistics.median(times) for name, times in taken.items()}


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


class Home:
    """A database server or a folder in which databases are made."""

    def __init__(self, name: str, folder: Path, server: postgres.Server | None) -> None:
        self.name = name
        self._folder = folder
        self._server = server
        self._made: list[str] = []

    def new(self) -> str:
        """Make a database with the schema and nothing in it, and return its URL."""
        name = f"bench_{len(self._made)}"
        url = f"sqlite:///{self._folder}/{name}.db"
        if self._server is not None:
            self._server.run(f"CREATE DATABASE {name}")
            url = self._server.url_of(name)
        self._made.append(name)
        database = Database(url, create=True)
        migrate.upgrade(database)
        database.close()
        return url

    def clear(self) -> None:
        for name in self._made if self._server is not None else ():
            assert self._server is not None
            self._server.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextlib.contextmanager
def home(name: str) -> Iterator[Home]:
    """Give a home on the disk of this machine, with all that production waits for."""
    with tempfile.TemporaryDirectory(prefix="ovstore-bench-") as folder:
        if name == "SQLite":
            yield Home(name, Path(folder), None)
        else:
            with postgres.server(postgres.DURABLE) as server:
                found = Home(name, Path(folder), server)
                try:
                    yield found
                finally:
                    found.clear()


def core(url: str) -> sa.Engine:
    """SQLAlchemy, each statement by itself and, as in ovstore, not prepared."""
    unprepared = {"prepare_threshold": None} if url.startswith("postgresql") else {}
    return sa.create_engine(url, isolation_level="AUTOCOMMIT", connect_args=unprepared)
