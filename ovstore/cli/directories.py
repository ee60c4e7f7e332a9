"""Folders of YAML files: import, export and check them, and JSON Schemas for editors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ovstore import schemas
from ovstore.cli import exits, sequel
from ovstore.cli.call import Call, pass_call
from ovstore.cli.options import command, complete_key, in_scope, judged

if TYPE_CHECKING:
    from ovstore.directories import Listing
    from ovstore.results import Finding


@command(
    "import",
    examples="""
    ovstore import templates/ --dry-run
    ovstore import templates/ --category semantic --reason "release 12"
    ovstore import acme/ --tenant acme --prune --strict
    ovstore import --ov-conf ~/.openviking/ov.conf --dry-run
    """,
)
@click.argument("path", required=False, type=click.Path(exists=True, path_type=Path))
@in_scope
@click.option(
    "--ov-conf",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Import what OpenViking would read: the directories that this configuration and its environment name.",
)
@click.option("--prune", is_flag=True, help="Withdraw what the scope overrides and the folder lacks.")
@click.option("--dry-run", is_flag=True, help="Show the plan and stop.")
@click.option("--strict", is_flag=True, help="Take warnings of files for errors.")
@click.option("--category", metavar="C", help="Only this category.")
@click.option(
    "--experimental-memory", is_flag=True, help="Take a folder experimental_memory/ too; it replaces by type."
)
@judged
@pass_call
def import_command(
    call: Call,
    /,
    path: Path | None,
    ov_conf: Path | None,
    tenant: str | None,
    seed: bool,
    dry_run: bool,
    prune: bool,
    strict: bool,
    category: str | None,
    experimental_memory: bool,
    **given: Any,
) -> int:
    """Import a folder of YAML files, all of it or nothing.

    A plan is made, shown and applied in one change set. Nothing is written if a file has an error, if the risk is not
    accepted, or if the store moves after the plan. The same folder again changes nothing.
    """
    folder = _configured(call, path, ov_conf) if ov_conf else path
    if folder is None:
        if ov_conf is None:
            raise click.UsageError("name the folder to import, or a configuration with --ov-conf FILE")
        call.out.note("no directory is configured: the bundled templates are meant, and nothing was imported")
        return 0
    with call.scoped(tenant, seed) as (store, view):
        with call.out.reading() as watch:
            plan = view.plan_import(
                folder,
                prune=prune,
                strict=strict,
                category=category,
                experimental_memory=experimental_memory,
                watch=watch,
            )
        failed = bool(plan.errors)
        call.out.plan(plan, applied=not (failed or dry_run))
        if failed or dry_run:
            call.doubt(store, tenant)
            call.out.note(f"nothing was written{_in_files(plan.errors) if failed else sequel.to_do_it(plan.risk)}")
            sequel.tell_scope(call, tenant, seed, plan.errors)
            return exits.FINDINGS if failed else 0
        done = view.apply(plan, actor=call.actor, **given)
        call.out.change_set(done, planned=len(plan.rows))
        if done.moves:
            sequel.tell_first(call, plan.scope, done.revision, writes=len(done.moves))
            sequel.tell_frozen(call, store, done.id, done.moves[0].key, given)
    return 0


def _in_files(errors: Sequence[Finding]) -> str:
    files = len({finding.path for finding in errors if finding.path})
    return {0: "", 1: ": a file has an error"}.get(files, f": {files} files have errors")


def _configured(call: Call, path: Path | None, ov_conf: Path) -> Listing | None:
    """List what is configured, and tell of each place that may name a directory what it said; None is bundled."""
    from ovstore.openviking import configuration

    sources = configuration.sources(path, ov_conf)
    for tried in sources.tried:
        call.out.note(str(tried))
    return None if sources.nothing else sources.listing()


@command(
    "export",
    examples="""
    ovstore export backup/
    ovstore export acme/ --tenant acme semantic.document_summary
    ovstore export everything/ --tenant acme --effective
    """,
)
@click.argument("path", type=click.Path(file_okay=False, path_type=Path))
@click.argument("keys", metavar="[KEY]...", nargs=-1, shell_complete=complete_key)
@in_scope
@click.option("--effective", is_flag=True, help="All that the scope gets, folded; each head names the versions.")
@pass_call
def export_command(
    call: Call, /, path: Path, keys: tuple[str, ...], tenant: str | None, seed: bool, effective: bool
) -> None:
    """Write what a scope overrides as YAML files, byte for byte.

    PATH is an empty folder or an earlier export.
    """
    with call.view(tenant, seed, own=not effective) as view:
        call.out.files(view.export(path, keys or None, effective=effective))


@command(
    "check",
    examples="""
    ovstore check templates/
    ovstore check templates/ --strict --github
    """,
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--strict", is_flag=True, help="Take warnings for errors.")
@click.option("--github", is_flag=True, help="Write annotations for GitHub Actions.")
@pass_call
def check_command(call: Call, /, paths: tuple[Path, ...], strict: bool, github: bool) -> int:
    """Check YAML files, without a database.

    Every finding comes with file, line, column and what to do. Exits with 1 if one of them is an error.
    """
    import ovstore

    found = [finding for path in paths for finding in ovstore.check(path, strict=strict)]
    if github:
        for finding in found:
            click.echo(annotation(finding))
    else:
        call.out.findings(found)
    return exits.FINDINGS if any(finding.severity == "error" for finding in found) else 0


def annotation(finding: Finding) -> str:
    """Return a finding as a workflow command of GitHub Actions."""
    level = "notice" if finding.severity == "info" else finding.severity
    places = {"file": finding.path, "line": finding.line, "col": finding.column, "title": f"ovstore {finding.code}"}
    given = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in places.items() if value is not None)
    hint = f"\n{finding.hint}" if finding.hint else ""
    return f"::{level} {given}::{_escaped(finding.message + hint)}"


def _escaped(value: object, more: str = "") -> str:
    text = str(value)
    for char in f"%\r\n{more}":
        text = text.replace(char, f"%{ord(char):02X}")
    return text


@command(
    "schema",
    examples="""
    ovstore schema prompt > prompt.schema.json
    ovstore schema memory
    """,
)
@click.argument("kind", type=click.Choice(schemas.NAMES))
@pass_call
def schema_command(call: Call, /, kind: schemas.Name) -> None:
    """Write the JSON Schema of a kind of YAML file, for editors.

    An editor with a YAML language server takes it from the first line of a file:
    # yaml-language-server: $schema=prompt.schema.json
    """
    indent = 2 if call.form == "text" else None
    click.echo(json.dumps(schemas.schema(kind), indent=indent, ensure_ascii=False))
