"""The first schema: tables, the triggers that keep history as it was written, the two fixed scopes.

Triggers refuse UPDATE and DELETE on versions, parts, entries and changes. Rows may go only where their scope was
erased, entries and changes only those before the tombstone, which is the erased scope's last entry. SQLite's REPLACE
deletes without a DELETE trigger, so an INSERT over an existing key is refused; PostgreSQL's TRUNCATE passes row
triggers, so it has its own. A scope keeps its id, name and parent, never falls back, and ends with its erasure.
"""

import uuid

from alembic import op
from sqlalchemy import text

revision = "0001"
down_revision = None

TABLES = """
CREATE TABLE ovstore_meta (
    one INTEGER NOT NULL,
    store_id {text} NOT NULL,
    readable_from INTEGER NOT NULL,
    seed_catalog {text} NOT NULL,
    CONSTRAINT ovstore_meta_pkey PRIMARY KEY (one),
    CONSTRAINT ovstore_meta_one_check CHECK (one = 1)
) {table};

CREATE TABLE ovstore_scope (
    id INTEGER {identity},
    name {text} NOT NULL,
    parent_id INTEGER,
    revision {bigint} NOT NULL,
    head {bytes} NOT NULL,
    last_at {bigint} NOT NULL,
    approve_from INTEGER,
    erased_at {bigint},
    CONSTRAINT ovstore_scope_pkey PRIMARY KEY (id),
    CONSTRAINT ovstore_scope_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES ovstore_scope (id)
) {table};
CREATE UNIQUE INDEX ovstore_scope_name ON ovstore_scope (name) WHERE erased_at IS NULL;
CREATE INDEX ovstore_scope_parent ON ovstore_scope (parent_id);
CREATE INDEX ovstore_scope_last_at ON ovstore_scope (last_at);

CREATE TABLE ovstore_version (
    scope_id INTEGER NOT NULL,
    key {text} NOT NULL,
    number INTEGER NOT NULL,
    kind {text} NOT NULL,
    mode {text} NOT NULL,
    source {bytes} NOT NULL,
    source_hash {bytes} NOT NULL,
    document {text} NOT NULL,
    document_hash {bytes} NOT NULL,
    format INTEGER NOT NULL,
    path {text} NOT NULL,
    category {text} NOT NULL,
    base {text} NOT NULL,
    CONSTRAINT ovstore_version_pkey PRIMARY KEY (scope_id, key, number),
    CONSTRAINT ovstore_version_scope_id_fkey FOREIGN KEY (scope_id) REFERENCES ovstore_scope (id),
    CONSTRAINT ovstore_version_kind_check CHECK (kind IN ('prompt', 'memory', 'settings')),
    CONSTRAINT ovstore_version_mode_check CHECK (mode IN ('full', 'patch'))
) {table};

CREATE TABLE ovstore_part (
    scope_id INTEGER NOT NULL,
    key {text} NOT NULL,
    number INTEGER NOT NULL,
    part {text} NOT NULL,
    CONSTRAINT ovstore_part_pkey PRIMARY KEY (scope_id, key, number, part),
    CONSTRAINT ovstore_part_scope_id_key_number_fkey FOREIGN KEY (scope_id, key, number)
        REFERENCES ovstore_version (scope_id, key, number)
) {table};
CREATE INDEX ovstore_part_used ON ovstore_part (part, scope_id);
CREATE INDEX ovstore_part_of ON ovstore_part (key, scope_id);

CREATE TABLE ovstore_label (
    scope_id INTEGER NOT NULL,
    label {text} NOT NULL,
    key {text} NOT NULL,
    number INTEGER NOT NULL,
    mode {text} NOT NULL,
    base {text} NOT NULL,
    seq {bigint} NOT NULL,
    CONSTRAINT ovstore_label_pkey PRIMARY KEY (scope_id, label, key),
    CONSTRAINT ovstore_label_scope_id_key_number_fkey FOREIGN KEY (scope_id, key, number)
        REFERENCES ovstore_version (scope_id, key, number)
) {table};
CREATE INDEX ovstore_label_base ON ovstore_label (key, base, scope_id) WHERE label = 'live' AND base <> '';
CREATE INDEX ovstore_label_live ON ovstore_label (key, mode, scope_id) WHERE label = 'live';

CREATE TABLE ovstore_entry (
    scope_id INTEGER NOT NULL,
    seq {bigint} NOT NULL,
    at {bigint} NOT NULL,
    change_set {text} NOT NULL,
    actor {text} NOT NULL,
    action {text} NOT NULL,
    reason {text} NOT NULL,
    risk INTEGER NOT NULL,
    key {text},
    category {text},
    label {text},
    before_number INTEGER,
    after_number INTEGER,
    undoes {bigint},
    source_hash {bytes},
    changes_hash {bytes} NOT NULL,
    hash {bytes} NOT NULL,
    CONSTRAINT ovstore_entry_pkey PRIMARY KEY (scope_id, seq),
    CONSTRAINT ovstore_entry_scope_id_fkey FOREIGN KEY (scope_id) REFERENCES ovstore_scope (id)
) {table};
CREATE UNIQUE INDEX ovstore_entry_as_of ON ovstore_entry (scope_id, key, label, at);
CREATE INDEX ovstore_entry_at ON ovstore_entry (at, scope_id, seq);
CREATE INDEX ovstore_entry_key ON ovstore_entry (key, at);
CREATE INDEX ovstore_entry_actor ON ovstore_entry (actor, at);
CREATE INDEX ovstore_entry_change_set ON ovstore_entry (scope_id, change_set);

CREATE TABLE ovstore_change (
    scope_id INTEGER NOT NULL,
    seq {bigint} NOT NULL,
    n INTEGER NOT NULL,
    at {bigint} NOT NULL,
    key {text} NOT NULL,
    field {text} NOT NULL,
    path {text} NOT NULL,
    before_value {text},
    after_value {text},
    risk INTEGER NOT NULL,
    CONSTRAINT ovstore_change_pkey PRIMARY KEY (scope_id, seq, n),
    CONSTRAINT ovstore_change_scope_id_seq_fkey FOREIGN KEY (scope_id, seq) REFERENCES ovstore_entry (scope_id, seq)
) {table};
CREATE INDEX ovstore_change_field ON ovstore_change (field, at, scope_id, seq);

CREATE TABLE ovstore_proposal (
    change_set {text} NOT NULL,
    scope_id INTEGER NOT NULL,
    state {text} NOT NULL,
    moves {text} NOT NULL,
    risk INTEGER NOT NULL,
    actor {text} NOT NULL,
    reason {text} NOT NULL,
    at {bigint} NOT NULL,
    expires_at {bigint},
    decided_by {text},
    decided_at {bigint},
    decision {text},
    CONSTRAINT ovstore_proposal_pkey PRIMARY KEY (change_set),
    CONSTRAINT ovstore_proposal_scope_id_fkey FOREIGN KEY (scope_id) REFERENCES ovstore_scope (id)
) {table};
CREATE INDEX ovstore_proposal_open ON ovstore_proposal (scope_id, at) WHERE state = 'open';
"""

WORDS = {
    "sqlite": {"text": "TEXT", "bigint": "INTEGER", "bytes": "BLOB", "table": "STRICT", "identity": "NOT NULL"},
    "postgresql": {
        "text": 'TEXT COLLATE "C"',
        "bigint": "BIGINT",
        "bytes": "BYTEA",
        "table": "",
        "identity": "GENERATED BY DEFAULT AS IDENTITY (START WITH 3)",
    },
}

# The tables that only grow, with all by which a new row can push out an old one. SQLite's own rowid is such a key too;
# in a BEFORE trigger it is -1 where the INSERT does not name it.
HISTORY = {
    "version": (("scope_id", "key", "number"), ("rowid",)),
    "part": (("scope_id", "key", "number", "part"), ("rowid",)),
    "entry": (("scope_id", "seq"), ("scope_id", "key", "label", "at"), ("rowid",)),
    "change": (("scope_id", "seq", "n"), ("rowid",)),
}
LOG = ("entry", "change")

# Why an update of a scope is refused; {differs} is the databases' word for "is not, null included".
SCOPE_RULES = """
    old.erased_at IS NOT NULL
    OR new.id <> old.id OR new.name <> old.name OR new.parent_id {differs} old.parent_id
    OR new.revision < old.revision OR new.last_at < old.last_at
    OR (new.erased_at IS NOT NULL AND new.revision = old.revision)
"""
SCOPE_MESSAGE = (
    "ovstore_scope: id, name and parent are fixed, revision and last_at never fall, "
    "and erasure writes a tombstone and is the end"
)


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    for statement in TABLES.format_map(WORDS[dialect]).split(";\n"):
        if statement.strip():
            op.execute(statement)
    if dialect == "sqlite":
        _sqlite_triggers()
    else:
        _postgresql_triggers()
    _fixed_rows()


def downgrade() -> None:
    for table in ("proposal", "change", "entry", "label", "part", "version", "scope", "meta"):
        op.execute(f"DROP TABLE ovstore_{table}")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION ovstore_refuse(), ovstore_refuse_delete(), ovstore_refuse_scope()")


def _fixed_rows() -> None:
    connection = op.get_bind()
    connection.execute(
        text("INSERT INTO ovstore_meta (one, store_id, readable_from, seed_catalog) VALUES (1, :store_id, 1, '')"),
        {"store_id": str(uuid.uuid4())},
    )
    connection.execute(
        text(
            "INSERT INTO ovstore_scope (id, name, parent_id, revision, head, last_at) "
            "VALUES (:id, :name, :parent_id, 0, :head, 0)"
        ),
        [
            {"id": 1, "name": "seed", "parent_id": None, "head": bytes(32)},
            {"id": 2, "name": "global", "parent_id": 1, "head": bytes(32)},
        ],
    )


def _sqlite_triggers() -> None:
    for name, keys in HISTORY.items():
        table = f"ovstore_{name}"
        taken = " OR ".join(
            f"EXISTS (SELECT 1 FROM {table} WHERE {' AND '.join(f'{column} = new.{column}' for column in key)})"
            for key in keys
        )
        erased = "SELECT 1 FROM ovstore_scope WHERE id = old.scope_id AND erased_at IS NOT NULL"
        before_tombstone = " AND old.seq < revision" if name in LOG else ""
        _sqlite_trigger(f"{table}_update", f"BEFORE UPDATE ON {table}", f"{table} is history: UPDATE refused")
        _sqlite_trigger(
            f"{table}_delete",
            f"BEFORE DELETE ON {table} WHEN NOT EXISTS ({erased}{before_tombstone})",
            f"{table} is history: DELETE refused",
        )
        _sqlite_trigger(
            f"{table}_insert",
            f"BEFORE INSERT ON {table} WHEN {taken}",
            f"{table} is history: an existing row cannot be replaced",
        )
    rules = SCOPE_RULES.format(differs="IS NOT")
    _sqlite_trigger("ovstore_scope_update", f"BEFORE UPDATE ON ovstore_scope WHEN {rules}", SCOPE_MESSAGE)
    _sqlite_trigger("ovstore_scope_delete", "BEFORE DELETE ON ovstore_scope", "ovstore_scope: DELETE refused")
    _sqlite_trigger(
        "ovstore_scope_insert",
        "BEFORE INSERT ON ovstore_scope WHEN EXISTS (SELECT 1 FROM ovstore_scope "
        "WHERE id = new.id OR (name = new.name AND erased_at IS NULL AND new.erased_at IS NULL))",
        "ovstore_scope: an existing row cannot be replaced",
    )


def _sqlite_trigger(name: str, event: str, message: str) -> None:
    op.execute(f"CREATE TRIGGER {name} {event} BEGIN SELECT RAISE(ABORT, '{message}'); END")


def _postgresql_triggers() -> None:
    # restrict_violation arrives as an IntegrityError, as SQLite's RAISE does.
    op.execute(
        """
        CREATE FUNCTION ovstore_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '% is history: % refused', tg_table_name, tg_op USING ERRCODE = 'restrict_violation';
        END $$
        """
    )
    # The scope is read from the table's own schema, whatever search_path says, so that no temporary table of that
    # name opens the way.
    op.execute(
        """
        CREATE FUNCTION ovstore_refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            tombstone BIGINT;
        BEGIN
            EXECUTE format('SELECT revision FROM %I.ovstore_scope WHERE id = $1 AND erased_at IS NOT NULL',
                           tg_table_schema) INTO tombstone USING old.scope_id;
            IF tombstone IS NULL THEN
                RAISE EXCEPTION '% is history: % refused', tg_table_name, tg_op USING ERRCODE = 'restrict_violation';
            END IF;
            IF tg_argv[0] = 'log' THEN
                IF old.seq >= tombstone THEN
                    RAISE EXCEPTION '%: the tombstone stays', tg_table_name USING ERRCODE = 'restrict_violation';
                END IF;
            END IF;
            RETURN old;
        END $$
        """
    )
    op.execute(
        f"""
        CREATE FUNCTION ovstore_refuse_scope() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '{SCOPE_MESSAGE}' USING ERRCODE = 'restrict_violation';
        END $$
        """
    )
    for name in HISTORY:
        table = f"ovstore_{name}"
        kind = "log" if name in LOG else "row"
        _postgresql_trigger(f"{table}_update", f"BEFORE UPDATE ON {table} FOR EACH ROW", "refuse()")
        _postgresql_trigger(f"{table}_delete", f"BEFORE DELETE ON {table} FOR EACH ROW", f"refuse_delete('{kind}')")
        _postgresql_trigger(f"{table}_truncate", f"BEFORE TRUNCATE ON {table} FOR EACH STATEMENT", "refuse()")
    rules = SCOPE_RULES.format(differs="IS DISTINCT FROM")
    _postgresql_trigger(
        "ovstore_scope_update", f"BEFORE UPDATE ON ovstore_scope FOR EACH ROW WHEN ({rules})", "refuse_scope()"
    )
    _postgresql_trigger("ovstore_scope_delete", "BEFORE DELETE ON ovstore_scope FOR EACH ROW", "refuse_scope()")
    _postgresql_trigger(
        "ovstore_scope_truncate", "BEFORE TRUNCATE ON ovstore_scope FOR EACH STATEMENT", "refuse_scope()"
    )


def _postgresql_trigger(name: str, event: str, function: str) -> None:
    op.execute(f"CREATE TRIGGER {name} {event} EXECUTE FUNCTION ovstore_{function}")
