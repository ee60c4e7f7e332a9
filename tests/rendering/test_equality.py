"""The text is Jinja2's own: templates of every allowed construct over plain values, against the plain environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small import prompt

from ovstore import rendering
from ovstore.errors import RenderError

PLAIN = jinja2.Environment()
TYPES = {
    "a": "string",
    "s": "string",
    "n": "int",
    "b": "float",
    "t": "bool",
    "xs": "list",
    "d": "dict",
    "recs": "list",
    "o": "any",
}

WORDS = st.text(st.sampled_from("ab -.,\n{}%<>&'\"é→😀"), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.floats(-9, 9, allow_nan=False).map(lambda f: round(f, 2))
    | WORDS
)
RECORDS = st.fixed_dictionaries({"id": st.integers(0, 9), "tag": st.sampled_from("pqr")}, optional={"note": WORDS})
VALUES = st.fixed_dictionaries(
    {
        "a": WORDS,
        "s": WORDS,
        "n": st.integers(-9, 9),
        "b": st.floats(-9, 9, allow_nan=False),
        "t": st.booleans(),
        "xs": st.lists(WORDS, max_size=4),
        "d": st.dictionaries(st.sampled_from(["k", "z", "id"]), SCALARS, max_size=3),
        "recs": st.lists(RECORDS, max_size=4),
    }
)

NAMES = st.sampled_from(list(TYPES))
LITERALS = st.sampled_from(
    ["'lit'", '"q\\n"', "1", "2.5", "true", "none", "[1, 2]", "(1,)", "{'k': 1}", "[]", "'%s-%s'", "'{}'"]
)
FILTERS = st.sampled_from(
    [
        *(
            "upper",
            "lower",
            "title",
            "trim",
            "default('x')",
            "d('y', true)",
            "length",
            "join(',')",
            "first",
            "last",
            "list",
        ),
        *("sort", "reverse|list", "unique|list", "map('upper')|join", "map(attribute='id')|list", "select|list", "sum"),
        *(
            "selectattr('id')|list",
            "rejectattr('note')|list",
            "replace('a', 'b')",
            "truncate(5)",
            "wordwrap(4)",
            "center(9)",
        ),
        *(
            "indent",
            "indent(2, true, true)",
            "int",
            "float",
            "abs",
            "round",
            "round(1, 'floor')",
            "string",
            "batch(2)|list",
        ),
        *(
            "slice(2)|list",
            "groupby('tag')|list",
            "dictsort",
            "items|list",
            "max",
            "min",
            "format(1, 2)",
            "wordcount",
        ),
        *(
            "striptags",
            "urlencode",
            "filesizeformat",
            "capitalize",
            "count",
            "reject|list",
            "sum(attribute='id')",
            "map('int')|list",
        ),
        *(
            "join('-', attribute='tag')",
            "select('string')|list",
            "map(attribute='note', default='?')|join",
            "trim('a')",
        ),
        *(
            "sort(attribute='tag,id')",
            "sort(reverse=true)",
            "min(attribute='id')",
            "unique(attribute='tag')|list",
            "map('length')|list",
        ),
    ]
)
TESTS = st.sampled_from(
    [
        *(
            "defined",
            "undefined",
            "none",
            "string",
            "number",
            "odd",
            "even",
            "divisibleby(2)",
            "mapping",
            "sequence",
            "iterable",
        ),
        *(
            "in xs",
            "eq 3",
            "sameas none",
            "lower",
            "upper",
            "true",
            "false",
            "integer",
            "float",
            "boolean",
            "gt 1",
            "callable",
        ),
    ]
)
ATTRIBUTES = st.sampled_from(
    [
        *(
            "id",
            "tag",
            "k",
            "z",
            "missing",
            "upper()",
            "items()|list",
            "keys()|list",
            "get('k')",
            "split(' ')",
            "strip()",
        ),
        *("title()", "format(1)", "startswith('a')", "z.q", "count('a')", "replace('a', '')", "splitlines()", "copy()"),
    ]
)
SUBSCRIPTS = st.sampled_from(["0", "-1", "'k'", "'id'", "n", "a", ":2", "1:", "::-1", "-2:"])
OPERATORS = st.sampled_from(
    ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", ">", "<=", ">=", "in", "not in", "and", "or"]
)


def expressions(depth: int) -> st.SearchStrategy[str]:
    leaf = NAMES | LITERALS
    if not depth:
        return leaf
    inner = expressions(depth - 1)
    build = st.builds
    return st.one_of(
        leaf,
        build("{}|{}".format, inner, FILTERS),
        build("({} {} {})".format, inner, OPERATORS, inner),
        build("{}.{}".format, NAMES, ATTRIBUTES),
        build("{}[{}]".format, NAMES | st.just("xs"), SUBSCRIPTS),
        build("({} if {} else {})".format, inner, inner, inner),
        build("({} is {}{})".format, inner, st.sampled_from(["", "not "]), TESTS),
        build("[{}, {}]".format, inner, inner),
        build("dict(x={})".format, inner),
        build("(not {})".format, inner),
        build("range({})|list".format, st.integers(0, 5)),
    )


def statements(depth: int) -> st.SearchStrategy[str]:
    print_ = expressions(2).map(lambda e: "{{ " + e + " }}")
    text = st.sampled_from(["text ", "\n", "a\r\nb", "{# c #}", "{% raw %}{{ x }}{% endraw %}", "é→", "{ }"])
    if not depth:
        return print_ | text
    inner, value = statements(depth - 1), expressions(1)
    build = st.builds
    return st.one_of(
        print_,
        text,
        build("{{% if {} %}}{}{{% elif {} %}}b{{% else %}}{}{{% endif %}}".format, value, inner, value, inner),
        build("{{%- for i in {} %}}{}{{{{ i }}}}{{% else %}}none{{% endfor -%}}".format, value, inner),
        build("{{% for i in {} if i %}}{{{{ loop.index }}}}{{{{ loop.last }}}}{}{{% endfor %}}".format, value, inner),
        build("{{% for k, v in d.items() %}}{{{{ k }}}}{{{{ loop.cycle('o', 'e') }}}}{}{{% endfor %}}".format, inner),
        build(
            (
                "{{% for r in recs %}}{{{{ r.id }}}}{{{{ r['tag']|upper }}}}"
                "{{{{ r.note|default('-') }}}}{}{{% endfor %}}"
            ).format,
            inner,
        ),
        build("{{% set {} = {} %}}".format, NAMES, value),
        build("{{% set {} %}}{}{{% endset %}}".format, NAMES, inner),
        build(
            "{{% macro m(p, q={}) %}}{}{{{{ p }}}}{{{{ q }}}}{{% endmacro %}}{{{{ m({}) }}}}".format,
            value,
            inner,
            value,
        ),
        build("{{% filter upper %}}{}{{% endfilter %}}".format, inner),
        build("{{% with o = {} %}}{}{{{{ o }}}}{{% endwith %}}".format, value, inner),
        build(
            (
                "{{% set ns = namespace(c=0) %}}{{% for i in {} %}}{{% set ns.c = ns.c + 1 %}}{{% endfor %}}"
                "{{{{ ns.c }}}}"
            ).format,
            value,
        ),
        build(
            (
                "{{% macro w() %}}<{{{{ caller(1) }}}}>{{% endmacro %}}{{% call(c) w() %}}{}{{{{ c }}}}{{% endcall %}}"
            ).format,
            inner,
        ),
        build("{{% set j = joiner('|') %}}{{% for i in xs %}}{{{{ j() }}}}{{{{ i }}}}{{% endfor %}}{}".format, inner),
    )


TEMPLATES = st.lists(statements(2), min_size=1, max_size=4).map("".join)

# What docs/rendering.md lists as different, or as an error where Jinja2 prints something that no prompt should hold.
DIFFERENT = ("has no text", "is a method of", "cannot be iterated", "cannot be sliced", "takes text", "limit `")


def plainly(template: str, values: dict[str, Any]) -> str | None:
    try:
        return PLAIN.from_string(template).render(values)
    except Exception:
        return None


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(TEMPLATES, VALUES)
def test_the_text_is_that_of_plain_jinja(template: str, values: dict[str, Any]) -> None:
    expected = plainly(template, values)
    data = prompt(template, **TYPES)
    try:
        text = rendering.render(rendering.compile("prompt", data), values)[0]
    except RenderError as error:
        assert expected is None or any(words in str(error) for words in DIFFERENT), (str(error), expected)
        return
    if expected is not None:
        assert text == expected


@pytest.mark.parametrize("value", ["a", "a.id", "d.id", "range", "joiner()", "cycler(1)", "loop", "loop.missing", "m"])
def test_what_is_callable_is_so_as_in_plain_jinja(value: str) -> None:
    template = "{% macro m() %}{% endmacro %}{% for x in [1] %}{{ " + value + " is callable }}{% endfor %}"
    given = {"a": "", "d": {}}
    made = rendering.compile("prompt", prompt(template, **TYPES))
    assert rendering.render(made, given)[0] == PLAIN.from_string(template).render(given)


PROSE = st.lists(
    st.sampled_from(["a", "\n", "{{ s }}", "{{ n }}", "{{ xs }}", "{{ o }}", " {{- a }}", "{{ t -}} ", "é", "{# c #}"])
)


@given(PROSE.map("".join), VALUES)
def test_a_template_of_prose_and_variables_is_that_of_plain_jinja(template: str, values: dict[str, Any]) -> None:
    compiled = rendering.compile("prompt", prompt(template, **TYPES))
    assert compiled.programs["template"].pieces is not None
    assert rendering.render(compiled, values)[0] == PLAIN.from_string(template).render(values)


@given(
    st.recursive(
        SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=12
    )
)
def test_any_plain_value_prints_as_in_plain_jinja(value: Any) -> None:
    template = "{{ v }}|{{ v|string }}|{{ [v] }}|{{ v ~ v }}|{{ '%s'|format(v) }}|{{ '{}'.format(v) }}"
    compiled = rendering.compile("prompt", prompt(template, v={"type": "any", "required": False}))
    assert rendering.render(compiled, {"v": value})[0] == PLAIN.from_string(template).render(v=value)


SEEDS = sorted((Path(__file__).parents[2] / "seed_templates").rglob("*.yaml"))


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_a_seed_template_renders_as_in_plain_jinja(path: Path) -> None:
    from ovstore import documents

    parsed = documents.parse(path.read_bytes())
    assert parsed.data is not None and parsed.kind is not None
    assert [f for f in rendering.check(parsed.kind, parsed.data) if f.severity != "info"] == []
    if parsed.kind != "prompt":
        return
    made = {
        "string": "some <text>\nof two lines",
        "int": 3,
        "float": 2.5,
        "bool": True,
        "list": ["a"],
        "dict": {"k": 1},
    }
    compiled = rendering.compile("prompt", parsed.data)
    for full in (True, False):
        values = {v.name: made.get(v.type, "any") for v in compiled.variables if full or v.required}
        defaults = {v.name: v.default for v in compiled.variables if v.default is not None}
        assert rendering.render(compiled, values)[0] == plainly(parsed.data["template"], defaults | values)
