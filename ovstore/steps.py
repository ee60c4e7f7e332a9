"""The steps of a write, and what the scopes that it touches serve before and after them.

A step moves one label of one key in one scope, perhaps to a version that it adds. A Prospect knows the live layers of
every key in every scope, as they are and as they would be; judging and the search for dependants look at it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ovstore import checking, documents, hashing, layering, names
from ovstore.db import Connection, log, read
from ovstore.db.read import Stand
from ovstore.grammar import EXTENDS, GRAMMAR
from ovstore.layering import Folded, LayerVersion
from ovstore.names import GLOBAL, LIVE, SEED, Action, Kind, Mode, Risk
from ovstore.results import Change

Layers = Mapping[str, LayerVersion]
"""What each scope of a chain has for one key."""


@dataclass(frozen=True, slots=True)
class New:
    """A version to add, read and checked before any lock. Without a path it takes that of what it stands for."""

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
    """All steps, frozen overrides first, and where every scope that is written to stands.

    `last_above` is the time (µs) of the last entry in the scopes above; None where nobody has looked.
    """

    steps: tuple[Judged, ...]
    stands: Mapping[str, Stand]
    last_above: int | None


class Prospect:
    """What the scopes have live for the keys that matter to a write, before and after its steps."""

    def __init__(self, conn: Connection, stands: Mapping[str, Stand], steps: Sequence[Step]) -> None:
        self.conn = conn
        self.stands = dict(stands)
        self._live: dict[tuple[str, str], LayerVersion | None] = {}
        self.load(list(stands), list(dict.fromkeys(step.key for step in steps)))
        self.targets: dict[tuple[str, str, int], LayerVersion] = {}
        self.moved: dict[tuple[str, str], LayerVersion | None] = {}
        self._find_targets(steps)
        for step in steps:
            if step.label == LIVE:
                self.moved[step.scope, step.key] = self.target(step)
        above = self._above({scope for scope, _ in self.moved})
        self.above = None if above is None else tuple(stand.id for stand in above)
        self.last_above = (
            max((stand.last_at for stand in above), default=0) if self.moved and above is not None else None
        )
        anew = [step for step in steps if _goes_live(step)]
        self.taken_back = self._taken_back(anew)
        self.declared = self._declared(anew)
        absent = {step.key for step in steps if not self.look(step.scope, step.key, after=False)}
        self.returning = log.keys_moved(conn, stands.values(), sorted(absent))

    def load(self, scopes: Sequence[str], keys: Sequence[str]) -> None:
        """Read what the scopes have live for the keys, as far as it was not read yet."""
        keys = [key for key in keys if any((scope, key) not in self._live for scope in scopes)]
        found = read.live_versions(self.conn, scopes, keys) if keys else {}
        for key in keys:
            for scope in scopes:
                self._live[scope, key] = found.get((scope, key))

    def look(self, scope: str, key: str, *, after: bool) -> Layers:
        """Return what the chain of any scope has live for any key, before or after the steps."""
        chain = names.chain(scope)
        self.load(chain, [key])
        layers: dict[str, LayerVersion] = {}
        for name in chain:
            where = name, key
            layer = self.moved[where] if after and where in self.moved else self._live[where]
            if layer is not None:
                layers[name] = layer
        return layers

    def below(self, scope: str, key: str) -> list[LayerVersion]:
        """What a scope would get now if it had nothing of its own: nearest first, down to the first full document."""
        layers = self.look(scope, key, after=False)
        found: list[LayerVersion] = []
        for name in names.chain(scope)[1:]:
            if name in layers:
                found.append(layers[name])
                if layers[name].mode == "full":
                    break
        return found

    def target(self, step: Step) -> LayerVersion | None:
        """The version that a step moves to."""
        return None if step.after is None else self.targets[step.scope, step.key, step.after]

    def freeze(self, step: Step) -> LayerVersion:
        """Take in one more step, which adds a version to a scope above."""
        assert step.new is not None and step.after is not None, "a step that adds a version"
        version = self._added(step, step.new, step.after)
        self.targets[step.scope, step.key, step.after] = self.moved[step.scope, step.key] = version
        return version

    def _above(self, written: set[str]) -> tuple[Stand, ...] | None:
        """The scopes above those whose live labels move; None: all there are."""
        if written & {SEED, GLOBAL}:
            return None
        tenants = [self.stands[scope] for scope in written if "/" not in scope]
        return tuple(stand for tenant in tenants for stand in read.workspaces(self.conn, tenant.id).values())

    def _find_targets(self, steps: Sequence[Step]) -> None:
        older: dict[str, list[tuple[str, int]]] = {}
        for step in steps:
            if step.after is None:
                continue
            if step.new is None:
                older.setdefault(step.scope, []).append((step.key, step.after))
            else:
                self.targets[step.scope, step.key, step.after] = self._added(step, step.new, step.after)
        for scope, wanted in older.items():
            for (key, number), layer in read.versions(self.conn, self.stands[scope], wanted).items():
                self.targets[scope, key, number] = layer

    def _added(self, step: Step, new: New, number: int) -> LayerVersion:
        below = self.below(step.scope, step.key)
        own = self.look(step.scope, step.key, after=False).get(step.scope)
        path, category = _place(step.key, new, own or (below[0] if below else None))
        return LayerVersion(
            scope=step.scope,
            label=step.label,
            number=number,
            mode=new.mode,
            kind=_kind(new, below),
            data=new.data,
            source_hash=new.source_hash,
            document_hash=new.document_hash,
            path=path,
            category=category,
            base=" ".join(str(layer) for layer in below),
        )

    def _taken_back(self, anew: Sequence[Step]) -> dict[tuple[str, str], log.RolledBack]:
        """Who rolled a scope back from the very source that is to go live there again."""
        wanted: dict[str, dict[str, bytes]] = {}
        for step in anew:
            target = self.target(step)
            if target is not None:
                wanted.setdefault(step.scope, {})[step.key] = target.source_hash
        return {
            (scope, key): hit
            for scope, sources in wanted.items()
            for key, hit in log.rolled_back(self.conn, self.stands[scope], sources).items()
        }

    def _declared(self, anew: Sequence[Step]) -> dict[tuple[str, str], Risk]:
        """The risks that their authors declared of drafts that go live."""
        wanted: dict[str, dict[str, int]] = {}
        for step in anew:
            if step.new is None and step.after is not None:
                wanted.setdefault(step.scope, {})[step.key] = step.after
        return {
            (scope, key): risk
            for scope, numbers in wanted.items()
            for key, risk in log.draft_risks(self.conn, self.stands[scope], numbers).items()
        }


def _goes_live(step: Step) -> bool:
    """Whether a step makes a version live that is not merely uncovered again."""
    pushed = step.action in ("publish", "activate") or (step.action == "rollback" and step.undoes is None)
    return step.label == LIVE and pushed


def _kind(new: New, below: Sequence[LayerVersion]) -> Kind:
    """The kind of a version; a patch that says nothing that is a prompt's or a settings' alone has that of its base."""
    fits = new.mode == "patch" and below and new.data.keys() - {EXTENDS} <= GRAMMAR[below[0].kind].keys()
    return below[0].kind if fits else new.kind


def _place(key: str, new: New, shown: LayerVersion | None) -> tuple[str, str]:
    """Where a version lies in an export, and its category: its own, else those of what it replaces or overrides."""
    path, category = names.default_place(key)
    if shown is not None:
        path = shown.path
        if names.is_memory_key(key):
            category = shown.category
    return new.path or path, new.category or category


def fold_chain(scope: str, layers: Layers) -> Folded | None:
    """Fold what a scope's chain has for a key; None where no layer of it has anything."""
    ordered = [layers[name] for name in names.chain(scope) if name in layers]
    return layering.fold(ordered) if ordered else None


def copy_of(folded: Folded) -> New:
    """Make a full version of a folded document, with YAML generated for it, in the place of what answered."""
    source = documents.generate(folded.data)
    return New(
        kind=folded.kind,
        mode="full",
        source=source,
        source_hash=hashing.source_hash(source),
        data=folded.data,
        document_hash=hashing.document_hash(documents.canonical(folded.kind, "full", folded.data)),
        path=folded.used[0].path,
        category=folded.used[0].category,
        parts=checking.parts_of(folded.kind, folded.data),
    )
