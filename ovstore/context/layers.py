"""The items of each layer: what of a request takes part, in which order, as values for its wrapper.

An item is the smallest thing that is kept or dropped: a memory, a summary, an entry of lore, a whole prompt. Which
items there are is settled here, by switches, validity and top-K; where they stand is the assembly's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any

from ovstore.context import history as histories
from ovstore.context import request as requests
from ovstore.context.escaping import Escaper
from ovstore.context.policy import ISOLATED_LAYERS, Group, Policy
from ovstore.context.request import AssembleRequest, MemoryItem, Message, zone
from ovstore.context.trace import Dropped, Reason, Stability
from ovstore.context.worldbook import Lore

Retrieve = Callable[[str, int], Iterable[MemoryItem | Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing of a layer. `rank` orders the items of a group, the first to be dropped first."""

    layer: str
    id: str
    values: Mapping[str, Any]
    stability: Stability
    group: Group | None = None
    rank: tuple[Any, ...] = ()
    lore: Lore | None = None


@dataclass
class Layers:
    """The items that take part, in the order in which their wrappers list them, and what does not."""

    request: AssembleRequest
    policy: Policy
    retrieve: Retrieve | None
    isolated: bool
    items: list[Item] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    retrieved: list[MemoryItem] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.escaper = Escaper(self.policy)
        self.zone = zone(self.request.timezone)

    def drop(self, layer: str, source_id: str, reason: Reason, detail: str = "") -> None:
        self.dropped.append(Dropped(layer, source_id, reason, detail))

    def add_all(self, lore: Sequence[Lore]) -> None:
        """Take in every layer but the history."""
        self.add_prompts()
        self.add_time()
        self.add_memories()
        self.add_summaries()
        self.add_profile()
        self.add_lore(lore)

    def add_prompts(self) -> None:
        request = self.request
        enhanced = None if request.enhanced_prompt is None else request.enhanced_prompt.strip()
        prompts: tuple[tuple[str, str | None, Stability], ...] = (
            ("system_prompt", request.system_prompt, "static"),
            ("topic_prompt", request.topic_prompt, "session"),
            ("enhanced_prompt", enhanced, "turn"),
        )
        for layer, text, stability in prompts:
            if text:
                self.items.append(Item(layer, layer, {"content": text}, stability))
            elif text is not None:
                self.drop(layer, layer, "empty")

    def add_time(self) -> None:
        policy = self.policy
        if policy.time == "off" or self.closed("time"):
            return
        local, iso8601 = clock(self.request.now, self.zone, policy.time_precision)
        values = {
            "local": local,
            "iso8601": iso8601,
            "timezone": self.request.timezone,
            "precision": policy.time_precision,
        }
        self.items.append(Item("time", "time", values, "slow" if policy.time_precision == "day" else "turn"))

    def closed(self, layer: str) -> bool:
        return self.isolated and layer not in ISOLATED_LAYERS

    def add_memories(self) -> None:
        chosen = self.chosen_memories()
        for place, memory in enumerate(chosen):
            values = {
                "id": memory.id,
                "content": self.escaper.text(memory.content),
                "updated_at": self.day(memory.updated_at),
                "meta": {self.escaper.label(name): self.safe(value) for name, value in memory.meta.items()},
            }
            stability: Stability = "turn" if self.policy.memory_top_k else "slow"
            self.items.append(Item("memory", memory.id, values, stability, "memory", (-place,)))

    def chosen_memories(self) -> list[MemoryItem]:
        """The memories that take part, best or newest first."""
        policy, given = self.policy, self.request.memories
        shut: Reason | None = "isolated" if self.closed("memory") else None if policy.memory_enabled else "disabled"
        if shut:
            for memory in given:
                self.drop("memory", memory.id, shut)
            return []
        if policy.memory_top_k and self.retrieve is not None:
            answer = self.ask(self.retrieve)
            returned = {memory.id for memory in answer}
            for memory in given:
                if memory.id not in returned and self.is_usable(memory):
                    self.drop("memory", memory.id, "top_k", "not retrieved")
            ranked = [memory for memory in answer if self.is_usable(memory)]
        elif policy.memory_top_k:
            ranked = sorted((memory for memory in given if self.is_usable(memory)), key=_best)
        else:
            usable = sorted((memory for memory in given if self.is_usable(memory)), key=lambda memory: memory.id)
            return sorted(usable, key=lambda memory: _newest(memory.updated_at))
        for memory in ranked[policy.memory_top_k :]:
            self.drop("memory", memory.id, "top_k")
        return ranked[: policy.memory_top_k]

    def ask(self, retrieve: Retrieve) -> list[MemoryItem]:
        """Ask the caller with the words of the untrimmed history; without words there is nothing to ask for."""
        asked = histories.query(self.request.history)
        answer: dict[str, MemoryItem] = {}
        for memory in requests.read_retrieved(retrieve(asked, self.policy.memory_top_k)) if asked else ():
            answer.setdefault(memory.id, memory)
        self.retrieved = list(answer.values())
        return self.retrieved

    def is_usable(self, memory: MemoryItem) -> bool:
        now = self.request.now
        reason: Reason | None = None
        if memory.archived:
            reason = "archived"
        elif memory.valid_until is not None and memory.valid_until <= now:
            reason = "expired"
        elif memory.valid_from is not None and memory.valid_from > now:
            reason = "not_yet_valid"
        elif not memory.content.strip():
            reason = "empty"
        if reason:
            self.drop("memory", memory.id, reason)
        return reason is None

    def add_summaries(self) -> None:
        policy, request = self.policy, self.request
        layer: Group = "recent_conversation_memory"
        on = policy.memory_enabled and policy.summaries_enabled
        place = 0
        ordered = sorted(request.summaries, key=lambda summary: summary.session_id)
        for summary in sorted(ordered, key=lambda summary: _newest(summary.updated_at)):
            reason: Reason | None = None
            if self.closed(layer):
                reason = "isolated"
            elif not on:
                reason = "disabled"
            elif summary.session_id == request.session_id:
                reason = "own_session"
            elif not summary.summary.strip():
                reason = "empty"
            elif place >= policy.summary_limit:
                reason = "limit"
            if reason:
                self.drop(layer, summary.session_id, reason)
                continue
            values = {
                "session_name": self.escaper.label(summary.session_name),
                "summary": self.escaper.text(summary.summary),
                "updated_at": self.day(summary.updated_at),
            }
            self.items.append(Item(layer, summary.session_id, values, "slow", layer, (-place,)))
            place += 1

    def add_profile(self) -> None:
        policy, profile = self.policy, self.request.profile
        layer: Group = "user_profile_memory"
        if profile is None:
            return
        if self.closed(layer):
            self.drop(layer, layer, "isolated")
        elif not (policy.memory_enabled and policy.profile_enabled):
            self.drop(layer, layer, "disabled")
        elif not profile.content.strip():
            self.drop(layer, layer, "empty")
        else:
            values = {
                "content": self.escaper.text(profile.content.strip()),
                "updated_at": self.day(profile.updated_at),
            }
            self.items.append(Item(layer, layer, values, "slow", layer))

    def add_lore(self, lore: Sequence[Lore]) -> None:
        down = self.policy.entry_order == "descending"
        for one in sorted(lore, key=lambda one: (-one.entry.order if down else one.entry.order, one.id)):
            entry = one.entry
            values = {
                "id": one.id,
                "book": self.escaper.label(one.book.name),
                "comment": self.escaper.label(entry.comment),
                "content": self.escaper.text(entry.content),
                "order": entry.order,
            }
            group: Group = "constant_lore" if entry.constant else "keyed_lore"
            stability: Stability = "session" if one.certain else "turn"
            self.items.append(Item(one.layer, one.id, values, stability, group, (one.worth, one.id), one))

    def tools(self) -> tuple[str, ...]:
        """Return the tools to offer, in the caller's order."""
        kept: list[str] = []
        policy = self.policy
        for tool in self.request.tools:
            memory_tool = tool.kind in ("memory_search", "memory_write")
            if self.isolated and tool.kind != "builtin":
                self.drop("tools", tool.id, "isolated")
            elif memory_tool and not policy.memory_enabled:
                self.drop("tools", tool.id, "disabled")
            elif tool.kind == "memory_search" and not policy.memory_top_k:
                self.drop("tools", tool.id, "top_k", "all memories are in the context")
            else:
                kept.append(tool.id)
        return tuple(kept)

    def day(self, time: datetime | None) -> str:
        return "" if time is None else time.astimezone(self.zone).date().isoformat()

    def safe(self, value: Any) -> Any:
        """Escape every text of a JSON value."""
        if isinstance(value, str):
            return self.escaper.text(value)
        if isinstance(value, dict):
            return {self.escaper.label(name): self.safe(inner) for name, inner in value.items()}
        return [self.safe(inner) for inner in value] if isinstance(value, list) else value


def _newest(time: datetime | None) -> tuple[bool, float]:
    return time is None, 0.0 if time is None else -time.timestamp()


def _best(memory: MemoryItem) -> tuple[bool, float, str]:
    return memory.score is None, 0.0 if memory.score is None else -memory.score, memory.id


def clock(time: datetime, zone: tzinfo, precision: str = "second") -> tuple[str, str]:
    """Return a time as people and as programs write it, down to a precision; what is finer is left out, or zero.

    >>> from datetime import UTC
    >>> clock(datetime(2026, 4, 19, 12, 5, 7, tzinfo=UTC), UTC, "minute")
    ('2026-04-19 12:05 GMT+00:00', '2026-04-19T12:05+00:00')
    """
    local = time.astimezone(zone)
    offset = (local.utcoffset() or timedelta()) // timedelta(minutes=1)
    local = time.astimezone(timezone(timedelta(minutes=offset)))  # local mean times had seconds; ISO 8601 has none
    if precision == "day":
        return local.date().isoformat(), local.date().isoformat()
    if precision == "hour":
        local = local.replace(minute=0)
    written = f"{local:%H:%M:%S}" if precision == "second" else f"{local:%H:%M}"
    ahead = local.isoformat()[-6:]
    return f"{local.date()} {written} GMT{ahead}", f"{local.date()}T{written}{ahead}"


def said(message: Message, escaper: Escaper) -> str:
    """Return the content of a history message; only what a tool returned is neutralised."""
    return escaper.text(message.content) if message.role == "tool" else message.content
