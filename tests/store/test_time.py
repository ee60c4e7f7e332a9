"""As-of answers: by revision the same for ever, by time what the entries up to it imply."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from samples import memory, patch, prompt
from scenes import no_longer_carried

import ovstore
from ovstore import Store


def text(store: Store, at: datetime | str, tenant: str | None = None, label: str = "live") -> str:
    return str(store.resolve("semantic.note", tenant=tenant, at=at, label=label).document["template"])


def test_a_revision_answers_the_same_for_ever(store: Store) -> None:
    answers: dict[str, str] = {}
    store.publish(prompt(template="G1 {{ q }}"), actor="ann")
    for step in range(4):
        if step % 2:
            store.publish(prompt(template=f"G{step} {{{{ q }}}}"), actor="ann")
        else:
            store.publish(patch("semantic.note", template=f"T{step} {{{{ q }}}}"), tenant="acme", actor="bob")
        resolved = store.resolve("semantic.note", tenant="acme")
        answers[resolved.revision] = str(resolved.document["template"])
    store.withdraw("semantic.note", tenant="acme", actor="bob", reason="r")
    for revision, expected in answers.items():
        past = store.resolve("semantic.note", tenant="acme", at=revision)
        assert (past.document["template"], past.revision) == (expected, revision)


def test_a_time_answers_what_was_served_then(store: Store) -> None:
    store.publish(prompt(template="one {{ q }}"), actor="ann")
    then = store.history("semantic.note")[0].at
    store.publish(prompt(template="two {{ q }}"), actor="ann")
    assert text(store, then) == "one {{ q }}"
    assert text(store, datetime.now(UTC)) == "two {{ q }}"
    with pytest.raises(ovstore.NotFoundError, match="at that time"):
        text(store, then - timedelta(microseconds=1))


def test_before_a_key_came_no_other_is_taken_for_the_one_that_was_meant(store: Store) -> None:
    store.publish(prompt("semantic.notes"), actor="ann")
    store.publish(prompt(), actor="ann")
    then = store.history("semantic.note")[0].at
    with pytest.raises(ovstore.NotFoundError) as refused:
        text(store, then - timedelta(microseconds=1))
    assert refused.value.near == ()


def test_a_label_is_a_lens_in_the_past_too(store: Store) -> None:
    store.publish(prompt(template="one {{ q }}"), actor="ann")
    store.publish(prompt(template="draft {{ q }}"), actor="ann", live=False)
    before = store.resolve("semantic.note").revision
    store.activate("semantic.note", 2, label="staging", actor="ann")
    during = store.resolve("semantic.note").revision
    store.withdraw("semantic.note", label="staging", actor="ann", reason="r")
    after = store.resolve("semantic.note").revision
    assert [text(store, at, label="staging") for at in (before, during, after)] == [
        "one {{ q }}",
        "draft {{ q }}",
        "one {{ q }}",
    ]


def test_naive_and_future_times_are_errors_that_say_so(store: Store) -> None:
    with pytest.raises(ovstore.InvalidArgumentError, match="no time zone"):
        store.resolve("semantic.note", at=datetime(2026, 1, 1))
    with pytest.raises(ovstore.InvalidArgumentError, match="in the future"):
        store.resolve("semantic.note", at=datetime.now(UTC) + timedelta(hours=1))


def test_a_revision_of_another_chain_or_store_is_refused(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    store.publish(prompt(), tenant="acme", actor="ann")
    store.publish(prompt(), tenant="globex", actor="ann")
    with pytest.raises(ovstore.InvalidArgumentError):
        store.resolve("semantic.note", tenant="acme", at=store.resolve("semantic.note", tenant="globex").revision)
    with pytest.raises(ovstore.InvalidArgumentError):
        store.resolve("semantic.note", tenant="acme", at=store.resolve("semantic.note").revision)
    forged = store.resolve("semantic.note").revision.replace("global@1.", "global@1.00")[:-2]
    with pytest.raises(ovstore.OvstoreError):
        store.resolve("semantic.note", at=forged)
    with pytest.raises(ovstore.NotFoundError):
        store.resolve("semantic.note", at=f"global@9.{'0' * 16} seed@0.{'0' * 16}")


def test_explain_and_templates_take_a_past_state(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    then = store.resolve("semantic.note", tenant="acme").revision
    store.publish(prompt(template="T {{ q }}"), tenant="acme", actor="ann")
    assert store.explain("semantic.note", tenant="acme", at=then).layers[1].answered
    assert [listing.scope for listing in store.templates(tenant="acme", at=then)] == ["global"]
    assert [listing.scope for listing in store.templates(tenant="acme")] == ["acme"]


def test_no_answer_by_revision_changes_when_the_clock_jumps_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.publish(prompt(template="one {{ q }}"), actor="ann")
    first = store.resolve("semantic.note").revision
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600_000_000_000)
    store.publish(prompt(template="two {{ q }}"), actor="ann")
    second = store.resolve("semantic.note").revision
    monkeypatch.undo()
    assert (text(store, first), text(store, second)) == ("one {{ q }}", "two {{ q }}")
    times = [entry.at for entry in store.history("semantic.note")]
    assert times[0] > times[1]


def test_a_tenant_is_put_back_to_a_time(store: Store) -> None:
    store.publish(prompt(template="G {{ q }}"), actor="ann")
    store.publish(prompt("semantic.other", template="O {{ q }}"), actor="ann")
    store.publish(prompt(template="T1 {{ q }}"), tenant="acme", actor="bob")
    monday = store.resolve("semantic.note", tenant="acme").revision
    store.publish(prompt(template="T2 {{ q }}"), tenant="acme", actor="bob")
    store.publish(prompt("semantic.other", template="born later {{ q }}"), tenant="acme", actor="bob")
    moves = store.rollback_tenant("acme", to=monday, actor="carol", reason="back to Monday")
    assert [(m.key, m.before, m.after, m.restored, m.differs) for m in moves] == [
        ("semantic.note", 2, 1, True, ()),
        ("semantic.other", 1, None, True, ()),
    ]
    assert store.resolve("semantic.note", tenant="acme").document["template"] == "T1 {{ q }}"
    assert store.resolve("semantic.other", tenant="acme").scope == "global"
    store.rollback("semantic.note", tenant="acme", actor="carol", reason="undo")
    assert store.resolve("semantic.note", tenant="acme").document["template"] == "T2 {{ q }}"


def test_what_a_tenant_inherits_is_not_rolled_back_and_is_told(store: Store) -> None:
    store.publish(prompt(template="G1 {{ q }}"), actor="ann")
    store.publish(patch("semantic.note", llm_config={"top_p": 1}), tenant="acme", actor="bob")
    then = store.history("semantic.note", tenant="acme")[0].at
    store.publish(patch("semantic.note", llm_config={"top_p": 2}), tenant="acme", actor="bob")
    store.publish(prompt(template="G2 {{ q }}"), actor="ann")
    (move,) = store.rollback_tenant("acme", to=then, actor="carol", reason="r")
    assert (move.restored, move.differs) == (False, ("global",))
    again = store.rollback_tenant("acme", to=then, actor="carol", reason="r")
    assert [(m.before, m.after, m.restored) for m in again] == [(1, 1, False)]


def test_workspaces_go_along_when_asked(store: Store) -> None:
    store.publish(prompt(template="G {{ q }}"), actor="ann")
    store.publish(prompt(template="W1 {{ q }}"), tenant="acme/support", actor="bob")
    store.publish(prompt(template="T1 {{ q }}"), tenant="acme", actor="bob")
    then = store.history("semantic.note", tenant="acme")[0].at
    store.publish(prompt(template="W2 {{ q }}"), tenant="acme/support", actor="bob")
    store.publish(prompt(template="T2 {{ q }}"), tenant="acme", actor="bob")
    store.rollback_tenant("acme", to=then, actor="carol", reason="r")
    assert store.resolve("semantic.note", tenant="acme/support").version == 2
    moves = store.rollback_tenant("acme", to=then, workspaces=True, actor="carol", reason="r", change_set="monday")
    assert [(m.scope, m.after) for m in moves] == [("acme/support", 1)]
    again = store.rollback_tenant("acme", to=then, workspaces=True, actor="carol", reason="r", change_set="monday")
    assert [(m.scope, m.after) for m in again] == [("acme/support", 1)]


def test_a_restored_patch_that_its_base_no_longer_carries_refuses_or_freezes(store: Store) -> None:
    then = no_longer_carried(store)
    with pytest.raises(ovstore.ContractError, match=r"removes variables\[tone\]"):
        store.rollback_tenant("acme", to=then, actor="carol", reason="r")
    (move,) = store.rollback_tenant("acme", to=then, actor="carol", reason="r", dependents="freeze")
    assert (move.after, move.restored) == (2, True)
    assert store.resolve("semantic.note", tenant="acme").document["template"] == "mine {{ q }}"


def test_global_can_be_put_back_too(store: Store) -> None:
    store.publish(prompt(template="one {{ q }}"), actor="ann")
    then = store.resolve("semantic.note").revision
    store.publish(prompt(template="two {{ q }}"), actor="ann")
    (move,) = store.rollback_tenant(None, to=then, actor="carol", reason="r")
    assert (move.scope, move.after) == ("global", 1)


def test_a_revision_puts_workspaces_back_to_as_long_as_it_held(store: Store) -> None:
    store.publish(prompt(template="G {{ q }}"), actor="ann")
    store.publish(prompt(template="T1 {{ q }}"), tenant="acme", actor="bob")
    store.publish(prompt(template="W1 {{ q }}"), tenant="acme/support", actor="bob")
    monday = store.resolve("semantic.note", tenant="acme").revision
    store.publish(prompt(template="T2 {{ q }}"), tenant="acme", actor="bob")
    store.publish(prompt(template="W2 {{ q }}"), tenant="acme/support", actor="bob")
    moves = store.rollback_tenant("acme", to=monday, workspaces=True, actor="carol", reason="r")
    assert [(m.scope, m.before, m.after) for m in moves] == [("acme", 2, 1), ("acme/support", 2, 1)]


def test_a_key_that_returns_is_compared_with_what_its_own_scope_served_last(store: Store) -> None:
    store.publish(memory(), tenant="acme", actor="bob")
    then = store.resolve("habits", tenant="acme").revision
    store.withdraw("habits", tenant="acme", actor="bob", reason="r", accept_risk="very_high")
    store.publish(memory(description="desk"), tenant="acme/desk", actor="bob")
    (move, _) = store.rollback_tenant("acme", to=then, workspaces=True, actor="carol", reason="r")
    assert (move.scope, move.after, move.changes, move.risk) == ("acme", 1, (), "none")


def test_a_patch_that_comes_back_as_a_copy_comes_back_to_its_place(store: Store, tmp_path: Path) -> None:
    store.publish(prompt(template="{{ q }} {{ tone }}", variables=["q", "tone"]), actor="ann")
    removal = patch("semantic.note", template="mine {{ q }}", variables=[{"name": "tone", "$remove": True}])
    (tmp_path / "mine.yaml").write_text(removal)
    store.apply(store.plan_import(tmp_path, tenant="acme"), actor="bob", accept_risk="high")
    then = store.resolve("semantic.note", tenant="acme").revision
    store.withdraw("semantic.note", tenant="acme", actor="bob", reason="r", accept_risk="high")
    store.publish(prompt(template="{{ q }}"), actor="ann", accept_risk="high")
    store.rollback_tenant("acme", to=then, actor="carol", reason="r", dependents="freeze")
    assert store.versions("semantic.note", tenant="acme")[0].path == "mine.yaml"


def test_a_write_has_one_time_later_than_all_that_it_was_judged_by(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.publish(prompt(), actor="ann")
    store.publish(prompt(template="T {{ q }}"), tenant="acme/desk", actor="bob")
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600_000_000_000)
    for n in range(3):
        (tmp_path / f"{n}.yaml").write_text(prompt(f"semantic.n{n}"))
    store.apply(store.plan_import(tmp_path), actor="ann")
    newest, *before = [entry.at for entry in store.audit()][2:]
    assert {entry.at for entry in store.audit(tenant=None)} == {newest, before[-1]}
    assert all(newest > at for at in before)
