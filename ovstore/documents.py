"""Documents: a prompt, a memory schema, a patch, as frozen models and as plain data.

A document **as written** is plain JSON data: the order and the values of the file, nothing filled in, older spellings
renamed, unknown keys left out; absent and null are the same (in a patch null stays, since it removes). The
**canonical** document has every default filled in, one spelling for each type, and its items sorted by name: two
documents are equal when their canonical JSON is. `parse` goes from YAML to a document and never raises for what the
YAML says: everything wrong is a finding. How documents are laid over one another is `layering`'s.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, PrivateAttr

from ovstore import names
from ovstore.errors import InvalidArgumentError
from ovstore.findings import found
from ovstore.grammar import EXTENDS, GRAMMAR, NAME, VARIABLE_TYPES, Attribute
from ovstore.loading import Later
from ovstore.names import Kind, Mode
from ovstore.results import Finding

if TYPE_CHECKING:
    from ovstore import reading, yaml_io, yaml_text
    from ovstore.yaml_io import Loaded, Path, Position
else:
    # What is stored is JSON: only what comes in and goes out is YAML.
    reading, yaml_io, yaml_text = map(Later, ("reading", "yaml_io", "yaml_text"))

MAX_FINDINGS: Final = 100
"""Findings told of one file; errors come first, and the last one says how many more there are."""

Type = Literal["string", "int", "float", "bool", "list", "dict", "any"]


def _one_spelling(given: Any) -> Any:
    return VARIABLE_TYPES.get(given, given) if isinstance(given, str) else given


AnySpelling = Annotated[Type, BeforeValidator(_one_spelling)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def __getattribute__(self, name: str) -> Any:
        # Documents are shared between calls and threads: who reads free JSON gets a copy of it.
        value = super().__getattribute__(name)
        return _copy(value) if type(value) in (dict, list) and name[0] != "_" else value


class Metadata(_Frozen):
    id: str
    name: str
    description: str
    version: str
    language: str
    category: str


class Variable(_Frozen):
    """What a caller gives to a prompt. A default of None is no default."""

    name: str
    type: AnySpelling
    description: str
    default: Any = None
    required: bool = True
    max_length: int | None = None


class Field(_Frozen):
    """One stored value of a memory type."""

    name: str
    type: AnySpelling = "string"
    description: str = ""
    merge_op: Literal["patch", "replace", "sum", "immutable"] = "patch"
    init_value: str | None = None

    @property
    def stored_type(self) -> str:
        """The type as memory schemas call it: int64 and float32 say how large a number may be."""
        return {"int": "int64", "float": "float32"}.get(self.type, self.type)


class Document(_Frozen):
    """The content of a template. Its attributes are also read as `document["template"]`, then as plain data."""

    _written: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    @abstractmethod
    def key(self) -> str: ...

    @property
    @abstractmethod
    def kind(self) -> Kind: ...

    @property
    def mode(self) -> Mode:
        return "full"

    def as_written(self) -> dict[str, Any]:
        """Return a copy of what the author wrote, as plain data: nothing filled in."""
        copy: dict[str, Any] = _copy(self._written)
        return copy

    def canonical(self) -> dict[str, Any]:
        return canonical(self.kind, self.mode, self._written)

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute as plain data; the default where the document has no such, or leaves it out."""
        try:
            return self[name]
        except KeyError:
            return default

    def __getitem__(self, name: str) -> Any:
        attribute = GRAMMAR[self.kind][name]
        value = self._written.get(name)
        if value is not None:
            return _copy(_one_form(attribute, value, fill=True, sort=False))
        if attribute.default is None:
            raise KeyError(name)
        return _default(attribute)

    def __contains__(self, name: object) -> bool:
        return self.get(str(name)) is not None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; with `update` an InvalidArgumentError, since nothing would check what comes in."""
        if update:
            message = "a document is changed as data: take as_written(), change that, and publish it"
            raise InvalidArgumentError(message, argument="update", value=dict(update))
        return super().model_copy(deep=deep)


class Prompt(Document):
    metadata: Metadata
    variables: tuple[Variable, ...] = ()
    template: str
    output_schema: dict[str, Any] | None = None
    llm_config: dict[str, Any] = {}

    @property
    def key(self) -> str:
        return self.metadata.id

    @property
    def kind(self) -> Kind:
        return "prompt"


class MemorySchema(Document):
    memory_type: str
    description: str = ""
    fields: tuple[Field, ...]
    filename_template: str
    content_template: str | None = None
    embedding_template: str | None = None
    overview_template: str | None = None
    directory: str
    enabled: bool = True
    operation_mode: Literal["upsert", "add_only", "update_only"] = "upsert"
    stage: Literal["user", "agent"] = "user"
    peer_enabled: bool = True

    @property
    def key(self) -> str:
        return self.memory_type

    @property
    def kind(self) -> Kind:
        return "memory"


class Settings(Document):
    """Values that steer a program, by name; what names there are and what they mean is the program's."""

    metadata: Metadata
    values: dict[str, Any]

    @property
    def key(self) -> str:
        return self.metadata.id

    @property
    def kind(self) -> Kind:
        return "settings"


class Patch(Document):
    """What differs from a document below. Beside `extends`, its keys are read as `patch["template"]`; None removes."""

    extends: str

    @property
    def key(self) -> str:
        return self.extends

    @property
    def kind(self) -> Kind:
        if names.is_memory_key(self.extends):
            return "memory"
        return "settings" if "values" in self._written else "prompt"

    @property
    def mode(self) -> Mode:
        return "patch"

    def __getitem__(self, name: str) -> Any:
        return _copy(self._written[name])

    def __contains__(self, name: object) -> bool:
        return name in self._written


@dataclass(frozen=True, slots=True)
class Parsed:
    """A source that was read. Key, kind and mode are told as far as they could be made out.

    `data` is the document as written, as much of it as could be read, None when nothing could: each value has the form
    of its key, each item a name. `document` is None when there is an error among the findings.
    """

    key: str | None
    kind: Kind | None
    mode: Mode | None
    data: dict[str, Any] | None
    document: Document | None
    findings: tuple[Finding, ...]
    loaded: Loaded

    @property
    def positions(self) -> Mapping[Path, Position]:
        return self.loaded.positions

    @property
    def whole(self) -> bool:
        """Whether every variable or field of the file is in the data: a name that is not there is declared nowhere."""
        if self.document is not None:
            return True
        if self.kind is None or self.data is None:
            return False
        for name, attribute in GRAMMAR[self.kind].items():
            if attribute.form == "items":
                written, read = self.loaded.data.get(name), self.data.get(name)
                if read is None and (attribute.required or written is not None):
                    return False
                if read is not None and len(read) < len(written):
                    return False
        return True

    def at(self, *path: str | int) -> Position | None:
        """Return line and column, from 1, of a value in the file, or of the nearest one that holds it.

        >>> parse(b"memory_type: profile\\nfields:\\n- name: content\\n").at("fields", 0, "merge_op")
        (3, 3)
        """
        return self.loaded.at(path)

    def template_position(self, path: Path, line: int, column: int) -> Position | None:
        """Return where a line and column of a text, from 1, lie in the file.

        Exact for a text in a `|` block or on one line without escapes; of any other it is where the text begins.
        """
        begin = self.loaded.texts.get(path)
        return (begin[0] + line - 1, begin[1] + column - 1) if begin else self.at(*path)


def parse(source: bytes, path: str | None = None) -> Parsed:
    """Read YAML into a document. Findings carry the path and come in the order of the file."""
    read = reading.read(yaml_io.load(source, path), path)
    document = None
    if read.data is not None and read.kind and read.mode and not _refused(read.findings):
        document = _model(read.kind, read.mode, read.data)
    findings = _bounded(read.findings, path)
    return Parsed(read.key, read.kind, read.mode, read.data, document, findings, read.loaded)


def build(
    kind: Kind, data: Mapping[str, Any], places: Loaded | None = None, path: str | None = None
) -> tuple[Document | None, tuple[Finding, ...]]:
    """Make a full document from plain data as written, such as a fold gives; None when a finding is an error.

    Findings have places where it is told what of the data stands where in which file.
    """
    read = reading.check(kind, data, places, path)
    if read.data is None or _refused(read.findings):
        return None, read.findings
    return _model(kind, "full", read.data), read.findings


def stored(kind: Kind, data: Mapping[str, Any]) -> Document:
    """Make a full document of data that was found valid when it was stored; nothing is checked again."""
    return _model(kind, "full", dict(data))


def generate(document: Document | Mapping[str, Any]) -> bytes:
    """Write a document, full or patch, as YAML; parsed again it is the same document as written."""
    data = document.as_written() if isinstance(document, Document) else document
    return yaml_text.dump(data).encode("utf-8", "backslashreplace")


def canonical(kind: Kind, mode: Mode, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the canonical form of a document as written. It may share parts with the data: change neither.

    In a patch nothing is filled in and null stays.

    >>> canonical("prompt", "patch", {"extends": "a.b", "variables": [{"name": "q", "type": "integer"}]})
    {'extends': 'a.b', 'variables': [{'name': 'q', 'type': 'int'}]}
    """
    return _formed(GRAMMAR[kind], data, fill=mode == "full", sort=True)


_SHAPED: Final = frozenset({"choice", "mapping", "items", "config"})
"""The forms whose values can be written in several ways."""


def _formed(
    attributes: Mapping[str, Attribute], data: Mapping[str, Any], *, fill: bool, sort: bool = False
) -> dict[str, Any]:
    """Bring each value into its one form; fill in what is absent, where asked to."""
    result: dict[str, Any] = {}
    for name, value in data.items():
        attribute = attributes.get(name)
        if value is not None and attribute is not None and attribute.form in _SHAPED:
            result[name] = _one_form(attribute, value, fill, sort)
        elif value is not None or not fill:
            result[name] = value
    if fill:
        for name, attribute in attributes.items():
            if name not in result and attribute.default is not None:
                result[name] = _default(attribute)
    return result


def _one_form(attribute: Attribute, value: Any, fill: bool, sort: bool) -> Any:
    if attribute.form == "choice":
        return attribute.choices.get(value, value)
    if attribute.form == "mapping":
        return _formed(attribute.attributes, value, fill=fill, sort=sort)
    if attribute.form == "items":
        items = [_formed(attribute.attributes, item, fill=fill, sort=sort) for item in value]
        return sorted(items, key=lambda item: str(item[NAME])) if sort else items
    if attribute.form == "config" and fill:
        return {name: item for name, item in value.items() if item is not None}
    return value


def _default(attribute: Attribute) -> Any:
    default = attribute.default
    return list(default) if isinstance(default, tuple) else dict(default) if isinstance(default, Mapping) else default


_MODELS: Final[Mapping[Kind, type[Document]]] = {"prompt": Prompt, "memory": MemorySchema, "settings": Settings}


def _model(kind: Kind, mode: Mode, data: dict[str, Any]) -> Document:
    document: Document
    if mode == "patch":
        document = Patch(extends=data[EXTENDS])
    else:
        document = _MODELS[kind].model_validate(_formed(GRAMMAR[kind], data, fill=True))
    document._written = data
    return document


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _refused(findings: tuple[Finding, ...]) -> bool:
    return any(finding.severity == "error" for finding in findings)


def _bounded(findings: tuple[Finding, ...], path: str | None) -> tuple[Finding, ...]:
    """Put findings in the order of the file; of too many keep the worst."""
    if len(findings) > MAX_FINDINGS:
        rest = len(findings) - MAX_FINDINGS
        worst = sorted(findings, key=lambda finding: ("error", "warning", "info").index(finding.severity))
        findings = (*worst[:MAX_FINDINGS], found("more-findings", f"{rest:,} more findings are not shown", path=path))
    return tuple(sorted(findings, key=lambda finding: (finding.line or math.inf, finding.column or 0)))
