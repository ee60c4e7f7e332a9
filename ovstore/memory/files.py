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
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, NoReturn

from ovstore.errors import InvalidArgumentError, InvalidDocumentError
from ovstore.findings import found

_OPENING: Final = re.compile(r"<!--[ \t]*MEMORY_FIELDS[ \t]*\r?\n")
_CLOSING: Final = re.compile(r"\s*-->\s*")
_NUL: Final = re.compile("\0")
_NUL_IN_JSON: Final = re.compile(r"(?<!\\)(\\\\)*\\u0000")
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
    _refuse_unwritable(body, "body", _NUL)
    stored = {name: value for name, value in values.items() if value is not None}
    try:
        text = json.dumps(stored, indent=2, ensure_ascii=False, allow_nan=False, default=_iso)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"these values have no JSON form: {error}", argument="values") from error
    _refuse_unwritable(text, "values", _NUL_IN_JSON)
    for opening, escaped in _ESCAPES:
        text = text.replace(opening, escaped)
    trailer = f"<!-- MEMORY_FIELDS\n{text}\n-->"
    return f"{body}\n\n{trailer}" if body else trailer


def read_file(text: str, path: str | None = None) -> MemoryFile:
    """Read a memory file; without a trailer all of it is body.

    The trailer is the comment that the file ends with, white space aside; comments before it are the body's own.
    Raises InvalidDocumentError where the trailer is no JSON object, or has text behind it: to read on would lose all
    values of the memory.
    """
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
        if closing and isinstance(values, dict):
            return values, closing.end()
        if not closing:
            why, place = "`-->` is missing behind them", end
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


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)


def _iso(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _refuse_unwritable(text: str, argument: str, nul: re.Pattern[str]) -> None:
    if nul.search(text):
        raise InvalidArgumentError(f"a NUL in the {argument}, which nothing can store: delete it", argument=argument)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        said = f"half of a surrogate pair in the {argument}, which is no character: delete it"
        raise InvalidArgumentError(said, argument=argument) from error
