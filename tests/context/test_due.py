"""When a session is summed up and a profile brought up to date, and the prompts for both."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from wrappers import NOW, TEMPLATES, put, request

from ovstore.context import Message, Policy, UserProfile, profile_due, summary_due, summary_input
from ovstore.context.due import cut_summary
from ovstore.errors import InvalidArgumentError


def said(count: int, at: datetime | None = NOW) -> list[Message]:
    return [Message(id=str(n), role="user", content="x", created_at=at) for n in range(count)]


@pytest.mark.parametrize(
    ("count", "since", "due"),
    [(5, None, False), (6, None, True), (6, 119, False), (6, 120, True), (9, 121, True)],
)
def test_a_summary_is_due_after_six_messages_and_two_hours(count: int, since: int | None, due: bool) -> None:
    last = None if since is None else NOW - timedelta(minutes=since)
    assert bool(summary_due(said(count), now=NOW, last_summary=last)) is due


def test_blank_messages_and_those_of_the_model_do_not_count() -> None:
    silent = [Message(id=f"b{n}", role="user", content=" ") for n in range(9)]
    answers = [Message(id=f"a{n}", role="assistant", content="x") for n in range(9)]
    assert not summary_due([*said(5), *silent, *answers], now=NOW)


def test_nothing_new_is_no_reason_for_another_summary() -> None:
    last = NOW - timedelta(hours=3)
    assert (
        summary_due(said(6, last), now=NOW, last_summary=last).why == "the user has said nothing since the last summary"
    )


def test_an_interval_of_0_is_none() -> None:
    assert summary_due(said(6), now=NOW, last_summary=NOW - timedelta(seconds=1), policy=Policy(summary_minutes=0))


def test_switches_and_isolation_come_before_everything() -> None:
    assert not summary_due(said(9), now=NOW, isolated=True)
    assert not summary_due(said(9), now=NOW, policy=Policy(summaries_enabled=False))
    assert not profile_due(None, now=NOW, summarised=True, isolated=True)
    assert not profile_due(None, now=NOW, summarised=True, policy=Policy(memory_enabled=False))


@pytest.mark.parametrize(
    ("updated", "more", "due"),
    [
        (None, {}, True),
        (datetime(2026, 4, 19, 1, tzinfo=UTC), {}, False),
        (datetime(2026, 4, 18, 15, tzinfo=UTC), {}, True),
        (datetime(2026, 4, 18, 17, tzinfo=UTC), {"timezone": "Asia/Shanghai"}, False),
        (datetime(2026, 4, 19, 1, tzinfo=UTC), {"duplicates": True}, True),
        (datetime(2026, 4, 1, tzinfo=UTC), {"summarised": False}, False),
    ],
)
def test_a_profile_is_due_once_a_day_right_after_a_summary(
    updated: datetime | None, more: dict[str, Any], due: bool
) -> None:
    profile = None if updated is None else UserProfile(content="x", updated_at=updated)
    assert bool(profile_due(profile, now=NOW, **{"summarised": True, **more})) is due


def test_a_summary_is_made_of_the_last_twelve_texts_each_cut() -> None:
    long = [Message(id=str(n), role="user" if n % 2 else "assistant", content=f"{n}" * 3000) for n in range(20)]
    found = summary_input([*long, Message(id="t", role="tool", tool_call_id="c", content="x")])
    assert len(found) == 12
    assert {len(message["content"]) for message in found} == {2000}
    text = TEMPLATES["context.session_summary"].render({"messages": found[:1]}).text
    assert "At most 240 characters" in text and "stable facts" in text


def test_a_summary_is_kept_short_and_cut_at_a_word() -> None:
    assert cut_summary(" short ") == "short"
    assert len(cut_summary("word " * 100)) <= 240
    assert cut_summary("word " * 100).endswith("word…")
    assert len(cut_summary("龙" * 500)) == 240


def test_the_profile_prompt_keeps_edits_by_hand() -> None:
    values = {"summaries": [{"updated_at": "2026-04-18", "session_name": "n", "summary": "s"}], "today": "2026-04-19"}
    render = TEMPLATES["context.user_profile_update"].render
    edited = render({**values, "current_profile": "- Likes tea.", "hand_edited": True}).text
    assert "A person has edited" in edited and "- Likes tea." in edited
    assert "A person has edited" not in render(values).text
    assert "Only stable facts" in edited


def test_plain_data_of_a_request_and_the_policy_of_an_assembly_are_taken_as_they_are() -> None:
    said = [{"id": str(n), "role": "user", "content": "x"} for n in range(3)]
    policy = put(request(), summary_turns=3).policy
    assert summary_due(said, now=NOW, policy=policy).due and not summary_due(said, now=NOW).due
    assert len(summary_input(said)) == 3
    profile = {"content": "x", "updated_at": "2026-04-19T01:00:00Z"}
    assert profile_due(profile, now=NOW, summarised=True).why == "the profile is of today"


def test_what_cannot_be_used_is_told_with_its_place() -> None:
    wrong: list[tuple[Any, str]] = [
        (lambda: summary_due([{"id": "1"}], now=NOW), r"\[0\]\.role: missing"),
        (lambda: summary_due(7, now=NOW), "7 is no list of messages"),  # type: ignore[arg-type]
        (lambda: summary_due([], now="today"), 'now: "today" is no datetime'),  # type: ignore[arg-type]
        (lambda: summary_due([], now=NOW, policy={"summary_turn": 3}), "did you mean summary_turns"),
        (lambda: profile_due({"content": "x"}, now=NOW, summarised=True), "updated_at: missing"),
    ]
    for call, said in wrong:
        with pytest.raises(InvalidArgumentError, match=said):
            call()
