"""Folders out of the store: what a scope overrides, byte for byte where it was read from, or all it gets, folded.

After an export the folder holds, of what an import would read, exactly what was exported (with keys: those files
beside others). Nothing that the store could not give back is overwritten or removed: a YAML file in the folder must be
the source of a version of this scope or, under `effective`, an unedited file of an earlier export; else the export is
refused before anything is written. Other files are left alone. Each file is replaced at once, so that one that was
interrupted is simply done again.

Paths come out of the database and are trusted no more than any other text: a path that leaves the folder, is hidden,
or is another key's on some disk, gives way to one made from the key.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ovstore import checking, directories, documents, hashing, names, seeing
from ovstore.db import read
from ovstore.db.engines import Database
from ovstore.db.read import Stand
from ovstore.directories import File, Listing
from ovstore.errors import ConflictError, InvalidArgumentError, NotFoundError
from ovstore.layering import Folded
from ovstore.results import Finding

_CHUNK: Final = 100
_SHOWN: Final = 20
_SUFFIXES: Final = (".yaml", ".yml")
_DEVICES: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_HEAD: Final = re.compile(
    rb"# (?P<key>[^ \n]+) as (?P<scope>[^ \n]+) gets it: [^\n]*\n# [^\n]*: (?P<hash>[0-9a-f]{64})\n"
)


@dataclass(frozen=True, slots=True)
class _Contents:
    """What there is to export: for every key the path that it wishes for, and the bytes of some.

    `ours` picks the files that the store can give back, each with the key whose file it must be (None: any).
    """

    wished: Mapping[str, str]
    load: Callable[[Sequence[str]], Mapping[str, bytes]]
    ours: Callable[[Mapping[Path, str | None]], set[Path]]


def export(
    database: Database, scope: str, path: Path, keys: Sequence[str] | None = None, *, effective: bool = False
) -> tuple[Path, ...]:
    """Write a scope's overrides, or some of them, into a folder, and return the files in order of their paths.

    `effective`: everything that the scope gets, each as folded YAML whose head names the versions. Raises NotFoundError
    for a key that is not there, ConflictError for files that are not from this scope; then nothing was written.
    """
    if path.exists() and not path.is_dir():
        raise InvalidArgumentError(f"{path} is a file: name a folder to export into", argument="path", value=path)
    contents = _effective(database, scope, keys) if effective else _own(database, scope, keys)
    places = _places(contents.wished)
    chosen = {key: places[key] for key in (places if keys is None else dict.fromkeys(keys))}
    there = directories.listing(path) if keys is None and path.is_dir() else Listing((), ())
    stale = [file for file in there.files if file.path not in chosen.values()]
    _refuse_foreign(path, contents, chosen, stale, there.findings)
    try:
        for file in stale:
            _remove(path, file)
        wanted = list(chosen)
        for start in range(0, len(wanted), _CHUNK):
            for key, source in contents.load(wanted[start : start + _CHUNK]).items():
                _write(path / chosen[key], source)
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgumentError(
            f"{error.filename or path} cannot be written: {error.strerror}; to finish the export, do it again",
            argument="path",
            value=path,
        ) from error
    return tuple(path / place for place in sorted(chosen.values()))


def _own(database: Database, scope: str, keys: Sequence[str] | None) -> _Contents:
    with database.read() as conn:
        stand = read.stands(conn, [scope]).get(scope)
        live = {version.key: version for version in read.live(conn, stand)} if stand else {}
    for key in keys or ():
        if key not in live:
            raise NotFoundError(f"{scope} does not override {key}", what="key", name=key, near=names.near(key, live))

    def load(wanted: Sequence[str]) -> Mapping[str, bytes]:
        assert stand is not None, "there is something to write"
        with database.read() as conn:
            return read.sources(conn, stand, [(key, live[key].number) for key in wanted])

    wished = {key: version.path for key, version in live.items()}
    return _Contents(wished, load, lambda files: _sources_of(database, stand, files))


def _sources_of(database: Database, stand: Stand | None, files: Mapping[Path, str | None]) -> set[Path]:
    """Return those of the files whose bytes are the source of a version in the scope."""
    hashes: dict[Path, bytes] = {}
    for place in files:
        source = directories.read(File(place))
        if isinstance(source, bytes):
            hashes[place] = hashing.source_hash(checking.stored(source))
    if stand is None:
        return set()
    with database.read() as conn:
        known = read.keys_by_source(conn, stand, list(set(hashes.values())))
    return {place for place, source_hash in hashes.items() if _is_for(files[place], known.get(source_hash))}


def _is_for(wanted: str | None, found: str | None) -> bool:
    return found is not None and wanted in (None, found)


def _effective(database: Database, scope: str, keys: Sequence[str] | None) -> _Contents:
    question = seeing.ask(scope)
    seen = seeing.see(database, question, None)
    for key in keys or ():
        if key not in seen.layers:
            raise seeing.not_found(database, question, key)
    wished: dict[str, str] = {}
    for key, layers in sorted(seen.layers.items()):
        wished[key] = next(layers[name].path for name in names.chain(scope) if name in layers)

    def load(wanted: Sequence[str]) -> Mapping[str, bytes]:
        return {key: _headed(scope, key, seeing.fold(seen, key)) for key in wanted}

    return _Contents(wished, load, lambda files: _unedited(scope, files))


def _headed(scope: str, key: str, folded: Folded) -> bytes:
    """Write a folded document with a head that names the versions and lets an edit be noticed."""
    body = documents.generate(folded.data)
    versions = " on ".join(names.refer(layer.scope, layer.number) for layer in folded.used)
    head = f"# {key} as {scope} gets it: {versions}\n# written by ovstore, sha256 of what follows: {_sha256(body)}\n"
    return head.encode() + body


def _unedited(scope: str, files: Mapping[Path, str | None]) -> set[Path]:
    """Return those of the files that an effective export of the scope wrote and nobody changed."""
    found: set[Path] = set()
    for place, key in files.items():
        source = directories.read(File(place))
        head = _HEAD.match(source) if isinstance(source, bytes) else None
        if (
            isinstance(source, bytes)
            and head
            and head["scope"].decode() == scope
            and _is_for(key, head["key"].decode())
            and head["hash"].decode() == _sha256(source[head.end() :])
        ):
            found.add(place)
    return found


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _places(wished: Mapping[str, str]) -> dict[str, str]:
    """Return where each key is written: where it was read from, if that is a safe path and no other key's.

    No two places are one on a disk that ignores case.
    """
    places: dict[str, str] = {}
    taken: set[str] = set()
    for key, path in wished.items():
        if is_safe(path) and names.folded(path) not in taken:
            places[key] = path
            taken.add(names.folded(path))
    for key in sorted(wished.keys() - places.keys()):
        places[key] = next(p for p in _made_from(key) if is_safe(p) and names.folded(p) not in taken)
        taken.add(names.folded(places[key]))
    return places


def _made_from(key: str) -> Iterator[str]:
    path, _ = names.default_place(key)
    yield path
    number = 2
    while True:
        yield f"{path.removesuffix('.yaml')}-{number}.yaml"
        number += 1


def is_safe(path: str) -> bool:
    """Whether a path from the database may be written below a folder, and would be read again by an import.

    >>> is_safe("semantic/note.yaml"), is_safe("../note.yaml"), is_safe("/etc/note.yaml"), is_safe("a/.b/note.yaml")
    (True, False, False, False)
    """
    parts = path.split("/")
    return (
        len(path) <= 1000
        and directories.is_plain(path)
        and parts[-1].endswith(_SUFFIXES)
        and not any(folder.endswith(_SUFFIXES) for folder in parts[:-1])
        and all(part and part[0] != "." and not _DEVICES.fullmatch(part) for part in parts)
        and all(len(part.encode()) <= 255 for part in parts)
    )


def _refuse_foreign(
    root: Path, contents: _Contents, chosen: Mapping[str, str], stale: Sequence[File], strange: Sequence[Finding]
) -> None:
    """Raise ConflictError for each file that would be lost and each way out of the folder; nothing is written yet."""
    foreign = [f"{f.path}: {f.message}" for f in strange if f.code not in ("no-documents", "case-collision")]
    there: dict[Path, str | None] = {file.place: None for file in stale}
    for key, place in chosen.items():
        blocked = _blocked(root, place)
        if blocked is not None:
            foreign.append(blocked)
        elif os.path.lexists(root / place):
            there[root / place] = key
    foreign += [f"{place} is a link" for place in there if place.is_symlink()]
    plain = {place: key for place, key in there.items() if not place.is_symlink()}
    foreign += [str(place) for place in plain.keys() - contents.ours(plain)]
    if foreign:
        foreign.sort()
        more = [f"and {len(foreign) - _SHOWN} more"] if len(foreign) > _SHOWN else []
        lines = "\n".join(f"  {names.printable(line)}" for line in [*foreign[:_SHOWN], *more])
        raise ConflictError(
            f"{root} holds files that are not of this export, or were edited since:\n{lines}\n"
            "import what is new in them, or export into an empty folder; nothing was written",
            expected="an empty folder or an earlier export",
            found=tuple(foreign),
        )


def _blocked(root: Path, place: str) -> str | None:
    """Say what stands where a folder of the path has to be; a link there may lead anywhere."""
    folder = root
    for part in place.split("/")[:-1]:
        folder /= part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            return f"{folder} is no folder"
    return None


def _remove(root: Path, file: File) -> None:
    """Remove a file of an earlier export, and the folders that it leaves empty."""
    file.place.unlink()
    folder = file.place.parent
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _write(place: Path, source: bytes) -> None:
    if place.is_file() and place.read_bytes() == source:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".ovstore-{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(source)
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
