"""What the YAML parser complains of, in plain words: what is wrong in the line, and what to do."""

from __future__ import annotations

import re
from typing import Final

_QUOTE: Final = "Quote the text, or put it in a | block."
_ALIGN: Final = "Keys of one mapping begin in the same column; look at the line above as well."
_CLOSE: Final = "Close what was opened with [ or {, or quote the text."
_PROBLEMS: Final[tuple[tuple[str, str, str], ...]] = (
    ("mapping values are not allowed", "a colon followed by a space where no key can stand", _QUOTE),
    (
        "could not find expected ':'",
        "a key without its colon",
        "Write `key: value`, or indent the text like its value.",
    ),
    ("find expected key", "the indentation does not fit, or text goes on behind a value", _ALIGN),
    ("expected <block end>", "the indentation does not fit, or text goes on behind a value", _ALIGN),
    ("'-' indicator", "a list item without its dash, or wrong indentation", _ALIGN),
    ("',' or ']'", "a list in brackets is not closed", _CLOSE),
    ("',' or '}'", "a mapping in braces is not closed", _CLOSE),
    ("unexpected end of stream", "a quoted text is not closed", "Close the quotes."),
    ("unexpected document", "--- or ... stands inside a quoted text", "Close the quotes."),
    ("unknown escape character", "a backslash that YAML does not know", "Double it, or use single quotes."),
    ("Unicode character escape", "half a character is no character", "Write it as it is, or as \\UXXXXXXXX."),
    ("cannot start any token", "text cannot begin with this character", _QUOTE),
    ("undefined tag handle", "a ! that begins a tag nobody defined", _QUOTE),
    ("alphabetic or numeric", "a * or & that is no alias or anchor", _QUOTE),
    ("expected node content", "a character that means something to YAML where a value should be", _QUOTE),
    ("sequence entries are not allowed", "a list item where none can stand", "Begin the list on the next line."),
    ("<document start>", "text behind the end of the document", "Put each document into its own file."),
)
_OPENED: Final = ("',' or", "end of stream", "expected ':'")


def opened(problem: str) -> bool:
    """Whether the place to look at is where something began, a bracket or a key, not where the parser gave up."""
    return any(part in problem for part in _OPENED)


def explain(problem: str, line: str, column: int) -> tuple[str, str, str | None]:
    """Return the code of the finding, the message, and the hint, None for the code's own."""
    if re.match(r" *\t", line) or line[column - 1 : column] == "\t":
        return "tab-indentation", "a tab stands where YAML takes only spaces", None
    if "nesting depth" in problem:
        return "too-deep", "mappings and lists inside one another without end", None
    known = ((message, hint) for part, message, hint in _PROBLEMS if part in problem)
    message, hint = next(known, (problem, None))
    if re.search(r"(?:^|[:-] )\s*\{[{%]", line):
        hint = "Text that begins with {{ or {% must be quoted, or stand in a | block."
    separator = re.search("[\x85\u2028\u2029]", line[:column])
    if separator:
        hint = f"U+{ord(separator[0]):04X} in this line is a line break to YAML: delete it, or break the line there."
    return "yaml-syntax", message, hint
