"""The lore engine: what wakes an entry, what keeps it asleep, and what it carries from one assembly to the next."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from wrappers import book, entry, layers, put, reasons, request, told, turns

from ovstore.context import TimedState, Worldbook, evaluate_worldbooks
from ovstore.context.request import Message
from ovstore.context.worldbook import MOST_PASSES


def keyed(uid: str, *keys: str, content: str = "", **fields: Any) -> dict[str, Any]:
    return entry(uid, content, **{"constant": False, "keys": keys, **fields})


def awake(said: list[str] | str, *lore: dict[str, Any], state: Any = None, seed: int = 0, **fields: Any) -> set[str]:
    texts = [said] if isinstance(said, str) else said
    history = [Message(id=str(n), role="user", content=text) for n, text in enumerate(texts)]
    books = [Worldbook.model_validate(book(*lore, **fields))]
    return {one.entry.uid for one in evaluate_worldbooks(books, history, state=state, seed=seed).lore}


@pytest.mark.parametrize(
    ("logic", "said", "found"),
    [
        ("and_any", "fog bell", True),
        ("and_any", "fog", False),
        ("and_all", "fog bell night", True),
        ("and_all", "fog bell", False),
        ("not_any", "fog", True),
        ("not_any", "fog bell", False),
        ("not_all", "fog bell", True),
        ("not_all", "fog bell night", False),
        ("and_any", "bell night", False),
    ],
)
def test_secondary_keys_follow_their_logic(logic: str, said: str, found: bool) -> None:
    lore = keyed("1", "fog", secondary_keys=["bell", "night"], logic=logic)
    assert awake(said, lore) == ({"1"} if found else set())
    assert awake(said, lore | {"selective": False}) == ({"1"} if "fog" in said else set())


def test_the_scan_depth_counts_messages_and_topic_and_enhanced_prompt_are_always_looked_at() -> None:
    lore = keyed("1", "fog")
    assert awake(["fog", "b", "c"], lore, scan_depth=2) == set()
    assert awake(["fog", "b", "c"], lore | {"scan_depth": 3}, scan_depth=2) == {"1"}
    asked = request(topic_prompt="fog", worldbooks=[book(lore, scan_depth=0)], history=turns(3))
    assert "worldbook_before" in layers(put(asked))


def test_lore_is_looked_for_in_the_history_before_it_is_cut() -> None:
    said = [{"id": "0", "role": "user", "content": "fog"}, *turns(2)]
    assert "worldbook_before" in layers(put(request(worldbooks=[book(keyed("1", "fog"))], history=said), max_history=1))


def test_entries_wake_each_other_in_the_next_pass() -> None:
    chain = [
        keyed("a", "fog", content="the bell"),
        keyed("b", "bell", content="the keeper"),
        keyed("c", "keeper", content="the end"),
    ]
    assert awake("fog", *chain) == {"a", "b", "c"}
    assert awake("fog", *chain, max_recursion_steps=1) == {"a", "b"}
    assert awake("fog", *chain, max_recursion_steps=0) == {"a"}
    assert awake("fog", *chain, recursive=False) == {"a"}
    assert awake("fog", *chain, keyed("d", "end"), max_recursion_steps=None) == {"a", "b", "c", "d"}
    assert awake("fog", chain[0] | {"prevent_recursion": True}, chain[1]) == {"a"}
    assert awake("fog", chain[0], chain[1] | {"exclude_recursion": True}) == {"a"}


def test_entries_of_one_pass_do_not_see_each_other() -> None:
    lore = [keyed("a", "fog", content="bell"), keyed("b", "fog", secondary_keys=["bell"], logic="not_any")]
    assert awake("fog", *lore) == {"a", "b"}


def test_an_entry_can_wait_for_a_level_of_recursion() -> None:
    late = keyed("late", "fog", delay_until_recursion=1)
    later = keyed("later", "fog", delay_until_recursion=2)
    assert awake("fog", late, later) == {"late", "later"}
    assert awake("fog", late, later, max_recursion_steps=1) == {"late"}
    context = put(
        request(
            worldbooks=[book(later, max_recursion_steps=1)], history=[{"id": "u", "role": "user", "content": "fog"}]
        )
    )
    assert reasons(context) == {"book/later": "recursion"}


@pytest.mark.parametrize("members", [["constant", "constant"], ["keyed", "keyed", "keyed"], ["constant", "keyed"]])
def test_a_group_has_exactly_one_winner(members: list[str]) -> None:
    lore = [
        entry(str(n), group="g", group_weight=99 if n else 1)
        | ({} if kind == "constant" else {"constant": False, "keys": ["fog"]})
        for n, kind in enumerate(members)
    ]
    winners = [awake("fog", *lore, seed=seed) for seed in range(40)]
    assert all(len(winner) == 1 for winner in winners)


def test_a_group_goes_by_override_then_score_then_weight() -> None:
    plain = [keyed("a", "fog", group="g"), keyed("b", "fog", "bell", group="g")]
    assert awake("fog bell", *plain, use_group_scoring=True) == {"b"}
    first = keyed("c", "fog", group="g", group_override=True, order=5)
    assert awake("fog bell", *plain, first, first | {"uid": "d", "order": 9}) == {"d"}
    heavy = [keyed("a", "fog", group="g", group_weight=0), keyed("b", "fog", group="g")]
    assert {frozenset(awake("fog", *heavy, seed=seed)) for seed in range(20)} == {frozenset({"b"})}
    even = [keyed("a", "fog", group="g"), keyed("b", "fog", group="g")]
    assert {frozenset(awake("fog", *even, seed=seed)) for seed in range(40)} == {frozenset({"a"}), frozenset({"b"})}


def test_nobody_loses_a_group_to_an_entry_that_another_group_keeps_out() -> None:
    over = keyed("over", "fog", group="h", group_override=True)
    both = keyed("both", "fog", group="g, h", group_weight=1e9)
    asked = request(worldbooks=[book(keyed("a", "fog", group="g"), both, over)], topic_prompt="fog")
    context = put(asked)
    assert [(drop.source_id, drop.detail) for drop in context.dropped] == [("book/both", "h: book/over stays")]


def test_an_entry_of_two_groups_that_wins_takes_both() -> None:
    both = keyed("both", "fog", group="g, h", group_override=True)
    assert awake("fog", keyed("a", "fog", group="g"), both, keyed("b", "fog", group=" h ")) == {"both"}


@pytest.mark.parametrize(("weight", "share"), [(100, 0.5), (300, 0.75), (0, 0)])
def test_a_lot_falls_by_weight(weight: float, share: float) -> None:
    lore = [keyed("a", "fog", group="g", group_weight=weight), keyed("b", "fog", group="g")]
    won = sum(awake("fog", *lore, seed=seed) == {"a"} for seed in range(400))
    assert abs(won / 400 - share) < 0.08


def test_groups_of_the_same_name_in_two_books_are_two_groups() -> None:
    lore = entry("1", group="g")
    context = put(request(worldbooks=[book(lore, id="one"), book(lore, id="two")]))
    assert reasons(context) == {}


def test_a_lot_depends_on_seed_entry_and_count_alone() -> None:
    lore = [entry(str(n), probability=50) for n in range(20)]
    drawn = awake("x", *lore, seed=1)
    assert 0 < len(drawn) < 20
    assert drawn == awake("y", *reversed(lore), seed=1)
    assert drawn != awake("x", *lore, seed=2)
    assert drawn != awake(["x", "y"], *lore, seed=1)
    assert awake("x", entry("0", probability=0), entry("1", probability=1)) <= {"1"}


def test_delay_waits_for_messages() -> None:
    assert awake(["a", "b"], entry("1", delay=3)) == set()
    assert awake(["a", "b", "c"], entry("1", delay=3)) == {"1"}


def test_sticky_3_at_count_1_stays_through_3_and_cooldown_follows() -> None:
    lore = keyed("1", "fog", sticky=3, cooldown=2)
    asked = request(worldbooks=[book(lore)], history=[{"id": "0", "role": "user", "content": "fog"}])
    context = put(asked)
    assert context.worldbook_state == {"book/1": TimedState(1, 4, 6)}
    state = context.worldbook_state
    seen = {}
    for count in range(1, 8):
        said = [{"id": str(n), "role": "user", "content": "fog" if n in (0, 4) else "x"} for n in range(count)]
        asked = request(worldbooks=[book(lore | {"scan_depth": 1})], history=said, worldbook_state=dict(state))
        context = put(asked)
        seen[count] = reasons(context).get("book/1", "sent")
    assert seen == {1: "sent", 2: "sent", 3: "sent", 4: "cooldown", 5: "cooldown", 6: "no_match", 7: "no_match"}


def test_state_of_a_reply_that_is_made_anew_is_not_looked_at() -> None:
    state = {"book/1": TimedState(5, 9, 20)}
    assert awake("fog", keyed("1", "fog", cooldown=10), state=state) == {"1"}


def test_a_book_budget_passes_over_what_does_not_fit_and_goes_on() -> None:
    lore = [
        entry("big", "x" * 50, order=9),
        entry("small", "x" * 10, order=1),
        entry("free", "x" * 99, ignore_budget=True),
    ]
    assert awake("", *lore, max_chars=20) == {"small", "free"}
    assert awake("", *lore, max_entries=1) == {"big", "free"}
    assert awake("", *lore, token_budget=3) == {"small", "free"}
    assert awake("", lore[0] | {"priority": 0}, lore[1] | {"priority": 1}, max_entries=1) == {"small"}


def test_a_sticky_entry_is_first_in_a_budget() -> None:
    state = {"book/old": TimedState(0, 9, 9)}
    assert awake("", entry("new", order=9), keyed("old", "never", order=1), max_entries=1, state=state) == {"old"}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"enabled": False}, "disabled"),
        ({"content": " "}, "empty"),
        ({"constant": False}, "no_match"),
        ({"delay": 9}, "delay"),
    ],
)
def test_what_does_not_wake_says_why(fields: dict[str, Any], reason: str) -> None:
    assert reasons(put(request(worldbooks=[book(entry("1") | fields)]))) == {"book/1": reason}


def test_order_stands_inside_a_block_and_ties_go_by_book_and_uid() -> None:
    lore = [entry("b", order=2), entry("a", order=2), entry("c", order=1)]
    asked = request(worldbooks=[book(*lore, id="two"), book(entry("z", order=2), id="one")])
    rows = [line.removeprefix("- [Book] lore ") for line in told(put(asked), "worldbook_before").split("\n")[1:-1]]
    assert rows == ["c", "z", "a", "b"]
    rows = [
        line.removeprefix("- [Book] lore ")
        for line in told(put(asked, entry_order="descending"), "worldbook_before").split("\n")[1:-1]
    ]
    assert rows == ["z", "a", "b", "c"]


def test_outlets_are_blocks_by_name_and_an_unnamed_one_is_default() -> None:
    lore = [entry(str(n), position="outlet", outlet=name) for n, name in enumerate(['b"<', None, "a"])]
    content = put(request(worldbooks=[book(*lore)]), time="off").messages[0].content
    assert [line for line in content.split("\n") if line.startswith("<worldbook")] == [
        '<worldbook_outlet name="a">',
        '<worldbook_outlet name="b&quot;&lt;">',
        '<worldbook_outlet name="default">',
    ]


def at_depth(*lore: dict[str, Any], count: int = 3, state: Any = None, **policy: Any) -> list[str]:
    asked = request(worldbooks=[book(*lore)], history=turns(count)[:count], worldbook_state=state or {})
    context = put(asked, time="off", **policy)
    return [
        message.id or f"{message.role}:{message.content.split('lore ')[1].split(chr(10))[0]}"
        for message in context.messages
    ]


def test_depth_by_example() -> None:
    assert at_depth(entry("x", position="at_depth", depth=0)) == ["u1", "a1", "u2", "system:x"]
    assert at_depth(entry("x", position="at_depth", depth=1)) == ["u1", "a1", "system:x", "u2"]
    assert at_depth(entry("x", position="at_depth", depth=3)) == ["system:x", "u1", "a1", "u2"]
    both = (entry("ten", position="at_depth", depth=10), entry("eight", position="at_depth", depth=8))
    assert at_depth(*both) == ["system:ten", "system:eight", "u1", "a1", "u2"]


def test_at_one_depth_order_goes_before_role_and_neighbours_of_one_role_are_one_message() -> None:
    lore = [
        entry("q", order=1, role="user", position="at_depth", depth=1),
        entry("r", order=2, role="assistant", position="at_depth", depth=1),
        entry("s", order=3, role="assistant", position="at_depth", depth=1),
    ]
    assert at_depth(*lore) == ["u1", "a1", "user:q", "assistant:r", "u2"]


def test_depth_inside_a_tool_run_moves_before_its_call() -> None:
    said = [
        {"id": "u", "role": "user", "content": "go"},
        {"id": "c", "role": "assistant", "tool_calls": ["t"]},
        {"id": "r", "role": "tool", "tool_call_id": "t", "content": "done"},
    ]
    asked = request(history=said, worldbooks=[book(entry("x", position="at_depth", depth=1))])
    assert [message.id for message in put(asked, time="off").messages] == ["u", None, "c", "r"]


def test_a_pinned_entry_stays_behind_its_message() -> None:
    lore = entry("x", position="at_depth", depth=1)
    asked = request(worldbooks=[book(lore)], history=turns(2))
    first = put(asked, time="off", depth_anchor="pinned")
    assert first.worldbook_state == {"book/x": TimedState(anchor="a1", anchored=3)}
    state = dict(first.worldbook_state)
    assert at_depth(lore, count=5, state=state, depth_anchor="pinned") == ["u1", "a1", "system:x", "u2", "a2", "u3"]
    assert at_depth(lore, count=5, state=state) == ["u1", "a1", "u2", "a2", "system:x", "u3"]


def test_em_positions_stand_around_the_whole_history() -> None:
    lore = [
        entry("top", position="em_top"),
        entry("end", position="em_bottom"),
        entry("zero", position="at_depth", depth=0),
    ]
    assert at_depth(*lore) == ["system:top", "u1", "a1", "u2", "system:zero", "system:end"]


def test_a_retry_with_the_state_that_came_out_finds_a_pinned_entry_where_it_was() -> None:
    lore = entry("x", position="at_depth", depth=1)
    first = put(request(worldbooks=[book(lore)], history=turns(2)), depth_anchor="pinned")
    asked = request(worldbooks=[book(lore)], history=turns(3), worldbook_state=first.worldbook_state)
    second = put(asked, depth_anchor="pinned")
    again = put(asked.model_copy(update={"worldbook_state": second.worldbook_state}), depth_anchor="pinned")
    assert (again.messages, again.worldbook_state) == (second.messages, second.worldbook_state)


def test_a_book_cannot_recurse_for_ever() -> None:
    chain = [keyed(f"{n:03}", f"w{n}", content=f"w{n + 1}") for n in range(200)]
    assert len(awake("w0", *chain, max_recursion_steps=None)) == MOST_PASSES + 1
    assert awake("w0", keyed("x", "w0", delay_until_recursion=10**9), max_recursion_steps=None) == set()


def test_a_warning_of_a_key_shows_as_much_of_it_as_one_needs_to_find_it() -> None:
    lore = keyed("1", "/" + "(" * 5_000 + "/")
    (warning,) = put(request(worldbooks=[book(lore)], history=turns(1))).warnings
    assert "of book/1" in warning and len(warning) < 200


def test_state_goes_through_json_and_comes_back() -> None:
    lore = [keyed("s", "question", sticky=3, cooldown=2), entry("p", position="at_depth", depth=1, sticky=1)]
    context = put(request(worldbooks=[book(*lore)], history=turns(2)), depth_anchor="pinned")
    assert len(context.worldbook_state) == 2
    plain = json.loads(json.dumps({name: asdict(timed) for name, timed in context.worldbook_state.items()}))
    assert request(worldbook_state=plain).worldbook_state == context.worldbook_state
