"""Reading one template without running it: its code, the names it uses, and everything in it that is not allowed.

The rules here are what an author is told early; the runtime holds the same rules again where names are made up while
rendering. A template is only ever compiled after this, so that nothing reaches Jinja2's compiler that it would
evaluate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError

from ovstore import names
from ovstore.errors import RenderBudgetError
from ovstore.rendering import environment
from ovstore.rendering.budgets import RenderLimits
from ovstore.rendering.codes import CODES
from ovstore.rendering.environment import FILENAME, position_of
from ovstore.rendering.filters import FILTERS, FORBIDDEN_FILTERS
from ovstore.rendering.methods import FORBIDDEN_GLOBALS, FORBIDDEN_METHODS, GLOBALS, METHODS
from ovstore.rendering.positions import START, Position, normalized, of_line
from ovstore.rendering.tests import FORBIDDEN_TESTS, TESTS

PART_STATEMENTS: Final = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
EXTRACT_CONTEXT: Final = "extract_context"
_SPECIAL_NAMES: Final = {
    "loop": "loop is known inside a for loop only",
    "caller": "caller is known inside a macro only",
    "kwargs": "kwargs is known inside a macro only",
    "varargs": "varargs is known inside a macro only",
    "super": "super is known inside a block only",
}
_NAMED_FILTERS: Final = {
    "map": ("filter", 0),
    "select": ("test", 0),
    "reject": ("test", 0),
    "selectattr": ("test", 1),
    "rejectattr": ("test", 1),
}
"""Filters that take the name of another filter or of a test, and at which place."""


@dataclass(frozen=True, slots=True)
class Problem:
    code: str
    message: str
    position: Position
    hint: str | None = None

    @property
    def refuses(self) -> bool:
        return CODES[self.code][0] == "error"


@dataclass(frozen=True, slots=True)
class Known:
    """The names that a template may use. `names` None: any, since a patch does not know its base's.

    `functions` are those of `extract_context`, where the template has it. `watched`: what it prints is looked at.
    """

    names: Set[str] | None
    functions: Set[str] = frozenset()
    parts_allowed: bool = True
    watched: bool = False


@dataclass(frozen=True, slots=True)
class Inspected:
    """What a template is. `tree` is None where it cannot be read, `code` where an error was found."""

    source: str
    problems: tuple[Problem, ...]
    names: frozenset[str] = frozenset()
    tree: nodes.Template | None = None
    code: CodeType | None = None
    places: tuple[tuple[int, int], ...] = ()
    weight: int = 1
    budget: RenderBudgetError | None = field(default=None, compare=False)


def inspect(source: str, name: str, known: Known, limits: RenderLimits) -> Inspected:
    """Read a template and compile it as far as that is safe.

    Nothing of it is evaluated, and whatever is in it, nothing is raised.
    """
    try:
        tree = environment.parse(source, limits)
    except TemplateSyntaxError as error:
        return Inspected(source, (_syntax(source, error),))
    except RenderBudgetError as error:
        return Inspected(source, (_limit(error),), budget=error)
    problems = list(_Rules(known).of(tree))
    refused = any(problem.refuses for problem in problems)
    weight = environment.weight(tree.body)
    used = {node.name: position_of(node) for node in reversed(list(_names(tree)))}
    environment.count_steps(tree)
    try:
        generator = environment.generate(tree, name, known.watched)
        code = None if refused else compile(generator.stream.getvalue(), FILENAME, "exec")  # type: ignore[attr-defined]
    except TemplateSyntaxError as error:
        return Inspected(source, (*problems, _syntax(source, error)))
    except SyntaxError:
        return Inspected(source, (*problems, Problem("template-syntax", _UNCOMPILABLE, START)))
    except (RecursionError, MemoryError):
        return Inspected(source, (*problems, Problem("template-limit", "the template is nested too deep", START)))
    problems += _undeclared(generator.names - environment.set_in_branches(tree), used, known)
    code = None if any(problem.refuses for problem in problems) else code
    return Inspected(source, tuple(problems), frozenset(generator.names), tree, code, generator.places, weight)


_UNCOMPILABLE: Final = "an argument is given twice, or more than 20 loops are nested"


_PART_WORDS: Final = re.compile(r"\b(?:include|import|extends)\b")


def part_names(source: str, limits: RenderLimits) -> tuple[str, ...]:
    """Return the literal names of the parts of a template, each once, in order; none where it cannot be read."""
    if not _PART_WORDS.search(source):
        return ()  # most templates have none, and reading one takes a millisecond
    try:
        tree = environment.parse(source, limits)
    except (TemplateSyntaxError, RenderBudgetError):
        return ()
    return tuple(dict.fromkeys(name for name, _ in _part_names(tree)))


def part_position(source: str, part: str, limits: RenderLimits) -> Position:
    """Return the place of the first statement that names a part."""
    found = _part_names(environment.parse(source, limits))
    return next((position for name, position in found if name == part), START)


def _part_names(tree: nodes.Template) -> Iterator[tuple[str, Position]]:
    statement: Any
    for statement in tree.find_all(PART_STATEMENTS):
        if isinstance(statement.template, nodes.Const) and isinstance(statement.template.value, str):
            yield statement.template.value, position_of(statement)


def _syntax(source: str, error: TemplateSyntaxError) -> Problem:
    position = error.lineno if isinstance(error.lineno, Position) else of_line(source, error.lineno)
    before = normalized(source)[: position.offset]
    tag = before[before.rfind("{{") :] if "{{" in before else ""
    hint = None
    if tag[2:].lstrip()[:1] in ('"', "'"):
        hint = "if this is JSON or other literal text, put it between {% raw %} and {% endraw %}"
    return Problem("template-syntax", error.message or "the template cannot be read", position, hint)


def _limit(error: RenderBudgetError) -> Problem:
    return Problem("template-limit", str(error), START)


def _names(tree: nodes.Template) -> Iterator[nodes.Name]:
    return (node for node in tree.find_all(nodes.Name) if node.ctx == "load")


def _undeclared(used: Set[str], places: dict[str, Position], known: Known) -> Iterator[Problem]:
    for name in sorted(used, key=lambda n: places.get(n, START).offset):
        if name in GLOBALS or known.names is None or name in known.names:
            continue
        position = places.get(name, START)
        if name in FORBIDDEN_GLOBALS:
            yield Problem("forbidden-global", f"{name} is not available: {FORBIDDEN_GLOBALS[name]}", position)
        elif name == EXTRACT_CONTEXT and known.functions:
            continue
        else:
            alike = names.near(name, {*known.names, *GLOBALS}, 1)
            hint = f"did you mean {alike[0]}?" if alike else None
            if not hint and not known.parts_allowed:  # a memory schema, which declares no variables
                hint = f"here it knows {', '.join(sorted(known.names))}"
            yield Problem("undeclared-variable", _SPECIAL_NAMES.get(name, f"{name} is not declared"), position, hint)


class _Rules:
    """One walk over a tree, without recursion. What it refuses it also makes harmless for the compiler."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.called: set[int] = set()
        self.imported: set[str] = set()

    def of(self, tree: nodes.Template) -> Iterator[Problem]:
        self.imported = {node.target for node in tree.find_all(nodes.Import)}
        todo: list[nodes.Node] = [tree]
        while todo:
            node = todo.pop()
            rule = getattr(self, f"_{type(node).__name__.lower()}", None)
            if rule is not None:
                yield from rule(node)
            elif isinstance(node, PART_STATEMENTS):
                yield from self._part(node)
            todo += reversed(list(node.iter_child_nodes()))

    def _filter(self, node: nodes.Filter) -> Iterator[Problem]:
        if node.name == "tojson":
            yield Problem("tojson-letters", "tojson keeps letters beyond ASCII", position_of(node))
        if node.name not in FILTERS:
            yield _no_filter(node.name, position_of(node))
            node.name = "string"
        what, index = _NAMED_FILTERS.get(node.name, ("", 0))
        named = node.args[index] if what and len(node.args) > index else None
        if isinstance(named, nodes.Const) and isinstance(named.value, str):
            if what == "filter" and named.value not in FILTERS:
                yield _no_filter(named.value, position_of(named))
            if what == "test" and named.value not in TESTS:
                yield _no_test(named.value, position_of(named))
        attributes = [keyword.value for keyword in node.kwargs if keyword.key == "attribute"]
        if node.name in ("selectattr", "rejectattr", "groupby"):
            attributes += node.args[:1]
        for value in attributes:
            if isinstance(value, nodes.Const) and _private(value.value):
                yield Problem("private-attribute", f"{value.value} is a private attribute", position_of(value))

    def _test(self, node: nodes.Test) -> Iterator[Problem]:
        if node.name not in TESTS:
            yield _no_test(node.name, position_of(node))
            node.name = "defined"

    def _getattr(self, node: nodes.Getattr) -> Iterator[Problem]:
        name, called = node.attr, id(node) in self.called
        if name.startswith("_"):
            yield Problem("private-attribute", f"{name} is a private attribute", position_of(node))
        elif isinstance(node.node, nodes.Name) and node.node.name == EXTRACT_CONTEXT and self.known.functions:
            if not called and name in self.known.functions:
                said = f"extract_context.{name} is a function: call it with its arguments in brackets"
                yield Problem("forbidden-method", said, position_of(node))
            elif name not in self.known.functions:
                alike = names.near(name, self.known.functions, 1)
                hint = f"did you mean {alike[0]}?" if alike else f"it has {', '.join(sorted(self.known.functions))}"
                yield Problem("forbidden-method", f"extract_context has no {name} to read", position_of(node), hint)
        elif called and name in FORBIDDEN_METHODS:
            if not (isinstance(node.node, nodes.Name) and node.node.name in self.imported):
                yield Problem("forbidden-method", f"{name}() is not available to templates", position_of(node))
        elif not called and name in METHODS[dict]:
            yield Problem("method-as-key", f".{name} reads the key {name!r}, not the method", position_of(node))

    def _nsref(self, node: nodes.NSRef) -> Iterator[Problem]:
        if node.attr.startswith("_"):
            yield Problem("private-attribute", f"{node.attr} is a private attribute", position_of(node))

    def _getitem(self, node: nodes.Getitem) -> Iterator[Problem]:
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str) and node.arg.value.startswith("__"):
            yield Problem("private-attribute", f"{node.arg.value} is a private attribute", position_of(node.arg))

    def _call(self, node: nodes.Call) -> Iterator[Problem]:
        self.called.add(id(node.node))
        yield from ()

    def _const(self, node: nodes.Const) -> Iterator[Problem]:
        if isinstance(node.value, float) and not math.isfinite(node.value):
            yield Problem("invalid-literal", "the number is too large", position_of(node))
            node.value = 0.0
        elif isinstance(node.value, str) and any("\ud800" <= char <= "\udfff" for char in node.value):
            yield Problem("invalid-literal", "the text holds half of a surrogate pair", position_of(node))

    def _scopedevalcontextmodifier(self, node: nodes.ScopedEvalContextModifier) -> Iterator[Problem]:
        yield Problem("forbidden-statement", "autoescape is not available", position_of(node))
        node.options = []

    def _part(self, node: nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends) -> Iterator[Problem]:
        position = position_of(node)
        if not self.known.parts_allowed:
            yield Problem("part-in-memory", "a memory schema cannot include parts", position)
        if isinstance(node, nodes.Include) and node.ignore_missing:
            yield Problem("part-ignore-missing", "ignore missing would hide that a part is gone", position)
        if not isinstance(node.template, nodes.Const) or not isinstance(node.template.value, str):
            yield Problem("part-not-literal", "a part is named by one string literal", position)
            return
        name = node.template.value
        shown = names.printable(name if len(name) <= 60 else name[:59] + "…")
        if not names.is_key(name):
            yield Problem("part-name", f"{shown!r} is not a key", position)
        elif names.is_memory_key(name):
            yield Problem("part-name", f"{shown} is the key of a memory schema, which is no part", position)


def _private(path: object) -> bool:
    return isinstance(path, str) and any(name.startswith("_") for part in path.split(",") for name in part.split("."))


def _no_filter(name: str, position: Position) -> Problem:
    if name in FORBIDDEN_FILTERS:
        reason = FORBIDDEN_FILTERS[name]
        return Problem("forbidden-filter", f"the filter {name} is not available: {reason}", position, reason)
    return Problem("unknown-filter", f"there is no filter {name}", position, _meant(name, FILTERS.keys()))


def _no_test(name: str, position: Position) -> Problem:
    reason = FORBIDDEN_TESTS.get(name)
    return Problem("unknown-test", f"there is no test {name}", position, reason or _meant(name, TESTS.keys()))


def _meant(name: str, known: Set[str]) -> str | None:
    alike = names.near(name, known, 1)
    return f"did you mean {alike[0]}?" if alike else None
