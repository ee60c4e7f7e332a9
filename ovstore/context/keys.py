"""Whether a key occurs in a text: as words, as a part of words, or as a regular expression that cannot hang.

Keys are text, never patterns, unless they are written `/pattern/flags` or their entry says so. A whole word ends where
its script marks an end: `AI` is not in `Maine` but is in `用AI写`. A script without spaces needs no border, nor does
the side of a key that is no letter or digit (`C++`).

Patterns run on RE2 (the `lore` extra: google-re2, BSD-3-Clause), whose time is linear in the text whatever the pattern;
a time limit would make the same request give different messages on a busy machine. RE2 has no look-around and no
references back. Such a pattern, a bad one, and any pattern without the extra never match, and are warned of.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, NamedTuple

_SLASHED: Final = re.compile(r"/((?:[^/\\]|\\.)+)/([dgimsuvy]*)", re.DOTALL)
_ASCII_WORD: Final = re.compile(r"\w+", re.ASCII)
_ESCAPE: Final = re.compile(
    r"\\\\"
    r"|\\u\{(?P<point>[0-9a-fA-F]{1,6})\}"
    r"|\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(?P<unit>[0-9a-fA-F]{4})"
)
_MAX_PATTERN: Final = 2_000
_BETWEEN: Final = "\n\x01\n"

# Scripts that are written without spaces, and Hangul, whose particles follow a word without one.
_UNSPACED: Final = (
    (0x0E00, 0x0EFF),
    (0x0F00, 0x0FFF),
    (0x1000, 0x109F),
    (0x1100, 0x11FF),
    (0x1780, 0x17FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3040, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),
    (0x1B000, 0x1B2FF),
    (0x20000, 0x3FFFF),
)


@dataclass(frozen=True, slots=True)
class Haystack:
    """The texts that are scanned. A key does not match across two of them.

    `words` are those of a folded text that is all ASCII, where a look-up is enough; None for others.
    """

    exact: str
    folded: str
    words: frozenset[str] | None

    @classmethod
    def of(cls, texts: Iterable[str]) -> Haystack:
        exact = unicodedata.normalize("NFC", _BETWEEN.join(texts))
        folded = exact.casefold()
        return cls(exact, folded, frozenset(_ASCII_WORD.findall(folded)) if folded.isascii() else None)


class Way(NamedTuple):
    """How the keys of an entry are looked for."""

    case_sensitive: bool = False
    whole_words: bool = True
    use_regex: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """A key made ready: text with whether each side needs a border, or a compiled pattern, or why it never matches.

    `parts` are the whole words in it: a text without one of them need not be searched.
    """

    needle: str = ""
    exact: bool = False
    border_before: bool = False
    border_after: bool = False
    one_word: bool = False
    parts: frozenset[str] = frozenset()
    pattern: Any = None
    fault: str = ""

    def occurs(self, text: Haystack) -> bool:
        if self.fault:
            return False
        if self.pattern is not None:
            return self.pattern.search(text.exact) is not None
        if text.words is not None:
            if self.one_word:
                return self.needle in text.words
            if not self.parts <= text.words:
                return False
        hay = text.exact if self.exact else text.folded
        at = hay.find(self.needle) if self.needle else -1
        if at < 0 or not (self.border_before or self.border_after):
            return at >= 0
        while at >= 0:
            end = at + len(self.needle)
            free = not self.border_before or at == 0 or not _is_spaced(hay[at - 1])
            if free and (not self.border_after or end == len(hay) or not _is_spaced(hay[end])):
                return True
            at = hay.find(self.needle, at + 1)
        return False


@lru_cache(maxsize=16_384)
def ready(key: str, way: Way) -> Key:
    """Make a key ready; a blank one is nowhere.

    >>> said = Haystack.of(["Maine ain't it, says the C++ programmer"])
    >>> ready("AI", Way()).occurs(said), ready("C++", Way()).occurs(said)
    (False, True)
    """
    pattern = pattern_of(key, way)
    if pattern is not None:
        compiled = compiled_pattern(*pattern)
        return Key(key, fault=compiled) if isinstance(compiled, str) else Key(key, pattern=compiled)
    needle = unicodedata.normalize("NFC", key.strip())
    if not way.case_sensitive:
        needle = needle.casefold()
    if not needle or not way.whole_words:
        return Key(needle, way.case_sensitive)
    one_word = not way.case_sensitive and _ASCII_WORD.fullmatch(needle) is not None
    parts = frozenset(_ASCII_WORD.findall(needle.casefold())) if needle.isascii() else frozenset()
    return Key(needle, way.case_sensitive, _is_spaced(needle[0]), _is_spaced(needle[-1]), one_word, parts)


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys of an entry. Those that are one ASCII word each are looked up together in a text of such words."""

    every: tuple[Key, ...]
    words: frozenset[str]
    others: tuple[Key, ...]
    faults: tuple[Key, ...]

    def found_in(self, text: Haystack) -> frozenset[str]:
        """Return the keys that a text has."""
        if text.words is None:
            return frozenset(key.needle for key in self.every if key.occurs(text))
        found = self.words & text.words
        more = [key.needle for key in self.others if key.occurs(text)]
        return found.union(more) if more else found


@lru_cache(maxsize=16_384)
def all_ready(names: tuple[str, ...], way: Way) -> Keys:
    """Make the keys of an entry ready, each once."""
    every = tuple({key.needle: key for name in names if (key := ready(name, way)).needle}.values())
    words = frozenset(key.needle for key in every if key.one_word)
    others = tuple(key for key in every if not key.one_word)
    return Keys(every, words, others, tuple(key for key in others if key.fault))


def pattern_of(key: str, way: Way) -> tuple[str, bool, bool, bool] | None:
    """Return pattern, ignore case, dot matches all and multi-line of a key that is an expression, else None."""
    slashed = _SLASHED.fullmatch(key.strip()) if "/" in key else None
    if slashed is not None:
        flags = slashed[2]
        return slashed[1], "i" in flags, "s" in flags, "m" in flags
    return (key, not way.case_sensitive, False, False) if way.use_regex and key else None


def compiled_pattern(pattern: str, ignore_case: bool, dot_all: bool, multi_line: bool) -> Any:
    """Return a compiled pattern, or as text why there is none."""
    try:
        re2 = import_module("re2")
    except ImportError:
        return "regular expressions need the extra: pip install 'ovstore[lore]'"
    if len(pattern) > _MAX_PATTERN:
        return f"the expression is longer than {_MAX_PATTERN:,} characters"
    options = re2.Options()
    options.case_sensitive = not ignore_case
    options.log_errors = False
    flags = ("s" if dot_all else "") + ("m" if multi_line else "")
    source = (f"(?{flags})" if flags else "") + _ESCAPE.sub(_code_point, pattern)
    try:
        return re2.compile(source, options)
    except re2.error as error:
        said = error.args[0] if error.args else "it cannot be read"
        return f"RE2 does not take it: {said.decode('utf-8', 'replace') if isinstance(said, bytes) else said}"


def _code_point(escape: re.Match[str]) -> str:
    """Write JavaScript's escape of a character as RE2 does; a surrogate pair is one character."""
    if escape[0] == r"\\":
        return escape[0]
    if escape["high"]:
        point = 0x10000 + ((int(escape["high"], 16) & 0x3FF) << 10) + (int(escape["low"], 16) & 0x3FF)
    else:
        point = int(escape["point"] or escape["unit"], 16)
    return rf"\x{{{point:x}}}"


def _is_spaced(character: str) -> bool:
    """Whether a character is part of a word in a script that puts spaces between words; combining marks are."""
    if character.isascii():
        return character.isalnum() or character == "_"
    if not (character.isalnum() or _is_mark(character)):
        return False
    point = ord(character)
    return not any(low <= point <= high for low, high in _UNSPACED)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
