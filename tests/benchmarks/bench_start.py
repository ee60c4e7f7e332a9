"""How long a command takes from its start to its end, and how much of that the processor is at work.

The floor is a Python that does nothing.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measuring import BOLD, VALUES, Row, interleaved, source

import ovstore

BOUNDS = {"--version": 80e-3, "--help": None, "render": 450e-3}


def rows(rounds: int) -> Iterator[Row]:
    ovstore_command = str(Path(sys.executable).with_name("ovstore"))
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/start.db"
        with ovstore.open(url, create=True) as store:
            store.publish(source("bench.plain"), tenant="acme", **BOLD)
        values = [word for name, value in VALUES.items() for word in ("-v", f"{name}={value}")]
        calls = {
            "python": [sys.executable, "-c", "pass"],
            "--version": [ovstore_command, "--version"],
            "--help": [ovstore_command, "--help"],
            "render": [ovstore_command, "--db", url, "render", "bench.plain", "--tenant", "acme", *values],
        }
        took = interleaved({name: lambda call=call: ran(call) for name, call in calls.items()}, 10 * rounds)
        worked = {name: processor_time(call) for name, call in calls.items()}
    for what, limit in BOUNDS.items():
        floors = {"python -c pass": took["python"], "processor time": worked[what]}
        yield Row(f"ovstore {what}", took[what], floors, f"{limit * 1e3:.0f} ms" if limit else "", limit)


def ran(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def processor_time(command: list[str], times: int = 10) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(times):
        ran(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) / times
