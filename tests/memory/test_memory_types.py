"""A memory type at work: contents, embeddings, overviews, records and their merges; and every schema that ships."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recipes import MISO, recipes, schema

from ovstore import bundled, documents
from ovstore.documents import MemorySchema
from ovstore.errors import InvalidArgumentError, MergeError, MissingVariablesError, RenderError
from ovstore.memory import CLEAR, MERGE_SEMANTICS, MemoryType, read_file

SECOND = {
    "cuisine": "JP",
    "dish": "X",
    "times_cooked": 2,
    "notes": {"blocks": [{"search": "- less salt", "replace": "- less salt\n- more garlic"}]},
}
WRITTEN = """# Miso Ramen
Cuisine: Japanese
Cooked: 3x

- less salt
- more garlic

<!-- MEMORY_FIELDS
{
  "cuisine": "Japanese",
  "dish": "Miso Ramen",
  "times_cooked": 3,
  "notes": "- less salt\\n- more garlic",
  "version": 2,
  "memory_type": "recipes"
}
-->"""


def test_the_worked_example_comes_out_to_the_byte() -> None:
    kind = recipes()
    first = kind.file(kind.merge(None, MISO))
    second = kind.file(kind.merge(kind.record(first), SECOND))
    assert second == WRITTEN
    record = kind.record(second)
    assert kind.path(record, user_space="u1") == "viking://user/u1/memories/recipes/japanese/miso ramen.md"
    assert kind.embedding(record) == "Miso Ramen\n\nJapanese\n\n- less salt\n- more garlic"
    overview = kind.overview({"miso ramen.md": record}, directory="viking://user/u1/memories/recipes/japanese")
    assert overview == "# Recipes in japanese\n\n- [Miso Ramen](./miso ramen.md) cooked 3\n"


def test_a_file_of_the_worked_example_is_read_as_its_record() -> None:
    record = recipes().record(WRITTEN)
    assert record.pop("content") == WRITTEN.partition("\n\n<!--")[0]
    assert record == {**MISO, "times_cooked": 3, "notes": "- less salt\n- more garlic"} | {
        "version": 2,
        "memory_type": "recipes",
    }


def test_content_without_a_template_is_the_content_as_it_is() -> None:
    plain = recipes(content_template=None, fields=[{"name": "content", "type": "string"}])
    assert plain.content({"content": " {{ x }}\n"}) == " {{ x }}\n"
    assert plain.content({}) == ""
    assert read_file(plain.file({"content": "a"})).values == {"version": 1, "memory_type": "recipes"}
    assert plain.record(plain.file({"content": " a\n"}))["content"] == " a\n"


def test_content_that_a_template_wraps_is_stored_so_that_it_is_not_wrapped_twice() -> None:
    fields = [{"name": name, "type": "string"} for name in ("cuisine", "dish", "notes", "content")]
    wrapped = recipes(content_template="# {{ content }}", fields=fields)
    once = wrapped.file({"content": "a"})
    assert once.startswith("# a\n\n")
    assert wrapped.record(once)["content"] == "a"
    assert wrapped.file(wrapped.record(once)).startswith("# a\n\n")


def test_a_value_is_never_a_template() -> None:
    shown = recipes(content_template="{{ notes }}")
    assert shown.content({"notes": "{{ dish }} {% raw %}"}) == "{{ dish }} {% raw %}"


def test_what_is_absent_or_none_prints_nothing_and_takes_its_default() -> None:
    shown = recipes(content_template="{{ dish }}|{{ notes|default('none') }}|{{ cuisine is defined }}")
    assert shown.content({"dish": None, "notes": None}) == "|none|False"


def test_a_broken_content_template_is_an_error_and_no_plain_body() -> None:
    with pytest.raises(RenderError, match="get_year"):
        recipes(content_template="{{ extract_context.get_year('x') }}").content(MISO)


@pytest.mark.parametrize(
    ("changes", "ask", "said"),
    [
        ({"content_template": "{{ 1 // 0 }}"}, lambda one: one.content(MISO), r"recipes \(content\): in {{ 1 // 0 }}"),
        ({"embedding_template": "{{ 1 // 0 }}"}, lambda one: one.embedding(MISO), r"recipes \(embedding\): in"),
        ({"description": "{{ 1 // 0 }}"}, lambda one: one.description("en"), r"recipes \(description\): in"),
        (
            {"filename_template": "{{ 1 // 0 }}"},
            lambda one: one.path(MISO, user_space="u1"),
            "recipes: in {{ 1 // 0 }}",
        ),
    ],
)
def test_a_template_that_fails_is_named(changes: dict[str, str], ask: Callable[[MemoryType], str], said: str) -> None:
    with pytest.raises(RenderError, match=said) as caught:
        ask(recipes(**changes))
    assert caught.value.key == "recipes"


def test_links_are_relative_to_the_file_that_has_them() -> None:
    shown = recipes(
        content_template="{% for l in links %}[{{ uri_basename(l.to_uri) }}]({{ link_target(l.to_uri) }}){% endfor %}"
    )
    links = [{"from_uri": "viking://user/u1/a/x.md", "to_uri": "viking://user/u1/b/y z.md"}]
    assert shown.content({"links": links}, source_uri="viking://user/u1/a/x.md") == "[y z](../b/y z.md)"
    assert shown.content({"links": links}) == "[y z](viking://user/u1/b/y z.md)"


def test_an_embedding_sees_the_first_50_000_bytes_of_the_body() -> None:
    plain = recipes(embedding_template=None)
    assert plain.embedding({"content": "é" * 30_000}) == "é" * 25_000
    assert plain.embedding({"content": "a" + "é" * 30_000}) == "a" + "é" * 24_999
    assert recipes(embedding_template="{{ content }}").embedding(MISO) == recipes().content(MISO)


def test_an_overview_leaves_out_overviews_and_needs_a_file() -> None:
    kind = recipes(overview_template="{{ memory_type }}:{% for i in items %}{{ i.file_name }};{% endfor %}")
    files = {"b.md": MISO, ".overview.md": MISO, ".abstract.md": MISO, "a.md": MISO, "c.txt": MISO}
    assert kind.overview(files, directory="x/y/") == "recipes:a.md;b.md;"
    assert kind.overview({".overview.md": MISO}, directory="x") is None
    assert recipes(overview_template=None).overview(files, directory="x") is None


def test_descriptions_come_in_a_language() -> None:
    assert recipes().description("en") == "Dishes that somebody cooks."
    assert recipes().description("de") == "Dishes that jemand cooks."
    assert recipes().description("fr", field="dish") == "Its name, in fr."
    assert recipes().description("fr", field="notes") == ""
    with pytest.raises(InvalidArgumentError, match="no field soup"):
        recipes().description("fr", field="soup")


def test_an_update_that_fails_changes_nothing_and_offers_the_rest() -> None:
    current = {**MISO, "version": 4}
    update = {"times_cooked": "twice", "notes": {"blocks": [{"delete": "- salt"}]}, "dish": "x", "cuisine": ""}
    kept = copy.deepcopy((current, update))
    with pytest.raises(MergeError) as caught:
        recipes().merge(current, {**update, "notes": {"blocks": [{"delete": "- salt"}]}})
    error = caught.value
    assert (current, update) == kept
    assert [(e.field, e.block) for e in error.failures] == [("times_cooked", None), ("notes", 1)]
    assert (error.field, error.merged) == ("times_cooked", current)
    assert "recipes.times_cooked" in str(error) and "recipes.notes: block 1 of 1" in str(error)
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.field, copied.merged) == (str(error), error.field, error.merged)


def test_a_field_that_fails_does_not_hold_up_the_others_for_who_wants_them() -> None:
    with pytest.raises(MergeError) as caught:
        recipes().merge(MISO, {"times_cooked": "twice", "notes": "new"})
    assert caught.value.merged == {**MISO, "notes": "new"}


@pytest.mark.parametrize(
    ("mode", "current", "refused"),
    [
        ("upsert", None, None),
        ("upsert", MISO, None),
        ("add_only", None, None),
        ("add_only", MISO, "recipes is add_only"),
        ("add_only", {}, "recipes is add_only"),
        ("update_only", MISO, None),
        ("update_only", {}, None),
        ("update_only", None, "recipes is update_only"),
    ],
)
def test_operation_modes_are_enforced(mode: str, current: dict[str, Any] | None, refused: str | None) -> None:
    kind = recipes(operation_mode=mode)
    if refused is None:
        assert kind.merge(current, {"notes": "x"})["notes"] == "x"
        return
    with pytest.raises(MergeError, match=refused) as caught:
        kind.merge(current, {"notes": "x"})
    assert caught.value.field is None


def test_a_name_that_is_no_field_is_refused_with_the_nearest() -> None:
    with pytest.raises(MergeError, match="note: no field of that name; did you mean notes"):
        recipes().merge(MISO, {"note": "x"})
    with pytest.raises(MergeError, match="version: no field of that name; there are cuisine, dish"):
        recipes().merge(MISO, {"version": 7})


def test_identity_in_an_update_is_no_part_of_the_record() -> None:
    update = {"memory_type": "recipes", "user_id": "u1", "user_ids": ["u1"], "peer_id": "p1", "notes": "x"}
    assert recipes().merge(None, update) == {"notes": "x"}
    with pytest.raises(MergeError, match="the update is for soups"):
        recipes().merge(None, {"memory_type": "soups"})


def test_what_is_cleared_is_gone_from_the_record_and_its_file() -> None:
    cleared = recipes().merge(MISO, {"notes": dict(CLEAR), "times_cooked": dict(CLEAR)})
    assert cleared == {"cuisine": "Japanese", "dish": "Miso Ramen"}
    assert "times_cooked" not in recipes().file(cleared)


def test_whose_a_memory_is_is_not_in_its_file() -> None:
    text = recipes().file({**MISO, "user_id": "u1", "user_ids": ["u1"], "trace": "t", "links": []})
    assert list(read_file(text).values) == [*MISO, "trace", "links", "version", "memory_type"]


def test_links_are_merged_by_their_ends_and_text() -> None:
    old = {"from_uri": "a", "to_uri": "b", "match_text": "m", "weight": 0.5, "link_type": "is", "created_at": "1"}
    new = {"from_uri": "a", "to_uri": "b", "match_text": "m", "link_type": "was", "created_at": "2"}
    other = {"from_uri": "a", "to_uri": "b"}
    merged = recipes().merge({"links": [old]}, {"links": [new, other, other]})
    assert merged == {"links": [{**old, "weight": 1.0, "link_type": "was"}, other]}
    assert recipes().merge({"links": [old]}, {"links": [{**new, "weight": None}]})["links"][0]["weight"] == 1.0
    assert recipes().merge({"links": [new]}, {"links": [old]})["links"][0]["weight"] == 1.0
    assert recipes().merge({"links": [old], "dish": "x"}, {"links": CLEAR}) == {"dish": "x"}


@pytest.mark.parametrize("links", ["a", ["a"], {"from_uri": "a"}, 3, [{"from_uri": ["a"]}], [{"weight": "high"}]])
@pytest.mark.parametrize("current", [None, {"backlinks": [{"from_uri": "a", "weight": 1}]}])
def test_links_of_another_form_are_refused_by_their_name(current: dict[str, Any] | None, links: Any) -> None:
    with pytest.raises(MergeError, match=r"recipes\.backlinks: it takes a list of links") as caught:
        recipes().merge(current, {"backlinks": links})
    assert caught.value.field == "backlinks"


@pytest.mark.parametrize("version", ["three", "3", 2.5, True, -1])
def test_a_version_that_is_no_number_is_not_counted_from_one_again(version: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="no number of a version"):
        recipes().file({**MISO, "version": version})


@pytest.mark.parametrize("name", [1, None, ("a",)])
def test_a_name_that_is_no_text_is_no_field(name: Any) -> None:
    with pytest.raises(MergeError, match="no field of that name"):
        recipes().merge(None, {name: "x"})


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_template_is_none(blank: str) -> None:
    kind = recipes(content_template=blank, embedding_template=blank, overview_template=blank)
    record = {**MISO, "content": "By hand"}
    assert kind.content(record) == kind.embedding(record) == "By hand"
    assert kind.record(kind.file(record))["content"] == "By hand"
    assert kind.overview({"miso.md": record}, directory="d") is None


def test_what_is_embedded_behind_a_merge_is_the_body_of_then() -> None:
    kind = recipes(embedding_template=None)
    merged = kind.merge(kind.record(kind.file(MISO)), {"times_cooked": 2})
    assert "content" not in merged
    assert (
        kind.embedding(merged) == kind.content(merged) == "# Miso Ramen\nCuisine: Japanese\nCooked: 3x\n\n- less salt"
    )


def test_a_body_that_no_template_makes_stays_behind_a_merge() -> None:
    kind = recipes(content_template=None, embedding_template=None)
    merged = kind.merge({**MISO, "content": "By hand"}, {"times_cooked": 2})
    assert kind.embedding(merged) == kind.content(merged) == "By hand"


def test_a_memory_of_another_type_is_not_merged_into() -> None:
    assert recipes().merge({"memory_type": "recipes", "dish": "x"}, {})["dish"] == "x"
    with pytest.raises(MergeError, match="a memory of the type habits, not recipes"):
        recipes().merge({"memory_type": "habits", "dish": "x"}, {"notes": "y"})


@pytest.mark.parametrize("given", [None, 5, "dish", b"dish", ["dish"]], ids=repr)
def test_what_is_no_record_is_refused_by_every_verb(given: Any) -> None:
    one = recipes()
    asked: list[tuple[str, Callable[[], object]]] = [
        ("values", lambda: one.path(given, user_space="u1")),
        ("values", lambda: one.content(given)),
        ("values", lambda: one.embedding(given)),
        ("values", lambda: one.file(given)),
        ("update", lambda: one.merge(None, given)),
        ("files", lambda: one.overview(given, directory="d")),
        ("files", lambda: one.overview({"a.md": given}, directory="d")),
        ("records", lambda: one.impact(recipes(directory="d"), [MISO, given])),
    ]
    for argument, ask in asked:
        with pytest.raises(InvalidArgumentError) as caught:
            ask()
        assert caught.value.argument == argument


def test_what_no_memory_holds_is_not_merged_further() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"deeper": deep}
    with pytest.raises(MergeError, match=r"recipes\.trace: what is stored no memory holds: it is nested deeper"):
        recipes().merge({"trace": deep}, {"times_cooked": 1})


def test_unknown_merge_semantics_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="upgrade ovstore"):
        MemoryType(schema(), semantics=MERGE_SEMANTICS + 1)


STORED = st.dictionaries(
    st.sampled_from([*MISO, "trace", "version"]), st.sampled_from(["", "a", "3", 3, None, "- less salt"]), max_size=6
)
UPDATES = st.dictionaries(
    st.sampled_from([*MISO]),
    st.sampled_from(["", "b", "4", 4, None, dict(CLEAR), {"blocks": [{"search": "a", "replace": "c"}]}, []]),
    max_size=4,
)


@given(STORED, UPDATES)
def test_a_merge_never_loses_what_the_update_does_not_name(current: dict[str, Any], update: dict[str, Any]) -> None:
    before = copy.deepcopy((current, update))
    try:
        merged = recipes().merge(current, update)
    except MergeError as error:
        assert error.merged is not None
        merged = error.merged
    assert {n: v for n, v in merged.items() if n not in update} == {n: v for n, v in current.items() if n not in update}
    assert (current, update) == before


@given(STORED, UPDATES)
def test_a_record_survives_its_file(current: dict[str, Any], update: dict[str, Any]) -> None:
    kind = recipes()
    try:
        merged = kind.merge(current, update)
    except MergeError:
        return
    again = kind.record(kind.file({**merged, "version": 2}))
    assert {n: v for n, v in again.items() if n in MISO} == {
        n: v for n, v in merged.items() if n in MISO and v is not None
    }


SEEDS = sorted(
    path
    for folder in ("memory", "memory/experimental_memory", "skill_extract")
    for path in (bundled.folder("seed_templates") / folder).glob("*.yaml")
)
TALK = [{"role": "user", "content": "We cooked ramen.", "created_at": "2026-03-02T18:30:00+01:00"}]


def made_up(seed: MemorySchema) -> dict[str, Any]:
    values = {"string": "A made up value", "int": 3, "float": 0.5, "bool": True}
    return {f.name: "0" if f.name == "ranges" else values[f.type] for f in seed.fields}


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_schema_that_ships_renders_a_made_up_record(path: Path) -> None:
    seed = documents.parse(path.read_bytes()).document
    assert isinstance(seed, MemorySchema)
    kind, record = MemoryType(seed), made_up(seed)
    place = kind.path(record, user_space="u1", agent_space="a1", messages=TALK)
    assert place.startswith(("viking://user/u1/", "viking://agent/a1/")) and place.endswith(".md")
    assert "A made up value" in kind.content(record, messages=TALK)
    assert kind.embedding(record, messages=TALK).strip()
    assert kind.record(kind.file(record, messages=TALK))["memory_type"] == seed.memory_type
    assert kind.description("en").strip()
    if seed.overview_template:
        overview = kind.overview({"a.md": record}, directory="x/2026")
        assert overview is not None and "a.md" in overview
    assert kind.merge(None, record) == record


def test_every_kind_of_schema_ships() -> None:
    assert len(SEEDS) == 15


def test_a_record_that_needs_the_conversation_says_so_and_takes_now_when_it_is_given() -> None:
    events = documents.parse((bundled.folder("seed_templates") / "memory" / "trajectories.yaml").read_bytes()).document
    assert isinstance(events, MemorySchema)
    kind = MemoryType(events)
    with pytest.raises(ValueError, match="give messages or now"):
        kind.path({"trajectory_name": "x"}, user_space="u1")
    now = datetime(2026, 3, 2, 1, 2, 3, tzinfo=UTC)
    assert kind.path({"trajectory_name": "x"}, user_space="u1", now=now).endswith("/x_20260302010203.md")
    with pytest.raises(MissingVariablesError):
        recipes(content_template="{{ extract_context.get_year('0') }}").content({})
