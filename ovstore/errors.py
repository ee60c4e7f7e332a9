"""Everything ovstore raises, with data on it; the message is made for a person, the attributes for a program.

    OvstoreError
    ├── InvalidArgumentError (ValueError)        .argument .value
    ├── InvalidDocumentError (ValueError)        .findings
    ├── NotFoundError (LookupError)              .what .name .near
    ├── ConflictError                            .expected .found
    │   └── StalePlanError
    ├── RiskError                                .changes .risk .accepted
    ├── ContractError                            .dependents
    ├── RenderError                              .key .scope .version .path .line .column
    │   ├── MissingVariablesError (ValueError)   .names .near
    │   ├── VariableTypeError (ValueError)       .name .expected .found
    │   ├── UnsafeTemplateError
    │   └── RenderBudgetError                    .limit
    ├── MergeError (ValueError)                  .field .block .failures .merged
    ├── PathError (ValueError)                   .part .memory_type
    ├── ContextBudgetError                       .budget .needed .segments
    ├── TamperError
    └── DatabaseError                            .lost
        └── MigrationRequiredError               .command

Errors can be pickled, so that they cross process pools whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ovstore.context.trace import Segment
    from ovstore.results import Change, Dependent, Finding


def _rebuild(cls: type[OvstoreError], message: str, data: dict[str, Any]) -> OvstoreError:
    error = cls.__new__(cls, message)
    Exception.__init__(error, message)
    error.__dict__.update(data)
    return error


class OvstoreError(Exception):
    """The root of all errors that ovstore raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), str(self), self.__dict__)


class InvalidArgumentError(OvstoreError, ValueError):
    """A name, a time or another argument is not of the form that ovstore takes."""

    def __init__(self, message: str, *, argument: str, value: object = None) -> None:
        super().__init__(message)
        self.argument = argument
        self.value = value


class InvalidDocumentError(OvstoreError, ValueError):
    """One or more documents were refused; `findings` has every reason, not only the first."""

    def __init__(self, findings: Sequence[Finding], message: str | None = None) -> None:
        self.findings = tuple(findings)
        lines = [message or _count(len([f for f in self.findings if f.severity == "error"]), "error")]
        super().__init__("\n".join([*lines, *(str(finding) for finding in self.findings)]))


class NotFoundError(OvstoreError, LookupError):
    """What was named does not exist in the layers that the call may see; `near` has names that do."""

    def __init__(self, message: str, *, what: str, name: str, near: Iterable[str] = ()) -> None:
        self.what = what
        self.name = name
        self.near = tuple(near)
        super().__init__(message + (f"; did you mean {' or '.join(self.near)}?" if self.near else ""))


class ConflictError(OvstoreError):
    """The store is not where the caller thought it was; nothing was changed."""

    def __init__(self, message: str, *, expected: object = None, found: object = None) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class StalePlanError(ConflictError):
    """The store moved after the plan was made: make the plan again."""


class RiskError(OvstoreError):
    """The write is riskier than the caller accepted; `changes` has each field with its risk."""

    def __init__(self, message: str, *, changes: Sequence[Change], risk: str, accepted: str) -> None:
        super().__init__(message)
        self.changes = tuple(changes)
        self.risk = risk
        self.accepted = accepted


class ContractError(OvstoreError):
    """The write would make overrides above it invalid; `dependents` names whose."""

    def __init__(self, message: str, *, dependents: Sequence[Dependent]) -> None:
        super().__init__(message)
        self.dependents = tuple(dependents)


class RenderError(OvstoreError):
    """A template could not be made into text. Line and column count in the YAML file where it is known, from 1."""

    def __init__(
        self,
        message: str,
        *,
        key: str | None = None,
        scope: str | None = None,
        version: int | None = None,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.key = key
        self.scope = scope
        self.version = version
        self.path = path
        self.line = line
        self.column = column


class MissingVariablesError(RenderError, ValueError):
    """Required variables were not given."""

    def __init__(self, message: str, *, names: Sequence[str], near: Sequence[str] = (), **where: Any) -> None:
        super().__init__(message, **where)
        self.names = tuple(names)
        self.near = tuple(near)


class VariableTypeError(RenderError, ValueError):
    """A variable was given a value that is not of its declared type."""

    def __init__(self, message: str, *, name: str, expected: str, found: str, **where: Any) -> None:
        super().__init__(message, **where)
        self.name = name
        self.expected = expected
        self.found = found


class UnsafeTemplateError(RenderError):
    """The template reached for something that the sandbox does not give."""


class RenderBudgetError(RenderError):
    """The template went over one of the limits of RenderLimits; `limit` is its name."""

    def __init__(self, message: str, *, limit: str, **where: Any) -> None:
        super().__init__(message, **where)
        self.limit = limit


class MergeError(OvstoreError, ValueError):
    """An update does not fit the stored memory; nothing of it was merged.

    `field` is None where the whole update is refused, `block` counts a patch's blocks from 1. Of a whole record,
    `failures` has one error for each field that failed and `merged` the record without those: who would rather keep
    the rest can take it.
    """

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        block: int | None = None,
        failures: Sequence[MergeError] = (),
        merged: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.field = field
        self.block = block
        self.failures = tuple(failures)
        self.merged = None if merged is None else dict(merged)


class PathError(OvstoreError, ValueError):
    """A memory has no path: `part` is the value that is missing, by name, or the text that no path can hold."""

    def __init__(self, message: str, *, part: str, memory_type: str | None = None) -> None:
        super().__init__(message)
        self.part = part
        self.memory_type = memory_type


class ContextBudgetError(OvstoreError):
    """What may never be dropped from a context needs more tokens than its budget; `segments` are those that remain."""

    def __init__(self, message: str, *, budget: int, needed: int, segments: Sequence[Segment]) -> None:
        super().__init__(message)
        self.budget = budget
        self.needed = needed
        self.segments = tuple(segments)


class TamperError(OvstoreError):
    """What the database holds is not what ovstore wrote."""


class DatabaseError(OvstoreError):
    """The database refused, could not be reached, or went away.

    `lost`: the connection went away during a write, so that nobody knows whether its commit arrived. The same change
    set can be written again: it is applied once.
    """

    lost = False


class MigrationRequiredError(DatabaseError):
    """The database has no ovstore schema, or an older one; `command` brings it up to date."""

    def __init__(self, message: str, *, command: str) -> None:
        super().__init__(message)
        self.command = command


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
