"""docs/openviking.md does what it says: its commands, its programs, and the names that it tells."""

from __future__ import annotations

import inspect
from pathlib import Path

import pages
import pytest

from ovstore import openviking

PAGE = pages.read("docs/openviking.md")


@pytest.fixture
def bare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without an OpenViking of their own."""
    monkeypatch.setenv("HOME", str(folder))
    for name in ("OPENVIKING_PROMPT_TEMPLATES_DIR", "OPENVIKING_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.mark.usefixtures("bare")
def test_every_command_and_program_does_what_the_page_shows() -> None:
    pages.play(PAGE)
    pages.run_programs(PAGE)


def test_the_page_tells_every_name_of_the_package() -> None:
    assert {name for name in openviking.__all__ if f"`{name}" not in PAGE} == set()


@pytest.mark.parametrize("kind", [openviking.PromptManager, openviking.MemoryTypeRegistry])
def test_the_page_tells_every_method_with_its_arguments(kind: type) -> None:
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            arguments = [p.replace(annotation=p.empty) for p in inspect.signature(method).parameters.values()][1:]
            assert f"`.{name}({', '.join(map(str, arguments))})`" in PAGE
