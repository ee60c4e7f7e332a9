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


@dataclass
class Model:
    versions: dict[str, list[Made]] = field(default_factory=lambda: {s: [] for s in SCOPES})
    stacks: dict[tuple[str, str], list[tuple[int | None, int | None]]] = field(default_factory=dict)

    def copy(self) -> Model:
        return copy.deepcopy(self)

    def standing(self, scope: str, label: str = "live") -> int | None:
        stack = self.stacks.get((scope, label), [])
        return stack[-1][1] if stack else None

    def push(self, scope: str, label: str, after: int | None) -> None:
        self.stacks.setdefault((scope, label), []).append((self.standing(scope, label), after))

    def serves(self, scope: str, label: str = "live") -> Doc | None:
        """The document that a scope gets; None where no layer has one."""
        patches: list[Doc] = []
        for name in chain(scope):
            number = self.standing(name, label) or self.standing(name)
            if number is None:
                continue
            made = self.versions[name][number - 1]
            if made.mode == "full":
                doc = copy.deepcopy(made.doc)
                for patch in reversed(patches):
                    doc = folded(doc, patch)
                return doc
            patches.append(made.doc)
        if patches:
            raise DoesNotFold
        return None

    def broken_above(self, scope: str) -> list[str]:
        """The scopes above whose live patch no longer folds, nearest to the ground first."""
        found = []
        for name in SCOPES:
            if scope in chain(name)[1:] and self._live_mode(name) == "patch":
                try:
                    self.serves(name)
                except DoesNotFold:
                    found.append(name)
        return found

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
