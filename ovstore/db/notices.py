"""LISTEN and NOTIFY: what a PostgreSQL server tells of writes, on a connection of its own.

A writer notifies in its own transaction, with `<scope id>:<sequence>` (`ovstore.db.write`); the server delivers notices
in the order of commits. Heartbeats are notices too, and go the way that writes go, on another connection than the one
that listens: one that comes back proves that the notices of all commits before it have come. Where nothing is
delivered, through a pooler in transaction mode or from another database, none comes back: listen past the pooler, at
the same database.
"""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable
from typing import Final

from sqlalchemy import URL

from ovstore.db import urls
from ovstore.db.engines import Database, connect_postgres
from ovstore.errors import DatabaseError, InvalidArgumentError

CHANNEL: Final = "ovstore"
# A network path that went dead is noticed by the system within about ten seconds, so that a new one can be opened.
_KEEP_ALIVE: Final = {
    "keepalives_idle": "4",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}


def place(url: str) -> URL:
    """Return where to listen, or say why nobody can listen there."""
    target = urls.parsed(url, "listen")
    if target.get_backend_name() != "postgresql":
        raise InvalidArgumentError("only PostgreSQL tells of writes: listen is its URL", argument="listen")
    return target.set(query=_KEEP_ALIVE | dict(target.query))


class Line:
    """An open line to the server, of one thread. `heard` is called with the scope id of each notice, in their order.

    Only opening it waits for the server: a heartbeat that nobody answers keeps neither notices nor the bell waiting.
    Whatever goes wrong with the line is a DatabaseError, and the line is of no more use.
    """

    def __init__(self, target: URL, database: Database, heard: Callable[[int], None]) -> None:
        self._heard = heard
        self._own = f"{CHANNEL}_{os.urandom(8).hex()}"
        self._returned = 0
        self._asked = False
        # Notices also come with the answer to what was sent: then there is nothing to wait for.
        self._news = False
        try:
            self._connection = connect_postgres(target)
        except Exception as error:
            raise _broken(error) from error
        try:
            self._connection.add_notify_handler(lambda notice: self._take(notice.channel, notice.payload))
            for channel in (CHANNEL, self._own):
                self._connection.execute(f"LISTEN {channel}")
            self._writer = database.connect(_KEEP_ALIVE)
        except Exception as error:
            self._connection.close()
            raise _broken(error) from error

    def beat(self, number: int) -> None:
        """Send a heartbeat to oneself, the way that a write goes; none while the one before waits for its answer."""
        if self._asked:
            return
        server = self._writer.pgconn
        try:
            server.send_query_params(b"SELECT pg_notify($1, $2)", [self._own.encode(), str(number).encode()])
            server.flush()
        except Exception as error:
            raise _broken(error) from error
        self._asked = True

    def wait(self, seconds: float, bell: int) -> int:
        """Wait for notices, for the bell (a file descriptor) to ring or the time to pass; pass on what came.

        Returns the newest heartbeat that came back, 0 before the first one.
        """
        server, writer = self._connection.pgconn, self._writer.pgconn
        try:
            self._drain()
            if not self._news:
                with selectors.DefaultSelector() as selector:
                    for what in (server.socket, writer.socket, bell):
                        selector.register(what, selectors.EVENT_READ)
                    selector.select(max(seconds, 0))
                server.consume_input()
                writer.consume_input()
                self._drain()
                self._take_answer()
        except Exception as error:
            raise _broken(error) from error
        self._news = False
        return self._returned

    def close(self) -> None:
        self._connection.close()
        self._writer.close()

    def _take_answer(self) -> None:
        """Take the answer to a heartbeat, as far as it has come: whether the server took it."""
        writer = self._writer.pgconn
        while self._asked and not writer.is_busy():
            answer = writer.get_result()
            if answer is None:
                self._asked = False
            elif answer.error_message:
                raise DatabaseError(answer.error_message.decode(errors="replace"))

    def _drain(self) -> None:
        while (notice := self._connection.pgconn.notifies()) is not None:
            self._take(notice.relname.decode(), notice.extra.decode())

    def _take(self, channel: str, payload: str) -> None:
        self._news = True
        if channel == self._own:
            self._returned = int(payload)
        else:
            scope_id, _, _ = payload.partition(":")
            self._heard(int(scope_id))


def heard(database: Database, url: str, seconds: float) -> bool:
    """Whether who listens at a URL is told of what is written to the database, within so many seconds."""
    ear, bell = os.pipe()
    try:
        line = Line(place(url), database, lambda _: None)
        try:
            line.beat(1)
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0:
                if line.wait(left, ear):
                    return True
            return False
        finally:
            line.close()
    finally:
        os.close(ear)
        os.close(bell)


def _broken(error: Exception) -> DatabaseError:
    first_line = str(error).strip().partition("\n")[0]
    return DatabaseError(f"PostgreSQL cannot be listened to: {first_line}")
