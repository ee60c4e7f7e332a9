"""Settings documents: metadata and values, patched value by value like any other document."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from ovstore import checking, documents, schemas
from ovstore.changes import broken_contract, compare
from ovstore.documents import Patch, Settings
from ovstore.layering import apply_patch, diff

METADATA = "metadata: {id: app.limits, name: Limits, description: d, version: 1.0, language: en, category: app}\n"
SOURCE = f"""\
{METADATA}values:
  most: 3
  tone: warm
  nested: {{a: 1, b: [2]}}
  nothing: null
"""


def read(source: str) -> documents.Parsed:
    parsed = documents.parse(source.encode(), "x.yaml")
    assert not [f for f in parsed.findings if f.severity == "error"]
    return parsed


def data(source: str = SOURCE) -> dict[str, Any]:
    found = read(source).data
    assert found is not None
    return found


def test_a_mapping_with_values_and_without_a_template_is_settings() -> None:
    parsed = read(SOURCE)
    assert (parsed.key, parsed.kind, parsed.mode) == ("app.limits", "settings", "full")
    assert isinstance(parsed.document, Settings)
    assert parsed.document.values == {"most": 3, "tone": "warm", "nested": {"a": 1, "b": [2]}}
    assert parsed.document["metadata"]["version"] == "1.0"


def test_settings_are_written_and_read_again_as_they_were() -> None:
    document = read(SOURCE).document
    assert document is not None
    again = documents.parse(documents.generate(document))
    assert again.document == document
    assert again.data == document.as_written()


def test_a_patch_with_values_merges_them_one_by_one_and_null_removes() -> None:
    patch = read("extends: app.limits\nvalues: {most: 5, tone: null, nested: {c: 1}}\n")
    assert isinstance(patch.document, Patch) and patch.kind == "settings" == patch.document.kind
    assert patch.data is not None
    merged = apply_patch("settings", data(), patch.data)
    assert merged["values"] == {"most": 5, "nested": {"c": 1}}
    assert documents.build("settings", merged)[0] is not None


@pytest.mark.parametrize(
    "other", [{"most": 4}, {}, {"most": 3, "tone": "warm", "nested": {"a": 1, "b": [2]}, "x": None}]
)
def test_a_diff_leads_from_one_to_the_other(other: dict[str, Any]) -> None:
    target = data() | {"values": other}
    merged = apply_patch("settings", data(), diff("settings", data(), target))
    assert documents.canonical("settings", "full", merged) == documents.canonical("settings", "full", target)


def test_each_value_that_differs_is_a_change_of_the_field_values() -> None:
    changes = compare(
        "settings", data(), data(SOURCE.replace("most: 3", "most: 4").replace("tone: warm", "calm: true"))
    )
    assert [(c.path, c.field, c.before, c.after, c.risk) for c in changes] == [
        ("values.calm", "values", None, True, "high"),
        ("values.most", "values", 3, 4, "high"),
        ("values.tone", "values", "warm", None, "high"),
    ]
    assert broken_contract("settings", data(), data()) == ()
    assert [c.risk for c in compare("settings", data(), None)] == ["high"]


def test_what_is_missing_or_mistyped_is_found() -> None:
    parsed = documents.parse(b"metadata: {id: app.limits}\nvalues: 3\ntemplat: x\n", "x.yaml")
    assert {(f.code, f.line) for f in parsed.findings if f.severity == "error"} >= {
        ("missing-key", 1),
        ("wrong-type", 2),
    }
    assert parsed.kind == "settings" and parsed.document is None


def test_settings_have_a_json_schema_that_takes_what_is_read() -> None:
    schema = schemas.schema("settings")
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert not list(validator.iter_errors(json.loads(json.dumps(data()))))
    assert list(validator.iter_errors({"metadata": {}, "values": 3}))
    patches = jsonschema.Draft202012Validator(schemas.schema("patch"))
    assert not list(patches.iter_errors({"extends": "app.limits", "values": {"most": 1}}))
    assert list(patches.iter_errors({"extends": "app.limits", "values": 3}))


def test_only_the_policy_of_contexts_has_values_that_are_known() -> None:
    assert not checking.check_source(SOURCE.encode()).findings
    policy = SOURCE.replace("app.limits", "context.policy").replace("category: app", "category: context")
    assert {f.code for f in checking.check_source(policy.encode()).findings} == {"bad-policy"}


@pytest.mark.parametrize("line", ["template: hello", "template: hello\nvalues: {}", "vals: {}", ""])
def test_the_policy_of_contexts_is_settings_whatever_is_written_under_its_id(line: str) -> None:
    policy = f"{METADATA.replace('app.limits', 'context.policy').replace('category: app', 'category: context')}{line}\n"
    (finding,) = (f for f in checking.check_source(policy.encode()).findings if f.code == "wrong-kind")
    assert "settings, with `values`" in finding.message


def test_a_wrapper_of_contexts_is_a_prompt_and_other_settings_of_that_category_are_free() -> None:
    context = SOURCE.replace("category: app", "category: context")
    wrapper, other = (context.replace("app.limits", key) for key in ("context.memory", "context.limits"))
    assert [f.code for f in checking.check_source(wrapper.encode()).findings] == ["wrong-kind"]
    assert not checking.check_source(other.encode()).findings


@pytest.mark.parametrize("head", [METADATA, "extends: app.limits\n"])
@pytest.mark.parametrize("key", ["value", "vals", "Values"])
def test_a_mistyped_values_is_told_as_what_it_is_meant_to_be(head: str, key: str) -> None:
    finding = next(
        f for f in documents.parse(f"{head}{key}: {{most: 1}}\n".encode()).findings if f.code == "mistyped-key"
    )
    assert finding.hint == "Did you mean `values`?"


def test_a_document_that_is_neither_prompt_nor_settings_is_told_both_ways() -> None:
    (finding,) = documents.parse(METADATA.encode()).findings
    assert "template is missing, or `values`" in finding.message
    (finding,) = documents.parse(f"{METADATA}variables: []\n".encode()).findings
    assert finding.message == "template is missing"
