"""Times as they are told: clocks that are set forward and back, old offsets, landmarks, and calendars' ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from wrappers import NOW, TEMPLATES, data_of, layers, put, request, template, told

from ovstore.context import Message, UserProfile, profile_due, summary_due
from ovstore.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("now", "zone", "local", "iso8601"),
    [
        ("2026-03-29T00:59:59Z", "Europe/Rome", "2026-03-29 01:59:59 GMT+01:00", "2026-03-29T01:59:59+01:00"),
        ("2026-03-29T01:00:00Z", "Europe/Rome", "2026-03-29 03:00:00 GMT+02:00", "2026-03-29T03:00:00+02:00"),
        ("2026-10-25T00:30:00Z", "Europe/Rome", "2026-10-25 02:30:00 GMT+02:00", "2026-10-25T02:30:00+02:00"),
        ("2026-10-25T01:30:00Z", "Europe/Rome", "2026-10-25 02:30:00 GMT+01:00", "2026-10-25T02:30:00+01:00"),
        ("2026-04-19T12:00:00+02:00", "Asia/Kathmandu", "2026-04-19 15:45:00 GMT+05:45", "2026-04-19T15:45:00+05:45"),
        ("2026-04-19T12:00:00.999Z", "UTC", "2026-04-19 12:00:00 GMT+00:00", "2026-04-19T12:00:00+00:00"),
        ("1900-01-01T00:00:00Z", "Europe/Amsterdam", "1900-01-01 00:19:00 GMT+00:19", "1900-01-01T00:19:00+00:19"),
    ],
)
def test_the_time_is_that_of_the_users_clock_and_says_how_far_it_is_ahead(
    now: str, zone: str, local: str, iso8601: str
) -> None:
    block = told(put(request(now=now, timezone=zone)), "time")
    assert f"Local: {local} ({zone})\nISO 8601: {iso8601}\n" in block
    assert datetime.fromisoformat(iso8601).utcoffset() is not None


@pytest.mark.parametrize("now", ["0002-01-01T00:00:00Z", "9998-12-31T23:59:59Z"])
@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Kiritimati"])
def test_every_time_that_is_taken_can_be_told_in_every_zone(now: str, zone: str) -> None:
    said = [{"id": "u", "role": "user", "content": "x", "created_at": now}]
    memories = [{"id": "m", "content": "x", "updated_at": now, "score": 1}]
    assert "time" in layers(put(request(now=now, timezone=zone, history=said, memories=memories)))


def test_a_landmark_whose_wrapper_gives_no_text_is_no_message() -> None:
    said = [
        {"id": "u", "role": "user", "content": "x", "created_at": NOW - timedelta(hours=2)},
        {"id": "a", "role": "assistant", "content": "y", "created_at": NOW},
    ]
    marked = put(request(history=said), time="off")
    assert layers(marked) == ["history", "time_landmark", "history"]
    for text in ("", " \n"):
        own = template(data_of("time_landmark") | {"template": text, "variables": []}, "acme")
        context = put(request(history=said), templates={**TEMPLATES, "context.time_landmark": own}, time="off")
        assert layers(context) == ["history", "history"] and len(context.messages) == 2


def test_a_wrapper_that_gives_only_blanks_sends_nothing_and_says_so() -> None:
    own = template(data_of("memory") | {"template": " \n ", "variables": []}, "acme")
    asked = request(memories=[{"id": "m", "content": "x", "score": 1}])
    context = put(asked, templates={**TEMPLATES, "context.memory": own})
    assert layers(context) == ["time"]
    assert [(drop.source_id, drop.reason) for drop in context.dropped] == [("m", "empty")]


def test_due_asks_for_aware_times_and_known_zones() -> None:
    said = [Message(id=str(n), role="user", content="x") for n in range(6)]
    profile = UserProfile(content="x", updated_at=NOW)
    naive = NOW.replace(tzinfo=None)
    for wrong in (
        lambda: summary_due(said, now=naive),
        lambda: summary_due(said, now=NOW, last_summary=naive),
        lambda: profile_due(profile, now=naive, summarised=True),
        lambda: profile_due(profile, now=NOW, timezone="Mars/Base", summarised=True),
    ):
        with pytest.raises(InvalidArgumentError, match="zone"):
            wrong()


@pytest.mark.parametrize(
    ("later", "due"), [(timedelta(minutes=119, seconds=59), False), (timedelta(minutes=120), True)]
)
def test_a_summary_is_due_at_the_minute_and_not_before(later: timedelta, due: bool) -> None:
    said = [Message(id=str(n), role="user", content="x", created_at=NOW + later) for n in range(6)]
    assert summary_due(said, now=NOW + later, last_summary=NOW).due is due


def test_a_profile_is_due_at_the_users_midnight() -> None:
    profile = UserProfile(content="x", updated_at=datetime(2026, 4, 19, 15, 0, tzinfo=UTC))
    for now, due in ((datetime(2026, 4, 19, 15, 59, tzinfo=UTC), False), (datetime(2026, 4, 19, 16, tzinfo=UTC), True)):
        assert profile_due(profile, now=now, timezone="Asia/Shanghai", summarised=True).due is due
        assert not profile_due(profile, now=now, timezone="UTC", summarised=True)
