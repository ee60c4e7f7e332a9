"""verify finds what was changed behind the store's back, on both databases, with the triggers dropped first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from samples import memory, prompt

import ovstore
from ovstore import hashing, names
from ovstore.db import chains
from ovstore.db.engines import Database

Tamper = Callable[..., None]


@pytest.fixture
def told(url: str) -> str:
    """A store with some history in global and in acme."""
    with ovstore.open(url) as store:
        for n in range(3):
            store.publish(prompt(template=f"Text {n} {{{{ q }}}}"), actor="ann")
            store.publish(prompt(template=f"Acme {n} {{{{ q }}}}"), tenant="acme", actor="bob")
        store.publish(memory(), actor="ann")
        store.rollback("semantic.note", actor="ann", reason="r")
    return url


@pytest.fixture
def tamper(told: str) -> Tamper:
    """Run SQL as an owner of the database would, past the triggers."""

    def run(*statements: str, **values: object) -> None:
        database = Database(told)
        with database.alter() as conn:
            if database.dialect == "sqlite":
                for name in conn.scalars(sa.text("select name from sqlite_master where type = 'trigger'")).all():
                    conn.execute(sa.text(f"drop trigger {name}"))
            else:
                rows = conn.execute(
                    sa.text("select tgname, tgrelid::regclass from pg_trigger where not tgisinternal")
                ).all()
                for name, table in rows:
                    conn.execute(sa.text(f"drop trigger {name} on {table}"))
                conn.execute(sa.text("set local session_replication_role = replica"))
            for statement in statements:
                conn.execute(sa.text(statement), values)
        database.close()

    return run


def problems(url: str, heads: dict[str, str] | None = None) -> list[str]:
    with ovstore.open(url) as store:
        return [str(problem.what) for problem in store.verify(heads=heads)]


def test_an_untouched_store_is_whole(told: str) -> None:
    with ovstore.open(told) as store:
        assert store.verify(heads=store.heads()) == ()


def test_a_changed_source_is_found(told: str, tamper: Tamper) -> None:
    tamper("update ovstore_version set source = :s where scope_id = 2 and number = 1 and key = 'habits'", s=b"x: 1")
    assert any("source of version 1 of habits was changed" in what for what in problems(told))


def test_a_changed_source_with_its_hash_mended_is_found(told: str, tamper: Tamper) -> None:
    source = prompt(template="Evil {{ q }}").encode()
    tamper(
        "update ovstore_version set source = :s, source_hash = :h where scope_id = 2 and number = 1 "
        "and key = 'semantic.note'",
        s=source,
        h=hashlib.sha256(source).digest(),
    )
    found = problems(told)
    assert any("another source" in what for what in found)
    assert any("document of version 1 of semantic.note was changed" in what for what in found)


def test_a_changed_document_is_found(told: str, tamper: Tamper) -> None:
    tamper("update ovstore_version set document = replace(document, 'Acme', 'Evil')")
    assert any("document of version" in what for what in problems(told))


@pytest.mark.parametrize(
    "change",
    [
        "actor = 'mallory'",
        "reason = 'nothing'",
        "at = at - 1",
        "risk = 0",
        "action = 'activate'",
        "category = 'other'",
        "change_set = 'other'",
        "undoes = null",
    ],
)
def test_a_changed_entry_is_found(told: str, tamper: Tamper, change: str) -> None:
    tamper(f"update ovstore_entry set {change} where scope_id = 2 and seq = 5")
    assert any("hash does not follow" in what for what in problems(told))


def test_a_changed_field_row_is_found(told: str, tamper: Tamper) -> None:
    tamper("update ovstore_change set after_value = '\"x\"' where scope_id = 2 and seq = 2")
    assert any("changed fields" in what for what in problems(told))


def test_a_moved_place_of_a_version_is_found(told: str, tamper: Tamper) -> None:
    tamper("update ovstore_version set path = 'elsewhere.yaml' where key = 'habits'")
    assert any("hash does not follow" in what for what in problems(told))


def test_a_label_that_the_entries_do_not_imply_is_found(told: str, tamper: Tamper) -> None:
    tamper("update ovstore_label set number = 1 where scope_id = 2 and key = 'semantic.note'")
    assert problems(told) == ["live of semantic.note stands at 1; the entries say 2"]


def test_an_entry_cut_from_the_middle_is_found(told: str, tamper: Tamper) -> None:
    tamper(
        "delete from ovstore_change where scope_id = 2 and seq = 3",
        "delete from ovstore_entry where scope_id = 2 and seq = 3",
    )
    assert any("entries between are missing" in what for what in problems(told))


def test_a_cut_tail_is_found_against_kept_heads(told: str, tamper: Tamper) -> None:
    with ovstore.open(told) as store:
        kept = dict(store.heads())
    tamper(
        "delete from ovstore_change where scope_id = 2 and seq = 5",
        "delete from ovstore_entry where scope_id = 2 and seq = 5",
        "update ovstore_label set number = 3, seq = 3 where scope_id = 2 and key = 'semantic.note'",
        "update ovstore_scope set revision = 4, head = (select hash from ovstore_entry where scope_id = 2 and seq = 4), "
        "last_at = (select at from ovstore_entry where scope_id = 2 and seq = 4) where id = 2",
    )
    assert problems(told) == []
    assert problems(told, kept) == ["the head that was kept is not on the chain: it was cut or rewritten"]


def test_a_version_that_no_entry_added_is_found(told: str, tamper: Tamper) -> None:
    tamper(
        "insert into ovstore_version select scope_id, key, 9, kind, mode, source, source_hash, document, document_hash, "
        "format, path, category, base from ovstore_version where key = 'habits'"
    )
    assert any("was added by no entry" in what for what in problems(told))


def test_a_version_that_is_gone_is_found(told: str, tamper: Tamper) -> None:
    tamper("delete from ovstore_version where scope_id = 2 and key = 'semantic.note' and number = 1")
    found = problems(told)
    assert any("is gone" in what for what in found) and any("are missing" in what for what in found)


def rewrite_chain(url: str, actor: str) -> None:
    """Rewrite a whole chain as an owner with this very code could: every hash follows from the one before it."""
    database = Database(url)
    with database.alter() as conn:
        head = names.NO_HEAD
        for entry in list(chains.entries(conn, 2)):
            columns = {**entry.columns, "actor": actor}
            head = hashing.entry_hash("global", head, columns, entry.added)
            conn.execute(
                sa.text("update ovstore_entry set actor = :a, hash = :h where scope_id = 2 and seq = :s"),
                {"a": actor, "h": head, "s": columns["seq"]},
            )
        conn.execute(sa.text("update ovstore_scope set head = :h where id = 2"), {"h": head})
    database.close()


def test_a_whole_chain_rewritten_is_found_against_kept_heads_alone(told: str, tamper: Tamper) -> None:
    with ovstore.open(told) as store:
        kept = dict(store.heads())
    tamper()
    rewrite_chain(told, "mallory")
    assert problems(told) == []
    assert problems(told, kept) == ["the head that was kept is not on the chain: it was cut or rewritten"]


def test_a_scope_that_is_gone_is_found_against_kept_heads(told: str) -> None:
    with ovstore.open(told) as store:
        found = store.verify(heads={"gone": store.heads()["acme"]})
    assert [p.what for p in found] == ["the scope is gone; a head of it was kept"]


def test_a_head_that_cannot_be_read_is_refused(told: str) -> None:
    with ovstore.open(told) as store, pytest.raises(ovstore.InvalidArgumentError):
        store.verify(heads={"global": "7"})


@pytest.mark.parametrize("change", ["seq = 1", "mode = 'patch'", "base = 'seed:1'"])
def test_a_label_row_that_is_not_its_entrys_is_found(told: str, tamper: Tamper, change: str) -> None:
    tamper(f"update ovstore_label set {change} where scope_id = 2 and key = 'semantic.note'")
    assert problems(told) == ["the row of live of semantic.note is not that of its entry and version"]


READS: dict[str, Callable[[ovstore.Store], object]] = {
    "resolve": lambda store: store.resolve("semantic.note", tenant="acme"),
    "resolve_many": lambda store: store.resolve_many(tenant="acme"),
    "render": lambda store: store.render("semantic.note", {"q": "x"}, tenant="acme"),
    "explain": lambda store: store.explain("semantic.note", tenant="acme"),
    "templates": lambda store: store.templates(tenant="acme"),
    "diff": lambda store: store.diff("semantic.note", 1, 3, tenant="acme"),
    "a past version": lambda store: store.resolve("semantic.note", tenant="acme", version=3),
    "publish": lambda store: store.publish(prompt(template="New {{ q }}"), tenant="acme", actor="bob"),
}


@pytest.mark.parametrize("read", READS)
def test_words_that_were_changed_in_the_database_are_never_served(told: str, tamper: Tamper, read: str) -> None:
    tamper("update ovstore_version set document = replace(document, 'Acme', 'Evil')")
    with ovstore.open(told) as store, pytest.raises(ovstore.TamperError, match=r"version \d of semantic.note in acme"):
        READS[read](store)


def test_what_is_no_document_any_more_is_told_and_never_served(told: str, tamper: Tamper) -> None:
    for document in ("{", "[]", "{}", '{"variables": 3}', "[" * 5000, '{"memory_type": "x", "fields": [3]}'):
        tamper("update ovstore_version set document = :d where scope_id <> 1 and key = 'semantic.note'", d=document)
        with ovstore.open(told) as store:
            with pytest.raises(ovstore.TamperError, match="was changed in the database"):
                store.render("semantic.note", {"q": "x"}, tenant="acme")
            assert any("the document of version 3" in problem.what for problem in store.verify())


def test_a_changed_field_that_is_no_json_is_told_when_the_log_is_read(told: str, tamper: Tamper) -> None:
    for value in ("{", '1 "or else"'):
        tamper("update ovstore_change set after_value = :v where after_value is not null", v=value)
        with (
            ovstore.open(told) as store,
            pytest.raises(ovstore.TamperError, match="entry .* is not what ovstore wrote"),
        ):
            list(store.audit(tenant="acme"))
