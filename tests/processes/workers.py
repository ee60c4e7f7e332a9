"""What the tests of many processes run in each of them, and how they start them.

Children come from a fork server that has imported ovstore and holds no store, so that none inherits a connection and
starting one costs milliseconds. Functions that run there stand here by name; what they return must be picklable.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import sqlalchemy
from samples import patch, prompt

import ovstore
from ovstore import Store, names
from ovstore.results import Move, Published, Resolved

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["ovstore.store", "samples"])
ALL = {"reason": "r", "accept_risk": "very_high"}


def together(calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run calls (a function of this module and its arguments) at once, a process each; return what each returned."""
    with running(calls) as returned:
        pass
    return returned


@contextlib.contextmanager
def running(calls: Sequence[tuple[Any, ...]]) -> Iterator[list[Any]]:
    """Run calls beside what is done in the context; at its end the list has what each returned."""
    returned: list[Any] = []
    begin = time.time() + 0.5
    with ProcessPoolExecutor(len(calls), mp_context=CONTEXT) as pool:
        futures = [pool.submit(at, begin, *call) for call in calls]
        yield returned
        returned += [future.result(timeout=240) for future in futures]


def at(begin: float, function: Callable[..., Any], *arguments: Any) -> Any:
    time.sleep(max(0.0, begin - time.time()))
    return function(*arguments)


def publish_each(url: str, tenant: str | None, sources: Sequence[str], actor: str) -> list[int]:
    """Publish some sources one after the other; return the numbers that they got."""
    with ovstore.open(url) as store:
        return [store.publish(source, tenant=tenant, actor=actor).version for source in sources]


def resolve_until(url: str, key: str, number: int) -> list[int]:
    """Resolve a key again and again until a version is served; return the versions that were seen, in order."""
    seen: list[int] = []
    end = time.monotonic() + 120
    with ovstore.open(url) as store:
        while (not seen or seen[-1] < number) and time.monotonic() < end:
            seen.append(store.resolve(key).version)
            time.sleep(0.002)
    return seen


def create(url: str) -> tuple[int, str]:
    """Open a database that may be empty, and say what is in it."""
    with ovstore.open(url, create=True) as store:
        return len(store.seed.templates()), store.heads()["seed"]


@dataclass
class Walked:
    """What one process did and was told: sources it added by place, label moves, and answers."""

    added: dict[tuple[str, str, int], str] = field(default_factory=dict)
    moves: int = 0
    answers: set[Answer] = field(default_factory=set)
    calls: int = 0


class Answer(NamedTuple):
    """What a scope was told of a key, at which revision: the versions that took part, nearest first, and the hash."""

    scope: str
    key: str
    revision: str
    versions: tuple[tuple[str, int | None], ...]
    document_hash: str

    @classmethod
    def of(cls, scope: str, resolved: Resolved) -> Answer:
        versions = tuple((layer.scope, layer.version) for layer in resolved.provenance.layers if layer.answered)
        return cls(scope, resolved.key, resolved.revision, versions, resolved.document_hash)


def walk(url: str, name: str, calls: int, keys: Sequence[str], tenants: Sequence[str | None]) -> Walked:
    """Publish, roll back, withdraw and resolve at random; only a rollback with nothing left to undo may be refused."""
    dice = random.Random(name)
    done = Walked()
    with ovstore.open(url) as store:
        for n in range(calls):
            key, tenant = dice.choice(keys), dice.choice(tenants)
            dice.choices((_publish, _rollback, _withdraw, _ask, _ask_many), (5, 2, 1, 6, 1))[0](
                store, done, f"{name} {n}", key, tenant
            )
            done.calls += 1
    return done


def walk_by_another_clock(seconds: float, *arguments: Any) -> Walked:
    """Walk with a clock that is so many seconds away from the others'."""
    real = time.time_ns
    time.time_ns = lambda: real() + int(seconds * 1e9)
    return walk(*arguments)


def _publish(store: Store, done: Walked, name: str, key: str, tenant: str | None) -> None:
    template = f"{name} {{{{ q }}}}"
    source = prompt(key, template=template) if tenant is None else patch(key, template=template)
    published = store.publish(source, tenant=tenant, actor=name, **ALL)
    done.added[published.scope, key, published.version] = source
    done.moves += 1


def _rollback(store: Store, done: Walked, name: str, key: str, tenant: str | None) -> None:
    try:
        store.rollback(key, tenant=tenant, actor=name, **ALL)
    except ovstore.ConflictError:
        return
    done.moves += 1


def _withdraw(store: Store, done: Walked, name: str, key: str, tenant: str | None) -> None:
    move = store.withdraw(key, tenant=tenant, actor=name, **ALL)
    done.moves += move.before is not None


def _ask(store: Store, done: Walked, _: str, key: str, tenant: str | None) -> None:
    done.answers.add(Answer.of(names.scope_of(tenant), store.resolve(key, tenant=tenant)))


def _ask_many(store: Store, done: Walked, _: str, key: str, tenant: str | None) -> None:
    done.answers.update(
        Answer.of(names.scope_of(tenant), found) for found in store.resolve_many(tenant=tenant).values()
    )


def note(text: str, tone: bool) -> str:
    variables = ["q", {"name": "tone", "type": "string", "description": "t", "required": False}]
    return prompt(template=f"{text} {{{{ q }}}}", variables=variables if tone else ["q"])


def toneless(text: str) -> str:
    """A patch that folds only on a document that declares `tone`."""
    removed = [{"name": "tone", "$remove": True}]
    return patch("semantic.note", template=f"{text} {{{{ q }}}}", variables=removed)


Try = tuple[str, str, str | None, str]
"""A write before it is tried: its change set, its verb, its tenant, and the source or the key."""


def rounds(name: str) -> Iterator[Try]:
    """Writes without end: every fourth is of three scopes at once, since it freezes two tenants' overrides."""
    for n in itertools.count():
        yield f"{name}-{n}-open", "publish", None, note(f"{name} {n} open", tone=True)
        yield f"{name}-{n}-acme", "publish", "acme", toneless(f"{name} {n} acme")
        yield f"{name}-{n}-globex", "publish", "globex", toneless(f"{name} {n} globex")
        yield f"{name}-{n}-freeze", "publish", None, note(f"{name} {n} freeze", tone=False)
        yield f"{name}-{n}-back", "rollback", None, "semantic.note"


def write(store: Store, tried: Try) -> Published | Move:
    change_set, verb, tenant, what = tried
    given: dict[str, Any] = {"tenant": tenant, "actor": "w", "change_set": change_set, "dependents": "freeze", **ALL}
    return store.publish(what, **given) if verb == "publish" else store.rollback(what, **given)


def write_until_killed(url: str, name: str, tell: Connection) -> None:
    """Write for ever, and tell of each write before it is tried and when it is done."""
    with ovstore.open(url) as store:
        for tried in rounds(name):
            tell.send(("try", tried))
            tell.send(("done", write(store, tried)))


def write_and_die(url: str, tried: Try, at: int) -> None:
    """Write, and be killed before the statement of that number; the commit counts as one."""
    numbers = itertools.count(1)

    def die(*_: object) -> None:
        if next(numbers) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    with ovstore.open(url) as store:
        sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", die)
        sqlalchemy.event.listen(sqlalchemy.Engine, "commit", die)
        write(store, tried)


def insist(url: str, tenant: str, count: int) -> int:
    """Write a number of change sets, each again and again until it is answered; return how often that was needed."""
    again = 0
    with ovstore.open(url) as store:
        for n in range(1, count + 1):
            tried = f"{tenant}-{n}", "publish", tenant, note(f"{tenant} {n}", tone=True)
            while True:
                try:
                    answer = write(store, tried)
                except ovstore.DatabaseError:
                    again += 1
                else:
                    assert isinstance(answer, Published) and answer.version == n
                    break
    return again


SCOPES = (None, "acme", "globex", "acme/desk", "acme/bench", "globex/desk", "newborn/desk")


def quarrel(url: str, name: str, calls: int) -> tuple[int, int]:
    """Write at random what may not fit together, in every layer, and read what everyone gets, which must always fold.

    Return how many writes were done and how many refused.
    """
    dice = random.Random(name)
    done = refused = 0
    with ovstore.open(url) as store:
        began = datetime.now(UTC)
        for n in range(calls):
            text, tenant = f"{name} {n}", dice.choice(SCOPES)
            by: dict[str, Any] = {"actor": name, "dependents": dice.choice(["refuse", "freeze", "freeze"]), **ALL}
            whole = note(text, tone=dice.random() < 0.6)
            tuned = patch("semantic.note", llm_config={"n": n})
            source = whole if tenant is None or dice.random() < 0.2 else dice.choice([toneless(text), tuned])
            verbs: list[Callable[[], object]] = [
                lambda source=source, tenant=tenant, by=by: store.publish(source, tenant=tenant, **by),
                lambda source=source, tenant=tenant, by=by: store.publish(source, tenant=tenant, **by),
                lambda tenant=tenant, by=by: store.rollback("semantic.note", tenant=tenant, **by),
                lambda tenant=tenant, by=by: store.withdraw("semantic.note", tenant=tenant, **by),
                lambda tenant=tenant, by=by: store.rollback_tenant(
                    tenant, to=dice.choice([began, datetime.now(UTC)]), workspaces=tenant is not None, **by
                ),
            ]
            try:
                dice.choice(verbs)()
                done += 1
            except (ovstore.ContractError, ovstore.InvalidDocumentError, ovstore.ConflictError):
                refused += 1
            for asked in dice.sample(SCOPES, 2):
                store.resolve("semantic.note", tenant=asked)
    return done, refused
