"""Context assembly: assemble, and how a person reads one.

The messages come with their layers in the margin; behind them what was left out and why, and the totals of each layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ovstore import names
from ovstore.cli import values
from ovstore.cli.call import Call, pass_call
from ovstore.cli.options import at_option, command, in_scope

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ovstore.context import AssembledContext, Dropped, Segment

_STYLES: Final = {"static": "green", "session": "cyan", "slow": "blue", "turn": "yellow"}
_NAMED: Final = 8
_LEAST: Final = 20
"""Columns that a text has, however narrow the terminal."""


@command(
    "assemble",
    examples="""
    ovstore assemble request.json --tenant acme
    ovstore assemble request.json --tenant acme --format json > context.json
    ovstore assemble - --tenant acme --at 2026-11-30T12:00:00Z < request.json
    """,
)
@click.argument("request_file", metavar="REQUEST.json", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@in_scope
@at_option
@pass_call
def assemble_command(
    call: Call, /, request_file: str, tenant: str | None, seed: bool, at: datetime | str | None
) -> None:
    """Put a context together and show it, layer by layer.

    Prompts, memories, lore and history of the request become messages, by the tenant's wrappers and policy. Each
    character's layer is in the margin: static, session and slow ones stay, those that change every turn are marked ~.
    """
    asked = values.read_json(Path(request_file), "REQUEST.json")
    if not isinstance(asked, dict):
        raise click.BadParameter("a request is one JSON object", param_hint="REQUEST.json")
    with call.view(tenant, seed) as view:
        found = view.assemble(asked, at=at)
    call.out.assembled(found)
    for warning in found.warnings:
        call.out.note(f"warning: {names.printable(warning)}")


def lines(found: AssembledContext, console: Console) -> Iterator[Text]:
    """The messages, what was left out, the totals, and where caches can end, within the width of a terminal."""
    from rich.text import Text

    width = max((len(segment.layer) for segment in found.trace), default=0)
    counted = max((len(f"{segment.tokens:,}") for segment in found.trace), default=0)
    for index, message in enumerate(found.messages):
        segments = [segment for segment in found.trace if segment.message_index == index]
        tokens = sum(segment.tokens for segment in segments)
        who = f" {message.id}" if message.id else ""
        tools = "".join(f" calls {call}" for call in message.tool_calls)
        tools += f" answers {message.tool_call_id}" if message.tool_call_id else ""
        head = Text.assemble((message.role, "bold"), names.printable(who + tools), f"  {tokens:,} tokens")
        if index:
            yield Text()
        yield from _hung(Text(), head, console, "  ")
        for segment in segments:
            if segment.layer != "separator":
                yield from _block(found, segment, width, counted, console)
    if found.tools:
        yield Text()
        yield from _hung(Text("tools ", "bold"), Text(", ".join(map(names.printable, found.tools))), console, "  ")
    yield from _left_out(found.dropped, console)
    yield from _totals(found)
    yield Text(f"\nrevision {found.revision}", style="dim")


def _block(found: AssembledContext, segment: Segment, width: int, counted: int, console: Console) -> Iterator[Text]:
    from rich.text import Text

    mark = "~" if segment.stability == "turn" else " "
    first = Text(f"  {mark}{segment.layer:<{width}} {segment.tokens:>{counted},} │ ", _STYLES[segment.stability])
    margin = f"   {'':<{width}} {'':>{counted}} │ "
    for line in found.text(segment).split("\n"):
        yield from _hung(first, Text(names.printable(line)), console, margin)
        first = Text(margin)


def _hung(first: Text, text: Text, console: Console, margin: str) -> Iterator[Text]:
    """A text behind its first words, on as many lines as the terminal needs, each with the margin."""
    from rich.text import Text

    from ovstore.cli import terminal

    room = console.width - max(len(first), len(margin))
    fits = console.width >= terminal.NO_LIMIT or len(first) + text.cell_len <= console.width
    for line in [text] if fits else text.wrap(console, max(_LEAST, room), overflow="fold"):
        if not fits:
            line.rstrip()
        yield Text.assemble(first, line)
        first = Text(margin)


def _left_out(dropped: Sequence[Dropped], console: Console) -> Iterator[Text]:
    """By layer and reason; of many the first few are named, since a book may have hundreds that nothing woke."""
    from rich.text import Text

    if dropped:
        yield Text("\nleft out", style="bold")
    ordered = sorted(dropped, key=lambda drop: (drop.layer, drop.reason, drop.source_id))
    for (layer, reason), group in groupby(ordered, key=lambda drop: (drop.layer, drop.reason)):
        own = list(group)
        said = [drop.source_id + (f" ({drop.detail})" if drop.detail else "") for drop in own[:_NAMED]]
        more = f" and {len(own) - _NAMED} more" if len(own) > _NAMED else ""
        told = Text(f"{names.printable(', '.join(said))}{more}")
        yield from _hung(Text.assemble(f"  {layer}: ", (reason, "yellow"), ": "), told, console, "    ")


def _totals(found: AssembledContext) -> Iterator[Text]:
    from rich.text import Text

    yield Text.assemble("\n", ("layers", "bold"), f"  {found.tokens:,} tokens")
    totals = found.tokens_by_layer
    width = max(map(len, totals), default=0)
    refs = {segment.layer: segment.template for segment in found.trace if segment.template}
    for layer, tokens in totals.items():
        ref = refs.get(layer)
        made_by = f"  {names.refer(ref.scope, ref.version)}" if ref else ""
        yield Text.assemble(f"  {layer:<{width}} {tokens:>7,} {tokens / (found.tokens or 1):>5.0%}", (made_by, "dim"))
    for point in found.breakpoints:
        place = f"message {point.message_index + 1}, character {point.offset:,}"
        yield Text(f"  a cache can end at {place}: {point.tokens:,} tokens, {point.stability}", style="dim")
