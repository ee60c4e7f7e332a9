"""The grammar of documents, written once: every key, its form, its default, its closed set and its older spellings.

Reading, canonical form, layering, changes and JSON Schemas all walk these tables; none of them names a key that
stands here. A key's `form` says what it holds:

    key        the identity of a document            text       a scalar as it is written
    name       what an item is known by              template   text that is rendered
    flag       true or false                         count      a whole number from 1
    choice     one of a closed set                   default    a value of the variable's type
    object     free JSON, a mapping                  config     free JSON, a mapping where null means absent
    mapping    keys of its own (`attributes`)        items      a list of mappings, each known by its `name`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

from ovstore.names import Kind

Form = Literal[
    "key", "name", "text", "template", "flag", "count", "choice", "default", "object", "config", "mapping", "items"
]
Merging = Literal["keys", "names", "whole"]

EXTENDS: Final = "extends"
REMOVE: Final = "$remove"
NAME: Final = "name"

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One key of a document. A `default` is what its absence means; `choices` has each spelling with its one form."""

    form: Form
    meaning: str
    required: bool = False
    default: Any = None
    choices: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    @property
    def merging(self) -> Merging:
        """How a patch's value meets the base's: key by key, item by name, or in its place."""
        if self.form in ("mapping", "config"):
            return "keys"
        return "names" if self.form == "items" else "whole"


def _closed(*values: str, **aliases: str) -> Mapping[str, str]:
    return MappingProxyType({value: value for value in values} | aliases)


_ALIASES: Final[Mapping[str, str]] = {
    "integer": "int",
    "int64": "int",
    "number": "float",
    "float32": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}
VARIABLE_TYPES: Final = _closed("string", "int", "float", "bool", "list", "dict", "any", **_ALIASES)
MERGE_OPS: Final = _closed("patch", "replace", "sum", "immutable")
OPERATION_MODES: Final = _closed("upsert", "add_only", "update_only")
STAGES: Final = _closed("user", "agent")

OVERVIEWS: Final = (".overview.md", ".abstract.md")
"""Files that are no memories, wherever memories lie; what the program writes there would go over one."""

_METADATA: Final[Mapping[str, Attribute]] = {
    "id": Attribute(form="key", required=True, meaning="The key: category.name, two parts or more joined by dots."),
    "name": Attribute(form="text", required=True, meaning="The title that people see."),
    "description": Attribute(form="text", required=True, meaning="What it is for."),
    "version": Attribute(form="text", required=True, meaning="The author's label; ovstore numbers versions itself."),
    "language": Attribute(form="text", required=True, meaning="The language that it is written in."),
    "category": Attribute(form="text", required=True, meaning="The first part of the id."),
}

_VARIABLE: Final[Mapping[str, Attribute]] = {
    "name": Attribute(form="name", required=True, meaning="The name that the template uses."),
    "type": Attribute(form="choice", required=True, choices=VARIABLE_TYPES, meaning="The type of its values."),
    "description": Attribute(form="text", required=True, meaning="What a caller should give."),
    "default": Attribute(form="default", meaning="Taken when a caller gives nothing; null is no default."),
    "required": Attribute(form="flag", default=True, meaning="Whether a caller must give it."),
    "max_length": Attribute(form="count", meaning="Text beyond this many characters is cut."),
}

_FIELD: Final[Mapping[str, Attribute]] = {
    "name": Attribute(form="name", required=True, meaning="The name of the stored value."),
    "type": Attribute(form="choice", default="string", choices=VARIABLE_TYPES, meaning="The type of the stored value."),
    "description": Attribute(form="template", default="", meaning="What to write there; may hold Jinja."),
    "merge_op": Attribute(
        form="choice", default="patch", choices=MERGE_OPS, meaning="How an update meets the old value."
    ),
    "init_value": Attribute(form="text", meaning="What a new memory file starts with, as text."),
}

_PROMPT: Final[Mapping[str, Attribute]] = {
    "metadata": Attribute(form="mapping", required=True, attributes=_METADATA, meaning="What the prompt is."),
    "variables": Attribute(form="items", default=(), attributes=_VARIABLE, meaning="What a caller gives."),
    "template": Attribute(form="template", required=True, meaning="The text, in Jinja2."),
    "output_schema": Attribute(form="object", meaning="JSON Schema of the answer."),
    "llm_config": Attribute(form="config", default=_NOTHING, meaning="Settings for the model call."),
}

_MEMORY: Final[Mapping[str, Attribute]] = {
    "memory_type": Attribute(form="key", required=True, meaning="The key: one part, no dots."),
    "description": Attribute(form="template", default="", meaning="What belongs into this memory; may hold Jinja."),
    "fields": Attribute(form="items", required=True, attributes=_FIELD, meaning="What is stored."),
    "filename_template": Attribute(form="template", required=True, meaning="The file's name below the directory."),
    "content_template": Attribute(form="template", meaning="The body of a memory file."),
    "embedding_template": Attribute(form="template", meaning="The text that is embedded for retrieval."),
    "overview_template": Attribute(form="template", meaning="The overview of a directory."),
    "directory": Attribute(form="template", required=True, meaning="Where the files lie."),
    "enabled": Attribute(form="flag", default=True, meaning="Whether the type is used."),
    "operation_mode": Attribute(
        form="choice", default="upsert", choices=OPERATION_MODES, meaning="Whether memories may be added and changed."
    ),
    "stage": Attribute(form="choice", default="user", choices=STAGES, meaning="Which extraction fills it."),
    "peer_enabled": Attribute(form="flag", default=True, meaning="Whether it may be kept for peers."),
}

_SETTINGS: Final[Mapping[str, Attribute]] = {
    "metadata": Attribute(form="mapping", required=True, attributes=_METADATA, meaning="What the settings are for."),
    "values": Attribute(form="config", required=True, meaning="The settings by name."),
}

GRAMMAR: Final[Mapping[Kind, Mapping[str, Attribute]]] = MappingProxyType(
    {"prompt": _PROMPT, "memory": _MEMORY, "settings": _SETTINGS}
)
IDENTITY: Final[Mapping[Kind, tuple[str, ...]]] = MappingProxyType(
    {"prompt": ("metadata", "id"), "memory": ("memory_type",), "settings": ("metadata", "id")}
)
OLDER_SPELLINGS: Final[Mapping[Kind, Mapping[str, str]]] = MappingProxyType(
    {
        "prompt": _NOTHING,
        "settings": _NOTHING,
        "memory": MappingProxyType({"name": "memory_type", "enable": "enabled", "agent_only": "stage"}),
    }
)


def walk(kind: Kind) -> Iterator[tuple[tuple[str, ...], Attribute]]:
    """Yield every attribute of a kind with its path, items' attributes below their list: ("fields", "merge_op")."""
    for name, attribute in GRAMMAR[kind].items():
        yield (name,), attribute
        for inner, part in attribute.attributes.items():
            yield (name, inner), part
