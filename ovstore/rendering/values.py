"""Variables: what a template declares, and the values of one render as plain data of those types.

Values are copied to plain data (mappings, lists, tuples, text, numbers, true, false, none) before a template sees
them: subclasses are flattened, nothing else is let in, and the caller's own objects are never touched. What is copied
is data for good: no value is ever read as a template.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from ovstore.errors import MissingVariablesError, RenderBudgetError, RenderError, VariableTypeError
from ovstore.grammar import VARIABLE_TYPES
from ovstore.names import near
from ovstore.rendering.budgets import MAX_VALUE_DEPTH, RenderLimits, over

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_ACCEPTED: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list, tuple),
    "dict": (dict,),
    "any": (object,),
}


class NotPlainError(Exception):
    """A value has a part that is no plain data; `what` is the name of its type."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@dataclass(frozen=True, slots=True)
class Variable:
    """One declared variable. `default` None is no default; `max_length` counts code points."""

    name: str
    type: str
    required: bool = True
    default: Any = None
    max_length: int | None = None

    def accept(self, value: Any, limits: RenderLimits) -> Any:
        """Return a value as plain data of the type, or raise NotPlainError with the type that it has."""
        if value is None and (self.required or self.type != "any"):
            raise NotPlainError("null")
        fits = isinstance(value, _ACCEPTED[self.type]) and (self.type in ("bool", "any") or not isinstance(value, bool))
        if not fits:
            raise NotPlainError(type_name(value))
        return plain(value, limits)


class Variables:
    """The declared variables of a template and its parts, ready to take the values of a render."""

    __slots__ = ("_by_name", "_limits")

    def __init__(self, variables: Iterable[Variable], limits: RenderLimits) -> None:
        self._limits = limits
        self._by_name = {v.name: v for v in variables}

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._by_name.values())

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def bind(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the values of a render and the names of those that max_length cut.

        Raises MissingVariablesError with every missing name, or VariableTypeError with every value that does not fit.
        Names that are not declared are left out.
        """
        values: dict[str, Any] = {}
        missing: list[str] = []
        wrong: list[tuple[Variable, str]] = []
        cut: tuple[str, ...] = ()
        for name, variable in self._by_name.items():
            if name in given:
                value = given[name]
                if type(value) is not str or variable.type != "string":
                    try:
                        value = variable.accept(value, self._limits)
                    except NotPlainError as error:
                        wrong.append((variable, error.what))
                        continue
            elif variable.default is not None:
                value = variable.default
            else:
                if variable.required:
                    missing.append(name)
                continue
            if variable.max_length is not None and type(value) is str and len(value) > variable.max_length:
                value = value[: variable.max_length]
                cut += (name,)
            values[name] = value
        if missing:
            raise self._missing(missing, given)
        if wrong:
            raise _mistyped(wrong)
        return values, cut

    def _missing(self, names: list[str], given: Mapping[str, Any]) -> MissingVariablesError:
        extra = [name for name in given if isinstance(name, str) and name not in self._by_name]
        alike = {name: near(name, extra, 1) for name in names}
        said = [name + (f" (is it the {found[0]} you gave?)" if (found := alike[name]) else "") for name in names]
        return MissingVariablesError(
            f"required and not given: {', '.join(said)}; declared are {', '.join(self._by_name)}",
            names=names,
            near=[found[0] for found in alike.values() if found],
        )


def declared(items: Iterable[Mapping[str, Any]], limits: RenderLimits) -> tuple[Variable, ...]:
    """Return the variables of a document, as written or canonical; a default that does not fit raises RenderError."""
    return tuple(_variable(item, limits) for item in items)


def _variable(item: Mapping[str, Any], limits: RenderLimits) -> Variable:
    name, spelling = item["name"], item.get("type", "any")
    if spelling not in VARIABLE_TYPES:
        raise RenderError(f"variable {name}: {spelling} is not a type")
    required, default = item.get("required", True), item.get("default")
    variable = Variable(name, VARIABLE_TYPES[spelling], required, None, item.get("max_length"))
    if default is None:
        return variable
    try:
        return Variable(name, variable.type, required, variable.accept(default, limits), variable.max_length)
    except NotPlainError as error:
        raise RenderError(f"variable {name}: the default must be {variable.type}, not {error.what}") from error


def _mistyped(wrong: list[tuple[Variable, str]]) -> VariableTypeError:
    said = [f"{v.name} must be {'plain data' if v.type == 'any' else v.type}, not {found}" for v, found in wrong]
    first, found = wrong[0]
    return VariableTypeError("; ".join(said), name=first.name, expected=first.type, found=found)


def not_plain(name: str, error: NotPlainError) -> VariableTypeError:
    """Say that a value which may be of any type is no plain data at all."""
    message = f"{name} must be plain data, not {error.what}"
    return VariableTypeError(message, name=name, expected="any", found=error.what)


def type_name(value: Any) -> str:
    """Name the type of a value in the words of documents; of a foreign object the name of its class."""
    for kind, name in ((bool, "bool"), (str, "string"), (int, "int"), (float, "float"), (dict, "dict")):
        if isinstance(value, kind):
            return name
    if value is None:
        return "null"
    return "list" if isinstance(value, (list, tuple)) else type(value).__name__


def plain(value: Any, limits: RenderLimits) -> Any:
    """Return a copy of a value as plain data, sharing nothing that can be changed.

    Raises NotPlainError for anything else, and RenderBudgetError over `values` or over 100 levels.
    """
    if type(value) in (str, bool, float, type(None)):
        return value
    return _Copy(limits).of(value, 0)


class _Copy:
    __slots__ = ("left", "limits")

    def __init__(self, limits: RenderLimits) -> None:
        self.limits = limits
        self.left = limits.values

    def of(self, value: Any, level: int) -> Any:
        """Copy first and look at the copy: what another thread does to the original changes nothing any more."""
        kind = type(value)
        if kind is dict:
            copied = value.copy()
            self.left -= len(copied) + 1
            if self.left < 0 or level > MAX_VALUE_DEPTH:
                self._refuse()
            for key, item in copied.items():
                if type(key) is not str:
                    return {self._key(k): self.of(v, level + 1) for k, v in copied.items()}
                if type(item) is not str and type(item) not in _SCALARS:
                    copied[key] = self.of(item, level + 1)
            return copied
        if kind is list or kind is tuple:
            entries = list(value)
            self.left -= len(entries) + 1
            if self.left < 0 or level > MAX_VALUE_DEPTH:
                self._refuse()
            for index, item in enumerate(entries):
                if type(item) is not str and type(item) not in _SCALARS:
                    entries[index] = self.of(item, level + 1)
            return entries if kind is list else tuple(entries)
        return value if kind in _SCALARS else self._flattened(value, level)

    def _flattened(self, value: Any, level: int) -> Any:
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            return int.__pos__(value)
        if isinstance(value, float):
            return float.__pos__(value)
        if isinstance(value, dict):
            return self.of(dict(dict.items(value)), level)
        if isinstance(value, list):
            return self.of(list(list.__iter__(value)), level)
        if isinstance(value, tuple):
            return self.of(tuple(tuple.__iter__(value)), level)
        raise NotPlainError(type_name(value))

    def _key(self, key: Any) -> Any:
        if not isinstance(key, (str, int, float, type(None))):
            raise NotPlainError(f"a mapping with a key of type {type_name(key)}")
        return self.of(key, 0)

    def _refuse(self) -> NoReturn:
        if self.left < 0:
            over(self.limits, "values", "the variables hold too many values")
        raise RenderBudgetError(f"the variables are nested deeper than {MAX_VALUE_DEPTH} levels", limit="values")
