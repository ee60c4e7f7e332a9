"""Lines of text for answers of several columns: a table where the terminal is wide enough, else two lines for one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from ovstore import names, stages
from ovstore.changes import worst
from ovstore.cli import output, terminal, wording
from ovstore.results import Change, Explanation, Listing, Version, time_text

if TYPE_CHECKING:
    from ovstore.memory import Impact

_READABLE: Final = 40
"""Columns that a description, or two values beside each other, needs at least."""
SHOWN: Final = 12


def listings(console: Console, group: Sequence[Listing], widths: tuple[int, int]) -> Iterator[Text]:
    """Yield a line for each template, or two where too little would be left of what it is for."""
    beside = console.width - sum(widths) - 2 * terminal.GAP >= _READABLE
    descriptions = [wording.beginning(listing.description) for listing in group]
    table = terminal.table(*([""] * (3 if beside else 2)))
    table.show_header = False
    for listing, description in zip(group, descriptions, strict=True):
        table.add_row(f"  {listing.key}", layer(listing), *([description] if beside else []))
    for line, description in zip(terminal.lines(console, table, widths), descriptions, strict=True):
        yield line
        if not beside and description:
            below = Text(f"      {description}", style="dim")
            below.truncate(console.width, overflow="ellipsis")
            yield below


def layer(listing: Listing) -> Text:
    style = {names.SEED: "dim", names.GLOBAL: "blue"}.get(listing.scope, "green")
    patch = " patch" if listing.mode == "patch" else ""
    return Text(names.refer(listing.scope, listing.version) + patch, style=style)


def versions(console: Console, found: Sequence[Version], labels: output.Labels) -> Iterator[Text]:
    table = terminal.table("version", "labels", "mode", "made on", "at", "actor", "reason")
    for version in found:
        table.add_row(
            names.refer(version.scope, version.number),
            _labels(version, labels),
            version.mode,
            version.base,
            time_text(version.at, "seconds"),
            wording.one_line(version.actor),
            wording.one_line(version.reason),
        )
    if terminal.fixed(table) <= console.width - terminal.LEAST:
        yield from terminal.lines(console, table)
        return
    for version in found:
        held = _labels(version, labels)
        on = f" on {version.base}" if version.base else ""
        name = (names.refer(version.scope, version.number), "bold")
        yield Text.assemble(name, "  " if held else "", held, f"  {version.mode}{on}")
        at, actor = time_text(version.at, "seconds"), wording.one_line(version.actor)
        reason = f"  “{wording.one_line(version.reason)}”" if version.reason else ""
        yield Text(f"    {at}  {actor}{reason}", style="dim")


def _labels(version: Version, labels: output.Labels) -> Text:
    held = labels.get((version.scope, version.number), ())
    return Text(", ").join(Text(label, style="bold green" if label == names.LIVE else "cyan") for label in held)


def changed(console: Console, changes: Sequence[Change], *, indent: int, limit: int = SHOWN) -> Iterator[Text]:
    """Yield a line for each field, and for each item that comes or goes; values for which too little is left get one
    of their own."""
    rows = list(_rows(changes))
    shown = rows[:limit]
    path_width = max((len(path) for path, _, _ in shown), default=0)
    risk_width = max((len(risk) for _, risk, _ in shown), default=0)
    room = console.width - indent - path_width - risk_width - 2 * terminal.GAP
    for path, risk, tell in shown:
        line = Text.assemble(f"{'':{indent}}{path:<{path_width}}  ", (f"{risk:<{risk_width}}", wording.RISKS[risk]))
        told = tell(max(room, _READABLE))
        if len(told) <= room:
            yield line.append(f"  {told}")
        else:
            line.rstrip()
            yield line
            yield Text(f"{'':{indent + 4}}{tell(console.width - indent - 4)}")
    if len(rows) > limit:
        yield Text(f"{'':{indent}}and {len(rows) - limit} more", style="dim")


def _rows(changes: Sequence[Change]) -> Iterator[tuple[str, str, Callable[[int], str]]]:
    """Yield path, risk and what is told in so many columns; the attributes of an item that comes or goes are one."""
    moved = {_item(change) for change in changes if change.path.endswith("].name")}
    for item, group in groupby(changes, key=lambda change: _item(change) if _item(change) in moved else ""):
        attributes = list(group)
        if item:
            risk = worst(*(change.risk for change in attributes))
            yield wording.one_line(item), risk, partial(wording.item_text, attributes)
        else:
            for change in attributes:
                yield wording.one_line(change.path), change.risk, partial(wording.both_values, change)


def _item(change: Change) -> str:
    return change.path.rpartition(".")[0]


def afterwards(keys: Iterable[str]) -> Iterator[Text]:
    """Yield once for each advice what to run again after a change of these templates."""
    advice: dict[str, list[str]] = {}
    for key in dict.fromkeys(keys):
        stage = stages.about(key)
        if stage is not None:
            advice.setdefault(stage.verify, []).append(key)
    for verify, affected in advice.items():
        more = f" and {len(affected) - 3} more" if len(affected) > 3 else ""
        yield Text(f"  after that: {verify} ({', '.join(affected[:3])}{more})")


def origins(console: Console, found: Explanation) -> Iterable[Text]:
    """The fields by the version they came from, nearest first; the last one has the rest."""
    paths: dict[str, list[str]] = {}
    for path, origin in found.fields.items():
        paths.setdefault(names.refer(origin.scope, origin.version), []).append(wording.one_line(path))
    used = [f"{layer.scope}:{layer.version}" for layer in found.layers if layer.answered]
    table = terminal.table("", "", wraps=True)
    table.show_header = False
    for version in used:
        fields = paths.get(version, [])
        if version == used[-1]:
            told = f"all {len(fields)} {'others' if len(used) > 1 else 'fields'}"
        else:
            told = ", ".join(fields) or "nothing: what it sets is set again above"
        table.add_row(f"  {version}", told)
    return terminal.lines(console, table)


def impact(key: str, found: Impact) -> Iterator[Text]:
    yield Text.assemble((key, "bold"), f" over {wording.counted(found.records, 'record')}")
    if not found:
        yield Text("  nothing that is stored would differ")
    rows = [("moves", f"{m.name}: {m.before or 'no path'} → {m.after}") for m in found.moved]
    rows += [("collide", ", ".join(group)) for group in found.collisions]
    rows += [("no path", f"{s.name}, now {s.before}: {s.why}") for s in found.stopped]
    rows += [("orphaned", f"{name}, stored in {wording.counted(n, 'record')}") for name, n in found.orphaned.items()]
    for m in found.merges:
        rows.append(("merges", f"{m.field}: {m.before} → {m.after}, {wording.counted(m.records, 'record')}"))
        if m.came != m.comes:
            stored, update = wording.value_text(m.current), wording.value_text(m.update)
            rows.append(("", f"stored {stored}, update {update}: {m.came} → {m.comes}"))
    for _, kind in groupby(rows, key=lambda row: row[0] or "merges"):
        alike = list(kind)
        for word, told in alike[:SHOWN]:
            yield Text(f"  {word:<9} {wording.one_line(told)}")
        if len(alike) > SHOWN:
            yield Text(f"  {'':<9} and {len(alike) - SHOWN} more", style="dim")
    if found.pathless:
        records = wording.counted(len(found.pathless), "record")
        said = f"{records} that neither version gives a path: {found.pathless[0]} …"
        yield Text(f"  unknown   {wording.one_line(said)}", style="dim")
