"""A place to run commands in, and a store for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import Cli, run

OURS = ("OVSTORE_DB", "OVSTORE_FORMAT", "OVSTORE_ACTOR", "OVSTORE_TRACEBACK")
TERMINAL = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "EDITOR", "VISUAL")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, without anything of ovstore in the environment."""
    for name in (*OURS, *TERMINAL):
        monkeypatch.delenv(name, raising=False)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def cli(folder: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line on a store without seeds, as ann."""
    monkeypatch.setenv("OVSTORE_DB", sqlite_url)
    monkeypatch.setenv("OVSTORE_ACTOR", "ann")
    return run
