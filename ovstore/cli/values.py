"""Values of variables from the command line: `NAME=VALUE` and `NAME=@FILE` by declared type, and files of JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ovstore.findings import dotted
from ovstore.grammar import VARIABLE_TYPES

if TYPE_CHECKING:
    from ovstore.documents import Document


def from_arguments(arguments: Iterable[str]) -> dict[str, str]:
    """Return the texts that `-v` gives, with files read."""
    found: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{argument!r} is not NAME=VALUE or NAME=@FILE", param_hint="-v")
        if name in found:
            raise click.BadParameter(f"{name} is given twice", param_hint="-v")
        if value.startswith("@@"):
            value = value[1:]
        elif value.startswith("@"):
            value = read_text(value[1:], f"-v {name}")
        found[name] = _unicode(value, f"-v {name}")
    return found


def from_file(path: Path, where: str = "--vars") -> dict[str, Any]:
    """Return the variables of a JSON file: one object."""
    data = read_json(path, where)
    if not isinstance(data, dict):
        raise click.BadParameter(f"{path} holds no object with a value for each variable", param_hint=where)
    return data


def read_json(path: Path, where: str) -> Any:
    """Return what a JSON file holds. A byte order mark is an editor's and is dropped.

    A name that is twice in an object is refused: all but its last value would be lost unseen.
    """
    return parsed_json(read_text(str(path), where), str(path), where)


def parsed_json(text: str, name: str, where: str) -> Any:
    """Return what a text of JSON holds; `name` is what errors call it."""
    repeated: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        held = dict(pairs)
        if len(held) < len(pairs):
            counted = Counter(name for name, _ in pairs)
            held = _Repeated(held)
            held.names = [name for name, times in counted.items() if times > 1]
            repeated.extend(held.names)
        return held

    try:
        data = json.loads(text, parse_constant=_refuse, object_pairs_hook=once)
    except ValueError as error:
        raise click.BadParameter(f"{name} is not JSON: {error}", param_hint=where) from error
    except RecursionError as error:
        raise click.BadParameter(f"{name} is nested too deep", param_hint=where) from error
    if repeated:
        said = ", ".join(dotted(path) for path in _places(data, ()))
        raise click.BadParameter(f"{name}: more than once in one object: {said}", param_hint=where)
    return data


class _Repeated(dict[str, Any]):
    """An object with names that were there more than once."""

    names: list[str]


def _places(data: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Where names are repeated, objects that lost their place to a later one of their name left out."""
    if isinstance(data, _Repeated):
        yield from ((*path, name) for name in data.names)
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, inner in steps:
        yield from _places(inner, (*path, step))


def types_of(document: Document) -> Mapping[str, str]:
    """Return the declared type of each variable, as its author spelt it."""
    return {variable["name"]: variable["type"] for variable in document.as_written().get("variables", ())}


def convert(name: str, text: str, declared: str | None) -> Any:
    """Return the value that a text stands for; a name that is not declared keeps its text, for render to judge."""
    if declared in (None, "string", "any"):
        return text
    try:
        return _READERS[VARIABLE_TYPES[str(declared)]](text)
    except (ValueError, RecursionError) as error:
        shown = text if len(text) <= 40 else text[:37] + "..."
        raise click.BadParameter(f"{name} is of the type {declared}, and {shown!r} is not", param_hint="-v") from error


def _int(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,4000}", text.strip()):
        raise ValueError(text)
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    # Python also reads underscores and the digits of every script.
    if value - value != 0 or not text.isascii() or "_" in text:
        raise ValueError(text)
    return value


def _bool(text: str) -> bool:
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise ValueError(text)
    return word == "true"


def _json(kind: type) -> Any:
    def read(text: str) -> Any:
        value = json.loads(text, parse_constant=_refuse)
        if not isinstance(value, kind):
            raise ValueError(text)
        return value

    return read


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_READERS: Mapping[str, Any] = {"int": _int, "float": _float, "bool": _bool, "list": _json(list), "dict": _json(dict)}


def read_text(path: str, where: str) -> str:
    """Return the text of a file in UTF-8, or of stdin for `-`, without a byte order mark."""
    try:
        with click.open_file(path, "rb") as file:
            return bytes(file.read()).decode("utf-8-sig")
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}", param_hint=where) from error
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"{path} is not UTF-8 (byte {error.start})", param_hint=where) from error


def _unicode(text: str, where: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise click.BadParameter("this is not UTF-8", param_hint=where) from error
    return text
