"""What a request, a policy or a caller's function got wrong is told in words of JSON, each with its place, all at once."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wrappers import NOW, full, put, request, turns

from ovstore.context import AssembleRequest, MemoryItem, Policy, faults
from ovstore.context.policy import problems
from ovstore.context.request import read
from ovstore.errors import InvalidArgumentError, OvstoreError

TIMES = "times are ISO 8601 with a zone: 2026-04-19T12:00:00Z or 2026-04-19T20:00:00+08:00"
DEEP: Any = json.loads("[" * 240 + "]" * 240)


def said(**fields: Any) -> list[str]:
    """What is wrong with a request of which only these fields are wrong."""
    return said_of({"session_id": "s", "now": NOW, **fields})


def said_of(asked: Any) -> list[str]:
    with pytest.raises(InvalidArgumentError, match="the request cannot be assembled") as caught:
        read(asked)
    return str(caught.value).splitlines()[1:]


def lore(**fields: Any) -> list[dict[str, Any]]:
    return [{"id": "b", "name": "B", "entries": [{"uid": "1", "content": "x"}, {"uid": "2", "content": "x", **fields}]}]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"sytem_prompt": "x"}, "sytem_prompt: no such key; did you mean system_prompt?"),
        ({"memories": {"id": "a"}}, "memories: an object is no list"),
        ({"memories": [7]}, "memories[0]: 7 is no object"),
        ({"memories": [{"id": "a"}]}, "memories[0].content: missing"),
        ({"memories": [{"id": "", "content": ""}]}, "memories[0].id: empty"),
        ({"memories": [{"id": "a", "content": "x", "score": "high"}]}, 'memories[0].score: "high" is no number'),
        (
            {"memories": [{"id": "a", "content": "x", "score": float("nan")}]},
            "memories[0].score: NaN is no number that JSON has",
        ),
        (
            {"memories": [{"id": "a", "content": "x", "meta": {"k": "\ud800"}}]},
            "memories[0].meta: half of a surrogate pair in it, which is no character",
        ),
        ({"system_prompt": 5}, "system_prompt: 5 is no text"),
        ({"system_prompt": "\ud800"}, "system_prompt: half of a surrogate pair in it, which is no character"),
        ({"now": "2026-04-19T12:00:00"}, f'now: "2026-04-19T12:00:00" has no time zone; {TIMES}'),
        ({"now": "tomorrow"}, f'now: "tomorrow" is no time; {TIMES}'),
        ({"now": 1776600000}, f"now: 1776600000 is no time; {TIMES}"),
        ({"now": "1776600000"}, f'now: "1776600000" is no time; {TIMES}'),
        ({"now": "0001-01-01T00:00:00Z"}, "now: the year cannot be told in every time zone: 2 to 9998"),
        (
            {"timezone": "Mars/Base"},
            'timezone: "Mars/Base" is no time zone that this machine knows: an IANA name such as Europe/Rome',
        ),
        ({"history": [{"id": "a", "role": "users"}]}, "did you mean user?"),
        ({"history": [{"id": "a", "role": "tool"}]}, "history[0]: a tool message names the call that it answers"),
        (
            {"history": [{"id": "a", "role": "assistant", "tool_calls": ["c", "c"]}]},
            'history[0].tool_calls: each is known by an id of its own; more than once: "c"',
        ),
        ({"history": turns(1) * 2}, 'history: each is known by an id of its own; more than once: "u1"'),
        ({"worldbooks": lore(constant="yes")}, 'worldbooks[0].entries[1].constant: "yes" is neither true nor false'),
        ({"worldbooks": lore(order=1.5)}, "worldbooks[0].entries[1].order: 1.5 is no whole number"),
        ({"worldbooks": lore(probability=True)}, "worldbooks[0].entries[1].probability: true is no number"),
        ({"worldbooks": lore(probability=101)}, "worldbooks[0].entries[1].probability: 101 is greater than 100"),
        ({"worldbooks": lore(depth=-1)}, "worldbooks[0].entries[1].depth: -1 is less than 0"),
        ({"worldbooks": lore(kyes=["x"])}, "worldbooks[0].entries[1].kyes: no such key; did you mean keys?"),
        (
            {"worldbook_state": {"b/1": {"stick_until": 5}}},
            'worldbook_state["b/1"].stick_until: no such key; did you mean sticky_until?',
        ),
        ({"worldbook_state": {"b/1": {"started": -5}}}, 'worldbook_state["b/1"].started: -5 is less than 0'),
        ({"policy": []}, "policy: a list is no object"),
        ({"policy": {"memry_top_k": 1}}, "policy.memry_top_k: no such key; did you mean memory_top_k?"),
        ({"policy": {"time": "fornt"}}, 'policy.time: "fornt" is none of front, tail, off; did you mean front?'),
        ({"policy": {"order": "sed"}}, "did you mean seed?, nor a list of layers"),
        ({"policy": {"order": ["time", "tiem"]}}, 'policy.order: "tiem" is none of system_prompt'),
        ({"policy": {"layer_budget": {"memroy": 5}}}, "; did you mean memory?"),
        ({"policy": {"landmark_minutes": 10**15}}, "is greater than 1,000,000,000"),
        ({"policy": {"separator": "\ud800"}}, "policy.separator: half of a surrogate pair in it"),
    ],
)
def test_each_fault_has_its_place_and_says_what_is_wrong(fields: dict[str, Any], line: str) -> None:
    found = said(**fields)
    assert len(found) == 1 and line in found[0]


def test_everything_is_told_at_once_also_of_the_policy_and_of_repeated_ids() -> None:
    found = said(
        histroy=[], memories=[{"id": "a", "content": "x"}] * 2, now="noon", policy={"time": "now", "landmarks": "yes"}
    )
    assert [line.partition(":")[0] for line in found] == [
        "now",
        "memories",
        "histroy",
        "policy.time",
        "policy.landmarks",
    ]


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({}, "session_id: missing"),
        ([], "a list is no object"),
        (None, "null is no object"),
        ("{", "no JSON: EOF while parsing an object at line 1 column 1"),
        (b"\xff", "no JSON: expected value at line 1 column 1"),
        ('{"session_id": "s", "now": 5}', f"now: 5 is no time; {TIMES}"),
    ],
)
def test_what_is_no_request_at_all_is_told_in_the_same_words(asked: Any, line: str) -> None:
    assert said_of(asked)[0] == line


def test_a_policy_is_looked_at_also_where_the_request_is_a_model() -> None:
    asked = request(policy={"memory_top_k": -1})
    assert said_of(asked) == ["policy.memory_top_k: -1 is less than 0"]


def test_a_policy_of_the_tenant_that_cannot_be_used_names_its_scope_and_version() -> None:
    with pytest.raises(InvalidArgumentError, match=r"context\.policy of seed \(version 1\) cannot be used:\ntime: "):
        put(request(), time="never")


def test_long_and_deep_things_are_told_in_one_line() -> None:
    (line,) = said(memories=[{"id": "a", "content": "x", "meta": {"deep": [DEEP, float("inf")]}}])
    assert line == "memories[0].meta.deep[1]: Infinity is no number that JSON has"
    (line,) = said(timezone="x" * 5_000)
    assert len(line) < 200
    (line,) = said(worldbooks=lore(order=10**5_000))
    assert "a number of 16610 bits is greater than" in line


JUNK = st.sampled_from(
    [
        None,
        True,
        -1,
        1.5,
        10**30,
        float("inf"),
        "",
        "x",
        "\ud800",
        b"x",
        (),
        [],
        {},
        {"x": 1},
        [[]],
        [None],
        object(),
        NOW,
    ]
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in inner:
        yield from places(below, (*path, step))


WHOLE = full(tools=[{"id": "t", "kind": "mcp"}], policy={"order": ["time"], "priority": {"memory": 1}}).model_dump(
    mode="json"
)
PLACES = list(places(WHOLE))


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(PLACES), JUNK, st.booleans())
def test_whatever_stands_anywhere_in_a_request_is_taken_or_refused_in_our_own_words(
    place: tuple[str | int, ...], junk: Any, added: bool
) -> None:
    asked = copy.deepcopy(WHOLE)
    here: Any = asked
    for step in place[:-1]:
        here = here[step]
    if added and isinstance(here, dict):
        here["junk"] = junk
    else:
        here[place[-1]] = junk
    try:
        put(read(asked))
    except OvstoreError as error:
        assert not {"Input", "valid", "tuple", "permitted", "pydantic"} & set(str(error).split())


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(sorted(Policy.model_fields)), JUNK)
def test_whatever_stands_in_a_policy_is_taken_or_refused_in_our_own_words(name: str, junk: Any) -> None:
    for steps, what in problems({name: junk}):
        assert steps[0] == name
        assert not {"Input", "valid", "tuple", "permitted"} & set(what.split())


def test_a_place_is_written_as_json_paths_are() -> None:
    assert faults.place(("a", 0, "b c", "d")) == 'a[0]["b c"].d'


def test_retrieve_may_give_plain_data_and_is_told_what_is_no_memory() -> None:
    asked = request(history=turns(1))
    found = put(asked, retrieve=lambda query, k: iter([{"id": "a", "content": "one"}, MemoryItem(id="b", content="x")]))
    assert "- one\n- x\n" in found.messages[0].content
    for given_back, what in (
        (None, "retrieve gave null: it gives memories, best first"),
        ([{"id": "a", "contents": "x"}], "[0].content: missing\n[0].contents: no such key; did you mean content?"),
        (["a"], '[0]: "a" is no object'),
    ):
        with pytest.raises(InvalidArgumentError) as caught:
            put(asked, retrieve=lambda query, k, given_back=given_back: given_back)
        assert what in str(caught.value) and caught.value.argument == "retrieve"


@pytest.mark.parametrize("counted", [None, 1.5, -1, "3"])
def test_a_count_that_is_no_number_of_tokens_is_refused(counted: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="tokens are a whole number from 0") as caught:
        put(request(history=turns(1)), count_tokens=lambda text: counted)
    assert caught.value.argument == "count_tokens"


def test_what_a_callers_own_functions_raise_comes_through() -> None:
    class Mine(Exception):
        pass

    def fails(*arguments: Any) -> Any:
        raise Mine

    with pytest.raises(Mine):
        put(request(history=turns(1)), retrieve=fails)
    with pytest.raises(Mine):
        put(request(history=turns(1)), count_tokens=fails)


def test_a_request_of_models_and_times_is_taken_like_one_of_plain_data() -> None:
    asked = full()
    assert read(asked.model_dump()) == read(asked.model_dump(mode="json")) == read(asked.model_dump_json()) == asked
    assert isinstance(read({"session_id": "s", "now": NOW, "memories": asked.memories}), AssembleRequest)
