"""Printf and brace formatting under the budget: `"%5d" % n`, `|format`, and `"{:>8}".format(x)`.

A width or a precision of a thousand million is a short text that builds a long one; a field of a brace format can walk
attributes. Both are looked at before Python formats anything.
"""

from __future__ import annotations

import re
from _string import formatter_field_name_split  # type: ignore[import-not-found]
from collections.abc import Iterator, Mapping, Sequence
from string import Formatter
from typing import TYPE_CHECKING, Any, Final

from ovstore.errors import RenderError
from ovstore.rendering.budgets import over

if TYPE_CHECKING:
    from ovstore.rendering.runtime import Runtime

_SIZES: Final = re.compile(r"[#0\- +]*(\*|\d*)(?:\.(\*|\d*))?")
_NUMBER: Final = re.compile(r"\d+")


def percent(runtime: Runtime, template: str, values: Any) -> str:
    """Compute `template % values`."""
    arguments = list(values) if isinstance(values, tuple) else [values]
    runtime.measure(values)
    if runtime.strict and any(v is None for v in arguments):
        runtime.text(None)  # a path has no place for it
    lengths = [len(v) if type(v) is str else 32 for v in arguments]
    directives = list(_directives(template))
    if isinstance(values, dict):
        # One key can stand in the template many times.
        longest = max((len(v) if type(v) is str else 32 for v in values.values()), default=0)
        lengths = [longest] * len(directives)
    runtime.room(len(template) + sum(lengths))
    _hold_widths(runtime, [size for pair in directives for size in pair], arguments)
    return runtime.sized(template % values)


def _directives(template: str) -> Iterator[tuple[str, str]]:
    """Yield width and precision of each directive, read as Python reads it: a name may hold balanced brackets."""
    at = template.find("%")
    while at >= 0:
        at += 1
        if template.startswith("(", at):
            depth = 0
            while at < len(template):
                depth += (template[at] == "(") - (template[at] == ")")
                at += 1
                if not depth:
                    break
        sizes = _SIZES.match(template, at)
        assert sizes is not None, "the expression matches nothing too"
        yield sizes[1], sizes[2] or ""
        # The letter that ends a directive is no directive itself, which matters for %%.
        at = template.find("%", sizes.end() + 1)


def _hold_widths(runtime: Runtime, sizes: Sequence[str], arguments: Sequence[Any]) -> None:
    widths = [_number(runtime, size) for size in sizes if size not in ("", "*")]
    if "*" in sizes:
        # Which argument a star takes depends on the others: any whole number may be the width.
        widths += [abs(v) for v in arguments if isinstance(v, int)]
    runtime.room(sum(widths))


def _number(runtime: Runtime, digits: str) -> int:
    if len(digits) > 9:
        over(runtime.limits, "text", "a width or a precision is too large")
    return int(digits)


def brace(runtime: Runtime, template: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Compute `template.format(*args, **kwargs)`."""
    return runtime.sized(_Braces(runtime).vformat(template, args, kwargs))


class _Braces(Formatter):
    """Python's formatter with fields read as a template reads them."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.total = 0

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        first, rest = formatter_field_name_split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, name in rest:
            value = self.runtime.getattr(value, name) if is_attribute else self.runtime.getitem(value, name)
        return value, first

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion is None:
            return value
        self.runtime.measure(value)
        return super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        widths = [_number(self.runtime, digits) for digits in _NUMBER.findall(format_spec)]
        self.runtime.room(sum(widths))
        if isinstance(value, (str, int, float, complex)):
            text = format(value, format_spec)
        elif not format_spec:
            text = self.runtime.text(value)
        else:
            raise RenderError("only text and numbers take a format specification")
        self.total += len(text)
        self.runtime.room(self.total)
        return text
