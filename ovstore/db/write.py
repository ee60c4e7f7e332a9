"""Every INSERT, UPDATE and lock of the store; only `lifecycle` calls it, inside its one transaction.

Locks are taken in the order seed, global, tenant, workspace: the parents' shared, the writer's own exclusively. So who
holds one exclusively is alone in all scopes above it too. On PostgreSQL they are transaction advisory locks on the
scope's id, since row locks let a stream of tenant writers starve the global one; on SQLite the transaction itself
(BEGIN IMMEDIATE) is the lock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from ovstore import names
from ovstore.db import read
from ovstore.db import tables as t
from ovstore.db.notices import CHANNEL
from ovstore.db.read import Stand
from ovstore.hashing import canonical_json
from ovstore.results import Change

LOCK_SPACE = 0x6F767374
"""The first of the two numbers of an advisory lock ("ovst"); the second is the scope's id."""


def lock(conn: Connection, scope: str) -> dict[str, Stand]:
    """Take the locks for a write in a scope, make the scope if it is new, and return where its chain stands."""
    order = list(reversed(names.chain(scope)))
    ids = {names.SEED: 1, names.GLOBAL: 2}
    if scope not in ids:
        ids |= {name: stand.id for name, stand in read.stands(conn, order).items()}
    _lock(conn, [(ids[name], name == scope) for name in order if name in ids])
    for name in (name for name in order if name not in ids):
        ids[name] = _new_scope(conn, name)
        _lock(conn, [(ids[name], name == scope)])
    return read.stands(conn, order)


def _lock(conn: Connection, wanted: Iterable[tuple[int, bool]]) -> None:
    if conn.dialect.name != "postgresql":
        return
    calls = [
        sa.func.pg_advisory_xact_lock(LOCK_SPACE, scope_id)
        if exclusive
        else sa.func.pg_advisory_xact_lock_shared(LOCK_SPACE, scope_id)
        for scope_id, exclusive in wanted
    ]
    conn.execute(sa.select(*(call.label(f"lock_{n}") for n, call in enumerate(calls))))


def _new_scope(conn: Connection, name: str) -> int:
    """Make a tenant or workspace and return its id; two writers who make it at once both get it."""
    parent = names.parent(name)
    assert parent is not None, "seed and global were always there"
    parent_id = read.stands(conn, [parent])[parent].id
    row = {"name": name, "parent_id": parent_id, "revision": 0, "head": names.NO_HEAD, "last_at": 0}
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    conn.execute(insert(t.scope).values(row).on_conflict_do_nothing())
    return read.stands(conn, [name])[name].id


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version to add: what its file said, and what it was made on."""

    key: str
    number: int
    kind: str
    mode: str
    source: bytes
    source_hash: bytes
    document: str
    document_hash: bytes
    format: int
    path: str
    category: str
    base: str
    parts: tuple[str, ...]


def vouched(row: VersionRow) -> dict[str, object]:
    """Return what an entry's hash covers of the version that it added: the hashes stand for source and document."""
    return {
        "number": row.number,
        "kind": row.kind,
        "mode": row.mode,
        "source_hash": row.source_hash,
        "document_hash": row.document_hash,
        "format": row.format,
        "path": row.path,
        "category": row.category,
        "base": row.base,
        "parts": sorted(row.parts),
    }


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One entry to append, hashed already."""

    seq: int
    at: int
    change_set: str
    actor: str
    action: str
    reason: str
    risk: int
    key: str
    category: str
    label: str | None
    before_number: int | None
    after_number: int | None
    undoes: int | None
    source_hash: bytes | None
    changes_hash: bytes
    hash: bytes
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class LabelMove:
    """A label that moves; before and after are numbers, mode and base those of the version it moves to."""

    key: str
    label: str
    before: int | None
    after: int | None
    mode: str
    base: str
    seq: int


def add_versions(conn: Connection, of: Mapping[int, Sequence[VersionRow]]) -> None:
    """Add versions, by the id of their scope."""
    columns = [c.name for c in t.version.c if c.name != "scope_id"]
    every = [(scope_id, row) for scope_id, rows in of.items() for row in rows]
    _insert(conn, t.version, [{"scope_id": i} | {name: getattr(row, name) for name in columns} for i, row in every])
    parts = [{"scope_id": i, "key": r.key, "number": r.number, "part": part} for i, r in every for part in r.parts]
    _insert(conn, t.part, parts)


def append(conn: Connection, of: Mapping[int, Sequence[EntryRow]]) -> None:
    """Append entries with their changes, by the id of their scope, and bring each scope forward to its last."""
    columns = [c.name for c in t.entry.c if c.name != "scope_id"]
    every = [(scope_id, row) for scope_id, rows in of.items() for row in rows]
    _insert(conn, t.entry, [{"scope_id": i} | {name: getattr(row, name) for name in columns} for i, row in every])
    changes = [
        {
            "scope_id": scope_id,
            "seq": r.seq,
            "n": n,
            "at": r.at,
            "key": r.key,
            "field": c.field,
            "path": c.path,
            "before_value": None if c.before is None else canonical_json(c.before),
            "after_value": None if c.after is None else canonical_json(c.after),
            "risk": names.RISKS.index(c.risk),
        }
        for scope_id, r in every
        for n, c in enumerate(r.changes)
    ]
    _insert(conn, t.change, changes)
    last = {scope_id: rows[-1] for scope_id, rows in of.items()}
    moved = [{"to_id": i, "to_seq": row.seq, "to_head": row.hash, "to_at": row.at} for i, row in last.items()]
    if conn.dialect.name == "postgresql":
        conn.execute(_MOVE_SCOPES, {name: [row[name] for row in moved] for name in moved[0]})
    else:
        conn.execute(_MOVE_SCOPE, moved)


_MOVE_SCOPE = (
    sa.update(t.scope)
    .where(t.scope.c.id == sa.bindparam("to_id"))
    .values(revision=sa.bindparam("to_seq"), head=sa.bindparam("to_head"), last_at=sa.bindparam("to_at"))
)
_TO: Mapping[str, Any] = {"to_id": t.INT, "to_seq": t.BIGINT, "to_head": t.BYTES, "to_at": t.BIGINT}
_MOVED = (
    sa.func.unnest(*(sa.bindparam(name, type_=postgresql.ARRAY(type_)) for name, type_ in _TO.items()))
    .table_valued(*(sa.column(name, type_) for name, type_ in _TO.items()), name="moved")
    .render_derived()
)
# All in one, and the notices with it, which are delivered at the commit, to every listener. A scope's name could be too
# long for a notice, and is not its business.
_MOVE_SCOPES = (
    sa.update(t.scope)
    .where(t.scope.c.id == _MOVED.c.to_id)
    .values(revision=_MOVED.c.to_seq, head=_MOVED.c.to_head, last_at=_MOVED.c.to_at)
    .returning(sa.func.pg_notify(CHANNEL, sa.func.concat(t.scope.c.id, ":", _MOVED.c.to_seq)))
)
_LABEL = (
    t.label.c.scope_id == sa.bindparam("at_scope"),
    t.label.c.label == sa.bindparam("at_label"),
    t.label.c.key == sa.bindparam("at_key"),
)
_MOVE_LABEL = (
    sa.update(t.label)
    .where(*_LABEL)
    .values({name: sa.bindparam(f"to_{name}") for name in ("number", "mode", "base", "seq")})
)
_REMOVE_LABEL = sa.delete(t.label).where(*_LABEL)


def move_labels(conn: Connection, of: Mapping[int, Sequence[LabelMove]]) -> None:
    """Move labels, by the id of their scope."""
    new, moved, gone = [], [], []
    for scope_id, m in [(scope_id, move) for scope_id, moves in of.items() for move in moves]:
        at = {"at_scope": scope_id, "at_label": m.label, "at_key": m.key}
        to = {"number": m.after, "mode": m.mode, "base": m.base, "seq": m.seq}
        if m.after is None:
            gone.append(at)
        elif m.before is None:
            new.append({"scope_id": scope_id, "label": m.label, "key": m.key} | to)
        else:
            moved.append(at | {f"to_{name}": value for name, value in to.items()})
    _insert(conn, t.label, new)
    for statement, rows in ((_MOVE_LABEL, moved), (_REMOVE_LABEL, gone)):
        if rows:
            conn.execute(statement, rows)


def set_seed_catalog(conn: Connection, catalog: str) -> None:
    conn.execute(sa.update(t.meta).values(seed_catalog=catalog))


_INSERTS = {table: sa.insert(table) for table in (t.version, t.part, t.entry, t.change, t.label)}


def _insert(conn: Connection, table: sa.Table, rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        conn.execute(_INSERTS[table], list(rows))


def document_text(data: Mapping[str, object]) -> str:
    """Return a document as it is kept: order as written, so that the order of a schema's properties survives."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
