"""What would a schema change do to what is stored? The question behind a very high risk, answered over records.

Paths are rendered under both versions for each record, and updates are tried on each stored value whose field changed
its merge_op or type. Nothing is read or written: records come from the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ovstore.documents import Field
from ovstore.errors import InvalidArgumentError, MergeError, PathError, RenderError
from ovstore.memory.files import unfit
from ovstore.memory.merging import CLEAR, is_given, merge_value
from ovstore.memory.messages import Message
from ovstore.names import folded

if TYPE_CHECKING:
    from ovstore.memory.types import MemoryType

_TEXT: Final = "a text"
_UPDATES: Final = (7, "7", 0.5, True, None, dict(CLEAR))
_PATH: Final = ("directory", "filename_template", "peer_enabled")


@dataclass(frozen=True, slots=True)
class Record:
    """A stored memory and what its path depends on. `name` is how the answer calls it: where it lies, say.

    Paths are only compared, so whose they are matters only where records of several users are looked at together.
    """

    values: Mapping[str, Any]
    name: str = ""
    user_space: str = "user"
    agent_space: str | None = "agent"
    peer_id: str | None = None
    messages: Sequence[Message] = ()
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """A record whose path differs; `before` is None where the old version rendered none."""

    name: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """A record that has a path under the old version and none under the new."""

    name: str
    before: str
    why: str


@dataclass(frozen=True, slots=True)
class Merging:
    """A field, or the operation mode, under which updates come out differently, for how many records.

    `update` is one such update of `current`; `came` and `comes` are what it makes of it under each version, a refusal
    as text that begins with "refused: ". For the operation mode these are None.
    """

    field: str
    before: str
    after: str
    records: int
    current: Any = None
    update: Any = None
    came: Any = None
    comes: Any = None


@dataclass(frozen=True, slots=True)
class Impact:
    """What a schema change does to stored records.

    `collisions` are groups of records, by name, that share a path under the new version and did not under the old;
    `pathless` those that neither version renders a path for, such as records that need the messages they came from;
    `orphaned` counts, for each field that the new version lacks, the records that have it stored.
    """

    records: int
    moved: tuple[Moved, ...]
    collisions: tuple[tuple[str, ...], ...]
    stopped: tuple[Stopped, ...]
    pathless: tuple[str, ...]
    orphaned: Mapping[str, int]
    merges: tuple[Merging, ...]

    def __bool__(self) -> bool:
        """Whether the change does anything to what is stored, or may do: of records without a path nobody can tell."""
        return bool(self.moved or self.collisions or self.stopped or self.pathless or self.orphaned or self.merges)


def impact_of(old: MemoryType, new: MemoryType, records: Iterable[Mapping[str, Any] | Record]) -> Impact:
    """Return what stored records go through when `new` takes the place of `old`."""
    stored = [_record(number, record) for number, record in enumerate(records, 1)]
    moved: list[Moved] = []
    stopped: list[Stopped] = []
    pathless: list[str] = []
    placed: list[tuple[str, str | None, str]] = []
    same = all(getattr(old.schema, name) == getattr(new.schema, name) for name in _PATH)
    for record in () if same else stored:
        before, _ = _path(old, record)
        after, why = _path(new, record)
        if after is None and before is None:
            pathless.append(record.name)
        elif after is None:
            stopped.append(Stopped(record.name, str(before), why))
        else:
            placed.append((record.name, before, after))
            if before != after:
                moved.append(Moved(record.name, before, after))
    gone = [name for name in old.fields if name not in new.fields]
    orphaned = Counter(name for record in stored for name in gone if is_given(record.values.get(name)))
    return Impact(
        len(stored),
        tuple(moved),
        tuple(_collisions(placed)),
        tuple(stopped),
        tuple(pathless),
        {name: orphaned[name] for name in gone if orphaned[name]},
        tuple(_merges(old, new, stored)),
    )


def _record(number: int, given: Mapping[str, Any] | Record) -> Record:
    record = given if isinstance(given, Record) else Record(given)
    record = record if record.name else replace(record, name=f"record {number}")
    if not isinstance(record.values, Mapping):
        said = f"{record.name} is no record: a record is a mapping of fields to their values"
        raise InvalidArgumentError(said, argument="records", value=record.values)
    return record


def _path(memory_type: MemoryType, record: Record) -> tuple[str | None, str]:
    """Return the path of a record, or None and why there is none."""
    try:
        path = memory_type.path(
            record.values,
            user_space=record.user_space,
            agent_space=record.agent_space,
            peer_id=record.peer_id,
            messages=record.messages,
            now=record.now,
        )
    except (PathError, RenderError) as error:
        return None, str(error)
    return path, ""


def _collisions(placed: Sequence[tuple[str, str | None, str]]) -> Iterator[tuple[str, ...]]:
    """Yield the groups that share a path now, but for those whose every member shared one before."""
    groups: dict[str, list[tuple[str, str | None]]] = {}
    for name, before, after in placed:
        groups.setdefault(folded(after), []).append((name, before))
    for group in groups.values():
        shared = {folded(before) if before else None for _, before in group}
        if len(group) > 1 and (len(shared) > 1 or shared == {None}):
            yield tuple(name for name, _ in group)


def _merges(old: MemoryType, new: MemoryType, stored: Sequence[Record]) -> Iterator[Merging]:
    before, after = old.schema.operation_mode, new.schema.operation_mode
    if before != after:
        yield Merging("operation_mode", before, after, len(stored))
    for name, field in old.fields.items():
        successor = new.fields.get(name)
        if successor and (field.merge_op, field.type) != (successor.merge_op, successor.type):
            yield from _merging(field, successor, [record.values.get(name) for record in stored])


def _merging(field: Field, successor: Field, values: Sequence[Any]) -> Iterator[Merging]:
    """Try updates on what is stored; a field that no record has is tried on nothing stored, for no record.

    What no memory holds takes no update under either version.
    """
    stored = [value for value in values if not unfit(value)]
    differing = [(value, tried) for value in stored if (tried := _difference(field, successor, value))]
    nothing = _difference(field, successor, None)
    examples = differing or ([(None, nothing)] if nothing else [])
    if examples:
        current, (update, came, comes) = min(examples, key=lambda example: _odd(example[1]))
        yield Merging(
            field.name,
            f"{field.merge_op} of {field.stored_type}",
            f"{successor.merge_op} of {successor.stored_type}",
            len(differing),
            current,
            update,
            came,
            comes,
        )


def _difference(field: Field, successor: Field, current: Any) -> tuple[Any, Any, Any] | None:
    """Return an update that the two fields take differently, with what each makes of it; best one that both take."""
    search = current if isinstance(current, str) else ""
    updates = (_TEXT, {"blocks": [{"search": search, "replace": _TEXT}]}, *_UPDATES)
    tried = [(update, _tried(field, current, update), _tried(successor, current, update)) for update in updates]
    differing = [
        (update, came, comes)
        for update, came, comes in tried
        if repr(came) != repr(comes) and not (_refused(came) and _refused(comes))
    ]
    return min(differing, key=_odd, default=None)


def _odd(difference: tuple[Any, Any, Any]) -> bool:
    """Whether an update is refused by one of the two: one that both take shows more."""
    _, came, comes = difference
    return _refused(came) or _refused(comes)


def _tried(field: Field, current: Any, update: Any) -> Any:
    try:
        value = merge_value(field, current, update)
        return value if is_given(value) else None
    except MergeError as error:
        return f"refused: {error}"


def _refused(outcome: Any) -> bool:
    return isinstance(outcome, str) and outcome.startswith("refused: ")
