"""A whole scope put back: its live labels go to where they stood at a time or a revision.

Only the scope's own labels move (with `workspaces`, those of its workspaces too). What it inherits stays as it is now,
so each move says whether the tenant's document is again what it was then, and if not, which layers differ. A patch
that its base no longer carries refuses the whole, or comes back as a full copy of the text of that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ovstore import checking, layering, names, seeing
from ovstore.db import Connection, log, read
from ovstore.db.engines import Database
from ovstore.db.read import Stand
from ovstore.errors import ContractError
from ovstore.judging import judge
from ovstore.layering import FoldError, LayerVersion
from ovstore.lifecycle import Committed, Locked, Order, commit
from ovstore.names import LIVE
from ovstore.results import Dependent, Entry, Move
from ovstore.steps import Judged, Layers, Step, copy_of, fold_chain


@dataclass(frozen=True, slots=True)
class _Past:
    """What a scope's chain served then and serves now, by key."""

    scope: str
    then: Mapping[str, Layers]
    now: Mapping[str, Layers]

    def number(self, layers: Mapping[str, Layers], key: str) -> int | None:
        layer = layers.get(key, {}).get(self.scope)
        return layer.number if layer else None

    def own_keys(self) -> list[str]:
        """The keys that the scope overrides now or overrode then."""
        return sorted(
            key
            for key in self.then.keys() | self.now.keys()
            if self.number(self.then, key) is not None or self.number(self.now, key) is not None
        )


def rollback_tenant(
    database: Database, scope: str, to: object, given: Order, *, workspaces: bool = False
) -> tuple[Move, ...]:
    """Put the live labels of a scope back; keys born later are withdrawn.

    Returns a move for each label that moved and, with before equal to after, one for each override that did not have
    to move but whose document is not what it was.
    """
    question = seeing.ask(scope, at=to)

    def steps(locked: Locked) -> Sequence[Step]:
        locked.stands.update(_stands(locked.conn, locked.stands, scope, workspaces))
        pasts = _pasts(locked.conn, locked.stands, question)
        return _carried(locked, pasts, [step for past in pasts for step in _moves(past)], given.freeze)

    done = commit(database, scope, given, steps)
    with database.read() as conn:
        stands = _stands(conn, read.stands(conn, names.chain(scope)), scope, workspaces)
        return tuple(_told(conn, done, _pasts(conn, stands, question), stands))


def foresee(
    database: Database, scope: str, to: object, *, freeze: bool = False, workspaces: bool = False
) -> tuple[Move, ...]:
    """Tell what `rollback_tenant` would do, with nothing written.

    The moves are those that it would return, without a change set, and behind them the overrides that `freeze` would
    keep as copies. Raises as it does, but for what depends on the caller: the risk that is accepted, and a reason.
    """
    question = seeing.ask(scope, at=to)
    with database.read() as conn:
        stands = _stands(conn, read.stands(conn, names.chain(scope)), scope, workspaces)
        pasts = _pasts(conn, stands, question)
        wanted = _carried(Locked(conn, scope, stands), pasts, [step for past in pasts for step in _moves(past)], freeze)
        judged = judge(conn, stands, wanted, freeze=freeze).steps if wanted else ()
    moves = {(j.step.scope, j.step.key): _foreseen(j, stands) for j in judged}
    versions = {(j.step.scope, j.step.key): j.version for j in judged}
    told: list[Move] = []
    for past in pasts:
        own = {key: move for (name, key), move in moves.items() if name == past.scope}
        told += _compared(_with(past, versions), own, seeing.revision_of(names.chain(past.scope), stands), "")
    put_back = {past.scope for past in pasts}
    return (*told, *(move for (name, _), move in moves.items() if name not in put_back))


def _foreseen(j: Judged, stands: Mapping[str, Stand]) -> Move:
    revision = seeing.revision_of(names.chain(j.step.scope), stands)
    return Move(j.step.key, j.step.scope, LIVE, j.step.before, j.step.after, j.risk, j.changes, revision, "")


def _with(past: _Past, versions: Mapping[tuple[str, str], LayerVersion | None]) -> _Past:
    """What a scope's chain would serve once its labels had moved to these versions."""
    now = {key: dict(layers) for key, layers in past.now.items()}
    for (scope, key), version in versions.items():
        if scope in names.chain(past.scope):
            layers = now.setdefault(key, {})
            layers.pop(scope, None)
            if version is not None:
                layers[scope] = version
    return replace(past, now=now)


def _stands(conn: Connection, chain: Mapping[str, Stand], scope: str, workspaces: bool) -> dict[str, Stand]:
    if workspaces and scope in chain and scope not in (names.SEED, names.GLOBAL) and "/" not in scope:
        return {**chain, **read.workspaces(conn, chain[scope].id)}
    return dict(chain)


def _pasts(conn: Connection, stands: Mapping[str, Stand], question: seeing.Question) -> list[_Past]:
    """The scope that is put back and its workspaces, then and now."""
    until = dict.fromkeys(stands, _held_until(conn, stands, question)) | seeing.times_of(conn, stands, question)
    pasts: list[_Past] = []
    for name in stands:
        if name == question.scope or name not in names.chain(question.scope):
            chain = {n: stands[n] for n in names.chain(name) if n in stands}
            then = read.chain_as_of(conn, chain, {n: until[n] for n in chain}, LIVE)
            pasts.append(_Past(name, then, read.chain(conn, list(chain), LIVE).layers))
    return pasts


def _held_until(conn: Connection, stands: Mapping[str, Stand], question: seeing.Question) -> int:
    """The last moment (µs) at which a revision was the newest: how far workspaces go back that it does not name."""
    newest = max(stand.last_at for stand in stands.values())
    if not isinstance(question.at, str):
        return newest
    marks = names.revision_marks(question.at).values()
    after = [log.position(conn, stands[mark.scope], mark.seq + 1) for mark in marks if mark.scope in stands]
    return min([newest, *(position[0] - 1 for position in after if position is not None)])


def _moves(past: _Past) -> Iterator[Step]:
    for key in past.own_keys():
        before, after = past.number(past.now, key), past.number(past.then, key)
        if before != after:
            yield Step(past.scope, key, "rollback_tenant", LIVE, before, after)


def _carried(locked: Locked, pasts: Sequence[_Past], steps: Sequence[Step], freeze: bool) -> list[Step]:
    """Return the steps, with restored patches that no longer fold turned into full copies, or refuse them all."""
    by_scope = {past.scope: past for past in pasts}
    restored = {(step.scope, step.key) for step in steps}
    carried: list[Step] = []
    broken: list[Dependent] = []
    for step in steps:
        past = by_scope[step.scope]
        why = None if step.after is None else _why_not_carried(step, by_scope, restored)
        if why is None or step.after is None:
            carried.append(step)
        elif freeze:
            then = fold_chain(step.scope, past.then[step.key])
            assert then is not None, "it was served then"
            number = read.last_numbers(locked.conn, locked.stands[step.scope], [step.key])[step.key] + 1
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


def _told(conn: Connection, done: Committed, pasts: Sequence[_Past], stands: Mapping[str, Stand]) -> Iterator[Move]:
    """Tell of each override whether its document is what it was, as the scopes stood behind the change set."""
    moved: dict[tuple[str, str], Entry] = {(entry.scope, entry.key): entry for entry in done.entries}
    at = log.to_us(done.entries[0].at) if done.entries else max(stand.last_at for stand in stands.values())
    done = replace(done, marks={name: log.last_at(conn, stand, at) for name, stand in stands.items()})
    for past in pasts:
        chain = {n: stands[n] for n in names.chain(past.scope) if n in stands}
        after = replace(past, now=read.chain_as_of(conn, chain, dict.fromkeys(chain, at), LIVE))
        moves = {key: done.move(entry) for (scope, key), entry in moved.items() if scope == past.scope}
        yield from _compared(after, moves, done.revision(past.scope), done.change_set)


def _compared(after: _Past, moves: Mapping[str, Move], revision: str, change_set: str) -> Iterator[Move]:
    """Say of what moved, and of what did not have to move, whether it is what it was; what did neither is left out."""
    for key in sorted({*after.own_keys(), *moves}):
        then, now = after.then.get(key, {}), after.now.get(key, {})
        restored = _same(after.scope, then, now)
        if restored and key not in moves:
            continue
        number = after.number(after.now, key)
        stays = Move(key, after.scope, LIVE, number, number, "none", (), revision, change_set)
        differs = () if restored else _differing(after.scope, then, now)
        yield replace(moves.get(key, stays), restored=restored, differs=differs)


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
