"""The SELECTs that look at the scopes above one: whose overrides and prompts a write below them would touch.

`scopes` are ids; None means all there are, which lie above global and seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from ovstore import names
from ovstore.db import tables as t
from ovstore.db.read import Stand, among, chunks
from ovstore.names import Mode


@dataclass(frozen=True, slots=True)
class Override:
    """Which scope has which version of a key live."""

    scope: str
    number: int
    mode: str


_OVERRIDES = (
    sa.select(t.label.c.key, t.scope.c.name, t.label.c.number, t.label.c.mode)
    .select_from(t.label.join(t.scope, t.scope.c.id == t.label.c.scope_id))
    .where(
        t.label.c.label == names.LIVE,
        t.label.c.key.in_(among("keys")),
        t.label.c.mode.in_(among("modes")),
        t.scope.c.erased_at.is_(None),
    )
    .order_by(t.scope.c.name)
)
_OVERRIDES_OF_SCOPES = _OVERRIDES.where(t.label.c.scope_id.in_(among("scopes")))


def overrides_of(
    conn: Connection,
    keys: Sequence[str],
    scopes: Sequence[int] | None = None,
    modes: Sequence[Mode] = ("full", "patch"),
) -> dict[str, list[Override]]:
    """Return by key which of the scopes (None: all there are) have a live version of it, by name."""
    query = _OVERRIDES if scopes is None else _OVERRIDES_OF_SCOPES
    found: dict[str, list[Override]] = {}
    for some in chunks(keys):
        for row in conn.execute(query, {"keys": some, "modes": modes} | _only(scopes)):
            found.setdefault(row.key, []).append(Override(row.name, row.number, row.mode))
    return found


def _only(scopes: Sequence[int] | None) -> dict[str, object]:
    return {} if scopes is None else {"scopes": scopes}


_INCLUDES = (
    sa.select(t.part.c.key, t.part.c.part)
    .distinct()
    .select_from(
        t.part.join(
            t.label,
            sa.and_(
                t.label.c.scope_id == t.part.c.scope_id,
                t.label.c.key == t.part.c.key,
                t.label.c.number == t.part.c.number,
                t.label.c.label == names.LIVE,
            ),
        )
    )
)


_USERS = _INCLUDES.where(t.part.c.part.in_(among("wanted")))
_USERS_IN_SCOPES = _USERS.where(t.part.c.scope_id.in_(among("scopes")))
_PARTS = _INCLUDES.where(t.label.c.key.in_(among("wanted")))
_PARTS_IN_SCOPES = _PARTS.where(t.part.c.scope_id.in_(among("scopes")))


_AROUND = sa.union(_USERS, _PARTS)
_AROUND_IN_SCOPES = sa.union(_USERS_IN_SCOPES, _PARTS_IN_SCOPES)


def includes_around(conn: Connection, keys: Sequence[str], scopes: Sequence[int] | None) -> set[tuple[str, str]]:
    """Return what includes the keys and what they include, by the live versions of the scopes (None: of all)."""
    return _includes(conn, _AROUND if scopes is None else _AROUND_IN_SCOPES, keys, scopes)


def users_of(conn: Connection, parts: Sequence[str], scopes: Sequence[int] | None) -> set[tuple[str, str]]:
    """Return which keys include which of the parts, by the live versions of the scopes (None: of all there are)."""
    return _includes(conn, _USERS if scopes is None else _USERS_IN_SCOPES, parts, scopes)


def parts_of(conn: Connection, keys: Sequence[str], scopes: Sequence[int] | None) -> set[tuple[str, str]]:
    """Return which of the keys include which parts, by the live versions of the scopes (None: of all there are)."""
    return _includes(conn, _PARTS if scopes is None else _PARTS_IN_SCOPES, keys, scopes)


def _includes(
    conn: Connection, query: sa.Executable, wanted: Sequence[str], scopes: Sequence[int] | None
) -> set[tuple[str, str]]:
    rows = (row for some in chunks(wanted) for row in conn.execute(query, {"wanted": some} | _only(scopes)))
    return {(row.key, row.part) for row in rows}


_LAST_AT = sa.select(sa.func.coalesce(sa.func.max(t.scope.c.last_at), 0))
_LAST_AT_OF_WORKSPACES = _LAST_AT.where(t.scope.c.parent_id == sa.bindparam("parent_id"))


def last_at_above(conn: Connection, stand: Stand) -> int:
    """Return the time (µs) of the last entry in any scope above one; 0 where there is none."""
    if "/" in stand.name:
        return 0
    everyone = stand.name in (names.SEED, names.GLOBAL)
    query, values = (_LAST_AT, {}) if everyone else (_LAST_AT_OF_WORKSPACES, {"parent_id": stand.id})
    return int(conn.execute(query, values).scalar_one())


def overrides(conn: Connection) -> dict[int, int]:
    """Return by scope id how many keys each scope has live."""
    query = (
        sa.select(t.label.c.scope_id, sa.func.count()).where(t.label.c.label == names.LIVE).group_by(t.label.c.scope_id)
    )
    return dict(conn.execute(query).all())
