"""World books of other programs: what they mean here, what differs, and that nothing is lost."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from drawn_requests import books
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wrappers import book, entry, put, request

from ovstore.context import Worldbook, WorldbookEntry, cards, export_worldbook, import_worldbook
from ovstore.context.dialects import Dialect, dialect_of
from ovstore.errors import InvalidArgumentError

FOLDER = Path(__file__).parent / "books"
DIALECTS: tuple[Dialect, ...] = ("sillytavern", "character_card_v2", "character_card_v3", "lorebook_v3")


def load(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return data


def entries_of(name: str) -> dict[str, WorldbookEntry]:
    return {entry.uid: entry for entry in import_worldbook(load(name)).book.entries}


def codes(name: str) -> set[tuple[str, str]]:
    return {(difference.code, difference.entry) for difference in import_worldbook(load(name)).differences}


def canonical(data: Any) -> str:
    return json.dumps(data, sort_keys=True, ensure_ascii=False)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_file_is_told_by_its_form_and_comes_back_as_it_was(name: Dialect) -> None:
    data = load(name)
    before = copy.deepcopy(data)
    report = import_worldbook(data)
    assert report.dialect == name == dialect_of(data)
    assert canonical(export_worldbook(report.book, name)) == canonical(before) == canonical(data)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_name_and_id_of_the_importers_change_nothing_in_the_file(name: Dialect) -> None:
    named = import_worldbook(load(name), id="mine", name="My book").book
    assert (named.id, named.name) == ("mine", "My book")
    assert canonical(export_worldbook(named, name)) == canonical(load(name))


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("through", DIALECTS)
def test_nothing_is_lost_on_the_way_through_another_dialect(name: Dialect, through: Dialect) -> None:
    first = import_worldbook(load(name)).book
    written = json.loads(json.dumps(export_worldbook(first, through)))
    second = import_worldbook(written, through).book
    assert meaning(second) == meaning(first)
    raw, frame = export_worldbook(second, name), load(name)
    for part in ("spec", "spec_version", "x_envelope"):
        frame.pop(part, None)
    if name.startswith("character"):
        frame = frame["data"]["character_book"]
        raw = raw["data"]["character_book"] if "data" in raw else raw
    elif name == "lorebook_v3":
        frame, raw = frame["data"], raw["data"]
    assert {key: value for key, value in raw.items() if key != "extensions"}.keys() >= frame.keys() - {"extensions"}
    pick = raw["entries"].values() if isinstance(raw["entries"], dict) else raw["entries"]
    wanted = frame["entries"].values() if isinstance(frame["entries"], dict) else frame["entries"]
    assert [canonical(without_ours(e)) for e in pick] == [canonical(e) for e in wanted]


def without_ours(raw: dict[str, Any]) -> dict[str, Any]:
    raw = copy.deepcopy(raw)
    if "ovstore" in raw.get("extensions", {}):
        del raw["extensions"]["ovstore"]
        if not raw["extensions"] and "content" in raw and "key" in raw:
            del raw["extensions"]
    return raw


def meaning(found: Worldbook) -> Any:
    return [
        found.model_dump(exclude={"extensions", "entries"}),
        [entry.model_dump(exclude={"extensions"}) for entry in found.entries],
    ]


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(books(), st.sampled_from(DIALECTS))
def test_a_book_of_our_own_comes_back_from_every_dialect(drawn: list[dict[str, Any]], dialect: Dialect) -> None:
    for raw in drawn:
        own = Worldbook.model_validate(raw)
        again = import_worldbook(json.loads(json.dumps(export_worldbook(own, dialect))), dialect).book
        assert meaning(again) == meaning(own)


@pytest.mark.parametrize("name", DIALECTS)
def test_an_edit_shows_in_the_file_and_nothing_else_changes(name: Dialect) -> None:
    found = import_worldbook(load(name)).book
    first = found.entries[0].model_copy(update={"content": "Edited.", "order": 77})
    edited = found.model_copy(update={"entries": (first, *found.entries[1:])})
    before, after = load(name), export_worldbook(edited, name)
    (raw_before, raw_after) = (first_entry(before), first_entry(after))
    changed = {key for key in raw_before if raw_before[key] != raw_after[key]}
    assert changed == {"content", "order" if name == "sillytavern" else "insertion_order"}
    raw_after |= {key: raw_before[key] for key in changed}
    assert canonical(after) == canonical(before)


def first_entry(data: dict[str, Any]) -> dict[str, Any]:
    inner = data if "entries" in data else data["data"] if "entries" in data["data"] else data["data"]["character_book"]
    entries: Any = inner["entries"]
    found: dict[str, Any] = entries[0] if isinstance(entries, list) else next(iter(entries.values()))
    return found


def test_an_edit_of_a_text_keeps_the_decorators_above_it() -> None:
    found = import_worldbook(load("character_card_v3")).book
    edited = [e.model_copy(update={"content": "Dark."}) if e.uid == "1" else e for e in found.entries]
    raw = export_worldbook(found.model_copy(update={"entries": tuple(edited)}), "character_card_v3")
    content = raw["data"]["character_book"]["entries"][1]["content"]
    assert content.startswith("@@depth 3\n") and content.endswith("wick\n\nDark.")


def test_sillytavern_means_what_it_means_there() -> None:
    lore = entries_of("sillytavern")
    assert (lore["0"].keys, lore["0"].order, lore["0"].position) == (("fog", "/mist(y)?/i"), 100, "before")
    assert (lore["1"].position, lore["1"].depth, lore["1"].role) == ("at_depth", 4, "system")
    assert (lore["2"].logic, lore["2"].depth, lore["2"].role, lore["2"].probability) == ("and_all", 0, "user", 1)
    assert (lore["5"].position, lore["5"].ignore_budget, lore["5"].constant) == ("an_top", True, True)
    assert (lore["6"].delay_until_recursion, lore["6"].probability, lore["6"].position) == (1, 100, "em_top")
    assert (lore["7"].outlet, lore["7"].group, lore["7"].group_weight, lore["7"].sticky) == (
        "doors",
        "doors, rooms",
        30,
        3,
    )
    assert (lore["8"].logic, lore["9"].enabled, lore["9"].depth, lore["9"].order) == ("not_any", False, 7, 50)
    found = import_worldbook(load("sillytavern")).book
    assert (found.scan_depth, found.recursive, found.match_whole_words, found.max_recursion_steps) == (
        2,
        False,
        False,
        None,
    )


def test_a_version_2_card_is_read_with_what_sillytavern_added_in_both_spellings() -> None:
    lore = entries_of("character_card_v2")
    assert (lore["11"].order, lore["11"].position, lore["11"].priority) == (5, "before", None)
    assert (lore["1"].comment, lore["1"].priority, lore["1"].position, lore["1"].case_sensitive) == (
        "Lamp",
        3,
        "after",
        True,
    )
    deep = lore["12"]
    assert (deep.position, deep.depth, deep.role, deep.logic, deep.probability) == (
        "at_depth",
        2,
        "assistant",
        "not_all",
        40,
    )
    assert (deep.enabled, deep.scan_depth, deep.delay_until_recursion, deep.exclude_recursion) == (False, 9, 2, True)
    assert (lore["13"].exclude_recursion, lore["13"].group_weight, lore["13"].depth) == (True, 5, 6)
    found = import_worldbook(load("character_card_v2")).book
    assert (found.name, found.scan_depth, found.token_budget, found.recursive) == ("Keeper's book", 3, 400, True)


def test_a_version_3_card_is_read_with_its_decorators() -> None:
    lore = entries_of("character_card_v3")
    assert (lore["0"].use_regex, lore["0"].constant, lore["0"].secondary_keys) == (True, False, ())
    lamp = lore["1"]
    assert (lamp.content, lamp.position, lamp.depth, lamp.role, lamp.scan_depth) == (
        "The lamp is lit.",
        "at_depth",
        3,
        "user",
        2,
    )
    assert (lamp.constant, lamp.secondary_keys, lamp.logic) == (True, ("oil", "wick"), "not_any")
    assert (lore["2"].position, lore["2"].content) == ("after", "The sea.")
    assert (lore["3"].cooldown, lore["3"].secondary_keys, lore["3"].logic) == (10**9, ("a", "b"), "and_any")
    assert (lore["4"].sticky, lore["4"].constant, lore["4"].enabled) == (10**9, True, True)
    assert (lore["5"].enabled, lore["6"].content) == (False, "")


def test_what_means_another_thing_here_is_told_entry_by_entry() -> None:
    assert codes("sillytavern") >= {
        ("order", ""),
        ("budget", ""),
        ("names", ""),
        ("settings", ""),
        ("depth", ""),
        ("groups", ""),
        ("score", ""),
        ("scan-depth", ""),
        ("regex-key", "0"),
        ("macro", "1"),
        ("probability", "2"),
        ("author-note", "5"),
        ("whole-words", "6"),
        ("examples", "6"),
        ("sticky", "7"),
        ("vectorized", "8"),
        ("condition", "8"),
    }
    assert codes("character_card_v2") >= {("priority", ""), ("depth", ""), ("groups", "")}
    assert codes("character_card_v3") >= {
        ("recursion", ""),
        ("scan-depth", ""),
        ("use-regex", "0"),
        ("regex-key", "0"),
        ("decorator", "1"),
        ("decorator", "2"),
        ("regex-fault", "7"),
    }


def test_a_value_of_a_wrong_type_counts_as_absent_and_is_told() -> None:
    raw = {
        "entries": {"0": {"key": "fog", "order": [], "position": 99, "probability": 300, "depth": -1, "role": "boss"}}
    }
    report = import_worldbook(raw)
    assert report.book.entries[0].model_dump(include={"keys", "order", "position", "probability", "depth"}) == {
        "keys": (),
        "order": 100,
        "position": "before",
        "probability": 100,
        "depth": 0,
    }
    assert {d.code for d in report.differences if d.entry == "0"} == {"unreadable", "out-of-range"}
    assert export_worldbook(report.book, "sillytavern") == raw


@pytest.mark.parametrize(
    "data",
    [{}, {"entries": 3}, {"spec": "lorebook_v3"}, {"spec": "chara_card_v2", "data": {}}, [], {"entries": {"0": 1}}],
)
def test_what_is_no_world_book_is_refused(data: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        import_worldbook(data)


def test_imported_lore_is_a_value_and_its_macros_are_text() -> None:
    lore = import_worldbook(load("sillytavern")).book
    said = [{"id": "u", "role": "user", "content": "the keeper"}]
    context = put(request(worldbooks=[lore], history=said), time="off")
    assert "{{char}}'s uncle" in "".join(message.content for message in context.messages)


def test_a_book_with_two_entries_of_one_id_keeps_both() -> None:
    entry_of = {"keys": [], "content": "x", "extensions": {}, "enabled": True, "insertion_order": 1, "id": 4}
    raw = {"entries": [entry_of, copy.deepcopy(entry_of)], "extensions": {}}
    found = import_worldbook(raw, "character_card_v2").book
    assert [e.uid for e in found.entries] == ["4", "4#1"]
    assert export_worldbook(found, "character_card_v2") == raw


def test_our_own_expressions_are_written_between_slashes_for_sillytavern() -> None:
    own = Worldbook.model_validate(book(entry("1", use_regex=True, keys=["a/b", "/c/"])))
    assert export_worldbook(own, "sillytavern")["entries"]["1"]["key"] == ["/a\\/b/i", "/c/"]


NUMBERS = st.sampled_from([0, 1, 3, -1, 0.5, 1.0, 1e300, 10**20])
WORDS = st.sampled_from(
    ["", "a", "5", "--5", " 4 ", "/a/i", "@@depth 3\nhello", "@@activate\n\nx", "@@@role user\nx", "²", "龙"]
)
PLAIN = st.none() | st.booleans() | NUMBERS | WORDS
ANYTHING = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(st.sampled_from(["a", "ovstore", "sources"]), PLAIN)
SILLY = [
    *export_worldbook(Worldbook(id="b", name="b", entries=(WorldbookEntry(uid="1", content=""),)), "sillytavern")[
        "entries"
    ]["1"],
    "extensions",
    "vectorized",
    "triggers",
    "mine",
]
CARD = [
    "keys",
    "content",
    "enabled",
    "insertion_order",
    "case_sensitive",
    "name",
    "priority",
    "id",
    "comment",
    "selective",
    "secondary_keys",
    "constant",
    "position",
    "use_regex",
    "mine",
]
INNER = st.dictionaries(st.sampled_from([*sorted(cards.MEANT), "ovstore", "mine"]), ANYTHING, max_size=6)
BOOK = st.dictionaries(
    st.sampled_from(["name", "description", "scan_depth", "token_budget", "recursive_scanning", "mine"]), ANYTHING
)


@st.composite
def files(draw: st.DrawFn, dialect: Dialect) -> dict[str, Any]:
    """A file in which anything may stand anywhere."""
    names = SILLY if dialect == "sillytavern" else CARD
    raw = st.dictionaries(st.sampled_from(names), ANYTHING, max_size=8)
    extended = st.tuples(raw, ANYTHING | INNER).map(lambda pair: {**pair[0], "extensions": pair[1]})
    entries = draw(st.lists(raw | extended, max_size=3))
    uids = draw(st.permutations(["", "0", "0#1", "1", "x"]))
    found = {**draw(BOOK), "entries": dict(zip(uids, entries, strict=False)) if dialect == "sillytavern" else entries}
    if draw(st.booleans()):
        found["extensions"] = draw(ANYTHING)
    return {"spec": dialect, "data": found} if dialect == "lorebook_v3" else found


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_whatever_a_file_holds_comes_back_as_it_was(dialect: Dialect, data: st.DataObject) -> None:
    given_file = data.draw(files(dialect))
    before = canonical(given_file)
    found = import_worldbook(given_file, dialect).book
    assert canonical(export_worldbook(found, dialect)) == before == canonical(given_file)
    for other in DIALECTS:
        through = import_worldbook(json.loads(json.dumps(export_worldbook(found, other))), other).book
        assert meaning(through) == meaning(found)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (float("nan"), "entries.1.order: NaN is no number that JSON has"),
        (float("inf"), "entries.1.order: Infinity is no number that JSON has"),
        ("\ud800", "entries.1.order: half of a surrogate pair"),
        (object(), "entries.1.order: a object is no value that JSON has"),
        ({5: 6}, "entries.1.order: the key 5 is no text"),
    ],
)
def test_what_no_json_could_hold_is_refused_with_its_place(value: Any, what: str) -> None:
    with pytest.raises(InvalidArgumentError, match="the world book cannot be read") as caught:
        import_worldbook({"entries": {"1": {"key": ["a"], "order": value}, "2": {"content": float("nan")}}})
    assert what in str(caught.value) and "entries.2.content: NaN" in str(caught.value)


def test_a_file_that_is_nested_too_deep_is_refused() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(InvalidArgumentError, match="nested too deep"):
        import_worldbook({"entries": {"1": {"mine": deep}}})


def test_a_dialect_that_nobody_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidArgumentError, match="did you mean character_card_v3"):
        import_worldbook({"entries": []}, "character_card_v4")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match='"v2" is none of sillytavern'):
        export_worldbook(Worldbook(id="b", name="B"), "v2")  # type: ignore[arg-type]


def test_sillytavern_has_two_decorators_and_takes_the_others_out() -> None:
    texts = ["@@activate\nalways", "@@dont_activate\nnever", "@@depth 3\ndeep", "plain"]
    data = {"entries": {str(n): {"key": ["k"], "content": text} for n, text in enumerate(texts)}}
    report = import_worldbook(data)
    always, never, deep, plain = report.book.entries
    assert (always.constant, always.content) == (True, "always")
    assert (never.enabled, never.content) == (False, "never")
    assert (deep.position, deep.content) == ("before", "deep")
    assert not plain.constant and plain.enabled
    assert [d.entry for d in report.differences if d.code == "decorator"] == ["2"]
    assert canonical(export_worldbook(report.book, "sillytavern")) == canonical(data)


def test_version_2_has_no_decorators_and_an_edit_does_not_double_what_looks_like_one() -> None:
    report = import_worldbook({"entries": [{"keys": ["k"], "content": "@@depth 3\nx"}]}, "character_card_v2")
    (one,) = report.book.entries
    assert one.content == "@@depth 3\nx" and one.position == "before"
    assert "decorator" in {d.code for d in report.differences}
    edited = report.book.model_copy(update={"entries": (one.model_copy(update={"content": "@@depth 3\ny"}),)})
    assert export_worldbook(edited, "character_card_v2")["entries"][0]["content"] == "@@depth 3\ny"


FORGED: list[Any] = [
    *(7, [], {"file": 1}, {"sources": []}, {"sources": {"sillytavern": 5}}, {"sources": {"nobody": {}}}, {"fields": 3}),
    {"file": {"dialect": "sillytavern", "frame": None, "listed": False, "keys": {}, "given": {"zone": "x"}}},
    {"file": {"dialect": "sillytavern", "frame": None, "listed": False, "keys": {}, "given": {}}},
]


@pytest.mark.parametrize("kept", FORGED)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_was_written_by_hand_where_an_importer_keeps_things_is_no_fault(kept: Any, dialect: Dialect) -> None:
    lore = {"uid": "1", "content": "x", "extensions": {"ovstore": kept}}
    forged = Worldbook.model_validate({"id": "b", "name": "b", "entries": [lore], "extensions": {"ovstore": kept}})
    again = import_worldbook(export_worldbook(forged, dialect)).book
    assert (again.name, [entry.content for entry in again.entries]) == ("b", ["x"])
