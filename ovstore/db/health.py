"""What `doctor` asks a database: who the server is, and whether the triggers that keep history are there and on."""

from __future__ import annotations

import os
from typing import Final

from sqlalchemy import Connection, text

from ovstore.db.engines import Database

_HISTORY: Final = ("version", "part", "entry", "change")
_EVENTS: Final = {"sqlite": ("update", "delete", "insert"), "postgresql": ("update", "delete", "truncate")}
# On PostgreSQL a trigger can be there and switched off: D is disabled, R fires on replicas alone.
_TRIGGERS: Final = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')",
}


def server(database: Database) -> str:
    """Return the server and its version in words; for SQLite the journal mode too."""
    with database.look() as connection:
        if database.dialect == "sqlite":
            version = _one(connection, "SELECT sqlite_version()")
            readable = "" if database.path is None or os.access(database.path, os.W_OK) else "; this user may only read"
            return f"SQLite {version}, journal mode {_one(connection, 'PRAGMA journal_mode')}{readable}"
        replica = " (a replica: reads only)" if _one(connection, "SELECT pg_is_in_recovery()") else ""
        return f"PostgreSQL {_one(connection, 'SHOW server_version')}{replica}"


def missing_triggers(database: Database) -> tuple[str, ...]:
    """Return the triggers of the schema that are not there, or are off."""
    events = _EVENTS[database.dialect]
    wanted = {f"ovstore_{table}_{event}" for table in (*_HISTORY, "scope") for event in events}
    with database.look() as connection:
        found = {str(name) for (name,) in connection.execute(text(_TRIGGERS[database.dialect]))}
    return tuple(sorted(wanted - found))


def _one(connection: Connection, statement: str) -> object:
    return connection.execute(text(statement)).scalar_one()
