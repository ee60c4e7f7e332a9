"""Findings over documents: what reading says of a file, what rendering says of its templates, each with its place.

`check_source` looks at one file by itself; a patch can only be checked whole once it is folded, which
`check_folded` does with the same rules. Nothing here reads a file or a database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ovstore import documents, names, rendering
from ovstore.documents import Parsed
from ovstore.errors import InvalidDocumentError
from ovstore.findings import found
from ovstore.grammar import EXTENDS, GRAMMAR, IDENTITY, NAME
from ovstore.loading import Later
from ovstore.names import Kind
from ovstore.rendering import TemplateFinding
from ovstore.results import Finding
from ovstore.yaml_io import Path

if TYPE_CHECKING:
    from ovstore.context import faults, policy
else:
    # Asked for by the documents of context assembly alone.
    faults, policy = map(Later, ("context.faults", "context.policy"))

POLICY: Final = "context.policy"
_OF_NAMES: Final = frozenset({"undeclared-variable", "unused-variable"})


@dataclass(frozen=True, slots=True)
class Checked:
    """A source that was read and checked as far as it can be by itself."""

    source: bytes
    path: str | None
    parsed: Parsed
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity == "error")

    @property
    def place(self) -> tuple[int, int] | None:
        """Line and column where the document says which key it is for."""
        if self.parsed.kind is None:
            return None
        return self.parsed.at(*((EXTENDS,) if self.parsed.mode == "patch" else IDENTITY[self.parsed.kind]))

    def place_of(self, section: str, name: str) -> tuple[int, int] | None:
        """Line and column of an item by its name."""
        items = (self.parsed.data or {}).get(section, ())
        return next((self.parsed.at(section, n) for n, item in enumerate(items) if item.get(NAME) == name), None)


def stored(source: bytes) -> bytes:
    """Return the bytes of a source as they are kept: a byte order mark in front is no part of it."""
    return source.removeprefix(b"\xef\xbb\xbf")


def check_source(source: bytes, path: str | None = None) -> Checked:
    """Read a source and check it; never raises for what it says."""
    parsed = documents.parse(source, path)
    findings = [
        *parsed.findings,
        *(_placed(f, parsed, path) for f in _of_templates(parsed)),
        *_of_context(parsed, path),
    ]
    return Checked(source, path, parsed, _sorted(findings))


def _of_context(parsed: Parsed, path: str | None) -> list[Finding]:
    """Check the documents that context assembly reads: the policy is settings it can use, its wrappers are prompts."""
    category, _, layer = (parsed.key or "").partition(".")
    if category != "context" or not parsed.data:
        return []
    kind = "settings" if parsed.key == POLICY else "prompt" if layer in policy.WRAPPED else parsed.kind
    if parsed.mode == "full" and parsed.kind != kind:
        known = {"settings": "settings, with `values`", "prompt": "a prompt, with a `template`"}
        what = f"{parsed.key} is {known[str(kind)]}: no assembly could use it as it is"
        return [found("wrong-kind", what, path=path, at=parsed.at("metadata", "id"))]
    values = parsed.data.get("values")
    if parsed.key != POLICY or not isinstance(values, dict):
        return []
    return [
        found("bad-policy", f"{faults.place(('values', *steps))}: {what}", path=path, at=parsed.at("values", *steps))
        for steps, what in policy.problems(values)
    ]


def _of_templates(parsed: Parsed) -> tuple[TemplateFinding, ...]:
    """Check the templates of a document also where it has errors: all of them are told at once."""
    if parsed.kind is None or parsed.data is None:
        return ()
    if parsed.mode == "patch":
        return rendering.check_patch(parsed.kind, parsed.data)
    found = rendering.check(parsed.kind, parsed.data)
    return found if parsed.whole else tuple(f for f in found if f.code not in _OF_NAMES)


def check_folded(kind: Kind, data: Mapping[str, Any], checked: Checked | None = None) -> tuple[Finding, ...]:
    """Check a folded document; places are those of the patch that was folded last, where it holds the field."""
    if checked is not None:
        checked = replace(checked, parsed=_folded(checked.parsed, kind, data))
    places, path = (checked.parsed.loaded, checked.path) if checked else (None, None)
    _, findings = documents.build(kind, data, places, path)
    return _sorted((*(_meant(f, data) for f in findings), *placed(rendering.check(kind, data), checked)))


def _meant(finding: Finding, data: Mapping[str, Any]) -> Finding:
    """Say of an item that lacks what each item needs which one it was perhaps meant to patch."""
    lacking = _LACKING.match(finding.message) if finding.code == "missing-key" else None
    if lacking is None:
        return finding
    section, name = lacking.groups()
    near = " or ".join(names.near(name, [item[NAME] for item in data.get(section) or () if NAME in item]))
    meant = f"did you mean {near}?" if near else "a patch matches items by their names."
    return replace(finding, hint=f"No item below is called {name}; {meant} A new item needs all its keys.")


_LACKING: Final = re.compile(r"(variables|fields)\[([^\]]+)\]\.\w+ is missing")


def _folded(patch: Parsed, kind: Kind, data: Mapping[str, Any]) -> Parsed:
    """Return a patch with its places under the paths of what it was folded into, where items stand elsewhere."""
    lists = [section for section, attribute in GRAMMAR[kind].items() if attribute.merging == "names"]
    index = {(section, item[NAME]): n for section in lists for n, item in enumerate(data.get(section) or ())}

    def move(path: Path) -> Path | None:
        if len(path) < 2 or path[0] not in lists or patch.data is None:
            return path
        item = index.get((str(path[0]), patch.data[str(path[0])][path[1]].get(NAME)))
        return None if item is None else (path[0], item, *path[2:])

    return replace(patch, loaded=patch.loaded.moved(move))


def nothing_to_extend(finding: Finding, key: str, scope: str, known: Iterable[str]) -> Finding:
    """Say of a patch that does not apply that nobody has what it extends, with near keys of those that are known."""
    if finding.code != "patch-does-not-apply":
        return finding
    chain = ", ".join(names.chain(scope))
    near = " or ".join(names.near(key, known))
    return found(
        finding.code,
        f"extends names {key}, which no layer of {scope} ({chain}) knows; a patch needs something to extend",
        path=finding.path,
        at=None if finding.line is None or finding.column is None else (finding.line, finding.column),
        hint=f"Did you mean {near}?" if near else "Correct the key, or publish what it extends first.",
    )


def require(checked: Checked) -> None:
    """Raise InvalidDocumentError with all findings if one of them is an error."""
    if checked.errors:
        raise InvalidDocumentError(checked.findings)


def parts_of(kind: Kind, data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of the prompts that a document includes by name."""
    template = data.get("template") if kind == "prompt" else None
    return rendering.parts(template) if isinstance(template, str) else ()


def placed(found: Sequence[TemplateFinding], checked: Checked | None) -> tuple[Finding, ...]:
    """Return findings of a template with their places in its file, where there is one."""
    parsed, path = (checked.parsed, checked.path) if checked else (None, None)
    return tuple(_placed(f, parsed, path) for f in found)


def _placed(found: TemplateFinding, parsed: Parsed | None, path: str | None) -> Finding:
    place = parsed.template_position(found.path, found.line, found.column) if parsed else None
    line, column = place or (None, None)
    return Finding(found.code, found.severity, found.message, path, line, column, found.hint)


def _sorted(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda f: (f.line or 0, f.column or 0, f.severity, f.code)))
