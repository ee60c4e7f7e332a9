"""The few statements of the hot path, run on a driver's own connections: SQLAlchemy costs more than they do.

Each is written with the tables like all others and turned into text once. A `Direct` has a handful of connections of
its own that never write: on PostgreSQL at most `CONNECTIONS`, on SQLite as many as there are threads at work. On SQLite
they are also what sees commits: `token()` is another object after every commit of anyone, here or elsewhere.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from ovstore import names
from ovstore.db import tables as t
from ovstore.db.engines import Database, Dialect
from ovstore.db.read import Stand
from ovstore.errors import DatabaseError
from ovstore.names import Kind, Mode

CONNECTIONS: Final = 10
MOST_KEYS: Final = 4096
_LONGEST_CHAIN: Final = 4


class Row(NamedTuple):
    """A version that a label points at, with its content as JSON text; that of `moves` is empty."""

    scope_id: int
    label: str
    key: str
    number: int
    mode: Mode
    kind: Kind
    category: str
    source_hash: bytes
    document_hash: bytes
    format: int
    document: str


class Move(NamedTuple):
    """An entry of a scope, and the version that its label points at behind it; None where it was withdrawn."""

    seq: int
    head: bytes
    label: str | None
    key: str
    version: Row | None


@dataclass(frozen=True, slots=True)
class Looked:
    """What one statement saw: where each scope of the chain stands, None for one that does not exist, and the rows."""

    stands: tuple[Stand | None, ...]
    rows: Sequence[Row]


class _Spare:
    """A driver's connection, at work for one caller at a time.

    Of a SQLite file, `file` says which one it is and `version` what it last saw of its data.
    """

    __slots__ = ("connection", "cursor", "file", "version")

    def __init__(self, connection: Any, file: object) -> None:
        self.connection = connection
        self.cursor = connection.cursor()
        self.file = file
        # No version yet: a new connection knows nothing of what was committed before it.
        self.version = -1


class Direct:
    """A database's hot path. Shared by threads; forked children forget its connections without closing them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._spare: deque[_Spare] = deque()
        self._free = threading.BoundedSemaphore(CONNECTIONS)
        self._token = object()
        self._file = database.file()
        database.replaced = self.close
        _open.add(self)

    def token(self) -> object | None:
        """Return an object that is the same one as long as nobody has committed; None where only asking can tell."""
        if self._file is None:
            return self._database.written if self._database.in_memory else None
        spare = self._take()
        try:
            (version,) = spare.cursor.execute("PRAGMA data_version").fetchone()
        except BaseException as error:
            spare.connection.close()
            if isinstance(error, Exception):
                raise self._database.translated(error) from error
            raise
        if version != spare.version:
            spare.version = version
            self._token = object()
        self._give_back(spare)
        return self._token

    def stands(self, chain: Sequence[str]) -> tuple[Stand | None, ...]:
        """Return where each scope of a chain stands."""
        found = {row[1]: Stand(*row) for row in self._run(_STANDS, _scopes(chain))}
        return tuple(map(found.get, chain))

    def look(self, chain: Sequence[str], label: str, keys: Sequence[str] | None) -> Looked:
        """Return in one statement where a chain stands and what has the label, or `live`, for the keys; None: for all.

        More than MOST_KEYS keys are looked up as all are.
        """
        count = 0 if keys is None or len(keys) > MOST_KEYS else _rounded(len(keys))
        values = _scopes(chain) | {"label0": label, "label1": names.LIVE}
        if count and keys:
            values |= {f"key{n}": keys[min(n, len(keys) - 1)] for n in range(count)}
        stands: dict[str, Stand] = {}
        rows: list[Row] = []
        for row in self._run(_look(count, self._database.dialect), values):
            if row[1] not in stands:
                stands[row[1]] = Stand(*row[:5])
            if row[6] is not None:
                rows.append(Row._make((row[0], *row[5:])))
        return Looked(tuple(map(stands.get, chain)), rows)

    def moves(self, scope_id: int, after: int, until: int) -> list[Move]:
        """Return the entries of a scope from `after` to `until`, both inclusive, in order."""
        values = {"scope_id": scope_id, "after": after, "until": until}
        found: list[Move] = []
        for seq, head, label, key, number, *version in self._run(_MOVES, values):
            row = None if number is None else Row._make((scope_id, label, key, number, *version, ""))
            found.append(Move(seq, head, label, key, row))
        return found

    def close(self) -> None:
        """Close the connections; those at work are closed when they come back."""
        spares, self._spare = self._spare, deque()
        while spares:
            spares.pop().connection.close()

    def forget(self) -> None:
        """Let go of inherited connections without closing them, which would end the parent's sessions."""
        _inherited.append(self._spare)
        self._spare = deque()
        self._free = threading.BoundedSemaphore(CONNECTIONS)
        self._token = object()

    def _run(self, statement: sa.Select[Any], values: Mapping[str, Any]) -> list[Any]:
        database = self._database
        text = _text(statement, database.dialect)
        if database.in_memory:
            with database.look() as shared:
                return list(shared.exec_driver_sql(text, dict(values)))
        if database.dialect == "sqlite":
            return self._ask(self._take(), text, values)
        with self._free:
            while self._spare:
                try:
                    return self._ask(self._spare.pop(), text, values)
                except DatabaseError as error:
                    # It lay idle, and the server or a pooler may have closed it: then the next one is tried.
                    if not error.lost:
                        raise
            return self._ask(_Spare(database.connect(), None), text, values)

    def _ask(self, spare: _Spare, text: str, values: Mapping[str, Any]) -> list[Any]:
        try:
            rows: list[Any] = spare.cursor.execute(text, values).fetchall()
        except BaseException as error:
            lost = getattr(spare.connection, "closed", False)
            spare.connection.close()
            if not isinstance(error, Exception):
                raise
            told = self._database.translated(error)
            told.lost = told.lost or lost
            raise told from error
        self._give_back(spare)
        return rows

    def _take(self) -> _Spare:
        file = self._database.file()
        if file is not self._file:
            # What was read of the file that lay there before is not known of this one.
            self._token = object()
            self._file = file
        while True:
            try:
                spare = self._spare.pop()
            except IndexError:
                return _Spare(self._database.connect(), file)
            if spare.file is file:
                return spare
            spare.connection.close()

    def _give_back(self, spare: _Spare) -> None:
        self._spare.append(spare)
        if self._database.closed:
            self.close()


_open: weakref.WeakSet[Direct] = weakref.WeakSet()
_inherited: list[Any] = []


def _forget_all() -> None:
    for direct in list(_open):
        direct.forget()


os.register_at_fork(after_in_child=_forget_all)


def _scopes(chain: Sequence[str]) -> dict[str, Any]:
    return {f"scope{n}": chain[min(n, len(chain) - 1)] for n in range(_LONGEST_CHAIN)}


def _binds(name: str, type_: Any, count: int) -> list[sa.BindParameter[Any]]:
    return [sa.bindparam(f"{name}{n}", type_=type_) for n in range(count)]


_STAND: Final = (t.scope.c.id, t.scope.c.name, t.scope.c.revision, t.scope.c.head, t.scope.c.last_at)
_CONTENTLESS: Final = (
    t.version.c.mode,
    t.version.c.kind,
    t.version.c.category,
    t.version.c.source_hash,
    t.version.c.document_hash,
    t.version.c.format,
)
_CHAIN: Final = (t.scope.c.name.in_(_binds("scope", t.TEXT, _LONGEST_CHAIN)), t.scope.c.erased_at.is_(None))
_STANDS: Final = sa.select(*_STAND).where(*_CHAIN)
_MOVES: Final = (
    sa.select(t.entry.c.seq, t.entry.c.hash, t.entry.c.label, t.entry.c.key, t.entry.c.after_number, *_CONTENTLESS)
    .select_from(
        t.entry.outerjoin(
            t.version,
            sa.and_(
                t.version.c.scope_id == t.entry.c.scope_id,
                t.version.c.key == t.entry.c.key,
                t.version.c.number == t.entry.c.after_number,
            ),
        )
    )
    .where(
        t.entry.c.scope_id == sa.bindparam("scope_id", type_=t.INT),
        t.entry.c.seq >= sa.bindparam("after", type_=t.BIGINT),
        t.entry.c.seq <= sa.bindparam("until", type_=t.BIGINT),
    )
    .order_by(t.entry.c.seq)
)


@cache
def _look(count: int, dialect: Dialect) -> sa.Select[Any]:
    """The lookup of as many keys; 0 is all of them.

    PostgreSQL plans each time, and there are many ways to join three tables: it is told to go from the scopes to their
    labels to the versions, which takes it a third of the time, and stays right where statistics are old.
    """
    label: Any = t.label
    version: Any = t.version
    wanted = [label.c.scope_id == t.scope.c.id, label.c.label.in_(_binds("label", t.TEXT, 2))]
    if count:
        wanted.append(label.c.key.in_(_binds("key", t.TEXT, count)))
    pointing: Any = sa.and_(*wanted)
    if dialect == "postgresql":
        needed = (label.c.scope_id, label.c.label, label.c.key, label.c.number)
        label, pointing = _fenced(sa.select(*needed).where(pointing), "pointing"), sa.true()
    pointed: Any = sa.and_(*(version.c[name] == label.c[name] for name in ("scope_id", "key", "number")))
    if dialect == "postgresql":
        read = (version.c.number, *_CONTENTLESS, version.c.document)
        version, pointed = _fenced(sa.select(*read).where(pointed), "pointed"), sa.true()
    joined = t.scope.outerjoin(label, pointing).outerjoin(version, pointed)
    contentless = [version.c[column.name] for column in _CONTENTLESS]
    columns = (*_STAND, label.c.label, label.c.key, version.c.number, *contentless, version.c.document)
    return sa.select(*columns).select_from(joined).where(*_CHAIN)


def _fenced(query: sa.Select[Any], name: str) -> sa.FromClause:
    """What is done for each row to the left of it, and not turned into a join: OFFSET keeps the planner out."""
    return query.offset(sa.literal_column("0")).lateral(name)


def _rounded(count: int) -> int:
    """A power of two: so that few texts serve any number of keys, the last of which is then asked for again."""
    return 1 << (count - 1).bit_length()


@cache
def _text(statement: sa.Select[Any], dialect: Dialect) -> str:
    if dialect == "sqlite":
        return str(statement.compile(dialect=sqlite.dialect(paramstyle="named")))
    # Loads all of PostgreSQL's drivers in SQLAlchemy, which SQLite need not wait for.
    from sqlalchemy.dialects.postgresql import psycopg

    return str(statement.compile(dialect=psycopg.dialect()))  # type: ignore[no-untyped-call]
