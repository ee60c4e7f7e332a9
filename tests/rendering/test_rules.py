"""The rules of rendering, one by one: what a template may count on."""

from __future__ import annotations

from typing import Any

import pytest
from small import compiled, prompt, text_of

from ovstore import rendering
from ovstore.errors import RenderError


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Answer:\n", "Answer:"),
        ("Answer:", "Answer:"),
        ("Answer:\n\n", "Answer:\n"),
        ("Answer:\r\n", "Answer:"),
        ("\n", ""),
        ("", ""),
    ],
)
def test_one_trailing_newline_is_dropped(template: str, text: str) -> None:
    assert text_of(template) == text


def test_a_newline_at_the_end_of_a_value_stays() -> None:
    assert text_of("{{ x }}\n", x="a\n") == "a\n"


@pytest.mark.parametrize(("template", "text"), [("a\r\nb\rc\nd", "a\nb\nc\nd"), ("{{ 'a\r\nb' }}", "a\nb")])
def test_every_line_break_of_a_template_is_a_newline(template: str, text: str) -> None:
    assert text_of(template) == text


def test_line_breaks_of_a_value_stay() -> None:
    assert text_of("{{ x }}", x="a\r\nb") == "a\r\nb"


def test_nothing_is_escaped() -> None:
    assert text_of("Q: {{ q }}\n", q='it\'s <b> & "x" --> y') == 'Q: it\'s <b> & "x" --> y'


def test_statements_leave_their_lines_blank_as_in_jinja() -> None:
    assert text_of("{% if true %}\na\n{% endif %}\nb") == "\na\n\nb"


def test_dashes_take_the_white_space_away() -> None:
    assert text_of("a  {%- if true -%}  b  {%- endif -%}  c") == "abc"


def test_braces_of_json_are_text() -> None:
    template = (
        "Answer {{ q }} as JSON:\n"
        '{"answer": {"text": "...", "score": [0, 1]}}\n'
        "Keep {braces}, ${HOME} and ^\\d{2,3}$ as they are.\n"
        "Write {% raw %}{{ placeholder }}{% endraw %} literally.\n"
    )
    assert text_of(template, q="Q") == (
        'Answer Q as JSON:\n{"answer": {"text": "...", "score": [0, 1]}}\n'
        "Keep {braces}, ${HOME} and ^\\d{2,3}$ as they are.\nWrite {{ placeholder }} literally."
    )


@pytest.mark.parametrize("value", ["{{ 7*7 }} {% if x %} {# c #} {x}", "{% endraw %}{{ msg }}", "{{ msg }}"])
def test_a_value_is_never_rendered(value: str) -> None:
    assert text_of("User said: {{ msg }}", msg=value) == f"User said: {value}"


def test_an_absent_optional_variable_prints_nothing_and_is_false() -> None:
    prompt_without = compiled("[{{ x }}]{% if x %}yes{% else %}no{% endif %}{{ x|default('d') }}", x="string")
    assert rendering.render(prompt_without, {})[0] == "[]nod"


def test_an_absent_optional_variable_is_empty_wherever_jinja_lets_it_be() -> None:
    template = "{% for i in x %}{% endfor %}{{ x|length }}{{ x|list }}{{ x is defined }}{{ x ~ 'a' }}{{ x == y }}"
    assert rendering.render(compiled(template, x="list", y="any"), {})[0] == "0[]FalseaTrue"


def test_an_attribute_of_an_absent_variable_is_an_error() -> None:
    with pytest.raises(RenderError, match="'x' is undefined"):
        rendering.render(compiled("{{ x.y }}", x="dict"), {})


def test_a_missing_key_is_empty_as_in_jinja() -> None:
    assert text_of("[{{ x.y }}]{{ x.y is defined }}", x={}) == "[]False"


def test_none_prints_as_in_jinja() -> None:
    assert text_of("{{ x }}{{ none }}", x=None) == "NoneNone"


def test_a_key_wins_over_a_method() -> None:
    assert text_of("{{ order.items }} {{ order['items'] }}", order={"items": ["a"]}) == "['a'] ['a']"


def test_a_call_is_the_method_even_where_there_is_a_key() -> None:
    assert text_of("{{ order.items()|list }}", order={"items": 1}) == "[('items', 1)]"


def test_a_method_that_is_not_called_is_an_error_that_says_how() -> None:
    with pytest.raises(RenderError, match=r"call it as \.items\(\)"):
        text_of("{{ order.items }}", order={"a": 1})


def test_a_variable_may_be_called_items() -> None:
    assert text_of("{% for i in items %}{{ i }};{% endfor %}", items=["a", "b"]) == "a;b;"


def test_tojson_keeps_letters_and_escapes_what_jinja_escapes() -> None:
    assert text_of("{{ x|tojson }}", x={"b": "é→", "a": "<'&>"}) == ('{"a": "\\u003c\\u0027\\u0026\\u003e", "b": "é→"}')


def test_tojson_indents() -> None:
    assert text_of("{{ x|tojson(indent=2) }}", x={"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}'


def test_escape_gives_plain_text() -> None:
    assert text_of("{{ (x|e) + '<' }}", x="<b>") == "&lt;b&gt;<"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ 'Ab'.upper() }}{{ 'Ab'.lower() }}{{ 'ab cd'.title() }}", "ABabAb Cd"),
        ("{{ ' a '.strip() }}{{ 'xax'.strip('x') }}{{ 'a,b'.split(',') }}", "aa['a', 'b']"),
        ("{{ 'abc'.startswith('a') }}{{ 'abc'.endswith('b') }}{{ '12'.isdigit() }}", "TrueFalseTrue"),
        ("{{ 'abcb'.find('b') }}{{ 'abcb'.rfind('b') }}{{ 'abcb'.count('b') }}", "132"),
        ("{{ 'a-b'.replace('-', '+') }}{{ ', '.join(['a', 'b']) }}", "a+ba, b"),
        ("{{ 'ab'.center(6) }}|{{ 'ab'.ljust(4) }}|{{ 'ab'.rjust(4) }}|{{ '7'.zfill(3) }}", "  ab  |ab  |  ab|007"),
        ("{{ 'a=b=c'.partition('=') }}{{ 'a=b=c'.rpartition('=') }}", "('a', '=', 'b=c')('a=b', '=', 'c')"),
        ("{{ 'a\\nb'.splitlines() }}{{ 'a b'.rsplit(' ', 1) }}{{ 'a\\tb'.expandtabs(2) }}", "['a', 'b']['a', 'b']a b"),
        ("{{ '{} {name} {0[0]}'.format('xy', name=3) if false else '{} {}'.format('a', 1) }}", "a 1"),
        ("{{ '{0} {name:>3} {1.k} {1[k]} {0!r}'.format('a', {'k': 'v'}, name=3) }}", "a   3 v v 'a'"),
        ("{{ '%s is %05.1f%%'|format('x', 2) }}{{ '%(a)s' % {'a': 1} }}{{ '%d' % 7 }}", "x is 002.0%17"),
        ("{{ [1, 2, 1].count(1) }}{{ [1, 2].index(2) }}{{ (1, 2).index(1) }}", "210"),
        ("{{ {'a': 1}.get('a') }}{{ {'a': 1}.get('b', 2) }}{{ {'a': 1}.keys()|list }}", "12['a']"),
        (
            "{{ {'a': 1}.values()|list }}{{ {'a': 1}.items()|list }}{{ {'a': 1}.keys() }}",
            "[1][('a', 1)]dict_keys(['a'])",
        ),
    ],
)
def test_methods_of_text_lists_and_mappings_work(template: str, text: str) -> None:
    assert text_of(template) == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% for x in xs %}{{ loop.index }}{{ loop.first }}{{ loop.last }};{% endfor %}", "1TrueFalse;2FalseTrue;"),
        (
            "{% for x in xs %}{{ loop.revindex }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}",
            "22b;12a;",
        ),
        ("{% for x in xs %}{{ loop.cycle('odd', 'even') }}{{ loop.changed(1) }};{% endfor %}", "oddTrue;evenFalse;"),
        ("{% for x in xs if x != 'a' %}{{ x }}{% else %}none{% endfor %}", "b"),
        ("{% for x in [] %}{% else %}none{% endfor %}", "none"),
        (
            "{% for x in [[1, [2]]] recursive %}"
            "{% if x is iterable %}[{{ loop(x) }}]{% else %}{{ x }}{% endif %}{% endfor %}",
            "[1[2]]",
        ),
        ("{% set n = namespace(c=0) %}{% for x in xs %}{% set n.c = n.c + 1 %}{% endfor %}{{ n.c }}", "2"),
        ("{% set j = joiner(', ') %}{% for x in xs %}{{ j() }}{{ x }}{% endfor %}", "a, b"),
        ("{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() or c.next() }}", "1221"),
        (
            "{% macro m(a, b='d') %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}"
            "{{ m(1) }}{{ m(1, 2, 3, k=4) }}",
            "1d(){}12(3,){'k': 4}",
        ),
        ("{% macro m() %}[{{ caller('x') }}]{% endmacro %}{% call(v) m() %}{{ v }}{% endcall %}", "[x]"),
        ("{% macro m(a) %}{% endmacro %}{{ m.name }}{{ m.arguments }}", "m('a',)"),
        ("{% block a %}x{% endblock %}{{ self.a() }}", "xx"),
        ("{% filter upper %}a{{ xs[0] }}{% endfilter %}{% set s %}b{% endset %}{{ s }}", "AAb"),
        ("{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{% print 4 %}", "34"),
        (
            "{% for k, group in rows|groupby('t') %}{{ k }}:{{ group|map(attribute='i')|join(',') }};{% endfor %}",
            "p:1,3;q:2;",
        ),
        ("{% for g in rows|groupby('t') %}{{ g.grouper }}{{ g.list|length }}{% endfor %}", "p2q1"),
        ("{{ rows|selectattr('t', 'eq', 'p')|map(attribute='i')|list }}{{ rows|sum(attribute='i') }}", "[1, 3]6"),
        (
            "{{ range(3)|list }}{{ range(1, 9, 3)|sum }}{{ dict(a=1) }}{{ xs[::-1] }}{{ 'abc'[1:] }}",
            "[0, 1, 2]12{'a': 1}['b', 'a']bc",
        ),
        (
            "{{ 7 // 2 }}{{ 7 / 2 }}{{ -7 % 3 }}{{ 2 ** 10 }}{{ 1 ~ 2 }}{{ 'a' * 3 }}{{ 1 if true }}",
            "33.521024" + "12aaa1",
        ),
        (
            "{{ 1 < 2 < 3 }}{{ 2 in [1, 2] }}{{ 'x' not in 'abc' }}{{ [1] == [1] }}{{ not true }}",
            "TrueTrueTrueTrueFalse",
        ),
    ],
)
def test_the_language_works(template: str, text: str) -> None:
    rows = [{"t": "p", "i": 1}, {"t": "q", "i": 2}, {"t": "p", "i": 3}]
    assert text_of(template, xs=["a", "b"], rows=rows) == text


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("'\\d'", "\\d"),
        ("'\\\\d'", "\\d"),
        ("'\\n'", "\n"),
        ("'\\x41\\u00e9\\101\\0'", "Aé" + "A\0"),
        ("'\\777'", "\u01ff"),
    ],
)
def test_escapes_in_literals_are_those_of_python(literal: str, text: str) -> None:
    assert text_of("{{ " + literal + " }}") == text


def test_the_same_compiled_template_renders_again_and_again() -> None:
    both = compiled("{% set n = namespace(c=0) %}{% set n.c = n.c + 1 %}{{ n.c }}{{ x }}", x="string")
    assert [rendering.render(both, {"x": value})[0] for value in "ab"] == ["1a", "1b"]


def test_a_template_that_is_only_prose_and_variables_prints_numbers_like_any_other() -> None:
    values: dict[str, Any] = {"a": 1, "b": 2.5, "c": True, "d": None, "e": ["x"]}
    template = "{{ a }} {{ b }} {{ c }} {{ d }} {{ e }}"
    assert text_of(template, **values) == "1 2.5 True None ['x']"


def test_a_canonical_document_renders_like_the_one_as_written() -> None:
    written = prompt("{{ n }}", n={"type": "integer", "description": "d"})
    canonical = prompt(
        "{{ n }}", n={"type": "int", "description": "d", "required": True, "default": None, "max_length": None}
    )
    assert rendering.render(rendering.compile("prompt", written), {"n": 1}) == ("1", ())
    assert rendering.render(rendering.compile("prompt", canonical), {"n": 1}) == ("1", ())


@pytest.mark.parametrize(
    ("template", "tokens"),
    [
        ("Dear {{ name }},\nhello {# note #}", ("{{", "name", "}}")),
        ("{% if a %}x{% endif %}", ("{%", "if", "a", "%}", "{%", "endif", "%}")),
        ("{{- x|default('y') }}", ("{{-", "x", "|", "default", "(", "'y'", ")", "}}")),
        ("plain", ()),
        ("{{ 'open", ("{{ 'open",)),
    ],
)
def test_the_skeleton_has_the_logic_without_the_prose(template: str, tokens: tuple[str, ...]) -> None:
    assert rendering.skeleton(template) == tokens


def test_safe_gives_plain_text() -> None:
    assert text_of("{{ x|safe }}{{ [x|safe] }}", x="<b>") == "<b>['<b>']"
