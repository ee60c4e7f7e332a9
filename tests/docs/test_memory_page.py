"""docs/memory.md does what it says: its commands, its programs, and its table of merges."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pages
import pytest

from ovstore import memory
from ovstore.memory import MemoryType
from ovstore.rendering.texts import EXTRACT_CONTEXT_FUNCTIONS, LINK_FUNCTIONS

PAGE = pages.read("docs/memory.md")


def test_every_command_and_program_does_what_the_page_shows(folder: Path) -> None:
    pages.play(PAGE)
    pages.run_programs(PAGE)


def test_the_page_tells_every_method_of_a_memory_type() -> None:
    told = set(re.findall(r"^\| `(\w+)\(", PAGE, re.M)) | {"record"}
    methods = {name for name in vars(MemoryType) if not name.startswith("_") and callable(getattr(MemoryType, name))}
    assert methods <= told


@pytest.mark.parametrize("name", memory.__all__)
def test_the_page_tells_every_name_of_the_package_and_the_fields_of_its_answers(name: str) -> None:
    known = getattr(memory, name)
    fields = [field.name for field in dataclasses.fields(known)] if dataclasses.is_dataclass(known) else []
    assert f"`{name}({', '.join(fields)})`" in PAGE if fields else re.search(rf"\b{name}\b", PAGE)


def test_the_page_tells_every_function_that_templates_can_call() -> None:
    assert {name for name in EXTRACT_CONTEXT_FUNCTIONS | LINK_FUNCTIONS if f"`{name}(" not in PAGE} == set()
