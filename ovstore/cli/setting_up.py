"""The database itself: init and migrate."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

import ovstore
from ovstore.cli import exits
from ovstore.cli.call import Call, pass_call
from ovstore.cli.options import command, judged


@command(
    "init",
    examples="""
    ovstore init
    ovstore --db postgresql://ovstore@db.example.com/ovstore init
    ovstore init --apply
    """,
)
@click.option("--apply", "apply", is_flag=True, help="Bring the seed layer to this package's catalogue.")
@click.option(
    "--experimental-memory",
    is_flag=True,
    default=None,
    help="With the experimental memory schemas; they replace by type.",
)
@judged
@pass_call
def init_command(call: Call, /, apply: bool, experimental_memory: bool | None, **given: Any) -> None:
    """Create the database and fill its seed layer.

    On a store that has seeds it shows what this package's newer catalogue changes and for whom, and with --apply does
    it. What others have published into the seed layer stays as it is.
    """
    from ovstore import seeding
    from ovstore.cli import sequel
    from ovstore.cli.output import SetUp
    from ovstore.db import migrate
    from ovstore.db.engines import Database
    from ovstore.errors import ConflictError

    with closing(Database(call.url, create=True)) as database:
        migrate.upgrade(database)
        seeded = seeding.seed(database, experimental_memory=bool(experimental_memory))
        plan = None
        try:
            plan = None if seeded else seeding.plan_upgrade(database, experimental_memory=experimental_memory)
        except ConflictError as error:
            # Old processes start beside new ones while a release is rolled out or back: they have nothing to do.
            if apply:
                raise
            call.out.note(f"nothing was changed: {error}")
        if plan is not None:
            call.out.plan(plan, applied=apply)
            if apply:
                call.out.change_set(seeding.apply_upgrade(database, plan, **given), planned=len(plan.rows))
            else:
                again = "init --apply" + (" --experimental-memory" if experimental_memory else "")
                todo = database.command(again + sequel.options_for(plan.risk))
                call.out.note(f"nothing was changed; to do it: {todo}")
            return
    with ovstore.open(call.url) as store:
        call.out.set_up(SetUp(database.url, seeded, len(store.seed.templates())))


@command(
    "migrate",
    examples="""
    ovstore migrate --check
    ovstore --db postgresql://ovstore@db.example.com/ovstore migrate
    """,
)
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if there is something to do.")
@pass_call
def migrate_command(call: Call, /, check: bool) -> int:
    """Bring the schema of a database to what this ovstore needs.

    One transaction does it: a failed or killed migration leaves nothing behind.
    """
    from ovstore.cli.output import Schema
    from ovstore.db import migrate
    from ovstore.db.engines import Database

    with closing(Database(call.url, create=call.makes_default)) as database:
        upgraded = not check and migrate.upgrade(database)
        state = migrate.state(database)
        call.out.schema(Schema(database.url, state, migrate.head(), upgraded))
    return exits.FINDINGS if state in ("empty", "behind") else 0
