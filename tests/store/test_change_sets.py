"""Change sets: the same id again applies nothing, and an id is one scope's own."""

from __future__ import annotations

import uuid

import pytest
from samples import patch, prompt

import ovstore
from ovstore import Store

KEY = "semantic.note"


def test_the_same_write_again_is_answered_from_the_log(store: Store) -> None:
    first = store.publish(prompt(), actor="ann", change_set="deploy-1")
    store.publish(prompt(template="later {{ q }}"), actor="bob")
    assert store.publish(prompt(), actor="ann", change_set="deploy-1", expected=0) == first
    assert store.resolve(KEY).version == 2


def test_every_verb_is_done_once_for_an_id(store: Store) -> None:
    for n in range(3):
        store.publish(prompt(template=f"{n} {{{{ q }}}}"), actor="ann")
    then = store.resolve(KEY).revision
    store.publish(prompt(template="4 {{ q }}"), actor="ann")
    by = {"actor": "ann", "reason": "r", "accept_risk": "very_high"}
    for write in (
        lambda name: store.rollback(KEY, change_set=name, **by),
        lambda name: store.activate(KEY, 1, change_set=name, **by),
        lambda name: store.withdraw(KEY, change_set=name, **by),
        lambda name: store.rollback_tenant(None, to=then, change_set=name, **by),
    ):
        name = str(uuid.uuid4())
        first = write(name)
        seq = store.heads()
        assert write(name) == first
        assert store.heads() == seq


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


def test_a_write_that_froze_overrides_is_done_once(store: Store) -> None:
    tone = {"name": "tone", "type": "string", "description": "t", "required": False}
    store.publish(prompt(variables=["q", tone], template="{{ q }}{{ tone }}"), actor="ann")
    removal = patch(KEY, template="mine {{ q }}", variables=[{"name": "tone", "$remove": True}])
    store.publish(removal, tenant="acme", actor="bob", accept_risk="high")
    write = {"actor": "ann", "accept_risk": "high", "dependents": "freeze", "change_set": "deploy-1"}
    first = store.publish(prompt(), **write)
    assert store.publish(prompt(), **write) == first
    assert len(list(store.audit(action="freeze"))) == 1


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
