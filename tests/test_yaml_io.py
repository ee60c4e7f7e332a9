"""YAML in: what scalars are, where things stand, what is refused."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from ovstore.scalars import Scalar, plain
from ovstore.yaml_io import MAX_DEPTH, MAX_NODES, MAX_SOURCE, Loaded, load


def codes(loaded: Loaded) -> list[str]:
    return [finding.code for finding in loaded.findings]


def values(data: Any) -> Any:
    """Data with each scalar as its value."""
    if isinstance(data, Scalar):
        return data.value
    if isinstance(data, dict):
        return {key: values(value) for key, value in data.items()}
    return [values(value) for value in data] if isinstance(data, list) else data


# -- scalars


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("1", 1), ("-1", -1), ("+7", 7), ("0", 0), ("4_096", 4096), ("0x1F", 31), ("010", 8), ("0b11", 3)],
        *[
            ("1.10", 1.1),
            ("1.", 1.0),
            (".5", 0.5),
            ("1e-3", 0.001),
            ("1E5", 100000.0),
            ("1.5e+3", 1500.0),
            ("-0.0", -0.0),
        ],
        *[("true", True), ("False", False), ("YES", True), ("no", False), ("On", True), ("off", False)],
        *[("null", None), ("Null", None), ("~", None), ("", None)],
    ],
)
def test_a_plain_scalar_keeps_its_value_and_its_text(text: str, value: Any) -> None:
    scalar = plain(text)
    assert isinstance(scalar, Scalar)
    assert (scalar.value, type(scalar.value), scalar.text) == (value, type(value), text)


@pytest.mark.parametrize(
    "text",
    [
        *[
            "2026-01-31",
            "2026-01-31 10:00:00",
            "12:30",
            "1:30:00.5",
            "1.2.3",
            "089",
            "0o17",
            "0x",
            "1_000_x",
            "e5",
            "1e",
        ],
        *["y", "n", "nO", "tRUE", "nil", "=", "<<", "NaN", "inf", "-", ".", "_1", "١", "1 2"],
    ],
)
def test_dates_and_what_is_no_whole_number_are_text(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", "1e999", "9" * 101, "-" + "9" * 5000])
def test_a_number_that_json_cannot_hold_has_no_finite_value(text: str) -> None:
    scalar = plain(text)
    assert isinstance(scalar, Scalar) and isinstance(scalar.value, float) and not math.isfinite(scalar.value)


@pytest.mark.parametrize(
    ("text", "doubtful"), [("yes", True), ("OFF", True), ("010", True), ("true", False), ("0", False), ("0.5", False)]
)
def test_a_scalar_that_others_read_otherwise_is_doubtful(text: str, doubtful: bool) -> None:
    scalar = plain(text)
    assert isinstance(scalar, Scalar) and scalar.doubtful is doubtful


def test_quoted_scalars_and_blocks_are_text() -> None:
    loaded = load(b"a: '1'\nb: \"no\"\nc: |\n  1\nd: >-\n  null\n")
    assert loaded.data == {"a": "1", "b": "no", "c": "1\n", "d": "null"}


def test_tags_of_plain_types_are_followed() -> None:
    loaded = load(b"a: !!str 1.10\nb: !!int '7'\nc: !!float 1\nd: !!bool 'yes'\ne: !!null ''\nf: !!seq []\ng: ! '1'\n")
    assert values(loaded.data) == {"a": "1.10", "b": 7, "c": 1.0, "d": True, "e": None, "f": [], "g": "1"}
    assert loaded.findings == ()


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("|\n  Answer:\n", "Answer:\n"),
        ("|-\n  Answer:\n", "Answer:"),
        ("|+\n  Answer:\n\n", "Answer:\n\n"),
        (">\n  Answer\n  now:\n", "Answer now:\n"),
    ],
)
def test_how_a_block_ends_is_the_authors(written: str, text: str) -> None:
    assert load(f"template: {written}".encode()).data == {"template": text}


def test_a_windows_file_has_the_text_of_its_twin() -> None:
    unix = b"a: |\n  one\n\n  two\nb: x\n"
    assert load(unix.replace(b"\n", b"\r\n")).data == load(unix).data


# -- places


def test_every_value_and_key_has_its_place() -> None:
    loaded = load(b"metadata:\n  id: a.b\nvariables:\n  - name: q\n    type: string\n  - {name: r}\n")
    assert loaded.positions[("metadata",)] == (1, 1)
    assert loaded.positions["metadata", "id"] == (2, 7)
    assert loaded.keys["metadata", "id"] == (2, 3)
    assert loaded.positions["variables", 0] == (4, 5)
    assert loaded.positions["variables", 0, "type"] == (5, 11)
    assert loaded.positions["variables", 1, "name"] == (6, 12)


def test_the_place_of_what_is_absent_is_that_of_what_would_hold_it() -> None:
    loaded = load(b"metadata:\n  id: a.b\n")
    assert loaded.at(("metadata", "name")) == (1, 1)
    assert loaded.at(("template",)) == (1, 1)


def test_columns_count_characters() -> None:
    assert load("{é漢😀: a, b: c}".encode()).positions[("b",)] == (1, 13)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_an_unseen_line_break_in_a_block_is_named(separator: str) -> None:
    (found,) = load(f"template: |\n  one{separator}two\n".encode()).findings
    assert (found.code, found.line) == ("yaml-syntax", 2)
    assert f"U+{ord(separator):04X} in this line is a line break to YAML" in found.hint


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_lines_are_those_of_an_editor_where_yaml_knows_more_breaks(separator: str) -> None:
    assert load(f'a: "x{separator}y"\nb: 1\n'.encode()).positions[("b",)] == (2, 4)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way(line_break: str) -> None:
    assert load(line_break.join(["a: 1", "", "b: 2"]).encode()).positions[("b",)] == (3, 4)


# -- findings


@pytest.mark.parametrize(
    ("source", "line", "column", "message"),
    [
        ("a: [1, 2\nb: 1\n", 1, 4, "a list in brackets is not closed"),
        ("a: {b: 1\n", 1, 4, "a mapping in braces is not closed"),
        ('a: 1\nb: "x\n', 2, 4, "a quoted text is not closed"),
        ("a: 1\nb\nc: 2\n", 2, 1, "a key without its colon"),
        ("a:\n  b: 1\n  na", 3, 3, "a key without its colon"),
        ("a: 1\nb\n\n\n", 2, 1, "a key without its colon"),
        ("a: 1\n\nb: {c: \n", 3, 1, "a character that means something to YAML where a value should be"),
        ("a: b: c\n", 1, 5, "a colon followed by a space where no key can stand"),
        ("a:\n  b: 1\n c: 2\n", 3, 2, "the indentation does not fit, or text goes on behind a value"),
        ("- a\nb: c\n", 2, 1, "a list item without its dash, or wrong indentation"),
        ("a: @x\n", 1, 4, "text cannot begin with this character"),
        ('a: "\\q"\n', 1, 5, "a backslash that YAML does not know"),
        ('a: "\\ud83d"\n', 1, 7, "half a character is no character"),
        ("a: !x!y z\n", 1, 4, "a ! that begins a tag nobody defined"),
        ("a: *\n", 1, 5, "a * or & that is no alias or anchor"),
        ("a: - x\n", 1, 4, "a list item where none can stand"),
        ("a: '\n---\n", 2, 1, "--- or ... stands inside a quoted text"),
        ("a: 1\n...\nb: 2\n", 3, 1, "text behind the end of the document"),
    ],
)
def test_bad_syntax_is_told_in_plain_words_with_its_place(source: str, line: int, column: int, message: str) -> None:
    loaded = load(source.encode(), "x.yaml")
    assert loaded.data is None
    (finding,) = loaded.findings
    assert (finding.code, finding.severity) == ("yaml-syntax", "error")
    assert (finding.path, finding.line, finding.column, finding.message) == ("x.yaml", line, column, message)
    assert finding.hint


@pytest.mark.parametrize(
    ("source", "column"),
    [("a:\n\tb: 1\n", 1), ("a:\n  b: |\n  \tx\n", 3), ("a: x\n \tb: y\n", 2)],
)
def test_a_tab_that_indents_is_named(source: str, column: int) -> None:
    (finding,) = load(source.encode()).findings
    assert (finding.code, finding.column) == ("tab-indentation", column)


def test_tabs_in_text_are_text() -> None:
    assert load(b"a: |\n  x\ty\n  \tz\nb: 'p\tq'\n").data == {"a": "x\ty\n\tz\n", "b": "p\tq"}


@pytest.mark.parametrize(
    "text", ["{{ name }}.md", "{{ name }}", "{{ a }} and {{ b }}", "{{ a|join(', ') }}", "{% if a %}"]
)
def test_text_that_begins_with_jinja_gets_the_hint_to_quote_it(text: str) -> None:
    (finding,) = load(f"filename_template: {text}\n".encode()).findings
    assert "must be quoted" in finding.hint


def test_a_duplicate_key_is_refused_with_both_lines() -> None:
    loaded = load(b"a: 1\nb:\n  - c: 1\n    d: 2\n    c: 3\na: 4\n")
    assert [(f.code, f.line, f.message) for f in loaded.findings] == [
        ("duplicate-key", 5, "b[0].c is there twice: on line 3 and on line 5"),
        ("duplicate-key", 6, "a is there twice: on line 1 and on line 6"),
    ]


def test_a_quoted_key_is_the_same_key_as_a_plain_one() -> None:
    assert codes(load(b"'1': a\n1: b\n")) == ["non-text-key", "duplicate-key"]


def test_a_key_is_text_as_it_is_written() -> None:
    loaded = load(b"yes: 1\n1.10: 2\n2026-01-31: 3\n")
    assert list(loaded.data) == ["yes", "1.10", "2026-01-31"]
    assert codes(loaded) == ["non-text-key", "non-text-key"]


@pytest.mark.parametrize(
    "source", [b"? [a]\n: 1\n", b"? {a: b}\n: 1\n", b"{{ x }}: 1\n", b"~: 1\n", b"{? : 1}\n", b"a: {{ x }}\n"]
)
def test_what_is_no_text_cannot_be_a_key(source: bytes) -> None:
    assert codes(load(source)) == ["bad-key"]


@pytest.mark.parametrize("source", [b"", b"\n\n", b"# only a comment\n", b"---\n", b"--- ~\n", b"\xef\xbb\xbf"])
def test_a_file_without_a_document_is_a_finding(source: bytes) -> None:
    loaded = load(source)
    assert (codes(loaded), loaded.data) == (["empty-document"], None)


def test_a_second_document_refuses_the_file_and_names_its_line() -> None:
    (finding,) = load(b"a: 1\n---\nb: 2\n").findings
    assert (finding.code, finding.line) == ("several-documents", 2)


def test_one_byte_order_mark_is_no_part_of_the_text() -> None:
    assert load(b"\xef\xbb\xbfa: 1\n") == load(b"a: 1\n")


@pytest.mark.parametrize("source", ["\ufeff\ufeffa: 1\n", "---\n\ufeffa: 1\n", "b: 1\n\ufeffa: 1\n", '"\ufeffa": 1\n'])
def test_a_byte_order_mark_elsewhere_is_named(source: str) -> None:
    loaded = load(source.encode())
    assert codes(loaded)[:1] == ["byte-order-mark"]
    assert "U+FEFF" in loaded.findings[0].message


def test_the_first_byte_that_is_not_utf_8_is_named_with_its_place() -> None:
    (finding,) = load("a: é\nb: x".encode() + b"\xff\n").findings
    assert (finding.code, finding.line, finding.column) == ("not-utf-8", 2, 5)
    assert "0xFF" in finding.message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_called_by_its_name(encoding: str) -> None:
    mark = b"" if encoding == "utf-16" else b"\xfe\xff"
    (finding,) = load(mark + "a: é\n".encode(encoding)).findings
    assert (finding.code, "UTF-16" in finding.message) == ("not-utf-8", True)


def test_every_control_character_of_a_source_is_told() -> None:
    loaded = load(b"a: x\x00y\nb: \x07\x1b\n")
    assert [(f.code, f.line, f.column) for f in loaded.findings] == [
        ("nul-character", 1, 5),
        ("control-character", 2, 4),
        ("control-character", 2, 5),
    ]


def test_an_escaped_nul_is_refused_where_it_stands() -> None:
    loaded = load(b'a:\n  - b: "x\\0y"\n')
    assert [(f.code, f.message, f.line) for f in loaded.findings] == [("nul-character", "a[0].b: NUL not allowed", 2)]


def test_other_escaped_control_characters_are_a_warning() -> None:
    loaded = load(b'a: "\\e[2J\\a"\nb: "x\\ufeffy"\nc: "tab\\tline\\n"\n')
    assert codes(loaded) == ["invisible-character"] * 3
    assert [f.line for f in loaded.findings] == [1, 1, 2]


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.system ['id']",
        "!!binary aGk=",
        "!!set {a}",
        "!mine x",
        "!!int x",
        "!!timestamp 2026-01-31",
    ],
)
def test_a_tag_that_makes_more_than_plain_data_is_refused(tag: str) -> None:
    assert codes(load(f"a: {tag}\n".encode())) == ["unsupported-tag"]


# -- anchors, aliases, merge keys


def test_an_alias_is_what_its_anchor_is() -> None:
    loaded = load(b"a: &x {k: [1, 2]}\nb: *x\nc: &y text\nd: *y\n")
    assert values(loaded.data) == {"a": {"k": [1, 2]}, "b": {"k": [1, 2]}, "c": "text", "d": "text"}
    assert loaded.at(("b", "k", 0)) == (2, 4)


def test_merge_keys_give_way_to_the_mapping_and_to_those_before_them() -> None:
    loaded = load(b"d: &d {x: 1, y: 2}\ne: &e {y: 3, z: 4}\na:\n  y: 8\n  <<: *d\nb:\n  <<: [*d, *e]\n  w: 0\n")
    assert loaded.findings == ()
    assert values(loaded.data["a"]) == {"x": 1, "y": 8}
    assert list(values(loaded.data["b"]).items()) == [("x", 1), ("y", 2), ("z", 4), ("w", 0)]
    assert loaded.at(("b", "z")) == (7, 3)


def test_a_quoted_merge_key_is_a_key() -> None:
    assert values(load(b"a: {'<<': 2, <<: {q: 1}}\n").data) == {"a": {"q": 1, "<<": 2}}


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("a: *x\n", "unknown-alias"),
        ("a: &x [*x]\n", "alias-cycle"),
        ("a: &x {b: {c: *x}}\n", "alias-cycle"),
        ("a: {<<: 1}\n", "bad-merge"),
        ("a: {<<: [{}, x]}\n", "bad-merge"),
    ],
)
def test_an_alias_or_merge_that_cannot_be_is_a_finding(source: str, code: str) -> None:
    assert codes(load(source.encode())) == [code]


def test_what_aliases_stand_for_is_counted_before_it_is_built() -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [" + ", ".join([f"*l{n - 1}"] * 9) + "]" for n in range(1, 10)]
    begin = time.perf_counter()
    loaded = load("\n".join(lines).encode())
    assert (codes(loaded), loaded.data) == (["alias-expansion"], None)
    assert time.perf_counter() - begin < 1


def test_long_text_behind_many_aliases_is_counted_too() -> None:
    source = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 30)}]\n"
    assert codes(load(source.encode())) == ["alias-expansion"]


# -- limits


def test_a_source_at_the_limit_is_read_and_one_byte_more_is_not() -> None:
    full = b"a: " + b"x" * (MAX_SOURCE - 4) + b"\n"
    assert load(full).findings == ()
    (finding,) = load(full + b"\n").findings
    assert (finding.code, f"{MAX_SOURCE + 1:,} bytes" in finding.message) == ("too-large", True)


@pytest.mark.parametrize("opened", ["[", "{a: ", "- ", "? "])
def test_nesting_has_a_limit(opened: str) -> None:
    assert codes(load((opened * 5000).encode())) == ["too-deep"]


def test_nesting_up_to_the_limit_is_read() -> None:
    assert codes(load(("[" * MAX_DEPTH + "]" * MAX_DEPTH).encode())) == []
    assert codes(load(("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)).encode())) == ["too-deep"]


def test_aliases_cannot_nest_deeper_than_what_is_written_out() -> None:
    half = MAX_DEPTH // 2
    deep = "[" * half + "]" * half
    assert codes(load(f"- &a {deep}\n- {'[' * (half - 1)}*a{']' * (half - 1)}\n".encode())) == []
    assert codes(load(f"- &a {deep}\n- {'[' * half}*a{']' * half}\n".encode())) == ["too-deep"]


def test_the_number_of_nodes_has_a_limit() -> None:
    assert codes(load(b"- a\n" * (MAX_NODES - 1))) == []
    assert codes(load(b"- a\n" * MAX_NODES)) == ["too-many-nodes"]


@pytest.mark.parametrize(
    "source",
    [
        b"".join(b"%%TAG !%d! x\n" % n for n in range(100_000)),
        b"a: {" * 300_000,
        b"a: '" + b"{" * 2_000_000,
        b"\x01" * 2_000_000,
        b"<<: {}\n" * 200_000,
    ],
    ids=["tag directives", "braces", "open quote", "control characters", "merge keys"],
)
def test_a_hostile_source_is_refused_in_time(source: bytes) -> None:
    begin = time.perf_counter()
    assert load(source).data is None
    assert time.perf_counter() - begin < 5
