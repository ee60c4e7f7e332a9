"""The tables, as SQLAlchemy Core objects: what every statement of ovstore.db is written against.

The migrations make them (and the triggers that keep history as it was written); these objects only describe where the
newest migration leads, and a test holds the two equal. Text sorts by code point on both databases (COLLATE "C"), SQLite
tables are STRICT, so that a column holds on either database what its type says. Times are whole microseconds of UTC.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    event,
    text,
)

TEXT = Text().with_variant(Text(collation="C"), "postgresql")
BIGINT = BigInteger().with_variant(Integer(), "sqlite")
INT = Integer()
BYTES = LargeBinary()

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    }
)


def _table(name: str, *parts: Any) -> Table:
    return Table(f"ovstore_{name}", metadata, *parts, sqlite_strict=True)


def _index(name: str, *columns: Any, where: str | None = None, unique: bool = False) -> Index:
    return Index(f"ovstore_{name}", *columns, unique=unique, sqlite_where=None if where is None else text(where))


@event.listens_for(metadata, "before_create")
def _say_conditions(*_: Any, **__: Any) -> None:
    """What is said of SQLite's indexes holds on PostgreSQL; said any earlier, it would load all of its drivers."""
    for table in metadata.tables.values():
        for index in table.indexes:
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]


def _required(name: str, type_: Any, *parts: Any) -> Column[Any]:
    return Column(name, type_, *parts, nullable=False, autoincrement=False)


# One row. `store_id` goes into plans, lock files and cache keys; `readable_from` is the oldest code generation that may
# still use the schema; `seed_catalog` the newest bundled catalogue that was imported.
meta = _table(
    "meta",
    _required("one", INT),
    _required("store_id", TEXT),
    _required("readable_from", INT),
    _required("seed_catalog", TEXT),
    PrimaryKeyConstraint("one"),
    CheckConstraint("one = 1", name="one"),
)

# One row is the head of one chain, and its advisory lock is the writers' lock. 1 is seed, 2 is global; the others get
# the next free id, which is never used again. `revision`, `head` and `last_at` are those of the last entry.
scope = _table(
    "scope",
    Column("id", INT, Identity(start=3), primary_key=True),
    _required("name", TEXT),
    Column("parent_id", INT, ForeignKey("ovstore_scope.id")),
    _required("revision", BIGINT),
    _required("head", BYTES),
    _required("last_at", BIGINT),
    Column("approve_from", INT),
    Column("erased_at", BIGINT),
    _index("scope_name", "name", where="erased_at IS NULL", unique=True),
    _index("scope_parent", "parent_id"),
    _index("scope_last_at", "last_at"),
)

# Never updated, and deleted only in an erased scope. `document` is JSON as written (order kept, defaults not filled
# in), `document_hash` that of the canonical form; `format` says which defaults and merge semantics its words had;
# `base` names the versions below it that it was made on.
version = _table(
    "version",
    _required("scope_id", INT, ForeignKey("ovstore_scope.id")),
    _required("key", TEXT),
    _required("number", INT),
    _required("kind", TEXT),
    _required("mode", TEXT),
    _required("source", BYTES),
    _required("source_hash", BYTES),
    _required("document", TEXT),
    _required("document_hash", BYTES),
    _required("format", INT),
    _required("path", TEXT),
    _required("category", TEXT),
    _required("base", TEXT),
    PrimaryKeyConstraint("scope_id", "key", "number"),
    CheckConstraint("kind IN ('prompt', 'memory', 'settings')", name="kind"),
    CheckConstraint("mode IN ('full', 'patch')", name="mode"),
)

# The literal names that a version includes.
part = _table(
    "part",
    _required("scope_id", INT),
    _required("key", TEXT),
    _required("number", INT),
    _required("part", TEXT),
    PrimaryKeyConstraint("scope_id", "key", "number", "part"),
    ForeignKeyConstraint(
        ["scope_id", "key", "number"], ["ovstore_version.scope_id", "ovstore_version.key", "ovstore_version.number"]
    ),
    _index("part_used", "part", "scope_id"),
    _index("part_of", "key", "scope_id"),
)

# The only rows that move, to where the entries say: `seq` is the entry that moved it here. `mode` and `base` are its
# version's, so that dependants are found without reading versions.
label = _table(
    "label",
    _required("scope_id", INT),
    _required("label", TEXT),
    _required("key", TEXT),
    _required("number", INT),
    _required("mode", TEXT),
    _required("base", TEXT),
    _required("seq", BIGINT),
    PrimaryKeyConstraint("scope_id", "label", "key"),
    ForeignKeyConstraint(
        ["scope_id", "key", "number"], ["ovstore_version.scope_id", "ovstore_version.key", "ovstore_version.number"]
    ),
    _index("label_base", "key", "base", "scope_id", where="label = 'live' AND base <> ''"),
    _index("label_live", "key", "mode", "scope_id", where="label = 'live'"),
)

# History and audit in one, append-only and chained by hash. `at` is one value a transaction and later than any before
# it in the scope; `label` is null where nothing moved, `after_number` where a label was withdrawn.
entry = _table(
    "entry",
    _required("scope_id", INT, ForeignKey("ovstore_scope.id")),
    _required("seq", BIGINT),
    _required("at", BIGINT),
    _required("change_set", TEXT),
    _required("actor", TEXT),
    _required("action", TEXT),
    _required("reason", TEXT),
    _required("risk", INT),
    Column("key", TEXT),
    Column("category", TEXT),
    Column("label", TEXT),
    Column("before_number", INT),
    Column("after_number", INT),
    Column("undoes", BIGINT),
    Column("source_hash", BYTES),
    _required("changes_hash", BYTES),
    _required("hash", BYTES),
    PrimaryKeyConstraint("scope_id", "seq"),
    _index("entry_as_of", "scope_id", "key", "label", "at", unique=True),
    _index("entry_at", "at", "scope_id", "seq"),
    _index("entry_key", "key", "at"),
    _index("entry_actor", "actor", "at"),
    _index("entry_change_set", "scope_id", "change_set"),
)

# One row a field that differs: `path` is fields[content].merge_op, `field` the merge_op at its end.
change = _table(
    "change",
    _required("scope_id", INT),
    _required("seq", BIGINT),
    _required("n", INT),
    _required("at", BIGINT),
    _required("key", TEXT),
    _required("field", TEXT),
    _required("path", TEXT),
    Column("before_value", TEXT),
    Column("after_value", TEXT),
    _required("risk", INT),
    PrimaryKeyConstraint("scope_id", "seq", "n"),
    ForeignKeyConstraint(["scope_id", "seq"], ["ovstore_entry.scope_id", "ovstore_entry.seq"]),
    _index("change_field", "field", "at", "scope_id", "seq"),
)

# For approvals to come, like `scope.approve_from`, so that they need no migration; nothing uses it yet. A write that
# waits for a second person: `moves` is [[key, label, before, after], ...], of versions that were added without a label.
proposal = _table(
    "proposal",
    _required("change_set", TEXT),
    _required("scope_id", INT, ForeignKey("ovstore_scope.id")),
    _required("state", TEXT),
    _required("moves", TEXT),
    _required("risk", INT),
    _required("actor", TEXT),
    _required("reason", TEXT),
    _required("at", BIGINT),
    Column("expires_at", BIGINT),
    Column("decided_by", TEXT),
    Column("decided_at", BIGINT),
    Column("decision", TEXT),
    PrimaryKeyConstraint("change_set"),
    _index("proposal_open", "scope_id", "at", where="state = 'open'"),
)
