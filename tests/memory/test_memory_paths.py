"""Paths: what no value can do to one, whatever the template does with the value."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime
from typing import Any

import pytest
from folders import CASES
from hypothesis import example, given
from hypothesis import strategies as st
from recipes import MISO, recipes

from ovstore import checking
from ovstore.documents import MemorySchema
from ovstore.errors import PathError, RenderError, UnsafeTemplateError
from ovstore.memory import MemoryType, collisions
from ovstore.memory.paths import MAX_COMPONENT, shortened
from ovstore.rendering.filters import FILTERS as ALLOWED

CASE = CASES / "63_filename_traversal"
HOSTILE = json.loads((CASE / "values.json").read_text())
NOW = datetime(2026, 3, 2, tzinfo=UTC)
FILTERS = ("", "|lower", "|upper", "|trim", "|title", '|replace("-", "_")', '|default("x")', " ~ 'x'", "[:40]")


def one(filename: str = "{{ dish }}.md", **changes: Any) -> MemoryType:
    return recipes(filename_template=filename, **changes)


def test_directory_and_file_name_are_one_rendering() -> None:
    assert recipes().path(MISO, user_space="u1") == "viking://user/u1/memories/recipes/japanese/miso ramen.md"
    named = one("{{ kind }}.md", directory="a/{% set kind = dish %}b/")
    assert named.path(MISO, user_space="u1") == "a/b/Miso Ramen.md"


def test_a_peer_has_a_space_of_its_own_below_the_user() -> None:
    path = one("{{ peer_id }}-{{ dish }}.md").path(MISO, user_space="u1", peer_id="p1")
    assert path == "viking://user/u1/peers/p1/memories/recipes/p1-Miso Ramen.md"


def test_a_type_without_peers_ignores_the_peer() -> None:
    alone = recipes(peer_enabled=False)
    assert alone.path(MISO, user_space="u1", peer_id="../p1") == recipes().path(MISO, user_space="u1")
    with pytest.raises(PathError, match="peer_id has no value"):
        one("{{ peer_id }}.md", peer_enabled=False).path(MISO, user_space="u1", peer_id="p1")


def test_no_value_passes_for_an_identity() -> None:
    values = {**MISO, "user_space": "u2", "user_id": "u2", "agent_space": "a2", "peer_id": "p2", "memory_type": "other"}
    path = one("{{ user_id }}-{{ agent_space }}-{{ memory_type }}.md").path(values, user_space="u1", agent_space="a1")
    assert path == "viking://user/u1/memories/recipes/u1-a1-recipes.md"
    with pytest.raises(PathError, match="peer_id has no value"):
        one("{{ peer_id }}.md").path({**MISO, "peer_id": "p2"}, user_space="u1")


@pytest.mark.parametrize("use", [use for use in FILTERS if "default" not in use])
@pytest.mark.parametrize("values", [{}, {"dish": None}], ids=["missing", "None"])
def test_a_part_without_a_value_is_an_error_behind_filters_too(use: str, values: dict[str, Any]) -> None:
    with pytest.raises(PathError) as caught:
        one("{{ dish" + use + " }}.md").path(values, user_space="u1")
    assert (caught.value.part, caught.value.memory_type) == ("dish", "recipes")


NEEDY = {
    "batch": "(2)",
    "slice": "(2)",
    "format": "(1)",
    "groupby": "('x')",
    "indent": "(2)",
    "join": "(',')",
    "map": "('lower')",
    "replace": "('a', 'b')",
    "select": "('string')",
    "reject": "('string')",
    "selectattr": "('x')",
    "rejectattr": "('x')",
}


@pytest.mark.parametrize("name", sorted(ALLOWED.keys() - {"d", "default"}))
def test_no_filter_makes_something_of_nothing(name: str) -> None:
    for end in ("", "|list", "|length"):
        with pytest.raises(PathError) as caught:
            one("{{ dish|" + name + NEEDY.get(name, "") + end + " }}.md").path({}, user_space="u1")
        assert caught.value.part == "dish"


@pytest.mark.parametrize("use", ["|int", "|float", "|count", "|tojson", "|urlencode", "|list", "", " ~ 'x'"])
@pytest.mark.parametrize("inner", [{}, {"name": None}])
def test_nor_of_a_hole_within_a_value(use: str, inner: dict[str, Any]) -> None:
    fields = [{"name": "dish", "type": "dict", "merge_op": "replace"}]
    named = one("{{ dish.name" + use + " }}.md", fields=fields, content_template=None, embedding_template=None)
    with pytest.raises(PathError, match="needs a value here"):
        named.path({"dish": inner}, user_space="u1")


@pytest.mark.parametrize(
    "use", ["[dish]", "'x' ~ [dish]", "'%d' % dish", "{'a': dish}", "(dish, 1)|tojson", "[dish]|map('int')|list"]
)
def test_nor_does_a_list_or_mapping_print_one(use: str) -> None:
    with pytest.raises(PathError) as caught:
        one("{{ " + use + " }}.md").path({}, user_space="u1")
    assert caught.value.part == "dish"


OPERATIONS = (
    *("dish in 'x'", "dish not in 'x'", "dish in cuisine", "dish is in 'x'", "dish in ['x']", "'x' in dish"),
    *(
        "','.join([dish])",
        "'x'.split(dish)",
        "'x'.replace(dish, 'y')",
        "cuisine.startswith(dish)",
        "{'a': 1}.get(dish)",
    ),
    *("range(dish)|list", "range(1, dish)|length", "cuisine[dish:]", "cuisine[:dish]", "cuisine[dish]", "[1, 2][dish]"),
    *(
        "dish == 'x'",
        "dish < 1",
        "dish + 1",
        "2 ** dish",
        "-dish",
        "dish()",
        "dish[0]",
        "extract_context.get_day(dish)",
    ),
)


@pytest.mark.parametrize("use", OPERATIONS)
def test_an_operation_on_nothing_names_what_is_missing(use: str) -> None:
    for template in ("{{ " + use + " }}.md", "{% if " + use + " %}a{% endif %}b.md"):
        with pytest.raises(PathError, match="dish has no value") as caught:
            one(template).path({"cuisine": "Swiss"}, user_space="u1")
        assert caught.value.part == "dish"


@pytest.mark.parametrize(
    "use", ["dish.name in 'x'", "dish.name in cuisine", "'x'.split(dish.name)", "cuisine[dish.name]"]
)
def test_so_does_one_on_a_hole_within_a_value(use: str) -> None:
    fields = [{"name": "dish", "type": "dict", "merge_op": "replace"}, {"name": "cuisine"}]
    named = one("{{ " + use + " }}.md", fields=fields, content_template=None, embedding_template=None)
    with pytest.raises(PathError, match="needs a value here") as caught:
        named.path({"dish": {}, "cuisine": "Swiss"}, user_space="u1")
    assert caught.value.part == "name"


def test_a_macro_says_itself_what_its_arguments_have_to_be() -> None:
    named = one("{% macro or_soup(name) %}{{ name|default('soup') }}{% endmacro %}{{ or_soup(dish) }}.md")
    assert named.path({}, user_space="u1").endswith("/soup.md")


def test_a_template_can_do_without_a_value_in_so_many_words() -> None:
    named = one("{{ dish|default('soup') }}{% if notes %}-{{ notes }}{% endif %}.md")
    assert named.path({}, user_space="u1").endswith("/soup.md")
    assert named.path({"dish": None, "notes": "hot"}, user_space="u1").endswith("/soup-hot.md")


@pytest.mark.parametrize("use", FILTERS)
@pytest.mark.parametrize("value", HOSTILE["name"])
def test_a_hostile_value_is_refused_or_one_component(use: str, value: str) -> None:
    named = one("a/{{ dish" + use + " }}.md")
    try:
        path = named.path({"dish": value}, user_space="u1")
    except PathError as error:
        assert error.memory_type == "recipes"
        return
    assert path.startswith("viking://user/u1/memories/recipes/a/")
    assert path.count("/") == 7 and path.endswith(".md")
    assert not any(component in ("", ".", "..", ".md") for component in path.removeprefix("viking://").split("/"))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("../../escape", "dish `../../escape` holds a slash"),
        ("/etc/passwd", "holds a slash"),
        ("a/b", "holds a slash"),
        ("..\\evil", "holds a backslash"),
        ("C:\\x", "holds a backslash"),
        ("C:x", "begins like a drive letter"),
        ("..", "would leave its directory"),
        (".", "would leave its directory"),
        ("", "is empty"),
        (" \t", "is empty"),
        ("\u00a0\u3000", "is empty"),
        ("\u200b\u2060\ufeff", "is empty"),
        (".overview", "is the overview of its directory"),
        (".ABSTRACT", "is the overview of its directory"),
        ("a\0b", "holds a control character"),
        ("a\nb", "holds a control character"),
        ("a\u2028b", "holds a control character"),
        ("a\x7fb", "holds a control character"),
        ("\ud800", "holds a control character"),
        ("a\uffffb", "no character"),
    ],
)
def test_what_no_path_can_hold_is_refused_with_the_field(value: str, said: str) -> None:
    with pytest.raises(PathError, match="(?s)" + said.replace("\\", "\\\\").replace(".", "\\.")):
        one().path({"dish": value}, user_space="u1")


@pytest.mark.parametrize("value", [*HOSTILE["user_space"], ".", "a\nb", "a\\b", "a\uffffb", 3])
@pytest.mark.parametrize("name", ["user_space", "agent_space", "peer_id"])
def test_an_identity_is_one_component(name: str, value: Any) -> None:
    with pytest.raises(PathError) as caught:
        recipes().path(MISO, **{"user_space": "u1", name: value})
    assert caught.value.part == name


def test_a_template_may_make_a_slash_of_its_own_and_mend_one_of_a_value() -> None:
    assert one('{{ dish|replace("/", "-") }}.md').path({"dish": "a/b"}, user_space="u1").endswith("/a-b.md")
    assert one("{{ cuisine }}/{{ dish }}.md").path(MISO, user_space="u1").endswith("/Japanese/Miso Ramen.md")


def test_numbers_and_lists_are_parts_like_any_other() -> None:
    assert one("{{ times_cooked }}.md").path(MISO, user_space="u1").endswith("/1.md")
    with pytest.raises(PathError, match="holds a slash"):
        one("{{ dish }}.md").path({"dish": ["a/b"]}, user_space="u1")


def test_a_value_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RenderError, match="nested deeper than 100"):
        one().path({"dish": endless}, user_space="u1")


def test_code_in_a_file_name_gets_nowhere() -> None:
    checked = checking.check_source((CASE / "code_bad.yaml").read_bytes())
    assert [finding.code for finding in checked.errors] == ["private-attribute"]
    with pytest.raises(UnsafeTemplateError):
        one("{{ dish.__class__ }}.md").path(MISO, user_space="u1")


@pytest.mark.parametrize("name", ["static_bad", "abs_bad", "dir_bad"])
def test_a_template_that_leaves_its_directory_is_refused_when_it_is_read(name: str) -> None:
    checked = checking.check_source((CASE / f"{name}.yaml").read_bytes(), f"{name}.yaml")
    assert "unsafe-path" in {finding.code for finding in checked.errors}


def case_63() -> MemoryType:
    checked = checking.check_source((CASE / "events.yaml").read_bytes())
    assert not checked.errors and isinstance(checked.parsed.document, MemorySchema)
    return MemoryType(checked.parsed.document)


@pytest.mark.parametrize("value", HOSTILE["name"])
def test_the_field_case_of_traversal_holds(value: str) -> None:
    messages = [{"role": "user", "content": "Hi", "created_at": "2025-12-31T23:59:00+02:00"}]
    try:
        path = case_63().path({"name": value, "ranges": "0"}, user_space="u1", messages=messages)
    except PathError:
        return
    assert path == f"viking://user/u1/memories/t/2025/12/{value}.md"


def test_a_date_that_no_message_tells_is_now_or_an_error() -> None:
    values = {"name": "x", "ranges": "0-3"}
    with pytest.raises(PathError, match="give messages or now") as caught:
        case_63().path(values, user_space="u1")
    assert caught.value.part == "now"
    assert case_63().path(values, user_space="u1", now=NOW) == "viking://user/u1/memories/t/2026/03/x.md"


@given(st.text(max_size=300), st.sampled_from(FILTERS))
@example("ﬃ／．．", "|lower")
@example("&#47;..&#47;", "|trim")
def test_a_path_stays_below_its_directory_and_has_the_templates_components(value: str, use: str) -> None:
    try:
        path = one("x{{ dish" + use + " }}").path({"dish": value}, user_space="u1")
    except PathError:
        return
    root = "viking://user/u1/memories/recipes/"
    assert path.startswith(root) and "/" not in path.removeprefix(root)
    assert all(len(component.encode()) <= MAX_COMPONENT for component in path.split("/"))


@given(st.text(st.characters(codec="utf-8"), min_size=50, max_size=400), st.sampled_from(["", ".md", ".tar.gz", "."]))
def test_a_long_component_is_cut_to_fit_and_stays_itself(stem: str, extension: str) -> None:
    name = stem + extension
    short = shortened(name)
    assert len(short.encode()) <= MAX_COMPONENT
    assert shortened(short) == short == shortened(name)
    assert short == name or short.endswith(".md" if extension == ".md" else "")
    if len(name.encode()) > MAX_COMPONENT:
        assert shortened("é" + name) != short


def test_a_long_name_keeps_its_extension_and_tells_itself_apart() -> None:
    first, second = (one().path({"dish": "漢" * 200 + end}, user_space="u1") for end in "ab")
    assert first != second and first.endswith(".md") and first[-12] == "_"


def test_paths_that_a_disk_takes_for_one_are_reported() -> None:
    decomposed = unicodedata.normalize("NFD", "Café")
    paths = ["a/Ramen", "a/ramen", "a/udon", "b/ramen", "Café", decomposed, "STRASSE", "straße", "x", "x"]
    assert collisions(paths) == (("a/Ramen", "a/ramen"), ("Café", decomposed), ("STRASSE", "straße"), ("x", "x"))
    assert collisions([]) == ()
