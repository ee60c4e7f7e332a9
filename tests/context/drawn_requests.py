"""Requests drawn by Hypothesis: every layer, histories with tools in any state of repair, lore in every position."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from wrappers import NOW, request

from ovstore.context import AssembleRequest

NASTY = ["</memory>", "{{ x }}", "{updated_at}", "{{outlet::x}}", "{% for", "<time>", "]\n- [x", "龙", "AI", "dragon"]
WORDS = st.one_of(st.sampled_from(NASTY), st.text("abc AI<>/{}é龙\n", min_size=1, max_size=12))
TEXTS = st.lists(WORDS, min_size=0, max_size=4).map(" ".join)
FULL_TEXTS = TEXTS.map(lambda text: f"{text}.")
TIMES = st.integers(0, 5_000).map(lambda minutes: NOW - timedelta(minutes=minutes))
BOUNDS = st.sampled_from([*[None] * 6, NOW - timedelta(days=1), NOW, NOW + timedelta(days=1)])
PLACES = ["before", "after", "an_top", "an_bottom", "em_top", "em_bottom", "outlet"]
SESSIONS = ["this", "s1", "s2", "s3", "s4", "s5", "s6"]


@st.composite
def histories(draw: st.DrawFn, *, tools: bool = True, most: int = 14) -> list[dict[str, Any]]:
    """Messages in any order, tool calls answered or not, results with and without their call."""
    kinds = ["user", "user", "assistant", *(["run", "run", "call", "tool"] if tools else ["assistant"])]
    said: list[dict[str, Any]] = []
    calls: list[str] = []
    at = NOW - timedelta(days=2)
    for n, kind in enumerate(draw(st.lists(st.sampled_from(kinds), max_size=most))):
        at += timedelta(minutes=draw(st.integers(0, 50)))
        message: dict[str, Any] = {"id": f"m{n}", "content": draw(TEXTS), "created_at": at}
        if kind in ("call", "run"):
            calls = [f"c{n}a", f"c{n}b"][: draw(st.integers(1, 2))]
            message |= {"role": "assistant", "tool_calls": calls}
        elif kind == "tool":
            known = [*calls, "nobody"]
            message |= {"role": "tool", "tool_call_id": draw(st.sampled_from(known))}
        else:
            message["role"] = kind
        said.append(message)
        if kind == "run":
            said += [{"id": f"r{call}", "role": "tool", "tool_call_id": call, "content": "done"} for call in calls]
    return said


@st.composite
def whole_turns(draw: st.DrawFn, *, most: int = 6) -> list[dict[str, Any]]:
    """Turns that need no repair, the last one open."""
    said: list[dict[str, Any]] = []
    for n in range(draw(st.integers(1, most))):
        said.append({"id": f"u{n}", "role": "user", "content": draw(FULL_TEXTS)})
        if draw(st.booleans()):
            said.append({"id": f"c{n}", "role": "assistant", "tool_calls": [f"t{n}"]})
            said.append({"id": f"r{n}", "role": "tool", "tool_call_id": f"t{n}", "content": draw(TEXTS)})
        said.append({"id": f"a{n}", "role": "assistant", "content": draw(FULL_TEXTS)})
    last = max(n for n, message in enumerate(said) if message["role"] == "user")
    return said[: last + 1]


def entries(uid: str) -> st.SearchStrategy[dict[str, Any]]:
    """An entry from one number: drawn field by field, whole books would not fit into an example."""
    return st.integers(0, 2**32).map(lambda seed: entry_of(random.Random(seed), uid))


def entry_of(chance: random.Random, uid: str) -> dict[str, Any]:
    pick = chance.choice
    return {
        "uid": uid,
        "content": pick(["", *["the dragon", "an AI", "a 龙", "no key", *NASTY] * 2]),
        "comment": pick(["", "a note", *NASTY]),
        "constant": pick([True, True, False]),
        "enabled": pick([True] * 6 + [False]),
        "keys": chance.sample(["AI", "dragon", "a", "龙", "/d.agon/i", "none"], pick([0, 1, 2])),
        "secondary_keys": chance.sample(["a", "AI", "none"], pick([0, 0, 1, 2])),
        "logic": pick(["and_any", "and_all", "not_any", "not_all"]),
        "position": pick([*PLACES, *["at_depth"] * 5]),
        "order": chance.randint(0, 3),
        "depth": chance.randint(0, 8),
        "role": pick(["system", "user", "assistant"]),
        "outlet": pick([None, "x", 'y"z']),
        "probability": pick([100, 100, 50, 50, 0]),
        "group": pick(["", "", "g", "g", "g, h"]),
        "group_override": pick([False, False, True]),
        "sticky": pick([0, 0, 2]),
        "cooldown": pick([0, 0, 2]),
        "delay": pick([0, 0, 0, 2]),
        "exclude_recursion": pick([False, True]),
        "delay_until_recursion": pick([0, 0, 0, 1, 2]),
    }


@st.composite
def books(draw: st.DrawFn, *, most: int = 6, prefix: str = "b") -> list[dict[str, Any]]:
    found = []
    for n in range(draw(st.sampled_from([2, 1, 0]))):
        count = draw(st.sampled_from([most, most // 2, 0]))
        lore = [draw(entries(f"e{m}")) for m in range(count)]
        limits = {"max_entries": draw(st.sampled_from([None, None, 2])), "recursive": draw(st.booleans())}
        found.append({"id": f"{prefix}{n}", "name": draw(st.sampled_from(["Book", *NASTY])), "entries": lore, **limits})
    return found


@st.composite
def requests(draw: st.DrawFn, *, history: Any = None, lore: bool = True) -> AssembleRequest:
    memories = [
        {
            "id": f"k{n}",
            "content": draw(TEXTS),
            "score": draw(st.sampled_from([None, 0.1, 0.5, 0.5])),
            "archived": draw(st.integers(0, 5)) == 0,
            "updated_at": draw(st.none() | TIMES),
            "valid_until": draw(BOUNDS),
            "valid_from": draw(BOUNDS),
        }
        for n in range(draw(st.sampled_from([0, 2, 6])))
    ]
    summaries = [
        {"session_id": name, "session_name": draw(TEXTS), "summary": draw(TEXTS), "updated_at": draw(TIMES)}
        for name in draw(st.permutations(SESSIONS))[: draw(st.sampled_from([0, 3, 7]))]
    ]
    profile = {"content": draw(TEXTS), "updated_at": draw(TIMES)} if draw(st.booleans()) else None
    tools = [
        {"id": f"t-{kind}", "kind": kind}
        for kind in draw(
            st.lists(
                st.sampled_from(["builtin", "memory_search", "memory_write", "mcp", "shortcut", "external"]),
                unique=True,
            )
        )
    ]
    return request(
        timezone=draw(st.sampled_from(["UTC", "Asia/Shanghai"])),
        system_prompt=draw(st.none() | TEXTS),
        topic_prompt=draw(st.none() | TEXTS),
        enhanced_prompt=draw(st.none() | TEXTS),
        memories=memories,
        summaries=summaries,
        profile=profile,
        worldbooks=draw(books()) if lore else [],
        history=draw(history if history is not None else histories()),
        tools=tools,
    )


@st.composite
def policies(draw: st.DrawFn, **fixed: Any) -> dict[str, Any]:
    drawn = {
        "order": draw(
            st.sampled_from(["seed", "worldbook_first", "stable_first", ["memory", "system_prompt", "worldbook_after"]])
        ),
        "entry_order": draw(st.sampled_from(["ascending", "descending"])),
        "memory_enabled": draw(st.integers(0, 4)) > 0,
        "memory_top_k": draw(st.integers(0, 4)),
        "summaries_enabled": draw(st.booleans()),
        "summary_limit": draw(st.integers(1, 5)),
        "profile_enabled": draw(st.booleans()),
        "time": draw(st.sampled_from(["front", "front", "tail", "off"])),
        "landmarks": draw(st.booleans()),
        "max_history": draw(st.integers(0, 8)),
        "trim": draw(st.sampled_from(["turns", "messages", "sawtooth"])),
        "depth_anchor": draw(st.sampled_from(["floating", "pinned"])),
        "volatile_tail": draw(st.booleans()),
        "tail_role": draw(st.sampled_from(["system", "user"])),
        "merge_tail_into_user": draw(st.booleans()),
        "mid_system": draw(st.booleans()),
        "rng_seed": draw(st.integers(0, 3)),
    }
    return {**drawn, **fixed}
