"""Two writers that are each valid never make an invalid live fold, whichever of them comes first.

The first is stopped when it has judged and holds its locks; the second comes then, in a transaction of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from postgres import plain
from samples import patch, prompt
from sqlalchemy import make_url
from workers import ALL, note, toneless

import ovstore
from ovstore import Store, lifecycle

KEY = "semantic.note"
BY = {"actor": "ann", **ALL}
Write = Callable[[Store], Any]
Lower = Callable[[Store, str], Any]


@dataclass(frozen=True)
class Pair:
    """Two writes that do not fit together: one below, which may freeze what is above it, and one above."""

    prepare: Write
    lower: Lower
    upper: Write


def publish(source: str, tenant: str | None = None, **more: Any) -> Write:
    return lambda store: store.publish(source, tenant=tenant, **BY, **more)


def each(*writes: Write) -> Write:
    return lambda store: [write(store) for write in writes]


def lower(source: str, tenant: str | None = None) -> Lower:
    return lambda store, dependents: store.publish(source, tenant=tenant, dependents=dependents, **BY)


def whole(tenant: str | None = None) -> Write:
    return publish(note("whole", tone=True), tenant)


def patched(tenant: str) -> Write:
    return publish(toneless(f"mine of {tenant}"), tenant)


without = note("without", tone=False)
part = prompt("shared.tone", template="kind", variables=[])
user = prompt(KEY, template='{% include "shared.tone" %} {{ q }}')

PAIRS: dict[str, Pair] = {
    "global changes, a newborn tenant patches": Pair(whole(), lower(without), patched("newborn")),
    "global changes, a workspace of a newborn tenant patches": Pair(whole(), lower(without), patched("newborn/desk")),
    "global changes, a tenant patches again": Pair(
        each(whole(), publish(patch(KEY, llm_config={"top_p": 1}), "acme")), lower(without), patched("acme")
    ),
    "a tenant changes, its workspace patches": Pair(whole("acme"), lower(without, "acme"), patched("acme/desk")),
    "a tenant is born with a document, its workspace patches global's": Pair(
        whole(), lower(without, "newborn"), patched("newborn/desk")
    ),
    "global withdraws, a tenant patches": Pair(
        whole(), lambda store, dependents: store.withdraw(KEY, dependents=dependents, **BY), patched("acme")
    ),
    "global rolls back, a tenant patches": Pair(
        each(publish(without), whole()),
        lambda store, dependents: store.rollback(KEY, dependents=dependents, **BY),
        patched("acme"),
    ),
    "global activates, a tenant patches": Pair(
        each(whole(), publish(without, live=False)),
        lambda store, dependents: store.activate(KEY, 2, dependents=dependents, **BY),
        patched("acme"),
    ),
    "global is put back, a tenant patches": Pair(
        each(publish(without), whole()),
        lambda store, dependents: store.rollback_tenant(
            None, to=store.history(KEY)[-1].at, dependents=dependents, **BY
        ),
        patched("acme"),
    ),
    "global changes, a tenant activates a patch": Pair(
        each(whole(), publish(toneless("draft"), "acme", live=False)),
        lower(without),
        lambda store: store.activate(KEY, 1, tenant="acme", **BY),
    ),
    "global changes, a tenant rolls back to a patch": Pair(
        each(whole(), patched("acme"), publish(note("own", tone=True), "acme")),
        lower(without),
        lambda store: store.rollback(KEY, tenant="acme", **BY),
    ),
    "global changes, a tenant is put back to a patch": Pair(
        each(whole(), patched("acme"), publish(note("own", tone=True), "acme")),
        lower(without),
        lambda store: store.rollback_tenant("acme", to=store.history(KEY, tenant="acme")[1].at, **BY),
    ),
    "global withdraws a part, a tenant uses it": Pair(
        publish(part),
        lambda store, dependents: store.withdraw("shared.tone", dependents=dependents, **BY),
        publish(user, "acme"),
    ),
    "a tenant withdraws a part, its workspace uses it": Pair(
        publish(part, "acme"),
        lambda store, dependents: store.withdraw("shared.tone", tenant="acme", dependents=dependents, **BY),
        publish(user, "acme/desk"),
    ),
    "seed changes, a tenant patches": Pair(
        lambda store: store.seed.publish(note("seed", tone=True), **BY),
        lambda store, dependents: store.seed.publish(without, dependents=dependents, **BY),
        patched("acme"),
    ),
    "seed changes, global patches": Pair(
        lambda store: store.seed.publish(note("seed", tone=True), **BY),
        lambda store, dependents: store.seed.publish(without, dependents=dependents, **BY),
        publish(toneless("mine")),
    ),
}
REFUSED_ABOVE = (ovstore.InvalidDocumentError, ovstore.ContractError)


@pytest.fixture
def stores(url: str) -> Iterator[tuple[Store, Store]]:
    with ovstore.open(url) as one, ovstore.open(url) as two:
        yield one, two
        assert one.verify() == ()
        for tenant in (None, *(tenant.name for tenant in one.tenants())):
            for listing in one.templates(tenant=tenant):
                one.render(listing.key, {"q": "x"}, tenant=tenant)


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest, stores: tuple[Store, Store]) -> Pair:
    found = PAIRS[request.param]
    found.prepare(stores[0])
    return found


def together(
    monkeypatch: pytest.MonkeyPatch, url: str, stores: tuple[Store, Store], first: Write, second: Write
) -> tuple[Future[Any], Future[Any]]:
    """Do both writes, the second from when the first has judged and before it writes."""
    judged, go_on = threading.Event(), threading.Event()
    judge = lifecycle.judge

    def judge_and_wait(*arguments: Any, **more: Any) -> Any:
        found = judge(*arguments, **more)
        if threading.current_thread().name.startswith("first"):
            judged.set()
            assert go_on.wait(60)
        return found

    monkeypatch.setattr(lifecycle, "judge", judge_and_wait)
    with ThreadPoolExecutor(1, "first") as one, ThreadPoolExecutor(1, "second") as two:
        try:
            done = one.submit(first, stores[0])
            while not judged.wait(0.05):
                assert not done.done(), done.exception()
            waiting = two.submit(second, stores[1])
            until_it_waits(url, waiting)
            assert not waiting.done(), waiting.exception()
        finally:
            go_on.set()
    return done, waiting


def until_it_waits(url: str, writing: Future[Any]) -> None:
    """Return when a transaction waits for a lock; on SQLite nobody can see that, so a while has to do."""
    target = make_url(url)
    if target.get_backend_name() == "sqlite":
        time.sleep(0.2)
        return
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(plain(target), autocommit=True) as connection:
        while not writing.done() and not connection.execute(waiting).fetchone()[0]:
            time.sleep(0.005)


def test_the_write_below_comes_first_and_the_one_above_is_refused(
    pair: Pair, stores: tuple[Store, Store], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, waiting = together(monkeypatch, url, stores, lambda store: pair.lower(store, "refuse"), pair.upper)
    assert done.exception() is None
    assert isinstance(waiting.exception(), REFUSED_ABOVE)


def test_the_write_above_comes_first_and_the_one_below_is_refused(
    pair: Pair, stores: tuple[Store, Store], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, waiting = together(monkeypatch, url, stores, pair.upper, lambda store: pair.lower(store, "refuse"))
    assert done.exception() is None
    assert isinstance(waiting.exception(), ovstore.ContractError)


def test_the_write_above_comes_first_and_the_one_below_freezes_it(
    pair: Pair, stores: tuple[Store, Store], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, waiting = together(monkeypatch, url, stores, pair.upper, lambda store: pair.lower(store, "freeze"))
    assert (done.exception(), waiting.exception()) == (None, None)
    assert next(iter(stores[0].audit(action="freeze"))).actor == "ann"


def test_a_tenant_that_publishes_while_global_freezes_it_keeps_its_own(
    stores: tuple[Store, Store], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    each(whole(), patched("acme"))(stores[0])
    own = publish(note("own", tone=False), "acme")
    done, waiting = together(monkeypatch, url, stores, lambda store: lower(without)(store, "freeze"), own)
    assert done.result().version == 2
    assert waiting.result().version == 3
    assert [entry.action for entry in stores[0].audit(tenant="acme")] == ["publish", "freeze", "publish"]


def test_a_tenant_that_published_whole_in_time_is_not_frozen(
    stores: tuple[Store, Store], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    each(whole(), patched("acme"))(stores[0])
    own = publish(note("own", tone=False), "acme")
    done, waiting = together(monkeypatch, url, stores, own, lambda store: lower(without)(store, "freeze"))
    assert (done.result().version, waiting.result().version) == (2, 2)
    assert list(stores[0].audit(action="freeze")) == []


@pytest.mark.parametrize("second", ["globex", "newborn", "newborn/desk"])
def test_tenants_do_not_wait_for_each_other(second: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ovstore.open(postgres_url) as one, ovstore.open(postgres_url) as two:
        whole()(one)
        judged, go_on = threading.Event(), threading.Event()
        judge = lifecycle.judge

        def judge_and_wait(*arguments: Any, **more: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                judged.set()
                assert go_on.wait(60)
            return judge(*arguments, **more)

        monkeypatch.setattr(lifecycle, "judge", judge_and_wait)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(patched("acme"), one)
            assert judged.wait(60)
            assert patched(second)(two).version == 1
            assert not waiting.done()
            go_on.set()
        assert waiting.result().version == 1
