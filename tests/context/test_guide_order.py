"""The guide's full order as one golden assembly, read against the guide by hand; docs/context.md shows it too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from wrappers import NOW, POLICY, TEMPLATES, full, layers, put, request

from ovstore.context import Policy, Settings, assemble
from ovstore.context.policy import SEED_ORDER

GOLDEN = Path(__file__).parent / "golden" / "full_order.txt"
DOCS = Path(__file__).parents[2] / "docs" / "context.md"


def written(context: Any) -> str:
    return "".join(f"=== {message.role}\n{message.content}\n" for message in context.messages)


def test_the_full_order_is_that_of_the_guide() -> None:
    assert written(put(full())) == GOLDEN.read_text(encoding="utf-8")


def test_the_docs_show_the_same_assembly() -> None:
    assert GOLDEN.read_text(encoding="utf-8") in DOCS.read_text(encoding="utf-8")


def test_layers_come_in_the_guides_order() -> None:
    assert layers(put(full())) == [
        *SEED_ORDER,
        "worldbook_em_top",
        "worldbook_at_depth",
        "history",
        "history",
        "worldbook_at_depth",
        "time_landmark",
        "history",
        "worldbook_em_bottom",
        "enhanced_prompt",
    ]


def test_the_seed_policy_spells_out_the_defaults_of_the_code() -> None:
    assert Policy.model_validate({name: value for name, value in POLICY.items() if value is not None}) == Policy()
    assert POLICY.keys() | {"token_budget"} == Policy.model_fields.keys()


def test_a_request_names_fields_that_override_the_tenants_policy() -> None:
    asked = full(policy={"time": "off", "memory_top_k": 1})
    context = assemble(asked, templates=TEMPLATES.__getitem__, policy=Settings(POLICY | {"landmarks": False}))
    assert "time" not in layers(context) and "time_landmark" not in layers(context)
    assert context.policy["memory_top_k"] == 1
    same = full(policy=Policy(time="off", memory_top_k=1))
    assert assemble(same, templates=TEMPLATES.__getitem__, policy=Settings(POLICY | {"landmarks": False})) == context


def test_the_worldbook_can_come_first_and_an_order_can_be_spelled_out() -> None:
    first = layers(put(full(), order="worldbook_first"))
    assert first[:5] == [layer for layer in SEED_ORDER if layer.startswith("worldbook_")]
    own = layers(put(full(), order=["time", "user_profile_memory"]))
    assert own[:3] == ["time", "user_profile_memory", "system_prompt"]


def test_time_can_stand_last_of_all() -> None:
    assert layers(put(full(), time="tail"))[-2:] == ["enhanced_prompt", "time"]


@pytest.mark.parametrize(
    ("precision", "line"),
    [
        ("second", "Local: 2026-04-19 20:00:00 GMT+08:00 (Asia/Shanghai)\nISO 8601: 2026-04-19T20:00:00+08:00\n"),
        ("minute", "Local: 2026-04-19 20:00 GMT+08:00 (Asia/Shanghai)\nISO 8601: 2026-04-19T20:00+08:00\n"),
        ("day", "Local: 2026-04-19 (Asia/Shanghai)\nISO 8601: 2026-04-19\n"),
    ],
)
def test_the_time_is_written_as_exactly_as_the_policy_says(precision: str, line: str) -> None:
    assert line in put(full(), time_precision=precision).messages[0].content


def test_prompts_are_sent_raw_and_only_the_enhanced_one_is_trimmed() -> None:
    context = put(request(system_prompt="  ", topic_prompt="", enhanced_prompt=" x \n", now=NOW), time="off")
    assert context.messages[0].content == "<system_prompt>\n  \n</system_prompt>"
    assert context.messages[1].content.endswith("\nx\n</enhanced_prompt>")
    assert [(drop.layer, drop.reason) for drop in context.dropped] == [("topic_prompt", "empty")]


def test_without_any_block_there_is_no_system_message() -> None:
    assert put(request(), time="off").messages == ()
