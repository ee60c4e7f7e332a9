"""Folding, patching and telling where a field came from, on plain data."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from drawn import Data, documents_of, memory_schemas, prompts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ovstore import documents, names
from ovstore.hashing import canonical_json, document_hash
from ovstore.layering import (
    Folded,
    FoldError,
    LayerVersion,
    Path,
    apply_patch,
    diff,
    fields_of,
    fold,
    folded_hash,
    same,
)
from ovstore.names import Kind, Mode
from ovstore.results import Origin

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
        {"name": "q", "type": "string", "description": "The text.", "max_length": 500},
        {"name": "tone", "type": "string", "description": "The tone.", "required": False, "default": "plain"},
    ],
    "template": "Say {{ q }} in a {{ tone }} way.",
    "output_schema": {"type": "object", "properties": {"answer": {"type": "string"}}},
    "llm_config": {"temperature": 0.0, "stop": {"after": 3}},
}

SCHEMA: Data = {
    "memory_type": "profile",
    "directory": "memories/profile",
    "filename_template": "profile.md",
    "content_template": "# {{ content }}",
    "fields": [
        {"name": "content", "type": "string", "merge_op": "patch"},
        {"name": "count", "type": "int64", "merge_op": "sum"},
    ],
}


def canonical(kind: Kind, data: Data) -> str:
    return canonical_json(documents.canonical(kind, "full", data))


def layer(scope: str, data: Data, number: int = 1) -> LayerVersion:
    mode: Mode = "patch" if "extends" in data else "full"
    kind: Kind = "prompt" if "metadata" in data or "." in data.get("extends", "") else "memory"
    hashed = document_hash(documents.canonical(kind, mode, data))
    return LayerVersion(scope, "live", number, mode, kind, data, b"", hashed, "", "", "")


def patched(**changes: Any) -> Data:
    return apply_patch("prompt", PROMPT, {"extends": "semantic.summary", **changes})


def patched_schema(**changes: Any) -> Data:
    return apply_patch("memory", SCHEMA, {"extends": "profile", **changes})


def item(data: Data, section: str, name: str) -> Data:
    return next(found for found in data[section] if found["name"] == name)


class TestApplyPatch:
    def test_a_patch_without_changes_gives_the_base(self) -> None:
        assert patched() == PROMPT

    def test_a_top_level_key_is_replaced(self) -> None:
        assert patched(template="New.") == PROMPT | {"template": "New."}

    def test_metadata_merges_key_by_key(self) -> None:
        assert patched(metadata={"version": "2"})["metadata"] == PROMPT["metadata"] | {"version": "2"}

    def test_items_merge_by_name(self) -> None:
        tone = item(patched(variables=[{"name": "tone", "default": "warm"}]), "variables", "tone")
        assert tone == {
            "name": "tone",
            "type": "string",
            "description": "The tone.",
            "required": False,
            "default": "warm",
        }

    def test_items_keep_the_order_of_the_base_and_new_ones_come_behind(self) -> None:
        new = {"name": "a", "type": "any", "description": ""}
        merged = patched(variables=[new, {"name": "tone", "default": "warm"}, {"name": "q", "type": "any"}])
        assert [found["name"] for found in merged["variables"]] == ["q", "tone", "a"]

    def test_keys_keep_the_order_of_the_base_and_new_ones_come_behind(self) -> None:
        merged = patched_schema(enabled=False, directory="elsewhere", description="Who.")
        assert list(merged) == [*SCHEMA, "description", "enabled"]

    def test_a_removed_item_is_gone(self) -> None:
        merged = patched(variables=[{"name": "tone", "$remove": True}])
        assert [found["name"] for found in merged["variables"]] == ["q"]

    def test_null_removes_an_optional_key(self) -> None:
        assert "output_schema" not in patched(output_schema=None)
        assert "content_template" not in patched_schema(content_template=None)

    def test_null_removes_an_optional_key_of_an_item(self) -> None:
        merged = patched(variables=[{"name": "tone", "default": None}, {"name": "q", "max_length": None}])
        assert "default" not in item(merged, "variables", "tone")
        assert "max_length" not in item(merged, "variables", "q")

    def test_null_of_a_key_that_is_not_there_changes_nothing(self) -> None:
        assert patched_schema(overview_template=None) == SCHEMA

    def test_null_for_all_items_removes_them(self) -> None:
        assert "variables" not in patched(variables=None)

    def test_an_empty_list_of_items_changes_nothing(self) -> None:
        assert patched(variables=[]) == PROMPT

    def test_llm_config_merges_one_level(self) -> None:
        merged = patched(llm_config={"temperature": 1, "stop": {"before": 1}})
        assert merged["llm_config"] == {"temperature": 1, "stop": {"before": 1}}

    def test_null_in_llm_config_means_absent(self) -> None:
        assert patched(llm_config={"temperature": None})["llm_config"] == {"stop": {"after": 3}}

    def test_null_deeper_in_llm_config_is_a_value(self) -> None:
        assert patched(llm_config={"stop": {"after": None}})["llm_config"]["stop"] == {"after": None}

    def test_output_schema_replaces_whole(self) -> None:
        assert patched(output_schema={"type": "array"})["output_schema"] == {"type": "array"}

    def test_a_mapping_as_default_replaces_whole(self) -> None:
        first = {"name": "m", "type": "dict", "description": "", "default": {"a": 1, "b": 2}}
        base = apply_patch("prompt", PROMPT, {"extends": "semantic.summary", "variables": [first]})
        second = {"extends": "semantic.summary", "variables": [{"name": "m", "default": {"b": None}}]}
        assert item(apply_patch("prompt", base, second), "variables", "m")["default"] == {"b": None}

    def test_the_identity_stays_that_of_the_base(self) -> None:
        assert patched(metadata={"id": "semantic.other"})["metadata"]["id"] == "semantic.summary"
        assert patched_schema(memory_type="other")["memory_type"] == "profile"

    def test_removing_what_the_base_does_not_have_names_every_such_item(self) -> None:
        gone = [{"name": name, "$remove": True} for name in ("a", "content", "b")]
        with pytest.raises(
            FoldError, match=r"removes fields\[a\] and fields\[b\], which what it extends does not have"
        ):
            patched_schema(fields=gone)

    def test_what_goes_in_is_not_altered(self) -> None:
        before = copy.deepcopy(PROMPT)
        change = {"extends": "semantic.summary", "variables": [{"name": "q", "type": "any"}], "llm_config": {"a": 1}}
        kept = copy.deepcopy(change)
        apply_patch("prompt", PROMPT, change)
        assert (before, kept) == (PROMPT, change)


class TestFold:
    def test_the_nearest_full_document_hides_what_is_below_it(self) -> None:
        nearest = layer("acme", PROMPT | {"template": "Ours."})
        folded = fold([nearest, layer("seed", PROMPT)])
        assert (folded.data["template"], folded.used) == ("Ours.", (nearest,))

    def test_patches_go_on_farthest_first(self) -> None:
        near = {"extends": "profile", "fields": [{"name": "count", "merge_op": "replace"}], "stage": "agent"}
        far = {"extends": "profile", "fields": [{"name": "count", "merge_op": "immutable"}], "enabled": False}
        folded = fold([layer("acme/support", near), layer("acme", far), layer("seed", SCHEMA)])
        assert item(folded.data, "fields", "count")["merge_op"] == "replace"
        assert (folded.data["stage"], folded.data["enabled"]) == ("agent", False)

    def test_a_patch_below_the_full_document_takes_no_part(self) -> None:
        patch = layer("global", {"extends": "profile", "enabled": False})
        assert fold([layer("acme", SCHEMA), patch, layer("seed", SCHEMA)]).data == SCHEMA

    def test_a_nearer_patch_completes_what_a_farther_one_began(self) -> None:
        far = {"extends": "semantic.summary", "variables": [{"name": "n", "type": "int"}]}
        near = {"extends": "semantic.summary", "variables": [{"name": "n", "description": "How many."}]}
        folded = fold([layer("acme/support", near), layer("acme", far), layer("seed", PROMPT)])
        built, _ = documents.build("prompt", folded.data)
        assert built is not None

    def test_without_a_full_document_the_farthest_patch_is_named(self) -> None:
        patch = {"extends": "profile", "enabled": False}
        with pytest.raises(FoldError, match="global:7 is a patch, and no layer below it has a full document"):
            fold([layer("acme", patch), layer("global", patch, 7)])

    def test_no_layers_are_no_document(self) -> None:
        with pytest.raises(FoldError, match="no layer"):
            fold([])

    def test_removing_a_missing_item_names_layer_and_item(self) -> None:
        patch = {"extends": "profile", "fields": [{"name": "mood", "$remove": True}]}
        with pytest.raises(FoldError, match=r"acme:3 removes fields\[mood\]"):
            fold([layer("acme", patch, 3), layer("seed", SCHEMA)])

    def test_a_patch_of_another_kind_names_both_layers(self) -> None:
        patch = {"extends": "semantic.summary", "template": "x"}
        with pytest.raises(FoldError, match="acme:1 is a patch of kind prompt, and seed:1 below it is of kind memory"):
            fold([layer("acme", patch), layer("seed", SCHEMA)])

    def test_the_hash_of_one_layer_is_its_own_and_that_of_several_is_the_folds(self) -> None:
        seed = layer("seed", SCHEMA)
        folded = fold([layer("acme", {"extends": "profile", "enabled": False}), seed])
        assert folded_hash(fold([seed])) == seed.document_hash
        assert folded_hash(folded) == document_hash(documents.canonical("memory", "full", SCHEMA | {"enabled": False}))


class TestProvenance:
    def origins(self, *patches: Data, base: Data = SCHEMA) -> dict[str, str]:
        """Fold patches, nearest first, of the scopes c, b, a in this order from the right."""
        scopes = "abc"[: len(patches)][::-1]
        layers = [layer(scope, patch) for scope, patch in zip(scopes, patches, strict=True)]
        return {path: origin.scope for path, origin in fold([*layers, layer("seed", base)]).fields.items()}

    def test_every_field_of_a_single_layer_came_from_it_defaults_included(self) -> None:
        fields = fold([layer("seed", SCHEMA, 4)]).fields
        assert set(fields.values()) == {Origin("seed", 4)}
        assert {"directory", "enabled", "fields[content].merge_op", "fields[count].description"} <= fields.keys()

    def test_the_paths_are_those_of_the_fields(self) -> None:
        fields = fold([layer("seed", PROMPT)]).fields
        assert {
            "template",
            "metadata.version",
            "variables[q].type",
            "llm_config.temperature",
            "output_schema",
        } <= fields.keys()

    def test_what_a_patch_sets_came_from_the_patch(self) -> None:
        origins = self.origins({"extends": "profile", "fields": [{"name": "content", "merge_op": "replace"}]})
        assert {path for path, scope in origins.items() if scope == "a"} == {"fields[content].merge_op"}

    def test_a_value_that_a_patch_repeats_came_from_the_patch(self) -> None:
        assert self.origins({"extends": "profile", "directory": SCHEMA["directory"]})["directory"] == "a"

    def test_the_nearest_patch_that_sets_a_field_wins(self) -> None:
        patch = {"extends": "profile", "directory": "x"}
        assert self.origins({"extends": "profile", "enabled": False}, patch, patch)["directory"] == "b"

    def test_every_field_of_a_new_item_came_from_the_layer_that_brought_it(self) -> None:
        origins = self.origins({"extends": "profile", "fields": [{"name": "mood"}]})
        new = {path for path in origins if path.startswith("fields[mood]")}
        assert new == {path for path, scope in origins.items() if scope == "a"}
        assert "fields[mood].merge_op" in new

    def test_a_default_that_null_brings_back_came_from_the_layer_with_the_null(self) -> None:
        origins = self.origins({"extends": "profile", "fields": [{"name": "count", "merge_op": None}]})
        assert (origins["fields[count].merge_op"], origins["fields[count].type"]) == ("a", "seed")

    def test_what_is_removed_has_no_origin(self) -> None:
        origins = self.origins(
            {"extends": "profile", "content_template": None, "fields": [{"name": "count", "$remove": True}]}
        )
        assert not [path for path in origins if path == "content_template" or "count" in path]

    def test_an_item_that_returns_came_from_the_layer_that_brought_it_back(self) -> None:
        removed = {"extends": "profile", "fields": [{"name": "count", "$remove": True}]}
        origins = self.origins({"extends": "profile", "fields": [{"name": "count"}]}, removed)
        assert {scope for path, scope in origins.items() if "count" in path} == {"b"}

    def test_llm_config_is_told_key_by_key(self) -> None:
        patch = {"extends": "semantic.summary", "llm_config": {"model": "m", "stop": None}}
        origins = self.origins(patch, base=PROMPT)
        config = {path: scope for path, scope in origins.items() if path.startswith("llm_config")}
        assert config == {"llm_config.temperature": "seed", "llm_config.model": "a"}

    def test_the_identity_came_from_the_base_whatever_a_patch_says(self) -> None:
        patch = {"extends": "semantic.summary", "metadata": {"id": "semantic.summary", "version": "2"}}
        origins = self.origins(patch, base=PROMPT)
        assert (origins["metadata.id"], origins["metadata.version"]) == ("seed", "a")


class TestDiff:
    def test_equal_documents_give_a_patch_with_extends_alone(self) -> None:
        assert diff("prompt", PROMPT, copy.deepcopy(PROMPT)) == {"extends": "semantic.summary"}
        assert diff("memory", SCHEMA, copy.deepcopy(SCHEMA)) == {"extends": "profile"}

    def test_order_defaults_and_spellings_of_types_are_no_difference(self) -> None:
        fields = [{"name": "count", "merge_op": "sum", "type": "int"}, {"name": "content"}]
        same_schema = SCHEMA | {"fields": fields, "enabled": True, "stage": "user"}
        assert diff("memory", SCHEMA, same_schema) == {"extends": "profile"}

    def test_only_the_differing_keys_of_an_item_go_in(self) -> None:
        target = SCHEMA | {"fields": [{"name": "content", "merge_op": "replace"}, SCHEMA["fields"][1]]}
        assert diff("memory", SCHEMA, target) == {
            "extends": "profile",
            "fields": [{"name": "content", "merge_op": "replace"}],
        }

    def test_a_renamed_item_is_one_that_goes_and_one_that_comes(self) -> None:
        target = SCHEMA | {"fields": [SCHEMA["fields"][0], {"name": "times", "type": "int64", "merge_op": "sum"}]}
        assert diff("memory", SCHEMA, target)["fields"] == [
            {"name": "count", "$remove": True},
            {"name": "times", "type": "int64", "merge_op": "sum"},
        ]

    def test_a_key_that_falls_back_to_its_default_is_spelled_out(self) -> None:
        assert diff("memory", SCHEMA | {"enabled": False}, SCHEMA) == {"extends": "profile", "enabled": True}

    def test_an_optional_key_that_goes_is_null(self) -> None:
        target = {key: value for key, value in PROMPT.items() if key != "output_schema"}
        assert diff("prompt", PROMPT, target) == {"extends": "semantic.summary", "output_schema": None}

    def test_llm_config_is_told_key_by_key(self) -> None:
        target = PROMPT | {"llm_config": {"temperature": 0, "stop": {"after": 3}, "model": "m"}}
        assert diff("prompt", PROMPT, target)["llm_config"] == {"temperature": 0, "model": "m"}

    @pytest.mark.parametrize("kind", ["prompt", "memory"])
    def test_the_drawn_documents_are_valid(self, kind: Kind) -> None:
        @settings(max_examples=60, deadline=None)
        @given(documents_of[kind])
        def check(data: Data) -> None:
            built, findings = documents.build(kind, data)
            assert built is not None, findings
            assert built.as_written() == data

        check()

    @settings(max_examples=300, deadline=None)
    @given(prompts, prompts)
    def test_applying_the_difference_of_two_prompts_gives_the_second(self, base: Data, target: Data) -> None:
        assert canonical("prompt", apply_patch("prompt", base, diff("prompt", base, target))) == canonical(
            "prompt", target
        )

    @settings(max_examples=300, deadline=None)
    @given(memory_schemas, memory_schemas)
    def test_applying_the_difference_of_two_memory_schemas_gives_the_second(self, base: Data, target: Data) -> None:
        merged = apply_patch("memory", base, diff("memory", base, target))
        assert canonical("memory", merged) == canonical("memory", target)

    @settings(max_examples=100, deadline=None)
    @given(st.sampled_from(["prompt", "memory"]).flatmap(lambda kind: st.tuples(st.just(kind), documents_of[kind])))
    def test_a_document_differs_from_itself_in_nothing(self, drawn: tuple[Kind, Data]) -> None:
        kind, data = drawn
        assert len(diff(kind, data, copy.deepcopy(data))) == 1

    @settings(max_examples=60, deadline=None)
    @given(
        st.sampled_from(["prompt", "memory"]).flatmap(
            lambda kind: st.tuples(st.just(kind), documents_of[kind], documents_of[kind])
        )
    )
    def test_a_difference_survives_being_written_as_yaml(self, drawn: tuple[Kind, Data, Data]) -> None:
        kind, base, target = drawn
        patch = diff(kind, base, target)
        parsed = documents.parse(documents.generate(patch))
        assert parsed.document is not None, parsed.findings
        assert parsed.data is not None
        assert canonical(kind, apply_patch(kind, base, parsed.data)) == canonical(kind, target)


class TestPathsAndValues:
    def test_paths_are_spelled_as_people_read_them(self) -> None:
        paths = [Path("template"), Path("metadata", None, "version"), Path("fields", "content", "merge_op")]
        assert [str(path) for path in paths] == ["template", "metadata.version", "fields[content].merge_op"]

    @pytest.mark.parametrize(
        ("one", "other"), [(0, 0.0), (0, False), (1, True), (1.0, True), ("1", 1), ([0], [False]), (0.0, -0.0)]
    )
    def test_values_that_only_python_takes_for_equal_differ(self, one: Any, other: Any) -> None:
        assert not same(one, other)

    def test_the_order_of_keys_is_no_difference(self) -> None:
        assert same({"a": 1, "b": [2]}, {"b": [2], "a": 1})

    def test_fields_come_in_the_order_of_the_grammar_and_items_by_name(self) -> None:
        paths = [str(path) for path in fields_of("memory", SCHEMA | {"fields": SCHEMA["fields"][::-1]})]
        assert [path for path in paths if path.endswith("merge_op")] == [
            "fields[content].merge_op",
            "fields[count].merge_op",
        ]
        assert paths.index("memory_type") < paths.index("fields[content].name") < paths.index("directory")


class FoldMachine(RuleBasedStateMachine):
    """A chain whose layers come and go; what each scope was last told to serve is the model."""

    kind: Kind = "memory"
    chain = names.chain("acme/support")

    @initialize(wanted=memory_schemas)
    def seed(self, wanted: Data) -> None:
        self.layers: dict[str, LayerVersion] = {"seed": layer("seed", wanted)}
        self.number = 1

    def folded(self, scope: str) -> Folded:
        return fold([self.layers[name] for name in names.chain(scope) if name in self.layers])

    @rule(scope=st.sampled_from(chain[:-1]), wanted=memory_schemas)
    def a_patch_makes_a_scope_serve_what_was_wanted(self, scope: str, wanted: Data) -> None:
        self.layers.pop(scope, None)
        try:
            below = self.folded(scope)
        except FoldError:
            self.put(scope, wanted)
        else:
            self.put(scope, diff(self.kind, below.data, wanted))
        assert canonical(self.kind, self.folded(scope).data) == canonical(self.kind, wanted)

    @rule(scope=st.sampled_from(chain), wanted=memory_schemas)
    def a_full_document_makes_a_scope_serve_it(self, scope: str, wanted: Data) -> None:
        self.put(scope, wanted)
        assert self.folded(scope).data == wanted

    @precondition(lambda self: len(self.layers) > 1)
    @rule(data=st.data())
    def a_scope_stops_overriding(self, data: st.DataObject) -> None:
        scope = data.draw(st.sampled_from(sorted(self.layers.keys() - {"seed"})))
        del self.layers[scope]

    def put(self, scope: str, document: Data) -> None:
        self.number += 1
        self.layers[scope] = layer(scope, document, self.number)

    @invariant()
    def each_field_came_from_a_layer_that_took_part_and_has_the_value(self) -> None:
        for scope in self.chain:
            try:
                folded = self.folded(scope)
            except FoldError as error:
                assert any(str(layer) in str(error) for layer in self.layers.values())
                continue
            used = {(layer.scope, layer.number): layer for layer in folded.used}
            fields = fields_of(self.kind, folded.data)
            assert list(folded.fields) == [str(path) for path in fields]
            for path, value in fields.items():
                origin = folded.fields[str(path)]
                written = _written(used[origin.scope, origin.version].data, path)
                assert written is None or same(written, value)


def _written(data: Data, path: Path) -> Any:
    if path.item is not None:
        data = next((found for found in data[path.section] if found["name"] == path.item), {})
    value = data.get(path.attribute or path.section)
    return (
        documents.canonical("memory", "patch", {"fields": [{"name": "", "type": value}]})["fields"][0]["type"]
        if path.attribute == "type"
        else value
    )


TestFoldMachine = FoldMachine.TestCase
TestFoldMachine.settings = settings(
    max_examples=40, stateful_step_count=12, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
