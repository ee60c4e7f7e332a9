"""PromptManager: bound to directories and stores, and what it does with both."""

from __future__ import annotations

import inspect
import logging
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import folders
import pytest
from samples import memory, prompt

import ovstore
from ovstore import openviking
from ovstore.errors import InvalidArgumentError, InvalidDocumentError, RenderError, RiskError
from ovstore.openviking import MemoryTypeRegistry, PromptManager, PromptTemplate, TemplateNotFoundError

NOTE = "semantic/note.yaml"


def directory(folder: Path, **files: str) -> Path:
    """A directory with the prompt `semantic.note` and the memory type `habits`."""
    return folders.write(folder, {NOTE: prompt(), "memory/habits.yaml": memory()} | files)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return directory(tmp_path / "notes")


@pytest.fixture
def bound(store: ovstore.Store, notes: Path) -> PromptManager:
    """A manager of a given store, which a directory fills."""
    return PromptManager(notes, store=store)


# -- private stores


def test_a_directory_goes_before_the_bundled_templates_file_by_file(manager: PromptManager) -> None:
    assert manager.load_template("semantic.document_summary").metadata.name == "House summary"
    assert manager.load_template("semantic.file_summary").metadata.version == "1.0.0"
    assert manager.store.resolve("semantic.document_summary").scope == "global"
    assert manager.store.resolve("semantic.file_summary").scope == "seed"


def test_two_managers_never_mix(manager: PromptManager, notes: Path) -> None:
    other = PromptManager(notes)
    assert other.render("semantic.note", {"q": "x"}) == "Note x"
    with pytest.raises(FileNotFoundError):
        manager.load_template("semantic.note")
    other.close()


def test_without_a_directory_the_bundled_templates_answer() -> None:
    manager = PromptManager()
    assert manager.store.resolve("semantic.document_summary").scope == "seed"
    assert manager.templates_dir == ovstore.openviking.manager.bundled.folder("seed_templates")
    manager.clear_cache()
    manager.close()


def test_a_private_store_takes_what_a_directory_says_whatever_its_risk(tmp_path: Path) -> None:
    moved = folders.write(tmp_path / "moved", {"memory/profile.yaml": memory("profile", directory="elsewhere")})
    manager = PromptManager(moved)
    assert manager.store.memory("profile").schema.directory == "elsewhere"
    folders.write(moved, {"memory/profile.yaml": memory("profile", directory="nowhere")})
    manager.clear_cache()
    assert manager.store.memory("profile").schema.directory == "nowhere"
    manager.close()


def test_a_store_that_was_given_stays_open_and_a_private_one_is_closed(bound: PromptManager, notes: Path) -> None:
    bound.close()
    assert bound.render("semantic.note", {"q": "x"}) == "Note x"
    private = PromptManager(notes)
    private.close()
    with pytest.raises(ovstore.DatabaseError):
        private.render("semantic.note", {"q": "x"})


# -- given stores


def test_a_directory_fills_the_global_layer_of_a_given_store(bound: PromptManager, notes: Path) -> None:
    entries = list(bound.store.audit(tenant=None))
    assert {(entry.actor, entry.reason) for entry in entries} == {("ovstore.openviking", f"read from {notes}")}
    assert {entry.key for entry in entries} == {"semantic.note", "habits"}


def test_the_actor_is_the_one_of_the_environment(
    store: ovstore.Store, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVSTORE_ACTOR", "deploy")
    PromptManager(notes, store=store)
    assert {entry.actor for entry in store.audit(tenant=None)} == {"deploy"}


def test_a_tenant_is_served_before_the_directory_and_others_are_not(bound: PromptManager) -> None:
    bound.store.publish(prompt(template="Acme {{ q }}"), tenant="acme", actor="ann")
    acme = PromptManager(store=bound.store, tenant="acme")
    assert acme.render("semantic.note", {"q": "x"}) == "Acme x"
    assert bound.render("semantic.note", {"q": "x"}) == "Note x"


def test_what_is_published_elsewhere_is_served_by_the_next_call(bound: PromptManager) -> None:
    assert bound.render("semantic.note", {"q": "x"}) == "Note x"
    bound.store.publish(prompt(template="Newer {{ q }}"), actor="ann")
    assert bound.render("semantic.note", {"q": "x"}) == "Newer x"


def test_another_start_undoes_neither_a_newer_version_nor_a_rollback(bound: PromptManager, notes: Path) -> None:
    store = bound.store
    store.publish(prompt(template="Newer {{ q }}"), actor="ann")
    assert PromptManager(notes, store=store).render("semantic.note", {"q": "x"}) == "Newer x"
    store.rollback("semantic.note", actor="ann", reason="no")
    store.rollback("semantic.note", actor="ann", reason="no, not at all", accept_risk="high")
    with pytest.raises(FileNotFoundError):
        PromptManager(notes, store=store).render("semantic.note", {"q": "x"})


def test_another_start_writes_nothing(bound: PromptManager, notes: Path) -> None:
    heads = bound.store.heads()
    PromptManager(notes, store=bound.store)
    assert bound.store.heads() == heads


def test_a_directory_that_is_too_risky_for_a_given_store_is_refused_with_what_to_do(
    bound: PromptManager, notes: Path
) -> None:
    folders.write(notes, {"memory/habits.yaml": memory(directory="elsewhere"), NOTE: prompt(template="New {{ q }}")})
    with pytest.raises(RiskError, match=r"ovstore import .*notes --dry-run") as caught:
        bound.clear_cache()
    assert caught.value.risk == "very_high"
    assert bound.render("semantic.note", {"q": "x"}) == "Note x"
    plan = bound.store.plan_import(notes)
    bound.store.apply(plan, actor="ann", reason="moved", accept_risk="very_high")
    bound.clear_cache()
    assert bound.render("semantic.note", {"q": "x"}) == "New x"


def test_what_others_have_in_the_global_layer_stays(store: ovstore.Store, notes: Path) -> None:
    store.publish(prompt("semantic.other"), actor="ann")
    store.seed.publish(prompt(template="Seed {{ q }}"), actor="ann")
    manager = PromptManager(notes, store=store)
    (notes / NOTE).unlink()
    manager.clear_cache()
    assert manager.list_prompts() == ["semantic.note", "semantic.other"]
    assert manager.render("semantic.note", {"q": "x"}) == "Seed x"


def test_a_prompt_does_not_disappear_from_a_given_store_with_its_file(bound: PromptManager, notes: Path) -> None:
    (notes / NOTE).unlink()
    with pytest.raises(RiskError):
        bound.clear_cache()
    assert bound.render("semantic.note", {"q": "x"}) == "Note x"


def test_managers_that_start_at_once_fill_a_store_once(url: str, notes: Path) -> None:
    def started(_: int) -> str:
        with ovstore.open(url) as store:
            return PromptManager(notes, store=store).render("semantic.note", {"q": "x"})

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(started, range(6))) == ["Note x"] * 6
    with ovstore.open(url) as store:
        assert len(store.versions("semantic.note")) == len(store.versions("habits")) == 1


# -- reading again


def test_clear_cache_reads_what_changed_came_and_went(bound: PromptManager, notes: Path) -> None:
    folders.write(notes, {NOTE: prompt(template="Second {{ q }}"), "semantic/more.yaml": prompt("semantic.more")})
    assert bound.render("semantic.note", {"q": "x"}) == "Note x"
    bound.clear_cache()
    assert bound.render("semantic.note", {"q": "x"}) == "Second x"
    assert bound.store.resolve("semantic.more").scope == "global"
    bound.store.seed.publish(prompt("semantic.more"), actor="ann")
    (notes / "semantic" / "more.yaml").unlink()
    folders.write(notes, {NOTE: prompt()})
    bound.clear_cache()
    assert bound.render("semantic.note", {"q": "x"}) == "Note x"
    assert bound.store.resolve("semantic.more").scope == "seed"


def test_a_directory_that_breaks_is_refused_whole_and_what_was_served_stays(bound: PromptManager, notes: Path) -> None:
    folders.write(notes, {NOTE: prompt(template="Second {{ q }}"), "semantic/broken.yaml": "metadata: ["})
    for _ in range(2):
        with pytest.raises(InvalidDocumentError, match=r"broken\.yaml"):
            bound.clear_cache()
    assert bound.render("semantic.note", {"q": "x"}) == "Note x"
    (notes / "semantic" / "broken.yaml").unlink()
    bound.clear_cache()
    assert bound.render("semantic.note", {"q": "x"}) == "Second x"


@pytest.mark.parametrize("caching", [True, False])
def test_a_directory_that_is_gone_is_a_file_not_found_and_what_was_served_stays(
    store: ovstore.Store, notes: Path, caching: bool
) -> None:
    manager = PromptManager(notes, caching, store=store)
    notes.rename(notes.with_name("elsewhere"))
    with pytest.raises(FileNotFoundError, match="notes, which is no directory"):
        manager.clear_cache()
    if caching:
        assert manager.render("semantic.note", {"q": "x"}) == "Note x"
    else:
        with pytest.raises(FileNotFoundError, match="notes, which is no directory"):
            manager.render("semantic.note", {"q": "x"})
    notes.with_name("elsewhere").rename(notes)
    assert manager.render("semantic.note", {"q": "x"}) == "Note x"


def test_without_caching_the_directory_is_looked_at_before_every_call(store: ovstore.Store, notes: Path) -> None:
    manager = PromptManager(notes, enable_caching=False, store=store)
    assert manager.render("semantic.note", {"q": "x"}) == "Note x"
    heads = store.heads()
    assert manager.get_llm_config("semantic.note") == {}
    assert store.heads() == heads
    folders.write(notes, {NOTE: prompt(template="Second {{ q }}", llm_config={"temperature": 1})})
    assert manager.get_llm_config("semantic.note") == {"temperature": 1}
    assert manager.render("semantic.note", {"q": "x"}) == "Second x"


def test_a_directory_with_errors_is_refused_with_all_of_them(store: ovstore.Store, notes: Path) -> None:
    broken = {"a/one.yaml": prompt("a.one", template="{{ x }}"), "a/two.yaml": prompt("a.two", template="{% if %}")}
    with pytest.raises(ValueError, match="errors") as caught:
        PromptManager(folders.write(notes, broken), store=store)
    assert isinstance(caught.value, InvalidDocumentError)
    assert {Path(str(finding.path)).name for finding in caught.value.findings} >= {"one.yaml", "two.yaml"}
    assert store.templates() == ()


def test_a_prompt_in_a_file_that_its_id_does_not_say_is_an_error(store: ovstore.Store, notes: Path) -> None:
    folders.write(notes, {"semantic/summary.yaml": prompt("semantic.summry")})
    with pytest.raises(InvalidDocumentError, match=r"summary\.yaml:.*error\[path-mismatch\]"):
        PromptManager(notes, store=store)


def test_a_memory_type_may_lie_in_a_file_of_any_name(store: ovstore.Store, notes: Path) -> None:
    folders.write(notes, {"memory/my_own.yaml": memory("customs")})
    assert MemoryTypeRegistry(store=PromptManager(notes, store=store).store).list_names() == ["customs", "habits"]


def test_warnings_of_a_directory_are_logged(
    store: ovstore.Store, notes: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folders.write(notes, {NOTE: prompt(changelog=[])})
    with caplog.at_level(logging.INFO, "ovstore.openviking"):
        PromptManager(notes, store=store)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "note.yaml" in caplog.text
    assert "unknown-key" in caplog.text


# -- what callers do


def test_a_template_is_given_in_the_originals_shape(manager: PromptManager) -> None:
    found = manager.load_template("vision.page_check")
    assert isinstance(found, PromptTemplate)
    assert [variable.type for variable in found.variables] == ["integer", "int", "boolean", "number"]
    assert found.variables[0].required and found.variables[0].default is None
    assert found.output_schema == {"type": "object", "properties": {"keep": {"type": "boolean"}}, "required": ["keep"]}
    assert PromptTemplate.model_validate(found.model_dump()) == found


def test_a_patch_is_given_folded(store: ovstore.Store, notes: Path) -> None:
    manager = PromptManager(notes, store=store, tenant="acme")
    store.publish({"extends": "semantic.note", "metadata": {"name": "Ours"}}, tenant="acme", actor="ann")
    assert manager.load_template("semantic.note").metadata.name == "Ours"
    assert manager.load_template("semantic.note").template == "Note {{ q }}"


def test_prompts_are_listed_by_category(manager: PromptManager) -> None:
    assert {"parsing.chapter_analysis", "parsing.chunk.plan_v2"} < set(manager.list_prompts("parsing"))
    assert all(prompt_id.startswith("parsing.") for prompt_id in manager.list_prompts("parsing"))
    assert manager.list_prompts("memory") == []
    assert set(manager.list_prompts("vision")) < set(manager.list_prompts())


@pytest.mark.parametrize(
    "prompt_id", ["semantic.document_sumary", "profile", "", "/etc/x.name", "Semantic.X", "a..b", 7]
)
def test_an_id_that_no_layer_has_is_a_file_not_found(manager: PromptManager, prompt_id: str) -> None:
    for verb in (manager.load_template, manager.render, manager.get_llm_config):
        with pytest.raises(FileNotFoundError) as caught:
            verb(prompt_id)
        assert isinstance(caught.value, TemplateNotFoundError)


def test_a_settings_document_is_no_prompt(manager: PromptManager) -> None:
    with pytest.raises(FileNotFoundError, match="settings"):
        manager.load_template("context.policy")


def test_a_missing_id_tells_near_ones(manager: PromptManager) -> None:
    with pytest.raises(TemplateNotFoundError, match=r"did you mean semantic\.document_summary") as caught:
        manager.load_template("semantic.document_sumary")
    assert caught.value.near[0] == "semantic.document_summary"


WRONG = [{}, None, {"page": "7"}, {"page": 7, "blurred": 1}, {"page": None}, {"page": 1.0}]


@pytest.mark.parametrize("variables", WRONG)
def test_variables_that_are_missing_or_of_another_type_are_value_errors(
    manager: PromptManager, variables: dict[str, object] | None
) -> None:
    with pytest.raises(ValueError, match=r"page|blurred"):
        manager.render("vision.page_check", variables)


@pytest.mark.parametrize("variables", [["q"], "q", 5])
def test_variables_that_are_no_mapping_are_a_value_error(manager: PromptManager, variables: Any) -> None:
    with pytest.raises(ValueError, match="variables takes a mapping"):
        manager.render("semantic.note", variables)


@pytest.mark.parametrize("validate", [True, False])
def test_an_object_is_no_plain_data_with_and_without_validation(manager: PromptManager, validate: bool) -> None:
    with pytest.raises(ValueError, match=r"anything must be plain data, not object"):
        manager.render("test.kinds", {"anything": object()}, validate=validate)


def test_a_template_that_fails_is_a_render_error(tmp_path: Path) -> None:
    ratio = prompt("a.ratio", template="{{ 1 / n }}", variables=[{"name": "n", "type": "int", "description": "n"}])
    manager = PromptManager(folders.write(tmp_path / "one", {"a/ratio.yaml": ratio}))
    with pytest.raises(RenderError, match=r"a\.ratio"):
        manager.render("a.ratio", {"n": 0})
    manager.close()


def test_parts_of_the_store_are_rendered_with_and_without_validation(bound: PromptManager) -> None:
    bound.store.publish(prompt("shared.tone", template="Be {{ tone }}.", variables=["tone"]), actor="ann")
    bound.store.publish(prompt("a.b", template="{{ q }} {% include 'shared.tone' %}"), actor="ann")
    assert bound.render("a.b", {"q": "Hi.", "tone": "kind"}) == "Hi. Be kind."
    assert bound.render("a.b", {"q": 7}, validate=False) == "7 Be ."


def test_errors_cross_process_pools_whole(manager: PromptManager) -> None:
    with pytest.raises(TemplateNotFoundError) as caught:
        manager.load_template("a.b")
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (type(copied), str(copied), copied.name) == (TemplateNotFoundError, str(caught.value), "a.b")


# -- the manager of the process


@pytest.fixture
def unbound() -> None:
    openviking.manager._bound = None


@pytest.mark.usefixtures("unbound")
def test_the_manager_of_the_process_is_bound_by_the_environment(
    store: ovstore.Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.publish(prompt(template="Global {{ q }}", llm_config={"temperature": 0.5}), actor="ann")
    store.publish(prompt(template="Acme {{ q }}"), tenant="acme", actor="ann")
    store.publish(memory("customs"), tenant="acme", actor="ann")
    monkeypatch.setenv("OVSTORE_DB", url)
    assert openviking.render_prompt("semantic.note", {"q": "x"}) == "Global x"
    assert openviking.get_llm_config("semantic.note") == {"temperature": 0.5}
    assert openviking.get_manager() is openviking.get_manager()
    assert MemoryTypeRegistry().list_names() == []
    monkeypatch.setenv("OVSTORE_TENANT", "acme")
    assert openviking.render_prompt("semantic.note", {"q": "x"}) == "Acme x"
    assert openviking.get_manager().tenant == "acme"
    assert MemoryTypeRegistry().list_names() == ["customs"]


@pytest.mark.usefixtures("unbound")
def test_the_environments_directory_fills_the_store_of_the_process(
    store: ovstore.Store, url: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVSTORE_DB", url)
    monkeypatch.setenv("OPENVIKING_PROMPT_TEMPLATES_DIR", str(notes))
    assert openviking.render_prompt("semantic.note", {"q": "x"}) == "Note x"
    assert [listing.key for listing in store.templates()] == ["habits", "semantic.note"]


@pytest.mark.usefixtures("unbound")
def test_without_a_database_the_process_has_a_private_store(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENVIKING_PROMPT_TEMPLATES_DIR", str(notes))
    assert openviking.render_prompt("semantic.note", {"q": "x"}) == "Note x"
    assert openviking.get_manager().store.resolve("semantic.file_summary").scope == "seed"


@pytest.mark.usefixtures("unbound")
def test_a_database_that_is_missing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVSTORE_DB", f"sqlite:///{tmp_path}/missing.db")
    with pytest.raises(ovstore.MigrationRequiredError):
        openviking.get_manager()
    assert not (tmp_path / "missing.db").exists()


def test_a_tenant_of_the_wrong_form_is_refused(store: ovstore.Store) -> None:
    with pytest.raises(InvalidArgumentError):
        PromptManager(store=store, tenant="seed")


def test_upstreams_calls_fit_by_name_and_by_place() -> None:
    """The names, order and defaults that callers of OpenViking use."""
    fitting = {
        PromptManager.__init__: ["self", "templates_dir=None", "enable_caching=True"],
        PromptManager.render: ["self", "prompt_id", "variables=None", "validate=True"],
        PromptManager.load_template: ["self", "prompt_id"],
        PromptManager.get_llm_config: ["self", "prompt_id"],
        PromptManager.list_prompts: ["self", "category=None"],
        PromptManager.clear_cache: ["self"],
        openviking.render_prompt: ["prompt_id", "variables=None"],
        openviking.get_llm_config: ["prompt_id"],
    }
    for call, wanted in fitting.items():
        own = inspect.signature(call).parameters.values()
        placed = [p for p in own if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert [p.name if p.default is p.empty else f"{p.name}={p.default}" for p in placed] == wanted
