"""What is wrong with data that was handed in, in our words: every finding at once, each with its place.

pydantic says that something is no valid tuple; whoever wrote JSON wants to hear that it is no list, where, and which
key was meant.
"""

from __future__ import annotations

import json
import math
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ovstore import names

Steps = tuple[str | int, ...]

NO_TIME: Final = "times are ISO 8601 with a zone: 2026-04-19T12:00:00Z or 2026-04-19T20:00:00+08:00"
_DEEPEST: Final = 8
_LONGEST: Final = 40
_KEY: Final = "[key]"
_SURROGATE: Final = re.compile("[\\ud800-\\udfff]")
_PLAIN_KEY: Final = re.compile(r"[\w-]+")
_NO_SUCH_KEY: Final = ("extra_forbidden", "unexpected_keyword_argument")


def found(error: ValidationError, data: Any, model: type) -> tuple[tuple[Steps, str], ...]:
    """Return each fault of the data that a model refused: where it is, and a sentence that goes on from there."""
    return tuple(_fault(problem, data, model) for problem in error.errors(include_url=False))


def no_json(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, str]]:
    """Find whatever no JSON could hold."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                yield steps, f"the key {shown(key)} is no text"
            else:
                yield from no_json(key, (*steps, key))
                yield from no_json(inner, (*steps, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from no_json(inner, (*steps, at))
    elif isinstance(value, str):
        if not value.isascii() and _SURROGATE.search(value):
            yield steps, "half of a surrogate pair in it, which is no character"
    elif isinstance(value, float) and not math.isfinite(value):
        yield steps, f"{shown(value)} is no number that JSON has"
    elif not (value is None or isinstance(value, (bool, int, float))):
        yield steps, f"{shown(value)} is no value that JSON has"


def place(steps: Iterable[str | int]) -> str:
    """Write a place in JSON as people do.

    >>> place(("worldbooks", 0, "entries", 3, "logic")), place(("worldbook_state", "b/1", "started"))
    ('worldbooks[0].entries[3].logic', 'worldbook_state["b/1"].started')
    """
    return "".join(_steps(tuple(steps))).removeprefix(".")


def _steps(steps: Steps) -> Iterator[str]:
    for step in steps[:_DEEPEST]:
        if isinstance(step, str) and _PLAIN_KEY.fullmatch(step):
            yield f".{step}"
        else:
            yield f"[{step}]" if isinstance(step, int) else f"[{shown(step)}]"
    if len(steps) > _DEEPEST:
        yield "…"


def lines(faults: Iterable[tuple[Steps, str]]) -> str:
    """Write faults one a line."""
    return "\n".join(f"{place(steps)}: {what}" if steps else what for steps, what in faults)


def shown(value: object) -> str:
    """Show a value in few words: what is long is cut, and of what is nested only the kind is told."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        text = names.printable(value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…")
        return f'"{text}"'
    if isinstance(value, int):
        return str(value) if value.bit_length() < 128 else f"a number of {value.bit_length()} bits"
    if isinstance(value, float):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, (list, tuple)) else f"a {type(value).__name__}"


def none_of(value: object, known: Sequence[str]) -> str:
    """Say that a value is not among those that are known.

    >>> none_of("sed", ("seed", "stable_first"))
    '"sed" is none of seed, stable_first; did you mean seed?'
    """
    return f"{shown(value)} is none of {', '.join(known)}{_meant(value, known)}"


def _meant(value: object, known: Iterable[str]) -> str:
    near = names.near(value, known, 1) if isinstance(value, str) else ()
    return f"; did you mean {near[0]}?" if near else ""


def _fault(problem: ErrorDetails, data: Any, model: type) -> tuple[Steps, str]:
    kind, location = problem["type"], problem["loc"]
    steps = _path(location[:-1] if location[-1:] == (_KEY,) else location, data, kind in ("missing", *_NO_SUCH_KEY))
    if kind in _NO_SUCH_KEY:
        known = _keys_at(model, location[:-1])
        return steps, "no such key" + (_meant(location[-1], known) or f"; there are {', '.join(known)}")
    if kind == "value_error":
        return steps, str(problem["msg"]).removeprefix("Value error, ")
    say = _SAID.get(kind)
    return steps, say(problem) if say is not None else f"{shown(problem['input'])} cannot be used: {problem['msg']}"


def _path(location: Steps, data: Any, absent: bool) -> Steps:
    """The steps that lead somewhere in the data; the others name types. `absent`: the last one leads nowhere."""
    here, steps = data, []
    for step in location:
        listed = isinstance(step, int) and isinstance(here, (list, tuple)) and step < len(here)
        if listed or (isinstance(here, Mapping) and step in here):
            here = here[step]
            steps.append(step)
    return (*steps, location[-1]) if absent and (not steps or steps[-1] != location[-1]) else tuple(steps)


def _keys_at(model: type, location: Steps) -> tuple[str, ...]:
    """The keys of the object at a place, by the models."""
    for step in location:
        inner = _hints(model).get(step) if isinstance(step, str) else None
        model = _model_in(inner) or model
    return tuple(_hints(model))


def _hints(model: type) -> dict[str, Any]:
    if issubclass(model, BaseModel):
        return {name: field.annotation for name, field in model.model_fields.items()}
    hints = typing.get_type_hints(model)
    return {field.name: hints[field.name] for field in fields_of(model)} if is_dataclass(model) else {}


def _model_in(annotation: Any) -> type | None:
    if isinstance(annotation, type) and (issubclass(annotation, BaseModel) or is_dataclass(annotation)):
        return annotation
    return next((inner for part in typing.get_args(annotation) if (inner := _model_in(part)) is not None), None)


def _no(what: str) -> Callable[[ErrorDetails], str]:
    return lambda problem: f"{shown(problem['input'])} is no {what}"


def _than(how: str, limit: str) -> Callable[[ErrorDetails], str]:
    return lambda problem: f"{shown(problem['input'])} is {how} {int(problem['ctx'][limit]):,}"


def _literal(problem: ErrorDetails) -> str:
    return none_of(problem["input"], re.findall(r"'([^']*)'", problem["ctx"]["expected"]))


def _always(what: str) -> Callable[[ErrorDetails], str]:
    return lambda problem: what


_SAID: Final[Mapping[str, Callable[[ErrorDetails], str]]] = {
    "missing": _always("missing"),
    "json_invalid": lambda problem: f"no JSON: {problem['ctx']['error']}",
    "string_type": _no("text"),
    "string_unicode": _always("half of a surrogate pair in it, which is no character"),
    "string_too_short": _always("empty"),
    "too_short": _always("empty"),
    "string_too_long": lambda problem: f"longer than {problem['ctx']['max_length']:,} characters",
    "too_long": lambda problem: f"longer than {problem['ctx']['max_length']:,} characters",
    "bool_type": lambda problem: f"{shown(problem['input'])} is neither true nor false",
    "int_type": _no("whole number"),
    "int_from_float": _no("whole number"),
    "int_parsing": _no("whole number"),
    "int_parsing_size": _no("whole number of a size that is taken"),
    "float_type": _no("number"),
    "finite_number": _no("number that JSON has"),
    "greater_than": _than("not greater than", "gt"),
    "greater_than_equal": _than("less than", "ge"),
    "less_than": _than("not less than", "lt"),
    "less_than_equal": _than("greater than", "le"),
    "literal_error": _literal,
    "tuple_type": _no("list"),
    "list_type": _no("list"),
    "dict_type": _no("object"),
    "model_type": _no("object"),
    "model_attributes_type": _no("object"),
    "dataclass_type": _no("object"),
    "mapping_type": _no("object"),
    "invalid-json-value": _no("value that JSON has"),
    "invalid_key": _always("keys are texts"),
    "recursion_loop": _always("it holds itself"),
    "recursion_depth_exceeded": _always("nested too deep"),
    "timezone_aware": lambda problem: f"{shown(problem['input'])} has no time zone; {NO_TIME}",
    "timezone_naive": lambda problem: f"{shown(problem['input'])} has no time zone; {NO_TIME}",
    "datetime_type": _no(f"time; {NO_TIME}"),
    "datetime_parsing": _no(f"time; {NO_TIME}"),
    "datetime_from_date_parsing": _no(f"time; {NO_TIME}"),
    "datetime_object_invalid": _no(f"time; {NO_TIME}"),
}
