"""Books of character cards, version 2 and 3: one entry as fields of ours, and back.

What SillyTavern adds to a card lies in an entry's `extensions`, in snake case; older programs wrote camel case, and
both are read. Version 3 adds `use_regex` and decorators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ovstore.context import decorators, sillytavern
from ovstore.context.decorators import Tell
from ovstore.context.request import WorldbookEntry
from ovstore.context.sillytavern import FLAGS, INHERITED, NUMBERS, Reading

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


def read(raw: Mapping[str, Any], tell: Tell, *, version: int) -> dict[str, Any]:
    """Return the fields of a card entry but its uid."""
    extensions = raw.get("extensions")
    extra = extensions if isinstance(extensions, dict) else {}
    header, content = decorators.split(raw.get("content"))
    if version == 2 and header:
        tell("decorator", "version 2 has no decorators: the lines that begin with @@ are text")
        header, content = [], raw.get("content")
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
    fields = sillytavern.read(alike, tell, headed=False)
    if raw.get("priority") is not None:
        fields["priority"] = Reading(raw, tell).number("priority", 0, least=None)
    if version == 3 and raw.get("use_regex") is True:
        if fields["constant"] or fields["secondary_keys"]:
            tell("use-regex", "with use_regex, version 3 ignores constant and secondary keys")
        fields |= {"use_regex": True, "constant": False, "secondary_keys": ()}
    decorators.apply(header, fields, tell, decorators.ALL)
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
