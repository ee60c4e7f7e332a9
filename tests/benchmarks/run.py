"""Run every benchmark and print its figures: `.venv/bin/python tests/benchmarks/run.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    failed = 0
    for script in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"\n== {script.stem.removeprefix('bench_')}", flush=True)
        failed |= subprocess.run([sys.executable, str(script)], check=False).returncode
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
