"""What templates of memory schemas may ask of the conversation: the functions of `extract_context`.

Each is a plain function of given messages. A message is a mapping: `role`, `content` (text, or a list of texts and of
parts with `text`), and, where known, `created_at` (ISO 8601 or a datetime) and `peer_id`. Ranges count messages from 0,
both ends included: "12-18,25"; what lies beyond the last message is nothing.

A date that the messages do not tell is never the clock's: it is `now`, where the caller gives that, else an error. The
same memory thus has the same path whenever it is rendered. Times are told as they are written, in their own zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import Any, Final

from ovstore.errors import InvalidArgumentError, MissingVariablesError, RenderError

Message = Mapping[str, Any]

RATIO: Final = 0.2
"""A summary that is shorter than this part of the original stands for it."""

_RANGE: Final = re.compile(r"([0-9]{1,9})(?: *- *([0-9]{1,9}))?")
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_RESOURCE: Final = re.compile(r"^[ \t*-]*(Resource URI|Source name)[ \t*]*:[ \t*]*(\S.*?)[ \t]*$", re.MULTILINE)
_RESOURCE_HEADING: Final = "## Resource Addition"


def read_message_ranges(messages: Sequence[Message], ranges: str | None) -> list[list[Message]]:
    """Return the messages of some ranges, in order; ranges that touch or overlap are one group.

    >>> len(read_message_ranges([{"role": "user", "content": "Hi"}], "0-3")[0])
    1
    """
    spans: list[list[int]] = []
    for begin, end in sorted(_spans(ranges or "")):
        if spans and begin <= spans[-1][1] + 1:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([begin, end])
    groups = [list(map(_checked, messages[begin : end + 1])) for begin, end in spans]
    return [group for group in groups if group]


def _checked(message: Message) -> Message:
    """Return a message as the plain data that a template can print."""
    if not isinstance(message, Mapping):
        raise RenderError(f"a message is a mapping with role and content, not {type(message).__name__}")
    written = message.get("created_at")
    return {**message, "created_at": written.isoformat()} if isinstance(written, date) else message


def _spans(ranges: str) -> list[tuple[int, int]]:
    if not isinstance(ranges, str):
        raise RenderError(f"{str(ranges)[:40]} is no range of messages: it is a text, such as 12-18,25")
    spans = []
    for text in filter(None, (part.strip() for part in ranges.split(","))):
        match = _RANGE.fullmatch(text)
        if not match:
            raise RenderError(f"{text[:40]!r} is no range of messages: numbers from 0, such as 12-18,25")
        spans.append((int(match[1]), int(match[2] or match[1])))
    return spans


def get_year(messages: Sequence[Message], ranges: str | None, *, now: datetime | None = None) -> str:
    """Return the year (YYYY) of the first message of some ranges that has a time."""
    return f"{_told(messages, ranges, now).year:04}"


def get_month(messages: Sequence[Message], ranges: str | None, *, now: datetime | None = None) -> str:
    """Return its month (MM)."""
    return f"{_told(messages, ranges, now):%m}"


def get_day(messages: Sequence[Message], ranges: str | None, *, now: datetime | None = None) -> str:
    """Return its day (DD)."""
    return f"{_told(messages, ranges, now):%d}"


def get_timestamp_from_ranges(messages: Sequence[Message], ranges: str | None, *, now: datetime | None = None) -> str:
    """Return its time as YYYYMMDDHHMMSS."""
    return _stamp(_told(messages, ranges, now))


def get_session_timestamp(messages: Sequence[Message], *, now: datetime | None = None) -> str:
    """Return the time of the first message that has one, as YYYYMMDDHHMMSS."""
    return _stamp(_needed(_first_time(map(_checked, messages)), now))


def get_first_message_time_from_ranges(messages: Sequence[Message], ranges: str | None) -> str | None:
    """Return the date of the first message of some ranges that has a time, YYYY-MM-DD; None without one."""
    time = _time_of(messages, ranges)
    return f"{time.date()}" if time else None


def get_first_message_time_with_weekday_from_ranges(messages: Sequence[Message], ranges: str | None) -> str | None:
    """Return the same with its day of the week: 2026-03-02 (Monday)."""
    time = _time_of(messages, ranges)
    return f"{time.date()} ({_DAYS[time.weekday()]})" if time else None


def get_event_content(
    messages: Sequence[Message], ranges: str | None, summary: str | None = None, ratio: float = RATIO
) -> str:
    """Return the messages of some ranges as text, or their summary where that is much shorter.

    One message follows the other as `**speaker**: text`; a line `...` stands between groups.
    """
    groups = read_message_ranges(messages, ranges)
    original = "\n...\n".join("\n".join(f"**{_speaker(m)}**: {_text(m)}" for m in group) for group in groups)
    told = str(summary or "")
    if not told.strip():
        return original
    return original if original and len(told) / len(original) >= ratio else told


def get_resource_event_content(messages: Sequence[Message], ranges: str | None, summary: str | None = None) -> str:
    """Return a summary with a link to the resource that some messages say was added; "" where none was."""
    for message in (m for group in read_message_ranges(messages, ranges) for m in group):
        text = _text(message)
        told = dict(_RESOURCE.findall(text)) if _RESOURCE_HEADING in text else {}
        if uri := told.get("Resource URI"):
            said = str(summary or "").strip()
            link = f"[{told.get('Source name') or uri.rstrip('/').rpartition('/')[2]}]({uri})"
            return said if f"]({uri})" in said else f"{said} {link}".lstrip()
    return ""


def extract_context(messages: Sequence[Message], now: datetime | None = None) -> dict[str, Callable[..., Any]]:
    """Return the functions that templates know, by name, bound to the messages of one conversation.

    `now` is an aware time: what dates are that no message tells.
    """
    if now is not None and (not isinstance(now, datetime) or now.tzinfo is None):
        raise InvalidArgumentError("now takes a datetime with a time zone", argument="now", value=now)
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise InvalidArgumentError("messages takes a list of messages", argument="messages", value=messages)
    dated = (get_year, get_month, get_day, get_timestamp_from_ranges, get_session_timestamp)
    others = (
        get_first_message_time_from_ranges,
        get_first_message_time_with_weekday_from_ranges,
        get_event_content,
        get_resource_event_content,
        read_message_ranges,
    )
    bound: dict[str, Callable[..., Any]] = {function.__name__: partial(function, messages) for function in others}
    return bound | {function.__name__: partial(function, messages, now=now) for function in dated}


def _told(messages: Sequence[Message], ranges: str | None, now: datetime | None) -> datetime:
    return _needed(_time_of(messages, ranges), now)


def _needed(time: datetime | None, now: datetime | None) -> datetime:
    if time is not None:
        return time
    if now is not None:
        return now
    raise MissingVariablesError(
        "the template needs the time of the conversation, and no message of its range tells one: give messages or now",
        names=("now",),
    )


def _time_of(messages: Sequence[Message], ranges: str | None) -> datetime | None:
    return _first_time([message for group in read_message_ranges(messages, ranges) for message in group])


def _stamp(time: datetime) -> str:
    return f"{time.year:04}{time:%m%d%H%M%S}"


def _first_time(messages: Iterable[Message]) -> datetime | None:
    return next((_read_time(message["created_at"]) for message in messages if message.get("created_at")), None)


def _read_time(written: object) -> datetime:
    try:
        return datetime.fromisoformat(str(written))
    except ValueError as error:
        raise RenderError(f"created_at of a message is no ISO 8601 time: {str(written)[:40]!r}") from error


def _speaker(message: Message) -> str:
    return str(message.get("peer_id") or message.get("role") or "")


def _text(message: Message) -> str:
    content = message.get("content") or ""
    if not isinstance(content, (str, list, tuple)):
        raise RenderError(f"the content of a message is text or a list of parts, not {type(content).__name__}")
    parts = [content] if isinstance(content, str) else content
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return "".join(text for text in texts if isinstance(text, str))
