"""A number of seconds: never older than that, by a clock that nobody sets."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from others import BOLD, says, text

import ovstore
from ovstore import Store, freshness


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(freshness, "clock", found)
    return found


@pytest.fixture
def bounded(url: str) -> Iterator[Store]:
    with ovstore.open(url, freshness=30) as store:
        yield store


def test_an_answer_is_believed_for_so_long_and_no_longer(url: str, bounded: Store, clock: Clock) -> None:
    with ovstore.open(url) as there:
        there.publish(says("old "), actor="ann")
        assert bounded.resolve("semantic.note").fresh == "strict"
        there.publish(says("new "), **BOLD)
        clock.now += 29.9
        assert text(bounded) == "old ?"
        assert bounded.resolve("semantic.note").fresh == "within 30 s"
        clock.now += 0.1
        assert text(bounded) == "new ?"
        there.publish(says("newer "), **BOLD)
        assert text(bounded) == "new ?"


def test_a_file_that_was_replaced_is_read_once_the_time_is_over(sqlite_url: str, clock: Clock, tmp_path: Path) -> None:
    place, second = Path(sqlite_url.removeprefix("sqlite:///")), tmp_path / "second.db"
    shutil.copyfile(place, second)
    with ovstore.open(f"sqlite:///{second}") as there:
        there.publish(says("second "), actor="ann")
    with ovstore.open(sqlite_url, freshness=30) as store:
        store.publish(says("first "), actor="ann")
        assert text(store) == "first ?"
        for side in ("-wal", "-shm"):
            place.with_name(place.name + side).unlink()
        second.replace(place)
        assert text(store) == "first ?"
        clock.now += 31
        assert text(store) == "second ?"


def test_ones_own_writes_are_seen_at_once(bounded: Store, clock: Clock) -> None:
    for n in range(3):
        bounded.publish(says(f"{n} "), tenant="acme", **BOLD)
        assert [text(bounded, "acme"), text(bounded, "acme/x")] == [f"{n} ?"] * 2


def test_a_wall_clock_that_jumps_changes_nothing(
    url: str, bounded: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ovstore.open(url) as there:
        there.publish(says("old "), actor="ann")
        assert text(bounded) == "old ?"
        there.publish(says("new "), **BOLD)
        for jump in (-1e6, 1e6):
            monkeypatch.setattr(time, "time", lambda jump=jump: time.time_ns() / 1e9 + jump)
            assert text(bounded) == "old ?"
        clock.now += 31
        assert text(bounded) == "new ?"


def test_the_clock_goes_on_while_the_machine_sleeps() -> None:
    before = freshness.clock()
    time.sleep(0.01)
    assert 0.01 <= freshness.clock() - before < 5


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan"), True, "soon", None, "5"])
def test_what_is_no_freshness_is_refused_before_anything_is_opened(seconds: object) -> None:
    with pytest.raises(ovstore.InvalidArgumentError, match="freshness"):
        ovstore.open("sqlite:///nowhere/never.db", create=True, freshness=seconds)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"heartbeat": 0},
        {"heartbeat": "2"},
        {"listen": "postgresql://h/d"},
        {"freshness": 5, "listen": "postgresql://h/d"},
        {"freshness": "push", "listen": 5},
    ],
)
def test_what_is_no_heartbeat_or_has_nobody_to_listen_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(ovstore.InvalidArgumentError):
        ovstore.open("sqlite://", create=True, **options)  # type: ignore[arg-type]


def test_push_on_sqlite_is_strict(sqlite_url: str) -> None:
    with ovstore.open(sqlite_url, freshness="push") as store, ovstore.open(sqlite_url) as there:
        for n in range(3):
            there.publish(says(f"{n} "), **BOLD)
            assert text(store) == f"{n} ?"
        assert store.resolve("semantic.note").fresh == "strict"
