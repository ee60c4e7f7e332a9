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
_LEAST: Final = 12


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # Rich would exit with 1, which means findings; `exits` knows what a closed pipe exits with.
        raise BrokenPipeError


def console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else NO_LIMIT
    return _Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def fit(table: Table, width: int, widths: Sequence[int]) -> None:
    """Let only the last column give way where the width does not do for all; Rich would shorten each of them."""
    *columns, last = table.columns
    for column, least in zip(columns, widths or [0] * len(columns), strict=True):
        column.width = max(least, *(cell_len(str(cell)) for cell in (column.header, *column.cells)))
    last.max_width = max(_LEAST, width - sum((column.width or 0) + GAP for column in columns))


def unpadded(line: Sequence[Segment]) -> Text:
    """A line of a table without the spaces that fill its last column."""
    text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
    text.rstrip()
    return text


def table(*headings: str) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for heading in headings:
        made.add_column(heading, no_wrap=True, overflow="ellipsis")
    return made
