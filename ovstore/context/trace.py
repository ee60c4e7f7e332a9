"""What an assembly answers: the messages, and for every character the layer, the sources and the template behind it.

Offsets are code points, half open. The segments of a message tile its content: sorted, without gaps, and the ones of
an empty content are empty. Everything that came in is named by a segment or in `dropped`, never by both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from ovstore.context.fields import Count, Text

Role = Literal["system", "user", "assistant", "tool"]
Stability = Literal["static", "session", "slow", "turn"]
Reason = Literal[
    "isolated",
    "disabled",
    "empty",
    "archived",
    "expired",
    "not_yet_valid",
    "top_k",
    "own_session",
    "limit",
    "max_history",
    "orphan_tool",
    "no_match",
    "recursion",
    "delay",
    "cooldown",
    "probability",
    "group",
    "book_budget",
    "layer_budget",
    "token_budget",
]

STABILITIES: Final[tuple[Stability, ...]] = ("static", "session", "slow", "turn")
MAX_BREAKPOINTS: Final = 4
"""What providers with explicit cache marks take at most."""


@dataclass(frozen=True, slots=True)
class TemplateRef:
    """The version of a document that took part; the hash is that of the effective document, in hex."""

    key: str
    scope: str
    version: int
    hash: str


@dataclass(frozen=True, slots=True)
class Written:
    """What a wrapper made of its values: the text, which values its `max_length` cut, and the parts it took in."""

    text: str
    cut: Sequence[str] = ()
    parts: Sequence[TemplateRef] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """A wrapper ready to render: plain values in, text out. Values are never rendered themselves."""

    ref: TemplateRef
    render: Callable[[Mapping[str, Any]], Written]


@dataclass(frozen=True, slots=True)
class AssembledMessage:
    """One message to send. `id` is that of the history message it is, None for what was put in."""

    role: Role
    content: str
    id: str | None = None
    tool_calls: tuple[str, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """The characters [start, end) of messages[message_index].content and where they came from.

    `stability` says how long the same characters are likely to stand in the same place.
    """

    message_index: int
    start: int
    end: int
    layer: str
    source_ids: tuple[str, ...]
    template: TemplateRef | None
    stability: Stability
    tokens: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that came in and was left out, and why; `detail` says more where there is more to say."""

    layer: str
    source_id: str
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A place where a provider's cache can be told to end: everything before it is likely to be sent again as it is.

    `stability` is that of the least stable character before it.
    """

    message_index: int
    offset: int
    stability: Stability
    tokens: int
    prefix_sha256: str


@dataclass(frozen=True, slots=True)
class TimedState:
    """What a lore entry carries from one assembly to the next, in counts of user and assistant messages.

    `anchor` is the id of the message that a pinned entry stands behind, "" for the start, None for an entry not pinned;
    `anchored` is the count at which it was pinned.
    """

    started: Count = 0
    sticky_until: Count = 0
    cooldown_until: Count = 0
    anchor: Text | None = None
    anchored: Count = 0


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """A request made into messages. Hand `worldbook_state` to the next request; compare `fingerprint` to know whether
    two assemblies had the same inputs, policy and templates. `revision` is the store's, for replay with `at=`."""

    messages: tuple[AssembledMessage, ...]
    tools: tuple[str, ...]
    trace: tuple[Segment, ...]
    dropped: tuple[Dropped, ...]
    breakpoints: tuple[Breakpoint, ...]
    worldbook_state: Mapping[str, TimedState]
    tokens: int
    warnings: tuple[str, ...]
    fingerprint: str
    templates: tuple[TemplateRef, ...]
    policy: Mapping[str, Any]
    revision: str = ""

    def text(self, segment: Segment) -> str:
        """Return the characters of a segment."""
        return self.messages[segment.message_index].content[segment.start : segment.end]

    @property
    def tokens_by_layer(self) -> Mapping[str, int]:
        """Tokens of each layer that is there, in the order of its first segment."""
        totals: dict[str, int] = {}
        for segment in self.trace:
            totals[segment.layer] = totals.get(segment.layer, 0) + segment.tokens
        return totals


@dataclass(frozen=True, slots=True)
class Piece:
    """Text on its way into a message."""

    layer: str
    text: str
    source_ids: tuple[str, ...]
    template: TemplateRef | None
    stability: Stability


@dataclass(frozen=True, slots=True)
class Draft:
    """A message and the pieces that make its content."""

    role: Role
    pieces: tuple[Piece, ...]
    id: str | None = None
    tool_calls: tuple[str, ...] = ()
    tool_call_id: str | None = None

    @property
    def content(self) -> str:
        return "".join(piece.text for piece in self.pieces)


def sealed(drafts: Sequence[Draft], count: Callable[[str], int]) -> tuple[list[AssembledMessage], list[Segment]]:
    """Make messages of drafts, and the segments that tile them."""
    messages: list[AssembledMessage] = []
    segments: list[Segment] = []
    for index, draft in enumerate(drafts):
        start = 0
        for piece in draft.pieces:
            end = start + len(piece.text)
            digest = hashlib.sha256(piece.text.encode()).hexdigest()
            segments.append(
                Segment(
                    index,
                    start,
                    end,
                    piece.layer,
                    piece.source_ids,
                    piece.template,
                    piece.stability,
                    count(piece.text),
                    digest,
                )
            )
            start = end
        messages.append(AssembledMessage(draft.role, draft.content, draft.id, draft.tool_calls, draft.tool_call_id))
    return messages, segments


def breakpoints(messages: Sequence[AssembledMessage], trace: Sequence[Segment]) -> tuple[Breakpoint, ...]:
    """Return where stability changes before the first `turn` segment, the deepest few, in order."""
    found: list[tuple[Segment, Stability, int]] = []
    tokens, worst = 0, 0
    before: Segment | None = None
    tokens_before = 0
    for segment in trace:
        if segment.layer != "separator":
            if before is not None and segment.stability != before.stability:
                found.append((before, STABILITIES[worst], tokens_before))
            if segment.stability == "turn":
                break
            before, worst = segment, max(worst, STABILITIES.index(segment.stability))
            tokens_before = tokens + segment.tokens
        tokens += segment.tokens
    return tuple(
        Breakpoint(last.message_index, last.end, stability, sent, _prefix(messages, last))
        for last, stability, sent in found[-MAX_BREAKPOINTS:]
    )


def _prefix(messages: Sequence[AssembledMessage], last: Segment) -> str:
    digest = hashlib.sha256()
    for message in messages[: last.message_index]:
        digest.update(f"{message.role}\0{message.content}\0".encode())
    final = messages[last.message_index]
    digest.update(f"{final.role}\0{final.content[: last.end]}".encode())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two assemblies stop sharing a prefix. `layer` is the block that broke it; `before` and `after` are the
    segments at that place in the first and in the second, None where that one has ended.

    `shared` and `total` are characters: of the first assembly, how many the second begins with.
    """

    layer: str
    before: Segment | None
    after: Segment | None
    shared: int
    total: int


def first_divergence(a: AssembledContext, b: AssembledContext) -> Divergence | None:
    """Return the block at which b stops repeating a: what a provider's prefix cache, filled by a, is broken by.

    None when b begins with all of a. Tools come before everything in what providers cache: where the offered ones
    differ, nothing is shared, and the layer is `tools`. Where a put something in behind the history (an enhanced
    prompt, the time) and b has new history in its place, the block is the one put in.
    """
    shared = 0
    total = sum(len(message.content) for message in a.messages)
    if a.tools != b.tools:
        return Divergence("tools", None, None, 0, total)
    for index, old in enumerate(a.messages):
        new = b.messages[index] if index < len(b.messages) else None
        if new == old:
            shared += len(old.content)
            continue
        same_kind = new is not None and (new.role, new.tool_calls) == (old.role, old.tool_calls)
        offset = _common(old.content, new.content) if new is not None and same_kind else 0
        before, after = _segment_at(a, index, offset), _segment_at(b, index, offset)
        return Divergence(_culprit(b, before, after), before, after, shared + offset, total)
    return None


def _culprit(b: AssembledContext, before: Segment | None, after: Segment | None) -> str:
    """Name the block: one that vanished or changed is the old one, one pushed aside is moved by the new one."""
    if before is None or after is None:
        known = before or after
        return known.layer if known else "history"
    if after.layer == "history":
        return before.layer
    moved = any(segment.sha256 == before.sha256 and segment.layer == before.layer for segment in b.trace)
    return after.layer if moved or before.layer == "history" else before.layer


def _common(one: str, other: str) -> int:
    """The length of the common prefix, by halving: slices compare at the speed of memory."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _segment_at(context: AssembledContext, index: int, offset: int) -> Segment | None:
    """The segment that holds a place, or the next one in its message; a separator counts as what it leads to."""
    here = [s for s in context.trace if s.message_index == index and (s.end > offset or s.start == s.end == offset)]
    return next((s for s in here if s.layer != "separator"), None)
