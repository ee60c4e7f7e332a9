"""One database: its connections, its transactions, and its errors in our words.

A Database is made from a URL and may be shared by threads; forked children forget its connections without closing
them, since closing would end the parent's sessions. Three ways in, by what they promise:

    read()       one snapshot for as many statements as are needed
    look()       one statement by itself, without a transaction round it
    write(step)  runs step in a transaction and commits; the caller takes its locks and reads inside

`connect` gives a driver's connection beside the pool to those who cannot pay for SQLAlchemy (`ovstore.db.direct`) or
have to hold one (`ovstore.db.notices`).

Nothing is set on a session that outlives its transaction, no statement is prepared by name unless the URL asks for it
(`?prepare_threshold=5`), and locks are the transaction's: all of it works through a pooler in transaction mode.
What is in the database is not this module's business; ovstore.db.migrate says whether it is ours.
"""

from __future__ import annotations

import os
import random
import shlex
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar
from urllib.parse import quote

import sqlalchemy
from sqlalchemy import URL, Connection, Engine
from sqlalchemy import exc as sa_errors
from sqlalchemy.pool import StaticPool

from ovstore.db import urls
from ovstore.errors import DatabaseError, MigrationRequiredError

Dialect = Literal["sqlite", "postgresql"]
T = TypeVar("T")

# How long a caller waits for another one's SQLite transaction before it is told so.
SQLITE_PATIENCE: Final = 60.0
# How often a transaction that PostgreSQL ended for another one's sake (deadlock, serialisation) is tried in all.
POSTGRES_TRIES: Final = 10


class Database:
    """The connections to one database. `url` is for people: it holds no password.

    A named SQLite file is only made with `create`; a missing one is a MigrationRequiredError with the command that
    makes it. `sqlite://` is a database in memory, of this object alone, whose users take turns.
    """

    def __init__(self, url: str, *, create: bool = False) -> None:
        target = urls.parsed(url)
        self.dialect: Dialect = "sqlite" if target.get_backend_name() == "sqlite" else "postgresql"
        self.url = urls.masked(target)
        self.path = urls.file(target) if self.dialect == "sqlite" else None
        self.in_memory = self.dialect == "sqlite" and self.path is None
        self.written = object()
        self.closed = False
        self._turn = threading.Lock()
        if self.path is not None:
            self._find_file(self.path, create)
        self._place = None if self.path is None else str(self.path)
        self._target = target
        self._engine = self._sqlite_engine() if self.dialect == "sqlite" else _postgres_engine(target)
        self._writer = self._mode(isolation_level="READ COMMITTED")
        self._reader = self._mode(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._looker = self._mode(isolation_level="AUTOCOMMIT")
        self._file, self._journal = (0, 0, 0), ""
        self._identity = object()
        self.replaced: Callable[[], None] = lambda: None
        self.file()
        _open.add(self)

    def __repr__(self) -> str:
        return f"Database({self.url!r})"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection for reading that sees one committed state, the same for all its statements.

        SQLite takes the state at the first statement. Do not call the database again inside.
        """
        with self._connected(self._reader) as connection:
            if self.dialect == "sqlite":
                _driver(connection).execute("BEGIN")
            yield connection

    @contextmanager
    def look(self) -> Iterator[Connection]:
        """Give a connection for a single statement that reads; two statements may see two states."""
        with self._connected(self._looker) as connection:
            yield connection

    def write(self, step: Callable[[Connection], T]) -> T:
        """Run `step` in a transaction, commit, and return what it returned; if it raises, nothing is written.

        SQLite waits for the one write lock before `step` begins. PostgreSQL runs at READ COMMITTED, so that what is
        read after a lock was granted is what its last holder committed. `step` is called again where PostgreSQL ended
        the transaction to resolve a deadlock, so it must have no effect but on the connection. A DatabaseError with
        `lost` means that nobody knows whether the commit arrived: write the same change set again.
        """
        tries = 1
        while True:
            try:
                return self._write_once(step)
            except DatabaseError as error:
                if tries == POSTGRES_TRIES or not _is_rerunnable(error.__cause__):
                    raise
            finally:
                self.written = object()
            tries += 1
            time.sleep(random.uniform(0.001, 0.02))

    def _write_once(self, step: Callable[[Connection], T]) -> T:
        with self._connected(self._writer) as connection:
            if self.dialect == "sqlite":
                self._begin_immediate(_driver(connection))
            with connection.begin():
                done = step(connection)
                # In memory a reader who sees this waits for the turn, and so for the commit.
                self.written = object()
                return done

    @contextmanager
    def alter(self) -> Iterator[Connection]:
        """Give a connection inside a transaction that may change the schema; commit at the end.

        On SQLite the file is put into WAL mode first, and foreign keys are off until the end, since a table that is
        rebuilt would take its dependants along; the commit is refused if one of them then points nowhere.
        """
        self.use_wal()
        with self._connected(self._writer) as connection:
            if self.dialect == "postgresql":
                with connection.begin():
                    yield connection
                return
            driver = _driver(connection)
            driver.execute("PRAGMA foreign_keys = OFF")
            try:
                self._begin_immediate(driver)
                with connection.begin():
                    yield connection
                    _refuse_dangling(driver)
            finally:
                driver.execute("PRAGMA foreign_keys = ON")

    def use_wal(self) -> None:
        """Put a SQLite file that can be written into WAL mode: readers and the writer then never wait for each other.

        Asked for again and again, since SQLite does not wait here when several processes come first at once.
        """
        if self.path is not None and os.access(self.path, os.W_OK):
            with self._connected(self._looker) as connection:
                self._insist(_driver(connection), "PRAGMA journal_mode = WAL")

    def _begin_immediate(self, driver: sqlite3.Connection) -> None:
        # SQLite's own busy handler backs off to 100 ms and starves the unlucky: ask often, at uneven intervals.
        driver.execute("PRAGMA busy_timeout = 0")
        try:
            self._insist(driver, "BEGIN IMMEDIATE")
        finally:
            driver.execute(f"PRAGMA busy_timeout = {int(SQLITE_PATIENCE * 1000)}")

    def _insist(self, driver: sqlite3.Connection, statement: str) -> None:
        end = time.monotonic() + SQLITE_PATIENCE
        while True:
            try:
                driver.execute(statement).fetchall()
                return
            except sqlite3.OperationalError as error:
                if _sqlite_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise self.translated(error) from error
            time.sleep(random.uniform(0.001, 0.005))

    def connect(self, defaults: Mapping[str, str] = MappingProxyType({})) -> Any:
        """Open a connection of the driver's own for reading, each statement by itself; the caller closes it.

        `defaults` are PostgreSQL's settings of connections that the URL leaves open.
        """
        if self.closed:
            raise DatabaseError(f"the connection to {self.url} was closed: open the store again")
        try:
            if self.dialect == "sqlite":
                driver = self._connect_sqlite()
                driver.execute("PRAGMA query_only = ON")
                return driver
            return connect_postgres(self._target.set(query={**defaults, **self._target.query}))
        except Exception as error:
            raise self.translated(error) from error

    def file(self) -> object | None:
        """Return an object that is the same one as long as the same file lies at the path, with the same journal.

        Of what was replaced, the connections are let go of, here and by `replaced`. The journal counts because SQLite
        loses its locks when anything else in this process opens and closes the file, such as a backup does: then the
        last process to close the database takes the journal away from those who still have it open, and they would
        neither see what is written to the next one nor write what others see.
        """
        if self._place is None:
            return None
        found, known = self._found(self._place), self._file
        if found == known:
            return self._identity
        # A journal that comes to be where none was is that of the same file.
        if found[:2] != known[:2] or known[2]:
            self._identity = object()
            self.replaced()
            self._engine.dispose()
            # Whoever closes last takes the journal along.
            found = self._found(self._place)
        # Last: until then, other threads find out for themselves.
        self._file = found
        return self._identity

    def _found(self, place: str) -> tuple[int, int, int]:
        """Return file and device, and the file of the journal, 0 for none."""
        try:
            # Read on every render, and pathlib costs a third more.
            found = os.stat(place)  # noqa: PTH116
            file, device = found.st_ino, found.st_dev
            if file != self._file[0] or device != self._file[1]:
                self._journal = f"{os.path.realpath(place)}-wal"
        except FileNotFoundError as error:
            raise self._missing(Path(place)) from error
        try:
            return file, device, os.stat(self._journal).st_ino  # noqa: PTH116
        except FileNotFoundError:
            return file, device, 0

    def close(self) -> None:
        """Close all connections that are not in use; the object cannot be used again."""
        self.closed = True
        self.written = object()  # as by a write: what is known of the database serves no more
        _open.discard(self)
        self._engine.dispose()

    def forget(self) -> None:
        """Let go of inherited connections without closing them: what a forked child has to do."""
        self._turn = threading.Lock()
        if not self.in_memory:
            # Kept, not collected: a connection that is collected is closed.
            _inherited.append(self._engine.pool)
            self._engine.dispose(close=False)

    def command(self, verb: str) -> str:
        """Return the command line that runs a verb of ovstore on this database."""
        return f"ovstore --db {shlex.quote(self.url)} {verb}"

    @contextmanager
    def _connected(self, engine: Engine) -> Iterator[Connection]:
        if self.closed:
            raise DatabaseError(f"the connection to {self.url} was closed: open the store again")
        self.file()
        if self.in_memory and not self._turn.acquire(timeout=SQLITE_PATIENCE):
            raise DatabaseError(f"another user has held the database in memory for {SQLITE_PATIENCE:.0f} s")
        try:
            with engine.connect() as connection:
                yield connection
        except (sa_errors.SQLAlchemyError, sqlite3.Error) as error:
            raise self.translated(error) from error
        finally:
            if self.in_memory:
                self._turn.release()

    def _mode(self, **options: Any) -> Engine:
        return self._engine if self.dialect == "sqlite" else self._engine.execution_options(**options)

    def _find_file(self, path: Path, create: bool) -> None:
        if create and not path.exists():
            try:
                path.touch()
            except FileNotFoundError as error:
                folder = shlex.quote(str(path.parent))
                raise DatabaseError(
                    f"{path} cannot be made: there is no folder {path.parent}; to make it: mkdir -p {folder}"
                ) from error
            except OSError as error:
                raise DatabaseError(
                    f"{path} cannot be made: {error.strerror}; name a file in a folder that this user may write to"
                ) from error
        elif not path.exists():
            raise self._missing(path)

    def _missing(self, path: Path) -> MigrationRequiredError:
        command = self.command("init")
        return MigrationRequiredError(f"there is no database {path}; to make it: {command}", command=command)

    def _sqlite_engine(self) -> Engine:
        if sqlite3.sqlite_version_info < (3, 37):
            raise DatabaseError(f"ovstore needs SQLite 3.37 or newer; this Python has {sqlite3.sqlite_version}")
        # Writers wait for SQLite, not for the pool; the parameters of a failed statement are other people's texts.
        pool: dict[str, Any] = {"poolclass": StaticPool} if self.in_memory else {"max_overflow": -1}
        url = URL.create("sqlite", database=None if self.path is None else str(self.path))
        return sqlalchemy.create_engine(url, creator=self._connect_sqlite, hide_parameters=True, **pool)

    def _connect_sqlite(self) -> sqlite3.Connection:
        # mode=rw: a file that was taken away is missed, not replaced by an empty one.
        target = ":memory:" if self.path is None else f"file:{quote(str(self.path))}?mode=rw"
        driver = sqlite3.connect(
            target, uri=True, isolation_level=None, timeout=SQLITE_PATIENCE, check_same_thread=False
        )
        driver.execute("PRAGMA foreign_keys = ON")
        driver.execute("PRAGMA synchronous = FULL")
        return driver

    def translated(self, error: Exception) -> DatabaseError:
        """Say in our words what a driver reports, judged by its code alone; the driver's words follow."""
        if isinstance(error, sa_errors.TimeoutError):
            return DatabaseError(f"all connections to {self.url} were in use for 30 seconds")
        cause = getattr(error, "orig", None) or error
        if isinstance(cause, sqlite3.Error):
            return self.__translated_sqlite(cause)
        state = getattr(cause, "sqlstate", None)
        lost = getattr(error, "connection_invalidated", False) or state in ("57P01", "57P02", "57P05")
        found = DatabaseError(f"{self.url}: {_POSTGRES.get(state or '', _what(state, lost))}: {_first_line(cause)}")
        found.lost = lost
        return found

    def __translated_sqlite(self, error: sqlite3.Error) -> DatabaseError:
        code = _sqlite_code(error)
        if code == sqlite3.SQLITE_CANTOPEN and self.path is not None and not self.path.exists():
            return self._missing(self.path)
        if code == sqlite3.SQLITE_BUSY:
            return DatabaseError(f"another process has held the write lock of {self.url} for {SQLITE_PATIENCE:.0f} s")
        if code == sqlite3.SQLITE_READONLY and self.path is not None:
            return DatabaseError(f"{self.url}: {_unwritable(self.path)}: {_first_line(error)}")
        return DatabaseError(f"{self.url}: {_SQLITE.get(code, 'SQLite refused')}: {_first_line(error)}")


def _unwritable(path: Path) -> str:
    if os.access(path.parent, os.W_OK) and not os.access(path, os.W_OK):
        return f"this user may read {path} and not write it; give it the right to write both the file and its folder"
    return (
        f"the folder {path.parent} cannot be written, where SQLite keeps its newest pages even for those who only "
        "read; give this user the right to write both the file and its folder"
    )


_open: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[Any] = []


def _forget_all() -> None:
    for database in list(_open):
        database.forget()


os.register_at_fork(after_in_child=_forget_all)


def _postgres_engine(target: URL) -> Engine:
    engine = sqlalchemy.create_engine(
        urls.served(target),
        connect_args={"prepare_threshold": urls.prepare_threshold(target)},
        pool_pre_ping=True,
        use_native_hstore=False,
        hide_parameters=True,
    )
    sqlalchemy.event.listen(engine, "connect", _refuse_old_server)
    return engine


def connect_postgres(target: URL) -> Any:
    """Open a connection of the driver's own, in autocommit; whatever goes wrong is the driver's error."""
    from psycopg import connect

    arguments, options = target.get_dialect()().create_connect_args(urls.served(target))
    return connect(*arguments, **options, autocommit=True, prepare_threshold=urls.prepare_threshold(target))


def _refuse_old_server(driver: Any, _record: Any) -> None:
    if driver.info.server_version < 140000:
        found = driver.info.parameter_status("server_version")
        driver.close()
        raise DatabaseError(f"ovstore needs PostgreSQL 14 or newer; this server is {found}")


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.dbapi_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _refuse_dangling(driver: sqlite3.Connection) -> None:
    rows = [row for row in driver.execute("PRAGMA foreign_key_check") if row[0].startswith("ovstore_")]
    if rows:
        places = ", ".join(f"{child} row {row} to {parent}" for child, row, parent, _ in rows[:5])
        raise DatabaseError(f"nothing was migrated: references that point nowhere: {places}")


def _sqlite_code(error: sqlite3.Error) -> int:
    """The primary result code; extended ones have it in their lowest byte."""
    return int(getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def _is_rerunnable(error: BaseException | None) -> bool:
    return getattr(getattr(error, "orig", None), "sqlstate", None) in ("40001", "40P01")


def _what(state: str | None, lost: bool) -> str:
    if lost:
        return "the connection was lost"
    return "PostgreSQL refused" if state else "no connection to PostgreSQL"


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


_SQLITE = {
    sqlite3.SQLITE_PERM: "no permission",
    sqlite3.SQLITE_IOERR: "the disk failed",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_CONSTRAINT: "the database refused the write",
    sqlite3.SQLITE_NOTADB: "the file is not a SQLite database",
}

_POSTGRES = {
    "28P01": "the password is wrong",
    "28000": "the server does not let this user in",
    "3D000": "the server has no such database",
    "42501": "this user lacks a privilege",
    "25006": "the server is read-only, a replica perhaps",
    "53100": "the server's disk is full",
    "53300": "the server has no connection left",
    "55P03": "a lock was not granted in time",
    "57P03": "the server is starting or stopping",
}
