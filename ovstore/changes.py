"""What differs between two documents, field by field, how dangerous each difference is, and what callers would miss.

Documents are compared in canonical form: order, spelling of types and defaults that become explicit are no changes,
and values are compared as JSON, where 1, 1.0 and true differ. Risks are those of one table below; `docs/risk.md` is
that table for people. What a program cannot tell (whether other prose shifts what a model extracts) an author declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ovstore.documents import canonical
from ovstore.grammar import GRAMMAR, NAME, walk
from ovstore.hashing import canonical_json, document_hash
from ovstore.layering import Folded, Path, fields_of, folded_hash, same
from ovstore.names import RISKS, Kind, Risk, printable
from ovstore.rendering import skeleton
from ovstore.results import Change

DOCUMENT: Final = "document"
"""Path and field of the one row of a document that appears or disappears."""

UNLISTED: Final[Risk] = "high"
"""The risk of a field that has neither a place in RISK_OF nor a rule of its own."""

_METADATA: Final[Mapping[str, Risk]] = {
    "metadata.name": "low",
    "metadata.description": "low",
    "metadata.version": "low",
    "metadata.language": "medium",
    "metadata.category": "medium",
}

RISK_OF: Final[Mapping[Kind, Mapping[str, Risk]]] = {
    "prompt": {
        **_METADATA,
        "variables.type": "high",
        "variables.description": "low",
        "variables.max_length": "medium",
        "output_schema": "high",
        "llm_config": "medium",
    },
    "memory": {
        "description": "medium",
        "fields.name": "high",
        "fields.type": "high",
        "fields.description": "medium",
        "fields.merge_op": "very_high",
        "fields.init_value": "medium",
        "filename_template": "very_high",
        "content_template": "medium",
        "embedding_template": "medium",
        "overview_template": "medium",
        "directory": "very_high",
        "enabled": "high",
        "operation_mode": "very_high",
        "stage": "high",
        "peer_enabled": "high",
    },
    "settings": {**_METADATA, "values": "high"},
}
"""The risk of a field that changes in a document or an item that stays, by its path in the grammar."""

_FREE: Final = frozenset(
    name for table in GRAMMAR.values() for name, attribute in table.items() if attribute.form == "config"
)
"""Sections of free JSON that are compared key by key."""

_PLACES: Final = {kind: {path: place for place, (path, _) in enumerate(walk(kind))} for kind in GRAMMAR}

Fields = Mapping[Path, Any]


def compare(kind: Kind, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[Change, ...]:
    """Return the fields in which two full documents differ, each with its risk, in the grammar's order, items by name.

    An item that comes or goes gives a row for each of its attributes, defaults included, and they share one risk: that
    of the item coming or going. So the merge_op of a new field is no very_high row, since no stored memory changes its
    meaning by it. None for a document that is not there: one row with the document's hash.

    >>> base = {"memory_type": "profile", "directory": "d", "filename_template": "f", "fields": [{"name": "content"}]}
    >>> change, = compare("memory", base, base | {"fields": [{"name": "content", "merge_op": "replace"}]})
    >>> change.path, change.field, change.before, change.after, change.risk
    ('fields[content].merge_op', 'merge_op', 'patch', 'replace', 'very_high')
    """
    if before is None or after is None:
        return _comes_or_goes(kind, before, after)
    old, new = fields_of(kind, before), fields_of(kind, after)
    differing = [path for path in {**old, **new} if not same(old.get(path), new.get(path))]
    return tuple(
        Change(str(path), _field(path), old.get(path), new.get(path), _risk(kind, path, old, new))
        for path in sorted(differing, key=lambda path: _place(kind, path))
    )


def between(before: Folded | None, after: Folded | None) -> tuple[Change, ...]:
    """Compare what is served with what will be. Two documents of different kinds have no field in common: one row."""
    either = after or before
    if either is None:
        return ()
    if before is not None and after is not None and before.kind != after.kind:
        old, new = folded_hash(before).hex(), folded_hash(after).hex()
        return (Change(DOCUMENT, DOCUMENT, old, new, UNLISTED),)
    return compare(either.kind, before.data if before else None, after.data if after else None)


def _comes_or_goes(kind: Kind, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[Change, ...]:
    if before is after:
        return ()
    old, new = (
        None if data is None else document_hash(canonical(kind, "full", data)).hex() for data in (before, after)
    )
    gone: Risk = "very_high" if kind == "memory" else "high"
    return (Change(DOCUMENT, DOCUMENT, old, new, "low" if old is None else gone),)


def _field(path: Path) -> str:
    """The attribute of the grammar that a path ends in; a key of free JSON is an author's and counts as its section."""
    return path.section if path.section in _FREE else path.attribute or path.section


def _place(kind: Kind, path: Path) -> tuple[int, str, int, str]:
    places = _PLACES[kind]
    attribute = path.attribute or ""
    return places[path.section,], path.item or "", places.get((path.section, attribute), 0), attribute


def _risk(kind: Kind, path: Path, old: Fields, new: Fields) -> Risk:
    if path.item is not None:
        name = path._replace(attribute=NAME)
        if name not in new:
            return "high"
        if name not in old:
            return "high" if kind == "memory" or _must_be_given(name, new) else "medium"
    match _in_grammar(path):
        case "template":
            return "low" if skeleton(old[path]) == skeleton(new[path]) else "medium"
        case "variables.required":
            return "high" if new[path] else "medium"
        case "variables.default":
            return "high" if path not in new and new[path._replace(attribute="required")] else "medium"
        case listed:
            return RISK_OF[kind].get(listed, UNLISTED)


def _in_grammar(path: Path) -> str:
    return path.section if _field(path) == path.section else f"{path.section}.{path.attribute}"


def _must_be_given(variable: Path, fields: Fields) -> bool:
    """Whether a call without the variable fails: one that is required and has a default can be left out."""
    return (
        bool(fields[variable._replace(attribute="required")]) and variable._replace(attribute="default") not in fields
    )


def worst(*risks: Risk) -> Risk:
    """Return the highest of some risks; of none, none."""
    return max(risks, key=RISKS.index, default="none")


def highest(changes: Iterable[Change]) -> Risk:
    """Return the risk of a write that makes these changes.

    >>> highest([])
    'none'
    """
    return worst(*(change.risk for change in changes))


def broken_contract(kind: Kind, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return, as sentences, what a caller of `before` would miss in `after`; none where all calls still work.

    A call gives values by name. It still works if each of its names is still declared with a type that takes at least
    the values that the old one took, if nothing must be given that could be left out, and if the answer is described by
    the same output_schema. A broken contract always shows in `compare` as a change of high risk or more.
    """
    if before is None:
        return ()
    if after is None:
        return ("the template is gone: no call of it works any more",)
    old, new = fields_of(kind, before), fields_of(kind, after)
    broken = [
        sentence
        for path in {**old, **new}
        if path.section == "variables" and path.attribute == NAME
        for sentence in _broken_variable(path, old, new)
    ]
    schema = Path("output_schema")
    if not same(old.get(schema), new.get(schema)):
        broken.append("output_schema is not the same: programs that read the answer may fail")
    return tuple(broken)


def broken_between(before: Folded, after: Folded | None) -> tuple[str, ...]:
    """Return what callers of one folded document would miss in another, of whatever kind that is; see above."""
    if after is not None and after.kind != before.kind:
        return (f"it was of the kind {before.kind} and is of the kind {after.kind}: no call of it works any more",)
    return broken_contract(before.kind, before.data, after.data if after else None)


def _broken_variable(variable: Path, old: Fields, new: Fields) -> Iterable[str]:
    if variable not in new:
        yield f"variable {variable.item} is gone: what calls give for it is no longer used"
        return
    if variable in old:
        kept = variable._replace(attribute="type")
        if not _takes(new[kept], old[kept]):
            yield f"variable {variable.item} takes {new[kept]} and took {old[kept]}: calls that give it so fail"
        if _must_be_given(variable, new) and not _must_be_given(variable, old):
            yield f"variable {variable.item} must be given and could be left out: calls without it fail"
    elif _must_be_given(variable, new):
        yield f"variable {variable.item} is new and must be given: calls without it fail"


def _takes(new: str, old: str) -> bool:
    """Whether a type takes every value of another."""
    return new in (old, "any") or (new, old) == ("float", "int")


def told(change: Change, arrow: str = "->") -> str:
    """Say in words what happened to a field: its two values, or that the document came or went."""
    if change.field == DOCUMENT:
        return "appears" if change.before is None else "disappears" if change.after is None else "is another"
    return f" {arrow} ".join(beside(change.before, change.after))


def beside(before: Any, after: Any, width: int = 60) -> tuple[str, str]:
    """Return two values as they are shown beside each other: long ones are cut so that their first difference is seen.

    >>> print(*beside("a " * 50 + "cold", "a " * 50 + "warm", width=24))
    …a a a a a a cold" …a a a a a a warm"
    """
    old, new = ("absent" if value is None else canonical_json(value) for value in (before, after))
    if max(len(old), len(new)) <= width:
        return printable(old), printable(new)
    same_until = next((n for n, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    begin = same_until - width // 2 if same_until > width * 3 // 4 else 0
    return _cut(old, begin, width), _cut(new, begin, width)


def _cut(text: str, begin: int, width: int) -> str:
    shown = ("…" if begin else "") + text[begin:]
    return printable(shown if len(shown) <= width else shown[: width - 1] + "…")
