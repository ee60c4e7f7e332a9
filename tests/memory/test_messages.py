"""What templates may ask of the conversation."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from recipes import recipes

from ovstore.errors import InvalidArgumentError, MissingVariablesError, RenderError
from ovstore.memory import messages as asked
from ovstore.memory.messages import extract_context
from ovstore.rendering.texts import EXTRACT_CONTEXT_FUNCTIONS

NOW = datetime(2026, 3, 2, 4, 5, 6, tzinfo=UTC)
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": [{"text": "Hi, "}, {"image": "x"}, "there"], "created_at": ""},
    {"role": "user", "peer_id": "ines", "content": "Ramen?", "created_at": "2025-12-31T23:59:58+02:00"},
    {"role": "assistant", "content": "Yes", "created_at": datetime(2026, 1, 1, tzinfo=UTC)},
    {"role": "user", "content": None},
]
RESOURCE = "## Resource Addition\n- Resource URI: viking://resources/menu.pdf\n- Source name: Menu\n"


@pytest.mark.parametrize(
    ("ranges", "groups"),
    [
        ("0-1", [[0, 1]]),
        ("2,0-1", [[0, 1, 2]]),
        ("0,2-3", [[0], [2, 3]]),
        ("3-9", [[3, 4]]),
        ("0-2, 1-3,", [[0, 1, 2, 3]]),
        (" 0 - 1 ", [[0, 1]]),
        ("7,9", []),
        ("3-2", []),
        ("", []),
        (None, []),
    ],
)
def test_ranges_name_messages_from_0_both_ends_included(ranges: str | None, groups: list[list[int]]) -> None:
    told = [[m["content"] for m in group] for group in asked.read_message_ranges(TALK, ranges)]
    assert told == [[TALK[n]["content"] for n in group] for group in groups]


@pytest.mark.parametrize("ranges", ["a", "-3", "1-2-3", "1..2", "1;2", "٣", "9999999999", 3, True, ["1"]])
def test_what_is_no_range_is_refused(ranges: Any) -> None:
    with pytest.raises(RenderError, match="no range of messages"):
        asked.get_year(TALK, ranges, now=NOW)


def test_dates_are_those_of_the_first_message_that_has_one_as_written() -> None:
    assert [f(TALK, "0-3") for f in (asked.get_year, asked.get_month, asked.get_day)] == ["2025", "12", "31"]
    assert asked.get_timestamp_from_ranges(TALK, "3") == "20260101000000"
    assert asked.get_session_timestamp(TALK) == "20251231235958"
    assert asked.get_first_message_time_from_ranges(TALK, "1-2") == "2025-12-31"
    assert asked.get_first_message_time_with_weekday_from_ranges(TALK, "1-2") == "2025-12-31 (Wednesday)"


def test_without_a_time_in_the_messages_now_counts() -> None:
    assert [f(TALK, "0", now=NOW) for f in (asked.get_year, asked.get_month, asked.get_day)] == ["2026", "03", "02"]
    assert asked.get_timestamp_from_ranges([], "", now=NOW) == "20260302040506"
    assert asked.get_session_timestamp([], now=NOW) == "20260302040506"


@pytest.mark.parametrize("name", ["get_year", "get_month", "get_day", "get_timestamp_from_ranges"])
def test_without_any_time_a_date_is_an_error(name: str) -> None:
    with pytest.raises(MissingVariablesError, match="give messages or now") as caught:
        getattr(asked, name)(TALK, "0-1")
    assert caught.value.names == ("now",)


def test_a_time_that_only_text_could_show_is_none() -> None:
    assert asked.get_first_message_time_from_ranges(TALK, "0") is None
    assert asked.get_first_message_time_with_weekday_from_ranges(TALK, None) is None


def test_a_broken_time_is_refused() -> None:
    with pytest.raises(RenderError, match="'yesterday'"):
        asked.get_session_timestamp([{"created_at": "yesterday"}], now=NOW)


@pytest.mark.parametrize("now", [datetime(2026, 1, 1), "2026-01-01T00:00:00Z", date(2026, 1, 1), 0])
def test_now_needs_a_zone(now: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="time zone"):
        extract_context(TALK, now)


@pytest.mark.parametrize("messages", [None, "Hello", 3, {"role": "user"}])
def test_messages_are_a_list(messages: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="a list of messages"):
        extract_context(messages)


@pytest.mark.parametrize("message", ["Hello", None, ["Hello"]])
def test_a_message_is_a_mapping(message: Any) -> None:
    for ask in (asked.get_session_timestamp, lambda talk: asked.get_event_content(talk, "0")):
        with pytest.raises(RenderError, match="a message is a mapping"):
            ask([message])


@pytest.mark.parametrize("content", [5, {"text": "Hello"}, True])
def test_content_of_another_form_is_refused_and_not_lost(content: Any) -> None:
    with pytest.raises(RenderError, match="the content of a message is text or a list"):
        asked.get_event_content([{"role": "user", "content": content}], "0")


def test_a_year_has_four_digits() -> None:
    talk = [{"created_at": "0001-02-03T04:05:06Z"}]
    assert asked.get_year(talk, "0") == "0001"
    assert asked.get_timestamp_from_ranges(talk, "0") == asked.get_session_timestamp(talk) == "00010203040506"
    assert asked.get_first_message_time_from_ranges(talk, "0") == "0001-02-03"


def test_event_content_is_the_messages_or_a_much_shorter_summary() -> None:
    original = "**user**: Hello\n...\n**ines**: Ramen?\n**assistant**: Yes"
    assert asked.get_event_content(TALK, "0,2-3") == original
    assert asked.get_event_content(TALK, "0,2-3", " ") == original
    assert asked.get_event_content(TALK, "0", "abc") == "**user**: Hello", "a fifth is not shorter than a fifth"
    assert asked.get_event_content(TALK, "0,2-3", "Dinner") == "Dinner"
    assert asked.get_event_content(TALK, "0,2-3", "A dinner is planned") == original
    assert asked.get_event_content(TALK, "0,2-3", "A dinner is planned", 0.9) == "A dinner is planned"
    assert asked.get_event_content(TALK, "", "Dinner") == "Dinner"
    assert asked.get_event_content(TALK, "", None) == ""
    assert asked.get_event_content(TALK, "1,4") == "**assistant**: Hi, there\n...\n**user**: "


def test_a_resource_is_linked_behind_the_summary() -> None:
    talk = [{"role": "user", "content": "Look"}, {"role": "user", "content": RESOURCE}]
    link = "[Menu](viking://resources/menu.pdf)"
    assert asked.get_resource_event_content(talk, "0-1", "Saved the menu.") == f"Saved the menu. {link}"
    assert asked.get_resource_event_content(talk, "0-1", f"Saved {link}.") == f"Saved {link}."
    assert asked.get_resource_event_content(talk, "1") == link
    assert asked.get_resource_event_content(talk, "0", "Saved") == ""
    assert asked.get_resource_event_content([{"content": RESOURCE.replace("- Source name: Menu\n", "")}], "0") == (
        "[menu.pdf](viking://resources/menu.pdf)"
    )


def test_templates_know_exactly_these_functions() -> None:
    assert set(extract_context(TALK)) == EXTRACT_CONTEXT_FUNCTIONS


def test_a_template_gets_the_messages_as_data() -> None:
    shown = recipes(
        content_template="{% for group in extract_context.read_message_ranges('0,2-3') %}"
        "{% for m in group %}{{ m.role }} {{ m.created_at }};{% endfor %}|{% endfor %}"
    )
    assert shown.content({}, messages=TALK) == (
        "user ;|user 2025-12-31T23:59:58+02:00;assistant 2026-01-01T00:00:00+00:00;|"
    )
