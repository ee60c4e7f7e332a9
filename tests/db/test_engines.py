"""A Database: its transactions, its errors in our words, its passwords kept, its connections across a fork."""

from __future__ import annotations

import os
import pickle
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import make_url

from ovstore.db import engines, migrate, tables
from ovstore.db.engines import Database
from ovstore.errors import DatabaseError, InvalidArgumentError, MigrationRequiredError

CATALOG = sa.select(tables.meta.c.seed_catalog)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(url)
    yield database
    database.close()


@pytest.fixture
def postgresql(postgres_url: str) -> Iterator[Database]:
    database = Database(postgres_url)
    yield database
    database.close()


def catalog(database: Database) -> str:
    with database.look() as connection:
        return str(connection.execute(CATALOG).scalar_one())


def put(database: Database, value: str) -> None:
    database.write(lambda connection: connection.execute(sa.update(tables.meta).values(seed_catalog=value)))


def test_a_write_returns_what_its_step_returned_and_is_seen_at_once(database: Database) -> None:
    def step(connection: sa.Connection) -> str:
        connection.execute(sa.update(tables.meta).values(seed_catalog="7"))
        return "done"

    assert database.write(step) == "done"
    assert catalog(database) == "7"


@pytest.mark.parametrize("error", [KeyError("x"), KeyboardInterrupt()])
def test_a_write_that_raises_writes_nothing_and_lets_the_next_one_in(database: Database, error: BaseException) -> None:
    def step(connection: sa.Connection) -> None:
        connection.execute(sa.update(tables.meta).values(seed_catalog="7"))
        raise error

    with pytest.raises(type(error)):
        database.write(step)
    assert catalog(database) == ""
    put(database, "8")
    assert catalog(database) == "8"


def test_a_read_sees_one_state_while_others_write(url: str, database: Database) -> None:
    other = Database(url)
    with database.read() as connection:
        before = connection.execute(CATALOG).scalar_one()
        put(other, "7")
        assert connection.execute(CATALOG).scalar_one() == before == ""
    assert catalog(database) == "7"
    other.close()


def test_a_read_on_postgresql_cannot_write(postgresql: Database) -> None:
    with pytest.raises(DatabaseError, match="the server is read-only"), postgresql.read() as connection:
        connection.execute(sa.update(tables.meta).values(seed_catalog="7"))
    assert catalog(postgresql) == ""


def test_a_look_leaves_no_transaction_open(postgres_url: str, postgresql: Database) -> None:
    with postgresql.look() as connection:
        connection.execute(CATALOG)
        with psycopg.connect(make_url(postgres_url).set(drivername="postgresql").render_as_string()) as other:
            states = other.execute(
                "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchall()
    assert states == [("idle",)]


def test_threads_share_one_database(database: Database) -> None:
    problems: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                database.write(add_one)
                with database.read() as connection:
                    connection.execute(CATALOG).scalar_one()
        except BaseException as error:
            problems.append(error)

    def add_one(connection: sa.Connection) -> None:
        seen = connection.execute(CATALOG.with_for_update()).scalar_one()
        connection.execute(sa.update(tables.meta).values(seed_catalog=str(int(seen or 0) + 1)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert catalog(database) == "80"


def test_a_database_in_memory_is_its_objects_own_and_shared_by_threads() -> None:
    first, second = Database("sqlite://"), Database("sqlite:///:memory:")
    migrate.upgrade(first)
    thread = threading.Thread(target=put, args=(first, "7"))
    thread.start()
    thread.join()
    assert catalog(first) == "7"
    assert (migrate.state(first), migrate.state(second)) == ("current", "empty")
    first.close()
    second.close()


def test_a_database_in_memory_that_is_not_given_back_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "SQLITE_PATIENCE", 0.1)
    database = Database("sqlite://")
    with database.read(), pytest.raises(DatabaseError, match="another user has held the database in memory"):
        database.write(lambda _: None)
    database.close()


def test_a_closed_database_says_so(database: Database) -> None:
    database.close()
    with pytest.raises(DatabaseError, match="was closed: open the store again"):
        catalog(database)


def test_a_named_file_that_is_missing_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "missing.db"
    with pytest.raises(MigrationRequiredError, match="there is no database") as error:
        Database(f"sqlite:///{path}")
    assert error.value.command == f"ovstore --db sqlite:///{path} init"
    assert not path.exists()


def test_a_file_that_was_taken_away_is_not_made_again(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    assert database.path
    database.path.unlink()
    with pytest.raises(MigrationRequiredError, match="there is no database"):
        catalog(database)
    assert not database.path.exists()
    database.close()


@pytest.mark.parametrize("name", ["two words.db", "100%.db", "a%20b.db", "a#b.db", "ü語.db", "it's;.db", "a?b.db"])
def test_any_file_name_can_be_used_and_comes_back_in_the_url(tmp_path: Path, name: str) -> None:
    first = Database(f"sqlite:///{quote(str(tmp_path / name))}", create=True)
    migrate.upgrade(first)
    first.close()
    again = Database(first.url)
    assert again.path == tmp_path / name
    assert migrate.state(again) == "current"
    again.close()
    assert {path.name for path in tmp_path.iterdir()} == {name}


def test_a_relative_path_stays_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    database = Database("sqlite:///here.db", create=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    migrate.upgrade(database)
    database.close()
    assert (tmp_path / "here.db").stat().st_size > 0


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("text.db", b"not a database " * 100, "the file is not a SQLite database"),
        ("folder", None, "the file cannot be opened"),
    ],
)
def test_what_is_no_database_is_named(tmp_path: Path, name: str, content: bytes | None, why: str) -> None:
    path = tmp_path / name
    path.mkdir() if content is None else path.write_bytes(content)
    database = Database(f"sqlite:///{path}")
    with pytest.raises(DatabaseError, match=why):
        migrate.require(database)
    database.close()


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match=r"there is no folder .*/none; to make it: mkdir -p .*/none"):
        Database(f"sqlite:///{tmp_path}/none/ovstore.db", create=True)


def test_a_file_that_cannot_be_written_is_told_with_what_to_do(sqlite_url: str) -> None:
    path = sqlite_url.removeprefix("sqlite:///")
    database = Database(sqlite_url)
    readonly = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError) as caught:
        readonly.execute("CREATE TABLE t (c)")
    readonly.close()
    assert "the right to write both the file and its folder" in str(database.translated(caught.value))
    database.close()


def test_a_damaged_file_is_named(sqlite_url: str) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    database = Database(sqlite_url)
    with pytest.raises(DatabaseError, match="the file is damaged"):
        migrate.require(database)
    database.close()


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann:secret@host/x", "postgresql+asyncpg://ann:secret@host/x", "ann:secret@host", "",
        "postgresql://ann:secret@host:port/x", "postgresql://ann:p@secret@host/x", "sqlite:///x.db?mode=secret",
        "postgresql://ann:secret@host/x?prepare_threshold=often",
    ],
)  # fmt: skip
def test_a_url_that_is_none_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        Database(url)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("127.0.0.1:1/x", "no connection to PostgreSQL"),
        ("/x?host=/nowhere&password=secret", "no connection to PostgreSQL"),
        ("127.0.0.1:1/x?nonsense=1", "no connection to PostgreSQL"),
    ],
)
def test_a_password_is_in_no_error(place: str, why: str) -> None:
    database = Database(f"postgresql://ann:secret@{place}")
    with pytest.raises(DatabaseError, match=why) as error:
        migrate.require(database)
    texts = [*traceback.format_exception(error.value), database.url, repr(database), database.command("init")]
    assert "secret" not in "".join(texts)
    assert not error.value.lost
    database.close()


def test_the_values_of_a_failed_statement_are_in_no_error(database: Database) -> None:
    row = {"one": 1, "store_id": "canary", "readable_from": 1, "seed_catalog": "canary"}
    with pytest.raises(DatabaseError) as error:
        database.write(lambda connection: connection.execute(sa.insert(tables.meta).values(row)))
    assert "canary" not in str(error.value)
    assert "canary" not in str(error.value.__cause__)


def test_a_database_that_the_server_does_not_have_is_named(bare_postgres_url: str) -> None:
    database = Database(make_url(bare_postgres_url).set(database="nowhere").render_as_string(hide_password=False))
    with pytest.raises(DatabaseError, match='database "nowhere" does not exist'):
        migrate.require(database)
    database.close()


def terminate(connection: sa.Connection) -> None:
    connection.execute(sa.update(tables.meta).values(seed_catalog="7"))
    connection.execute(sa.text("SELECT pg_terminate_backend(pg_backend_pid())"))


def test_a_connection_lost_in_a_write_is_marked_and_the_next_write_works(postgresql: Database) -> None:
    with pytest.raises(DatabaseError, match="the connection was lost") as error:
        postgresql.write(terminate)
    assert error.value.lost
    assert pickle.loads(pickle.dumps(error.value)).lost
    assert catalog(postgresql) == ""
    put(postgresql, "8")


def test_a_connection_lost_while_it_was_idle_is_not_noticed(postgres_url: str, postgresql: Database) -> None:
    assert catalog(postgresql) == ""
    with psycopg.connect(make_url(postgres_url).set(drivername="postgresql").render_as_string()) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert catalog(postgresql) == ""


def test_an_error_of_sql_is_not_taken_for_a_lost_connection(database: Database) -> None:
    with pytest.raises(DatabaseError, match="refused") as error, database.look() as connection:
        connection.execute(sa.text("SELECT nothing FROM nowhere"))
    assert not error.value.lost


@pytest.mark.parametrize(("asked", "prepared"), [("", 0), ("?prepare_threshold=2", 1)])
def test_statements_are_prepared_only_where_the_url_asks_for_it(postgres_url: str, asked: str, prepared: int) -> None:
    database = Database(postgres_url + asked)
    with database.read() as connection:
        for _ in range(20):
            connection.execute(CATALOG)
        count = connection.execute(sa.text("SELECT count(*) FROM pg_prepared_statements")).scalar_one()
    database.close()
    assert count == prepared


def test_no_setting_of_a_transaction_reaches_the_next_one(postgresql: Database) -> None:
    settings = sa.text("SELECT current_setting('transaction_read_only'), current_setting('transaction_isolation')")
    with postgresql.read() as connection:
        assert tuple(connection.execute(settings).one()) == ("on", "repeatable read")
    assert tuple(postgresql.write(lambda connection: connection.execute(settings).one())) == ("off", "read committed")
    with postgresql.look() as connection:
        assert connection.execute(settings).one()[0] == "off"


def in_child(work: Callable[[], None]) -> None:
    """Run work in a forked child that ends without the parent's clean-up; its failure is ours."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_uses_connections_of_its_own(url: str, database: Database) -> None:
    put(database, "1")
    with database.look() as connection:
        parents = connection.connection.dbapi_connection

    def work() -> None:
        with database.look() as connection:
            assert connection.connection.dbapi_connection is not parents
        assert catalog(database) == "1"
        put(database, "2")
        database.close()

    in_child(work)
    with database.look() as connection:
        assert connection.connection.dbapi_connection is parents
    assert catalog(database) == "2"
    put(database, "3")


def test_a_forked_child_that_ends_leaves_the_parents_session_alone(postgres_url: str) -> None:
    script = f"""
import gc, os
from sqlalchemy import text
from ovstore.db.engines import Database

def session():
    with database.look() as connection:
        return connection.execute(text("SELECT pg_backend_pid()")).scalar_one()

database = Database({postgres_url!r})
before = session()
child = os.fork()
if child == 0:
    gc.collect()
    raise SystemExit(0)
assert os.waitpid(child, 0)[1] == 0
assert session() == before
database.close()
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_database_in_memory_goes_along_into_a_forked_child() -> None:
    database = Database("sqlite://")
    migrate.upgrade(database)
    put(database, "1")

    def work() -> None:
        assert catalog(database) == "1"

    in_child(work)
    database.close()


def test_sqlite_needs_no_psycopg_and_no_alembic_once_it_is_set_up(sqlite_url: str) -> None:
    script = f"""
import sys
from ovstore.db import migrate
from ovstore.db.engines import Database
database = Database({sqlite_url!r})
migrate.require(database)
database.close()
assert not {{"psycopg", "alembic"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_old_sqlite_is_refused(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(DatabaseError, match=r"ovstore needs SQLite 3\.37 or newer"):
        Database(sqlite_url)


def test_a_server_that_does_not_answer_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        database = Database(f"postgresql://ann@127.0.0.1:{port}/x?connect_timeout=2")
        began = time.monotonic()
        with pytest.raises(DatabaseError, match="timeout"):
            migrate.require(database)
        assert time.monotonic() - began < 10
        database.close()
