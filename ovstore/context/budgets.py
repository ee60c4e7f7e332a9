"""What goes when room is short: whole items, in one order, until every budget holds.

Priorities say who goes first, the lowest first, and never where anything stands. The order does not depend on the
budget, so what a smaller one keeps is part of what a larger one keeps. Wrappers are rendered anew for what is left:
tags stay closed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ovstore.context import history as histories
from ovstore.context import trace as traces
from ovstore.context.layout import Chosen, Layout
from ovstore.context.policy import Policy
from ovstore.context.tokens import CountTokens
from ovstore.context.trace import Dropped, Piece, Reason, Segment
from ovstore.errors import ContextBudgetError


@dataclass(frozen=True, slots=True)
class _Cut:
    """What can be dropped at once: an item, or a turn of the history."""

    layer: str
    ids: tuple[str, ...]


def _cuts(layout: Layout) -> list[_Cut]:
    """Everything that may be dropped, in the order in which it goes."""
    priorities = layout.rules.priorities
    ranked: list[tuple[int, str, tuple[Any, ...], _Cut]] = []
    for item in layout.items:
        if item.group is not None and (priority := priorities[item.group]) is not None:
            ranked.append((priority, item.group, item.rank, _Cut(item.layer, (item.id,))))
    priority = priorities["history"]
    if priority is not None:
        starts = histories.turn_starts(layout.window)
        for start, end in pairwise(starts):
            ids = tuple(message.id for message in layout.window[start:end])
            ranked.append((priority, "history", (start,), _Cut("history", ids)))
    return [cut for *_, cut in sorted(ranked, key=lambda entry: entry[:3])]


def _without(layout: Layout, cuts: Iterable[_Cut]) -> Chosen:
    gone = {(cut.layer, source) for cut in cuts for source in cut.ids}
    items = tuple(item for item in layout.items if (item.layer, item.id) not in gone)
    return Chosen(items, tuple(message for message in layout.window if ("history", message.id) not in gone))


def fit(layout: Layout, count: CountTokens) -> tuple[Chosen, list[Dropped]]:
    """Drop whole items until every budget holds: layer by layer first, then the whole.

    What goes under a smaller budget includes all that goes under a larger one, since the order does not depend on it.
    """
    rules = layout.rules
    if rules.limit is None and not rules.layer_budget:
        return layout.all, []
    cuts = _cuts(layout)
    gone: list[_Cut] = []
    reasons: list[tuple[_Cut, Reason]] = []
    for layer, limit in sorted(rules.layer_budget.items()):
        own = [cut for cut in cuts if cut.layer == layer]
        shed = _shed(layout, gone, own, limit, count, layer)
        gone += shed
        reasons += [(cut, "layer_budget") for cut in shed]
    if rules.limit is not None:
        before = set(gone)
        rest = [cut for cut in cuts if cut not in before]
        shed = _shed(layout, gone, rest, rules.limit, count, None)
        gone += shed
        reasons += [(cut, "token_budget") for cut in shed]
    dropped = [Dropped(cut.layer, source, reason) for cut, reason in reasons for source in cut.ids]
    return _without(layout, gone), dropped


def _shed(
    layout: Layout, gone: Sequence[_Cut], cuts: Sequence[_Cut], limit: int, count: CountTokens, layer: str | None
) -> Sequence[_Cut]:
    """Return the fewest of the cuts, from the first, that bring the tokens of a layer (None: of all) to the limit."""

    def pieces(number: int) -> list[Piece]:
        drafts = layout.drafts(_without(layout, [*gone, *cuts[:number]]))
        return [piece for draft in drafts for piece in draft.pieces if layer in (None, piece.layer)]

    def fits(number: int) -> bool:
        return sum(count(piece.text) for piece in pieces(number)) <= limit

    number = bisect_left(range(len(cuts) + 1), True, key=fits)
    if number > len(cuts):
        drafts = layout.drafts(_without(layout, [*gone, *cuts]))
        _, segments = traces.sealed(drafts, count)
        raise _budget_error(layout.rules, limit, [s for s in segments if layer in (None, s.layer)], layer)
    return cuts[:number]


def _budget_error(rules: Policy, limit: int, segments: Sequence[Segment], layer: str | None) -> ContextBudgetError:
    needed = sum(segment.tokens for segment in segments)
    totals: dict[str, int] = {}
    for segment in segments:
        totals[segment.layer] = totals.get(segment.layer, 0) + segment.tokens
    said = ", ".join(f"{name} {tokens:,}" for name, tokens in totals.items())
    whose = f"layer {layer} has" if layer else "the context has"
    less = f" (token_budget less reserve_output {rules.reserve_output:,})" if rules.reserve_output and not layer else ""
    return ContextBudgetError(
        f"{whose} {limit:,} tokens{less}, and what is never dropped needs {needed:,}: {said}; raise it or shorten "
        "these",
        budget=limit,
        needed=needed,
        segments=segments,
    )
