"""Counts the statements that a store sends to its database, by whatever way it sends them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest


class Statements(list[str]):
    """What was sent: every SELECT and write; the freshness check of SQLite, which is no SQL query, by itself.

    SQLite's have their values in them, those of PostgreSQL are kept beside them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[int, Any] = {}

    def add(self, statement: object, values: Any = None) -> None:
        self._values[len(self)] = values
        self.append(" ".join(str(statement).split()))

    def sent(self) -> list[tuple[str, Any]]:
        """Return each statement with its values."""
        return [(statement, self._values[n]) for n, statement in enumerate(self)]

    @property
    def queries(self) -> list[str]:
        return [statement for statement in self if statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE"))]

    @property
    def checks(self) -> list[str]:
        return [statement for statement in self if statement.startswith("PRAGMA data_version")]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Statements:
    """To be asked for before the store is opened: connections are watched from their beginning."""
    sent = Statements()
    connect, execute = sqlite3.connect, psycopg.Cursor.execute

    def watched(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection = connect(*args, **kwargs)
        connection.set_trace_callback(sent.add)
        return connection

    def executed(cursor: Any, query: Any, params: Any = None, **kwargs: Any) -> Any:
        sent.add(query, params)
        return execute(cursor, query, params, **kwargs)

    monkeypatch.setattr(sqlite3, "connect", watched)
    monkeypatch.setattr(psycopg.Cursor, "execute", executed)
    return sent


@contextlib.contextmanager
def during(sent: Statements) -> Iterator[Statements]:
    """Collect what is sent in the context alone."""
    sent.clear()
    yield sent
