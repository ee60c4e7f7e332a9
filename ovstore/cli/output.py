"""What a command can write, in either form. Data goes to stdout; notes and errors go to stderr."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ovstore.errors import OvstoreError
from ovstore.results import (
    ChangeSet,
    Diff,
    Entry,
    Explanation,
    Finding,
    Listing,
    Move,
    Problem,
    Published,
    Resolved,
    Tenant,
    Version,
)

if TYPE_CHECKING:
    from ovstore.context import AssembledContext
    from ovstore.memory import Impact
    from ovstore.transfer import Plan, Watch


@dataclass(frozen=True, slots=True)
class SetUp:
    """What `init` found or made: the database, and what is in its seed layer."""

    url: str
    created: bool
    templates: int


@dataclass(frozen=True, slots=True)
class Schema:
    """Where the schema of a database stands and what this ovstore needs."""

    url: str
    state: str
    needed: str
    upgraded: bool


@dataclass(frozen=True, slots=True)
class Health:
    """One thing that `doctor` looked at."""

    check: str
    ok: bool
    found: str
    advice: str = ""


Labels: TypeAlias = Mapping[tuple[str, int], Sequence[str]]
"""The labels that point at a version, by its scope and number."""


class Output(Protocol):
    """The two forms, text for people and JSON for programs, have these methods."""

    def listings(self, found: Sequence[Listing], *, scope: str) -> None: ...

    def resolved(self, found: Resolved) -> None: ...

    def source(self, found: Version) -> None: ...

    def explanation(self, found: Explanation, *, scope: str) -> None: ...

    def versions(self, found: Sequence[Version], *, labels: Labels) -> None: ...

    def entries(self, found: Iterable[Entry], *, field: str | None = None) -> None: ...

    def diff(self, found: Diff) -> None: ...

    def published(self, done: Published, *, draft: bool, again: bool = False) -> None: ...

    def move(self, done: Move, *, verb: str, again: bool = False) -> None: ...

    def moves(self, done: Sequence[Move]) -> None: ...

    def reading(self) -> AbstractContextManager[Watch]: ...

    def plan(self, plan: Plan, *, applied: bool = False) -> None: ...

    def change_set(self, done: ChangeSet, *, planned: int) -> None: ...

    def files(self, written: Sequence[Path]) -> None: ...

    def findings(self, found: Sequence[Finding]) -> None: ...

    def problems(self, found: Sequence[Problem]) -> None: ...

    def heads(self, found: Mapping[str, str]) -> None: ...

    def tenants(self, found: Sequence[Tenant]) -> None: ...

    def health(self, found: Sequence[Health]) -> None: ...

    def set_up(self, done: SetUp) -> None: ...

    def schema(self, found: Schema) -> None: ...

    def memory_path(self, path: str) -> None: ...

    def memory_text(self, what: str, text: str) -> None: ...

    def assembled(self, found: AssembledContext) -> None: ...

    def record(self, found: Mapping[str, Any]) -> None: ...

    def impact(self, key: str, found: Impact) -> None: ...

    def note(self, text: str) -> None: ...

    def warning(self, finding: Finding) -> None: ...

    def error(self, error: OvstoreError) -> None: ...
