"""The schema goes up, down and up again on both databases, is what the tables say, and comes whole or not at all."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import children
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from ovstore import bundled
from ovstore.db import migrate, tables
from ovstore.db.engines import Database
from ovstore.errors import DatabaseError, MigrationRequiredError

HISTORY = ("change", "entry", "part", "version")
TRIGGERS = {
    "sqlite": {f"ovstore_{table}_{event}" for table in (*HISTORY, "scope") for event in ("insert", "update", "delete")},
    "postgresql": {
        f"ovstore_{table}_{event}" for table in (*HISTORY, "scope") for event in ("truncate", "update", "delete")
    },
}
TRIGGERS_OF = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'O'",
}

NEXT = '''
"""A revision that comes after the first: a column for every scope."""
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    op.execute("ALTER TABLE ovstore_scope ADD COLUMN note TEXT")


def downgrade():
    op.execute("ALTER TABLE ovstore_scope DROP COLUMN note")
'''
BROKEN = NEXT.replace(
    "\n\ndef downgrade", '\n    op.execute("INSERT INTO ovstore_nothing VALUES (1)")\n\n\ndef downgrade'
)


@contextmanager
def opened(url: str, *, create: bool = False) -> Iterator[Database]:
    database = Database(url, create=create)
    try:
        yield database
    finally:
        database.close()


def described(database: Database) -> dict[str, Any]:
    """All that the database's own catalogue says of our tables."""
    with database.read() as connection:
        inspector = sa.inspect(connection)
        names = [name for name in inspector.get_table_names() if name != migrate.VERSION_TABLE]
        return {name: _table(inspector, name, connection.dialect) for name in names}


def _table(inspector: sa.Inspector, name: str, dialect: sa.Dialect) -> dict[str, Any]:
    columns = [{**column, "type": column["type"].compile(dialect)} for column in inspector.get_columns(name)]
    indexes = [
        {**index, "dialect_options": {k: str(v) for k, v in index["dialect_options"].items()}}
        for index in inspector.get_indexes(name)
    ]
    return {
        "columns": columns,
        "primary key": inspector.get_pk_constraint(name),
        "foreign keys": sorted(inspector.get_foreign_keys(name), key=str),
        "checks": sorted(inspector.get_check_constraints(name), key=str),
        "unique": sorted(inspector.get_unique_constraints(name), key=str),
        "indexes": sorted(indexes, key=str),
        "options": inspector.get_table_options(name),
    }


def triggers(database: Database) -> set[str]:
    with database.look() as connection:
        return set(connection.scalars(sa.text(TRIGGERS_OF[database.dialect])))


def left_over(database: Database) -> set[str]:
    """The names of all tables, indexes and functions that are there."""
    queries = {
        "sqlite": "SELECT name FROM sqlite_master",
        "postgresql": "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
        "UNION SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    }
    with database.look() as connection:
        return set(connection.scalars(sa.text(queries[database.dialect])))


@pytest.fixture
def migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of revisions that this test may add to, taken for the real one."""
    folder = tmp_path / "migrations"
    shutil.copytree(bundled.folder("migrations"), folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(bundled, "folder", lambda _name: folder)
    return folder


def add_revision(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "versions" / "0002_next.py").write_text(text)
    monkeypatch.setattr(migrate, "HEAD", "0002")


def test_the_schema_after_up_down_and_up_is_that_after_up(empty_url: str) -> None:
    with opened(empty_url, create=True) as database:
        migrate.upgrade(database)
        first, first_names = described(database), left_over(database)
        migrate.downgrade(database, "base")
        assert left_over(database) <= {
            migrate.VERSION_TABLE,
            f"{migrate.VERSION_TABLE}_pkc",
            f"sqlite_autoindex_{migrate.VERSION_TABLE}_1",
        }
        assert migrate.state(database) == "empty"
        migrate.upgrade(database)
        assert (described(database), left_over(database)) == (first, first_names)
        assert migrate.state(database) == "current"


@pytest.mark.parametrize("pair", [("sqlite_url", "bare_sqlite_url"), ("postgres_url", "bare_postgres_url")])
def test_the_migrated_schema_is_what_the_tables_say(pair: tuple[str, str], request: pytest.FixtureRequest) -> None:
    migrated_url, bare_url = map(request.getfixturevalue, pair)
    with opened(migrated_url) as migrated, opened(bare_url, create=True) as made:
        made.write(tables.metadata.create_all)
        assert described(migrated) == described(made)
        with migrated.read() as connection:
            context = MigrationContext.configure(connection, opts={"version_table": migrate.VERSION_TABLE})
            assert compare_metadata(context, tables.metadata) == []


def test_every_trigger_is_there(url: str) -> None:
    with opened(url) as database:
        assert triggers(database) == TRIGGERS[database.dialect]


def test_text_sorts_by_code_point_in_every_column(postgres_url: str) -> None:
    query = """
        SELECT attrelid::regclass || '.' || attname FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
        JOIN pg_class ON pg_class.oid = attrelid
        WHERE relkind = 'r' AND relname LIKE 'ovstore%' AND relname <> 'ovstore_alembic_version' AND typname = 'text'
        AND attcollation <> '"C"'::regcollation
    """
    with opened(postgres_url) as database, database.look() as connection:
        assert connection.scalars(sa.text(query)).all() == []


def test_a_new_database_holds_the_two_fixed_scopes_and_its_own_id(url: str) -> None:
    with opened(url) as database, database.read() as connection:
        scopes = connection.execute(sa.select(tables.scope).order_by(tables.scope.c.id)).all()
        meta = connection.execute(sa.select(tables.meta)).one()
    assert [tuple(scope) for scope in scopes] == [
        (1, "seed", None, 0, bytes(32), 0, None, None),
        (2, "global", 1, 0, bytes(32), 0, None, None),
    ]
    assert re.fullmatch(r"[0-9a-f-]{36}", meta.store_id)
    assert (meta.readable_from, meta.seed_catalog) == (migrate.GENERATION, "")


def test_the_next_scope_gets_the_third_id(url: str) -> None:
    row = {"name": "acme", "parent_id": 2, "revision": 0, "head": bytes(32), "last_at": 0}
    with opened(url) as database:
        made = database.write(lambda connection: connection.execute(sa.insert(tables.scope).values(row)))
    assert made.inserted_primary_key == (3,)


def test_two_databases_have_two_ids(bare_sqlite_url: str, bare_postgres_url: str) -> None:
    ids = set()
    for url in (bare_sqlite_url, bare_postgres_url):
        with opened(url, create=True) as database:
            migrate.upgrade(database)
            with database.look() as connection:
                ids.add(connection.execute(sa.select(tables.meta.c.store_id)).scalar_one())
    assert len(ids) == 2


def test_revisions_are_one_line_of_four_digits_that_ends_at_the_head() -> None:
    script = ScriptDirectory(str(bundled.folder("migrations")))
    revisions = [revision.revision for revision in script.walk_revisions()]
    assert script.get_heads() == [migrate.head()]
    assert sorted(revisions, reverse=True) == revisions
    assert all(re.fullmatch("[0-9]{4}", revision) for revision in revisions)


def test_revisions_import_nothing_of_ovstore() -> None:
    for path in bundled.folder("migrations").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) ovstore", path.read_text(), re.MULTILINE), path


def test_an_upgrade_of_a_current_database_does_nothing(url: str) -> None:
    with opened(url) as database:
        assert migrate.upgrade(database) is False


def test_an_empty_database_is_an_error_that_names_the_command(empty_url: str) -> None:
    with opened(empty_url, create=True) as database:
        assert migrate.state(database) == "empty"
        with pytest.raises(MigrationRequiredError, match="holds no ovstore; to set it up:") as error:
            migrate.require(database)
    assert error.value.command == f"ovstore --db {database.url} init"


def test_a_database_that_is_behind_is_an_error_that_names_the_command(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "HEAD", "0002")
    with opened(url) as database:
        assert migrate.state(database) == "behind"
        with pytest.raises(MigrationRequiredError, match="has schema 0001, this ovstore needs 0002") as error:
            migrate.require(database)
    assert error.value.command == f"ovstore --db {database.url} migrate"


def set_ahead(database: Database, readable_from: int) -> None:
    def step(connection: sa.Connection) -> None:
        connection.execute(sa.text(f"UPDATE {migrate.VERSION_TABLE} SET version_num = '0009'"))
        connection.execute(sa.update(tables.meta).values(readable_from=readable_from))

    database.write(step)


def test_a_newer_schema_that_this_code_may_read_is_used_and_left_alone(url: str) -> None:
    with opened(url) as database:
        set_ahead(database, migrate.GENERATION)
        assert migrate.state(database) == "ahead"
        migrate.require(database)
        assert migrate.upgrade(database) is False


@pytest.mark.parametrize("verb", [migrate.require, migrate.upgrade])
def test_a_newer_schema_that_this_code_may_not_read_is_refused(url: str, verb: Any) -> None:
    with opened(url) as database:
        set_ahead(database, migrate.GENERATION + 1)
        with pytest.raises(DatabaseError, match=r"upgraded by a newer ovstore \(schema 0009\)"):
            verb(database)


def test_an_upgrade_by_one_revision_keeps_what_is_stored(
    url: str, migrations: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_revision(migrations, NEXT, monkeypatch)
    with opened(url) as database:
        assert migrate.upgrade(database) is True
        with database.read() as connection:
            assert connection.scalars(sa.text("SELECT name FROM ovstore_scope ORDER BY id")).all() == ["seed", "global"]
        assert triggers(database) == TRIGGERS[database.dialect]
        migrate.downgrade(database, "0001")
        assert migrate.state(database) == "behind"


def test_a_failed_migration_leaves_nothing_behind(url: str, migrations: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_revision(migrations, BROKEN, monkeypatch)
    with opened(url) as database:
        before = described(database)
        with pytest.raises(DatabaseError, match="ovstore_nothing"):
            migrate.upgrade(database)
        assert described(database) == before
        assert migrate.state(database) == "behind"
    add_revision(migrations, NEXT, monkeypatch)
    children.together(("upgrade_from", migrations, "0002", url))


def test_a_migration_that_would_orphan_rows_is_refused(
    sqlite_url: str, migrations: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = "INSERT INTO ovstore_label VALUES (2, 'live', 'lost', 1, 'full', '', 1)"
    add_revision(migrations, NEXT.replace("ALTER TABLE ovstore_scope ADD COLUMN note TEXT", statement), monkeypatch)
    with opened(sqlite_url) as database:
        with pytest.raises(DatabaseError, match="ovstore_label row 1 to ovstore_version"):
            migrate.upgrade(database)
        with database.look() as connection:
            assert connection.execute(sa.select(tables.label)).all() == []


def test_foreign_keys_hold_again_after_a_migration(empty_url: str) -> None:
    row = {"scope_id": 2, "label": "live", "key": "lost", "number": 1, "mode": "full", "base": "", "seq": 1}
    with opened(empty_url, create=True) as database:
        migrate.upgrade(database)
        with pytest.raises(DatabaseError, match=r"(?i)foreign key"):
            database.write(lambda connection: connection.execute(sa.insert(tables.label).values(row)))


def test_what_else_a_database_holds_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "host.db"
    host = sqlite3.connect(path)
    host.executescript(
        "CREATE TABLE version (id INTEGER PRIMARY KEY, gone INTEGER REFERENCES missing (id));"
        "CREATE TABLE missing (id INTEGER PRIMARY KEY); INSERT INTO version VALUES (1, 7);"
    )
    host.close()
    with opened(f"sqlite:///{path}") as database:
        migrate.upgrade(database)
        migrate.downgrade(database, "base")
        with database.look() as connection:
            assert connection.execute(sa.text("SELECT * FROM version")).all() == [(1, 7)]


def test_a_database_that_is_only_looked_at_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (id INTEGER PRIMARY KEY)")
    other.close()
    before = path.read_bytes()
    with opened(f"sqlite:///{path}") as database, pytest.raises(MigrationRequiredError):
        migrate.require(database)
    assert path.read_bytes() == before


def test_a_restored_file_is_put_into_wal_mode_again(sqlite_url: str) -> None:
    path = sqlite_url.removeprefix("sqlite:///")
    restored = sqlite3.connect(path)
    restored.execute("PRAGMA journal_mode = DELETE")
    restored.close()
    with opened(sqlite_url) as database:
        migrate.require(database)
        with database.look() as connection:
            assert connection.execute(sa.text("PRAGMA journal_mode")).scalar_one() == "wal"
