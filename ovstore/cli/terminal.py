"""The terminal: consoles, and tables that stay within its width."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

NO_LIMIT: Final = 100_000
GAP: Final = 2
LEAST: Final = 12


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # Rich would exit with 1, which means findings; `exits` knows what a closed pipe exits with.
        raise BrokenPipeError


def console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else NO_LIMIT
    return _Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def fixed(table: Table, widths: Sequence[int] = ()) -> int:
    """Give each column but the last the width of its widest cell, at least what is said; return what they take."""
    columns = table.columns[:-1]
    for n, column in enumerate(columns):
        least = widths[n] if n < len(widths) else 0
        column.width = max(least, *(cell_len(str(cell)) for cell in (column.header, *column.cells)))
    return sum((column.width or 0) + GAP for column in columns)


def lines(console: Console, table: Table, widths: Sequence[int] = ()) -> list[Text]:
    """Return the lines of a table. Only its last column gives way to the width; Rich would shorten each of them."""
    taken = fixed(table, widths)
    width = max(console.width, taken + LEAST)
    table.columns[-1].max_width = width - taken
    return [_unpadded(line) for line in console.render_lines(table, console.options.update(width=width), pad=False)]


def _unpadded(line: Sequence[Segment]) -> Text:
    """A line of a table without the spaces that fill its last column."""
    text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
    text.rstrip()
    return text


def table(*headings: str, wraps: bool = False) -> Table:
    """Make a table whose last column, where it has to give way, is wrapped or else cut."""
    made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for heading in headings:
        made.add_column(heading, no_wrap=True, overflow="ellipsis")
    if wraps:
        made.columns[-1].no_wrap, made.columns[-1].overflow = False, "fold"
    return made
