"""Values of variables: by their declared type, from files, from stdin, from JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import Cli
from samples import prompt

TYPES = ("string", "int", "float", "bool", "list", "dict", "any")


@pytest.fixture
def typed(cli: Cli) -> Cli:
    """A prompt with an optional variable of each type, shown with the type that Jinja sees."""
    variables = [{"name": f"a_{t}", "type": t, "description": t, "required": False} for t in TYPES]
    template = "".join(f"{{% if a_{t} is defined %}}{{{{ a_{t} | tojson }}}}{{% endif %}}" for t in TYPES)
    cli("publish", "-", text=prompt(template=template, variables=variables))
    return cli


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("a_string=5", '"5"'),
        ("a_string=", '""'),
        ("a_string=a=b", '"a=b"'),
        ("a_int=5", "5"),
        ("a_int=-7", "-7"),
        ("a_float=2", "2.0"),
        ("a_float=1e-3", "0.001"),
        ("a_bool=true", "true"),
        ("a_bool=False", "false"),
        ('a_list=[1, "x"]', '[1, "x"]'),
        ('a_dict={"a": null}', '{"a": null}'),
        ("a_any=5", '"5"'),
        ("a_string=@@home", '"@home"'),
    ],
)
def test_a_value_is_read_as_the_declared_type(typed: Cli, given: str, seen: str) -> None:
    assert typed("render", "semantic.note", "-v", given).out == seen


@pytest.mark.parametrize(
    "given",
    [
        *("a_int=1.5", "a_int=x", "a_int=1_000", "a_int=\u0663", "a_float=nan", "a_float=1_0", "a_float=\u0663"),
        *("a_bool=yes", "a_list={}", "a_list=[NaN]", "a_list=" + 100_000 * "[", "a_dict=[1]"),
    ],
    ids=lambda given: given[:12],
)
def test_a_value_of_another_type_is_wrong_usage_that_names_the_variable(typed: Cli, given: str) -> None:
    name = given.partition("=")[0]
    assert name in typed("render", "semantic.note", "-v", given, code=2).err


def test_a_name_that_is_not_declared_is_told_with_a_near_one(typed: Cli) -> None:
    ran = typed("render", "semantic.note", "-v", "a_strin=x")
    assert "semantic.note has no variable a_strin; did you mean a_string" in ran.err


def test_a_value_from_a_file_is_its_text(typed: Cli, folder: Path) -> None:
    (folder / "text.md").write_bytes(b"\xef\xbb\xbfline\nline\n")
    assert typed("render", "semantic.note", "-v", "a_string=@text.md").out == '"line\\nline\\n"'


def test_a_list_from_a_file_is_read_as_json(typed: Cli, folder: Path) -> None:
    (folder / "list.json").write_text("[1, 2]")
    assert typed("render", "semantic.note", "-v", "a_list=@list.json").out == "[1, 2]"


def test_a_value_from_stdin(typed: Cli) -> None:
    assert typed("render", "semantic.note", "-v", "a_string=@-", text="piped").out == '"piped"'


@pytest.mark.parametrize(("content", "told"), [(None, "No such file"), (b"\xff", "not UTF-8")])
def test_a_file_that_cannot_be_read_is_wrong_usage(typed: Cli, folder: Path, content: bytes | None, told: str) -> None:
    if content is not None:
        (folder / "file").write_bytes(content)
    assert told in typed("render", "semantic.note", "-v", "a_string=@file", code=2).err


def test_variables_from_a_json_file_may_begin_with_a_byte_order_mark(typed: Cli, folder: Path) -> None:
    (folder / "vars.json").write_bytes(b"\xef\xbb\xbf" + json.dumps({"a_int": 5, "a_list": [1]}).encode())
    assert typed("render", "semantic.note", "--vars", "vars.json").out == "5[1]"


def test_a_value_on_the_command_line_goes_before_the_file(typed: Cli, folder: Path) -> None:
    (folder / "vars.json").write_text('{"a_int": 5}')
    assert typed("render", "semantic.note", "--vars", "vars.json", "-v", "a_int=6").out == "6"


@pytest.mark.parametrize("content", ["[1]", "{", '{"a_int": NaN}', '{"a_int": 1, "a_int": 2}'])
def test_a_variables_file_that_is_no_object_is_wrong_usage(typed: Cli, folder: Path, content: str) -> None:
    (folder / "vars.json").write_text(content)
    assert "vars.json" in typed("render", "semantic.note", "--vars", "vars.json", code=2).err


def test_a_value_of_the_wrong_type_in_the_file_fails_the_render(typed: Cli, folder: Path) -> None:
    (folder / "vars.json").write_text('{"a_int": "five"}')
    assert "a_int" in typed("render", "semantic.note", "--vars", "vars.json", code=1).err
