"""Rendering: Jinja2 for templates that nobody vouches for. The only package that imports jinja2.

`check` finds everything wrong in the templates of a document, `compile` makes it ready once, `link` binds it to the
parts that it includes, and `render` takes values to text. What a template may do, and how much, is in
docs/rendering.md. Nothing here touches a file, a database or the environment, and no option switches the sandbox off.
"""

from ovstore.rendering.budgets import RenderLimits
from ovstore.rendering.checks import check, check_patch
from ovstore.rendering.codes import CODES, TemplateFinding
from ovstore.rendering.environment import skeleton
from ovstore.rendering.linking import check_parts, link, parts
from ovstore.rendering.programs import Compiled, compile, render

__all__ = [
    "CODES",
    "Compiled",
    "RenderLimits",
    "TemplateFinding",
    "check",
    "check_parts",
    "check_patch",
    "compile",
    "link",
    "parts",
    "render",
    "skeleton",
]
