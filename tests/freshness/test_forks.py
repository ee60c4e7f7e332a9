"""A fork after open: parent and child go on by themselves, with what was known before, and see each other's writes."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from others import BOLD, KEY, says, text

import ovstore
from ovstore import Store


def forked(call: Callable[[], Any]) -> Callable[[], str]:
    """Fork and call there; return what waits for what the child got. It leaves without closing anything."""
    reads, writes = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 and later warn of threads; whether a fork beside them is safe is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            found = str(call())
        except BaseException as error:
            found = repr(error)
        os.write(writes, found.encode())
        os._exit(0)
    os.close(writes)

    def wait() -> str:
        with os.fdopen(reads) as told:
            answer = told.read()
        os.waitpid(child, 0)
        return answer

    return wait


def in_a_child(call: Callable[[], Any]) -> str:
    return forked(call)()


@pytest.mark.parametrize("freshness", ["strict", 1e-6])
def test_parent_and_child_see_each_others_writes(url: str, freshness: Any) -> None:
    with ovstore.open(url, freshness=freshness) as store:
        store.publish(says("old "), actor="ann")
        assert text(store) == "old ?"

        def child() -> str:
            before = text(store)
            store.publish(says("child "), **BOLD)
            return before + text(store) + text(store, "acme")

        assert in_a_child(child) == "old ?child ?child ?"
        assert text(store) == "child ?"
        store.publish(says("parent "), **BOLD)
        assert in_a_child(lambda: text(store)) == "parent ?"
        assert in_a_child(lambda: [text(store) for _ in range(3)]) == str(["parent ?"] * 3)


def test_parent_and_child_read_at_once_and_each_gets_its_own(store: Store) -> None:
    for tenant in ("parent", "child"):
        store.publish(says(f"{tenant} "), tenant=tenant, **BOLD)
        text(store, tenant)
    child = forked(lambda: {text(store, "child") for _ in range(300)})
    assert {text(store, "parent") for _ in range(300)} == {"parent ?"}
    assert child() == str({"child ?"})


def test_a_fork_beside_other_threads_reads_and_writes(store: Store) -> None:
    """They rest while it is made: SQLite has locks of its own, which a child of a fork inside it would wait for."""
    store.publish(says("0 "), actor="ann")
    done, resting = threading.Event(), threading.Lock()

    def work(tenant: str) -> None:
        n = 0
        while not done.is_set():
            with resting:
                store.publish(says(f"{tenant} {n} "), tenant=tenant, **BOLD)
                assert text(store, tenant) == f"{tenant} {n} ?"
            n += 1

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    try:
        for n in range(8):
            with resting:
                child = forked(lambda n=n: text(store, f"d{n}"))
            assert child() == "0 ?"
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_a_database_in_memory_is_the_childs_own_copy() -> None:
    with ovstore.open("sqlite://", create=True) as store:
        store.publish(says("old "), actor="ann")

        def child() -> str:
            store.publish(says("child "), **BOLD)
            return text(store)

        assert in_a_child(child) == "child ?"
        assert text(store) == "old ?"
        assert store.resolve(KEY).version == 1
