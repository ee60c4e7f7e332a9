"""`edit`: the answering YAML in an editor, checked when it is saved, and published."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import click

from ovstore.cli import exits
from ovstore.cli.call import Call, pass_call, seen
from ovstore.cli.options import RISK, change_set_option, command, in_scope, judged, key_argument
from ovstore.errors import InvalidDocumentError, OvstoreError


@command(
    "edit",
    examples="""
    ovstore edit semantic.document_summary --tenant acme --patch
    EDITOR="code --wait" ovstore edit profile --reason "clearer fields"
    """,
)
@key_argument
@in_scope
@click.option("--patch", is_flag=True, help="Publish only what differs from the layer below.")
@click.option("--risk", type=RISK, metavar="R", help="Declare a higher risk than ovstore can see.")
@judged
@change_set_option
@pass_call
def edit_command(
    call: Call, /, key: str, tenant: str | None, seed: bool, patch: bool, risk: str | None, **given: Any
) -> int:
    """Edit the YAML that answers for a template, and publish it.

    It opens in $VISUAL or $EDITOR and is checked when it is saved; with findings you are asked whether to edit again.
    Nothing is published if the text stays as it was, or if somebody else published meanwhile; nothing is edited if the
    change set was applied already.
    """
    from ovstore import checking, gathering
    from ovstore.cli import drafts, sequel

    actor = call.actor
    with call.store() as store:
        view = seen(store, tenant, seed)
        before = sequel.earlier(sequel.log_of(store, tenant, seed), given["change_set"], key=key)
        if before is not None:
            sequel.tell_earlier(call, before)
            return 0
        draft = drafts.begin(store, key, tenant=tenant, seed=seed, patch=patch)
        path = Path(tempfile.mkdtemp(prefix="ovstore-edit-")) / f"{key}.yaml"
        path.write_bytes(draft.text)
        while _edited(call, path, draft.text) != draft.text:
            try:
                source = draft.source(path.read_bytes())
                done = view.publish(source, actor=actor, risk=risk, expected=draft.standing, **given)
            except InvalidDocumentError as error:
                call.out.error(error)
                if _again():
                    continue
                call.out.note(f"your text is kept in {path}")
                return exits.FINDINGS
            except OvstoreError:
                call.out.note(f"your text is kept in {path}")
                raise
            call.out.published(done, draft=False)
            sequel.tell_first(call, done.scope, done.revision, writes=1)
            sequel.tell_warnings(call, gathering.findings_of(checking.check_source(source)))
            sequel.tell_frozen(call, store, done.change_set, key, given)
            break
        else:
            call.out.note("the text is as it was; nothing was published")
        shutil.rmtree(path.parent)
    return 0


def _edited(call: Call, path: Path, begun: bytes) -> bytes:
    try:
        click.edit(filename=str(path))
    except (click.ClickException, KeyboardInterrupt) as error:
        if path.read_bytes() == begun:
            shutil.rmtree(path.parent)
        else:
            call.out.note(f"your text is kept in {path}")
        if isinstance(error, KeyboardInterrupt):
            raise
        raise click.UsageError(f"{error.message}; set EDITOR to the editor to use") from error
    return path.read_bytes()


def _again() -> bool:
    """Ask; where nobody answers, that is a no."""
    try:
        return click.confirm("Edit again?", default=True, err=True)
    except click.Abort:
        click.echo(err=True)
        return False
