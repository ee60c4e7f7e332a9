"""Tests: what can stand behind `is` and in `select`. What is missing from Jinja2's own is in FORBIDDEN_TESTS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2 import tests as stock_tests
from jinja2.runtime import BlockReference, LoopContext, Macro, Undefined
from jinja2.utils import Joiner, pass_context

from ovstore.rendering.environment import GRAMMAR
from ovstore.rendering.filters import FILTERS
from ovstore.rendering.objects import Function

Test = Callable[..., Any]

_STOCK_TESTS: Final[Mapping[str, Any]] = stock_tests.TESTS


def _plain_test(name: str) -> Test:
    test: Test = _STOCK_TESTS[name]
    return lambda context, value, *args: test(value, *args)


def _comparing(name: str) -> Test:
    test: Test = _STOCK_TESTS[name]

    def compare(context: Any, value: Any, other: Any) -> bool:
        runtime = context.environment
        return test(runtime.walked(value), runtime.walked(other))  # type: ignore[no-any-return]

    return compare


def _in(context: Any, value: Any, seq: Any) -> bool:
    runtime = context.environment
    return runtime.sought(value) in runtime.walked(seq)


def _cased(name: str) -> Test:
    method = getattr(str, f"is{name}")
    return lambda context, value: method(context.environment.text(value))


_PLAIN_TESTS: Final = (
    *("boolean", "defined", "divisibleby", "even", "false", "float", "integer", "iterable", "mapping", "none"),
    *("number", "odd", "sameas", "sequence", "string", "true", "undefined"),
)
_COMPARING_TESTS: Final = (
    *("==", "!=", "<", "<=", ">", ">=", "eq", "equalto", "ne", "lt", "lessthan", "le", "gt", "greaterthan", "ge"),
)
_CALLABLE: Final = (
    Function,
    Macro,
    BlockReference,
    LoopContext,
    Joiner,
    Undefined,
)  # of a missing value Jinja2 says so
FORBIDDEN_TESTS: Final[Mapping[str, str]] = {"escaped": "text is never marked as safe HTML"}

TESTS: Final[Mapping[str, Test]] = {
    **{name: pass_context(_plain_test(name)) for name in _PLAIN_TESTS},
    **{name: pass_context(_comparing(name)) for name in _COMPARING_TESTS},
    **{name: pass_context(_cased(name)) for name in ("lower", "upper")},
    "callable": pass_context(lambda context, value: isinstance(value, _CALLABLE)),
    "in": pass_context(_in),
    "filter": pass_context(lambda context, value: value in FILTERS),
    "test": pass_context(lambda context, value: value in TESTS),
}

GRAMMAR.tests.update(TESTS)
