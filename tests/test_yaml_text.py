"""YAML out: it reads back the same, here and elsewhere, and people can read it."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from test_yaml_io import values

from ovstore.errors import InvalidArgumentError
from ovstore.yaml_io import load
from ovstore.yaml_text import dump

nasty = st.text(
    st.sampled_from(" \n\t:-#'\"|>{}[]&*!%@`?,~=.0123456789eEx_nNoyY<\\é漢\u2028\x85\xa0\r\x07😀"), max_size=20
)
any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
words = st.sampled_from(
    ["yes", "null", "1e-3", "0x1F", "1_000", "12:30", "2026-01-31", "<<", "=", "~", "", "- a", "a: b\n"]
)
texts = nasty | any_text | words | st.integers(900, 1100).map(lambda length: "k" * length)
keys = texts.filter(lambda text: "\ufeff" not in text)
free: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**98), 10**98)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(keys, free, min_size=1, max_size=4))
def test_what_is_written_reads_back_the_same(data: dict[str, Any]) -> None:
    written = dump(data)
    loaded = load(written.encode())
    assert {finding.code for finding in loaded.findings} <= {"invisible-character"}
    assert json.dumps(values(loaded.data)) == json.dumps(data)


@settings(deadline=None)
@given(free)
def test_other_readers_of_yaml_read_it_the_same(data: Any) -> None:
    assert json.dumps(yaml.load(dump(data), yaml.SafeLoader)) == json.dumps(data)


@given(st.lists(st.text(st.sampled_from("\t -:#'\"|>{}[]&*!%@`?,~=0eyé漢😀"), max_size=8), min_size=1, max_size=4))
def test_text_of_several_lines_is_written_as_a_block(lines: list[str]) -> None:
    text = "\n".join([*lines, "end", *lines])
    written = dump({"a": text})
    assert written.startswith("a: |")
    assert load(written.encode()).data == {"a": text}


def test_written_yaml_is_for_people() -> None:
    data = {
        "metadata": {"id": "a.b", "version": "1.10", "description": "摘要 🦊"},
        "variables": [{"name": "q", "default": "no", "tags": ["x", []]}, {"name": "r", "default": {}}],
        "template": "Line one  \n\n  {{ q }}\n",
        "llm_config": {"temperature": 0.0, "seed": 1e20},
    }
    assert dump(data) == (
        'metadata:\n  id: a.b\n  version: "1.10"\n  description: "摘要 🦊"\n'
        'variables:\n  - name: q\n    default: "no"\n    tags:\n      - x\n      - []\n  - name: r\n    default: {}\n'
        "template: |\n  Line one  \n\n    {{ q }}\n"
        "llm_config:\n  temperature: 0.0\n  seed: 1.0e+20\n"
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, b"x", {1, 2}, object(), {1: "a"}, {None: 1}])
def test_what_json_cannot_hold_is_not_written(value: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        dump({"a": [value]})


def test_a_value_that_holds_itself_is_not_written() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(InvalidArgumentError, match="inside one another"):
        dump(value)


def test_a_long_text_is_written_and_read_in_a_moment() -> None:
    text = "字" * 400_000 + "\n"
    begin = time.perf_counter()
    assert load(dump({"a": text}).encode()).data == {"a": text}
    assert time.perf_counter() - begin < 2
