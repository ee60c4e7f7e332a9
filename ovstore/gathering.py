"""The files of a folder as checked documents: what each is for, and what only shows when they are seen together.

`gather` goes through the files one by one and keeps nothing of them but their keys, so that ten thousand need no more
memory than ten. `check` is all of it as findings, without a database.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ovstore import checking, directories, hashing, names, output_schemas
from ovstore.checking import Checked
from ovstore.directories import File
from ovstore.findings import found
from ovstore.results import Finding


@dataclass(frozen=True, slots=True)
class Gathered:
    """One file: its key as far as it could be made out. `checked` is None where its source was known, or not read."""

    file: File
    key: str | None
    source_hash: bytes | None
    checked: Checked | None
    findings: tuple[Finding, ...]


def check(path: str | os.PathLike[str], *, strict: bool = False) -> tuple[Finding, ...]:
    """Check a folder of YAML files, or one file, by itself: no database, and nothing is written.

    Findings come in the order of the paths, in each of the lines; `strict` makes warnings errors. A patch is checked
    as far as it goes without what it extends.

    >>> import ovstore
    >>> [finding.code for finding in ovstore.check("seed_templates") if finding.severity != "info"]
    []
    """
    listed = directories.listing(Path(path))
    findings = [*listed.findings, *(f for gathered in gather(listed.files) for f in _all_findings(gathered))]
    findings.sort(key=lambda finding: finding.path or "")
    return stricter(findings) if strict else tuple(findings)


def _all_findings(gathered: Gathered) -> list[Finding]:
    if gathered.checked is None:
        return list(gathered.findings)
    return findings_of(dataclasses.replace(gathered.checked, findings=gathered.findings))


def findings_of(checked: Checked) -> list[Finding]:
    """What is wrong with a file, and with its output_schema, which only `check` looks into; by line and column."""
    return sorted([*checked.findings, *output_schemas.check(checked)], key=lambda f: (f.line or 0, f.column or 0))


def stricter(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings with every warning as an error."""
    return tuple(dataclasses.replace(f, severity="error") if f.severity == "warning" else f for f in findings)


def gather(files: Iterable[File], known: Mapping[bytes, str] | None = None) -> Iterator[Gathered]:
    """Read and check files one by one; a source whose hash is known for a key is not looked at again.

    Two files of one key are a finding, unless one of them replaces the other from a folder `experimental_memory`.
    """
    places: dict[tuple[str, bool], str] = {}
    for file in files:
        gathered = _read(file, known or {})
        twin = _twin(gathered, places)
        yield dataclasses.replace(gathered, findings=(*gathered.findings, twin)) if twin else gathered


def _read(file: File, known: Mapping[bytes, str]) -> Gathered:
    source = directories.read(file)
    if isinstance(source, Finding):
        return Gathered(file, None, None, None, (source,))
    source_hash = hashing.source_hash(checking.stored(source))
    if source_hash in known:
        return Gathered(file, known[source_hash], source_hash, None, ())
    checked = checking.check_source(source, file.shown)
    key = checked.parsed.key
    if key is not None and file.path is not None and not _fits(key, file.path):
        message = f"{file.path} holds {key}"
        elsewhere = found("path-mismatch", message, path=file.shown, at=checked.place)
        return Gathered(file, key, source_hash, checked, (*checked.findings, elsewhere))
    return Gathered(file, key, source_hash, checked, checked.findings)


def _fits(key: str, path: str) -> bool:
    """Whether a file lies where its key says: `a/b/c.yaml`, `a/b.c.yaml` and upstream's `a/b_c.yaml` for a.b.c."""
    stem = path.rpartition(".")[0]
    if names.is_memory_key(key):
        return stem.rpartition("/")[2] == key
    category, _, rest = key.partition(".")
    return stem.replace("/", ".") == key or stem == f"{category}/{rest.replace('.', '_')}"


def _twin(gathered: Gathered, places: dict[tuple[str, bool], str]) -> Finding | None:
    if gathered.key is None:
        return None
    at = gathered.checked.place if gathered.checked else None
    here = ":".join(str(part) for part in (gathered.file.shown, *(at or ())))
    first = places.setdefault((gathered.key, gathered.file.experimental), here)
    if first == here:
        return None
    return found("duplicate-document", f"{gathered.key} is in {first} too", path=gathered.file.shown, at=at)
