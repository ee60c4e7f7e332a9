"""What the tests of concurrency run in processes of their own, and how they start and end them.

Run as a program, it calls one of its functions by name, after all processes of a test are up.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import sqlalchemy as sa

from ovstore import bundled
from ovstore.db import migrate, tables
from ovstore.db.engines import Database

COUNTER = sa.select(tables.scope.c.revision).where(tables.scope.c.id == 2)


def together(*calls: tuple[object, ...]) -> list[str]:
    """Run calls (a function's name and its arguments) at once, one process each; return what each wrote."""
    processes = [start(*call) for call in calls]
    try:
        for process in processes:
            release(process)
        return [finish(process) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def start(name: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", __file__, name, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def release(process: subprocess.Popen[str]) -> None:
    assert process.stdin and process.stdout
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    return output.strip()


def use_migrations(folder: Path | str, head: str) -> None:
    """Take the revisions of another folder for this process's own."""
    migrate.HEAD = head  # type: ignore[misc]
    bundled.folder = lambda _name: Path(folder)


def upgrade(url: str) -> None:
    database = Database(url, create=True)
    sys.stdout.write(f"{migrate.upgrade(database)} {migrate.state(database)}\n")
    database.close()


def upgrade_from(folder: str, head: str, url: str) -> None:
    use_migrations(folder, head)
    upgrade(url)


def upgrade_and_die(url: str, at: str) -> None:
    """Upgrade, and be killed before the statement of that number, or before the commit."""
    numbers = itertools.count(1)

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def die_at_statement(*_: object) -> None:
        if next(numbers) == int(at):
            die()

    if at == "commit":
        sa.event.listen(sa.Engine, "commit", die)
    else:
        sa.event.listen(sa.Engine, "before_cursor_execute", die_at_statement)
    upgrade(url)


def upgrade_and_count(url: str, times: str) -> None:
    upgrade(url)
    count(url, times)


def count(url: str, times: str) -> None:
    """Read a number, add one, write it back."""
    database = Database(url)

    def step(connection: sa.Connection) -> None:
        seen = connection.execute(COUNTER.with_for_update()).scalar_one()
        connection.execute(sa.update(tables.scope).where(tables.scope.c.id == 2).values(revision=seen + 1))

    for _ in range(int(times)):
        database.write(step)
    database.close()


def watch(url: str, until: str) -> None:
    """Read the number in both ways until it is reached; it never falls, and one read sees it only once."""
    database = Database(url)
    seen = 0
    while seen < int(until):
        with database.look() as connection:
            looked = connection.execute(COUNTER).scalar_one()
        with database.read() as connection:
            read, again = connection.execute(COUNTER).scalar_one(), connection.execute(COUNTER).scalar_one()
        assert seen <= looked <= read == again
        seen = read
    database.close()


if __name__ == "__main__":
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    globals()[sys.argv[1]](*sys.argv[2:])
