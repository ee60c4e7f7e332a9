"""Reads loaded YAML, or plain data, by the grammar of documents: out come plain data as written and every finding.

One walk decides for each scalar what it is (text where the grammar says text, a number where it says number), checks
it, and goes on after whatever is wrong, so that one reading tells all. What the templates say is not looked at here.
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ovstore import names, rules
from ovstore.findings import described, dotted, found, shown
from ovstore.grammar import (
    EXTENDS,
    GRAMMAR,
    NAME,
    OLDER_SPELLINGS,
    REMOVE,
    Attribute,
    Form,
)
from ovstore.names import Kind, Mode
from ovstore.results import Finding
from ovstore.scalars import Scalar
from ovstore.yaml_io import Loaded, Path, Position

_WRONG: Final = object()
_MAX_NAME: Final = 200
_NEAR: Final = 0.75
_LOOKED_UP: Final = 1_000
_PROMPTS_ALONE: Final = GRAMMAR["prompt"].keys() - GRAMMAR["settings"].keys()
# Whose a memory is, what a memory file keeps beside the fields, and names that are taken in every template.
_NO_FIELD: Final = frozenset(
    {"user_space", "agent_space", "user_id", "user_ids", "peer_id", "memory_type"}
    | {"version", "links", "backlinks", "source_uri", "extract_context", "self"}
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read. Data is as far as it could be read when there are errors, None when there was nothing to read.

    `loaded` has the places under the present spellings.
    """

    key: str | None
    kind: Kind | None
    mode: Mode | None
    data: dict[str, Any] | None
    findings: tuple[Finding, ...]
    loaded: Loaded


def read(loaded: Loaded, file: str | None = None) -> Reading:
    """Read a document of any kind, full or patch; the findings of loading come first."""
    data = loaded.data
    if data is None:
        return Reading(None, None, None, None, loaded.findings, loaded)
    at = loaded.positions.get((), (1, 1))
    if not isinstance(data, dict):
        what = f"not a prompt, memory schema, settings document or patch: expected a mapping, not {_described(data)}"
        finding = found("not-a-mapping", what, path=file, at=at)
        return Reading(None, None, None, None, (*loaded.findings, finding), loaded)
    kind, mode = _kind(data)
    if kind is None:
        what = "not a prompt, memory schema, settings document or patch: none of the keys belongs to one"
        finding = found("unknown-document", what, path=file, at=at)
        return Reading(None, None, None, None, (*loaded.findings, finding), loaded)
    reader = _Reader(loaded, file, kind, mode)
    read_data = reader.document()
    return Reading(reader.key, kind, mode, read_data, (*loaded.findings, *reader.findings), reader.loaded)


def check(kind: Kind, data: Mapping[str, Any], places: Loaded | None = None, file: str | None = None) -> Reading:
    """Read a full document that is plain data already; findings have the places of what it was made from."""
    nowhere = Loaded(None, {}, {}, {}, ())
    reader = _Reader(replace(places or nowhere, data=dict(data)), file, kind, "full")
    read_data = reader.document()
    return Reading(reader.key, kind, "full", read_data, tuple(reader.findings), reader.loaded)


def _kind(data: Mapping[str, Any]) -> tuple[Kind | None, Mode]:
    if EXTENDS in data:
        key = data[EXTENDS]
        if isinstance(key, str) and names.is_memory_key(key):
            return "memory", "patch"
        return ("settings" if "values" in data else "prompt"), "patch"
    if "values" in data and "template" not in data:
        return "settings", "full"
    if "metadata" in data:
        return "prompt", "full"
    prompt, memory = GRAMMAR["prompt"].keys(), GRAMMAR["memory"].keys() | OLDER_SPELLINGS["memory"].keys()
    vague = {"name", "description"}
    memories = len(data.keys() & (memory - prompt - vague))
    prompts = len(data.keys() & (prompt - memory))
    if not memories and not prompts:
        return None, "full"
    return ("memory" if memories > prompts else "prompt"), "full"


class _Reader:
    def __init__(self, loaded: Loaded, file: str | None, kind: Kind, mode: Mode) -> None:
        self.loaded = loaded
        self.kind = kind
        self.patch = mode == "patch"
        self.key: str | None = None
        self.findings: list[Finding] = []
        self._file = file
        self._names: dict[Path, str] = {}
        self._readers: Mapping[Form, Callable[[Any, Attribute, Path, Mapping[str, Any]], Any]] = {
            "key": self._key,
            "name": self._name,
            "text": self._text,
            "template": self._text,
            "flag": self._flag,
            "count": self._count,
            "choice": self._choice,
            "default": self._default,
            "object": self._object,
            "config": self._config,
            "mapping": self._mapping,
            "items": self._items,
        }

    @property
    def _may_be_settings(self) -> bool:
        """Whether what counts as a prompt says nothing that only a prompt has: settings whose `values` are missing."""
        return self.kind == "prompt" and not self.loaded.data.keys() & _PROMPTS_ALONE

    def document(self) -> dict[str, Any]:
        data = self._present_spellings(self.loaded.data)
        head = {}
        if self.patch:
            extends = self._identity(data.pop(EXTENDS), (EXTENDS,))
            head = {} if extends is _WRONG else {EXTENDS: extends}
            if not data:
                self._say("empty-patch", (EXTENDS,), f"nothing of {head.get(EXTENDS, 'it')} is changed")
        read = head | self._attributes(data, GRAMMAR[self.kind], ())
        metadata = read.get("metadata")
        if self.key and isinstance(metadata, dict) and isinstance(category := metadata.get("category"), str):
            self._broken(("metadata",), rules.of_category(category, self.key))
        if self.key and self.kind == "memory":
            self._broken((), rules.of_stage(read.get("stage"), self.key))
        return read

    def _present_spellings(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Rename older spellings, and the places with them."""
        renamed: dict[str, str] = {}
        result: dict[str, Any] = {}
        for key, value in data.items():
            new = OLDER_SPELLINGS[self.kind].get(key)
            if new is None:
                result[key] = value
            elif new in data:
                self._say("ignored-spelling", (key,), f"`{key}` is ignored beside `{new}`", key=True)
            elif key == "agent_only":
                flag = self._flag(value, None, (key,), {}) if not _is_null(value) else False
                self._say("older-spelling", (key,), f"`{key}` is the older spelling of `{new}`", key=True)
                if flag is True or (flag is False and self.patch):
                    result[new] = "agent" if flag else "user"
                renamed[key] = new
            else:
                self._say("older-spelling", (key,), f"`{key}` is the older spelling of `{new}`", key=True)
                result[new] = value
                renamed[key] = new
        if renamed:
            self.loaded = self.loaded.renamed(renamed)
        return result

    # -- mappings and lists of items

    def _attributes(self, data: Mapping[str, Any], table: Mapping[str, Attribute], path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in data.items():
            here = (*path, key)
            attribute = table.get(key)
            if attribute is None:
                self._unknown(key, table, data, here)
            elif not _is_null(value):
                read = self._readers[attribute.form](value, attribute, here, data)
                if read is not _WRONG:
                    result[key] = read
            elif self.patch and attribute.required:
                self._say("needed-key", here, f"{self._spell(here)} cannot be removed: the document needs it")
            elif self.patch:
                result[key] = None
        if not self.patch:
            self._check_missing(data, table, path)
        return result

    def _check_missing(self, data: Mapping[str, Any], table: Mapping[str, Attribute], path: Path) -> None:
        missing = [key for key, attribute in table.items() if attribute.required and _is_null(data.get(key))]
        if not missing:
            return
        if self.kind == "memory" and not path:
            self._say("incomplete-schema", path, f"a memory schema needs {_listed(missing)} as well")
            return
        for key in missing:
            also = ", or `values` where these are settings" if not path and self._may_be_settings else ""
            self._say("missing-key", path, f"{self._spell((*path, key))} is missing{also}")

    def _unknown(self, key: str, table: Mapping[str, Attribute], data: Mapping[str, Any], path: Path) -> None:
        if key == REMOVE:
            self._say("bad-remove", path, f"{self._spell(path)}: only an item of a patch can be removed", key=True)
            return
        spelled = re.sub("[^a-z]+", "_", re.sub("(?<=[a-z])(?=[A-Z])", "_", key[:_MAX_NAME]).lower()).strip("_")
        known = {*table, *GRAMMAR["settings"]} if len(path) == 1 and self._may_be_settings else table
        near = self._near(spelled, known, _NEAR)
        if near and near not in data:
            self._say(
                "mistyped-key", path, f"{self._spell(path)} is not a key", hint=f"Did you mean `{near}`?", key=True
            )
        else:
            self._say("unknown-key", path, f"{self._spell(path)} is not a key and is ignored", key=True)

    def _mapping(self, value: Any, attribute: Attribute, path: Path, _: Mapping[str, Any]) -> Any:
        if not isinstance(value, dict):
            return self._wrong(path, "a mapping", value)
        return self._attributes(value, attribute.attributes, path)

    def _items(self, value: Any, attribute: Attribute, path: Path, _: Mapping[str, Any]) -> Any:
        if not isinstance(value, (list, tuple)):
            return self._wrong(path, "a list", value)
        result: list[dict[str, Any]] = []
        first: dict[str, Path] = {}
        for index, raw in enumerate(value):
            here = (*path, index)
            if not isinstance(raw, dict):
                self._wrong(here, "a mapping", raw)
                continue
            item = self._item(raw, attribute, here)
            name = item.get(NAME)
            if name is None:
                continue
            result.append(item)
            if name in first:
                self._duplicate(name, first[name], here)
            else:
                first[name] = here
        return result

    def _item(self, raw: Mapping[str, Any], attribute: Attribute, path: Path) -> dict[str, Any]:
        name = raw.get(NAME)
        if isinstance(name, str):
            self._names[path] = name
        if self.patch:
            if REMOVE in raw:
                return self._removal(raw, attribute, path)
            if _is_null(name):
                self._say("missing-key", path, f"{self._spell((*path, NAME))} is missing: it says which item is meant")
        item = self._attributes(raw, attribute.attributes, path)
        if path[0] == "variables":
            self._broken(path, rules.of_variable(item))
        else:
            self._broken(path, rules.of_field(item, "patch" if self.patch else "full"))
        return item

    def _removal(self, raw: Mapping[str, Any], attribute: Attribute, path: Path) -> dict[str, Any]:
        if _value(raw[REMOVE]) is not True or raw.keys() != {NAME, REMOVE}:
            what = f"{self._spell(path)}: `$remove` is true and stands beside the name alone"
            self._say("bad-remove", (*path, REMOVE), what)
        item = self._attributes({NAME: raw.get(NAME)}, attribute.attributes, path)
        return item | {REMOVE: True}

    def _duplicate(self, name: str, first: Path, second: Path) -> None:
        one, two = self._at((*first, NAME)), self._at((*second, NAME))
        lines = f": on line {one[0]} and on line {two[0]}" if one and two else ""
        self._say("duplicate-name", (*second, NAME), f"{second[0]}: `{shown(name)}` is there twice{lines}")

    # -- single values

    def _text(self, value: Any, _: Attribute | None, path: Path, __: Mapping[str, Any]) -> Any:
        if type(value) is Scalar:
            return value.text
        return value if isinstance(value, str) else self._wrong(path, "text", value)

    def _flag(self, value: Any, _: Attribute | None, path: Path, __: Mapping[str, Any]) -> Any:
        flag = _value(value)
        return flag if isinstance(flag, bool) else self._wrong(path, "true or false", value)

    def _count(self, value: Any, _: Attribute, path: Path, __: Mapping[str, Any]) -> Any:
        number = _value(value)
        if isinstance(number, str) and re.fullmatch("[0-9]{1,18}", number):
            self._say("quoted-number", path, f"{self._spell(path)}: {_described(value)} is read as a number")
            number = int(number)
        if type(number) is not int or not 1 <= number < 2**63:
            self._say("bad-max-length", path, f"{self._spell(path)} is a whole number from 1, not {_described(value)}")
            return _WRONG
        return number

    def _choice(self, value: Any, attribute: Attribute, path: Path, __: Mapping[str, Any]) -> Any:
        text = self._text(value, None, path, {})
        if text is _WRONG or text in attribute.choices:
            return text
        known = sorted(set(attribute.choices.values()))
        near = self._near(text[:_MAX_NAME].lower(), attribute.choices, 0.6)
        hint = (f"Did you mean `{near}`? " if near else "") + f"It is one of {_listed(known, 'or')}."
        self._say("unknown-choice", path, f"{self._spell(path)}: {_described(text)} is not known", hint=hint)
        return _WRONG

    def _key(self, value: Any, _: Attribute, path: Path, __: Mapping[str, Any]) -> Any:
        if not self.patch:
            return self._identity(value, path)
        text = self._text(value, None, path, {})
        if text is not _WRONG and text != self.key:
            what = f"{self._spell(path)}: {_described(text)} is not what is extended"
            self._say("changed-identity", path, what)
        return _WRONG

    def _identity(self, value: Any, path: Path) -> Any:
        """Read the key of the document: the id, the memory type, or what is extended."""
        text = self._text(value, None, path, {})
        if text is _WRONG:
            return text
        if not names.is_key(text):
            mended = re.sub("[^a-z0-9_.-]+", "_", text.lower())
            hint = f"Did you mean `{mended}`?" if names.is_key(mended) else None
            self._say("bad-id", path, f"{self._spell(path)}: {_described(text)} is not a key", hint=hint)
            return _WRONG
        if names.is_memory_key(text) != (self.kind == "memory"):
            form = "one part, without dots" if self.kind == "memory" else "two parts or more, category.name"
            self._say("bad-id", path, f"{self._spell(path)}: `{text}` does not have {form}", hint="Change the key.")
            return _WRONG
        self.key = text
        return text

    def _name(self, value: Any, _: Attribute, path: Path, __: Mapping[str, Any]) -> Any:
        name = self._text(value, None, path, {})
        if name is _WRONG:
            return name
        usable = name.isidentifier() and unicodedata.is_normalized("NFKC", name)
        if not name.strip() or len(name) > _MAX_NAME or not (name.isprintable() and (usable or self.kind == "memory")):
            self._say("bad-name", path, f"{self._spell(path)}: {_described(name)} cannot be a name")
        elif self.kind == "memory" and name in _NO_FIELD:
            self._say("reserved-name", path, f"{self._spell(path)}: {_described(name)} already means something else")
        elif not usable:
            self._say("awkward-name", path, f"{self._spell(path)}: no template can use the name {_described(name)}")
        return name

    # -- free JSON

    def _default(self, value: Any, _: Attribute, path: Path, siblings: Mapping[str, Any]) -> Any:
        """Read a default as its variable's type says; in a patch that does not tell the type, as free JSON."""
        kind = rules.type_of(siblings)
        if kind == "string" and isinstance(value, (str, Scalar)):
            return self._text(value, None, path, {})
        if kind == "bool" and isinstance(_value(value), bool):
            return _value(value)
        read = self._free(value, path)
        if read is _WRONG or kind in (None, "any") or type(read) in rules.PYTHON_TYPES.get(str(kind), ()):
            return read
        self._say("wrong-default", path, f"{self._spell(path)}: {_described(value)} is not of the type {kind}")
        return _WRONG

    def _object(self, value: Any, _: Attribute, path: Path, __: Mapping[str, Any]) -> Any:
        return self._free(value, path) if isinstance(value, dict) else self._wrong(path, "a mapping", value)

    def _config(self, value: Any, _: Attribute, path: Path, __: Mapping[str, Any]) -> Any:
        read = self._object(value, _, path, {})
        if read is _WRONG or self.patch:
            return read
        return {key: item for key, item in read.items() if item is not None}

    def _free(self, value: Any, path: Path) -> Any:
        """Return plain JSON; what cannot be JSON becomes null with a finding."""
        if isinstance(value, str):
            return value
        if isinstance(value, dict):
            return {self._free_key(key, path): self._free(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._free(item, (*path, index)) for index, item in enumerate(value)]
        scalar = _value(value)
        if isinstance(scalar, float) and not math.isfinite(scalar):
            self._say("bad-number", path, f"{self._spell(path)}: {_described(value)} is no number that JSON can hold")
        elif type(value) is Scalar and value.doubtful:
            read = str(scalar).lower()
            self._say(
                "ambiguous-scalar", path, f"{self._spell(path)}: {_described(value)} without quotes is read as {read}"
            )
        elif scalar is not None and not isinstance(scalar, (bool, int, float)):
            self._say("not-json", path, f"{self._spell(path)}: JSON has no form for {_described(value)}")
            return None
        return scalar

    def _free_key(self, key: Any, path: Path) -> str:
        if not isinstance(key, str):
            self._say("not-json", path, f"{self._spell(path)}: keys are text, not {_described(key)}")
        return str(key)

    # -- findings

    def _broken(self, path: Path, broken: Iterable[rules.Broken]) -> None:
        for rule in broken:
            here = (*path, rule.attribute)
            name = self._spell(path if path in self._names else here)
            self._say(rule.code, here, f"{name} {rule.what}")

    def _wrong(self, path: Path, expected: str, value: Any) -> object:
        hint = "Leave the quotes out." if expected == "true or false" and isinstance(value, str) else None
        self._say("wrong-type", path, f"{self._spell(path)} takes {expected}, not {_described(value)}", hint=hint)
        return _WRONG

    def _say(self, code: str, path: Path, message: str, *, hint: str | None = None, key: bool = False) -> None:
        at = self._at(path, key=key)
        self.findings.append(found(code, message, path=self._file, at=at, hint=hint))

    def _near(self, word: str, known: Iterable[str], cutoff: float) -> str | None:
        # Looking takes a tenth of a millisecond: a file of nothing but unknown words must not take seconds.
        near = difflib.get_close_matches(word, known, 1, cutoff) if len(self.findings) < _LOOKED_UP else []
        return near[0] if near else None

    def _at(self, path: Path, *, key: bool = False) -> Position | None:
        return self.loaded.keys.get(path) or self.loaded.at(path) if key else self.loaded.at(path)

    def _spell(self, path: Path) -> str:
        """Write a path with the names of items where they are known: `variables[query].type`."""
        if len(path) > 1 and path[:2] in self._names:
            return f"{path[0]}[{shown(self._names[path[:2]])}]" + "".join(f".{dotted((part,))}" for part in path[2:])
        return dotted(path)


def _value(value: Any) -> Any:
    return value.value if type(value) is Scalar else value


def _is_null(value: Any) -> bool:
    return value is None or (type(value) is Scalar and value.value is None)


def _listed(words: list[str], last: str = "and") -> str:
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _described(value: Any) -> str:
    return described(None if _is_null(value) else value)
