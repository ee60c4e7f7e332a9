"""The command line speaks its own language: no message of the library reaches a person in the words of Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Cli
from samples import memory, patch, prompt

import ovstore
from ovstore.cli.phrases import spoken

LIBRARY = Path(ovstore.__file__).parent
PYTHON = re.compile(
    r"\b(accept_risk|dependents|change_set|version|label|at|since|until|to|tenant|effective|expected|heads|live)="
    r"|\b[a-z_]+\(\)|=True|=None|pathlib|\baware\b|\bdatetime\b|RenderLimits"
)
# What no command can bring about: it gives files as files, opens stores as they are, and changes no document.
UNREACHABLE = ("listen goes with freshness", "take as_written()", "give pathlib.Path(", "a time with a zone, not ")
# Not a message but the record of a log, and what mends a template.
OTHERS = ("key=%s tenant=%s", "scope=%s")


def messages() -> Iterator[str]:
    """Every text of the library's own modules that is more than a word, holes in it as {}."""
    for path in sorted(LIBRARY.rglob("*.py")):
        if not {"cli", "openviking", "db", "rendering", "context"} & set(path.relative_to(LIBRARY).parts):
            tree = ast.parse(path.read_text())
            docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.JoinedStr):
                    yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                    yield node.value


def test_no_message_keeps_the_words_of_python() -> None:
    said = [spoken(message) for message in messages() if " " in message]
    left = [text for text in said if PYTHON.search(text) and not any(known in text for known in UNREACHABLE + OTHERS)]
    assert left == []


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("version= names one: give it without label= and at=", "--version names one: give it without --label and --at"),
        ("at=2099-01-01T00:00:00+00:00 is in the future", "--at 2099-01-01T00:00:00+00:00 is in the future"),
        ("effective=True is asked of one: give tenant=", "--effective is asked of one: give --tenant"),
        ('pass dependents="freeze" to keep them', "give --freeze-dependents to keep them"),
    ],
)
def test_arguments_become_options(message: str, told: str) -> None:
    assert spoken(message) == told


def test_a_refusal_speaks_of_options_in_both_forms(cli: Cli) -> None:
    cli("publish", "-", text=prompt(variables=("q", "r"), template="{{ q }} {{ r }}"))
    cli("publish", "-", "--tenant", "acme", text=patch("semantic.note", template="Acme {{ q }} {{ r }}"))
    given = ("publish", "-", "--accept-risk", "high")
    for form in ("text", "json"):
        err = cli("--format", form, *given, code=5, text=prompt(template="{{ q }}")).err
        assert "give --freeze-dependents" in err
        assert "dependents=" not in err
    cli("publish", "-", text=memory())
    for form in ("text", "json"):
        err = cli("--format", form, "publish", "-", code=5, text=memory(enabled=False)).err
        assert "accept_risk" not in err
