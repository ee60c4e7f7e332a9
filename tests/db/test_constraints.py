"""What the tables themselves refuse, the same on both databases; case 50 of the field is the first two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from rows import ACME, ENTRY, HASH, LABEL, VERSION

from ovstore.db import tables
from ovstore.db.engines import Database
from ovstore.errors import DatabaseError

GLOBAL = {"scope_id": 2}


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(url)
    add(database, tables.version, VERSION | GLOBAL)
    yield database
    database.close()


def add(database: Database, table: sa.Table, row: dict[str, Any]) -> None:
    database.write(lambda connection: connection.execute(sa.insert(table).values(row)))


def refuse(database: Database, table: sa.Table, row: dict[str, Any]) -> None:
    with pytest.raises(DatabaseError, match="refused"):
        add(database, table, row)


def test_global_has_one_version_of_a_number(database: Database) -> None:
    refuse(database, tables.version, VERSION | GLOBAL | {"source": b"another"})


def test_global_has_one_current_version_of_a_key(database: Database) -> None:
    add(database, tables.version, VERSION | GLOBAL | {"number": 2})
    add(database, tables.label, LABEL | GLOBAL)
    refuse(database, tables.label, LABEL | GLOBAL | {"number": 2})


def test_there_is_one_global_scope(database: Database) -> None:
    refuse(database, tables.scope, ACME | {"id": 4, "name": "global"})


def test_two_scopes_that_stand_do_not_share_a_name(database: Database) -> None:
    add(database, tables.scope, ACME)
    refuse(database, tables.scope, ACME | {"id": 4})


def test_a_scope_hangs_on_one_that_exists(database: Database) -> None:
    refuse(database, tables.scope, ACME | {"parent_id": 99})


def test_there_is_one_row_of_meta(database: Database) -> None:
    row = {"store_id": "x", "readable_from": 1, "seed_catalog": ""}
    refuse(database, tables.meta, row | {"one": 1})
    refuse(database, tables.meta, row | {"one": 2})


def test_one_label_moves_once_at_a_time(database: Database) -> None:
    add(database, tables.entry, ENTRY | GLOBAL)
    refuse(database, tables.entry, ENTRY | GLOBAL | {"seq": 2})


def test_drafts_of_one_time_are_not_in_each_others_way(database: Database) -> None:
    for seq in (1, 2):
        add(database, tables.entry, ENTRY | GLOBAL | {"seq": seq, "label": None})


@pytest.mark.parametrize(("column", "value"), [("kind", "recipe"), ("mode", "half"), ("source", None), ("key", None)])
def test_a_version_is_of_a_known_kind_and_mode_and_has_its_columns(
    database: Database, column: str, value: str | None
) -> None:
    refuse(database, tables.version, VERSION | GLOBAL | {"number": 2, column: value})


@pytest.mark.parametrize("setting", ["number = 'one'", "source_hash = 5", "document = x'00'"])
def test_a_column_holds_on_sqlite_what_its_type_says(sqlite_url: str, setting: str) -> None:
    database = Database(sqlite_url)
    add(database, tables.version, VERSION | GLOBAL)
    column, value = setting.split(" = ")
    others = ", ".join(name for name in VERSION if name != column)
    values = others.replace("number", "number + 1")
    statement = f"INSERT INTO ovstore_version ({others}, {column}) SELECT {values}, {value} FROM ovstore_version"
    with pytest.raises(DatabaseError, match="cannot store"):
        database.write(lambda connection: connection.execute(sa.text(statement)))
    database.close()


def test_numbers_of_64_bits_and_long_texts_come_back_as_they_went(database: Database) -> None:
    text, source = "語" * 400_000, bytes(range(256)) * 4_000
    add(database, tables.version, VERSION | GLOBAL | {"number": 2, "document": text, "source": source})
    add(database, tables.entry, ENTRY | GLOBAL | {"seq": 2**62, "at": 2**62, "hash": HASH})
    with database.read() as connection:
        query = sa.select(tables.version.c.document, tables.version.c.source).where(tables.version.c.number == 2)
        assert connection.execute(query).one() == (text, source)
        assert connection.execute(sa.select(tables.entry.c.seq, tables.entry.c.at)).one() == (2**62, 2**62)


def test_names_sort_by_code_point(database: Database) -> None:
    names = ["Zeta", "alpha", "_x", "a-b", "ab", "A", "é"]
    for number, name in enumerate(names, 10):
        add(database, tables.scope, ACME | {"id": number, "name": name})
    query = sa.select(tables.scope.c.name).where(tables.scope.c.id >= 10).order_by(tables.scope.c.name)
    with database.look() as connection:
        assert connection.scalars(query).all() == sorted(names)
