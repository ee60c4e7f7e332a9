"""The steps of a write, and what the scopes that it touches serve before and after them.

A step moves one label of one key in one scope, perhaps to a version that it adds. A Prospect holds the live layers of
every key that the steps move, as they are and as they would be; judging and the search for dependants look at it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ovstore import checking, documents, hashing, layering, names
from ovstore.db import Connection, log, read
from ovstore.db.read import Stand
from ovstore.layering import Folded, LayerVersion
from ovstore.names import LIVE, Action, Kind, Mode, Risk
from ovstore.results import Change

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


class Prospect:
    """The live layers of all keys that are written, before and after the steps."""

    def __init__(self, conn: Connection, stands: Mapping[str, Stand], steps: Sequence[Step]) -> None:
        self.conn = conn
        self.stands = dict(stands)
        keys = list(dict.fromkeys(step.key for step in steps))
        found = read.chain(conn, list(stands), LIVE, keys)
        self.before: dict[str, dict[str, LayerVersion]] = {key: dict(found.layers.get(key, {})) for key in keys}
        self.targets = self._targets(steps)
        self.moved = {
            (step.scope, step.key): self.targets.get((step.scope, step.key, step.after or 0))
            for step in steps
            if step.label == LIVE
        }
        self.after = {key: dict(layers) for key, layers in self.before.items()}
        for (scope, key), target in self.moved.items():
            if target is None:
                self.after[key].pop(scope, None)
            else:
                self.after[key][scope] = target
        self._seen: dict[tuple[str, str], Layers] = {}
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
        path, category = place(step.key, new, below)
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

    def look(self, scope: str, key: str, *, after: bool) -> Layers:
        """Return what the chain of any scope has live for any key, before or after the steps."""
        if (scope, key) not in self._seen:
            found = read.chain(self.conn, names.chain(scope), LIVE, [key])
            self._seen[scope, key] = found.layers.get(key, {})
        layers = dict(self._seen[scope, key])
        for name in names.chain(scope) if after else ():
            if (name, key) in self.moved:
                layers.pop(name, None)
                target = self.moved[name, key]
                if target is not None:
                    layers[name] = target
        return layers

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


def place(key: str, new: New, below: Sequence[LayerVersion]) -> tuple[str, str]:
    """Where a version lies in an export, and its category: its own, else those of what it overrides."""
    default = names.default_place(key)
    inherited = (below[0].path, below[0].category) if below else default
    category = new.category or (inherited[1] if names.is_memory_key(key) else default[1])
    return new.path or inherited[0], category


def fold_chain(scope: str, layers: Layers) -> Folded | None:
    """Fold what a scope's chain has for a key; None where no layer of it has anything."""
    ordered = [layers[name] for name in names.chain(scope) if name in layers]
    return layering.fold(ordered) if ordered else None


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
