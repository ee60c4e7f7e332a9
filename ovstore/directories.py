"""Folders of YAML files: which files are read, in which order, and what keeps one from being read.

A file counts when its name ends in .yaml or .yml. Names that begin with a dot are left out with all below them, other
files are not looked at, and the order is that of the paths by code point, so that a folder reads the same on every
machine. A link to a file is read where it stays inside the folder; links to folders are not followed. What cannot or
must not be read is a finding. Files are listed first and read one by one, so that no folder has to fit into memory.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ovstore import names
from ovstore.errors import InvalidArgumentError
from ovstore.findings import found
from ovstore.results import Finding
from ovstore.yaml_io import MAX_SOURCE

MAX_FILES: Final = 50_000
EXPERIMENTAL: Final = "experimental_memory"
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class File:
    """One file to read. `path` is where it lies below the folder, None where it was named by itself."""

    place: Path
    path: str | None = None

    @property
    def shown(self) -> str:
        """The path as the caller can open it."""
        return str(self.place)

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple((self.path or "").split("/")[:-1])

    @property
    def experimental(self) -> bool:
        return EXPERIMENTAL in self.folders


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a folder in order, and what stands in the way of others."""

    files: tuple[File, ...]
    findings: tuple[Finding, ...]


def listing(path: Path) -> Listing:
    """List a folder, or the one file that is named, whatever it is called."""
    if not path.exists():
        raise InvalidArgumentError(f"there is no file or folder {path}", argument="path", value=path)
    if not path.is_dir():
        problem = _not_plain(path)
        return Listing((), (problem,)) if problem else Listing((File(path),), ())
    files: list[File] = []
    findings: list[Finding] = []
    for entry in _entries(path, findings):
        relative = entry.relative_to(path).as_posix()
        problem = _unlistable(path, entry, relative)
        if problem is None:
            files.append(File(entry, relative))
        else:
            findings.append(problem)
    files.sort(key=lambda file: file.path or "")
    findings += case_collisions(files)
    return _bounded(path, files, findings)


def read(file: File) -> bytes | Finding:
    """Return the bytes of a file, never more than a source may have, or why there are none."""
    try:
        seen = file.place.stat()
        if not stat.S_ISREG(seen.st_mode):
            return found("special-file", "this is no plain file", path=file.shown)
        if seen.st_size > MAX_SOURCE:
            message = f"the file has {seen.st_size:,} bytes, the limit is {MAX_SOURCE:,}"
            return found("too-large", message, path=file.shown)
        with file.place.open("rb") as opened:
            return opened.read(MAX_SOURCE + 1)
    except OSError as error:
        return _unreadable(file.place, error)


def _entries(root: Path, findings: list[Finding]) -> Iterator[Path]:
    """Yield what is named like YAML, folders depth first; a folder that cannot be listed is a finding."""
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as scanned:
                entries = [entry for entry in scanned if not entry.name.startswith(".")]
        except OSError as error:
            findings.append(_unreadable(folder, error))
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
            elif entry.name.endswith((".yaml", ".yml")) or _leads_to_folder(entry):
                yield Path(entry.path)


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    """Whether a link is one to a folder; a link that leads round in a circle is one to nothing."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _unlistable(root: Path, entry: Path, relative: str) -> Finding | None:
    if not is_plain(relative):
        shown = names.printable(str(entry))
        return found("bad-file-name", "the name holds what no path of a template may hold", path=shown)
    if entry.is_symlink():
        return _bad_link(root, entry)
    return _not_plain(entry)


def is_plain(path: str) -> bool:
    """Whether a path is UTF-8 text without control characters and backslashes, which not every system takes."""
    return not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c == "\\" for c in path)


def _bad_link(root: Path, entry: Path) -> Finding | None:
    try:
        target = entry.resolve(strict=True)
    except (OSError, RuntimeError):
        hint = "Delete the link, or let it lead to a file of the folder."
        return found("unreadable-file", "the link leads nowhere", path=str(entry), hint=hint)
    if not target.is_relative_to(root.resolve()):
        return found("outside-link", "the link leaves the folder", path=str(entry))
    if target.is_dir():
        return found("linked-folder", "links to folders are not followed", path=str(entry))
    return _not_plain(entry)


def _not_plain(entry: Path) -> Finding | None:
    try:
        mode = entry.stat().st_mode
    except OSError as error:
        return _unreadable(entry, error)
    return None if stat.S_ISREG(mode) else found("special-file", "this is no plain file", path=str(entry))


def _unreadable(place: Path, error: OSError) -> Finding:
    if isinstance(error, FileNotFoundError):
        hint = "Something else writes into the folder: do it again when that has ended."
        return found("unreadable-file", "it is gone since the folder was listed", path=str(place), hint=hint)
    return found("unreadable-file", f"it cannot be read: {error.strerror}", path=str(place))


def case_collisions(files: list[File]) -> Iterator[Finding]:
    """Find paths that are one path on a disk that does not tell upper from lower case."""
    first: dict[str, str] = {}
    for file in files:
        path = file.path or ""
        other = first.setdefault(names.folded(path), path)
        if other != path:
            yield found("case-collision", f"{other} and {path} are one path where case does not count", path=file.shown)


def _bounded(root: Path, files: list[File], findings: list[Finding]) -> Listing:
    if len(files) > MAX_FILES:
        message = f"{root} holds {len(files):,} YAML files, the limit is {MAX_FILES:,}"
        return Listing((), (*findings, found("folder-too-large", message, path=str(root))))
    if not files and not findings:
        message = f"no .yaml or .yml file lies in {root}{_instead(root)}"
        findings.append(found("no-documents", message, path=str(root)))
    return Listing(tuple(files), tuple(findings))


def _instead(root: Path) -> str:
    """Say what a folder without YAML files holds: files of another kind, perhaps, or folders that are empty."""
    others = sorted(names.printable(entry.name) for entry in root.iterdir())
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return f", but {', '.join(others[:_NAMED])}{more}" if others else ", which is empty"
