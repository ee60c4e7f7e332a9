"""docs/context.md: its tables are those of the models, its examples run, its commands show what the page shows."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, get_args

import pages
import pytest
from pydantic import BaseModel, TypeAdapter

import ovstore
from ovstore import context
from ovstore.context.policy import SEED_ORDER
from ovstore.context.trace import Reason

PAGE = pages.read("docs/context.md")
ROWS = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \|$", re.M)
TABLES: dict[str, Any] = {
    "The request": context.AssembleRequest,
    "A message of the history": context.Message,
    "A memory": context.MemoryItem,
    "A summary": context.SessionSummary,
    "The profile": context.UserProfile,
    "A world book": context.Worldbook,
    "An entry of lore": context.WorldbookEntry,
    "The state of an entry": context.TimedState,
    "A tool": context.Tool,
    "The policy": context.Policy,
}


def section(heading: str) -> str:
    """The text below a heading, up to the next one."""
    (found,) = re.findall(rf"^#+ {heading}\n(.*?)(?=^#|\Z)", PAGE, re.M | re.S)
    return str(found)


def told(schema: dict[str, Any]) -> str:
    """A JSON schema in the words of the page."""
    kinds = [inner for inner in schema.get("anyOf", [schema]) if inner.get("type") != "null"]
    return " or ".join(map(_told, kinds)) + (" or null" if len(kinds) < len(schema.get("anyOf", kinds)) else "")


def _told(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return MODELS[schema["$ref"].rpartition("/")[2]]
    if "enum" in schema:
        if tuple(schema["enum"]) == SEED_ORDER:
            return "layers"
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {told(schema['items'])}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        inner = schema["additionalProperties"]
        return "object" if inner.get("$ref", "").endswith("/JsonValue") else f"object of {told(inner)}"
    return {"string": "time" if schema.get("format") == "date-time" else "text", **WORDS}[schema["type"]]


WORDS = {"boolean": "flag", "integer": "whole number", "number": "number", "object": "object"}
MODELS = {
    "Message": "messages",
    "MemoryItem": "memories",
    "SessionSummary": "summaries",
    "UserProfile": "profile",
    "Worldbook": "world books",
    "WorldbookEntry": "entries",
    "TimedState": "states",
    "Tool": "tools",
}


def expected(model: Any) -> dict[str, tuple[str, str]]:
    """Type and default of each key of a model."""
    made = isinstance(model, type) and issubclass(model, BaseModel)
    schema = model.model_json_schema() if made else TypeAdapter(model).json_schema()
    needed = schema.get("required", [])
    return {
        name: (told(part), "needed" if name in needed else f"`{json.dumps(part['default'])}`")
        for name, part in schema["properties"].items()
    }


@pytest.mark.parametrize("heading", TABLES)
def test_each_table_has_every_key_with_its_type_and_default(heading: str) -> None:
    shown = {name: (kind, default) for name, kind, default, _ in ROWS.findall(section(heading))}
    assert shown == expected(TABLES[heading])


@pytest.mark.parametrize("name", [name for name in context.__all__ if dataclasses.is_dataclass(getattr(context, name))])
def test_every_dataclass_of_the_package_is_told_with_its_fields(name: str) -> None:
    fields = ", ".join(field.name for field in dataclasses.fields(getattr(context, name)))
    assert f"| `{name}` | {fields} |" in PAGE or f"`{name}({fields})`" in PAGE


def test_every_name_of_the_package_is_on_the_page() -> None:
    told = {model.__name__ for model in TABLES.values()}
    assert {name for name in context.__all__ if name not in told and not re.search(rf"\b{name}\b", PAGE)} == set()


def test_every_reason_to_leave_something_out_is_told() -> None:
    told_of = re.findall(r"^\| `(\w+)` \|", section("What is left out, and why"), re.M)
    assert told_of == list(get_args(Reason))


def test_the_examples_of_the_page_run_one_after_the_other(folder: Path) -> None:
    (folder / "book.json").write_text(json.dumps({"entries": {"0": {"key": ["fog"], "content": "The bell is rung."}}}))
    with ovstore.open("sqlite://", create=True) as store:
        names: dict[str, Any] = {"store": store}
        for block in pages.blocks(PAGE, "python"):
            exec(compile(block, "docs/context.md", "exec"), names)


def test_every_command_of_the_page_does_what_the_page_shows(folder: Path) -> None:
    pages.play(PAGE)
