"""The command line: `ovstore [--db URL] [--format text|json] [--actor NAME] COMMAND`.

A command parses, makes one call of the store and writes the answer: data on stdout, notes and errors on stderr. Its
module is loaded only when it is named or help is wanted, and none of them imports a database, a template engine or
YAML before it runs, so that `--help` and `--version` stay quick. Errors become exit codes in one table, in `exits`.
"""

from __future__ import annotations

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
        "Start": {"demo": "demo", "init": "setting_up", "migrate": "setting_up"},
        "Read": {
            "list": "reading",
            "show": "reading",
            "explain": "reading",
            "versions": "reading",
            "history": "reading",
            "diff": "reading",
            "render": "reading",
        },
        "Write": {
            "publish": "writing",
            "edit": "editing",
            "activate": "writing",
            "rollback": "writing",
            "withdraw": "writing",
        },
        "Directories": {
            "import": "directories",
            "export": "directories",
            "check": "directories",
            "schema": "directories",
        },
        "Look": {
            "audit": "looking",
            "verify": "looking",
            "heads": "looking",
            "tenants": "looking",
            "doctor": "looking",
        },
        "Memory": {"memory": "memory"},
    }
)
"""Every command under its heading, with the module that holds it, where it is named `<command>_command`."""

_MODULES: Final = {command: module for section in COMMANDS.values() for command, module in section.items()}


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
            rows = [(name, self._short_help(ctx, name)) for name in commands]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def _short_help(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=90) if command else ""

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
    group(prog_name="ovstore")
