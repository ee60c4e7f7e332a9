"""Writers and readers in several processes: nothing is lost, nobody fails, readers see whole states. Case 52."""

from __future__ import annotations

import subprocess
import threading
import time

import children
import pytest
import sqlalchemy as sa

from ovstore.db import engines, migrate, tables
from ovstore.db.engines import Database
from ovstore.errors import DatabaseError


def counted(url: str) -> int:
    database = Database(url)
    with database.look() as connection:
        number = connection.execute(children.COUNTER).scalar_one()
    database.close()
    return int(number)


def test_eight_writers_lose_no_update_and_readers_never_fail(url: str) -> None:
    children.together(*[("count", url, 25)] * 8, ("watch", url, 200), ("watch", url, 200))
    assert counted(url) == 200


def test_processes_that_open_a_new_file_at_once_all_get_in(bare_sqlite_url: str) -> None:
    children.together(*[("upgrade_and_count", bare_sqlite_url, 5)] * 8)
    assert counted(bare_sqlite_url) == 40


def test_a_reader_works_while_a_writer_holds_the_lock(sqlite_url: str) -> None:
    reader, writer = Database(sqlite_url), Database(sqlite_url)

    def step(connection: sa.Connection) -> int:
        connection.execute(sa.update(tables.scope).where(tables.scope.c.id == 2).values(revision=9))
        with reader.read() as other:
            return int(other.execute(children.COUNTER).scalar_one())

    assert writer.write(step) == 0
    reader.close()
    writer.close()


def test_a_writer_that_waits_too_long_is_told_who_holds_it_up(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "SQLITE_PATIENCE", 0.2)
    first, second = Database(sqlite_url), Database(sqlite_url)

    def step(_: sa.Connection) -> float:
        began = time.monotonic()
        with pytest.raises(DatabaseError, match="another process has held the write lock of sqlite:///"):
            second.write(lambda _: None)
        return time.monotonic() - began

    assert 0.2 <= first.write(step) < 30
    second.write(lambda connection: connection.execute(sa.update(tables.meta).values(seed_catalog="1")))
    first.close()
    second.close()


def test_a_deadlock_of_two_writers_is_resolved_by_running_one_again(postgres_url: str) -> None:
    database = Database(postgres_url)
    both_hold_one = threading.Barrier(2, timeout=30)
    runs: list[int] = []

    def write(first: int, second: int) -> None:
        def step(connection: sa.Connection) -> None:
            runs.append(first)
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": first})
            if len(runs) <= 2:
                both_hold_one.wait()
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": second})
            raise_revision = tables.scope.c.revision + 1
            connection.execute(sa.update(tables.scope).where(tables.scope.c.id == 2).values(revision=raise_revision))

        database.write(step)

    threads = [threading.Thread(target=write, args=pair) for pair in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    assert len(runs) == 3
    assert counted(postgres_url) == 2


def test_a_migration_waits_for_a_writer_and_the_writer_is_not_disturbed(url: str) -> None:
    database = Database(url)
    waiting: list[subprocess.Popen[str]] = []

    def step(connection: sa.Connection) -> str:
        connection.execute(sa.update(tables.scope).where(tables.scope.c.id == 2).values(revision=1))
        process = children.start("upgrade", url)
        children.release(process)
        waiting.append(process)
        return "written"

    assert database.write(step) == "written"
    assert children.finish(waiting[0]) == "False current"
    assert migrate.state(database) == "current"
    database.close()
    assert counted(url) == 1
