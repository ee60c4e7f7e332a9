"""What the store answers: frozen, self-explaining, the same names as the JSON of the command line.

Times are aware datetimes in UTC. Revisions and hashes are text (hashes in hex). Parts that can be changed, such as a
document's dictionaries, are made anew for each answer, so that no caller can alter what another one gets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovstore.names import Kind, Mode, Risk, Severity

if TYPE_CHECKING:
    from ovstore.documents import Document


def time_text(at: datetime, precision: str = "microseconds") -> str:
    """Write a time as every answer has it: ISO 8601 in UTC."""
    return at.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong, doubtful or noteworthy in a document; `code` never changes its meaning.

    `path` is the file; line and column count from 1 and are None where there is no file to point into.
    """

    code: str
    severity: Severity
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str = ""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)
        text = f"{place}: " if place else ""
        return f"{text}{self.severity}[{self.code}]: {self.message}" + (f" ({self.hint})" if self.hint else "")


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs. None means absent: values themselves are never None in a document."""

    path: str
    field: str
    before: Any
    after: Any
    risk: Risk


@dataclass(frozen=True, slots=True)
class Dependent:
    """A live override above a write that would no longer fold: whose it is, and why."""

    scope: str
    key: str
    version: int
    why: str

    def __str__(self) -> str:
        return f"{self.key} of {self.scope} (version {self.version}): {self.why}"


@dataclass(frozen=True, slots=True)
class Published:
    """A version that was added, or found to be live already (`unchanged`)."""

    key: str
    scope: str
    version: int
    unchanged: bool
    risk: Risk
    changes: tuple[Change, ...]
    revision: str
    change_set: str


@dataclass(frozen=True, slots=True)
class Move:
    """A label that moved: before and after are numbers in the scope, None is "not overriding".

    `restored` says, after `rollback_tenant`, whether the tenant's document is again what it was then; if not,
    `differs` names the layers that have moved since. None where the question does not arise.
    """

    key: str
    scope: str
    label: str
    before: int | None
    after: int | None
    risk: Risk
    changes: tuple[Change, ...]
    revision: str
    change_set: str
    restored: bool | None = None
    differs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeSet:
    id: str
    moves: tuple[Move, ...]
    revision: str


@dataclass(frozen=True, slots=True)
class Origin:
    scope: str
    version: int


@dataclass(frozen=True, slots=True)
class Layer:
    """One scope of the chain: what it has for the key and why it did or did not take part in the answer."""

    scope: str
    label: str | None
    version: int | None
    mode: Mode | None
    answered: bool
    why: str
    source_hash: str | None = None
    document_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A prompt that was included, and the version that answered for it."""

    key: str
    scope: str
    version: int
    document_hash: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who answered: every layer looked at (nearest first) and, for each field of the document, where it came from."""

    layers: tuple[Layer, ...]
    fields: Mapping[str, Origin]
    parts: tuple[Part, ...] = ()


class _Lazy:
    """Lets an answer make fields only when they are asked for, and then once: most are never looked at."""

    __slots__ = ("_make",)

    def __getattr__(self, name: str) -> Any:
        # Reached for a field that nothing was put into yet, and for what is no field at all.
        if name == "_make" or name not in self.__slots__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        value = self._make(name)
        object.__setattr__(self, name, value)
        return value


@dataclass(frozen=True, slots=True)
class Resolved(_Lazy):
    """The effective document of a key for a tenant. `scope` and `version` are those of the nearest layer that answered.

    `fresh` says how the store knows that this is not an old answer: "strict" for what was asked of the database or
    known not to have moved, "push" on the word of the listener, "within 30 s" where that is all that was promised.
    """

    key: str
    kind: Kind
    document: Document
    scope: str
    version: int
    provenance: Provenance
    revision: str
    document_hash: str
    fresh: str

    @classmethod
    def lazily(
        cls,
        key: str,
        kind: Kind,
        scope: str,
        version: int,
        revision: str,
        document_hash: str,
        fresh: str,
        make: Callable[[str], Any],
    ) -> Resolved:
        """Make one whose document and provenance come from `make(name)`."""
        made, put = object.__new__(cls), object.__setattr__
        put(made, "key", key)
        put(made, "kind", kind)
        put(made, "scope", scope)
        put(made, "version", version)
        put(made, "revision", revision)
        put(made, "document_hash", document_hash)
        put(made, "fresh", fresh)
        put(made, "_make", make)
        return made


@dataclass(frozen=True, slots=True)
class Rendered(_Lazy):
    """A template made into text; `str()` of it is the text. `truncated` names the values that max_length cut."""

    text: str
    resolved: Resolved
    llm_config: dict[str, Any]
    output_schema: dict[str, Any] | None
    truncated: tuple[str, ...] = ()

    @classmethod
    def lazily(cls, text: str, truncated: tuple[str, ...], make: Callable[[str], Any]) -> Rendered:
        """Make one whose other fields come from `make(name)`."""
        made, put = object.__new__(cls), object.__setattr__
        put(made, "text", text)
        put(made, "truncated", truncated)
        put(made, "_make", make)
        return made

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Explanation:
    """Every layer looked at and where each field came from; `contract` lists what a caller of the base would miss."""

    key: str
    revision: str
    layers: tuple[Layer, ...]
    fields: Mapping[str, Origin]
    contract: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    key: str
    kind: Kind
    category: str
    scope: str
    version: int
    mode: Mode
    description: str


@dataclass(frozen=True, slots=True)
class Version:
    """One immutable version. `base` names the versions below it that it was made on."""

    key: str
    scope: str
    number: int
    mode: Mode
    base: str
    path: str
    source: bytes = field(repr=False)
    source_hash: str
    document_hash: str
    at: datetime
    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class Diff:
    """What differs between two versions: fields by path, and the documents as unified text."""

    changes: tuple[Change, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a scope's log. `label` is None for a draft, `after` is None for a withdrawal."""

    scope: str
    seq: int
    at: datetime
    change_set: str
    actor: str
    action: str
    key: str
    category: str
    label: str | None
    before: int | None
    after: int | None
    reason: str
    risk: Risk
    changes: tuple[Change, ...]
    hash: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that `verify` found; seq is the entry it speaks of, None where it is none in particular."""

    scope: str
    seq: int | None
    what: str


@dataclass(frozen=True, slots=True)
class Tenant:
    name: str
    overrides: int
    last_at: datetime
    revision: str


@dataclass(frozen=True, slots=True)
class PlanRow:
    """What applying a plan would do to one key: add, override, update, unchanged or withdraw."""

    key: str
    action: str
    scope: str
    path: str
    overrides: str | None
    risk: Risk
    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()


def plain(value: Any) -> Any:
    """Return an answer as what JSON can hold: the same names, times in ISO 8601, bytes as text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value) if not f.name.startswith("_")}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "as_written"):
        return value.as_written()
    return value
