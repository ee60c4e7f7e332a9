"""Push: the server tells of writes. A listener that may have missed one makes the store strict, never wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import postgres
import psycopg
import pytest
from others import BOLD, KEY, Other, other, says, text
from proxies import proxy
from sqlalchemy import make_url

import ovstore
from ovstore import Store, freshness

HEARTBEAT = 1.5


@pytest.fixture
def pushed(postgres_url: str) -> Iterator[Store]:
    with ovstore.open(postgres_url, freshness="push", heartbeat=HEARTBEAT) as store:
        store.publish(says("old "), actor="ann")
        listening(store)
        yield store


@pytest.fixture
def there(postgres_url: str) -> Iterator[Other]:
    with other(postgres_url) as found:
        yield found


def listening(store: Store) -> None:
    """Wait until answers are given on the word of the listener."""
    assert within(20, lambda: store.resolve(KEY).fresh == "push")


def within(seconds: float, true: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def is_new_after_a_heartbeat(store: Store, published: float, expected: str) -> bool:
    """Read until the new text is there, or a read that began a heartbeat after it was published."""
    while True:
        begun = time.monotonic()
        found = text(store)
        if found == expected or begun - published >= HEARTBEAT:
            return found == expected


def listeners(url: str, what: str = "pid") -> int:
    """Return how many listeners have a session."""
    with psycopg.connect(postgres.plain(make_url(url)), autocommit=True) as connection:
        found = connection.execute(
            f"SELECT {what} FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        ).fetchall()
    return len(found)


def cut(url: str) -> int:
    """End every listener's session; return how many there were."""
    return listeners(url, "pg_terminate_backend(pid)")


def test_a_write_of_another_process_arrives_without_being_asked_for(pushed: Store, there: Other) -> None:
    for n in range(5):
        there.publish(says(f"{n} "), **BOLD)
        assert within(HEARTBEAT, lambda n=n: text(pushed, "acme") == f"{n} ?")
    assert pushed.resolve(KEY, tenant="acme").fresh in ("push", "strict")


def test_one_that_is_not_told_anything_asks_nothing(pushed: Store, there: Other, statements: list[str]) -> None:
    text(pushed, "acme")
    statements.clear()
    for _ in range(20):
        text(pushed, "acme")
    assert [s for s in statements if "ovstore_scope" in s] == []


def test_a_write_elsewhere_leaves_a_chain_alone(pushed: Store, there: Other, statements: list[str]) -> None:
    there.publish(says("theirs "), tenant="beta", **BOLD)
    pushed.resolve(KEY, tenant="beta")
    assert within(5, lambda: pushed.resolve(KEY).fresh == pushed.resolve(KEY, tenant="beta").fresh == "push")
    there.publish(says("theirs again "), tenant="beta", **BOLD)
    assert within(5, lambda: text(pushed, "beta") == "theirs again ?")
    statements.clear()
    assert pushed.resolve(KEY).fresh == "push"
    assert [s for s in statements if "ovstore_scope" in s] == []


def test_a_tenant_that_is_born_is_told_of(pushed: Store, there: Other) -> None:
    assert text(pushed, "acme/support") == "old ?"
    there.publish(says("A "), tenant="acme", **BOLD)
    assert within(HEARTBEAT, lambda: text(pushed, "acme/support") == "A ?")
    there.publish(says("S "), tenant="acme/support", **BOLD)
    assert within(HEARTBEAT, lambda: text(pushed, "acme/support") == "S ?")


def test_ones_own_writes_are_seen_at_once(pushed: Store) -> None:
    for n in range(5):
        pushed.publish(says(f"{n} "), tenant="acme", **BOLD)
        assert text(pushed, "acme") == f"{n} ?"


def test_ones_own_writes_do_not_wait_for_being_told_of(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness.Push, "heard", lambda self, scope_id: None)
    with ovstore.open(postgres_url, freshness="push", heartbeat=60) as store:
        store.publish(says("old "), actor="ann")
        listening(store)
        store.publish(says("new "), **BOLD)
        assert text(store) == "new ?"


def test_a_listener_that_is_cut_between_a_publish_and_the_read_never_serves_the_old_text_for_long(
    pushed: Store, there: Other, postgres_url: str
) -> None:
    for n in range(4):
        listening(pushed)
        assert cut(postgres_url) == 1
        there.publish(says(f"{n} "), **BOLD)
        assert is_new_after_a_heartbeat(pushed, time.monotonic(), f"{n} ?")
    listening(pushed)
    assert text(pushed) == "3 ?"


def test_what_happened_while_nobody_listened_is_asked_for_when_somebody_does_again(
    postgres_url: str, there: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one read in between: what is kept is as old as it was, and no notice has come since."""
    monkeypatch.setattr(freshness, "_SHORTEST_PAUSE", 1.0)
    with ovstore.open(postgres_url, freshness="push", heartbeat=60) as store:
        store.publish(says("old "), actor="ann")
        listening(store)
        push = store._resolver._freshness
        assert isinstance(push, freshness.Push)
        assert cut(postgres_url) == 1
        assert within(20, lambda: push._healthy_until == 0)
        there.publish(says("new "), **BOLD)
        assert within(20, lambda: freshness.clock() < push._healthy_until)
        assert text(store) == "new ?"


def test_a_listener_that_is_cut_after_a_publish_and_before_the_read_never_serves_the_old_text_for_long(
    pushed: Store, there: Other, postgres_url: str
) -> None:
    for n in range(4):
        listening(pushed)
        there.publish(says(f"{n} "), **BOLD)
        cut(postgres_url)
        assert within(HEARTBEAT, lambda n=n: text(pushed) == f"{n} ?")


def test_without_a_listener_the_store_is_strict(
    postgres_url: str, there: Other, caplog: pytest.LogCaptureFixture
) -> None:
    nobody = make_url(postgres_url).set(port=postgres.free_port()).render_as_string(hide_password=False)
    with ovstore.open(postgres_url, freshness="push", listen=nobody) as store:
        for n in range(5):
            there.publish(says(f"{n} "), **BOLD)
            assert text(store) == f"{n} ?"
        assert store.resolve(KEY).fresh == "strict"
        assert within(5, lambda: "reads are strict until there is a listener again" in caplog.text)


def test_a_listener_behind_a_network_path_that_went_dead_is_trusted_for_a_heartbeat_only(
    postgres_url: str, there: Other
) -> None:
    """Neither notices nor an error arrive; the store's reads go another way, since it listens at a URL of its own."""
    with (
        proxy(postgres_url) as path,
        ovstore.open(postgres_url, freshness="push", heartbeat=HEARTBEAT, listen=path.url) as store,
    ):
        store.publish(says("old "), actor="ann")
        listening(store)
        there.publish(says("told "), **BOLD)
        assert within(HEARTBEAT, lambda: text(store) == "told ?")
        listening(store)
        path.dead = True
        there.publish(says("new "), **BOLD)
        assert is_new_after_a_heartbeat(store, time.monotonic(), "new ?")
        assert store.resolve(KEY).fresh == "strict"
        path.dead = False


def test_a_clock_that_jumps_ahead_as_after_sleep_makes_reads_strict_until_the_next_heartbeat(
    pushed: Store, there: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = freshness.clock
    monkeypatch.setattr(freshness, "clock", lambda: real() + 3600)
    assert pushed.resolve(KEY).fresh == "strict"
    there.publish(says("new "), **BOLD)
    assert within(HEARTBEAT, lambda: text(pushed) == "new ?")
    listening(pushed)


def test_a_wall_clock_that_jumps_changes_nothing(pushed: Store, there: Other, monkeypatch: pytest.MonkeyPatch) -> None:
    for jump in (-1e6, 1e6):
        monkeypatch.setattr(time, "time", lambda jump=jump: time.time_ns() / 1e9 + jump)
        there.publish(says(f"{jump} "), **BOLD)
        assert within(HEARTBEAT, lambda jump=jump: text(pushed) == f"{jump} ?")
        listening(pushed)


def test_closing_ends_the_listener(postgres_url: str) -> None:
    with ovstore.open(postgres_url, freshness="push", heartbeat=60) as store:
        store.publish(says("old "), actor="ann")
        listening(store)
    # The server may take a moment to see that it is gone.
    assert within(30, lambda: listeners(postgres_url) == 0)


def test_a_store_that_was_inherited_listens_for_itself(pushed: Store, there: Other, postgres_url: str) -> None:
    """The child must not trust the parent's listener, nor end its session."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = [pushed.resolve(KEY).fresh]
            there.publish(says("new "), **BOLD)
            found.append(text(pushed))
            found.append(str(within(20, lambda: pushed.resolve(KEY).fresh == "push")))
            pushed.close()
        except BaseException as error:
            found = [repr(error)]
        os.write(writes, "|".join(found).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as told:
        assert told.read() == "strict|new ?|True"
    os.waitpid(child, 0)
    assert within(HEARTBEAT, lambda: text(pushed) == "new ?")
    assert pushed.resolve(KEY).fresh in ("push", "strict")
    listening(pushed)
    assert cut(postgres_url) == 1
