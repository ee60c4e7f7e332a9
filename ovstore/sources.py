"""From what a caller hands to publish to a version that can be added: read, checked and hashed before any lock."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ovstore import checking, documents, hashing
from ovstore.checking import Checked
from ovstore.documents import Document
from ovstore.errors import InvalidArgumentError
from ovstore.steps import New


def prepare(source: object) -> tuple[str, New]:
    """Return the key and the new version of a source: YAML text or bytes, a path, or a document.

    Raises InvalidDocumentError with every finding.
    """
    data, path = source_bytes(source)
    return new_version(checking.check_source(data, path))


def source_bytes(source: object) -> tuple[bytes, str | None]:
    """Return the bytes of a source and, of a file, its path."""
    if isinstance(source, str):
        if source.endswith((".yaml", ".yml")) and "\n" not in source:
            raise InvalidArgumentError(
                f"{source!r} is a text, not a file: to publish the file, give pathlib.Path({source!r})",
                argument="source",
                value=source,
            )
        return source.encode("utf-8", "surrogatepass"), None
    if isinstance(source, bytes):
        return source, None
    if isinstance(source, os.PathLike):
        return _read(Path(source)), str(source)
    if isinstance(source, (Mapping, Document)):
        return documents.generate(source), None
    raise InvalidArgumentError(
        f"a source is YAML as text or bytes, a path, or a document, not {type(source).__name__}",
        argument="source",
        value=source,
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidArgumentError(f"{path} cannot be read: {error.strerror}", argument="source", value=path) from error


def new_version(checked: Checked, *, path: str | None = None, category: str | None = None) -> tuple[str, New]:
    """Return the key and version of a checked source; path and category are those it was imported from."""
    checking.require(checked)
    parsed = checked.parsed
    key, kind, mode, data = parsed.key, parsed.kind, parsed.mode, parsed.data
    assert key is not None and kind is not None and mode is not None and data is not None, "a source without errors"
    source = checking.stored(checked.source)
    parts = checking.parts_of(kind, data)
    return key, New(
        kind=kind,
        mode=mode,
        source=source,
        source_hash=hashing.source_hash(source),
        data=data,
        document_hash=hashing.document_hash(documents.canonical(kind, mode, data)),
        path=path,
        category=category,
        parts=parts,
        # Only these can still be found wrong later; the places of all the others would fill the memory.
        checked=checked if mode == "patch" or parts else None,
    )
