"""Rendering through the store: texts of tenants, parts, and errors that point into the YAML."""

from __future__ import annotations

import logging

import pytest
from samples import memory, patch, prompt

import ovstore
from ovstore import Store


def test_two_tenants_get_two_texts(store: Store) -> None:
    store.publish(prompt(template="Global {{ q }}\n"), actor="ann")
    store.publish(patch("semantic.note", template="Acme {{ q }}\n"), tenant="acme", actor="bob")
    texts = [str(store.render("semantic.note", {"q": "x"}, tenant=t)) for t in ("acme", "globex")]
    assert texts == ["Acme x", "Global x"]


def test_the_result_has_config_schema_and_what_was_cut(store: Store) -> None:
    short = {"name": "q", "type": "string", "description": "q", "max_length": 3}
    store.publish(
        prompt(variables=[short], llm_config={"temperature": 0.0}, output_schema={"type": "object"}), actor="ann"
    )
    first = store.render("semantic.note", {"q": "abcdef"})
    assert (first.text, first.truncated) == ("Note abc", ("q",))
    first.llm_config["temperature"] = 9
    again = store.render("semantic.note", {"q": "abcdef"})
    assert (again.llm_config, again.output_schema) == ({"temperature": 0.0}, {"type": "object"})


def test_values_are_never_rendered_and_the_callers_mapping_is_left_alone(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    given = {"q": "{{ 7 * 7 }} {% if x %}"}
    assert store.render("semantic.note", given).text == "Note {{ 7 * 7 }} {% if x %}"
    assert given == {"q": "{{ 7 * 7 }} {% if x %}"}


def test_missing_variables_are_all_named_with_the_place(store: Store) -> None:
    store.publish(prompt(template="{{ a }}{{ b }}", variables=["a", "b"]), actor="ann")
    with pytest.raises(ovstore.MissingVariablesError) as missing:
        store.render("semantic.note", {"aa": 1})
    assert missing.value.names == ("a", "b")
    assert (missing.value.key, missing.value.scope, missing.value.version) == ("semantic.note", "global", 1)


def test_an_error_points_into_the_yaml_of_the_layer_that_brought_the_template(store: Store) -> None:
    store.publish(prompt(), actor="ann")
    source = "extends: semantic.note\ntemplate: |\n  fine\n  then {{ q.upper().lower() + 1 }}\n"
    store.publish(source, tenant="acme", actor="bob")
    with pytest.raises(ovstore.RenderError) as failed:
        store.render("semantic.note", {"q": "x"}, tenant="acme")
    assert (failed.value.scope, failed.value.version, failed.value.line) == ("acme", 1, 4)
    assert "semantic.note (acme:1, semantic/note.yaml:4" in str(failed.value)


def test_a_memory_schema_is_not_rendered_as_a_prompt(store: Store) -> None:
    store.publish(memory(), actor="ann")
    with pytest.raises(ovstore.RenderError, match="memory schema"):
        store.render("habits")


@pytest.fixture
def composed(store: Store) -> Store:
    store.publish(prompt("shared.tone", template="kindly", variables=[]), actor="ann")
    store.publish(prompt(template="Say {{ q }} {% include 'shared.tone' %}"), actor="ann")
    return store


def test_a_tenants_override_of_a_part_reaches_its_prompts_and_nobody_elses(composed: Store) -> None:
    composed.publish(prompt("shared.tone", template="bluntly", variables=[]), tenant="acme", actor="bob")
    texts = [composed.render("semantic.note", {"q": "x"}, tenant=t).text for t in ("acme/support", "globex")]
    assert texts == ["Say x bluntly", "Say x kindly"]
    (part,) = composed.render("semantic.note", {"q": "x"}, tenant="acme").resolved.provenance.parts
    assert (part.key, part.scope, part.version) == ("shared.tone", "acme", 1)


def test_parts_are_looked_up_at_the_state_that_was_asked_for(composed: Store) -> None:
    then = composed.render("semantic.note", {"q": "x"}).resolved.revision
    composed.publish(prompt("shared.tone", template="bluntly", variables=[]), actor="ann")
    assert composed.render("semantic.note", {"q": "x"}, at=then).text == "Say x kindly"
    composed.publish(prompt("shared.tone", template="drafted", variables=[]), actor="ann", live=False)
    composed.activate("shared.tone", 3, label="staging", actor="ann")
    assert composed.render("semantic.note", {"q": "x"}, label="staging").text == "Say x drafted"


def test_a_missing_part_and_a_circle_are_findings_at_publish(composed: Store) -> None:
    with pytest.raises(ovstore.InvalidDocumentError, match="part-missing"):
        composed.publish(prompt("semantic.other", template="{% include 'shared.gone' %}", variables=[]), actor="ann")
    with pytest.raises(ovstore.InvalidDocumentError, match="part-cycle"):
        composed.publish(prompt("shared.tone", template="{% include 'semantic.note' %}", variables=[]), actor="ann")


def test_a_part_that_another_prompt_includes_cannot_be_withdrawn_or_broken(composed: Store) -> None:
    with pytest.raises(ovstore.ContractError) as refused:
        composed.withdraw("shared.tone", actor="ann", reason="r", accept_risk="high")
    assert [(d.scope, d.key) for d in refused.value.dependents] == [("global", "semantic.note")]
    clashing = prompt("shared.tone", template="{{ q }}", variables=[{"name": "q", "type": "int", "description": "q"}])
    with pytest.raises(ovstore.ContractError):
        composed.publish(clashing, actor="ann", accept_risk="high")


def test_a_part_that_a_tenants_prompt_includes_can_be_frozen_for_it(store: Store) -> None:
    store.publish(prompt("shared.tone", template="kindly", variables=[]), actor="ann")
    store.publish(prompt(template="{{ q }} {% include 'shared.tone' %}"), tenant="acme", actor="bob")
    with pytest.raises(ovstore.ContractError):
        store.withdraw("shared.tone", actor="ann", reason="r", accept_risk="high")
    store.withdraw("shared.tone", actor="ann", reason="r", accept_risk="high", dependents="freeze")
    assert store.render("semantic.note", {"q": "x"}, tenant="acme").text == "x kindly"


def test_a_debug_record_names_who_used_what_and_never_text(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.publish(prompt(template="secret {{ q }}"), actor="ann")
    with caplog.at_level(logging.DEBUG, logger="ovstore.render"):
        rendered = store.render("semantic.note", {"q": "hush"}, tenant="acme")
    (record,) = caplog.messages
    assert record == f"key=semantic.note tenant=acme scope=global version=1 hash={rendered.resolved.document_hash}"
