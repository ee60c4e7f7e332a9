"""The one environment: Jinja2's grammar as ovstore speaks it, and the compiler from a template to guarded code.

Check, publish, preview, test and production all come through `parse` and `generate`; there is no switch that makes
another environment. Nothing of a template is evaluated here: constants are never folded, whatever the branch they
stand in, so a template costs the same to check whatever it would do when rendered.

In compiled code the name `environment` stands for the render's `Runtime`, so that every operation that can read an
attribute, call, grow a value or walk one goes through a guard that knows the budget of that one render.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import TemplateSyntaxError
from jinja2.lexer import TokenStream
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ovstore.rendering.budgets import RenderLimits, over
from ovstore.rendering.positions import START, Position, normalized, of_offset

FILENAME: Final = "<template>"
_STEP: Final = 8
_MAX_NUMBER: Final = 300
_LONG_NUMBER: Final = re.compile(r"(?<![\w'\"])[0-9]\w{300,}")
_ESCAPE: Final = re.compile(r"\\([0-7]{1,3}|.)", re.S)
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_SCALAR_TESTS: Final = (nodes.Const, nodes.Concat)
_SEARCHING: Final = ("in", "notin")


class Grammar(ImmutableSandboxedEnvironment):
    """Syntax, filters and tests; it renders nothing itself."""

    intercepted_binops = frozenset({"+", "*", "%", "**"})

    def __init__(self) -> None:
        super().__init__(optimized=False, autoescape=False, cache_size=0, auto_reload=False)
        self.globals.clear()
        self.filters.clear()
        self.tests.clear()


GRAMMAR: Final = Grammar()


def parse(source: str, limits: RenderLimits) -> nodes.Template:
    """Return the syntax tree of a template, each node with its Position as line number.

    Raises TemplateSyntaxError, or RenderBudgetError over `template`, `tokens` or `nesting`.
    """
    if len(source) > limits.template:
        over(limits, "template", f"the template has {len(source):,} characters")
    _hold_numbers(source)
    parser = Parser(GRAMMAR, "")
    parser.stream = TokenStream(GRAMMAR.lexer.wrap(located(source, limits)), None, None)
    try:
        tree = parser.parse()
    except RecursionError:
        over(limits, "nesting", "statements or expressions are nested too deep")
    _hold_nesting(tree, limits)
    return tree


def tokens(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, kind and text of every token, prose and comments too."""
    return GRAMMAR.lexer.tokeniter(source, None)


def skeleton(source: str) -> tuple[str, ...]:
    """Return the Jinja tokens of a template without its prose and comments; the whole text where it cannot be read.

    >>> skeleton("Dear {{ name }},\\nhello")
    ('{{', 'name', '}}')
    """
    prose = ("data", "whitespace", "comment_begin", "comment", "comment_end")
    try:
        return tuple(text.strip() for _, kind, text in tokens(source) if kind not in prose)
    except TemplateSyntaxError:
        return (source,)


def _hold_numbers(source: str) -> None:
    """Refuse a number of endless digits before the lexer sees it: its expressions take a hundred bytes for each."""
    text = normalized(source)
    for found in _LONG_NUMBER.finditer(text):
        before = text[: found.start()]
        if max(before.rfind("{{"), before.rfind("{%")) > max(before.rfind("}}"), before.rfind("%}")):
            position = of_offset(text, found.start())
            raise TemplateSyntaxError(f"a number has more than {_MAX_NUMBER} digits", position)


def located(source: str, limits: RenderLimits | None = None) -> Iterator[tuple[Position, str, str]]:
    """Yield the lexer's tokens with their positions, and stop at a template that is too large to compile quickly."""
    limits = limits or RenderLimits()
    text = normalized(source)
    offset = count = depth = line_start = 0
    line = 1
    for _, kind, value in tokens(source):
        start = text.find(value, offset)
        newlines = text.count("\n", offset, start)
        if newlines:
            line += newlines
            line_start = text.rfind("\n", offset, start) + 1
        count += kind != "whitespace"
        if count > limits.tokens:
            over(limits, "tokens", "the template has too many Jinja tokens")
        if kind == "operator":
            depth += (value in _OPENING) - (value in _CLOSING)
            if depth > limits.nesting:
                over(limits, "nesting", "brackets are nested too deep")
        position = Position(line, start - line_start + 1, start)
        yield position, kind, _ESCAPE.sub(_valid_escape, value) if kind == "string" else value
        offset = start + len(value)
        if newlines := value.count("\n"):
            line += newlines
            line_start = start + value.rfind("\n") + 1


def _valid_escape(found: re.Match[str]) -> str:
    r"""Write an escape that Python only warns of (`\d`, `\777`) so that it means the same without a warning."""
    after = found[1]
    if after[0] in "01234567":
        return f"\\u{int(after, 8):04x}" if int(after, 8) > 0o377 else found[0]
    return found[0] if after in "\\'\"abfnrtvxuUN\n" else "\\" + found[0]


def _hold_nesting(tree: nodes.Template, limits: RenderLimits) -> None:
    """Refuse a tree that is too deep, without recursion, before anything walks it with."""
    level: list[nodes.Node] = [tree]
    for _ in range(limits.nesting):
        level = [child for node in level for child in node.iter_child_nodes()]
        if not level:
            return
    over(limits, "nesting", "statements or expressions are nested too deep")


def weight(body: list[nodes.Node]) -> int:
    """Return the steps that running a body once takes; loops and macros in it count for themselves."""
    count = 0
    todo: list[nodes.Node] = list(body)
    while todo:
        node = todo.pop()
        count += isinstance(node, nodes.Expr)
        todo += node.iter_child_nodes(exclude=("body",) if isinstance(node, (nodes.For, nodes.Macro)) else None)
    return 1 + count // _STEP


def count_steps(tree: nodes.Template) -> None:
    """Make every loop turn, macro and block take its steps, as the first thing that it does."""
    places: list[Any] = list(tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)))
    weights = [weight(place.body) for place in places]
    for place, steps in zip(places, weights, strict=True):
        if isinstance(place, nodes.For) and place.test is not None:
            # A turn that the condition leaves out is a turn all the same.
            turn = nodes.EnvironmentAttribute(f"turn({steps})", lineno=place.lineno)
            place.test = nodes.And(turn, place.test, lineno=place.test.lineno)
        else:
            place.body.insert(0, nodes.ExprStmt(nodes.Const(steps), lineno=place.lineno))


def set_in_branches(tree: nodes.Template) -> frozenset[str]:
    """Return the names that a branch of an `if` sets: Jinja2 looks them up as if the render could give them too."""
    found: set[str] = set()
    for branch in tree.find_all(nodes.If):
        todo: list[nodes.Node] = [*branch.body, *branch.else_]
        while todo:
            node = todo.pop()
            if isinstance(node, nodes.If):
                todo += [*node.body, *node.elif_, *node.else_]
            elif isinstance(node, nodes.Assign | nodes.AssignBlock):
                found.update(
                    name.name
                    for name in (node.target, *node.target.find_all(nodes.Name))
                    if isinstance(name, nodes.Name)
                )
            elif isinstance(node, nodes.Import):
                found.add(node.target)
            elif isinstance(node, nodes.FromImport):
                found.update(name if isinstance(name, str) else name[1] for name in node.names)
            elif isinstance(node, nodes.Macro):
                found.add(node.name)
    return frozenset(found)


class Generator(CodeGenerator):
    """Jinja2's compiler with a guard at each operation that the grammar's settings cannot route to the runtime."""

    def __init__(self, name: str, watched: bool) -> None:
        super().__init__(GRAMMAR, name, FILENAME, optimized=False)
        self.watched = watched
        self.names: set[str] = set()
        """Names that are looked up in the variables of the render."""

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Lines of the code, ascending, each with the offset in the template that it was made from."""
        return tuple((code, place.offset) for place, code in self.debug_info if isinstance(place, Position))

    def newline(self, node: nodes.Node | None = None, extra: int = 0) -> None:
        super().newline(node, extra)
        if node is not None and node.lineno is not None:
            self._write_debug_info = node.lineno

    def enter_frame(self, frame: Frame) -> None:
        super().enter_frame(frame)
        self.names.update(name for load, name in frame.symbols.loads.values() if load == "resolve" and name)

    def write_commons(self) -> None:
        self.writeline("environment = context.environment")
        super().write_commons()

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        if isinstance(node, (nodes.TemplateData, nodes.Const)):
            return super()._output_child_to_const(node, frame, finalize)
        raise nodes.Impossible

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        # Most values are text already: the call is left to the others.
        self.write("environment.printed(" if self.watched else "out if type(out := ")

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        self.write(")" if self.watched else ") is str else environment.text(out)")

    def visit_With(self, node: nodes.With, frame: Frame) -> None:  # noqa: N802
        """Jinja2 gives the assignments of `with` no place; an error in them belongs to the statement."""
        self.writeline("pass", node)
        super().visit_With(node, frame)

    def visit_Assign(self, node: nodes.Assign, frame: Frame) -> None:  # noqa: N802
        """The same for the check that what is assigned to is a namespace."""
        self.writeline("pass", node)
        super().visit_Assign(node, frame)

    def visit_ExprStmt(self, node: nodes.ExprStmt, frame: Frame) -> None:  # noqa: N802
        """Take steps: `count_steps` makes these statements, the language itself has none."""
        assert isinstance(node.node, nodes.Const), "a number of steps"
        self.writeline(f"environment.steps -= {node.node.value}", node)
        self.writeline("if environment.steps < environment.mark: environment.checkpoint()")

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802
        """Read a key of a variable on the spot where it is a mapping that has it; leave the rest to the runtime."""
        with self._key_first(node.node, node.attr, frame):
            super().visit_Getattr(node, frame)

    @contextmanager
    def _key_first(self, node: nodes.Expr, key: object, frame: Frame) -> Iterator[None]:
        fast = isinstance(node, nodes.Name) and isinstance(key, str)
        if isinstance(node, nodes.Name) and fast:
            ref = frame.symbols.ref(node.name)
            self.write(f"({ref}[{key!r}] if type({ref}) is dict and {key!r} in {ref} else ")
        yield
        self.write(")" if fast else "")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        """As for an attribute; a slice, which Jinja2 leaves to Python, goes to the runtime too."""
        if not isinstance(node.arg, nodes.Slice):
            key = node.arg.value if isinstance(node.arg, nodes.Const) else None
            with self._key_first(node.node, key, frame):
                return super().visit_Getitem(node, frame)
        self.write("environment.getitem(")
        self.visit(node.node, frame)
        self.write(", slice(")
        for index, part in enumerate((node.arg.start, node.arg.stop, node.arg.step)):
            self.write(", " if index else "")
            self.write("None") if part is None else self.visit(part, frame)
        return self.write("))")

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:  # noqa: N802
        if isinstance(node.node, nodes.Getattr):
            self.write("environment.method(")
            self.visit(node.node.node, frame)
            self.write(f", {node.node.attr!r}")
        else:
            self.write("environment.call(")
            self.visit(node.node, frame)
        self.signature(node, frame, {"caller": "caller"} if forward_caller else None)
        self.write(")")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802
        self.write("{")
        for index, item in enumerate(node.items):
            self.write(", " if index else "")
            self._walked(item.key, frame)
            self.write(": ")
            self.visit(item.value, frame)
        self.write("}")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802
        """Guard what a comparison walks; against a literal it ends at once."""
        shallow = len(node.ops) == 1 and any(isinstance(n, _SCALAR_TESTS) for n in (node.expr, node.ops[0].expr))
        sought = self.watched and node.ops[0].op in _SEARCHING
        self.write("(")
        self._guarded("sought" if sought else "" if shallow else "walked", node.expr, frame)
        for operand in node.ops:
            searched = "searched" if operand.op in _SEARCHING else ""
            self.write(f" {_COMPARISONS[operand.op]} ")
            self._guarded(searched if shallow else "walked", operand.expr, frame)
        self.write(")")

    def visit_Include(self, node: nodes.Include, frame: Frame) -> None:  # noqa: N802
        """Without context Jinja2 writes `yield` even inside a macro; there the pieces belong into its buffer."""
        if node.with_context or frame.buffer is None:
            return super().visit_Include(node, frame)
        self.writeline("template = environment.get_template(", node)
        self.visit(node.template, frame)
        self.write(f", {self.name!r})")
        return self.writeline(f"{frame.buffer}.extend(template._get_default_module()._body_stream)")

    def _walked(self, node: nodes.Expr, frame: Frame) -> None:
        self._guarded("walked", node, frame)

    def _guarded(self, guard: str, node: nodes.Expr, frame: Frame) -> None:
        if not guard or isinstance(node, nodes.Const):
            self.visit(node, frame)
        else:
            self.write(f"environment.{guard}(")
            self.visit(node, frame)
            self.write(")")


_COMPARISONS: Final[Mapping[str, str]] = {
    "eq": "==",
    "ne": "!=",
    "gt": ">",
    "gteq": ">=",
    "lt": "<",
    "lteq": "<=",
    "in": "in",
    "notin": "not in",
}


def generate(tree: nodes.Template, name: str, watched: bool = False) -> Generator:
    """Return the generator that has written the code of a tree; raises TemplateSyntaxError where it cannot be.

    `watched`: all that is printed goes through the runtime, text too.
    """
    generator = Generator(name, watched)
    generator.visit(tree)
    return generator


def position_of(node: nodes.Node) -> Position:
    return node.lineno if isinstance(node.lineno, Position) else START
