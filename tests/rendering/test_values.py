"""Variables of a render: types, defaults, what is required, what max_length cuts, and copies of plain data."""

from __future__ import annotations

import enum
from collections import OrderedDict
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import compiled, prompt, text_of

from ovstore import rendering
from ovstore.errors import MissingVariablesError, RenderBudgetError, RenderError, VariableTypeError
from ovstore.rendering import RenderLimits
from ovstore.rendering.values import plain


def rendered(value: Any, kind: str, **more: Any) -> str:
    return rendering.render(compiled("{{ x }}", x={"type": kind, **more}), {"x": value})[0]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("string", "a", "a"),
        ("string", "", ""),
        ("int", 3, "3"),
        ("integer", 3, "3"),
        ("int64", 3, "3"),
        ("float", 2.5, "2.5"),
        ("float", 3, "3"),
        ("number", 2.5, "2.5"),
        ("float32", 2.5, "2.5"),
        ("bool", True, "True"),
        ("boolean", False, "False"),
        ("list", [1, "a"], "[1, 'a']"),
        ("list", (1, "a"), "(1, 'a')"),
        ("array", [], "[]"),
        ("dict", {"a": 1}, "{'a': 1}"),
        ("object", {}, "{}"),
        ("any", "a", "a"),
        ("any", [None], "[None]"),
        ("any", 1, "1"),
    ],
)
def test_a_value_of_the_type_is_taken(kind: str, value: Any, text: str) -> None:
    assert rendered(value, kind) == text


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("string", 1, "int"),
        ("string", None, "null"),
        ("string", ["a"], "list"),
        ("string", b"a", "bytes"),
        ("int", "3", "string"),
        ("int", True, "bool"),
        ("int", 1.0, "float"),
        ("float", "2.5", "string"),
        ("float", False, "bool"),
        ("bool", 1, "int"),
        ("bool", "true", "string"),
        ("list", "ab", "string"),
        ("list", {"a": 1}, "dict"),
        ("dict", [("a", 1)], "list"),
        ("any", None, "null"),
        ("any", {1, 2}, "set"),
        ("list", [object()], "object"),
        ("dict", {("a",): 1}, "a mapping with a key of type list"),
    ],
)
def test_a_value_of_another_type_is_refused_with_the_name(kind: str, value: Any, found: str) -> None:
    with pytest.raises(VariableTypeError) as error:
        rendered(value, kind)
    assert (error.value.name, error.value.found) == ("x", found)
    assert str(error.value).startswith("x must be ")


def test_none_is_a_value_of_an_optional_variable_of_any_type() -> None:
    assert rendered(None, "any", required=False) == "None"


def test_none_is_no_value_of_an_optional_string() -> None:
    with pytest.raises(VariableTypeError):
        rendered(None, "string", required=False)


def test_all_values_that_do_not_fit_are_named_at_once() -> None:
    both = compiled("{{ a }}{{ b }}", a="int", b="bool")
    with pytest.raises(VariableTypeError, match="a must be int, not string; b must be bool, not string"):
        rendering.render(both, {"a": "1", "b": "1"})


def test_all_missing_names_are_told_with_the_declared_ones() -> None:
    three = compiled("{{ a }}{{ b }}{{ c }}", a={"type": "string"}, b={"type": "string"}, c="string")
    with pytest.raises(MissingVariablesError, match="required and not given: a, b; declared are a, b, c") as error:
        rendering.render(three, {})
    assert error.value.names == ("a", "b")


def test_a_missing_name_is_compared_with_what_was_given_beside() -> None:
    one = compiled("{{ content }}", content={"type": "string"})
    with pytest.raises(MissingVariablesError, match="is it the contnt you gave") as error:
        rendering.render(one, {"contnt": "x"})
    assert error.value.near == ("contnt",)


def test_an_undeclared_value_is_ignored() -> None:
    assert rendering.render(compiled("{{ x }}", x="string"), {"x": "a", "y": object()})[0] == "a"


def test_a_default_fills_in_where_the_name_is_absent() -> None:
    one = compiled("{{ x }}", x={"type": "string", "default": "d"})
    assert [rendering.render(one, given)[0] for given in ({}, {"x": ""}, {"x": "a"})] == ["d", "", "a"]


def test_a_default_makes_a_required_variable_optional() -> None:
    assert rendering.render(compiled("{{ x }}", x={"type": "int", "required": True, "default": 0}), {})[0] == "0"


def test_an_empty_default_counts() -> None:
    assert rendering.render(compiled("[{{ x }}]", x={"type": "string", "default": ""}), {})[0] == "[]"


def test_a_null_default_is_none() -> None:
    with pytest.raises(MissingVariablesError):
        rendering.render(compiled("{{ x }}", x={"type": "string", "default": None}), {})


def test_a_default_of_the_wrong_type_does_not_compile() -> None:
    with pytest.raises(RenderError, match="x: the default must be int, not string"):
        compiled("{{ x }}", x={"type": "int", "default": "abc"})


def test_an_unknown_type_does_not_compile() -> None:
    with pytest.raises(RenderError, match="txt is not a type"):
        compiled("{{ x }}", x={"type": "txt"})


def test_max_length_cuts_code_points_and_says_so() -> None:
    one = compiled("{{ x }}", x={"type": "string", "max_length": 3})
    assert rendering.render(one, {"x": "aé😀z"}) == ("aé😀", ("x",))
    assert rendering.render(one, {"x": "aé😀"}) == ("aé😀", ())


def test_max_length_cuts_a_default_too() -> None:
    one = compiled("{{ x }}", x={"type": "string", "default": "long", "max_length": 2})
    assert rendering.render(one, {}) == ("lo", ("x",))


def test_max_length_leaves_other_types_alone() -> None:
    assert rendered([1, 2, 3], "list", max_length=1) == "[1, 2, 3]"


def test_the_type_is_looked_at_before_the_length() -> None:
    with pytest.raises(VariableTypeError):
        rendered(123456, "string", max_length=2)


def test_the_callers_values_are_never_changed() -> None:
    values: dict[str, Any] = {"a": "long", "b": [{"k": "v"}]}
    one = compiled(
        "{{ a }}{% set c = b + [1] %}{{ c }}",
        a={"type": "string", "max_length": 1},
        b="list",
        d={"type": "int", "default": 1},
    )
    rendering.render(one, values)
    assert values == {"a": "long", "b": [{"k": "v"}]}


class Point(NamedTuple):
    x: int


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (OrderedDict(a=1), "{'a': 1}"),
        (Point(1), "(1,)"),
        (Colour.RED, "red"),
        (Level.LOW, "1"),
        ({Colour.RED: Level.LOW}, "{'red': 1}"),
        ([True, None, 1.5], "[True, None, 1.5]"),
        ({1: "a", None: "b", 2.5: "c", False: "d"}, "{1: 'a', None: 'b', 2.5: 'c', False: 'd'}"),
    ],
)
def test_subclasses_are_flattened(value: Any, text: str) -> None:
    assert text_of("{{ v }}", v=value) == text


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(PLAIN)
def test_a_copy_is_equal_and_shares_nothing_that_can_change(value: Any) -> None:
    copied = plain(value, RenderLimits())
    assert copied == value and type(copied) is type(value)

    def changeable(part: Any) -> set[int]:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, (list, tuple)) else ()
        own = {id(part)} if isinstance(part, (dict, list)) else set()
        return own.union(*(changeable(p) for p in inner))

    assert not changeable(value) & changeable(copied)


def test_too_many_values_are_refused() -> None:
    one = compiled("{{ x|length }}", RenderLimits(values=100), x="list")
    assert rendering.render(one, {"x": [0] * 50})[0] == "50"
    with pytest.raises(RenderBudgetError) as error:
        rendering.render(one, {"x": [[0] * 50, [0] * 50]})
    assert error.value.limit == "values"


def test_values_that_share_a_list_are_counted_each_time() -> None:
    value: list[Any] = [0] * 10
    for _ in range(9):
        value = [value] * 10
    with pytest.raises(RenderBudgetError):
        text_of("{{ x }}", x=value)


def test_values_nested_too_deep_are_refused() -> None:
    value: list[Any] = []
    for _ in range(200):
        value = [value]
    with pytest.raises(RenderBudgetError):
        text_of("{{ x }}", x=value)


def test_a_document_may_declare_nothing() -> None:
    assert rendering.render(rendering.compile("prompt", prompt("x")), None) == ("x", ())
