"""Each limit of RenderLimits by its name, and that a limit reached in one render leaves everything else alone."""

from __future__ import annotations

import dataclasses
import pickle
import threading
from typing import Any

import pytest
from small import compiled, prompt

from ovstore import rendering
from ovstore.errors import InvalidArgumentError, RenderBudgetError
from ovstore.rendering import RenderLimits


def limit_of(template: str, limits: RenderLimits, **values: Any) -> tuple[str, int | None]:
    with pytest.raises(RenderBudgetError) as error:
        rendering.render(compiled(template, limits, **dict.fromkeys(values, "any")), values)
    return error.value.limit, error.value.line


def passes(template: str, limits: RenderLimits, **values: Any) -> None:
    rendering.render(compiled(template, limits, **dict.fromkeys(values, "any")), values)


@pytest.mark.parametrize(
    ("limits", "fits", "exceeds"),
    [
        ({"template": 10}, "x" * 10, "x" * 11),
        ({"tokens": 7}, "a{{ 1 }}b", "a{{ 1 }}b{{ 1 }}"),
        ({"nesting": 6}, "{{ [[1]] }}", "{{ [[[[[[1]]]]]] }}"),
        ({"steps": 20}, "{% for i in range(20) %}{% endfor %}", "{% for i in range(21) %}{% endfor %}"),
        (
            {"steps": 20},
            "{% macro m() %}{% endmacro %}{{ m() }}{{ m() }}",
            "{% macro m() %}{% endmacro %}{{ m() }}{{ m() }}{{ m() }}",
        ),
        (
            {"depth": 2},
            "{% for a in [[1]] recursive %}{% if a %}{{ loop([0]) }}{% endif %}{% endfor %}",
            "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        ),
        ({"output": 10}, "{{ 'a' * 10 }}", "{{ 'a' * 10 }}b"),
        ({"text": 10}, "{{ 'a' * 10 }}", "{{ 'a' * 11 }}"),
        ({"items": 10}, "{{ [1] * 10 }}", "{{ [1] * 11 }}"),
        ({"items": 10}, "{{ range(10)|list }}", "{{ range(11)|list }}"),
        ({"built": 500}, "{{ 'a' * 100 }}{{ 'b' * 100 }}", "{{ 'a' * 100 }}{{ 'b' * 100 }}{{ 'c' * 300 }}"),
    ],
)
def test_a_limit_lets_pass_what_reaches_it_and_nothing_beyond(limits: dict[str, int], fits: str, exceeds: str) -> None:
    passes(fits, RenderLimits(**limits))
    name = next(iter(limits))
    assert limit_of(exceeds, RenderLimits(**limits))[0] == name


def test_a_limit_is_told_with_its_line() -> None:
    assert limit_of("a\nb\n{{ 'A' * n }}", RenderLimits(), n=2_000_000_000) == ("text", 3)
    assert limit_of(
        "\n{% for i in range(9) %}\n{% for j in range(99) %}\n{% endfor %}{% endfor %}", RenderLimits(steps=50)
    ) == (
        "steps",
        3,
    )


def test_a_turn_with_many_expressions_takes_more_steps() -> None:
    template = "{% for i in range(10) %}" + "{{ i }}" * 40 + "{% endfor %}"
    passes(template, RenderLimits(steps=60))
    assert limit_of(template, RenderLimits(steps=59))[0] == "steps"


def test_time_is_looked_at_while_loops_turn() -> None:
    limits = RenderLimits(seconds=0.02, steps=10_000_000, built=10_000_000_000)
    template = "{% for i in range(9999) %}{% for j in range(9999) %}{{ i * j }}{% endfor %}{% endfor %}"
    assert limit_of(template, limits)[0] == "seconds"


def test_limits_of_values_given_hold_before_the_template_runs() -> None:
    assert limit_of("{{ x|length }}", RenderLimits(values=10), x=list(range(11)))[0] == "values"


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(RenderLimits)])
@pytest.mark.parametrize("value", [0, -1, "1", True, None])
def test_a_limit_is_a_number_above_zero(name: str, value: Any) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        RenderLimits(**{name: value})
    assert error.value.argument == name


def test_nesting_cannot_be_more_than_python_compiles() -> None:
    with pytest.raises(InvalidArgumentError):
        RenderLimits(nesting=101)
    passes("{{ 1" + "|abs" * 97 + " }}", RenderLimits(nesting=100))


def test_limits_are_a_value() -> None:
    assert RenderLimits() == RenderLimits() and hash(RenderLimits()) == hash(RenderLimits())
    assert pickle.loads(pickle.dumps(RenderLimits(steps=5))) == RenderLimits(steps=5)


def test_a_budget_error_crosses_processes_whole() -> None:
    with pytest.raises(RenderBudgetError) as error:
        passes("{{ 'a' * 11 }}", RenderLimits(text=10))
    copied = pickle.loads(pickle.dumps(error.value))
    assert (str(copied), copied.limit, copied.line) == (str(error.value), "text", 1)


def test_many_threads_render_one_compiled_template() -> None:
    one = compiled(
        "{% set n = namespace(c=0) %}{% for i in xs %}{% set n.c = n.c + i %}{{ i }},{% endfor %}{{ n.c }}", xs="list"
    )
    wrong: list[str] = []

    def render(offset: int) -> None:
        xs = list(range(offset, offset + 30))
        right = "".join(f"{i}," for i in xs) + str(sum(xs))
        for _ in range(100):
            text = rendering.render(one, {"xs": xs})[0]
            if text != right:
                wrong.append(text)

    threads = [threading.Thread(target=render, args=(offset,)) for offset in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_limits_of_a_render_are_those_that_it_was_compiled_with() -> None:
    template = prompt("{{ 'a' * 100 }}")
    small = rendering.compile("prompt", template, RenderLimits(text=10))
    large = rendering.compile("prompt", template)
    assert rendering.render(large)[0] == "a" * 100
    with pytest.raises(RenderBudgetError):
        rendering.render(small)
