"""What a schema change would do to what is stored."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recipes import MISO, RECIPES, recipes, schema

from ovstore.errors import InvalidArgumentError
from ovstore.memory import Impact, Merging, Moved, Record

UDON = {"cuisine": "Japanese", "dish": "Udon", "times_cooked": 4}
CURRY = {"cuisine": "Indian", "dish": "Curry", "notes": "hot"}
ROOT = "viking://user/user/memories/recipes"


def fields(**changes: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The fields of the type, some changed, some (None) taken away."""
    kept = [{**field, **(changes.get(field["name"], {}) or {})} for field in RECIPES["fields"]]
    return [field for field in kept if changes.get(field["name"], {}) is not None]


def impact(*records: Any, **changes: Any) -> Impact:
    return recipes().impact(schema(**changes), records)


def test_a_change_of_prose_does_nothing() -> None:
    found = impact(MISO, UDON, CURRY, description="Other words", content_template="{{ dish }}")
    assert not found and found.records == 3


def test_another_file_name_moves_records() -> None:
    found = impact(MISO, CURRY, filename_template="{{ cuisine|lower }}/{{ dish }}.md")
    assert found.moved == (
        Moved("record 1", f"{ROOT}/japanese/miso ramen.md", f"{ROOT}/japanese/Miso Ramen.md"),
        Moved("record 2", f"{ROOT}/indian/curry.md", f"{ROOT}/indian/Curry.md"),
    )
    assert found and not (found.collisions or found.stopped or found.pathless)


def test_records_that_would_share_a_path_collide() -> None:
    dal = {"cuisine": "INDIAN", "dish": "Dal"}
    found = impact(MISO, UDON, CURRY, dal, filename_template="{{ cuisine }}.md")
    assert found.collisions == (("record 1", "record 2"), ("record 3", "record 4"))


def test_records_that_share_a_path_already_are_no_news() -> None:
    twice = (MISO, {**MISO, "dish": "miso ramen"})
    assert impact(*twice, directory="viking://user/{{ user_space }}/food").collisions == ()
    assert impact(*twice, UDON, filename_template="{{ cuisine }}.md").collisions == (
        ("record 1", "record 2", "record 3"),
    )


def test_records_without_a_value_for_the_new_name_stop_rendering() -> None:
    found = impact(MISO, Record(CURRY, name="curry"), UDON, filename_template="{{ notes }}.md")
    (stopped,) = found.stopped
    assert (stopped.name, stopped.before) == ("record 3", f"{ROOT}/japanese/udon.md")
    assert "notes has no value" in stopped.why


def test_what_is_no_record_is_named() -> None:
    with pytest.raises(InvalidArgumentError, match="the odd one is no record"):
        impact(MISO, Record("Miso Ramen", "the odd one"), directory="elsewhere")  # type: ignore[arg-type]


@pytest.mark.parametrize("odd", [float("nan"), 10**5000, "a\0b"], ids=["nan", "digits", "NUL"])
def test_what_no_memory_holds_takes_no_update_under_either_version(odd: Any) -> None:
    (merging,) = impact({**MISO, "times_cooked": odd}, MISO, fields=fields(times_cooked={"merge_op": "replace"})).merges
    assert (merging.records, merging.current) == (1, 1)


def test_records_of_several_users_are_kept_apart() -> None:
    two = (Record(MISO, user_space="u1"), Record(MISO, user_space="u2"))
    assert impact(*two, filename_template="{{ dish }}.md").collisions == ()
    assert impact(*two, directory="viking://all").collisions == (("record 1", "record 2"),)


def test_peers_move_when_a_type_stops_keeping_memories_for_them() -> None:
    (moved,) = impact(Record(MISO, peer_id="p"), MISO, peer_enabled=False).moved
    assert moved.after == f"{ROOT}/japanese/miso ramen.md"


def test_records_that_need_their_conversation_are_pathless_without_it() -> None:
    dated = recipes(filename_template="{{ extract_context.get_session_timestamp() }}.md")
    new = schema(filename_template="{{ extract_context.get_session_timestamp() }}_.md")
    talk = Record(MISO, "talk", messages=[{"created_at": "2026-03-02T00:00:00Z"}])
    now = Record(MISO, "now", now=datetime(2026, 3, 2, tzinfo=UTC))
    found = dated.impact(new, [MISO, talk, now])
    assert found.pathless == ("record 1",) and found.collisions == ()
    assert dated.impact(new, [MISO]), "nobody can tell"
    assert [moved.name for moved in found.moved] == ["talk", "now"]
    found = dated.impact(schema(), [MISO])
    assert found.moved == (Moved("record 1", None, f"{ROOT}/japanese/miso ramen.md"),)


def test_fields_that_the_new_version_lacks_are_orphaned() -> None:
    found = impact(
        MISO, UDON, CURRY, {**UDON, "notes": "", "trace": "t"}, fields=fields(notes={"name": "remarks"}), **NO_NOTES
    )
    assert found.orphaned == {"notes": 2}
    assert impact(UDON, fields=fields(notes={"name": "remarks"}), **NO_NOTES).orphaned == {}


NO_NOTES: dict[str, Any] = {"content_template": None, "embedding_template": None}


@pytest.mark.parametrize(
    ("change", "came", "comes"),
    [
        ({"merge_op": "replace"}, 8, 7),
        ({"merge_op": "immutable"}, 8, 1),
        ({"type": "float32"}, "refused: ", 1.5),
        ({"type": "string", "merge_op": "patch"}, 8, "7"),
    ],
)
def test_another_merge_op_or_type_shows_an_update_that_comes_out_differently(
    change: dict[str, str], came: Any, comes: Any
) -> None:
    found = impact(MISO, UDON, fields=fields(times_cooked=change))
    (merging,) = found.merges
    assert (merging.field, merging.before, merging.records, merging.current) == ("times_cooked", "sum of int64", 2, 1)
    assert str(merging.came).startswith(str(came)) and merging.comes == comes


def test_a_merge_is_told_even_where_no_record_has_the_field_yet() -> None:
    (merging,) = impact(fields=fields(times_cooked={"merge_op": "replace", "type": "string"})).merges
    assert (merging.records, merging.current, merging.update, merging.came, merging.comes) == (0, None, "7", 7, "7")


def test_blocks_that_a_field_no_longer_takes_are_told() -> None:
    (merging,) = impact(MISO, UDON, fields=fields(notes={"merge_op": "replace"})).merges
    assert (merging.records, merging.came) == (2, "a text")
    assert merging.update == {"blocks": [{"search": "- less salt", "replace": "a text"}]}
    assert merging.comes.startswith("refused: ")


def test_the_update_that_is_shown_is_one_that_both_versions_take_if_there_is_one() -> None:
    (merging,) = impact({}, MISO, fields=fields(notes={"merge_op": "immutable"})).merges
    assert (merging.records, merging.current) == (2, "- less salt")
    assert (merging.update, merging.came, merging.comes) == ("a text", "a text", "- less salt")


def test_another_operation_mode_is_told_for_every_record() -> None:
    found = impact(MISO, UDON, operation_mode="add_only")
    assert found.merges == (Merging("operation_mode", "upsert", "add_only", 2),)


@given(st.lists(st.fixed_dictionaries({"cuisine": st.text(max_size=5), "dish": st.text(max_size=5)}), max_size=5))
def test_a_version_does_nothing_to_records_in_its_own_place(records: list[dict[str, Any]]) -> None:
    assert not impact(*records)


@given(st.lists(st.fixed_dictionaries({"cuisine": st.text(max_size=3), "dish": st.text(max_size=3)}), max_size=6))
def test_each_record_moves_stops_or_has_no_path(records: list[dict[str, Any]]) -> None:
    found = impact(*records, directory="elsewhere", filename_template="{{ dish }}.md")
    named = {m.name for m in found.moved} | {s.name for s in found.stopped} | set(found.pathless)
    assert named == {f"record {number}" for number in range(1, len(records) + 1)}
