"""What a template can hold besides plain data: the objects of the language, what can be read of them, and their names.

The names are for messages: no text of ovstore shows the name of a class or an address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import GeneratorType
from typing import Any, Final, NoReturn

from jinja2.runtime import BlockReference, LoopContext, Macro, StrictUndefined, TemplateReference, Undefined
from jinja2.utils import Cycler, Joiner, Namespace

from ovstore.errors import MissingVariablesError, UnsafeTemplateError

SCALARS: Final = frozenset({str, int, float, bool, complex, type(None)})
VIEWS: Final[tuple[type[Any], ...]] = (type({}.keys()), type({}.values()), type({}.items()))
ITERATORS: Final[tuple[type[Any], ...]] = (
    GeneratorType,
    type(iter([])),
    type(iter(())),
    type(iter({}.items())),
    type(reversed([])),
    type(reversed(())),
    type(reversed({})),
    type(reversed(range(0))),
)

ATTRIBUTES: Final[Mapping[type, frozenset[str]]] = {
    LoopContext: frozenset(
        {"index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0"}
        | {"previtem", "nextitem"}
    ),
    Macro: frozenset({"name", "arguments", "catch_kwargs", "catch_varargs", "caller"}),
    Cycler: frozenset({"current"}),
    BlockReference: frozenset({"name", "super"}),
}
"""What can be read of the objects of the language, besides the names in a namespace and the macros of a part."""

OBJECTS: Final[Mapping[type, str]] = {
    LoopContext: "the loop",
    Macro: "a macro",
    Cycler: "a cycler",
    Joiner: "a joiner",
    Namespace: "a namespace",
    BlockReference: "a block",
    TemplateReference: "the template itself",
}


class Function:
    """A global that a template can call; `call` takes the runtime first."""

    __slots__ = ("call", "name")

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.name = name
        self.call = call


class Hole(StrictUndefined):
    """A name of a path that has no value: it can be tested and takes `default`, and is an error wherever it is used."""

    __slots__ = ()
    __bool__ = Undefined.__bool__  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        def missing_value(message: str) -> MissingVariablesError:
            return MissingVariablesError(f"{name} has no value", names=(name,))

        super().__init__(name=name, exc=missing_value)  # type: ignore[arg-type]


class Helpers:
    """The functions of `extract_context`, by name."""

    __slots__ = ("functions",)

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions


class Module:
    """An imported part: its macros and top-level assignments are its attributes, its text is what it prints."""

    def __init__(self, name: str, exported: Mapping[str, Any], pieces: list[str]) -> None:
        self.__dict__.update(exported)
        self.__name__ = name
        self._body_stream = pieces


def said(kind: type) -> str:
    """Name a type as people who write templates know it."""
    if kind in OBJECTS:
        return OBJECTS[kind]
    if kind in (Function, Helpers):
        return "a function"
    if kind is Module:
        return "an imported part"
    if issubclass(kind, Undefined):
        return "a missing value"
    if kind in ITERATORS:
        return "the result of a filter such as map or select (add |list to it)"
    if kind in VIEWS:
        return "the keys, values or items of a mapping"
    names = {str: "a string", int: "a number", float: "a number", bool: "true or false", type(None): "none"}
    return names.get(kind, "a mapping" if issubclass(kind, dict) else "a list")


def unsafe(kind: type, name: str) -> NoReturn:
    raise UnsafeTemplateError(f"{name} of {said(kind)} is not available to templates")
