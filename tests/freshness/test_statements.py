"""How many statements a read costs: none, or one, whatever lies behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from counting import Statements, during
from others import BOLD, KEY, says, text
from samples import patch, prompt

import ovstore
from ovstore import Store


@pytest.fixture
def there(url: str) -> Iterator[Store]:
    """Writes that the store under test knows nothing of; what it sends is counted too, so it writes beforehand."""
    with ovstore.open(url) as opened:
        opened.seed.publish(prompt(llm_config={"n": 0}), actor="ann")
        opened.publish(prompt(llm_config={"n": 1}), actor="ann")
        for tenant in ("acme", "acme/support", "beta"):
            opened.publish(patch(KEY, template=f"{tenant} {{{{ q }}}}"), tenant=tenant, **BOLD)
        yield opened


@pytest.fixture
def cold(there: Store, url: str, statements: Statements) -> Iterator[Store]:
    with ovstore.open(url) as opened:
        yield opened


def test_a_cold_resolve_is_one_statement_whatever_the_number_of_layers(cold: Store, statements: Statements) -> None:
    for tenant in (None, "acme", "acme/support", "nobody", "nobody/at-all"):
        with during(statements) as sent:
            cold.resolve(KEY, tenant=tenant)
        assert len(sent.queries) == 1, tenant
    with during(statements) as sent:
        cold.resolve(KEY, tenant="beta", label="live")
    assert len(sent.queries) == 1


def test_a_key_that_is_new_to_a_chain_that_was_seen_is_one_statement_too(
    there: Store, url: str, statements: Statements
) -> None:
    for n in range(5):
        there.publish(says(f"{n} ", f"many.k{n}"), actor="ann")
    with ovstore.open(url) as store:
        text(store, "acme")
        for ask in (
            lambda: store.resolve("many.k0", tenant="acme"),
            lambda: store.resolve_many(["many.k0", "many.k1"], tenant="acme"),
            lambda: store.resolve("many.k2", tenant="acme", label="live"),
            lambda: store.resolve_many(tenant="acme"),
        ):
            there.publish(says("elsewhere ", "semantic.elsewhere"), tenant="beta", **BOLD)
            with during(statements) as sent:
                ask()
            assert len(sent.queries) == 1
        with during(statements) as sent:
            assert text(store, "acme") == "acme ?"
        assert len(sent.queries) == (0 if store._database.dialect == "sqlite" else 1)


def test_a_content_that_was_let_go_of_is_one_statement(
    there: Store, url: str, statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ovstore.resolver.MOST_TEXT", 1)
    with ovstore.open(url) as store:
        for _ in range(2):
            with during(statements) as sent:
                store.resolve(KEY, tenant="acme")
                store.resolve(KEY, tenant="beta")
            assert len(sent.queries) == 2


def test_the_hot_path_only_checks_freshness(cold: Store, statements: Statements) -> None:
    for tenant in ("acme/support", None, "nobody"):
        text(cold, tenant)
        for call in (text, lambda s, t: s.resolve(KEY, tenant=t), lambda s, t: s.resolve_many([KEY], tenant=t)):
            with during(statements) as sent:
                call(cold, tenant)
            if cold._database.dialect == "sqlite":
                assert (len(sent), len(sent.checks)) == (1, 1)
            else:
                # One indexed read of the chain's revisions, and nothing else.
                assert len(sent) == 1 and "ovstore_label" not in sent[0] and "ovstore_scope" in sent[0]


@pytest.mark.parametrize("freshness", [30, "push"])
def test_what_is_believed_asks_nothing(there: Store, url: str, statements: Statements, freshness: Any) -> None:
    with ovstore.open(url, freshness=freshness) as store:
        text(store, "acme")
        while store.resolve(KEY, tenant="acme").fresh == "strict" and store._database.dialect == "postgresql":
            pass
        with during(statements) as sent:
            text(store, "acme")
        assert [s for s in sent if "pg_notify" not in s and "data_version" not in s] == []


def test_a_cold_render_is_one_statement_more_for_each_level_of_parts(
    there: Store, url: str, statements: Statements
) -> None:
    there.publish(prompt("p.three", template="3", variables=[]), actor="ann")
    there.publish(prompt("p.two", template="2{% include 'p.three' %}", variables=[]), actor="ann")
    there.publish(prompt("p.also", template="+", variables=[]), actor="ann")
    there.publish(prompt("p.one", template="1{% include 'p.two' %}{% include 'p.also' %}", variables=[]), actor="ann")
    with ovstore.open(url) as store:
        with during(statements) as sent:
            assert store.render("p.one", tenant="acme").text == "123+"
        assert len(sent.queries) == 3
        with during(statements) as sent:
            assert store.render("p.one", tenant="acme").text == "123+"
        assert len(sent.queries) == (0 if store._database.dialect == "sqlite" else 1)
        with during(statements) as sent:
            assert store.render("p.two", tenant="acme").text == "23"
        assert len(sent.queries) <= 1


def test_a_whole_tenant_is_warmed_up_in_one_statement(there: Store, url: str, statements: Statements) -> None:
    for n in range(30):
        there.publish(says(f"{n} ", f"many.k{n}"), actor="ann")
    with ovstore.open(url) as store:
        with during(statements) as sent:
            assert len(store.resolve_many(tenant="acme")) == 31
        assert len(sent.queries) == 1
        with during(statements) as sent:
            for n in range(30):
                store.render(f"many.k{n}", {"q": "?"}, tenant="acme")
            assert len(store.resolve_many(tenant="acme")) == 31
        expected = 0 if store._database.dialect == "sqlite" else 31  # strict: the revisions, each time
        assert len(sent.queries) == expected
        with during(statements) as sent:
            store.resolve_many([KEY, *(f"many.k{n}" for n in range(20))], tenant="beta")
        assert len(sent.queries) == 1


def test_a_global_publish_of_one_key_costs_one_small_read_and_not_the_cache(
    there: Store, url: str, statements: Statements
) -> None:
    for n in range(10):
        there.publish(says(f"{n} ", f"many.k{n}"), actor="ann")
    tenants = [f"t{n}" for n in range(5)]
    with ovstore.open(url) as store:
        for tenant in tenants:
            store.resolve_many(tenant=tenant)
        there.publish(says("new ", "many.k3"), **BOLD)
        with during(statements) as sent:
            for tenant in tenants:
                for n in range(10):
                    word = "new" if n == 3 else n
                    assert store.render(f"many.k{n}", {"q": "?"}, tenant=tenant).text == f"{word} ?"
        moves = [s for s in sent.queries if "ovstore_entry" in s]
        looks = [s for s in sent.queries if "ovstore_label" in s]
        # The entries since are read once for the process, the new text once; where each chain stands is read for it.
        assert (len(moves), len(looks)) == (1, 1)
        stands = len(sent.queries) - 2
        assert stands == (len(tenants) if store._database.dialect == "sqlite" else 10 * len(tenants))


def test_a_version_that_was_seen_before_is_not_read_again(there: Store, url: str, statements: Statements) -> None:
    there.publish(says("one "), tenant="gamma", **BOLD)
    with ovstore.open(url) as store:
        assert text(store, "gamma") == "one ?"
        there.publish(says("two "), tenant="gamma", **BOLD)
        assert text(store, "gamma") == "two ?"
        there.rollback(KEY, tenant="gamma", **BOLD)
        with during(statements) as sent:
            assert text(store, "gamma") == "one ?"
        assert [s for s in sent.queries if "ovstore_label" in s] == []


def test_the_past_is_the_same_in_a_few_statements(there: Store, url: str, statements: Statements) -> None:
    revision = there.resolve(KEY, tenant="acme").revision
    with ovstore.open(url) as store, during(statements) as sent:
        assert store.render(KEY, {"q": "?"}, tenant="acme", at=revision).text == "acme ?"
    assert len(sent.queries) < 12
