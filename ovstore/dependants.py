"""The live overrides above a write: which of them it would break, and how they are kept as they are.

A patch above may no longer fold on what the write leaves below it; a prompt above, or in the same view, may include a
part that the write changes. What works now and would not work afterwards is broken. Patches with the same content above
the same base are judged once, however many tenants have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ovstore import checking, composing, names
from ovstore.db import read, write
from ovstore.db.read import PatchAbove, Stand
from ovstore.errors import ContractError
from ovstore.layering import FoldError, LayerVersion
from ovstore.names import GLOBAL, LIVE, SEED
from ovstore.results import Dependent
from ovstore.steps import Judged, Layers, Prospect, Step, base_text, copy_of, fold_chain


@dataclass(frozen=True, slots=True)
class Broken:
    """What would no longer work above a write, and the copy that would keep it: of `key` in `stand`, folded now."""

    dependent: Dependent
    stand: Stand
    key: str
    layers: Layers


def broken_above(prospect: Prospect, steps: Sequence[Step]) -> list[Broken]:
    """Return what works above the steps now and would not after them, tenants before their workspaces."""
    found = [*_broken_patches(prospect, steps), *_broken_users(prospect, steps)]
    return sorted(found, key=lambda broken: (broken.stand.name.count("/"), broken.stand.id))


def _broken_patches(prospect: Prospect, steps: Sequence[Step]) -> Iterator[Broken]:
    verdicts: dict[tuple[object, ...], str | None] = {}
    for patch, layers in _patches_above(prospect, steps):
        scope, key = patch.stand.name, patch.key
        if (scope, key) in prospect.moved:
            continue
        between = {name: layer for name, layer in layers.items() if name not in prospect.after[key]}
        after = prospect.after[key] | between
        content = (
            key,
            *(
                (name if name in prospect.after[key] else name.count("/"), after[name].document_hash)
                for name in names.chain(scope)
                if name in after
            ),
        )
        if content not in verdicts:
            verdicts[content] = _why_broken(scope, after)
        why = verdicts[content]
        if why is not None:
            dependent = Dependent(scope, key, patch.number, why)
            yield Broken(dependent, patch.stand, key, prospect.before[key] | between)


def _patches_above(prospect: Prospect, steps: Sequence[Step]) -> Iterator[tuple[PatchAbove, Layers]]:
    """Yield each live patch above a step with the layers between it and the step, the patch's own among them."""
    for scope in dict.fromkeys(step.scope for step in steps):
        keys = [key for moved, key in prospect.moved if moved == scope]
        if "/" in scope or not keys:
            continue
        parents = None if scope in (SEED, GLOBAL) else [prospect.stands[scope].id]
        by_key: dict[str, list[PatchAbove]] = {}
        for patch in read.patches_above(prospect.conn, keys, parents):
            if scope in names.chain(patch.stand.name)[1:]:
                by_key.setdefault(patch.key, []).append(patch)
        for key, patches in by_key.items():
            yield from _with_layers(prospect, scope, key, patches)


def _with_layers(
    prospect: Prospect, scope: str, key: str, patches: Sequence[PatchAbove]
) -> Iterator[tuple[PatchAbove, Layers]]:
    chains = {patch.stand.name: names.chain(patch.stand.name) for patch in patches}
    after = prospect.after[key]
    known = prospect.before[key].keys() | after.keys() | set(prospect.stands)
    between = {name for chain in chains.values() for name in chain[: chain.index(scope)] if name not in known}
    found = read.live_versions(prospect.conn, sorted(between), key)
    for patch in patches:
        above = chains[patch.stand.name][: chains[patch.stand.name].index(scope)]
        layers = {name: found[name] for name in above if name in found}
        yield patch, layers | {name: after[name] for name in above if name in after}


def _why_broken(scope: str, layers: Layers) -> str | None:
    try:
        folded = fold_chain(scope, layers)
    except FoldError as error:
        return str(error)
    if folded is None:
        return "nothing is left to extend"
    errors = [f for f in checking.check_folded(folded.kind, folded.data) if f.severity == "error"]
    return "; ".join(f.message for f in errors) or None


def _broken_users(prospect: Prospect, steps: Sequence[Step]) -> Iterator[Broken]:
    """Look at the prompts that include what the steps move, directly or through other parts, in each view of them."""
    seen: set[tuple[str, str, str]] = set()
    in_use = read.parts_in_use_everywhere(prospect.conn, [key for _, key in prospect.moved])
    for scope, moved in prospect.moved:
        if moved not in in_use:
            continue
        for user in composing.users(prospect.conn, moved):
            nearer = _nearer(scope, user.stand.name)
            if nearer is None or (nearer, user.key) in prospect.moved or (nearer, user.key, moved) in seen:
                continue
            seen.add((nearer, user.key, moved))
            why = composing.newly_wrong(prospect, nearer, user.key)
            if why:
                stand = prospect.stands.get(nearer, user.stand)
                dependent = Dependent(nearer, user.key, user.number, why)
                yield Broken(dependent, stand, moved, prospect.look(nearer, moved, after=False))


def _nearer(one: str, other: str) -> str | None:
    """Return the scope of two that sees both; None where neither falls back to the other."""
    if other in names.chain(one):
        return one
    return other if one in names.chain(other) else None


def contract_error(steps: Sequence[Step], broken: Sequence[Broken]) -> ContractError:
    dependents = [b.dependent for b in broken]
    shown = [f"  {dependent}" for dependent in dependents[:20]]
    if len(dependents) > 20:
        shown.append(f"  and {len(dependents) - 20} more")
    scopes = ", ".join(dict.fromkeys(step.scope for step in steps))
    message = (
        f"this write in {scopes} would break {len(dependents)} live override{'s' * (len(dependents) > 1)} above it:\n"
        + "\n".join(shown)
        + '\nmend those first, or pass dependents="freeze" to keep what their tenants get now as full copies'
    )
    return ContractError(message, dependents=dependents)


def freeze(prospect: Prospect, broken: Sequence[Broken]) -> list[Judged]:
    """Make full copies of what each tenant gets now; a workspace whose tenant got one needs none of its own."""
    write.lock_above(prospect.conn, [b.stand for b in broken])
    frozen: dict[tuple[str, str], Judged] = {}
    for b in broken:
        scope = b.stand.name
        if (scope, b.key) in frozen or (names.parent(scope), b.key) in frozen:
            continue
        frozen[scope, b.key] = _frozen(prospect, b)
    return list(frozen.values())


def _frozen(prospect: Prospect, b: Broken) -> Judged:
    scope = b.stand.name
    now = fold_chain(scope, b.layers)
    assert now is not None, "what works now is made of something"
    stand = prospect.stands.setdefault(scope, read.stands(prospect.conn, [scope])[scope])
    number = read.last_numbers(prospect.conn, stand, [b.key]).get(b.key, 0) + 1
    old = now.used[0]
    before = old.number if old.scope == scope else None
    new = copy_of(now)
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
    step = Step(scope, b.key, "freeze", LIVE, before, number, new=new)
    return Judged(step, version, old.category, (), "none")


def by_key(broken: Sequence[Broken]) -> Mapping[str, list[Dependent]]:
    """Return the dependants of each key that was moved."""
    found: dict[str, list[Dependent]] = {}
    for b in broken:
        found.setdefault(b.key, []).append(b.dependent)
    return found
