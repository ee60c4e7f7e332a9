"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pages
import pytest

import ovstore


def modules() -> list[str]:
    names = [found.name for found in pkgutil.walk_packages(ovstore.__path__, "ovstore.")]
    return ["ovstore", *(name for name in names if not name.startswith("ovstore.migrations"))]


WITH_EXAMPLES = [
    name
    for name in modules()
    if ">>> " in Path(importlib.import_module(name).__file__ or "").read_text(encoding="utf-8")
]


def test_the_public_modules_have_examples() -> None:
    assert {"ovstore.store", "ovstore.gathering", "ovstore.rendering.programs"} <= set(WITH_EXAMPLES)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_every_example_of_a_module_runs_as_it_is_shown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pages.ROOT)
    found = doctest.testmod(importlib.import_module(name), report=True)
    assert found.attempted > 0
    assert found.failed == 0
