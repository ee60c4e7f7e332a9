"""Every lookup goes along an index, and neither its plan nor its number of statements depends on how much there is."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import postgres
import psycopg
import pytest
import scale
from counting import Statements, during
from others import BOLD
from samples import patch, prompt
from sqlalchemy import make_url

import ovstore
from ovstore import Store

SMALL, MEDIUM, LARGE = 200, 1_000, 10_000
KEY = scale.key(7)
THEN = datetime(2023, 11, 15, tzinfo=UTC)

READS: dict[str, Callable[[Store], Any]] = {
    "cold resolve": lambda store: store.resolve(KEY, tenant="t50/w"),
    "cold resolve, then whether it is fresh": lambda store: [store.resolve(KEY, tenant="t50/w") for _ in range(2)],
    "effective set": lambda store: store.resolve_many(tenant="t50/w"),
    "many keys": lambda store: store.resolve_many([scale.key(n) for n in range(1, 10)], tenant="t50/w"),
    "list": lambda store: store.templates(tenant="t50/w"),
    "explain": lambda store: store.explain(KEY, tenant="t50"),
    "at a time": lambda store: store.resolve(KEY, tenant="t50/w", at=THEN),
    "at a revision": lambda store: store.resolve(KEY, tenant="t50", at=store.resolve(KEY, tenant="t50").revision),
    "one version": lambda store: store.resolve(KEY, tenant="t50", version=2),
    "versions": lambda store: store.versions(KEY, tenant="t50/w"),
    "history": lambda store: store.history(KEY, tenant="t50/w"),
    "audit": lambda store: next(store.audit()),
    "audit by field": lambda store: next(store.audit(field="template")),
    "audit by field in a tenant": lambda store: next(store.audit(field="template", tenant="t50")),
    "audit by key": lambda store: next(store.audit(key=KEY)),
    "audit by actor": lambda store: next(store.audit(actor="scale")),
    "audit of a chain": lambda store: next(store.audit(tenant="t50/w", effective=True)),
}
WRITES: dict[str, Callable[[Store], Any]] = {
    "publish, an override": lambda store: store.publish(prompt(KEY, template="new {{ q }}"), tenant="t50/w", **BOLD),
    "publish, a patch": lambda store: store.publish(patch(KEY, llm_config={"n": 1}), tenant="t51", **BOLD),
    "publish, global under patches": lambda store: store.publish(prompt(KEY, llm_config={"n": 2}), **BOLD),
    "publish, a part in use": lambda store: [
        store.publish(prompt("shared.tone", template="kindly", variables=[]), **BOLD),
        store.publish(prompt("many.user", template="{{ q }}{% include 'shared.tone' %}"), tenant="t52", **BOLD),
        store.publish(prompt("shared.tone", template="bluntly", variables=[]), **BOLD),
    ],
    "rollback": lambda store: store.rollback(KEY, tenant="t53", **BOLD),
    "activate": lambda store: store.activate(KEY, 1, tenant="t54", **BOLD),
    "withdraw": lambda store: store.withdraw(KEY, tenant="t55", **BOLD),
}


def database(request: pytest.FixtureRequest, dialect: str, tenants: int) -> str:
    """A database of that size of one's own, copied from one that is filled once a run."""
    if dialect == "sqlite":
        filled = Path(str(request.getfixturevalue("tmp_path_factory").getbasetemp())) / f"scale-{tenants}.db"
        if not filled.exists():
            shutil.copyfile(request.getfixturevalue("sqlite_template"), filled)
            scale.fill(f"sqlite:///{filled}", tenants)
        own = request.getfixturevalue("tmp_path") / "scale.db"
        shutil.copyfile(filled, own)
        return f"sqlite:///{own}"
    server: postgres.Server = request.getfixturevalue("postgres_server")
    templates: dict[int, str] = request.getfixturevalue("filled")
    if tenants not in templates:
        url = server.create(request.getfixturevalue("postgres_template"))
        scale.fill(url, tenants)
        templates[tenants] = server.keep_as_template(url)
    return server.create(templates[tenants])


@pytest.fixture(scope="module")
def filled() -> dict[int, str]:
    return {}


@pytest.fixture(params=[SMALL, *(pytest.param(size, marks=pytest.mark.slow) for size in (MEDIUM, LARGE))])
def tenants(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


WHOSE = ("ovstore_label.mode FROM ovstore_label JOIN ovstore_scope", "SELECT ovstore_scope.id, ovstore_scope.name FROM")
"""The names of the scopes that were found: where most of all there are were, reading all is the shortest way."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("calls", [READS, WRITES], ids=["reads", "writes"])
def test_every_lookup_goes_along_an_index(
    request: pytest.FixtureRequest,
    dialect: str,
    tenants: int,
    calls: dict[str, Callable[[Store], Any]],
    statements: Statements,
) -> None:
    url = database(request, dialect, tenants)
    found: dict[str, list[str]] = {}
    for name, call in calls.items():
        with ovstore.open(url) as store, during(statements) as sent:
            call(store)
            selects = [(s, v) for s, v in sent.sent() if s.startswith("SELECT") and "ovstore_" in s]
        plans = sqlite_scans(url, selects) if dialect == "sqlite" else postgres_scans(url, selects, tenants == SMALL)
        if plans:
            found[name] = plans
    assert found == {}


def test_postgresql_goes_from_scopes_to_versions_whatever_its_statistics_say(
    postgres_url: str, statements: Statements
) -> None:
    """Left to itself it reads a new key's labels in all tenants, since its statistics say that there are few."""
    with ovstore.open(postgres_url) as store:
        store.publish(prompt(KEY), **BOLD)
        with during(statements) as sent:
            store.resolve(KEY, tenant="acme")
        (look,) = [(statement, values) for statement, values in sent.sent() if "ovstore_label" in statement]
    with psycopg.connect(postgres.plain(make_url(postgres_url)), autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off")
        plan = [row[0].strip() for row in connection.execute("EXPLAIN " + look[0], look[1])]
    assert [line.count("scope_id = ovstore") for line in plan if "Cond" in line] == [0, 1, 1], plan


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_number_of_statements_does_not_grow(
    request: pytest.FixtureRequest, dialect: str, statements: Statements
) -> None:
    counted: dict[str, set[int]] = {}
    for tenants in (SMALL, MEDIUM, LARGE):
        url = database(request, dialect, tenants)
        for name, call in {**READS, **WRITES}.items():
            with ovstore.open(url) as store, during(statements) as sent:
                call(store)
                counted.setdefault(name, set()).add(len(sent.queries))
    assert {name: counts for name, counts in counted.items() if len(counts) > 1} == {}


def sqlite_scans(url: str, selects: list[tuple[str, Any]]) -> list[str]:
    """Return what would be read from end to end without an index, with the statement."""
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    plans = [
        (row[3], statement)
        for statement, _ in selects
        for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    ]
    connection.close()
    scans = [(plan, s) for plan, s in plans if plan.startswith("SCAN ovstore") and "INDEX" not in plan]
    return [f"{plan}: {s}" for plan, s in scans if not _names_scopes(plan, s)]


def postgres_scans(url: str, selects: list[tuple[str, Any]], small: bool) -> list[str]:
    with psycopg.connect(postgres.plain(make_url(url)), autocommit=True) as connection:
        if small:
            # So few rows are read faster without an index; it is enough that one would serve.
            connection.execute("SET enable_seqscan = off")
        plans = [
            (row[0], statement)
            for statement, values in selects
            for row in connection.execute("EXPLAIN " + statement, values).fetchall()
        ]
    return [f"{plan}: {s}" for plan, s in plans if "Seq Scan" in plan and not _names_scopes(plan, s)]


def _names_scopes(plan: str, statement: str) -> bool:
    return "ovstore_scope" in plan and any(some in statement for some in WHOSE)
