"""History stays as it was written, whoever writes to the tables: the refusals of the triggers on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from rows import ACME, ENTRY, ROWS, TOMBSTONE, VERSION

from ovstore.db import tables
from ovstore.db.engines import Database
from ovstore.errors import DatabaseError

HISTORY = ("version", "part", "entry", "change")


def run(database: Database, statement: Any) -> int:
    if isinstance(statement, str):
        statement = sa.text(statement)
    return database.write(lambda connection: connection.execute(statement)).rowcount


def refuse(database: Database, statement: Any, why: str) -> None:
    before = everything(database)
    with pytest.raises(DatabaseError, match=why):
        run(database, statement)
    assert everything(database) == before


def everything(database: Database) -> list[Any]:
    with database.read() as connection:
        return [
            [tuple(row) for row in connection.execute(sa.select(table).order_by(*table.primary_key))]
            for table in tables.metadata.sorted_tables
        ]


def opened(url: str) -> Iterator[Database]:
    database = Database(url)

    def step(connection: sa.Connection) -> None:
        for table, row in ROWS:
            connection.execute(sa.insert(table).values(row))

    database.write(step)
    yield database
    database.close()


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    yield from opened(url)


@pytest.fixture
def sqlite(sqlite_url: str) -> Iterator[Database]:
    yield from opened(sqlite_url)


@pytest.fixture
def postgresql(postgres_url: str) -> Iterator[Database]:
    yield from opened(postgres_url)


def erase(database: Database) -> None:
    """What erasing acme writes: labels gone, a tombstone, and the scope closed with it."""

    def step(connection: sa.Connection) -> None:
        connection.execute(sa.delete(tables.label).where(tables.label.c.scope_id == 3))
        connection.execute(sa.insert(tables.entry).values(TOMBSTONE))
        row = sa.update(tables.scope).where(tables.scope.c.id == 3)
        connection.execute(row.values(revision=2, last_at=9, erased_at=9))

    database.write(step)


@pytest.mark.parametrize("name", HISTORY)
def test_an_update_of_history_is_refused(database: Database, name: str) -> None:
    refuse(database, f"UPDATE ovstore_{name} SET key = key", f"ovstore_{name} is history: UPDATE refused")


@pytest.mark.parametrize("name", HISTORY)
def test_a_delete_from_history_is_refused(database: Database, name: str) -> None:
    refuse(database, f"DELETE FROM ovstore_{name}", f"ovstore_{name} is history: DELETE refused")


@pytest.mark.parametrize(("table", "row"), [pair for pair in ROWS if pair[0] is not tables.label])
def test_an_existing_row_is_not_replaced(sqlite: Database, table: sa.Table, row: dict[str, Any]) -> None:
    if table is tables.entry:
        row = {**row, "at": 9}
    replace = sa.insert(table).prefix_with("OR REPLACE").values(row)
    refuse(sqlite, replace, f"{table.name}.* an existing row cannot be replaced")


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("version", {"number": "number + 1"}),
        ("part", {"part": "part || '_'"}),
        ("entry", {"seq": "seq + 1", "at": "at + 1"}),
        ("change", {"n": "n + 1"}),
    ],
)
def test_a_row_is_not_replaced_by_its_hidden_number(sqlite: Database, name: str, other: dict[str, str]) -> None:
    columns = [column.name for column in tables.metadata.tables[f"ovstore_{name}"].columns]
    values = ", ".join(other.get(column, column) for column in columns)
    statement = f"REPLACE INTO ovstore_{name} (rowid, {', '.join(columns)}) SELECT rowid, {values} FROM ovstore_{name}"
    refuse(sqlite, statement, f"ovstore_{name} is history: an existing row cannot be replaced")


def test_an_entry_is_not_replaced_by_another_of_the_same_time(sqlite: Database) -> None:
    statement = sa.insert(tables.entry).prefix_with("OR REPLACE").values({**ENTRY, "seq": 2})
    refuse(sqlite, statement, "ovstore_entry is history: an existing row cannot be replaced")


def test_a_scope_is_not_replaced_by_one_of_its_name(sqlite: Database) -> None:
    statement = sa.insert(tables.scope).prefix_with("OR REPLACE").values({**ACME, "id": 4})
    refuse(sqlite, statement, "ovstore_scope: an existing row cannot be replaced")


@pytest.mark.parametrize("name", HISTORY)
def test_an_upsert_does_not_change_history(database: Database, name: str) -> None:
    table = tables.metadata.tables[f"ovstore_{name}"]
    keys = ", ".join(column.name for column in table.primary_key)
    copy = f"INSERT INTO {table.name} SELECT * FROM {table.name} WHERE true"
    statement = f"{copy} ON CONFLICT ({keys}) DO UPDATE SET key = 'other'"
    refuse(database, statement, f"{table.name} is history: (UPDATE refused|an existing row cannot be replaced)")


@pytest.mark.parametrize("statement", ["TRUNCATE ovstore_change", "TRUNCATE ovstore_part"])
def test_a_truncate_is_refused(postgresql: Database, statement: str) -> None:
    refuse(postgresql, statement, "is history: TRUNCATE refused")


@pytest.mark.parametrize("name", ["version", "entry", "scope"])
def test_a_truncate_that_takes_dependants_along_is_refused(postgresql: Database, name: str) -> None:
    refuse(postgresql, f"TRUNCATE ovstore_{name} CASCADE", "is history: TRUNCATE refused|ovstore_scope: id")


@pytest.mark.parametrize(
    "change",
    [
        "id = 30", "name = 'other'", "parent_id = 1", "parent_id = NULL", "revision = 0", "last_at = 4",
        "erased_at = 9", "erased_at = 9, last_at = 9",
    ],
)  # fmt: skip
def test_a_scope_keeps_its_identity_and_never_falls_back(database: Database, change: str) -> None:
    run(database, "DELETE FROM ovstore_label")
    refuse(database, f"UPDATE ovstore_scope SET {change} WHERE id = 3", "id, name and parent are fixed")


@pytest.mark.parametrize("change", ["revision = 1, last_at = 5", "revision = 2, last_at = 6"])
def test_a_scope_stands_or_goes_forward(database: Database, change: str) -> None:
    assert run(database, f"UPDATE ovstore_scope SET {change} WHERE id = 3") == 1


def test_a_scope_gets_a_policy_while_it_stands(database: Database) -> None:
    assert run(database, "UPDATE ovstore_scope SET approve_from = 3 WHERE id = 3") == 1


def test_a_scope_is_not_deleted(database: Database) -> None:
    row = {**ACME, "id": 4, "name": "new"}
    run(database, sa.insert(tables.scope).values(row))
    refuse(database, "DELETE FROM ovstore_scope WHERE id = 4", "ovstore_scope: (DELETE refused|id)")


def test_a_label_moves_freely_within_its_scope_and_key(database: Database) -> None:
    run(database, sa.insert(tables.version).values({**VERSION, "number": 2}))
    assert run(database, "UPDATE ovstore_label SET number = 2, seq = 2") == 1
    assert run(database, "DELETE FROM ovstore_label") == 1


@pytest.mark.parametrize("change", ["number = 9", "scope_id = 2", "key = 'semantic.other'"])
def test_a_label_never_points_outside_its_scope_and_key(database: Database, change: str) -> None:
    refuse(database, f"UPDATE ovstore_label SET {change}", r"(?i)foreign key")


def test_an_erased_scope_can_be_emptied_but_for_its_tombstone(database: Database) -> None:
    erase(database)
    for name in ("change", "part", "version"):
        assert run(database, f"DELETE FROM ovstore_{name} WHERE scope_id = 3") == 1
    assert run(database, "DELETE FROM ovstore_entry WHERE scope_id = 3 AND seq < 2") == 1
    refuse(database, "DELETE FROM ovstore_entry WHERE scope_id = 3", "ovstore_entry.*(DELETE refused|tombstone)")


def test_history_of_an_erased_scope_is_not_changed(database: Database) -> None:
    erase(database)
    for name in HISTORY:
        refuse(database, f"UPDATE ovstore_{name} SET key = 'other'", f"ovstore_{name} is history: UPDATE refused")


@pytest.mark.parametrize("change", ["revision = 3", "last_at = 10", "erased_at = NULL", "approve_from = 1"])
def test_nothing_moves_in_an_erased_scope(database: Database, change: str) -> None:
    erase(database)
    refuse(database, f"UPDATE ovstore_scope SET {change} WHERE id = 3", "erasure writes a tombstone and is the end")


def test_erasing_one_scope_opens_no_other(database: Database) -> None:
    erase(database)
    other = {**ACME, "id": 4, "name": "other"}
    run(database, sa.insert(tables.scope).values(other))
    run(database, sa.insert(tables.version).values({**VERSION, "scope_id": 4}))
    refuse(database, "DELETE FROM ovstore_version WHERE scope_id = 4", "ovstore_version is history: DELETE refused")


def test_a_tenant_that_was_erased_can_come_again_as_another_scope(database: Database) -> None:
    erase(database)
    run(database, sa.insert(tables.scope).values({**ACME, "id": 4}))
    with database.look() as connection:
        named = connection.scalars(sa.select(tables.scope.c.id).where(tables.scope.c.name == "acme"))
        assert sorted(named) == [3, 4]


def test_a_temporary_table_does_not_stand_in_for_the_scopes(database: Database) -> None:
    temporary = {"sqlite": "temp", "postgresql": "pg_temp"}[database.dialect]

    def step(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TEMPORARY TABLE ovstore_scope AS SELECT * FROM ovstore_scope"))
        connection.execute(sa.text(f"UPDATE {temporary}.ovstore_scope SET erased_at = 1, revision = 99"))
        connection.execute(sa.text("DELETE FROM ovstore_change"))

    with pytest.raises(DatabaseError, match="ovstore_change is history: DELETE refused"):
        database.write(step)
