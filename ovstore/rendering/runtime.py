"""What compiled code runs against: one `Runtime` for each render, through which every risky operation goes.

A template sees plain data and a few objects of the language (loops, macros, namespaces, imported parts). Reading an
attribute means a key of a mapping or a name on an allow-list of those objects, never an attribute of a Python object;
calling means a method of text, lists and mappings on an allow-list, a macro, a block, a loop or a global. What grows,
copies or walks a value asks the budget first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from jinja2.nodes import EvalContext
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, TemplateReference, Undefined
from jinja2.utils import Joiner, Namespace, missing

from ovstore.errors import MissingVariablesError, RenderError, UnsafeTemplateError
from ovstore.rendering import values
from ovstore.rendering.budgets import CALL, MAX_BITS, MAX_VALUE_DEPTH, Budget, RenderLimits, over
from ovstore.rendering.environment import GRAMMAR
from ovstore.rendering.formatting import percent
from ovstore.rendering.objects import ATTRIBUTES, ITERATORS, SCALARS, VIEWS, Function, Helpers, Module, said, unsafe

if TYPE_CHECKING:
    from ovstore.rendering.programs import Program

_NOTHING: Final[Mapping[str, Any]] = {}
_EVALUATION: Final = EvalContext(GRAMMAR)


class TemplateContext(Context):
    """The variables that a template or part sees, and the blocks that it can print."""

    def __init__(
        self,
        environment: Any,
        parent: dict[str, Any],
        name: str | None,
        blocks: Mapping[str, Any],
        globals: Any = None,  # noqa: A002  the name under which Jinja2 passes it
    ) -> None:
        self.parent = parent
        self.vars = {}
        self.environment = environment
        self.eval_ctx = _EVALUATION
        self.exported_vars = set()
        self.name = name
        self.globals_keys = set()
        self.blocks = {name: [block] for name, block in blocks.items()}


class Part:
    """A part within one render, with the methods that compiled `include`, `import` and `extends` call."""

    __slots__ = ("blocks", "program", "runtime")

    def __init__(self, runtime: Runtime, program: Program) -> None:
        self.runtime = runtime
        self.program = program
        self.blocks = program.blocks

    def new_context(self, names: Mapping[str, Any], shared: bool, local: Mapping[str, Any]) -> TemplateContext:
        seen = {**self.runtime.globals, **names}
        seen.update((name, value) for name, value in local.items() if value is not missing)
        return TemplateContext(self.runtime, seen, self.program.name, self.blocks)

    def root_render_func(self, context: TemplateContext) -> Iterator[str]:
        self.runtime.enter()
        try:
            yield from self.program.root(context)
        finally:
            self.runtime.depth -= 1

    def make_module(self, names: Mapping[str, Any], shared: bool, local: Mapping[str, Any]) -> Module:
        context = self.new_context(names, shared, local)
        pieces = list(self.root_render_func(context))
        return Module(self.program.name, context.get_exported(), pieces)

    def _get_default_module(self, context: object = None) -> Module:
        modules = self.runtime.modules
        if self.program.name not in modules:
            modules[self.program.name] = self.make_module({}, False, {})
        return modules[self.program.name]


class Runtime(Budget):
    """The `environment` of compiled code for one render.

    `part` gets the text of each `{{ … }}` of a path and passes it on, or refuses it.
    """

    __slots__ = ("globals", "modules", "part", "parts")

    strict = False
    """Whether a value that is absent or none is refused: a path with a hole in it names another file."""

    context_class = TemplateContext
    undefined = Undefined
    is_async = False
    newline_sequence = "\n"
    filters: ClassVar[Mapping[str, Any]] = GRAMMAR.filters
    tests = GRAMMAR.tests
    policies: Final[Mapping[str, Any]] = {"truncate.leeway": 5}
    methods: Final[dict[type, Mapping[str, Callable[..., Any]]]] = {}
    """Methods that a template can call, by type; each takes the runtime and the object first."""
    refused: Final[dict[type, frozenset[str]]] = {}
    """Names that the type has in Python and that a template does not get."""

    def __init__(
        self,
        limits: RenderLimits,
        names: Mapping[str, Any],
        parts: Mapping[str, Program],
        part: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__(limits)
        self.globals = names
        self.parts = parts
        self.modules: dict[str, Module] = {}
        self.part = part

    # Reading

    def getattr(self, obj: Any, name: str) -> Any:
        """Read `obj.name`."""
        if type(obj) is dict:
            try:
                return obj[name]
            except KeyError:
                if name in self.methods[dict] or name in self.refused[dict] or name.startswith("__"):
                    self._no_value(dict, name)
                return Undefined(obj=obj, name=name)
        return self._attribute(obj, name)

    def getitem(self, obj: Any, key: Any) -> Any:
        """Read `obj[key]`, or a slice of text or a sequence; of a mapping a subscript finds keys only."""
        if type(obj) is dict:
            return self._entry(obj, key)
        if type(key) is slice:
            return self._slice(obj, key)
        if type(key) is str:
            return self._attribute(obj, key)
        if isinstance(obj, (str, list, tuple, range)):
            try:
                return obj[key]
            except (TypeError, IndexError):
                return Undefined(obj=obj, name=key)
        return obj() if isinstance(obj, Undefined) else Undefined(obj=obj, name=key)

    def _entry(self, obj: dict[Any, Any], key: Any) -> Any:
        try:
            return obj[key if type(key) is str else self.walked(key)]
        except KeyError:
            if type(key) is str and key.startswith("__"):
                unsafe(dict, key)
        except TypeError:
            pass  # a list is no key, and so no key of this mapping
        return Undefined(obj=obj, name=key)

    def _attribute(self, obj: Any, name: str) -> Any:
        """Read a name of anything but a mapping."""
        kind = type(obj)
        if isinstance(obj, Undefined):
            return obj()  # raises what Jinja2 raises
        if name.startswith("_"):
            unsafe(kind, name)
        if name in ATTRIBUTES.get(kind, ()) or name in getattr(kind, "_fields", ()):
            return getattr(obj, name)
        if kind in (Namespace, Module, TemplateReference):
            return self._held(obj, name)
        if name in self.methods.get(kind, ()) or name in self.refused.get(kind, ()):
            self._no_value(kind, name)
        if isinstance(obj, (Function, Helpers, VIEWS, ITERATORS)):
            unsafe(kind, name)
        return Undefined(f"{said(kind)} has no attribute {name!r}", name=name)

    def _held(self, obj: Any, name: str) -> Any:
        """Read what a namespace, an imported part or the template itself has under a name of the author's."""
        try:
            if type(obj) is Module:
                return vars(obj)[name]
            return obj[name] if type(obj) is TemplateReference else getattr(obj, name)
        except (KeyError, AttributeError):
            return Undefined(f"{said(type(obj))} has no {name!r}", name=name)

    def _no_value(self, kind: type, name: str) -> NoReturn:
        if name in self.methods.get(kind, ()):
            raise RenderError(f"{name} is a method of {said(kind)}, not a value: call it as .{name}()")
        unsafe(kind, name)

    def _slice(self, obj: Any, key: slice) -> Any:
        if isinstance(obj, str):
            return self.sized(obj[key])
        if isinstance(obj, (list, tuple, range)):
            if not isinstance(obj, range):
                self.places(len(range(*key.indices(len(obj)))))
            return obj[key]
        if isinstance(obj, Undefined):
            return obj()  # raises what Jinja2 raises
        raise RenderError(f"{said(type(obj))} cannot be sliced")

    # Calling

    def call(self, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a macro, a block, a recursive loop, a joiner or a global."""
        kind = type(obj)
        if kind is Function:
            return obj.call(self, *args, **kwargs)
        if kind in (Macro, LoopContext, BlockReference, Joiner):
            self.turn(CALL)
            self.enter()
            try:
                return obj(*args, **kwargs)
            finally:
                self.depth -= 1
        if isinstance(obj, Undefined):
            return obj()  # raises what Jinja2 raises
        raise UnsafeTemplateError(f"{said(kind)} is no function or macro and cannot be called")

    def method(self, obj: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call `obj.name(...)`: a method on the allow-list, else what the attribute holds."""
        kind = type(obj)
        found = self.methods.get(kind, _NOTHING).get(name)
        if found is not None:
            return found(self, obj, *args, **kwargs)
        if kind is Helpers:
            if name not in obj.functions:
                raise UnsafeTemplateError(f"extract_context has no function {name}")
            return obj.functions[name].call(self, *args, **kwargs)
        return self.call(self.getattr(obj, name), *args, **kwargs)

    def call_filter(
        self, name: Any, value: Any, args: Iterable[Any], kwargs: Mapping[str, Any] | None = None, context: Any = None
    ) -> Any:
        """Apply the filter that `map` names."""
        return self._named("filter", name, self.filters)(context, value, *args, **(kwargs or {}))

    def call_test(
        self, name: Any, value: Any, args: Iterable[Any], kwargs: Mapping[str, Any] | None = None, context: Any = None
    ) -> Any:
        """Apply the test that `select` and its kin name."""
        return self._named("test", name, self.tests)(context, value, *args, **(kwargs or {}))

    def _named(self, what: str, name: Any, known: Mapping[str, Any]) -> Callable[..., Any]:
        if type(name) is not str or name not in known:
            raise UnsafeTemplateError(f"there is no {what} {name!r}" if type(name) is str else f"a {what} is a name")
        found: Callable[..., Any] = known[name]
        return found

    def get_template(self, name: str, parent: str | None = None) -> Part:
        """Return the part of that name; the names were checked when the parts were linked."""
        if name not in self.parts:
            raise RenderError(f"part {name} was not given to the render")
        program = self.parts[name]
        self.turn(program.weight)
        return Part(self, program)

    # Growing

    def call_binop(self, context: object, operator: str, left: Any, right: Any) -> Any:
        """Compute `+`, `*`, `**` or `%`."""
        if operator == "+":
            return self.added(left, right)
        if operator == "*":
            return self._multiplied(left, right)
        if operator == "**":
            return self._raised(left, right)
        return percent(self, left, right) if type(left) is str else left % right

    def added(self, left: Any, right: Any) -> Any:
        if type(left) is str and type(right) is str:
            self.room(len(left) + len(right))
            return self.sized(left + right)
        if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
            self.places(len(left) + len(right))
        return left + right

    def _multiplied(self, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            if left.bit_length() + right.bit_length() > MAX_BITS:
                self.too_long_a_number()
            return left * right
        for value, times in ((left, right), (right, left)):
            if isinstance(times, int) and isinstance(value, str):
                self.room(len(value) * max(times, 0))
                return self.sized(value * times)
            if isinstance(times, int) and isinstance(value, (list, tuple)):
                self.places(len(value) * max(times, 0))
                return value * times
        return left * right

    def _raised(self, left: Any, right: Any) -> Any:
        whole = isinstance(left, int) and isinstance(right, int) and abs(left) > 1
        if whole and left.bit_length() * abs(right) > MAX_BITS:
            self.too_long_a_number()
        return left**right

    def too_long_a_number(self) -> NoReturn:
        over(self.limits, "text", "an expression makes a whole number of more than 4,300 digits")

    def joined(self, parts: Iterable[Any]) -> str:
        """Join what `~` puts together."""
        return self.concat([self.text(part) for part in parts])

    def concat(self, pieces: Iterable[str]) -> str:
        """Join the pieces of a macro, a block or a captured section."""
        if type(pieces) is not list:
            pieces = list(pieces)
        self.room(sum(map(len, pieces)))
        return self.sized("".join(pieces))

    # Printing and walking

    def text(self, value: Any) -> str:
        """Return a value as the text that Jinja2 prints for it; only plain data has one."""
        kind = type(value)
        if kind is str:
            return value  # type: ignore[no-any-return]
        self.needed(value)
        if kind in SCALARS or kind is range:
            return self.sized(str(value))
        if isinstance(value, Undefined):
            return str(value)
        if kind is Module:
            return self.concat(value._body_stream)
        self.measure(value)
        return self.sized(str(value))

    def needed(self, value: Any) -> Any:
        """Pass on a value, which in a path may not be absent or none, whatever a filter would make of that."""
        if self.strict and (value is None or isinstance(value, Undefined)):
            str(value)  # raises for a Hole
            name = "" if value is None else str(value._undefined_name or "")
            raise MissingVariablesError("a path needs a value here, and there is none", names=(name,))
        return value

    def printed(self, value: Any) -> str:
        """Return what a path prints for a value, once `part` has seen it."""
        text = self.text(value)
        return text if self.part is None else self.part(text)

    def walked(self, value: Any) -> Any:
        """Pass on a value that is about to be compared, hashed or sorted, and pay for all that it holds."""
        kind = type(value)
        if kind is str:
            if len(value) > 1_000:
                self.spend(len(value) >> 3)
        elif kind not in SCALARS and isinstance(value, (list, tuple, dict, *VIEWS)):
            self.measure(value)
        return value

    def sought(self, value: Any) -> Any:
        """Pass on a value that is about to be looked for; text does not say what it was that is missing."""
        return self.walked(self.needed(value))

    def searched(self, value: Any) -> Any:
        """Pass on a value in which something is about to be looked for."""
        if isinstance(value, (str, list, tuple, VIEWS)):
            self.spend(len(value) >> 2)
        return value

    def measure(self, value: Any) -> tuple[int, int]:
        """Spend the size of a value with everything in it, as often as it appears; return that and its depth.

        Refuses what is no plain data. Lists that hold one list many times are small in memory and endless to print:
        this stops at the budget.
        """
        total = depth = 0
        left = self.built
        levels: list[Iterator[Any]] = [iter((value,))]
        while levels:
            for item in levels[-1]:
                kind = type(item)
                if kind is str:
                    total += len(item) + 8
                elif kind in SCALARS or kind is range:
                    total += 16
                elif kind is dict:
                    total += 16
                    levels.append(chain(item.keys(), item.values()))
                    break
                elif isinstance(item, (list, tuple, VIEWS)):
                    total += 16
                    levels.append(iter(item))
                    break
                elif isinstance(item, Undefined):
                    self.needed(item)
                else:
                    raise RenderError(f"{said(kind)} has no text: only data can be printed, joined or compared")
                if total > left:
                    self.spend(total)
            else:
                levels.pop()
            depth = max(depth, len(levels))
            if depth > MAX_VALUE_DEPTH:
                over(self.limits, "nesting", "a value is nested too deep")
        self.spend(total)
        return total, depth

    def iterable(self, value: Any) -> Any:
        """Pass on what a filter may iterate over."""
        if not isinstance(value, (str, list, tuple, dict, range, Undefined, *VIEWS, *ITERATORS)):
            raise RenderError(f"{said(type(value))} cannot be iterated over")
        return value

    def listed(self, value: Any) -> list[Any]:
        """Return the items of what a filter is about to go through, as many as the limit lets."""
        self.iterable(value)
        if not isinstance(value, ITERATORS):
            self.places(len(value))
            return list(value)
        items = list(islice(value, self.limits.items + 1))
        self.places(len(items))
        return items


def plain_result(runtime: Runtime, name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function of the application for a template, and let only plain data back in."""
    try:
        return values.plain(function(*args, **kwargs), runtime.limits)
    except values.NotPlainError as error:
        raise RenderError(f"{name} returned {error.what}, which is no plain data") from error
