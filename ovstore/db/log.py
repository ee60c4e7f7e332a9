"""The SELECTs of the log: entries with their changes for audit and history, and the moves that a rollback walks back.

Entries come newest first. Long answers are read in pages by position, never by offset, so that the last page of a
long log costs what the first one does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from ovstore import names
from ovstore.db import tables as t
from ovstore.db.read import Stand, among, chunks
from ovstore.errors import TamperError
from ovstore.names import Risk
from ovstore.results import Change, Entry, Version

PAGE = 200
Position = tuple[int, int, int]
"""Of an entry among all: time (µs), scope id, sequence."""
_read = json.JSONDecoder().raw_decode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_us(at: int) -> datetime:
    """Return whole microseconds since 1970 as an aware time."""
    return _EPOCH + timedelta(0, 0, at)


def to_us(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries: None means any. `scopes` are ids; `risk` is the least one; since and until are inclusive (µs)."""

    scopes: tuple[int, ...] | None = None
    key: str | None = None
    category: str | None = None
    actor: str | None = None
    action: str | None = None
    field: str | None = None
    risk: int | None = None
    since: int | None = None
    until: int | None = None


def _wanted_clauses(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    """The filters; where a field is asked for, those that a change has too are put to it, whose index they walk."""
    e = t.entry.c
    by: Any = e if wanted.field is None else t.change.c
    wishes: list[tuple[object, Callable[[Any], sa.ColumnElement[bool]]]] = [
        (wanted.scopes, by.scope_id.in_),
        (wanted.key, by.key.__eq__),
        (wanted.field, t.change.c.field.__eq__),
        (wanted.category, e.category.__eq__),
        (wanted.actor, e.actor.__eq__),
        (wanted.action, e.action.__eq__),
        (wanted.risk, e.risk.__ge__),
        (wanted.since, by.at.__ge__),
        (wanted.until, by.at.__le__),
    ]
    return [clause(value) for value, clause in wishes if value is not None]


def page(conn: Connection, wanted: Wanted, after: Position | None) -> tuple[list[Entry], Position | None]:
    """Return the next entries behind a position, newest first, each with its changes; and the position behind them.

    That is None where no more can come.
    """
    e, c = t.entry.c, t.change.c
    query: sa.Select[Any] = _ENTRIES.where(*_wanted_clauses(wanted))
    by: Any = e
    if wanted.field is not None:
        by = c
        earlier = t.change.alias("earlier")
        of_same_entry = (
            sa.select(sa.literal(1))
            .where(
                earlier.c.scope_id == c.scope_id,
                earlier.c.seq == c.seq,
                earlier.c.field == c.field,
                earlier.c.n < c.n,
            )
            .exists()
        )
        query = query.join(t.change, sa.and_(c.scope_id == e.scope_id, c.seq == e.seq)).where(~of_same_entry)
    if after is not None:
        query = query.where(sa.tuple_(by.at, by.scope_id, by.seq) < after)
    query = query.order_by(by.at.desc(), by.scope_id.desc(), by.seq.desc()).limit(PAGE)
    rows = conn.execute(query).all()
    last = rows[-1] if len(rows) == PAGE else None
    return _entries(rows, _scopes_of(conn, rows), _changes_of(conn, rows)), None if last is None else _position(last)


def of_key(conn: Connection, known: Iterable[Stand], key: str) -> list[Entry]:
    """Return every entry of a key in the scopes, newest first, each with its changes."""
    scopes = {stand.id: stand.name for stand in known}
    asked = {"scopes": list(scopes), "key": key}
    rows = conn.execute(_ENTRIES_OF_KEY, asked).all()
    changes = _grouped(conn.execute(_CHANGES_OF_KEY, asked).all())
    return _entries(sorted(rows, key=_position, reverse=True), scopes, changes)


_ENTRIES = sa.select(
    t.entry.c.at,
    t.entry.c.scope_id,
    t.entry.c.seq,
    t.entry.c.change_set,
    t.entry.c.actor,
    t.entry.c.action,
    t.entry.c.key,
    t.entry.c.category,
    t.entry.c.label,
    t.entry.c.before_number,
    t.entry.c.after_number,
    t.entry.c.reason,
    t.entry.c.risk,
    t.entry.c.hash,
)
_CHANGES = sa.select(
    t.change.c.scope_id,
    t.change.c.seq,
    t.change.c.n,
    t.change.c.path,
    t.change.c.field,
    t.change.c.before_value,
    t.change.c.after_value,
    t.change.c.risk,
)
_OF_KEY = t.entry.c.scope_id.in_(among("scopes")), t.entry.c.key == sa.bindparam("key")
_ENTRIES_OF_KEY = _ENTRIES.where(*_OF_KEY)
_CHANGES_OF_KEY = _CHANGES.join_from(
    t.entry, t.change, sa.and_(t.change.c.scope_id == t.entry.c.scope_id, t.change.c.seq == t.entry.c.seq)
).where(*_OF_KEY)
_position: Callable[[Any], Position] = itemgetter(0, 1, 2)
_Changes = dict[tuple[int, int], tuple[Change, ...]]
"""By scope id and sequence of an entry: its changed fields, in the order that they were written in."""


def _entries(rows: Iterable[Any], scopes: Mapping[int, str], changes: _Changes) -> list[Entry]:
    found = []
    # Unpacked, and given in order: by name, both take longer than all the rest.
    for at, scope_id, seq, change_set, actor, action, key, category, *rest in rows:
        label, before, after, reason, risk, own_hash = rest
        entry = Entry(
            scopes[scope_id],
            seq,
            from_us(at),
            change_set,
            actor,
            action,
            key,
            category,
            label,
            before,
            after,
            reason,
            names.RISKS[risk],
            changes.get((scope_id, seq), ()),
            bytes(own_hash).hex(),
        )
        found.append(entry)
    return found


def _scopes_of(conn: Connection, entries: Sequence[Any]) -> dict[int, str]:
    """Return the names of scopes by id. Not joined: PostgreSQL would read all scopes to find a page of entries."""
    ids = {row.scope_id for row in entries}
    named = sa.select(t.scope.c.id, t.scope.c.name).where(t.scope.c.id.in_(ids))
    return dict(conn.execute(named).all()) if ids else {}


def _changes_of(conn: Connection, entries: Sequence[Any]) -> _Changes:
    c = t.change.c
    found: _Changes = {}
    for start in range(0, len(entries), PAGE):
        seqs: dict[int, list[int]] = {}
        for row in entries[start : start + PAGE]:
            seqs.setdefault(row.scope_id, []).append(row.seq)
        # Neither as pairs nor in order: for either, SQLite would walk the whole table.
        here = sa.or_(*(sa.and_(c.scope_id == scope_id, c.seq.in_(some)) for scope_id, some in seqs.items()))
        found |= _grouped(conn.execute(_CHANGES.where(here)))
    return found


def _value(text: str) -> Any:
    """Read a value that `canonical_json` wrote: there is nothing around it, not even a space."""
    value, end = _read(text)
    if end != len(text):
        raise ValueError("something stands behind the value")
    return value


def _grouped(rows: Iterable[Any]) -> _Changes:
    found: dict[tuple[int, int], list[Change]] = {}
    for scope_id, seq, _, path, field, before, after, risk in sorted(rows, key=itemgetter(2)):
        try:
            old = None if before is None else _value(before)
            new = None if after is None else _value(after)
        except ValueError as error:
            raise TamperError(
                f"a changed field of entry {seq} is not what ovstore wrote there: {path} has a value that is no JSON; "
                "`verify` tells what else was changed, a backup has what it was"
            ) from error
        found.setdefault((scope_id, seq), []).append(Change(path, field, old, new, names.RISKS[risk]))
    return {entry: tuple(changes) for entry, changes in found.items()}


_OF_CHANGE_SET = _ENTRIES.join(t.scope, t.scope.c.id == t.entry.c.scope_id).where(
    t.entry.c.change_set == sa.bindparam("change_set"), t.scope.c.erased_at.is_(None)
)
_OF_ITSELF = sa.and_(t.scope.c.id == sa.bindparam("scope_id"), t.entry.c.action != "freeze")
_OF_WORKSPACES = sa.and_(
    t.scope.c.parent_id == sa.bindparam("scope_id"), t.entry.c.action.in_(("freeze", "rollback_tenant"))
)
_OWN_CHANGE_SET = _OF_CHANGE_SET.where(_OF_ITSELF)
_TENANT_CHANGE_SET = _OF_CHANGE_SET.where(sa.or_(_OF_ITSELF, _OF_WORKSPACES))


def of_change_set(conn: Connection, stand: Stand, change_set: str) -> list[Entry]:
    """Return the entries that one change set left in a scope and in those directly above it, in their order.

    Of those above a tenant, only what a write to the tenant does there: a workspace's own write may have the same id
    and is another one. So is the write below that froze something in the scope. Of global and seed, those above are
    left out: they are overrides that the write froze, in their tenants' own logs.
    """
    query = _OWN_CHANGE_SET if stand.name in (names.SEED, names.GLOBAL) else _TENANT_CHANGE_SET
    found = conn.execute(query, {"change_set": change_set, "scope_id": stand.id})
    # Sorted here: for an ORDER BY, SQLite reads the whole log of the scope.
    rows = sorted(found, key=lambda row: (row.scope_id, row.seq))
    return _entries(rows, _scopes_of(conn, rows), _changes_of(conn, rows))


def publishers(conn: Connection, stand: Stand) -> dict[str, str]:
    """Return by key who added the version that is live in the scope."""
    e, label = t.entry.c, t.label.c
    added = sa.and_(
        e.scope_id == label.scope_id, e.key == label.key, e.after_number == label.number, e.source_hash.is_not(None)
    )
    query = (
        sa.select(label.key, e.actor)
        .select_from(t.label.join(t.entry, added))
        .where(label.scope_id == stand.id, label.label == names.LIVE)
    )
    return {row.key: row.actor for row in conn.execute(query)}


@dataclass(frozen=True, slots=True)
class Push:
    """A move that still stands on a label's stack: what it moved from and to."""

    seq: int
    before: int | None
    after: int | None


def stack(conn: Connection, stand: Stand, key: str, label: str) -> Iterator[Push]:
    """Yield the moves that are not taken back, newest first.

    A rollback that names what it undoes is no push: the walk goes on before the entry that it took back.
    """
    e = t.entry.c
    undone = t.entry.alias("undone").c
    took_back = sa.select(undone.at).where(undone.scope_id == e.scope_id, undone.seq == e.undoes).scalar_subquery()
    columns = (e.seq, e.before_number, e.after_number, e.at, took_back.label("took_back"))
    moves = sa.select(*columns).where(e.scope_id == stand.id, e.key == key, e.label == label).order_by(e.at.desc())
    row = conn.execute(moves.limit(1)).first()
    while row is not None:
        if row.took_back is None:
            yield Push(row.seq, row.before_number, row.after_number)
        before = row.at if row.took_back is None else row.took_back
        row = conn.execute(moves.where(e.at < before).limit(1)).first()


@dataclass(frozen=True, slots=True)
class RolledBack:
    """Somebody took a version off the live label: who, when and why."""

    key: str
    number: int
    actor: str
    at: datetime
    reason: str


_TAKEN_BACK = (
    sa.select(
        t.entry.c.key,
        t.entry.c.actor,
        t.entry.c.at,
        t.entry.c.reason,
        t.entry.c.before_number,
        t.version.c.source_hash,
    )
    .join(
        t.version,
        sa.and_(
            t.version.c.scope_id == t.entry.c.scope_id,
            t.version.c.key == t.entry.c.key,
            t.version.c.number == t.entry.c.before_number,
        ),
    )
    .where(
        t.entry.c.scope_id == sa.bindparam("scope_id"),
        t.entry.c.label == names.LIVE,
        t.entry.c.key.in_(among("keys")),
        t.entry.c.action.in_(("rollback", "rollback_tenant")),
    )
    .order_by(t.entry.c.at)
)


def rolled_back(conn: Connection, stand: Stand, sources: Mapping[str, bytes]) -> dict[str, RolledBack]:
    """Return by key who last rolled the scope back from this very source, unless it was made live again since."""
    found: dict[str, RolledBack] = {}
    for some in chunks(list(sources)):
        for row in conn.execute(_TAKEN_BACK, {"scope_id": stand.id, "keys": some}):
            if bytes(row.source_hash) == sources[row.key]:
                found[row.key] = RolledBack(row.key, row.before_number, row.actor, from_us(row.at), row.reason)
    return {key: hit for key, hit in found.items() if not _live_since(conn, stand, hit, sources[key])}


def draft_risks(conn: Connection, stand: Stand, numbers: Mapping[str, int]) -> dict[str, Risk]:
    """Return by key the risk that was declared of a version when it was added as a draft; those are left out else."""
    e = t.entry.c
    found: dict[str, Risk] = {}
    for some in chunks(list(numbers)):
        query = sa.select(e.key, e.after_number, e.risk).where(
            e.scope_id == stand.id, e.key.in_(some), e.label.is_(None), e.source_hash.is_not(None)
        )
        found |= {row.key: names.RISKS[row.risk] for row in conn.execute(query) if row.after_number == numbers[row.key]}
    return found


def _live_since(conn: Connection, stand: Stand, hit: RolledBack, source_hash: bytes) -> bool:
    e, v = t.entry.c, t.version.c
    query = (
        sa.select(sa.literal(1))
        .select_from(t.entry)
        .join(t.version, sa.and_(v.scope_id == e.scope_id, v.key == e.key, v.number == e.after_number))
        .where(
            e.scope_id == stand.id,
            e.key == hit.key,
            e.label == names.LIVE,
            e.at > to_us(hit.at),
            v.source_hash == source_hash,
        )
        .limit(1)
    )
    return conn.execute(query).first() is not None


def last_move(conn: Connection, known: Sequence[Stand], key: str, label: str) -> int | None:
    """Return the time (µs) of the newest move of a label of a key in any of the scopes."""
    query = sa.select(sa.func.max(t.entry.c.at)).where(
        t.entry.c.scope_id.in_([stand.id for stand in known]), t.entry.c.key == key, t.entry.c.label == label
    )
    newest: int | None = conn.execute(query).scalar_one()
    return newest


def last_at(conn: Connection, stand: Stand, at: int) -> names.Mark:
    """Return where a scope stood at a time (µs, inclusive)."""
    query = (
        sa.select(t.entry.c.seq, t.entry.c.hash)
        .where(t.entry.c.scope_id == stand.id, t.entry.c.at <= at)
        .order_by(t.entry.c.seq.desc())
        .limit(1)
    )
    row = conn.execute(query).first()
    return names.mark(stand.name, row.seq, bytes(row.hash)) if row else names.mark(stand.name, 0, names.NO_HEAD)


def position(conn: Connection, stand: Stand, seq: int) -> tuple[int, bytes] | None:
    """Return time (µs) and hash of one entry."""
    query = sa.select(t.entry.c.at, t.entry.c.hash).where(t.entry.c.scope_id == stand.id, t.entry.c.seq == seq)
    row = conn.execute(query).first()
    return (row.at, bytes(row.hash)) if row else None


_KEYS_MOVED = (
    sa.select(t.entry.c.key)
    .where(t.entry.c.scope_id.in_(among("scopes")), t.entry.c.key.in_(among("keys")), t.entry.c.label == names.LIVE)
    .distinct()
)


def keys_moved(conn: Connection, known: Iterable[Stand], keys: Sequence[str]) -> set[str]:
    """Return those of the keys that had a live version in any of the scopes at any time."""
    ids = [stand.id for stand in known]
    return {key for some in chunks(keys) for key in conn.scalars(_KEYS_MOVED, {"scopes": ids, "keys": some})}


_VERSIONS = sa.select(
    t.version.c.scope_id,
    t.version.c.number,
    t.version.c.mode,
    t.version.c.base,
    t.version.c.path,
    t.version.c.source,
    t.version.c.source_hash,
    t.version.c.document_hash,
).where(t.version.c.scope_id.in_(among("scopes")), t.version.c.key == sa.bindparam("key"))
# Not joined: to bring them in order, SQLite would carry every source along.
_ADDED = sa.select(t.entry.c.scope_id, t.entry.c.after_number, t.entry.c.at, t.entry.c.actor, t.entry.c.reason).where(
    t.entry.c.scope_id.in_(among("scopes")), t.entry.c.key == sa.bindparam("key"), t.entry.c.source_hash.is_not(None)
)


def versions(conn: Connection, known: Sequence[Stand], key: str) -> list[Version]:
    """Return every version of a key in the scopes, in their order, newest first, each with the entry that added it."""
    scopes = {stand.id: stand.name for stand in known}
    asked = {"scopes": list(scopes), "key": key}
    rows = conn.execute(_VERSIONS, asked).all()
    added = {
        (scope_id, number): (from_us(at), actor, reason)
        for scope_id, number, at, actor, reason in conn.execute(_ADDED, asked).all()
    }
    order = {scope_id: place for place, scope_id in enumerate(scopes)}
    return [
        Version(
            key,
            scopes[scope_id],
            number,
            mode,
            base,
            path,
            bytes(source),
            bytes(source_hash).hex(),
            bytes(document_hash).hex(),
            *added[scope_id, number],
        )
        for scope_id, number, mode, base, path, source, source_hash, document_hash in sorted(
            rows, key=lambda row: (order[row[0]], -row[1])
        )
        if (scope_id, number) in added
    ]
