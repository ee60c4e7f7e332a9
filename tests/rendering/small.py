"""Documents as small as a test of rendering needs them, and the shortest way from one to its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ovstore import rendering
from ovstore.rendering import Compiled, RenderLimits, TemplateFinding

DIRECTORY = "viking://user/{{ user_space }}/memories/notes"


def prompt(template: str, key: str = "demo.note", **types: str | Mapping[str, Any]) -> dict[str, Any]:
    """A prompt; a variable is given by its type alone and optional, or by everything that is declared of it."""
    variables = [
        {"name": name, "type": kind, "required": False} if isinstance(kind, str) else {"name": name, **kind}
        for name, kind in types.items()
    ]
    return {"metadata": {"id": key}, "variables": variables, "template": template}


def declared(values: Mapping[str, Any]) -> dict[str, str | Mapping[str, Any]]:
    return dict.fromkeys(values, "any")


def memory(*fields: str, **texts: str) -> dict[str, Any]:
    """A memory schema with the fields `name` and those given."""
    return {
        "memory_type": "notes",
        "fields": [{"name": name} for name in ("name", *fields)],
        "directory": DIRECTORY,
        "filename_template": "{{ name }}.md",
        **texts,
    }


def compiled(template: str, limits: RenderLimits | None = None, **types: str | Mapping[str, Any]) -> Compiled:
    return rendering.compile("prompt", prompt(template, **types), limits)


def text_of(template: str, /, **values: Any) -> str:
    """Render with the values declared as any and optional."""
    return rendering.render(compiled(template, **declared(values)), values)[0]


def findings(template: str, **types: str | Mapping[str, Any]) -> tuple[TemplateFinding, ...]:
    return rendering.check("prompt", prompt(template, **types))


def codes(template: str, **types: str | Mapping[str, Any]) -> list[str]:
    return [finding.code for finding in findings(template, **types)]
