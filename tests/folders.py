"""Folders of files for tests: written from a mapping, and read back as one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CASES = Path(__file__).parent / "cases"


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files by their paths below the folder, and return the folder."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder by its path, hidden ones too."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
