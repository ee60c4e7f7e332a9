"""Books of character cards, version 2 and 3: one entry as fields of ours, and back.

What SillyTavern adds to a card lies in an entry's `extensions`, in snake case; older programs wrote camel case, and
both are read. Version 3 adds `use_regex` and decorators, lines such as `@@depth 4` at the head of the content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ovstore.context import sillytavern
from ovstore.context.request import WorldbookEntry
from ovstore.context.sillytavern import FLAGS, INHERITED, NUMBERS, ROLES, Reading, Tell

FOR_EVER: Final = 10**9
"""Messages: what "from then on" becomes for sticky and cooldown."""

_SNAKE: Final[Mapping[str, str]] = {
    **{theirs: ours for ours, (theirs, _) in (*NUMBERS.items(), *FLAGS.items())},
    **{theirs: ours for ours, theirs in INHERITED.items()},
    "groupWeight": "group_weight",
    "scanDepth": "scan_depth",
    "delayUntilRecursion": "delay_until_recursion",
    "outletName": "outlet_name",
    "characterFilter": "character_filter",
}
_SAME: Final = (
    *("position", "role", "selectiveLogic", "probability", "useProbability"),
    *("group", "vectorized", "triggers"),
)
MEANT: Final = frozenset({*_SNAKE.keys(), *_SNAKE.values(), *_SAME})
"""The names in an entry's extensions that stand for fields of ours."""

_DECORATOR: Final = re.compile(r"(@@@?)([A-Za-z_]+)[ \t]*(.*)")


def read(raw: Mapping[str, Any], tell: Tell, *, version: int) -> dict[str, Any]:
    """Return the fields of a card entry but its uid."""
    extensions = raw.get("extensions")
    extra = extensions if isinstance(extensions, dict) else {}
    header, content = decorators(raw.get("content")) if version == 3 else ([], raw.get("content"))
    alike: dict[str, Any] = {}
    for camel, snake in _SNAKE.items():
        alike[camel] = extra[snake] if snake in extra else extra.get(camel)
    alike |= {name: extra.get(name) for name in _SAME}
    alike |= {name: value for name, value in extra.items() if name.startswith("match_")}
    if alike["position"] is None:
        alike["position"] = {"before_char": 0, "after_char": 1}.get(str(raw.get("position")))
    enabled = raw.get("enabled")
    alike |= {
        "key": raw.get("keys"),
        "keysecondary": raw.get("secondary_keys"),
        "content": content,
        "comment": raw.get("comment") or raw.get("name"),
        "constant": raw.get("constant"),
        "selective": raw.get("selective"),
        "order": raw.get("insertion_order"),
        "disable": not enabled if isinstance(enabled, bool) else None,
        "caseSensitive": raw.get("case_sensitive") if alike["caseSensitive"] is None else alike["caseSensitive"],
    }
    fields = sillytavern.read(alike, tell)
    if raw.get("priority") is not None:
        fields["priority"] = Reading(raw, tell).number("priority", 0, least=None)
    if version == 3 and raw.get("use_regex") is True:
        if fields["constant"] or fields["secondary_keys"]:
            tell("use-regex", "with use_regex, version 3 ignores constant and secondary keys")
        fields |= {"use_regex": True, "constant": False, "secondary_keys": ()}
    _apply(header, fields, tell)
    return fields


def write(entry: WorldbookEntry, *, version: int) -> dict[str, Any]:
    """Return an entry as a card has it; SillyTavern's own fields only where they say something."""
    alike = sillytavern.write(entry.model_copy(update={"use_regex": False}))
    empty = sillytavern.write(WorldbookEntry(uid="0", content=""))
    extensions: dict[str, Any] = {}
    for name, value in alike.items():
        if value != empty[name] and name not in ("key", "keysecondary", "content", "comment", "constant", "selective"):
            extensions[_SNAKE.get(name, name)] = value
    extensions.pop("order", None)
    extensions.pop("disable", None)
    extensions.pop("case_sensitive", None)
    if entry.position in ("before", "after"):
        extensions.pop("position", None)
    written: dict[str, Any] = {
        "keys": list(entry.keys),
        "content": entry.content,
        "extensions": extensions,
        "enabled": entry.enabled,
        "insertion_order": entry.order,
        "comment": entry.comment,
        "selective": entry.selective,
        "secondary_keys": list(entry.secondary_keys),
        "constant": entry.constant,
        "position": "after_char" if entry.position == "after" else "before_char",
    }
    if entry.case_sensitive is not None:
        written["case_sensitive"] = entry.case_sensitive
    if entry.priority is not None:
        written["priority"] = entry.priority
    if version == 3:
        written["use_regex"] = entry.use_regex
    return written


def decorators(content: Any) -> tuple[list[tuple[str, str, str]], Any]:
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
    rest = decorators(content)[1]
    return "" if rest is content else str(content)[: len(str(content)) - len(rest)]


def _apply(header: list[tuple[str, str, str]], fields: dict[str, Any], tell: Tell) -> None:
    """Carry out decorators: of one name the first, and a fallback (@@@) only where the one before it was not known."""
    seen: set[str] = set()
    understood = False
    names = {name for _, name, _ in header}
    for mark, name, value in header:
        if mark == "@@@" and understood:
            continue
        if name in seen:
            continue
        seen.add(name)
        carry_out = _DECORATORS.get(name)
        understood = carry_out is not None and carry_out(fields, value, names)
        if not understood:
            tell("decorator", f"@@{name} {value}".rstrip() + " is not carried out here")


def _number(value: str) -> int | None:
    return int(value) if sillytavern.WRITTEN_NUMBER.fullmatch(value) else None


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


_DECORATORS: Final[Mapping[str, Callable[[dict[str, Any], str, set[str]], bool]]] = {
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
