"""Documents: what a prompt, a memory schema and a patch hold once they are read, as frozen models and as plain data.

A document **as written** is plain JSON data: the order and the values of the file, nothing filled in, older spellings
renamed, unknown keys left out, absent and null the same (in a patch null stays: it removes). The **canonical** document
has every default filled in, one spelling for each type, and its items sorted by name; two documents are equal when
their canonical JSON is. `parse` goes from YAML to a document and never raises: everything wrong is a finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from ovstore.names import Kind, Mode
from ovstore.results import Finding


class Document(BaseModel):
    model_config = ConfigDict(frozen=True)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A file that was read. Key, kind and mode are told as far as they could be made out."""

    key: str | None
    kind: Kind | None
    mode: Mode | None
    data: dict[str, Any] | None
    document: Document | None
    findings: tuple[Finding, ...]
    positions: Mapping[tuple[str | int, ...], tuple[int, int]]

    def at(self, *path: str | int) -> tuple[int, int] | None: ...
    def template_position(self, path: tuple[str | int, ...], line: int, column: int) -> tuple[int, int] | None: ...


def parse(source: bytes, path: str | None = None) -> Parsed:
    """Read YAML."""
    raise NotImplementedError


def build(kind: Kind, data: Mapping[str, Any]) -> tuple[Document | None, tuple[Finding, ...]]:
    """Make a full document of plain data."""
    raise NotImplementedError


def canonical(kind: Kind, mode: Mode, data: Mapping[str, Any]) -> dict[str, Any]:
    raise NotImplementedError


def generate(document: Document | Mapping[str, Any]) -> bytes:
    raise NotImplementedError
