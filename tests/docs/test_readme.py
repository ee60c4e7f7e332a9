"""The README is true: its example, its commands, and the two lines that set everything up."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
from pathlib import Path

import pages

README = pages.read("README.md")
DEMO = "python3 -m venv .venv && .venv/bin/pip install -q -e . && .venv/bin/ovstore demo"
TEST = "python3 -m venv .venv && .venv/bin/pip install -q -e '.[dev]' && .venv/bin/pytest"


def test_the_python_example_prints_what_the_readme_shows(folder: Path) -> None:
    (example,) = pages.blocks(README, "python")
    (shown,) = pages.blocks(README, "text")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == shown


def test_the_example_has_about_fifteen_lines(folder: Path) -> None:
    (example,) = pages.blocks(README, "python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 16


def test_the_commands_do_the_same(folder: Path) -> None:
    pages.play(README)


def test_the_two_commands_stand_there_word_for_word() -> None:
    assert pages.blocks(README, "sh") == [f"{DEMO}\n", f"{TEST}\n"]


def test_the_uv_twins_stand_there_too() -> None:
    assert "`uv run ovstore demo`" in README and "`uv run --extra dev pytest`" in README


def test_ci_runs_the_test_command_as_the_readme_has_it() -> None:
    script = pages.read(".ci/run")
    found = re.search(r"^test_command=.*$", script, re.M)
    assert found and 'bash -euo pipefail -c "$test_command"' in script
    lines = f'set -euo pipefail\n{found[0]}\nprintf %s "$test_command"'
    done = subprocess.run(["bash", "-c", lines], cwd=pages.ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == TEST
