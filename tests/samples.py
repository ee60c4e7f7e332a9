"""Small documents for tests: YAML text made from the few things that a test is about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def prompt(
    key: str = "semantic.note",
    template: str = "Note {{ q }}",
    variables: Sequence[str | Mapping[str, Any]] = ("q",),
    **extra: Any,
) -> str:
    """A prompt; a variable given by name alone is a required string."""
    data: dict[str, Any] = {
        "metadata": {
            "id": key,
            "name": "Note",
            "description": "A note",
            "version": "1.0.0",
            "language": "en",
            "category": key.split(".")[0],
        },
        "variables": [
            {"name": v, "type": "string", "description": v, "required": True} if isinstance(v, str) else dict(v)
            for v in variables
        ],
        "template": template,
        **extra,
    }
    return flow(data)


def memory(key: str = "habits", fields: Sequence[Mapping[str, Any]] | None = None, **extra: Any) -> str:
    """A memory schema with an immutable name and patched content."""
    data: dict[str, Any] = {
        "memory_type": key,
        "description": "What someone does again and again",
        "directory": "viking://user/{{ user_space }}/memories/" + key,
        "filename_template": "{{ name }}.md",
        "fields": list(fields)
        if fields is not None
        else [
            {"name": "name", "type": "string", "description": "n", "merge_op": "immutable"},
            {"name": "content", "type": "string", "description": "c", "merge_op": "patch"},
        ],
        **extra,
    }
    return flow(data)


def settings(key: str = "semantic.note", **values: Any) -> str:
    """Settings with a prompt's metadata."""
    return flow({"metadata": json.loads(prompt(key))["metadata"], "values": values})


def patch(key: str, **changes: Any) -> str:
    return flow({"extends": key, **changes})


def flow(data: Mapping[str, Any]) -> str:
    """Every JSON text is YAML."""
    return json.dumps(data, ensure_ascii=False, indent=1)


HOUSE = """\
metadata: {id: context.house, name: House, description: A part., version: "1", language: en, category: context}
template: "House rules."
"""
WITH_HOUSE = """\
extends: context.system_prompt
template: |
  <system_prompt>
  {% include "context.house" %} {{ content }}
  </system_prompt>
"""
