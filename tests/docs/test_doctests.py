"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pages
import pytest

import ovstore

PACKAGE = Path(ovstore.__file__).parent
WITH_EXAMPLES = [
    ".".join(("ovstore", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


def test_the_public_modules_have_examples() -> None:
    assert {"ovstore.store", "ovstore.gathering", "ovstore.rendering.programs"} <= set(WITH_EXAMPLES)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_every_example_of_a_module_runs_as_it_is_shown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pages.ROOT)
    found = doctest.testmod(importlib.import_module(name), report=True)
    assert found.attempted > 0
    assert found.failed == 0
