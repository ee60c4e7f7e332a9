"""Directories into the global layer of a store, for managers that are bound to directories.

What a directory says is published once: a file whose bytes the global layer has or ever had is left as the store has
it, so that a restart undoes no rollback and no newer version, and of many processes that start at once one writes. When
the directory is read again, what changed in it counts: changed files are published, and those that are gone withdrawn.
All of it is one change set or nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ovstore import checking, directories, gathering, hashing, names, transfer
from ovstore.db import read
from ovstore.errors import InvalidDocumentError, RiskError, StalePlanError
from ovstore.gathering import Gathered
from ovstore.names import GLOBAL, Risk
from ovstore.openviking.configuration import Sources
from ovstore.results import Finding
from ovstore.store import Store

Seen = Mapping[str, bytes]
"""The hash of each file that a directory had, by the key of its document."""

_log: Final = logging.getLogger("ovstore.openviking")
_TRIES: Final = 5


def fill(store: Store, sources: Sources, before: Seen | None, *, actor: str, accept_risk: Risk) -> Seen:
    """Bring the global layer to what directories say that they did not say `before`, and return what they say now.

    Raises InvalidDocumentError with every error of every file, and RiskError and ContractError as any import.
    """
    for _ in range(_TRIES):
        try:
            return _fill(store, sources, before, actor, accept_risk)
        except StalePlanError:
            continue  # another process was at it, and what it wrote is known now
    return _fill(store, sources, before, actor, accept_risk)


def _fill(store: Store, sources: Sources, before: Seen | None, actor: str, accept_risk: Risk) -> Seen:
    listed = sources.listing()
    files = [file for file in listed.files if not file.experimental]
    sources_read = (directories.read(file) for file in files)
    hashes = {hashing.source_hash(checking.stored(source)) for source in sources_read if isinstance(source, bytes)}
    with store._database.read() as conn:
        stand = read.stands(conn, [GLOBAL])[GLOBAL]
        known = read.keys_by_source(conn, stand, list(hashes))
        live = {version.key for version in read.live(conn, stand)}
    found = list(gathering.gather(files, known))
    now = {one.key: one.source_hash for one in found if one.key is not None and one.source_hash is not None}
    changed = {
        key for key, source in now.items() if (source not in known if before is None else before.get(key) != source)
    }
    gone = set(before or ()) - now.keys()
    if not changed and not gone and not any(finding.severity == "error" for one in found for finding in one.findings):
        return now
    keep = frozenset((live | now.keys()) - changed - gone)
    plan = transfer.plan_import(store._database, GLOBAL, listed, prune=bool(gone), keep=keep)
    findings = _stricter(plan.findings, found)
    if any(finding.severity == "error" for finding in findings):
        raise InvalidDocumentError(findings)
    for finding in findings:
        if finding.severity == "warning":
            _log.warning("%s", finding)
    try:
        done = store.apply(plan, actor=actor, reason=f"read from {sources}", accept_risk=accept_risk)
    except RiskError as error:
        raise _with_advice(error, sources) from error
    _log.info("%d templates of the global layer read from %s, change set %s", len(done.moves), sources, done.id)
    return now


def _stricter(findings: tuple[Finding, ...], found: list[Gathered]) -> tuple[Finding, ...]:
    """Take it for an error that a prompt lies elsewhere than its id says: upstream finds a prompt by its path alone."""
    prompts = {one.file.shown for one in found if one.key is not None and not names.is_memory_key(one.key)}
    return tuple(
        replace(finding, severity="error") if finding.code == "path-mismatch" and finding.path in prompts else finding
        for finding in findings
    )


def _with_advice(error: RiskError, sources: Sources) -> RiskError:
    directory = sources.prompts or sources.memory
    advice = f"look at `ovstore import {directory} --dry-run`, and do the import with --accept-risk and --reason"
    return RiskError(f"{error}\n{advice}", changes=error.changes, risk=error.risk, accepted=error.accepted)
