"""The one write path. `commit` locks, judges, writes and appends; the verbs only say which versions and moves.

A write is a list of steps, each a label that moves in a scope, perhaps to a version that the step adds. Under the locks
(the parents' shared, the scope's own exclusively) `commit` asks the verb for its steps, folds what the scopes serve
before and after, judges risk and the overrides above, and then writes versions, entries, changes and labels in one
transaction: all of it or nothing. A change set that is already in the log is answered from the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ovstore import changes, hashing, names
from ovstore.db import Connection, above, log, read, write
from ovstore.db.engines import Database
from ovstore.db.read import Stand
from ovstore.errors import ConflictError, DatabaseError, InvalidArgumentError, RiskError
from ovstore.judging import judge
from ovstore.names import LIVE, Action, Risk
from ovstore.results import Entry, Move
from ovstore.steps import Judged, Judgement, Step


@dataclass(frozen=True, slots=True)
class Order:
    """What the caller says about a write: who, why, how much risk, and the id that makes a second try harmless.

    An id that is `new`, made for this call, is in no log before its first try.
    """

    actor: str
    reason: str
    change_set: str
    new: bool
    accept_risk: Risk = "medium"
    freeze: bool = False


def order(
    *, actor: object, reason: object, change_set: object, accept_risk: object = "medium", dependents: object = "refuse"
) -> Order:
    """Check what every write verb takes."""
    if dependents not in ("refuse", "freeze"):
        raise InvalidArgumentError(
            f"dependents is 'refuse' or 'freeze', not {dependents!r}", argument="dependents", value=dependents
        )
    return Order(
        names.check_actor(actor),
        names.check_reason(reason),
        names.check_change_set(change_set),
        change_set is None,
        names.check_risk(accept_risk),
        dependents == "freeze",
    )


@dataclass(frozen=True)
class Locked:
    """An open transaction that holds the locks of a scope, and where its chain stands."""

    conn: Connection
    scope: str
    stands: dict[str, Stand]

    @property
    def own(self) -> Stand:
        return self.stands[self.scope]

    def marks(self) -> dict[str, names.Mark]:
        return {name: stand.mark for name, stand in self.stands.items()}

    def standing(self, key: str, label: str = LIVE) -> int | None:
        """Return where a label of a key stands in this scope; None is "not overriding"."""
        return read.labels(self.conn, self.own, label, [key]).get(key)


@dataclass(frozen=True, slots=True)
class Committed:
    """What a change set did: its entries in order, and where the scopes stood behind it."""

    change_set: str
    marks: Mapping[str, names.Mark]
    entries: tuple[Entry, ...]

    def revision(self, scope: str) -> str:
        return names.revision_text(self.marks[name] for name in names.chain(scope))

    def entry(self, key: str, action: Action, label: str | None) -> Entry | None:
        """Return the entry of a move; an id that was used for something else is a ConflictError."""
        if not self.entries:
            return None
        for entry in self.entries:
            if (entry.key, entry.action, entry.label) == (key, action, label):
                return entry
        used = ", ".join(dict.fromkeys(_move_in_words(e.action, e.key, e.label) for e in self.entries[:3]))
        raise ConflictError(
            f"change set {self.change_set} was used already, for {used}; a new write needs a new id",
            expected=_move_in_words(action, key, label),
            found=used,
        )

    def move(self, entry: Entry) -> Move:
        return Move(
            entry.key,
            entry.scope,
            entry.label or LIVE,
            entry.before,
            entry.after,
            entry.risk,
            entry.changes,
            self.revision(entry.scope),
            self.change_set,
        )


def _move_in_words(action: str, key: str, label: str | None) -> str:
    what = "as a draft" if label is None else f"as {label}"
    return f"{action} {key}" if label == LIVE else f"{action} {key} {what}"


def commit(
    database: Database,
    scope: str,
    given: Order,
    steps: Callable[[Locked], Sequence[Step]],
    finish: Callable[[Locked], None] | None = None,
) -> Committed:
    """Do the steps that a verb computes under the lock, all or nothing, and once for a change set.

    `finish` runs behind the writes in the same transaction. Raises ConflictError, InvalidDocumentError, RiskError or
    ContractError with nothing changed.
    """

    def attempt(conn: Connection, first: bool = True) -> Committed:
        locked = Locked(conn, scope, write.lock(conn, scope))
        done = None if first and given.new else _done_before(locked, given)
        if done is not None:
            return done
        wanted = steps(locked)
        committed = Committed(given.change_set, locked.marks(), ())
        if wanted:
            judged = judge(conn, locked.stands, wanted, freeze=given.freeze)
            accept(judged.steps, given)
            committed = _append(conn, judged, given, locked.own)
        if finish is not None:
            finish(locked)
        return committed

    try:
        return database.write(attempt)
    except DatabaseError as error:
        if not error.lost:
            raise
        # The outcome is unknown when the connection goes at commit; the change set's id makes a second try harmless.
        try:
            return database.write(partial(attempt, first=False))
        except DatabaseError as again:
            again.lost = True  # whatever stopped the second try, the outcome of the first is still unknown
            raise


def _done_before(locked: Locked, given: Order) -> Committed | None:
    entries = log.of_change_set(locked.conn, locked.own, given.change_set)
    if not entries:
        return None
    at = log.to_us(entries[-1].at)
    stands = locked.stands | read.stands(locked.conn, {entry.scope for entry in entries})
    marks = {name: log.last_at(locked.conn, stand, at) for name, stand in stands.items()}
    return Committed(given.change_set, marks, tuple(entries))


def accept(judged: Sequence[Judged], given: Order) -> None:
    """Refuse a write that is riskier than accepted, with each change and what would make it pass.

    What does not touch `live` is judged when it goes live.
    """
    served = [j for j in judged if j.step.label == LIVE]
    risk = changes.worst(*(j.risk for j in served))
    accepted = names.RISKS.index(given.accept_risk)
    lacks: list[str] = []
    if names.RISKS.index(risk) > accepted:
        lacks.append(f'accept_risk="{risk}"')
    if risk == "very_high" and not given.reason.strip():
        lacks.append("a reason")
    if not lacks:
        return
    listed = min(accepted + 1, names.RISKS.index(risk))
    lines = [f"risk {risk}: this write needs {' and '.join(lacks)}"]
    for j in (j for j in served if names.RISKS.index(j.risk) >= listed):
        lines.append(f"{j.step.key} in {j.step.scope}: {j.risk}")
        lines += [f"  {note}" for note in j.notes]
        lines += [f"  {c.risk:<9} {c.path}: {changes.told(c)}" for c in j.changes]
    changed = tuple(c for j in served for c in j.changes)
    raise RiskError("\n".join(lines), changes=changed, risk=risk, accepted=given.accept_risk)


@dataclass
class _ScopeLog:
    """The end of one scope's chain while entries are appended to it."""

    stand: Stand
    seq: int
    head: bytes
    versions: list[write.VersionRow] = field(default_factory=list)
    entries: list[write.EntryRow] = field(default_factory=list)
    labels: list[write.LabelMove] = field(default_factory=list)


def _append(conn: Connection, judged: Judgement, given: Order, own: Stand) -> Committed:
    stands = judged.stands
    # Later than all that it was judged by, in the scopes above too, also where a clock went back: times that count in
    # one scope and not in another would make up states that never were.
    at = max(
        time.time_ns() // 1000,
        (above.last_at_above(conn, own) if judged.last_above is None else judged.last_above) + 1,
        *(stand.last_at + 1 for stand in stands.values()),
    )
    logs: dict[str, _ScopeLog] = {}
    answer: list[Entry] = []
    for j in judged.steps:
        stand = stands[j.step.scope]
        tail = logs.setdefault(j.step.scope, _ScopeLog(stand, stand.seq, stand.head))
        version = _version_row(j)
        row = _entry_row(tail, j, given, at, version)
        tail.seq, tail.head = row.seq, row.hash
        tail.entries.append(row)
        if version is not None:
            tail.versions.append(version)
        if j.step.label is not None:
            tail.labels.append(_label_move(j, j.step.label, row.seq))
        answer.append(_entry(j.step.scope, row))
    write.add_versions(conn, {tail.stand.id: tail.versions for tail in logs.values()})
    write.append(conn, {tail.stand.id: tail.entries for tail in logs.values()})
    write.move_labels(conn, {tail.stand.id: tail.labels for tail in logs.values()})
    marks = {name: stand.mark for name, stand in stands.items()}
    marks |= {name: names.mark(name, tail.seq, tail.head) for name, tail in logs.items()}
    return Committed(given.change_set, marks, tuple(answer))


def _version_row(j: Judged) -> write.VersionRow | None:
    new, version = j.step.new, j.version
    if new is None or version is None:
        return None
    return write.VersionRow(
        key=j.step.key,
        number=version.number,
        kind=version.kind,
        mode=version.mode,
        source=new.source,
        source_hash=new.source_hash,
        document=write.document_text(new.data),
        document_hash=new.document_hash,
        format=version.format,
        path=version.path,
        category=version.category,
        base=version.base,
        parts=new.parts,
    )


def _entry_row(tail: _ScopeLog, j: Judged, given: Order, at: int, version: write.VersionRow | None) -> write.EntryRow:
    changes_hash = hashing.changes_hash(j.changes)
    row: dict[str, Any] = {
        "seq": tail.seq + 1,
        "at": at,
        "change_set": given.change_set,
        "actor": given.actor,
        "action": j.step.action,
        "reason": given.reason,
        "risk": names.RISKS.index(j.risk),
        "key": j.step.key,
        "category": j.category,
        "label": j.step.label,
        "before_number": j.step.before,
        "after_number": j.step.after,
        "undoes": j.step.undoes,
        "source_hash": version.source_hash if version else None,
        "changes_hash": changes_hash,
    }
    entry_hash = hashing.entry_hash(j.step.scope, tail.head, row, write.vouched(version) if version else None)
    return write.EntryRow(**row, hash=entry_hash, changes=j.changes)


def _label_move(j: Judged, label: str, seq: int) -> write.LabelMove:
    mode, base = (j.version.mode, j.version.base) if j.version else ("", "")
    return write.LabelMove(j.step.key, label, j.step.before, j.step.after, mode, base, seq)


def _entry(scope: str, row: write.EntryRow) -> Entry:
    return Entry(
        scope=scope,
        seq=row.seq,
        at=log.from_us(row.at),
        change_set=row.change_set,
        actor=row.actor,
        action=row.action,
        key=row.key,
        category=row.category,
        label=row.label,
        before=row.before_number,
        after=row.after_number,
        reason=row.reason,
        risk=names.RISKS[row.risk],
        changes=row.changes,
        hash=row.hash.hex(),
    )
