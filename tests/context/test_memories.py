"""Memories, summaries, profile and tools: who takes part, and who is asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from wrappers import NOW, TEMPLATES, data_of, layers, put, reasons, request, template, told, turns

from ovstore.context import AssembleRequest, MemoryItem, Policy, Settings
from ovstore.context.policy import effective, problems
from ovstore.context.request import read
from ovstore.errors import InvalidArgumentError


def memory(id: str, score: float | None = None, **fields: Any) -> dict[str, Any]:  # noqa: A002
    return {"id": id, "content": f"about {id}", "score": score, **fields}


def shown(context: Any) -> list[str]:
    return [line.removeprefix("- about ") for line in told(context, "memory").split("\n") if line.startswith("- about")]


def test_the_best_by_score_are_shown_and_ties_go_by_id() -> None:
    given = [memory("c", 0.5), memory("a", 0.5), memory("z"), memory("b", 0.9), memory("y")]
    context = put(request(memories=given))
    assert shown(context) == ["b", "a", "c"]
    assert reasons(context) == {"y": "top_k", "z": "top_k"}


def test_what_is_archived_or_not_valid_now_says_so() -> None:
    given = [
        memory("a", archived=True),
        memory("b", valid_until=NOW),
        memory("c", valid_from=NOW + timedelta(seconds=1)),
        memory("d", content=" "),
        memory("e", valid_from=NOW, valid_until=NOW + timedelta(seconds=1)),
    ]
    context = put(request(memories=given))
    assert shown(context) == ["e"]
    assert reasons(context) == {"a": "archived", "b": "expired", "c": "not_yet_valid", "d": "empty"}


def test_a_caller_can_retrieve_by_the_last_texts_of_the_untrimmed_history() -> None:
    asked: list[tuple[str, int]] = []

    def retrieve(query: str, k: int) -> list[MemoryItem]:
        asked.append((query, k))
        return [MemoryItem(id=name, content=f"about {name}") for name in ("x", "a", "x", "y", "w")]

    context = put(request(memories=[memory("a"), memory("b")], history=turns(4)), retrieve=retrieve, max_history=1)
    assert asked == [("assistant: answer 2 \nuser: question 3 \nassistant: answer 3 \nuser: question 4 ", 3)]
    assert shown(context) == ["x", "a", "y"]
    assert {name: why for name, why in reasons(context).items() if why == "top_k"} == {"b": "top_k", "w": "top_k"}


def test_without_words_nothing_is_retrieved() -> None:
    context = put(request(memories=[memory("a", 1)]), retrieve=lambda query, k: pytest.fail("asked"))
    assert reasons(context) == {"a": "top_k"}


def test_the_memory_switch_is_over_summaries_and_profile_too() -> None:
    asked = request(
        memories=[memory("m")],
        summaries=[{"session_id": "s", "session_name": "n", "summary": "x", "updated_at": NOW}],
        profile={"content": "x", "updated_at": NOW},
        tools=[{"id": "find", "kind": "memory_search"}, {"id": "save", "kind": "memory_write"}],
    )
    context = put(asked, memory_enabled=False)
    assert layers(context) == ["time"] and context.tools == ()
    assert set(reasons(context).values()) == {"disabled"}


def test_summaries_come_newest_first_without_the_sessions_own() -> None:
    given = [
        {"session_id": name, "session_name": name, "summary": f"about {name}", "updated_at": NOW - timedelta(days=days)}
        for name, days in (("b", 1), ("a", 1), ("this", 0), ("c", 3), ("d", 4), ("e", 5), ("f", 6))
    ]
    context = put(request(summaries=given))
    lines = [line for line in told(context, "recent_conversation_memory").split("\n") if line.startswith("- (")]
    assert [line.split("[")[1][0] for line in lines] == ["a", "b", "c", "d", "e"]
    assert reasons(context) == {"this": "own_session", "f": "limit"}


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ({}, ["builtin", "memory_search", "memory_write", "mcp", "shortcut", "external"]),
        ({"memory_top_k": 0}, ["builtin", "memory_write", "mcp", "shortcut", "external"]),
        ({"isolation": True}, ["builtin"]),
        ({"memory_enabled": False}, ["builtin", "mcp", "shortcut", "external"]),
    ],
)
def test_tools_follow_memory_and_isolation(policy: dict[str, Any], kept: list[str]) -> None:
    kinds = ["builtin", "memory_search", "memory_write", "mcp", "shortcut", "external"]
    asked = request(tools=[{"id": kind, "kind": kind} for kind in kinds], worldbooks=[{"id": "b", "name": "B"}])
    assert list(put(asked, **policy).tools) == kept


def test_a_tenants_wrapper_may_ask_for_more_than_the_seeds() -> None:
    data = data_of("memory")
    data["variables"].append({"name": "locale", "type": "string", "description": "d"})
    data["template"] = "{{ locale }}{% for i in items %}|{{ i.id }} {{ i.updated_at }} {{ i.meta.kind }}{% endfor %}"
    asked = request(
        memories=[memory("a", updated_at=NOW, meta={"kind": "</memory>"})], locale="de", timezone="Asia/Tokyo"
    )
    context = put(asked, templates={**TEMPLATES, "context.memory": template(data, "acme", 4)})
    assert told(context, "memory") == "de|a 2026-04-19 &lt;/memory>"


def test_a_wrapper_that_gives_no_text_leaves_its_items_out() -> None:
    silent = data_of("memory") | {"template": "{% if not items %}x{% endif %}"}
    context = put(request(memories=[memory("a", 1)]), templates={**TEMPLATES, "context.memory": template(silent)})
    assert layers(context) == ["time"]
    assert reasons(context) == {"a": "empty"}


def test_tags_of_a_tenants_own_can_be_neutralised_too() -> None:
    asked = request(memories=[memory("a", content="</facts></memory><b>", score=1)])
    assert "&lt;/facts>&lt;/memory><b>" in put(asked, tags=["facts"]).messages[0].content
    assert "</facts>&lt;/memory><b>" in put(asked).messages[0].content
    assert "&lt;/facts&gt;&lt;/memory&gt;&lt;b&gt;" in put(asked, escape="xml").messages[0].content
    assert "</facts></memory><b>" in put(asked, escape="none").messages[0].content


def test_everything_wrong_with_a_request_is_told_at_once() -> None:
    wrong = {
        "session_id": "",
        "now": "2026-04-19T12:00:00",
        "timezone": "Mars/Base",
        "history": [{"id": "a", "role": "boss"}, {"id": "t", "role": "tool"}],
        "sytem_prompt": "x",
    }
    with pytest.raises(InvalidArgumentError) as caught:
        read(wrong)
    for place in ("session_id", "now", "timezone", "history[0].role", "history[1]", "sytem_prompt"):
        assert place in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"memories": [memory("a"), memory("a")]}, 'memories: each is known by an id of its own; more than once: "a"'),
        ({"history": [*turns(1), *turns(1)]}, "history: each is known"),
        ({"worldbooks": [{"id": "b", "name": "x"}, {"id": "b", "name": "y"}]}, "worldbooks: each is known"),
        (
            {"worldbooks": [{"id": "b", "name": "x", "entries": [{"uid": "1", "content": ""}] * 2}]},
            "worldbooks[0].entries: each is known",
        ),
        ({"worldbooks": [{"id": "a/b", "name": "x"}]}, "no '/'"),
        ({"history": [{"id": "u", "role": "user", "content": "\ud800"}]}, "history[0].content"),
    ],
)
def test_a_request_that_could_not_be_accounted_for_is_refused(fields: dict[str, Any], what: str) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be assembled") as caught:
        read({"session_id": "s", "now": NOW, **fields})
    assert what in str(caught.value)


def test_a_request_is_read_from_json_as_it_was_written() -> None:
    asked = request(memories=[memory("a", 1)], history=turns(2), worldbooks=[{"id": "b", "name": "B"}])
    assert read(asked.model_dump_json()) == asked == read(asked)
    assert isinstance(read(asked.model_dump(mode="json")), AssembleRequest)


@pytest.mark.parametrize(
    "values",
    [
        {"memry_top_k": 1},
        {"memory_top_k": -1},
        {"landmarks": "yes"},
        {"order": ["time", "time"]},
        {"order": ["history"]},
        {"tags": ["a b"]},
        {"sawtooth_low": 1.0},
        {"priority": {"time": 1}},
        {"memory_top_k": True},
    ],
)
def test_a_policy_that_means_nothing_is_refused_and_its_side_is_named(values: dict[str, Any]) -> None:
    assert problems(values)
    with pytest.raises(InvalidArgumentError, match=r"the request cannot be assembled:\npolicy\."):
        read({"session_id": "s", "now": NOW, "policy": values})
    with pytest.raises(InvalidArgumentError, match="the policy"):
        effective(Settings(values), {})


def test_null_in_a_policy_is_the_default() -> None:
    assert effective(Settings({"token_budget": None, "memory_top_k": 1}), {"memory_top_k": None}) == Policy(
        memory_top_k=3
    )
