"""Context assembly: what providers' prefix caches can keep, and what an assembly costs.

    python tests/benchmarks/bench_context.py

Prints the share of characters that an assembly has in common with the one of the turn before, by policy, over a chat of
40 turns; then the time of one large assembly, whole and in parts. No database is asked but in the last row, where a
store in memory does its freshness check.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "context"))

from wrappers import POLICY, TEMPLATES, put

import ovstore
from ovstore.context import AssembleRequest, Settings, assemble, evaluate_worldbooks, first_divergence
from ovstore.context import history as histories
from ovstore.context import policy as policies

START = datetime(2026, 4, 19, 8, 0, tzinfo=UTC)
WORDS = ["harbor", "lamp", "keeper", "fog", "bell", "tide", "boat", "rope", "storm", "chart", "north", "light", "stone"]

BY_POLICY: dict[str, dict[str, Any]] = {
    "guide order": {},
    "guide order, time off": {"time": "off"},
    "stable_first": {"order": "stable_first"},
    "stable_first, volatile tail": {"order": "stable_first", "volatile_tail": True},
    "the same, last 16 messages": {
        "order": "stable_first",
        "volatile_tail": True,
        "max_history": 16,
        "trim": "messages",
    },
    "the same, turns within 16": {"order": "stable_first", "volatile_tail": True, "max_history": 16},
    "the same, sawtooth 12..24": {
        "order": "stable_first",
        "volatile_tail": True,
        "max_history": 24,
        "trim": "sawtooth",
    },
    "the same, lore floating at 4": {"order": "stable_first", "volatile_tail": True, "lore": "at_depth"},
    "the same, lore pinned": {
        "order": "stable_first",
        "volatile_tail": True,
        "lore": "at_depth",
        "depth_anchor": "pinned",
    },
}


def prose(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def chat(turns: int, *, lore: str) -> list[AssembleRequest]:
    """The requests of a chat, one a turn: memories are retrieved anew, one keyed entry comes and goes."""
    chance = random.Random(7)
    history: list[dict[str, Any]] = []
    asked: list[AssembleRequest] = []
    fixed: dict[str, Any] = {
        "session_id": "bench",
        "system_prompt": prose(chance, 300),
        "topic_prompt": prose(chance, 100),
        "enhanced_prompt": prose(chance, 20),
        "profile": {"content": prose(chance, 100), "updated_at": START},
        "summaries": [
            {"session_id": f"s{n}", "session_name": prose(chance, 2), "summary": prose(chance, 30), "updated_at": START}
            for n in range(5)
        ],
        "worldbooks": [
            {
                "id": "book",
                "name": "Book",
                "entries": [
                    {"uid": "always", "content": prose(chance, 60), "constant": True, "position": lore, "depth": 4},
                    {"uid": "keyed", "content": prose(chance, 40), "keys": ["signal"]},
                ],
            }
        ],
    }
    for turn in range(turns):
        now = START + timedelta(minutes=3 * turn)
        said = prose(chance, 30) + (" signal" if turn % 9 == 3 else "")
        history.append({"id": f"u{turn}", "role": "user", "content": said, "created_at": now})
        memories = [{"id": f"m{turn}-{n}", "content": prose(chance, 20), "score": 1 - n / 10} for n in range(3)]
        asked.append(AssembleRequest(**fixed, now=now, memories=memories, history=list(history)))
        history.append({"id": f"a{turn}", "role": "assistant", "content": prose(chance, 80), "created_at": now})
    return asked


def shared(turns: int, **policy: Any) -> float:
    """The share of what is sent that begins as the assembly before did, over a chat: a cache reads that much."""
    lore = policy.pop("lore", "before")
    before, same, sent = None, 0, 0
    for asked in chat(turns, lore=lore):
        state = {} if before is None else dict(before.worldbook_state)
        context = put(asked.model_copy(update={"worldbook_state": state}), **policy)
        size = sum(len(message.content) for message in context.messages)
        if before is not None:
            parted = first_divergence(before, context)
            same += parted.shared if parted else sum(len(message.content) for message in before.messages)
            sent += size
        before = context
    return same / sent


def large() -> AssembleRequest:
    """500 entries of lore, 200 messages, 50 memories."""
    chance = random.Random(11)
    places = ["before", "after", "an_top", "at_depth", "outlet", "em_bottom"]
    entries = [
        {
            "uid": str(n),
            "content": prose(chance, 40),
            "keys": [f"key{n}", f"other {n}", chance.choice(WORDS) + str(n % 40)],
            "secondary_keys": ["lamp"] if n % 3 == 0 else [],
            "position": chance.choice(places),
            "order": n % 17,
            "constant": n % 50 == 0,
            "depth": n % 6,
        }
        for n in range(500)
    ]
    history = [
        {
            "id": str(n),
            "role": "assistant" if n % 2 else "user",
            "content": f"{prose(chance, 60)} key{n} {chance.choice(WORDS)}{n % 40}",
            "created_at": START + timedelta(minutes=n),
        }
        for n in range(199)
    ]
    history.append({"id": "199", "role": "user", "content": "lamp key3 key9 fog7", "created_at": START})
    return AssembleRequest(
        session_id="bench",
        now=START + timedelta(hours=9),
        system_prompt=prose(chance, 400),
        topic_prompt=prose(chance, 100),
        enhanced_prompt=prose(chance, 20),
        profile={"content": prose(chance, 100), "updated_at": START},
        memories=[{"id": f"m{n}", "content": prose(chance, 25), "score": chance.random()} for n in range(50)],
        worldbooks=[{"id": "book", "name": "Book", "entries": entries}],
        history=history,
    )


def milliseconds(call: Callable[[], Any], repeats: int = 30) -> float:
    """The median time on one core, whatever else the machine is doing."""
    call()
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return statistics.median(taken) * 1000


def parts() -> list[tuple[str, float]]:
    asked = large()
    text = asked.model_dump_json()
    rules = policies.effective(Settings(POLICY), {})
    policy = Settings({**POLICY, "memory_top_k": 0})
    context = assemble(asked, templates=TEMPLATES.__getitem__, policy=policy)
    tight = Settings({**policy.values, "token_budget": context.tokens // 2})
    values = [{"id": f"m{n}", "content": "x" * 150, "updated_at": "", "meta": {}} for n in range(50)]

    def put(given: Any, settings: Settings) -> Any:
        return assemble(given, templates=TEMPLATES.__getitem__, policy=settings)

    return [
        ("from JSON text to messages, all 50 memories", milliseconds(lambda: put(text, policy))),
        ("the same, half the budget", milliseconds(lambda: put(text, tight))),
        ("from models to messages", milliseconds(lambda: put(asked, policy))),
        ("  reading the request from JSON", milliseconds(lambda: AssembleRequest.model_validate_json(text))),
        ("  lore: 500 entries", milliseconds(lambda: evaluate_worldbooks(asked.worldbooks, asked.history))),
        ("  history: repair, window, landmarks", milliseconds(lambda: _past(asked, rules))),
        ("  one wrapper: 50 memories", milliseconds(lambda: TEMPLATES["context.memory"].render({"items": values}))),
        ("  the request as JSON, for the fingerprint", milliseconds(asked.model_dump_json)),
        ("over a store, from JSON text, once it is warm", over_a_store(text)),
    ]


def over_a_store(text: str) -> float:
    with ovstore.open("sqlite://", create=True) as store:
        return milliseconds(lambda: store.assemble(text, tenant="acme"))


def _past(asked: AssembleRequest, rules: Any) -> None:
    past, _ = histories.repaired(asked.history)
    histories.window(past, rules)
    histories.landmarks(past, rules.landmark_minutes)


def write(line: str) -> None:
    sys.stdout.write(line + "\n")


def main() -> None:
    write("Share of what is sent that a prefix cache can read, chat of 40 turns")
    for name, policy in BY_POLICY.items():
        write(f"  {name:<34} {shared(40, **policy):6.1%}")
    write("One assembly of 500 entries, 200 messages, 50 memories, milliseconds of one core (median of 30), bound 20")
    for name, taken in parts():
        write(f"  {name:<45} {taken:7.2f}")


if __name__ == "__main__":
    main()
