"""MemoryTypeRegistry over a store: the memory types of a tenant, as they are when the registry is made.

Upstream makes a registry wherever it needs one and reads the disk each time; here that is one statement. What is loaded
from files, or registered, stands beside what the store has in this one object: nothing is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ovstore import checking, directories, documents, gathering
from ovstore.checking import Checked
from ovstore.documents import MemorySchema
from ovstore.errors import InvalidArgumentError, InvalidDocumentError, PathError
from ovstore.memory import MemoryType, paths
from ovstore.openviking.configuration import MEMORY, MissingDirectoryError, Place, existing
from ovstore.openviking.manager import get_manager
from ovstore.openviking.models import MemoryTypeSchema, data_of, schema_of
from ovstore.store import Store


class MemoryTypeRegistry:
    """Memory types by name: those of `store` and `tenant`, without a store those of `get_manager()`.

    `load_schemas=False` begins with none. The schemas that it gives are copies. What it takes is checked as for
    publishing: InvalidDocumentError, which is a ValueError, has everything that is wrong.
    """

    def __init__(self, load_schemas: bool = True, *, store: Store | None = None, tenant: str | None = None) -> None:
        self._types: dict[str, MemorySchema] = {}
        if not load_schemas:
            return
        if store is None:
            manager = get_manager()
            store, tenant = manager.store, tenant or manager.tenant
        # Schemas of other categories, such as skill_extract, have uses of their own and are no memory types upstream.
        ours = {listing.key for listing in store.templates(tenant=tenant, kind="memory", category=MEMORY)}
        for resolved in store.resolve_many(tenant=tenant).values():
            if resolved.key in ours and isinstance(resolved.document, MemorySchema):
                self._types[resolved.key] = resolved.document

    def get(self, name: str) -> MemoryTypeSchema | None:
        return schema_of(self._types[name]) if name in self._types else None

    def list_all(self, include_disabled: bool = False) -> list[MemoryTypeSchema]:
        return [schema_of(self._types[name]) for name in self.list_names(include_disabled)]

    def list_names(self, include_disabled: bool = False) -> list[str]:
        return [name for name, document in self._types.items() if include_disabled or document.enabled]

    def list_search_uris(self, user_space: str, agent_space: str | None = None) -> list[str]:
        """Return the directories of all enabled types, each once.

        Left out are those in an agent's space where none is given, and those that differ from record to record. Raises
        PathError for a space that is none.
        """
        paths.component(user_space, "user_space")
        if agent_space is not None:
            paths.component(agent_space, "agent_space")
        found: dict[str, None] = {}
        for name in self.list_names():
            document, _ = documents.build("memory", {**self._types[name].as_written(), "filename_template": "any"})
            assert isinstance(document, MemorySchema), "a directory that was checked"
            try:
                path = MemoryType(document).path({}, user_space=user_space, agent_space=agent_space)
            except PathError:
                continue
            found[path.rpartition("/")[0]] = None
        return list(found)

    def register(self, memory_type: MemoryTypeSchema, replace: bool = False) -> None:
        """Add a type. Raises ValueError for one that is not valid or, without `replace`, is there already."""
        self._add([checking.check_source(documents.generate(data_of(memory_type)))], replace)

    def load_from_yaml(self, yaml_path: Place, replace: bool = False) -> None:
        """Add the type of a file."""
        path = Path(yaml_path)
        if not path.is_file():
            raise MissingDirectoryError(f"there is no file {path}", argument="yaml_path", value=yaml_path)
        self._add([checking.check_source(path.read_bytes(), str(path))], replace)

    def load_from_directory(self, dir_path: Place, replace: bool = False) -> int:
        """Add the types of all files right in a directory, or none of them; return how many there are."""
        listed = directories.listing(existing(dir_path, "dir_path"))
        files = [file for file in listed.files if not file.folders]
        found = list(gathering.gather(files))
        findings = [*listed.findings, *(finding for one in found for finding in one.findings)]
        if any(finding.severity == "error" for finding in findings):
            raise InvalidDocumentError(findings)
        return self._add([one.checked for one in found if one.checked is not None], replace)

    def _add(self, sources: Sequence[Checked], replace: bool) -> int:
        added: dict[str, MemorySchema] = {}
        for checked in sources:
            checking.require(checked)
            document = checked.parsed.document
            if not isinstance(document, MemorySchema):
                said = (
                    f"{checked.path or 'this'} is no memory schema but a {checked.parsed.kind} ({checked.parsed.mode})"
                )
                raise InvalidArgumentError(said, argument="memory_type", value=checked.path)
            if document.key in self._types and not replace:
                said = f"the memory type {document.key} is registered already; replace=True puts this one in its place"
                raise InvalidArgumentError(said, argument="memory_type", value=document.key)
            added[document.key] = document
        self._types |= added
        return len(added)
