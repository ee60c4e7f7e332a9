"""Who changed what: every way in which merge_op moves is answered by one query."""

from __future__ import annotations

from typing import Any

import pytest
from samples import memory, patch, prompt

import ovstore
from ovstore import Store

NAME = {"name": "name", "type": "string", "description": "n", "merge_op": "immutable"}


def content(**extra: Any) -> dict[str, Any]:
    return {"name": "content", "type": "string", "description": "c", **extra}


def merge_ops(store: Store, **filters: Any) -> list[tuple[str, str, Any, Any]]:
    """Action and change of each row about merge_op, oldest first."""
    return [
        (entry.action, change.path, change.before, change.after)
        for entry in reversed(list(store.audit(field="merge_op", **filters)))
        for change in entry.changes
        if change.field == "merge_op"
    ]


@pytest.fixture
def habits(store: Store) -> Store:
    store.publish(memory(fields=[NAME, content(merge_op="patch")]), actor="ann")
    return store


def set_op(store: Store, op: str, tenant: str | None = None) -> None:
    store.publish(
        memory(fields=[NAME, content(merge_op=op)]), tenant=tenant, actor="bob", reason="r", accept_risk="very_high"
    )


def test_a_publish_that_changes_it_is_a_row(habits: Store) -> None:
    set_op(habits, "replace")
    assert merge_ops(habits) == [("publish", "fields[content].merge_op", "patch", "replace")]


def test_reordering_fields_is_no_row(habits: Store) -> None:
    habits.publish(memory(fields=[content(merge_op="patch"), NAME]), actor="bob")
    assert merge_ops(habits) == []


def test_an_implicit_default_that_becomes_explicit_is_no_row(store: Store) -> None:
    store.publish(memory(fields=[NAME, content()]), actor="ann")
    store.publish(memory(fields=[NAME, content(merge_op="patch")]), actor="ann")
    assert merge_ops(store) == []


def test_a_rollback_is_a_row(habits: Store) -> None:
    set_op(habits, "replace")
    habits.rollback("habits", actor="bob", reason="r", accept_risk="very_high")
    assert merge_ops(habits)[-1] == ("rollback", "fields[content].merge_op", "replace", "patch")


def test_a_patch_override_and_its_withdrawal_are_rows(habits: Store) -> None:
    habits.publish(
        patch("habits", fields=[{"name": "content", "merge_op": "replace"}]),
        tenant="acme",
        actor="bob",
        reason="r",
        accept_risk="very_high",
    )
    habits.withdraw("habits", tenant="acme", actor="bob", reason="r", accept_risk="very_high")
    assert merge_ops(habits, tenant="acme") == [
        ("publish", "fields[content].merge_op", "patch", "replace"),
        ("withdraw", "fields[content].merge_op", "replace", "patch"),
    ]


def test_a_field_that_comes_or_goes_is_a_row(habits: Store) -> None:
    more = [NAME, content(merge_op="patch"), {"name": "count", "type": "int64", "description": "x", "merge_op": "sum"}]
    habits.publish(memory(fields=more), actor="bob", accept_risk="high")
    habits.rollback("habits", actor="bob", reason="r", accept_risk="high")
    assert merge_ops(habits) == [
        ("publish", "fields[count].merge_op", None, "sum"),
        ("rollback", "fields[count].merge_op", "sum", None),
    ]


def test_a_global_publish_is_seen_from_a_tenant_with_effective(habits: Store) -> None:
    set_op(habits, "replace")
    assert merge_ops(habits, tenant="acme") == []
    assert len(merge_ops(habits, tenant="acme", effective=True)) == 1


def test_a_field_named_like_an_attribute_of_the_grammar_is_not_mistaken_for_it(store: Store) -> None:
    store.publish(memory(fields=[NAME, {"name": "merge_op", "type": "string", "description": "x"}]), actor="ann")
    store.publish(memory(fields=[NAME, {"name": "merge_op", "type": "string", "description": "y"}]), actor="ann")
    assert merge_ops(store) == []


def test_audit_comes_newest_first_and_filters(habits: Store) -> None:
    habits.publish(prompt(), actor="carol", tenant="acme")
    set_op(habits, "replace")
    everything = list(habits.audit())
    assert [e.at for e in everything] == sorted((e.at for e in everything), reverse=True)
    assert [e.key for e in habits.audit(actor="carol")] == ["semantic.note"]
    assert [e.key for e in habits.audit(tenant="acme")] == ["semantic.note"]
    assert [e.key for e in habits.audit(category="memory", risk="high")] == ["habits"]
    assert len(list(habits.audit(action="publish"))) == 3
    assert list(habits.audit(key="habits", since=everything[0].at)) == [everything[0]]


def test_audit_reads_long_logs_in_pages(store: Store) -> None:
    for n in range(450):
        store.publish(prompt(template=f"{n} {{{{ q }}}}"), actor="ann")
    assert [e.after for e in store.audit(key="semantic.note")] == list(range(450, 0, -1))


def test_times_without_a_zone_are_refused(store: Store) -> None:
    from datetime import datetime

    with pytest.raises(ovstore.InvalidArgumentError, match="no time zone"):
        store.audit(since=datetime(2026, 1, 1))
