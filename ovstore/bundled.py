"""Where the folders lie that come with ovstore: `migrations` and `seed_templates`.

They sit at the top of a checkout and inside an installed package. The checkout's are taken first, because an editable
install leaves copies in site-packages that grow old.
"""

from __future__ import annotations

from pathlib import Path


def folder(name: str) -> Path:
    package = Path(__file__).parent
    checkout = package.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    return package / name
