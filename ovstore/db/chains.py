"""The SELECTs of `verify`: whole chains in order, as columns, a scope at a time. It shares none with the writer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from ovstore.db import tables as t
from ovstore.names import Kind, Mode

BATCH = 500


@dataclass(frozen=True, slots=True)
class ScopeRow:
    id: int
    name: str
    revision: int
    head: bytes
    last_at: int


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One entry: its columns but the hash, the hash, its changes, and the version it added (all but the content)."""

    columns: Mapping[str, Any]
    hash: bytes
    changes: tuple[Mapping[str, Any], ...]
    added: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class VersionRow:
    key: str
    number: int
    kind: Kind
    mode: Mode
    source: bytes
    source_hash: bytes
    document: str
    document_hash: bytes


def scopes(conn: Connection) -> list[ScopeRow]:
    s = t.scope.c
    query = sa.select(s.id, s.name, s.revision, s.head, s.last_at).where(s.erased_at.is_(None)).order_by(s.id)
    return [ScopeRow(r.id, r.name, r.revision, bytes(r.head), r.last_at) for r in conn.execute(query)]


_ADDED = ("number", "kind", "mode", "source_hash", "document_hash", "format", "path", "category", "base")


def entries(conn: Connection, scope_id: int) -> Iterator[EntryRow]:
    """Yield the entries of a scope from the first to the last."""
    e = t.entry.c
    after = 0
    while True:
        query = sa.select(t.entry).where(e.scope_id == scope_id, e.seq > after).order_by(e.seq).limit(BATCH)
        rows = [_bytes(row._mapping) for row in conn.execute(query)]
        if not rows:
            return
        last = int(rows[-1]["seq"])
        changes = _changes(conn, scope_id, after, last)
        added = _added(conn, scope_id, after, last)
        for row in rows:
            columns = {name: value for name, value in row.items() if name not in ("scope_id", "hash")}
            seq = int(row["seq"])
            yield EntryRow(columns, row["hash"], tuple(changes.get(seq, ())), added.get(seq))
        after = last


def _bytes(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(k): bytes(v) if isinstance(v, (bytes, memoryview, bytearray)) else v for k, v in row.items()}


def _changes(conn: Connection, scope_id: int, after: int, last: int) -> dict[int, list[Mapping[str, Any]]]:
    c = t.change.c
    query = sa.select(t.change).where(c.scope_id == scope_id, c.seq > after, c.seq <= last).order_by(c.seq, c.n)
    found: dict[int, list[Mapping[str, Any]]] = {}
    for row in conn.execute(query):
        found.setdefault(row.seq, []).append(dict(row._mapping))
    return found


def _added(conn: Connection, scope_id: int, after: int, last: int) -> dict[int, dict[str, Any]]:
    """The versions that entries added, by the entry's sequence, each with the names that it includes."""
    e, v, p = t.entry.c, t.version.c, t.part.c
    on = sa.and_(v.scope_id == e.scope_id, v.key == e.key, v.number == e.after_number)
    window = (e.scope_id == scope_id, e.seq > after, e.seq <= last, e.source_hash.is_not(None))
    columns = [getattr(v, name) for name in _ADDED]
    query = sa.select(e.seq, *columns).select_from(t.entry.join(t.version, on)).where(*window)
    found: dict[int, dict[str, Any]] = {}
    for row in conn.execute(query):
        values = _bytes(row._mapping)
        seq = int(values.pop("seq"))
        found[seq] = {**values, "parts": []}
    on_part = sa.and_(p.scope_id == e.scope_id, p.key == e.key, p.number == e.after_number)
    parts = sa.select(e.seq, p.part).select_from(t.entry.join(t.part, on_part)).where(*window).order_by(e.seq, p.part)
    for row in conn.execute(parts):
        if row.seq in found:
            found[row.seq]["parts"].append(row.part)
    return found


@dataclass(frozen=True, slots=True)
class LabelRow:
    """Where a label stands, the entry that is said to have moved it there, and whether it agrees with its version."""

    number: int
    seq: int
    agrees: bool


def labels(conn: Connection, scope_id: int) -> dict[tuple[str, str], LabelRow]:
    """Return the labels of a scope, by label and key."""
    c, v = t.label.c, t.version.c
    on = sa.and_(v.scope_id == c.scope_id, v.key == c.key, v.number == c.number, v.mode == c.mode, v.base == c.base)
    query = (
        sa.select(c.label, c.key, c.number, c.seq, v.number.is_not(None).label("agrees"))
        .select_from(t.label.outerjoin(t.version, on))
        .where(c.scope_id == scope_id)
    )
    return {(row.label, row.key): LabelRow(row.number, row.seq, bool(row.agrees)) for row in conn.execute(query)}


def versions(conn: Connection, scope_id: int) -> Iterator[VersionRow]:
    v = t.version.c
    after: tuple[str, int] = ("", 0)
    while True:
        query = (
            sa.select(v.key, v.number, v.kind, v.mode, v.source, v.source_hash, v.document, v.document_hash)
            .where(v.scope_id == scope_id, sa.tuple_(v.key, v.number) > after)
            .order_by(v.key, v.number)
            .limit(BATCH)
        )
        rows = conn.execute(query).all()
        for r in rows:
            hashes = bytes(r.source_hash), bytes(r.document_hash)
            yield VersionRow(r.key, r.number, r.kind, r.mode, bytes(r.source), hashes[0], r.document, hashes[1])
        if len(rows) < BATCH:
            return
        after = (rows[-1].key, rows[-1].number)
