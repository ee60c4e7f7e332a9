"""Caches: breakpoints, where two assemblies part, and the warning of what stands in the way."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from wrappers import NOW, book, entry, put, request, turns

from ovstore.context import first_divergence


def asked(count: int = 3, minutes: int = 0, **fields: Any) -> Any:
    base: dict[str, Any] = {
        "system_prompt": "rules " * 30,
        "topic_prompt": "topic " * 20,
        "profile": {"content": "profile " * 20, "updated_at": NOW},
        "memories": [{"id": f"m{count}", "content": f"memory {count}", "score": 1}],
        "enhanced_prompt": "briefly",
        "history": turns(count),
        "now": NOW + timedelta(minutes=minutes),
    }
    return request(**(base | fields))


STABLE = {"order": "stable_first", "volatile_tail": True}


def test_breakpoints_end_where_stability_changes_and_before_anything_volatile() -> None:
    points = put(asked(), **STABLE).breakpoints
    assert [(point.message_index, point.stability) for point in points] == [
        (0, "static"),
        (0, "session"),
        (0, "slow"),
        (5, "slow"),
    ]
    assert [point.stability for point in put(asked()).breakpoints] == ["static", "session"]
    assert [point.tokens for point in points] == sorted(point.tokens for point in points)


def test_the_block_that_broke_the_cache_is_named() -> None:
    assert first_divergence(put(asked()), put(asked())) is None
    named = first_divergence(put(asked()), put(asked(4, 7)))
    assert named is not None and named.layer == "time"
    named = first_divergence(put(asked(), time="off"), put(asked(4), time="off"))
    assert named is not None and named.layer == "memory"
    assert named.before is not None and named.before.source_ids == ("m3",)
    named = first_divergence(put(asked(), **STABLE), put(asked(4, 7), **STABLE))
    assert named is not None and named.layer == "time"
    assert named.shared / named.total > 0.5


@pytest.mark.parametrize("field", ["memories", "profile"])
def test_a_block_that_comes_or_goes_is_the_one_named(field: str) -> None:
    with_it, without = put(asked(), time="off"), put(asked(**{field: [] if field == "memories" else None}), time="off")
    name = {"memories": "memory", "profile": "user_profile_memory"}[field]
    for before, after in ((with_it, without), (without, with_it)):
        found = first_divergence(before, after)
        assert found is not None and found.layer == name


def test_lore_that_floats_in_the_history_and_a_window_that_moves_are_named() -> None:
    lore = [book(entry("x", position="at_depth", depth=1))]
    off = {"time": "off", "memory_top_k": 0}
    plain = {"memories": [], "enhanced_prompt": None, "worldbooks": lore}
    found = first_divergence(put(asked(3, **plain), **off), put(asked(4, **plain), **off))
    assert found is not None and found.layer == "worldbook_at_depth"
    plain["worldbooks"] = []
    found = first_divergence(put(asked(3, **plain), max_history=3, **off), put(asked(4, **plain), max_history=3, **off))
    assert found is not None and found.layer == "history"


def test_other_tools_break_everything_since_they_come_before_it() -> None:
    asked = request(system_prompt="x", tools=[{"id": "a", "kind": "mcp"}, {"id": "b", "kind": "mcp"}])
    fewer = asked.model_copy(update={"tools": asked.tools[:1]})
    parted = first_divergence(put(asked), put(fewer))
    assert parted is not None and (parted.layer, parted.shared) == ("tools", 0)
    assert first_divergence(put(asked), put(asked)) is None


def test_an_assembly_that_only_goes_on_breaks_nothing() -> None:
    plain = {"memories": [], "enhanced_prompt": None}
    off = {"time": "off"}
    assert first_divergence(put(asked(3, **plain), **off), put(asked(4, **plain), **off)) is None


def test_something_volatile_before_something_long_and_stable_is_warned_of() -> None:
    lore = [book(entry("x", constant=False, keys=["question"]))]
    context = put(asked(worldbooks=lore), order="worldbook_first")
    assert [w for w in context.warnings if w.startswith("worldbook_before changes every turn")]
    assert not put(asked(worldbooks=lore)).warnings
    assert not put(asked(worldbooks=lore), **STABLE).warnings


def test_a_day_makes_the_time_slow_and_it_stays_in_front() -> None:
    context = put(asked(), **STABLE, time_precision="day")
    (segment,) = [s for s in context.trace if s.layer == "time"]
    assert (segment.stability, segment.message_index) == ("slow", 0)
    same = put(asked(minutes=60), **STABLE, time_precision="day")
    assert same.messages == context.messages


def test_the_fingerprint_is_that_of_inputs_policy_and_templates() -> None:
    one = put(asked())
    assert put(asked()).fingerprint == one.fingerprint
    for other in (put(asked(minutes=1)), put(asked(), rng_seed=1), put(asked(4)), put(asked(locale="de"))):
        assert other.fingerprint != one.fingerprint


def test_all_that_a_state_says_is_in_the_fingerprint() -> None:
    states = [{}, *({name: 1} for name in ("started", "sticky_until", "cooldown_until", "anchored")), {"anchor": "u1"}]
    prints = {put(asked(worldbook_state={"book/1": state})).fingerprint for state in states}
    assert len(prints) == len(states)
