"""From a request to messages: the one pure function.

The steps: settle the policy, wake the lore, choose the items, cut the history to its window, drop what no budget
holds, lay out, render each wrapper once, account for every character. No clock, no chance, no database, and nothing
that was handed in is altered.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Final

from pydantic import TypeAdapter

from ovstore.context import budgets, faults
from ovstore.context import history as histories
from ovstore.context import policy as policies
from ovstore.context import request as requests
from ovstore.context import trace as traces
from ovstore.context.history import History
from ovstore.context.layers import Layers, Retrieve
from ovstore.context.layout import Layout
from ovstore.context.policy import Policy, Settings
from ovstore.context.request import AssembleRequest, MemoryItem, WorldbookEntry
from ovstore.context.tokens import CountTokens, approx_tokens
from ovstore.context.trace import (
    AssembledContext,
    Dropped,
    Segment,
    Template,
    TemplateRef,
)
from ovstore.context.worldbook import Activation, evaluate_worldbooks, next_state
from ovstore.errors import InvalidArgumentError
from ovstore.hashing import canonical_json

SEMANTICS: Final = 1
"""Counted up when the same request, policy and templates would give other messages; part of every fingerprint."""

_MEMORIES: Final = TypeAdapter(list[MemoryItem])
_ENTRIES: Final = TypeAdapter(list[WorldbookEntry])


def assemble(
    request: AssembleRequest | Mapping[str, Any] | str | bytes,
    *,
    templates: Callable[[str], Template],
    policy: Settings,
    tenant: str = "",
    retrieve: Retrieve | None = None,
    count_tokens: CountTokens | None = None,
) -> AssembledContext:
    """Make the message list of a request.

    `templates` gives the wrapper of a key (`context.memory`) as the tenant gets it; `policy` the tenant's
    `context.policy`; `tenant` the name that wrappers are told. `retrieve(query, k)` gives memories, best first, where
    `memory_top_k` is above 0; without it the request's scores rank them. `count_tokens` is an estimate unless given.

    Raises InvalidArgumentError for a request or policy that cannot be used, ContextBudgetError when what is never
    dropped does not fit, and what rendering, `retrieve` and `count_tokens` raise.
    """
    request = requests.read(request)
    rules = policies.effective(policy, request.policy)
    count = _memoised(count_tokens or approx_tokens)
    isolated = rules.isolation and bool(request.worldbooks)
    past, dropped = histories.isolated(request.history) if isolated else (request.history, [])
    past, orphans = histories.repaired(past)
    awake = _wake(request, rules, past, count)
    layers = Layers(request, rules, retrieve, isolated)
    layers.add_all(awake.lore)
    tools = layers.tools()
    kept, beyond = histories.window(past, rules)
    dropped = [*dropped, *orphans, *awake.dropped, *layers.dropped, *beyond]

    layout = Layout(request, rules, templates, tenant, layers, tuple(layers.items), past, kept)
    fitted, evicted = budgets.fit(layout, count)
    drafts = layout.drafts(fitted)
    messages, trace = traces.sealed(drafts, count)
    traced = {(segment.layer, source) for segment in trace for source in segment.source_ids}
    unseen = [item for item in fitted.items if (item.layer, item.id) not in traced]
    dropped += [*evicted, *(Dropped(item.layer, item.id, "empty", "its wrapper gave no text") for item in unseen)]
    sent = [item.lore for item in fitted.items if item.lore is not None and (item.layer, item.id) in traced]
    refs = sorted({*layout.used.values(), *([policy.ref] if policy.ref else [])}, key=lambda ref: ref.key)
    return AssembledContext(
        messages=tuple(messages),
        tools=tools,
        trace=tuple(trace),
        dropped=tuple(sorted(dropped, key=lambda drop: (drop.layer, drop.source_id))),
        breakpoints=traces.breakpoints(messages, trace),
        worldbook_state=next_state(sent, request.worldbook_state, layout.count, layout.anchors(fitted)),
        tokens=sum(segment.tokens for segment in trace),
        warnings=(*_warnings(rules, isolated, messages, trace), *awake.warnings, *layout.cut),
        fingerprint=_fingerprint(request, rules, refs, layers, tenant),
        templates=tuple(refs),
        policy=rules.model_dump(mode="json"),
    )


def _memoised(count: CountTokens) -> CountTokens:
    known: dict[str, int] = {}

    def counted(text: str) -> int:
        tokens = known.get(text)
        if tokens is None:
            tokens = known[text] = _whole(count(text))
        return tokens

    return counted


def _whole(tokens: object) -> int:
    """Take a caller's count if it is one: all totals and budgets rest on it."""
    try:
        number = operator.index(tokens)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if number < 0:
        raise InvalidArgumentError(
            f"count_tokens gave {faults.shown(tokens)}: tokens are a whole number from 0", argument="count_tokens"
        )
    return number


def _wake(request: AssembleRequest, rules: Policy, past: History, count: CountTokens) -> Activation:
    extra = [text for text in (request.topic_prompt, request.enhanced_prompt) if text]
    return evaluate_worldbooks(
        request.worldbooks,
        past,
        extra=extra,
        state=request.worldbook_state,
        seed=rules.rng_seed,
        count_tokens=count,
    )


def _warnings(
    rules: Policy,
    isolated: bool,
    messages: Sequence[traces.AssembledMessage],
    trace: Sequence[Segment],
) -> Iterable[str]:
    if rules.isolation and not isolated:
        yield "isolation is on and no world book is bound: nothing is isolated"
    if not rules.mid_system:
        late = [m.id for m in messages[1:] if m.role == "system" and m.id is not None]
        if late:
            yield f"system messages of the history stand behind others, and such providers move them: {', '.join(late)}"
    stable = [s for s in trace if s.stability in ("static", "session") and s.layer not in ("history", "separator")]
    for segment in trace:
        if segment.stability == "turn" and segment.layer != "separator":
            place = (segment.message_index, segment.start)
            behind = [s for s in stable if (s.message_index, s.start) > place and s.layer != "time_landmark"]
            longest = max(behind, key=lambda s: s.end - s.start, default=None)
            if longest is not None and longest.end - longest.start > segment.end - segment.start:
                yield (
                    f"{segment.layer} changes every turn and stands before {longest.layer}, which is longer and does "
                    "not: no provider can reuse what comes behind it (order: stable_first)"
                )
            return


def _fingerprint(
    request: AssembleRequest, rules: Policy, refs: Iterable[TemplateRef], layers: Layers, tenant: str
) -> str:
    """Hash all that the messages depend on; lists whose order means nothing are sorted by id."""
    digest = hashlib.sha256(f"ovstore context {SEMANTICS}\0".encode())

    def add(value: str) -> None:
        digest.update(value.encode() + b"\0")

    add(request.model_dump_json(exclude={"memories", "summaries", "worldbooks", "tools", "worldbook_state", "policy"}))
    add(_MEMORIES.dump_json(sorted(request.memories, key=lambda memory: memory.id), exclude_defaults=True).decode())
    add(_MEMORIES.dump_json(layers.retrieved, exclude_defaults=True).decode())
    for summary in sorted(request.summaries, key=lambda summary: summary.session_id):
        add(summary.model_dump_json())
    for book in sorted(request.worldbooks, key=lambda book: book.id):
        add(book.model_dump_json(exclude={"entries", "extensions"}, exclude_defaults=True))
        entries = sorted(book.entries, key=lambda entry: entry.uid)
        add(_ENTRIES.dump_json(entries, exclude_defaults=True, exclude={"__all__": {"extensions"}}).decode())
    for tool in sorted(request.tools, key=lambda tool: tool.id):
        add(tool.model_dump_json())
    state = sorted(request.worldbook_state.items())
    add(canonical_json([[name, *astuple(timed)] for name, timed in state]))
    add(canonical_json([tenant, rules.model_dump(mode="json")]))
    add(canonical_json([[ref.key, ref.scope, ref.version, ref.hash] for ref in refs]))
    return digest.hexdigest()
