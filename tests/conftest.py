"""The databases that tests use: real ones, migrated once a run and copied for each test.

`url` runs a test on SQLite and on PostgreSQL; what it names is migrated and holds nothing but the two fixed scopes.
`empty_url` is the same without the schema. Each copy is a store of its own, with its own `store_id`.
"""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path

import postgres
import psycopg
import pytest
from sqlalchemy import make_url

import ovstore
from ovstore.db import migrate
from ovstore.db.engines import Database

NEW_STORE = "UPDATE ovstore_meta SET store_id = "


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    with postgres.server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres_server: postgres.Server) -> str:
    url = postgres_server.create()
    migrated(url)
    return postgres_server.keep_as_template(url)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "ovstore.db"
    migrated(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    path = tmp_path / "ovstore.db"
    shutil.copyfile(sqlite_template, path)
    connection = sqlite3.connect(path)
    connection.execute(f"{NEW_STORE} ?", (str(uuid.uuid4()),))
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


@pytest.fixture
def postgres_url(postgres_server: postgres.Server, postgres_template: str) -> str:
    url = postgres_server.create(postgres_template)
    with psycopg.connect(postgres.plain(make_url(url))) as connection:
        connection.execute(f"{NEW_STORE} gen_random_uuid()")
    return url


@pytest.fixture
def bare_postgres_url(postgres_server: postgres.Server) -> str:
    return postgres_server.create()


@pytest.fixture
def bare_sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'empty.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url"))


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("bare_sqlite_url" if request.param == "sqlite" else "bare_postgres_url"))


@pytest.fixture
def store(url: str) -> Iterator[ovstore.Store]:
    """An open store without seeds; whatever a test did, its log must be whole afterwards."""
    with ovstore.open(url) as opened:
        yield opened
        assert opened.verify() == ()


def migrated(url: str) -> None:
    database = Database(url, create=True)
    migrate.upgrade(database)
    database.close()
