"""What a check finds in templates: each trap with its code, its place and what to do, all of them at once."""

from __future__ import annotations

from typing import Any

import pytest
from small import codes, findings, memory, prompt

from ovstore import rendering
from ovstore.rendering import CODES, RenderLimits


def one(template: str, **types: Any) -> rendering.TemplateFinding:
    found = findings(template, **types)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("template", "types", "code", "place"),
    [
        ('Reply\nwith {{"name": "x"}}', {}, "template-syntax", (2, 14)),
        ("a\n{% if x %}", {"x": "bool"}, "template-syntax", (2, 9)),
        ("a\n b {{ x y }}", {"x": "any", "y": "any"}, "template-syntax", (2, 9)),
        ("a\n{{ nope }}", {}, "undeclared-variable", (2, 4)),
        ("{{ x }}\n{% for i in xs %}{{ i }}{% endfor %}", {"x": "any"}, "undeclared-variable", (2, 13)),
        ("{{ x._y }}", {"x": "any"}, "private-attribute", (1, 5)),
        ("{{ x['__y'] }}", {"x": "any"}, "private-attribute", (1, 6)),
        ("{{ x.append(1) }}", {"x": "list"}, "forbidden-method", (1, 5)),
        ("{{ x|pprint }}", {"x": "any"}, "forbidden-filter", (1, 6)),
        ("{{ x|uper }}", {"x": "any"}, "unknown-filter", (1, 6)),
        ("{{ x is escaped }}", {"x": "any"}, "unknown-test", (1, 6)),
        ("{{ x is defind }}", {"x": "any"}, "unknown-test", (1, 6)),
        ("{{ x|map('uper')|list }}", {"x": "list"}, "unknown-filter", (1, 10)),
        ("{{ x|select('ood')|list }}", {"x": "list"}, "unknown-test", (1, 13)),
        ("{{ x|selectattr('a', 'ood')|list }}", {"x": "list"}, "unknown-test", (1, 22)),
        ("{{ lipsum() }}", {}, "forbidden-global", (1, 4)),
        ("{% autoescape true %}x{% endautoescape %}", {}, "forbidden-statement", (1, 4)),
        ("{{ 1e999 }}", {}, "invalid-literal", (1, 4)),
        ("{% include 'a' ~ 'b' %}", {}, "part-not-literal", (1, 4)),
        ("{% include 'a.b' ignore missing %}", {}, "part-ignore-missing", (1, 4)),
        ("{% include 'A.b' %}", {}, "part-name", (1, 4)),
        ("{% include 'profile' %}", {}, "part-name", (1, 4)),
        ("{{ x.items }}", {"x": "dict"}, "method-as-key", (1, 5)),
        ("a {# b\nc #} d", {}, "comment-swallows-text", (1, 3)),
        ("{{ x|tojson }}", {"x": "any"}, "tojson-letters", (1, 6)),
    ],
)
def test_a_trap_is_found_at_its_place(template: str, types: dict[str, str], code: str, place: tuple[int, int]) -> None:
    found = one(template, **types)
    assert (found.code, found.path, (found.line, found.column)) == (code, ("template",), place)
    assert found.severity == CODES[code][0] and found.message and found.hint


@pytest.mark.parametrize(
    ("template", "types", "hint"),
    [
        ('{{"name": "x"}}', {}, "{% raw %}"),
        ("{{ file_nmae }}{{ file_name }}", {"file_name": "string"}, "did you mean file_name?"),
        ("{{ x|tojosn }}", {"x": "any"}, "did you mean tojson?"),
        ("{{ x is defind }}", {"x": "any"}, "did you mean defined?"),
        ("{{ x|attr('a') }}", {"x": "any"}, "value.name"),
        ("{{ x.items }}", {"x": "dict"}, "value.items()"),
    ],
)
def test_a_hint_says_what_to_do(template: str, types: dict[str, str], hint: str) -> None:
    assert hint in one(template, **types).hint


def test_all_findings_come_at_once() -> None:
    template = "{{ nmae }}\n{{ name.__class__ }}\n{{ name|uper }}\n{{ [] is os }}\n{% include x %}"
    assert codes(template, name="string", unused="string") == [
        "private-attribute",
        "unknown-filter",
        "unknown-test",
        "part-not-literal",
        "undeclared-variable",
        "undeclared-variable",
        "unused-variable",
    ]


def test_a_variable_that_is_declared_and_not_used_is_a_warning_at_its_place() -> None:
    found = one("{{ a }}", a="string", is_leaf="bool")
    assert (found.code, found.severity, found.path) == ("unused-variable", "warning", ("variables", 1))


def test_a_variable_that_may_be_there_for_a_part_is_no_warning() -> None:
    assert codes("{% include 'shared.tone' %}", voice="string") == []


@pytest.mark.parametrize(
    ("template", "unused"),
    [
        ("{% set a = 1 %}{{ a }}", ["unused-variable"]),
        ("{% for a in [1] %}{{ a }}{% endfor %}", ["unused-variable"]),
        ("{% if false %}{{ a }}{% endif %}", []),
        ("{{ 1 if a else 2 }}", []),
        ("{% macro m(b=a) %}{{ b }}{% endmacro %}", []),
        ("{% if x %}{% set a = 1 %}{% endif %}{{ a }}", []),
    ],
)
def test_a_use_is_a_look_at_the_variable_and_not_at_a_name_of_the_templates_own(
    template: str, unused: list[str]
) -> None:
    types = {"a": "string", "x": "bool"} if "if x" in template else {"a": "string"}
    assert codes(template, **types) == unused


@pytest.mark.parametrize(
    ("name", "message"),
    [("loop", "inside a for loop"), ("caller", "inside a macro"), ("super", "inside a block"), ("varargs", "macro")],
)
def test_a_word_of_jinja_out_of_its_place_is_explained(name: str, message: str) -> None:
    found = one(f"{{{{ {name} }}}}")
    assert found.code == "undeclared-variable" and message in found.message


@pytest.mark.parametrize("name", ["range", "dict", "namespace", "cycler", "joiner", "lipsum", "loop", "true", "None"])
def test_a_variable_named_like_a_word_of_jinja_is_a_warning(name: str) -> None:
    found = [f for f in findings(f"{{{{ {name} }}}}", **{name: "string"}) if f.code == "shadowing-name"]
    assert [(f.severity, f.path) for f in found] == [("warning", ("variables", 0))]


def test_a_variable_called_self_is_an_error() -> None:
    assert ("reserved-name", "error") in [(f.code, f.severity) for f in findings("x", self="string")]


def test_comments_of_one_line_and_long_text_without_comments_are_fine() -> None:
    assert codes("a {# note #} b\n\n{# other #}") == []


@pytest.mark.parametrize(
    ("limits", "template", "said"),
    [
        (RenderLimits(template=10), "x" * 11, "template"),
        (RenderLimits(tokens=10), "{{ 1 }}" * 9, "tokens"),
        (RenderLimits(nesting=5), "{{ [[[[[[1]]]]]] }}", "nesting"),
        (RenderLimits(nesting=5), "{% if 1 %}" * 6 + "{% endif %}" * 6, "nesting"),
    ],
)
def test_a_template_over_a_limit_is_found_with_the_limit(limits: RenderLimits, template: str, said: str) -> None:
    found = rendering.check("prompt", prompt(template), limits)
    assert [f.code for f in found] == ["template-limit"] and f"`{said}`" in found[0].message


def test_a_patch_is_checked_for_everything_but_names() -> None:
    patch = {"template": "{{ from_the_base }}{{ x.__class__ }}"}
    assert [f.code for f in rendering.check_patch("prompt", patch)] == ["private-attribute"]


def test_a_patch_without_a_template_has_no_findings() -> None:
    assert rendering.check_patch("prompt", {"llm_config": {"temperature": 0}}) == ()
    assert rendering.check_patch("prompt", {"template": None}) == ()


def test_a_patch_of_a_memory_schema_is_checked() -> None:
    patch = {"filename_template": "../{{ x }}.md", "fields": [{"name": "a", "description": "{{ b.__class__ }}"}]}
    found = rendering.check_patch("memory", patch)
    assert {(f.code, f.path) for f in found} == {
        ("unsafe-path", ("filename_template",)),
        ("private-attribute", ("fields", 0, "description")),
    }


def test_a_check_takes_no_longer_for_what_it_finds() -> None:
    assert codes("{% if false %}{{ 'A' * 2000000000 }}{% endif %}never shown") == []


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{% if x %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}", []),
        ("{% if x %}b{% elif x %}{% set a, b = [1, 2] %}{% endif %}{{ a }}{{ b }}", []),
        ("{% if x %}{% set a %}b{% endset %}{% endif %}{{ a }}", []),
        ("{% if x %}{% macro a() %}{% endmacro %}{% endif %}{{ a() }}", []),
        ("{% if x %}{% import 'p.q' as a %}{% endif %}{{ a.m() }}", []),
        ("{% if x %}{% from 'p.q' import m as a, b %}{% endif %}{{ a() }}{{ b() }}", []),
        ("{% if x %}{% if x %}{% set a = 1 %}{% endif %}{% endif %}{{ a }}", []),
        ("{% for i in [1] %}{% set a = 1 %}{% endfor %}{{ x }}{{ a }}", ["undeclared-variable"]),
        ("{% macro m() %}{% set a = 1 %}{% endmacro %}{{ x }}{{ a }}", ["undeclared-variable"]),
        ("{{ a }}{% set a = x %}", ["undeclared-variable"]),
    ],
)
def test_a_name_that_the_template_sets_itself_needs_no_declaration(template: str, expected: list[str]) -> None:
    assert codes(template, x="bool") == expected


def test_the_same_name_is_found_once() -> None:
    assert codes("{{ nope }}{{ nope }}{% if nope %}{% endif %}") == ["undeclared-variable"]


def test_a_memory_schema_of_the_guide_has_no_findings() -> None:
    data = memory(
        "cuisine",
        "notes",
        "times_cooked",
        directory="viking://user/{{ user_space }}/memories/recipes",
        filename_template="{{ cuisine|lower }}/{{ name|lower }}.md",
        content_template="# {{ name }}\nCooked: {{ times_cooked|default(0, true) }}x\n{{ notes|default('-', true) }}",
        embedding_template="{{ name }}\n\n{{ cuisine }}\n\n{{ notes }}",
        overview_template=(
            "# {{ directory_name }}\n{% for item in items %}- [{{ item.file_content.name }}](./{{ item.file_name }})\n"
            "{% endfor %}"
        ),
        description="Write in {{ language }}.",
    )
    assert rendering.check("memory", data) == ()
