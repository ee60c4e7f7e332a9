"""The schema's versions: which one a database has, and the way up and down.

Revisions are the files of `migrations/versions`, one line without branches, and their ids are four digits, so that the
order of two is seen without loading them. Alembic is imported only where something has to be done. An upgrade is one
transaction on both databases: a failed or killed one leaves nothing, neither tables nor a lock, and of several that
start at once one works and the others find the work done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from sqlalchemy import Connection, inspect, select, text

from ovstore import bundled
from ovstore.db import tables
from ovstore.db.engines import Database
from ovstore.errors import DatabaseError, MigrationRequiredError

if TYPE_CHECKING:
    from alembic.config import Config

State = Literal["empty", "behind", "current", "ahead"]

HEAD: Final = "0001"
# What this code can work on: the generation that a schema names in `readable_from` must not be higher.
GENERATION: Final = 1
VERSION_TABLE: Final = "ovstore_alembic_version"
# "ovstore" in ASCII. The keys of the writers' locks are two integers, this one is one: they cannot meet.
_LOCK: Final = 0x6F7673746F7265


def head() -> str:
    """Return the revision that this version of ovstore works with."""
    return HEAD


def state(database: Database) -> State:
    """Say how the schema of a database stands to this version of ovstore."""
    with database.read() as connection:
        return _state(_revision(connection))


def require(database: Database) -> None:
    """Raise unless the database can be used as it is: MigrationRequiredError, or DatabaseError if it is too new."""
    with database.read() as connection:
        revision = _revision(connection)
        found = _state(revision)
        if found == "ahead":
            _refuse_unreadable(connection, revision)
    if found == "empty":
        command = database.command("init")
        raise MigrationRequiredError(f"{database.url} holds no ovstore; to set it up: {command}", command=command)
    if found == "behind":
        command = database.command("migrate")
        raise MigrationRequiredError(
            f"{database.url} has schema {revision}, this ovstore needs {HEAD}; to upgrade it: {command}",
            command=command,
        )
    database.use_wal()


def upgrade(database: Database) -> bool:
    """Bring the schema up to date; False if there was nothing to do. A newer schema that can be used is left alone."""
    with database.alter() as connection:
        _lock(connection)
        revision = _revision(connection)
        found = _state(revision)
        if found == "ahead":
            _refuse_unreadable(connection, revision)
        if found in ("current", "ahead"):
            return False
        from alembic import command

        command.upgrade(_config(connection), HEAD)
        return True


def downgrade(database: Database, to: str) -> None:
    """Take the schema back to a revision, or to `base`: nothing of ovstore, and all that was stored is gone."""
    with database.alter() as connection:
        _lock(connection)
        from alembic import command

        command.downgrade(_config(connection), to)


def _config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(bundled.folder("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes.update(connection=connection, version_table=VERSION_TABLE)
    return config


def _lock(connection: Connection) -> None:
    """Take the migrations' lock until the transaction ends; on SQLite the transaction itself is one.

    The time limit comes after it: who waits for another migration waits, but a table that is in use fails the
    migration rather than holding up everyone who comes behind it.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        connection.execute(text("SET LOCAL lock_timeout = '10s'"))


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def _state(revision: str | None) -> State:
    if revision is None:
        return "empty"
    if revision == HEAD:
        return "current"
    return "behind" if revision < HEAD else "ahead"


def _refuse_unreadable(connection: Connection, revision: str | None) -> None:
    needed = connection.execute(select(tables.meta.c.readable_from)).scalar_one()
    if needed > GENERATION:
        raise DatabaseError(
            f"the database was upgraded by a newer ovstore (schema {revision}); this one knows schemas up to {HEAD}: "
            "install the newer ovstore"
        )
