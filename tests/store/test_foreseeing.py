"""A whole rollback told before it is done is what it then does, and nothing is written by telling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest
from samples import patch, prompt
from scenes import no_longer_carried

import ovstore
from ovstore import Store, restoring
from ovstore.results import Move

Scene = Callable[[Store], datetime | str]


def moved(store: Store) -> str:
    """A tenant whose own versions, one of them born later, have moved on."""
    store.publish(prompt(template="G {{ q }}"), actor="ann")
    store.publish(prompt(template="T1 {{ q }}"), tenant="acme", actor="bob")
    then = store.resolve("semantic.note", tenant="acme").revision
    store.publish(prompt(template="T2 {{ q }}"), tenant="acme", actor="bob")
    store.publish(prompt("semantic.other"), tenant="acme", actor="bob")
    return then


def moved_below(store: Store) -> datetime:
    """A tenant whose patch lies on a global text that has moved as well."""
    store.publish(prompt(template="G1 {{ q }}"), actor="ann")
    for key in ("semantic.stays", "semantic.note"):
        store.publish(prompt(key, template="G1 {{ q }}"), actor="ann")
        store.publish(patch(key, llm_config={"top_p": 1}), tenant="acme", actor="bob")
    then = store.history("semantic.note", tenant="acme")[0].at
    store.publish(patch("semantic.note", llm_config={"top_p": 2}), tenant="acme", actor="bob")
    store.publish(prompt("semantic.stays", template="G2 {{ q }}"), actor="ann")
    store.publish(prompt(template="G2 {{ q }}"), actor="ann")
    return then


def with_workspaces(store: Store) -> str:
    """A tenant and its workspace, one text of each, that both have moved on."""
    store.publish(prompt(template="G {{ q }}"), actor="ann")
    store.publish(prompt(template="T1 {{ q }}"), tenant="acme", actor="bob")
    store.publish(patch("semantic.note", llm_config={"top_p": 1}), tenant="acme/desk", actor="bob")
    then = store.resolve("semantic.note", tenant="acme").revision
    store.publish(prompt(template="T2 {{ q }}"), tenant="acme", actor="bob")
    store.publish(patch("semantic.note", llm_config={"top_p": 2}), tenant="acme/desk", actor="bob")
    return then


def nameless(moves: tuple[Move, ...]) -> list[Move]:
    return [replace(move, revision="", change_set="") for move in moves]


@pytest.mark.parametrize("scene", [moved, moved_below, with_workspaces, no_longer_carried])
@pytest.mark.parametrize("workspaces", [False, True])
def test_what_is_told_is_what_happens(store: Store, scene: Scene, workspaces: bool) -> None:
    then = scene(store)
    revision, heads = store.resolve("semantic.note", tenant="acme").revision, store.heads()
    told = restoring.foresee(store._database, "acme", then, freeze=True, workspaces=workspaces)
    assert (store.heads(), {move.change_set for move in told}) == (heads, {""})
    assert {move.revision for move in told if move.scope == "acme"} == {revision}
    asked = {"to": then, "workspaces": workspaces, "accept_risk": "high", "dependents": "freeze"}
    done = store.rollback_tenant("acme", actor="cat", reason="r", **asked)  # type: ignore[arg-type]
    assert nameless(told) == nameless(done)
    assert done


def test_what_would_be_refused_is_refused_when_it_is_told(store: Store) -> None:
    then = no_longer_carried(store)
    with pytest.raises(ovstore.ContractError, match=r"removes variables\[tone\]"):
        restoring.foresee(store._database, "acme", then)


def test_overrides_above_that_would_be_frozen_are_told_behind_the_moves(store: Store) -> None:
    store.publish(prompt(template="{{ q }}"), actor="ann")
    then = store.resolve("semantic.note").revision
    store.publish(prompt(template="{{ q }} {{ r }}", variables=["q", "r"]), actor="ann", accept_risk="high")
    store.publish(patch("semantic.note", template="{{ r }} {{ q }}"), tenant="acme", actor="bob")
    told = restoring.foresee(store._database, "global", then, freeze=True)
    assert [(m.scope, m.before, m.after, m.restored) for m in told] == [
        ("global", 2, 1, True),
        ("acme", 1, 2, None),
    ]


def test_a_scope_never_written_to_has_nothing_to_put_back(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    then = store.history("semantic.note")[0].at
    assert restoring.foresee(store._database, "acme", then) == ()
