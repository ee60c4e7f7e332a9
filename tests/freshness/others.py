"""Other processes with stores of their own on the same database, told over a pipe what to do.

They come from a fork server that has imported ovstore and holds no store.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from samples import patch, prompt

import ovstore
from ovstore import Store

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["ovstore.store", "samples", "others"])
KEY = "semantic.note"
BOLD = {"actor": "bob", "reason": "r", "accept_risk": "very_high"}


class Other:
    """A store in another process: `other.publish(...)` does it there and returns, or raises, what it did here."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def __getattr__(self, verb: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._pipe.send((verb, args, kwargs))
            answer = self._pipe.recv()
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


@contextlib.contextmanager
def other(url: str, **options: Any) -> Iterator[Other]:
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_serve, args=(url, options, there), daemon=True)
    process.start()
    there.close()
    try:
        yield Other(here)
    finally:
        here.close()
        process.join(30)


def _serve(url: str, options: dict[str, Any], pipe: Connection) -> None:
    with ovstore.open(url, **options) as store:
        while True:
            try:
                verb, args, kwargs = pipe.recv()
            except EOFError:
                return
            try:
                pipe.send(getattr(store, verb)(*args, **kwargs))
            except ovstore.OvstoreError as error:
                pipe.send(error)


def text(store: Store | Other, tenant: str | None = None, **asked: Any) -> str:
    rendered: str = store.render(KEY, {"q": "?"}, tenant=tenant, **asked).text
    return rendered


def says(word: str, key: str = KEY) -> str:
    """A prompt that renders to the word and what it was asked."""
    return prompt(key, template=word + "{{ q }}")


def count_up(url: str, tenant: str, committed: Any, done: Any) -> None:
    """Publish 1, 2, 3 … in global and after each the same number in a tenant; say after each which is committed."""
    key = f"{KEY}-{tenant}"
    with ovstore.open(url) as store:
        n = 0
        while not done.is_set():
            n += 1
            store.publish(prompt(key, template=f"{n} {{{{ q }}}}"), **BOLD)
            store.publish(patch(key, llm_config={"n": n}), tenant=tenant, **BOLD)
            committed.value = n


def read_along(url: str, counters: dict[str, Any], done: Any, tell: Connection, **options: Any) -> None:
    """Read what the counters publish; tell how many reads there were, and which of them were wrong."""
    reads, wrong = 0, []
    with ovstore.open(url, **options) as store:
        while not done.is_set():
            for tenant, committed in counters.items():
                least = committed.value
                if not least:
                    continue
                found = store.render(f"{KEY}-{tenant}", {"q": "?"}, tenant=tenant)
                text, config = int(found.text.split()[0]), found.llm_config["n"]
                reads += 1
                # The tenant's patch comes after the text it belongs to: ahead of it, the two were never true together.
                if text < least or config < least or config > text:
                    wrong.append(f"{tenant}: text {text}, patch {config}, though {least} was committed before")
    tell.send((reads, wrong[:5]))
