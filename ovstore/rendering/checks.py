"""Checks of the templates of a document: all findings of all its texts at once, without running any of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jinja2.exceptions import TemplateSyntaxError

from ovstore.names import Kind
from ovstore.rendering import environment
from ovstore.rendering.budgets import RenderLimits
from ovstore.rendering.codes import TemplateFinding, found
from ovstore.rendering.inspection import Inspected, inspect, part_names
from ovstore.rendering.methods import FORBIDDEN_GLOBALS, GLOBALS
from ovstore.rendering.texts import Text, path_findings, texts

_WORDS: Final = frozenset(
    {"loop", "super", "caller", "kwargs", "varargs", "true", "false", "none", "True", "False", "None"}
    | {"and", "or", "not", "in", "is", "if", "else"}
)


def check(kind: Kind, data: Mapping[str, Any], limits: RenderLimits | None = None) -> tuple[TemplateFinding, ...]:
    """Find everything wrong, doubtful or noteworthy in the templates of a full document.

    >>> data = {"template": "{{ file_nmae }}", "variables": [{"name": "file_name"}]}
    >>> [finding.code for finding in check("prompt", data)]
    ['undeclared-variable', 'unused-variable']
    """
    limits = limits or RenderLimits()
    findings: list[TemplateFinding] = []
    for text in texts(kind, data):
        inspected = inspect(text.source, "template", text.known, limits)
        findings += _of_text(text, inspected)
        if kind == "prompt":
            findings += _unused(data, inspected, limits)
    return (*findings, *_of_document(kind, data, limits))


def check_patch(kind: Kind, data: Mapping[str, Any], limits: RenderLimits | None = None) -> tuple[TemplateFinding, ...]:
    """Find what can be told from a patch alone: everything but which names are declared and used."""
    limits = limits or RenderLimits()
    findings: list[TemplateFinding] = []
    for text in texts(kind, data, patch=True):
        findings += _of_text(text, inspect(text.source, "template", text.known, limits))
    return (*findings, *_of_document(kind, data, limits))


def _of_document(kind: Kind, data: Mapping[str, Any], limits: RenderLimits) -> Iterator[TemplateFinding]:
    if kind == "prompt":
        yield from _names(data)
    if kind == "memory":
        yield from path_findings(data, limits)


def _of_text(text: Text, inspected: Inspected) -> Iterator[TemplateFinding]:
    for problem in inspected.problems:
        path, line, column = text.place(problem.position)
        yield found(problem.code, problem.message, path, line, column, problem.hint)
    if inspected.tree is not None:
        yield from _comments(text)


def _comments(text: Text) -> Iterator[TemplateFinding]:
    try:
        for position, kind, value in environment.located(text.source):
            if kind == "comment" and "\n" in value:
                path, line, column = text.place(position)
                lines = value.count("\n") + 1
                yield found("comment-swallows-text", f"a comment of {lines} lines", path, line, max(column - 2, 1))
    except TemplateSyntaxError:
        return


def _unused(data: Mapping[str, Any], inspected: Inspected, limits: RenderLimits) -> Iterator[TemplateFinding]:
    if inspected.tree is None or part_names(inspected.source, limits):
        return  # a variable may be there for a part
    for index, variable in enumerate(data.get("variables") or ()):
        if variable["name"] not in inspected.names:
            yield found("unused-variable", f"{variable['name']} is declared and not used", ("variables", index))


def _names(data: Mapping[str, Any]) -> Iterator[TemplateFinding]:
    for index, variable in enumerate(data.get("variables") or ()):
        name, path = variable["name"], ("variables", index)
        if name == "self":
            yield found("reserved-name", "self is taken by the template itself", path)
        elif name in _WORDS or name in GLOBALS or name in FORBIDDEN_GLOBALS:
            yield found("shadowing-name", f"{name} has a meaning of its own in templates", path)
