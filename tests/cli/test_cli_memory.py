"""Memory types on the command line: memory path, content, embedding, merge and impact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from running import Cli
from samples import memory, patch, prompt

from ovstore.memory import write_file

FIELDS = [
    {"name": "name", "type": "string", "merge_op": "immutable"},
    {"name": "done", "type": "int64", "merge_op": "sum"},
    {"name": "content", "type": "string", "merge_op": "patch"},
]
DATED = "{{ extract_context.get_year(ranges) }}/{{ name }}.md"
TALK = [{"role": "user", "content": "Hi", "created_at": "2025-05-04T03:02:01Z"}]


@pytest.fixture
def habits(cli: Cli) -> Cli:
    """A store with one memory type."""
    cli("publish", "-", text=memory("habits", FIELDS, embedding_template="{{ name }}: {{ content }}"))
    return cli


def stored(path: Path, data: Any) -> Path:
    path.write_text("\n".join(json.dumps(one) for one in data) if isinstance(data, list) else json.dumps(data))
    return path


def test_a_path_is_one_line(habits: Cli) -> None:
    ran = habits("memory", "path", "habits", "-v", "name=early  tea", "--user-space", "u1")
    assert ran.out == "viking://user/u1/memories/habits/early  tea.md\n"
    ran = habits("memory", "path", "habits", "-v", "name=tea", "--user-space", "u1", "--peer", "p", "--format", "json")
    assert ran.json == {"path": "viking://user/u1/peers/p/memories/habits/tea.md"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--user-space", "u1"), "name has no value"),
        (("--user-space", "u1", "-v", "name=a/b"), "name `a/b` holds a slash"),
        (("--user-space", "../u2", "-v", "name=a"), "user_space (`../u2`) holds a slash"),
    ],
)
def test_a_record_without_a_path_is_exit_1(habits: Cli, arguments: tuple[str, ...], told: str) -> None:
    ran = habits("memory", "path", "habits", *arguments, code=1)
    assert told in ran.err and ran.out == ""


def test_dates_come_from_the_messages_or_from_now(cli: Cli, folder: Path) -> None:
    cli("publish", "-", text=memory("habits", [*FIELDS, {"name": "ranges"}], filename_template=DATED))
    talk = folder / "talk.json"
    talk.write_text(json.dumps(TALK))
    asked = ("memory", "path", "habits", "-v", "name=tea", "-v", "ranges=0", "--user-space", "u1")
    assert "/2025/tea.md" in cli(*asked, "--messages", talk).out
    assert "/2026/tea.md" in cli(*asked, "--now", "2026-01-01T00:00:00Z").out
    assert "give --messages or --now" in cli(*asked, code=1).err


def test_content_and_embedding_are_exactly_the_text(habits: Cli, folder: Path) -> None:
    record = stored(folder / "record.json", {"name": "tea", "done": 1})
    assert (
        habits("memory", "content", "habits", "--vars", record, "-v", "content=Drink\u2028it ").out == "Drink\u2028it "
    )
    assert habits("memory", "embedding", "habits", "--vars", record, "-v", "content=x").out == "tea: x"
    assert habits("memory", "embedding", "habits", "-v", "content=x", "--format", "json").json == {"embedding": ": x"}
    whole = habits("memory", "content", "habits", "--vars", record, "-v", "content=x", "--file").out
    assert whole == write_file("x", {"name": "tea", "done": 1, "version": 1, "memory_type": "habits"})


def test_the_type_is_the_one_that_a_tenant_gets(habits: Cli) -> None:
    habits("publish", "-", "--tenant", "acme", text=patch("habits", embedding_template="Acme {{ name }}"))
    assert habits("memory", "embedding", "habits", "-v", "name=tea", "--tenant", "acme").out == "Acme tea"
    assert habits("memory", "embedding", "habits", "-v", "name=tea").out == "tea: "


def test_an_update_is_merged_into_a_record(habits: Cli, folder: Path) -> None:
    current = stored(folder / "current.json", {"name": "tea", "done": 2, "trace": "t"})
    blocks = {"content": {"blocks": [{"search": "", "replace": "Drink"}]}}
    update = stored(folder / "update.json", blocks)
    ran = habits("memory", "merge", "habits", "--current", current, "--vars", update, "-v", "done=3")
    assert json.loads(ran.out) == {"name": "tea", "done": 5, "trace": "t", "content": "Drink"}
    assert habits("memory", "merge", "habits", "-v", "done=3", "--format", "json").json == {"done": 3}


def test_a_memory_file_is_merged_into_the_next_version_of_it(habits: Cli, folder: Path) -> None:
    current = folder / "tea.md"
    current.write_text(write_file("Drink it", {"name": "tea", "done": 1, "version": 4, "memory_type": "habits"}))
    ran = habits("memory", "merge", "habits", "--current", current, "-v", "done=1", "--file")
    assert ran.out == write_file("Drink it", {"name": "tea", "done": 2, "version": 5, "memory_type": "habits"})


def test_a_memory_file_is_a_record_for_content_embedding_and_path(habits: Cli, folder: Path) -> None:
    file = folder / "tea.md"
    file.write_text(write_file("Drink it", {"name": "tea", "version": 4, "memory_type": "habits"}))
    assert habits("memory", "content", "habits", "--vars", file).out == "Drink it"
    assert habits("memory", "embedding", "habits", "--vars", file, "-v", "name=green tea").out == "green tea: Drink it"
    assert habits("memory", "path", "habits", "--vars", file, "--user-space", "u").out.endswith("/habits/tea.md\n")


def test_a_field_is_cleared_in_so_many_words(habits: Cli, folder: Path) -> None:
    current = stored(folder / "current.json", {"name": "tea", "done": 2, "content": "Drink"})
    ran = habits("memory", "merge", "habits", "--current", current, "--clear", "content", "--clear", "done")
    assert json.loads(ran.out) == {"name": "tea"}
    ran = habits("memory", "merge", "habits", "--current", current, "-v", 'content={"clear": true}')
    assert json.loads(ran.out)["content"] == '{"clear": true}'
    assert (
        "cannot be cleared" in habits("memory", "merge", "habits", "--current", current, "--clear", "name", code=1).err
    )


def test_text_that_looks_like_json_and_is_none_is_text(habits: Cli, folder: Path) -> None:
    deep = folder / "deep.txt"
    deep.write_text(200_000 * "[")
    assert json.loads(habits("memory", "merge", "habits", "-v", f"content=@{deep}").out)["content"] == deep.read_text()


def test_an_update_that_does_not_fit_is_exit_1_and_says_which_field_and_block(habits: Cli, folder: Path) -> None:
    current = stored(folder / "current.json", {"content": "Drink tea"})
    update = stored(folder / "update.json", {"content": {"blocks": [{"delete": "Drink coffee"}]}, "done": "x"})
    ran = habits("memory", "merge", "habits", "--current", current, "--vars", update, code=1)
    assert "habits.content: block 1 of 1 fits nowhere; nearest to `Drink coffee`: line 1 `Drink tea`" in ran.err
    assert "habits.done: the update is text ('x'), no number" in ran.err
    assert ran.out == ""
    told = habits("memory", "merge", "habits", "--current", current, "--vars", update, "--format", "json", code=1)
    error = json.loads(told.err)
    assert (error["error"], error["field"], error["block"]) == ("MergeError", "content", 1)


def memories(folder: Path) -> Path:
    """Three memories of one user, an overview and one of another type."""
    place = folder / "memories"
    for name, values in {
        "tea.md": {"name": "tea", "done": 1},
        "deep/Tea.md": {"name": "Tea", "done": 1},
        "nameless.md": {"done": 2},
        ".overview.md": {"name": "overview"},
        "other.md": {"name": "x", "memory_type": "other"},
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(write_file("Body", {"memory_type": "habits", **values}))
    return place


def test_impact_tells_what_a_file_would_do_to_stored_files(habits: Cli, folder: Path) -> None:
    new = folder / "habits.yaml"
    fields = [FIELDS[0], {"name": "done", "type": "int64", "merge_op": "replace"}]
    new.write_text(memory("habits", fields, filename_template="{{ name|lower }}.md"))
    ran = habits("memory", "impact", "habits", "--with", new, "--against", memories(folder), code=1)
    assert ran.out == (
        "habits over 3 records\n"
        "  moves     deep/Tea.md: viking://user/user/memories/habits/Tea.md"
        " → viking://user/user/memories/habits/tea.md\n"
        "  orphaned  content, stored in 3 records\n"
        "  merges    done: sum of int64 → replace of int64, 3 records\n"
        "            stored 1, update 7: 8 → 7\n"
        "  unknown   1 record that neither version gives a path: nameless.md …\n"
    )
    found = habits("memory", "impact", "habits", "--with", new, "--against", folder, "--format", "json", code=1).json
    assert found["orphaned"] == {"content": 3} and found["records"] == 3


def test_impact_of_a_patch_is_that_of_the_patch_on_what_lies_below(habits: Cli, folder: Path) -> None:
    new = folder / "patch.yaml"
    new.write_text(patch("habits", filename_template="new/{{ name }}.md"))
    asked = ("memory", "impact", "habits", "--with", new, "--against", memories(folder))
    assert "moves     tea.md" in habits(*asked, "--tenant", "acme", code=1).out
    habits("publish", "-", "--tenant", "acme", "--accept-risk", "very_high", "--reason", "x", text=new.read_text())
    assert "nothing that is stored would differ" in habits(*asked, "--tenant", "acme").out
    assert "nothing that is stored would differ" in habits(*asked, "--tenant", "acme/support").out


def test_impact_of_dates_that_nobody_tells_is_unknown_until_there_is_a_now(habits: Cli, folder: Path) -> None:
    dated = "{{ extract_context.get_year('0') }}/{{ name }}.md"
    habits("publish", "-", "--draft", text=memory("habits", FIELDS, filename_template=dated))
    habits("activate", "habits", "2", "--accept-risk", "very_high", "--reason", "x")
    habits("publish", "-", "--draft", text=memory("habits", FIELDS, filename_template=dated.replace("year", "month")))
    records = stored(folder / "records.jsonl", [{"name": "tea"}])
    asked = ("memory", "impact", "habits", "--with", "3", "--against", records)
    ran = habits(*asked, code=1)
    assert "unknown   1 record that neither version gives a path" in ran.out
    assert "nothing" not in ran.out
    assert "/2026/tea.md → " in habits(*asked, "--now", "2026-03-01T00:00:00Z", code=1).out


def test_impact_on_no_record_says_so(habits: Cli, folder: Path) -> None:
    (folder / "empty").mkdir()
    ran = habits("memory", "impact", "habits", "--with", "1", "--against", "empty")
    assert "empty holds no record of habits" in ran.err


def test_impact_of_a_version_over_lines_of_records(habits: Cli, folder: Path) -> None:
    habits("publish", "-", "--draft", text=memory("habits", FIELDS, directory="viking://all", peer_enabled=False))
    lines: list[dict[str, Any]] = [
        {"name": "tea"},
        {"values": {"name": "tea"}, "user_space": "u2", "name": "the second", "now": "2026-01-01T00:00:00Z"},
    ]
    records = stored(folder / "records.jsonl", lines)
    ran = habits("memory", "impact", "habits", "--with", "2", "--against", records, "--format", "json", code=1)
    assert ran.json["collisions"] == [[f"{records}, line 1", "the second"]]
    assert ran.json["moved"][1]["before"] == "viking://user/u2/memories/habits/tea.md"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("path", "habits"), 2, "--user-space"),
        (("path", "missing", "--user-space", "u1"), 3, "missing"),
        (("path", "semantic.note", "--user-space", "u1"), 2, "semantic.note is no memory type"),
        (("path", "habits", "--user-space", "u1", "--now", "2026-01-01"), 2, "has no zone"),
        (("content", "habits", "-v", "done=x"), 2, "done is of the type int64, and 'x' is not"),
        (("merge", "habits", "-v", "nam=x"), 1, "did you mean name?"),
        (("merge", "habits", "--current", "list.json"), 2, "holds no object"),
        (("merge", "habits", "-v", "content=x", "--clear", "content"), 2, "content is given a value too"),
        (("merge", "habits", "--clear", "contents"), 1, "did you mean content?"),
        (("merge", "habits", "--current", "broken/a.md"), 1, "broken-trailer"),
        (("content", "habits", "--vars", "broken/a.md"), 1, "broken-trailer"),
        (("content", "habits", "--messages", "object.json"), 2, "holds no list of messages"),
        (("impact", "habits", "--with", "habits.yaml", "--against", "list.json"), 2, "there is no file habits.yaml"),
        (("impact", "habits", "--with", "1", "--against", "broken.jsonl"), 2, "broken.jsonl, line 2 is not JSON"),
        (("impact", "habits", "--with", "1", "--against", "list.json"), 2, "list.json, line 1 is no object"),
        (("impact", "habits", "--with", "9", "--against", "object.json"), 3, "9"),
        (("impact", "habits", "--with", "note.yaml", "--against", "object.json"), 2, "semantic.note, not habits"),
        (("impact", "habits", "--with", "bad.yaml", "--against", "object.json"), 1, "sum-on-text"),
        (("impact", "habits", "--with", "gone.yaml", "--against", "object.json"), 3, "seed"),
        (("impact", "habits", "--with", "gone.yaml", "--against", "object.json", "--tenant", "acme"), 2, "nothing"),
        (("impact", "moods", "--with", "moods.yaml", "--against", "object.json", "--seed"), 2, "nothing to lie on"),
        (("impact", "habits", "--with", "1", "--against", "broken"), 1, "b.md:4:1"),
        (("impact", "habits", "--with", "1", "--against", "broken"), 1, "a.md:4:2"),
        ((), 2, "path"),
    ],
)
def test_what_is_wrong_is_told_with_its_exit_code(
    habits: Cli, folder: Path, arguments: tuple[str, ...], code: int, told: str
) -> None:
    habits("publish", "-", text=prompt())
    habits("publish", "-", "--seed", text=memory("moods"))
    (folder / "moods.yaml").write_text(patch("moods", enabled=False))
    stored(folder / "list.json", {"a": 1}).write_text("[1]")
    stored(folder / "object.json", {"a": 1})
    (folder / "broken.jsonl").write_text('{"a": 1}\n{"a": \n')
    (folder / "note.yaml").write_text(prompt())
    (folder / "bad.yaml").write_text(memory("habits", [{"name": "name", "merge_op": "sum"}]))
    (folder / "gone.yaml").write_text(patch("habits", fields=[{"name": "nothing", "$remove": True}]))
    (folder / "broken").mkdir()
    (folder / "broken" / "a.md").write_text("a\n\n<!-- MEMORY_FIELDS\n{,}\n-->")
    (folder / "broken" / "b.md").write_text("a\n\n<!-- MEMORY_FIELDS\n[]\n-->")
    assert told in habits("memory", *arguments, code=code).err


def test_each_command_below_memory_has_help_with_examples(habits: Cli) -> None:
    told = habits("memory", "--help").out
    for name in ("path", "content", "embedding", "merge", "impact"):
        assert f"  {name} " in told
        helped = habits("memory", name, "--help").out
        assert f"ovstore memory {name} " in helped and "--db" in helped


def test_a_text_that_looks_like_an_update_is_stored_as_text_and_noted(habits: Cli) -> None:
    ran = habits("memory", "merge", "habits", "-v", "name=tea", "-v", 'content={"blocks": []}')
    assert ran.json["content"] == '{"blocks": []}'
    assert "content: -v takes this as the text to store" in ran.err
    assert habits("memory", "merge", "habits", "-v", "name=tea", "-v", "content=Drink it").err == ""
