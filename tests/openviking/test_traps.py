"""Where the original quietly does harm: each trap by its number, and what happens here instead."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import folders
import pytest
from samples import flow, memory, prompt

import ovstore
from ovstore.openviking import MemoryTypeRegistry, PromptManager
from ovstore.results import Finding


def codes(folder: Path, *, strict: bool = False) -> set[tuple[str, str]]:
    return {(finding.severity, finding.code) for finding in ovstore.check(folder, strict=strict)}


def variable(**given: Any) -> str:
    return prompt(variables=[{"name": "q", "type": "string", "description": "q", **given}])


@pytest.fixture
def notes(store: ovstore.Store) -> PromptManager:
    """A manager of a store with one prompt, which cuts at ten characters."""
    store.publish(variable(max_length=10), actor="ann")
    return PromptManager(store=store)


class TestPrompts:
    def test_01_two_ids_of_one_file_are_two_prompts(self, tmp_path: Path, store: ovstore.Store) -> None:
        both = {"a/b_c.yaml": prompt("a.b_c", "one {{ q }}"), "a/b.c.yaml": prompt("a.b.c", "two {{ q }}")}
        manager = PromptManager(folders.write(tmp_path / "both", both), store=store)
        assert [manager.render(key, {"q": "x"}) for key in ("a.b_c", "a.b.c")] == ["one x", "two x"]

    def test_01_an_id_finds_the_one_prompt_of_its_file(self, tmp_path: Path, store: ovstore.Store) -> None:
        one = folders.write(tmp_path / "one", {"a/b_c.yaml": prompt("a.b.c")})
        manager = PromptManager(one, store=store)
        assert manager.render("a.b_c", {"q": "x"}) == manager.render("a.b.c", {"q": "x"}) == "Note x"

    def test_01_an_id_close_to_one_below_is_a_warning(self, tmp_path: Path, store: ovstore.Store) -> None:
        store.seed.publish(prompt("a.b_c"), actor="ann")
        plan = store.plan_import(folders.write(tmp_path / "one", {"a/b.c.yaml": prompt("a.b.c")}))
        assert "near-key" in {finding.code for finding in plan.findings}

    def test_02_an_id_never_leaves_the_templates(self, tmp_path: Path, notes: PromptManager) -> None:
        folders.write(tmp_path, {"secret/name.yaml": prompt("secret.name")})
        for prompt_id in (f"{tmp_path}/secret.name", "../secret.name", "a/../../b.c", ""):
            with pytest.raises(FileNotFoundError):
                notes.load_template(prompt_id)

    def test_03_an_id_that_differs_from_its_path_is_told(self, tmp_path: Path, store: ovstore.Store) -> None:
        folder = folders.write(tmp_path / "one", {"a/b.yaml": prompt("a.c")})
        assert ("warning", "path-mismatch") in codes(folder)
        with pytest.raises(ValueError, match="path-mismatch"):
            PromptManager(folder, store=store)

    @pytest.mark.parametrize("kind", ["str", "text", "Integer", "boolaen", "strings"])
    def test_04_an_unknown_type_is_refused(self, tmp_path: Path, kind: str) -> None:
        assert ("error", "unknown-choice") in codes(
            folders.write(tmp_path, {"semantic/note.yaml": variable(type=kind)})
        )

    @pytest.mark.parametrize("kind", ["int", "integer", "float", "number"])
    def test_05_a_boolean_is_no_number(self, store: ovstore.Store, kind: str) -> None:
        store.publish(variable(type=kind), actor="ann")
        with pytest.raises(ValueError, match="not bool"):
            PromptManager(store=store).render("semantic.note", {"q": True})

    def test_06_required_beside_a_default_is_told(self, tmp_path: Path, store: ovstore.Store) -> None:
        source = variable(required=True, default="d")
        assert ("info", "required-default") in codes(folders.write(tmp_path, {"semantic/note.yaml": source}))
        store.publish(source, actor="ann")
        assert PromptManager(store=store).render("semantic.note") == "Note d"

    def test_07_a_default_of_another_type_is_refused(self, tmp_path: Path) -> None:
        source = variable(type="int", default="abc")
        assert ("error", "wrong-default") in codes(folders.write(tmp_path, {"semantic/note.yaml": source}))

    @pytest.mark.parametrize("longest", [0, -2, "0", 7.5])
    def test_08_a_max_length_below_one_is_refused(self, tmp_path: Path, longest: object) -> None:
        source = variable(max_length=longest)
        assert ("error", "bad-max-length") in codes(folders.write(tmp_path, {"semantic/note.yaml": source}))

    def test_09_what_max_length_cuts_is_told(self, notes: PromptManager, caplog: pytest.LogCaptureFixture) -> None:
        assert notes.render("semantic.note", {"q": "12345678901"}) == "Note 1234567890"
        assert "semantic.note: the value of q was cut" in caplog.text
        assert notes.store.render("semantic.note", {"q": "12345678901"}).truncated == ("q",)

    def test_10_the_callers_mapping_is_left_as_it_is(self, store: ovstore.Store) -> None:
        both = [{"name": n, "type": "string", "description": n, "default": "d"} for n in ("p", "q")]
        store.publish(prompt(template="{{ p }}{{ q }}", variables=both), actor="ann")
        given = {"q": "x"}
        assert PromptManager(store=store).render("semantic.note", given) == "dx"
        assert given == {"q": "x"}

    def test_11_an_undeclared_name_is_refused_and_an_unused_one_told(self, tmp_path: Path) -> None:
        source = prompt(template="File: {{ file_nmae }}", variables=["file_name"])
        found = codes(folders.write(tmp_path, {"semantic/note.yaml": source}))
        assert {("error", "undeclared-variable"), ("warning", "unused-variable")} <= found

    @pytest.mark.parametrize(
        "template",
        [
            "{{ q.__class__ }}",
            "{{ q.__init__.__globals__ }}",
            "{{ self._TemplateReference__context }}",
            "{{ q|attr('x') }}",
        ],
    )
    def test_12_a_template_gets_at_no_internals(self, tmp_path: Path, template: str) -> None:
        assert "error" in {
            severity
            for severity, _ in codes(folders.write(tmp_path, {"semantic/note.yaml": prompt(template=template)}))
        }

    def test_12_nor_does_one_of_a_memory_schema(self, tmp_path: Path) -> None:
        for key in ("directory", "filename_template", "content_template", "embedding_template", "overview_template"):
            folder = folders.write(tmp_path / key, {"memory/habits.yaml": memory(**{key: "{{ name.__class__ }}"})})
            assert ("error", "private-attribute") in codes(folder)

    def test_13_a_syntax_error_is_found_when_it_is_read(self, tmp_path: Path) -> None:
        source = prompt().replace('"template": "Note {{ q }}"', '"template": "{% if q %}"')
        (found,) = ovstore.check(folders.write(tmp_path, {"semantic/note.yaml": source}))
        assert (found.severity, found.code, found.line) == (
            "error",
            "template-syntax",
            source[: source.index("{%")].count("\n") + 1,
        )

    def test_14_all_that_is_wrong_is_told_at_once(self, notes: PromptManager, tmp_path: Path) -> None:
        folder = folders.write(tmp_path, {"a/b.yaml": variable(type="txt", max_length=0), "a/c.yaml": "metadata: ["})
        assert {"unknown-choice", "bad-max-length", "yaml-syntax"} <= {code for _, code in codes(folder)}
        notes.store.publish(prompt(template="{{ p }}{{ q }}", variables=["p", "q"]), actor="ann", accept_risk="high")
        with pytest.raises(ovstore.MissingVariablesError) as caught:
            notes.render("semantic.note")
        assert caught.value.names == ("p", "q")

    def test_15_prompts_and_memory_types_are_as_fresh_as_each_other(self, notes: PromptManager) -> None:
        notes.render("semantic.note", {"q": "x"})
        notes.store.publish(prompt(template="New {{ q }}"), actor="ann")
        notes.store.publish(memory(), actor="ann")
        assert notes.render("semantic.note", {"q": "x"}) == "New x"
        assert MemoryTypeRegistry(store=notes.store).list_names() == ["habits"]

    def test_16_the_list_is_what_can_be_loaded_with_its_layer(self, manager: PromptManager) -> None:
        listed = manager.list_prompts()
        assert all(manager.load_template(prompt_id).metadata.id == prompt_id for prompt_id in listed)
        assert {listing.scope for listing in manager.store.templates(kind="prompt")} == {"global", "seed"}

    def test_17_what_a_caller_changes_stays_with_the_caller(self, manager: PromptManager) -> None:
        manager.get_llm_config("vision.page_check")["stop"].append("leak")
        manager.load_template("test.kinds").variables[8].default.append("leak")
        assert manager.get_llm_config("vision.page_check")["stop"] == ["\n"]
        assert "leak" not in manager.render("test.kinds")

    def test_18_a_name_that_is_not_declared_is_told(
        self, notes: PromptManager, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert notes.render("semantic.note", {"q": "x", "extra": 1}) == "Note x"
        assert "semantic.note has no variable extra" in caplog.text

    def test_19_the_authors_label_is_no_version(self, notes: PromptManager) -> None:
        notes.store.publish(prompt(template="New {{ q }}"), actor="ann")
        versions = notes.store.versions("semantic.note")
        assert [version.number for version in versions] == [2, 1]
        assert len({version.document_hash for version in versions}) == 2
        assert notes.load_template("semantic.note").metadata.version == "1.0.0"

    def test_19_content_that_changes_under_the_same_label_is_told(self, notes: PromptManager, tmp_path: Path) -> None:
        def told(source: str) -> list[tuple[str, str, int | None]]:
            folder = folders.write(tmp_path, {"semantic/note.yaml": source})
            return [(f.code, f.severity, f.line) for f in notes.store.plan_import(folder).findings]

        source = variable(max_length=9)
        assert told(source) == [("same-label", "info", source[: source.index("semantic.note")].count("\n") + 1)]
        assert told(variable(max_length=9).replace("1.0.0", "1.0.1")) == []
        assert told(variable(max_length=10)) == []
        assert told(variable(max_length=10).replace('"Note"', '"Notes"')) == []
        assert told(prompt("semantic.note", "Other {{ q }}", llm_config={"temperature": 1}))[0][0] == "same-label"

    def test_20_an_override_knows_what_it_was_made_on(self, store: ovstore.Store) -> None:
        store.seed.publish(prompt(), actor="ann")
        store.publish(prompt(template="Ours {{ q }}"), actor="ann")
        assert store.versions("semantic.note")[0].base == "seed:1"

    def test_21_a_prompt_is_compiled_once(self, notes: PromptManager, monkeypatch: pytest.MonkeyPatch) -> None:
        notes.render("semantic.note", {"q": "x"})
        monkeypatch.setattr("ovstore.rendering.environment.parse", None)
        assert notes.render("semantic.note", {"q": "y"}) == "Note y"

    def test_22_settings_and_schema_come_with_the_text(self, manager: PromptManager) -> None:
        rendered = manager.store.render("vision.page_check", {"page": 1})
        assert rendered.llm_config == {"temperature": 0.1, "supports_vision": True, "stop": ["\n"]}
        assert rendered.output_schema == manager.load_template("vision.page_check").output_schema

    def test_23_a_version_without_quotes_is_the_text_that_was_written(self, manager: PromptManager) -> None:
        found = manager.load_template("processing.unquoted")
        assert (found.metadata.version, found.metadata.language, found.metadata.name) == ("1.10", "no", "2026-01-31")
        assert manager.render("processing.unquoted") == "Day: 2026-01-31"


class TestMemoryTypes:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return folders.write(tmp_path / "folder", {"memory/habits.yaml": memory()})

    def refused(self, folder: Path, source: str) -> Iterator[Finding]:
        folders.write(folder, {"memory/other.yaml": source})
        return (found for found in ovstore.check(folder) if found.severity == "error" and "other" in str(found.path))

    def test_an_empty_type_is_refused(self, folder: Path) -> None:
        assert [found.code for found in self.refused(folder, memory(""))] == ["bad-id"]

    def test_a_prompt_among_memory_schemas_is_a_prompt(self, folder: Path, store: ovstore.Store) -> None:
        folders.write(folder, {"memory/note.yaml": prompt("memory.note")})
        manager = PromptManager(folder, store=store)
        assert manager.list_prompts() == ["memory.note"]
        assert MemoryTypeRegistry(store=store).list_names() == ["habits"]

    def test_an_error_in_one_file_fails_the_whole_with_its_line(self, folder: Path, store: ovstore.Store) -> None:
        source = memory("others", operation_mode="sometimes")
        (found,) = self.refused(folder, source)
        assert (found.code, found.line) == ("unknown-choice", source[: source.index("sometimes")].count("\n") + 1)
        with pytest.raises(ovstore.InvalidDocumentError):
            store.apply(store.plan_import(folder), actor="ann")
        assert store.templates() == ()

    def test_two_files_of_one_type_are_refused_whatever_their_order(self, folder: Path) -> None:
        assert [found.code for found in self.refused(folder, memory())] == ["duplicate-document"]

    @pytest.mark.parametrize("kind", ["string", "bool", "list", "dict", "any"])
    def test_sum_on_what_is_no_number_is_refused(self, folder: Path, kind: str) -> None:
        source = memory("others", fields=[{"name": "name", "type": kind, "merge_op": "sum"}])
        assert [found.code for found in self.refused(folder, source)] == ["sum-on-text"]

    @pytest.mark.parametrize(("key", "value"), [("operation_mode", "append"), ("stage", "agents"), ("stage", "")])
    def test_stages_and_modes_are_closed_sets(self, folder: Path, key: str, value: str) -> None:
        assert [found.code for found in self.refused(folder, memory("others", **{key: value}))] == ["unknown-choice"]

    def test_update_only_is_enforced(self, manager: PromptManager) -> None:
        with pytest.raises(ovstore.MergeError, match="update_only"):
            manager.store.memory("tasks").merge(None, {"content": "- water the plants"})

    @pytest.mark.parametrize(
        "name", ["user_space", "agent_space", "user_ids", "version", "links", "backlinks", "source_uri", "self"]
    )
    def test_a_field_under_whose_name_something_else_is_kept_is_refused(self, folder: Path, name: str) -> None:
        source = memory("others", fields=[{"name": "name"}, {"name": name}])
        assert [found.code for found in self.refused(folder, source)] == ["reserved-name"]

    def test_an_incomplete_schema_replaces_nothing_and_is_told_of_patches(self, folder: Path) -> None:
        (found,) = self.refused(folder, flow({"memory_type": "others", "fields": [], "directory": "d"}))
        assert found.code == "incomplete-schema"
        assert "extends:" in str(found.hint)

    def test_a_patch_changes_some_keys_of_a_type(self, store: ovstore.Store) -> None:
        store.publish(memory(), actor="ann")
        store.publish({"extends": "habits", "enabled": False}, tenant="acme", actor="ann", accept_risk="high")
        theirs = MemoryTypeRegistry(store=store, tenant="acme")
        assert theirs.list_names() == []
        found = theirs.get("habits")
        assert found is not None
        assert [field.name for field in found.fields] == ["name", "content"]

    @pytest.mark.parametrize(("kind", "value"), [("int64", "many"), ("float32", "a half"), ("bool", "maybe")])
    def test_an_init_value_is_of_its_fields_type(self, folder: Path, kind: str, value: str) -> None:
        source = memory("others", fields=[{"name": "name", "type": kind, "merge_op": "replace", "init_value": value}])
        assert [found.code for found in self.refused(folder, source)] == ["wrong-init-value"]

    def test_an_init_value_may_be_written_as_what_it_is(self, folder: Path) -> None:
        source = memory("others", fields=[{"name": "name", "type": "int64", "merge_op": "sum", "init_value": 0}])
        assert list(self.refused(folder, source)) == []

    def test_a_custom_type_of_the_agent_is_told_to_be_extracted_by_nobody(self, folder: Path) -> None:
        folders.write(folder, {"memory/reviews.yaml": memory("reviews", stage="agent")})
        (found,) = ovstore.check(folder)
        assert (found.severity, found.code) == ("warning", "custom-agent-stage")

    def test_a_session_skill_schema_that_a_directory_lacks_is_the_bundled_one(self, manager: PromptManager) -> None:
        assert manager.store.seed.resolve("session_skills").scope == "seed"
        assert (
            manager.store.memory("session_skills").path({"skill_name": "x"}, user_space="u")
            == "viking://user/u/skills/x/SKILL.md"
        )


def test_warnings_are_errors_for_those_who_want_that(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    folder = folders.write(tmp_path, {"memory/reviews.yaml": memory("reviews", stage="agent")})
    assert codes(folder, strict=True) == {("error", "custom-agent-stage")}
