"""What `doctor` looks at, one thing after the other; what cannot be reached any more is not looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import ovstore
from ovstore.cli.call import Call
from ovstore.cli.output import Health
from ovstore.db import health, migrate, notices
from ovstore.db.engines import Database
from ovstore.errors import DatabaseError

_PATIENCE: Final = 2.0
"""Seconds in which a notice has to come back."""


def examine(call: Call) -> tuple[Health, ...]:
    """Return what was found: connection, schema, triggers, templates, freshness."""
    found: list[Health] = []
    try:
        database = Database(call.url)
    except DatabaseError as error:
        return (Health("connection", False, str(error)),)
    try:
        found += _database(database)
        if all(check.ok for check in found):
            found += _store(call, database)
    except DatabaseError as error:
        found.append(Health("database", False, str(error)))
    finally:
        database.close()
    return tuple(found)


def _database(database: Database) -> Iterator[Health]:
    yield Health("connection", True, f"{database.url}: {health.server(database)}")
    state = migrate.state(database)
    advice = "" if state in ("current", "ahead") else f"to mend that: {database.command('init')}"
    yield Health("schema", not advice, f"{state} (this ovstore has schema {migrate.head()})", advice)
    if advice:
        return
    missing = health.missing_triggers(database)
    what = f"missing or off: {', '.join(missing)}" if missing else "history can only be added to"
    advice = "what was changed since can be seen with `ovstore verify`; then restore them from a backup"
    yield Health("triggers", not missing, what, advice if missing else "")


def _store(call: Call, database: Database) -> Iterator[Health]:
    with ovstore.open(call.url) as store:
        seeds, tenants = len(store.seed.templates()), len(store.tenants())
        advice = "" if seeds else f"to fill it: {database.command('init')}"
        yield Health("templates", bool(seeds), f"{seeds} in the seed layer; tenants that override: {tenants}", advice)
    yield _freshness(call, database)


def _freshness(call: Call, database: Database) -> Health:
    strict = "strict: a read that begins after a commit sees it, in every process"
    if database.dialect == "sqlite":
        return Health("freshness", True, strict)
    if notices.heard(database, call.url, _PATIENCE):
        return Health("freshness", True, f"{strict}; push is told of commits here")
    return Health(
        "freshness",
        True,
        f"{strict}; push is told of nothing here, as behind a pooler, and would be strict too",
        'open(freshness="push", listen=URL) with the URL of the server itself',
    )
