"""Filters: the allow-list, each with its guard. What is missing from Jinja2's own is in FORBIDDEN_FILTERS.

Every filter takes the template context first. Where Jinja2 marks its result as safe HTML, ovstore gives plain text:
a prompt has no HTML sink.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from jinja2 import filters as stock
from jinja2.runtime import Undefined
from jinja2.utils import pass_context
from markupsafe import Markup, escape

from ovstore.errors import RenderError
from ovstore.rendering import methods
from ovstore.rendering.budgets import EACH, MAX_BITS, over
from ovstore.rendering.environment import GRAMMAR
from ovstore.rendering.formatting import percent
from ovstore.rendering.runtime import Runtime

Filter = Callable[..., Any]

_MAX_ATTRIBUTE: Final = 64
_MAX_PRECISION: Final = 400
_LONG_WORD: Final = 4_096
_EACH_ITEM: Final = 96

FORBIDDEN_FILTERS: Final[Mapping[str, str]] = {
    "attr": "it reads attributes by a made-up name; write value.name or value['name']",
    "pprint": "its time has no bound; use tojson(indent=2)",
    "random": "the same input must give the same text",
    "urlize": "a prompt is no HTML page",
    "xmlattr": "a prompt is no HTML page; write the attributes out, with |e on their values",
}


def _runtime(context: Any) -> Runtime:
    return context.environment  # type: ignore[no-any-return]


# Text


def _rewritten(name: str) -> Filter:
    method = getattr(str, name)

    def rewrite(context: Any, value: Any) -> str:
        runtime = context.environment
        text = method(value if type(value) is str else runtime.text(value))
        # Runtime.sized, written out: these run for every record of every list.
        runtime.built -= len(text) + EACH
        if runtime.built < 0 or len(text) > 1_000:
            runtime.room(len(text))
        return text  # type: ignore[no-any-return]

    return rewrite


def _title(context: Any, value: Any) -> str:
    runtime = _runtime(context)
    text = runtime.text(value)
    runtime.spend(24 * len(text))
    return runtime.sized(stock.do_title(text))


def _trim(context: Any, value: Any, chars: str | None = None) -> str:
    runtime = _runtime(context)
    return methods.strip(runtime, str.strip, runtime.text(value), chars)


def _center(context: Any, value: Any, width: int = 80) -> str:
    runtime = _runtime(context)
    runtime.room(width)
    return runtime.sized(runtime.text(value).center(width))


def _string(context: Any, value: Any) -> str:
    return _runtime(context).text(value)


def _escape(context: Any, value: Any) -> str:
    runtime = _runtime(context)
    text = runtime.text(value)
    runtime.room(len(text) + 4 * sum(map(text.count, "&<>'\"")))
    return runtime.sized(str(escape(text)))


def _format(context: Any, value: Any, *args: Any, **kwargs: Any) -> str:
    runtime = _runtime(context)
    if args and kwargs:
        raise RenderError("format takes values by position or by name, not both")
    return percent(runtime, runtime.text(value), kwargs or args)


def _indent(context: Any, value: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    runtime = _runtime(context)
    if type(value) is not str:
        raise RenderError("indent takes text; add |string")
    size = len(width) if isinstance(width, str) else max(width, 0)
    runtime.spend(len(value))
    runtime.room(len(value) + (len(value.splitlines()) + 1) * size)
    return runtime.sized(stock.do_indent(value, width, first, blank))


def _replace(context: Any, value: Any, old: Any, new: Any, count: int | None = None) -> str:
    runtime = _runtime(context)
    texts = (runtime.text(value), runtime.text(old), runtime.text(new))
    return methods.replace(runtime, *texts, -1 if count is None else count)


def _striptags(context: Any, value: Any) -> str:
    runtime = _runtime(context)
    text = runtime.text(value)
    # Each comment and tag that is taken out copies the rest.
    runtime.spend(len(text) + (text.count("<") * len(text) >> 8))
    return runtime.sized(str(Markup(text).striptags()))


def _truncate(
    context: Any, value: Any, length: int = 255, killwords: bool = False, end: str = "...", leeway: int | None = None
) -> Any:
    runtime = _runtime(context)
    if not isinstance(value, (str, Undefined)) and _length(context, value) > length + (5 if leeway is None else leeway):
        raise RenderError("truncate takes text; add |string")
    if length < len(end) or (leeway or 0) < 0:
        raise RenderError("truncate needs a length that its end fits into, and no leeway below 0")
    cut = stock.do_truncate(runtime, value, length, killwords, end, leeway)  # type: ignore[arg-type]
    return runtime.sized(cut) if type(cut) is str else cut


def _urlencode(context: Any, value: Any) -> str:
    runtime = _runtime(context)
    if isinstance(value, str):
        runtime.spend(8 * len(value))
    else:
        runtime.measure(value)
    return runtime.sized(stock.do_urlencode(value))


def _wordcount(context: Any, value: Any) -> int:
    runtime = _runtime(context)
    text = runtime.text(value)
    runtime.spend(6 * len(text))
    return stock.do_wordcount(text)


def _wordwrap(
    context: Any,
    value: Any,
    width: int = 79,
    break_long_words: bool = True,
    wrapstring: str | None = None,
    break_on_hyphens: bool = True,
) -> str:
    runtime = _runtime(context)
    if not isinstance(value, str):
        raise RenderError("wordwrap takes text; add |string")
    if width < 1:
        raise RenderError("wordwrap needs a width above 0")
    runtime.spend(16 * len(value))
    words = value.split()
    if max(map(len, words), default=0) > _LONG_WORD:
        # Python cuts a long word piece by piece and copies the rest each time.
        runtime.spend(sum(len(word) ** 2 // width + len(word) ** 2 >> 8 for word in words if len(word) > _LONG_WORD))
    joint = "\n" if wrapstring is None else wrapstring
    runtime.room(len(value) + (len(value) // width + len(words) + 1) * len(joint))
    return runtime.sized(
        stock.do_wordwrap(runtime, value, width, break_long_words, joint, break_on_hyphens)  # type: ignore[arg-type]
    )


def _tojson(context: Any, value: Any, indent: int | str | None = None) -> str:
    """Serialize as Jinja2 does, < > & ' escaped and keys sorted, but leave letters beyond ASCII as they are."""
    runtime = _runtime(context)
    total, depth = runtime.measure(value)
    size = len(indent) if isinstance(indent, str) else indent or 0
    if indent is not None:
        runtime.spend(total)
        runtime.room((total >> 4) * max(size, 0) * depth)
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, indent=indent)
    for char in "<>&'":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return runtime.sized(text)


def _join(context: Any, value: Any, d: Any = "", attribute: str | int | None = None) -> str:
    runtime = _runtime(context)
    items = runtime.listed(value)
    if attribute is not None:
        get = stock.make_attrgetter(runtime, _path(runtime, attribute))  # type: ignore[arg-type]
        items = [get(item) for item in items]
    return methods.join(runtime, runtime.text(d), [s if type(s) is str else runtime.text(s) for s in items])


# Numbers


def _number(context: Any, value: Any, default: Any = 0, base: int = 10) -> Any:
    number = stock.do_int(value, default, base)
    if isinstance(number, int) and number.bit_length() > MAX_BITS:
        _runtime(context).too_long_a_number()
    return number


def _float(context: Any, value: Any, default: Any = 0.0) -> Any:
    return stock.do_float(value, default)


def _abs(context: Any, value: Any) -> Any:
    return abs(value)


def _round(context: Any, value: Any, precision: int = 0, method: Any = "common") -> Any:
    if isinstance(precision, int) and abs(precision) > _MAX_PRECISION:
        raise RenderError(f"round takes a precision of {_MAX_PRECISION} at most")
    return stock.do_round(value, precision, method)


def _filesizeformat(context: Any, value: Any, binary: bool = False) -> str:
    return stock.do_filesizeformat(value, binary)


def _sum(context: Any, value: Any, attribute: str | int | None = None, start: Any = 0) -> Any:
    runtime = _runtime(context)
    items = runtime.listed(value)
    if attribute is not None:
        get = stock.make_attrgetter(runtime, _path(runtime, attribute))  # type: ignore[arg-type]
        items = [get(item) for item in items]
    if isinstance(start, str):
        raise RenderError("sum adds numbers; join text with |join")
    if all(type(item) in (int, float) for item in items) and type(start) in (int, float):
        return sum(items, start)
    total = start
    for item in items:
        total = runtime.added(total, item)
    return total


# Sequences and mappings


def _default(context: Any, value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    if isinstance(value, Undefined) or (boolean and not value):
        return default_value
    return value


def _length(context: Any, value: Any) -> int:
    if not isinstance(value, Undefined) and not hasattr(type(value), "__len__"):
        raise RenderError("length takes text, a list or a mapping; add |list after map or select")
    return len(value)


def _list(context: Any, value: Any) -> list[Any]:
    return _runtime(context).listed(value)


def _first(context: Any, value: Any) -> Any:
    runtime = _runtime(context)
    return stock.sync_do_first(runtime, runtime.iterable(value))  # type: ignore[arg-type]


def _last(context: Any, value: Any) -> Any:
    runtime = _runtime(context)
    return stock.do_last(runtime, runtime.iterable(value))  # type: ignore[arg-type]


def _items(context: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    if not isinstance(value, (dict, Undefined)):
        raise RenderError("items takes a mapping")
    return iter(() if isinstance(value, Undefined) else value.items())


def _dictsort(context: Any, value: Any, case_sensitive: bool = False, by: Any = "key", reverse: bool = False) -> Any:
    if not isinstance(value, dict):
        raise RenderError("dictsort takes a mapping")
    _sortable(_runtime(context), value)
    return stock.do_dictsort(value, case_sensitive, by, reverse)


def _reverse(context: Any, value: Any) -> Any:
    runtime = _runtime(context)
    if isinstance(value, str):
        return runtime.sized(value[::-1])
    runtime.iterable(value)
    if isinstance(value, (list, tuple, range, dict)):
        return reversed(value)
    return stock.do_reverse(value if isinstance(value, Undefined) else runtime.listed(value))


def _batch(context: Any, value: Any, linecount: int, fill_with: Any = None) -> Iterator[list[Any]]:
    runtime = _runtime(context)
    if fill_with is not None:
        runtime.places(max(linecount, 0))
    return stock.do_batch(runtime.listed(value), linecount, fill_with)


def _slice(context: Any, value: Any, slices: int, fill_with: Any = None) -> Iterator[list[Any]]:
    runtime = _runtime(context)
    runtime.places(max(slices, 0))
    return stock.sync_do_slice(runtime.listed(value), slices, fill_with)


def _sort(
    context: Any, value: Any, reverse: bool = False, case_sensitive: bool = False, attribute: str | int | None = None
) -> list[Any]:
    runtime = _runtime(context)
    items = runtime.listed(value)
    _sortable(runtime, items)
    return stock.do_sort(runtime, items, reverse, case_sensitive, _path(runtime, attribute))  # type: ignore[arg-type]


def _unique(context: Any, value: Any, case_sensitive: bool = False, attribute: str | int | None = None) -> Any:
    runtime = _runtime(context)
    items = runtime.listed(value)
    _sortable(runtime, items)
    path = _path(runtime, attribute)
    return stock.sync_do_unique(runtime, items, case_sensitive, path)  # type: ignore[arg-type]


def _extreme(pick: Filter) -> Filter:
    def extreme(context: Any, value: Any, case_sensitive: bool = False, attribute: Any = None) -> Any:
        runtime = _runtime(context)
        items = runtime.listed(value)
        _sortable(runtime, items)
        return pick(runtime, items, case_sensitive, _path(runtime, attribute))

    return extreme


def _groupby(context: Any, value: Any, attribute: Any, default: Any = None, case_sensitive: bool = False) -> Any:
    runtime = _runtime(context)
    items = runtime.listed(value)
    _sortable(runtime, items)
    path = _path(runtime, attribute)
    return stock.sync_do_groupby(runtime, items, path, default, case_sensitive)  # type: ignore[arg-type]


def _selecting(name: str) -> Filter:
    """map, select and their kin are lazy: each item is paid for when it is asked for."""
    stock_filter = getattr(stock, f"sync_do_{name}")
    first_is_attribute = name.endswith("attr")

    def selecting(context: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        runtime = _runtime(context)
        if first_is_attribute and args:
            _path(runtime, args[0])
        if "attribute" in kwargs:
            _path(runtime, kwargs["attribute"])
        runtime.iterable(value)
        return stock_filter(context, _paid(runtime, value) if value else (), *args, **kwargs)

    return selecting


def _paid(runtime: Runtime, value: Any) -> Iterator[Any]:
    for item in value:
        runtime.spend(_EACH_ITEM)
        yield item


def _sortable(runtime: Runtime, values: Any) -> None:
    """Pay for items that are compared or hashed; each of them may hold others, or one other many times."""
    runtime.spend(_EACH_ITEM * len(values))
    for value in values.values() if isinstance(values, dict) else values:
        runtime.walked(value)


def _path(runtime: Runtime, attribute: Any) -> Any:
    if isinstance(attribute, str) and attribute.count(".") + attribute.count(",") > _MAX_ATTRIBUTE:
        over(runtime.limits, "nesting", "an attribute path is too long")
    return attribute


_ALLOWED: Final[Mapping[str, Filter]] = {
    "abs": _abs,
    "batch": _batch,
    "center": _center,
    "count": _length,
    "d": _default,
    "default": _default,
    "dictsort": _dictsort,
    "e": _escape,
    "escape": _escape,
    "filesizeformat": _filesizeformat,
    "first": _first,
    "float": _float,
    "forceescape": _escape,
    "format": _format,
    "groupby": _groupby,
    "indent": _indent,
    "int": _number,
    "items": _items,
    "join": _join,
    "last": _last,
    "length": _length,
    "list": _list,
    "max": _extreme(stock.do_max),
    "min": _extreme(stock.do_min),
    "replace": _replace,
    "reverse": _reverse,
    "round": _round,
    "safe": _string,
    "slice": _slice,
    "sort": _sort,
    "string": _string,
    "striptags": _striptags,
    "sum": _sum,
    "title": _title,
    "tojson": _tojson,
    "trim": _trim,
    "truncate": _truncate,
    "unique": _unique,
    "urlencode": _urlencode,
    "wordcount": _wordcount,
    "wordwrap": _wordwrap,
    **{name: _rewritten(name) for name in ("capitalize", "lower", "upper")},
    **{name: _selecting(name) for name in ("map", "select", "reject", "selectattr", "rejectattr")},
}
FILTERS: Final[Mapping[str, Filter]] = {name: pass_context(function) for name, function in _ALLOWED.items()}

GRAMMAR.filters.update(FILTERS)
