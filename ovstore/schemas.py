"""JSON Schemas (2020-12) of the YAML kinds, made from the grammar, for editors and for programs that write templates.

An editor that knows one completes keys, shows what they mean and marks what is wrong while it is typed. A schema takes
every file that ovstore reads without a finding; it can't say everything that `check` says (whether Jinja parses,
whether a default has its variable's type), and it marks each unknown key, of which `check` only warns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from ovstore.grammar import EXTENDS, GRAMMAR, NAME, OLDER_SPELLINGS, REMOVE, Attribute, Form
from ovstore.names import MAX_KEY, Kind

Name = Literal["prompt", "memory", "patch", "settings"]
NAMES: Final[tuple[Name, ...]] = ("prompt", "memory", "patch", "settings")

Schema = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PART: Final = "[a-z][a-z0-9_-]*"
_LONG_KEY: Final = rf"^{_PART}(\.{_PART})+$"
_KEYS: Final[Mapping[Kind, str]] = {"prompt": _LONG_KEY, "memory": f"^{_PART}$", "settings": _LONG_KEY}
_TITLES: Final[Mapping[Name, str]] = {
    "prompt": "ovstore prompt",
    "memory": "ovstore memory schema",
    "patch": "ovstore patch",
    "settings": "ovstore settings",
}
# Text is taken as it is written, so `version: 1.10` and `language: no` are text to ovstore and not to an editor.
_SCALAR: Final = ("string", "number", "boolean")
_TYPES: Final[Mapping[Form, tuple[str, ...]]] = {
    "key": ("string",),
    "name": _SCALAR,
    "text": _SCALAR,
    "template": _SCALAR,
    "flag": ("boolean",),
    "count": ("integer",),
    "default": (),
    "object": ("object",),
    "config": ("object",),
    "mapping": ("object",),
    "items": ("array",),
}


def schema(name: Name) -> Schema:
    """Return the JSON Schema of a kind of document, in full or as a patch.

    >>> schema("memory")["properties"]["fields"]["items"]["properties"]["merge_op"]["enum"]
    ['patch', 'replace', 'sum', 'immutable', None]
    """
    head: Schema = {"$schema": _DIALECT, "title": _TITLES[name]}
    if name == "patch":
        return head | {
            "description": "What differs from the template that `extends` names; null removes an optional key.",
            "type": "object",
            "required": [EXTENDS],
            "if": {"properties": {EXTENDS: {"pattern": _KEYS["memory"]}}},
            "then": _patch("memory"),
            "else": {"if": {"required": ["values"]}, "then": _patch("settings"), "else": _patch("prompt")},
        }
    return head | _full(name)


def _full(kind: Kind) -> Schema:
    older = OLDER_SPELLINGS[kind]
    described = _mapping(kind, GRAMMAR[kind], patch=False)
    for spelling, present in older.items():
        attribute = GRAMMAR[kind][present]
        # agent_only is true where stage is agent; the others are the same value under another name.
        value = {"type": ["boolean", "null"]} if attribute.form == "choice" else _value(kind, attribute, patch=False)
        described["properties"][spelling] = value | {
            "description": f"The older spelling of `{present}`.",
            "deprecated": True,
        }
    either = {present: spelling for spelling, present in older.items() if present in described["required"]}
    if either:
        described["required"] = [key for key in described["required"] if key not in either]
        described["anyOf"] = [{"required": [key]} for pair in either.items() for key in pair]
    return described


def _patch(kind: Kind) -> Schema:
    described = _mapping(kind, GRAMMAR[kind], patch=True)
    extends = {"type": "string", "pattern": _KEYS[kind], "description": "The key of the template that is changed."}
    described["properties"] = {EXTENDS: extends, **described["properties"]}
    return described


def _mapping(kind: Kind, attributes: Mapping[str, Attribute], *, patch: bool) -> Schema:
    described: Schema = {
        "type": "object",
        "properties": {key: _value(kind, attribute, patch=patch) for key, attribute in attributes.items()},
        "additionalProperties": False,
    }
    required = [key for key, attribute in attributes.items() if attribute.required]
    if required and not patch:
        described["required"] = required
    return described


def _value(kind: Kind, attribute: Attribute, *, patch: bool) -> Schema:
    described: Schema = {"description": _meaning(attribute)}
    optional = not attribute.required
    if attribute.form == "choice":
        return described | {"enum": [*attribute.choices, *([None] if optional else [])]}
    types = [*_TYPES[attribute.form], *(["null"] if optional and _TYPES[attribute.form] else [])]
    if types:
        described["type"] = types[0] if len(types) == 1 else types
    if attribute.form == "key":
        described |= {"pattern": _KEYS[kind], "maxLength": MAX_KEY}
    elif attribute.form == "count":
        described["minimum"] = 1
    elif attribute.form == "mapping":
        described |= _mapping(kind, attribute.attributes, patch=patch)
    elif attribute.form == "items":
        described["items"] = _item(kind, attribute, patch=patch)
    return described


def _item(kind: Kind, attribute: Attribute, *, patch: bool) -> Schema:
    described = _mapping(kind, attribute.attributes, patch=patch)
    if patch:
        removes = {"const": True, "description": "Takes the item away; stands beside its name alone."}
        described["properties"][REMOVE] = removes
        described["required"] = [NAME]
    return described


def _meaning(attribute: Attribute) -> str:
    if attribute.required or attribute.default is None or attribute.form in ("items", "config"):
        return attribute.meaning
    default = str(attribute.default).lower() if attribute.form == "flag" else attribute.default
    return f"{attribute.meaning} Without it: {default}." if default else attribute.meaning
