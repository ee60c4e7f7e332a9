"""What OpenViking makes of a prompt, by the rules that docs/openviking.md tells: plain Jinja2, and little before it.

Written for these tests, to say what the text has to be; it shares nothing with what it is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import yaml


def render(path: Path, variables: Mapping[str, Any]) -> str:
    """Defaults fill in for names that are absent, text is cut at max_length, and Jinja2 does the rest."""
    data = yaml.safe_load(path.read_bytes())
    values = dict(variables)
    for declared in data.get("variables") or ():
        name, default, longest = declared["name"], declared.get("default"), declared.get("max_length")
        if name not in values and default is not None:
            values[name] = default
        if longest is not None and isinstance(values.get(name), str):
            values[name] = values[name][: int(longest)]
    return jinja2.Template(data["template"]).render(values)
