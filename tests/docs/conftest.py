"""A place to try out what the docs say, with nothing of ovstore in the environment, and nothing left behind in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    before = dict(os.environ)
    for name in before:
        if name.startswith("OVSTORE_"):
            del os.environ[name]
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    os.environ.clear()
    os.environ.update(before)
