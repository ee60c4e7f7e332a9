"""Budgets: what goes first, that tags stay closed, and what is said when nothing more can go."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from wrappers import NOW, book, entry, layers, put, request, turns

from ovstore.errors import ContextBudgetError


def full() -> Any:
    keyed = [entry(f"k{n}", "fog " * 10, constant=False, keys=["question"], order=n) for n in range(3)]
    return request(
        system_prompt="system " * 10,
        enhanced_prompt="enhanced",
        memories=[{"id": f"m{n}", "content": "memory " * 10, "score": n} for n in range(3)],
        summaries=[
            {"session_id": f"s{n}", "session_name": "n", "summary": "sum " * 10, "updated_at": NOW.replace(day=n + 1)}
            for n in range(3)
        ],
        profile={"content": "profile " * 10, "updated_at": NOW},
        worldbooks=[book(*keyed, entry("c0", "constant " * 10))],
        history=turns(4, 10),
    )


def gone(budget: int, **policy: Any) -> list[str]:
    return [
        drop.source_id for drop in put(full(), token_budget=budget, **policy).dropped if drop.reason == "token_budget"
    ]


def in_order(**policy: Any) -> list[str]:
    """What goes, in order, as the budget shrinks until nothing more can."""
    found: list[str] = []
    budget = put(full(), **policy).tokens - 1
    while True:
        try:
            now = gone(budget, **policy)
        except ContextBudgetError:
            return found
        found += [name for name in sorted(now) if name not in found]
        budget = put(full(), token_budget=budget, **policy).tokens - 1


def test_the_default_order_is_keyed_lore_memories_summaries_turns_profile_constant_lore() -> None:
    assert in_order() == [
        *("book/k0", "book/k1", "book/k2"),
        *("m0", "m1", "m2"),
        *("s0", "s1", "s2"),
        *("a1", "u1", "a2", "u2", "a3", "u3"),
        "user_profile_memory",
        "book/c0",
    ]


def test_priorities_decide_who_goes_and_none_protects() -> None:
    first = in_order(priority={"user_profile_memory": 1, "keyed_lore": None, "constant_lore": 0})
    assert first[:2] == ["book/c0", "user_profile_memory"]
    assert not [name for name in first if name.startswith("book/k")]


def test_priorities_do_not_move_anything() -> None:
    asked, moved = put(full()), put(full(), priority={"memory": 99, "history": 1}, token_budget=100_000)
    assert asked.messages == moved.messages


def test_wrappers_are_rendered_anew_so_that_tags_stay_closed() -> None:
    for budget in range(put(full()).tokens, 250, -40):
        try:
            context = put(full(), token_budget=budget)
        except ContextBudgetError:
            break
        for message in context.messages:
            for layer in layers(context):
                if layer not in ("history",):
                    assert message.content.count(f"<{layer}>") == message.content.count(f"</{layer}>")


def test_what_is_reserved_for_the_answer_is_taken_off() -> None:
    tokens = put(full()).tokens
    assert put(full(), token_budget=tokens).tokens == tokens
    assert put(full(), token_budget=tokens, reserve_output=50).tokens <= tokens - 50


def test_an_error_says_what_was_reserved() -> None:
    with pytest.raises(ContextBudgetError, match=r"0 tokens \(token_budget less reserve_output 200\)"):
        put(request(system_prompt="x"), token_budget=100, reserve_output=200)


def test_budgets_hold_with_a_counter_that_follows_no_rule() -> None:
    asked = request(system_prompt="x", history=turns(8, 5))
    for budget in range(100, 1500, 200):
        try:
            context = put(asked, token_budget=budget, count_tokens=lambda text: zlib.crc32(text.encode()) % 200)
        except ContextBudgetError as error:
            assert error.needed > budget
        else:
            assert context.tokens <= budget


def test_a_layer_has_a_budget_of_its_own() -> None:
    context = put(full(), layer_budget={"memory": 90, "history": 60})
    assert context.tokens_by_layer["memory"] <= 90
    assert context.tokens_by_layer["history"] <= 60
    assert {drop.layer for drop in context.dropped if drop.reason == "layer_budget"} == {"memory", "history"}


def test_an_error_names_what_cannot_go_and_how_much_it_needs() -> None:
    with pytest.raises(ContextBudgetError, match="what is never dropped needs") as caught:
        put(full(), token_budget=20)
    assert caught.value.budget == 20 < caught.value.needed
    assert {s.layer for s in caught.value.segments} >= {"system_prompt", "enhanced_prompt", "history", "time"}
    with pytest.raises(ContextBudgetError, match="layer system_prompt has 3"):
        put(full(), layer_budget={"system_prompt": 3})


def test_callers_count_tokens_their_own_way() -> None:
    context = put(full(), count_tokens=len)
    assert context.tokens == sum(len(message.content) for message in context.messages)
    assert put(full(), count_tokens=len, token_budget=context.tokens - 1).tokens < context.tokens


def test_lore_that_was_dropped_starts_no_cooldown() -> None:
    lore = entry("1", "long " * 200, constant=False, keys=["question"], cooldown=5)
    asked = request(worldbooks=[book(lore)], history=turns(1))
    assert put(asked).worldbook_state
    assert not put(asked, token_budget=200).worldbook_state
