"""A machine without an OpenViking of its own, and the synthetic directory of templates that these tests are about."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ovstore.openviking import PromptManager

TEMPLATES = Path(__file__).parent / "templates"

# Carriage returns and a byte order mark, which a checkout might mend.
WINDOWS = (
    "\ufeffmetadata: {id: skill.windows, name: Windows, description: Line ends, version: '1', language: en,"
    " category: skill}\r\nvariables:\r\n- {name: text, type: string, description: A text}\r\n"
    "template: |\r\n  First {{ text }}\r\n\r\n  last\r\n"
)


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set, and the home of this user is empty."""
    for name in ("OPENVIKING_PROMPT_TEMPLATES_DIR", "OPENVIKING_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OVSTORE_DB", "OVSTORE_TENANT", "OVSTORE_ACTOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    """A copy of the synthetic directory, to be changed."""
    return copied(tmp_path / "templates")


def copied(folder: Path) -> Path:
    shutil.copytree(TEMPLATES, folder)
    (folder / "skill").mkdir()
    (folder / "skill" / "windows.yaml").write_bytes(WINDOWS.encode())
    return folder


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
