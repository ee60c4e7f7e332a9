"""The lore engine: which entries of the bound world books come up, for which reason the others do not.

Decided in this order: enabled, delay, cooldown, recursion, constant or sticky or keys; then groups, then probability,
then each book's budget. Entries that come up in one pass do not see each other's content; the next pass scans it.
Groups, chance and budgets stay within a book, so that a book never changes what another one does but by recursion.
Everything that depends on chance is a function of the policy's seed, the entry, and the count of messages: a retry
draws the same lots.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from ovstore.context import faults, keys
from ovstore.context.keys import Haystack, Keys, Way
from ovstore.context.request import Logic, Message, Worldbook, WorldbookEntry
from ovstore.context.tokens import CountTokens, approx_tokens
from ovstore.context.trace import Dropped, Reason, TimedState

T = TypeVar("T")

SCANNED_ROLES: Final = frozenset({"user", "assistant", "tool"})
MOST_PASSES: Final = 100
"""Of recursion, whatever a book says: the time of a pass goes with the entries that are still waiting."""
COUNTED_ROLES: Final = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True)
class Lore:
    """An entry of a book with its state. `certain`: no key, lot, time or rival can keep it from coming up."""

    book: Worldbook
    entry: WorldbookEntry
    id: str
    sticky: bool = False
    score: int = 0

    @property
    def layer(self) -> str:
        return f"worldbook_{self.entry.position}"

    @property
    def certain(self) -> bool:
        entry = self.entry
        free = not (entry.group or entry.delay or entry.cooldown or entry.delay_until_recursion)
        return entry.constant and free and entry.probability >= 100

    @property
    def is_scored(self) -> bool:
        return _first(self.entry.use_group_scoring, self.book.use_group_scoring)

    @property
    def worth(self) -> int:
        """What a budget goes by: the lowest is dropped first."""
        return self.entry.order if self.entry.priority is None else self.entry.priority


@dataclass(frozen=True, slots=True)
class Activation:
    """What came up, by book and uid, and what did not."""

    lore: tuple[Lore, ...]
    dropped: tuple[Dropped, ...]
    warnings: tuple[str, ...]


def evaluate_worldbooks(
    books: Sequence[Worldbook],
    history: Sequence[Message],
    *,
    extra: Sequence[str] = (),
    state: Mapping[str, TimedState] | None = None,
    seed: int = 0,
    count_tokens: CountTokens = approx_tokens,
) -> Activation:
    """Return the entries that come up for a history that was not trimmed.

    `extra` is scanned whatever the scan depth: the topic and the enhanced prompt.
    """
    engine = _Engine(history, extra, state or {}, seed)
    waiting: list[Lore] = []
    for book in sorted(books, key=lambda book: book.id):
        for entry in sorted(book.entries, key=lambda entry: entry.uid):
            engine.admit(Lore(book, entry, f"{book.id}/{entry.uid}"), waiting)
    engine.run(waiting)
    kept = engine.within_budgets(count_tokens)
    return Activation(tuple(sorted(kept, key=lambda lore: lore.id)), tuple(engine.dropped), tuple(engine.warnings()))


def count_of(history: Iterable[Message]) -> int:
    """What sticky, cooldown and delay count: messages of the user and of the model."""
    return sum(message.role in COUNTED_ROLES for message in history)


def next_state(
    lore: Iterable[Lore], state: Mapping[str, TimedState], count: int, anchors: Mapping[str, str]
) -> dict[str, TimedState]:
    """Return the state to hand to the next request. `lore` is what was sent; `anchors` are those of pinned entries.

    An entry with sticky 3 that comes up at count 10 stays up while the count is below 13, without being looked for; a
    cooldown begins where that ends. What was written at this count or later belongs to a reply that is made anew.
    """
    after = {
        name: replace(timed, anchor=None, anchored=0)
        for name, timed in state.items()
        if timed.started < count < max(timed.sticky_until, timed.cooldown_until)
    }
    for one in lore:
        entry, timed = one.entry, after.get(one.id, TimedState())
        if not one.sticky and (entry.sticky or entry.cooldown):
            ends = count + entry.sticky
            timed = TimedState(count, ends, ends + entry.cooldown)
        if one.id in anchors:
            anchor = anchors[one.id]
            timed = replace(timed, anchor=anchor, anchored=_pinned_at(state.get(one.id), anchor, count))
        if timed != TimedState():
            after[one.id] = timed
    return dict(sorted(after.items()))


def _pinned_at(before: TimedState | None, anchor: str, count: int) -> int:
    """When an entry was pinned to a message: a count that stays, so that a retry finds it pinned as well."""
    kept = before is not None and before.anchor == anchor and before.anchored < count
    return before.anchored if before is not None and kept else count


@dataclass(slots=True)
class _Hits:
    """Which keys of an entry were found so far. A key is found within one text, so each text is scanned once."""

    primary: Keys
    secondary: Keys
    logic: Logic
    depth: int
    found: frozenset[str] = frozenset()
    found_too: frozenset[str] = frozenset()
    scanned: int = 0

    def scan(self, texts: Sequence[Haystack]) -> int:
        """Scan those of all texts that are new, and return the score, 0 where the entry does not come up."""
        for text in texts[self.scanned :]:
            self.found |= self.primary.found_in(text)
            if self.secondary.every:
                self.found_too |= self.secondary.found_in(text)
        self.scanned = len(texts)
        if not self.found or not self.secondary.every:
            return len(self.found)
        some, every = bool(self.found_too), len(self.found_too) == len(self.secondary.every)
        holds = {"and_any": some, "and_all": every, "not_any": not some, "not_all": not every}[self.logic]
        bonus = len(self.found_too) if self.logic in ("and_any", "and_all") else 0
        return len(self.found) + bonus if holds else 0


@dataclass
class _Engine:
    history: Sequence[Message]
    extra: Sequence[str]
    state: Mapping[str, TimedState]
    seed: int
    dropped: list[Dropped] = field(default_factory=list)
    found: list[Lore] = field(default_factory=list)
    recursed: list[Haystack] = field(default_factory=list)
    taken: dict[tuple[str, str], str] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)
    hits: dict[str, _Hits] = field(default_factory=dict)
    texts: dict[int, Haystack] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.count = count_of(self.history)
        self.spoken = [message.content for message in self.history if message.role in SCANNED_ROLES]

    def drop(self, lore: Lore, reason: Reason, detail: str = "") -> None:
        self.dropped.append(Dropped(lore.layer, lore.id, reason, detail))

    def admit(self, lore: Lore, waiting: list[Lore]) -> None:
        """Take an entry in, unless it cannot come up this time whatever is said."""
        entry, timed = lore.entry, self.state.get(lore.id)
        current = timed is not None and timed.started < self.count
        sticky = timed is not None and current and self.count < timed.sticky_until
        if not entry.enabled:
            self.drop(lore, "disabled")
        elif not entry.content.strip():
            self.drop(lore, "empty")
        elif self.count < entry.delay:
            self.drop(lore, "delay", f"{self.count} of {entry.delay} messages")
        elif timed is not None and current and not sticky and self.count < timed.cooldown_until:
            self.drop(lore, "cooldown", f"until message {timed.cooldown_until}, now {self.count}")
        else:
            waiting.append(replace(lore, sticky=True) if sticky else lore)

    def run(self, waiting: list[Lore]) -> None:
        """Scan, then scan again with what came up, as long as something new can."""
        step = 0
        while waiting:
            matched = [hit for lore in waiting if (hit := self.match(lore, step)) is not None]
            losers = self.settle_groups(matched)
            decided = {lore.id for lore in matched}
            woken = [lore for lore in matched if lore.id not in losers and self.lot_falls(lore)]
            self.found += woken
            waiting = [lore for lore in waiting if lore.id not in decided]
            fresh = [lore.entry.content for lore in woken if lore.book.recursive and not lore.entry.prevent_recursion]
            self.recursed += [Haystack.of(fresh)] if fresh else []
            step += 1
            if not any(self.goes_on(lore, step, bool(fresh)) for lore in waiting):
                break
        for lore in waiting:
            held = lore.entry.delay_until_recursion > 0
            self.drop(lore, "recursion" if held else "no_match")

    def goes_on(self, lore: Lore, step: int, fresh: bool) -> bool:
        """Whether another pass could wake an entry: there is new text, or its own level is still to come."""
        return self.may_recurse(lore, step) and (fresh or lore.entry.delay_until_recursion >= step)

    def may_recurse(self, lore: Lore, step: int) -> bool:
        most = lore.book.max_recursion_steps
        within = step <= (MOST_PASSES if most is None else min(most, MOST_PASSES))
        return lore.book.recursive and within and not lore.entry.exclude_recursion

    def match(self, lore: Lore, step: int) -> Lore | None:
        """The entry with its score, if it comes up in this pass."""
        entry = lore.entry
        if lore.sticky:
            return lore
        if (step and not self.may_recurse(lore, step)) or step < entry.delay_until_recursion:
            return None
        if entry.constant:
            return lore
        hits = self.hits.get(lore.id)
        if hits is None:
            hits = self.hits[lore.id] = self.hits_of(lore)
        score = hits.scan([self.spoken_text(hits.depth), *self.recursed])
        return replace(lore, score=score) if score else None

    def hits_of(self, lore: Lore) -> _Hits:
        entry, book = lore.entry, lore.book
        way = Way(
            _first(entry.case_sensitive, book.case_sensitive),
            _first(entry.match_whole_words, book.match_whole_words),
            entry.use_regex,
        )
        primary = keys.all_ready(entry.keys, way)
        secondary = keys.all_ready(entry.secondary_keys if entry.selective else (), way)
        for key in (*primary.faults, *secondary.faults):
            self.faults.setdefault(key.fault, []).append(f"{faults.shown(key.needle)} of {lore.id}")
        return _Hits(primary, secondary, entry.logic, _first(entry.scan_depth, book.scan_depth))

    def spoken_text(self, depth: int) -> Haystack:
        known = self.texts.get(depth)
        if known is None:
            spoken = self.spoken[-depth:] if depth else []
            known = self.texts[depth] = Haystack.of([*self.extra, *spoken])
        return known

    def settle_groups(self, matched: Sequence[Lore]) -> set[str]:
        """Let one member of each group stay, for good, and return the losers.

        The best goes first, whatever its groups, so that nobody loses to an entry that another group keeps out.
        """
        groups = {lore.id: named for lore in matched if (named := _groups(lore))}
        rivals = [lore for lore in matched if lore.id in groups]
        scored = {group for lore in rivals if lore.is_scored for group in groups[lore.id]}
        losers: set[str] = set()
        for lore in sorted(rivals, key=lambda lore: self.rank(lore, not scored.isdisjoint(groups[lore.id]))):
            lost = next((group for group in groups[lore.id] if group in self.taken), None)
            if lost is None:
                self.taken |= dict.fromkeys(groups[lore.id], lore.id)
            else:
                losers.add(lore.id)
                self.drop(lore, "group", f"{lost[1]}: {self.taken[lost]} stays")
        return losers

    def rank(self, lore: Lore, scored: bool) -> tuple[Any, ...]:
        """Sticky entries before all others, then overriding ones by order, then score, then the weighted lot.

        Each draws a waiting time, shorter with more weight: the shortest is a fair lot, and one that another group
        keeps out changes nothing between the others.
        """
        entry = lore.entry
        wait = -math.log1p(-self.lot("group", lore.book.id, entry.uid))
        return (
            not lore.sticky,
            -entry.order if entry.group_override else math.inf,
            -lore.score if scored else 0,
            wait / entry.group_weight if entry.group_weight else math.inf,
            lore.id,
        )

    def lot_falls(self, lore: Lore) -> bool:
        chance = lore.entry.probability
        if chance >= 100 or lore.sticky:
            return True
        drawn = self.lot("entry", lore.book.id, lore.entry.uid) * 100
        if drawn < chance:
            return True
        self.drop(lore, "probability", f"drew {drawn:.1f}, comes up below {chance:g}")
        return False

    def lot(self, *of: str) -> float:
        """A number from 0 to below 1 that depends on the seed, the count of messages and what it is for alone."""
        name = "\0".join((str(self.seed), str(self.count), *of))
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big") / 2**56

    def within_budgets(self, count_tokens: CountTokens) -> list[Lore]:
        """Keep what each book's budget holds: sticky first, then by worth; what does not fit is passed over."""
        kept: list[Lore] = []
        left: dict[str, list[float]] = {}
        for lore in sorted(self.found, key=lambda lore: (not lore.sticky, -lore.worth, lore.id)):
            book = lore.book
            limits = (book.max_entries, book.max_chars, book.token_budget)
            if lore.entry.ignore_budget or limits == (None, None, None):
                kept.append(lore)
                continue
            remaining = left.setdefault(book.id, [float("inf") if limit is None else limit for limit in limits])
            content = lore.entry.content
            costs = (1, len(content), count_tokens(content) if book.token_budget is not None else 0)
            if all(cost <= room for cost, room in zip(costs, remaining, strict=True)):
                left[book.id] = [room - cost for cost, room in zip(costs, remaining, strict=True)]
                kept.append(lore)
            else:
                self.drop(lore, "book_budget")
        return kept

    def warnings(self) -> Iterable[str]:
        for why, names in self.faults.items():
            said = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            yield f"keys that never match: {said}: {why}"


def _groups(lore: Lore) -> list[tuple[str, str]]:
    """The groups of an entry, each with its book: groups of one name in two books are two."""
    return sorted({(lore.book.id, name.strip()) for name in lore.entry.group.split(",") if name.strip()})


def _first(value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value
