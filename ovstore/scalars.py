"""What a text is where it stands in YAML without quotes: text, a number, a boolean or nothing.

The rules are YAML 1.1's as PyYAML has them, with these differences: a number may have an exponent without dot or sign
(1e-3), and dates and base-60 numbers (12:30) are text, since JSON has no dates and nobody means the number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MAX_DIGITS: Final = 100
"""A number with more digits is no number to JSON readers; it stays usable as text."""

_WORDS: Final[Mapping[str, bool | None]] = {
    form: value
    for word, value in (
        *(("null", None), ("true", True), ("yes", True), ("on", True)),
        *(("false", False), ("no", False), ("off", False)),
    )
    for form in (word, word.capitalize(), word.upper())
} | {"": None, "~": None}
_NUMERIC: Final = frozenset("+-.0123456789")
_INT: Final = re.compile(r"[-+]?(?:0b[01][01_]*|0x[0-9a-fA-F][0-9a-fA-F_]*|0[0-7_]*|[1-9][0-9_]*)")
_FLOAT: Final = re.compile(
    r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+)"
)
_INFINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)")
_NAN: Final = re.compile(r"\.(?:nan|NaN|NAN)")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A plain scalar that is not text by YAML's rules, with both readings: whether `1.10` is a number or a label is
    for the grammar of documents to say. The value is infinite or NaN where it is no number that JSON can hold.
    """

    value: bool | int | float | None
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def doubtful(self) -> bool:
        """Whether another parser, or the author, would read it otherwise: `yes`, `off`, `010`."""
        if isinstance(self.value, bool):
            return self.text.lower() not in ("true", "false")
        return isinstance(self.value, int) and re.match(r"[-+]?0[0-9_]", self.text) is not None


def plain(text: str) -> str | Scalar:
    """Return what a text is without quotes.

    >>> plain("1e-3").value, plain("no").value, plain("2026-01-31")
    (0.001, False, '2026-01-31')
    """
    if text[:1] not in _NUMERIC:
        return Scalar(_WORDS[text], text) if text in _WORDS else text
    if _INT.fullmatch(text):
        return Scalar(_int(text.replace("_", "")), text)
    if _FLOAT.fullmatch(text):
        return Scalar(float(text.replace("_", "")), text)
    if _INFINITE.fullmatch(text):
        return Scalar(math.inf, text)
    return Scalar(math.nan, text) if _NAN.fullmatch(text) else text


def _int(digits: str) -> int | float:
    if len(digits) > MAX_DIGITS:
        return math.inf
    sign, magnitude = (-1, digits[1:]) if digits[0] == "-" else (1, digits.lstrip("+"))
    if magnitude[:2] in ("0b", "0x"):
        return sign * int(magnitude, 0)
    return sign * int(magnitude, 8 if magnitude[0] == "0" else 10)
