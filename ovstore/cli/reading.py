"""What there is and who answers: list, show, explain, versions, history, diff and render."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ovstore import names
from ovstore.cli import exits, values
from ovstore.cli.call import Call, pass_call
from ovstore.cli.options import as_of, at_option, command, in_scope, key_argument, label_option, version

if TYPE_CHECKING:
    from ovstore.results import Entry, Resolved, Version


@command(
    "list",
    examples="""
    ovstore list
    ovstore list --tenant acme --category semantic
    ovstore list --kind memory --enabled --format json
    """,
)
@in_scope
@click.option("--kind", type=click.Choice(names.KINDS), help="Only this kind.")
@click.option("--category", metavar="C", help="Only this category.")
@click.option("--stage", type=click.Choice(("user", "agent")), help="Only memory schemas of this stage.")
@click.option("--enabled", is_flag=True, default=None, help="Only memory schemas that are enabled.")
@label_option
@at_option
@pass_call
def list_command(call: Call, /, tenant: str | None, seed: bool, **asked: Any) -> None:
    """List what a tenant gets, and which layer answers.

    By category: each template with its layer, its version there and what it is for.
    """
    from ovstore.cli import near

    with call.view(tenant, seed) as view:
        found = view.templates(**asked)
        call.out.listings(found, scope=scope_name(tenant, seed))
        if not found and asked["category"] is not None:
            call.note(near.category_note(view, asked["category"]))


@command(
    "show",
    examples="""
    ovstore show semantic.document_summary --tenant acme
    ovstore show semantic.document_summary --source > document_summary.yaml
    """,
)
@key_argument
@in_scope
@click.option("--source", is_flag=True, help="The bytes of the version that answers, as they were read.")
@as_of
@pass_call
def show_command(
    call: Call,
    /,
    key: str,
    tenant: str | None,
    seed: bool,
    source: bool,
    label: str,
    at: datetime | str | None,
    version: int | str | None,
) -> None:
    """Show the document that a tenant gets, as YAML.

    Its head says who answers, at which step of processing it is used and what a change of it affects.
    """
    with call.view(tenant, seed) as view:
        resolved = view.resolve(key, label=label, at=at, version=version)
        if source:
            call.out.source(answering(resolved, view.versions(key)))
        else:
            call.out.resolved(resolved)


def answering(resolved: Resolved, versions: tuple[Version, ...]) -> Version:
    """Return the version that answered, of those of the chain."""
    return next(v for v in versions if (v.scope, v.number) == (resolved.scope, resolved.version))


@command("explain", examples="ovstore explain semantic.document_summary --tenant acme/support")
@key_argument
@in_scope
@as_of
@pass_call
def explain_command(call: Call, /, key: str, tenant: str | None, seed: bool, **asked: Any) -> None:
    """Tell which layers were looked at, and where each field is from.

    Says too whether callers of what is overridden are still served.
    """
    with call.view(tenant, seed) as view:
        call.out.explanation(view.explain(key, **asked), scope=scope_name(tenant, seed))


@command("versions", examples="ovstore versions semantic.document_summary --tenant acme")
@key_argument
@in_scope
@pass_call
def versions_command(call: Call, /, key: str, tenant: str | None, seed: bool) -> None:
    """List every version of a template in the whole chain.

    The nearest scope comes first, in each the newest version, with the labels that point at it.
    """
    with call.view(tenant, seed) as view:
        call.out.versions(view.versions(key), labels=_labels(view.history(key)))


def _labels(entries: tuple[Entry, ...]) -> dict[tuple[str, int], list[str]]:
    """Return the labels of each version, by scope and number: the newest entry of a label says where it stands."""
    stand: dict[tuple[str, str], int | None] = {}
    for entry in entries:
        if entry.label is not None:
            stand.setdefault((entry.scope, entry.label), entry.after)
    found: dict[tuple[str, int], list[str]] = {}
    for (scope, label), number in sorted(stand.items(), key=lambda item: (item[0][1] != names.LIVE, item[0])):
        if number is not None:
            found.setdefault((scope, number), []).append(label)
    return found


@command("history", examples="ovstore history semantic.document_summary --tenant acme")
@key_argument
@in_scope
@pass_call
def history_command(call: Call, /, key: str, tenant: str | None, seed: bool) -> None:
    """Tell what was done to a template, newest first, in the chain."""
    with call.view(tenant, seed) as view:
        call.out.entries(view.history(key))


@command(
    "diff",
    examples="""
    ovstore diff semantic.document_summary 1 2
    ovstore diff semantic.document_summary seed:1 acme:2 --tenant acme
    """,
)
@key_argument
@click.argument("before", type=version)
@click.argument("after", type=version)
@in_scope
@pass_call
def diff_command(call: Call, /, key: str, before: int | str, after: int | str, tenant: str | None, seed: bool) -> int:
    """Compare two versions of a template, field by field.

    Each is folded on the live layers below it. BEFORE and AFTER are numbers of the scope that is asked (3), or
    versions of its chain (seed:3). Exits with 1 if the two differ.
    """
    with call.view(tenant, seed) as view:
        found = view.diff(key, before, after)
    call.out.diff(found)
    return exits.FINDINGS if found.text else 0


@command(
    "render",
    examples="""
    ovstore render semantic.document_summary -v file_name=a.md -v content=@a.md --tenant acme
    ovstore render semantic.document_summary --vars variables.json --at 2026-03-01T14:30:00Z
    """,
)
@key_argument
@click.option(
    "variables",
    "-v",
    metavar="NAME=VALUE",
    multiple=True,
    help="A variable, read as its declared type: true or false for bool, JSON for list and dict. NAME=@FILE takes "
    "the text of a file (@- is stdin), NAME=@@TEXT the text @TEXT.",
)
@click.option(
    "--vars",
    "file",
    metavar="FILE.json",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Variables as one JSON object; -v goes before it.",
)
@in_scope
@as_of
@pass_call
def render_command(
    call: Call, /, key: str, variables: tuple[str, ...], file: Path | None, tenant: str | None, seed: bool, **asked: Any
) -> None:
    """Render a prompt for a tenant: exactly its text, on stdout.

    No line end is added. Values of -v are read as the types that the prompt declares."""
    given = values.from_file(file) if file else {}
    texts = values.from_arguments(variables)
    with call.view(tenant, seed) as view:
        declared = values.types_of(view.resolve(key, **asked).document)
        given |= {name: values.convert(name, text, declared.get(name)) for name, text in texts.items()}
        rendered = view.render(key, given, **asked)
    call.rendered(rendered)
    for name in rendered.truncated:
        call.out.note(f"the value of {name} was cut at its max_length")
    # A part may declare what the template does not.
    for name in given.keys() - declared.keys() if not rendered.resolved.provenance.parts else ():
        near = names.near(name, declared)
        call.out.note(f"{key} has no variable {name}" + (f"; did you mean {' or '.join(near)}?" if near else ""))


def scope_name(tenant: str | None, seed: bool) -> str:
    return names.SEED if seed else names.scope_of(tenant)
