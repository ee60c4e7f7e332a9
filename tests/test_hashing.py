"""Canonical JSON and the hashes: pinned by value, since every database ever written holds them."""

from __future__ import annotations

import hashlib
import json
import math
import random
from datetime import date
from typing import Any

import pytest
from drawn import Data, documents_of
from hypothesis import given
from hypothesis import strategies as st

from ovstore.documents import canonical
from ovstore.errors import InvalidArgumentError
from ovstore.hashing import canonical_json, document_hash, source_hash

free: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1.0, True, None]}, '{"a":[1.0,true,null],"b":1}'),
        ({"é": "漢 \u2028 / \x7f", "z": '"\\\n'}, '{"z":"\\"\\\\\\n","é":"漢 \u2028 / \x7f"}'),
        ([1e16, 1e-7, -0.0, 0.1, 2**70], "[1e+16,1e-07,-0.0,0.1,1180591620717411303424]"),
        ({"\U0001f600": 1, "\ufb01": 2}, '{"\ufb01":2,"\U0001f600":1}'),
    ],
)
def test_canonical_json_has_one_text_for_a_value(value: Any, text: str) -> None:
    assert canonical_json(value) == text


def test_a_document_hash_never_changes() -> None:
    document = {"extends": "semantic.note", "template": "Hallo Welt, 漢\n", "llm_config": {"temperature": 0.0}}
    assert document_hash(document).hex() == "d7a0dc6f6ee7c9af75fb303d4fffb82e5c95e05f62884ae87b5d2e54500b255e"


def test_an_empty_document_hash_never_changes() -> None:
    assert document_hash({}).hex() == "6fb21f4a4aadd5e943282f15329bc701b2990f8fd1fd9698455233dc6f542cfa"


def test_a_source_hash_is_plain_sha_256() -> None:
    assert source_hash(b"a: 1\n") == hashlib.sha256(b"a: 1\n").digest()


def test_a_document_hash_is_not_the_hash_of_its_json() -> None:
    assert document_hash({}) != source_hash(b"{}")


@pytest.mark.parametrize(
    ("one", "other"), [(0, 0.0), (0, False), (1, True), (1, "1"), (None, "null"), ([], {}), (0.0, -0.0)]
)
def test_values_that_python_takes_for_equal_have_different_hashes(one: Any, other: Any) -> None:
    assert document_hash({"a": one}) != document_hash({"a": other})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, date(2026, 1, 31), b"bytes", {1, 2}])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="no JSON form"):
        canonical_json({"a": [value]})


@given(free)
def test_canonical_json_reads_back_as_the_same_value_and_text(value: Any) -> None:
    text = canonical_json(value)
    assert canonical_json(json.loads(text)) == text


@given(st.sampled_from(["prompt", "memory"]).flatmap(lambda kind: st.tuples(st.just(kind), documents_of[kind])))
def test_the_canonical_form_of_a_canonical_document_is_itself(drawn: tuple[Any, Data]) -> None:
    kind, data = drawn
    once = canonical(kind, "full", data)
    assert canonical_json(canonical(kind, "full", once)) == canonical_json(once)


@given(
    st.sampled_from(["prompt", "memory"]).flatmap(lambda kind: st.tuples(st.just(kind), documents_of[kind])),
    st.randoms(use_true_random=False),
)
def test_the_order_of_keys_and_items_is_not_part_of_a_document(drawn: tuple[Any, Data], order: random.Random) -> None:
    kind, data = drawn
    shuffled = _shuffled(data, order)
    assert document_hash(canonical(kind, "full", shuffled)) == document_hash(canonical(kind, "full", data))


def _shuffled(data: Data, order: random.Random) -> Data:
    keys = list(data)
    order.shuffle(keys)
    result: Data = {key: data[key] for key in keys}
    for key in ("variables", "fields"):
        if key in result:
            items = [_shuffled(item, order) for item in result[key]]
            order.shuffle(items)
            result[key] = items
    return result
