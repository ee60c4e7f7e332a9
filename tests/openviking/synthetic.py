"""The synthetic directory: everything that OpenViking's format has, written for these tests."""

from __future__ import annotations

import shutil
from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"

# Carriage returns and a byte order mark, which a checkout might mend.
WINDOWS = (
    "\ufeffmetadata: {id: skill.windows, name: Windows, description: Line ends, version: '1', language: en,"
    " category: skill}\r\nvariables:\r\n- {name: text, type: string, description: A text}\r\n"
    "template: |\r\n  First {{ text }}\r\n\r\n  last\r\n"
)


def copied(folder: Path) -> Path:
    shutil.copytree(TEMPLATES, folder)
    (folder / "skill").mkdir()
    (folder / "skill" / "windows.yaml").write_bytes(WINDOWS.encode())
    return folder
