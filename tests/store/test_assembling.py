"""Contexts over the store: tenants' wrappers and policies, replay, and nothing of one tenant in another's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from samples import HOUSE, WITH_HOUSE

import ovstore
from ovstore import Store
from ovstore.context import AssembledContext, AssembleRequest, MemoryItem

SEEDS = Path(__file__).parents[2] / "seed_templates"
ASKED: dict[str, Any] = {
    "session_id": "s",
    "now": "2026-04-19T12:00:00Z",
    "system_prompt": "Be kind.",
    "memories": [{"id": "m", "content": "Likes tea.", "score": 1}],
    "worldbooks": [{"id": "b", "name": "B", "entries": [{"uid": "1", "content": "Lore.", "constant": True}]}],
    "history": [{"id": "u", "role": "user", "content": "hello"}],
}
NOTE = """\
extends: context.memory
template: |
  <memory>
  {{ tenant }} remembers:
  {% for item in items -%}
  * {{ item.content }}
  {% endfor -%}
  </memory>
variables:
  - {name: tenant, type: string, description: Who asks.}
"""
POLICY = "extends: context.policy\nvalues: {time: 'off', memory_top_k: 0}\n"
BOLD: dict[str, Any] = {"actor": "bob", "reason": "r", "accept_risk": "very_high"}


@pytest.fixture
def seeded(store: Store) -> Iterator[Store]:
    plan = store.seed.plan_import(SEEDS, category="context", strict=True)
    store.seed.apply(plan, actor="ovstore")
    yield store


def layers(context: AssembledContext) -> list[str]:
    return [segment.layer for segment in context.trace if segment.layer != "separator"]


def text(context: AssembledContext) -> str:
    return "\n".join(message.content for message in context.messages)


def test_a_tenant_changes_a_note_and_the_trace_says_which_version_wrote_it(seeded: Store) -> None:
    seeded.publish(NOTE, tenant="acme", actor="bob", accept_risk="high")
    context = seeded.assemble(ASKED, tenant="acme")
    assert "acme remembers:\n* Likes tea.\n" in text(context)
    written = {segment.layer: segment.template for segment in context.trace if segment.template}
    assert (written["memory"].scope, written["memory"].version) == ("acme", 1)
    assert written["system_prompt"].scope == "seed"
    assert next(iter(seeded.history("context.memory", tenant="acme"))).actor == "bob"
    seeded.rollback("context.memory", tenant="acme", actor="eve", reason="too short", accept_risk="high")
    assert text(seeded.assemble(ASKED, tenant="acme")) == text(seeded.assemble(ASKED))


def test_a_tenant_patches_the_policy_value_by_value(seeded: Store) -> None:
    published = seeded.publish(POLICY, tenant="acme", actor="bob", accept_risk="high")
    assert [(change.path, change.field, change.after) for change in published.changes] == [
        ("values.memory_top_k", "values", 0),
        ("values.time", "values", "off"),
    ]
    context = seeded.assemble(ASKED, tenant="acme")
    assert "time" not in layers(context) and "time" in layers(seeded.assemble(ASKED))
    assert context.policy["summary_limit"] == 5
    assert "time" in layers(seeded.assemble({**ASKED, "policy": {"time": "front"}}, tenant="acme"))
    assert [(ref.scope, ref.version) for ref in context.templates if ref.key == "context.policy"] == [("acme", 1)]


def test_a_change_of_the_policy_is_as_risky_as_what_no_table_knows(seeded: Store) -> None:
    with pytest.raises(ovstore.RiskError) as refused:
        seeded.publish(POLICY, tenant="acme", actor="bob")
    assert refused.value.risk == "high"


def test_a_policy_that_no_assembly_can_use_is_refused_with_its_line(seeded: Store) -> None:
    source = "extends: context.policy\nvalues:\n  time: sometimes\n  memry_top_k: 3\n"
    with pytest.raises(ovstore.InvalidDocumentError) as refused:
        seeded.publish(source, tenant="acme", actor="bob", accept_risk="very_high")
    assert [(f.code, f.line) for f in refused.value.findings] == [("bad-policy", 3), ("bad-policy", 4)]


def test_an_assembly_replays_from_its_revision_to_the_byte(seeded: Store) -> None:
    seeded.publish(NOTE, tenant="acme", actor="bob", accept_risk="high")
    first = seeded.assemble(ASKED, tenant="acme")
    seeded.publish(NOTE.replace("remembers", "forgets"), tenant="acme", actor="bob")
    seeded.publish(POLICY, tenant="acme", actor="bob", accept_risk="high")
    second = seeded.assemble(ASKED, tenant="acme")
    assert text(second) != text(first) and second.fingerprint != first.fingerprint
    assert seeded.assemble(ASKED, tenant="acme", at=first.revision) == first
    assert seeded.tenant("acme").assemble(ASKED, at=second.revision) == second


def test_one_tenants_wrappers_and_policy_never_show_in_anothers(seeded: Store) -> None:
    seeded.publish(NOTE.replace("remembers", "canary"), tenant="acme", actor="bob", accept_risk="high")
    seeded.publish(POLICY, tenant="acme", actor="bob", accept_risk="high")
    for tenant in (None, "globex", "globex/support", "acme2"):
        context = seeded.assemble(ASKED, tenant=tenant)
        assert "canary" not in text(context) and "time" in layers(context)
        assert {ref.scope for ref in context.templates} == {"seed"}
    assert "acme/support canary" in text(seeded.assemble(ASKED, tenant="acme/support"))


def test_callers_retrieve_and_count(seeded: Store) -> None:
    context = seeded.assemble(
        ASKED, retrieve=lambda query, k: [MemoryItem(id="r", content=f"{query}|{k}")], count_tokens=len
    )
    assert "- user: hello|3" in text(context)
    assert context.tokens == sum(len(message.content) for message in context.messages)


def test_without_the_seed_documents_the_missing_key_is_named(store: Store) -> None:
    with pytest.raises(ovstore.NotFoundError, match=r"context\.policy"):
        store.assemble(ASKED)


def test_a_request_of_the_wrong_form_is_no_traceback(seeded: Store) -> None:
    with pytest.raises(ovstore.InvalidArgumentError, match="cannot be assembled"):
        seeded.assemble({"session_id": "s"})


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is compiled from now on."""
    made: list[Any] = []
    original = ovstore.rendering.compile
    monkeypatch.setattr(ovstore.rendering, "compile", lambda *args: made.append(args) or original(*args))
    return made


def test_two_tenants_with_the_same_wrappers_share_what_is_compiled(seeded: Store, compiled: list[Any]) -> None:
    seeded.assemble(ASKED, tenant="acme")
    compiled.clear()
    for tenant in ("globex", "globex/support", None):
        seeded.assemble(ASKED, tenant=tenant)
    assert not compiled


def test_an_assembly_of_the_past_compiles_nothing_that_is_known(seeded: Store, compiled: list[Any]) -> None:
    first = seeded.assemble(ASKED, tenant="acme")
    seeded.publish(NOTE, tenant="acme", **BOLD)
    seeded.assemble(ASKED, tenant="acme")
    compiled.clear()
    assert seeded.assemble(ASKED, tenant="acme", at=first.revision) == first
    assert not compiled


def test_a_patch_of_metadata_alone_changes_no_value_and_shows_as_the_tenants_version(seeded: Store) -> None:
    before = seeded.assemble(ASKED, tenant="acme")
    published = seeded.publish(
        "extends: context.policy\nmetadata: {description: Ours.}\n", tenant="acme", actor="bob", reason="words"
    )
    assert (published.risk, [change.path for change in published.changes]) == ("low", ["metadata.description"])
    after = seeded.assemble(ASKED, tenant="acme")
    assert (after.policy, text(after)) == (before.policy, text(before))
    assert after.fingerprint != before.fingerprint
    (ref,) = [ref for ref in after.templates if ref.key == "context.policy"]
    assert (ref.scope, ref.version) == ("acme", 1)
    seeded.publish("extends: context.policy\nvalues: {time: tail}\n", tenant="acme/support", **BOLD)
    below = seeded.assemble(ASKED, tenant="acme/support")
    assert below.policy == {**after.policy, "time": "tail"}
    assert (
        seeded.resolve("context.policy", tenant="acme/support").document.canonical()["metadata"]["description"]
        == "Ours."
    )
    seeded.rollback("context.policy", tenant="acme", actor="ann", reason="again")
    assert seeded.assemble(ASKED, tenant="acme").fingerprint == before.fingerprint
    assert seeded.verify() == ()


def test_null_in_a_patch_of_the_policy_is_the_default_of_the_code(seeded: Store) -> None:
    seeded.publish("extends: context.policy\nvalues: {summary_limit: 2, token_budget: 900}\n", tenant="acme", **BOLD)
    source = "extends: context.policy\nvalues: {summary_limit: null, token_budget: null}\n"
    seeded.publish(source, tenant="acme/support", **BOLD)
    policy = seeded.assemble(ASKED, tenant="acme/support").policy
    assert (policy["summary_limit"], policy["token_budget"]) == (5, None)


def test_who_changed_a_note_is_in_the_log_and_a_rollback_takes_it_back(seeded: Store) -> None:
    before = text(seeded.assemble(ASKED, tenant="acme"))
    seeded.publish(NOTE, tenant="acme", actor="bob", reason="shorter", accept_risk="high")
    assert text(seeded.assemble(ASKED, tenant="acme")) != before
    seeded.rollback("context.memory", tenant="acme", actor="ann", reason="too short", accept_risk="high")
    assert text(seeded.assemble(ASKED, tenant="acme")) == before
    found = seeded.audit(key="context.memory", tenant="acme")
    assert [(entry.actor, entry.action, entry.reason) for entry in found] == [
        ("ann", "rollback", "too short"),
        ("bob", "publish", "shorter"),
    ]


def test_the_parts_of_a_wrapper_took_part_and_a_change_of_one_shows(seeded: Store) -> None:
    seeded.publish(HOUSE, actor="ann")
    seeded.publish(WITH_HOUSE, tenant="acme", **BOLD)
    first = seeded.assemble(ASKED, tenant="acme")
    assert "House rules. Be kind." in text(first)
    assert ("context.house", "global", 1) in {(ref.key, ref.scope, ref.version) for ref in first.templates}
    seeded.publish(HOUSE.replace("House rules.", "Other rules."), actor="ann")
    second = seeded.assemble(ASKED, tenant="acme")
    assert second.fingerprint != first.fingerprint
    assert seeded.assemble(ASKED, tenant="acme", at=first.revision) == first


def test_a_wrapper_that_shortens_a_value_is_warned_of(seeded: Store) -> None:
    source = "extends: context.system_prompt\nvariables:\n  - {name: content, max_length: 4}\n"
    seeded.publish(source, tenant="acme", **BOLD)
    context = seeded.assemble(ASKED, tenant="acme")
    assert "Be kind." not in text(context)
    assert context.warnings == ("context.system_prompt cuts content to its max_length",)


def test_what_wrappers_are_told_of_the_tenant_is_part_of_the_fingerprint(seeded: Store) -> None:
    seeded.publish(NOTE, tenant="acme", **BOLD)
    acme, support = (seeded.assemble(ASKED, tenant=tenant) for tenant in ("acme", "acme/support"))
    assert text(acme) != text(support) and acme.fingerprint != support.fingerprint


def test_the_trace_names_the_document_that_wrote_by_its_hash(seeded: Store) -> None:
    context = seeded.assemble(ASKED, tenant="acme")
    written = {segment.template.key: segment.template.hash for segment in context.trace if segment.template}
    assert written == {key: seeded.resolve(key, tenant="acme").document_hash for key in written}
    assert "context.memory" in written


def test_a_wrapper_comes_from_tenant_then_global_then_seed(seeded: Store) -> None:
    def scope(tenant: str) -> str:
        context = seeded.assemble(ASKED, tenant=tenant)
        return next(s.template.scope for s in context.trace if s.layer == "memory" and s.template)

    assert [scope("acme"), scope("globex")] == ["seed", "seed"]
    seeded.publish(NOTE, **BOLD)
    assert [scope("acme"), scope("globex")] == ["global", "global"]
    seeded.publish(NOTE, tenant="acme", **BOLD)
    assert [scope("acme"), scope("globex")] == ["acme", "global"]


@pytest.mark.parametrize(
    ("switch", "layer"),
    [("summaries_enabled", "recent_conversation_memory"), ("profile_enabled", "user_profile_memory")],
)
def test_a_layer_is_switched_off_by_itself(seeded: Store, switch: str, layer: str) -> None:
    asked = ASKED | {
        "summaries": [
            {"session_id": "o", "session_name": "O", "summary": "Of tea.", "updated_at": "2026-04-18T12:00:00Z"}
        ],
        "profile": {"content": "Lives in Ghent.", "updated_at": "2026-04-18T12:00:00Z"},
    }
    on = layers(seeded.assemble(asked, tenant="acme"))
    off = layers(seeded.assemble(asked | {"policy": {switch: False}}, tenant="acme"))
    assert [name for name in on if name not in off] == [layer]


def test_a_request_cannot_be_changed() -> None:
    request = AssembleRequest.model_validate(ASKED)
    with pytest.raises(ValidationError, match="frozen"):
        request.system_prompt = "other"  # type: ignore[misc]
