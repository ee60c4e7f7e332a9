"""Patches of text: every rule of the format, and that a patch applies whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovstore.errors import MergeError
from ovstore.memory.blocks import apply_blocks

TEXT = "# Ramen\n- less salt\n- more miso\n- less salted butter\n"


def patch(*blocks: Any) -> dict[str, Any]:
    return {"blocks": list(blocks)}


def swap(search: str, replace: str) -> dict[str, str]:
    return {"search": search, "replace": replace}


def cut(text: str) -> dict[str, str]:
    return {"delete": text}


@pytest.mark.parametrize(
    ("text", "blocks", "result"),
    [
        (TEXT, [swap("# Ramen", "# Soup")], TEXT.replace("Ramen", "Soup")),
        (TEXT, [swap("more", "much more")], TEXT.replace("more", "much more")),
        (TEXT, [swap("- more miso\n", "")], TEXT.replace("- more miso\n", "")),
        ("a b", [swap("a", "b c"), swap("b c", "x")], "x b"),
        ("a\nb\nc", [cut("b")], "a\nc"),
        ("a\nb\nc", [cut("b\n")], "a\nc"),
        ("a\nb\nc", [cut("b\nc")], "a"),
        ("a\nb\nc", [cut("a\nb\nc")], ""),
        ("a\nb\nc\n", [cut("c")], "a\nb\n"),
        ("a\n\nb", [cut("a")], "\nb"),
        ("\na\nb", [cut("a")], "\nb"),
        ("a\r\nb\r\nc", [cut("b")], "a\r\nc"),
        ("a\r\nb\r\nc", [cut("b\r\n")], "a\r\nc"),
        ("a\r\nb", [cut("b")], "a"),
        ("a\r\nb", [cut("b\r\n")], "a"),
        ("a\r\nb", [cut("a")], "b"),
        ("a\r\nb", [swap("a\r\nb", "c\r\nd")], "c\r\nd"),
        (TEXT, [cut("- less salt")], TEXT.replace("- less salt\n", "")),
        ("ab\nb", [cut("b")], "ab"),
        ("x\ta", [swap("\t", " ")], "x a"),
        ("a\n1\tb", [swap("1\tb", "c")], "a\nc"),
        ("a", [swap("a", "")], ""),
        ("a", [swap("a", "\\1 \\g<0> {{ b }}")], "\\1 \\g<0> {{ b }}"),
        ("", [swap("anything", "one"), swap("", "two"), cut("three")], "one\ntwo"),
        (" \n", [swap("x", "one\n"), swap("y", "two")], "one\ntwo"),
        ("", [], ""),
        ("a", [], "a"),
    ],
)
def test_blocks_apply_in_order_to_exact_places(text: str, blocks: list[Any], result: str) -> None:
    assert apply_blocks(text, patch(*blocks)) == result


@pytest.mark.parametrize(
    ("text", "blocks", "number", "said"),
    [
        (TEXT, [swap("- less", "x")], 1, r"block 1 of 1 fits more than one place \(line 2, 4\)"),
        ("aaa", [swap("aa", "b")], 1, r"fits more than one place \(line 1\)"),
        ("a\na", [cut("a")], 1, r"fits more than one place \(line 1, 2\)"),
        (TEXT, [swap("miso", "x"), swap("soy", "y")], 2, "block 2 of 2 fits nowhere"),
        (TEXT, [swap("- lesser salt", "x")], 1, r"nearest to `- lesser salt`: line 2 `- less salt`"),
        (TEXT, [swap("- more miso\n# Ramen", "x")], 1, "is in the text, but not one below the other"),
        (TEXT, [swap("123456789", "x")], 1, "no line is like `123456789`"),
        (TEXT, [swap("", "x")], 1, "empty search"),
        (TEXT, [cut("")], 1, "deletes nothing"),
        (TEXT, [cut("\n")], 1, "deletes nothing"),
        (TEXT, [cut("more miso")], 1, "deletes part of line 3"),
        ("a\r\nb", [swap("a\nb", "x")], 1, "fits nowhere"),
        ("caf\u00e9", [swap("cafe\u0301", "x")], 1, "fits nowhere"),
        ("“a”", [swap('"a"', "x")], 1, "fits nowhere"),
        ("a", [cut("a"), swap("a", "b")], 2, "fits nowhere"),
        (TEXT, [swap("- LESS SALT", "x")], 1, "fits nowhere"),
    ],
)
def test_a_block_that_fails_is_named_and_changes_nothing(text: str, blocks: list[Any], number: int, said: str) -> None:
    with pytest.raises(MergeError, match=said) as caught:
        apply_blocks(text, patch(*blocks), "notes")
    assert (caught.value.field, caught.value.block) == ("notes", number)


@pytest.mark.parametrize(
    "block",
    [
        {"search": "a"},
        {"replace": "a"},
        {"search": "a", "replace": None},
        {"search": "a", "replace": 1},
        {"search": "a", "replace": "b", "delete": "c"},
        {"search": "a", "replace": "b", "line": 1},
        {"delete": ["a"]},
        {},
        "a",
        None,
    ],
)
def test_a_block_of_another_shape_is_refused_by_its_number(block: Any) -> None:
    with pytest.raises(MergeError, match="block 2 of 2 is not") as caught:
        apply_blocks("a", patch(swap("a", "b"), block), "notes")
    assert (caught.value.field, caught.value.block) == ("notes", 2)


@pytest.mark.parametrize("value", [{"blocks": None}, {"blocks": "a"}, {"blocks": [], "more": 1}])
def test_a_patch_of_another_shape_is_refused(value: Any) -> None:
    with pytest.raises(MergeError, match="a patch is") as caught:
        apply_blocks("a", value, "notes")
    assert caught.value.block is None


def test_a_whole_line_is_found_behind_any_number_of_longer_ones() -> None:
    text = "".join(f"- ab{number}\n" for number in range(50)) + "- ab"
    assert apply_blocks(text, patch(cut("- ab"))) == text.removesuffix("\n- ab")


LINES = st.lists(st.text("ab \r", max_size=4), max_size=6).map("\n".join)


@given(LINES, LINES, LINES)
def test_a_replaced_place_is_the_only_difference(before: str, search: str, after: str) -> None:
    text = f"{before}<{search}>{after}"
    assert apply_blocks(text, patch(swap(f"<{search}>", "new"))) == f"{before}new{after}"


@given(LINES, st.lists(st.builds(swap, st.text("ab", max_size=2), st.text("ab", max_size=2)) | st.builds(cut, LINES)))
def test_a_patch_applies_as_its_blocks_one_by_one_or_fails_at_the_first(text: str, blocks: list[Any]) -> None:
    expected: str | int = text
    for number, block in enumerate(blocks, 1):
        if not str(expected).strip():
            return
        try:
            expected = apply_blocks(str(expected), patch(block))
        except MergeError:
            expected = number
            break
    if isinstance(expected, int):
        with pytest.raises(MergeError) as caught:
            apply_blocks(text, patch(*blocks))
        assert caught.value.block == expected
    else:
        assert apply_blocks(text, patch(*blocks)) == expected


@given(st.lists(st.text("abc", min_size=1, max_size=3), unique=True, min_size=1, max_size=8), st.data())
def test_a_delete_removes_exactly_its_line(lines: list[str], data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(lines))
    assert apply_blocks("\n".join(lines), patch(cut(gone))) == "\n".join(line for line in lines if line != gone)
