"""Writers that are killed at any moment: what is there is whole, and a retry of the same change set is applied once."""

from __future__ import annotations

import itertools
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
import workers

import ovstore
from ovstore import Store
from ovstore.results import Move, Published

KILLS = 20
ENTRIES = {"freeze": 3}
"""A write that freezes two overrides has three entries, the others one."""


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with ovstore.open(url) as opened:
        yield opened


def killed(url: str, name: str, after: float) -> tuple[list[Published | Move], workers.Try | None]:
    """Let a process write for some seconds and kill it; return what it was told and the write that it was at."""
    told, tell = workers.CONTEXT.Pipe(duplex=False)
    process = workers.CONTEXT.Process(target=workers.write_until_killed, args=(url, name, tell))
    process.start()
    tell.close()
    answers: list[Published | Move] = []
    tried: workers.Try | None = None
    timer = threading.Timer(after, process.kill)
    try:
        while True:
            what, message = told.recv()
            if not timer.is_alive() and not timer.finished.is_set():
                timer.start()
            tried = message if what == "try" else None
            answers += [message] if what == "done" else []
    except EOFError:
        process.join()
    assert process.exitcode == -signal.SIGKILL
    return answers, tried


def assert_whole(store: Store, answers: Sequence[Published | Move]) -> None:
    """The log is whole, change sets are in it with all their entries, and those that were answered are in it."""
    assert store.verify() == ()
    entries = Counter(entry.change_set for entry in store.audit())
    assert {name: count for name, count in entries.items() if count != ENTRIES.get(name.split("-")[-1], 1)} == {}
    assert {answer.change_set for answer in answers} <= entries.keys()


def assert_a_retry_is_applied_once(store: Store, tried: workers.Try) -> None:
    answer = workers.write(store, tried)
    entries = len(list(store.audit()))
    assert workers.write(store, tried) == answer
    assert len(list(store.audit())) == entries
    if isinstance(answer, Published):
        sources = [v.source.decode() for v in store.versions("semantic.note", tenant=tried[2])]
        assert sources.count(tried[3]) == 1


def test_a_writer_killed_at_any_moment_leaves_what_is_whole_and_can_be_retried(store: Store, url: str) -> None:
    done = 0
    for n in range(KILLS):
        answers, tried = killed(url, f"w{n}", random.uniform(0, 0.4))
        assert_whole(store, answers)
        if tried is not None:
            assert_a_retry_is_applied_once(store, tried)
        assert_whole(store, answers)
        done += len(answers)
    assert done > 0
    numbers = [version.number for version in store.versions("semantic.note")]
    assert numbers == list(range(len(numbers), 0, -1))


def test_a_writer_killed_before_any_of_its_statements_has_written_nothing(store: Store, url: str) -> None:
    *first, freeze, _ = itertools.islice(workers.rounds("w"), 5)
    for tried in first:
        workers.write(store, tried)
    heads = store.heads()
    for number in itertools.count(1):
        process = workers.CONTEXT.Process(target=workers.write_and_die, args=(url, freeze, number))
        process.start()
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        assert (store.verify(), store.heads()) == ((), heads)
    assert number > 15
    assert_whole(store, ())
    assert len(list(store.audit(action="freeze"))) == 2
    assert_a_retry_is_applied_once(store, freeze)
