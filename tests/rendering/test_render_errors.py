"""Errors of a render: the line and column in the template, the tag, and words that an author understands."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pytest
from small import compiled, text_of

from ovstore import rendering
from ovstore.errors import RenderError


@pytest.mark.parametrize(
    ("template", "values", "place", "message"),
    [
        ("a\n  {{ x / 0 }}", {"x": 1}, (2, 6), "in {{ x / 0 }}: division by zero"),
        ("{{ a }} {{ x.y.z }}", {"a": 1, "x": {}}, (1, 15), "in {{ x.y.z }}: "),
        (
            "{% for i in x %}\n{{ i }}\n{% endfor %}",
            {"x": 5},
            (1, 4),
            "in {% for i in x %}: 'int' object is not iterable",
        ),
        ("{% if x > 'a' %}{% endif %}", {"x": 5}, (1, 4), "not supported between instances of 'int' and 'str'"),
        ("{% set y = x + [] %}", {"x": 5}, (1, 4), "unsupported operand type(s) for +: 'int' and 'list'"),
        ("\n\n{% set y.z = 1 %}", {"y": {}}, (3, 4), "cannot assign attribute on non-namespace object"),
        ("{% with a = 1 / 0 %}{% endwith %}", {}, (1, 4), "division by zero"),
        ("{% macro m() %}\n{{ 1 / 0 }}{% endmacro %}\n{{ m() }}", {}, (2, 4), "in {{ 1 / 0 }}: division by zero"),
        ("{% filter upper %}{{ 1 / 0 }}{% endfilter %}", {}, (1, 22), "division by zero"),
        ("a\r\nb\r\n{{ 1 / 0 }}", {}, (3, 4), "division by zero"),
        ("{{ 'ab'.index('x') }}", {}, (1, 14), "substring not found"),
        ("{{ 'x'|round }}", {}, (1, 8), "values or arguments that it does not take"),
        ("{{ 'a'|center('b') }}", {}, (1, 8), "in {{ 'a'|center('b') }}: "),
        ("{{ 'a'|upper(1, 2, 3) }}", {}, (1, 8), "arguments that it does not take"),
        ("{{ [1, 'a']|sort }}", {}, (1, 13), "not supported between instances of"),
        ("{{ 'a'|truncate(1) }}", {}, (1, 8), "a length that its end fits into"),
        ("{{ 5|length }}", {}, (1, 6), "length takes text, a list or a mapping"),
        ("{{ xs|map('upper')|length }}", {"xs": ["a"]}, (1, 20), "add |list after map or select"),
        ("{{ xs|map('upper') }}", {"xs": ["a"]}, (1, 7), "add |list to it"),
        ("{{ 2 ** 100000 }}", {}, (1, 4), "4,300 digits"),
        ("{{ undefinable() }}", {"undefinable": "x"}, (1, 15), "a string is no function or macro"),
    ],
)
def test_an_error_says_where_and_what(
    template: str, values: dict[str, Any], place: tuple[int, int], message: str
) -> None:
    with pytest.raises(RenderError) as error:
        text_of(template, **values)
    assert (error.value.line, error.value.column) == place
    assert message in str(error.value)


def test_a_long_tag_is_shortened() -> None:
    with pytest.raises(RenderError) as error:
        text_of("{{ 1 / 0 }}".replace("1", "'" + "a" * 300 + "'|length"))
    assert "…" in str(error.value) and len(str(error.value)) < 150


def test_a_tag_over_several_lines_is_shown_on_one() -> None:
    with pytest.raises(RenderError, match=re.escape("in {{ 1 / 0 }}: division by zero")) as error:
        text_of("a\n{{ 1\n  /\n  0 }}")
    assert error.value.line == 2


def test_an_error_of_a_value_in_prose_has_its_place_too() -> None:
    with pytest.raises(RenderError) as error:
        rendering.render(compiled("a\n{{ x }}", rendering.RenderLimits(text=10), x="list"), {"x": list(range(9))})
    assert (error.value.line, error.value.column) == (2, 4)


def test_the_cause_is_kept_for_the_operator_and_not_in_the_message() -> None:
    with pytest.raises(RenderError) as error:
        text_of("{{ 'a'|upper(1) }}")
    assert isinstance(error.value.__cause__, TypeError) and "_upper" not in str(error.value)


def test_an_error_crosses_processes_whole() -> None:
    with pytest.raises(RenderError) as error:
        text_of("\n{{ 1 / 0 }}")
    copied = pickle.loads(pickle.dumps(error.value))
    assert (type(copied), str(copied), copied.line) == (RenderError, str(error.value), 2)


def test_each_error_is_its_own() -> None:
    one = compiled("{{ 1 / x }}", x="int")
    messages = []
    for _ in range(3):
        with pytest.raises(RenderError) as error:
            rendering.render(one, {"x": 0})
        messages.append(str(error.value))
    assert messages == ["in {{ 1 / x }}: division by zero"] * 3
