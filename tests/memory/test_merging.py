"""Merge operations: the table of docs/memory.md row by row, and the laws that hold for every value."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import localcontext
from typing import Any, get_args

import pytest
from folders import CASES
from hypothesis import given
from hypothesis import strategies as st

from ovstore.documents import Field, Type
from ovstore.errors import MergeError
from ovstore.grammar import MERGE_OPS, VARIABLE_TYPES
from ovstore.memory import CLEAR, merge_value

REFUSED = object()
NOTHING = None
REPLACED = {"blocks": [{"search": "old", "replace": "new"}]}
DELETED = {"blocks": [{"delete": "old"}]}
TWO = {"blocks": [{"search": "a", "replace": "one"}, {"search": "b", "replace": "two"}]}


def field(merge_op: str, kind: str) -> Field:
    return Field.model_validate({"name": "value", "type": kind, "merge_op": merge_op})


TABLE: list[tuple[str, str, Any, Any, Any]] = [
    # merge_op, type, current, update, result
    ("replace", "string", NOTHING, "x", "x"),
    ("replace", "string", "o", "n", "n"),
    ("replace", "string", "o", 5, 5),
    ("replace", "any", "o", {}, {}),
    ("replace", "dict", {"a": 1}, {}, {}),
    ("replace", "list", [1], ["a"], ["a"]),
    ("replace", "string", "o", {}, REFUSED),
    ("replace", "string", "o", REPLACED, REFUSED),
    ("replace", "string", "o", "", "o"),
    ("replace", "string", "o", NOTHING, "o"),
    ("replace", "int", 3, 0, 0),
    ("replace", "bool", True, False, False),
    ("replace", "any", 3, False, False),
    ("replace", "string", NOTHING, "", NOTHING),
    ("replace", "int", 3, "7", 7),
    ("replace", "int", 3, "abc", REFUSED),
    ("replace", "int", 3, True, REFUSED),
    ("replace", "float", 1, "2.5", 2.5),
    ("replace", "bool", True, "no", REFUSED),
    ("replace", "list", [], {"a": 1}, REFUSED),
    ("replace", "dict", {}, ["a"], REFUSED),
    ("immutable", "string", NOTHING, "x", "x"),
    ("immutable", "string", "", "x", "x"),
    ("immutable", "string", " \n", "x", "x"),
    ("immutable", "int", 0, 5, 0),
    ("immutable", "bool", False, True, False),
    ("immutable", "string", "a", "b", "a"),
    ("immutable", "string", "a", NOTHING, "a"),
    ("immutable", "string", NOTHING, "  ", NOTHING),
    ("immutable", "int", NOTHING, "5", 5),
    ("immutable", "int", NOTHING, "five", REFUSED),
    ("immutable", "int", 4, "five", 4),
    ("sum", "int", NOTHING, 5, 5),
    ("sum", "int", NOTHING, "3", 3),
    ("sum", "int", NOTHING, "abc", REFUSED),
    ("sum", "int", NOTHING, [1], REFUSED),
    ("sum", "int", 2, NOTHING, 2),
    ("sum", "int", 2, "", 2),
    ("sum", "int", 2, 3, 5),
    ("sum", "float", 2, 3.5, 5.5),
    ("sum", "float", 2.0, 3, 5.0),
    ("sum", "int", 2.0, 3, 5),
    ("sum", "int", 2, "3", 5),
    ("sum", "int", "2", "3", 5),
    ("sum", "int", 2, "3.0", 5),
    ("sum", "float", 1, 0.5, 1.5),
    ("sum", "float", "2.5", 3, 5.5),
    ("sum", "int", 2, 3.5, REFUSED),
    ("sum", "int", 2, "3.5", REFUSED),
    ("sum", "int", 2, "2.5", REFUSED),
    ("sum", "int", 2, "abc", REFUSED),
    ("sum", "int", 2, [1], REFUSED),
    ("sum", "int", "2.5", 3, REFUSED),
    ("sum", "int", "abc", 3, REFUSED),
    ("sum", "int", "", 3, 3),
    ("sum", "int", 2, -5, -3),
    ("sum", "int", 2, True, REFUSED),
    ("sum", "float", 2, math.nan, REFUSED),
    ("sum", "float", 2, math.inf, REFUSED),
    ("sum", "int", 2**62, 2**62, REFUSED),
    ("sum", "int", 2**62, 2**62 - 1, 2**63 - 1),
    ("sum", "int", -(2**62), -(2**62), -(2**63)),
    ("sum", "float", 0.1, 0.2, 0.3),
    ("sum", "float", 3e38, 3e38, REFUSED),
    ("sum", "int", 2, "1_000", REFUSED),
    ("sum", "int", 2, "٣", REFUSED),
    ("sum", "float", 1, "1e999", REFUSED),
    ("sum", "float", NOTHING, 10**400, REFUSED),
    ("patch", "int", 3, 5, 5),
    ("patch", "int", 4, NOTHING, 4),
    ("patch", "int", 3, "abc", REFUSED),
    ("patch", "int", 3, "", 3),
    ("patch", "string", NOTHING, "new", "new"),
    ("patch", "string", NOTHING, NOTHING, ""),
    ("patch", "string", NOTHING, 5, REFUSED),
    ("patch", "string", NOTHING, {}, REFUSED),
    ("patch", "string", NOTHING, {"blocks": []}, ""),
    ("patch", "string", NOTHING, TWO, "one\ntwo"),
    ("patch", "string", NOTHING, DELETED, ""),
    ("patch", "string", "old", "new", "new"),
    ("patch", "string", "old", "", "old"),
    ("patch", "string", "old", NOTHING, "old"),
    ("patch", "string", "old", 5, REFUSED),
    ("patch", "string", "old", ["a"], REFUSED),
    ("patch", "string", "old", {"foo": 1}, REFUSED),
    ("patch", "string", "old", REPLACED, "new"),
    ("patch", "string", "old", {"blocks": []}, "old"),
    ("patch", "string", 5, REPLACED, REFUSED),
    ("patch", "string", 5, "new", "new"),
    ("replace", "string", "o", dict(CLEAR), NOTHING),
    ("patch", "string", "o", dict(CLEAR), NOTHING),
    ("patch", "string", NOTHING, dict(CLEAR), NOTHING),
    ("sum", "int", 5, dict(CLEAR), NOTHING),
    ("sum", "int", "abc", dict(CLEAR), NOTHING),
    ("immutable", "string", "a", dict(CLEAR), REFUSED),
    ("immutable", "string", "", dict(CLEAR), NOTHING),
    ("replace", "string", "o", {"clear": False}, REFUSED),
    ("replace", "string", "o", {"clear": 1}, REFUSED),
]


@pytest.mark.parametrize(("merge_op", "kind", "current", "update", "result"), TABLE)
def test_each_row_of_the_table_holds(merge_op: str, kind: str, current: Any, update: Any, result: Any) -> None:
    if result is REFUSED:
        with pytest.raises(MergeError) as caught:
            merge_value(field(merge_op, kind), current, update)
        assert caught.value.field == "value"
        assert str(caught.value).startswith("value")
    else:
        merged = merge_value(field(merge_op, kind), current, update)
        assert (merged, type(merged)) == (result, type(result))


def test_decimals_are_added_exactly_whatever_the_program_counts_with() -> None:
    with localcontext(prec=3):
        assert merge_value(field("sum", "float"), 1000.25, "0.1") == 1000.35


@pytest.mark.parametrize("kind", ["int", "float"])
def test_a_number_of_hundreds_or_thousands_of_digits_is_refused_in_few_words(kind: str) -> None:
    with pytest.raises(MergeError, match=r"1\.0+e\+400 is beyond (int64|float32)"):
        merge_value(field("sum", kind), 1, 10**400)
    with pytest.raises(MergeError, match="a number of thousands of digits"):
        merge_value(field("sum", kind), None, 10**5000)


@pytest.mark.parametrize("merge_op", ["patch", "replace", "immutable"])
@pytest.mark.parametrize("kind", ["string", "any"])
@pytest.mark.parametrize(
    "update", ["a\0", "\ud800", float("nan"), b"x", object()], ids=["nul", "surrogate", "nan", "bytes", "object"]
)
def test_what_no_memory_file_holds_is_refused_when_it_is_merged(merge_op: str, kind: str, update: Any) -> None:
    with pytest.raises(MergeError, match="value: no memory holds the update") as caught:
        merge_value(field(merge_op, kind), None, update)
    assert caught.value.field == "value"


def test_a_patch_that_brings_what_no_memory_file_holds_is_refused() -> None:
    with pytest.raises(MergeError, match="there is a NUL in it"):
        merge_value(field("patch", "string"), "a", {"blocks": [{"search": "a", "replace": "b\0"}]})


def test_the_table_has_every_operation_and_type() -> None:
    assert {row[0] for row in TABLE} == set(MERGE_OPS)
    assert {row[1] for row in TABLE} == set(get_args(Type))
    assert set(get_args(Field.model_fields["merge_op"].annotation)) == set(MERGE_OPS)


TABLE_61 = json.loads((CASES / "61_merge_none_and_types" / "table.json").read_text())


@pytest.mark.parametrize("row", TABLE_61, ids=lambda row: f"{row['op']} {row['cur']!r} {row['new']!r}")
def test_the_field_case_of_none_and_mixed_types_holds(row: Mapping[str, Any]) -> None:
    one = field(row["op"], row["type"])
    if row["want"] == "refused":
        with pytest.raises(MergeError):
            merge_value(one, row["cur"], row["new"])
    else:
        merged = merge_value(one, row["cur"], row["new"])
        assert (merged, type(merged)) == (row["want"], type(row["want"]))


@pytest.mark.parametrize(("spelling", "kind"), VARIABLE_TYPES.items())
def test_a_field_takes_every_spelling_of_a_type_that_a_schema_takes(spelling: str, kind: str) -> None:
    assert field("replace", spelling) == field("replace", kind)


@pytest.mark.parametrize(("kind", "word"), [("int", "int64"), ("number", "float32"), ("boolean", "bool")])
def test_types_are_called_as_memory_schemas_call_them(kind: str, word: str) -> None:
    assert field("replace", kind).stored_type == word


def test_a_refusal_says_what_was_given_and_what_would_do() -> None:
    with pytest.raises(MergeError, match=r"the update is text \('abc'\), no number"):
        merge_value(field("sum", "int"), 2, "abc")
    with pytest.raises(MergeError, match=r"the stored value is text \('abc'\), no number; clear it with"):
        merge_value(field("sum", "int"), "abc", 2)
    with pytest.raises(
        MergeError, match=r"the stored value is '2\.5', and int64 takes whole numbers .*; clear it with"
    ):
        merge_value(field("sum", "int"), "2.5", 3)
    with pytest.raises(MergeError, match=r"9223372036854775808 is beyond int64"):
        merge_value(field("sum", "int"), 2**62, 2**62)
    with pytest.raises(MergeError, match=r"3\.5, and int64 takes whole numbers"):
        merge_value(field("sum", "int"), 2, 3.5)


ANY_FIELD = st.builds(field, st.sampled_from(sorted(MERGE_OPS)), st.sampled_from(sorted(set(get_args(Type)))))
SCALAR = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.5, math.nan, "", " ", "a", "3", "a\nb"])
VALUE = (
    SCALAR
    | st.lists(SCALAR, max_size=2)
    | st.dictionaries(st.sampled_from("ab"), SCALAR, max_size=2)
    | st.sampled_from([dict(CLEAR), REPLACED, TWO, DELETED, {"blocks": []}, {"blocks": [{"delete": "a"}]}])
)


def outcome(one: Field, current: Any, update: Any) -> str:
    try:
        return repr(merge_value(one, current, update))
    except MergeError as error:
        return f"refused: {error}"


@given(ANY_FIELD, VALUE, VALUE)
def test_merging_is_deterministic_and_changes_no_argument(one: Field, current: Any, update: Any) -> None:
    before = repr((current, update))
    assert outcome(one, current, update) == outcome(one, current, update)
    assert repr((current, update)) == before


@given(st.sampled_from(sorted(set(get_args(Type)))), st.lists(VALUE, max_size=6))
def test_an_immutable_value_never_changes_once_it_is_set(kind: str, updates: list[Any]) -> None:
    value, seen = None, []
    for update in updates:
        try:
            value = merge_value(field("immutable", kind), value, update)
        except MergeError:
            continue
        if value is not None and not (isinstance(value, str) and not value.strip()):
            seen.append(repr(value))
    assert len(set(seen)) <= 1


@given(st.lists(st.integers(-(2**40), 2**40), min_size=3, max_size=3))
def test_sum_is_associative_on_whole_numbers(numbers: list[int]) -> None:
    a, b, c = numbers
    one = field("sum", "int")
    assert merge_value(one, merge_value(one, a, b), c) == merge_value(one, a, merge_value(one, b, c)) == a + b + c


@given(st.integers(-(2**64), 2**64), st.integers(-(2**64), 2**64))
def test_a_sum_is_exact_or_refused(a: int, b: int) -> None:
    try:
        assert merge_value(field("sum", "int"), a, b) == a + b
    except MergeError:
        assert any(not -(2**63) <= number < 2**63 for number in (a, b, a + b))


@given(st.lists(st.decimals(-10_000, 10_000, places=2), min_size=1, max_size=20))
def test_decimals_add_up_as_they_are_written(numbers: list[Any]) -> None:
    total: Any = None
    for number in numbers:
        total = merge_value(field("sum", "float"), total, str(number))
    assert total == float(sum(numbers))
