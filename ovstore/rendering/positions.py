"""Places in a template string: line and column from 1, and the tag around a place for a message.

A `Position` is a line number that also knows its column and offset. It travels through Jinja2's tokens and nodes as
their line number, which is how an error in compiled code finds its way back to the character it came from.
"""

from __future__ import annotations

from typing import Final

_SHOWN: Final = 80


class Position(int):
    """A line number from 1, with the column from 1 and the offset in the normalized source."""

    column: int
    offset: int

    def __new__(cls, line: int, column: int, offset: int) -> Position:
        position = super().__new__(cls, line)
        position.column = column
        position.offset = offset
        return position


START: Final = Position(1, 1, 0)


def normalized(source: str) -> str:
    """Return the source as the lexer counts it: every line break a newline."""
    return source.replace("\r\n", "\n").replace("\r", "\n")


def of_offset(source: str, offset: int) -> Position:
    """Return the position of an offset in the normalized source."""
    before = normalized(source)[:offset]
    return Position(before.count("\n") + 1, len(before) - before.rfind("\n"), offset)


def of_line(source: str, line: int) -> Position:
    """Return the first tag of a line, or its start, for errors of which only the line is known."""
    lines = normalized(source).split("\n")
    index = min(max(line, 1), len(lines)) - 1
    found = [at for at in (lines[index].find("{{"), lines[index].find("{%"), lines[index].find("{#")) if at >= 0]
    column = min(found, default=0)
    return Position(index + 1, column + 1, sum(len(text) + 1 for text in lines[:index]) + column)


def excerpt(source: str, position: Position) -> str:
    """Return the tag around a position on one line, shortened; empty where there is none."""
    text = normalized(source)
    start = max(text.rfind("{{", 0, position.offset + 2), text.rfind("{%", 0, position.offset + 2))
    if start < 0:
        return ""
    end = text.find("}}" if text.startswith("{{", start) else "%}", position.offset)
    tag = " ".join(text[start : end + 2 if end >= 0 else start + 4 * _SHOWN].split())
    return tag if len(tag) <= _SHOWN else tag[: _SHOWN - 1] + "…"
