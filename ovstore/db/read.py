"""The SELECTs of the store, named after what they return.

Functions take the connection first and return frozen values, never rows. None of them reads without naming its scopes,
except those whose name says `everywhere`; what lies above a scope, in tenants that it need not know, is read by
`ovstore.db.above`. A version comes back as a LayerVersion, ready to be folded.

What a write asks for is kept as a statement with parameters: to build one costs several times what running it does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection

from ovstore import documents, hashing, names
from ovstore.db import tables as t
from ovstore.errors import TamperError
from ovstore.layering import LayerVersion
from ovstore.names import Kind, Mode

V = TypeVar("V")

CHUNK = 500
"""Keys per statement: well below the bind limits of both databases, large enough that round trips do not show."""


class Stand(NamedTuple):
    """Where a scope stands: the sequence, hash and time (µs) of its last entry."""

    id: int
    name: str
    seq: int
    head: bytes
    last_at: int

    @property
    def mark(self) -> names.Mark:
        return names.mark(self.name, self.seq, self.head)


@dataclass(frozen=True, slots=True)
class ChainView:
    """What a chain has for some keys: the stands of the scopes that exist, and by key and scope what answers there."""

    stands: Mapping[str, Stand]
    layers: Mapping[str, Mapping[str, LayerVersion]]


_STAND = (t.scope.c.id, t.scope.c.name, t.scope.c.revision, t.scope.c.head, t.scope.c.last_at)
_LABELLED = sa.and_(
    t.version.c.scope_id == t.label.c.scope_id,
    t.version.c.key == t.label.c.key,
    t.version.c.number == t.label.c.number,
)
_VERSION = (
    t.version.c.scope_id,
    t.version.c.key,
    t.version.c.number,
    t.version.c.kind,
    t.version.c.mode,
    t.version.c.document,
    t.version.c.source_hash,
    t.version.c.document_hash,
    t.version.c.path,
    t.version.c.category,
    t.version.c.base,
    t.version.c.format,
)


def _stand(row: Any) -> Stand:
    return Stand(row.id, row.name, row.revision, bytes(row.head), row.last_at)


def document(
    text: str, scope: str, key: str, number: int, kind: Kind, mode: Mode, document_hash: bytes
) -> dict[str, Any]:
    """Return a stored document; raises TamperError where it is not the one that the hash of its row is of."""
    cause: Exception | None = None
    try:
        data: dict[str, Any] = json.loads(text)
        if hashing.document_hash(documents.canonical(kind, mode, data)) == document_hash:
            return data
    except Exception as error:  # What is no document fails in a way of its own.
        cause = error
    raise TamperError(
        f"version {number} of {key} in {scope} is not what ovstore wrote there: its document was changed in the "
        "database; `verify` tells what else was, a backup has what it was"
    ) from cause


def _layer(row: Any, scope: str, label: str | None) -> LayerVersion:
    document_hash = bytes(row.document_hash)
    return LayerVersion(
        scope=scope,
        label=label,
        number=row.number,
        mode=row.mode,
        kind=row.kind,
        data=document(row.document, scope, row.key, row.number, row.kind, row.mode, document_hash),
        source_hash=bytes(row.source_hash),
        document_hash=document_hash,
        path=row.path,
        category=row.category,
        base=row.base,
        format=row.format,
    )


def among(name: str) -> sa.BindParameter[Any]:
    """Return a parameter of a kept statement that takes a list."""
    return sa.bindparam(name, expanding=True)


def chunks(values: Sequence[V]) -> Iterator[Sequence[V]]:
    return (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))


_STANDS = sa.select(*_STAND).where(t.scope.c.erased_at.is_(None), t.scope.c.name.in_(among("names")))


def stands(conn: Connection, scopes: Iterable[str]) -> dict[str, Stand]:
    """Return the stands of those scopes that exist."""
    found = (row for some in chunks(list(scopes)) for row in conn.execute(_STANDS, {"names": some}))
    return {row.name: _stand(row) for row in found}


def workspaces(conn: Connection, tenant_id: int) -> dict[str, Stand]:
    query = sa.select(*_STAND).where(t.scope.c.parent_id == tenant_id, t.scope.c.erased_at.is_(None))
    return {row.name: _stand(row) for row in conn.execute(query)}


def stands_everywhere(conn: Connection) -> dict[str, Stand]:
    query = sa.select(*_STAND).where(t.scope.c.erased_at.is_(None)).order_by(t.scope.c.id)
    return {row.name: _stand(row) for row in conn.execute(query)}


def _chain_query(*of_keys: sa.ColumnElement[bool]) -> sa.Select[Any]:
    on_label = sa.and_(t.label.c.scope_id == t.scope.c.id, t.label.c.label.in_(among("labels")), *of_keys)
    joined = t.scope.outerjoin(t.label, on_label).outerjoin(t.version, _LABELLED)
    query = sa.select(*_STAND, t.label.c.label, *_VERSION).select_from(joined)
    return query.where(t.scope.c.erased_at.is_(None), t.scope.c.name.in_(among("names")))


_CHAIN = _chain_query()
_CHAIN_OF_KEYS = _chain_query(t.label.c.key.in_(among("keys")))


def chain(conn: Connection, scopes: Sequence[str], label: str, keys: Sequence[str] | None = None) -> ChainView:
    """Return in one statement where each scope of the chain stands and what it serves under the label, else live.

    Without keys, everything that the chain has. With very many keys, one statement for each CHUNK of them.
    """
    labels = [label] if label == names.LIVE else [label, names.LIVE]
    found: dict[str, Stand] = {}
    layers: dict[str, dict[str, LayerVersion]] = {}
    query, parts = (_CHAIN, [{}]) if keys is None else (_CHAIN_OF_KEYS, [{"keys": some} for some in chunks(keys)])
    for part in parts:
        for row in conn.execute(query, {"names": scopes, "labels": labels} | part):
            found.setdefault(row.name, _stand(row))
            if row.label is None:
                continue
            at_key = layers.setdefault(row.key, {})
            if row.name not in at_key or row.label == label:
                at_key[row.name] = _layer(row, row.name, row.label)
    return ChainView(found, layers)


def chain_as_of(
    conn: Connection,
    known: Mapping[str, Stand],
    until: Mapping[str, int],
    label: str,
    keys: Sequence[str] | None = None,
) -> dict[str, dict[str, LayerVersion]]:
    """Return by key and scope what answered at a past time (µs, one for each scope, inclusive)."""
    labels = [label] if label == names.LIVE else [label, names.LIVE]
    layers: dict[str, dict[str, LayerVersion]] = {}
    for scope, at in until.items():
        stand = known[scope]
        chosen: dict[str, tuple[str, int]] = {}
        for key, moved_label, after in _labels_as_of(conn, stand.id, at, labels, keys):
            if after is not None and (key not in chosen or moved_label == label):
                chosen[key] = (moved_label, after)
        for row in _version_rows(conn, stand, [(k, number) for k, (_, number) in chosen.items()]):
            layers.setdefault(row.key, {})[scope] = _layer(row, scope, chosen[row.key][0])
    return layers


def _labels_as_of(
    conn: Connection, scope_id: int, at: int, labels: Sequence[str], keys: Sequence[str] | None
) -> Iterator[tuple[str, str, int | None]]:
    later = t.entry.alias("later")
    newer = (
        sa.select(sa.literal(1))
        .where(
            later.c.scope_id == t.entry.c.scope_id,
            later.c.key == t.entry.c.key,
            later.c.label == t.entry.c.label,
            later.c.at <= at,
            later.c.at > t.entry.c.at,
        )
        .exists()
    )
    query = sa.select(t.entry.c.key, t.entry.c.label, t.entry.c.after_number).where(
        t.entry.c.scope_id == scope_id, t.entry.c.label.in_(labels), t.entry.c.at <= at, ~newer
    )
    for chunk in [None] if keys is None else chunks(keys):
        chosen = query if chunk is None else query.where(t.entry.c.key.in_(chunk))
        for row in conn.execute(chosen):
            yield row.key, row.label, row.after_number


_IN_SCOPE = t.version.c.scope_id == sa.bindparam("scope_id")
_ONE_OF = sa.and_(
    _IN_SCOPE,
    t.version.c.key.in_(among("keys")),
    t.version.c.number.in_(among("numbers")),
    sa.tuple_(t.version.c.key, t.version.c.number).in_(among("wanted")),
)
_VERSIONS = sa.select(*_VERSION).where(_ONE_OF)


def _version_rows(conn: Connection, stand: Stand, wanted: Sequence[tuple[str, int]]) -> Iterator[Any]:
    for some in chunks(wanted):
        yield from conn.execute(_VERSIONS, _pairs(stand, some))


def _pairs(stand: Stand, wanted: Sequence[tuple[str, int]]) -> dict[str, object]:
    """Values for `_ONE_OF`: said one by one too, since SQLite finds no list of pairs by an index."""
    keys, numbers = ({part[n] for part in wanted} for n in (0, 1))
    return {"scope_id": stand.id, "keys": list(keys), "numbers": list(numbers), "wanted": list(wanted)}


def versions(conn: Connection, stand: Stand, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], LayerVersion]:
    """Return those of the wanted (key, number) that the scope has."""
    rows = _version_rows(conn, stand, wanted)
    return {(row.key, row.number): _layer(row, stand.name, None) for row in rows}


@dataclass(frozen=True, slots=True)
class Live:
    """What a scope itself has live for a key, without the content."""

    key: str
    number: int
    source_hash: bytes
    path: str
    category: str


def live(conn: Connection, stand: Stand) -> list[Live]:
    """Return what the scope overrides, by key."""
    query = (
        sa.select(t.version.c.key, t.version.c.number, t.version.c.source_hash, t.version.c.path, t.version.c.category)
        .select_from(t.label.join(t.version, _LABELLED))
        .where(t.label.c.scope_id == stand.id, t.label.c.label == names.LIVE)
        .order_by(t.version.c.key)
    )
    return [Live(r.key, r.number, bytes(r.source_hash), r.path, r.category) for r in conn.execute(query)]


def sources(conn: Connection, stand: Stand, wanted: Sequence[tuple[str, int]]) -> dict[str, bytes]:
    """Return by key the sources of a few versions."""
    query = sa.select(t.version.c.key, t.version.c.source).where(_ONE_OF)
    return {row.key: bytes(row.source) for row in conn.execute(query, _pairs(stand, wanted))}


def keys_by_source(conn: Connection, stand: Stand, hashes: Sequence[bytes]) -> dict[bytes, str]:
    """Return the keys that the scope has versions of with these sources, by the sources' hashes."""
    found: dict[bytes, str] = {}
    for some in chunks(hashes):
        query = sa.select(t.version.c.source_hash, t.version.c.key).where(
            t.version.c.scope_id == stand.id, t.version.c.source_hash.in_(some)
        )
        found.update({bytes(source_hash): key for source_hash, key in conn.execute(query)})
    return found


def source(conn: Connection, stand: Stand, key: str, number: int) -> tuple[bytes, str]:
    """Return the source of a version and the path that it was read from."""
    query = sa.select(t.version.c.source, t.version.c.path).where(
        t.version.c.scope_id == stand.id, t.version.c.key == key, t.version.c.number == number
    )
    row = conn.execute(query).one()
    return bytes(row.source), row.path


_LAST_NUMBERS = (
    sa.select(t.version.c.key, sa.func.max(t.version.c.number))
    .where(_IN_SCOPE, t.version.c.key.in_(among("keys")))
    .group_by(t.version.c.key)
)


def last_numbers(conn: Connection, stand: Stand, keys: Sequence[str]) -> dict[str, int]:
    """Return the highest version number that each key ever had in the scope; keys without one are left out."""
    highest: dict[str, int] = {}
    for some in chunks(keys):
        highest.update(conn.execute(_LAST_NUMBERS, {"scope_id": stand.id, "keys": some}).all())
    return highest


_LAST_NUMBERS_OF = (
    sa.select(t.version.c.scope_id, t.version.c.key, sa.func.max(t.version.c.number))
    .where(t.version.c.scope_id.in_(among("scopes")), t.version.c.key.in_(among("keys")))
    .group_by(t.version.c.scope_id, t.version.c.key)
)


def last_numbers_of(conn: Connection, known: Iterable[Stand], keys: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return the highest version number of the keys in each of many scopes, by scope and key."""
    by_id = {stand.id: stand.name for stand in known}
    return {
        (by_id[scope_id], key): last
        for ids in chunks(list(by_id))
        for some in chunks(keys)
        for scope_id, key, last in conn.execute(_LAST_NUMBERS_OF, {"scopes": ids, "keys": some})
    }


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key stands in one scope: its live version and the hash of that one's source, and its last number."""

    live: int | None
    source_hash: bytes | None
    last: int


def _of_key(column: sa.ColumnElement[Any], *joined: sa.ColumnElement[bool]) -> sa.ScalarSelect[Any]:
    here = t.label.c.scope_id == sa.bindparam("scope_id"), t.label.c.key == sa.bindparam("key")
    return sa.select(column).where(t.label.c.label == names.LIVE, *here, *joined).scalar_subquery()


_PLACE = sa.select(
    _of_key(t.label.c.number).label("live"),
    _of_key(t.version.c.source_hash, _LABELLED).label("source_hash"),
    sa.select(sa.func.coalesce(sa.func.max(t.version.c.number), 0))
    .where(_IN_SCOPE, t.version.c.key == sa.bindparam("key"))
    .scalar_subquery()
    .label("last"),
)


def place(conn: Connection, stand: Stand, key: str) -> Place:
    row = conn.execute(_PLACE, {"scope_id": stand.id, "key": key}).one()
    return Place(row.live, None if row.source_hash is None else bytes(row.source_hash), row.last)


_LABELS = sa.select(t.label.c.key, t.label.c.number).where(
    t.label.c.scope_id == sa.bindparam("scope_id"), t.label.c.label == sa.bindparam("label")
)
_LABELS_OF_KEYS = _LABELS.where(t.label.c.key.in_(among("keys")))


def labels(conn: Connection, stand: Stand, label: str, keys: Sequence[str] | None = None) -> dict[str, int]:
    """Return where the label stands for each key that has it in this scope alone."""
    here = {"scope_id": stand.id, "label": label}
    if keys is None:
        return dict(conn.execute(_LABELS, here).all())
    found: dict[str, int] = {}
    for some in chunks(keys):
        found.update(conn.execute(_LABELS_OF_KEYS, here | {"keys": some}).all())
    return found


def label_names(conn: Connection, known: Iterable[Stand]) -> set[str]:
    """Return every label that the scopes use or ever used: an old one still has answers as of its time."""
    ids = [stand.id for stand in known]
    query = sa.select(t.entry.c.label).where(t.entry.c.scope_id.in_(ids), t.entry.c.label.is_not(None)).distinct()
    return set(conn.scalars(query))


def keys(conn: Connection, known: Iterable[Stand]) -> set[str]:
    """Return every key that a label of the scopes points at."""
    ids = [stand.id for stand in known]
    return set(conn.scalars(sa.select(t.label.c.key).where(t.label.c.scope_id.in_(ids)).distinct()))


def live_versions(conn: Connection, scopes: Sequence[str], keys: Sequence[str]) -> dict[tuple[str, str], LayerVersion]:
    """Return what each of the scopes has live for each of the keys, the scopes taken one by one and not as a chain."""
    found: dict[tuple[str, str], LayerVersion] = {}
    for some in chunks(scopes):
        view = chain(conn, some, names.LIVE, keys)
        found.update({(scope, key): layer for key, at in view.layers.items() for scope, layer in at.items()})
    return found


def store_id(conn: Connection) -> str:
    return str(conn.execute(sa.select(t.meta.c.store_id)).scalar_one())


def seed_catalog(conn: Connection) -> str:
    return str(conn.execute(sa.select(t.meta.c.seed_catalog)).scalar_one())
