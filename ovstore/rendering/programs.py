"""Compiled templates: a document made ready to render, again and again, from any thread.

`compile` reads and compiles every text of a document once; the result never changes. `render` takes values to text
under a budget of its own. A text that only puts variables into prose is joined from its pieces without running any
code; everything else runs against a `Runtime`.
"""

from __future__ import annotations

import builtins
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Any, Final

from jinja2 import nodes
from jinja2.exceptions import SecurityError

from ovstore.errors import OvstoreError, RenderBudgetError, RenderError, UnsafeTemplateError
from ovstore.names import Kind
from ovstore.rendering import values
from ovstore.rendering.budgets import RenderLimits, over
from ovstore.rendering.environment import FILENAME
from ovstore.rendering.inspection import EXTRACT_CONTEXT, Inspected, inspect, part_names
from ovstore.rendering.methods import GLOBALS
from ovstore.rendering.objects import Function, Helpers, Hole
from ovstore.rendering.paths import PathRuntime
from ovstore.rendering.positions import Position, excerpt, of_offset
from ovstore.rendering.runtime import Runtime, TemplateContext, plain_result
from ovstore.rendering.texts import EXTRACT_CONTEXT_FUNCTIONS, Text, texts
from ovstore.rendering.values import Variables, declared

_UNSAFE_CODES: Final = frozenset(
    {"private-attribute", "forbidden-method", "forbidden-filter", "forbidden-global", "forbidden-statement"}
    | {"part-not-literal", "part-ignore-missing", "part-name", "part-in-memory", "unknown-filter", "unknown-test"}
)
_FOREIGN: Final = re.compile(
    r"jinja2|ovstore|object at|0x|\(\)|<\w|_|lambda|Context|Macro|Cycler|Joiner|Namespace|Reference|Undefined|Function"
    r"|Hole|Helpers|Module|Runtime|generator|iterator|positional|keyword"
)
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Program:
    """One compiled template; its name is the key of the document.

    `pieces` is what a template that only prints variables is joined from, `places` leads from lines of the code to
    offsets in the source.
    """

    name: str
    source: str
    root: Callable[[Any], Iterator[str]] = field(repr=False)
    blocks: Mapping[str, Callable[[Any], Iterator[str]]] = field(repr=False)
    names: frozenset[str]
    weight: int
    pieces: tuple[str | tuple[str], ...] | None = field(repr=False)
    places: tuple[tuple[int, int], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A document that is ready to render. `needs` are the keys of the parts that its template names itself."""

    kind: Kind
    key: str
    programs: Mapping[str, Program]
    variables: Variables
    limits: RenderLimits
    needs: tuple[str, ...] = ()
    parts: Mapping[str, Program] = field(default_factory=lambda: _NOTHING)
    globals: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    functions: Mapping[str, frozenset[str]] = field(default_factory=lambda: _NOTHING)


def compile(kind: Kind, data: Mapping[str, Any], limits: RenderLimits | None = None) -> Compiled:
    """Compile a full document, as written or canonical.

    Raises UnsafeTemplateError, RenderBudgetError or RenderError for a template that `check` has an error for.
    """
    limits = limits or RenderLimits()
    key = str(data["metadata"]["id"] if kind == "prompt" else data["memory_type"])
    found = texts(kind, data)
    programs = {text.which: _program(key, text, limits) for text in found}
    variables = declared(data.get("variables") or () if kind == "prompt" else (), limits)
    return Compiled(
        kind,
        key,
        MappingProxyType(programs),
        Variables(variables, limits),
        limits,
        part_names(data["template"], limits) if kind == "prompt" else (),
        globals=_used_globals(programs.values()),
        functions=MappingProxyType({text.which: text.functions for text in found}),
    )


def _used_globals(programs: Any) -> Mapping[str, Any]:
    return {name: GLOBALS[name] for program in programs for name in program.names if name in GLOBALS}


def _program(key: str, text: Text, limits: RenderLimits) -> Program:
    inspected = inspect(text.source, key, text.known, limits)
    if inspected.code is None or inspected.tree is None:
        raise _refusal(inspected)
    namespace: dict[str, Any] = {"environment": None, "__name__": FILENAME}
    exec(inspected.code, namespace)
    variables = (text.known.names or frozenset()) - text.functions
    pieces = None if text.which == "path" else _pieces(inspected.tree, variables)
    program = Program(
        key,
        text.source,
        namespace["root"],
        namespace["blocks"],
        inspected.names,
        inspected.weight,
        pieces,
        inspected.places,
    )
    namespace["program"] = program
    return program


def _refusal(inspected: Inspected) -> RenderError:
    problem = next(problem for problem in inspected.problems if problem.refuses)
    where: dict[str, Any] = {"line": int(problem.position), "column": problem.position.column}
    if inspected.budget is not None:
        return RenderBudgetError(problem.message, limit=inspected.budget.limit, **where)
    if problem.code == "template-limit":
        return RenderBudgetError(problem.message, limit="nesting", **where)
    tag = excerpt(inspected.source, problem.position)
    message = f"in {tag}: {problem.message}" if tag else problem.message
    if problem.hint:
        message += f" ({problem.hint})"
    return (UnsafeTemplateError if problem.code in _UNSAFE_CODES else RenderError)(message, **where)


def _pieces(tree: nodes.Template, known: Any) -> tuple[str | tuple[str], ...] | None:
    """Return the text of a template that only prints variables, each of them as a tuple of its name; else None."""
    found: list[str | tuple[str]] = []
    for node in tree.body:
        if not isinstance(node, nodes.Output):
            return None
        for child in node.nodes:
            if isinstance(child, nodes.TemplateData):
                found.append(child.data)
            elif isinstance(child, nodes.Name) and child.name in known:
                found.append((child.name,))
            else:
                return None
    return tuple(found)


def render(
    compiled: Compiled,
    variables: Mapping[str, Any] | None = None,
    *,
    which: str = "template",
    helpers: Mapping[str, Callable[..., Any]] | None = None,
    part: Callable[[str], str] | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Return the text, and the names of the variables that max_length cut. The caller's mapping is left as it is.

    `which` names a text of a memory schema: path, content, embedding, overview, description or
    fields.<name>.description. `helpers` are what those may call, by name: `uri_basename`, `link_target`, and
    `extract_context.get_year` and so on; their results are copied to plain data. `part` gets the
    text of each `{{ … }}` of a path and passes it on; what it raises is the cause of the error.

    Raises a RenderError; line and column count in the template's text.

    >>> data = {"metadata": {"id": "demo.hi"}, "template": "Hi {{ n }}", "variables": [{"name": "n"}]}
    >>> render(compile("prompt", data), {"n": "Ada"})
    ('Hi Ada', ())
    """
    program = compiled.programs.get(which)
    if program is None:
        raise RenderError(f"{compiled.key} has no {which} to render", key=compiled.key)
    given = variables if variables is not None else _NOTHING
    cut: tuple[str, ...] = ()
    if compiled.kind == "prompt":
        bound, cut = compiled.variables.bind(given)
    else:
        bound = _memory_values(program, given, compiled.limits)
    if program.pieces is not None:
        text = _joined(program.pieces, bound, compiled.limits)
        if text is not None:
            return text, cut
    functions = _functions(compiled.functions.get(which, frozenset()), helpers or _NOTHING, compiled.kind)
    names = {**compiled.globals, **functions}
    if which == "path":
        bound = {name: Hole(name) for name in program.names if name not in names} | bound
    made = PathRuntime if which == "path" else Runtime
    runtime = made(compiled.limits, names, compiled.parts, part)
    context = TemplateContext(runtime, {**names, **bound} if names else bound, program.name, program.blocks)
    try:
        pieces = list(program.root(context))
        _hold_output(pieces, compiled.limits)
    except Exception as error:
        raise _explained(error, program) from error
    return "".join(pieces), cut


def _joined(pieces: tuple[str | tuple[str], ...], bound: Mapping[str, Any], limits: RenderLimits) -> str | None:
    """Join pieces and values; None where a value is not text and has to be printed under the budget."""
    found = [piece if type(piece) is str else bound.get(piece[0], "") for piece in pieces]
    try:
        text = "".join(found)
    except TypeError:
        return None
    if len(text) > limits.output:
        over(limits, "output", f"the text has {len(text):,} characters")
    return text


def _hold_output(pieces: list[str], limits: RenderLimits) -> None:
    size = sum(map(len, pieces))
    if size > limits.output:
        over(limits, "output", f"the text has {size:,} characters")


def _memory_values(program: Program, given: Mapping[str, Any], limits: RenderLimits) -> dict[str, Any]:
    """Return the values that the text uses, as plain data; a value that is none of it raises RenderError."""
    bound = {}
    for name in program.names:
        if name in given:
            try:
                bound[name] = values.plain(given[name], limits)
            except values.NotPlainError as error:
                raise values.not_plain(name, error) from error
    return bound


def _functions(
    names: frozenset[str], helpers: Mapping[str, Callable[..., Any]], kind: Kind
) -> dict[str, Function | Helpers]:
    if kind != "memory":
        return {}
    made: dict[str, Function | Helpers] = {name: _function(name, helpers.get(name)) for name in names}
    made[EXTRACT_CONTEXT] = Helpers(
        {name: _function(name, helpers.get(f"{EXTRACT_CONTEXT}.{name}")) for name in EXTRACT_CONTEXT_FUNCTIONS}
    )
    return made


def _function(name: str, function: Callable[..., Any] | None) -> Function:
    def call(runtime: Runtime, *args: Any, **kwargs: Any) -> Any:
        if function is None:
            raise RenderError(f"{name} was not given to the render")
        runtime.measure((args, kwargs))
        return plain_result(runtime, name, function, args, kwargs)

    return Function(name, call)


def _explained(error: Exception, program: Program) -> RenderError:
    """Say where in the template an error comes from, in words that an author can use."""
    place, position = _origin(error.__traceback__, program)
    told = _told(error)
    tag = excerpt(place.source, position) if position is not None else ""
    if tag:
        told.args = (f"in {tag}: {told}",)
    if position is not None:
        told.line, told.column = int(position), position.column
    if place is not program:
        told.key = place.name
    return told


def _origin(trace: TracebackType | None, program: Program) -> tuple[Program, Position | None]:
    """Return the innermost template that an error passed through and the position in it."""
    place, code_line = program, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILENAME:
            place, code_line = trace.tb_frame.f_globals["program"], trace.tb_lineno
        trace = trace.tb_next
    index = bisect_right(place.places, code_line, key=lambda pair: pair[0])
    return place, of_offset(place.source, place.places[index - 1][1]) if index else None


def _told(error: Exception) -> RenderError:
    if isinstance(error, RenderError):
        return error
    if isinstance(error, RecursionError):
        return RenderBudgetError("calls are nested too deep", limit="depth")
    if isinstance(error, MemoryError):
        return RenderBudgetError("there is not enough memory", limit="built")
    if isinstance(error, SecurityError):
        return UnsafeTemplateError("the template reaches for something that it does not get")
    if isinstance(error, OvstoreError):
        return RenderError(str(error))
    return RenderError(_words(error))


def _words(error: Exception) -> str:
    """Return an error's message where it speaks of the template's values, else one of our own."""
    message = str(error.args[0]) if error.args and isinstance(error.args[0], str) else ""
    if message and not _FOREIGN.search(message):
        return message
    named: dict[type[Exception], str] = {
        builtins.TypeError: "an operation, filter or call got values or arguments that it does not take",
        builtins.KeyError: "a name or key does not exist",
        builtins.ValueError: "an operation got a value that it cannot use",
        builtins.AttributeError: "an operation got a value of another kind than it takes",
    }
    return next((words for kind, words in named.items() if isinstance(error, kind)), "the template failed")
