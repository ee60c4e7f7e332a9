"""A random walk over the verbs, compared after each step with a model that keeps every past state."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from model import SCOPES, DoesNotFold, Made, Model
from samples import patch, prompt

import ovstore
from ovstore.view import View

KEY = "semantic.note"
TONE = {"name": "tone", "type": "string", "description": "t", "required": False}
ALL = {"actor": "ann", "reason": "walk", "accept_risk": "very_high"}
LABELS = ("live", "staging")

scopes = st.sampled_from(SCOPES)
labels = st.sampled_from(LABELS)
texts = st.sampled_from(["one", "two", "three", "four"])
confs = st.dictionaries(st.sampled_from(["temperature", "top_p"]), st.integers(0, 2), max_size=2)
dependents = st.sampled_from(["refuse", "freeze"])


def full_source(doc: dict[str, Any], n: int) -> str:
    variables = ["q", TONE] if doc["tone"] else ["q"]
    extra = {"llm_config": doc["conf"]} if doc["conf"] else {}
    return f"# {n}\n" + prompt(template=f"{doc['text']} {{{{ q }}}}", variables=variables, **extra)


def patch_source(doc: dict[str, Any], n: int) -> str:
    changes: dict[str, Any] = {}
    if "text" in doc:
        changes["template"] = f"{doc['text']} {{{{ q }}}}"
    if doc.get("conf"):
        changes["llm_config"] = doc["conf"]
    if doc.get("untone"):
        changes["variables"] = [{"name": "tone", "$remove": True}]
    return f"# {n}\n" + patch(KEY, **changes)


def as_model(resolved: ovstore.results.Resolved) -> dict[str, Any]:
    document = resolved.document
    return {
        "text": document["template"].removesuffix(" {{ q }}"),
        "tone": any(v["name"] == "tone" for v in document.as_written()["variables"]),
        "conf": document.as_written().get("llm_config", {}),
    }


class Walk(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        url = f"sqlite:///{Path(self.folder.name) / 'walk.db'}"
        database = ovstore.db.engines.Database(url, create=True)
        ovstore.db.migrate.upgrade(database)
        database.close()
        self.store = ovstore.open(url)
        self.model = Model()
        self.count = 0
        self.past: list[tuple[dict[str, str], datetime | None, Model]] = []

    def teardown(self) -> None:
        assert self.store.verify() == ()
        self.store.close()
        self.folder.cleanup()

    def view(self, scope: str) -> View:
        if scope == "seed":
            return self.store.seed
        return View(self.store._resolver, scope)

    def attempt(self, scope: str, after: Model, act: Any, how: str, live: bool) -> None:
        """Do what was asked, and expect of the store what the model says of it."""
        if live:
            try:
                after.serves(scope)
            except DoesNotFold:
                with pytest.raises(ovstore.InvalidDocumentError):
                    act()
                return
            broken = after.broken_above(scope)
            if broken and how == "refuse":
                with pytest.raises(ovstore.ContractError):
                    act()
                return
            self.freeze(after, broken)
        act()
        self.model = after
        self.remember()

    def freeze(self, after: Model, broken: list[str]) -> None:
        for name in broken:
            if name == "acme/desk" and "acme" in broken:
                continue
            now = self.model.serves(name)
            assert now is not None
            after.versions[name].append(Made("full", now))
            after.push(name, "live", len(after.versions[name]))

    def remember(self) -> None:
        revisions: dict[str, str] = {}
        for scope in SCOPES:
            revisions[scope] = self.revision(scope)
        newest = next(iter(self.store.audit()), None)
        self.past.append((revisions, newest.at if newest else None, self.model.copy()))

    def revision(self, scope: str) -> str:
        from ovstore import seeing

        return seeing.see(self.store._database, seeing.ask(scope), [KEY]).revision

    def publish(self, scope: str, made: Made, live: bool, how: str) -> None:
        self.count += 1
        after = self.model.copy()
        after.versions[scope].append(made)
        after.push(scope, "live", len(after.versions[scope])) if live else None
        source = (full_source if made.mode == "full" else patch_source)(made.doc, self.count)
        trial = after.copy()
        if not live:
            trial.push(scope, "live", len(after.versions[scope]))
        try:
            trial.serves(scope)
        except DoesNotFold:
            with pytest.raises(ovstore.InvalidDocumentError):
                self.view(scope).publish(source, live=live, dependents=how, **ALL)
            return
        self.attempt(
            scope, after, lambda: self.view(scope).publish(source, live=live, dependents=how, **ALL), how, live
        )

    @rule(scope=scopes, text=texts, tone=st.booleans(), conf=confs, live=st.booleans(), how=dependents)
    def publish_full(self, scope: str, text: str, tone: bool, conf: dict[str, int], live: bool, how: str) -> None:
        self.publish(scope, Made("full", {"text": text, "tone": tone, "conf": conf}), live, how)

    @rule(
        scope=scopes,
        text=st.none() | texts,
        untone=st.booleans(),
        conf=confs,
        live=st.sampled_from([True, True, True, False]),
        how=dependents,
    )
    def publish_patch(
        self, scope: str, text: str | None, untone: bool, conf: dict[str, int], live: bool, how: str
    ) -> None:
        doc: dict[str, Any] = {"untone": untone, "conf": conf}
        if text is not None:
            doc["text"] = text
        self.publish(scope, Made("patch", doc), live, how)

    @rule(scope=scopes, label=labels, data=st.data(), how=dependents)
    def activate(self, scope: str, label: str, data: st.DataObject, how: str) -> None:
        count = len(self.model.versions[scope])
        if not count:
            return
        number = data.draw(st.integers(1, count))
        after = self.model.copy()
        if after.standing(scope, label) != number:
            after.push(scope, label, number)
        self.attempt(
            scope,
            after,
            lambda: self.view(scope).activate(KEY, number, label=label, dependents=how, **ALL),
            how,
            label == "live",
        )

    @rule(scope=scopes, label=labels, how=dependents)
    def rollback(self, scope: str, label: str, how: str) -> None:
        after = self.model.copy()
        if not after.stacks.get((scope, label)):
            with pytest.raises((ovstore.ConflictError, ovstore.NotFoundError)):
                self.view(scope).rollback(KEY, label=label, dependents=how, **ALL)
            return
        after.stacks[scope, label].pop()
        self.attempt(
            scope,
            after,
            lambda: self.view(scope).rollback(KEY, label=label, dependents=how, **ALL),
            how,
            label == "live",
        )

    @rule(scope=scopes, label=labels, data=st.data(), how=dependents)
    def rollback_to(self, scope: str, label: str, data: st.DataObject, how: str) -> None:
        count = len(self.model.versions[scope])
        if not count:
            return
        number = data.draw(st.integers(1, count))
        after = self.model.copy()
        stack = after.stacks.setdefault((scope, label), [])
        if after.standing(scope, label) != number:
            depth = next((d for d in range(len(stack) - 1, -1, -1) if stack[d][0] == number), None)
            if depth is None:
                after.push(scope, label, number)
            else:
                del stack[depth:]
        self.attempt(
            scope,
            after,
            lambda: self.view(scope).rollback(KEY, to=number, label=label, dependents=how, **ALL),
            how,
            label == "live",
        )

    @rule(scope=scopes, label=labels, how=dependents)
    def withdraw(self, scope: str, label: str, how: str) -> None:
        if not self.model.versions[scope]:
            return
        after = self.model.copy()
        if after.standing(scope, label) is not None:
            after.push(scope, label, None)
        self.attempt(
            scope,
            after,
            lambda: self.view(scope).withdraw(KEY, label=label, dependents=how, **ALL),
            how,
            label == "live",
        )

    @precondition(lambda self: self.past)
    @rule(scope=st.sampled_from(["global", "acme", "acme/desk", "beta"]), data=st.data(), by_time=st.booleans())
    def rollback_tenant(self, scope: str, data: st.DataObject, by_time: bool) -> None:
        revisions, at, then = data.draw(st.sampled_from(self.past))
        after = self.model.copy()
        wanted = then.standing(scope)
        if after.standing(scope) != wanted:
            after.push(scope, "live", wanted)
        to = at if by_time and at is not None else revisions[scope]

        def act() -> None:
            self.view(scope).rollback_tenant(to=to, **ALL)

        try:
            after.serves(scope)
        except DoesNotFold:
            with pytest.raises((ovstore.ContractError, ovstore.InvalidDocumentError)):
                act()
            return
        self.attempt(scope, after, act, "refuse", True)

    @invariant()
    def everyone_gets_what_the_model_says(self) -> None:
        self.compare(self.model, dict.fromkeys(SCOPES))

    @invariant()
    def every_past_revision_answers_as_it_did(self) -> None:
        for revisions, _, then in self.past:
            self.compare(then, dict(revisions))

    @invariant()
    def every_past_time_answers_as_it_did(self) -> None:
        for _, at, then in self.past[-3:]:
            if at is not None:
                self.compare(then, dict.fromkeys(SCOPES, at))

    def compare(self, model: Model, at: dict[str, Any]) -> None:
        for scope in SCOPES:
            for label in LABELS:
                try:
                    expected = model.serves(scope, label)
                except DoesNotFold:
                    with pytest.raises(ovstore.InvalidDocumentError):
                        self.view(scope).resolve(KEY, label=label, at=at[scope])
                    continue
                if expected is None:
                    with pytest.raises(ovstore.NotFoundError):
                        self.view(scope).resolve(KEY, label=label, at=at[scope])
                elif label == "live" or self.label_known(label, scope):
                    assert as_model(self.view(scope).resolve(KEY, label=label, at=at[scope])) == expected

    def label_known(self, label: str, scope: str) -> bool:
        from model import chain

        return any((name, label) in self.model.stacks and self.model.stacks[name, label] for name in chain(scope))


TestWalk = pytest.mark.timeout(600)(Walk.TestCase)
TestWalk.settings = settings(
    max_examples=25, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
