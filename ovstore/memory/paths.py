"""Paths of memories: what a rendered directory and file name may be, and which of them a disk would take for one.

Names come from a model that reads what users write. A slash divides a path only where the template itself has it;
one that a value brings is refused rather than mended, since two values must never come out as one path unseen. So is
what leaves the directory or what a file system reads in another way: `.` and `..`, backslashes, drive letters, control
characters, parts of nothing. Only length is mended: a component over 255 bytes ends in a hash of the whole.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ovstore.errors import PathError
from ovstore.grammar import OVERVIEWS
from ovstore.memory.files import MAX_DEPTH
from ovstore.names import folded, printable

MAX_COMPONENT: Final = 255
"""Bytes of UTF-8, the limit of the usual file systems."""

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_EXTENSION: Final = re.compile(r"\.[A-Za-z0-9]{1,15}\Z")
# A noncharacter: it stands for the slashes of a user's space while a path is rendered, and no value may hold it.
_SLASH: Final = "\uffff"


def space(user_space: str, peer_id: str | None = None) -> str:
    """Return what `user_space` is while a path is rendered: a user's own space, or the one for a peer of theirs."""
    user = component(user_space, "user_space")
    return user if peer_id is None else f"{user}{_SLASH}peers{_SLASH}{component(peer_id, 'peer_id')}"


def component(value: object, name: str) -> str:
    """Return an identity as one component of a path, or say by name what is wrong with it."""
    if not isinstance(value, str):
        raise PathError(f"{name} has to be text, not {type(value).__name__}", part=name)
    if _SLASH in value:
        raise PathError(f"{name} holds U+FFFF, which is no character", part=name)
    if why := _wrong(value):
        raise PathError(f"{name} ({_quoted(value)}) {why}", part=name)
    return value


def part(text: str) -> str:
    """Pass on what one `{{ … }}` of a path prints, or refuse it."""
    if why := _wrong(text):
        raise PathError(f"{_quoted(text)} {why}", part=text)
    return text


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a path can use: without those that are None, which are as good as missing."""
    given = {name: value for name, value in values.items() if value is not None}
    for name, value in given.items():
        if any(_SLASH in text for text in _texts(value)):
            raise PathError(f"{name} holds U+FFFF, which is no character", part=name)
    return given


def _texts(value: Any, level: int = 0) -> Iterator[str]:
    """Yield the texts in a value, as deep as a template may get at them."""
    if isinstance(value, str):
        yield value
    elif level > MAX_DEPTH:
        return
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for item in pair for text in _texts(item, level + 1))
    elif isinstance(value, (list, tuple)):
        yield from (text for item in value for text in _texts(item, level + 1))


def finish(rendered: str) -> str:
    """Return a rendered path as it is used, each component checked and none too long."""
    text = rendered.replace(_SLASH, "/")
    scheme = match[0] if (match := _SCHEME.match(text)) else ""
    components = text[len(scheme) :].split("/")
    for name in components:
        if why := _wrong(name):
            raise PathError(f"{_quoted(name)} in the path {_quoted(text)} {why}", part=name)
        if _DRIVE.match(name):
            raise PathError(f"{_quoted(name)} in the path {_quoted(text)} begins like a drive letter", part=name)
    if folded(components[-1]) in OVERVIEWS:
        raise PathError(
            f"{_quoted(components[-1])} is the overview of its directory, and no memory", part=components[-1]
        )
    return scheme + "/".join(shortened(name) for name in components)


def shortened(name: str) -> str:
    """Return a component of at most 255 bytes: a longer one is cut, and told apart by 8 digits of its SHA-256.

    The extension stays. The same name always gives the same result.

    >>> len(shortened("x" * 300 + ".md")), shortened("x" * 300 + ".md")[-12:]
    (255, '_9569758f.md')
    """
    if len(name.encode()) <= MAX_COMPONENT:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    extension = match[0] if (match := _EXTENSION.search(name)) else ""
    stem = name[: len(name) - len(extension)].encode()[: MAX_COMPONENT - len(extension) - len(digest) - 1]
    return f"{stem.decode(errors='ignore')}_{digest}{extension}"


def collisions(paths: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of paths that a disk may take for one: the same but for case or Unicode form, or the same.

    >>> collisions(["a/Ramen.md", "a/ramen.md", "a/udon.md"])
    (('a/Ramen.md', 'a/ramen.md'),)
    """
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(folded(path), []).append(path)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _wrong(text: str) -> str | None:
    """Say what is wrong with a text as one component of a path, or as a part of one."""
    if all(character.isspace() or unicodedata.category(character) == "Cf" for character in text):
        return "is empty"
    if text in (".", ".."):
        return "would leave its directory"
    if "/" in text:
        return "holds a slash, which would add a directory; write it without, or let the template replace it"
    if "\\" in text:
        return "holds a backslash"
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        return "holds a control character or a line break"
    return None


def _quoted(text: str) -> str:
    return f"`{printable(text if len(text) <= 80 else text[:77] + '...')}`"
