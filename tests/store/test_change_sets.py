"""Change sets: the same id again does nothing and gives the first answer; an id is one scope's own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from samples import patch, prompt

import ovstore
from ovstore import Store

KEY = "semantic.note"


def text(word: str, key: str = KEY) -> str:
    return prompt(key, template=word + " {{ q }}")


@pytest.fixture
def walked(store: Store) -> Store:
    """Three versions in global, two and a draft in acme."""
    for word in ("A", "B", "C"):
        store.publish(text(word), actor="ann")
    for word in ("T", "U"):
        store.publish(text(word), tenant="acme", actor="bob")
    store.publish(text("D"), tenant="acme", actor="bob", live=False)
    return store


WRITES: dict[str, Callable[[Store, dict[str, Any]], Any]] = {
    "publish": lambda store, given: store.publish(text("V"), tenant="acme", **given),
    "a draft": lambda store, given: store.publish(text("V"), tenant="acme", live=False, **given),
    "activate": lambda store, given: store.activate(KEY, 3, tenant="acme", **given),
    "a label": lambda store, given: store.activate(KEY, 1, label="staging", tenant="acme", **given),
    "rollback": lambda store, given: store.rollback(KEY, tenant="acme", **given),
    "rollback to": lambda store, given: store.rollback(KEY, to=1, tenant="acme", **given),
    "withdraw": lambda store, given: store.withdraw(KEY, tenant="acme", **given),
    "in global": lambda store, given: store.publish(text("V"), **given),
}


def move_on(store: Store) -> None:
    store.publish(text("later"), actor="ann")
    store.publish(text("later"), tenant="acme", actor="bob")
    store.publish(text("later"), tenant="acme/desk", actor="bob")


def test_the_same_write_again_is_answered_from_the_log(store: Store) -> None:
    first = store.publish(prompt(), actor="ann", change_set="deploy-1")
    store.publish(prompt(template="later {{ q }}"), actor="bob")
    assert store.publish(prompt(), actor="ann", change_set="deploy-1", expected=0) == first
    assert store.resolve(KEY).version == 2


def test_an_id_that_was_used_for_something_else_is_refused(store: Store) -> None:
    store.publish(prompt(), actor="ann", change_set="deploy-1")
    with pytest.raises(ovstore.ConflictError, match="was used already, for publish semantic.note"):
        store.publish(prompt("semantic.other"), actor="ann", change_set="deploy-1")
    with pytest.raises(ovstore.ConflictError, match="was used already"):
        store.withdraw(KEY, actor="ann", reason="r", change_set="deploy-1")


@pytest.mark.parametrize("order", [("acme/desk", "acme"), ("acme", "acme/desk"), ("acme", "globex"), (None, "acme")])
def test_the_same_id_in_two_scopes_is_two_writes(store: Store, order: tuple[str | None, str]) -> None:
    for tenant in order:
        source = prompt(template=f"of {tenant} {{{{ q }}}}")
        published = store.publish(source, tenant=tenant, actor="ann", change_set="deploy-1")
        assert (published.scope, published.version, published.unchanged) == (tenant or "global", 1, False)
        assert store.resolve(KEY, tenant=tenant).document["template"] == f"of {tenant} {{{{ q }}}}"


def test_a_workspace_put_back_with_its_tenant_is_put_back_once(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    for tenant in ("acme", "acme/desk"):
        store.publish(patch(KEY, llm_config={"n": 1}), tenant=tenant, actor="bob")
    then = store.resolve(KEY, tenant="acme/desk").revision
    store.publish(patch(KEY, llm_config={"n": 2}), tenant="acme/desk", actor="bob")
    again = {"to": then, "workspaces": True, "actor": "bob", "reason": "r", "change_set": "back-1"}
    first = store.rollback_tenant("acme", **again)
    assert [(move.scope, move.before, move.after) for move in first] == [("acme/desk", 2, 1)]
    assert store.rollback_tenant("acme", **again) == first
    assert len(list(store.audit(action="rollback_tenant"))) == 1


@pytest.mark.parametrize("write", WRITES)
def test_a_write_again_gives_the_first_answer_and_does_nothing(walked: Store, write: str) -> None:
    given = {"actor": "bob", "reason": "r", "change_set": "one"}
    first = WRITES[write](walked, given)
    move_on(walked)
    entries = list(walked.audit())
    assert WRITES[write](walked, given) == first
    assert list(walked.audit()) == entries


def test_also_where_the_clock_went_back_in_between(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.publish(text("A"), actor="ann")
    first = store.publish(text("T"), tenant="acme", actor="bob", change_set="one")
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600_000_000_000)
    store.publish(text("B"), actor="ann")
    assert store.publish(text("T"), tenant="acme", actor="bob", change_set="one") == first


def test_a_tenant_put_back_again_gives_the_first_answer(walked: Store) -> None:
    walked.publish(patch(KEY, llm_config={"top_p": 1}), tenant="acme/desk", actor="bob")
    walked.publish(text("O", "semantic.other"), tenant="acme", actor="bob")
    walked.publish(patch("semantic.other", llm_config={"top_p": 1}), tenant="acme/lab", actor="bob")
    then = walked.resolve(KEY, tenant="acme").revision
    walked.publish(text("V"), tenant="acme", actor="bob")
    walked.publish(text("P", "semantic.other"), tenant="acme", actor="bob")
    given = {"workspaces": True, "actor": "carol", "reason": "r", "change_set": "one"}
    first = walked.rollback_tenant("acme", to=then, **given)
    assert [(m.scope, m.key, m.restored) for m in first] == [
        ("acme", "semantic.note", True),
        ("acme", "semantic.other", True),
    ]
    move_on(walked)
    walked.publish(text("new"), tenant="acme/new", actor="bob")
    assert walked.rollback_tenant("acme", to=then, **given) == first


def test_what_it_inherits_is_told_the_same_again(store: Store) -> None:
    store.publish(text("G"), actor="ann")
    store.publish(patch(KEY, llm_config={"top_p": 1}), tenant="acme/desk", actor="bob")
    store.publish(text("O", "semantic.other"), tenant="acme", actor="bob")
    then = store.resolve(KEY, tenant="acme").revision
    store.publish(text("H"), actor="ann")
    store.publish(text("P", "semantic.other"), tenant="acme", actor="bob")
    given = {"workspaces": True, "actor": "carol", "reason": "r", "change_set": "one"}
    first = store.rollback_tenant("acme", to=then, **given)
    assert [(m.scope, m.before, m.after, m.restored) for m in first] == [
        ("acme", 2, 1, True),
        ("acme/desk", 1, 1, False),
    ]
    store.publish(text("I"), actor="ann")
    store.publish(text("new"), tenant="acme/new", actor="bob")
    assert store.rollback_tenant("acme", to=then, **given) == first


def test_a_plan_applied_again_gives_the_first_answer(store: Store, tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / f"n{n}.yaml").write_text(text("A", f"semantic.n{n}"))
    plan = store.plan_import(tmp_path)
    first = store.apply(plan, actor="ann")
    store.publish(text("B", "semantic.n1"), actor="ann")
    assert store.apply(plan, actor="ann") == first


def test_the_id_of_a_move_of_one_label_is_not_that_of_another(store: Store) -> None:
    store.publish(text("A"), actor="ann")
    store.activate(KEY, 1, label="staging", actor="ann", change_set="one")
    with pytest.raises(ovstore.ConflictError, match="activate semantic.note as staging"):
        store.activate(KEY, 1, label="canary", actor="ann", change_set="one")


def test_a_write_that_froze_overrides_again_gives_the_first_answer(store: Store) -> None:
    store.publish(prompt(template="{{ q }} {{ tone }}", variables=["q", "tone"]), actor="ann")
    removal = patch(KEY, template="{{ q }}", variables=[{"name": "tone", "$remove": True}])
    store.publish(removal, tenant="acme", actor="bob", accept_risk="high")
    given = {"actor": "ann", "accept_risk": "high", "dependents": "freeze", "change_set": "one"}
    first = store.publish(text("changed"), **given)
    assert store.publish(text("changed"), **given) == first
    assert [entry.action for entry in store.audit(tenant="acme")] == ["freeze", "publish"]
    assert store.publish(text("own"), tenant="acme", actor="bob", change_set="one").version == 3
