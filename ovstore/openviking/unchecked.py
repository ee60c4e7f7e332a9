"""Rendering without checks of what callers give, which upstream's `validate=False` asks for.

What is missing prints nothing and a value of any type prints as it is. Defaults, `max_length`, the sandbox and its
budgets are the same as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ovstore import rendering
from ovstore.documents import Document
from ovstore.rendering import Compiled, RenderLimits
from ovstore.results import Resolved
from ovstore.store import Store
from ovstore.view import View


def render(view: Store | View, resolved: Resolved, variables: Mapping[str, Any], limits: RenderLimits) -> str:
    """Return the text of a prompt that was resolved; its parts are those of the same revision."""
    compiled = {resolved.key: _compiled(resolved.document, limits)}
    todo = list(compiled[resolved.key].needs)
    while todo:
        part = todo.pop()
        if part not in compiled:
            compiled[part] = _compiled(view.resolve(part, at=resolved.revision).document, limits)
            todo += compiled[part].needs
    return rendering.render(rendering.link(compiled[resolved.key], compiled), variables)[0]


def _compiled(document: Document, limits: RenderLimits) -> Compiled:
    data = document.as_written()
    variables = [{**variable, "type": "any", "required": False} for variable in data.get("variables", ())]
    return rendering.compile("prompt", {**data, "variables": variables}, limits)
