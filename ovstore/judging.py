"""What a write would do, told before it is done: the documents before and after, their risk, and the overrides above.

A step moves one label of one key in one scope. For each step on `live` the scope's document is folded as it is served
before and as it would be after all steps, and compared field by field. Live patches in the scopes above are folded too:
where one would no longer make a valid document, the write is refused (ContractError), or the override is first frozen
into a full copy of what its tenant gets now. Overrides with the same content above the same base are judged once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ovstore import changes, checking, documents, hashing, layering, names
from ovstore.db import Connection, log, read, write
from ovstore.db.read import PatchAbove, Stand
from ovstore.errors import ContractError, InvalidDocumentError
from ovstore.layering import Folded, FoldError, LayerVersion
from ovstore.names import GLOBAL, LIVE, SEED, Action, Kind, Mode, Risk
from ovstore.results import Change, Dependent, Finding

Layers = Mapping[str, LayerVersion]
"""What each scope of a chain has for one key."""


@dataclass(frozen=True, slots=True)
class New:
    """A version to add, read and checked before any lock. Without a path it takes that of what it overrides."""

    kind: Kind
    mode: Mode
    source: bytes
    source_hash: bytes
    data: dict[str, Any]
    document_hash: bytes
    path: str | None
    category: str | None
    parts: tuple[str, ...]
    checked: checking.Checked | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One label that moves (label None: a draft that moves nothing); before and after are numbers in the scope."""

    scope: str
    key: str
    action: Action
    label: str | None
    before: int | None
    after: int | None
    undoes: int | None = None
    new: New | None = None
    declared: Risk = "none"


@dataclass(frozen=True, slots=True)
class Judged:
    """A step with what it changes. `version` is what it moves to; `notes` are sentences for the refusal."""

    step: Step
    version: LayerVersion | None
    category: str
    changes: tuple[Change, ...]
    risk: Risk
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """All steps, frozen overrides first, and where every scope that is written to stands."""

    steps: tuple[Judged, ...]
    stands: Mapping[str, Stand]


def judge(conn: Connection, stands: Mapping[str, Stand], steps: Sequence[Step], *, freeze: bool = False) -> Judgement:
    """Fold before and after, find the dependants, and return each step with its changes and risk.

    Raises InvalidDocumentError where a fold that a step makes live is not valid, ContractError for dependants.
    """
    view = _View(conn, stands, steps)
    judged = [_judge_step(view, step) for step in steps]
    broken = _broken_above(view, steps)
    if broken and not freeze:
        raise _contract_error(steps, broken)
    frozen = _freeze(view, broken) if broken else []
    return Judgement((*frozen, *judged), view.stands)


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
    view = _View(conn, stands, steps)
    dependents: dict[str, list[Dependent]] = {}
    for broken in _broken_above(view, steps):
        dependents.setdefault(broken.patch.key, []).append(broken.dependent)
    for step in steps:
        try:
            judged = _judge_step(view, step)
        except InvalidDocumentError as error:
            yield Forecast(step, None, error.findings, (), ())
        else:
            yield Forecast(step, judged, (), _broken_contract(view, step), tuple(dependents.get(step.key, ())))


def _broken_contract(view: _View, step: Step) -> tuple[str, ...]:
    below = view.below(step.scope, step.key, view.before)
    if step.after is None:
        relied_on = fold_chain(step.scope, view.before[step.key])
    else:
        relied_on = layering.fold(below) if below else None
    if relied_on is None:
        return ()
    served = fold_chain(step.scope, view.after[step.key])
    return changes.broken_contract(relied_on.kind, relied_on.data, served.data if served else None)


class _View:
    """The live layers of all keys that are written, before and after the steps."""

    def __init__(self, conn: Connection, stands: Mapping[str, Stand], steps: Sequence[Step]) -> None:
        self.conn = conn
        self.stands = dict(stands)
        keys = list(dict.fromkeys(step.key for step in steps))
        found = read.chain(conn, list(stands), LIVE, keys)
        self.before: dict[str, dict[str, LayerVersion]] = {key: dict(found.layers.get(key, {})) for key in keys}
        self.targets = self._targets(steps)
        self.after = {key: dict(layers) for key, layers in self.before.items()}
        for step in steps:
            if step.label == LIVE:
                target = self.targets.get((step.scope, step.key, step.after or 0))
                if target is None:
                    self.after[step.key].pop(step.scope, None)
                else:
                    self.after[step.key][step.scope] = target
        self.returning = log.keys_moved(conn, stands.values(), [key for key in keys if not self.before[key]])
        self.taken_back = self._rolled_back(steps)

    def _targets(self, steps: Sequence[Step]) -> dict[tuple[str, str, int], LayerVersion]:
        """The versions that the steps move to, by scope, key and number."""
        targets: dict[tuple[str, str, int], LayerVersion] = {}
        older: dict[str, list[tuple[str, int]]] = {}
        for step in steps:
            if step.after is None:
                continue
            if step.new is None:
                older.setdefault(step.scope, []).append((step.key, step.after))
            else:
                targets[step.scope, step.key, step.after] = self._added(step, step.new, step.after)
        for scope, wanted in older.items():
            for (key, number), layer in read.versions(self.conn, self.stands[scope], wanted).items():
                targets[scope, key, number] = layer
        return targets

    def _added(self, step: Step, new: New, number: int) -> LayerVersion:
        below = self.below(step.scope, step.key, self.before)
        path, category = _place(step.key, new, below)
        return LayerVersion(
            scope=step.scope,
            label=step.label,
            number=number,
            mode=new.mode,
            kind=below[0].kind if new.mode == "patch" and below else new.kind,
            data=new.data,
            source_hash=new.source_hash,
            document_hash=new.document_hash,
            path=path,
            category=category,
            base=base_text(below),
        )

    def below(self, scope: str, key: str, layers: Mapping[str, Layers]) -> list[LayerVersion]:
        """What a scope would get if it had nothing of its own: nearest first, down to the first full document."""
        found: list[LayerVersion] = []
        for name in names.chain(scope)[1:]:
            layer = layers[key].get(name)
            if layer is not None:
                found.append(layer)
                if layer.mode == "full":
                    break
        return found

    def _rolled_back(self, steps: Sequence[Step]) -> dict[tuple[str, str], log.RolledBack]:
        wanted: dict[str, dict[str, bytes]] = {}
        for step in steps:
            if step.label == LIVE and step.action in ("publish", "activate") and step.after is not None:
                target = self.targets[step.scope, step.key, step.after]
                wanted.setdefault(step.scope, {})[step.key] = target.source_hash
        return {
            (scope, key): hit
            for scope, sources in wanted.items()
            for key, hit in log.rolled_back(self.conn, self.stands[scope], sources).items()
        }


def base_text(below: Sequence[LayerVersion]) -> str:
    """Write the versions below an override, nearest first: `acme:3 global:7`."""
    return " ".join(names.refer(layer.scope, layer.number) for layer in below)


def _place(key: str, new: New, below: Sequence[LayerVersion]) -> tuple[str, str]:
    """Where a version lies in an export, and its category: its own, else those of what it overrides."""
    default = names.default_place(key)
    inherited = (below[0].path, below[0].category) if below else default
    category = new.category or (inherited[1] if names.is_memory_key(key) else default[1])
    return new.path or inherited[0], category


def fold_chain(scope: str, layers: Layers) -> Folded | None:
    """Fold what a scope's chain has for a key; None where no layer of it has anything."""
    ordered = [layers[name] for name in names.chain(scope) if name in layers]
    return layering.fold(ordered) if ordered else None


def _judge_step(view: _View, step: Step) -> Judged:
    version = view.targets.get((step.scope, step.key, step.after or 0))
    category = version.category if version else view.before[step.key][step.scope].category if _held(view, step) else ""
    if step.label != LIVE:
        if step.new is not None and version is not None:
            _valid_fold(step, {**view.before[step.key], step.scope: version})
        return Judged(step, version, category or names.default_place(step.key)[1], (), step.declared)
    before = _served_before(view, step)
    after = _valid_fold(step, view.after[step.key])
    found = _compare(before, after)
    risk = changes.worst(changes.highest(found), step.declared)
    notes: tuple[str, ...] = ()
    hit = view.taken_back.get((step.scope, step.key))
    if hit is not None:
        risk = changes.worst(risk, "high")
        why = f": {hit.reason}" if hit.reason else ""
        notes = (f"{hit.actor} rolled back from this very text (version {hit.number}) at {hit.at.isoformat()}{why}",)
    return Judged(step, version, category, found, risk, notes)


def _held(view: _View, step: Step) -> bool:
    return step.scope in view.before[step.key]


def _compare(before: Folded | None, after: Folded | None) -> tuple[Change, ...]:
    either = after or before
    if either is None:
        return ()
    return changes.compare(either.kind, before.data if before else None, after.data if after else None)


def _served_before(view: _View, step: Step) -> Folded | None:
    """What the scope serves now; where it serves nothing, what it served last."""
    if view.before[step.key]:
        return fold_chain(step.scope, view.before[step.key])
    if step.key not in view.returning:
        return None
    chain = {name: view.stands[name] for name in names.chain(step.scope) if name in view.stands}
    newest = log.last_move(view.conn, list(chain.values()), step.key, LIVE)
    if newest is None:
        return None
    layers = read.chain_as_of(view.conn, chain, dict.fromkeys(chain, newest - 1), LIVE, [step.key])
    return fold_chain(step.scope, layers.get(step.key, {}))


def _valid_fold(step: Step, layers: Layers) -> Folded | None:
    """Fold what the step leaves; a patch must make a whole document with what is below it."""
    own = layers.get(step.scope)
    checked = step.new.checked if step.new else None
    try:
        folded = fold_chain(step.scope, layers)
    except FoldError as error:
        where = checked.finding if checked else _unplaced
        raise InvalidDocumentError([where("patch-does-not-apply", f"{step.key}: {error}")]) from error
    if folded is None or own is None or own.mode == "full":
        return folded
    findings = checking.check_folded(folded.kind, folded.data, checked)
    if any(finding.severity == "error" for finding in findings):
        versions = ", ".join(names.refer(layer.scope, layer.number) for layer in folded.used)
        raise InvalidDocumentError(findings, f"{step.key} as folded from {versions} is not a valid document")
    return folded


def _unplaced(code: str, message: str) -> Finding:
    return Finding(code, "error", message)


@dataclass(frozen=True, slots=True)
class _Broken:
    """A live patch above the write that would no longer make a document, and the layers it folds on."""

    patch: PatchAbove
    layers: Layers
    why: str

    @property
    def dependent(self) -> Dependent:
        return Dependent(self.patch.stand.name, self.patch.key, self.patch.number, self.why)


def _broken_above(view: _View, steps: Sequence[Step]) -> list[_Broken]:
    """Return the live patches above the steps that fold now and would not fold after them."""
    broken: list[_Broken] = []
    verdicts: dict[tuple[object, ...], str | None] = {}
    moving = {(step.scope, step.key) for step in steps if step.label == LIVE}
    for patch, layers in _patches_above(view, steps):
        if (patch.stand.name, patch.key) in moving:
            continue
        between = {name: layer for name, layer in layers.items() if name not in view.after[patch.key]}
        after = view.after[patch.key] | between
        content = tuple(
            (name if name in view.after[patch.key] else name.count("/"), after[name].document_hash)
            for name in names.chain(patch.stand.name)
            if name in after
        )
        if (patch.key, content) not in verdicts:
            verdicts[patch.key, content] = _why_broken(patch.stand.name, after)
        why = verdicts[patch.key, content]
        if why is not None:
            broken.append(_Broken(patch, view.before[patch.key] | between, why))
    return broken


def _patches_above(view: _View, steps: Sequence[Step]) -> Iterable[tuple[PatchAbove, Layers]]:
    """Yield each live patch above a step with the layers between it and the step, the patch's own among them."""
    moved = {step.scope: [s.key for s in steps if s.scope == step.scope and s.label == LIVE] for step in steps}
    for scope, keys in moved.items():
        if "/" in scope or not keys:
            continue
        parents = None if scope in (SEED, GLOBAL) else [view.stands[scope].id]
        by_key: dict[str, list[PatchAbove]] = {}
        for patch in read.patches_above(view.conn, keys, parents):
            if scope in names.chain(patch.stand.name)[1:]:
                by_key.setdefault(patch.key, []).append(patch)
        for key, patches in by_key.items():
            yield from _with_layers(view, scope, key, patches)


def _with_layers(view: _View, scope: str, key: str, patches: Sequence[PatchAbove]) -> Iterable[tuple[PatchAbove, Layers]]:
    chains = {patch.stand.name: names.chain(patch.stand.name) for patch in patches}
    known = view.before[key].keys() | view.after[key].keys() | set(view.stands)
    between = {name for chain in chains.values() for name in chain[: chain.index(scope)] if name not in known}
    found = read.live_versions(view.conn, sorted(between), key)
    for patch in patches:
        above = chains[patch.stand.name][: chains[patch.stand.name].index(scope)]
        layers = {name: found[name] for name in above if name in found}
        layers |= {name: view.after[key][name] for name in above if name in view.after[key]}
        yield patch, layers


def _why_broken(scope: str, layers: Layers) -> str | None:
    try:
        folded = fold_chain(scope, layers)
    except FoldError as error:
        return str(error)
    if folded is None:
        return "nothing is left to extend"
    errors = [f for f in checking.check_folded(folded.kind, folded.data) if f.severity == "error"]
    return "; ".join(f.message for f in errors) or None


def _contract_error(steps: Sequence[Step], broken: Sequence[_Broken]) -> ContractError:
    dependents = [b.dependent for b in broken]
    shown = [f"  {dependent}" for dependent in dependents[:20]]
    if len(dependents) > 20:
        shown.append(f"  and {len(dependents) - 20} more")
    scopes = ", ".join(dict.fromkeys(step.scope for step in steps))
    message = (
        f"this write in {scopes} would break {len(dependents)} live override{'s' * (len(dependents) > 1)} above it:\n"
        + "\n".join(shown)
        + '\nmend those overrides first, or pass dependents="freeze" to keep what their tenants get now as full copies'
    )
    return ContractError(message, dependents=dependents)


def _freeze(view: _View, broken: Sequence[_Broken]) -> list[Judged]:
    """Make of each broken override a full copy of what its tenant gets now, tenants before their workspaces."""
    write.lock_above(view.conn, [b.patch.stand for b in broken])
    frozen: list[Judged] = []
    done: set[tuple[str, str]] = set()
    for b in sorted(broken, key=lambda b: b.patch.stand.name.count("/")):
        scope, key = b.patch.stand.name, b.patch.key
        parent = names.parent(scope)
        if parent is not None and (parent, key) in done:
            continue
        done.add((scope, key))
        now = fold_chain(scope, b.layers)
        assert now is not None, "a live patch folds on something"
        view.stands.setdefault(scope, read.stands(view.conn, [scope])[scope])
        number = read.last_numbers(view.conn, view.stands[scope], [key])[key] + 1
        old = b.layers[scope]
        new = copy_of(now)
        step = Step(scope, key, "freeze", LIVE, b.patch.number, number, new=new)
        below = [b.layers[name] for name in names.chain(scope)[1:] if name in b.layers]
        version = LayerVersion(
            scope=scope,
            label=LIVE,
            number=number,
            mode="full",
            kind=now.kind,
            data=new.data,
            source_hash=new.source_hash,
            document_hash=new.document_hash,
            path=old.path,
            category=old.category,
            base=base_text(below),
        )
        frozen.append(Judged(step, version, old.category, (), "none"))
    return frozen


def copy_of(folded: Folded) -> New:
    """Make a full version of a folded document, with YAML generated for it."""
    source = documents.generate(folded.data)
    return New(
        kind=folded.kind,
        mode="full",
        source=source,
        source_hash=hashing.source_hash(source),
        data=folded.data,
        document_hash=hashing.document_hash(documents.canonical(folded.kind, "full", folded.data)),
        path=None,
        category=None,
        parts=checking.parts_of(folded.kind, folded.data),
    )
