"""MemoryTypeRegistry: the memory types of a store and a tenant, and what is loaded beside them."""

from __future__ import annotations

from pathlib import Path

import folders
import pytest
from samples import memory, prompt
from synthetic import TEMPLATES

import ovstore
from ovstore.errors import InvalidArgumentError, InvalidDocumentError
from ovstore.openviking import FieldType, MemoryField, MemoryTypeRegistry, MemoryTypeSchema, MergeOp, PromptManager


@pytest.fixture
def empty() -> MemoryTypeRegistry:
    return MemoryTypeRegistry(load_schemas=False)


CUSTOMS = MemoryTypeSchema(
    memory_type="customs",
    directory="viking://user/{{ user_space }}/memories/customs",
    filename_template="{{ name }}.md",
    fields=[
        MemoryField(name="name", merge_op=MergeOp.IMMUTABLE),
        MemoryField(name="n", field_type="int64", merge_op="sum"),
    ],
)


def test_the_types_are_those_that_a_tenant_gets(store: ovstore.Store) -> None:
    store.publish(memory("habits"), actor="ann")
    store.publish(memory("hobbies", enabled=False), actor="ann")
    store.publish(memory("customs"), tenant="acme", actor="ann")
    registry = MemoryTypeRegistry(store=store, tenant="acme")
    assert registry.list_names() == ["customs", "habits"]
    assert registry.list_names(include_disabled=True) == ["customs", "habits", "hobbies"]
    assert [schema.memory_type for schema in registry.list_all(True)] == registry.list_names(True)
    assert MemoryTypeRegistry(store=store).get("customs") is None


def test_a_schema_has_the_originals_shape_and_words(manager: PromptManager) -> None:
    schema = MemoryTypeRegistry(store=manager.store).get("identity")
    assert schema is not None
    by_name = {field.name: field for field in schema.fields}
    assert [by_name[name].field_type for name in ("name", "turns", "warmth", "quiet")] == [
        *(FieldType.STRING, FieldType.INT64, FieldType.FLOAT32, FieldType.BOOL),
    ]
    assert by_name["turns"].merge_op is MergeOp.SUM
    assert by_name["turns"].merge_op == "sum"
    assert (by_name["mood"].init_value, by_name["warmth"].init_value) == ("curious", None)
    assert (schema.stage, schema.operation_mode, schema.peer_enabled) == ("user", "upsert", True)


def test_schemas_of_skills_are_no_memory_types(manager: PromptManager) -> None:
    assert "session_skills" not in MemoryTypeRegistry(store=manager.store).list_names(include_disabled=True)


def test_what_it_gives_is_a_copy(manager: PromptManager) -> None:
    registry = MemoryTypeRegistry(store=manager.store)
    for schema in (registry.get("identity"), registry.list_all()[0]):
        assert schema is not None
        schema.fields.clear()
    assert registry.get("identity") != registry.get("recipes")
    assert all(schema.fields for schema in registry.list_all(include_disabled=True))


def test_a_registry_stays_what_it_was(store: ovstore.Store) -> None:
    registry = MemoryTypeRegistry(store=store)
    store.publish(memory(), actor="ann")
    assert registry.list_names() == []


def test_directories_to_search_are_those_of_enabled_types(manager: PromptManager) -> None:
    registry = MemoryTypeRegistry(store=manager.store)
    uris = registry.list_search_uris("u1", "a1")
    assert "viking://agent/a1/memories/reviews" in uris
    assert "viking://user/u1/memories/tasks" not in uris
    assert uris.count("viking://user/u1/memories") == 1
    assert set(uris) - set(registry.list_search_uris("u1")) == {"viking://agent/a1/memories/reviews"}


@pytest.mark.parametrize("spaces", [("", None), ("u/../x", None), ("u", ""), ("u", "..")])
def test_a_space_that_is_none_is_refused(empty: MemoryTypeRegistry, spaces: tuple[str, str | None]) -> None:
    empty.register(CUSTOMS)
    with pytest.raises(ValueError, match="_space"):
        empty.list_search_uris(*spaces)


def test_a_directory_that_differs_by_record_is_not_one_to_search(empty: MemoryTypeRegistry) -> None:
    empty.register(CUSTOMS)
    empty.register(CUSTOMS.model_copy(update={"memory_type": "notes", "directory": "viking://notes/{{ name }}"}))
    assert empty.list_search_uris("u") == ["viking://user/u/memories/customs"]


def test_a_registered_type_comes_back_as_it_was(empty: MemoryTypeRegistry) -> None:
    empty.register(CUSTOMS)
    assert empty.get("customs") == CUSTOMS


def test_a_type_is_registered_once_unless_it_is_to_replace(empty: MemoryTypeRegistry) -> None:
    empty.register(CUSTOMS)
    with pytest.raises(ValueError, match="registered already"):
        empty.register(CUSTOMS)
    empty.register(CUSTOMS.model_copy(update={"enabled": False}), replace=True)
    assert empty.list_names() == []


@pytest.mark.parametrize(
    "changes", [{"memory_type": ""}, {"stage": "agents"}, {"operation_mode": "append"}, {"filename_template": "../x"}]
)
def test_a_type_that_is_not_valid_is_not_registered(empty: MemoryTypeRegistry, changes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="error"):
        empty.register(CUSTOMS.model_copy(update=changes))
    assert empty.list_names(include_disabled=True) == []


def test_a_directory_is_loaded_without_those_below_it(empty: MemoryTypeRegistry) -> None:
    assert empty.load_from_directory(TEMPLATES / "memory") == 7
    assert len(empty.list_names()) == 6
    recipes = empty.get("recipes")
    assert recipes is not None
    assert len(recipes.fields) == 4
    assert empty.load_from_directory(TEMPLATES / "memory" / "experimental_memory", replace=True) == 1
    assert empty.get("recipes") != recipes


def test_a_directory_with_an_error_loads_nothing_and_says_why(empty: MemoryTypeRegistry, tmp_path: Path) -> None:
    files = {"a.yaml": memory("a"), "b.yaml": memory("b", stage="agents"), "c.yaml": "memory_type: ["}
    with pytest.raises(InvalidDocumentError) as caught:
        empty.load_from_directory(folders.write(tmp_path / "types", files))
    assert {Path(str(finding.path)).name for finding in caught.value.findings} == {"b.yaml", "c.yaml"}
    assert empty.list_names() == []


def test_a_file_is_loaded_by_itself(empty: MemoryTypeRegistry) -> None:
    empty.load_from_yaml(TEMPLATES / "memory" / "habits.yml")
    assert empty.list_names() == ["habits"]


def test_what_is_no_memory_schema_is_refused(empty: MemoryTypeRegistry, tmp_path: Path) -> None:
    folders.write(tmp_path / "types", {"note.yaml": prompt(), "patch.yaml": "extends: profile\nenabled: false\n"})
    for name in ("note.yaml", "patch.yaml"):
        with pytest.raises(InvalidArgumentError, match=f"{name} is no memory schema"):
            empty.load_from_yaml(tmp_path / "types" / name)


def test_what_does_not_exist_is_a_file_not_found(empty: MemoryTypeRegistry, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        empty.load_from_yaml(tmp_path / "missing.yaml")
    with pytest.raises(FileNotFoundError):
        empty.load_from_directory(tmp_path / "missing")
