"""Text for people: what stands where, at which width, in which colours, and what cannot steer a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import Cli
from samples import memory, patch, prompt


def test_list_groups_by_category_with_layer_version_and_description(cli: Cli) -> None:
    cli("publish", "-", text=prompt("semantic.note"))
    cli("publish", "-", text=memory("habits"))
    cli("publish", "-", "--tenant", "acme", text=patch("semantic.note", template="Acme {{ q }}"))
    ran = cli("list", "--tenant", "acme")
    assert ran.out.splitlines() == [
        "memory  memory schemas",
        "  habits         global:1      What someone does again and again",
        "",
        "semantic  prompts",
        "  semantic.note  acme:1 patch  A note",
    ]
    assert ran.err == "2 templates for acme: 1 from acme, 1 from global\n"


def test_the_settings_of_a_category_stand_behind_its_prompts(cli: Cli) -> None:
    settings = prompt("semantic.limits").partition('"variables"')[0] + '"values": {"most": 5}}'
    for text in (prompt("semantic.a"), settings, prompt("semantic.z")):
        cli("publish", "-", text=text)
    lines = cli("list").out.splitlines()
    assert [line.split()[0] for line in lines if line] == [
        *("semantic", "semantic.a", "semantic.z"),
        *("semantic", "semantic.limits"),
    ]
    assert [lines[0], lines[4]] == ["semantic  prompts", "semantic  settings"]


LONG_NAME = prompt("semantic.a_rather_long_name_for_a_prompt").replace("A note", "long " * 100)


@pytest.mark.parametrize("columns", [80, 160])
def test_no_line_of_the_list_is_longer_than_the_terminal(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    cli("publish", "-", text=LONG_NAME)
    lines = cli("list").out.splitlines()
    assert max(len(line) for line in lines) <= columns
    assert lines[-1].endswith("…")


def test_a_description_has_a_line_of_its_own_where_little_would_be_left_of_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("publish", "-", text=LONG_NAME)
    monkeypatch.setenv("COLUMNS", "160")
    assert cli("list").out.splitlines()[1].startswith("  semantic.a_rather_long_name_for_a_prompt  global:1  long")
    monkeypatch.setenv("COLUMNS", "80")
    assert cli("list").out.splitlines()[1] == "  semantic.a_rather_long_name_for_a_prompt  global:1"
    assert cli("list").out.splitlines()[2].startswith("      long long long long long long long long long long ")


def test_both_values_of_a_change_are_seen_on_a_narrow_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    name, field = {"name": "name"}, {"name": "content", "type": "string", "merge_op": "patch"}
    for said in ("once", "twice"):
        description = f"What is known of someone, in the words in which it was said {said}"
        cli("publish", "-", text=memory(fields=[name, {**field, "description": description}]))
    for columns in (40, 80, 160):
        monkeypatch.setenv("COLUMNS", str(columns))
        out = cli("diff", "habits", "1", "2", code=1).out.partition("\n\n")[0]
        assert "once" in out
        assert "twice" in out
        assert max(len(line) for line in out.splitlines()) <= columns


def test_versions_are_told_whole_on_a_narrow_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("publish", "-", text=prompt())
    tenant = "a-tenant-with-a-long-name/and-a-workspace"
    cli("publish", "-", "--tenant", tenant, "--reason", "because", text=patch("semantic.note", template="{{ q }} !"))
    monkeypatch.setenv("COLUMNS", "80")
    lines = cli("versions", "semantic.note", "--tenant", tenant).out.splitlines()
    assert lines[0] == f"{tenant}:1  live  patch on global:1"
    assert lines[1].endswith("  ann  “because”")


def test_a_layer_that_sets_nothing_that_is_left_says_so(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    for tenant in ("acme", "acme/support"):
        cli("publish", "-", "--tenant", tenant, text=patch("semantic.note", template=f"{tenant} {{{{ q }}}}"))
    out = cli("explain", "semantic.note", "--tenant", "acme/support").out
    assert "  acme:1          nothing: what it sets is set again above\n" in out


def test_lines_have_no_spaces_at_their_end(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    for arguments in (("list",), ("explain", "semantic.note"), ("versions", "semantic.note"), ("audit",)):
        assert all(line == line.rstrip() for line in cli(*arguments).out.splitlines())


def test_control_characters_of_what_people_wrote_are_escaped(cli: Cli) -> None:
    nasty = prompt().replace("A note", "red \\u001b[31m and \\u202e turned")
    cli("publish", "-", "--actor", "ann\u202e", "--reason", "one\ntwo", text=nasty)
    for arguments in (("list",), ("history", "semantic.note"), ("versions", "semantic.note")):
        out = cli(*arguments).out
        assert "\x1b" not in out
        assert "\u202e" not in out
    assert "\x1b" not in cli("show", "semantic.note").out
    assert "“one two”" in cli("audit").out
    assert "ann\\u202e" in cli("audit").out


def test_what_has_no_colours_gets_none(cli: Cli) -> None:
    cli("publish", "-", text=prompt(template="One {{ q }}"))
    cli("publish", "-", text=prompt(template="Two {{ q }}"))
    assert "\x1b" not in cli("diff", "semantic.note", "1", "2", code=1).out


def test_a_diff_is_coloured_where_there_are_colours(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("publish", "-", text=prompt(template="One {{ q }}"))
    cli("publish", "-", text=prompt(template="Two {{ q }}"))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    lines = cli("diff", "semantic.note", "1", "2", code=1).out.splitlines()
    assert '\x1b[31m-template: "One {{ q }}"\x1b[0m' in lines
    assert '\x1b[32m+template: "Two {{ q }}"\x1b[0m' in lines


def test_no_color_is_obeyed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("publish", "-", text=prompt(template="One {{ q }}"))
    cli("publish", "-", text=prompt(template="Two {{ q }}"))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    out = cli("diff", "semantic.note", "1", "2", code=1).out
    assert "\x1b[31m" not in out
    assert "\x1b[32m" not in out


def test_render_writes_exactly_the_text(cli: Cli) -> None:
    cli("publish", "-", text=prompt(template="  Größe {{ q }}\t\n\n"))
    assert cli("render", "semantic.note", "-v", "q=1").raw == "  Größe 1\t\n".encode()


def test_show_source_writes_the_bytes_that_were_read(cli: Cli) -> None:
    source = b"# with a comment\r\n" + prompt().encode().replace(b"\n", b"\r\n")
    cli("publish", "-", text=source)
    assert cli("show", "semantic.note", "--source").raw == source


def test_show_is_yaml_that_publishes_to_the_same_document(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    cli("publish", "-", "--tenant", "acme", text=patch("semantic.note", template="Acme {{ q }}"))
    shown = cli("show", "semantic.note", "--tenant", "acme").out
    assert shown.startswith("# semantic.note: prompt, acme:1 (patch) on global:1 (full)\n")
    assert cli("--format", "json", "publish", "-", "--tenant", "acme", text=shown).json["changes"] == []


def test_show_tells_the_stage_what_a_change_affects_and_what_to_run_again(cli: Cli) -> None:
    cli("publish", "-", text=prompt("retrieval.intent_analysis"))
    out = cli("show", "retrieval.intent_analysis").out
    assert "# used at: before retrieval\n" in out
    assert "# affects: the query plan" in out
    assert "# after a change: run the search again\n" in out


def test_publish_rollback_and_plans_tell_what_a_change_affects(cli: Cli, folder: Path) -> None:
    one, two = (prompt("retrieval.intent_analysis", template=f"{n} {{{{ q }}}}") for n in ("One", "Two"))
    cli("publish", "-", text=one)
    (folder / "intent_analysis.yaml").write_text(two)
    advice = ("used at: before retrieval", "affects: the query plan", "run the search again")
    for arguments in (
        ("import", "intent_analysis.yaml", "--dry-run"),
        ("publish", "intent_analysis.yaml"),
        ("rollback", "retrieval.intent_analysis"),
    ):
        out = cli(*arguments).out
        assert all(told in out for told in advice)


def test_explain_tells_each_layer_and_where_fields_come_from(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    cli("publish", "-", "--tenant", "acme", text=patch("semantic.note", template="Acme {{ q }}"))
    out = cli("explain", "semantic.note", "--tenant", "acme/support").out
    assert "→  acme:1        patch  live   patches global:1" in out
    assert "   seed          -      -      has no version of semantic.note" in out
    assert "  acme:1    template\n" in out
    assert "callers of what is overridden are still served" in out


def test_explain_tells_what_callers_of_the_base_would_miss(cli: Cli) -> None:
    cli("publish", "-", text=prompt(variables=("q", "r"), template="{{ q }}{{ r }}"))
    cli("publish", "-", "--tenant", "acme", "--accept-risk", "high", text=prompt(template="{{ q }}"))
    out = cli("explain", "semantic.note", "--tenant", "acme").out
    assert "broken for callers of what is overridden\n  variable r is gone" in out


def test_explain_says_of_stacked_patches_what_each_lies_on(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    for tenant in ("acme", "acme/support"):
        cli("publish", "-", "--tenant", tenant, text=patch("semantic.note", template=f"{tenant} {{{{ q }}}}"))
    out = cli("explain", "semantic.note", "--tenant", "acme/support").out
    assert "acme/support:1  patch  live   patches acme:1" in out
    assert "acme:1          patch  live   patches global:1" in out


def test_versions_mark_what_is_live_and_every_other_label(cli: Cli) -> None:
    for text in ("One", "Two", "Three"):
        cli("publish", "-", text=prompt(template=f"{text} {{{{ q }}}}"))
    cli("rollback", "semantic.note")
    cli("activate", "semantic.note", "2", "--label", "staging")
    cli("activate", "semantic.note", "1", "--label", "canary")
    cli("withdraw", "semantic.note", "--label", "canary")
    lines = cli("versions", "semantic.note").out.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["global:3", "full", lines[1].split()[2]],
        ["global:2", "live,", "staging"],
        ["global:1", "full", lines[3].split()[2]],
    ]


def test_versions_of_a_key_that_is_withdrawn_everywhere_have_no_label(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    cli("withdraw", "semantic.note", "--accept-risk", "high")
    assert "live" not in cli("versions", "semantic.note").out


def test_two_long_values_are_cut_so_that_their_difference_shows(cli: Cli) -> None:
    name, field = {"name": "name"}, {"name": "content", "type": "string", "merge_op": "patch"}
    long = "What is known of someone, in the words in which it was said, "
    cli("publish", "-", text=memory(fields=[name, {**field, "description": long + "once"}]))
    changed = memory(fields=[name, {**field, "description": long + "twice", "merge_op": "replace"}])
    refused = cli("publish", "-", code=5, text=changed).err
    taken = cli("publish", "-", "--accept-risk", "very_high", "--reason", "r", text=changed).out
    for told in (refused, taken):
        assert 'said, once"' in told
        assert 'said, twice"' in told


def test_a_document_that_goes_is_told_in_words_in_a_refusal(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    assert "document: disappears" in cli("withdraw", "semantic.note", code=5).err


def test_an_audit_for_a_field_shows_that_field(cli: Cli) -> None:
    cli("publish", "-", text=memory())
    fields = [{"name": "content", "merge_op": "replace", "description": "other"}]
    given = ("--tenant", "acme", "--accept-risk", "very_high", "--reason", "whole notes")
    cli("publish", "-", *given, text=patch("habits", fields=fields))
    out = cli("audit", "--field", "merge_op").out
    assert "acme 1  " in out
    assert '    fields[content].merge_op  very_high  "patch" → "replace"\n    and 1 other field\n' in out
    assert "“whole notes”" in out


def test_a_write_that_changes_nothing_says_so(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    assert "nothing was changed" in cli("publish", "-", text=prompt()).out
    assert "nothing was changed" in cli("activate", "semantic.note", "1").out
    assert "nothing was changed" in cli("withdraw", "semantic.note", "--tenant", "acme").out


def test_a_draft_tells_how_to_make_it_live(cli: Cli) -> None:
    out = cli("publish", "-", "--draft", "--tenant", "acme", text=prompt()).out
    assert "to make it live: ovstore activate semantic.note 1 --tenant acme" in out
    cli("activate", "semantic.note", "1", "--tenant", "acme")
    cli("show", "semantic.note", "--tenant", "acme")


def test_an_empty_answer_is_told_as_a_note(cli: Cli) -> None:
    for arguments, note in ((("tenants",), "no tenant"), (("audit",), "no entry"), (("verify",), "whole")):
        ran = cli(*arguments)
        assert ran.out == ""
        assert note in ran.err


def test_a_tenant_put_back_says_for_each_key_whether_its_text_is_as_it_was(cli: Cli) -> None:
    cli("publish", "-", text=prompt(template="Global {{ q }}"))
    cli("publish", "-", "--tenant", "acme", text=prompt(template="Acme {{ q }}"))
    at = cli("--format", "json", "audit", "--tenant", "acme").json["at"]
    cli("publish", "-", "--tenant", "acme", text=prompt(template="Acme again {{ q }}"))
    out = cli("rollback", "--all", "--tenant", "acme", "--to", at).out
    assert "semantic.note  acme   2 → 1  low   as it was then" in out
    assert cli("render", "semantic.note", "-v", "q=1", "--tenant", "acme").out == "Acme 1"


def test_a_whole_rollback_can_be_shown_before_it_is_done(cli: Cli) -> None:
    cli("publish", "-", "--tenant", "acme", text=prompt())
    heads = cli("heads").out
    back = ("rollback", "--all", "--tenant", "acme", "--to", "2026-01-01T00:00:00Z")
    ran = cli(*back, "--dry-run")
    assert ran.out.splitlines()[0] == "would be put back"
    assert "semantic.note  acme   1 → none  high  as it was then" in ran.out
    assert ran.err == "nothing was written; the risk is high; to do it: --accept-risk high\n"
    assert cli("heads").out == heads
    cli("rollback", "semantic.note", "--tenant", "acme", "--dry-run", code=2)


def test_problems_of_the_log_come_with_what_to_do(cli: Cli, folder: Path) -> None:
    cli("publish", "-", text=prompt())
    (folder / "heads.json").write_text(json.dumps({"global": f"1.{'0' * 64}"}))
    assert (
        "restore the newest backup that `ovstore verify` finds whole"
        in cli("verify", "--against", "heads.json", code=1).err
    )


def test_an_item_that_comes_or_goes_is_told_in_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("publish", "-", text=prompt(variables=("q", "old"), template="{{ q }} {{ old }}"))
    renamed = prompt(variables=("q", "new"), template="{{ q }} {{ new }}")
    out = cli("publish", "-", "--accept-risk", "high", text=renamed).out
    assert '  variables[old]  high    disappears: type "string"' in out
    assert '  variables[new]  high    appears: type "string"' in out
    assert "variables[new].type" not in out
    assert "variables[new]  high  appears\n" in cli("audit", "--field", "name").out
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, cli("history", "semantic.note").out.splitlines())) <= 60


def test_a_folder_of_many_files_shows_how_far_it_was_read(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(200):
        (folder / f"n{n}.yaml").write_text(prompt(f"semantic.n{n}"))
    assert "/200" not in cli("import", ".", "--dry-run").err
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "/200" in cli("import", ".", "--dry-run").err
