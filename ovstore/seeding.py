"""The seed layer: the templates that come with this package, how an empty store gets them and a seeded one newer ones.

The bundled catalogue has a number, and a store remembers the highest that was put into it: an older package never
writes over a newer one's. An upgrade is a plan like any other, made known before it is done, and judged as any write,
so that it cannot undo a rollback unseen. It touches what ovstore itself has put into the layer, and nothing that
somebody else has published there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

import ovstore
from ovstore import bundled, lifecycle, transfer
from ovstore.db import Connection, above, log, read, write
from ovstore.db.above import Override
from ovstore.db.engines import Database
from ovstore.db.read import Stand
from ovstore.directories import EXPERIMENTAL
from ovstore.errors import ConflictError, InvalidDocumentError
from ovstore.lifecycle import Locked
from ovstore.names import SEED
from ovstore.planning import Plan, plan_import
from ovstore.results import ChangeSet, PlanRow
from ovstore.steps import Step

CATALOG: Final = 1
"""The number of the bundled catalogue; each release that changes a seed template has the next one."""

_BY_OVSTORE: Final = "ovstore "
_SHOWN: Final = 5


def seed(database: Database, *, experimental_memory: bool = False) -> bool:
    """Fill a seed layer that was never written to; say whether this call did it.

    Of several processes that come at once one does it, and the others find it done.
    """
    with database.read() as conn:
        if read.stands(conn, [SEED])[SEED].seq:
            return False
    plan = plan_import(database, SEED, bundled.folder("seed_templates"), experimental_memory=experimental_memory)
    if plan.errors:
        raise InvalidDocumentError(plan.errors, "the templates of this package are not whole: install it again")

    def steps(locked: Locked) -> Sequence[Step]:
        return [] if locked.own.seq else plan._steps

    def finish(locked: Locked) -> None:
        if not locked.own.seq:
            write.set_seed_catalog(locked.conn, str(CATALOG))

    given = lifecycle.order(actor=_author(), reason=f"bundled catalogue {CATALOG}", change_set=plan.change_set)
    return bool(lifecycle.commit(database, SEED, given, steps, finish).entries)


def plan_upgrade(database: Database, *, experimental_memory: bool | None = None) -> Plan | None:
    """Tell what this package's catalogue changes in the seed layer, and for whom; None if the layer has it already.

    `experimental_memory` None leaves those types as they are. Raises ConflictError where the layer has the catalogue of
    a newer package.
    """
    with database.read() as conn:
        catalog = _catalog(conn)
        stand = read.stands(conn, [SEED])[SEED]
        experimental = any(EXPERIMENTAL in version.path.split("/") for version in read.live(conn, stand))
        keep = _published_by_others(conn, stand)
    _refuse_newer(catalog)
    if catalog == CATALOG and experimental_memory in (None, experimental):
        return None
    plan = plan_import(
        database,
        SEED,
        bundled.folder("seed_templates"),
        prune=True,
        experimental_memory=experimental if experimental_memory is None else experimental_memory,
        keep=keep,
    )
    with database.read() as conn:
        changing = [row.key for row in plan.rows if row.action != "unchanged"]
        overrides = above.overrides_of(conn, changing)
    rows = (_for_whom(row, [o for o in overrides.get(row.key, ()) if o.scope != SEED]) for row in plan.rows)
    # What is only for knowing is for the authors of the package: nobody else can narrow the plan, or change its files.
    findings = tuple(finding for finding in plan.findings if finding.severity != "info")
    return dataclasses.replace(plan, rows=tuple(rows), findings=findings)


def apply_upgrade(
    database: Database, plan: Plan, *, accept_risk: str = "medium", dependents: str = "refuse", reason: str = ""
) -> ChangeSet:
    """Do what `plan_upgrade` told, in the name of this package, and remember its catalogue's number.

    Raises as `transfer.apply` does; ConflictError where a newer package has been at work meanwhile.
    """
    given = lifecycle.order(
        actor=_author(),
        reason=reason or f"bundled catalogue {CATALOG}",
        change_set=plan.change_set,
        accept_risk=accept_risk,
        dependents=dependents,
    )

    def finish(locked: Locked) -> None:
        _refuse_newer(_catalog(locked.conn))
        write.set_seed_catalog(locked.conn, str(CATALOG))

    return transfer.apply(database, SEED, plan, given, finish)


def _author() -> str:
    return f"{_BY_OVSTORE}{ovstore.__version__}"


def _catalog(conn: Connection) -> int:
    return int(read.seed_catalog(conn) or 0)


def _refuse_newer(catalog: int) -> None:
    if catalog > CATALOG:
        raise ConflictError(
            f"the seed layer holds catalogue {catalog}, and this package (ovstore {ovstore.__version__}) brings "
            f"{CATALOG}: an older package does not write over a newer one",
            expected=CATALOG,
            found=catalog,
        )


def _published_by_others(conn: Connection, stand: Stand) -> frozenset[str]:
    """The keys of the seed layer whose live version was put there by somebody else: they are not the package's."""
    return frozenset(key for key, actor in log.publishers(conn, stand).items() if not actor.startswith(_BY_OVSTORE))


def _for_whom(row: PlanRow, overrides: Sequence[Override]) -> PlanRow:
    """Add who stands above the row: patches get the change below them, full overrides keep what they have."""
    patched = [o.scope for o in overrides if o.mode == "patch"]
    replaced = [o.scope for o in overrides if o.mode == "full"]
    notes: list[str] = []
    if patched:
        notes.append(f"patched by {_named(patched)}: the change shows through")
    if replaced:
        notes.append(f"overridden by {_named(replaced)}: nothing changes there")
    return dataclasses.replace(row, warnings=(*row.warnings, *notes))


def _named(scopes: Sequence[str]) -> str:
    more = [f"{len(scopes) - _SHOWN} more"] if len(scopes) > _SHOWN else []
    return ", ".join([*scopes[:_SHOWN], *more])
