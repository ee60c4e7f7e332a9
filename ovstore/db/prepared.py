"""Statements that are written with the tables, turned into text once, and run as text.

SQLAlchemy builds, keys and looks up a statement on each execution, which costs several times what the hot statements
themselves do. These are built when a module is loaded, or once for each number of keys, and then only bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, CursorResult, Executable
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql import psycopg

from ovstore.db import tables as t

_DIALECTS: Final[Mapping[str, sa.Dialect]] = {
    "sqlite": sqlite.dialect(paramstyle="named"),
    "postgresql": psycopg.dialect(),  # type: ignore[no-untyped-call]
}


@cache
def text(statement: Executable, dialect: str) -> str:
    """Return a statement as the driver takes it, with its parameters by name."""
    return str(statement.compile(dialect=_DIALECTS[dialect]))  # type: ignore[attr-defined]


def run(conn: Connection, statement: Executable, **values: object) -> CursorResult[Any]:
    """Run a statement that is kept; the rows have the names of its columns."""
    return conn.exec_driver_sql(text(statement, conn.dialect.name), values)


def run_many(conn: Connection, statement: Executable, rows: Sequence[Mapping[str, object]]) -> None:
    """Run a statement that is kept for each of many sets of values."""
    if rows:
        conn.exec_driver_sql(text(statement, conn.dialect.name), [dict(row) for row in rows])


def several(name: str, count: int, type_: Any = t.TEXT) -> list[sa.BindParameter[Any]]:
    """Return parameters for a list of so many values: name0, name1 and so on."""
    return [sa.bindparam(f"{name}{n}", type_=type_) for n in range(count)]


def one(name: str, type_: Any = t.TEXT) -> sa.BindParameter[Any]:
    return sa.bindparam(name, type_=type_)


def rounded(count: int) -> int:
    """Return the next power of two, so that few texts serve lists of any length; see `spread`."""
    return 1 << (count - 1).bit_length()


def spread(name: str, values: Sequence[object], count: int) -> dict[str, object]:
    """Return the values for that many parameters of `several`, the last one given again where they are fewer."""
    return {f"{name}{n}": values[min(n, len(values) - 1)] for n in range(count)}
