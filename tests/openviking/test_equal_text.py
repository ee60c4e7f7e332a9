"""For valid input a prompt's text is OpenViking's to the byte: of the synthetic directory, and of all that ship."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest
import upstream
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from synthetic import TEMPLATES

from ovstore import bundled
from ovstore.openviking import PromptManager

SEEDS = bundled.folder("seed_templates")
# The text of a block of code, of markup and of Jinja itself, beside letters of all kinds.
TEXT = st.text(st.sampled_from(string.ascii_letters + " \n\t<>&'\"{}%#\\äß中😀\r"), max_size=60) | st.sampled_from(
    ["", " ", "{{ q }}", "{% if %}", 'it\'s <b> & "x" --> y', "a\r\nb", "auto", "0"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=5,
)
INTEGER = st.integers(-(10**6), 10**6)
VALUES = {
    "string": TEXT,
    "int": INTEGER,
    "integer": INTEGER,
    "float": INTEGER | st.floats(allow_nan=False, allow_infinity=False),
    "number": INTEGER | st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
    "boolean": st.booleans(),
    "list": st.lists(JSON, max_size=3),
    "array": st.lists(JSON, max_size=3),
    "dict": st.dictionaries(st.sampled_from("abc"), JSON, max_size=3),
    "object": st.dictionaries(st.sampled_from("abc"), JSON, max_size=3),
    "any": JSON,
}


def prompts(folder: Path) -> list[Path]:
    """The prompts of a folder that the original can load."""
    found = [path for path in sorted(folder.rglob("*.y*ml")) if "template" in yaml.safe_load(path.read_bytes())]
    return [path for path in found if path.stem != "unquoted"]


# The directory has one of the prompts that ship itself.
OWN = [path for path in prompts(SEEDS) if not (TEMPLATES / path.relative_to(SEEDS)).exists()]


def drawn(data: st.DataObject, path: Path, *, sparse: bool = False) -> dict[str, Any]:
    """Values for what a prompt declares; those that may be left out are, now and then, and any if `sparse`."""
    values: dict[str, Any] = {}
    for declared in yaml.safe_load(path.read_bytes()).get("variables") or ():
        may_lack = sparse or not declared.get("required", True) or declared.get("default") is not None
        if may_lack and data.draw(st.booleans(), label=f"leave out {declared['name']}"):
            continue
        values[declared["name"]] = data.draw(VALUES[declared["type"]], label=declared["name"])
    return values


def id_of(path: Path) -> str:
    return str(yaml.safe_load(path.read_bytes())["metadata"]["id"])


@pytest.mark.parametrize("path", prompts(TEMPLATES), ids=lambda path: path.stem)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_prompt_of_a_directory_has_the_originals_text(
    manager: PromptManager, path: Path, data: st.DataObject
) -> None:
    values = drawn(data, path)
    assert manager.render(id_of(path), values) == upstream.render(path, values)


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_prompt_that_ships_has_the_originals_text(manager: PromptManager, path: Path, data: st.DataObject) -> None:
    values = drawn(data, path)
    assert manager.render(id_of(path), values) == upstream.render(path, values)


@pytest.mark.parametrize("path", prompts(TEMPLATES), ids=lambda path: path.stem)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_without_validation_what_is_missing_prints_nothing_as_there(
    manager: PromptManager, path: Path, data: st.DataObject
) -> None:
    values = drawn(data, path, sparse=True)
    assert manager.render(id_of(path), values, validate=False) == upstream.render(path, values)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["a_string", "an_int", "a_bool", "a_list", "anything"]), JSON))
def test_without_validation_a_value_of_any_type_prints_as_there(manager: PromptManager, values: dict[str, Any]) -> None:
    path = TEMPLATES / "test" / "kinds.yaml"
    assert manager.render("test.kinds", values, validate=False) == upstream.render(path, values)


def test_line_ends_and_marks_of_windows_make_no_difference(manager: PromptManager, shared: Path) -> None:
    text = manager.render("skill.windows", {"text": "a\r\nb"})
    assert text == upstream.render(shared / "skill" / "windows.yaml", {"text": "a\r\nb"}) == "First a\r\nb\n\nlast"
