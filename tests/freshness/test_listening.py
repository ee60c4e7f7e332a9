"""Listening where nothing is heard is found out: a heartbeat that does not go the way of the writes would hide it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import postgres
import psycopg
import pytest
from others import BOLD, KEY, Other, other, says, text
from sqlalchemy import make_url

import ovstore

HEARTBEAT = 1.0


@pytest.fixture
def deaf(postgres_url: str) -> Iterator[str]:
    """The URL of another database on the same server, where one can listen well and hears of nothing."""
    server = make_url(postgres_url)
    name = f"{server.database}_deaf"
    with psycopg.connect(postgres.plain(server), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield server.set(database=name).render_as_string(hide_password=False)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def there(postgres_url: str) -> Iterator[Other]:
    with other(postgres_url) as found:
        yield found


def test_a_store_that_listens_at_another_database_stays_strict(postgres_url: str, deaf: str, there: Other) -> None:
    with ovstore.open(postgres_url, freshness="push", heartbeat=HEARTBEAT, listen=deaf) as store:
        there.publish(says("old "), **BOLD)
        end = time.monotonic() + 2 * HEARTBEAT
        number = 0
        while time.monotonic() < end:
            there.publish(says(f"{number} "), **BOLD)
            assert text(store) == f"{number} ?"
            assert store.resolve(KEY).fresh == "strict"
            number += 1
