"""Folders into a scope: what a plan says before anything is done, and that applying it does just that, or nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from folders import CASES, write
from samples import memory, patch, prompt

import ovstore
from ovstore import Store, planning, seeding
from ovstore.planning import Plan
from ovstore.results import ChangeSet, PlanRow

OPTIONAL = {"name": "tone", "type": "string", "description": "t", "required": False}


def bring_in(store: Store, folder: Path, tenant: str | None = None, **options: bool) -> ChangeSet:
    plan = store.plan_import(folder, tenant=tenant, **options)
    return store.apply(plan, actor="ann", accept_risk="very_high", reason="because")


def rows(plan: Plan) -> dict[str, PlanRow]:
    return {row.key: row for row in plan.rows}


def actions(plan: Plan) -> dict[str, str]:
    return {row.key: row.action for row in plan.rows}


def codes(plan: Plan) -> list[str]:
    return [finding.code for finding in plan.findings]


def test_a_folder_comes_in_with_one_change_set(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt(), "memory/habits.yaml": memory()})
    plan = store.plan_import(tmp_path)
    done = store.apply(plan, actor="ann", reason="first")
    assert [(m.key, m.before, m.after) for m in done.moves] == [("habits", None, 1), ("semantic.note", None, 1)]
    assert {(e.change_set, e.actor, e.reason) for e in store.audit()} == {(plan.change_set, "ann", "first")}
    assert (done.id, done.revision) == (plan.change_set, store.resolve("habits").revision)


def test_a_plan_writes_nothing(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    store.plan_import(tmp_path, tenant="acme")
    assert (store.templates(tenant="acme"), store.tenants(), tuple(store.audit())) == ((), (), ())


def test_the_same_folder_again_changes_nothing(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt(), "memory/habits.yaml": memory()})
    first = bring_in(store, tmp_path)
    plan = store.plan_import(tmp_path, prune=True)
    assert set(actions(plan).values()) == {"unchanged"}
    assert (plan.risk, plan.findings, plan.revision) == ("none", (), first.revision)
    again = store.apply(plan, actor="ann")
    assert (again.moves, again.revision) == ((), first.revision)


def test_a_file_with_a_byte_order_mark_is_its_plain_twin(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    bring_in(store, tmp_path)
    write(tmp_path, {"semantic/note.yaml": b"\xef\xbb\xbf" + prompt().encode()})
    assert actions(store.plan_import(tmp_path)) == {"semantic.note": "unchanged"}


def test_a_plan_that_is_applied_twice_is_applied_once(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    plan = store.plan_import(tmp_path)
    first = store.apply(plan, actor="ann")
    store.publish(prompt(template="Later {{ q }}"), actor="bob")
    assert store.apply(plan, actor="ann") == first
    assert store.resolve("semantic.note").version == 2


def test_each_row_says_what_happens_to_its_key_and_what_it_hides(store: Store, tmp_path: Path) -> None:
    store.seed.publish(prompt("semantic.note"), actor="ann")
    store.publish(prompt("semantic.note", template="G {{ q }}"), actor="ann")
    store.seed.publish(memory(), actor="ann")
    for key in ("semantic.old", "semantic.same", "semantic.changed"):
        store.publish(prompt(key), tenant="acme", actor="ann")
    write(
        tmp_path,
        {
            "semantic/note.yaml": patch("semantic.note", template="A {{ q }}"),
            "memory/habits.yaml": memory(description="Mine"),
            "semantic/changed.yaml": prompt("semantic.changed", template="New {{ q }}"),
            "semantic/same.yaml": prompt("semantic.same"),
            "semantic/brandnew.yaml": prompt("semantic.brandnew"),
        },
    )
    plan = store.plan_import(tmp_path, tenant="acme", prune=True)
    assert [(r.key, r.action, r.scope, r.path, r.overrides) for r in plan.rows] == [
        ("habits", "override", "acme", "memory/habits.yaml", "seed:1"),
        ("semantic.brandnew", "add", "acme", "semantic/brandnew.yaml", None),
        ("semantic.changed", "update", "acme", "semantic/changed.yaml", None),
        ("semantic.note", "override", "acme", "semantic/note.yaml", "global:1"),
        ("semantic.old", "withdraw", "acme", "semantic/old.yaml", None),
        ("semantic.same", "unchanged", "acme", "semantic/same.yaml", None),
    ]
    assert {r.key: r.risk for r in plan.rows} == {
        "habits": "medium",
        "semantic.brandnew": "low",
        "semantic.changed": "low",
        "semantic.note": "low",
        "semantic.old": "high",
        "semantic.same": "none",
    }
    assert plan.risk == "high"
    assert [c.path for c in rows(plan)["semantic.note"].changes] == ["template"]


def test_what_was_applied_is_what_the_plan_said(store: Store, tmp_path: Path) -> None:
    store.seed.publish(memory(), actor="ann")
    write(tmp_path, {"memory/habits.yaml": memory(description="Mine", enabled=False), "a/b.yaml": prompt("a.b")})
    plan = store.plan_import(tmp_path, tenant="acme")
    done = store.apply(plan, actor="ann", accept_risk="high")
    assert {m.key: (m.risk, m.changes) for m in done.moves} == {r.key: (r.risk, r.changes) for r in plan.rows}


def test_a_plan_above_medium_needs_the_risk_accepted(store: Store, tmp_path: Path) -> None:
    store.publish(memory(), actor="ann")
    write(tmp_path, {"memory/habits.yaml": memory(enabled=False), "a/b.yaml": prompt("a.b")})
    plan = store.plan_import(tmp_path)
    with pytest.raises(ovstore.RiskError, match="enabled"):
        store.apply(plan, actor="ann")
    assert [t.key for t in store.templates()] == ["habits"]
    store.apply(plan, actor="ann", accept_risk="high")


def test_a_plan_is_refused_where_its_scope_has_moved(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    plan = store.plan_import(tmp_path, tenant="acme")
    store.publish(prompt("semantic.other"), tenant="acme", actor="bob")
    with pytest.raises(ovstore.StalePlanError) as caught:
        store.apply(plan, actor="ann")
    assert caught.value.expected == plan.revision
    assert caught.value.found == store.resolve("semantic.other", tenant="acme").revision
    assert [t.key for t in store.templates(tenant="acme")] == ["semantic.other"]


def test_a_plan_is_refused_where_a_layer_below_has_moved(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    plan = store.plan_import(tmp_path, tenant="acme/support")
    store.publish(prompt("semantic.other"), actor="bob")
    with pytest.raises(ovstore.StalePlanError):
        store.apply(plan, actor="ann")
    assert store.tenants() == ()


def test_a_plan_does_not_mind_what_happens_to_others(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    plan = store.plan_import(tmp_path, tenant="acme")
    store.publish(prompt("semantic.other"), tenant="globex", actor="bob")
    store.publish(prompt("semantic.other"), tenant="acme/support", actor="bob")
    assert len(store.apply(plan, actor="ann").moves) == 1


def test_a_plan_of_another_store_is_refused(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"in/semantic/note.yaml": prompt()})
    monkeypatch.setattr(seeding, "seed", lambda _: False)
    with ovstore.open("sqlite://", create=True) as other:
        plan = other.plan_import(tmp_path / "in")
    with pytest.raises(ovstore.ConflictError, match="another store"):
        store.apply(plan, actor="ann")


def test_a_plan_of_one_scope_cannot_be_applied_through_another(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    plan = store.plan_import(tmp_path)
    with pytest.raises(ovstore.ConflictError, match="for global, not for acme"):
        store.tenant("acme").apply(plan, actor="ann")


def test_files_with_errors_are_all_told_and_nothing_is_written(store: Store) -> None:
    plan = store.plan_import(CASES / "33_bad_file_reported" / "dir")
    assert actions(plan) == {"semantic.case33a": "add"}
    assert {Path(f.path or "").name for f in plan.findings if f.severity == "error"} == {"tab.yaml", "novar.yaml"}
    with pytest.raises(ovstore.InvalidDocumentError) as caught:
        store.apply(plan, actor="ann")
    assert {f.severity for f in caught.value.findings} == {"error"}
    assert store.templates() == ()


def test_strict_refuses_what_is_accepted_but_wrong(store: Store) -> None:
    folder = CASES / "47_tenant_reserved_traversal" / "idpath"
    with pytest.raises(ovstore.InvalidDocumentError, match="path-mismatch"):
        store.apply(store.plan_import(folder, strict=True), actor="ann")
    bring_in(store, folder)
    assert [(t.key, t.category) for t in store.templates()] == [("semantic.case47", "semantic")]


def test_strict_also_tells_the_warnings_of_what_is_live_already(store: Store) -> None:
    folder = CASES / "47_tenant_reserved_traversal" / "idpath"
    bring_in(store, folder)
    assert codes(store.plan_import(folder)) == []
    plan = store.plan_import(folder, strict=True)
    assert [(f.code, f.severity) for f in plan.findings] == [("path-mismatch", "error")]
    assert actions(plan) == {"semantic.case47": "unchanged"}


def test_two_files_of_one_key_are_refused_even_where_one_is_live(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"a/one.yaml": prompt("a.one")})
    bring_in(store, tmp_path)
    write(tmp_path, {"a/two.yaml": prompt("a.one", template="Other {{ q }}")})
    assert [f.code for f in store.plan_import(tmp_path).findings if f.severity == "error"] == ["duplicate-document"]


def test_a_category_narrows_files_findings_and_pruning(store: Store, tmp_path: Path) -> None:
    for key in ("semantic.old", "vision.old"):
        store.publish(prompt(key), actor="ann")
    write(tmp_path, {"semantic/note.yaml": prompt(), "vision/look.yaml": prompt("vision.look"), "vision/bad.yaml": "x"})
    plan = store.plan_import(tmp_path, category="semantic", prune=True)
    assert actions(plan) == {"semantic.note": "add", "semantic.old": "withdraw"}
    assert plan.findings == ()


def test_the_category_of_a_memory_schema_is_its_top_folder(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"extract/deep/habits.yaml": memory(), "tools.yaml": memory("tools")})
    bring_in(store, tmp_path)
    assert {t.key: t.category for t in store.templates()} == {"habits": "extract", "tools": "memory"}
    assert [v.path for v in store.versions("habits")] == ["extract/deep/habits.yaml"]
    assert actions(store.plan_import(tmp_path, category="extract")) == {"habits": "unchanged"}


def test_one_file_takes_the_place_of_what_it_overrides(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"all/extract/habits.yaml": memory(), "draft.yaml": memory(description="Mine"), "n.yaml": prompt()})
    bring_in(store, tmp_path / "all")
    plan = store.plan_import(tmp_path / "draft.yaml", tenant="acme")
    assert [(r.action, r.path) for r in plan.rows] == [("override", "extract/habits.yaml")]
    assert [r.path for r in store.plan_import(tmp_path / "n.yaml").rows] == ["semantic/note.yaml"]


def test_pruning_stops_overriding_so_that_the_next_layer_answers(store: Store, tmp_path: Path) -> None:
    store.publish(prompt(template="Global {{ q }}"), actor="ann")
    store.publish(prompt(template="Acme {{ q }}"), tenant="acme", actor="ann")
    write(tmp_path, {"semantic/other.yaml": prompt("semantic.other")})
    plan = store.plan_import(tmp_path, tenant="acme", prune=True)
    row = rows(plan)["semantic.note"]
    assert (row.action, row.overrides, row.risk) == ("withdraw", "global:1", "low")
    store.apply(plan, actor="ann")
    assert store.resolve("semantic.note", tenant="acme").scope == "global"


def test_pruning_spares_a_key_whose_file_is_broken(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt(), "semantic/other.yaml": prompt("semantic.other")})
    bring_in(store, tmp_path)
    write(tmp_path, {"semantic/note.yaml": "metadata: [", "semantic/other.yaml": patch("semantic.other", template=3)})
    plan = store.plan_import(tmp_path, prune=True)
    assert "withdraw" not in actions(plan).values()
    assert len([f for f in plan.findings if f.severity == "error"]) >= 1


def test_a_broken_contract_is_told_against_what_the_row_hides(store: Store, tmp_path: Path) -> None:
    store.seed.publish(prompt(variables=["q", OPTIONAL], template="{{ q }}{{ tone }}"), actor="ann")
    write(tmp_path, {"semantic/note.yaml": prompt()})
    (row,) = store.plan_import(tmp_path, tenant="acme").rows
    assert row.risk == "high"
    assert [w for w in row.warnings if "breaks the contract of seed:1" in w and "tone" in w]


def test_a_contract_stays_told_while_it_stays_broken(store: Store, tmp_path: Path) -> None:
    store.seed.publish(prompt(variables=["q", OPTIONAL], template="{{ q }}{{ tone }}"), actor="ann")
    write(tmp_path, {"semantic/note.yaml": prompt()})
    bring_in(store, tmp_path, "acme")
    write(tmp_path, {"semantic/note.yaml": prompt(template="Other words, {{ q }}")})
    (row,) = store.plan_import(tmp_path, tenant="acme").rows
    assert (row.action, row.risk) == ("update", "low")
    assert len([w for w in row.warnings if "breaks the contract of seed:1" in w]) == 1


@pytest.mark.parametrize(
    "slip",
    [
        *("semantic.document_sumary", "semantic.documnet_summary", "semantics.document_summary"),
        *("semantic.document-summary", "semantic.document.summary", "semantic.documentsummaary"),
    ],
)
def test_a_new_key_a_slip_away_from_one_below_is_a_warning(store: Store, tmp_path: Path, slip: str) -> None:
    store.seed.publish(prompt("semantic.document_summary"), actor="ann")
    write(tmp_path, {"x.yaml": prompt(slip)})
    plan = store.plan_import(tmp_path / "x.yaml")
    assert [(f.code, f.severity, f.line) for f in plan.findings] == [("near-key", "warning", 3)]
    assert "semantic.document_summary (seed:1)" in plan.findings[0].message
    assert plan.rows[0].warnings == ("new, and close to semantic.document_summary (seed:1)",)


@pytest.mark.parametrize("key", ["semantic.code_summary", "semantic.document_summary_v3", "vision.other", "profile"])
def test_a_new_key_that_is_another_word_or_number_is_no_slip(store: Store, tmp_path: Path, key: str) -> None:
    for known in ("semantic.document_summary", "semantic.document_summary_v2"):
        store.seed.publish(prompt(known), actor="ann")
    write(tmp_path, {"x.yaml": memory(key) if "." not in key else prompt(key)})
    assert "near-key" not in codes(store.plan_import(tmp_path / "x.yaml", tenant="acme"))


def test_a_key_that_a_layer_below_knows_is_no_slip(store: Store, tmp_path: Path) -> None:
    for known in ("semantic.note", "semantic.notes"):
        store.seed.publish(prompt(known), actor="ann")
    write(tmp_path, {"semantic/note.yaml": prompt(template="Mine {{ q }}")})
    assert codes(store.plan_import(tmp_path)) == []


def test_a_plan_over_several_categories_says_so(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt(), "vision/look.yaml": prompt("vision.look")})
    (found,) = store.plan_import(tmp_path).findings
    assert (found.code, found.severity) == ("several-categories", "info")
    assert "semantic (1), vision (1)" in found.message
    bring_in(store, tmp_path)
    assert codes(store.plan_import(tmp_path)) == []
    write(tmp_path, {"semantic/note.yaml": "# ours\n" + prompt()})
    # In acme, look would say what it says in global, and note differs by a comment.
    assert "several-categories" not in codes(store.plan_import(tmp_path, tenant="acme"))


def test_a_patch_that_does_not_fit_what_is_below_is_a_finding_at_its_place(store: Store, tmp_path: Path) -> None:
    store.publish(memory(), actor="ann")
    bad = "extends: habits\nfields:\n- name: content\n  merge_op: sum\n"
    write(tmp_path, {"memory/habits.yaml": bad, "memory/tools.yaml": "extends: tools\nenabled: false\n"})
    plan = store.plan_import(tmp_path, tenant="acme")
    found = {Path(f.path or "").name: f for f in plan.findings if f.severity == "error"}
    assert (found["habits.yaml"].code, found["habits.yaml"].line) == ("sum-on-text", 4)
    assert found["tools.yaml"].code == "patch-does-not-apply"
    assert "extends names tools, which no layer of acme (acme, global, seed) knows" in found["tools.yaml"].message
    assert plan.rows == ()


def test_a_patch_that_removes_what_is_not_there_is_told_at_the_item_and_one_without_a_base_at_extends(
    store: Store, tmp_path: Path
) -> None:
    store.publish(memory(), actor="ann")
    items = "enabled: false\nextends: habits\nfields:\n- {name: content}\n- {name: mood, $remove: true}\n"
    write(tmp_path, {"memory/habits.yaml": items, "memory/tools.yaml": "enabled: false\nextends: tools\n"})
    found = store.plan_import(tmp_path, tenant="acme").findings
    assert {Path(f.path or "").name: (f.code, f.line, f.column) for f in found} == {
        "habits.yaml": ("patch-does-not-apply", 5, 3),
        "tools.yaml": ("patch-does-not-apply", 2, 10),
    }


def test_a_patch_that_no_longer_fits_says_what_to_do_also_where_no_file_is_at_hand(store: Store) -> None:
    plain = memory()
    mood = {"name": "mood", "type": "string", "description": "m"}
    store.publish(memory(fields=[*json.loads(plain)["fields"], mood]), actor="ann")
    removes = patch("habits", fields=[{"name": "mood", "$remove": True}])
    store.publish(removes, tenant="acme", actor="ann", live=False, accept_risk="high")
    store.publish(plain, actor="ann", accept_risk="high")
    with pytest.raises(ovstore.InvalidDocumentError) as refused:
        store.activate("habits", 1, tenant="acme", actor="ann", accept_risk="high")
    (found,) = refused.value.findings
    assert (found.code, found.path, found.line) == ("patch-does-not-apply", None, None)
    assert "ovstore explain" in found.hint


def test_overrides_above_that_would_break_are_told_and_can_be_frozen(store: Store, tmp_path: Path) -> None:
    store.publish(memory(), actor="ann")
    store.publish(
        patch("habits", fields=[{"name": "content", "$remove": True}]), tenant="acme", actor="bob", accept_risk="high"
    )
    write(tmp_path, {"memory/habits.yaml": memory(fields=[{"name": "name"}])})
    plan = store.plan_import(tmp_path)
    assert any("acme" in warning and "breaks an override" in warning for warning in plan.rows[0].warnings)
    with pytest.raises(ovstore.ContractError):
        store.apply(plan, actor="ann", accept_risk="very_high", reason="r")
    done = store.apply(plan, actor="ann", accept_risk="very_high", reason="r", dependents="freeze")
    assert [m.key for m in done.moves] == ["habits"]
    assert store.versions("habits", tenant="acme")[0].mode == "full"
    assert store.apply(plan, actor="ann", reason="r") == done


def test_a_text_that_was_rolled_back_is_refused_with_who_and_why(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt(template="Bad {{ q }}")})
    store.publish(prompt(), actor="ann")
    bring_in(store, tmp_path)
    store.rollback("semantic.note", actor="bob", reason="it shouted")
    plan = store.plan_import(tmp_path)
    assert plan.rows[0].risk == "high"
    assert any("bob" in warning and "it shouted" in warning for warning in plan.rows[0].warnings)
    with pytest.raises(ovstore.RiskError, match="bob rolled back from this very text"):
        store.apply(plan, actor="deploy")


def test_a_key_that_was_withdrawn_is_told_to_come_back(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    bring_in(store, tmp_path)
    store.withdraw("semantic.note", actor="bob", reason="unused", accept_risk="high")
    (row,) = store.plan_import(tmp_path).rows
    assert row.action == "add"
    assert row.warnings == ("was withdrawn from global after version 1 and comes back",)


def test_experimental_schemas_are_left_out_unless_asked_for(store: Store, tmp_path: Path) -> None:
    plain, experiment = memory(), memory(description="An experiment")
    write(tmp_path, {"memory/habits.yaml": plain, "memory/experimental_memory/habits.yaml": experiment})
    bring_in(store, tmp_path)
    assert store.resolve("habits").document["description"] != "An experiment"
    plan = store.plan_import(tmp_path, experimental_memory=True)
    assert [(r.action, r.path) for r in plan.rows] == [("update", "memory/experimental_memory/habits.yaml")]
    store.apply(plan, actor="ann")
    assert store.resolve("habits").document["description"] == "An experiment"
    assert actions(store.plan_import(tmp_path, experimental_memory=True)) == {"habits": "unchanged"}


def test_a_live_experimental_schema_is_not_pruned_for_being_left_out(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"memory/experimental_memory/habits.yaml": memory(), "memory/tools.yaml": memory("tools")})
    bring_in(store, tmp_path, experimental_memory=True)
    assert actions(store.plan_import(tmp_path, prune=True)) == {"tools": "unchanged"}


def test_a_scope_that_moves_while_files_are_read_is_read_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    bring_in(store, tmp_path)
    collect = planning._collect

    def meanwhile(*arguments: object) -> object:
        monkeypatch.setattr(planning, "_collect", collect)
        store.publish(prompt(template="Meanwhile {{ q }}"), actor="bob")
        return collect(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(planning, "_collect", meanwhile)
    plan = store.plan_import(tmp_path)
    assert actions(plan) == {"semantic.note": "update"}
    store.apply(plan, actor="ann", accept_risk="high")


def test_more_than_a_plan_can_hold_is_refused(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MAX_BYTES", 500)
    write(tmp_path, {f"a/n{n}.yaml": prompt(f"a.n{n}") for n in range(5)})
    plan = store.plan_import(tmp_path)
    assert "folder-too-large" in [f.code for f in plan.findings if f.severity == "error"]


def test_a_plan_knows_its_scope_in_a_workspace_never_written_to(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    done = bring_in(store, tmp_path, "acme/support")
    assert done.revision.startswith("acme/support@1.")
    assert [t.name for t in store.tenants()] == ["acme/support"]


def test_a_tree_that_moved_in_the_meantime_keeps_its_versions(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "one", {"semantic/note.yaml": prompt()})
    bring_in(store, tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert actions(store.plan_import(tmp_path / "two")) == {"semantic.note": "unchanged"}


def test_a_prompt_and_the_part_that_it_includes_come_in_together(store: Store, tmp_path: Path) -> None:
    user = prompt(template="{% include 'shared.tone' %} {{ q }}")
    write(tmp_path, {"semantic/note.yaml": user, "shared/tone.yaml": prompt("shared.tone", "Be brief.", ())})
    bring_in(store, tmp_path, "acme")
    assert store.render("semantic.note", {"q": "x"}, tenant="acme").text == "Be brief. x"


def test_a_part_that_nobody_has_is_a_finding_at_its_place(store: Store, tmp_path: Path) -> None:
    source = "# first\n" + prompt(template="{% include 'shared.tone' %} {{ q }}")
    write(tmp_path, {"semantic/note.yaml": source})
    (found,) = [f for f in store.plan_import(tmp_path).findings if f.severity == "error"]
    assert (found.code, found.path) == ("part-missing", str(tmp_path / "semantic/note.yaml"))
    assert found.line is not None


def test_an_empty_folder_prunes_nothing_since_it_is_a_mistake_more_often_than_meant(
    store: Store, tmp_path: Path
) -> None:
    assert codes(store.plan_import(tmp_path, tenant="acme", prune=True)) == ["no-documents"]
    store.publish(prompt(), tenant="acme", actor="ann")
    for category in (None, "semantic"):
        plan = store.plan_import(tmp_path, tenant="acme", prune=True, category=category)
        (found,) = plan.errors
        assert found.code == "nothing-to-keep"
        assert "would withdraw 1 from acme" in found.message
        with pytest.raises(ovstore.InvalidDocumentError):
            store.apply(plan, actor="ann")
    write(tmp_path, {"vision/look.yaml": prompt("vision.look")})
    assert store.plan_import(tmp_path, tenant="acme", prune=True, category="semantic").errors == ()


def test_one_file_is_nothing_to_prune_by(store: Store, tmp_path: Path) -> None:
    write(tmp_path, {"note.yaml": prompt()})
    with pytest.raises(ovstore.InvalidArgumentError, match="prune goes with a folder"):
        store.plan_import(tmp_path / "note.yaml", prune=True)


def test_pruning_a_part_that_is_in_use_is_told(store: Store, tmp_path: Path) -> None:
    user = prompt(template="{% include 'shared.tone' %} {{ q }}")
    write(tmp_path, {"semantic/note.yaml": user, "shared/tone.yaml": prompt("shared.tone", "Be brief.", ())})
    bring_in(store, tmp_path)
    (tmp_path / "shared/tone.yaml").unlink()
    plan = store.plan_import(tmp_path, prune=True)
    assert actions(plan) == {"semantic.note": "unchanged", "shared.tone": "withdraw"}
    assert any("semantic.note" in warning for warning in rows(plan)["shared.tone"].warnings)
    with pytest.raises(ovstore.ContractError):
        store.apply(plan, actor="ann", accept_risk="very_high", reason="because")


MANY = """
import resource, sys
from pathlib import Path
import ovstore

def peak():
    status = Path("/proc/self/status")
    if status.exists():  # Linux counts the parent's peak into ru_maxrss
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 * 1024)

url, folder, bad = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
with ovstore.open(url) as store:
    broken = store.plan_import(folder)
    for name in bad:
        (folder / f"many/{name}.yaml").write_text((folder / "good.txt").read_text().replace("NAME", name))
    try:
        store.apply(broken, actor="ann")
    except ovstore.InvalidDocumentError as error:
        print(len(error.findings), len(broken.rows), len(store.templates()))
    done = store.apply(store.plan_import(folder), actor="ann")
    again = store.plan_import(folder, prune=True)
    print(len(done.moves), {row.action for row in again.rows})
print(peak())
"""


@pytest.mark.parametrize(
    ("count", "most"),
    [
        (1_000, 250),
        pytest.param(10_000, 400, marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
def test_many_files_are_planned_and_applied_whole_in_bounded_memory(
    url: str, tmp_path: Path, count: int, most: int
) -> None:
    source = prompt("many.NAME", "Text NAME\n" * 100 + "{{ q }}")
    files = {f"many/n{n:05}.yaml": source.replace("NAME", f"n{n:05}") for n in range(count)}
    bad = [f"n{n:05}" for n in (0, count // 2, count - 1)]
    files |= {f"many/{name}.yaml": "metadata: [" for name in bad}
    folder = write(tmp_path / "in", {**files, "good.txt": source})
    command = [sys.executable, "-W", "error", "-c", MANY, url, str(folder), *bad]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    errors, imported, megabytes = done.stdout.splitlines()
    assert errors == f"3 {count - 3} 0"
    assert imported == f"{count} {{'unchanged'}}"
    assert int(megabytes) < most
