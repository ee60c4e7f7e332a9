"""A store in a few dictionaries: what each scope should get, and what each past state should answer for ever.

It knows nothing of ovstore but the rules: labels are stacks, a chain falls back, patches fold on the nearest full
document, and a move that would break a live patch above it is refused or freezes that patch.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Literal

Doc = dict[str, Any]
"""`text`, `tone` (whether the optional variable is declared) and `conf` (llm_config)."""

SCOPES = ("seed", "global", "acme", "acme/desk", "beta")


def chain(scope: str) -> list[str]:
    found = [scope]
    while found[-1] != "seed":
        last = found[-1]
        found.append("acme" if last == "acme/desk" else "seed" if last == "global" else "global")
    return found


@dataclass
class Made:
    mode: Literal["full", "patch"]
    doc: Doc


class DoesNotFold(Exception):
    pass


class Refused(Exception):
    """A move that leaves a live patch without what it needs below: `own` says that it is the moved one."""

    def __init__(self, own: bool) -> None:
        self.own = own


@dataclass(frozen=True)
class Served:
    """What a scope gets, and the version of the nearest layer that gives it."""

    scope: str
    version: int
    doc: Doc


@dataclass
class Model:
    """One key."""

    versions: dict[str, list[Made]] = field(default_factory=lambda: {s: [] for s in SCOPES})
    stacks: dict[tuple[str, str], list[tuple[int | None, int | None]]] = field(default_factory=dict)
    used: set[tuple[str, str]] = field(default_factory=set)
    """Where a label was ever moved."""

    def copy(self) -> Model:
        return copy.deepcopy(self)

    def standing(self, scope: str, label: str = "live") -> int | None:
        stack = self.stacks.get((scope, label), [])
        return stack[-1][1] if stack else None

    def push(self, scope: str, label: str, after: int | None) -> None:
        """Move a label; where it stands there already, nothing moves."""
        if self.standing(scope, label) != after:
            self.stacks.setdefault((scope, label), []).append((self.standing(scope, label), after))
            self.used.add((scope, label))

    def add(self, scope: str, made: Made) -> int:
        self.versions[scope].append(made)
        return len(self.versions[scope])

    def pop_to(self, scope: str, label: str, number: int) -> None:
        """Undo all moves since the label last stood at a number; where it never did, move it there."""
        stack = self.stacks.get((scope, label), [])
        depth = next((d for d in range(len(stack) - 1, -1, -1) if stack[d][0] == number), None)
        if self.standing(scope, label) == number or depth is None:
            self.push(scope, label, number)
        else:
            del stack[depth:]

    def serves(self, scope: str, label: str = "live") -> Served | None:
        """What a scope gets; None where no layer has anything."""
        patches: list[Doc] = []
        nearest: tuple[str, int] | None = None
        for name in chain(scope):
            number = self.standing(name, label) or self.standing(name)
            if number is None:
                continue
            nearest = nearest or (name, number)
            made = self.versions[name][number - 1]
            if made.mode == "full":
                doc = copy.deepcopy(made.doc)
                for patch in reversed(patches):
                    doc = folded(doc, patch)
                return Served(*nearest, doc)
            patches.append(made.doc)
        if patches:
            raise DoesNotFold
        return None

    def served(self, scope: str) -> Doc:
        found = self.serves(scope)
        assert found is not None
        return found.doc

    def folds(self, scope: str) -> bool:
        try:
            self.serves(scope)
        except DoesNotFold:
            return False
        return True

    def settle(self, before: Model, moved: list[str], freeze: bool) -> None:
        """Hold moves of live labels to the rules: freeze the patches above that would break, or refuse."""
        if not all(self.folds(scope) for scope in moved):
            raise Refused(own=True)
        broken = [
            name
            for name in SCOPES
            if name not in moved
            and any(scope in chain(name)[1:] for scope in moved)
            and self._live_mode(name) == "patch"
            and not self.folds(name)
        ]
        if broken and not freeze:
            raise Refused(own=False)
        for name in broken:
            if chain(name)[1] not in broken:
                self.push(name, "live", self.add(name, Made("full", before.served(name))))

    def put_back(self, then: dict[str, Model], scopes: list[str], freeze: bool) -> None:
        """Move live labels to where they stood; a patch that no longer folds comes back as the text of that time."""
        before = self.copy()
        wanted = {scope: then[scope].standing(scope) for scope in scopes}
        moved = [scope for scope in scopes if wanted[scope] != before.standing(scope)]
        for scope in moved:
            self.push(scope, "live", wanted[scope])
        lost = [scope for scope in moved if wanted[scope] is not None and not self.folds(scope)]
        if lost and not freeze:
            raise Refused(own=False)
        for scope in lost:
            self.stacks[scope, "live"].pop()
        for scope in lost:
            self.push(scope, "live", self.add(scope, Made("full", then[scope].served(scope))))
        self.settle(before, moved, freeze)

    def _live_mode(self, scope: str) -> str | None:
        number = self.standing(scope)
        return self.versions[scope][number - 1].mode if number else None


def folded(doc: Doc, patch: Doc) -> Doc:
    made = copy.deepcopy(doc)
    if "text" in patch:
        made["text"] = patch["text"]
    made["conf"].update(patch.get("conf", {}))
    if patch.get("untone"):
        if not made["tone"]:
            raise DoesNotFold
        made["tone"] = False
    return made
