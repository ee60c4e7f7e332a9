"""`demo`: the whole story on a throw-away database, told by the commands themselves, run one after the other."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

import ovstore
from ovstore import names
from ovstore.cli import exits
from ovstore.cli.call import Call, pass_call
from ovstore.cli.options import command
from ovstore.errors import ConflictError, MigrationRequiredError


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class File:
    """A file that is written and shown."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Run:
    """A command line, and what it exits with."""

    line: str
    exits_with: int = 0


@command("demo", examples="ovstore demo")
@pass_call
@click.pass_context
def demo_command(ctx: click.Context, call: Call) -> int:
    """Tell the whole story on a throw-away database.

    Prints each command as you would type it, and what it really answers. Nothing of it stays, unless --db names a
    database, which must hold nothing but seeds; OVSTORE_DB is left alone.
    """
    given = None
    if ParameterSource.COMMANDLINE in (_source_of_db(ctx), _source_of_db(ctx.find_root())):
        given = _absolute(call.url)
        _require_new(given)
    with _stage(given, call.form) as url:
        _show(f"$ export OVSTORE_DB={shlex.quote(url)}\n", "bold")
        for scene in STORY:
            if not _play(scene, ctx.find_root().command):
                return exits.FINDINGS
    return 0


def _source_of_db(ctx: click.Context) -> ParameterSource | None:
    return ctx.get_parameter_source("db")


def _absolute(url: str) -> str:
    """Return the URL as it is understood from any folder."""
    scheme, _, path = url.partition(":///")
    return f"{scheme}:///{Path(path).absolute()}" if scheme.startswith("sqlite") and path else url


def _require_new(url: str) -> None:
    try:
        with ovstore.open(url) as store:
            written = [scope for scope in store.heads() if scope != names.SEED]
    except MigrationRequiredError:
        return
    if written:
        raise ConflictError(
            f"the demo needs a database of its own, and this one has templates of {', '.join(written[:3])}",
            expected=[],
            found=written,
        )


@contextlib.contextmanager
def _stage(url: str | None, form: str) -> Iterator[str]:
    """Go to a folder that is thrown away, with the database in it, and put everything back at the end.

    Notes go to where the data goes, so that the story keeps its order when it is piped.
    """
    before = dict(os.environ)
    with (
        tempfile.TemporaryDirectory(prefix="ovstore-demo-") as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stderr(sys.stdout),
    ):
        os.environ |= {"OVSTORE_DB": url or "sqlite:///demo.db", "OVSTORE_FORMAT": form, "OVSTORE_ACTOR": "ada"}
        try:
            yield os.environ["OVSTORE_DB"]
        finally:
            os.environ.clear()
            os.environ.update(before)


def _show(text: str, style: str) -> None:
    from rich.text import Text

    from ovstore.cli import terminal

    terminal.console(stderr=False).print(Text(text, style=style), soft_wrap=True)


def _play(scene: Say | File | Run, group: click.Command) -> bool:
    """Show one scene; False if a command exited with something else than the story says."""
    if isinstance(scene, Say):
        _show(f"# {scene.text}", "cyan")
        return True
    if isinstance(scene, File):
        path = Path(scene.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(scene.content, encoding="utf-8")
        _show(f"$ cat {scene.path}", "bold")
        click.echo(scene.content)
        return True
    _show(f"$ {scene.line}", "bold")
    code = group.main(shlex.split(scene.line)[1:], prog_name="ovstore", standalone_mode=False) or 0
    if scene.line.startswith("ovstore render"):
        # The text ends where it ends; the next line of the story begins on a line of its own.
        click.echo()
    if code:
        _show(f"(exit code {code})", "dim")
    click.echo()
    return bool(code == scene.exits_with)


PROMPT: Final = """\
metadata:
  id: support.answer
  name: Support answer
  description: Answers the question of a customer.
  version: "1.0"
  language: en
  category: support
variables:
  - name: question
    type: string
    description: What the customer asks.
  - name: company
    type: string
    description: Who answers.
    default: our shop
    required: false
template: |
  You answer for {{ company }}. Be brief and friendly.
  The customer asks: {{ question }}
llm_config:
  temperature: 0.2
"""

MEMORY: Final = """\
memory_type: customers
description: What is known of a customer.
directory: viking://user/{{ user_space }}/memories/customers
filename_template: "{{ name }}.md"
fields:
  - name: name
    description: The customer's name.
    merge_op: immutable
  - name: notes
    description: What matters in the next conversation.
"""

ACME: Final = """\
extends: support.answer
variables:
  - name: company
    default: Acme Ltd
template: |
  You answer for {{ company }}. Be formal, and never use first names.
  The customer asks: {{ question }}
"""

ACME_AGAIN: Final = """\
extends: support.answer
variables:
  - name: company
    default: Acme Ltd
template: |
  You answer for {{ company }} in verse.
  The customer asks: {{ question }}
llm_config:
  temperature: 1.0
"""

ACME_MEMORY: Final = """\
extends: customers
fields:
  - name: notes
    merge_op: replace
"""

_QUESTION: Final = 'ovstore render support.answer -v question="Where is my parcel?"'

STORY: Final[tuple[Say | File | Run, ...]] = (
    Say("Create the database. Its seed layer is filled with the templates that ship with ovstore."),
    Run("ovstore init"),
    Run("ovstore list --category retrieval"),
    Say("The operator's own templates come from a folder of YAML files, into the global layer."),
    File("templates/support/answer.yaml", PROMPT),
    File("templates/memory/customers.yaml", MEMORY),
    Run('ovstore import templates --actor ada --reason "release 1"'),
    Say("One tenant wants another tone. A patch holds only what differs."),
    File("acme-answer.yaml", ACME),
    Run('ovstore publish acme-answer.yaml --tenant acme --actor ben --reason "Acme is formal"'),
    Say("Two tenants, one call, two texts."),
    Run(f"{_QUESTION} --tenant acme"),
    Run(f"{_QUESTION} --tenant globex"),
    Say("Who answered, and what differs?"),
    Run("ovstore explain support.answer --tenant acme"),
    Run("ovstore diff support.answer global:1 acme:1 --tenant acme", exits_with=1),
    Say("A second version turns out to be a mistake. It is rolled back, and the change is live at once."),
    File("acme-answer-2.yaml", ACME_AGAIN),
    Run("ovstore publish acme-answer-2.yaml --tenant acme --actor ben"),
    Run(f"{_QUESTION} --tenant acme"),
    Run('ovstore rollback support.answer --tenant acme --actor ada --reason "customers did not laugh"'),
    Run(f"{_QUESTION} --tenant acme"),
    Say("How stored memories merge is a serious matter: the change is refused until somebody takes the risk."),
    File("acme-customers.yaml", ACME_MEMORY),
    Run("ovstore publish acme-customers.yaml --tenant acme --actor ben", exits_with=5),
    Run(
        "ovstore publish acme-customers.yaml --tenant acme --actor ben "
        '--accept-risk very_high --reason "notes are written anew each time"'
    ),
    Say("Who changed merge_op, when and why? And is the log whole?"),
    Run("ovstore audit --field merge_op"),
    Run("ovstore verify"),
    Say("That is the story. To begin for yourself: ovstore init"),
)
