"""Connections to PostgreSQL that are lost in the middle of a write: the store's own retry applies it once."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import psycopg
import pytest
import workers
from postgres import plain
from proxies import Proxy, proxy
from sqlalchemy import make_url

import ovstore
from ovstore import Store

MESSAGES = (
    "BEGIN",
    "pg_advisory_xact_lock",
    "SELECT ovstore_entry",
    "INSERT INTO ovstore_version",
    "INSERT INTO ovstore_entry",
    "INSERT INTO ovstore_change",
    "UPDATE ovstore_scope",
    "INSERT INTO ovstore_label",
    "COMMIT",
)


@pytest.fixture
def line(postgres_url: str) -> Iterator[Proxy]:
    with proxy(postgres_url) as found:
        yield found


@pytest.fixture
def store(line: Proxy) -> Iterator[Store]:
    """A store behind the proxy, with a write behind it, so that a connection is in its pool."""
    with ovstore.open(line.url) as opened:
        opened.publish(workers.note("first", tone=True), tenant="globex", actor="ann")
        yield opened
        assert opened.verify() == ()


@pytest.mark.parametrize("answered", [False, True], ids=["before it arrives", "after it was done"])
@pytest.mark.parametrize("message", MESSAGES)
def test_a_write_whose_connection_is_lost_is_applied_once(
    store: Store, line: Proxy, message: str, answered: bool
) -> None:
    line.lose(message, answered=answered)
    published = store.publish(workers.note("text", tone=True), tenant="acme", actor="ann", change_set="once")
    assert line.lost == 1
    assert (published.version, published.unchanged, published.change_set) == (1, False, "once")
    assert [(entry.seq, entry.change_set) for entry in store.audit(tenant="acme")] == [(1, "once")]
    assert published.revision == store.resolve("semantic.note", tenant="acme").revision


@pytest.mark.parametrize("answered", [False, True], ids=["before it arrives", "after it was done"])
def test_a_caller_who_has_to_be_told_can_try_the_same_change_set_again(
    store: Store, line: Proxy, answered: bool
) -> None:
    line.lose("COMMIT", answered=answered, shut=True)
    with pytest.raises(ovstore.DatabaseError) as refused:
        store.publish(workers.note("text", tone=True), tenant="acme", actor="ann", change_set="once")
    assert refused.value.lost
    line.open = True
    published = store.publish(workers.note("text", tone=True), tenant="acme", actor="ann", change_set="once")
    assert (published.version, published.unchanged) == (1, False)
    assert [entry.change_set for entry in store.audit(tenant="acme")] == ["once"]


def test_writers_whose_connections_are_ended_again_and_again_write_each_thing_once(postgres_url: str) -> None:
    """An administrator ends every connection twenty times while two processes write."""
    with ovstore.open(postgres_url) as store, psycopg.connect(plain(make_url(postgres_url)), autocommit=True) as admin:
        end_others = (
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        ended = 0
        with workers.running([(workers.insist, postgres_url, f"tenant{n}", 60) for n in range(2)]):
            while len(store.tenants()) < 2:
                time.sleep(0.01)
            for _ in range(20):
                ended += admin.execute(end_others).fetchone()[0]
                time.sleep(random.uniform(0, 0.1))
        assert ended >= 10
        for n in range(2):
            entries = [(entry.seq, entry.change_set) for entry in store.audit(tenant=f"tenant{n}")]
            assert entries == [(m, f"tenant{n}-{m}") for m in range(60, 0, -1)]
        assert store.verify() == ()
