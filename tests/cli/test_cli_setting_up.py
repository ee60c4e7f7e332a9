"""init, migrate and doctor, on both databases."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from running import Cli, run
from samples import prompt

from ovstore import bundled, seeding


def test_init_creates_the_database_and_its_seeds(folder: Path, empty_url: str) -> None:
    ran = run("--db", empty_url, "init")
    assert ran.out.startswith("created ")
    assert "semantic.document_summary" in run("--db", empty_url, "list").out


def test_init_again_changes_nothing(folder: Path) -> None:
    run("--db", "sqlite:///new.db", "init")
    heads = run("--db", "sqlite:///new.db", "heads").out
    assert run("--db", "sqlite:///new.db", "init").out.startswith("up to date: ")
    assert run("--db", "sqlite:///new.db", "heads").out == heads


def test_init_with_experimental_memory_takes_those_schemas(folder: Path) -> None:
    run("--db", "sqlite:///new.db", "init", "--experimental-memory")
    source = run("--db", "sqlite:///new.db", "show", "profile", "--source", "--seed").raw
    assert source == (bundled.folder("seed_templates") / "memory/experimental_memory/profile.yaml").read_bytes()


@pytest.fixture
def newer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A seeded store, and a package whose catalogue is one ahead and has another file_summary."""
    run("--db", "sqlite:///old.db", "init")
    catalog = folder / "catalog"
    for path in bundled.folder("seed_templates").rglob("*.yaml"):
        copy = catalog / path.relative_to(bundled.folder("seed_templates"))
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    changed = catalog / "semantic" / "file_summary.yaml"
    changed.write_text(changed.read_text().replace("template: |\n", "template: |\n  Read the file with care.\n\n", 1))
    monkeypatch.setattr(seeding, "CATALOG", seeding.CATALOG + 1)
    monkeypatch.setattr(bundled, "folder", lambda name: catalog)
    return catalog


def test_init_shows_what_a_newer_catalogue_changes_and_for_whom(newer: Path) -> None:
    patch = "extends: semantic.file_summary\nllm_config:\n  temperature: 0.5\n"
    run("--db", "sqlite:///old.db", "publish", "-", "--tenant", "acme", text=patch)
    ran = run("--db", "sqlite:///old.db", "init")
    assert "1 to update" in ran.out
    assert "semantic.file_summary" in ran.out
    assert "acme" in ran.out
    assert "init --apply" in ran.err
    assert "Read the file with care" not in run("--db", "sqlite:///old.db", "show", "semantic.file_summary").out


def test_init_apply_does_it_as_this_ovstore(newer: Path) -> None:
    run("--db", "sqlite:///old.db", "init", "--apply")
    assert "Read the file with care" in run("--db", "sqlite:///old.db", "show", "semantic.file_summary").out
    entry = run("--db", "sqlite:///old.db", "--format", "json", "history", "semantic.file_summary").lines[0]
    assert entry["actor"].startswith("ovstore ")
    assert run("--db", "sqlite:///old.db", "init").out.startswith("up to date: ")


def test_an_older_package_starts_and_leaves_a_newer_catalogue_alone(
    newer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("--db", "sqlite:///old.db", "init", "--apply")
    monkeypatch.setattr(seeding, "CATALOG", seeding.CATALOG - 1)
    ran = run("--db", "sqlite:///old.db", "init")
    assert "nothing was changed: the seed layer holds catalogue 2" in ran.err
    assert "Read the file with care" in run("--db", "sqlite:///old.db", "show", "semantic.file_summary").out
    assert "catalogue 2" in run("--db", "sqlite:///old.db", "init", "--apply", code=4).err


def test_the_command_that_init_names_does_what_was_shown(newer: Path) -> None:
    (newer / "semantic" / "code_summary.yaml").unlink()
    err = run("--db", "sqlite:///old.db", "init", "--experimental-memory").err
    said = err.strip().rpartition("to do it: ovstore ")[2]
    assert said == "--db sqlite:///old.db init --apply --experimental-memory --accept-risk high"
    assert "applied 4 changes" in run(*said.split()).out


def test_an_upgrade_gives_no_advice_on_how_the_package_writes_its_files(newer: Path) -> None:
    out = run("--db", "sqlite:///old.db", "init").out
    assert "info[" not in out
    assert "semantic.file_summary" in out


def test_doctor_names_the_command_that_fills_the_seed_layer_of_this_database(cli: Cli, sqlite_url: str) -> None:
    assert f"to fill it: ovstore --db {sqlite_url} init" in cli("doctor", code=6).out


def test_migrate_check_is_1_where_there_is_something_to_do(folder: Path, empty_url: str) -> None:
    if empty_url.startswith("sqlite"):
        sqlite3.connect(empty_url.removeprefix("sqlite:///")).close()
        Path(empty_url.removeprefix("sqlite:///")).touch()
    assert "needs schema" in run("--db", empty_url, "migrate", "--check", code=1).out
    assert "upgraded to schema" in run("--db", empty_url, "migrate").out
    assert "has schema" in run("--db", empty_url, "migrate", "--check").out


def test_a_store_that_is_not_migrated_is_6_with_the_command(folder: Path) -> None:
    Path("empty.db").touch()
    assert "ovstore --db sqlite:///empty.db init" in run("--db", "sqlite:///empty.db", "list", code=6).err


def test_doctor_finds_a_sound_store_sound(folder: Path, empty_url: str) -> None:
    run("--db", empty_url, "init")
    ran = run("--db", empty_url, "--format", "json", "doctor")
    assert [check["check"] for check in ran.lines] == ["connection", "schema", "triggers", "templates", "freshness"]
    assert all(check["ok"] for check in ran.lines)
    assert ("SQLite" if empty_url.startswith("sqlite") else "PostgreSQL") in ran.lines[0]["found"]


def test_doctor_names_triggers_that_are_gone(cli: Cli, sqlite_url: str) -> None:
    cli("publish", "-", "--seed", text=prompt())
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as connection:
        connection.execute("DROP TRIGGER ovstore_entry_update")
    connection.close()
    out = cli("doctor", code=6).out
    assert "ovstore_entry_update" in out
    assert "BAD  triggers" in out


def test_doctor_says_what_to_do_where_there_is_no_store(folder: Path) -> None:
    assert "ovstore --db sqlite:///missing.db init" in run("--db", "sqlite:///missing.db", "doctor", code=6).out
    Path("empty.db").touch()
    assert "ovstore --db sqlite:///empty.db init" in run("--db", "sqlite:///empty.db", "doctor", code=6).out


def test_doctor_tells_a_server_that_is_not_there(folder: Path) -> None:
    out = run("--db", "postgresql://nobody:secret@127.0.0.1:1/none", "doctor", code=6).out
    assert "no connection to PostgreSQL" in out
    assert "secret" not in out


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///"])
@pytest.mark.parametrize("command", ["init", "list", "doctor", "migrate"])
def test_a_database_in_memory_is_refused_since_it_is_gone_with_the_command(
    folder: Path, url: str, command: str
) -> None:
    assert "name a file, sqlite:///FILE" in run("--db", url, command, code=2).err


def test_a_folder_that_is_missing_is_told_with_the_command_that_makes_it(folder: Path) -> None:
    err = run("--db", "sqlite:///none/new.db", "init", code=6).err
    assert f"there is no folder {folder}/none; to make it: mkdir -p {folder}/none" in err
