"""Database URLs: read from a user, shown to people without a password, handed to a driver with our defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import sqlalchemy
from sqlalchemy import URL
from sqlalchemy import exc as sa_errors

from ovstore.errors import InvalidArgumentError

_CONNECT_SECONDS: Final = 10
_DRIVERS: Final = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


def parsed(url: str, argument: str = "url") -> URL:
    try:
        target = sqlalchemy.make_url(url)
    except (sa_errors.ArgumentError, ValueError):
        target = None
    if target is None or target.drivername not in _DRIVERS:
        # The text itself is not repeated: a URL that cannot be read may have a password anywhere.
        raise InvalidArgumentError(
            "the database URL is neither sqlite:///FILE nor postgresql://USER:PASSWORD@HOST:PORT/NAME "
            "(in a password, write @ as %40 and % as %25)",
            argument=argument,
        )
    if "@" in (target.host or ""):
        raise InvalidArgumentError("in the password of a database URL, write @ as %40", argument=argument)
    return target.set(drivername=_DRIVERS[target.drivername])


def masked(target: URL) -> str:
    """Return the URL as it may be shown."""
    secret = [name for name in target.query if "password" in name.lower()]
    return target.difference_update_query(secret).render_as_string(hide_password=True)


def file(target: URL) -> Path | None:
    """Return the file of a SQLite URL; None is a database in memory."""
    if target.database in (None, "", ":memory:"):
        return None
    if target.query or target.host:
        raise InvalidArgumentError(
            "a SQLite URL is sqlite:///FILE or, with four strokes, sqlite:////absolute/FILE, without parameters",
            argument="url",
        )
    return Path(str(target.database)).absolute()


def served(target: URL) -> URL:
    """Return the URL as the driver gets it."""
    defaults = {"connect_timeout": str(_CONNECT_SECONDS), "fallback_application_name": "ovstore"}
    return target.set(query={**defaults, **{k: v for k, v in target.query.items() if k != "prepare_threshold"}})


def prepare_threshold(target: URL) -> int | None:
    """Statements prepared by name are the session's; behind a pooler the session is another client's next."""
    asked = target.query.get("prepare_threshold", "")
    if asked and not str(asked).isdecimal():
        raise InvalidArgumentError("prepare_threshold is a number of executions", argument="url", value=asked)
    return int(str(asked)) if asked else None
