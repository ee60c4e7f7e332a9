"""Parts: prompts that prompts include, import and extend, and everything that can be wrong with them."""

from __future__ import annotations

from typing import Any

import pytest
from small import prompt

from ovstore import rendering
from ovstore.errors import MissingVariablesError, RenderBudgetError, RenderError, UnsafeTemplateError
from ovstore.rendering import Compiled, RenderLimits

TONE = prompt("Be {{ tone }}.", "shared.tone", tone={"type": "string", "default": "kind"})
FORMS = prompt("{% macro field(name) %}[{{ name }}]{% endmacro %}{% set width = 3 %}text", "shared.forms")
FRAME = prompt("<{% block head %}H{% endblock %}|{% block body %}B{% endblock %}>", "shared.frame")


def linked(template: str, *parts: dict[str, Any], **types: Any) -> Compiled:
    compiled = {p["metadata"]["id"]: rendering.compile("prompt", p) for p in parts}
    return rendering.link(rendering.compile("prompt", prompt(template, **types)), compiled)


def text(template: str, *parts: dict[str, Any], **values: Any) -> str:
    types = {name: "string" if isinstance(value, str) else "any" for name, value in values.items()}
    return rendering.render(linked(template, *parts, **types), values)[0]


def chain(length: int) -> list[dict[str, Any]]:
    """Parts that each include the next."""
    texts = [f"{i}{{% include 'part.p{i + 1}' %}}" for i in range(1, length)] + [f"{length}"]
    return [prompt(t, f"part.p{i}") for i, t in enumerate(texts, start=1)]


def test_an_included_part_is_rendered_in_place() -> None:
    assert text("a {% include 'shared.tone' %} b", TONE) == "a Be kind. b"


def test_the_variables_of_a_part_are_those_of_the_render() -> None:
    assert rendering.render(linked("{% include 'shared.tone' %}", TONE), {"tone": "brief"}) == ("Be brief.", ())


def test_the_templates_own_declaration_wins() -> None:
    both = linked("{% include 'shared.tone' %}", TONE, tone={"type": "string", "default": "formal"})
    assert rendering.render(both)[0] == "Be formal."


def test_a_variable_that_a_part_requires_is_required() -> None:
    strict = prompt("{{ tone }}", "shared.tone", tone={"type": "string"})
    with pytest.raises(MissingVariablesError) as error:
        rendering.render(linked("{% include 'shared.tone' %}", strict))
    assert error.value.names == ("tone",)


def test_max_length_of_a_part_cuts() -> None:
    short = prompt("{{ tone }}", "shared.tone", tone={"type": "string", "max_length": 2})
    assert rendering.render(linked("{% include 'shared.tone' %}", short), {"tone": "abc"}) == ("ab", ("tone",))


def test_a_part_sees_what_the_template_sets() -> None:
    assert text("{% set tone = 'set' %}{% include 'shared.tone' %}", TONE) == "Be set."


def test_a_part_sees_the_variable_of_the_loop_that_it_stands_in() -> None:
    item = prompt("({{ x }})", "shared.item", x="any")
    assert text("{% for x in [1, 2] %}{% include 'shared.item' %}{% endfor %}", item) == "(1)(2)"


def test_a_part_without_context_sees_no_variables() -> None:
    bare = prompt("[{{ tone|default('none') }}{{ range(2)|list }}]", "shared.tone", tone="string")
    assert text("{% include 'shared.tone' without context %}", bare, tone="x") == "[none[0, 1]]"


def test_a_part_without_context_works_inside_a_macro() -> None:
    part = prompt("part", "shared.tone")
    template = "{% macro m() %}({% include 'shared.tone' without context %}){% endmacro %}{{ m() }}{{ m() }}"
    assert text(template, part) == "(part)(part)"


def test_a_part_uses_a_global_that_the_template_does_not() -> None:
    part = prompt("{% for i in range(2) %}{{ i }}{% endfor %}", "shared.tone")
    assert text("{% include 'shared.tone' %}", part) == "01"


def test_macros_are_imported() -> None:
    assert text("{% import 'shared.forms' as f %}{{ f.field('a') }}{{ f.width }}", FORMS) == "[a]3"
    assert text("{% from 'shared.forms' import field as g, width %}{{ g('a') }}{{ width }}", FORMS) == "[a]3"


def test_an_imported_part_prints_its_text() -> None:
    assert text("{% import 'shared.forms' as f %}{{ f }}", FORMS) == "text"


def test_an_import_sees_no_variables_unless_it_says_so() -> None:
    part = prompt("{% macro m() %}{{ tone|default('none') }}{% endmacro %}", "shared.m", tone="string")
    assert text("{% from 'shared.m' import m %}{{ m() }}", part, tone="x") == "none"
    assert text("{% from 'shared.m' import m with context %}{{ m() }}", part, tone="x") == "x"


def test_a_macro_that_a_part_does_not_have_is_an_error_where_it_is_called() -> None:
    with pytest.raises(RenderError, match="does not export the requested name"):
        text("{% from 'shared.forms' import nope %}{{ nope() }}", FORMS)
    with pytest.raises(RenderError, match="an imported part has no 'nope'"):
        text("{% import 'shared.forms' as f %}{{ f.nope() }}", FORMS)


def test_a_parent_is_extended() -> None:
    template = "{% extends 'shared.frame' %}{% block body %}{{ super() }}b{{ x }}{% endblock %}ignored"
    assert text(template, FRAME, x=1) == "<H|Bb1>"


def test_a_parent_of_a_parent_is_extended() -> None:
    middle = prompt("{% extends 'shared.frame' %}{% block head %}M{{ super() }}{% endblock %}", "shared.middle")
    template = "{% extends 'shared.middle' %}{% block head %}T{{ super() }}{{ super.super() }}{% endblock %}"
    assert text(template, FRAME, middle) == "<TMHH|B>"


def test_a_required_block_that_is_not_given_is_an_error() -> None:
    frame = prompt("{% block a required %}{% endblock %}", "shared.frame")
    with pytest.raises(RenderError, match="Required block 'a' not found"):
        text("{% extends 'shared.frame' %}", frame)


def test_a_part_inside_a_part_is_rendered() -> None:
    assert text("0{% include 'part.p1' %}", *chain(3)) == "0123"


def test_the_parts_of_a_template_are_its_literal_names_in_order() -> None:
    template = "{% extends 'a.b' %}{% include 'c.d' %}{% import 'e.f' as g %}{% from 'a.b' import h %}{% include x %}"
    assert rendering.parts(template) == ("a.b", "c.d", "e.f")
    assert rendering.parts("{% include 'a.b' ") == ()
    assert rendering.parts("we include nothing") == ()


def test_the_needs_of_a_compiled_prompt_are_its_parts() -> None:
    assert rendering.compile("prompt", prompt("{% include 'shared.tone' %}")).needs == ("shared.tone",)


def test_eight_levels_of_parts_are_fine() -> None:
    assert text("{% include 'part.p1' %}", *chain(8)) == "12345678"


def test_nine_levels_of_parts_are_too_deep() -> None:
    with pytest.raises(RenderBudgetError) as error:
        linked("a\n {% include 'part.p1' %}", *chain(9))
    assert (error.value.limit, error.value.line, error.value.column) == ("parts", 2, 5)


def test_a_circle_is_told_with_the_keys_along_it() -> None:
    one, two = prompt("B{% include 'test.c' %}", "test.b"), prompt("C{% include 'test.b' %}", "test.c")
    with pytest.raises(RenderError, match=r"demo\.note includes test\.b includes test\.c includes test\.b") as error:
        linked("{% include 'test.b' %}", one, two)
    assert error.value.line == 1


def test_a_prompt_that_includes_itself_is_a_circle() -> None:
    with pytest.raises(RenderError, match=r"demo\.note includes demo\.note"):
        linked("{% if false %}{% include 'demo.note' %}{% endif %}")


def test_a_missing_part_is_an_error_with_its_place() -> None:
    with pytest.raises(RenderError, match=r"the part shared\.tone does not exist") as error:
        linked("a\nb {% include 'shared.tone' %}")
    assert (error.value.line, error.value.column) == (2, 6)


def test_a_missing_part_of_a_part_is_an_error_at_the_statement_that_leads_to_it() -> None:
    with pytest.raises(RenderError, match=r"the part part\.p2 does not exist") as error:
        linked("\n{% include 'part.p1' %}", chain(2)[0])
    assert error.value.line == 2


def test_a_prompt_that_was_not_linked_says_which_part_is_missing() -> None:
    with pytest.raises(RenderError, match=r"part shared\.tone was not given"):
        rendering.render(rendering.compile("prompt", prompt("{% include 'shared.tone' %}")))


def test_one_name_of_two_types_is_an_error() -> None:
    with pytest.raises(RenderError, match=r"tone is list here and string in the part shared\.tone"):
        linked("{{ tone }}{% include 'shared.tone' %}", TONE, tone="list")


def test_two_spellings_of_one_type_are_no_conflict() -> None:
    part = prompt("{{ n }}", "shared.n", n="integer")
    assert text("{% include 'shared.n' %}", part) == ""
    assert rendering.render(linked("{{ n }}{% include 'shared.n' %}", part, n="int"), {"n": 1})[0] == "11"


def test_an_error_in_a_part_names_the_part_and_its_place() -> None:
    part = prompt("ok\n  {{ x / 0 }}", "shared.bad", x={"type": "int", "default": 1})
    with pytest.raises(RenderError, match="division by zero") as error:
        text("\n\n\n{% include 'shared.bad' %}", part)
    assert (error.value.key, error.value.line, error.value.column) == ("shared.bad", 2, 6)


def test_a_part_is_compiled_under_the_same_rules() -> None:
    with pytest.raises(UnsafeTemplateError):
        text("{% include 'shared.bad' %}", prompt("{{ ''.__class__ }}", "shared.bad"))


def test_a_part_shares_the_budget_of_the_render() -> None:
    part = prompt("{% for i in range(50) %}{% endfor %}", "shared.loop")
    template = "{% for i in range(50) %}{% include 'shared.loop' %}{% endfor %}"
    compiled = rendering.compile("prompt", prompt(template), RenderLimits(steps=1000))
    both = rendering.link(compiled, {"shared.loop": rendering.compile("prompt", part)})
    with pytest.raises(RenderBudgetError) as error:
        rendering.render(both)
    assert error.value.limit == "steps"


def test_linking_leaves_the_compiled_prompt_as_it_was() -> None:
    compiled = rendering.compile("prompt", prompt("{% include 'shared.tone' %}"))
    rendering.link(compiled, {"shared.tone": rendering.compile("prompt", TONE)})
    assert not compiled.parts and "tone" not in compiled.variables


def found(template: str, *parts: dict[str, Any], **types: Any) -> list[tuple[str, int, int]]:
    documents = {p["metadata"]["id"]: p for p in (prompt(template, **types), *parts)}
    return [(f.code, f.line, f.column) for f in rendering.check_parts("demo.note", documents)]


def test_parts_that_fit_have_no_findings() -> None:
    assert found("{% include 'shared.tone' %}{% include 'part.p1' %}", TONE, *chain(4)) == []


def test_all_that_is_wrong_with_parts_is_found_at_once() -> None:
    one, two = prompt("{% include 'test.c' %}", "test.b"), prompt("{% include 'test.b' %}", "test.c")
    template = "{% include 'nope.one' %}\n{% include 'shared.tone' %}\n{% include 'test.b' %}"
    assert found(template, TONE, one, two, tone="list") == [
        ("part-missing", 1, 4),
        ("part-types", 2, 4),
        ("part-cycle", 3, 4),
    ]


def test_parts_too_deep_are_found() -> None:
    assert found("{% include 'part.p1' %}", *chain(9)) == [("part-depth", 1, 4)]


def test_a_part_reached_along_two_ways_is_looked_at_once() -> None:
    left, right = prompt("{% include 'part.end' %}", "part.left"), prompt("{% include 'part.end' %}", "part.right")
    assert found("{% include 'part.left' %}{% include 'part.right' %}", left, right) == [("part-missing", 1, 4)]


def test_many_parts_that_include_each_other_forwards_are_checked_quickly() -> None:
    layers = 8
    parts = [
        prompt(
            "".join(f"{{% include 'part.l{level + 1}_{j}' %}}" for j in range(9)) if level < layers else "x",
            f"part.l{level}_{i}",
        )
        for level in range(1, layers + 1)
        for i in range(9)
    ]
    template = "".join(f"{{% include 'part.l1_{j}' %}}" for j in range(9))
    assert found(template, *parts) == []
