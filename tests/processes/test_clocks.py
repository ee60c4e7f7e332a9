"""No answer by revision ever changes: not with readers between an entry's time and its commit, nor with wrong clocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import replays
import workers
from folders import write
from samples import patch, prompt

import ovstore
from ovstore import Store
from ovstore.db import write as db_write

KEY = "semantic.note"


@pytest.mark.parametrize("writes_to", [None, "acme", "acme/desk"])
def test_what_a_reader_was_told_between_an_entrys_time_and_its_commit_stays(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch, writes_to: str | None
) -> None:
    for tenant in (None, "acme", "acme/desk"):
        source = prompt() if tenant is None else patch(KEY, template=f"old {tenant} {{{{ q }}}}")
        store.publish(source, tenant=tenant, actor="ann")
    written, go_on = threading.Event(), threading.Event()
    append = db_write.append

    def append_and_wait(*arguments: Any) -> None:
        append(*arguments)
        written.set()
        assert go_on.wait(60)

    monkeypatch.setattr(db_write, "append", append_and_wait)
    source = prompt(template="new {{ q }}") if writes_to is None else patch(KEY, template="new {{ q }}")
    with ovstore.open(url) as other, ThreadPoolExecutor(1) as pool:
        writing = pool.submit(other.publish, source, tenant=writes_to, actor="bob")
        while not written.wait(0.05):
            assert not writing.done(), writing.exception()
        during = told(store, at=None)
        asked = datetime.now(UTC)
        by_time = told(store, at=asked)
        assert not writing.done()
        go_on.set()
    assert by_time == during
    assert next(store.audit()).at < asked
    for tenant, (revision, template) in during.items():
        assert told(store, at=revision, tenants=(tenant,)) == {tenant: (revision, template)}
    assert told(store, at=None)[writes_to] != during[writes_to]


def told(
    store: Store, at: object, tenants: tuple[str | None, ...] = (None, "acme", "acme/desk")
) -> Mapping[str | None, tuple[str, str]]:
    answers = {tenant: store.resolve(KEY, tenant=tenant, at=at) for tenant in tenants}
    return {tenant: (answer.revision, answer.document["template"]) for tenant, answer in answers.items()}


def test_no_answer_by_revision_changes_when_clocks_are_hours_apart(store: Store, url: str) -> None:
    store.seed.publish(prompt(), actor="pkg")
    scopes = (None, "acme", "acme/desk")
    apart = (0, -7200, 3600, -0.001)
    calls = [
        (workers.walk_by_another_clock, seconds, url, f"p{n}", 40, (KEY,), scopes) for n, seconds in enumerate(apart)
    ]
    done = workers.together(calls)
    replays.assert_each_answer_was_committed(store, done)
    for scope in scopes:
        times = [entry.at for entry in store.audit(tenant=scope)]
        assert times == sorted(set(times), reverse=True)


def test_a_clock_that_stands_still_gives_each_write_a_time_of_its_own(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)
    told_then: dict[str, tuple[str, str]] = {}
    for n in range(5):
        tenant = (None, "acme")[n % 2]
        source = patch(KEY, template=f"{n} {{{{ q }}}}") if tenant else prompt(template=f"{n} {{{{ q }}}}")
        store.publish(source, tenant=tenant, actor="ann")
        told_then |= dict([told(store, at=None, tenants=("acme",))["acme"]])
    times = [entry.at for entry in store.audit()]
    assert len(set(times)) == len(times) == 5
    for revision, template in told_then.items():
        assert told(store, at=revision, tenants=("acme",)) == {"acme": (revision, template)}


def test_a_time_has_all_of_a_change_set_or_nothing_of_it(store: Store, tmp_path: Path) -> None:
    keys = [f"semantic.note{n}" for n in range(4)]
    for text in ("old", "new"):
        folder = write(tmp_path / text, {f"{key}.yaml": prompt(key, template=f"{text} {{{{ q }}}}") for key in keys})
        store.apply(store.plan_import(folder), actor="ann")
    (at,) = {entry.at for entry in store.audit(key=keys[0], since=store.history(keys[0])[0].at)}
    assert {entry.at for entry in store.history(keys[3])[:1]} == {at}
    assert templates(store, at) == {"new {{ q }}"}
    assert templates(store, at - timedelta(microseconds=1)) == {"old {{ q }}"}


def templates(store: Store, at: datetime) -> set[str]:
    return {answer.document["template"] for answer in store.resolve_many(at=at).values()}
