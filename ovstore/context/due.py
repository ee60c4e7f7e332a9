"""When to make a summary of a session and when to bring a profile up to date: pure functions of times and counts.

What they say is for the caller to do, with the prompts `context.session_summary` and `context.user_profile_update`.
An isolated session is never summed up, so nothing of it comes back in another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from ovstore.context import faults
from ovstore.context import policy as policies
from ovstore.context import request as requests
from ovstore.context.policy import Policy, Settings
from ovstore.context.request import Message, UserProfile, zone
from ovstore.errors import InvalidArgumentError

SUMMARISED_MESSAGES: Final = 12
SUMMARISED_LENGTH: Final = 2_000
SUMMARY_LENGTH: Final = 240


@dataclass(frozen=True, slots=True)
class Due:
    """Whether it is time, and why or why not; true when it is."""

    due: bool
    why: str

    def __bool__(self) -> bool:
        return self.due


def summary_due(
    history: Iterable[Message | Mapping[str, Any]],
    *,
    now: datetime,
    last_summary: datetime | None = None,
    policy: Policy | Mapping[str, Any] | None = None,
    isolated: bool = False,
) -> Due:
    """Tell whether the session has enough new talk for a summary: turns of the user, and time since the last one.

    History and policy may be plain data: those of a request, and the `policy` of an assembly.

    >>> from datetime import UTC
    >>> said = [Message(id=str(n), role="user", content="hello") for n in range(6)]
    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> summary_due(said, now=now).due, summary_due(said[1:], now=now).why
    (True, '5 of 6 messages of the user')
    """
    _check_aware(now=now, last_summary=last_summary)
    rules = _rules(policy)
    shut = _shut(rules, isolated, rules.summaries_enabled, "summaries")
    if shut is not None:
        return shut
    spoken = [
        message for message in requests.read_messages(history) if message.role == "user" and message.content.strip()
    ]
    if len(spoken) < rules.summary_turns:
        return Due(False, f"{len(spoken)} of {rules.summary_turns} messages of the user")
    if last_summary is None:
        return Due(True, f"{len(spoken)} messages of the user and no summary yet")
    if now - last_summary < timedelta(minutes=rules.summary_minutes):
        return Due(False, f"the last summary is less than {rules.summary_minutes} minutes old")
    if all(message.created_at is not None and message.created_at <= last_summary for message in spoken):
        return Due(False, "the user has said nothing since the last summary")
    return Due(True, f"the last summary is {rules.summary_minutes} minutes old or more, and the talk went on")


def profile_due(
    profile: UserProfile | Mapping[str, Any] | None,
    *,
    now: datetime,
    timezone: str = "UTC",
    summarised: bool,
    duplicates: bool = False,
    policy: Policy | Mapping[str, Any] | None = None,
    isolated: bool = False,
) -> Due:
    """Tell whether the profile is to be brought up to date: once a day, and only right after a new summary.

    `summarised`: a summary was made just now. `duplicates`: someone has flagged that the profile repeats itself. The
    day is that of the user's calendar. A hand-edited profile is updated like any other: what its owner wrote is
    kept by the prompt, which is told of it (`hand_edited`).
    """
    _check_aware(now=now)
    here = zone(timezone)
    rules = _rules(policy)
    shut = _shut(rules, isolated, rules.profile_enabled, "profiles")
    if shut is not None:
        return shut
    if not summarised:
        return Due(False, "no new summary: there is nothing new to learn from")
    known = None if profile is None else requests.read_profile(profile)
    if known is None or not known.content.strip():
        return Due(True, "there is no profile yet")
    if duplicates:
        return Due(True, "the profile repeats itself")
    if known.updated_at.astimezone(here).date() == now.astimezone(here).date():
        return Due(False, "the profile is of today")
    return Due(True, f"the profile is of {known.updated_at.astimezone(here).date()}")


def summary_input(history: Iterable[Message | Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return what a summary is made of, as `messages` of `context.session_summary`: the last texts, each cut."""
    said = [m for m in requests.read_messages(history) if m.role in ("user", "assistant") and m.content.strip()]
    return [{"role": m.role, "content": m.content[:SUMMARISED_LENGTH]} for m in said[-SUMMARISED_MESSAGES:]]


def cut_summary(text: str) -> str:
    """Return a summary as it is kept: trimmed, and at most 240 characters, cut at a word where there is one."""
    text = text.strip()
    if len(text) <= SUMMARY_LENGTH:
        return text
    head = text[: SUMMARY_LENGTH - 1]
    at = head.rfind(" ")
    return (head[:at] if at > SUMMARY_LENGTH // 2 else head).rstrip() + "…"


def _check_aware(**times: datetime | None) -> None:
    for name, time in times.items():
        if time is not None and (not isinstance(time, datetime) or time.utcoffset() is None):
            what = "has no time zone" if isinstance(time, datetime) else f"{faults.shown(time)} is no datetime"
            raise InvalidArgumentError(f"{name}: {what}; {faults.NO_TIME}", argument=name, value=time)


def _rules(policy: Policy | Mapping[str, Any] | None) -> Policy:
    return policy if isinstance(policy, Policy) else policies.effective(Settings(policy or {}), {})


def _shut(rules: Policy, isolated: bool, on: bool, what: str) -> Due | None:
    if isolated:
        return Due(False, "the session is isolated")
    return None if rules.memory_enabled and on else Due(False, f"{what} are switched off")
