"""The three options of every command, the environment, and what wrong usage is told."""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest
from running import Cli, run
from samples import memory, prompt


def test_the_three_options_are_taken_before_the_command(folder: Path, sqlite_url: str) -> None:
    ran = run("--db", sqlite_url, "--format", "json", "--actor", "bob", "publish", "-", text=prompt())
    assert ran.json["key"] == "semantic.note"
    assert run("--db", sqlite_url, "--format", "json", "history", "semantic.note").json["actor"] == "bob"


def test_the_three_options_are_taken_behind_the_command(folder: Path, sqlite_url: str) -> None:
    ran = run("publish", "-", "--db", sqlite_url, "--format", "json", "--actor", "bob", text=prompt())
    assert ran.json["key"] == "semantic.note"
    assert run("history", "semantic.note", "--db", sqlite_url, "--format", "json").json["actor"] == "bob"


def test_an_option_behind_the_command_replaces_the_one_before_it(cli: Cli) -> None:
    cli("--actor", "before", "publish", "-", "--actor", "behind", text=prompt())
    assert cli("history", "semantic.note", "--format", "json").json["actor"] == "behind"


def test_the_three_options_come_from_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVSTORE_FORMAT", "json")
    cli("publish", "-", text=prompt())
    assert cli("history", "semantic.note").json["actor"] == "ann"


def test_an_option_wins_over_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVSTORE_FORMAT", "json")
    assert not cli("--format", "text", "schema", "prompt").out.startswith('{"')
    assert not cli("schema", "prompt", "--format", "text").out.startswith('{"')


def test_the_default_actor_is_the_system_user(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OVSTORE_ACTOR")
    cli("publish", "-", text=prompt())
    assert cli("history", "semantic.note", "--format", "json").json["actor"] == getpass.getuser()


def test_a_system_without_a_user_is_told_to_give_an_actor(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("uid not found")

    monkeypatch.delenv("OVSTORE_ACTOR")
    monkeypatch.setattr(getpass, "getuser", unknown)
    assert "give --actor NAME" in cli("publish", "-", text=prompt(), code=2).err


def test_a_missing_default_database_is_made_on_first_use_with_a_note(folder: Path) -> None:
    ran = run("list", "--category", "semantic")
    assert "semantic.document_summary" in ran.out
    assert "made ovstore.db" in ran.err
    assert (folder / "ovstore.db").exists()
    assert "made" not in run("list").err


def test_a_missing_named_database_is_error_6_with_the_command_that_makes_it(folder: Path) -> None:
    ran = run("--db", "sqlite:///named.db", "list", code=6)
    assert "ovstore --db sqlite:///named.db init" in ran.err
    assert not (folder / "named.db").exists()


def test_a_missing_database_named_in_the_environment_is_not_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVSTORE_DB", "sqlite:///ovstore.db")
    assert "ovstore --db sqlite:///ovstore.db init" in run("list", code=6).err


@pytest.mark.parametrize("url", ["nonsense", "mysql://host/db", "sqlite:///a.db?x=1"])
def test_a_url_of_another_form_is_wrong_usage(folder: Path, url: str) -> None:
    assert "sqlite:///FILE" in run("--db", url, "list", code=2).err


def test_an_unknown_command_is_told_a_near_one(folder: Path) -> None:
    ran = run("publsh", code=2)
    assert "no command 'publsh'; did you mean publish?" in ran.err


def test_an_unknown_option_is_wrong_usage(folder: Path) -> None:
    assert "--tenat" in run("list", "--tenat", "acme", code=2).err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("show",), "KEY"),
        (("list", "--tenant", "acme", "--seed"), "--tenant and --seed"),
        (("list", "--at", "2026-01-01T00:00:00"), "has no zone"),
        (("list", "--at", "yesterday"), "is not a time such as 2026-03-01T14:30:00Z"),
        (("rollback",), "a KEY is missing"),
        (("rollback", "a.b", "--all"), "--all is about every live label"),
        (("rollback", "--all", "--global"), "--all needs --to"),
        (("rollback", "--all", "--to", "2026-01-01T00:00:00Z"), "one of --tenant T, --global and --seed"),
        (("rollback", "a.b", "--workspaces"), "go with --all"),
        (("rollback", "a.b", "--to", "2026-01-01T00:00:00Z"), "a time goes with --all"),
        (("audit", "--seed", "--global"), "give one of them"),
        (("audit", "--effective"), "effective"),
        (("render", "a.b", "-v", "q"), "NAME=VALUE"),
        (("render", "a.b", "-v", "q=1", "-v", "q=2"), "given twice"),
        (("activate", "a.b", "none"), "is not a version"),
        (("show", "A B"), "is not a key"),
        (("list", "--tenant", "global"), "is not a tenant"),
        (("publish", "missing.yaml"), "missing.yaml"),
        (("schema", "prompts"), "prompts"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_is_wrong(cli: Cli, arguments: tuple[str, ...], told: str) -> None:
    assert told in cli(*arguments, code=2).err


def test_a_version_cannot_be_asked_for_under_a_label(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    err = cli("show", "semantic.note", "--version", "1", "--label", "staging", code=2).err
    assert "without --label and --at" in err


def test_seed_is_the_seed_layer_and_a_tenant_a_tenant(cli: Cli) -> None:
    cli("publish", "-", "--seed", text=prompt(template="Seed {{ q }}"))
    cli("publish", "-", text=prompt(template="Global {{ q }}"))
    cli("publish", "-", "--tenant", "acme", text=prompt(template="Acme {{ q }}"))
    for scope, text in (("--seed", "Seed"), ("--tenant=acme", "Acme"), ("--tenant=globex", "Global")):
        assert cli("render", "semantic.note", "-v", "q=1", scope).out == f"{text} 1"


def test_the_effective_list_is_narrowed_by_kind_category_and_stage(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    cli("publish", "-", text=memory("habits"))
    cli("publish", "-", text=memory("moods", stage="agent", enabled=False))

    def keys(*options: str) -> list[str]:
        return [listing["key"] for listing in cli("list", "--format", "json", *options).lines]

    assert keys() == ["habits", "moods", "semantic.note"]
    assert keys("--kind", "memory") == ["habits", "moods"]
    assert keys("--category", "semantic") == ["semantic.note"]
    assert keys("--stage", "agent") == ["moods"]
    assert keys("--enabled") == ["habits"]


def test_a_folder_is_not_published_but_imported(cli: Cli, folder: Path) -> None:
    (folder / "templates").mkdir()
    assert "ovstore import templates" in cli("publish", "templates", code=2).err


def test_a_layer_is_no_tenant_and_its_option_is_told(cli: Cli) -> None:
    assert "the seed layer is --seed, and global goes without either" in cli("list", "--tenant", "seed", code=2).err


def test_a_time_without_a_zone_names_its_option(cli: Cli) -> None:
    err = cli("rollback", "--all", "--tenant", "acme", "--to", "2026-03-01", code=2).err
    assert "Invalid value for --to: '2026-03-01' has no zone: write 2026-03-01Z" in err
