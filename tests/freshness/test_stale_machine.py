"""A random walk of writes here, in another store and in another process, with reads here that are never wrong.

What is right is what a resolver says that knows nothing yet, of the same database at the same moment.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from others import BOLD, Other, other
from samples import patch, prompt

import ovstore
from ovstore import Store
from ovstore.db.direct import Direct
from ovstore.freshness import Strict
from ovstore.rendering import RenderLimits
from ovstore.resolver import Resolver
from ovstore.view import View

HEARTBEAT = 2.0
COUNT = itertools.count()
TONE = "shared.tone"
scopes = st.sampled_from([None, "acme", "acme/desk", "beta", "seed"])
keys = st.sampled_from([TONE, "semantic.note", "semantic.other"])
labels = st.sampled_from(["live", "live", "staging"])
words = st.sampled_from(["one", "two", "three"])
writers = st.sampled_from(["here", "beside", "elsewhere"])


class Walk(RuleBasedStateMachine):
    def __init__(self, here: Store, beside: Store, elsewhere: Other) -> None:
        super().__init__()
        # Each walk has names of its own, so that it does not depend on those before it.
        self.number = next(COUNT)
        self.here = here
        self.writers: dict[str, Any] = {"here": here, "beside": beside, "elsewhere": elsewhere}
        self.oracle = beside._database

    def write(self, writer: str, verb: str, scope: str | None, *args: Any, **kwargs: Any) -> None:
        store = self.writers[writer]
        if scope == "seed":
            # The seed layer is written through its view, which another process cannot be asked for.
            target, told = self.here.seed if writer == "elsewhere" else store.seed, {}
        else:
            target, told = store, {"tenant": self.tenant(scope)}
        # A move that is refused changes nothing, which is to be seen too.
        with contextlib.suppress(
            ovstore.ContractError, ovstore.ConflictError, ovstore.NotFoundError, ovstore.InvalidDocumentError
        ):
            getattr(target, verb)(*args, **told, **BOLD, **kwargs)

    @rule(writer=writers, scope=scopes, key=keys, word=words, part=st.booleans(), live=st.booleans())
    def publish(self, writer: str, scope: str | None, key: str, word: str, part: bool, live: bool) -> None:
        tone = f" {{% include '{self.key(TONE)}' %}}" if part and key != TONE else ""
        self.write(writer, "publish", scope, prompt(self.key(key), template=f"{word} {{{{ q }}}}{tone}"), live=live)

    @rule(writer=writers, scope=scopes, key=keys, word=words | st.none(), heat=st.integers(0, 2))
    def publish_patch(self, writer: str, scope: str | None, key: str, word: str | None, heat: int) -> None:
        changes: dict[str, Any] = {"llm_config": {"temperature": heat}}
        if word is not None:
            changes["template"] = f"{word} {{{{ q }}}}"
        self.write(writer, "publish", scope, patch(self.key(key), **changes), dependents="freeze")

    @rule(writer=writers, scope=scopes, key=keys, label=labels, number=st.integers(1, 3))
    def activate(self, writer: str, scope: str | None, key: str, label: str, number: int) -> None:
        self.write(writer, "activate", scope, self.key(key), number, label=self.label(label))

    @rule(writer=writers, scope=scopes, key=keys, label=labels)
    def rollback(self, writer: str, scope: str | None, key: str, label: str) -> None:
        self.write(writer, "rollback", scope, self.key(key), label=self.label(label))

    @rule(writer=writers, scope=scopes, key=keys, label=labels)
    def withdraw(self, writer: str, scope: str | None, key: str, label: str) -> None:
        self.write(writer, "withdraw", scope, self.key(key), label=self.label(label))

    @rule(scope=scopes, key=keys, label=labels)
    def resolve(self, scope: str | None, key: str, label: str) -> None:
        self.compare(scope, lambda view: resolved(view, self.key(key), self.label(label)))

    @rule(scope=scopes, key=keys, label=labels)
    def render(self, scope: str | None, key: str, label: str) -> None:
        self.compare(scope, lambda view: rendered(view, self.key(key), self.label(label)))

    @rule(scope=scopes, some=st.none() | st.lists(keys, min_size=1, unique=True), label=labels)
    def resolve_many(self, scope: str | None, some: list[str] | None, label: str) -> None:
        asked = None if some is None else [self.key(key) for key in some]
        self.compare(scope, lambda view: many(view, asked, self.label(label)))

    def compare(self, scope: str | None, ask: Any) -> None:
        asked = "seed" if scope == "seed" else self.tenant(scope) or "global"
        end = time.monotonic() + HEARTBEAT
        while True:
            given = ask(View(self.here._resolver, asked))
            expected = ask(View(self.blank(), asked))
            # What push may serve for a moment is old; it may not stay so.
            if given == expected or self.here._resolver._freshness.name != "push" or time.monotonic() > end:
                break
        assert given == expected

    def key(self, key: str) -> str:
        return f"{key}{self.number}"

    def label(self, label: str) -> str:
        return label if label == "live" else f"{label}{self.number}"

    def tenant(self, scope: str | None) -> str | None:
        return scope and scope.replace("a", f"a{self.number}", 1)

    def blank(self) -> Resolver:
        direct = Direct(self.oracle)
        direct._spare = self.writers["beside"]._resolver._direct._spare
        return Resolver(self.oracle, direct, Strict(direct), RenderLimits())


def resolved(view: View, key: str, label: str) -> Any:
    try:
        found = view.resolve(key, label=label)
    except ovstore.OvstoreError as error:
        return type(error), str(error)
    return found.revision, found.scope, found.version, found.document.as_written(), found.provenance


def rendered(view: View, key: str, label: str) -> Any:
    try:
        found = view.render(key, {"q": "?"}, label=label)
    except ovstore.OvstoreError as error:
        return type(error), str(error)
    return found.text, found.llm_config, found.resolved.revision, found.resolved.provenance


def many(view: View, some: list[str] | None, label: str) -> Any:
    try:
        found = view.resolve_many(some, label=label)
    except ovstore.OvstoreError as error:
        return type(error), str(error)
    return {key: (one.revision, one.scope, one.version, one.provenance) for key, one in found.items()}


@pytest.fixture
def elsewhere(url: str) -> Iterator[Other]:
    with other(url) as found:
        yield found


@pytest.mark.parametrize(("freshness", "most"), [("strict", 16_000_000), ("strict", 12_000), ("push", 16_000_000)])
def test_what_is_served_from_memory_is_what_the_database_says(
    url: str, elsewhere: Other, freshness: Any, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`most` is how much text is kept: all of it, or the contents of a few keys."""
    monkeypatch.setattr("ovstore.resolver.MOST_MOVES", 4)
    monkeypatch.setattr("ovstore.resolver.MOST_TEXT", most)
    with ovstore.open(url, freshness=freshness, heartbeat=HEARTBEAT) as here, ovstore.open(url) as beside:
        run_state_machine_as_test(
            lambda: Walk(here, beside, elsewhere),
            settings=settings(
                max_examples=15, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
        assert here.verify() == ()
