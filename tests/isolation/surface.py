"""The public methods of the store and of its views, found by looking, and arguments that each of them can be given.

A method that is new, or that wants something new, has no arguments here and fails the tests until it has.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from samples import prompt

from ovstore import Store
from ovstore.view import View

KEY = "semantic.note"


def methods(kind: type[Store] | type[View]) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(member)
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def taking(kind: type[Store] | type[View], parameter: str) -> list[str]:
    """The methods with a parameter of that name."""
    return [name for name, signature in methods(kind).items() if parameter in signature.parameters]


def arguments(store: Store, folder: Path) -> Mapping[str, Any]:
    """Something valid for every parameter that has no default, in a store that has a prompt at KEY."""
    return {
        "source": prompt(template="another {{ q }}"),
        "key": KEY,
        "version": 1,
        "before": 1,
        "after": 1,
        "actor": "ann",
        "reason": "r",
        "to": store.resolve(KEY).revision,
        "path": folder,
        "plan": store.plan_import(folder),
        "request": {"input": {"text": "hello"}},
        "name": "acme",
        "tenant": None,
    }


def needed(signature: inspect.Signature, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a call must have; KeyError for a parameter that nobody thought of."""
    required = [p.name for p in signature.parameters.values() if p.default is p.empty and p.name != "self"]
    return {name: given[name] for name in required}


def call(target: Store | View, name: str, given: Mapping[str, Any]) -> Any:
    """Call a method; an iterator is read to its end."""
    answer = getattr(target, name)(**given)
    return list(answer) if isinstance(answer, Iterator) else answer
