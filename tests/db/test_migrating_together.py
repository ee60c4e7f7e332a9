"""Several processes that migrate at once, and one that is killed while it does: case 56 of the field."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path

import children
import pytest
import sqlalchemy as sa

from ovstore import bundled
from ovstore.db import migrate, tables
from ovstore.db.engines import Database

NEXT = '''
"""A revision that comes after the first: a column for every scope."""
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    op.execute("ALTER TABLE ovstore_scope ADD COLUMN note TEXT")
'''


def assert_whole(url: str, revision: str) -> None:
    database = Database(url)
    with database.read() as connection:
        assert connection.scalars(sa.text(f"SELECT version_num FROM {migrate.VERSION_TABLE}")).all() == [revision]
        assert connection.scalars(sa.select(tables.scope.c.name).order_by(tables.scope.c.id)).all() == [
            "seed",
            "global",
        ]
        assert len(connection.execute(sa.select(tables.meta)).all()) == 1
    database.close()


def test_of_processes_that_set_up_one_database_one_works_and_all_succeed(empty_url: str) -> None:
    outputs = children.together(*[("upgrade", empty_url)] * 4)
    assert sorted(outputs) == ["False current"] * 3 + ["True current"]
    assert_whole(empty_url, "0001")


def test_of_processes_that_upgrade_a_database_with_data_one_works_and_all_succeed(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    shutil.copytree(bundled.folder("migrations"), folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "0002_next.py").write_text(NEXT)
    outputs = children.together(*[("upgrade_from", folder, "0002", url)] * 4)
    assert sorted(outputs) == ["False current"] * 3 + ["True current"]
    assert_whole(url, "0002")


@pytest.mark.parametrize("at", ["2", "9", "23", "commit"])
def test_a_migration_killed_in_the_middle_leaves_nothing_and_no_lock(empty_url: str, at: str) -> None:
    process = children.start("upgrade_and_die", empty_url, at)
    children.release(process)
    children.finish(process, code=-signal.SIGKILL)
    database = Database(empty_url, create=True)
    assert migrate.state(database) == "empty"
    began = time.monotonic()
    assert migrate.upgrade(database) is True
    assert time.monotonic() - began < 30
    database.close()
    assert_whole(empty_url, "0001")
