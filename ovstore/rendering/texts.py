"""Which texts of a document are templates, and which names each of them may use.

A prompt has one. A memory schema has its path (directory and filename_template, rendered as one), its content,
embedding and overview templates, and the descriptions of itself and its fields. Only these may call the functions of
`extract_context`, `uri_basename` and `link_target`; the application gives them with the render.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError

from ovstore.errors import RenderBudgetError
from ovstore.grammar import OVERVIEWS
from ovstore.names import Kind, folded
from ovstore.rendering import environment
from ovstore.rendering.budgets import RenderLimits
from ovstore.rendering.codes import DocumentPath, TemplateFinding, found
from ovstore.rendering.inspection import Known
from ovstore.rendering.positions import Position, normalized

EXTRACT_CONTEXT_FUNCTIONS: Final = frozenset(
    {"get_year", "get_month", "get_day", "get_session_timestamp", "get_timestamp_from_ranges"}
    | {"get_first_message_time_from_ranges", "get_first_message_time_with_weekday_from_ranges"}
    | {"get_event_content", "get_resource_event_content", "read_message_ranges"}
)
LINK_FUNCTIONS: Final = frozenset({"uri_basename", "link_target"})
_OPERATION: Final = frozenset({"user_space", "agent_space", "user_id", "peer_id", "memory_type", "ranges"})
_STORED: Final = frozenset({"content", "links", "backlinks", "source_uri"})
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_HOLE: Final = "\ufffc"


@dataclass(frozen=True, slots=True)
class Text:
    """One template of a document. `which` is its name for `render`; `start` is where a second text in it begins."""

    which: str
    path: DocumentPath
    source: str
    known: Known
    functions: frozenset[str] = frozenset()
    second: DocumentPath | None = None
    start: int = 0

    def place(self, position: Position) -> tuple[DocumentPath, int, int]:
        """Return the text of the document that a position lies in, and line and column within it."""
        if self.second is None or position.offset < self.start:
            return self.path, int(position), position.column
        before = normalized(self.source)[self.start : position.offset]
        return self.second, before.count("\n") + 1, len(before) - before.rfind("\n")


def texts(kind: Kind, data: Mapping[str, Any], *, patch: bool = False) -> tuple[Text, ...]:
    """Return the templates of a full document, or those that a patch holds."""
    if kind == "prompt":
        if not isinstance(data.get("template"), str):
            return ()
        declared = None if patch else frozenset(v["name"] for v in data.get("variables") or ())
        return (Text("template", ("template",), data["template"], Known(declared)),)
    return tuple(_memory(data, patch)) if kind == "memory" else ()


def _memory(data: Mapping[str, Any], patch: bool) -> Iterator[Text]:
    fields = frozenset(f["name"] for f in data.get("fields") or () if "name" in f)

    def known(*more: frozenset[str], functions: bool = True, own: frozenset[str] = fields) -> Known:
        declared = None if patch else own.union(*more)
        return Known(declared, EXTRACT_CONTEXT_FUNCTIONS if functions else frozenset(), parts_allowed=False)

    yield from _paths(data, replace(known(_OPERATION), watched=True))
    links = known(_OPERATION, _STORED, LINK_FUNCTIONS)
    for name, names, functions in (
        ("content", links, LINK_FUNCTIONS),
        ("embedding", known(_OPERATION, _STORED, frozenset({"version"})), frozenset()),
        ("overview", known(frozenset({"items", "memory_type", "directory_name"}), own=frozenset()), frozenset()),
    ):
        if isinstance(data.get(f"{name}_template"), str):
            yield Text(name, (f"{name}_template",), data[f"{name}_template"], names, functions)
    language = known(frozenset({"language"}), functions=False, own=frozenset())
    if isinstance(data.get("description"), str):
        yield Text("description", ("description",), data["description"], language)
    for index, field in enumerate(data.get("fields") or ()):
        if isinstance(field.get("description"), str):
            path = ("fields", index, "description")
            yield Text(f"fields.{field.get('name', index)}.description", path, field["description"], language)


def _paths(data: Mapping[str, Any], known: Known) -> Iterator[Text]:
    directory, filename = data.get("directory"), data.get("filename_template")
    if isinstance(directory, str) and isinstance(filename, str):
        front = directory.rstrip("/") + "/"
        start = len(normalized(front))
        yield Text("path", ("directory",), front + filename, known, second=("filename_template",), start=start)
    elif isinstance(directory, str):
        yield Text("directory", ("directory",), directory, known)
    elif isinstance(filename, str):
        yield Text("filename", ("filename_template",), filename, known)


def path_findings(data: Mapping[str, Any], limits: RenderLimits) -> Iterator[TemplateFinding]:
    """Find what is wrong with the fixed parts of directory and filename_template, whatever the values will be."""
    for key in ("directory", "filename_template"):
        if isinstance(data.get(key), str):
            for what in _path_faults(key, data[key], limits):
                yield found("unsafe-path", f"{key} {what}", (key,))


def _path_faults(key: str, source: str, limits: RenderLimits) -> Iterator[str]:
    try:
        tree = environment.parse(source, limits)
    except (TemplateSyntaxError, RenderBudgetError):
        return
    fixed, inner = _fixed_text(tree)
    if "\\" in fixed or "\\" in inner:
        yield "has a backslash"
    if any(unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in fixed):
        yield "has a line break or another control character"
    if key == "filename_template":
        if fixed.startswith("/") or _DRIVE.match(fixed):
            yield "is absolute"
            return
        if fixed.endswith("/"):
            yield "ends with a slash"
            return
        if not fixed:
            yield "is empty"
            return
        if folded(fixed.rpartition("/")[2]) in OVERVIEWS:
            yield "names the overview of its directory, which is no memory"
    segments = (_SCHEME.sub("", fixed, count=1) if key == "directory" else fixed).rstrip("/").split("/")
    if "" in segments:
        yield "has an empty segment"
    if any(_DRIVE.match(segment) for segment in segments):
        yield "has a segment that begins like a drive letter"
    if any(segment in (".", "..") for segment in segments) or re.search(r"(^|/)\.\.?/|/\.\.?(/|$)", inner):
        yield "has a . or .. segment"


def _fixed_text(tree: nodes.Template) -> tuple[str, str]:
    """Return the text outside of expressions and statements, holes marked, and the text within statements."""
    fixed = ""
    inner: list[str] = []
    for node in tree.body:
        if not isinstance(node, nodes.Output):
            fixed += _HOLE
            inner += [data.data for data in node.find_all(nodes.TemplateData)]
            continue
        for child in node.nodes:
            if isinstance(child, nodes.TemplateData):
                fixed += child.data
            else:
                fixed += child.value if isinstance(child, nodes.Const) and isinstance(child.value, str) else _HOLE
    return fixed, "\n".join(inner)
