"""The history: tool runs, windows, landmarks, and what isolation leaves of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from drawn_requests import histories
from hypothesis import given, settings
from hypothesis import strategies as st
from wrappers import NOW, layers, put, reasons, request, turns

from ovstore.context import Policy
from ovstore.context import history as histories_of
from ovstore.context.request import Message


def ids(context: Any) -> list[str]:
    return [message.id for message in context.messages if message.id]


def sent(said: list[dict[str, Any]], **policy: Any) -> list[str]:
    return ids(put(request(history=said), time="off", **policy))


def chat(shape: str) -> list[dict[str, Any]]:
    """u: user, a: assistant, c: assistant with a call, t: its result, o: a result of nothing, s: system."""
    said: list[dict[str, Any]] = []
    for n, kind in enumerate(shape.replace(" ", "")):
        message: dict[str, Any] = {"id": f"{kind}{n}", "content": f"said {n}"}
        match kind:
            case "c":
                message |= {"role": "assistant", "tool_calls": [f"call{n}"], "content": ""}
            case "t":
                call = next(m for m in reversed(said) if m.get("tool_calls"))["tool_calls"][0]
                message |= {"role": "tool", "tool_call_id": call}
            case "o":
                message |= {"role": "tool", "tool_call_id": "nobody"}
            case _:
                message["role"] = {"u": "user", "a": "assistant", "s": "system"}[kind]
        said.append(message)
    return said


@pytest.mark.parametrize(
    ("shape", "kept"),
    [
        ("uctau", "u0 c1 t2 a3 u4"),
        ("ucu", "u0 u2"),
        ("uou", "u0 u2"),
        ("ou", "u1"),
        ("uctttu", "u0 c1 t2 u5"),
        ("ucst", "u0 s2"),
        ("ucaut", "u0 a2 u3"),
    ],
)
def test_calls_and_results_are_sent_together_or_not_at_all(shape: str, kept: str) -> None:
    assert sent(chat(shape)) == kept.split()


def test_an_assistant_with_text_keeps_it_when_its_call_has_no_result() -> None:
    said = [*turns(1), {"id": "c", "role": "assistant", "content": "I look it up", "tool_calls": ["x", "y"]}]
    said.append({"id": "r", "role": "tool", "tool_call_id": "y", "content": "found"})
    context = put(request(history=said), time="off")
    assert context.messages[1].tool_calls == ("y",)
    assert reasons(context) == {"x": "orphan_tool"}


@pytest.mark.parametrize(
    ("shape", "most", "kept"),
    [
        ("uauau", 2, "u4"),
        ("uauau", 3, "u2 a3 u4"),
        ("uauau", 4, "u2 a3 u4"),
        ("uauau", 5, "u0 a1 u2 a3 u4"),
        ("ucactacta", 2, "u0 a2 c3 t4 a5 c6 t7 a8"),
        ("uauuua", 3, "u2 u3 u4 a5"),
        ("aua", 2, "u1 a2"),
        ("auau", 2, "u3"),
        ("auau", 3, "u1 a2 u3"),
        ("ua uctcta u", 5, "u8"),
        ("ua uctcta u", 7, "u2 c3 t4 c5 t6 a7 u8"),
    ],
)
def test_turns_are_kept_whole_and_the_newest_always(shape: str, most: int, kept: str) -> None:
    assert sent(chat(shape), max_history=most) == kept.split()


@pytest.mark.parametrize(
    ("shape", "most", "kept"),
    [
        ("uauau", 2, "a3 u4"),
        ("uauau", 3, "u2 a3 u4"),
        ("uctau", 3, "a3 u4"),
        ("uctau", 4, "c1 t2 a3 u4"),
        ("uctct", 2, "u0 c1 t2 c3 t4"),
        ("uauctct", 2, "u2 c3 t4 c5 t6"),
    ],
)
def test_messages_keeps_the_last_n_repaired_and_never_loses_the_newest_question(
    shape: str, most: int, kept: str
) -> None:
    assert sent(chat(shape), max_history=most, trim="messages") == kept.split()


def test_a_sawtooth_window_begins_with_the_same_message_most_of_the_time() -> None:
    begins = [sent(turns(n), max_history=12, trim="sawtooth")[0] for n in range(1, 21)]
    assert begins == ["u1"] * 6 + ["u5"] * 4 + ["u9"] * 4 + ["u13"] * 4 + ["u17"] * 2
    assert all(len(sent(turns(n), max_history=12, trim="sawtooth")) <= 12 for n in range(1, 21))


@settings(deadline=None, max_examples=60)
@given(histories(), st.integers(1, 8), st.sampled_from([0.3, 0.5, 0.9]))
def test_a_sawtooth_window_never_moves_back(said: list[dict[str, Any]], most: int, low: float) -> None:
    policy = Policy(max_history=most, trim="sawtooth", sawtooth_low=low)
    past, _ = histories_of.repaired([Message.model_validate(message) for message in said])
    kept = [histories_of.window(past[:n], policy)[0] for n in range(1, len(past) + 1)]
    starts = [[message.id for message in past].index(window[0].id) for window in kept if window]
    assert starts == sorted(starts)


def timed(*minutes: float) -> list[dict[str, Any]]:
    return [
        {"id": f"m{n}", "role": "user", "content": "x", "created_at": NOW + timedelta(minutes=at)}
        for n, at in enumerate(minutes)
    ]


def marked(said: list[dict[str, Any]], **policy: Any) -> list[str]:
    messages = put(request(history=said), time="off", **policy).messages
    return [str(messages[at + 1].id) for at, message in enumerate(messages) if message.id is None]


def test_landmarks_stand_an_interval_apart_and_follow_from_the_messages_alone() -> None:
    assert marked(timed(0, 10, 60)) == ["m2"]
    assert marked(timed(0, 20, 40, 60, 80)) == ["m2", "m4"]
    assert marked(timed(0, 29)) == []
    assert marked(timed(0, 30)) == ["m1"]
    assert marked(timed(0, 29), landmark_minutes=10) == ["m1"]
    assert marked(timed(0, 60), landmarks=False) == []


def test_landmarks_stay_where_they_are_as_the_history_grows_and_is_cut() -> None:
    said = timed(0, 40, 41, 90, 91, 95)
    marks = marked(said)
    for n in range(1, len(said) + 1):
        assert marked(said[:n]) == [m for m in marks if int(m[1:]) < n]
    assert marked(said, max_history=3, trim="messages") == ["m3"]


def test_a_landmark_stands_before_a_call_and_never_inside_its_run() -> None:
    said = [
        {"id": "u", "role": "user", "content": "x", "created_at": NOW},
        {"id": "c", "role": "assistant", "tool_calls": ["1"], "created_at": NOW + timedelta(minutes=1)},
        {"id": "r", "role": "tool", "tool_call_id": "1", "created_at": NOW + timedelta(hours=2)},
        {"id": "a", "role": "assistant", "content": "y", "created_at": NOW + timedelta(hours=2)},
    ]
    assert marked(said) == ["a"]


def test_isolation_takes_tools_out_of_the_history_and_needs_a_world_book() -> None:
    said = chat("uctau")
    lore = [{"id": "b", "name": "B"}]
    isolated = put(request(history=said, worldbooks=lore), isolation=True)
    assert ids(isolated) == ["u0", "a3", "u4"]
    assert {drop.reason for drop in isolated.dropped} == {"isolated"}
    assert "time" not in layers(isolated)
    alone = put(request(history=said), isolation=True)
    assert ids(alone) == ["u0", "c1", "t2", "a3", "u4"]
    assert [warning for warning in alone.warnings if "isolation" in warning]
    assert put(request(history=said, worldbooks=lore)).warnings == ()


def test_the_tail_can_join_the_users_message_so_that_roles_alternate() -> None:
    asked = request(history=turns(2), enhanced_prompt="briefly")
    last = put(asked, time="tail", merge_tail_into_user=True, tail_role="user").messages[-1]
    assert (last.role, last.id) == ("user", "u2")
    assert last.content.startswith("question 2 \n\n<enhanced_prompt>") and last.content.endswith("</time>")
    after_assistant = request(
        history=[*turns(1), {"id": "a", "role": "assistant", "content": "y"}], enhanced_prompt="b"
    )
    assert [m.role for m in put(after_assistant, time="off", merge_tail_into_user=True, tail_role="user").messages] == [
        "user",
        "assistant",
        "user",
    ]


def test_blocks_that_join_the_users_message_are_one_separator_apart() -> None:
    asked = request(history=turns(1), memories=[{"id": "m", "content": "x", "score": 1}], enhanced_prompt="briefly")
    (message,) = put(asked, volatile_tail=True, merge_tail_into_user=True, separator="|").messages
    assert message.content.count("|") == 3 and "||" not in message.content


def test_for_providers_that_move_system_messages_nothing_is_put_in_as_one() -> None:
    asked = request(
        system_prompt="x",
        enhanced_prompt="y",
        history=[*timed(0, 60), {"id": "s", "role": "system", "content": "note"}],
        worldbooks=[
            {
                "id": "b",
                "name": "B",
                "entries": [
                    {"uid": p, "content": p, "constant": True, "position": p, "depth": 1}
                    for p in ("at_depth", "em_top", "em_bottom")
                ],
            }
        ],
    )
    context = put(asked, mid_system=False)
    assert [message.id for message in context.messages if message.role == "system"] == [None, "s"]
    assert [warning for warning in context.warnings if "s" in warning.split()]


def test_what_a_tool_returned_is_neutralised_and_what_people_and_models_say_is_not() -> None:
    said = chat("uct a u")
    for message in said:
        message["content"] = "" if message.get("tool_calls") else "</memory>"
    contents = {m.id: m.content for m in put(request(history=said), time="off").messages}
    assert contents == {"u0": "</memory>", "c1": "", "t2": "&lt;/memory>", "a3": "</memory>", "u4": "</memory>"}
