"""The history on its way into a context: isolated, repaired, cut to a window, and marked with the time.

A turn is one or more user messages and everything up to the next user message; what stands before the first user
message is a turn of its own. A tool run is an assistant message with calls and the results right behind it: nothing is
ever put between them, and neither is sent without the other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta

from ovstore.context.policy import Policy
from ovstore.context.request import Message
from ovstore.context.trace import Dropped, Reason

History = tuple[Message, ...]


def isolated(history: Sequence[Message]) -> tuple[History, list[Dropped]]:
    """Leave out tool messages and calls, and assistant messages that had nothing else."""
    kept: list[Message] = []
    dropped: list[Dropped] = []
    for message in history:
        if message.role == "tool" or (message.tool_calls and not message.content.strip()):
            dropped.append(_drop(message, "isolated"))
            continue
        dropped += [Dropped("tool_call", call, "isolated", f"of {message.id}") for call in message.tool_calls]
        kept.append(message.model_copy(update={"tool_calls": ()}) if message.tool_calls else message)
    return tuple(kept), dropped


def repaired(history: Sequence[Message]) -> tuple[History, list[Dropped]]:
    """Leave out results without a call, calls without a result, and assistant messages that are left with nothing."""
    kept: list[Message] = []
    dropped: list[Dropped] = []
    at = 0
    while at < len(history):
        message = history[at]
        at += 1
        if message.role == "tool":
            dropped.append(_drop(message, "orphan_tool", f"no call {message.tool_call_id} before it"))
            continue
        if not message.tool_calls:
            if message.role == "assistant" and not message.content.strip():
                dropped.append(_drop(message, "empty"))
            else:
                kept.append(message)
            continue
        results: dict[str, Message] = {}
        while at < len(history) and history[at].role == "tool":
            result = history[at]
            at += 1
            call = str(result.tool_call_id)
            if call in message.tool_calls and call not in results:
                results[call] = result
            else:
                dropped.append(_drop(result, "orphan_tool", f"no call {call} right before it"))
        answered = tuple(call for call in message.tool_calls if call in results)
        unanswered = [call for call in message.tool_calls if call not in results]
        dropped += [Dropped("tool_call", call, "orphan_tool", f"of {message.id}: no result") for call in unanswered]
        if not answered and not message.content.strip():
            dropped.append(_drop(message, "orphan_tool", "its calls have no results"))
            continue
        kept.append(message.model_copy(update={"tool_calls": answered}) if unanswered else message)
        kept += results.values()
    return tuple(kept), dropped


def _drop(message: Message, reason: Reason, detail: str = "") -> Dropped:
    return Dropped("history", message.id, reason, detail)


def turn_starts(history: Sequence[Message]) -> list[int]:
    """Return where each turn begins; the first begins at 0.

    >>> turn_starts([Message(id=str(n), role=role) for n, role in enumerate(["user", "user", "assistant", "user"])])
    [0, 3]
    """
    follows = [at for at in range(1, len(history)) if history[at].role == "user" and history[at - 1].role != "user"]
    return [0, *follows] if history else []


def window(history: Sequence[Message], policy: Policy) -> tuple[History, list[Dropped]]:
    """Cut a repaired history to the policy's window; the newest turn, or its user message, is always in it.

    `turns` keeps whole turns as long as they fit; `messages` the last N, widened to the newest user message, and what
    the cut has orphaned goes too; `sawtooth` lets the window grow to N and then cuts it to a part of that, so that most
    assemblies begin with the same message as the one before.
    """
    most = policy.max_history
    if not most or len(history) <= most:
        return tuple(history), []
    if policy.trim == "messages":
        newest = max((at for at, message in enumerate(history) if message.role == "user"), default=len(history))
        start = min(len(history) - most, newest)
    elif policy.trim == "sawtooth":
        start = _sawtooth(history, most, max(1, int(most * policy.sawtooth_low)))
    else:
        starts = turn_starts(history)
        fits = bisect_left(starts, len(history) - most)
        start = starts[min(fits, len(starts) - 1)]
    dropped = [_drop(message, "max_history") for message in history[:start]]
    kept, orphans = repaired(history[start:])
    return kept, [*dropped, *orphans]


def _sawtooth(history: Sequence[Message], most: int, low: int) -> int:
    """Where the window begins after the history has grown message by message: a function of the messages alone."""
    starts = turn_starts(history)
    start = 0
    for end in range(1, len(history) + 1):
        if end - start > most:
            newest = bisect_left(starts, end) - 1
            start = max(start, starts[min(bisect_left(starts, end - low), newest)])
    return start


def landmarks(history: Sequence[Message], minutes: int) -> dict[str, datetime]:
    """Return the messages to put the time before: `minutes` or more after the last one so marked, or after the first.

    They follow from the messages' own times, so that they stay where they are from one assembly to the next.
    """
    every = timedelta(minutes=minutes)
    marks: dict[str, datetime] = {}
    last: datetime | None = None
    for message in history:
        sent = message.created_at
        if sent is None or message.role == "tool":
            continue
        if last is None:
            last = sent
        elif sent - last >= every:
            marks[message.id] = last = sent
    return marks


def places(history: Sequence[Message]) -> list[int]:
    """Return for each index of a history where something may stand that is put in front of it: not within a tool run.

    >>> call = Message(id="a", role="assistant", tool_calls=("c",))
    >>> places([Message(id="u", role="user"), call, Message(id="t", role="tool", tool_call_id="c")])
    [0, 1, 1, 3]
    """
    found: list[int] = []
    for at, message in enumerate(history):
        found.append(found[at - 1] if message.role == "tool" and at else at)
    return [*found, len(history)]


def query(history: Sequence[Message]) -> str:
    """Return what memories are looked up by: the last two texts of each side, oldest first, with their roles."""
    said = [(at, m) for at, m in enumerate(history) if m.role in ("user", "assistant") and m.content.strip()]
    recent = [entry for role in ("user", "assistant") for entry in [pair for pair in said if pair[1].role == role][-2:]]
    return "\n".join(f"{message.role}: {message.content}" for _, message in sorted(recent, key=lambda pair: pair[0]))


def anchor_index(history: Sequence[Message], anchor: str) -> int:
    """Return the index behind the message that a pinned entry stands behind; 0 when that is gone."""
    return next((at + 1 for at, message in enumerate(history) if message.id == anchor), 0)
