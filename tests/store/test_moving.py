"""Activate, rollback, withdraw and labels."""

from __future__ import annotations

import pytest
from samples import memory, patch, prompt

import ovstore
from ovstore import Store


def publish_texts(store: Store, *texts: str, tenant: str | None = None) -> None:
    for text in texts:
        store.publish(prompt(template=text + " {{ q }}"), tenant=tenant, actor="ann")


def live(store: Store, tenant: str | None = None) -> str:
    return str(store.resolve("semantic.note", tenant=tenant).document["template"]).removesuffix(" {{ q }}")


def test_rollback_walks_back_to_not_overriding_and_then_conflicts(store: Store) -> None:
    publish_texts(store, "A", "B", "C")
    for expected in ("B", "A"):
        store.rollback("semantic.note", actor="bob", reason="walk")
        assert live(store) == expected
    last = store.rollback("semantic.note", actor="bob", reason="walk", accept_risk="high")
    assert (last.before, last.after) == (1, None)
    with pytest.raises(ovstore.NotFoundError):
        store.resolve("semantic.note")
    entries = len(list(store.audit()))
    with pytest.raises(ovstore.ConflictError):
        store.rollback("semantic.note", actor="bob", reason="walk")
    assert len(list(store.audit())) == entries


def test_rollback_to_a_version_pops_to_where_the_label_last_stood_there(store: Store) -> None:
    publish_texts(store, "A", "B", "C")
    move = store.rollback("semantic.note", to=1, actor="bob", reason="r")
    assert (move.before, move.after, live(store)) == (3, 1, "A")
    with pytest.raises(ovstore.RiskError):
        store.rollback("semantic.note", actor="bob", reason="r")


def test_rollback_to_where_it_is_writes_nothing(store: Store) -> None:
    publish_texts(store, "A", "B")
    store.rollback("semantic.note", to=1, actor="bob", reason="r")
    entries = len(list(store.audit()))
    move = store.rollback("semantic.note", to=1, actor="bob", reason="r")
    assert (move.before, move.after) == (1, 1)
    assert len(list(store.audit())) == entries


def test_rollback_to_a_version_it_never_stood_at_counts_as_an_activate(store: Store) -> None:
    publish_texts(store, "A")
    store.publish(prompt(template="D {{ q }}"), actor="ann", live=False)
    store.rollback("semantic.note", to=2, actor="bob", reason="r")
    assert live(store) == "D"
    store.rollback("semantic.note", actor="bob", reason="r")
    assert live(store) == "A"


def test_rollback_to_an_unknown_version_changes_nothing(store: Store) -> None:
    publish_texts(store, "A")
    with pytest.raises(ovstore.NotFoundError, match="1 to 1"):
        store.rollback("semantic.note", to=99, actor="bob", reason="r")
    assert live(store) == "A"


def test_a_number_is_never_used_again_after_a_rollback(store: Store) -> None:
    publish_texts(store, "A", "B", "C")
    store.rollback("semantic.note", to=1, actor="bob", reason="r")
    publish_texts(store, "D")
    assert store.resolve("semantic.note").version == 4


def test_activate_pushes_and_a_rollback_undoes_it(store: Store) -> None:
    publish_texts(store, "A", "B", "C")
    store.activate("semantic.note", 1, actor="bob")
    assert live(store) == "A"
    store.rollback("semantic.note", actor="bob", reason="r")
    assert live(store) == "C"


def test_activating_a_version_of_another_scope_is_refused(store: Store) -> None:
    publish_texts(store, "A")
    publish_texts(store, "T", tenant="acme")
    with pytest.raises(ovstore.InvalidArgumentError):
        store.activate("semantic.note", "global:1", tenant="acme", actor="bob")


def test_a_tenant_rollback_does_not_touch_global(store: Store) -> None:
    publish_texts(store, "G")
    publish_texts(store, "T1", "T2", tenant="acme")
    store.rollback("semantic.note", tenant="acme", actor="bob", reason="r")
    assert (live(store, "acme"), live(store)) == ("T1", "G")
    store.rollback("semantic.note", tenant="acme", actor="bob", reason="r")
    assert live(store, "acme") == "G"


def test_withdraw_lets_the_next_layer_answer_and_can_be_undone(store: Store) -> None:
    publish_texts(store, "G")
    publish_texts(store, "T", tenant="acme")
    move = store.withdraw("semantic.note", tenant="acme", actor="bob", reason="r")
    assert (move.before, move.after, live(store, "acme")) == (1, None, "G")
    store.rollback("semantic.note", tenant="acme", actor="bob", reason="r")
    assert live(store, "acme") == "T"


def test_withdrawing_what_is_not_overridden_writes_nothing(store: Store) -> None:
    publish_texts(store, "G")
    move = store.withdraw("semantic.note", tenant="acme", actor="bob", reason="r")
    assert (move.before, move.after) == (None, None)
    assert list(store.audit(tenant="acme")) == []


def test_a_prompt_that_disappears_is_high_a_memory_type_very_high(store: Store) -> None:
    publish_texts(store, "G")
    store.publish(memory(), actor="ann")
    with pytest.raises(ovstore.RiskError) as prompt_gone:
        store.withdraw("semantic.note", actor="bob", reason="r")
    with pytest.raises(ovstore.RiskError) as memory_gone:
        store.withdraw("habits", actor="bob", reason="r")
    assert (prompt_gone.value.risk, memory_gone.value.risk) == ("high", "very_high")


def test_a_label_is_a_lens_and_live_where_the_scope_lacks_it(store: Store) -> None:
    publish_texts(store, "A")
    store.publish(prompt(template="S {{ q }}"), actor="ann", live=False)
    store.publish(prompt("semantic.other"), actor="ann")
    move = store.activate("semantic.note", 2, label="staging", actor="ann")
    assert (move.label, move.risk, move.changes) == ("staging", "none", ())
    assert store.resolve("semantic.note", label="staging").version == 2
    assert store.resolve("semantic.note").version == 1
    assert store.resolve("semantic.other", label="staging").version == 1
    store.withdraw("semantic.note", label="staging", actor="ann", reason="done")
    assert store.resolve("semantic.note", label="staging").version == 1


def test_an_unknown_label_is_an_error_with_a_near_one(store: Store) -> None:
    publish_texts(store, "A")
    store.activate("semantic.note", 1, label="staging", actor="ann")
    with pytest.raises(ovstore.NotFoundError) as unknown:
        store.resolve("semantic.note", label="stagign")
    assert unknown.value.near == ("staging",)


def test_a_document_that_returns_is_compared_with_what_was_served_last(store: Store) -> None:
    store.publish(memory(), actor="ann")
    store.withdraw("habits", actor="ann", reason="r", accept_risk="very_high")
    changed = memory(
        fields=[
            {"name": "name", "type": "string", "description": "n", "merge_op": "immutable"},
            {"name": "content", "type": "string", "description": "c", "merge_op": "replace"},
        ]
    )
    with pytest.raises(ovstore.RiskError) as refused:
        store.publish(changed, actor="ann")
    assert [c.path for c in refused.value.changes] == ["fields[content].merge_op"]


def test_version_folds_on_the_live_layers_below_it(store: Store) -> None:
    publish_texts(store, "G1")
    store.publish(patch("semantic.note", llm_config={"temperature": 1}), tenant="acme", actor="ann")
    publish_texts(store, "G2")
    resolved = store.resolve("semantic.note", tenant="acme", version="acme:1")
    assert resolved.document["template"] == "G2 {{ q }}"
    assert store.resolve("semantic.note", tenant="acme", version="global:1").document["template"] == "G1 {{ q }}"
    with pytest.raises(ovstore.NotFoundError):
        store.resolve("semantic.note", tenant="globex", version="acme:1")


def test_going_to_a_version_that_was_rolled_back_from_is_high_by_whatever_verb(store: Store) -> None:
    publish_texts(store, "A", "B")
    store.rollback("semantic.note", actor="oncall", reason="answers broke")
    with pytest.raises(ovstore.RiskError, match="oncall rolled back from this very text"):
        store.activate("semantic.note", 2, actor="bob")
    with pytest.raises(ovstore.RiskError, match="oncall rolled back from this very text"):
        store.rollback("semantic.note", to=2, actor="bob", reason="r")
    assert store.rollback("semantic.note", to=2, actor="bob", reason="r", accept_risk="high").risk == "high"


def test_the_risk_that_an_author_declares_of_a_draft_counts_when_it_goes_live(store: Store) -> None:
    publish_texts(store, "A")
    draft = store.publish(prompt(template="B {{ q }}"), actor="ann", live=False, risk="high")
    assert (draft.version, draft.risk) == (2, "high")
    assert store.activate("semantic.note", 2, label="staging", actor="ann").risk == "none"
    with pytest.raises(ovstore.RiskError):
        store.activate("semantic.note", 2, actor="ann")
    assert store.activate("semantic.note", 2, actor="ann", accept_risk="high").risk == "high"


def test_a_conflict_on_a_label_names_the_label(store: Store) -> None:
    publish_texts(store, "A")
    with pytest.raises(ovstore.ConflictError, match="staging of semantic.note in global: expected version 3, found no"):
        store.activate("semantic.note", 1, label="staging", actor="ann", expected=3)
    with pytest.raises(ovstore.ConflictError, match="staging of semantic.note has no move left to undo in global"):
        store.rollback("semantic.note", label="staging", actor="ann", reason="r")


def test_a_key_that_nobody_knows_is_an_error_with_a_near_one(store: Store) -> None:
    publish_texts(store, "A")
    with pytest.raises(ovstore.NotFoundError, match="no layer of acme knows semantic.nota") as unknown:
        store.activate("semantic.nota", 1, tenant="acme", actor="ann")
    assert (unknown.value.what, unknown.value.near) == ("key", ("semantic.note",))
    with pytest.raises(ovstore.NotFoundError, match="it has no version there"):
        store.activate("semantic.note", 1, tenant="acme", actor="ann")


def test_a_patch_is_not_activated_where_its_base_no_longer_carries_it(store: Store) -> None:
    store.publish(prompt(template="{{ q }} {{ tone }}", variables=["q", "tone"]), actor="ann")
    removal = patch("semantic.note", template="{{ q }}", variables=[{"name": "tone", "$remove": True}])
    store.publish(removal, tenant="acme", actor="bob", live=False)
    store.publish(prompt(template="{{ q }}"), actor="ann", accept_risk="high")
    with pytest.raises(ovstore.InvalidDocumentError, match=r"removes variables\[tone\]"):
        store.activate("semantic.note", 1, tenant="acme", actor="bob", accept_risk="high")
    store.activate("semantic.note", 1, label="staging", tenant="acme", actor="bob")
    with pytest.raises(ovstore.InvalidDocumentError, match="acme:1, global:2"):
        store.resolve("semantic.note", tenant="acme", label="staging")
    assert store.resolve("semantic.note", tenant="acme").scope == "global"


def test_walking_back_a_long_way_reads_each_move_once(store: Store) -> None:
    publish_texts(store, *(f"T{n}" for n in range(12)))
    store.rollback("semantic.note", to=8, actor="bob", reason="r")
    publish_texts(store, "N")
    for expected in ("T7", "T6", "T5"):
        store.rollback("semantic.note", actor="bob", reason="r")
        assert live(store) == expected
