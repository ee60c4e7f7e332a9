"""The live overrides above a write: which of them it would break, and how they are kept as they are.

A patch above may no longer fold on what the write leaves below it; and a prompt that the write changes, or that
includes what it changes, may no longer fit its parts, where the write was made or in a scope above that has one of
them of its own. What works now and would not work afterwards is broken. Scopes with the same content are judged once,
however many tenants have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ovstore import checking, composing, names
from ovstore.db import above, read
from ovstore.db.above import Override
from ovstore.errors import ContractError
from ovstore.layering import FoldError
from ovstore.names import LIVE, Mode
from ovstore.results import Dependent
from ovstore.steps import Judged, Layers, Prospect, Step, copy_of, fold_chain

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Broken:
    """What would no longer work, and the key of which its scope needs a copy as it is now to keep it working."""

    dependent: Dependent
    key: str

    @property
    def where(self) -> tuple[str, str]:
        return self.dependent.scope, self.key


def broken_above(prospect: Prospect) -> list[Broken]:
    """Return what works now and would not after the steps, tenants before their workspaces."""
    found = [*_broken_patches(prospect), *_broken_prompts(prospect)]
    return sorted(found, key=lambda broken: (broken.dependent.scope.count("/"), *broken.where))


def _broken_patches(prospect: Prospect) -> Iterator[Broken]:
    verdicts: dict[tuple[object, ...], str | None] = {}
    for key, overrides in _above(prospect, sorted({key for _, key in prospect.moved}), ("patch",)).items():
        patches = [o for o in overrides if _sees(prospect, o.scope, key)]
        prospect.load(list({name for o in patches for name in names.chain(o.scope)}), [key])
        for o in patches:
            layers = prospect.look(o.scope, key, after=True)
            content = key, *_hashes(o.scope, layers)
            if content not in verdicts:
                verdicts[content] = _why_broken(o.scope, layers)
            why = verdicts[content]
            if why is not None:
                yield Broken(Dependent(o.scope, key, o.number, why), key)


def _above(
    prospect: Prospect, keys: Sequence[str], modes: Sequence[Mode] = ("full", "patch")
) -> dict[str, list[Override]]:
    """What the scopes above those that are written to have live for the keys, by key."""
    return {} if prospect.above == () else above.overrides_of(prospect.conn, keys, prospect.above, modes)


def _sees(prospect: Prospect, scope: str, key: str) -> bool:
    """Whether a scope that moves a key not itself has the move below it."""
    own, *below = names.chain(scope)
    return (own, key) not in prospect.moved and any((name, key) in prospect.moved for name in below)


def _hashes(scope: str, layers: Layers) -> tuple[bytes | None, ...]:
    return tuple(layers[name].document_hash if name in layers else None for name in names.chain(scope))


def _why_broken(scope: str, layers: Layers) -> str | None:
    """Say why a scope's patch would make no document; in words that name no scope, since others have the same."""
    try:
        folded = fold_chain(scope, layers)
    except FoldError as error:
        return f"{'it' if error.layer == str(layers[scope]) else 'the patch below it'} {error.what}"
    assert folded is not None, "at least the patch is there"
    errors = [f for f in checking.check_folded(folded.kind, folded.data) if f.severity == "error"]
    return "; ".join(f.message for f in errors) or None


def _broken_prompts(prospect: Prospect) -> Iterator[Broken]:
    """Look at what includes a key that moves, and at that itself, wherever its parts or it can be seen differently."""
    included = composing.includes(prospect)
    if not included:
        return
    overriding = _above(prospect, sorted(composing.made_of(included, included)))
    for scope, key in prospect.moved:
        users = sorted(composing.users_of(key, included))
        members = sorted(composing.made_of(users, included))
        if len(members) > 1:
            seeing = {o.scope for member in members for o in overriding.get(member, ())}
            yield from _broken_views(prospect, scope, key, users, members, seeing)


def _broken_views(
    prospect: Prospect, scope: str, key: str, users: Sequence[str], members: Sequence[str], seeing: set[str]
) -> Iterator[Broken]:
    views = [scope, *sorted(name for name in seeing if scope in names.chain(name)[1:])]
    prospect.load(list({name for view in views for name in names.chain(view)}), members)
    verdicts: dict[tuple[object, ...], Mapping[str, str]] = {}
    for view in views:
        content = tuple(
            (_hashes(view, prospect.look(view, member, after=after)), (view, member) in prospect.moved)
            for member in members
            for after in (False, True)
        )
        if content not in verdicts:
            judged = [user for user in users if (view, user) not in prospect.moved]
            found = {user: composing.newly_wrong(prospect, view, user) for user in judged}
            verdicts[content] = {user: why for user, why in found.items() if why}
        for user, why in verdicts[content].items():
            layers = prospect.look(view, user, after=False)
            number = next(layers[name].number for name in names.chain(view) if name in layers)
            yield Broken(Dependent(view, user, number, why), key)


def _stuck(prospect: Prospect, broken: Sequence[Broken]) -> set[Dependent]:
    """Those that no copy keeps working, since what they would need one of is itself written to in their scope."""
    return {b.dependent for b in broken} - {b.dependent for b in broken if b.where not in prospect.moved}


def contract_error(prospect: Prospect, broken: Sequence[Broken]) -> ContractError:
    """Say what would be broken, whose it is, and the ways out."""
    dependents = list(dict.fromkeys(b.dependent for b in broken))
    shown = [f"  {dependent}" for dependent in dependents[:_SHOWN]]
    if len(dependents) > _SHOWN:
        shown.append(f"  and {len(dependents) - _SHOWN} more")
    if _stuck(prospect, broken):
        way = "mend those first, or write both at once (an import is one write)"
    else:
        way = 'mend those first, or pass dependents="freeze" to keep what their tenants get now as full copies'
    count = f"{len(dependents)} live template{'s' * (len(dependents) > 1)}"
    return ContractError("\n".join([f"this write would break {count}:", *shown, way]), dependents=dependents)


def freeze(prospect: Prospect, broken: Sequence[Broken]) -> list[Judged]:
    """Make full copies of what each tenant gets now; a workspace whose tenant got one needs none of its own.

    Raises ContractError for what cannot be kept so.
    """
    if _stuck(prospect, broken):
        raise contract_error(prospect, broken)
    stands = read.stands(prospect.conn, {b.dependent.scope for b in broken})
    prospect.stands.update({name: stand for name, stand in stands.items() if name not in prospect.stands})
    keys = sorted({b.key for b in broken})
    last = read.last_numbers_of(prospect.conn, [prospect.stands[b.dependent.scope] for b in broken], keys)
    frozen: dict[tuple[str, str], Judged] = {}
    for b in broken:
        scope, key = b.where
        if b.where not in prospect.moved and (names.parent(scope), key) not in frozen:
            frozen[scope, key] = _frozen(prospect, scope, key, last.get((scope, key), 0) + 1)
    return list(frozen.values())


def _frozen(prospect: Prospect, scope: str, key: str, number: int) -> Judged:
    layers = prospect.look(scope, key, after=False)
    now = fold_chain(scope, layers)
    assert now is not None, "what works now is made of something"
    before = layers[scope].number if scope in layers else None
    step = Step(scope, key, "freeze", LIVE, before, number, new=copy_of(now))
    version = prospect.freeze(step)
    return Judged(step, version, version.category, (), "none")


def by_key(broken: Sequence[Broken]) -> Mapping[str, list[Dependent]]:
    """Return the dependants of each key that was moved."""
    found: dict[str, list[Dependent]] = {}
    for b in broken:
        found.setdefault(b.key, []).append(b.dependent)
    return found
