"""YAML in with positions, YAML out that reads back the same. The only module that imports `yaml`.

`load` walks the parser's events once and builds plain data itself: limits on size, depth, nodes and what aliases expand
to hold before anything is built, duplicate keys are told with both lines, and nothing a file can hold is executed.
It reads YAML 1.1 as PyYAML does, with these differences: a number may have an exponent without dot or sign (1e-3),
dates and base-60 numbers (12:30) are text, and every key is text.

A plain scalar that YAML takes for something other than text becomes a `Scalar`, which keeps both readings: whether
`1.10` is a number or a label is for the grammar of documents to say. `dump` writes plain JSON data: order kept,
`|` blocks for text of several lines, nothing folded, characters readable.
"""

from __future__ import annotations

import bisect
import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from ovstore.errors import InvalidArgumentError
from ovstore.findings import dotted, found
from ovstore.results import Finding

MAX_SOURCE: Final = 2 * 1024 * 1024
"""Bytes of one source: 400,000 characters of Chinese are 1.2 million bytes."""
MAX_DEPTH: Final = 100
"""Mappings and lists inside one another, the document itself counted. Deeper JSON breaks common readers of it."""
MAX_NODES: Final = 100_000
"""Keys, values, mappings and lists of one document, aliases counted as what they stand for."""
MAX_DIGITS: Final = 100

Path = tuple[str | int, ...]
Position = tuple[int, int]

_Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A plain scalar that is not text by YAML's rules. The value is infinite or NaN where it is no number for JSON."""

    value: bool | int | float | None
    text: str

    @property
    def doubtful(self) -> bool:
        """Whether another parser, or the author, would read it otherwise: `yes`, `off`, `010`."""
        if isinstance(self.value, bool):
            return self.text.lower() not in ("true", "false")
        return isinstance(self.value, int) and re.match(r"[-+]?0[0-9_]", self.text) is not None


@dataclass(frozen=True, slots=True)
class Loaded:
    """Data with the places of its parts, which count lines and columns from 1.

    `positions` has where each value begins, a mapping or list where its key stands; `keys` where each key stands;
    `texts` where the first character of a text stands, for texts whose every line begins in that column.
    What an alias stands for has the alias's place.
    """

    data: Any
    positions: Mapping[Path, Position]
    keys: Mapping[Path, Position]
    texts: Mapping[Path, Position]
    findings: tuple[Finding, ...]


def load(source: bytes, path: str | None = None) -> Loaded:
    """Read one YAML document. Bad input never raises: data is None and the findings say why.

    Where a finding is no more than a duplicate key or the like, the rest is read on, so that all is told at once.
    """
    composer = _Composer(path)
    text = composer.decode(source)
    if text is not None:
        composer.compose(text)
    return Loaded(composer.root, composer.positions, composer.keys, composer.texts, tuple(composer.findings))


# -- plain scalars -----------------------------------------------------------------------------------------------------

_WORDS: Final[Mapping[str, bool | None]] = {
    form: value
    for word, value in (
        *(("null", None), ("true", True), ("yes", True), ("on", True)),
        *(("false", False), ("no", False), ("off", False)),
    )
    for form in (word, word.capitalize(), word.upper())
} | {"": None, "~": None}
_NOT_TEXT: Final = frozenset("+-.0123456789") | {word[:1] for word in _WORDS}
_INT: Final = re.compile(r"[-+]?(?:0b[01][01_]*|0x[0-9a-fA-F][0-9a-fA-F_]*|0[0-7_]*|[1-9][0-9_]*)")
_FLOAT: Final = re.compile(
    r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+)"
)
_SPECIAL: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def _plain(text: str) -> str | Scalar:
    """Return what a plain scalar is."""
    if text[:1] not in _NOT_TEXT:
        return text
    if text in _WORDS:
        return Scalar(_WORDS[text], text)
    if _INT.fullmatch(text):
        return Scalar(_int(text.replace("_", "")), text)
    if _FLOAT.fullmatch(text):
        return Scalar(float(text.replace("_", "")), text)
    if _SPECIAL.fullmatch(text):
        return Scalar(math.nan if text[-1] in "nN" else math.inf, text)
    return text


def _int(digits: str) -> int | float:
    if len(digits) > MAX_DIGITS:
        return math.inf
    sign, magnitude = (-1, digits[1:]) if digits[0] == "-" else (1, digits.lstrip("+"))
    if magnitude[:2] in ("0b", "0x"):
        return sign * int(magnitude, 0)
    return sign * int(magnitude, 8 if magnitude[0] == "0" else 10)


# -- reading -----------------------------------------------------------------------------------------------------------

_YAML_TAG: Final = "tag:yaml.org,2002:"
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}
_UNREADABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_INVISIBLE: Final = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_UNUSUAL_BREAK: Final = re.compile("[\x85\u2028\u2029]|\r(?!\n)")
_BREAK: Final = re.compile("\r\n|\r|\n")
_BOM: Final = "\ufeff"
_SHOWN: Final = 20
_MERGE: Final = object()


class _StopError(Exception):
    """What was found leaves nothing to read on."""


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not been reached. Nodes and characters are those counted before it."""

    data: dict[str, Any] | list[Any]
    path: Path
    anchor: str | None
    nodes: int
    characters: int
    height: int = 1
    key: Any = None
    merged: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Anchored:
    data: Any
    nodes: int
    characters: int
    height: int


class _Composer:
    def __init__(self, path: str | None) -> None:
        self.path = path
        self.root: Any = None
        self.positions: dict[Path, Position] = {}
        self.keys: dict[Path, Position] = {}
        self.texts: dict[Path, Position] = {}
        self.findings: list[Finding] = []
        self._text = ""
        self._starts: list[int] | None = None
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Anchored] = {}
        self._documents = 0
        self._nodes = 0
        self._characters = 0

    def decode(self, source: bytes) -> str | None:
        """Return the text without its byte order mark; None when it is not YAML's kind of text."""
        if len(source) > MAX_SOURCE:
            self._find("too-large", f"the source has {len(source):,} bytes, the limit is {MAX_SOURCE:,}", None)
            return None
        try:
            text = source.decode("utf-8")
        except UnicodeDecodeError as error:
            self._not_utf_8(source, error)
            return None
        text = text.removeprefix(_BOM)
        if text.startswith(_BOM):
            self._find("byte-order-mark", "a second byte order mark (U+FEFF) before the first key", (1, 1))
            return None
        unreadable = list(itertools.islice(_UNREADABLE.finditer(text), _SHOWN))
        for match in unreadable:
            at = _count(text, match.start())
            if match[0] == "\0":
                self._find("nul-character", "NUL not allowed", at)
            else:
                self._find("control-character", f"control character U+{ord(match[0]):04X}", at)
        return None if unreadable else text

    def _not_utf_8(self, source: bytes, error: UnicodeDecodeError) -> None:
        at = _count(source[: error.start].decode("utf-8").removeprefix(_BOM), None)
        utf_16 = source[:2] in (b"\xff\xfe", b"\xfe\xff")
        what = "the source is UTF-16" if utf_16 else f"byte 0x{source[error.start]:02X} is not UTF-8"
        self._find("not-utf-8", what, at)

    def compose(self, text: str) -> None:
        """Walk the events; the root stays None when the document cannot be read as a whole."""
        self._text = text
        if _UNUSUAL_BREAK.search(text):
            self._starts = [0, *(match.end() for match in _BREAK.finditer(text))]
        try:
            for event in yaml.parse(text, Loader=_Loader):
                if isinstance(event, ScalarEvent):
                    self._scalar(event)
                elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
                    self._start(event)
                elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
                    self._end()
                elif isinstance(event, AliasEvent):
                    self._alias(event)
                elif isinstance(event, DocumentStartEvent):
                    self._document(event)
        except yaml.YAMLError as error:
            self.root = None
            self._syntax(error)
        except _StopError:
            self.root = None

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            self._stop("several-documents", "a second document begins here", self._position(event.start_mark))

    def _scalar(self, event: Any) -> None:
        path, at = self._path(), self._position(event.start_mark)
        value = self._value(event, path, at)
        self._add(1, len(event.value), at, aliased=False)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, 1, len(event.value), 0)
        if type(value) is str and not self._awaits_key():
            self._check(value, path, at)
            if "{" in value:
                self._find_text(event, value, path)
        self._put(value, at, merge=event.value == "<<" and not event.style and event.implicit[0])

    def _value(self, event: Any, path: Path, at: Position) -> str | Scalar:
        tag = event.tag
        if tag is None or tag == "!":
            return _plain(event.value) if event.implicit[0] and not event.style else str(event.value)
        name = tag.removeprefix(_YAML_TAG)
        if name == "str":
            return str(event.value)
        value = _plain(event.value)
        if isinstance(value, Scalar) and type(value.value) in _TYPES.get(name, ()):
            if name == "float" and value.value is not None:
                return Scalar(float(value.value), value.text)
            return value
        self._tag(tag, at, path)
        return str(event.value)

    def _start(self, event: Any) -> None:
        at, path = self._position(event.start_mark), self._path()
        if len(self._stack) == MAX_DEPTH:
            self._stop("too-deep", f"more than {MAX_DEPTH} mappings and lists inside one another", at)
        kind = "map" if isinstance(event, MappingStartEvent) else "seq"
        if event.tag not in (None, "!", _YAML_TAG + kind):
            self._tag(event.tag, at, path)
        self.positions[path] = self.keys.get(path, at)
        before = _Open({} if kind == "map" else [], path, event.anchor, self._nodes, self._characters)
        self._add(1, 0, at, aliased=False)
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        self._stack.append(before)

    def _end(self) -> None:
        frame = self._stack.pop()
        data = frame.data
        if frame.merged and isinstance(data, dict):
            own, data = data, {}
            for source in reversed(frame.merged):
                data.update(source)
            data.update(own)
        if frame.anchor is not None:
            nodes, characters = self._nodes - frame.nodes, self._characters - frame.characters
            self._anchors[frame.anchor] = _Anchored(data, nodes, characters, frame.height)
        if self._stack:
            self._stack[-1].height = max(self._stack[-1].height, frame.height + 1)
        self._put(data, self.positions[frame.path])

    def _alias(self, event: Any) -> None:
        at, name = self._position(event.start_mark), event.anchor
        if any(frame.anchor == name for frame in self._stack):
            self._stop("alias-cycle", f"*{name} stands inside what it stands for", at)
        anchored = self._anchors.get(name)
        if anchored is None:
            self._stop("unknown-alias", f"*{name} stands for nothing: there is no &{name} before it", at)
        if len(self._stack) + anchored.height > MAX_DEPTH:
            self._stop("too-deep", f"with *{name}, more than {MAX_DEPTH} mappings and lists inside one another", at)
        self._add(anchored.nodes, anchored.characters, at, aliased=True)
        if self._stack:
            self._stack[-1].height = max(self._stack[-1].height, anchored.height + 1)
        self._put(anchored.data, at)

    def _add(self, nodes: int, characters: int, at: Position, *, aliased: bool) -> None:
        self._nodes += nodes
        self._characters += characters
        if self._nodes > MAX_NODES or self._characters > MAX_SOURCE:
            if aliased:
                limits = f"{MAX_NODES:,} nodes or {MAX_SOURCE:,} characters"
                self._stop("alias-expansion", f"the aliases up to here stand for more than {limits}", at)
            self._stop("too-many-nodes", f"more than {MAX_NODES:,} keys and values", at)

    # -- putting nodes in their place

    def _awaits_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].data, dict) and self._stack[-1].key is None

    def _path(self) -> Path:
        """Return the path of the node that comes next; for a key, that of its mapping."""
        if not self._stack:
            return ()
        frame = self._stack[-1]
        if isinstance(frame.data, list):
            return (*frame.path, len(frame.data))
        return frame.path if frame.key is None else (*frame.path, frame.key if frame.key is not _MERGE else "<<")

    def _put(self, value: Any, at: Position, *, merge: bool = False) -> None:
        if not self._stack:
            self.root = value
            self.positions[()] = at
            return
        frame = self._stack[-1]
        if isinstance(frame.data, list):
            self.positions.setdefault((*frame.path, len(frame.data)), at)
            frame.data.append(value)
        elif frame.key is None:
            frame.key = _MERGE if merge else self._key(frame, value, at)
        elif frame.key is _MERGE:
            frame.key = None
            self._merge(frame, value, at)
        else:
            path, frame.key = (*frame.path, frame.key), None
            if not isinstance(value, (dict, list)):
                self.positions[path] = at
            frame.data[str(path[-1])] = value

    def _key(self, frame: _Open, value: Any, at: Position) -> str:
        text = value.text if isinstance(value, Scalar) else value
        where = f"{dotted(frame.path)}: " if frame.path else ""
        if not isinstance(text, str) or isinstance(value, Scalar) and value.value is None:
            what = "nothing" if isinstance(value, Scalar) else "a list" if isinstance(value, list) else "a mapping"
            self._stop("bad-key", f"{where}{what} stands where a key should be", at)
        if _BOM in text:
            self._find("byte-order-mark", f"{where}a byte order mark (U+FEFF) is part of the key `{text}`", at)
        self._check(text, (*frame.path, text), at)
        if isinstance(value, Scalar):
            self._find("non-text-key", f"{where}the key `{text}` is not text to YAML; it is read as text here", at)
        path = (*frame.path, text)
        if text in frame.data:
            lines = f"line {self.keys[path][0]} and on line {at[0]}"
            self._find("duplicate-key", f"{dotted(path)} is there twice: on {lines}", at)
        self.keys[path] = at
        return text

    def _merge(self, frame: _Open, value: Any, at: Position) -> None:
        sources = value if isinstance(value, list) else [value]
        for source in sources:
            if not isinstance(source, dict):
                self._find("bad-merge", "`<<` takes a mapping or a list of mappings", at)
                return
        frame.merged.extend(sources)
        for name in {name for source in sources for name in source}:
            self.positions.setdefault((*frame.path, name), at)

    # -- places

    def _position(self, mark: Any) -> Position:
        if self._starts is None:
            return mark.line + 1, mark.column + 1
        line = bisect.bisect_right(self._starts, mark.index)
        return line, mark.index - self._starts[line - 1] + 1

    def _find_text(self, event: Any, value: str, path: Path) -> None:
        """Note where a text begins, if each of its lines can be found from there."""
        start, end = event.start_mark, event.end_mark
        if self._starts is not None:
            return
        if event.style == "|":
            header = self._text.index("|", start.index)
            line = start.line + self._text.count("\n", start.index, header) + 2
            blank = len(value) - len(value.lstrip("\n"))
            begin = header
            for _ in range(blank + 1):
                begin = self._text.index("\n", begin) + 1
            raw = self._text[begin : self._text.find("\n", begin)].removesuffix("\r")
            self.texts[path] = line, len(raw) - len(value[blank:].partition("\n")[0]) + 1
        elif event.style != ">" and start.line == end.line:
            quotes = 1 if event.style else 0
            if end.index - start.index == len(value) + 2 * quotes:
                self.texts[path] = start.line + 1, start.column + quotes + 1

    # -- findings

    def _check(self, text: str, path: Path, at: Position) -> None:
        if text.isprintable():
            return
        if "\0" in text:
            self._find("nul-character", f"{dotted(path)}: NUL not allowed", at)
        if match := _SURROGATE.search(text):
            self._find("surrogate-character", f"{dotted(path)}: U+{ord(match[0]):04X} is half a character", at)
        if match := _INVISIBLE.search(text):
            self._find("invisible-character", f"{dotted(path)}: U+{ord(match[0]):04X} cannot be seen", at)

    def _tag(self, tag: str, at: Position, path: Path) -> None:
        short = tag.replace(_YAML_TAG, "!!", 1)
        where = f"{dotted(path)}: " if path else ""
        self._find("unsupported-tag", f"{where}the tag {short} does not go with this value", at)

    def _find(self, code: str, message: str, at: Position | None, hint: str | None = None) -> None:
        self.findings.append(found(code, message, path=self.path, at=at, hint=hint))

    def _stop(self, code: str, message: str, at: Position) -> NoReturn:
        self._find(code, message, at)
        raise _StopError

    def _syntax(self, error: Any) -> None:
        mark = error.problem_mark or error.context_mark
        at = self._position(mark) if mark else (1, 1)
        lines = _BREAK.split(self._text)
        line = lines[at[0] - 1] if at[0] <= len(lines) else ""
        if re.match(r" *\t", line) or line[at[1] - 1 : at[1]] == "\t":
            at = at[0], line.index("\t") + 1
            self._find("tab-indentation", "a tab stands where YAML takes only spaces", at)
            return
        problem = error.problem or "this is not YAML"
        for part, message, hint in _PROBLEMS:
            if part in problem:
                break
        else:
            message, hint = problem, None
        if re.search(r"(?:^|[:-] )\s*\{\{", line):
            hint = "text that begins with {{ must be quoted, or stand in a | block"
        self._find("yaml-syntax", message, at, hint)


def _count(text: str, end: int | None) -> Position:
    """Return the line and column that follow the text up to an index."""
    lines = _BREAK.split(text[:end])
    return len(lines), len(lines[-1]) + 1


_QUOTE: Final = "quote the text, or put it in a | block"
_INDENT: Final = "keys of one mapping begin in the same column; look at the line above as well"
_CLOSE: Final = "close what was opened with [ or {, or quote the text"
_PROBLEMS: Final[tuple[tuple[str, str, str | None], ...]] = (
    ("mapping values are not allowed", "a colon followed by a space where no key can stand", _QUOTE),
    ("could not find expected ':'", "a key without its colon", "write `key: value`; " + _INDENT),
    ("did not find expected key", "the indentation does not fit, or text goes on behind a value", _INDENT),
    ("expected <block end>", "the indentation does not fit, or text goes on behind a value", _INDENT),
    ("did not find expected '-' indicator", "a list item without its dash, or wrong indentation", _INDENT),
    ("',' or ']'", "a list in brackets is not closed", _CLOSE),
    ("',' or '}'", "a mapping in braces is not closed", _CLOSE),
    ("unexpected end of stream", "the file ends inside a quoted text", "close the quotes"),
    ("unexpected document indicator", "--- or ... stands inside a quoted text", "close the quotes"),
    ("unknown escape character", "a backslash with a letter that YAML does not know", "double it, or use single quotes"),
    ("invalid Unicode character escape code", "half a character is no character", "write it as it is, or as \\UXXXXXXXX"),
    ("cannot start any token", "text cannot begin with this character", _QUOTE),
    ("undefined tag handle", "a ! that begins a tag nobody defined", _QUOTE),
    ("did not find expected alphabetic", "a * or & that is no alias or anchor", _QUOTE),
    ("did not find expected alphanumeric", "a * or & that is no alias or anchor", _QUOTE),
    ("found a tab character", "a tab stands where YAML takes only spaces", None),
)


# -- writing -----------------------------------------------------------------------------------------------------------

_LONGEST_KEY: Final = 120
_SAFE: Final = re.compile(r"[^\W\d](?:[\w ()/.,;+*=%$-]|:(?! |$))*(?<! )")
_BROKEN: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
_ESCAPED: Final = re.compile(f'["\\\\\t\n\xa0{_BROKEN}]')
_BLOCK: Final = re.compile(rf"(?=\s*\S)[^\n{_BROKEN}]*\n[^{_BROKEN}]*")
_SHORT: Final[Mapping[str, str]] = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def dump(data: Any) -> str:
    """Write plain JSON data as YAML that `load` reads back as the same data; other data is an InvalidArgumentError.

    >>> print(dump({"id": "a.b", "text": "two\\nlines\\n", "tags": ["x", "no"], "n": 1e-3}), end="")
    id: a.b
    text: |
      two
      lines
    tags:
      - x
      - "no"
    n: 0.001
    """
    inline, below = _node(data, root=True)
    return "\n".join([inline] if inline else below) + "\n"


def _node(value: Any, *, root: bool = False) -> tuple[str, list[str]]:
    """Return what stands behind the key or dash of a value, and the lines below it, not indented."""
    if isinstance(value, str):
        return _block(value) if not root and _BLOCK.fullmatch(value) else (_quoted(value), [])
    if isinstance(value, Mapping) and value:
        return "", [line for key, item in value.items() for line in _entry(key, item)]
    if isinstance(value, (list, tuple)) and value:
        return "", [line for item in value for line in _item(item)]
    return _atom(value), []


def _entry(key: Any, value: Any) -> list[str]:
    if not isinstance(key, str):
        raise InvalidArgumentError(f"keys are text, and {key!r} is not", argument="data", value=key)
    inline, below = _node(value)
    written = _quoted(key)
    head = f"{written}:" if len(written) <= _LONGEST_KEY else f"? {written}\n:"
    return [f"{head} {inline}" if inline else head, *_indented(below)]


def _item(value: Any) -> list[str]:
    inline, below = _node(value)
    return [f"- {inline}", *_indented(below)] if inline else [f"- {below[0]}", *_indented(below[1:])]


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" if line else line for line in lines]


def _block(text: str) -> tuple[str, list[str]]:
    body = text.rstrip("\n")
    kept = len(text) - len(body)
    chomp = "-" if kept == 0 else "" if kept == 1 else "+"
    indent = "2" if re.match(r"\n*[ \t]", text) else ""
    return f"|{indent}{chomp}", body.split("\n") + [""] * (kept - 1)


def _quoted(text: str) -> str:
    if _SAFE.fullmatch(text) and type(_plain(text)) is str:
        return text
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _SHORT.get(match[0]) or (f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}")


def _atom(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float) and math.isfinite(value):
        written = repr(float(value))
        return written if "." in written else written.replace("e", ".0e")
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, (list, tuple)):
        return "[]"
    raise InvalidArgumentError(f"JSON has no {type(value).__name__} {value!r}"[:200], argument="data", value=value)
