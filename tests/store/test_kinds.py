"""One key that is a prompt in one version or layer and settings in another."""

from __future__ import annotations

import pytest
from samples import patch, prompt, settings

import ovstore
from ovstore import Store

KEY = "semantic.note"


@pytest.mark.parametrize(("first", "second"), [(prompt(), settings(a=1)), (settings(a=1), prompt())])
def test_a_key_that_becomes_another_kind_is_high_and_one_row(store: Store, first: str, second: str) -> None:
    store.publish(first, actor="ann")
    with pytest.raises(ovstore.RiskError) as refused:
        store.publish(second, actor="ann")
    assert [(c.path, c.risk) for c in refused.value.changes] == [("document", "high")]
    store.publish(second, actor="ann", accept_risk="high")
    back = store.rollback(KEY, actor="ann", reason="r", accept_risk="high")
    assert [(c.path, c.risk) for c in back.changes] == [("document", "high")]
    assert [c.path for c in store.diff(KEY, 1, 2).changes] == ["document"]


def test_an_override_of_another_kind_is_judged_too(store: Store) -> None:
    store.publish(settings(a=1), actor="ann")
    with pytest.raises(ovstore.RiskError):
        store.publish(prompt(), tenant="acme", actor="bob")
    store.publish(prompt(), tenant="acme", actor="bob", accept_risk="high")
    assert [store.resolve(KEY, tenant=tenant).kind for tenant in (None, "acme")] == ["settings", "prompt"]


@pytest.mark.parametrize(
    ("base", "above"),
    [
        (settings(a=1), patch(KEY, template="x", variables=[{"name": "b"}, {"name": "a"}])),
        (prompt(), patch(KEY, values={"a": 1})),
    ],
)
def test_a_patch_of_another_kind_is_refused_and_not_left_without_effect(store: Store, base: str, above: str) -> None:
    store.publish(base, actor="ann")
    with pytest.raises(ovstore.InvalidDocumentError, match=r"acme:1 is a patch of kind .*, and global:1 below it"):
        store.publish(above, tenant="acme", actor="bob", accept_risk="high")


def test_a_patch_of_metadata_alone_is_of_the_kind_that_it_patches(store: Store) -> None:
    store.publish(settings(a=1), actor="ann")
    store.publish(patch(KEY, metadata={"description": "mine"}), tenant="acme", actor="bob")
    document = store.resolve(KEY, tenant="acme").document
    assert (document["metadata"]["description"], document["values"]) == ("mine", {"a": 1})


def test_a_base_that_becomes_another_kind_breaks_the_patches_above(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    store.publish(patch(KEY, llm_config={"top_p": 1}), tenant="acme", actor="bob")
    with pytest.raises(ovstore.ContractError, match="of kind settings"):
        store.publish(settings(a=1), actor="ann", accept_risk="high")
    store.publish(settings(a=1), actor="ann", accept_risk="high", dependents="freeze")
    assert store.resolve(KEY, tenant="acme").kind == "prompt"


def test_a_mistyped_key_is_answered_with_near_ones_where_a_version_is_asked_for(store: Store) -> None:
    store.publish(prompt(KEY), actor="ann")
    for ask in (lambda: store.diff("semantic.nota", 1, 2), lambda: store.resolve("semantic.nota", version=1)):
        with pytest.raises(ovstore.NotFoundError, match=f"did you mean {KEY}"):
            ask()
