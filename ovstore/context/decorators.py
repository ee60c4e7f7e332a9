"""Decorators: lines such as `@@depth 4` at the head of an entry's content, which say how it is to be used.

Character cards of version 3 have many, SillyTavern's own files two. All of them are taken out of the content; what is
not carried out here is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

Tell = Callable[[str, str], None]

ROLES: Final = ("system", "user", "assistant")
FOR_EVER: Final = 10**9
"""Messages: what "from then on" becomes for sticky and cooldown."""

_DECORATOR: Final = re.compile(r"(@@@?)([A-Za-z_]+)[ \t]*(.*)")
_WRITTEN: Final = re.compile(r"-?[0-9]{1,9}")


def split(content: Any) -> tuple[list[tuple[str, str, str]], Any]:
    """Split a content into the decorators at its head, as marks, names and values, and the rest."""
    if not isinstance(content, str) or not content.lstrip().startswith("@@"):
        return [], content
    found: list[tuple[str, str, str]] = []
    lines = content.lstrip().split("\n")
    while lines and (not lines[0].strip() or _DECORATOR.fullmatch(lines[0].strip())):
        line = lines.pop(0).strip()
        if match := _DECORATOR.fullmatch(line):
            found.append((match[1], match[2].lower(), match[3].strip()))
    return found, "\n".join(lines)


def header_of(content: Any) -> str:
    """Return the decorators of a content with the line breaks behind them."""
    rest = split(content)[1]
    return "" if rest is content else str(content)[: len(str(content)) - len(rest)]


def apply(header: list[tuple[str, str, str]], fields: dict[str, Any], tell: Tell, known: Collection[str]) -> None:
    """Carry out those that are known: of one name the first, and a fallback (@@@) only where the one before was not."""
    seen: set[str] = set()
    understood = False
    names = {name for _, name, _ in header}
    for mark, name, value in header:
        if mark == "@@@" and understood:
            continue
        if name in seen:
            continue
        seen.add(name)
        carry_out = _CARRIED_OUT[name] if name in known else None
        understood = carry_out is not None and carry_out(fields, value, names)
        if not understood:
            tell("decorator", f"@@{name} {value}".rstrip() + " is not carried out here")


def _number(value: str) -> int | None:
    return int(value) if _WRITTEN.fullmatch(value) else None


def _depth(fields: dict[str, Any], value: str, names: set[str]) -> bool:
    number = _number(value)
    if number is None:
        return False
    if "position" not in names:
        fields |= {"position": "at_depth", "depth": max(0, number)}
    return True


def _role(fields: dict[str, Any], value: str, names: set[str]) -> bool:
    if value in ROLES:
        fields["role"] = value
    return value in ROLES


def _scan_depth(fields: dict[str, Any], value: str, names: set[str]) -> bool:
    number = _number(value)
    if number is not None:
        fields["scan_depth"] = max(0, number)
    return number is not None


def _position(fields: dict[str, Any], value: str, names: set[str]) -> bool:
    known = {"before_desc": "before", "after_desc": "after"}
    if value in known:
        fields["position"] = known[value]
    return value in known


def _activate(fields: dict[str, Any], value: str, names: set[str]) -> bool:
    fields["constant"] = True
    return True


def _dont_activate(fields: dict[str, Any], value: str, names: set[str]) -> bool:
    if "activate" not in names:
        fields["enabled"] = False
    return True


def _keep(fields: dict[str, Any], value: str, names: set[str]) -> bool:
    fields["sticky"] = FOR_EVER
    return True


def _once(fields: dict[str, Any], value: str, names: set[str]) -> bool:
    fields["cooldown"] = FOR_EVER
    return True


def _more_keys(logic: str) -> Callable[[dict[str, Any], str, set[str]], bool]:
    def add(fields: dict[str, Any], value: str, names: set[str]) -> bool:
        """Taken as secondary keys, which an entry has of one logic only."""
        found = tuple(part.strip() for part in value.split(",") if part.strip())
        if not found or fields["secondary_keys"] or fields.get("use_regex"):
            return False
        fields |= {"secondary_keys": found, "selective": True, "logic": logic}
        return True

    return add


_CARRIED_OUT: Final[Mapping[str, Callable[[dict[str, Any], str, set[str]], bool]]] = {
    "depth": _depth,
    "role": _role,
    "scan_depth": _scan_depth,
    "position": _position,
    "activate": _activate,
    "dont_activate": _dont_activate,
    "keep_activate_after_match": _keep,
    "dont_activate_after_match": _once,
    "additional_keys": _more_keys("and_any"),
    "exclude_keys": _more_keys("not_any"),
}
ALL: Final = frozenset(_CARRIED_OUT)
SILLYTAVERN: Final = frozenset({"activate", "dont_activate"})
