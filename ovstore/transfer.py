"""Whole folders in and out of a scope: a plan is applied here, all of it in one change set or nothing of it.

What a plan says is `planning`'s, what is wrong with files is `gathering`'s, writing files is `exporting`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ovstore import lifecycle, names
from ovstore.db import read
from ovstore.db.engines import Database
from ovstore.errors import ConflictError, InvalidDocumentError, StalePlanError
from ovstore.exporting import export
from ovstore.lifecycle import Locked, Order
from ovstore.planning import Plan, Watch, plan_import
from ovstore.results import ChangeSet
from ovstore.steps import Step

__all__ = ["Plan", "Watch", "apply", "export", "plan_import"]


def apply(
    database: Database, scope: str, plan: Plan, given: Order, finish: Callable[[Locked], None] | None = None
) -> ChangeSet:
    """Do what a plan says; a plan that was applied already is answered from the log, with nothing done again.

    `finish` runs behind the writes in their transaction.

    Raises InvalidDocumentError when the plan has errors, ConflictError when it is another scope's or store's,
    StalePlanError when a scope of its chain has moved since, RiskError and ContractError as publish does.
    """
    if plan.scope != scope:
        raise ConflictError(f"the plan is for {plan.scope}, not for {scope}", expected=scope, found=plan.scope)
    if plan.errors:
        raise InvalidDocumentError(plan.errors)

    def steps(locked: Locked) -> Sequence[Step]:
        _check_unmoved(plan, locked)
        return plan._steps

    done = lifecycle.commit(database, scope, given, steps, finish)
    moves = tuple(done.move(entry) for entry in done.entries if entry.scope == scope)
    return ChangeSet(done.change_set, moves, done.revision(scope))


def _check_unmoved(plan: Plan, locked: Locked) -> None:
    """Refuse a plan made elsewhere or earlier: its numbers and its risks are those of the chain as it stood then."""
    store_id = read.store_id(locked.conn)
    if store_id != plan.store_id:
        raise ConflictError(
            f"the plan was made on another store ({plan.store_id}, this is {store_id}): make it here",
            expected=plan.store_id,
            found=store_id,
        )
    marks = locked.marks()
    revision = names.revision_text(marks[name] for name in names.chain(plan.scope))
    if revision != plan.revision:
        raise StalePlanError(
            f"the store has moved since the plan was made, from {plan.revision} to {revision}: plan again; "
            "nothing was changed",
            expected=plan.revision,
            found=revision,
        )
