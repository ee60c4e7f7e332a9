"""What differs between two documents, how risky it is, and what callers would miss."""

from __future__ import annotations

import copy
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from drawn import Data, documents_of, prompts
from hypothesis import given, settings
from hypothesis import strategies as st

from ovstore import documents
from ovstore.changes import RISK_OF, broken_between, broken_contract, compare, highest, worst
from ovstore.grammar import GRAMMAR, walk
from ovstore.hashing import canonical_json, document_hash
from ovstore.layering import Folded
from ovstore.names import RISKS, Kind, Risk
from ovstore.results import Change

PROMPT: Data = {
    "metadata": {
        "id": "semantic.summary",
        "name": "Summary",
        "description": "Sums up.",
        "version": "1.0",
        "language": "en",
        "category": "semantic",
    },
    "variables": [
        {"name": "q", "type": "string", "description": "The text."},
        {"name": "tone", "type": "string", "description": "The tone.", "required": False},
        {"name": "limit", "type": "integer", "description": "How many.", "default": 5},
    ],
    "template": "Say {{ q | upper }}{% if tone %} in a {{ tone }} way{% endif %}, {{ limit }} words.",
    "output_schema": {"type": "object"},
    "llm_config": {"temperature": 0.0},
}

SCHEMA: Data = {
    "memory_type": "profile",
    "description": "Who the user is.",
    "directory": "memories/profile",
    "filename_template": "profile.md",
    "content_template": "# {{ content }}",
    "embedding_template": "{{ content }}",
    "overview_template": "{{ memory_type }}",
    "fields": [{"name": "content", "description": "All of it."}, {"name": "count", "type": "int64", "merge_op": "sum"}],
}


def changed(data: Data, path: str, value: Any) -> Data:
    """A copy with one field set, or taken away with None; items are named: `variables.q.type`."""
    result = copy.deepcopy(data)
    *steps, last = path.split(".")
    at: Any = result
    for step in steps:
        at = next(item for item in at if item["name"] == step) if isinstance(at, list) else at[step]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return result


def prompt_changes(path: str, value: Any) -> tuple[Change, ...]:
    return compare("prompt", PROMPT, changed(PROMPT, path, value))


def schema_changes(path: str, value: Any) -> tuple[Change, ...]:
    return compare("memory", SCHEMA, changed(SCHEMA, path, value))


def with_items(data: Data, section: str, *items: Data, without: str = "") -> Data:
    kept = [item for item in data[section] if item["name"] != without]
    return data | {section: [*kept, *items]}


class TestRows:
    def test_a_row_has_path_field_and_both_values(self) -> None:
        (change,) = schema_changes("fields.content.merge_op", "replace")
        assert change == Change("fields[content].merge_op", "merge_op", "patch", "replace", "very_high")

    def test_equal_documents_have_no_rows_and_no_risk(self) -> None:
        assert compare("prompt", PROMPT, copy.deepcopy(PROMPT)) == ()
        assert highest(compare("memory", SCHEMA, copy.deepcopy(SCHEMA))) == "none"

    def test_the_order_of_keys_and_items_is_no_change(self) -> None:
        turned = {key: PROMPT[key] for key in reversed(PROMPT)} | {"variables": PROMPT["variables"][::-1]}
        assert compare("prompt", PROMPT, turned) == ()
        assert compare("memory", SCHEMA, SCHEMA | {"fields": SCHEMA["fields"][::-1]}) == ()

    @pytest.mark.parametrize(
        ("path", "value"),
        [("fields.content.merge_op", "patch"), ("fields.content.type", "string"), ("enabled", True), ("stage", "user")],
    )
    def test_a_default_that_becomes_explicit_is_no_change(self, path: str, value: Any) -> None:
        assert schema_changes(path, value) == ()

    def test_required_that_becomes_explicit_is_no_change(self) -> None:
        assert prompt_changes("variables.q.required", True) == ()

    def test_an_empty_llm_config_is_the_same_as_none(self) -> None:
        bare = changed(PROMPT, "llm_config", None)
        assert compare("prompt", bare, bare | {"llm_config": {}}) == ()

    @pytest.mark.parametrize(("path", "alias"), [("variables.limit.type", "int"), ("variables.limit.type", "int64")])
    def test_another_spelling_of_a_type_is_no_change(self, path: str, alias: str) -> None:
        assert prompt_changes(path, alias) == ()

    @pytest.mark.parametrize("value", [0, False, -0.0])
    def test_values_are_compared_as_json_and_not_as_python(self, value: Any) -> None:
        (change,) = prompt_changes("llm_config.temperature", value)
        assert (change.path, canonical_json(change.after)) == ("llm_config.temperature", canonical_json(value))

    def test_a_key_of_llm_config_counts_as_llm_config(self) -> None:
        (change,) = prompt_changes("llm_config.merge_op", "x")
        assert change == Change("llm_config.merge_op", "llm_config", None, "x", "medium")

    def test_an_output_schema_is_one_row(self) -> None:
        (change,) = prompt_changes("output_schema", {"type": "array", "items": {}})
        assert (change.path, change.field) == ("output_schema", "output_schema")

    def test_a_mapping_as_default_is_one_row(self) -> None:
        first = with_items(PROMPT, "variables", {"name": "m", "type": "dict", "description": "", "default": {"a": 1}})
        (change,) = compare("prompt", first, changed(first, "variables.m.default", {"a": {"merge_op": 2}}))
        assert (change.path, change.field) == ("variables[m].default", "default")

    def test_a_field_is_of_the_grammar_even_where_an_author_took_its_name(self) -> None:
        named = with_items(SCHEMA, "fields", {"name": "merge_op"})
        (change,) = compare("memory", named, changed(named, "fields.merge_op.description", "x"))
        assert (change.path, change.field) == ("fields[merge_op].description", "description")

    def test_an_item_that_comes_gives_a_row_for_each_attribute_with_defaults(self) -> None:
        rows = compare("memory", SCHEMA, with_items(SCHEMA, "fields", {"name": "mood"}))
        assert [(row.path, row.before, row.after) for row in rows] == [
            ("fields[mood].name", None, "mood"),
            ("fields[mood].type", None, "string"),
            ("fields[mood].description", None, ""),
            ("fields[mood].merge_op", None, "patch"),
        ]

    def test_an_item_that_goes_gives_a_row_for_each_attribute(self) -> None:
        rows = compare("memory", SCHEMA, with_items(SCHEMA, "fields", without="count"))
        assert [(row.field, row.before, row.after) for row in rows] == [
            ("name", "count", None),
            ("type", "int", None),
            ("description", "", None),
            ("merge_op", "sum", None),
        ]

    def test_rows_come_in_the_order_of_the_grammar_and_items_by_name(self) -> None:
        after = changed(changed(PROMPT, "template", "{{ q }}"), "metadata.version", "2")
        after = changed(changed(after, "variables.tone.type", "any"), "variables.limit.default", 6)
        after = changed(changed(after, "variables.limit.type", "any"), "llm_config.a", 1)
        assert [row.path for row in compare("prompt", PROMPT, after)] == [
            "metadata.version",
            "variables[limit].type",
            "variables[limit].default",
            "variables[tone].type",
            "template",
            "llm_config.a",
        ]

    def test_a_document_that_appears_is_one_row_with_its_hash(self) -> None:
        hashed = document_hash(documents.canonical("prompt", "full", PROMPT)).hex()
        assert compare("prompt", None, PROMPT) == (Change("document", "document", None, hashed, "low"),)

    def test_a_document_that_was_never_there_has_no_rows(self) -> None:
        assert compare("prompt", None, None) == ()

    @settings(max_examples=150, deadline=None)
    @given(
        st.sampled_from(["prompt", "memory"]).flatmap(lambda k: st.tuples(st.just(k), documents_of[k], documents_of[k]))
    )
    def test_there_is_a_row_exactly_where_the_canonical_documents_differ(self, drawn: tuple[Kind, Data, Data]) -> None:
        kind, before, after = drawn
        rows = compare(kind, before, after)
        equal = canonical_json(documents.canonical(kind, "full", before)) == canonical_json(
            documents.canonical(kind, "full", after)
        )
        assert (rows == ()) == equal
        assert all(canonical_json(row.before) != canonical_json(row.after) for row in rows)
        assert {row.field for row in rows} <= {path[-1] for path, _ in walk(kind)}

    @settings(max_examples=100, deadline=None)
    @given(
        st.sampled_from(["prompt", "memory"]).flatmap(lambda k: st.tuples(st.just(k), documents_of[k], documents_of[k]))
    )
    def test_the_way_back_has_the_same_rows_with_the_values_exchanged(self, drawn: tuple[Kind, Data, Data]) -> None:
        kind, before, after = drawn
        there = [(row.path, row.field, row.before, row.after) for row in compare(kind, before, after)]
        back = [(row.path, row.field, row.after, row.before) for row in compare(kind, after, before)]
        assert canonical_json(there) == canonical_json(back)


PROMPT_RISKS: list[tuple[str, Any, Risk]] = [
    ("metadata.name", "Other", "low"),
    ("metadata.description", "Other.", "low"),
    ("metadata.version", "1.1", "low"),
    ("metadata.language", "de", "medium"),
    ("metadata.category", "parsing", "medium"),
    ("metadata.id", "semantic.other", "high"),
    ("variables.q.description", "Other.", "low"),
    ("variables.q.type", "any", "high"),
    ("variables.limit.type", "float", "high"),
    ("variables.q.required", False, "medium"),
    ("variables.tone.required", True, "high"),
    ("variables.limit.default", None, "high"),
    ("variables.limit.default", 6, "medium"),
    ("variables.q.default", "x", "medium"),
    ("variables.q.max_length", 500, "medium"),
    ("output_schema", {"type": "array"}, "high"),
    ("output_schema", None, "high"),
    ("llm_config.temperature", 0.5, "medium"),
    ("llm_config.model", "m", "medium"),
    ("llm_config", None, "medium"),
]
SCHEMA_RISKS: list[tuple[str, Any, Risk]] = [
    ("memory_type", "other", "high"),
    ("description", "Other.", "medium"),
    ("fields.content.description", "Other.", "medium"),
    ("fields.content.type", "any", "high"),
    ("fields.content.merge_op", "immutable", "very_high"),
    ("fields.content.init_value", "x", "medium"),
    ("directory", "elsewhere", "very_high"),
    ("filename_template", "{{ content }}.md", "very_high"),
    ("operation_mode", "add_only", "very_high"),
    ("content_template", "## {{ content }}", "medium"),
    ("content_template", None, "medium"),
    ("embedding_template", "x", "medium"),
    ("overview_template", "x", "medium"),
    ("enabled", False, "high"),
    ("stage", "agent", "high"),
    ("peer_enabled", False, "high"),
]
TEMPLATE: str = PROMPT["template"]
TEMPLATE_RISKS: list[tuple[str, str, Risk]] = [
    ("other prose", TEMPLATE.replace("Say", "Please tell"), "low"),
    ("prose inside a block", TEMPLATE.replace("in a", "in some"), "low"),
    ("a comment", TEMPLATE + "{# why #}", "low"),
    ("another expression", TEMPLATE.replace("{{ limit }}", "{{ limit + 1 }}"), "medium"),
    ("an expression less", TEMPLATE.replace("{{ limit }}", "five"), "medium"),
    ("another filter", TEMPLATE.replace("upper", "lower"), "medium"),
    ("another statement", TEMPLATE.replace("if tone", "if not tone"), "medium"),
    ("another test", TEMPLATE.replace("if tone", "if tone is defined"), "medium"),
    ("a literal in an expression", TEMPLATE.replace("{{ tone }}", "{{ tone ~ 'x' }}"), "medium"),
    ("a part", '{% include "shared.tone" %}' + TEMPLATE, "medium"),
    ("a block that moves over another", "{% if tone %}{{ tone }}{% endif %}{{ q | upper }}{{ limit }}", "medium"),
]


class TestRisk:
    @pytest.mark.parametrize(("path", "value", "risk"), PROMPT_RISKS)
    def test_a_field_of_a_prompt(self, path: str, value: Any, risk: Risk) -> None:
        assert [change.risk for change in prompt_changes(path, value)] == [risk]

    @pytest.mark.parametrize(("path", "value", "risk"), SCHEMA_RISKS)
    def test_a_field_of_a_memory_schema(self, path: str, value: Any, risk: Risk) -> None:
        assert [change.risk for change in schema_changes(path, value)] == [risk]

    @pytest.mark.parametrize(("what", "template", "risk"), TEMPLATE_RISKS, ids=[what for what, _, _ in TEMPLATE_RISKS])
    def test_a_template_with(self, what: str, template: str, risk: Risk) -> None:
        assert [change.risk for change in prompt_changes("template", template)] == [risk]

    def test_a_change_of_part_is_medium(self) -> None:
        one, other = (PROMPT | {"template": f'{{% include "shared.{name}" %}}'} for name in ("tone", "mood"))
        assert highest(compare("prompt", one, other)) == "medium"

    def test_a_default_that_an_optional_variable_loses_is_medium(self) -> None:
        optional = changed(PROMPT, "variables.limit.required", False)
        assert highest(compare("prompt", optional, changed(optional, "variables.limit.default", None))) == "medium"

    @pytest.mark.parametrize(
        ("more", "risk"),
        [({}, "high"), ({"required": True}, "high"), ({"required": False}, "medium"), ({"default": "x"}, "medium")],
        ids=["required by default", "required", "optional", "optional by its default"],
    )
    def test_a_variable_that_is_added_has_the_risk_of_having_to_be_given(self, more: Data, risk: Risk) -> None:
        new = {"name": "who", "type": "string", "description": "Who asks."} | more
        rows = compare("prompt", PROMPT, with_items(PROMPT, "variables", new))
        assert {row.risk for row in rows} == {risk}

    @pytest.mark.parametrize("name", ["q", "tone", "limit"])
    def test_a_variable_that_is_removed_is_high_be_it_required_or_not(self, name: str) -> None:
        assert highest(compare("prompt", PROMPT, with_items(PROMPT, "variables", without=name))) == "high"

    def test_a_variable_that_is_renamed_is_high(self) -> None:
        renamed = {"name": "manner", "type": "string", "description": "The tone.", "required": False}
        assert highest(compare("prompt", PROMPT, with_items(PROMPT, "variables", renamed, without="tone"))) == "high"

    def test_a_memory_field_that_comes_is_high_its_merge_op_too(self) -> None:
        rows = compare("memory", SCHEMA, with_items(SCHEMA, "fields", {"name": "mood", "merge_op": "immutable"}))
        assert {row.risk for row in rows} == {"high"}

    def test_a_memory_field_that_goes_is_high_its_merge_op_too(self) -> None:
        rows = compare("memory", SCHEMA, with_items(SCHEMA, "fields", without="count"))
        assert {row.risk for row in rows} == {"high"}

    def test_a_document_that_appears_is_low(self) -> None:
        assert highest(compare("prompt", None, PROMPT)) == "low"
        assert highest(compare("memory", None, SCHEMA)) == "low"

    def test_a_prompt_that_disappears_is_high(self) -> None:
        (change,) = compare("prompt", PROMPT, None)
        assert (change.path, change.after, change.risk) == ("document", None, "high")

    def test_a_memory_type_that_disappears_is_very_high(self) -> None:
        assert highest(compare("memory", SCHEMA, None)) == "very_high"

    def test_the_risk_of_several_changes_is_the_highest(self) -> None:
        after = changed(changed(SCHEMA, "description", "x"), "directory", "x")
        assert highest(compare("memory", SCHEMA, after)) == "very_high"

    def test_the_worst_of_no_risks_is_none(self) -> None:
        assert (worst(), worst("low", "high", "medium")) == ("none", "high")

    @pytest.mark.parametrize("kind", ["prompt", "memory"])
    def test_every_risk_listed_is_of_a_field_that_exists(self, kind: Kind) -> None:
        assert RISK_OF[kind].keys() <= {".".join(path) for path, _ in walk(kind)}

    @pytest.mark.parametrize("kind", sorted(GRAMMAR))
    def test_every_field_but_the_identity_is_listed_or_has_a_rule(self, kind: Kind) -> None:
        rules = {"template", "variables.name", "variables.required", "variables.default"}
        leaves = {
            ".".join(path) for path, attribute in walk(kind) if not attribute.attributes and attribute.form != "key"
        }
        assert leaves - RISK_OF[kind].keys() <= rules


few_variables = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from("qr"),
            "type": st.sampled_from(["int", "float", "any"]),
            "description": st.just(""),
            "required": st.booleans(),
        },
        optional={"default": st.just(1)},
    ),
    max_size=2,
    unique_by=lambda variable: variable["name"],
)


class TestContract:
    def broken(self, after: Data, before: Data = PROMPT) -> tuple[str, ...]:
        return broken_contract("prompt", before, after)

    def test_the_same_document_keeps_it(self) -> None:
        assert self.broken(PROMPT) == ()

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("template", "Other {{ q }}"),
            ("metadata.name", "x"),
            ("llm_config.temperature", 1),
            ("variables.q.required", False),
            ("variables.q.default", "x"),
            ("variables.q.type", "any"),
            ("variables.limit.type", "number"),
            ("variables.limit.type", "int"),
            ("variables.limit.default", 7),
            ("variables.q.max_length", 5),
        ],
    )
    def test_a_change_that_every_call_survives_keeps_it(self, path: str, value: Any) -> None:
        assert self.broken(changed(PROMPT, path, value)) == ()

    def test_a_new_variable_that_may_be_left_out_keeps_it(self) -> None:
        optional = {"name": "a", "type": "int", "description": "", "required": False}
        filled = {"name": "b", "type": "int", "description": "", "required": True, "default": 0}
        assert self.broken(with_items(PROMPT, "variables", optional, filled)) == ()

    def test_required_with_a_default_that_is_switched_on_keeps_it(self) -> None:
        before = changed(PROMPT, "variables.limit.required", False)
        assert self.broken(PROMPT, before) == ()

    def test_a_variable_that_is_gone_breaks_it(self) -> None:
        (sentence,) = self.broken(with_items(PROMPT, "variables", without="tone"))
        assert sentence == "variable tone is gone: what calls give for it is no longer used"

    def test_a_new_variable_that_must_be_given_breaks_it(self) -> None:
        (sentence,) = self.broken(with_items(PROMPT, "variables", {"name": "who", "type": "any", "description": ""}))
        assert sentence == "variable who is new and must be given: calls without it fail"

    def test_a_variable_that_could_be_left_out_and_must_be_given_breaks_it(self) -> None:
        (sentence,) = self.broken(changed(PROMPT, "variables.tone.required", True))
        assert sentence == "variable tone must be given and could be left out: calls without it fail"

    def test_a_required_variable_that_loses_its_default_breaks_it(self) -> None:
        assert self.broken(changed(PROMPT, "variables.limit.default", None)) != ()

    @pytest.mark.parametrize(
        ("before", "after"),
        [("any", "string"), ("float", "int"), ("bool", "int"), ("int", "bool"), ("string", "int"), ("list", "dict")],
    )
    def test_a_type_that_takes_fewer_values_breaks_it(self, before: str, after: str) -> None:
        old = changed(PROMPT, "variables.q.type", before)
        (sentence,) = self.broken(changed(PROMPT, "variables.q.type", after), old)
        assert sentence == f"variable q takes {after} and took {before}: calls that give it so fail"

    @pytest.mark.parametrize("schema", [None, {"type": "object", "additionalProperties": False}])
    def test_another_output_schema_breaks_it(self, schema: Data | None) -> None:
        (sentence,) = self.broken(changed(PROMPT, "output_schema", schema))
        assert sentence.startswith("output_schema is not the same")

    def test_an_output_schema_that_says_the_same_keeps_it(self) -> None:
        before = changed(PROMPT, "output_schema", {"type": "object", "title": "x"})
        assert self.broken(changed(PROMPT, "output_schema", {"title": "x", "type": "object"}), before) == ()

    def test_every_variable_that_breaks_it_is_named(self) -> None:
        after = changed(with_items(PROMPT, "variables", without="q"), "variables.tone.required", True)
        assert [sentence.split()[1] for sentence in self.broken(after)] == ["q", "tone"]

    def test_a_template_that_is_gone_breaks_it(self) -> None:
        assert len(broken_contract("prompt", PROMPT, None)) == len(broken_contract("memory", SCHEMA, None)) == 1

    def test_where_nothing_was_there_is_nothing_to_keep(self) -> None:
        assert broken_contract("prompt", None, PROMPT) == ()

    def test_another_kind_breaks_every_call(self) -> None:
        prompt, schema = (Folded(kind, data, ()) for kind, data in (("prompt", PROMPT), ("memory", SCHEMA)))
        assert broken_between(prompt, schema) == (
            "it was of the kind prompt and is of the kind memory: no call of it works any more",
        )

    def test_a_memory_schema_is_not_called_and_has_none(self) -> None:
        assert broken_contract("memory", SCHEMA, changed(SCHEMA, "directory", "x")) == ()

    @settings(max_examples=200, deadline=None)
    @given(prompts, prompts)
    def test_whatever_breaks_it_is_of_high_risk(self, before: Data, after: Data) -> None:
        if self.broken(after, before):
            assert RISKS.index(highest(compare("prompt", before, after))) >= RISKS.index("high")

    @settings(max_examples=300, deadline=None)
    @given(few_variables, few_variables)
    def test_it_is_broken_exactly_where_some_call_stops_working(self, before: list[Data], after: list[Data]) -> None:
        stops = any(accepts(before, call) and not accepts(after, call) for call in CALLS)
        assert bool(self.broken(PROMPT | {"variables": after}, PROMPT | {"variables": before})) == stops


VALUES: dict[str, tuple[Any, ...]] = {"int": (1,), "float": (1, 1.5), "any": (1, 1.5, "x")}
CALLS: list[Data] = [
    {name: value for name, value in zip("qr", values, strict=True) if value is not None}
    for values in itertools.product((None, 1, 1.5, "x"), repeat=2)
]


def accepts(variables: list[Data], call: Data) -> bool:
    """Whether a call works, by a model that knows nothing of contracts."""
    declared = {variable["name"]: variable for variable in variables}
    known = all(name in declared and value in VALUES[declared[name]["type"]] for name, value in call.items())
    return known and all(name in call or "default" in v or not v["required"] for name, v in declared.items())


def test_the_table_for_people_is_the_table_of_the_program() -> None:
    text = (Path(__file__).parent.parent / "docs" / "risk.md").read_text(encoding="utf-8")
    sections = re.split(r"^### (?:Prompts|Memory schemas|Settings)$", text, flags=re.MULTILINE)[1:]
    for kind, section in zip(("prompt", "memory", "settings"), sections, strict=True):
        told = dict(re.findall(r"^\| `([a-z_.]+)` \| ([a-z_]+) \|", section, re.MULTILINE))
        assert {field: told.get(field) for field in RISK_OF[kind]} == RISK_OF[kind]
