"""A schema's words mean what they meant when it was stored: its version carries the number of the merge semantics."""

from __future__ import annotations

from functools import partial

import pytest
from samples import memory, patch

import ovstore
from ovstore.layering import FORMAT, LayerVersion
from ovstore.memory import MERGE_SEMANTICS


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is published is stored as by an ovstore whose words mean something else."""
    monkeypatch.setattr("ovstore.steps.LayerVersion", partial(LayerVersion, format=MERGE_SEMANTICS + 1))


def test_what_is_published_now_has_the_semantics_of_now(store: ovstore.Store) -> None:
    assert FORMAT == MERGE_SEMANTICS
    store.publish(memory(), actor="ann")
    assert store.memory("habits").merge(None, {"name": "x"}) == {"name": "x"}


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("asked", [{}, {"version": 1}, {"at": True}])
def test_a_schema_of_other_semantics_is_not_read_with_todays(store: ovstore.Store, asked: dict[str, object]) -> None:
    published = store.publish(memory(), actor="ann")
    given = {"at": published.revision} if "at" in asked else asked
    with pytest.raises(ovstore.InvalidArgumentError, match=r"merge semantics 2.*upgrade ovstore"):
        store.memory("habits", **given)  # type: ignore[arg-type]
    assert store.resolve("habits").document["memory_type"] == "habits"


def test_the_semantics_are_those_of_the_full_schema_below_a_patch(
    store: ovstore.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.publish(memory(), actor="ann")
    monkeypatch.setattr("ovstore.steps.LayerVersion", partial(LayerVersion, format=MERGE_SEMANTICS + 1))
    store.publish(patch("habits", description="Ours"), tenant="acme", actor="ann")
    assert store.memory("habits", tenant="acme").schema.description == "Ours"
    store.publish(memory(), tenant="acme", actor="ann", accept_risk="high")
    with pytest.raises(ovstore.InvalidArgumentError, match="merge semantics"):
        store.memory("habits", tenant="acme")


def test_a_memory_type_can_be_asked_for_as_it_was(store: ovstore.Store) -> None:
    first = store.publish(memory(description="First"), actor="ann")
    store.publish(memory(description="Second"), actor="ann")
    assert store.memory("habits").schema.description == "Second"
    assert store.memory("habits", version=1).schema.description == "First"
    assert store.memory("habits", at=first.revision).schema.description == "First"
    store.activate("habits", 1, label="staging", actor="ann")
    assert store.memory("habits", label="staging").schema.description == "First"
