"""Memory types at work: paths, contents, merges, files, and what a schema change does to what is stored.

Pure: schemas, records, messages and times come in, texts and records go out. docs/memory.md tells the rules, and where
and why they differ from OpenViking's.
"""

from ovstore.memory.files import MemoryFile, read_file, write_file
from ovstore.memory.impact import Impact, Merging, Moved, Record, Stopped
from ovstore.memory.merging import CLEAR, MERGE_SEMANTICS, merge_value
from ovstore.memory.paths import collisions
from ovstore.memory.types import MemoryType

__all__ = [
    "CLEAR",
    "MERGE_SEMANTICS",
    "Impact",
    "MemoryFile",
    "MemoryType",
    "Merging",
    "Moved",
    "Record",
    "Stopped",
    "collisions",
    "merge_value",
    "read_file",
    "write_file",
]
