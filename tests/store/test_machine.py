"""A random walk over the verbs, compared after each step with a model that keeps every past state."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from model import SCOPES, DoesNotFold, Made, Model, Refused, Served, chain
from samples import patch, prompt

import ovstore
from ovstore import Store
from ovstore.results import Resolved
from ovstore.view import View

KEYS = ("semantic.note", "semantic.other")
TONE = {"name": "tone", "type": "string", "description": "t", "required": False}
ALL = {"actor": "ann", "reason": "walk", "accept_risk": "very_high"}
LABELS = ("live", "staging")

scopes = st.sampled_from(["seed", "global", "global", "acme", "acme", "acme/desk", "acme/desk", "beta"])
keys = st.sampled_from([KEYS[0], KEYS[0], KEYS[0], KEYS[1]])
labels = st.sampled_from(["live", "live", "staging"])
texts = st.sampled_from(["one", "two", "three", "four"])
confs = st.dictionaries(st.sampled_from(["temperature", "top_p"]), st.integers(0, 2), max_size=2)
freezes = st.booleans()


def full_source(key: str, doc: dict[str, Any], n: int) -> str:
    variables = ["q", TONE] if doc["tone"] else ["q"]
    extra = {"llm_config": doc["conf"]} if doc["conf"] else {}
    return f"# {n}\n" + prompt(key, template=f"{doc['text']} {{{{ q }}}}", variables=variables, **extra)


def patch_source(key: str, doc: dict[str, Any], n: int) -> str:
    changes: dict[str, Any] = {}
    if "text" in doc:
        changes["template"] = f"{doc['text']} {{{{ q }}}}"
    if doc.get("conf"):
        changes["llm_config"] = doc["conf"]
    if doc.get("untone"):
        changes["variables"] = [{"name": "tone", "$remove": True}]
    return f"# {n}\n" + patch(key, **changes)


def as_model(resolved: Resolved) -> Served:
    document = resolved.document.as_written()
    doc = {
        "text": document["template"].removesuffix(" {{ q }}"),
        "tone": any(v["name"] == "tone" for v in document["variables"]),
        "conf": document.get("llm_config", {}),
    }
    return Served(resolved.scope, resolved.version, doc)


def answer(model: Model, scope: str, label: str) -> Served | type[Exception]:
    """What a scope is answered: what it gets, or the error that says why nothing."""
    try:
        return model.serves(scope, label) or ovstore.NotFoundError
    except DoesNotFold:
        return ovstore.InvalidDocumentError


@dataclass(frozen=True)
class Past:
    """A state that was: each scope's revision, the time of the newest entry, and the model of each key."""

    revisions: dict[str, str]
    at: datetime
    models: dict[str, Model]


class Walk(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        url = f"sqlite:///{Path(self.folder.name) / 'walk.db'}"
        database = ovstore.db.engines.Database(url, create=True)
        ovstore.db.migrate.upgrade(database)
        database.close()
        # Two that share nothing but the file: one writes after the other, and what either keeps must not grow old.
        self.stores = [ovstore.open(url), ovstore.open(url)]
        self.models = {key: Model() for key in KEYS}
        self.count = 0
        self.past: list[Past] = []
        self.told: dict[tuple[str, str, str, str], Served | type[Exception]] = {}

    @initialize(tone=st.sampled_from([True, True, False]))
    def something_is_shipped(self, tone: bool) -> None:
        """Most of what can go wrong goes wrong above a document."""
        for key in KEYS:
            self.publish(key, "seed", Made("full", {"text": "seed", "tone": tone, "conf": {}}), True, False)

    def teardown(self) -> None:
        self.every_past_revision_answers_as_it_did()
        self.the_newest_times_answer_as_they_did()
        assert self.stores[0].verify() == ()
        for store in self.stores:
            store.close()
        self.folder.cleanup()

    def view(self, scope: str, store: Store | None = None) -> View:
        """The view of a scope, also of global; those that write take turns."""
        store = store or self.stores[self.count % 2]
        return store.seed if scope == "seed" else View(store._resolver, scope)

    def do(self, key: str, act: Callable[[], object], after: Model | type[Exception]) -> None:
        """Do what was asked, and expect of the store what the model says: another state, or an error and the same."""
        self.count += 1
        if isinstance(after, type):
            with pytest.raises(after):
                act()
            return
        act()
        self.become(self.models | {key: after})

    def become(self, models: dict[str, Model]) -> None:
        self.models = models
        newest = next(self.stores[0].audit(), None)
        if newest is None:
            return
        revisions = {scope: self.revision(scope) for scope in SCOPES}
        self.past.append(Past(revisions, newest.at, {key: model.copy() for key, model in models.items()}))
        for scope, key, label in itertools.product(SCOPES, KEYS, LABELS):
            expected = answer(models[key], scope, label)
            assert self.told.setdefault((scope, key, label, revisions[scope]), expected) == expected

    def revision(self, scope: str) -> str:
        heads = self.stores[0].heads()
        marks = [heads.get(name, f"0.{'0' * 64}").partition(".") for name in chain(scope)]
        return " ".join(f"{name}@{seq}.{head[:16]}" for name, (seq, _, head) in zip(chain(scope), marks, strict=True))

    def after(self, key: str, scope: str, label: str, freeze: bool, move: Callable[[Model], Any]) -> Any:
        """The model after a move of a label, or the error that the move is."""
        after = self.models[key].copy()
        move(after)
        if label != "live" or after.standing(scope) == self.models[key].standing(scope):
            return after
        try:
            after.settle(self.models[key], [scope], freeze)
        except Refused as refused:
            return ovstore.InvalidDocumentError if refused.own else ovstore.ContractError
        return after

    def publish(self, key: str, scope: str, made: Made, live: bool, freeze: bool) -> None:
        source = (full_source if made.mode == "full" else patch_source)(key, made.doc, self.count)
        view, how = self.view(scope), "freeze" if freeze else "refuse"
        trial = self.models[key].copy()
        trial.push(scope, "live", trial.add(scope, made))
        if not trial.folds(scope):
            after: Any = ovstore.InvalidDocumentError
        elif live:
            after = self.after(key, scope, "live", freeze, lambda m: m.push(scope, "live", m.add(scope, made)))
        else:
            after = self.after(key, scope, "live", freeze, lambda m: m.add(scope, made))
        self.do(key, lambda: view.publish(source, live=live, dependents=how, **ALL), after)

    @rule(key=keys, scope=scopes, text=texts, tone=st.booleans(), conf=confs, live=st.booleans(), freeze=freezes)
    def publish_full(
        self, key: str, scope: str, text: str, tone: bool, conf: dict[str, int], live: bool, freeze: bool
    ) -> None:
        self.publish(key, scope, Made("full", {"text": text, "tone": tone, "conf": conf}), live, freeze)

    @rule(
        key=keys,
        scope=scopes,
        text=st.none() | texts,
        untone=st.booleans(),
        conf=confs,
        live=st.sampled_from([True, True, True, False]),
        freeze=freezes,
    )
    def publish_patch(
        self, key: str, scope: str, text: str | None, untone: bool, conf: dict[str, int], live: bool, freeze: bool
    ) -> None:
        doc: dict[str, Any] = {"untone": untone, "conf": conf}
        if text is not None:
            doc["text"] = text
        self.publish(key, scope, Made("patch", doc), live, freeze)

    @rule(key=keys, scope=scopes, label=labels, data=st.data(), freeze=freezes, back=st.booleans(), right=st.booleans())
    def move_to_a_version(
        self, key: str, scope: str, label: str, data: st.DataObject, freeze: bool, back: bool, right: bool
    ) -> None:
        """Activate a version, or roll back to one; `right` says whether the caller knows where the label stands."""
        count = len(self.models[key].versions[scope])
        if not count:
            return
        number = data.draw(st.integers(1, count))
        view, standing = self.view(scope), self.models[key].standing(scope, label) or 0
        more: dict[str, Any] = {"label": label, "dependents": "freeze" if freeze else "refuse", **ALL}
        more["expected"] = standing if right else data.draw(st.sampled_from([standing, standing + 1]))
        if more["expected"] != standing:
            after: Any = ovstore.ConflictError
        elif back:
            after = self.after(key, scope, label, freeze, lambda model: model.pop_to(scope, label, number))
        else:
            after = self.after(key, scope, label, freeze, lambda model: model.push(scope, label, number))
        if back:
            self.do(key, lambda: view.rollback(key, to=number, **more), after)
        else:
            self.do(key, lambda: view.activate(key, number, **more), after)

    @rule(key=keys, scope=scopes, label=labels, freeze=freezes)
    def rollback(self, key: str, scope: str, label: str, freeze: bool) -> None:
        view, how = self.view(scope), "freeze" if freeze else "refuse"
        if self.models[key].stacks.get((scope, label)):
            after: Any = self.after(key, scope, label, freeze, lambda model: model.stacks[scope, label].pop())
        else:
            after = ovstore.ConflictError if self.known(key, scope) else ovstore.NotFoundError
        self.do(key, lambda: view.rollback(key, label=label, dependents=how, **ALL), after)

    @rule(key=keys, scope=scopes, label=labels, freeze=freezes)
    def withdraw(self, key: str, scope: str, label: str, freeze: bool) -> None:
        view, how = self.view(scope), "freeze" if freeze else "refuse"
        after: Any = ovstore.NotFoundError
        if self.known(key, scope):
            after = self.after(key, scope, label, freeze, lambda model: model.push(scope, label, None))
        self.do(key, lambda: view.withdraw(key, label=label, dependents=how, **ALL), after)

    def known(self, key: str, scope: str) -> bool:
        """Whether a scope has versions of a key, or its chain has a label of it."""
        model = self.models[key]
        return bool(model.versions[scope]) or any(
            model.standing(name, label) for name in chain(scope) for label in LABELS
        )

    @precondition(lambda self: self.past)
    @rule(
        scope=st.sampled_from(["global", "acme", "acme", "acme/desk", "beta"]),
        data=st.data(),
        by_time=st.booleans(),
        workspaces=st.booleans(),
        freeze=freezes,
    )
    def rollback_tenant(self, scope: str, data: st.DataObject, by_time: bool, workspaces: bool, freeze: bool) -> None:
        chosen = data.draw(st.integers(0, len(self.past) - 1))
        then = self.past[chosen]
        # A revision of the tenant says nothing of its workspaces: they go to the last moment that it was the newest.
        same = [past for past in self.past[chosen:] if past.revisions[scope] == then.revisions[scope]]
        last = then if by_time else same[-1]
        back = [scope, "acme/desk"] if workspaces and scope == "acme" else [scope]
        after = {key: model.copy() for key, model in self.models.items()}
        view, to = self.view(scope), then.at if by_time else then.revisions[scope]
        more: dict[str, Any] = {"dependents": "freeze" if freeze else "refuse", **ALL}
        self.count += 1
        try:
            for key, model in after.items():
                model.put_back({name: (then if name == scope else last).models[key] for name in back}, back, freeze)
        except Refused:
            with pytest.raises((ovstore.ContractError, ovstore.InvalidDocumentError)):
                view.rollback_tenant(to=to, workspaces=workspaces, **more)
            return
        view.rollback_tenant(to=to, workspaces=workspaces, **more)
        self.become(after)

    @invariant()
    def everyone_gets_what_the_model_says_from_either_store(self) -> None:
        for scope, key, label in itertools.product(SCOPES, KEYS, LABELS):
            store = self.stores[(self.count + len(scope + label)) % 2]
            self.ask(store, scope, key, label, None, answer(self.models[key], scope, label))

    def every_past_revision_answers_as_it_did(self) -> None:
        for (scope, key, label, revision), expected in self.told.items():
            self.ask(self.stores[0], scope, key, label, revision, expected)

    def the_newest_times_answer_as_they_did(self) -> None:
        for past, scope, key, label in itertools.product(self.past[-5::4], SCOPES, KEYS, LABELS):
            self.ask(self.stores[0], scope, key, label, past.at, answer(past.models[key], scope, label))

    def ask(self, store: Store, scope: str, key: str, label: str, at: Any, expected: Served | type[Exception]) -> None:
        view = self.view(scope, store)
        if isinstance(expected, Served) and label != "live" and not self.label_known(label, scope):
            expected = ovstore.NotFoundError
        if isinstance(expected, Served):
            assert as_model(view.resolve(key, label=label, at=at)) == expected
        else:
            with pytest.raises(expected):
                view.resolve(key, label=label, at=at)

    def label_known(self, label: str, scope: str) -> bool:
        """Whether the chain ever had the label, for any key."""
        return any((name, label) in model.used for name in chain(scope) for model in self.models.values())


class WalkThatLooksBack(Walk):
    """In each state, each past revision is asked again."""

    @invariant()
    def the_past_stays(self) -> None:
        self.every_past_revision_answers_as_it_did()
        self.the_newest_times_answer_as_they_did()


TestWalk = pytest.mark.timeout(600)(Walk.TestCase)
TestWalk.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestWalkThatLooksBack = pytest.mark.timeout(600)(WalkThatLooksBack.TestCase)
TestWalkThatLooksBack.settings = settings(
    max_examples=10, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
)
