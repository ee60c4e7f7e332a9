"""Merge operations: what a stored value and an update make of each other, by the field's merge_op and type.

Nothing here guesses or loses: an update that does not fit is a MergeError and the stored value stays. None and blank
text in an update mean "nothing given"; to empty a value is said in so many words, with `CLEAR`. `docs/memory.md` has
the table, with each difference from OpenViking and its reason.

    patch       text takes new text, or blocks (`blocks`); other types take the new value
    replace     the new value
    sum         the stored number plus the new one, exactly: whole numbers in 64 bits, others as decimals
    immutable   the first value that is set, for ever; blank text is not set
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from types import MappingProxyType
from typing import Any, Final

from ovstore.documents import Field
from ovstore.errors import MergeError
from ovstore.memory.blocks import apply_blocks, is_patch
from ovstore.memory.files import unfit
from ovstore.names import printable

MERGE_SEMANTICS: Final = 1
"""What the words of a schema mean here. A version of a schema keeps the number it was stored under; a later change of
meaning gets the next number, and schemas stored before keep theirs."""

CLEAR: Final[Mapping[str, bool]] = MappingProxyType({"clear": True})
"""The update that empties a value; in JSON `{"clear": true}`."""

INT64: Final = range(-(2**63), 2**63)
FLOAT32_MAX: Final = 3.4028234663852886e38

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,40}")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]{1,100}(\.[0-9]{0,100})?|\.[0-9]{1,100})([eE][+-]?[0-9]{1,3})?")
_EXACT_DIGITS: Final = 3_000


def is_given(value: object) -> bool:
    """Whether a value says anything: None and blank text do not, 0 and false do.

    >>> is_given(0), is_given("  "), is_given(None)
    (True, False, False)
    """
    return value is not None and not (isinstance(value, str) and not value.strip())


def is_clear(value: object) -> bool:
    return isinstance(value, Mapping) and len(value) == 1 and value.get("clear") is True


def merge_value(field: Field, current: Any, update: Any) -> Any:
    """Return the value of a field behind an update; None is no value. Raises MergeError with the field's name.

    >>> merge_value(Field(name="calls", type="int64", merge_op="sum"), 2, "3")
    5
    """
    if is_clear(update):
        return _cleared(field, current)
    if why := unfit(update):
        raise MergeError(f"{field.name}: no memory holds the update: {why}", field=field.name)
    return _MERGES[field.merge_op](field, current, update)


def _cleared(field: Field, current: Any) -> None:
    if field.merge_op == "immutable" and is_given(current):
        raise MergeError(f"{field.name}: an immutable value that is set cannot be cleared", field=field.name)


def _patch(field: Field, current: Any, update: Any) -> Any:
    if field.type != "string":
        return _replace(field, current, update)
    if is_patch(update):
        if current is not None and not isinstance(current, str):
            raise MergeError(f"{field.name}: blocks patch text; {_stored(current)}", field=field.name)
        return apply_blocks(current or "", update, field.name)
    if not is_given(update):
        return "" if current is None else current
    if not isinstance(update, str):
        said = f"{field.name}: a patch of text is text or blocks, not {_kind(update)} ({_short(update)})"
        raise MergeError(said, field=field.name)
    return update


def _replace(field: Field, current: Any, update: Any) -> Any:
    return _typed(field, update) if is_given(update) else current


def _immutable(field: Field, current: Any, update: Any) -> Any:
    return current if is_given(current) or not is_given(update) else _typed(field, update)


def _sum(field: Field, current: Any, update: Any) -> Any:
    if not is_given(update):
        return current
    added = _number(field, update, "the update")
    if not is_given(current):
        return _bounded(field, added)
    stored = _number(field, current, "the stored value")
    if isinstance(stored, int) and isinstance(added, int):
        return _bounded(field, stored + added)
    with localcontext(prec=_EXACT_DIGITS):
        return _bounded(field, Decimal(stored) + Decimal(added))


_MERGES: Final[Mapping[str, Callable[[Field, Any, Any], Any]]] = {
    "patch": _patch,
    "replace": _replace,
    "sum": _sum,
    "immutable": _immutable,
}


def _typed(field: Field, value: Any) -> Any:
    """Return a value as the field's type takes it: numbers also from text, text fields also numbers and booleans."""
    if field.type in ("int", "float"):
        return _bounded(field, _number(field, value, "the update"))
    wrong = (
        (field.type == "string" and isinstance(value, (Mapping, list, tuple)))
        or (field.type == "bool" and not isinstance(value, bool))
        or (field.type == "list" and not isinstance(value, (list, tuple)))
        or (field.type == "dict" and not isinstance(value, Mapping))
    )
    if wrong:
        said = f"{field.name} is {field.stored_type}, and the update is {_kind(value)} ({_short(value)})"
        raise MergeError(said, field=field.name)
    return value


def _number(field: Field, value: Any, whose: str) -> int | Decimal:
    """Read a number as it is written: 0.1 is one tenth, not the binary fraction next to it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = repr(value) if isinstance(value, float) else value.strip() if isinstance(value, str) else ""
    if _WHOLE.fullmatch(text):
        return int(text)
    if not _DECIMAL.fullmatch(text):
        raise _no_number(field, whose, f"{_kind(value)} ({_short(value)}), no number")
    number = Decimal(text)
    if field.type == "float":
        return number
    if number != number.to_integral_value():
        raise _no_number(field, whose, f"{_short(value)}, and int64 takes whole numbers (float32 takes fractions)")
    return int(number)


def _no_number(field: Field, whose: str, what: str) -> MergeError:
    advice = '; clear it with {"clear": true} first' if whose == "the stored value" else ""
    return MergeError(f"{field.name}: {whose} is {what}{advice}", field=field.name)


def _bounded(field: Field, number: int | Decimal) -> int | float:
    """Return the number as it is stored, or refuse what the type cannot hold."""
    if field.type == "float":
        if abs(Decimal(number)) > Decimal(FLOAT32_MAX):
            raise MergeError(f"{field.name}: {Decimal(number):.6g} is beyond float32", field=field.name)
        return number if isinstance(number, int) else float(number)
    if number not in INT64:
        raise MergeError(f"{field.name}: {Decimal(number):.24g} is beyond int64 (-2^63 to 2^63-1)", field=field.name)
    return int(number)


def _stored(value: Any) -> str:
    return f'the stored value is {_kind(value)} ({_short(value)}); give text, or clear it with {{"clear": true}} first'


def _kind(value: Any) -> str:
    kinds = ((bool, "true or false"), (str, "text"), ((int, float), "a number"), (Mapping, "a mapping"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "a list or another value")


def _short(value: Any) -> str:
    text = printable(repr(value))
    return text if len(text) <= 60 else text[:57] + "..."
