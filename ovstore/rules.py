"""Rules that no single value can break: a default against its type, a merge operation against its field.

Each takes plain data as it was read and yields what is wrong; whoever reads the document knows the places.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ovstore.findings import described
from ovstore.grammar import VARIABLE_TYPES
from ovstore.names import Mode
from ovstore.scalars import Scalar, plain

PYTHON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
}
"""The exact Python types of a value; `any` is not among them. A boolean is no number."""

AGENT_TYPES: Final = ("experiences", "trajectories")
"""The types that OpenViking extracts of the stage agent, by their names; no other of that stage is ever filled."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that is broken: the code, the attribute where it shows, and what follows its name in a message."""

    code: str
    attribute: str
    what: str


def type_of(item: Mapping[str, Any]) -> str | None:
    """Return the type of a variable or field in its one spelling; None where it has none that is known."""
    written = item.get("type")
    return VARIABLE_TYPES.get(written) if isinstance(written, str) else None


def of_variable(item: Mapping[str, Any]) -> Iterator[Broken]:
    kind, default, longest = type_of(item), item.get("default"), item.get("max_length")
    if default is not None and item.get("required"):
        yield Broken("required-default", "default", "says it is required, but has a default: a caller may leave it out")
    if longest is None:
        return
    if kind not in (None, "string", "any"):
        yield Broken("unused-max-length", "max_length", f"has a max_length, which cuts text only, not {kind}")
    elif isinstance(default, str) and len(default) > longest:
        what = f"has a default of {len(default)} characters, which max_length cuts at {longest}"
        yield Broken("long-default", "default", what)


def of_field(item: Mapping[str, Any], mode: Mode) -> Iterator[Broken]:
    """In a patch, what an item does not say is not known: the whole field is judged when it is folded."""
    implied = mode == "full"
    kind = type_of(item) or ("string" if implied and "type" not in item else None)
    merge_op = item.get("merge_op") or ("patch" if implied else None)
    initial = item.get("init_value")
    if kind is None:
        return
    if merge_op == "sum" and kind not in ("int", "float"):
        yield Broken("sum-on-text", "merge_op", f"cannot be summed: only int64 and float32 can, not {kind}")
    if merge_op == "patch" and kind != "string":
        yield Broken("patch-on-value", "merge_op", f"is {kind}: patch acts as replace on it")
    if initial is not None and kind in ("int", "float", "bool"):
        scalar = plain(initial)
        value = scalar.value if isinstance(scalar, Scalar) else scalar
        if type(value) not in PYTHON_TYPES[kind] or (isinstance(value, float) and not math.isfinite(value)):
            yield Broken("wrong-init-value", "init_value", f"starts with {described(initial)}, which is no {kind}")


def of_category(category: str, key: str) -> Iterator[Broken]:
    first = key.partition(".")[0]
    if category != first:
        what = f"is {described(category)}, but `{key}` is of the category `{first}`"
        yield Broken("category-mismatch", "category", what)


def of_stage(stage: object, key: str) -> Iterator[Broken]:
    if stage == "agent" and key not in AGENT_TYPES:
        what = f"is agent: OpenViking extracts {' and '.join(AGENT_TYPES)} of it by name, and `{key}` never"
        yield Broken("custom-agent-stage", "stage", what)
