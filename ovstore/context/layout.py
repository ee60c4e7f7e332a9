"""Where everything stands: chosen items and history laid out as messages, each wrapper rendered once.

[system: the blocks in the policy's order]  em_top  history with landmarks and depth  em_bottom
[volatile blocks, where the policy moves them here]  enhanced prompt  [time, where the policy puts it last]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from ovstore.context import history as histories
from ovstore.context.history import History
from ovstore.context.layers import Item, Layers, clock, said
from ovstore.context.policy import Policy
from ovstore.context.request import AssembleRequest, Message, WorldbookEntry
from ovstore.context.trace import STABILITIES, Draft, Piece, Role, Stability, Template, TemplateRef
from ovstore.context.worldbook import count_of


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is sent: items and a suffix of the history."""

    items: tuple[Item, ...]
    history: History


@dataclass
class Layout:
    """Lays chosen items out as drafts of messages. Each wrapper is rendered once for the same items."""

    request: AssembleRequest
    rules: Policy
    templates: Callable[[str], Template]
    tenant: str
    layers: Layers
    items: tuple[Item, ...]
    past: History
    window: History
    used: dict[str, TemplateRef] = field(default_factory=dict)
    rendered: dict[tuple[Any, ...], Piece] = field(default_factory=dict)
    known: dict[str, Template] = field(default_factory=dict)
    cut: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        marked = self.rules.landmarks and not self.layers.isolated
        self.marks = histories.landmarks(self.past, self.rules.landmark_minutes) if marked else {}
        self.count = count_of(self.past)
        self.injected_role: Role = "system" if self.rules.mid_system else "user"
        self.tail_role: Role = self.rules.tail_role if self.rules.mid_system else "user"

    @property
    def all(self) -> Chosen:
        return Chosen(self.items, self.window)

    def drafts(self, chosen: Chosen) -> list[Draft]:
        """Return the messages in order."""
        by_layer: dict[str, list[Item]] = {}
        for item in chosen.items:
            by_layer.setdefault(item.layer, []).append(item)
        front, tail = self.system_pieces(by_layer)
        drafts = [Draft("system", self.joined(front))] if front else []
        drafts += self.messages("worldbook_em_top", by_layer)
        drafts += self.past_messages(chosen, by_layer)
        ends_in_user = bool(chosen.history) and bool(drafts) and drafts[-1].id == chosen.history[-1].id
        last = drafts[-1] if ends_in_user and drafts[-1].role == "user" else None
        ending = self.messages("worldbook_em_bottom", by_layer, moving=True)
        ending += [Draft(self.tail_role, self.joined(tail))] if tail else []
        ending += [Draft(self.tail_role, (piece,)) for piece in self.pieces("enhanced_prompt", by_layer)]
        if self.rules.time == "tail":
            ending += [Draft(self.tail_role, (piece,)) for piece in self.pieces("time", by_layer)]
        if self.rules.merge_tail_into_user and last is not None and ending:
            behind = [piece for draft in ending for piece in draft.pieces if piece.layer != "separator"]
            pieces = [*last.pieces, *behind]
            return [*drafts[:-1], Draft("user", self.joined(pieces), last.id)]
        return [*drafts, *ending]

    def system_pieces(self, by_layer: Mapping[str, list[Item]]) -> tuple[list[Piece], list[Piece]]:
        """The blocks of the system message in order, and those that the policy moves behind the history."""
        rules = self.rules
        layers = [layer for layer in rules.layers if not (layer == "time" and rules.time == "tail")]
        blocks = [piece for layer in layers for piece in self.pieces(layer, by_layer)]
        tail: list[Piece] = []
        if rules.volatile_tail:
            tail = [piece for piece in blocks if piece.stability == "turn"]
            blocks = [piece for piece in blocks if piece.stability != "turn"]
        if rules.order == "stable_first":
            blocks.sort(key=lambda piece: STABILITIES.index(piece.stability))
        return blocks, tail

    def pieces(self, layer: str, by_layer: Mapping[str, list[Item]], *, moving: bool = False) -> list[Piece]:
        """The blocks of a layer: one, but for outlets, which have one for each name."""
        items = by_layer.get(layer, [])
        if layer == "worldbook_outlet":
            named = sorted(((_outlet(item), item) for item in items), key=lambda pair: pair[0])
            groups = [(name, [item for _, item in pairs]) for name, pairs in groupby(named, key=lambda pair: pair[0])]
            escape = self.layers.escaper.attribute
            found = [
                self.piece(layer, own, {"name": escape(name), "entries": _values(own)})
                for name, every in groups
                for own in self.runs(every)
            ]
        elif layer in ("memory", "recent_conversation_memory"):
            found = [self.piece(layer, items, {"items": _values(items)})] if items else []
        elif layer.startswith("worldbook_"):
            runs = self.runs(items)
            found = [self.piece(layer, own, {"entries": _values(own)}, moving=moving) for own in runs]
        else:
            found = [self.piece(layer, [item], item.values) for item in items]
        return [piece for piece in found if piece.text.strip()]

    def runs(self, items: Sequence[Item]) -> list[list[Item]]:
        """The blocks that lore of one position makes: what stays apart from what comes and goes, where caches count."""
        if self.rules.order != "stable_first" and not self.rules.volatile_tail:
            return [list(items)] if items else []
        return [own for stable in (True, False) if (own := [i for i in items if (i.stability != "turn") is stable])]

    def piece(self, layer: str, items: Sequence[Item], values: Mapping[str, Any], *, moving: bool = False) -> Piece:
        """Render the wrapper of a layer; `moving`: its place moves whenever the history grows."""
        ids = tuple(item.id for item in items)
        name = (layer, ids, values.get("name"), values.get("depth"), values.get("role"))
        piece = self.rendered.get(name)
        if piece is None:
            stability = "turn" if moving else max((item.stability for item in items), key=STABILITIES.index)
            piece = self.rendered[name] = self.render(layer, ids, values, stability)
        return piece

    def render(self, layer: str, ids: tuple[str, ...], values: Mapping[str, Any], stability: Stability) -> Piece:
        key = f"context.{layer}"
        template = self.known.get(key)
        if template is None:
            template = self.known[key] = self.templates(key)
            self.used[key] = template.ref
        told = {"locale": self.request.locale, "timezone": self.request.timezone, "tenant": self.tenant}
        written = template.render({**told, **values})
        self.used.update((part.key, part) for part in written.parts)
        self.cut.update((f"{key} cuts {name} to its max_length", None) for name in written.cut)
        return Piece(layer, written.text, ids, template.ref, stability)

    def joined(self, pieces: Iterable[Piece]) -> tuple[Piece, ...]:
        """Put the separator between blocks."""
        parts: list[Piece] = []
        for piece in pieces:
            if parts and parts[-1].text and self.rules.separator:
                parts.append(Piece("separator", self.rules.separator, (), None, piece.stability))
            parts.append(piece)
        return tuple(parts)

    def messages(self, layer: str, by_layer: Mapping[str, list[Item]], *, moving: bool = False) -> list[Draft]:
        return [Draft(self.injected_role, (piece,)) for piece in self.pieces(layer, by_layer, moving=moving)]

    def past_messages(self, chosen: Chosen, by_layer: Mapping[str, list[Item]]) -> list[Draft]:
        """The history with what stands between its messages: lore at its depth, then a landmark, then the message."""
        history = chosen.history
        at_depth = self.at_depth(history, by_layer.get("worldbook_at_depth", []))
        stability = self.history_stability(history)
        drafts: list[Draft] = []
        for at, message in enumerate(history):
            drafts += at_depth.get(at, ())
            if message.id in self.marks:
                drafts += self.landmark(message, stability)
            piece = Piece("history", said(message, self.layers.escaper), (message.id,), None, stability)
            drafts.append(Draft(message.role, (piece,), message.id, message.tool_calls, message.tool_call_id))
        return [*drafts, *at_depth.get(len(history), ())]

    def history_stability(self, history: History) -> Stability:
        """How long the history stays where it is: a window that was cut moves on with every turn, a sawtooth seldom."""
        if len(history) < len(self.window):
            return "turn"
        if not self.rules.max_history:
            return "session"
        return "slow" if self.rules.trim == "sawtooth" or len(history) == len(self.past) else "turn"

    def landmark(self, message: Message, stability: Stability) -> list[Draft]:
        local, iso8601 = clock(self.marks[message.id], self.layers.zone)
        values = {"local": local, "iso8601": iso8601, "message_id": message.id}
        name = ("time_landmark", message.id, stability)
        piece = self.rendered.get(name)
        if piece is None:
            piece = self.rendered[name] = self.render("time_landmark", (), values, stability)
        return [Draft(self.injected_role, (piece,))] if piece.text.strip() else []

    def at_depth(self, history: History, items: Sequence[Item]) -> dict[int, list[Draft]]:
        """The lore before each index: deeper first, then by order; neighbours of one role are one message."""
        places = histories.places(history)
        spots = [(places[self.index(item, history)], -_entry(item).depth, place) for place, item in enumerate(items)]
        ordered = [(at, -depth, items[place]) for at, depth, place in sorted(spots)]
        drafts: dict[int, list[Draft]] = {}
        for (at, depth, role), run in groupby(ordered, key=lambda spot: (spot[0], spot[1], _entry(spot[2]).role)):
            own = [item for _, _, item in run]
            values = {"depth": depth, "role": role, "entries": _values(own)}
            piece = self.piece("worldbook_at_depth", own, values, moving=self.rules.depth_anchor == "floating")
            if piece.text.strip():
                sent_as: Role = self.injected_role if role == "system" else role
                drafts.setdefault(at, []).append(Draft(sent_as, (piece,)))
        return drafts

    def index(self, item: Item, history: History) -> int:
        """The index that an entry stands before: its depth from the end, or where it was pinned."""
        anchor = self.anchor(item)
        if anchor is not None:
            return histories.anchor_index(history, anchor)
        return len(history) - min(_entry(item).depth, len(history))

    def anchor(self, item: Item) -> str | None:
        """The message that an earlier assembly pinned an entry to, if it did."""
        state = self.request.worldbook_state.get(item.id)
        pinned = self.rules.depth_anchor == "pinned" and state is not None and state.anchored < self.count
        return state.anchor if pinned and state is not None else None

    def anchors(self, chosen: Chosen) -> dict[str, str]:
        """The message that each pinned entry stands behind from now on."""
        if self.rules.depth_anchor == "floating":
            return {}
        found: dict[str, str] = {}
        for item in chosen.items:
            if item.layer == "worldbook_at_depth":
                at = self.index(item, chosen.history)
                known = self.anchor(item)
                found[item.id] = known if known is not None else chosen.history[at - 1].id if at else ""
        return found


def _entry(item: Item) -> WorldbookEntry:
    assert item.lore is not None, "an item of a world-book layer"
    return item.lore.entry


def _outlet(item: Item) -> str:
    return (_entry(item).outlet or "").strip() or "default"


def _values(items: Iterable[Item]) -> list[Mapping[str, Any]]:
    return [item.values for item in items]
