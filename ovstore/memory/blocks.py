"""Patches of text: blocks that each replace or delete one exact place, all of them or none.

A patch is `{"blocks": [...]}`; a block is `{"search": …, "replace": …}` or `{"delete": …}`. The blocks apply in order,
each to what the ones before it left. What a block looks for must be there exactly once, letter by letter; a near match
is an error that shows the nearest lines, since a guess that rewrites someone's memory is worse than a second question.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NoReturn

from ovstore.errors import MergeError
from ovstore.names import printable

BLOCKS: Final = "blocks"

_SHAPES: Final = ({"search", "replace"}, {"delete"})
_SHOWN: Final = 3
_LINES_COMPARED: Final = 2_000
_LINE_COMPARED: Final = 200
_LIKENESS: Final = 0.4


def is_patch(value: object) -> bool:
    """Whether an update's value is meant as a patch rather than as the new text."""
    return isinstance(value, Mapping) and BLOCKS in value


def apply_blocks(text: str, patch: Mapping[str, Any], field: str | None = None) -> str:
    """Return the text behind all blocks of a patch; a MergeError names the first block that fails.

    A text that is blank has no places: there the replacements, one below the other, are the new text.

    >>> apply_blocks("- less salt", {"blocks": [{"search": "salt", "replace": "miso"}]})
    '- less miso'
    """
    blocks = _checked(patch, field)
    if not text.strip():
        return _begun(blocks) or text
    for number, block in enumerate(blocks, 1):
        place = _Place(text, number, len(blocks), field)
        text = place.deleted(block["delete"]) if "delete" in block else place.replaced(**block)
    return text


def _checked(patch: Mapping[str, Any], field: str | None) -> list[dict[str, str]]:
    blocks = patch.get(BLOCKS)
    if set(patch) != {BLOCKS} or not isinstance(blocks, (list, tuple)):
        raise MergeError(f'{_of(field)}a patch is {{"blocks": [...]}} and nothing else', field=field)
    for number, block in enumerate(blocks, 1):
        good = isinstance(block, Mapping) and set(block) in _SHAPES
        if not good or not all(isinstance(text, str) for text in block.values()):
            shapes = '{"search": text, "replace": text} or {"delete": text}'
            said = f"{_of(field)}block {number} of {len(blocks)} is not {shapes}"
            raise MergeError(said, field=field, block=number)
    return [dict(block) for block in blocks]


def _begun(blocks: list[dict[str, str]]) -> str:
    text = ""
    for block in blocks:
        piece = block.get("replace", "")
        text += ("\n" if text and piece and not text.endswith("\n") else "") + piece
    return text


class _Place:
    """A text in which one block looks for its place."""

    def __init__(self, text: str, number: int, count: int, field: str | None) -> None:
        self.text = text
        self.number = number
        self.count = count
        self.field = field

    def replaced(self, search: str, replace: str) -> str:
        if not search:
            self._fail("has an empty search: to write the whole text anew, give the text instead of blocks")
        start = self._only(list(islice(_places(self.text, search), _SHOWN + 1)), search)
        return self.text[:start] + replace + self.text[start + len(search) :]

    def deleted(self, delete: str) -> str:
        lines = delete.removesuffix("\n").removesuffix("\r")
        if not lines:
            self._fail("deletes nothing: name the lines that are to go")
        # In a text that begins with a line break, a place that begins a line is a place behind one.
        begun = _places("\n" + self.text, "\n" + lines)
        whole = list(islice((start for start in begun if self._ends_line(start + len(lines))), _SHOWN + 1))
        part = self.text.find(lines)
        if part >= 0 and not whole:
            self._fail(f"deletes part of line {self._line(part)}: a delete takes whole lines; use search and replace")
        start = self._only(whole, lines)
        return self._without(start, start + len(lines))

    def _without(self, start: int, end: int) -> str:
        """Cut a piece out with one line break, the one behind it where there is one."""
        text = self.text
        for line_break in ("\r\n", "\n"):
            if text.startswith(line_break, end):
                return text[:start] + text[end + len(line_break) :]
        return text[:start].removesuffix("\n").removesuffix("\r") + text[end:]

    def _ends_line(self, end: int) -> bool:
        return end == len(self.text) or self.text.startswith(("\n", "\r\n"), end)

    def _line(self, start: int) -> int:
        return self.text.count("\n", 0, start) + 1

    def _only(self, places: list[int], wanted: str) -> int:
        if len(places) == 1:
            return places[0]
        if places:
            lines = ", ".join(dict.fromkeys(str(self._line(start)) for start in places[:_SHOWN]))
            self._fail(f"fits more than one place (line {lines}): take more of the text around it into the block")
        return self._fail(f"fits nowhere; {_nearest(self.text, wanted)}")

    def _fail(self, why: str) -> NoReturn:
        raise MergeError(
            f"{_of(self.field)}block {self.number} of {self.count} {why}", field=self.field, block=self.number
        )


def _places(text: str, wanted: str) -> Iterator[int]:
    """Yield where a text begins in another, overlaps too: more than one place is ambiguous however they lie."""
    start = text.find(wanted)
    while start >= 0:
        yield start
        start = text.find(wanted, start + 1)


def _nearest(text: str, wanted: str) -> str:
    lines = text.splitlines()[:_LINES_COMPARED]
    known = set(lines)
    lost = next((line for line in wanted.splitlines() if line not in known), None)
    if lost is None:
        return "each of its lines is in the text, but not one below the other"
    cut = {line[:_LINE_COMPARED]: number for number, line in reversed(list(enumerate(lines, 1)))}
    near = difflib.get_close_matches(lost[:_LINE_COMPARED], cut, n=_SHOWN, cutoff=_LIKENESS)
    if not near:
        return f"no line is like {_quoted(lost)}"
    return f"nearest to {_quoted(lost)}: " + ", ".join(f"line {cut[line]} {_quoted(line)}" for line in near)


def _quoted(line: str) -> str:
    return f"`{printable(line if len(line) <= 80 else line[:77] + '...')}`"


def _of(field: str | None) -> str:
    return f"{field}: " if field else ""
