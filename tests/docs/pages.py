"""What pages of the docs hold: fenced blocks by language, and whether a shown output fits what came out."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import shell

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def play(page: str) -> None:
    """Run every command of a page's console blocks, in order, and hold each to what the page shows.

    `...` stands for any text, also over several lines. Without a word about it a command exits with 0.
    """
    for block in blocks(page, "console"):
        for command in shell.commands(block):
            ran = shell.run(command.line)
            assert ran.code == command.exits_with, f"{command.line} exits with {ran.code}:\n{ran.output}"
            assert not command.shown or fits(ran.output, command.shown), (
                f"{command.line} shows:\n{ran.output}\nand not, as the page says:\n{command.shown}"
            )


def run_programs(page: str) -> None:
    """Run the Python blocks of a page one behind the other, as one program, and hold each to the text block behind it."""
    names: dict[str, object] = {"__name__": "__main__"}
    for program, shown in re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", page, re.M | re.S):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, "a page of the docs", "exec"), names)
        told = printed.getvalue()
        assert fits(told, shown.rstrip("\n")), f"{program}\nprints:\n{told}\nand not, as the page says:\n{shown}"
    assert len(blocks(page, "python")) == len(re.findall(r"^```python\n.*?^```\n\n```text\n", page, re.M | re.S))


def fits(output: str, shown: str) -> bool:
    return doctest.OutputChecker().check_output(f"{shown}\n", output.rstrip("\n") + "\n", doctest.ELLIPSIS)
