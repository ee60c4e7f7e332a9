"""Command lines as a person types them, run in this process: `ovstore`, a redirection, `export`, and what bash does."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT

from click.testing import CliRunner

from ovstore.cli import group

_PLAIN = dict.fromkeys(("COLUMNS", "FORCE_COLOR", "NO_COLOR"))
_EXITS = re.compile(r"\s+# exits with (\d+)$")


@dataclass(frozen=True)
class Command:
    """A line behind `$ ` in a console block, and what the block shows below it; it may say what it exits with."""

    line: str
    shown: str

    @property
    def exits_with(self) -> int:
        said = _EXITS.search(self.line)
        return int(said[1]) if said else 0


@dataclass(frozen=True)
class Ran:
    code: int
    output: str


def commands(block: str) -> list[Command]:
    """Return the commands of a console block; a line that ends in a backslash goes on, and so does a here-document."""
    found = re.split(r"^\$ ", block, flags=re.M)
    assert not found[0].strip(), f"a console block begins with a command, not with {found[0]!r}"
    return [Command(line, shown.rstrip("\n")) for line, shown in map(_first_line, found[1:])]


def _first_line(text: str) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    if "<<" in lines[0]:
        end = lines.index("EOF\n") + 1
    else:
        end = next(n for n, line in enumerate(lines, 1) if not line.rstrip("\n").endswith("\\"))
    return "".join(lines[:end]).replace("\\\n", "").strip(), "".join(lines[end:])


def run(line: str) -> Ran:
    """Run one line where this process stands. Of the shell only `ovstore … > FILE` is done here, the rest by bash."""
    program, *_ = line.split()
    if program not in ("export", "ovstore"):
        done = subprocess.run(["bash", "-euc", line], stdout=PIPE, stderr=STDOUT, text=True, check=False)
        return Ran(done.returncode, done.stdout)
    words = shlex.split(line, comments=True)
    if program == "export":
        name, _, value = words[1].partition("=")
        os.environ[name] = value
        return Ran(0, "")
    target = Path(words[-1]) if words[-2] == ">" else None
    result = CliRunner(env=_PLAIN).invoke(group, words[1 : -2 if target else None], prog_name="ovstore")
    if target is None:
        return Ran(result.exit_code, result.output)
    target.write_bytes(result.stdout_bytes)
    return Ran(result.exit_code, result.stderr)
