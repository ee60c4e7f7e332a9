"""Layers made into one document: merging patches, making patches, and telling where each field came from.

Everything here works on documents as written (see `documents`) and is pure: nothing passed in is altered, and what
comes out may share its inner parts with what went in, so it is read and not changed. How a value merges stands in the
grammar: mappings key by key, items by name, everything else in its place. A merge does not ask whether the outcome is
a valid document; `documents.build` does. What cannot be merged at all is a FoldError.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ovstore import names
from ovstore.documents import canonical
from ovstore.grammar import EXTENDS, GRAMMAR, IDENTITY, NAME, REMOVE, Attribute
from ovstore.hashing import canonical_json, document_hash
from ovstore.names import Kind, Mode
from ovstore.results import Origin

FORMAT: Final = 1
"""Which defaults and merge semantics the words of a document have; a later change of ours gets the next number."""


class FoldError(Exception):
    """These layers make no document: `layer` is in the way, `what` it does says why, and the message says both.

    `items` are those that it removes and that are not there, by section and name.
    """

    def __init__(self, layer: str, what: str, items: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(f"{layer} {what}")
        self.layer = layer
        self.what = what
        self.items = tuple(items)


@dataclass(frozen=True, slots=True)
class LayerVersion:
    """One version of a key with its place in a chain. `label` is what pointed at it, None where a number did."""

    scope: str
    label: str | None
    number: int
    mode: Mode
    kind: Kind
    data: dict[str, Any]
    source_hash: bytes
    document_hash: bytes
    path: str
    category: str
    base: str
    format: int = FORMAT

    def __str__(self) -> str:
        return names.refer(self.scope, self.number)


@dataclass(frozen=True, slots=True)
class Folded:
    """A full document as written, and the layers it was made of, nearest first: patches and then a full version."""

    kind: Kind
    data: dict[str, Any]
    used: tuple[LayerVersion, ...]

    @property
    def fields(self) -> dict[str, Origin]:
        """The layer that each field came from, by path, worked out on each call.

        It is the layer that set the field last. A default that nobody wrote comes from the layer that brought its item
        or document, or that took away what was written before.
        """
        base = self.used[-1]
        data = base.data
        origins = dict.fromkeys(fields_of(self.kind, data), Origin(base.scope, base.number))
        for layer in reversed(self.used[:-1]):
            data = _merge(self.kind, data, layer.data, str(layer))
            origin = Origin(layer.scope, layer.number)
            set_here = {path for path, inner, _ in _walk(self.kind, layer.data) if inner.form not in ("key", "name")}
            origins = {
                path: origin if path in set_here else origins.get(path, origin) for path in fields_of(self.kind, data)
            }
        return {str(path): origin for path, origin in origins.items()}


class Path(NamedTuple):
    """Where a field stands in a document; `str()` of it is how people and the log spell it.

    >>> print(Path("fields", "content", "merge_op"), Path("llm_config", None, "temperature"), Path("template"))
    fields[content].merge_op llm_config.temperature template
    """

    section: str
    item: str | None = None
    attribute: str | None = None

    def __str__(self) -> str:
        owner = self.section if self.item is None else f"{self.section}[{self.item}]"
        return owner if self.attribute is None else f"{owner}.{self.attribute}"


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: unlike in Python, 1, 1.0 and true are three values."""
    if one is other or type(one) is not type(other):
        return one is other
    # Of equal Python type, only numbers inside others and 0.0 beside -0.0 can still be equal and not the same.
    return bool(one == other and (type(one) in (str, int, bool) or canonical_json(one) == canonical_json(other)))


def fields_of(kind: Kind, data: Mapping[str, Any]) -> dict[Path, Any]:
    """Return every field of a full document in the grammar's order, defaults filled in and absent ones left out."""
    return {path: value for path, _, value in _walk(kind, canonical(kind, "full", data))}


def _walk(kind: Kind, data: Mapping[str, Any]) -> Iterator[tuple[Path, Attribute, Any]]:
    """Yield the fields that a document or a patch has, each with its grammar; only in a patch can a value be None."""
    for section, attribute in GRAMMAR[kind].items():
        if section not in data:
            continue
        value = data[section]
        if value is None or attribute.merging == "whole":
            yield Path(section), attribute, value
        elif attribute.merging == "names":
            for item in value:
                for name, inner in attribute.attributes.items():
                    if name in item:
                        yield Path(section, item[NAME], name), inner, item[name]
        else:
            for name in value:
                yield Path(section, None, name), attribute.attributes.get(name, attribute), value[name]


def fold(layers: Sequence[LayerVersion]) -> Folded:
    """Fold the layers of one key, nearest first: onto the nearest full one go the patches before it, farthest first.

    Raises FoldError where no layer is full, or a patch does not fit what is below it.
    """
    if not layers:
        raise FoldError("no layer", "was given to fold")
    depth = next((depth for depth, layer in enumerate(layers) if layer.mode == "full"), None)
    if depth is None:
        raise FoldError(str(layers[-1]), "is a patch, and no layer below it has a full document for it to extend")
    base = layers[depth]
    data = base.data
    for layer in reversed(layers[:depth]):
        if layer.kind != base.kind:
            what = f"is a patch of kind {layer.kind}, and {base} below it is of kind {base.kind}"
            raise FoldError(str(layer), what)
        data = _merge(base.kind, data, layer.data, str(layer))
    return Folded(base.kind, data, tuple(layers[: depth + 1]))


def folded_hash(folded: Folded) -> bytes:
    """Return the document hash (32 bytes) of a fold: that of the version itself where only one took part."""
    if len(folded.used) == 1:
        return folded.used[0].document_hash
    return document_hash(canonical(folded.kind, "full", folded.data))


def apply_patch(kind: Kind, base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the base with a patch merged in: the base's order kept, what is new behind, the identity untouched.

    Raises FoldError where the patch removes an item that the base does not have.

    >>> base = {"memory_type": "profile", "directory": "d", "filename_template": "f", "fields": [{"name": "content"}]}
    >>> patch = {"extends": "profile", "fields": [{"name": "content", "merge_op": "replace"}]}
    >>> apply_patch("memory", base, patch)["fields"]
    [{'name': 'content', 'merge_op': 'replace'}]
    """
    return _merge(kind, base, patch, "the patch")


def _merge(kind: Kind, base: Mapping[str, Any], patch: Mapping[str, Any], patch_name: str) -> dict[str, Any]:
    merged = dict(base)
    absent: list[tuple[str, str]] = []
    for section, attribute in GRAMMAR[kind].items():
        if section not in patch or attribute.form == "key":
            continue
        value = patch[section]
        if value is None:
            merged.pop(section, None)
        elif attribute.merging == "keys":
            merged[section] = _merge_keys(attribute, base.get(section, {}), value)
        elif attribute.merging == "names":
            below = {item[NAME]: item for item in base.get(section, ())}
            absent += [(section, change[NAME]) for change in value if REMOVE in change and change[NAME] not in below]
            merged[section] = _merge_items(attribute, below, value)
        else:
            merged[section] = value
    if absent:
        items = " and ".join(f"{section}[{name}]" for section, name in absent)
        raise FoldError(patch_name, f"removes {items}, which what it extends does not have", absent)
    return merged


def _merge_keys(attribute: Attribute, base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in changes.items():
        inner = attribute.attributes.get(name)
        if inner is not None and inner.form == "key":
            continue
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged


def _merge_items(
    attribute: Attribute, base: Mapping[str, dict[str, Any]], changes: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    merged = dict(base)
    for change in changes:
        if REMOVE in change:
            merged.pop(change[NAME], None)
        else:
            merged[change[NAME]] = _merge_keys(attribute, base.get(change[NAME], {}), change)
    return list(merged.values())


def diff(kind: Kind, base: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, Any]:
    """Return a patch that makes of the base a document equal to the target, another full document of the same key.

    It holds only what differs in meaning: neither order nor a default that becomes explicit. Where the target falls
    back to a default, the patch spells it out. Two equal documents give a patch with `extends` alone.
    """
    before, after = fields_of(kind, base), fields_of(kind, target)
    differing = [path for path in before | after if not same(before.get(path), after.get(path))]
    patch: dict[str, Any] = {EXTENDS: _key(kind, target)}
    for section, attribute in GRAMMAR[kind].items():
        paths = [path for path in differing if path.section == section]
        if not paths:
            continue
        if attribute.merging == "names":
            patch[section] = _diff_items(before, after, paths, target.get(section, ()))
        elif attribute.merging == "keys":
            patch[section] = {path.attribute: after.get(path) for path in paths}
        else:
            patch[section] = after.get(Path(section))
    return patch


def _diff_items(
    before: Mapping[Path, Any], after: Mapping[Path, Any], paths: Sequence[Path], written: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """What differs item by item; a new item goes in as it was written."""
    as_written = {item[NAME]: item for item in written}
    changes: dict[str, dict[str, Any]] = {}
    for path in paths:
        name = str(path.item)
        named = path._replace(attribute=NAME)
        if named not in after:
            changes[name] = {NAME: name, REMOVE: True}
        elif named not in before:
            changes[name] = as_written[name]
        else:
            changes.setdefault(name, {NAME: name})[str(path.attribute)] = after.get(path)
    return list(changes.values())


def _key(kind: Kind, data: Any) -> str:
    for step in IDENTITY[kind]:
        data = data[step]
    return str(data)
