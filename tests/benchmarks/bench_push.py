"""How soon a reader in another process has the new text, and that readers never have an old one.

From the moment just before the publisher sends its COMMIT, to the moment at which a reader, who asks again and again
with a pause of a fifth of a millisecond, was given the new text; both by the system's monotonic clock.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

import sqlalchemy as sa
from measuring import BOLD, Home, Row, quantile, source
from others import CONTEXT
from test_readers_and_writers import run

import ovstore

KEY = "bench.pushed"


def rows(home: Home, url: str, publishes: int, seconds: float) -> Iterator[Row]:
    taken = latencies(url, publishes)
    limit = 50e-3 if home.name == "PostgreSQL" else None
    how = "push" if limit else "strict"
    what = f"commit to reader elsewhere, {home.name} {how}, p99 of {publishes}"
    yield Row(what, quantile(taken, 0.99), {"p50": statistics.median(taken)}, "50 ms" if limit else "", limit)
    reads, wrong = run(url, readers=8, writers=2, writes=1, seconds=seconds)
    what = f"stale reads, 8 readers, 2 writers, processes, {seconds:.0f} s"
    yield Row(what, len(wrong), {"of all reads:": reads}, "0", 0, unit="")


def latencies(url: str, publishes: int) -> list[float]:
    pipe, theirs = CONTEXT.Pipe(duplex=False)
    seen: dict[int, float] = {}
    with ovstore.open(url, freshness="push") as store:
        store.publish(source(KEY, "0 {{ a }}", {"a": ""}), **BOLD)
        publisher = CONTEXT.Process(target=publish, args=(url, publishes, theirs))
        publisher.start()
        while publishes not in seen:
            number = int(store.render(KEY, {"a": ""}, tenant="t5").text.split()[0])
            seen.setdefault(number, time.monotonic())
            time.sleep(0.0002)
        committed: dict[int, float] = pipe.recv()
        publisher.join()
    # One that was replaced before the reader asked again is seen with the next.
    return [min(when for later, when in seen.items() if later >= number) - at for number, at in committed.items()]


def publish(url: str, publishes: int, tell: Connection) -> None:
    committed: dict[int, float] = {}
    number = 0
    with ovstore.open(url) as store:

        @sa.event.listens_for(sa.Engine, "commit")
        def about_to_commit(_: sa.Connection) -> None:
            committed[number] = time.monotonic()

        for number in range(1, publishes + 1):
            store.publish(source(KEY, f"{number} {{{{ a }}}}", {"a": ""}), **BOLD)
            time.sleep(random.uniform(0.005, 0.02))
    tell.send(committed)
