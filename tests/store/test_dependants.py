"""A move below may not break a live override above: it is refused with the list, or the overrides are frozen."""

from __future__ import annotations

import pytest
from samples import memory, patch, prompt

import ovstore
from ovstore import Store


@pytest.fixture
def patched(store: Store) -> Store:
    """acme, globex and acme/support remove the variable `tone`; initech overrides whole."""
    store.publish(prompt(template="{{ q }} {{ tone }}", variables=["q", "tone"]), actor="ann")
    removal = patch("semantic.note", template="{{ q }}", variables=[{"name": "tone", "$remove": True}])
    for tenant in ("acme", "globex"):
        store.publish(removal, tenant=tenant, actor="bob", accept_risk="high")
    store.publish(patch("semantic.note", llm_config={"top_p": 1}), tenant="acme/support", actor="bob")
    store.publish(prompt(template="own {{ q }}"), tenant="initech", actor="bob", accept_risk="high")
    return store


def without_tone() -> str:
    return prompt(template="changed {{ q }}", variables=["q"])


def test_a_global_publish_that_breaks_patches_is_refused_and_names_whose(patched: Store) -> None:
    with pytest.raises(ovstore.ContractError) as refused:
        patched.publish(without_tone(), actor="ann", accept_risk="high")
    assert [d.scope for d in refused.value.dependents] == ["acme", "globex", "acme/support"]
    assert "removes variables[tone]" in str(refused.value)
    assert patched.resolve("semantic.note").version == 1


def test_freezing_keeps_what_each_tenant_gets_in_its_own_chain(patched: Store) -> None:
    before = {t: patched.resolve("semantic.note", tenant=t).document_hash for t in ("acme", "globex", "acme/support")}
    published = patched.publish(without_tone(), actor="ann", accept_risk="high", dependents="freeze")
    for tenant, document_hash in before.items():
        assert patched.resolve("semantic.note", tenant=tenant).document_hash == document_hash
    assert patched.resolve("semantic.note").document["template"] == "changed {{ q }}"
    (frozen,) = patched.audit(tenant="acme", action="freeze")
    assert (frozen.change_set, frozen.before, frozen.after, frozen.risk) == (published.change_set, 1, 2, "none")
    assert patched.resolve("semantic.note", tenant="acme").provenance.layers[0].mode == "full"
    assert list(patched.audit(tenant="acme/support", action="freeze")) == []


def test_a_frozen_override_can_be_rolled_back_only_while_its_base_carries_it(patched: Store) -> None:
    patched.publish(without_tone(), actor="ann", accept_risk="high", dependents="freeze")
    with pytest.raises(ovstore.InvalidDocumentError, match=r"variables\[tone\]"):
        patched.rollback("semantic.note", tenant="globex", actor="bob", reason="r", accept_risk="high")


def test_a_withdrawal_below_that_leaves_a_patch_without_base_is_refused(patched: Store) -> None:
    with pytest.raises(ovstore.ContractError):
        patched.withdraw("semantic.note", actor="ann", reason="r", accept_risk="high")


def test_a_rollback_below_is_guarded_too(store: Store) -> None:
    store.publish(prompt(template="one {{ q }}"), actor="ann")
    store.publish(
        prompt(
            template="{{ q }} {{ tone }}",
            variables=["q", {"name": "tone", "type": "string", "description": "t", "required": False}],
        ),
        actor="ann",
    )
    store.publish(
        patch("semantic.note", variables=[{"name": "tone", "$remove": True}], template="x {{ q }}"),
        tenant="acme",
        actor="bob",
        accept_risk="high",
    )
    with pytest.raises(ovstore.ContractError):
        store.rollback("semantic.note", actor="ann", reason="r", accept_risk="high")
    store.rollback("semantic.note", actor="ann", reason="r", accept_risk="high", dependents="freeze")
    assert store.resolve("semantic.note", tenant="acme").document["template"] == "x {{ q }}"


def test_a_tenant_is_guarded_for_its_workspaces(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    store.publish(
        prompt(template="{{ q }} {{ tone }}", variables=["q", "tone"]), tenant="acme", actor="bob", accept_risk="high"
    )
    store.publish(
        patch("semantic.note", template="{{ q }}", variables=[{"name": "tone", "$remove": True}]),
        tenant="acme/support",
        actor="bob",
        accept_risk="high",
    )
    with pytest.raises(ovstore.ContractError) as refused:
        store.withdraw("semantic.note", tenant="acme", actor="bob", reason="r", accept_risk="high")
    assert [d.scope for d in refused.value.dependents] == ["acme/support"]


def test_a_seed_move_hidden_by_a_full_global_document_breaks_nothing(store: Store) -> None:
    store.seed.publish(memory(), actor="pkg")
    store.publish(memory(description="global"), actor="ann")
    store.publish(
        patch("habits", fields=[{"name": "content", "$remove": True}]), tenant="acme", actor="bob", accept_risk="high"
    )
    fewer = memory(fields=[{"name": "name", "type": "string", "description": "n", "merge_op": "immutable"}])
    assert store.seed.publish(fewer, actor="pkg", accept_risk="high").version == 2


def test_overrides_with_the_same_content_are_judged_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from ovstore import dependants
    from ovstore.steps import Layers

    store.publish(prompt(), actor="ann")
    for n in range(40):
        store.publish(patch("semantic.note", llm_config={"top_p": n % 4}), tenant=f"t{n}", actor="bob")
    judged: list[str] = []
    why_broken = dependants._why_broken

    def counted(scope: str, layers: Layers) -> str | None:
        judged.append(scope)
        return why_broken(scope, layers)

    monkeypatch.setattr(dependants, "_why_broken", counted)
    store.publish(prompt(template="new {{ q }}"), actor="ann")
    assert len(judged) == 4
