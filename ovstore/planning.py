"""Plans: what importing a folder into a scope would do, key by key, with everything that is wrong or doubtful in it.

A plan is made in one snapshot and carries its revision: `transfer.apply` does it only where the chain still stands
there. Files whose source is live already are known by their hash and not looked at again, unless `strict` asks for
their warnings. What a plan keeps is the versions to add; of the rest only rows.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ovstore import changes, checking, directories, gathering, judging, names, sources
from ovstore.db import Connection, read
from ovstore.db.engines import Database
from ovstore.db.read import Stand
from ovstore.directories import File, Listing
from ovstore.errors import InvalidArgumentError
from ovstore.findings import found
from ovstore.gathering import Gathered
from ovstore.judging import Forecast
from ovstore.names import LIVE, Risk
from ovstore.results import Finding, PlanRow
from ovstore.steps import New, Step

MAX_BYTES: Final = 512 * 1024 * 1024
"""Of the sources that one plan adds; a larger folder is imported one category at a time."""
_SHOWN: Final = 5

Watch = Callable[[int, int], None]
"""Told how many of how many files are read."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an import would do, by key, for `apply`. Nothing can be applied while a finding is an error.

    `risk` is the highest of the rows; `revision` is where the chain stood, `store_id` whose it is. A plan has its
    change-set id from the start, so that applying it twice applies it once.
    """

    rows: tuple[PlanRow, ...]
    findings: tuple[Finding, ...]
    risk: Risk
    revision: str
    change_set: str
    scope: str
    store_id: str
    _steps: tuple[Step, ...] = field(repr=False)

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the caller asked for."""

    scope: str
    prune: bool
    category: str | None
    keep: frozenset[str]

    def takes(self, category: str | None) -> bool:
        """Whether a category is asked for; one that is unknown is, so that nothing wrong with it goes unsaid."""
        return self.category in (None, category) or category is None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file for a key. `new` is None where its source was known to be live."""

    file: File
    source_hash: bytes
    new: New | None
    at: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class _Folder:
    """What a folder holds; an `empty` one has no file to read. `keys` and `paths` are all that is there, be it wrong,
    for pruning; `left_out` the hashes of experimental files that were not asked for."""

    empty: bool
    candidates: Mapping[str, _Candidate]
    keys: frozenset[str]
    paths: frozenset[str]
    left_out: frozenset[bytes]
    findings: tuple[Finding, ...]


def plan_import(
    database: Database,
    scope: str,
    path: Path | Listing,
    *,
    prune: bool = False,
    strict: bool = False,
    category: str | None = None,
    experimental_memory: bool = False,
    keep: frozenset[str] = frozenset(),
    watch: Watch | None = None,
) -> Plan:
    """Read and check a folder, and judge in one snapshot what importing it would do. Nothing is written.

    Every finding of every file is told at once; a plan is made whatever they are. What the scope has for the keys to
    `keep` stays as it is, be the folder as it may. `watch` is called behind each file.
    """
    wanted = _Wanted(scope, prune, category, keep)
    listed = path if isinstance(path, Listing) else directories.listing(path)
    if prune and any(file.path is None for file in listed.files):
        raise InvalidArgumentError(f"prune goes with a folder, and {path} is one file", argument="prune", value=prune)
    with database.read() as conn:
        seen = read.stands(conn, [scope]).get(scope)
        known = {} if strict or seen is None else {v.source_hash: v.key for v in read.live(conn, seen)}
    folder = _collect(wanted, listed, known, experimental_memory, watch)
    with database.read() as conn:
        snapshot = _Snapshot(conn, scope)
        if not known or seen == snapshot.own:
            return _plan(snapshot, wanted, folder, strict)
    # The scope was written to meanwhile: what was taken to be live is read like the rest.
    folder = _collect(wanted, listed, {}, experimental_memory, watch)
    with database.read() as conn:
        return _plan(_Snapshot(conn, scope), wanted, folder, strict)


def _collect(
    wanted: _Wanted,
    listed: Listing,
    known: Mapping[bytes, str],
    experimental_memory: bool,
    watch: Watch | None,
) -> _Folder:
    """Read the files and keep what they add; an experimental file stands in for the plain one of its type."""
    files = [file for file in listed.files if experimental_memory or not file.experimental]
    findings = list(listed.findings)
    if listed.files and not files:
        message = f"every file lies in {directories.EXPERIMENTAL}/, which is left out unless asked for"
        findings.append(found("no-documents", message))
    candidates: dict[str, _Candidate] = {}
    keys: set[str] = set()
    paths: set[str] = set()
    categories: dict[str | None, int] = {}
    size = 0
    for n, gathered in enumerate(gathering.gather(files, known), 1):
        if watch is not None:
            watch(n, len(files))
        category = _category(gathered)
        categories[category] = categories.get(category, 0) + 1
        if not wanted.takes(category):
            continue
        findings += gathered.findings
        paths.add(gathered.file.path or "")
        if gathered.key is not None:
            keys.add(gathered.key)
        candidate = _candidate(gathered)
        if candidate is None or gathered.key is None or gathered.key in wanted.keep:
            continue
        if gathered.key not in candidates or gathered.file.experimental:
            candidates[gathered.key] = candidate
        size += len(candidate.new.source) if candidate.new else 0
        if size > MAX_BYTES:
            message = f"the files to import have more than {MAX_BYTES:,} bytes"
            findings.append(found("folder-too-large", message, path=gathered.file.shown))
            break
    if files and not paths:
        message = f"no file is of the category {wanted.category}; there are files of {_counted(categories)}"
        findings.append(found("no-documents", message))
    left_out = frozenset() if experimental_memory or not wanted.prune else _experimental(listed)
    return _Folder(not files, candidates, frozenset(keys), frozenset(paths), left_out, tuple(findings))


def _experimental(listed: Listing) -> frozenset[bytes]:
    gathered = gathering.gather(file for file in listed.files if file.experimental)
    return frozenset(g.source_hash for g in gathered if g.source_hash is not None)


def _counted(categories: Mapping[str | None, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in sorted((name or "?", n) for name, n in categories.items()))


def _category(gathered: Gathered) -> str | None:
    """Return the category: of a prompt its id's first part, of a memory type its top folder, else None."""
    if gathered.key is not None and not names.is_memory_key(gathered.key):
        return gathered.key.partition(".")[0]
    if gathered.file.folders:
        return gathered.file.folders[0]
    return None if gathered.key is None else names.default_place(gathered.key)[1]


def _candidate(gathered: Gathered) -> _Candidate | None:
    if gathered.source_hash is None:
        return None
    if gathered.checked is None:
        return _Candidate(gathered.file, gathered.source_hash, None, None)
    if gathered.checked.errors:
        return None
    folders = gathered.file.folders
    memory = gathered.checked.parsed.kind == "memory"
    _, new = sources.new_version(
        gathered.checked, path=gathered.file.path, category=folders[0] if memory and folders else None
    )
    return _Candidate(gathered.file, gathered.source_hash, new, gathered.checked.place)


class _Snapshot:
    """Where a chain stands in one read, scopes that were never written to at 0, and what it has live, by number."""

    def __init__(self, conn: Connection, scope: str) -> None:
        self.conn = conn
        chain = names.chain(scope)
        found = read.stands(conn, chain)
        self.stands = {name: found.get(name) or Stand(0, name, 0, names.NO_HEAD, 0) for name in chain}
        self.own = found.get(scope)
        self.live = {version.key: version for version in read.live(conn, self.own)} if self.own else {}
        self._below = [(name, read.labels(conn, self.stands[name], LIVE)) for name in chain[1:]]

    @property
    def revision(self) -> str:
        return names.revision_text(stand.mark for stand in self.stands.values())

    def overrides(self, key: str) -> str | None:
        """Return the nearest version below the scope."""
        return next((names.refer(name, numbers[key]) for name, numbers in self._below if key in numbers), None)

    def keys_below(self) -> set[str]:
        return {key for _, numbers in self._below for key in numbers}


def _plan(snapshot: _Snapshot, wanted: _Wanted, folder: _Folder, strict: bool) -> Plan:
    findings = list(folder.findings)
    rows: list[PlanRow] = []
    changing: dict[str, _Candidate] = {}
    for key, candidate in folder.candidates.items():
        own = snapshot.live.get(key)
        if own is not None and own.source_hash == candidate.source_hash:
            path = candidate.file.path or own.path
            rows.append(PlanRow(key, "unchanged", wanted.scope, path, snapshot.overrides(key), "none", ()))
        else:
            changing[key] = candidate
    withdrawn = list(_withdraw(snapshot, wanted, folder))
    if withdrawn and folder.empty:
        message = f"the folder holds no document; pruning by it would withdraw {len(withdrawn)} from {wanted.scope}"
        findings.append(found("nothing-to-keep", message))
    steps = [*_publish(snapshot, wanted.scope, changing), *withdrawn]
    near = _near_keys(snapshot, changing, findings)
    categories: dict[str | None, int] = {}
    for forecast in judging.forecast(snapshot.conn, snapshot.stands, steps):
        findings += _unextended(snapshot, forecast)
        if forecast.judged is not None:
            rows.append(_row(snapshot, forecast, near))
            findings += _same_label(forecast, changing)
            if forecast.judged.changes:
                categories[forecast.judged.category] = categories.get(forecast.judged.category, 0) + 1
    if same := [f"{row.key} ({row.overrides})" for row in rows if row.action == "override" and not row.changes]:
        more = f" and {len(same) - _SHOWN} more" if len(same) > _SHOWN else ""
        what = f"nothing would differ from what lies below: {', '.join(same[:_SHOWN])}{more}"
        findings.append(found("same-as-below", what))
    if len(categories) > 1:
        message = f"this changes {len(categories)} categories at once: {_counted(categories)}"
        findings.append(found("several-categories", message))
    findings.sort(key=lambda f: (f.path or "", f.line or 0, f.column or 0))
    return Plan(
        rows=tuple(sorted(rows, key=lambda row: row.key)),
        findings=gathering.stricter(findings) if strict else tuple(findings),
        risk=changes.worst(*(row.risk for row in rows)),
        revision=snapshot.revision,
        change_set=str(uuid.uuid4()),
        scope=wanted.scope,
        store_id=read.store_id(snapshot.conn),
        _steps=tuple(steps),
    )


def _unextended(snapshot: _Snapshot, forecast: Forecast) -> Iterable[Finding]:
    """Return what keeps a step from making a document; of a patch that nobody has a base for, just that."""
    known = snapshot.keys_below() | snapshot.live.keys() if forecast.findings else ()
    key, scope = forecast.step.key, forecast.step.scope
    if key in known:
        return forecast.findings
    return [checking.nothing_to_extend(finding, key, scope, known) for finding in forecast.findings]


def _publish(snapshot: _Snapshot, scope: str, changing: Mapping[str, _Candidate]) -> Iterator[Step]:
    numbers = read.last_numbers(snapshot.conn, snapshot.own, list(changing)) if snapshot.own else {}
    for key, candidate in sorted(changing.items()):
        own = snapshot.live.get(key)
        before = own.number if own else None
        yield Step(scope, key, "publish", LIVE, before, numbers.get(key, 0) + 1, new=candidate.new)


def _withdraw(snapshot: _Snapshot, wanted: _Wanted, folder: _Folder) -> Iterator[Step]:
    """Yield what pruning takes back: what the scope overrides and the folder lacks, in the category if one is given."""
    for own in snapshot.live.values() if wanted.prune else ():
        there = own.key in folder.keys or own.path in folder.paths or own.source_hash in folder.left_out
        if not there and own.key not in wanted.keep and wanted.takes(own.category):
            yield Step(wanted.scope, own.key, "withdraw", LIVE, own.number, None)


def _row(snapshot: _Snapshot, forecast: Forecast, near: Mapping[str, str]) -> PlanRow:
    step, judged = forecast.step, forecast.judged
    assert judged is not None, "a step that makes a document"
    overrides = snapshot.overrides(step.key)
    if step.after is None:
        action = "withdraw"
    elif step.before is not None:
        action = "update"
    else:
        action = "add" if overrides is None else "override"
    path = judged.version.path if judged.version else snapshot.live[step.key].path
    warnings = _warnings(forecast, judged.notes, overrides)
    if step.key in near:
        warnings.append(near[step.key])
    return PlanRow(step.key, action, step.scope, path, overrides, judged.risk, judged.changes, tuple(warnings))


def _warnings(forecast: Forecast, notes: Iterable[str], overrides: str | None) -> list[str]:
    step = forecast.step
    against = overrides if step.after is not None else names.refer(step.scope, step.before or 0)
    warnings = [f"breaks the contract of {against}: {sentence}" for sentence in forecast.contract]
    warnings += notes
    warnings += [f"breaks an override: {dependent}" for dependent in forecast.dependents[:_SHOWN]]
    if len(forecast.dependents) > _SHOWN:
        warnings.append(f"breaks {len(forecast.dependents) - _SHOWN} more overrides")
    if step.before is None and (step.after or 0) > 1:
        warnings.append(f"was withdrawn from {step.scope} after version {(step.after or 0) - 1} and comes back")
    return warnings


def _same_label(forecast: Forecast, changing: Mapping[str, _Candidate]) -> Iterator[Finding]:
    """Find a prompt whose content is another while the version that its author gave it is the same."""
    step, judged = forecast.step, forecast.judged
    candidate = changing.get(step.key)
    if judged is None or candidate is None or candidate.new is None or step.before is None:
        return
    paths = {change.path for change in judged.changes}
    label = candidate.new.data.get("metadata", {}).get("version")
    if label and "metadata.version" not in paths and any(not path.startswith("metadata.") for path in paths):
        message = f"{step.key} changes and is still labelled {label} by metadata.version"
        yield found("same-label", message, path=candidate.file.shown, at=candidate.at)


def _near_keys(snapshot: _Snapshot, changing: Mapping[str, _Candidate], findings: list[Finding]) -> dict[str, str]:
    """Find keys that are new to the chain and a slip away from one below: warnings by key, and findings."""
    below = snapshot.keys_below()
    # A patch without a base is an error already, which names what is near.
    full = [key for key, candidate in changing.items() if candidate.new and candidate.new.mode == "full"]
    new = [key for key in full if key not in below and key not in snapshot.live]
    if not new or not below:
        return {}
    by_form: dict[str, set[str]] = {}
    for key in below:
        for form in forms(key):
            by_form.setdefault(form, set()).add(key)
    warnings: dict[str, str] = {}
    for key in new:
        near = sorted({other for form in forms(key) for other in by_form.get(form, ())})
        if near:
            meant = " or ".join(f"{other} ({snapshot.overrides(other)})" for other in near[:3])
            warnings[key] = f"new, and close to {meant}"
            candidate = changing[key]
            message = f"{key} is new here, and close to {meant}"
            findings.append(found("near-key", message, path=candidate.file.shown, at=candidate.at))
    return warnings


def forms(key: str) -> set[str]:
    """Return forms of a name that two names share if they are a slip of the hand apart.

    That is a letter too many, too few, wrong, doubled or out of turn, or other separators; digits make keys different
    on purpose, and of very short names too many are alike.
    """
    letters = re.sub(r"(.)\1+", r"\1", re.sub(r"[._-]", "", key))
    if len(key.rpartition(".")[2]) < 4:
        return {letters}
    return {letters, *(letters[:i] + letters[i + 1 :] for i, c in enumerate(letters) if not c.isdigit())}
