"""Strict: a read that begins after a commit sees it, whoever committed, and however the database came to be another."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
from others import BOLD, KEY, Other, other, says, text
from samples import patch, prompt
from sqlalchemy import make_url

import ovstore
from ovstore import Store
from ovstore.db.engines import Database


@pytest.fixture
def there(url: str) -> Iterator[Other]:
    with other(url) as found:
        yield found


def test_45_one_two_back_to_one_and_three_from_another_process(store: Store, there: Other) -> None:
    for word in ("one ", "two "):
        store.publish(says(word), **BOLD)
    assert text(store) == "two ?"
    store.rollback(KEY, to=1, actor="ann", reason="r")
    assert text(store) == "one ?"
    there.publish(says("three "), **BOLD)
    assert text(store) == "three ?"
    assert there.rollback(KEY, **BOLD).after == 1
    assert text(store) == "one ?"


def test_45_a_write_that_fails_leaves_the_old_text(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.publish(says("old "), actor="ann")
    assert text(store) == "old ?"
    seen: list[str] = []
    append = ovstore.db.write.append

    def fails(*args: object) -> None:
        append(*args)  # type: ignore[arg-type]
        # Everything is written, nothing is committed: nobody may see it, and it must not be kept.
        if store._database.dialect == "postgresql" or not store._database.in_memory:
            seen.append(text(store))
        raise RuntimeError("the process has a bad day")

    monkeypatch.setattr(ovstore.db.write, "append", fails)
    with pytest.raises(RuntimeError, match="bad day"):
        store.publish(says("new "), **BOLD)
    monkeypatch.undo()
    assert [*seen, text(store)] == ["old ?", "old ?"]
    store.publish(says("new "), **BOLD)
    assert text(store) == "new ?"


def test_every_verb_of_another_process_is_seen_at_once(store: Store, there: Other) -> None:
    store.publish(prompt(template="G {{ q }}"), actor="ann")
    assert text(store, "acme") == "G ?"
    there.publish(patch(KEY, template="A {{ q }}"), tenant="acme", **BOLD)
    assert text(store, "acme") == "A ?"
    there.publish(says("draft "), tenant="acme", live=False, **BOLD)
    assert text(store, "acme") == "A ?"
    there.activate(KEY, 2, label="staging", tenant="acme", **BOLD)
    assert [text(store, "acme"), text(store, "acme", label="staging")] == ["A ?", "draft ?"]
    there.activate(KEY, 2, tenant="acme", **BOLD)
    assert text(store, "acme") == "draft ?"
    there.rollback(KEY, tenant="acme", **BOLD)
    assert text(store, "acme") == "A ?"
    before = there.resolve(KEY, tenant="acme").revision
    there.withdraw(KEY, tenant="acme", **BOLD)
    assert text(store, "acme") == "G ?"
    there.rollback_tenant("acme", to=before, **BOLD)
    assert text(store, "acme") == "A ?"
    there.withdraw(KEY, label="staging", tenant="acme", **BOLD)
    assert text(store, "acme", label="staging") == "A ?"
    there.publish(prompt(template="GG {{ q }}"), **BOLD)
    assert [text(store, "acme"), text(store)] == ["A ?", "GG ?"]
    assert store.render(KEY, {"q": "?"}, tenant="acme").resolved.fresh == "strict"


def test_a_key_and_a_tenant_that_were_not_there_are_seen_when_they_are(store: Store, there: Other) -> None:
    with pytest.raises(ovstore.NotFoundError):
        text(store, "acme/support")
    there.publish(says("G"), **BOLD)
    assert text(store, "acme/support") == "G?"
    there.publish(says("A"), tenant="acme", **BOLD)
    assert text(store, "acme/support") == "A?"
    there.publish(says("S"), tenant="acme/support", **BOLD)
    assert [text(store, "acme/support"), text(store, "acme"), text(store)] == ["S?", "A?", "G?"]


def test_a_long_row_of_moves_is_followed_or_looked_up_anew(
    store: Store, there: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.publish(says("0 "), actor="ann")
    for most in (500, 3):
        monkeypatch.setattr("ovstore.resolver.MOST_MOVES", most)
        for n in range(6):
            there.publish(says(f"{most} {n} "), **BOLD)
            there.publish(says(f"other {n} ", "semantic.other"), **BOLD)
        assert text(store) == f"{most} 5 ?"
        assert store.resolve_many()["semantic.other"].document["template"] == "other 5 {{ q }}"


def test_threads_all_see_what_was_committed_before_they_began(store: Store, there: Other) -> None:
    store.publish(says("0 "), actor="ann")
    committed = 0
    wrong: list[str] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            least = committed
            found = text(store, "acme")
            if int(found.split()[0]) < least:
                wrong.append(f"{found} after {least}")

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for n in range(1, 15):
        there.publish(says(f"{n} "), **BOLD)
        committed = n
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def put_in_place(file: Path, place: Path) -> None:
    """Replace a database as one has to: what belongs to the old file goes with it."""
    for side in ("-wal", "-shm"):
        place.with_name(place.name + side).unlink()
    file.replace(place)


def test_a_file_that_is_replaced_by_another_one_is_read_and_written_from_then_on(
    sqlite_url: str, tmp_path: Path, sqlite_template: Path
) -> None:
    place = Path(sqlite_url.removeprefix("sqlite:///"))
    second = tmp_path / "second.db"
    shutil.copyfile(sqlite_template, second)
    with ovstore.open(f"sqlite:///{second}") as store:
        store.publish(says("second "), actor="ann")
    with ovstore.open(sqlite_url) as store:
        store.publish(says("first "), actor="ann")
        assert text(store) == "first ?"
        put_in_place(second, place)
        assert text(store) == "second ?"
        assert store.publish(says("third "), **BOLD).version == 2
        assert text(store) == "third ?"
        with ovstore.open(sqlite_url) as other_store:
            assert text(other_store) == "third ?"
        place.unlink()
        with pytest.raises(ovstore.MigrationRequiredError, match="there is no database"):
            text(store)


def test_a_file_that_this_process_also_reads_otherwise_is_never_stale(sqlite_url: str) -> None:
    """To open and close it ends SQLite's locks of this process, and others take away the journal that it has open."""
    place = Path(sqlite_url.removeprefix("sqlite:///"))
    with ovstore.open(sqlite_url) as store:
        store.publish(says("one "), actor="ann")
        assert text(store) == "one ?"
        for n in range(3):
            place.read_bytes()
            for word in ("told ", "taken "):
                with other(sqlite_url) as there:
                    there.publish(says(f"{word}{n} "), **BOLD)
                assert text(store, "acme") == f"{word}{n} ?"
        place.read_bytes()
        with other(sqlite_url) as there:
            assert text(there) == "taken 2 ?"
        with other(sqlite_url) as there:
            store.publish(says("own "), **BOLD)
            assert text(there) == text(store) == "own ?"
        assert store.verify() == ()


def test_a_journal_that_comes_and_goes_opens_no_connection_again_and_again(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ovstore.open(sqlite_url) as store:
        store.publish(says("one "), actor="ann")
        opened: list[str] = []
        connect = Database._connect_sqlite
        monkeypatch.setattr(Database, "_connect_sqlite", lambda self: opened.append("one") or connect(self))
        with other(sqlite_url) as there:
            Path(sqlite_url.removeprefix("sqlite:///")).read_bytes()
            text(there)
        # Nobody else has this one open.
        Path(f"{sqlite_url.removeprefix('sqlite:///')}-wal").touch()
        for _ in range(5):
            assert text(store) == "one ?"
        assert len(opened) == 1
        for n in range(5):
            store.publish(says(f"{n} "), **BOLD)
            assert text(store) == f"{n} ?"
        assert len(opened) == 1


def test_a_link_that_is_pointed_at_another_file_is_followed(
    sqlite_url: str, sqlite_template: Path, tmp_path: Path
) -> None:
    second, link, other_link = tmp_path / "second.db", tmp_path / "link.db", tmp_path / "other_link.db"
    shutil.copyfile(sqlite_template, second)
    link.symlink_to(sqlite_url.removeprefix("sqlite:///"))
    with ovstore.open(f"sqlite:///{link}") as store, other(f"sqlite:///{second}") as there:
        store.publish(says("first "), actor="ann")
        there.publish(says("second "), **BOLD)
        assert text(store) == "first ?"
        other_link.symlink_to(second)
        other_link.replace(link)
        assert text(store) == "second ?"
        there.publish(says("third "), **BOLD)
        assert text(store) == "third ?"


def test_a_backup_that_is_restored_cannot_pass_old_text_as_fresh(sqlite_url: str, tmp_path: Path) -> None:
    place, backup = Path(sqlite_url.removeprefix("sqlite:///")), tmp_path / "backup.db"
    with ovstore.open(sqlite_url) as store:
        store.publish(says("one "), actor="ann")
    shutil.copyfile(place, backup)
    with ovstore.open(sqlite_url) as store:
        # Two histories with the same numbers: version 2 at sequence 2 says one thing here and another one there.
        store.publish(says("here "), **BOLD)
        assert text(store, "acme") == "here ?"
        with ovstore.open(f"sqlite:///{backup}") as elsewhere:
            elsewhere.publish(says("there "), **BOLD)
            elsewhere.publish(says("other ", "semantic.other"), **BOLD)
        put_in_place(backup, place)
        assert text(store, "acme") == "there ?"
        assert store.resolve("semantic.other").version == 1


def test_a_failover_to_another_history_cannot_pass_old_text_as_fresh(
    postgres_server: postgres.Server, postgres_url: str
) -> None:
    name = make_url(postgres_url).database
    with ovstore.open(postgres_url) as store:
        store.publish(says("one "), actor="ann")
    standby_url = postgres_server.create(name)
    standby = make_url(standby_url).database
    with ovstore.open(postgres_url) as store, ovstore.open(standby_url) as elsewhere:
        store.publish(says("here "), **BOLD)
        assert text(store, "acme") == "here ?"
        elsewhere.publish(says("there "), **BOLD)
        elsewhere.close()
        postgres_server.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        postgres_server.run(f"ALTER DATABASE {name} RENAME TO {name}_gone")
        postgres_server.run(f"ALTER DATABASE {standby} RENAME TO {name}")
        assert text(store, "acme") == "there ?"
    postgres_server.run(f"DROP DATABASE {name}_gone WITH (FORCE)")
