"""The command line: `ovstore [--db URL] [--format text|json] [--actor NAME] COMMAND`.

A command parses, makes one call of the store and writes the answer: data on stdout, notes and errors on stderr. Its
module is loaded only when it is named, and none of them imports a database, a template engine or YAML before it runs,
so that help, `--version` and completion stay quick. Errors become exit codes in one table, in `exits`.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

import click

import ovstore
from ovstore import names
from ovstore.cli import exits
from ovstore.cli.call import Call
from ovstore.cli.options import global_options

COMMANDS: Final = MappingProxyType(
    {
        "Start": {
            "demo": ("demo", "Tell the whole story on a throw-away database."),
            "init": ("setting_up", "Create the database and fill its seed layer."),
            "migrate": ("setting_up", "Bring the schema of a database to what this ovstore needs."),
        },
        "Read": {
            "list": ("reading", "List what a tenant gets, and which layer answers."),
            "show": ("reading", "Show the document that a tenant gets, as YAML."),
            "explain": ("reading", "Tell which layers were looked at, and where each field is from."),
            "versions": ("reading", "List every version of a template in the whole chain."),
            "history": ("reading", "Tell what was done to a template, newest first, in the chain."),
            "diff": ("reading", "Compare two versions of a template, field by field."),
            "render": ("reading", "Render a prompt for a tenant: exactly its text, on stdout."),
        },
        "Write": {
            "publish": ("writing", "Add a version from a YAML file and make it live."),
            "edit": ("editing", "Edit the YAML that answers for a template, and publish it."),
            "activate": ("writing", "Point a label at a version of the same scope."),
            "rollback": ("writing", "Undo the newest move of a label, or put a whole scope back."),
            "withdraw": ("writing", "Stop overriding a template, so that the next layer answers."),
        },
        "Directories": {
            "import": ("directories", "Import a folder of YAML files, all of it or nothing."),
            "export": ("directories", "Write what a scope overrides as YAML files, byte for byte."),
            "check": ("directories", "Check YAML files, without a database."),
            "schema": ("directories", "Write the JSON Schema of a kind of YAML file, for editors."),
        },
        "Look": {
            "audit": ("looking", "Tell who changed what, when and why, newest first."),
            "verify": ("looking", "Recompute the whole log: is everything as it was written?"),
            "heads": ("looking", "Write the heads of all logs, to be kept elsewhere for verify."),
            "tenants": ("looking", "List the tenants and workspaces, and how much each overrides."),
            "doctor": ("looking", "Look at the connection, the schema, freshness and the triggers."),
        },
        "Context": {
            "assemble": ("assemble", "Put a context together and show it, layer by layer."),
        },
        "Memory": {
            "memory": ("memory", "Show what a memory type does: paths, texts, merges."),
        },
    }
)
"""Every command under its heading, with the module that holds it (as `<command>_command`) and its help in a sentence,
which stands here too so that the overview need not load the modules; a test holds the two equal."""

_MODULES: Final = {command: module for section in COMMANDS.values() for command, (module, _) in section.items()}


class Commands(click.Group):
    """The group of all commands, each loaded when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        module = import_module(f"ovstore.cli.{_MODULES[cmd_name]}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _MODULES and not name.startswith("-"):
            near = names.near(name, _MODULES)
            ctx.fail(f"no command {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, commands in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"\n{_EPILOG}")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; whatever it raises becomes a message and an exit code, never a traceback."""
        ctx.exit(exits.exit_code(lambda: super(Commands, self).invoke(ctx), ctx))


_EPILOG: Final = """\
Exit codes: 0 done; 1 findings, differences, a failed verify, a render that
fails; 2 usage; 3 not found; 4 conflict or stale plan; 5 refused for risk or
contract; 6 database, migration, tampering.

Complete commands, keys and tenants in bash (zsh and fish likewise):
  eval "$(_OVSTORE_COMPLETE=bash_source ovstore)"
"""


@click.group("ovstore", cls=Commands, params=global_options())
@click.version_option(ovstore.__version__, prog_name="ovstore", message="%(prog)s %(version)s")
@click.pass_context
def group(ctx: click.Context, db: str | None, form: str, actor: str | None) -> None:
    """Keep prompt templates and memory schemas in SQL, for many tenants.

    A template is looked for in tenant, global and seed, in this order. The three options below are taken before and
    after the command.
    """
    ctx.obj = Call(db, form, actor)


def main() -> None:
    """Run the command line and exit."""
    _open_streams()
    group(prog_name="ovstore")


def _open_streams() -> None:
    """Open the streams that the caller has closed (`>&-`), so that a write whose answer nobody wants does not fail."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
