"""Modules that are loaded when something in them is asked for, so that a command waits only for what it uses."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """Stands for a module of ovstore until then."""

    def __init__(self, name: str) -> None:
        self._name = f"ovstore.{name}"

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
