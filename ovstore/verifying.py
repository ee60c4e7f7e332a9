"""Is the log whole? Walks every scope's chain and recomputes all that can be recomputed.

It shares hashing, names and the canonical form of documents with the writer, nothing else: a mistake of the writer is
not repeated here. Without heads that were kept elsewhere it shows accidents and careless hands; an owner of the
database who rewrites a chain from its first entry to its last is only caught by kept heads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ovstore import documents, hashing, names
from ovstore.db import Connection, chains
from ovstore.db.engines import Database
from ovstore.errors import InvalidArgumentError
from ovstore.results import Change, Problem

_HEAD = re.compile(r"(0|[1-9][0-9]{0,17})\.([0-9a-f]{64})")


def verify(
    database: Database, *, heads: Mapping[str, str] | None = None, scopes: frozenset[str] | None = None
) -> tuple[Problem, ...]:
    """Return everything that is not as it was written, scope by scope; empty means whole.

    `heads` are those that `heads()` gave earlier: each must still be on its scope's chain.
    """
    kept = {scope: _kept_head(scope, head) for scope, head in (heads or {}).items()}
    problems: list[Problem] = []
    with database.read() as conn:
        found = chains.scopes(conn)
        for scope in found:
            if scopes is None or scope.name in scopes:
                problems += _Walk(conn, scope, kept.get(scope.name)).problems()
    known = {scope.name for scope in found}
    missing = [name for name in kept if name not in known and (scopes is None or name in scopes)]
    problems += [Problem(name, None, "the scope is gone; a head of it was kept") for name in missing]
    return tuple(problems)


def _kept_head(scope: str, head: str) -> tuple[int, str]:
    match = _HEAD.fullmatch(head)
    if not match:
        raise InvalidArgumentError(
            f"the head kept for {scope} is not `sequence.hash` as heads() gives it", argument="heads", value=head
        )
    return int(match[1]), match[2]


class _Walk:
    """One scope's entries in order, with what they imply so far."""

    def __init__(self, conn: Connection, scope: chains.ScopeRow, kept: tuple[int, str] | None) -> None:
        self.conn = conn
        self.scope = scope
        self.kept = kept
        self.seq = 0
        self.at = 0
        self.head = names.NO_HEAD
        self.labels: dict[tuple[str, str], tuple[int, int]] = {}
        self.numbers: dict[str, int] = {}
        self.kept_seen = kept is None or kept[0] == 0

    def problems(self) -> Iterator[Problem]:
        for entry in chains.entries(self.conn, self.scope.id):
            yield from self._entry(entry)
        if (self.scope.revision, self.scope.head) != (self.seq, self.head):
            yield self._problem(None, f"the scope stands at {self.scope.revision}, its entries end at {self.seq}")
        if self.scope.last_at != self.at:
            yield self._problem(None, "the time of the scope is not that of its last entry")
        if not self.kept_seen and self.kept is not None:
            yield self._problem(self.kept[0], "the head that was kept is not on the chain: it was cut or rewritten")
        yield from self._labels()
        yield from self._versions()

    def _entry(self, entry: chains.EntryRow) -> Iterator[Problem]:
        columns = entry.columns
        seq = int(columns["seq"])
        if seq != self.seq + 1:
            yield self._problem(seq, f"follows entry {self.seq}: entries between are missing")
        if columns["at"] < self.at:
            yield self._problem(seq, "is older than the entry before it")
        changes = [_change(row) for row in entry.changes]
        if hashing.changes_hash(changes) != columns["changes_hash"]:
            yield self._problem(seq, "its changed fields are not those that were written")
        expected = hashing.entry_hash(self.scope.name, self.head, columns, entry.added)
        if expected != entry.hash:
            yield self._problem(seq, "its hash does not follow from its columns and the entry before it")
        if self.kept and self.kept[0] == seq:
            self.kept_seen = entry.hash.hex() == self.kept[1]
        yield from self._follow(seq, columns, entry.added)
        self.seq, self.at, self.head = seq, int(columns["at"]), entry.hash

    def _follow(self, seq: int, columns: Mapping[str, Any], added: Mapping[str, Any] | None) -> Iterator[Problem]:
        key, label, after = columns["key"], columns["label"], columns["after_number"]
        if columns["source_hash"] is not None:
            if added is None:
                yield self._problem(seq, f"added version {after} of {key}, which is gone")
            if after != self.numbers.get(key, 0) + 1:
                yield self._problem(seq, f"added version {after} of {key} behind {self.numbers.get(key, 0)}")
            self.numbers[key] = int(after)
            if added is not None and added["source_hash"] != columns["source_hash"]:
                yield self._problem(seq, f"version {after} of {key} has another source")
        if label is None:
            return
        if self.labels.get((label, key), (None, 0))[0] != columns["before_number"]:
            yield self._problem(seq, f"moves {label} of {key} from where it did not stand")
        if after is None:
            self.labels.pop((label, key), None)
        else:
            self.labels[label, key] = int(after), seq

    def _labels(self) -> Iterator[Problem]:
        stored = chains.labels(self.conn, self.scope.id)
        for label, key in sorted(stored.keys() | self.labels.keys()):
            implied, moved = self.labels.get((label, key), (None, None))
            row = stored.get((label, key))
            found = row.number if row else None
            if implied != found:
                yield self._problem(None, f"{label} of {key} stands at {found}; the entries say {implied}")
            elif row is not None and (row.seq != moved or not row.agrees):
                yield self._problem(None, f"the row of {label} of {key} is not that of its entry and version")

    def _versions(self) -> Iterator[Problem]:
        counts: dict[str, int] = {}
        for version in chains.versions(self.conn, self.scope.id):
            counts[version.key] = counts.get(version.key, 0) + 1
            name = f"version {version.number} of {version.key}"
            if version.number > self.numbers.get(version.key, 0):
                yield self._problem(None, f"{name} was added by no entry")
            if hashing.source_hash(version.source) != version.source_hash:
                yield self._problem(None, f"the source of {name} was changed")
            if _document_hash(version) != version.document_hash:
                yield self._problem(None, f"the document of {name} was changed")
        for key, last in self.numbers.items():
            if counts.get(key, 0) < last:
                yield self._problem(None, f"versions of {key} are missing: {counts.get(key, 0)} of {last} are here")

    def _problem(self, seq: int | None, what: str) -> Problem:
        return Problem(self.scope.name, seq, what)


def _change(row: Mapping[str, Any]) -> Change:
    return Change(
        path=row["path"],
        field=row["field"],
        before=None if row["before_value"] is None else json.loads(row["before_value"]),
        after=None if row["after_value"] is None else json.loads(row["after_value"]),
        risk=names.RISKS[row["risk"]],
    )


def _document_hash(version: chains.VersionRow) -> bytes | None:
    """The hash of the stored document; None where it cannot even be read any more, which is no hash of a version."""
    try:
        parsed = documents.parse(version.source)
        data = json.loads(version.document)
        if parsed.mode is None or parsed.data != data:
            return None
        return hashing.document_hash(documents.canonical(version.kind, version.mode, data))
    except Exception:  # What is no document fails in a way of its own.
        return None
