"""A whole directory of OpenViking goes in without an error, does what it says, and comes out byte for byte."""

from __future__ import annotations

from pathlib import Path

import folders
import pytest

import ovstore
from ovstore.openviking import PromptManager

MESSAGES = [
    {"role": "user", "content": "Please review it", "created_at": "2026-03-02T09:00:00+01:00"},
    {
        "role": "assistant",
        "content": "Done: all of it is fine and can go out",
        "created_at": "2026-03-02T09:05:00+01:00",
    },
]


def imported(store: ovstore.Store, folder: Path, **asked: bool) -> set[str]:
    plan = store.plan_import(folder, **asked)
    assert plan.errors == ()
    return {move.key for move in store.apply(plan, actor="ann").moves}


def test_every_file_is_imported(store: ovstore.Store, shared: Path) -> None:
    keys = imported(store, shared)
    assert len(keys) == len(list(shared.rglob("*.y*ml"))) - 1
    listed = {(listing.key, listing.kind, listing.category) for listing in store.templates()}
    assert {key for key, _, _ in listed} == keys
    assert ("session_skills", "memory", "skill_extract") in listed
    assert ("habits", "memory", "memory") in listed
    assert ("parsing.deep.reader", "prompt", "parsing") in listed


def test_what_is_accepted_but_means_nothing_is_a_warning(shared: Path) -> None:
    found = {(Path(str(f.path)).name, f.code) for f in ovstore.check(shared) if f.severity != "info"}
    assert found == {
        ("document_summary.yaml", "quoted-number"),
        ("extras.yaml", "unknown-key"),
        ("extras.yaml", "unused-variable"),
        ("habits.yml", "unknown-key"),
        ("reviews.yaml", "custom-agent-stage"),
        ("trajectories.yaml", "ignored-spelling"),
    }


def test_an_export_has_the_bytes_of_the_import(store: ovstore.Store, shared: Path, tmp_path: Path) -> None:
    imported(store, shared)
    store.export(tmp_path / "out")
    expected = folders.contents(shared)
    mark = "\ufeff".encode()
    expected["skill/windows.yaml"] = expected["skill/windows.yaml"].removeprefix(mark)
    del expected["memory/experimental_memory/recipes.yaml"]
    assert folders.contents(tmp_path / "out") == expected
    again = store.plan_import(tmp_path / "out")
    assert {row.action for row in again.rows} == {"unchanged"}


def test_experimental_schemas_replace_by_type_where_they_are_asked_for(
    store: ovstore.Store, shared: Path, tmp_path: Path
) -> None:
    imported(store, shared, experimental_memory=True)
    assert store.memory("recipes").path({"cuisine": "Thai"}, user_space="u").endswith("/recipes/thai.md")
    store.export(tmp_path / "out")
    assert "memory/experimental_memory/recipes.yaml" in folders.contents(tmp_path / "out")
    assert "memory/recipes.yaml" not in folders.contents(tmp_path / "out")


def test_older_spellings_mean_what_they_meant(store: ovstore.Store, shared: Path) -> None:
    imported(store, shared)
    habits, reviews = store.memory("habits").schema, store.memory("reviews").schema
    assert (habits.memory_type, habits.enabled, habits.fields[0].type, habits.fields[0].merge_op) == (
        *("habits", True, "string", "patch"),
    )
    assert (reviews.stage, reviews.peer_enabled, reviews.operation_mode) == ("agent", False, "add_only")
    assert store.memory("trajectories").schema.stage == "agent"


def test_types_are_listed_by_stage_and_whether_they_take_part(store: ovstore.Store, shared: Path) -> None:
    imported(store, shared)

    def keys(**asked: object) -> set[str]:
        return {listing.key for listing in store.templates(kind="memory", **asked)}  # type: ignore[arg-type]

    assert keys(stage="agent") == {"reviews", "trajectories"}
    assert keys(enabled=False) == {"tasks"}
    assert keys(stage="user", enabled=True) == {"acquaintances", "habits", "identity", "recipes", "session_skills"}


def test_method_calls_and_helpers_of_memory_templates_work(store: ovstore.Store, shared: Path) -> None:
    imported(store, shared)
    reviews = store.memory("reviews")
    record = {"title": "Release Notes", "summary": "Fine", "ranges": "0-1"}
    assert reviews.path(record, user_space="u", agent_space="a", messages=MESSAGES) == (
        "viking://agent/a/memories/reviews/2026/03/02/release_notes.md"
    )
    assert reviews.content(record, messages=MESSAGES) == "2026-03-02 (Monday)\nFine\n\n2 messages"
    assert reviews.embedding(record, messages=MESSAGES) == "20260302090000 20260302090000 Release Notes 2026-03-02"
    acquaintances = store.memory("acquaintances")
    link = {"from_uri": "viking://user/u/memories/a.md", "to_uri": "viking://user/u/memories/people/b.md"}
    body = acquaintances.content(
        {"name": "Bo", "content": "A friend", "links": [link], "backlinks": []},
        source_uri="viking://user/u/memories/a.md",
    )
    assert body == "# Bo\nA friend\n\n- [b](people/b.md)\n\n0 know Bo (viking://user/u/memories/a.md)"
    assert acquaintances.overview({"bo.md": {"name": "Bo"}}, directory="people") == "bo.md: Bo\nacquaintances"
    assert acquaintances.path({"name": "Bo"}, user_space="u") == "viking://user/u/memories/acquaintances/Bo.md"
    assert store.memory("tasks").path({}, user_space="u").endswith("/u_tasks.md")


def test_descriptions_take_the_language(store: ovstore.Store, shared: Path) -> None:
    imported(store, shared)
    recipes = store.memory("recipes")
    assert recipes.description("en") == "Dishes that the user cooks."
    assert recipes.description("de") == "Dishes that der Nutzer cooks."
    assert recipes.description("fr", field="dish") == "Its name, in fr"


def test_a_bundled_type_is_replaced_whole(manager: PromptManager) -> None:
    seeded = manager.store.seed.memory("identity").schema
    ours = manager.store.memory("identity").schema
    assert {field.name for field in ours.fields} == {"name", "mood", "turns", "warmth", "quiet"}
    assert {field.name for field in seeded.fields} != {field.name for field in ours.fields}
    assert (ours.embedding_template, ours.overview_template) == (None, None)


@pytest.mark.parametrize("name", ["memory", "vision", "skill_extract"])
def test_one_category_can_be_imported_alone(store: ovstore.Store, shared: Path, name: str) -> None:
    plan = store.plan_import(shared, category=name)
    assert {row.path.split("/")[0] for row in plan.rows} == {name}
