"""The command line in this process: each call is a whole run of it, with its exit code and both streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner

from ovstore.cli import group


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The objects of a list, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Ran]


def run(*arguments: object, code: int = 0, text: str | bytes | None = None) -> Ran:
    """Run a command line and hold it to an exit code."""
    result = CliRunner().invoke(group, [str(argument) for argument in arguments], input=text, prog_name="ovstore")
    ran = Ran(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)
    assert ran.code == code, f"exit code {ran.code}\n{ran.out}\n{ran.err}"
    return ran
