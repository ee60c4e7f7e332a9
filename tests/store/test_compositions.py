"""Prompts made of parts are guarded wherever they are seen: where a write is made, and in every scope above it."""

from __future__ import annotations

from typing import Any

import pytest
from samples import patch, prompt

import ovstore
from ovstore import Store, composing

NOTE, TONE = "semantic.note", "shared.tone"
ANN: dict[str, Any] = {"actor": "ann", "accept_risk": "high"}


def note(word: str = "Note", kind: str = "string") -> str:
    """Includes the tone and declares t beside it."""
    return prompt(NOTE, template=word + " {{ t }} {% include 'shared.tone' %}", variables=[variable(kind)])


def tone(kind: str = "string", word: str = "Tone") -> str:
    return prompt(TONE, template=word + " {{ t }}", variables=[variable(kind)])


def plain() -> str:
    return prompt(NOTE, template="plain {{ t }}", variables=[variable("string")])


def variable(kind: str) -> dict[str, Any]:
    return {"name": "t", "type": kind, "description": "t", "required": True}


@pytest.fixture
def composed(store: Store) -> Store:
    store.publish(tone(), **ANN)
    store.publish(note(), **ANN)
    return store


def test_a_part_is_not_changed_under_a_prompt_of_the_same_scope(composed: Store) -> None:
    with pytest.raises(ovstore.ContractError, match="t is string here and int") as refused:
        composed.publish(tone("int"), **ANN)
    assert [(d.scope, d.key) for d in refused.value.dependents] == [("global", NOTE)]
    with pytest.raises(ovstore.ContractError, match="write both at once"):
        composed.publish(tone("int"), dependents="freeze", **ANN)


def test_a_withdrawal_does_not_uncover_what_does_not_fit_the_scopes_parts(composed: Store) -> None:
    composed.publish(plain(), tenant="acme", **ANN)
    composed.publish(tone("int"), tenant="acme", **ANN)
    with pytest.raises(ovstore.InvalidDocumentError, match="t is string here and int"):
        composed.withdraw(NOTE, tenant="acme", reason="r", **ANN)


def test_a_withdrawal_is_seen_from_the_workspaces_that_have_a_part_of_their_own(composed: Store) -> None:
    composed.publish(plain(), tenant="acme", **ANN)
    composed.publish(tone("int"), tenant="acme/desk", **ANN)
    with pytest.raises(ovstore.ContractError) as refused:
        composed.withdraw(NOTE, tenant="acme", reason="r", **ANN)
    assert [(d.scope, d.key) for d in refused.value.dependents] == [("acme/desk", NOTE)]
    composed.withdraw(NOTE, tenant="acme", reason="r", dependents="freeze", **ANN)
    assert composed.render(NOTE, {"t": "x"}, tenant="acme/desk").text == "plain x"
    assert composed.render(NOTE, {"t": "x"}, tenant="acme").text == "Note x Tone x"


def test_a_prompt_that_begins_to_include_is_seen_from_who_has_the_part_for_himself(store: Store) -> None:
    store.publish(tone(), **ANN)
    store.publish(plain(), **ANN)
    for tenant in ("acme", "globex"):
        store.publish(tone("int"), tenant=tenant, **ANN)
    store.publish(tone("string", "own"), tenant="initech", **ANN)
    with pytest.raises(ovstore.ContractError) as refused:
        store.publish(note(), **ANN)
    assert [(d.scope, d.key, d.version) for d in refused.value.dependents] == [("acme", NOTE, 1), ("globex", NOTE, 1)]
    store.publish(note(), dependents="freeze", **ANN)
    texts = {tenant: store.render(NOTE, {"t": "x"}, tenant=tenant).text for tenant in ("acme", "initech", "beta")}
    assert texts == {"acme": "plain x", "initech": "Note x own x", "beta": "Note x Tone x"}


def test_a_part_of_a_part_is_seen_from_above_too(composed: Store) -> None:
    composed.publish(prompt("shared.word", template="w", variables=[]), **ANN)
    composed.publish(
        prompt("shared.word", template="{{ s }}", variables=[variable("int") | {"name": "s"}]), tenant="acme", **ANN
    )
    deeper = prompt(
        TONE,
        template="{{ t }} {{ s }} {% include 'shared.word' %}",
        variables=[variable("string"), variable("string") | {"name": "s"}],
    )
    with pytest.raises(ovstore.ContractError, match="s is string here and int") as refused:
        composed.publish(deeper, **ANN)
    assert [(d.scope, d.key) for d in refused.value.dependents] == [("acme", NOTE), ("acme", TONE)]


def test_a_patch_of_a_part_that_no_longer_folds_is_said_once(composed: Store) -> None:
    removal = patch(TONE, template="mine", variables=[{"name": "t", "$remove": True}])
    composed.publish(removal, tenant="acme", **ANN)
    composed.publish(plain(), tenant="acme", **ANN)
    without = prompt(TONE, template="nothing", variables=[])
    with pytest.raises(ovstore.ContractError) as refused:
        composed.publish(without, **ANN)
    assert [(d.scope, d.key) for d in refused.value.dependents] == [("acme", TONE)]
    composed.publish(without, dependents="freeze", **ANN)
    assert composed.render(TONE, {}, tenant="acme").text == "mine"


def test_a_copy_that_does_not_fit_what_else_changes_is_followed_by_another(store: Store, tmp_path: Any) -> None:
    store.publish(tone(), **ANN)
    store.publish(note(), **ANN)
    removal = patch(TONE, variables=[{"name": "x", "type": "string", "description": "x", "required": False}])
    store.publish(removal, tenant="acme", **ANN)
    before = store.render(NOTE, {"t": "1"}, tenant="acme").text
    (tmp_path / "note.yaml").write_text(note("New", "int"))
    (tmp_path / "tone.yaml").write_text(
        prompt(
            TONE,
            template="{{ t }} {{ x }}",
            variables=[
                variable("int"),
                {"name": "x", "type": "int", "description": "x", "required": False, "default": 1},
            ],
        )
    )
    plan = store.plan_import(tmp_path)
    store.apply(plan, dependents="freeze", **ANN)
    assert store.render(NOTE, {"t": 1}).text == "New 1 1 1"
    assert store.render(NOTE, {"t": "1"}, tenant="acme").text == before


def test_tenants_with_the_same_parts_are_judged_once(composed: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(12):
        composed.publish(tone("string", f"own {n % 3}"), tenant=f"t{n}", **ANN)
    judged: list[str] = []
    newly_wrong = composing.newly_wrong

    def counted(prospect: Any, scope: str, key: str) -> str:
        judged.append(scope)
        return newly_wrong(prospect, scope, key)

    monkeypatch.setattr(composing, "newly_wrong", counted)
    composed.publish(note("New"), **ANN)
    assert len(judged) == 3


def test_each_dependant_is_told_in_words_that_name_no_other(composed: Store) -> None:
    removal = patch(TONE, template="mine", variables=[{"name": "t", "$remove": True}])
    for tenant in ("acme", "globex"):
        composed.publish(plain(), tenant=tenant, **ANN)
        composed.publish(removal, tenant=tenant, **ANN)
    with pytest.raises(ovstore.ContractError) as refused:
        composed.publish(prompt(TONE, template="nothing", variables=[]), **ANN)
    acme, globex = refused.value.dependents
    assert acme.why == globex.why == "it removes variables[t], which what it extends does not have"
