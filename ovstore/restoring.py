"""A whole scope put back: its live labels go to where they stood at a time or a revision.

Only the scope's own labels move (with `workspaces`, those of its workspaces too). What it inherits stays as it is now,
so each move says whether the tenant's document is again what it was then, and if not, which layers differ. A patch
that its base no longer carries refuses the whole, or comes back as a full copy of the text of that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ovstore import checking, layering, names, resolver
from ovstore.db import log, read, write
from ovstore.db.engines import Database
from ovstore.db.read import Stand
from ovstore.errors import ContractError
from ovstore.judging import Layers, Step, copy_of, fold_chain
from ovstore.layering import FoldError
from ovstore.lifecycle import Committed, Locked, Order, commit
from ovstore.names import LIVE
from ovstore.results import Dependent, Entry, Move


@dataclass(frozen=True, slots=True)
class _Past:
    """What a scope's chain served then and serves now, by key."""

    stand: Stand
    then: Mapping[str, Layers]
    now: Mapping[str, Layers]

    def number(self, layers: Mapping[str, Layers], key: str) -> int | None:
        layer = layers.get(key, {}).get(self.stand.name)
        return layer.number if layer else None

    def own_keys(self) -> list[str]:
        """The keys that the scope overrides now or overrode then."""
        return sorted(
            key
            for key in self.then.keys() | self.now.keys()
            if self.number(self.then, key) is not None or self.number(self.now, key) is not None
        )


def rollback_all(
    database: Database, scope: str, to: object, given: Order, *, workspaces: bool = False
) -> tuple[Move, ...]:
    """Put the live labels of a scope back; keys born later are withdrawn.

    Returns a move for each label that moved and, with before equal to after, one for each override that did not have
    to move but whose document is not what it was.
    """
    question = resolver.ask(scope, at=to)
    pasts: list[_Past] = []

    def steps(locked: Locked) -> Sequence[Step]:
        pasts[:] = _pasts(locked, question, workspaces)
        wanted = [step for past in pasts for step in _moves(past)]
        return _carried(locked, pasts, wanted, given)

    done = commit(database, scope, given, steps)
    if not pasts:
        return tuple(done.move(entry) for entry in done.entries)
    with database.read() as conn:
        chains = {past.stand.name: read.chain(conn, names.chain(past.stand.name), LIVE) for past in pasts}
    after = {name: view.layers for name, view in chains.items()}
    return tuple(_told(done, pasts, after))


def _pasts(locked: Locked, question: resolver.Question, workspaces: bool) -> list[_Past]:
    stands = {locked.scope: locked.own}
    if workspaces and locked.scope not in (names.SEED, names.GLOBAL) and "/" not in locked.scope:
        others = read.workspaces(locked.conn, locked.own.id)
        write.lock_above(locked.conn, others.values())
        locked.stands.update(others)
        stands |= others
    until = resolver.times_of(locked.conn, locked.stands, question)
    pasts: list[_Past] = []
    for name, stand in stands.items():
        chain = {n: locked.stands[n] for n in names.chain(name) if n in locked.stands}
        limits = {n: until.get(n, max(until.values())) for n in chain}
        then = read.chain_as_of(locked.conn, chain, limits, LIVE)
        now = read.chain(locked.conn, list(chain), LIVE).layers
        pasts.append(_Past(stand, then, now))
    return pasts


def _moves(past: _Past) -> Iterator[Step]:
    for key in past.own_keys():
        before, after = past.number(past.now, key), past.number(past.then, key)
        if before != after:
            yield Step(past.stand.name, key, "rollback_tenant", LIVE, before, after)


def _carried(locked: Locked, pasts: Sequence[_Past], steps: Sequence[Step], given: Order) -> list[Step]:
    """Return the steps, with restored patches that no longer fold turned into full copies, or refuse them all."""
    by_scope = {past.stand.name: past for past in pasts}
    restored = {(step.scope, step.key) for step in steps}
    carried: list[Step] = []
    broken: list[Dependent] = []
    for step in steps:
        past = by_scope[step.scope]
        why = None if step.after is None else _why_not_carried(step, by_scope, restored)
        if why is None or step.after is None:
            carried.append(step)
        elif given.freeze:
            then = fold_chain(step.scope, past.then[step.key])
            assert then is not None, "it was served then"
            number = read.last_numbers(locked.conn, past.stand, [step.key])[step.key] + 1
            carried.append(replace(step, after=number, new=copy_of(then)))
        else:
            broken.append(Dependent(step.scope, step.key, step.after, why))
    if broken:
        lines = "\n".join(f"  {dependent}" for dependent in broken)
        raise ContractError(
            f"{len(broken)} of the overrides to be restored no longer fit what is below them:\n{lines}\n"
            'pass dependents="freeze" to bring them back as full copies of the text of that time',
            dependents=broken,
        )
    return carried


def _why_not_carried(step: Step, by_scope: Mapping[str, _Past], restored: set[tuple[str, str]]) -> str | None:
    """Fold a restored version on what will be below it, where the tenant below a workspace is restored too."""
    past = by_scope[step.scope]
    layers = dict(past.now.get(step.key, {}))
    for name in names.chain(step.scope):
        if (name, step.key) in restored:
            then = by_scope[name].then.get(step.key, {}).get(name)
            layers.pop(name, None)
            if then is not None:
                layers[name] = then
    try:
        folded = fold_chain(step.scope, layers)
    except FoldError as error:
        return str(error)
    if folded is None or len(folded.used) == 1:
        return None
    errors = [f for f in checking.check_folded(folded.kind, folded.data) if f.severity == "error"]
    return "; ".join(f.message for f in errors) or None


def _told(
    done: Committed, pasts: Sequence[_Past], after: Mapping[str, Mapping[str, Layers]]
) -> Iterator[Move]:
    moved: dict[tuple[str, str], Entry] = {(entry.scope, entry.key): entry for entry in done.entries}
    for past in pasts:
        name = past.stand.name
        for key in past.own_keys():
            entry = moved.get((name, key))
            then, now = past.then.get(key, {}), after[name].get(key, {})
            restored = _same(name, then, now)
            if entry is None and restored:
                continue
            number = past.number(past.now, key)
            move = (
                done.move(entry)
                if entry is not None
                else Move(key, name, LIVE, number, number, "none", (), done.revision(name), done.change_set)
            )
            yield replace(move, restored=restored, differs=() if restored else _differing(name, then, now))


def _same(scope: str, then: Layers, now: Layers) -> bool:
    folded = [fold_chain(scope, layers) for layers in (then, now)]
    hashes = [None if fold is None else layering.folded_hash(fold) for fold in folded]
    return hashes[0] == hashes[1]


def _differing(scope: str, then: Layers, now: Layers) -> tuple[str, ...]:
    return tuple(
        name
        for name in names.chain(scope)
        if (then[name].document_hash if name in then else None) != (now[name].document_hash if name in now else None)
    )
