"""Methods of text, lists and mappings, and the globals, that a template can call: the allow-list with its guards.

Nothing here changes a value, gives a bytes object, or reads an attribute by a name that the template makes up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2.runtime import LoopContext
from jinja2.utils import Cycler, Joiner, Namespace

from ovstore.errors import RenderError
from ovstore.rendering.budgets import over
from ovstore.rendering.formatting import brace
from ovstore.rendering.objects import Function
from ovstore.rendering.runtime import Runtime

Method = Callable[..., Any]

_PREDICATES: Final = (
    *("endswith", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric"),
    *("isprintable", "isspace", "istitle", "isupper", "startswith"),
)
_SEARCHES: Final = ("count", "find", "index", "rfind", "rindex")
_REWRITES: Final = ("capitalize", "casefold", "lower", "removeprefix", "removesuffix", "swapcase", "title", "upper")


def _predicate(name: str) -> Method:
    method = getattr(str, name)
    return lambda runtime, text, *args: method(text, *args)


def _search(name: str) -> Method:
    method = getattr(str, name)

    def search(runtime: Runtime, text: str, *args: Any) -> int:
        runtime.searched(text)
        return method(text, *args)  # type: ignore[no-any-return]

    return search


def _rewrite(name: str) -> Method:
    method = getattr(str, name)
    return lambda runtime, text, *args: runtime.sized(method(text, *args))


def _padded(name: str) -> Method:
    method = getattr(str, name)

    def pad(runtime: Runtime, text: str, width: int, *fill: str) -> str:
        runtime.room(width)
        return runtime.sized(method(text, width, *fill))

    return pad


def _stripped(name: str) -> Method:
    method = getattr(str, name)
    return lambda runtime, text, chars=None: strip(runtime, method, text, chars)


def strip(runtime: Runtime, method: Callable[[str, Any], str], text: str, chars: Any) -> str:
    """Strip; each character at an end is looked for in all of `chars`."""
    if isinstance(chars, str) and len(chars) > 64:
        runtime.spend(len(text) * len(chars) >> 6)
    return runtime.sized(method(text, chars))


def _split(name: str) -> Method:
    method = getattr(str, name)

    def split(runtime: Runtime, text: str, sep: str | None = None, maxsplit: int = -1) -> list[str]:
        most = runtime.limits.items
        parts = method(text, sep, most if maxsplit < 0 else min(maxsplit, most))
        return _listed(runtime, parts, len(text))

    return split


def _lines(runtime: Runtime, text: str, keepends: bool = False) -> list[str]:
    runtime.spend(len(text))
    return _listed(runtime, text.splitlines(keepends), len(text))


def _partition(name: str) -> Method:
    method = getattr(str, name)

    def partition(runtime: Runtime, text: str, sep: str) -> tuple[str, ...]:
        runtime.spend(len(text))
        return method(text, sep)  # type: ignore[no-any-return]

    return partition


def _listed(runtime: Runtime, parts: list[str], characters: int) -> list[str]:
    runtime.places(len(parts))
    runtime.spend(characters)
    return parts


def _tabs(runtime: Runtime, text: str, tabsize: int = 8) -> str:
    runtime.room(len(text) + text.count("\t") * max(tabsize, 0))
    return runtime.sized(text.expandtabs(tabsize))


def join(runtime: Runtime, separator: str, items: Any) -> str:
    """Join strings, as str.join does: anything else among them is an error."""
    listed = runtime.listed(items)
    runtime.room(sum(len(s) for s in listed if isinstance(s, str)) + len(separator) * len(listed))
    return runtime.sized(separator.join(listed))


def replace(runtime: Runtime, text: str, old: str, new: str, count: int = -1) -> str:
    """Replace text; the size of the result is known before it is made."""
    runtime.searched(text)
    found = text.count(old)
    if count >= 0:
        found = min(found, count)
    runtime.room(len(text) + max(found * (len(new) - len(old)), 0))
    return runtime.sized(text.replace(old, new, count))


def _find_in_list(name: str) -> Method:
    def find(runtime: Runtime, items: Any, value: Any, *args: Any) -> Any:
        runtime.walked(items)
        return getattr(items, name)(runtime.walked(value), *args)

    return find


def _get(runtime: Runtime, mapping: dict[Any, Any], key: Any, default: Any = None) -> Any:
    return mapping.get(runtime.walked(key), default)


def _copy(runtime: Runtime, value: Any) -> Any:
    runtime.places(len(value))
    return value.copy()


def _no_arguments(name: str) -> Method:
    return lambda runtime, value: getattr(value, name)()


def _cycle(runtime: Runtime, loop: LoopContext, *args: Any) -> Any:
    return loop.cycle(*args)


def _changed(runtime: Runtime, loop: LoopContext, *args: Any) -> bool:
    return loop.changed(*runtime.walked(args))


METHODS: Final[Mapping[type, Mapping[str, Method]]] = {
    str: {
        **{name: _predicate(name) for name in _PREDICATES},
        **{name: _search(name) for name in _SEARCHES},
        **{name: _rewrite(name) for name in _REWRITES},
        **{name: _padded(name) for name in ("center", "ljust", "rjust", "zfill")},
        **{name: _stripped(name) for name in ("strip", "lstrip", "rstrip")},
        **{name: _split(name) for name in ("split", "rsplit")},
        **{name: _partition(name) for name in ("partition", "rpartition")},
        "splitlines": _lines,
        "expandtabs": _tabs,
        "join": join,
        "replace": replace,
        "format": lambda runtime, text, *args, **kwargs: brace(runtime, text, args, kwargs),
    },
    list: {"count": _find_in_list("count"), "index": _find_in_list("index"), "copy": _copy},
    tuple: {"count": _find_in_list("count"), "index": _find_in_list("index")},
    dict: {
        "get": _get,
        "copy": _copy,
        **{name: _no_arguments(name) for name in ("items", "keys", "values")},
    },
    LoopContext: {"cycle": _cycle, "changed": _changed},
    Cycler: {name: _no_arguments(name) for name in ("next", "reset")},
}


def _range(runtime: Runtime, *args: Any) -> range:
    numbers = range(*map(runtime.needed, args))
    try:
        count = len(numbers)
    except OverflowError:
        over(runtime.limits, "items", "a range is too long")
    if count > runtime.limits.items:
        over(runtime.limits, "items", "a range is too long")
    return numbers


def _dict(runtime: Runtime, *args: Any, **kwargs: Any) -> dict[Any, Any]:
    if args:
        runtime.measure(args)
    made = dict(*args, **kwargs)
    runtime.places(len(made))
    return made


def _namespace(runtime: Runtime, *args: Any, **kwargs: Any) -> Namespace:
    if any(not isinstance(arg, (dict, list, tuple)) for arg in args):
        raise RenderError("namespace takes names with values, or a mapping")
    runtime.places(len(kwargs) + sum(len(arg) for arg in args))
    return Namespace(*args, **kwargs)


def _cycler(runtime: Runtime, *items: Any) -> Cycler:
    if not items:
        raise RenderError("cycler needs at least one item")
    return Cycler(*items)


def _joiner(runtime: Runtime, sep: Any = ", ") -> Joiner:
    return Joiner(sep)


GLOBALS: Final[Mapping[str, Function]] = {
    name: Function(name, call)
    for name, call in (
        ("range", _range),
        ("dict", _dict),
        ("namespace", _namespace),
        ("cycler", _cycler),
        ("joiner", _joiner),
    )
}
FORBIDDEN_GLOBALS: Final[Mapping[str, str]] = {"lipsum": "its text is random, so that no two renders would be equal"}

Runtime.methods.update(METHODS)
Runtime.refused.update(
    {
        kind: frozenset(name for name in dir(kind) if not name.startswith("_") and name not in METHODS.get(kind, ()))
        for kind in (str, list, tuple, dict, int, float, bool, complex, range)
    }
)
FORBIDDEN_METHODS: Final = frozenset().union(*Runtime.refused.values()) - frozenset().union(*METHODS.values())
