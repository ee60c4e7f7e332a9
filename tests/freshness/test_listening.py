"""Listening where nothing is heard is found out: a heartbeat that does not go the way of the writes would hide it.

And nobody waits for what does not come.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import postgres
import psycopg
import pytest
from others import BOLD, KEY, Other, other, says, text
from proxies import proxy
from sqlalchemy import make_url

import ovstore
from ovstore import freshness
from ovstore.db import notices
from ovstore.db.engines import Database

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


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def listening() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "ovstore listener"]


def test_one_who_listens_where_nothing_is_heard_is_told(
    postgres_url: str, deaf: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(freshness, "_LONGEST_SILENCE", 0.1)
    with ovstore.open(postgres_url, freshness="push", heartbeat=0.1, listen=deaf) as store:
        store.publish(says("old "), actor="ann")
        text(store)
        until(lambda: "heartbeats do not come back; to listen, go past a pooler" in caplog.text)


def test_heartbeats_that_nobody_answers_keep_neither_notices_nor_closing_waiting(
    postgres_url: str, there: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way of the writes is dead, the other one is not."""
    with proxy(postgres_url) as path:
        store = ovstore.open(path.url, freshness="push", heartbeat=HEARTBEAT, listen=postgres_url)
        push = store._resolver._freshness
        assert isinstance(push, freshness.Push)
        there.publish(says("old "), **BOLD)
        until(lambda: store.resolve(KEY).fresh == "push")
        path.dead = True
        until(lambda: freshness.clock() > push._healthy_until)
        before = push._count
        there.publish(says("new "), **BOLD)
        until(lambda: push._count > before)
        store.close()
        assert listening() == []
        path.dead = False


def test_a_line_whose_heartbeats_are_not_answered_is_opened_anew(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "_LONGEST_SILENCE", 0.1)
    with (
        proxy(postgres_url) as path,
        ovstore.open(path.url, freshness="push", heartbeat=HEARTBEAT, listen=postgres_url) as store,
    ):
        store.publish(says("old "), actor="ann")
        until(lambda: store.resolve(KEY).fresh == "push")
        push = store._resolver._freshness
        assert isinstance(push, freshness.Push)
        path.dead = True
        until(lambda: freshness.clock() > push._healthy_until)
        # What was sent meanwhile is lost for good.
        path.dead = False
        until(lambda: freshness.clock() < push._healthy_until)


def test_a_store_that_is_closed_while_it_opens_a_line_says_nothing_and_leaves_nothing(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        where = make_url(postgres_url).set(port=port).render_as_string(hide_password=False)
        store = ovstore.open(postgres_url, freshness="push", listen=where)
        store.publish(says("old "), actor="ann")
        text(store)
        peer, _ = mute.accept()
        store.close()
        store.close()
        peer.close()
    until(lambda: listening() == [])
    assert caplog.text == ""


def test_whether_one_is_told_of_commits_at_a_url_can_be_asked(postgres_url: str, deaf: str) -> None:
    database = Database(postgres_url)
    assert notices.heard(database, postgres_url, seconds=20)
    assert not notices.heard(database, deaf, seconds=0.5)
    database.close()
