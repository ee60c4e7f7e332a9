"""Every command has help, an example and its place in docs/reference.md; so has every public name."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from running import run

import ovstore
from ovstore import errors, results
from ovstore.cli import COMMANDS, group
from ovstore.planning import Plan
from ovstore.view import View

REFERENCE = Path(__file__).parents[2].joinpath("docs", "reference.md").read_text(encoding="utf-8")


def commands(above: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name, groups before what is below them."""
    ctx = click.Context(above)
    for name in above.list_commands(ctx):
        command = above.get_command(ctx, name)
        assert command is not None
        yield " ".join((*path, name)), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = dict(commands(group))


def section(name: str) -> str:
    """What the reference says about a command: from its heading to the next."""
    found = re.search(rf"^### `ovstore {name}`$(.*?)(?=^##|\Z)", REFERENCE, re.M | re.S)
    assert found, f"docs/reference.md has no section for `ovstore {name}`"
    return found[1]


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_help_with_an_example_and_its_environment(name: str) -> None:
    command = ALL[name]
    assert command.help
    out = run(*name.split(), "--help").out
    assert re.search(rf"^Examples?:\n.*ovstore .*{name}", out, re.M | re.S)
    assert all(variable in out for variable in ("OVSTORE_DB", "OVSTORE_FORMAT", "OVSTORE_ACTOR"))


@pytest.mark.parametrize("name", ALL)
def test_the_first_sentence_of_help_fits_on_a_line_of_the_overview(name: str) -> None:
    sentence = ALL[name].get_short_help_str(limit=200)
    assert sentence.endswith((".", "?"))
    assert len(sentence) <= 68


@pytest.mark.parametrize("name", ALL)
def test_every_command_and_each_of_its_options_is_in_the_reference(name: str) -> None:
    told = section(name)
    for param in ALL[name].params:
        if isinstance(param, click.Option) and param.expose_value:
            assert f"{param.opts[0]}" in told, f"{param.opts[0]} of {name}"


@pytest.mark.parametrize("name", ALL)
def test_every_option_in_a_usage_of_the_reference_is_one_of_its_command(name: str) -> None:
    usage = " ".join(re.findall(r"^    (.+)$", section(name), re.M))
    options = {opt for param in ALL[name].params if isinstance(param, click.Option) for opt in param.opts}
    assert set(re.findall(r"(?<!\S)[(\[]*(--?[a-z][a-z-]*)", usage)) <= options


def test_every_section_of_the_reference_is_a_command() -> None:
    assert set(re.findall(r"^### `ovstore ([a-z ]+)`$", REFERENCE, re.M)) == set(ALL)


def test_the_overview_lists_every_command_under_its_heading() -> None:
    out = run("--help").out
    for heading, names in COMMANDS.items():
        listed = out.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
        assert re.findall(r"^  (\w+)", listed, re.M) == list(names)


@pytest.mark.parametrize("name", [name for name in ALL if " " not in name])
def test_the_overview_says_of_a_command_what_its_help_begins_with(name: str) -> None:
    (summary,) = [told[name][1] for told in COMMANDS.values() if name in told]
    assert ALL[name].get_short_help_str(limit=200) == summary


@pytest.mark.parametrize("name", ovstore.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert re.search(rf"^\| `{re.escape(name)}[`(]", REFERENCE, re.M)


@pytest.mark.parametrize(
    "name", sorted({name for kind in (ovstore.Store, View) for name in vars(kind) if name[0] != "_"})
)
def test_every_method_of_a_store_is_in_the_reference(name: str) -> None:
    assert re.search(rf"`{name}[`(]", REFERENCE.partition("### Store")[2])


@pytest.mark.parametrize(
    "name", [name for name, _ in inspect.getmembers(ovstore.Store, inspect.isfunction) if name[0] != "_"]
)
def test_every_argument_of_a_method_of_a_store_is_in_the_reference(name: str) -> None:
    told = REFERENCE.partition("### Store")[2].partition("### `ovstore.openviking`")[0]
    arguments = set(inspect.signature(getattr(ovstore.Store, name)).parameters) - {"self"}
    assert {argument for argument in arguments if not re.search(rf"\b{argument}\b", told)} == set()


@pytest.mark.parametrize("kind", [kind for kind in vars(results).values() if dataclasses.is_dataclass(kind)] + [Plan])
def test_every_result_is_in_the_reference_with_its_fields(kind: type) -> None:
    fields = ", ".join(field.name for field in dataclasses.fields(kind) if not field.name.startswith("_"))
    assert f"| `{kind.__name__}` | {fields} |" in REFERENCE


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.OvstoreError)]
)
def test_every_error_is_in_the_reference(kind: type[errors.OvstoreError]) -> None:
    assert f"`{kind.__name__}`" in REFERENCE.partition("### Errors")[2]
