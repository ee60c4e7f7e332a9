"""JSON for programs: one object, or one a line for lists, with the names of the results; notes and errors on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ovstore.cli import output, phrases
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
    Rendered,
    Resolved,
    Tenant,
    Version,
    plain,
)

if TYPE_CHECKING:
    from ovstore.context import AssembledContext
    from ovstore.memory import Impact
    from ovstore.transfer import Plan, Watch


class JsonOutput:
    """Writes every answer as the dataclass that the library returns for it."""

    def listings(self, found: Sequence[Listing], *, scope: str) -> None:
        _lines(found)

    def resolved(self, found: Resolved) -> None:
        _line(found)

    def source(self, found: Version) -> None:
        _line(found)

    def explanation(self, found: Explanation, *, scope: str) -> None:
        _line(found)

    def versions(self, found: Sequence[Version], *, labels: output.Labels) -> None:
        _lines({**plain(v), "labels": list(labels.get((v.scope, v.number), ()))} for v in found)

    def entries(self, found: Iterable[Entry], *, field: str | None = None) -> None:
        _lines(found)

    def diff(self, found: Diff) -> None:
        _line(found)

    def rendered(self, found: Rendered) -> None:
        _line(found)

    def published(self, done: Published, *, draft: bool, again: bool = False) -> None:
        _line(done)

    def move(self, done: Move, *, verb: str, again: bool = False) -> None:
        _line(done)

    def moves(self, done: Sequence[Move]) -> None:
        _lines(done)

    def reading(self) -> AbstractContextManager[Watch]:
        return nullcontext(lambda done, total: None)

    def plan(self, plan: Plan, *, applied: bool = False) -> None:
        """Write a plan; of one that is about to be applied, whose answer comes after, only what it warns of."""
        if not applied:
            _line(plan)
            return
        for finding in plan.findings:
            if finding.severity == "warning":
                self.warning(finding)

    def change_set(self, done: ChangeSet, *, planned: int) -> None:
        _line(done)

    def assembled(self, found: AssembledContext) -> None:
        _line(found)

    def files(self, written: Sequence[Path]) -> None:
        _lines({"path": str(path)} for path in written)

    def findings(self, found: Sequence[Finding]) -> None:
        _lines(found)

    def problems(self, found: Sequence[Problem]) -> None:
        _lines(found)

    def heads(self, found: Mapping[str, str]) -> None:
        _line(found)

    def tenants(self, found: Sequence[Tenant]) -> None:
        _lines(found)

    def health(self, found: Sequence[output.Health]) -> None:
        _lines(found)

    def set_up(self, done: output.SetUp) -> None:
        _line(done)

    def schema(self, found: output.Schema) -> None:
        _line(found)

    def memory_path(self, path: str) -> None:
        _line({"path": path})

    def memory_text(self, what: str, text: str) -> None:
        _line({what: text})

    def record(self, found: Mapping[str, Any]) -> None:
        _line(found)

    def impact(self, key: str, found: Impact) -> None:
        _line(found)

    def note(self, text: str) -> None:
        click.echo(_json({"note": text}), err=True)

    def warning(self, finding: Finding) -> None:
        click.echo(_json({"note": str(finding), "finding": finding}), err=True)

    def error(self, error: OvstoreError) -> None:
        message = phrases.message_of(error)
        click.echo(_json({"error": type(error).__name__, "message": message, **_data(error)}), err=True)


def _data(error: OvstoreError) -> dict[str, Any]:
    """The attributes of an error; what a caller gave and JSON cannot hold is left to the message."""
    return {name: value for name, value in vars(error).items() if name != "value"}


def _lines(values: Iterable[object]) -> None:
    for value in values:
        _line(value)


def _line(value: object) -> None:
    click.echo(_json(value))


def _json(value: object) -> bytes:
    # JSON is UTF-8 whatever the locale; what no UTF-8 has (from a command line in another encoding) becomes its escape.
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, default=str)
    return text.encode("utf-8", "backslashreplace")
