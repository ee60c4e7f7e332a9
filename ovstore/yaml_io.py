"""YAML in, with the place of every part. The only module that imports `yaml`; `yaml_text` writes.

`load` walks the parser's events once and builds plain data itself: limits on size, depth, nodes and what aliases expand
to hold before anything is built, a duplicate key is told with both lines, and no tag can make anything but plain data.
A plain scalar that YAML takes for something other than text becomes a `Scalar`, which keeps its text; every key is
text. Aliases and merge keys (`<<`) are read as PyYAML reads them.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import yaml

from ovstore import yaml_problems
from ovstore.findings import dotted, found, shown
from ovstore.results import Finding
from ovstore.scalars import Scalar, plain

MAX_SOURCE: Final = 2 * 1024 * 1024
"""Bytes of one source: 400,000 characters of Chinese are 1.2 million bytes."""
MAX_DEPTH: Final = 100
"""Mappings and lists inside one another, the document itself counted. Many a JSON library stops not far above."""
MAX_NODES: Final = 100_000
"""Keys, values, mappings and lists of one document, aliases counted as what they stand for."""

Path = tuple[str | int, ...]
Position = tuple[int, int]


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

    def at(self, path: Path) -> Position | None:
        """Return the place of a value, or of the nearest one that holds it."""
        for end in range(len(path), -1, -1):
            if place := self.positions.get(path[:end]):
                return place
        return None

    def moved(self, move: Callable[[Path], Path | None]) -> Loaded:
        """Return the same with the places under other paths; None leaves a place out."""

        def under(places: Mapping[Path, Position]) -> Mapping[Path, Position]:
            return {there: at for path, at in places.items() if (there := move(path)) is not None}

        return dataclasses.replace(
            self, positions=under(self.positions), keys=under(self.keys), texts=under(self.texts)
        )

    def renamed(self, names: Mapping[str, str]) -> Loaded:
        """Return the same with other names for top-level keys in the places."""
        return self.moved(lambda path: (names.get(str(path[0]), path[0]), *path[1:]) if path else path)


def load(source: bytes, path: str | None = None) -> Loaded:
    """Read one YAML document. Bad input never raises: data is None and the findings say why.

    After a duplicate key and the like the rest is read on, so that all is told at once; data is then what was read.
    """
    composer = _Composer(path)
    text = composer.decode(source)
    if text is not None:
        composer.compose(text)
    return Loaded(composer.root, composer.positions, composer.keys, composer.texts, tuple(composer.findings))


_Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_YAML_TAG: Final = "tag:yaml.org,2002:"
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}
_UNREADABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNWANTED: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_UNUSUAL_BREAKS: Final = ("\x85", "\u2028", "\u2029")
_BREAK: Final = re.compile("\r\n|\r|\n")
_DIRECTIVE: Final = re.compile("%TAG(?=[ \t])")
_DIRECTIVES: Final = 1_000
_BOM: Final = "\ufeff"
_BOM_AT_START: Final = re.compile("(?:^|(?<=[\r\n]))\ufeff")
_SHOWN: Final = 20


class _StopError(Exception):
    """What was found leaves nothing to read on."""


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not been reached; nodes and characters are those counted before it.

    `key` is the index of the next item of a list, None where a mapping's next key is still to come.
    """

    data: dict[str, Any] | list[Any]
    path: Path
    at: Position
    key: str | int | None
    anchor: str | None
    nodes: int
    characters: int
    height: int = 1
    merging: bool = False
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
            text = source.decode("utf-8").removeprefix(_BOM)
        except UnicodeDecodeError as error:
            at = _end(source[: error.start].decode("utf-8").removeprefix(_BOM))
            utf_16 = source[:2] in (b"\xff\xfe", b"\xfe\xff")
            what = "the source is UTF-16" if utf_16 else f"byte 0x{source[error.start]:02X} is not UTF-8"
            self._find("not-utf-8", what, at)
            return None
        marks = list(itertools.islice(_BOM_AT_START.finditer(text), _SHOWN)) if _BOM in text else []
        for match in marks:
            at = _end(text[: match.start()])
            self._find("byte-order-mark", "a byte order mark (U+FEFF) that does not begin the file", at)
        if marks:
            return None
        # The parser compares each %TAG directive with all before it: a file of nothing else would take minutes.
        if len(_DIRECTIVE.findall(text)) > _DIRECTIVES:
            self._find("unsupported-tag", f"more than {_DIRECTIVES} %TAG directives", (1, 1))
            return None
        if text.replace("\n", "").isprintable():
            return text
        unreadable = list(itertools.islice(_UNREADABLE.finditer(text), _SHOWN))
        for match in unreadable:
            code, what = "control-character", f"control character U+{ord(match[0]):04X}"
            if match[0] == "\0":
                code, what = "nul-character", "NUL not allowed"
            self._find(code, what, _end(text[: match.start()]))
        return None if unreadable else text

    def compose(self, text: str) -> None:
        """Walk the events; the root stays None when the document cannot be read as a whole."""
        self._text = text
        if any(mark in text for mark in _UNUSUAL_BREAKS) or ("\r" in text and re.search("\r(?!\n)", text)):
            self._starts = [0, *(match.end() for match in _BREAK.finditer(text))]
        handlers = {
            yaml.DocumentStartEvent: self._document,
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._start,
            yaml.SequenceStartEvent: self._start,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
        }
        try:
            for event in yaml.parse(text, Loader=_Loader):
                if handler := handlers.get(type(event)):
                    handler(event)
            if not self._documents or (isinstance(self.root, Scalar) and self.root.value is None):
                what = "not a prompt, memory schema, settings document or patch: expected a mapping, the file is empty"
                self._stop("empty-document", what, (1, 1))
        except yaml.YAMLError as error:
            self.root = None
            self._syntax(error)
        except _StopError:
            self.root = None

    # -- events

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            self._stop("several-documents", "a second document begins here", self._position(event.start_mark))

    def _scalar(self, event: Any) -> None:
        text: str = event.value
        at = self._position(event.start_mark)
        value = self._tagged(event, at) if event.tag else text if event.style else plain(text)
        self._add(1, len(text), at)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, 1, len(text), 0)
        frame = self._stack[-1] if self._stack else None
        if frame and frame.key is None:
            self._key(frame, value, at, merging=text == "<<" and not event.style and not event.tag)
            return
        path = self._path()
        if type(value) is str:
            if not text.isprintable():
                self._check(text, path, at)
            if "{" in text:
                self._find_text(event, text, path)
        self.positions[path] = at
        self._put(value)

    def _tagged(self, event: Any, at: Position) -> str | Scalar:
        name = event.tag.removeprefix(_YAML_TAG)
        value = plain(event.value)
        if name == "str" or (name == "!" and event.style):
            return str(event.value)
        if name == "!":
            return value
        if isinstance(value, Scalar) and type(value.value) in _TYPES.get(name, ()):
            return Scalar(float(value.value or 0), value.text) if name == "float" else value
        self._tag(event.tag, self._path(), at)
        return str(event.value)

    def _start(self, event: Any) -> None:
        at, path = self._position(event.start_mark), self._path()
        if len(self._stack) == MAX_DEPTH:
            self._stop("too-deep", f"more than {MAX_DEPTH} mappings and lists inside one another", at)
        mapping = type(event) is yaml.MappingStartEvent
        if event.tag not in (None, "!", f"{_YAML_TAG}{'map' if mapping else 'seq'}"):
            self._tag(event.tag, path, at)
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        if not self._stack or self._stack[-1].key is not None:
            at = self.positions[path] = self.keys.get(path, at)
        data: dict[str, Any] | list[Any] = {} if mapping else []
        key = None if mapping else 0
        self._stack.append(_Open(data, path, at, key, event.anchor, self._nodes, self._characters))
        self._add(1, 0, at)

    def _end(self, _: Any) -> None:
        frame = self._stack.pop()
        data = frame.data
        if frame.merged and isinstance(data, dict):
            own, data = data, {}
            for name, value in itertools.chain.from_iterable(source.items() for source in frame.merged):
                data.setdefault(name, value)
            data.update(own)
        if frame.anchor is not None:
            nodes, characters = self._nodes - frame.nodes, self._characters - frame.characters
            self._anchors[frame.anchor] = _Anchored(data, nodes, characters, frame.height)
        self._put(data, frame.height, frame.at)

    def _alias(self, event: Any) -> None:
        at, name = self._position(event.start_mark), shown(event.anchor)
        if any(frame.anchor == event.anchor for frame in self._stack):
            self._stop("alias-cycle", f"*{name} stands inside what it stands for", at)
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            self._stop("unknown-alias", f"*{name} stands for nothing: there is no &{name} before it", at)
        if len(self._stack) + anchored.height > MAX_DEPTH:
            self._stop("too-deep", f"with *{name}, more than {MAX_DEPTH} mappings and lists inside one another", at)
        self._add(anchored.nodes, anchored.characters, at, aliased=True)
        if self._stack and self._stack[-1].key is not None:
            self.positions[self._path()] = at
        self._put(anchored.data, anchored.height, at)

    def _add(self, nodes: int, characters: int, at: Position, *, aliased: bool = False) -> None:
        self._nodes += nodes
        self._characters += characters
        if self._nodes > MAX_NODES or self._characters > MAX_SOURCE:
            if aliased:
                limits = f"{MAX_NODES:,} nodes or {MAX_SOURCE:,} characters"
                self._stop("alias-expansion", f"the aliases up to here stand for more than {limits}", at)
            self._stop("too-many-nodes", f"more than {MAX_NODES:,} keys and values", at)

    # -- putting values in their place

    def _path(self) -> Path:
        """Return the path of the value that comes next; for a key, that of its mapping."""
        if not self._stack:
            return ()
        frame = self._stack[-1]
        return frame.path if frame.key is None else (*frame.path, frame.key)

    def _put(self, value: Any, height: int = 0, at: Position = (1, 1)) -> None:
        if not self._stack:
            self.root = value
            return
        frame = self._stack[-1]
        frame.height = max(frame.height, height + 1)
        if isinstance(frame.data, list):
            frame.data.append(value)
            frame.key = len(frame.data)
        elif frame.key is None:
            self._key(frame, value, at)
        elif frame.merging:
            frame.key, frame.merging = None, False
            self._merge(frame, value, self.positions[(*frame.path, "<<")])
        else:
            frame.data[str(frame.key)] = value
            frame.key = None

    def _key(self, frame: _Open, value: Any, at: Position, *, merging: bool = False) -> None:
        text = value.text if isinstance(value, Scalar) else value
        if not isinstance(text, str) or (isinstance(value, Scalar) and value.value is None):
            what = "nothing" if isinstance(value, Scalar) else "a list" if isinstance(value, list) else "a mapping"
            self._stop("bad-key", f"{_inside(frame.path)}{what} stands where a key should be", at)
        path = (*frame.path, text)
        if _BOM in text:
            what = f"a byte order mark (U+FEFF) is part of the key {shown(text)}"
            self._find("byte-order-mark", _inside(frame.path) + what, at)
        elif not text.isprintable():
            self._check(text, path, at)
        if isinstance(value, Scalar):
            what = f"the key `{shown(text)}` is not text to YAML; it is read as text here"
            self._find("non-text-key", _inside(frame.path) + what, at)
        if text in frame.data:
            lines = f"line {self.keys[path][0]} and on line {at[0]}"
            self._find("duplicate-key", f"{dotted(path)} is there twice: on {lines}", at)
        self.keys[path] = at
        frame.key, frame.merging = text, merging

    def _merge(self, frame: _Open, value: Any, at: Position) -> None:
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
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
        for character in sorted(set(_UNWANTED.findall(text))):
            if character == "\0":
                self._find("nul-character", f"{dotted(path)}: NUL not allowed", at)
            elif "\ud800" <= character <= "\udfff":
                self._find("surrogate-character", f"{dotted(path)}: U+{ord(character):04X} is half a character", at)
            else:
                self._find("invisible-character", f"{dotted(path)}: U+{ord(character):04X} cannot be seen", at)

    def _tag(self, tag: str, path: Path, at: Position) -> None:
        short = shown(tag.replace(_YAML_TAG, "!!", 1))
        self._find("unsupported-tag", f"{_inside(path)}the tag {short} does not go with this value", at)

    def _find(self, code: str, message: str, at: Position | None, hint: str | None = None) -> None:
        self.findings.append(found(code, message, path=self.path, at=at, hint=hint))

    def _stop(self, code: str, message: str, at: Position) -> NoReturn:
        self._find(code, message, at)
        raise _StopError

    def _syntax(self, error: Any) -> None:
        at = self._position(error.context_mark if yaml_problems.opened(error.problem) else error.problem_mark)
        lines = _BREAK.split(self._text.rstrip())
        if at[0] > len(lines):  # a file that is cut off: the parser is behind its end
            at = len(lines), len(lines[-1]) - len(lines[-1].lstrip()) + 1
        line = lines[at[0] - 1]
        code, message, hint = yaml_problems.explain(error.problem, line, at[1])
        if code == "tab-indentation":
            at = at[0], line.index("\t") + 1
        self._find(code, message, at, hint)


def _inside(path: Path) -> str:
    return f"{dotted(path)}: " if path else ""


def _end(text: str) -> Position:
    """Return the line and column that follow a text."""
    lines = _BREAK.split(text)
    return len(lines), len(lines[-1]) + 1
