"""Parts: prompts that a prompt includes, imports or extends, and what has to hold for them together.

`link` binds a compiled prompt to its parts and `check_parts` says beforehand what is wrong with them. Both are pure:
the caller resolves the keys, each through the chain, label and revision of the template that is rendered.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from ovstore.errors import RenderBudgetError, RenderError
from ovstore.grammar import VARIABLE_TYPES
from ovstore.rendering.budgets import MAX_PART_DEPTH, RenderLimits
from ovstore.rendering.codes import TemplateFinding, found
from ovstore.rendering.inspection import part_names, part_position
from ovstore.rendering.programs import Compiled
from ovstore.rendering.values import Variable, Variables

_Types = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Fault:
    code: Literal["part-missing", "part-cycle", "part-depth", "part-types"]
    message: str
    trail: tuple[str, ...]


def parts(template: str) -> tuple[str, ...]:
    """Return the keys of the parts that a template names, each once, in order; none where it cannot be read.

    >>> parts("{% include 'shared.tone' %} {{ q }}")
    ('shared.tone',)
    """
    return part_names(template, RenderLimits())


def link(compiled: Compiled, given: Mapping[str, Compiled]) -> Compiled:
    """Return the prompt with its parts bound, direct and indirect, and its variables merged with theirs.

    Raises RenderError for a part that is missing or in a circle, or for a variable of two types, and RenderBudgetError
    for parts nested more than 8 deep. Line and column are those of the statement in the prompt itself.
    """
    known = {**given, compiled.key: compiled}
    for fault in _faults(compiled.key, lambda key: known[key].needs if key in known else None, _types(known)):
        raise _raised(fault, compiled)
    reached = _reached(compiled.key, known)
    programs = {key: known[key].programs["template"] for key in reached}
    merged: dict[str, Variable] = {}
    for key in (compiled.key, *reached):
        for variable in known[key].variables:
            merged.setdefault(variable.name, variable)
    used = {name: value for key in (compiled.key, *reached) for name, value in known[key].globals.items()}
    return dataclasses.replace(
        compiled,
        parts=MappingProxyType(programs),
        variables=Variables(merged.values(), compiled.limits),
        globals=MappingProxyType(used),
    )


def check_parts(
    key: str, documents: Mapping[str, Mapping[str, Any]], limits: RenderLimits | None = None
) -> tuple[TemplateFinding, ...]:
    """Find what is wrong with the parts of a prompt: `documents` has its data and that of every part that exists.

    Findings point at the statement in the prompt that leads to the fault.
    """
    limits = limits or RenderLimits()
    source = documents[key]["template"]
    needs = {name: part_names(data["template"], limits) for name, data in documents.items()}
    types = {
        name: {v["name"]: VARIABLE_TYPES.get(v.get("type", "any"), "any") for v in data.get("variables") or ()}
        for name, data in documents.items()
    }
    findings = []
    for fault in _faults(key, needs.get, types.get):
        place = part_position(source, fault.trail[0], limits)
        findings.append(found(fault.code, fault.message, ("template",), int(place), place.column))
    return tuple(findings)


def _types(known: Mapping[str, Compiled]) -> Callable[[str], _Types | None]:
    return lambda key: {v.name: v.type for v in known[key].variables} if key in known else None


def _reached(key: str, known: Mapping[str, Compiled]) -> tuple[str, ...]:
    """Return the parts below a key, nearest first, each once."""
    reached: dict[str, None] = {}
    todo = list(known[key].needs)
    while todo:
        part = todo.pop(0)
        if part not in reached:
            reached[part] = None
            todo += known[part].needs
    return tuple(reached)


def _faults(
    key: str, needs: Callable[[str], tuple[str, ...] | None], types: Callable[[str], _Types | None]
) -> Iterator[_Fault]:
    """Walk everything below a key, each part once at each depth that it is first seen at."""
    own = dict(types(key) or {})
    deepest: dict[str, int] = {}
    todo: list[tuple[str, tuple[str, ...]]] = [(part, ()) for part in reversed(needs(key) or ())]
    while todo:
        part, above = todo.pop()
        trail = (*above, part)
        if part == key or part in above:
            yield _Fault("part-cycle", f"{' includes '.join((key, *trail))}", trail)
            continue
        if len(trail) > MAX_PART_DEPTH:
            yield _Fault("part-depth", f"{key} nests parts more than {MAX_PART_DEPTH} deep: {' > '.join(trail)}", trail)
            return
        if deepest.get(part, 0) >= len(trail):
            continue
        first = part not in deepest
        deepest[part] = len(trail)
        inner = needs(part)
        if inner is None:
            if first:
                yield _Fault("part-missing", f"the part {part} does not exist", trail)
            continue
        if first:
            yield from _conflicts(own, part, types(part) or {}, trail)
        todo += [(name, trail) for name in reversed(inner)]


def _conflicts(own: dict[str, str], part: str, theirs: _Types, trail: tuple[str, ...]) -> Iterator[_Fault]:
    for name, kind in theirs.items():
        if own.setdefault(name, kind) != kind:
            yield _Fault("part-types", f"{name} is {own[name]} here and {kind} in the part {part}", trail)


def _raised(fault: _Fault, compiled: Compiled) -> RenderError:
    place = part_position(compiled.programs["template"].source, fault.trail[0], compiled.limits)
    where: dict[str, Any] = {"line": int(place), "column": place.column}
    if fault.code == "part-depth":
        return RenderBudgetError(fault.message, limit="parts", **where)
    return RenderError(fault.message, **where)
