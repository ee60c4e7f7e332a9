"""A plan as people read it: what would differ row by row, and what would not, or is too much to read, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from ovstore import changes, names, stages
from ovstore.cli import wording
from ovstore.cli.lines import afterwards, changed
from ovstore.results import Finding, PlanRow

if TYPE_CHECKING:
    from ovstore.transfer import Plan

_ACTIONS: Final = {
    "add": "to add",
    "override": "to override",
    "update": "to update",
    "withdraw": "to withdraw",
    "unchanged": "unchanged",
}
_ALIKE: Final = {
    "override": "that say the same as what they hide",
    "update": "that differ in comments or layout alone",
    "withdraw": "that say the same as what answers then",
}
_FEW: Final = 5
"""So many rows that change nothing are named each; more are counted, so that those that do are seen."""
_ROWS: Final = 50


def lines(console: Console, plan: Plan) -> Iterator[Text]:
    counts = Counter(row.action for row in plan.rows)
    told = _counted(counts) or "nothing"
    yield Text.assemble(("plan", "bold"), f" for {plan.scope}: {told}", wording.risk_text(plan.risk))
    rows = [row for row in plan.rows if row.action != "unchanged"]
    alike = Counter(row.action for row in rows if _says_the_same(row))
    counted = {action for action, number in alike.items() if number > _FEW}
    differing = [row for row in rows if not (row.action in counted and _says_the_same(row))]
    left_out = _harmless(differing)
    shown = [row for row in differing if row.key not in left_out]
    widths = max((len(row.key) for row in shown), default=0), max((len(row.risk) for row in shown), default=0)
    for n, row in enumerate(shown):
        yield from _row(console, row, *widths, whole=n < _ROWS)
    if len(shown) > _ROWS:
        yield Text(f"  (the changes of {len(shown) - _ROWS} rows are left out: --format json has them)", style="dim")
    yield from _rest([row for row in differing if row.key in left_out])
    for action in sorted(counted):
        yield Text(f"  {action:<9} {alike[action]} {_ALIKE[action]}", style="dim")
    yield from _findings(plan.findings)
    if not plan.errors:
        yield from afterwards([row.key for row in rows if row.changes])


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[action]} {words}" for action, words in _ACTIONS.items() if counts[action])


def _says_the_same(row: PlanRow) -> bool:
    return row.action in _ALIKE and row.risk == "none" and not row.changes and not row.warnings


def _harmless(rows: Sequence[PlanRow]) -> set[str]:
    """Return the keys that are too many to show: shown is all that is above medium or warns, and then the riskiest."""
    harmless = [row for row in rows if not row.warnings and row.risk in ("none", "low", "medium")]
    harmless.sort(key=lambda row: names.RISKS.index(row.risk), reverse=True)
    return {row.key for row in harmless[_ROWS:]}


def _rest(rows: Sequence[PlanRow]) -> Iterator[Text]:
    if rows:
        risk = changes.worst(*(row.risk for row in rows))
        what = _counted(Counter(row.action for row in rows))
        yield Text(f"  and {len(rows)} more, of {risk} risk at most and without warnings: {what}", style="dim")


def _findings(found: Sequence[Finding]) -> Iterator[Text]:
    """Yield every error and warning, and of what is only for knowing the first few of each kind."""
    told: Counter[str] = Counter()
    for finding in found:
        told[finding.code] += finding.severity == "info"
        if told[finding.code] <= _FEW:
            yield wording.finding_text(finding)
    for code, number in told.items():
        if number > _FEW:
            yield Text(f"info[{code}]: and {number - _FEW} more", style="dim")


def _row(console: Console, row: PlanRow, width: int, risk_width: int, *, whole: bool) -> Iterator[Text]:
    same = row.action == "override" and not row.changes
    over = f"{'same as' if same else 'over'} {row.overrides}" if row.overrides else ""
    risk = (f"{row.risk:<{risk_width}}", wording.RISKS[row.risk])
    head = Text.assemble(f"  {row.action:<9} ", (f"{row.key:<{width}}", "bold"), "  ", risk, f"  {over}")
    head.rstrip()
    yield head
    if whole and row.action != "add" and row.changes:
        yield from changed(console, row.changes, indent=6)
        stage = stages.about(row.key)
        if stage is not None:
            yield Text(f"      used at: {stage.stage}")
            yield Text(f"      affects: {stage.affects}")
    for warning in row.warnings:
        yield Text(f"      ! {wording.one_line(warning)}", style="yellow")
