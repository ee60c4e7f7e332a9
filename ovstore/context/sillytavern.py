"""SillyTavern's world info: one entry of it as fields of ours, and back.

Only meaning is carried here; how a file keeps what has no meaning to us is in `dialects`. Numbers may come as text, as
older files have them; what is of a wrong type counts as absent and is told of.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final, TypeGuard, TypeVar

from ovstore.context import decorators, faults
from ovstore.context.decorators import Tell
from ovstore.context.fields import MOST_SPAN
from ovstore.context.request import Logic, LoreRole, Position, WorldbookEntry

T = TypeVar("T")

POSITIONS: Final[tuple[Position, ...]] = (
    "before",
    "after",
    "an_top",
    "an_bottom",
    "at_depth",
    "em_top",
    "em_bottom",
    "outlet",
)
LOGICS: Final[tuple[Logic, ...]] = ("and_any", "not_all", "not_any", "and_all")
ROLES: Final[tuple[LoreRole, ...]] = ("system", "user", "assistant")

NUMBERS: Final[Mapping[str, tuple[str, int]]] = {
    "order": ("order", 100),
    "depth": ("depth", 4),
    "sticky": ("sticky", 0),
    "cooldown": ("cooldown", 0),
    "delay": ("delay", 0),
}
FLAGS: Final[Mapping[str, tuple[str, bool]]] = {
    "constant": ("constant", False),
    "selective": ("selective", True),
    "group_override": ("groupOverride", False),
    "ignore_budget": ("ignoreBudget", False),
    "exclude_recursion": ("excludeRecursion", False),
    "prevent_recursion": ("preventRecursion", False),
}
INHERITED: Final[Mapping[str, str]] = {
    "case_sensitive": "caseSensitive",
    "match_whole_words": "matchWholeWords",
    "use_group_scoring": "useGroupScoring",
}


WRITTEN_NUMBER: Final = re.compile(r"-?[0-9]{1,10}")


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


class Reading:
    """Reads the values of one raw entry; `tell` hears of each that has to be passed over."""

    def __init__(self, raw: Mapping[str, Any], tell: Tell) -> None:
        self.raw = raw
        self.tell = tell

    def number(self, name: str, default: int, *, least: int | None = 0) -> int:
        value = self.raw.get(name)
        if value is None:
            return default
        if isinstance(value, str) and WRITTEN_NUMBER.fullmatch(value.strip()):
            value = int(value)
        if not _is_number(value) or value != int(value) or abs(value) > MOST_SPAN:
            return self.passed_over(name, value, default)
        if least is not None and value < least:
            self.tell("out-of-range", f"{name} is {value}; {least} is taken")
            return least
        return int(value)

    def fraction(self, name: str, default: float, *, most: float) -> float:
        value = self.raw.get(name)
        if value is None:
            return default
        if not _is_number(value):
            return self.passed_over(name, value, default)
        if not 0 <= value <= most:
            self.tell("out-of-range", f"{name} is {value}; it goes from 0 to {most:g}")
        return min(max(value, 0), most)

    def flag(self, name: str, default: bool) -> bool:
        value = self.raw.get(name)
        if value is None:
            return default
        return value if isinstance(value, bool) else self.passed_over(name, value, default)

    def inherited(self, name: str) -> bool | None:
        value = self.raw.get(name)
        return value if value is None or isinstance(value, bool) else self.passed_over(name, value, None)

    def text(self, name: str, default: str = "") -> str:
        value = self.raw.get(name)
        return default if value is None else value if isinstance(value, str) else self.passed_over(name, value, default)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.raw.get(name)
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        return self.passed_over(name, value, tuple[str, ...]())

    def one_of(self, name: str, choices: tuple[Any, ...], default: Any) -> Any:
        value = self.raw.get(name)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(choices):
            return choices[value]
        return self.passed_over(name, value, default)

    def passed_over(self, name: str, value: object, default: T) -> T:
        self.tell("unreadable", f"{name} is {faults.shown(value)}; it counts as {faults.shown(default)}")
        return default


def read(raw: Mapping[str, Any], tell: Tell, *, headed: bool = True) -> dict[str, Any]:
    """Return the fields of an entry but its uid. `headed`: its content may begin with decorators."""
    reading = Reading(raw, tell)
    header, content = decorators.split(reading.text("content")) if headed else ([], reading.text("content"))
    fields: dict[str, Any] = {
        "content": content,
        "comment": reading.text("comment"),
        "enabled": not reading.flag("disable", False),
        "keys": reading.texts("key"),
        "secondary_keys": reading.texts("keysecondary"),
        "logic": reading.one_of("selectiveLogic", LOGICS, "and_any"),
        "position": reading.one_of("position", POSITIONS, "before"),
        "role": reading.one_of("role", ROLES, "system"),
        "outlet": reading.text("outletName") or None,
        "group": reading.text("group"),
        "group_weight": reading.fraction("groupWeight", 100, most=1e9),
        "probability": reading.fraction("probability", 100, most=100) if reading.flag("useProbability", True) else 100,
        "scan_depth": None if raw.get("scanDepth") is None else reading.number("scanDepth", 0),
        "delay_until_recursion": delayed(raw.get("delayUntilRecursion"), reading, "delayUntilRecursion"),
    }
    for ours, (theirs, default) in NUMBERS.items():
        fields[ours] = reading.number(theirs, default, least=None if ours == "order" else 0)
    for ours, (theirs, flag) in FLAGS.items():
        fields[ours] = reading.flag(theirs, flag)
    for ours, theirs in INHERITED.items():
        fields[ours] = reading.inherited(theirs)
    tell_of(fields, raw, tell)
    decorators.apply(header, fields, tell, decorators.SILLYTAVERN)
    return fields


def delayed(value: object, reading: Reading, name: str) -> int:
    """A level of recursion; true is the first."""
    return int(value) if isinstance(value, bool) else reading.number(name, 0)


def tell_of(fields: Mapping[str, Any], raw: Mapping[str, Any], tell: Tell) -> None:
    """Say what a raw entry, whichever its dialect, asks for that is not done here."""
    if raw.get("vectorized"):
        tell("vectorized", "there it is found by meaning; here by its keys alone")
    limits = [name for name in ("triggers", "characterFilter", "character_filter") if _says_something(raw.get(name))]
    limits += [name for name, value in raw.items() if name.startswith(("match", "match_")) and value is True]
    if limits := [name for name in limits if name not in ("matchWholeWords", "match_whole_words")]:
        tell("condition", f"conditions that are not looked at here: {', '.join(sorted(limits))}")
    if "{{" in fields["content"]:
        tell("macro", "macros such as {{char}} are not expanded: lore is a value")


def _says_something(value: Any) -> bool:
    return any(_says_something(inner) for inner in value.values()) if isinstance(value, dict) else bool(value)


def write(entry: WorldbookEntry) -> dict[str, Any]:
    """Return an entry as SillyTavern writes it, but its uid; what that has no place for is not there."""
    keys, secondary = entry.keys, entry.secondary_keys
    if entry.use_regex:
        keys, secondary = (tuple(_slashed(key, entry) for key in group) for group in (keys, secondary))
    written: dict[str, Any] = {
        "key": list(keys),
        "keysecondary": list(secondary),
        "comment": entry.comment,
        "content": entry.content,
        "disable": not entry.enabled,
        "selectiveLogic": LOGICS.index(entry.logic),
        "position": POSITIONS.index(entry.position),
        "role": ROLES.index(entry.role),
        "outletName": entry.outlet or "",
        "group": entry.group,
        "groupWeight": _plain(entry.group_weight),
        "probability": _plain(entry.probability),
        "useProbability": True,
        "scanDepth": entry.scan_depth,
        "delayUntilRecursion": entry.delay_until_recursion,
    }
    for ours, (theirs, _) in (*NUMBERS.items(), *FLAGS.items()):
        written[theirs] = getattr(entry, ours)
    for ours, theirs in INHERITED.items():
        written[theirs] = getattr(entry, ours)
    return written


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


def _slashed(key: str, entry: WorldbookEntry) -> str:
    return key if key.startswith("/") else f"/{key.replace('/', chr(92) + '/')}/{'' if entry.case_sensitive else 'i'}"
