"""docs/rendering.md says what the code does: the lists, the limits and the functions are compared with it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from ovstore.rendering import RenderLimits
from ovstore.rendering.filters import FILTERS, FORBIDDEN_FILTERS
from ovstore.rendering.methods import FORBIDDEN_GLOBALS, GLOBALS, METHODS
from ovstore.rendering.tests import FORBIDDEN_TESTS, TESTS
from ovstore.rendering.texts import EXTRACT_CONTEXT_FUNCTIONS, LINK_FUNCTIONS, texts

DOCS = (Path(__file__).parents[2] / "docs" / "rendering.md").read_text(encoding="utf-8")


def listed(start: str, end: str = "\n\n") -> set[str]:
    text = DOCS[DOCS.index(start) + len(start) :]
    return set(re.findall(r"`([^`]+)`", text[: text.index(end)]))


@pytest.mark.parametrize(
    ("start", "end", "known"),
    [
        ("Filters:", "\n\n", FILTERS),
        ("Tests:", "\n\n", TESTS),
        ("Globals:", "\n\n", GLOBALS),
        ("Methods of text:", "\n\n", METHODS[str]),
        ("Methods of lists:", ". Of", METHODS[list]),
        ("Of tuples:", ". Of", METHODS[tuple]),
        ("Of mappings:", "\n\n", METHODS[dict]),
        ("may call `extract_context.` with", ". Arguments", EXTRACT_CONTEXT_FUNCTIONS),
    ],
)
def test_a_list_is_that_of_the_code(start: str, end: str, known: object) -> None:
    assert listed(start, end) == set(known)  # type: ignore[call-overload]


def test_what_is_left_out_is_told() -> None:
    left_out = listed("Left out of Jinja2, and why:", "\n## Variables")
    assert set(FORBIDDEN_FILTERS) | set(FORBIDDEN_TESTS) | set(FORBIDDEN_GLOBALS) <= left_out


def test_every_limit_is_told_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d,.]+) \|", DOCS, re.M))
    assert rows == {
        field.name: f"{field.default:,g}" if field.name == "seconds" else f"{field.default:,}"
        for field in dataclasses.fields(RenderLimits)
    }


def test_the_names_of_each_memory_text_are_told() -> None:
    data = {
        "memory_type": "m",
        "fields": [],
        "directory": "d",
        "filename_template": "f",
        **dict.fromkeys(("content_template", "embedding_template", "overview_template", "description"), ""),
    }
    known = {text.which: set(text.known.names or ()) for text in texts("memory", data)}
    paths = listed("| `directory`, `filename_template` |", "\n")
    content = listed("| `content_template` |", "\n")
    assert known["path"] == paths
    assert known["content"] == paths | content
    assert known["embedding"] == (paths | content | listed("| `embedding_template` |", "\n")) - LINK_FUNCTIONS
    assert known["overview"] == listed("| `overview_template` |", "\n")
    assert known["description"] == listed("| `description`, also of fields |", "\n")
