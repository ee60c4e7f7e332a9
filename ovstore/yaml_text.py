"""Plain JSON data as YAML text: order kept, `|` blocks for text of several lines, nothing folded, characters readable.

What is written reads back as the same data, in `yaml_io` and in PyYAML.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from ovstore.errors import InvalidArgumentError
from ovstore.scalars import plain
from ovstore.yaml_io import MAX_DEPTH

_LONGEST_KEY: Final = 120
_SAFE: Final = re.compile(r"[^\W\d](?:[\w ()/.,;+*=%$-]|:(?! |$))*(?<! )")
_BROKEN: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
_ESCAPED: Final = re.compile(f'["\\\\\t\n\xa0{_BROKEN}]')
_BLOCK: Final = re.compile(rf"(?=\s*\S)[^\n{_BROKEN}]*\n[^{_BROKEN}]*")
_SHORT: Final[Mapping[str, str]] = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def dump(data: Any) -> str:
    """Write plain JSON data as YAML; anything else in it is an InvalidArgumentError.

    >>> print(dump({"id": "a.b", "text": "two\\nlines\\n", "tags": ["x", "no"], "n": 1e-3}), end="")
    id: a.b
    text: |
      two
      lines
    tags:
      - x
      - "no"
    n: 0.001
    """
    inline, below = _node(data, 0)
    return "\n".join([inline] if inline else below) + "\n"


def _node(value: Any, depth: int) -> tuple[str, list[str]]:
    """Return what stands behind the key or dash of a value, and the lines below it, not indented."""
    if depth > MAX_DEPTH:
        what = f"more than {MAX_DEPTH} mappings and lists inside one another"
        raise InvalidArgumentError(what, argument="data", value=value)
    if isinstance(value, str):
        return _block(value) if depth and _BLOCK.fullmatch(value) else (_quoted(value), [])
    if isinstance(value, Mapping) and value:
        return "", [line for key, item in value.items() for line in _entry(key, item, depth + 1)]
    if isinstance(value, (list, tuple)) and value:
        return "", [line for item in value for line in _item(item, depth + 1)]
    return _atom(value), []


def _entry(key: Any, value: Any, depth: int) -> list[str]:
    if not isinstance(key, str):
        raise InvalidArgumentError(f"keys are text, and {key!r} is not", argument="data", value=key)
    inline, below = _node(value, depth)
    written = _quoted(key)
    *explicit, head = [f"{written}:"] if len(written) <= _LONGEST_KEY else [f"? {written}", ":"]
    return [*explicit, f"{head} {inline}" if inline else head, *_indented(below)]


def _item(value: Any, depth: int) -> list[str]:
    inline, below = _node(value, depth)
    return [f"- {inline}", *_indented(below)] if inline else [f"- {below[0]}", *_indented(below[1:])]


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" if line else line for line in lines]


def _block(text: str) -> tuple[str, list[str]]:
    body = text.rstrip("\n")
    kept = len(text) - len(body)
    chomp = "-" if kept == 0 else "" if kept == 1 else "+"
    indent = "2" if re.match(r"\n*[ \t]", text) else ""
    return f"|{indent}{chomp}", body.split("\n") + [""] * (kept - 1)


def _quoted(text: str) -> str:
    if _SAFE.fullmatch(text) and type(plain(text)) is str:
        return text
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _SHORT.get(match[0]) or (f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}")


def _atom(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float) and math.isfinite(value):
        written = repr(float(value))
        return written if "." in written else written.replace("e", ".0e")
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, (list, tuple)):
        return "[]"
    raise InvalidArgumentError(f"JSON has no {type(value).__name__} {value!r}"[:200], argument="data", value=value)
