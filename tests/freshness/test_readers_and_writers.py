"""Readers and writers in processes: strict reads are never stale, and no answer is of two states."""

from __future__ import annotations

import time
from typing import Any

import pytest
from others import CONTEXT, count_up, read_along


def run(url: str, readers: int, writers: int, *, writes: int, seconds: float = 0) -> tuple[int, list[str]]:
    """Let them run side by side, until each writer has done so much and the time behind the first writes is over.

    Returns how many reads there were and which were wrong.
    """
    done = CONTEXT.Event()
    counters: dict[str, Any] = {f"t{n}": CONTEXT.Value("i", 0) for n in range(writers)}
    pipes = [CONTEXT.Pipe(duplex=False) for _ in range(readers)]
    processes = [CONTEXT.Process(target=count_up, args=(url, name, at, done)) for name, at in counters.items()]
    processes += [CONTEXT.Process(target=read_along, args=(url, counters, done, told)) for _, told in pipes]
    for process in processes:
        process.start()
    begun = 0.0
    while time.monotonic() < begun + seconds or any(counter.value < writes for counter in counters.values()):
        time.sleep(0.02)
        begun = begun or (time.monotonic() if all(counter.value for counter in counters.values()) else 0.0)
    done.set()
    found = [pipe.recv() for pipe, _ in pipes]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
    return sum(reads for reads, _ in found), [line for _, wrong in found for line in wrong]


def test_strict_readers_see_what_was_committed_before_they_began(url: str) -> None:
    reads, wrong = run(url, readers=3, writers=2, writes=8)
    assert wrong == []
    assert reads > 20


@pytest.mark.slow
def test_eight_readers_and_two_writers_for_a_minute(url: str) -> None:
    reads, wrong = run(url, readers=8, writers=2, writes=100, seconds=60)
    assert wrong == []
    assert reads > 1_000
