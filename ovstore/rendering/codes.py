"""What a check of templates can find: each code with its severity, its meaning and what to do.

A code never changes its meaning. `TemplateFinding` is a finding before anyone knows the file: it points into a text of
the document, and the caller maps that to a place in the YAML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ovstore.names import Severity

DocumentPath = tuple[str | int, ...]

CODES: Final[Mapping[str, tuple[Severity, str, str]]] = {
    "template-syntax": (
        "error",
        "The template is not valid Jinja2.",
        "Mend the tag that the finding points at; braces that are meant as text stand in {% raw %}…{% endraw %}.",
    ),
    "template-limit": (
        "error",
        "The template is too large, has too many tags, or nests them too deep to be compiled safely.",
        "Split it into parts, or raise the limit that is named.",
    ),
    "undeclared-variable": (
        "error",
        "The template uses a name that is not declared; upstream it would print nothing.",
        "Declare it under variables, or correct the name.",
    ),
    "private-attribute": (
        "error",
        "The template reads an attribute whose name begins with an underscore.",
        "Templates see data only; read a key of the value instead.",
    ),
    "forbidden-method": (
        "error",
        "The template calls a method that templates do not get: it changes a value or leaves plain data.",
        "See the methods in docs/rendering.md.",
    ),
    "forbidden-filter": (
        "error",
        "The template uses a filter of Jinja2 that ovstore leaves out.",
        "Use what the finding names instead.",
    ),
    "unknown-filter": ("error", "There is no filter of that name.", "See the filters in docs/rendering.md."),
    "unknown-test": ("error", "There is no test of that name.", "See the tests in docs/rendering.md."),
    "forbidden-global": (
        "error",
        "The template uses a global of Jinja2 that ovstore leaves out.",
        "Give the text as a variable.",
    ),
    "forbidden-statement": (
        "error",
        "The template uses a statement of Jinja2 that ovstore leaves out.",
        "Remove it: prompts are plain text, nothing is escaped.",
    ),
    "invalid-literal": (
        "error",
        "A literal has no value that can be printed: an infinite number, or half of a character.",
        "Write the number or the character out.",
    ),
    "part-not-literal": (
        "error",
        "include, import or extends does not name its part by one string literal.",
        "Name the part as a string; choose between parts with {% if %}.",
    ),
    "part-ignore-missing": (
        "error",
        "include has `ignore missing`, which would hide that a part is gone.",
        "Remove it; publish the part first.",
    ),
    "part-name": (
        "error",
        "What is included is not the key of a prompt.",
        "Name a prompt of the store by its key, such as shared.tone; files and memory schemas cannot be parts.",
    ),
    "part-in-memory": (
        "error",
        "A text of a memory schema includes a part; only prompts can.",
        "Write the text out.",
    ),
    "part-missing": (
        "error",
        "A part does not exist for those who would see this template.",
        "Publish the part first, or correct its key.",
    ),
    "part-cycle": ("error", "Parts include each other in a circle.", "Break the circle."),
    "part-depth": ("error", "Parts are nested more than 8 deep.", "Include the inner parts directly."),
    "part-types": (
        "error",
        "A template and its parts declare one variable with two types.",
        "Give the variable one type, or rename one of them.",
    ),
    "reserved-name": ("error", "A name that already means something else in templates.", "Take another name."),
    "unsafe-path": (
        "error",
        "directory or filename_template has a fixed part that leaves the directory or makes no valid path.",
        "Use forward slashes, no empty, . or .. segments, and no absolute file name.",
    ),
    "unused-variable": (
        "warning",
        "A declared variable is used nowhere in the template.",
        "Use it, or remove it.",
    ),
    "shadowing-name": (
        "warning",
        "A variable has the name of a word or a global of Jinja2, so that one of the two cannot be reached.",
        "Rename the variable.",
    ),
    "method-as-key": (
        "warning",
        "A name that mappings have as a method is read without a call: ovstore reads the key, upstream the method.",
        "Write value['items'] for the key and value.items() for the method.",
    ),
    "comment-swallows-text": (
        "warning",
        "A comment goes over several lines: everything up to #} is left out of the text.",
        "Close the comment on its line; write {{ '{#' }} where the characters are meant.",
    ),
    "tojson-letters": (
        "info",
        "tojson keeps letters beyond ASCII; OpenViking writes them as \\u escapes.",
        "Nothing, where the text is for a model.",
    ),
}


@dataclass(frozen=True, slots=True)
class TemplateFinding:
    """A finding in a text of a document: `path` leads to the text, line and column count within it from 1.

    Where the finding is about the thing at `path` rather than a place in it, line and column are 1.
    """

    code: str
    severity: Severity
    message: str
    path: DocumentPath
    line: int = 1
    column: int = 1
    hint: str = ""


def found(
    code: str, message: str, path: DocumentPath, line: int = 1, column: int = 1, hint: str | None = None
) -> TemplateFinding:
    """Make a finding of a code; without a hint of its own it gives the code's advice."""
    severity, _, advice = CODES[code]
    return TemplateFinding(code, severity, message, path, line, column, advice if hint is None else hint)
