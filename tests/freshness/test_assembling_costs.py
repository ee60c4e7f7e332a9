"""What an assembly costs beyond its own work: one look when cold, and nothing but the freshness check when repeated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from counting import Statements, during
from others import BOLD
from samples import HOUSE, WITH_HOUSE

import ovstore
from ovstore import Store

SEEDS = Path(__file__).parents[2] / "seed_templates"
ASKED: dict[str, Any] = {
    "session_id": "s",
    "now": "2026-04-19T12:00:00Z",
    "system_prompt": "Be kind.",
    "memories": [{"id": "m", "content": "Likes tea.", "score": 1}],
    "history": [{"id": "u", "role": "user", "content": "hello"}],
}
POLICY = "extends: context.policy\nvalues: {time: 'off'}\n"


@pytest.fixture
def there(url: str) -> Iterator[Store]:
    with ovstore.open(url) as store:
        store.seed.apply(store.seed.plan_import(SEEDS, category="context"), actor="ovstore")
        store.publish(HOUSE, actor="ann")
        store.publish(WITH_HOUSE, tenant="acme", **BOLD)
        store.publish(POLICY, tenant="acme", **BOLD)
        yield store


@pytest.fixture
def cold(there: Store, url: str, statements: Statements) -> Iterator[Store]:
    with ovstore.open(url) as opened:
        yield opened


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is compiled from now on."""
    made: list[Any] = []
    original = ovstore.rendering.compile
    monkeypatch.setattr(ovstore.rendering, "compile", lambda *args: made.append(args) or original(*args))
    return made


def test_a_cold_assembly_looks_once_and_once_more_for_the_parts_of_its_wrappers(
    cold: Store, statements: Statements
) -> None:
    with during(statements) as sent:
        cold.assemble(ASKED, tenant="globex")
    assert len(sent.queries) == 1
    with during(statements) as sent:
        cold.assemble(ASKED, tenant="acme")
    assert len(sent.queries) == 2


def test_a_repeated_assembly_does_the_freshness_check_and_compiles_nothing(
    cold: Store, statements: Statements, compiled: list[Any]
) -> None:
    first = cold.assemble(ASKED, tenant="acme")
    with during(statements) as sent:
        cold.resolve("context.memory", tenant="acme")
    check = list(sent)
    compiled.clear()
    with during(statements) as sent:
        assert cold.assemble(ASKED, tenant="acme") == first
    assert list(sent) == check
    assert len(sent.queries) + len(sent.checks) == 1
    assert not compiled


def test_only_what_moved_is_compiled_again(there: Store, cold: Store, compiled: list[Any]) -> None:
    cold.assemble(ASKED, tenant="acme")
    there.publish(HOUSE.replace("House", "Other"), actor="ann")
    compiled.clear()
    assert "Other rules." in cold.assemble(ASKED, tenant="acme").messages[0].content
    assert [data["metadata"]["id"] for _, data, *_ in compiled] == ["context.house"]
