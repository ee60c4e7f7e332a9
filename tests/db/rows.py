"""One row of each table that fits the others: what the tests of triggers and constraints start from."""

from __future__ import annotations

from ovstore.db import tables

HASH = bytes(range(32))
ACME = {"id": 3, "name": "acme", "parent_id": 2, "revision": 1, "head": HASH, "last_at": 5}
VERSION = {
    "scope_id": 3,
    "key": "semantic.note",
    "number": 1,
    "kind": "prompt",
    "mode": "full",
    "source": b"a",
    "source_hash": HASH,
    "document": "{}",
    "document_hash": HASH,
    "format": 1,
    "path": "semantic/note.yaml",
    "category": "semantic",
    "base": "",
}
PART = {"scope_id": 3, "key": "semantic.note", "number": 1, "part": "shared.tone"}
LABEL = {
    "scope_id": 3,
    "label": "live",
    "key": "semantic.note",
    "number": 1,
    "mode": "full",
    "base": "",
    "seq": 1,
}
ENTRY = {
    "scope_id": 3,
    "seq": 1,
    "at": 5,
    "change_set": "c1",
    "actor": "ann",
    "action": "publish",
    "reason": "",
    "risk": 1,
    "key": "semantic.note",
    "category": "semantic",
    "label": "live",
    "after_number": 1,
    "source_hash": HASH,
    "changes_hash": HASH,
    "hash": HASH,
}
CHANGE = {
    "scope_id": 3,
    "seq": 1,
    "n": 0,
    "at": 5,
    "key": "semantic.note",
    "field": "document",
    "path": "document",
    "after_value": '"00"',
    "risk": 1,
}
TOMBSTONE = {**ENTRY, "seq": 2, "at": 9, "action": "erase", "label": None, "key": None}
ROWS = (
    *((tables.scope, ACME), (tables.version, VERSION), (tables.part, PART)),
    *((tables.entry, ENTRY), (tables.change, CHANGE), (tables.label, LABEL)),
)
