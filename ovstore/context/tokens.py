"""Counting tokens. What counts is the model's business: callers give their own counter, this one is an estimate."""

from __future__ import annotations

from collections.abc import Callable

CountTokens = Callable[[str], int]


def approx_tokens(text: str) -> int:
    """Estimate tokens: four ASCII characters, or three UTF-8 bytes of other characters, make one; rounded up.

    >>> approx_tokens("eight ch"), approx_tokens("你好"), approx_tokens("")
    (2, 2, 0)
    """
    if text.isascii():
        return (len(text) + 3) // 4
    ascii_characters = len(text.encode("ascii", "ignore"))
    other_bytes = len(text.encode()) - ascii_characters
    return -(-(3 * ascii_characters + 4 * other_bytes) // 12)
