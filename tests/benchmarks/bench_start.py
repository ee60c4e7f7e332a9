"""How long a command takes from its start to its end. The floor is a Python that does nothing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measuring import BOLD, VALUES, Row, interleaved, source

import ovstore


def rows(rounds: int) -> Iterator[Row]:
    command = [str(Path(sys.executable).with_name("ovstore"))]
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/start.db"
        with ovstore.open(url, create=True) as store:
            store.publish(source("bench.plain"), tenant="acme", **BOLD)
        values = [word for name, value in VALUES.items() for word in ("-v", f"{name}={value}")]
        calls = {
            "python": [sys.executable, "-c", "pass"],
            "--version": [*command, "--version"],
            "--help": [*command, "--help"],
            "render": [*command, "--db", url, "render", "bench.plain", "--tenant", "acme", *values],
        }
        took = interleaved({name: lambda call=call: ran(call) for name, call in calls.items()}, 10 * rounds)
    floors = {"python -c pass": took["python"]}
    yield Row("ovstore --version", took["--version"], floors, "80.0 ms", 80e-3)
    yield Row("ovstore --help", took["--help"], floors)
    yield Row("ovstore render, SQLite", took["render"], floors, "450 ms", 450e-3)


def ran(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
