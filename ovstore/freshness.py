"""How the store knows that what it knows is not old: by asking, by being told, or by the clock.

What was read of a chain is kept with a stamp that was taken before the read, and serves as long as its stamp holds.

    strict    SQLite: nobody has committed since, in any process. PostgreSQL: never; the revisions are read each time
    push      no notice of a scope of the chain has come since; strict where the listener may have missed one
    seconds   they have not passed since

A listener counts as healthy for one heartbeat after it sent a heartbeat, as a write is sent, that has come back to it
through the server, behind every notice of what was committed before. So nothing older than that is ever served, be the
network as it may.
One's own writes end every stamp.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from ovstore.caching import Sight
from ovstore.db import notices, urls
from ovstore.db.direct import Direct
from ovstore.db.engines import Database
from ovstore.errors import DatabaseError, InvalidArgumentError

_log = logging.getLogger(__name__)
_MOST_SCOPES: Final = 100_000
_SHORTEST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0
# A listener that is just opening its line is not waited for: it closes it when it comes to it.
_FAREWELL: Final = 0.5
_LONGEST_SILENCE: Final = 10.0
# Of heartbeats sent a third of a heartbeat apart, older ones prove nothing any more when they come back.
_WAITED_FOR: Final = 4


def clock() -> float:
    """Seconds that nobody sets; those in which the machine slept are among them, where the system counts them."""
    return time.clock_gettime(_CLOCK)


_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Freshness(Protocol):
    """`name` is what an answer says that was served because its stamp held."""

    name: str

    def stamp(self) -> Any:
        """Return a stamp for what is read from now on."""

    def holds(self, sight: Sight) -> bool:
        """Whether nothing can have moved, as far as is promised, since the stamp of a sight was taken."""

    def close(self) -> None:
        """Let go of threads and connections."""


def chosen(
    url: str, *, freshness: object, heartbeat: object, listen: object
) -> Callable[[Database, Direct], Freshness]:
    """Return what makes the freshness that was asked for; raises InvalidArgumentError for what cannot be.

    Nothing is opened yet.
    """
    postgres = urls.parsed(url).get_backend_name() == "postgresql"
    seconds = _seconds("heartbeat", heartbeat)
    if seconds == 0:
        raise InvalidArgumentError("heartbeat is a number of seconds above 0", argument="heartbeat", value=heartbeat)
    if listen is not None and not isinstance(listen, str):
        raise InvalidArgumentError("listen is the URL of a PostgreSQL server", argument="listen", value=listen)
    if freshness == "push" and postgres:
        place = notices.place(url if listen is None else listen)
        return lambda database, _: Push(database, place, seconds)
    if listen is not None:
        raise InvalidArgumentError('listen goes with freshness="push" on PostgreSQL', argument="listen")
    if freshness in ("strict", "push"):
        # A SQLite file tells of every commit at once: strict is as cheap as push there.
        return lambda _, direct: Strict(direct)
    if isinstance(freshness, str):
        raise InvalidArgumentError(
            f"freshness is 'strict', 'push' or a number of seconds, not {freshness!r}",
            argument="freshness",
            value=freshness,
        )
    bound = _seconds("freshness", freshness)
    return lambda database, _: Bounded(database, bound)


def _seconds(argument: str, value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise InvalidArgumentError(f"{argument} is a number of seconds, not {value!r}", argument=argument, value=value)
    return float(value)


class Strict:
    """Ask the database each time."""

    name = "strict"

    def __init__(self, direct: Direct) -> None:
        self._direct = direct

    def stamp(self) -> object | None:
        return self._direct.token()

    def holds(self, sight: Sight) -> bool:
        return sight.stamp is not None and sight.stamp is self._direct.token()

    def close(self) -> None:
        pass


class Bounded:
    """Believe for a while."""

    def __init__(self, database: Database, seconds: float) -> None:
        self.name = f"within {seconds:g} s"
        self._database = database
        self._seconds = seconds

    def stamp(self) -> tuple[float, object]:
        return clock(), self._database.written

    def holds(self, sight: Sight) -> bool:
        at, written = sight.stamp
        return written is self._database.written and clock() - at < self._seconds

    def close(self) -> None:
        pass


class Push:
    """Believe as long as a listener that is healthy has heard nothing.

    Notices are counted by one thread, the listener; a stamp is the count at that moment. `_all` and `_born` are the
    counts at which every scope, and perhaps a new one, may have moved.
    """

    name = "push"

    def __init__(self, database: Database, place: Any, heartbeat: float) -> None:
        self._database = database
        self._place = place
        self._heartbeat = heartbeat
        self._count = 0
        self._all = 0
        self._born = 0
        self._last: dict[int, int] = {}
        self._healthy_until = 0.0
        self._starting = threading.Lock()
        self._listener: _Listener | None = None
        self._closed = False
        _open.add(self)

    def stamp(self) -> tuple[int, object]:
        if self._listener is None:
            self._listen()
        return self._count, self._database.written

    def holds(self, sight: Sight) -> bool:
        if clock() >= self._healthy_until:
            return False
        count, written = sight.stamp
        if written is not self._database.written:
            return False
        now = self._count
        if count == now:
            return True
        if self._moved(sight, count):
            return False
        sight.stamp = now, written
        return True

    def _moved(self, sight: Sight, since: int) -> bool:
        if self._all > since:
            return True
        for state in sight.states:
            if (self._born if state.stand is None else self._last.get(state.stand.id, 0)) > since:
                return True
        return False

    def heard(self, scope_id: int) -> None:
        """Take a notice: what is said of a scope is written down before it counts."""
        count = self._count + 1
        if scope_id not in self._last:
            self._born = count
        self._last[scope_id] = count
        self._count = count
        if len(self._last) > _MOST_SCOPES:
            self.missed()
            self._last = {}

    def missed(self) -> None:
        """Take it that anything may have moved."""
        self._all = self._count + 1
        self._count = self._all

    def healthy(self, since: float) -> None:
        """All notices of what was committed before that moment have come."""
        self._healthy_until = since + self._heartbeat

    def lost(self) -> None:
        self._healthy_until = 0.0

    def _listen(self) -> None:
        with self._starting:
            if self._listener is None and not self._closed:
                self._listener = _Listener(self, self._database, self._place, self._heartbeat / 3)

    def close(self) -> None:
        _open.discard(self)
        with self._starting:
            self._closed = True
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.stop()

    def forget(self) -> None:
        """In a forked child there is no listener: its connection is left to the parent, and the child gets its own."""
        if self._listener is not None:
            self._listener.hang_up()
            _inherited.append(self._listener)
        self._starting = threading.Lock()
        self._listener = None
        self.lost()
        self.missed()


class _Listener:
    """The thread that holds the line, opens a new one where it breaks, and sends heartbeats to it."""

    def __init__(self, push: Push, database: Database, place: Any, every: float) -> None:
        self._push = push
        self._database = database
        self._place = place
        self._every = every
        self._stopping = threading.Event()
        self._ear, self._bell = os.pipe()
        self._thread = threading.Thread(target=self._run, name="ovstore listener", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        # In this order: the thread closes the bell when it has seen that it is to stop.
        os.write(self._bell, b"!")
        self._stopping.set()
        self._thread.join(_FAREWELL)

    def hang_up(self) -> None:
        os.close(self._ear)
        os.close(self._bell)

    def _run(self) -> None:
        pause = _SHORTEST_PAUSE
        while not self._stopping.is_set():
            try:
                line = notices.Line(self._place, self._database, self._push.heard)
                pause = _SHORTEST_PAUSE
                self._follow(line)
            except DatabaseError as error:
                if self._stopping.is_set():
                    break
                _log.warning("reads are strict until there is a listener again: %s", error)
            self._push.lost()
            self._stopping.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        self._push.lost()
        self.hang_up()

    def _follow(self, line: notices.Line) -> None:
        """Listen until the line breaks."""
        try:
            # Whatever was committed before the line was open was never told.
            self._push.missed()
            sent: deque[tuple[int, float]] = deque(maxlen=_WAITED_FOR)
            number, due, proven = 0, 0.0, clock()
            while not self._stopping.is_set():
                if clock() >= due:
                    number += 1
                    sent.append((number, clock()))
                    due = clock() + self._every
                    line.beat(number)
                back = line.wait(due - clock(), self._ear)
                for one, at in sent:
                    if one == back:
                        self._push.healthy(at)
                        proven = at
                if clock() - proven > max(_LONGEST_SILENCE, 6 * self._every):
                    raise DatabaseError(
                        "heartbeats do not come back; to listen, go past a pooler, to the database that is written to"
                    )
        finally:
            line.close()


_open: weakref.WeakSet[Push] = weakref.WeakSet()
_inherited: list[Any] = []


def _forget_all() -> None:
    for push in list(_open):
        push.forget()


os.register_at_fork(after_in_child=_forget_all)
