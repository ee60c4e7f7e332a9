"""Drop-ins for OpenViking's prompt manager and memory type registry, over a store and a tenant.

    from ovstore.openviking import render_prompt

    render_prompt("semantic.document_summary", {"file_name": "a.md", "content": "…"})

Names, arguments, the order of directories and the errors that callers catch are upstream's; docs/openviking.md tells
what is the same to the byte and where, on purpose, it is not. Beside the command line this is the only package that
reads the environment.
"""

from ovstore.openviking.configuration import MissingDirectoryError
from ovstore.openviking.manager import (
    PromptManager,
    TemplateNotFoundError,
    get_llm_config,
    get_manager,
    render_prompt,
)
from ovstore.openviking.models import (
    FieldType,
    MemoryField,
    MemoryTypeSchema,
    MergeOp,
    PromptMetadata,
    PromptTemplate,
    PromptVariable,
)
from ovstore.openviking.registry import MemoryTypeRegistry

__all__ = [
    "FieldType",
    "MemoryField",
    "MemoryTypeRegistry",
    "MemoryTypeSchema",
    "MergeOp",
    "MissingDirectoryError",
    "PromptManager",
    "PromptMetadata",
    "PromptTemplate",
    "PromptVariable",
    "TemplateNotFoundError",
    "get_llm_config",
    "get_manager",
    "render_prompt",
]
