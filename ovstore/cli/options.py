"""Arguments and options that several commands share, the types of their values, and the form of a command's help."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from ovstore import names
from ovstore.cli.call import DEFAULT_URL, Call

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])


def global_options() -> list[click.Parameter]:
    """Return the three options that are taken before and after every command."""
    return [
        click.Option(
            ["--db"],
            metavar="URL",
            envvar="OVSTORE_DB",
            show_envvar=True,
            help=f"Database: sqlite:///FILE or postgresql://USER@HOST/NAME.  [default: {DEFAULT_URL}]",
        ),
        click.Option(
            ["--format", "form"],
            type=click.Choice(["text", "json"]),
            default="text",
            envvar="OVSTORE_FORMAT",
            show_envvar=True,
            help="Text for people, or JSON: one object, or one a line for lists.  [default: text]",
        ),
        click.Option(
            ["--actor"],
            metavar="NAME",
            envvar="OVSTORE_ACTOR",
            show_envvar=True,
            help="Who writes, for the log.  [default: the system user]",
        ),
    ]


_ATTRIBUTES: Final = {"db": "db", "form": "form", "actor": "given_actor"}


def _replace(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Take a global option that stands behind the command; the environment was read by the group already."""
    call = ctx.find_object(Call)
    if call is not None and ctx.get_parameter_source(str(param.name)) is click.core.ParameterSource.COMMANDLINE:
        setattr(call, _ATTRIBUTES[str(param.name)], value)


class Command(click.Command):
    """A command with the three global options and examples at the end of its help."""

    def __init__(self, *args: Any, examples: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples.strip().splitlines()
        self._everywhere = global_options()
        for option in self._everywhere:
            option.expose_value = False
            option.callback = _replace
        self.params += self._everywhere

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [
            param for param in self.get_params(ctx) if isinstance(param, click.Option) and param not in self._everywhere
        ]
        for heading, params in (("Options", own), ("Options of every command", self._everywhere)):
            rows = [record for param in params if (record := param.get_help_record(ctx)) is not None]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples" if len(self.examples) > 1 else "Example"):
            for line in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{line.strip()}\n")


def command(name: str, *, examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function, whose docstring is the help; `examples` has a command line a line."""
    return click.command(name, cls=Command, examples=examples)


def moment(value: str) -> datetime:
    """Read a time in ISO 8601 with a zone."""
    day = _DAY.fullmatch(value)
    try:
        read = datetime.fromisoformat(f"{day[1]}T00:00:00{day[2] or ''}" if day else value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a time such as 2026-03-01T14:30:00Z") from error
    if read.tzinfo is None:
        raise click.BadParameter(f"{value!r} has no zone: write {value}Z for UTC, or an offset: {value}+02:00")
    return read


_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?")
"""A day by itself is its midnight, in the zone that it is given with."""


def moment_or_revision(value: str) -> datetime | str:
    """Read a time, or a revision as answers carry it, which holds an @."""
    return value if "@" in value else moment(value)


def version(value: str) -> int | str:
    """Read a number of the own scope, or scope:number, which the store looks at."""
    return int(value) if value.isdecimal() and value.isascii() else value


RISK: Final = click.Choice(names.RISKS)


def _known(ctx: click.Context, names_of: Callable[[Any], list[str]], incomplete: str) -> list[CompletionItem]:
    """Complete from the store; where it cannot be read, or would have to be made, there is nothing to offer."""
    from click.shell_completion import CompletionItem

    call = ctx.find_object(Call) or Call(ctx.find_root().params.get("db"), "text", None)
    if call.makes_default:
        return []
    try:
        with call.view(ctx.params.get("tenant"), bool(ctx.params.get("seed"))) as view:
            return [CompletionItem(name) for name in names_of(view) if name.startswith(incomplete)]
    except Exception:
        # A traceback in the middle of a command line that is being typed helps nobody.
        return []


def complete_key(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _known(ctx, lambda view: [listing.key for listing in view.templates()], incomplete)


def complete_tenant(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _known(ctx, lambda view: [tenant.name for tenant in view.tenants()], incomplete)


def together(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


key_argument = click.argument("key", shell_complete=complete_key)

in_scope = together(
    click.option(
        "--tenant",
        metavar="T",
        shell_complete=complete_tenant,
        help="The tenant (acme) or workspace (acme/support) that is meant.",
    ),
    click.option("--seed", is_flag=True, help="The seed layer is meant. Without --tenant and --seed: global."),
)

label_option = click.option(
    "--label", metavar="LABEL", default=names.LIVE, show_default=True, help="A label, as a lens: else what is live."
)
at_option = click.option(
    "--at",
    type=moment_or_revision,
    metavar="TIME|REVISION",
    help="As it was at an ISO 8601 time with a zone, or at a revision.",
)
as_of = together(
    label_option,
    at_option,
    click.option(
        "--version", type=version, metavar="VERSION", help="One version by itself: 3 of this scope, or seed:3."
    ),
)

reason_option = click.option("--reason", metavar="TEXT", default="", help="Why, for the log.")
judged = together(
    reason_option,
    click.option(
        "--accept-risk",
        type=RISK,
        metavar="R",
        default="medium",
        show_default=True,
        help="The highest risk that is accepted: none, low, medium, high, or very_high, which needs a reason too.",
    ),
    click.option(
        "--freeze-dependents",
        "dependents",
        flag_value="freeze",
        default="refuse",
        help="Overrides above that would break become full copies of what they give now.",
    ),
)
change_set_option = click.option(
    "--change-set", metavar="ID", help="An id of yours: the same write again under it is applied once."
)
expected_option = click.option(
    "--expected",
    type=click.IntRange(min=0),
    metavar="N",
    help="The version that must be there now; 0: this scope must not override.",
)
write_options = together(judged, expected_option, change_set_option)
