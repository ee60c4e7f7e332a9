"""Publish: versions, overrides, drafts, what is refused and what changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import memory, patch, prompt

import ovstore
from ovstore import Store


def test_a_published_prompt_is_what_every_tenant_gets(store: Store) -> None:
    store.publish(prompt(template="Hello {{ q }}"), actor="ann")
    for tenant in (None, "acme", "acme/support"):
        resolved = store.resolve("semantic.note", tenant=tenant)
        assert (resolved.scope, resolved.version, resolved.document["template"]) == ("global", 1, "Hello {{ q }}")


def test_an_override_is_served_to_its_tenant_and_workspaces_alone(store: Store) -> None:
    store.publish(prompt(template="Global {{ q }}"), actor="ann")
    store.publish(prompt(template="Acme {{ q }}"), tenant="acme", actor="bob")
    assert store.resolve("semantic.note", tenant="acme/support").scope == "acme"
    assert store.resolve("semantic.note", tenant="globex").scope == "global"
    assert store.resolve("semantic.note").scope == "global"


def test_versions_are_numbered_without_gaps_and_kept(store: Store) -> None:
    for n in range(1, 4):
        published = store.publish(prompt(template=f"Text {n} {{{{ q }}}}"), actor="ann")
        assert published.version == n
    assert [v.number for v in store.versions("semantic.note")] == [3, 2, 1]
    assert b"Text 1" in store.versions("semantic.note")[-1].source


def test_the_same_source_again_changes_nothing_and_says_so(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    again = store.publish(prompt(), actor="bob")
    assert (again.unchanged, again.version, again.changes) == (True, 1, ())
    assert len(store.history("semantic.note")) == 1


def test_another_layout_is_a_version_without_changes(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    again = store.publish("# a comment\n" + prompt(), actor="ann")
    assert (again.unchanged, again.version, again.changes, again.risk) == (False, 2, (), "none")


def test_a_patch_is_folded_on_what_is_below_it(store: Store) -> None:
    store.publish(prompt(template="Global {{ q }}", llm_config={"temperature": 0.0, "top_p": 1}), actor="ann")
    store.publish(patch("semantic.note", llm_config={"temperature": 0.5}), tenant="acme", actor="bob")
    store.publish(patch("semantic.note", template="Support {{ q }}"), tenant="acme/support", actor="bob")
    resolved = store.resolve("semantic.note", tenant="acme/support")
    assert resolved.document["template"] == "Support {{ q }}"
    assert resolved.document["llm_config"] == {"temperature": 0.5, "top_p": 1}
    assert resolved.provenance.fields["template"].scope == "acme/support"
    assert resolved.provenance.fields["llm_config.temperature"].scope == "acme"
    assert resolved.provenance.fields["llm_config.top_p"].scope == "global"


def test_a_global_publish_reaches_a_tenant_through_its_patch(store: Store) -> None:
    store.publish(prompt(template="Global {{ q }}"), actor="ann")
    store.publish(patch("semantic.note", llm_config={"temperature": 0.5}), tenant="acme", actor="bob")
    store.publish(prompt(template="Global, newer: {{ q }}"), actor="ann")
    assert store.resolve("semantic.note", tenant="acme").document["template"] == "Global, newer: {{ q }}"


def test_a_patch_of_nothing_is_refused(store: Store) -> None:
    with pytest.raises(ovstore.InvalidDocumentError) as refused:
        store.publish(patch("semantic.note", template="x"), tenant="acme", actor="bob")
    assert [f.code for f in refused.value.findings] == ["patch-does-not-apply"]
    assert list(store.audit()) == []


def test_a_patch_whose_fold_is_invalid_is_refused_with_its_findings(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    with pytest.raises(ovstore.InvalidDocumentError, match="undeclared"):
        store.publish(patch("semantic.note", template="{{ undeclared }}"), tenant="acme", actor="bob")


def test_a_draft_is_a_version_that_nobody_gets(store: Store) -> None:
    store.publish(prompt(template="Live {{ q }}"), actor="ann")
    draft = store.publish(prompt(template="Draft {{ q }}"), actor="ann", live=False)
    assert draft.version == 2
    assert store.resolve("semantic.note").version == 1
    assert store.resolve("semantic.note", version=2).document["template"] == "Draft {{ q }}"
    assert store.history("semantic.note")[0].label is None


def test_expected_is_checked_first(store: Store) -> None:
    store.publish(prompt(), actor="ann", expected=0)
    with pytest.raises(ovstore.ConflictError) as conflict:
        store.publish(prompt(template="Other {{ q }}"), actor="ann", expected=0)
    assert (conflict.value.expected, conflict.value.found) == (0, 1)
    assert store.resolve("semantic.note").version == 1


def test_a_change_set_is_applied_once_and_answers_the_same(store: Store) -> None:
    first = store.publish(prompt(), actor="ann", change_set="deploy-1")
    store.publish(prompt(template="Newer {{ q }}"), actor="ann")
    again = store.publish(prompt(), actor="ann", change_set="deploy-1")
    assert again == first
    assert store.resolve("semantic.note").version == 2


def test_a_change_set_used_for_something_else_is_a_conflict(store: Store) -> None:
    store.publish(prompt(), actor="ann", change_set="deploy-1")
    with pytest.raises(ovstore.ConflictError, match="deploy-1 was used already"):
        store.publish(prompt("semantic.other"), actor="ann", change_set="deploy-1")


def test_a_high_risk_needs_to_be_accepted_and_the_refusal_lists_the_change(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    renamed = prompt(template="Note {{ query }}", variables=["query"])
    with pytest.raises(ovstore.RiskError) as refused:
        store.publish(renamed, actor="ann")
    assert refused.value.risk == "high"
    assert "variables[q]" in str(refused.value) and 'accept_risk="high"' in str(refused.value)
    assert store.publish(renamed, actor="ann", accept_risk="high").risk == "high"


def test_a_very_high_risk_needs_a_reason_too(store: Store) -> None:
    store.publish(memory(), actor="ann")
    changed = memory(directory="viking://user/{{ user_space }}/elsewhere")
    with pytest.raises(ovstore.RiskError, match="a reason"):
        store.publish(changed, actor="ann", accept_risk="very_high")
    assert store.publish(changed, actor="ann", accept_risk="very_high", reason="moved").risk == "very_high"


def test_an_author_may_declare_a_higher_risk(store: Store) -> None:
    store.publish(prompt(template="One {{ q }}"), actor="ann")
    with pytest.raises(ovstore.RiskError):
        store.publish(prompt(template="Two {{ q }}"), actor="ann", risk="high")
    assert store.publish(prompt(template="Two {{ q }}"), actor="ann", risk="high", accept_risk="high").risk == "high"


def test_the_first_override_is_judged_against_what_the_tenant_gets_now(store: Store) -> None:
    store.publish(memory(), actor="ann")
    with pytest.raises(ovstore.RiskError) as refused:
        store.publish(patch("habits", fields=[{"name": "content", "merge_op": "replace"}]), tenant="acme", actor="bob")
    assert [(c.path, c.before, c.after) for c in refused.value.changes] == [
        ("fields[content].merge_op", "patch", "replace")
    ]


def test_a_source_that_was_rolled_back_from_is_high_and_says_who_rolled_back(store: Store) -> None:
    store.publish(prompt(template="Good {{ q }}"), actor="ann")
    store.publish(prompt(template="Bad {{ q }}"), actor="ann")
    store.rollback("semantic.note", actor="oncall", reason="answers broke")
    with pytest.raises(ovstore.RiskError, match=r"oncall rolled back .*: answers broke"):
        store.publish(prompt(template="Bad {{ q }}"), actor="deploy")
    published = store.publish(prompt(template="Bad {{ q }}"), actor="deploy", accept_risk="high")
    assert published.version == 3
    assert store.resolve("semantic.note").version == 3


def test_everything_wrong_with_a_source_is_told_at_once(store: Store) -> None:
    with pytest.raises(ovstore.InvalidDocumentError) as refused:
        store.publish("metadata:\n  id: semantic.note\n", actor="ann")
    assert len(refused.value.findings) >= 5


@pytest.mark.parametrize("actor", ["", "  ", "a\nb", "a\x00b", "x" * 201, None, 7])
def test_an_actor_that_could_forge_a_line_is_refused(store: Store, actor: object) -> None:
    with pytest.raises(ovstore.InvalidArgumentError) as refused:
        store.publish(prompt(), actor=actor)  # type: ignore[arg-type]
    assert refused.value.argument == "actor"


def test_a_refusal_lists_what_is_above_what_was_accepted(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    with pytest.raises(ovstore.RiskError, match="medium    template: ") as refused:
        store.publish(prompt(template="{% if q %}x{% endif %}"), actor="ann", accept_risk="low")
    assert (refused.value.risk, refused.value.accepted) == ("medium", "low")


def test_a_new_version_without_a_file_stays_where_its_own_scope_has_it(store: Store, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "h.yaml").write_text(memory())
    store.apply(store.plan_import(tmp_path), actor="ann")
    store.publish(memory(description="other"), actor="ann")
    store.publish(memory(description="mine"), tenant="acme", actor="bob")
    assert {v.path for v in store.versions("habits", tenant="acme")} == {"events/h.yaml"}
    assert {e.category for e in store.audit(key="habits")} == {"events"}


def test_freezing_where_nothing_stands_above_does_nothing(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    store.publish(prompt(template="mine {{ q }}"), tenant="acme", actor="bob", dependents="freeze")
    assert [entry.action for entry in store.audit(tenant="acme")] == ["publish"]


def test_everything_wrong_with_a_folded_patch_is_told_at_once(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    with pytest.raises(ovstore.InvalidDocumentError) as refused:
        store.publish(
            patch("semantic.note", template="{{ zz }}", variables=[{"name": "n"}]), tenant="acme", actor="bob"
        )
    assert {(f.code, f.line) for f in refused.value.findings if f.severity == "error"} == {
        ("missing-key", 5),
        ("undeclared-variable", 3),
    }
