"""Memory files: whatever is written is read again, and what OpenViking wrote is read."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ovstore.errors import InvalidArgumentError, InvalidDocumentError
from ovstore.memory import MemoryFile, read_file, write_file

DEEP: list[Any] = []
DEEP.append(DEEP)

TRAILER = '<!-- MEMORY_FIELDS\n{\n  "a": 1\n}\n-->'
COMMENTS = ("-->", "<!--", "--!>", "<!-- MEMORY_FIELDS\n{}\n-->", "<!-->", "<!", "--", ">")
MARKUP = ("---\na: 1\n---", "```", "{{ x }}", "{% raw %}", "\\", '"', "\\u0000", "\\u003e")
NASTY = st.sampled_from((*COMMENTS, *MARKUP, "\n", "\r\n", "\r", "\u2028", "é漢🍜", " "))
TEXT = st.lists(NASTY | st.text(st.characters(codec="utf-8", exclude_characters="\0")), max_size=6).map("".join)
VALUES = st.dictionaries(
    TEXT,
    st.recursive(
        TEXT | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner | st.none(), max_size=3) | st.dictionaries(TEXT, inner | st.none(), max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


@given(TEXT, VALUES)
@example("", {})
@example(TRAILER, {})
@example(f"a\n\n{TRAILER}", {"b": TRAILER})
@example("\n\n", {"note": "a --> b"})
@example("a\r", {"a\\": "\\\\u0000"})
def test_body_and_values_survive_whatever_they_hold(body: str, values: dict[str, Any]) -> None:
    text = write_file(body, values)
    assert read_file(text) == MemoryFile(body, values)
    assert list(read_file(text).values) == list(values)
    assert text.encode().decode() == text
    assert read_file(text + "\n") == MemoryFile(body, values)


@given(TEXT, VALUES)
def test_a_comment_never_ends_inside_its_values(body: str, values: dict[str, Any]) -> None:
    trailer = write_file("", values)
    assert trailer.index("-->") == len(trailer) - 3
    assert trailer.count("<!--") == 1 and "--!>" not in trailer
    assert write_file(body, values).endswith(trailer)


def test_the_form_is_the_one_of_openviking() -> None:
    written = write_file("Body", {"a": "é", "none": None, "n": 1.5, "at": datetime(2026, 3, 2, tzinfo=UTC)})
    assert written == (
        'Body\n\n<!-- MEMORY_FIELDS\n{\n  "a": "é",\n  "n": 1.5,\n  "at": "2026-03-02T00:00:00+00:00"\n}\n-->'
    )
    assert write_file("", {"day": date(2026, 3, 2)}) == '<!-- MEMORY_FIELDS\n{\n  "day": "2026-03-02"\n}\n-->'


def test_of_several_comments_the_one_at_the_end_is_the_trailer() -> None:
    fake = '<!-- MEMORY_FIELDS\n{"a": "forged"}\n-->'
    assert read_file(f"Said:\n\n{fake}\n\nand so on\n\n{TRAILER}") == MemoryFile(
        f"Said:\n\n{fake}\n\nand so on", {"a": 1}
    )
    assert read_file(f"{fake}\n\n{TRAILER}\n \n") == MemoryFile(fake, {"a": 1})


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("No trailer at all\n", "No trailer at all\n"),
        ("", ""),
        (TRAILER, ""),
        ("---\ntitle: x\n---\nBody\n\n" + TRAILER, "---\ntitle: x\n---\nBody"),
        ("One break\n" + TRAILER, "One break"),
        ("No break" + TRAILER, "No break"),
        ("Windows\r\n\r\n" + TRAILER.replace("\n", "\r\n"), "Windows"),
        ("Spaces\n\n" + TRAILER.replace("<!-- MEMORY_FIELDS\n", "<!--  MEMORY_FIELDS  \n"), "Spaces"),
    ],
)
def test_the_body_is_what_stands_before_the_trailer(text: str, body: str) -> None:
    assert read_file(text).body == body


def test_a_value_that_ends_a_comment_is_read_from_files_that_did_not_escape_it() -> None:
    text = 'Body\n\n<!-- MEMORY_FIELDS\n{\n  "note": "a --> b",\n  "memory_type": "x"\n}\n-->'
    assert read_file(text) == MemoryFile("Body", {"note": "a --> b", "memory_type": "x"})


@pytest.mark.parametrize(
    ("text", "code", "line", "said"),
    [
        (f"a\n\n{TRAILER}\n\nadded by hand", "text-behind-trailer", 9, "text stands behind"),
        ('a\n\n<!-- MEMORY_FIELDS\n{\n  "a": 1,,\n}\n-->', "broken-trailer", 5, "property name"),
        ('a\n\n<!-- MEMORY_FIELDS\n["a"]\n-->', "broken-trailer", 4, "no JSON object"),
        ('a\n\n<!-- MEMORY_FIELDS\n{"a": NaN}\n-->', "broken-trailer", 4, "NaN is no JSON number"),
        ('a\n\n<!-- MEMORY_FIELDS\n{"a": 1}\n', "broken-trailer", 4, "`-->` is missing"),
        ('a\n\n<!-- MEMORY_FIELDS\n{"a": 1, "b": 2, "a": 3}\n-->', "broken-trailer", 4, "a is there twice"),
        ('a\n\n<!-- MEMORY_FIELDS\n{"a": 1e999}\n-->', "broken-trailer", 4, "inf is no number"),
        ('a\n\n<!-- MEMORY_FIELDS\n{"a": "\\u0000"}\n-->', "broken-trailer", 4, "a NUL in it"),
        ('a\n\n<!-- MEMORY_FIELDS\n{"a": "\\ud800"}\n-->', "broken-trailer", 4, "surrogate pair"),
        ("a\n\n<!-- MEMORY_FIELDS\n" + "[" * 100_000 + "\n-->", "broken-trailer", 4, "recursion"),
    ],
    ids=("text behind", "comma", "list", "NaN", "open", "twice", "inf", "NUL", "surrogate", "deep"),
)
def test_a_trailer_that_cannot_be_read_is_refused_with_its_line(text: str, code: str, line: int, said: str) -> None:
    with pytest.raises(InvalidDocumentError, match=said) as caught:
        read_file(text, "ramen.md")
    (finding,) = caught.value.findings
    assert (finding.code, finding.path, finding.line) == (code, "ramen.md", line)


@pytest.mark.parametrize(
    ("body", "values", "said"),
    [
        ("a\0b", {}, "this body: there is a NUL"),
        ("\ud800", {}, "this body: there is half of a surrogate pair"),
        ("a", {"n": "x\0"}, "value of n: there is a NUL"),
        ("a", {"n": ["\\\0"]}, "value of n: there is a NUL"),
        ("a", {"n": {"\0": 1}}, "value of n: there is a NUL"),
        ("a", {"a\0": 1}, r"value of a\\x00: there is a NUL"),
        ("a", {"m": 1, "n": "\udfff"}, "value of n: there is half of a surrogate pair"),
        ("a", {"n": float("nan")}, "value of n: nan is no number of JSON"),
        ("a", {"n": {1, 2}}, "value of n: set is no plain data"),
        ("a", {"n": b"x"}, "value of n: bytes is no plain data"),
        ("a", {"n": {1: "a", "1": "b"}}, "value of n: a mapping has text for keys, not int"),
        ("a", {1: "a"}, "value of 1: a mapping has text for keys, not int"),
        ("a", {"n": 10**5000}, "value of n: it is a number of thousands of digits"),
        ("a", {"n": DEEP}, "value of n: it is nested deeper than 100 levels"),
    ],
)
def test_what_no_file_holds_is_refused(body: str, values: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        write_file(body, values)
