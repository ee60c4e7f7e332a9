"""What a process takes to keep the resolved sets of all tenants, whose contents are the same, at the default sizes.

In a process of its own: the growth of its resident memory, or with `--trace` of what Python has allocated.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from measuring import Row

import ovstore

TRACED: Final = 5
"""One in so many tenants, where Python's allocations are traced, which takes long."""


def rows(url: str, tenants: int, *, trace: bool) -> Iterator[Row]:
    what = f"memory for {tenants:,} tenants' resolved sets"
    yield Row(f"{what}, resident", asked(url, tenants), {}, "200 MB", 200, unit="MB")
    if trace:
        allocated = TRACED * asked(url, tenants // TRACED, "--trace")
        yield Row(f"{what}, traced", allocated, {}, "200 MB", 200, unit="MB")


def asked(url: str, tenants: int, *options: str) -> float:
    command = [sys.executable, str(Path(__file__)), url, str(tenants), *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)


def grown(url: str, tenants: int, trace: bool) -> float:
    """Return megabytes."""
    with ovstore.open(url) as store:
        store.resolve_many(tenant="nobody")
        if trace:
            tracemalloc.start()
        before = resident()
        for n in range(1, tenants + 1):
            store.resolve_many(tenant=f"t{n}")
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] if trace else resident() - before) / 1e6


def resident() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    print(grown(sys.argv[1], int(sys.argv[2]), "--trace" in sys.argv))
