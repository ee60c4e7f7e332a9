"""Memory files: a Markdown body and, behind it, the stored values as JSON in a comment.

    The body, any text at all.

    <!-- MEMORY_FIELDS
    {
      "times_cooked": 3,
      "version": 2
    }
    -->

Whatever is written is read again as it was, body and values, whatever they hold: inside the JSON what would open or
end a comment is written with escapes, and nothing in a body passes for the trailer, which is the comment that the file
ends with. Files that OpenViking wrote are read too. NUL and halves of surrogate pairs are refused, since no database
and no UTF-8 file holds them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, NoReturn

from ovstore.errors import InvalidArgumentError, InvalidDocumentError
from ovstore.findings import found
from ovstore.names import printable

MAX_DEPTH: Final = 100
"""Lists and mappings in one another that a value may have."""

_OPENING: Final = re.compile(r"<!--[ \t]*MEMORY_FIELDS[ \t]*\r?\n")
_CLOSING: Final = re.compile(r"\s*-->\s*")
_MAX_BITS: Final = 14_000
_GAPS: Final = ("\n\n", "\r\n\r\n", "\r\n", "\n")
# Only inside strings can JSON have these; `--!>` ends a comment in browsers.
_ESCAPES: Final = (("-->", "--\\u003e"), ("--!>", "--!\\u003e"), ("<!--", "\\u003c!--"))


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A memory file in its two parts. `values` are the stored ones in their order, `version` and `memory_type` too."""

    body: str
    values: dict[str, Any] = field(default_factory=dict)


def write_file(body: str, values: Mapping[str, Any]) -> str:
    """Return the text of a memory file, without a line break at its end.

    Values that are None are left out; times are written as ISO 8601. Raises InvalidArgumentError for what no file
    holds.

    >>> print(write_file("- less salt", {"times_cooked": 3, "note": None}))
    - less salt
    <BLANKLINE>
    <!-- MEMORY_FIELDS
    {
      "times_cooked": 3
    }
    -->
    """
    if why := unfit(body):
        raise InvalidArgumentError(f"no file holds this body: {why}", argument="body")
    if not isinstance(values, Mapping):
        raise InvalidArgumentError(f"values takes a mapping, not {type(values).__name__}", argument="values")
    stored = {name: value for name, value in values.items() if value is not None}
    for name, value in stored.items():
        if why := unfit({name: value}):
            said = f"no file holds this value of {printable(str(name))}: {why}"
            raise InvalidArgumentError(said, argument="values")
    text = json.dumps(stored, indent=2, ensure_ascii=False, default=lambda time: time.isoformat())
    for opening, escaped in _ESCAPES:
        text = text.replace(opening, escaped)
    trailer = f"<!-- MEMORY_FIELDS\n{text}\n-->"
    return f"{body}\n\n{trailer}" if body else trailer


def unfit(value: object, level: int = -1) -> str | None:
    """Say what in a value no memory file holds, or would give back as something else; None where nothing is."""
    if isinstance(value, str):
        return _unfit_text(value)
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{value} is no number of JSON"
    if isinstance(value, int):
        return None if value.bit_length() <= _MAX_BITS else "it is a number of thousands of digits"
    if value is None or isinstance(value, date):
        return None
    if not isinstance(value, (dict, list, tuple)):
        return f"{type(value).__name__} is no plain data"
    if level >= MAX_DEPTH:
        return f"it is nested deeper than {MAX_DEPTH} levels"
    if isinstance(value, dict):
        if odd := [key for key in value if not isinstance(key, str)]:
            return f"a mapping has text for keys, not {type(odd[0]).__name__}"
        value = [*value, *value.values()]
    return next((why for item in value if (why := unfit(item, level + 1))), None)


def _unfit_text(text: str) -> str | None:
    if "\0" in text:
        return "there is a NUL in it, which nothing can store"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "there is half of a surrogate pair in it, which is no character"
    return None


def read_file(text: str, path: str | None = None) -> MemoryFile:
    """Read a memory file; without a trailer all of it is body.

    The trailer is the comment that the file ends with, white space aside; comments before it are the body's own.
    Raises InvalidDocumentError where the trailer is no JSON object, or has text behind it: to read on would lose all
    values of the memory.
    """
    if not isinstance(text, str):
        raise InvalidArgumentError(f"text takes the text of a file, not {type(text).__name__}", argument="text")
    openings = list(_OPENING.finditer(text))
    if not openings:
        return MemoryFile(text)
    # An earlier comment cannot be the one at the end: it would hold the last one's line break inside a JSON string.
    values, end = _stored(text, openings[-1].end(), path)
    if end < len(text):
        behind = "text stands behind the stored values of the memory, which have to be the end of the file"
        raise InvalidDocumentError([found("text-behind-trailer", behind, path=path, at=_place(text, end))])
    body = text[: openings[-1].start()]
    gap = next((gap for gap in _GAPS if body.endswith(gap)), "")
    return MemoryFile(body.removesuffix(gap), values)


def _stored(text: str, start: int, path: str | None) -> tuple[dict[str, Any], int]:
    """Return the values whose JSON begins at a place, and where white space behind their comment ends."""
    start += len(text[start:]) - len(text[start:].lstrip())
    why, place = "they are no JSON object", start
    try:
        values, end = _DECODER.raw_decode(text, start)
        closing = _CLOSING.match(text, end)
        odd = unfit(values)
        if closing and isinstance(values, dict) and not odd:
            return values, closing.end()
        if not closing:
            why, place = "`-->` is missing behind them", end
        elif odd:
            why = odd
    except json.JSONDecodeError as error:
        why, place = error.msg, error.pos
    except (ValueError, RecursionError) as error:
        why = str(error)
    message = f"the stored values of the memory cannot be read: {why}"
    raise InvalidDocumentError([found("broken-trailer", message, path=path, at=_place(text, place))])


def _place(text: str, start: int) -> tuple[int, int]:
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice} is there twice")
    return values


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number, object_pairs_hook=_mapping)
