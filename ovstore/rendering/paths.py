"""The runtime of paths: what has no value is an error wherever it is used, and names what it is.

A path with a hole in it names another file, so an absent or none value is refused by filters, methods, subscripts and
comparisons too. It can be tested, and only `default` takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jinja2.runtime import Undefined
from jinja2.utils import pass_context

from ovstore.rendering.filters import FILTERS, Filter
from ovstore.rendering.runtime import Runtime

_DEFAULT = ("d", "default")


def _needing(function: Filter) -> Filter:
    return lambda context, value, *args, **kwargs: function(context, context.environment.needed(value), *args, **kwargs)


class PathRuntime(Runtime):
    """A `Runtime` in which values are needed."""

    __slots__ = ()
    strict = True
    filters: ClassVar[Mapping[str, Any]] = {
        name: function if name in _DEFAULT else pass_context(_needing(function)) for name, function in FILTERS.items()
    }

    def getitem(self, obj: Any, key: Any) -> Any:
        for bound in (key.start, key.stop, key.step) if type(key) is slice else (key,):
            self._filled(bound)
        return super().getitem(obj, key)

    def method(self, obj: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        # What an author defined, such as a macro, says itself what its arguments have to be.
        if name in self.methods.get(type(obj), ()):
            for value in (*args, *kwargs.values()):
                for item in value if isinstance(value, (list, tuple)) else (value,):
                    self._filled(item)
        return super().method(obj, name, *args, **kwargs)

    def _filled(self, value: Any) -> None:
        if isinstance(value, Undefined):
            self.needed(value)
