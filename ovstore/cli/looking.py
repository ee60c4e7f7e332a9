"""Who did what, whether all is whole, and who overrides: audit, verify, heads, tenants and doctor."""

from __future__ import annotations

from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import click

from ovstore import names
from ovstore.cli import exits, values
from ovstore.cli.call import Call, pass_call, seen
from ovstore.cli.options import RISK, command, complete_key, complete_tenant, moment, together

some_scope = together(
    click.option(
        "--tenant",
        metavar="T",
        shell_complete=complete_tenant,
        help="Only this tenant or workspace. Without --tenant and --seed: every scope.",
    ),
    click.option("--seed", is_flag=True, help="Only the seed layer."),
)


@command(
    "audit",
    examples="""
    ovstore audit --field merge_op
    ovstore audit --tenant acme --effective --since 2026-03-01T00:00:00Z
    ovstore audit --by ada --risk high --format json
    """,
)
@click.option("--field", metavar="F", help="Only where this field changed: merge_op, template, required …")
@click.option("--key", metavar="K", shell_complete=complete_key, help="Only this template.")
@click.option("--category", metavar="C", help="Only this category.")
@click.option("--action", metavar="A", type=click.Choice(names.ACTIONS), help="Only this: publish, rollback …")
@click.option("--risk", metavar="R", type=RISK, help="Only this risk and above.")
@click.option("--by", "actor", metavar="A", help="Only what this actor did.")
@click.option("--since", type=moment, metavar="TIME", help="Not before this time (ISO 8601 with a zone).")
@click.option("--until", type=moment, metavar="TIME", help="Not after this time.")
@some_scope
@click.option("--global", "in_global", is_flag=True, help="Only the global layer.")
@click.option("--effective", is_flag=True, help="What the tenant gets: its whole chain.")
@pass_call
def audit_command(
    call: Call, /, tenant: str | None, seed: bool, in_global: bool, field: str | None, effective: bool, **asked: Any
) -> None:
    """Tell who changed what, when and why, newest first.

    A change of a field counts also where it was implicit before, and where a rollback or a withdrawal made it; a file
    that only reorders or spells out what was there counts as no change.
    """
    if (tenant is not None) + seed + in_global > 1:
        raise click.UsageError("--tenant, --seed and --global are three places: give one of them")
    from ovstore.cli import near, sequel

    with call.store() as store:
        if not effective:
            call.doubt(store, tenant)
        everywhere = tenant is None and not seed and not in_global
        log = store.audit if everywhere else sequel.log_of(store, tenant, seed)
        found = log(field=field, effective=effective, **asked)
        first = next(found, None)
        named = {name: asked[name] for name in ("key", "actor", "category")}
        whole = partial(log, effective=effective)
        wrong = near.audit_note(seen(store, tenant, seed), whole, **named) if first is None else None
        if wrong is None:
            call.out.entries(() if first is None else chain([first], found), field=field)
        else:
            call.out.note(wrong)


@command(
    "verify",
    examples="""
    ovstore verify
    ovstore verify --against heads.json
    """,
)
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Heads that were kept elsewhere, as `heads` wrote them.",
)
@some_scope
@pass_call
def verify_command(call: Call, /, against: Path | None, tenant: str | None, seed: bool) -> int:
    """Recompute the whole log: is everything as it was written?

    Without kept heads it shows accidents and careless hands. An owner of the database who rewrites a log from its
    first entry to its last is only caught by heads that were kept out of reach. Exits with 1 for problems.
    """
    heads = _kept_heads(against) if against else None
    if tenant is None and not seed:
        with call.store() as store:
            problems = store.verify(heads=heads)
    else:
        with call.view(tenant, seed, own=True) as view:
            problems = view.verify(heads=heads)
    call.out.problems(problems)
    if problems:
        call.out.note(_TAMPERED)
    if heads and not problems:
        call.out.note(f"{len(heads)} kept head{'s' * (len(heads) > 1)} found on the chains")
    return exits.FINDINGS if problems else 0


_TAMPERED: Final = (
    "what to do: write nothing more to this store; `ovstore doctor` tells whether the triggers are in place; restore "
    "the newest backup that `ovstore verify` finds whole, with --against if you kept heads, and compare an export of "
    "both to see what was changed"
)


def _kept_heads(path: Path) -> dict[str, str]:
    """Read what `heads` wrote, as JSON or as text."""
    text = values.read_text(str(path), "--against")
    if text.lstrip().startswith("{"):
        data = values.parsed_json(text, str(path), "--against")
        if all(isinstance(head, str) for head in data.values()):
            return dict(data)
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines or not all(len(words) == 2 for words in lines):
        raise click.BadParameter(f"{path} does not hold what `ovstore heads` writes", param_hint="--against")
    return {words[0]: words[1] for words in lines}


@command(
    "heads",
    examples="""
    ovstore heads
    ovstore heads --format json > heads.json
    """,
)
@pass_call
def heads_command(call: Call) -> None:
    """Write the heads of all logs, to be kept elsewhere for verify."""
    with call.store() as store:
        call.out.heads(store.heads())


@command("tenants", examples="ovstore tenants")
@pass_call
def tenants_command(call: Call) -> None:
    """List the tenants and workspaces, and how much each overrides."""
    with call.store() as store:
        call.out.tenants(store.tenants())


@command("doctor", examples="ovstore --db postgresql://ovstore@db.example.com/ovstore doctor")
@pass_call
def doctor_command(call: Call) -> int:
    """Look at the connection, the schema, freshness and the triggers.

    Exits with 6 if something is not as it should be, and says what to do.
    """
    from ovstore.cli import doctoring

    found = doctoring.examine(call)
    call.out.health(found)
    return 0 if all(check.ok for check in found) else exits.DATABASE
