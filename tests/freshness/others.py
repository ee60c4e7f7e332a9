"""Other processes with stores of their own on the same database, told over a pipe what to do.

They come from a fork server that has imported ovstore and holds no store.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from samples import prompt

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
