"""Who changed what: every way in which merge_op moves is answered by one query."""

from __future__ import annotations

from typing import Any

import pytest
from samples import memory, patch, prompt
from sqlalchemy import Engine, event

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


def test_filters_narrow_each_other(habits: Store) -> None:
    set_op(habits, "replace")
    set_op(habits, "patch", tenant="acme")
    first, second = reversed(list(habits.audit(field="merge_op")))
    assert [e.scope for e in habits.audit(field="merge_op", tenant="acme")] == ["acme"]
    assert [e.scope for e in habits.audit(field="merge_op", tenant="acme", effective=True)] == ["acme", "global"]
    assert list(habits.audit(field="merge_op", until=first.at)) == [first]
    assert list(habits.audit(field="merge_op", since=second.at, key="habits", actor="bob", risk="high")) == [second]
    assert list(habits.audit(field="merge_op", category="semantic")) == []
    assert list(habits.audit(field="merge_op", tenant="globex")) == []


def test_an_entry_with_many_rows_of_a_field_comes_once_and_whole(store: Store) -> None:
    store.publish(memory(fields=[NAME, *(content(name=f"f{n}") for n in range(30))]), actor="ann")
    changed = memory(fields=[NAME, *(content(name=f"f{n}", merge_op="replace") for n in range(30))])
    store.publish(changed, actor="bob", reason="r", accept_risk="very_high")
    (entry,) = store.audit(field="merge_op")
    assert len(entry.changes) == 30


def test_a_log_that_grows_while_it_is_read_is_read_to_its_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ovstore.db.log.PAGE", 2)
    for n in range(5):
        store.publish(prompt(f"semantic.n{n}"), actor="ann")
    reading = store.audit()
    for tenant in ("acme", "globex"):
        store.publish(prompt("semantic.n0", template="mine {{ q }}"), tenant=tenant, actor="bob")
    found = [next(reading).scope]
    store.publish(prompt("semantic.n0", template="mine {{ q }}"), tenant="initech", actor="bob")
    found += [entry.scope for entry in reading]
    assert found == ["globex", "acme", *["global"] * 5]


def test_who_changed_a_field_is_one_walk_along_its_index(store: Store) -> None:
    for n in range(40):
        store.publish(prompt(template=f"{n} {{{{ q }}}}"), tenant=f"t{n % 4}", actor="ann")
    asked: list[tuple[str, Any]] = []

    def note(*call: Any) -> None:
        asked.append((call[2], call[3]))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        assert len(list(store.audit(field="template"))) == 36
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    (entries, values), _scopes, (changes, _) = asked
    assert "ovstore_entry" in entries and "ovstore_entry" not in changes
    with store._database.read() as conn:
        if store._database.dialect == "sqlite":
            plan = [row.detail for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {entries}", values)]
        else:
            conn.exec_driver_sql("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
            plan = [row[0] for row in conn.exec_driver_sql(f"EXPLAIN {entries}", values)]
    assert any("ovstore_change_field" in step for step in plan)
    assert [step for step in plan for word in ("SCAN", "Seq Scan", "Sort", "TEMP B-TREE") if word in step] == []
