"""A memory type made for tests, and its records."""

from __future__ import annotations

from typing import Any

from ovstore.documents import MemorySchema, build
from ovstore.memory import MemoryType

RECIPES: dict[str, Any] = {
    "memory_type": "recipes",
    "description": "Dishes that {{ 'somebody' if language == 'en' else 'jemand' }} cooks.",
    "directory": "viking://user/{{ user_space }}/memories/recipes",
    "filename_template": "{{ cuisine|lower }}/{{ dish|lower }}.md",
    "content_template": (
        "# {{ dish }}\nCuisine: {{ cuisine }}\nCooked: {{ times_cooked|default(0, true) }}x\n\n"
        '{{ notes|default("(no notes)", true) }}\n'
    ),
    "embedding_template": "{{ dish }}\n\n{{ cuisine }}\n\n{{ notes }}",
    "overview_template": (
        "# Recipes in {{ directory_name }}\n{% for item in items %}\n"
        "- [{{ item.file_content.dish }}](./{{ item.file_name }}) cooked {{ item.file_content.times_cooked }}\n"
        "{% endfor %}\n"
    ),
    "fields": [
        {"name": "cuisine", "type": "string", "merge_op": "immutable"},
        {"name": "dish", "type": "string", "merge_op": "immutable", "description": "Its name, in {{ language }}."},
        {"name": "times_cooked", "type": "int64", "merge_op": "sum"},
        {"name": "notes", "type": "string", "merge_op": "patch"},
    ],
}
MISO = {"cuisine": "Japanese", "dish": "Miso Ramen", "times_cooked": 1, "notes": "- less salt"}


def schema(**changes: Any) -> MemorySchema:
    """The type with some keys changed; None takes a key away."""
    data = {name: value for name, value in {**RECIPES, **changes}.items() if value is not None}
    built, findings = build("memory", data)
    assert isinstance(built, MemorySchema), findings
    return built


def recipes(**changes: Any) -> MemoryType:
    return MemoryType(schema(**changes))
