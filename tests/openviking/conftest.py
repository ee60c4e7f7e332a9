"""A machine without an OpenViking of its own, and the synthetic directory of templates that these tests are about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic import copied

from ovstore.openviking import PromptManager


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set, and the home of this user is empty."""
    for name in ("OPENVIKING_PROMPT_TEMPLATES_DIR", "OPENVIKING_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OVSTORE_DB", "OVSTORE_TENANT", "OVSTORE_ACTOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The synthetic directory for those who only read it."""
    return copied(tmp_path_factory.mktemp("shared") / "templates")


@pytest.fixture(scope="session")
def manager(shared: Path) -> Iterator[PromptManager]:
    """A manager with a private store over the synthetic directory, for those who only read."""
    made = PromptManager(shared)
    yield made
    made.close()
