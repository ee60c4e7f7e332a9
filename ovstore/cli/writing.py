"""Writes of one template, and of a whole tenant: publish, activate, rollback and withdraw."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ovstore import names
from ovstore.cli import exits, sequel
from ovstore.cli.call import Call, pass_call
from ovstore.cli.options import (
    RISK,
    change_set_option,
    command,
    complete_key,
    expected_option,
    in_scope,
    judged,
    key_argument,
    moment_or_revision,
    version,
    write_options,
)
from ovstore.cli.reading import scope_name
from ovstore.errors import InvalidDocumentError, RiskError

if TYPE_CHECKING:
    from ovstore.results import Move
    from ovstore.store import Store
    from ovstore.view import View

label_option = click.option(
    "--label", metavar="LABEL", default=names.LIVE, show_default=True, help="The label to move."
)


@command(
    "publish",
    examples="""
    ovstore publish document_summary.yaml --tenant acme --reason "shorter summaries"
    ovstore publish document_summary.yaml --draft
    """,
)
@click.argument("file", type=click.Path(exists=True, allow_dash=True, path_type=Path))
@in_scope
@click.option("--draft", is_flag=True, help="Add the version without making it live.")
@click.option("--risk", type=RISK, metavar="R", help="Declare a higher risk than ovstore can see.")
@write_options
@pass_call
def publish_command(
    call: Call, /, file: Path, tenant: str | None, seed: bool, draft: bool, risk: str | None, **given: Any
) -> int:
    """Add a version from a YAML file and make it live.

    FILE - is stdin. A file that begins with `extends: KEY` is a patch: it holds only what differs from the layer
    below. A file equal to the live version changes nothing.
    """
    from ovstore import checking, gathering

    with call.scoped(tenant, seed) as (store, view):
        checked = checking.check_source(_bytes(file), None if str(file) == "-" else str(file))
        log = sequel.log_of(store, tenant, seed)
        before = sequel.earlier(log, given["change_set"], key=checked.parsed.key)
        # A pipe can be read only once.
        source = file if checked.path is not None and file.is_file() else checked.source
        try:
            done = view.publish(source, actor=call.actor, risk=risk, live=not draft, **given)
        except InvalidDocumentError as error:
            call.out.error(error)
            sequel.tell_scope(call, tenant, seed, error.findings)
            return exits.FINDINGS
        except RiskError as error:
            if checked.parsed.mode == "patch" and checked.parsed.key is not None:
                sequel.tell_new_items(call, view, checked.parsed.key, error.changes)
            raise
        sequel.tell_earlier(call, before)
        call.out.published(done, draft=draft, again=before is not None)
        if before is None and not done.unchanged:
            sequel.tell_first(call, done.scope, done.revision, writes=1)
        if checked.parsed.mode == "patch":
            sequel.tell_new_items(call, view, done.key, done.changes)
        sequel.tell_warnings(call, gathering.findings_of(checked))
        sequel.tell_frozen(call, store, done.change_set, done.key, given)
    return 0


def _bytes(file: Path) -> bytes:
    if file.is_dir():
        raise click.UsageError(f"{file} is a folder; to publish what it holds: ovstore import {file}")
    return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()


@contextmanager
def _told(
    call: Call, verb: str, key: str, tenant: str | None, seed: bool, given: Mapping[str, Any]
) -> Iterator[tuple[Store | View, Callable[[Move], None]]]:
    """Give what moves a label, and what tells the move with all that belongs to it."""
    with call.scoped(tenant, seed) as (store, view):
        before = sequel.earlier(sequel.log_of(store, tenant, seed), given["change_set"], key=key)

        def tell(done: Move) -> None:
            sequel.tell_earlier(call, before)
            call.out.move(done, verb=verb, again=before is not None)
            sequel.tell_frozen(call, store, done.change_set, key, given)

        yield view, tell


@command(
    "activate",
    examples="""
    ovstore activate semantic.document_summary 3 --tenant acme
    ovstore activate semantic.document_summary 4 --label staging
    """,
)
@key_argument
@click.argument("version", type=version)
@in_scope
@label_option
@write_options
@pass_call
def activate_command(
    call: Call, /, key: str, version: int | str, tenant: str | None, seed: bool, label: str, **given: Any
) -> None:
    """Point a label at a version of the same scope."""
    with _told(call, "activate", key, tenant, seed, given) as (view, tell):
        tell(view.activate(key, version, label=label, actor=call.actor, **given))


@command(
    "rollback",
    examples="""
    ovstore rollback semantic.document_summary --tenant acme --reason "summaries became too short"
    ovstore rollback semantic.document_summary --to 1
    ovstore rollback --all --to 2026-03-02T09:00:00Z --tenant acme --workspaces --dry-run
    """,
)
@click.argument("key", required=False, shell_complete=complete_key)
@in_scope
@click.option("--to", metavar="N|TIME|REVISION", help="Back to version N; with --all to a time or a revision.")
@click.option("--all", "everything", is_flag=True, help="Every template of the scope, as it was at --to.")
@click.option("--global", "in_global", is_flag=True, help="With --all: the global layer.")
@click.option("--workspaces", is_flag=True, help="With --all: the tenant's workspaces too.")
@click.option("--dry-run", is_flag=True, help="With --all: show what would move and stop.")
@label_option
@judged
@expected_option
@change_set_option
@pass_call
def rollback_command(
    call: Call,
    /,
    key: str | None,
    tenant: str | None,
    seed: bool,
    to: str | None,
    everything: bool,
    in_global: bool,
    workspaces: bool,
    dry_run: bool,
    label: str,
    expected: int | None,
    **given: Any,
) -> None:
    """Undo the newest move of a label, or put a whole scope back.

    Again and again it walks back to not overriding. With --all every live label of the scope goes to where it was; a
    template born later is withdrawn. What the scope inherits is not rolled back: each line says whether its text is
    again what it was.
    """
    if everything:
        if key is not None or label != names.LIVE or expected is not None:
            raise click.UsageError("--all is about every live label: it takes no KEY, --label or --expected")
        _one_scope(tenant, seed, in_global)
        if dry_run:
            _show_rollback(call, tenant, seed, _moment(to), workspaces, given)
        else:
            _rollback_all(call, tenant, seed, _moment(to), workspaces, given)
        return
    if key is None:
        raise click.UsageError("a KEY is missing (or --all, to put everything back)")
    if in_global or workspaces or dry_run:
        raise click.UsageError("--global, --workspaces and --dry-run go with --all")
    number = _number(to)
    with _told(call, "rollback", key, tenant, seed, given) as (view, tell):
        tell(view.rollback(key, to=number, label=label, expected=expected, actor=call.actor, **given))


def _one_scope(tenant: str | None, seed: bool, in_global: bool) -> None:
    if (tenant is not None) + seed + in_global != 1:
        raise click.UsageError("--all needs to be told what to put back: one of --tenant T, --global and --seed")


def _rollback_all(
    call: Call, tenant: str | None, seed: bool, to: datetime | str, workspaces: bool, given: dict[str, Any]
) -> None:
    with call.scoped(tenant, seed, own=True) as (store, _):
        log = sequel.log_of(store, tenant, seed)
        before = sequel.earlier(log, given["change_set"], action="rollback_tenant")
        asked = {"to": to, "workspaces": workspaces, "actor": call.actor, **given}
        done = store.seed.rollback_tenant(**asked) if seed else store.rollback_tenant(tenant, **asked)
        sequel.tell_earlier(call, before)
        call.out.moves(done)
        moved = next((move for move in done if move.before != move.after), None)
        if moved is not None:
            sequel.tell_frozen(call, store, moved.change_set, moved.key, given)


def _show_rollback(
    call: Call, tenant: str | None, seed: bool, to: datetime | str, workspaces: bool, given: Mapping[str, Any]
) -> None:
    from ovstore import restoring
    from ovstore.db import migrate
    from ovstore.db.engines import Database

    with call.store() as store:
        call.doubt(store, tenant)
    scope, freeze = scope_name(tenant, seed), given["dependents"] == "freeze"
    with closing(Database(call.url)) as database:
        migrate.require(database)
        moves = restoring.foresee(database, scope, to, freeze=freeze, workspaces=workspaces)
    call.out.moves(moves)
    if moves:
        risk = max((move.risk for move in moves), key=names.RISKS.index)
        call.out.note(f"nothing was written; the risk is {risk}{sequel.to_do_it(risk)}")


def _moment(to: str | None) -> datetime | str:
    if to is None:
        raise click.UsageError("--all needs --to TIME or --to REVISION")
    try:
        return moment_or_revision(to)
    except click.BadParameter as error:
        error.param_hint = "--to"
        raise


def _number(to: str | None) -> int | None:
    if to is None:
        return None
    if not (to.isdecimal() and to.isascii()):
        raise click.BadParameter(f"{to!r} is not a version number (a time goes with --all)", param_hint="--to")
    return int(to)


@command(
    "withdraw",
    examples='ovstore withdraw semantic.document_summary --tenant acme --reason "back to the common text"',
)
@key_argument
@in_scope
@label_option
@write_options
@pass_call
def withdraw_command(call: Call, /, key: str, tenant: str | None, seed: bool, label: str, **given: Any) -> None:
    """Stop overriding a template, so that the next layer answers."""
    with _told(call, "withdraw", key, tenant, seed, given) as (view, tell):
        tell(view.withdraw(key, label=label, actor=call.actor, **given))
