"""What the façade hands out: documents in the shapes that OpenViking's callers know.

They are copies, new for each call: changing one changes no template. Upstream's two enumerations of memory fields
compare equal to their words, as there.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field

from ovstore.documents import MemorySchema


class PromptMetadata(BaseModel):
    id: str
    name: str
    description: str
    version: str
    language: str
    category: str


class PromptVariable(BaseModel):
    """A variable as its author wrote it: the type may be an alias, such as `integer`."""

    name: str
    type: str
    description: str
    default: Any = None
    required: bool = True
    max_length: int | None = None


class PromptTemplate(BaseModel):
    metadata: PromptMetadata
    variables: list[PromptVariable] = Field(default_factory=list)
    template: str
    output_schema: dict[str, Any] | None = None
    llm_config: dict[str, Any] | None = None


class FieldType(StrEnum):
    STRING = "string"
    INT64 = "int64"
    FLOAT32 = "float32"
    BOOL = "bool"
    LIST = "list"
    DICT = "dict"
    ANY = "any"


class MergeOp(StrEnum):
    PATCH = "patch"
    REPLACE = "replace"
    SUM = "sum"
    IMMUTABLE = "immutable"


class MemoryField(BaseModel):
    name: str
    field_type: FieldType = FieldType.STRING
    description: str = ""
    merge_op: MergeOp = MergeOp.PATCH
    init_value: str | None = None


class MemoryTypeSchema(BaseModel):
    memory_type: str
    description: str = ""
    fields: list[MemoryField] = Field(default_factory=list)
    filename_template: str
    content_template: str | None = None
    embedding_template: str | None = None
    overview_template: str | None = None
    directory: str
    enabled: bool = True
    operation_mode: str = "upsert"
    stage: str = "user"
    peer_enabled: bool = True


def schema_of(document: MemorySchema) -> MemoryTypeSchema:
    """Return a memory schema in upstream's shape."""
    fields = [
        MemoryField(
            name=field.name,
            field_type=FieldType(field.stored_type),
            description=field.description,
            merge_op=MergeOp(field.merge_op),
            init_value=field.init_value,
        )
        for field in document.fields
    ]
    return MemoryTypeSchema(**document.model_dump(exclude={"fields"}), fields=fields)


def data_of(schema: MemoryTypeSchema) -> dict[str, Any]:
    """Return a schema of upstream's shape as a document is written."""
    data = schema.model_dump(mode="json", exclude_none=True)
    for field in data["fields"]:
        field["type"] = field.pop("field_type")
    return data
