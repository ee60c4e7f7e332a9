"""Canonical JSON and the hashes made of it.

Two values are the same to ovstore when their canonical JSON is the same text: keys sorted by code point, no spaces,
characters as they are, numbers as Python writes them, so that 1, 1.0 and true all differ. Each hash begins with a
domain tag that ends in a zero byte, which cannot occur in JSON: a hash of one kind never passes for one of another.
The tags, the form and the hashes are a contract with every database ever written; tests pin them by value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ovstore.errors import InvalidArgumentError
from ovstore.results import Change

_DOCUMENT: Final = b"ovstore document 1\0"
_CHANGES: Final = b"ovstore changes 1\0"
_ENTRY: Final = b"ovstore entry 1\0"
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a value; what JSON cannot hold (NaN, infinity, a date, bytes) is refused.

    >>> canonical_json({"b": [1, 1.0, True], "a": "é"})
    '{"a":"é","b":[1,1.0,true]}'
    """
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"this has no JSON form: {error}", argument="value", value=value) from error


def source_hash(source: bytes) -> bytes:
    """Return the SHA-256 (32 bytes) of a source as it is stored, without a tag: `sha256sum` of an export agrees."""
    return hashlib.sha256(source).digest()


def document_hash(canonical: Any) -> bytes:
    """Return the SHA-256 (32 bytes) of a canonical document."""
    return hashlib.sha256(_DOCUMENT + canonical_json(canonical).encode()).digest()


def changes_hash(changes: Iterable[Change]) -> bytes:
    """Return the SHA-256 of the changed fields of an entry, in their order."""
    rows = [[n, c.path, c.field, c.before, c.after, c.risk] for n, c in enumerate(changes)]
    return hashlib.sha256(_CHANGES + canonical_json(rows).encode()).digest()


def entry_hash(scope: str, previous: bytes, row: Mapping[str, Any], added: Mapping[str, Any] | None) -> bytes:
    """Return the SHA-256 of an entry: its scope, the hash before it, every column, and the version that it added.

    `row` has the columns of the entry but its hash; `added` those of the version but source and document, whose hashes
    stand for them. Bytes are covered as hex.
    """
    covered = [scope, previous.hex(), _hex(row), None if added is None else _hex(added)]
    return hashlib.sha256(_ENTRY + canonical_json(covered).encode()).digest()


def _hex(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
