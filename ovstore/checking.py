"""Findings over documents: what reading says of a file, what rendering says of its templates, each with its place.

`check_source` looks at one file by itself; a patch can only be checked whole once it is folded, which
`check_folded` does with the same rules. Nothing here reads a file or a database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ovstore import documents, rendering
from ovstore.documents import Parsed
from ovstore.errors import InvalidDocumentError
from ovstore.names import Kind
from ovstore.rendering import TemplateFinding
from ovstore.results import Finding


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

    def finding(self, code: str, message: str, *where: str | int) -> Finding:
        """Make an error that points at a path of the document in this file."""
        line, column = self.parsed.at(*where) or (None, None)
        return Finding(code, "error", message, self.path, line, column)


def stored(source: bytes) -> bytes:
    """Return the bytes of a source as they are kept: a byte order mark in front is no part of it."""
    return source.removeprefix(b"\xef\xbb\xbf")


def check_source(source: bytes, path: str | None = None) -> Checked:
    """Read a source and check it; never raises for what it says."""
    parsed = documents.parse(source, path)
    findings = list(parsed.findings)
    if parsed.document is not None and parsed.kind is not None and parsed.data is not None:
        if parsed.mode == "full":
            found = rendering.check(parsed.kind, parsed.data)
        else:
            found = rendering.check_patch(parsed.kind, parsed.data)
        findings += [_placed(f, parsed, path) for f in found]
    return Checked(source, path, parsed, _sorted(findings))


def check_folded(kind: Kind, data: Mapping[str, Any], checked: Checked | None = None) -> tuple[Finding, ...]:
    """Check a folded document; places are those of the patch that was folded last, where it holds the field."""
    built, findings = documents.build(kind, data)
    found = list(findings)
    if built is not None:
        parsed = checked.parsed if checked else None
        found += [_placed(f, parsed, checked.path if checked else None) for f in rendering.check(kind, data)]
    return _sorted(found)


def require(checked: Checked) -> None:
    """Raise InvalidDocumentError with all findings if one of them is an error."""
    if checked.errors:
        raise InvalidDocumentError(checked.findings)


def parts_of(kind: Kind, data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of the prompts that a document includes by name."""
    template = data.get("template") if kind == "prompt" else None
    return rendering.parts(template) if isinstance(template, str) else ()


def _placed(found: TemplateFinding, parsed: Parsed | None, path: str | None) -> Finding:
    place = parsed.template_position(found.path, found.line, found.column) if parsed else None
    line, column = place or (None, None)
    return Finding(found.code, found.severity, found.message, path, line, column, found.hint)


def _sorted(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda f: (f.line or 0, f.column or 0, f.severity, f.code)))
