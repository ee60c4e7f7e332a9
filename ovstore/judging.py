"""What a write would do, told before it is done: the documents before and after, their risk, and the overrides above.

For each step on `live` the scope's document is folded as it is served before and as it would be after all steps, and
compared field by field. A fold that a step makes live must be a valid document, with all its parts; the overrides above
must stay valid too, or are frozen into full copies of what their tenants get now (`dependants`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ovstore import changes, checking, composing, dependants, layering, names
from ovstore.checking import Checked
from ovstore.db import Connection, log, read
from ovstore.db.read import Stand
from ovstore.errors import InvalidDocumentError
from ovstore.findings import found
from ovstore.layering import Folded, FoldError, LayerVersion
from ovstore.names import LIVE
from ovstore.results import Dependent, Finding, time_text
from ovstore.steps import Judged, Judgement, Layers, Prospect, Step, fold_chain


def judge(conn: Connection, stands: Mapping[str, Stand], steps: Sequence[Step], *, freeze: bool = False) -> Judgement:
    """Fold before and after, find the dependants, and return each step with its changes and risk.

    Raises InvalidDocumentError where a fold that a step makes live is not valid, ContractError for dependants.
    """
    prospect = Prospect(conn, stands, steps)
    judged = [_judge_step(prospect, step) for step in steps]
    frozen: list[Judged] = []
    # A copy that keeps one thing as it is may not fit the new state of another: until nothing is broken any more.
    while broken := dependants.broken_above(prospect):
        if not freeze:
            raise dependants.contract_error(prospect, broken)
        frozen += dependants.freeze(prospect, broken)
    return Judgement((*frozen, *judged), prospect.stands, prospect.last_above)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one step would do, with nothing refused; `judged` is None where `findings` say why it makes no document.

    `contract` says what calls it breaks: those of what it hides, or, where it stops hiding, its own. `dependents` are
    the live overrides above that would no longer fold.
    """

    step: Step
    judged: Judged | None
    findings: tuple[Finding, ...]
    contract: tuple[str, ...]
    dependents: tuple[Dependent, ...]


def forecast(conn: Connection, stands: Mapping[str, Stand], steps: Sequence[Step]) -> Iterator[Forecast]:
    """Yield what each step would do, so that a plan can tell all that is wrong with all of them at once."""
    prospect = Prospect(conn, stands, steps)
    dependents = dependants.by_key(dependants.broken_above(prospect))
    for step in steps:
        try:
            judged = _judge_step(prospect, step)
        except InvalidDocumentError as error:
            yield Forecast(step, None, error.findings, (), ())
        else:
            yield Forecast(step, judged, (), _broken_contract(prospect, step), tuple(dependents.get(step.key, ())))


def _broken_contract(prospect: Prospect, step: Step) -> tuple[str, ...]:
    below = prospect.below(step.scope, step.key)
    if step.after is None:
        relied_on = fold_chain(step.scope, prospect.look(step.scope, step.key, after=False))
    else:
        relied_on = layering.fold(below) if below else None
    if relied_on is None:
        return ()
    served = fold_chain(step.scope, prospect.look(step.scope, step.key, after=True))
    return changes.broken_between(relied_on, served)


def _judge_step(prospect: Prospect, step: Step) -> Judged:
    version = prospect.target(step)
    category = _category(prospect, step, version)
    if step.label != LIVE:
        if step.new is not None and version is not None:
            _valid_fold(prospect, step, {**prospect.look(step.scope, step.key, after=False), step.scope: version})
        return Judged(step, version, category, (), step.declared)
    before = _served_before(prospect, step)
    after = _valid_fold(prospect, step, prospect.look(step.scope, step.key, after=True))
    found = changes.between(before, after)
    where = step.scope, step.key
    risk = changes.worst(changes.highest(found), step.declared, prospect.declared.get(where, "none"))
    notes: tuple[str, ...] = ()
    hit = prospect.taken_back.get(where)
    if hit is not None:
        risk = changes.worst(risk, "high")
        why = f": {hit.reason}" if hit.reason else ""
        notes = (f"{hit.actor} rolled back from this very text (version {hit.number}) at {time_text(hit.at)}{why}",)
    return Judged(step, version, category, found, risk, notes)


def _category(prospect: Prospect, step: Step, version: LayerVersion | None) -> str:
    held = version or prospect.look(step.scope, step.key, after=False).get(step.scope)
    return held.category if held else names.default_place(step.key)[1]


def _served_before(prospect: Prospect, step: Step) -> Folded | None:
    """What the scope serves now; where it serves nothing, what it served last."""
    now = fold_chain(step.scope, prospect.look(step.scope, step.key, after=False))
    if now is not None or step.key not in prospect.returning:
        return now
    chain = {name: prospect.stands[name] for name in names.chain(step.scope) if name in prospect.stands}
    newest = log.last_move(prospect.conn, list(chain.values()), step.key, LIVE)
    if newest is None:
        return None
    layers = read.chain_as_of(prospect.conn, chain, dict.fromkeys(chain, newest - 1), LIVE, [step.key])
    return fold_chain(step.scope, layers.get(step.key, {}))


def _valid_fold(prospect: Prospect, step: Step, layers: Layers) -> Folded | None:
    """Fold what the step leaves; a patch must make a whole document with what is below it, and parts must exist."""
    own = layers.get(step.scope)
    checked = step.new.checked if step.new else None
    findings: tuple[Finding, ...] = ()
    try:
        folded = fold_chain(step.scope, layers)
        if folded is None:
            return None
        if own is not None and own.mode == "patch":
            findings = checking.check_folded(folded.kind, folded.data, checked)
        if folded.kind == "prompt":
            composed = composing.wrong(prospect, step.scope, step.key, folded.data, after=True)
            findings += checking.placed(composed, checked)
    except FoldError as error:
        raise InvalidDocumentError([_misfit(step.key, checked, error)]) from error
    if any(finding.severity == "error" for finding in findings):
        versions = ", ".join(names.refer(layer.scope, layer.number) for layer in folded.used)
        raise InvalidDocumentError(findings, f"{step.key} as folded from {versions} is not a valid document")
    return folded


def _misfit(key: str, checked: Checked | None, error: FoldError) -> Finding:
    """Tell of layers that do not fit, in the file of the step at the first item that is not there, else at its key."""
    message = f"{key}: {error}"
    if checked is None:
        return found("patch-does-not-apply", message)
    at = next((place for item in error.items if (place := checked.place_of(*item))), checked.place)
    return found("patch-does-not-apply", message, path=checked.path, at=at)
