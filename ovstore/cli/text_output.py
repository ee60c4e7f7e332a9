"""Text for people: tables and coloured differences on a terminal, plain lines where the output goes elsewhere.

A terminal's width is used; elsewhere lines are as long as they are, unless COLUMNS says how long. Colours follow the
terminal, NO_COLOR and FORCE_COLOR. Whatever people wrote (actors, reasons, descriptions, values) is shown with its
control characters escaped.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ovstore import documents, hashing, names, stages
from ovstore.cli import assemble, output
from ovstore.errors import ContractError, InvalidDocumentError, OvstoreError, RiskError
from ovstore.results import (
    Change,
    ChangeSet,
    Diff,
    Entry,
    Explanation,
    Finding,
    Layer,
    Listing,
    Move,
    PlanRow,
    Problem,
    Published,
    Rendered,
    Resolved,
    Tenant,
    Version,
)
from ovstore.transfer import Plan, Watch

if TYPE_CHECKING:
    from ovstore.context import AssembledContext
    from ovstore.memory import Impact

_RISKS: Final = {"none": "dim", "low": "green", "medium": "yellow", "high": "red", "very_high": "bold red"}
_SEVERITIES: Final = {"error": "bold red", "warning": "yellow", "info": "dim"}
_DIFFERENCES: Final = {"+": "green", "-": "red", "@": "cyan"}
_DONE: Final = {"activate": "activated", "rollback": "rolled back", "withdraw": "withdrew"}
_ACTIONS: Final = {
    "add": "to add",
    "override": "to override",
    "update": "to update",
    "withdraw": "to withdraw",
    "unchanged": "unchanged",
}
_NO_LIMIT: Final = 100_000
_MANY: Final = 200
_ROWS: Final = 50
_BAR: Final = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
_SHOWN: Final = 12
_GAP: Final = 2
_LEAST: Final = 12


class TextOutput:
    """Writes every answer so that a person reads it with pleasure."""

    def __init__(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A terminal that cannot show a character gets its escape, not an error.
                stream.reconfigure(errors="backslashreplace")
        self._data = _console(stderr=False)
        self._notes = _console(stderr=True)

    # -- reading

    def listings(self, found: Sequence[Listing], *, scope: str) -> None:
        widths = (
            max((len(listing.key) for listing in found), default=0) + 2,
            max((len(_layer(listing)) for listing in found), default=0),
        )
        groups = groupby(sorted(found, key=_group), _group)
        for n, ((category, kind), group) in enumerate(groups):
            what = {"prompt": "prompts", "memory": "memory schemas"}.get(kind, kind)
            self._print(Text.assemble("\n" if n else "", (category, "bold"), (f"  {what}", "dim")))
            table = _table("", "", "")
            table.show_header = False
            for listing in group:
                table.add_row(f"  {listing.key}", _layer(listing), _first(listing.description))
            self._print(table, widths)
        counts = Counter(listing.scope for listing in found)
        where = ", ".join(f"{counts[name]} from {name}" for name in names.chain(scope) if name in counts)
        self.note(f"{_count(len(found), 'template')} for {scope}" + (f": {where}" if where else ""))

    def resolved(self, found: Resolved) -> None:
        used = [layer for layer in found.provenance.layers if layer.answered]
        layers = " on ".join(f"{layer.scope}:{layer.version} ({layer.mode})" for layer in used)
        head = [f"{found.key}: {_kind(found.kind)}, {layers}", *_advice(found.key), f"revision {found.revision}"]
        for line in head:
            self._print(Text(f"# {line}", style="dim"))
        click.echo(documents.generate(found.document), nl=False)

    def source(self, found: Version) -> None:
        click.echo(found.source, nl=False)

    def explanation(self, found: Explanation, *, scope: str) -> None:
        self._print(Text.assemble((found.key, "bold"), f" for {scope}"))
        table = _table("", "layer", "mode", "label", "")
        for layer in found.layers:
            mark = Text("→", style="bold green") if layer.answered else ""
            version = f"{layer.scope}:{layer.version}" if layer.version else layer.scope
            table.add_row(mark, version, layer.mode or "-", layer.label or "-", _line(layer.why), style=_faded(layer))
        self._print(table)
        self._print(Text("\nfields", style="bold"))
        self._print(_origins(found))
        if found.contract:
            self._print(Text("\nbroken for callers of what is overridden", style="bold red"))
            for sentence in found.contract:
                self._print(Text(f"  {_line(sentence)}"))
        elif sum(layer.version is not None for layer in found.layers) > 1:
            self._print(Text("\ncallers of what is overridden are still served", style="green"))
        self._print(Text(f"\nrevision {found.revision}", style="dim"))

    def versions(self, found: Sequence[Version], *, live: Mapping[str, int]) -> None:
        table = _table("version", "", "mode", "made on", "at", "actor", "reason")
        for version in found:
            mark = Text("live", style="bold green") if live.get(version.scope) == version.number else ""
            at = _time(version.at, "seconds")
            actor, reason = _line(version.actor), _line(version.reason)
            table.add_row(
                names.refer(version.scope, version.number), mark, version.mode, version.base, at, actor, reason
            )
        self._print(table)

    def entries(self, found: Iterable[Entry], *, field: str | None = None) -> None:
        empty = True
        for entry in found:
            if not empty:
                self._print(Text(""))
            empty = False
            self._entry(entry, field)
        if empty:
            self.note("no entry")

    def _entry(self, entry: Entry, field: str | None) -> None:
        who = f"  {_time(entry.at, 'microseconds')}  {_line(entry.actor)}"
        self._print(Text.assemble((f"{entry.scope} {entry.seq}", "bold yellow"), who))
        moved = f"  {entry.label} {_arrow(entry.before, entry.after)}" if entry.label else f"  draft {entry.after}"
        risk = (f"  risk {entry.risk}", _RISKS[entry.risk])
        self._print(Text.assemble(f"  {entry.action} ", (entry.key, "bold"), moved, risk))
        if entry.reason:
            self._print(Text(f"  “{_line(entry.reason)}”", style="italic"))
        shown = [change for change in entry.changes if field in (None, change.field)]
        self._changes(shown, indent=4)
        if len(shown) < len(entry.changes):
            others = _count(len(entry.changes) - len(shown), "other field")
            self._print(Text(f"    and {others}", style="dim"))

    def diff(self, found: Diff) -> None:
        self._changes(found.changes, indent=0, limit=_NO_LIMIT)
        if found.changes and found.text:
            self._print(Text(""))
        for line in found.text.splitlines():
            style = "bold" if line.startswith(("+++", "---")) else _DIFFERENCES.get(line[:1], "")
            # Rich would turn tabs into spaces.
            self._data.out(_visible(line), style=style or None, highlight=False)
        if not found.text:
            self.note("no difference")

    def rendered(self, found: Rendered) -> None:
        click.echo(found.text.encode(), nl=False)

    # -- writing

    def published(self, done: Published, *, draft: bool) -> None:
        version = names.refer(done.scope, done.version)
        if done.unchanged:
            self._print(Text(f"{done.key} is live as {version} with this very source; nothing was changed"))
            return
        state = "a draft" if draft else "live"
        self._print(Text.assemble("published ", (done.key, "bold"), f" as {version}, {state}", _risk(done.risk)))
        self._what_changed(done.key, done.changes)
        if draft:
            self._print(Text(f"  to make it live: ovstore activate {done.key} {done.version}{_in(done.scope)}"))
        self._reference(done.change_set, done.revision)

    def move(self, done: Move, *, verb: str) -> None:
        if done.before == done.after:
            stands = f"stands at {done.after} already" if done.after else "is not overridden"
            self._print(Text(f"{done.label} of {done.key} in {done.scope} {stands}; nothing was changed"))
            return
        moved = f" in {done.scope}: {done.label} {_arrow(done.before, done.after)}"
        self._print(Text.assemble(f"{_DONE[verb]} ", (done.key, "bold"), moved, _risk(done.risk)))
        self._what_changed(done.key, done.changes)
        self._reference(done.change_set, done.revision)

    def moves(self, done: Sequence[Move]) -> None:
        if not done:
            self.note("all of it stands where it stood then; nothing was changed")
            return
        table = _table("key", "scope", "live", "risk", "its text")
        for move in done:
            again = "as it was then" if move.restored else f"not as then: {', '.join(move.differs)} moved since"
            restored = Text(again, style="green" if move.restored else "yellow")
            table.add_row(move.key, move.scope, _arrow(move.before, move.after), _risk(move.risk, ""), restored)
        self._print(table)
        self._reference(done[0].change_set, done[0].revision)

    @contextmanager
    def reading(self) -> Iterator[Watch]:
        """Show a bar on a terminal while a folder of many files is read."""
        with Progress(*_BAR, console=self._notes, transient=True, disable=not self._notes.is_terminal) as progress:
            task = progress.add_task("reading", visible=False)
            yield lambda done, total: progress.update(task, completed=done, total=total, visible=total >= _MANY)

    def plan(self, plan: Plan, *, applied: bool = False) -> None:
        counts = Counter(row.action for row in plan.rows)
        told = (
            ", ".join(f"{counts[action]} {words}" for action, words in _ACTIONS.items() if counts[action]) or "nothing"
        )
        self._print(Text.assemble(("plan", "bold"), f" for {plan.scope}: {told}", _risk(plan.risk)))
        rows = [row for row in plan.rows if row.action != "unchanged"]
        width = max((len(row.key) for row in rows), default=0)
        harmless = [row.key for row in rows if not row.warnings and row.risk in ("none", "low", "medium")]
        left_out = set(harmless[_ROWS:])
        for row in rows:
            if row.key not in left_out:
                self._row(row, width)
        if left_out:
            self._print(Text(f"  and {len(left_out)} more, of medium risk at most and without warnings", style="dim"))
        self._findings(plan.findings)
        self._then([row.key for row in rows])

    def _row(self, row: PlanRow, width: int) -> None:
        over = f"over {row.overrides}" if row.overrides else ""
        risk = (row.risk, _RISKS[row.risk])
        head = Text.assemble(f"  {row.action:<9} ", (f"{row.key:<{width}}", "bold"), "  ", risk, f"  {over}")
        head.rstrip()
        self._print(head)
        if row.action != "add":
            self._changes(row.changes, indent=6)
            stage = stages.about(row.key)
            if stage is not None:
                self._print(Text(f"      affects: {stage.affects}"))
        for warning in row.warnings:
            self._print(Text(f"      ! {_line(warning)}", style="yellow"))

    def change_set(self, done: ChangeSet) -> None:
        if not done.moves:
            self._print(Text("nothing was changed: the store has all of it already"))
            return
        self._print(Text(f"applied {_count(len(done.moves), 'change')}", style="green"))
        self._reference(done.id, done.revision)

    # -- files, log and database

    def files(self, written: Sequence[Path]) -> None:
        for path in written:
            self._print(Text(str(path)))
        self.note(_count(len(written), "file"))

    def findings(self, found: Sequence[Finding]) -> None:
        self._findings(found)
        counts = Counter(finding.severity for finding in found)
        told = [_count(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
        self.note(", ".join(told) or "nothing is wrong")

    def problems(self, found: Sequence[Problem]) -> None:
        for problem in found:
            entry = f" {problem.seq}" if problem.seq is not None else ""
            self._print(Text.assemble((f"{problem.scope}{entry}", "bold red"), f": {_line(problem.what)}"))
        if found:
            self.note(_count(len(found), "problem"))
        else:
            self.note("whole: every version, entry and label is as it was written")

    def heads(self, found: Mapping[str, str]) -> None:
        for scope, head in found.items():
            self._print(Text(f"{scope} {head}"))

    def tenants(self, found: Sequence[Tenant]) -> None:
        if not found:
            self.note("no tenant overrides anything yet")
            return
        table = _table("tenant", "overrides", "last change", "revision")
        for tenant in found:
            table.add_row(tenant.name, str(tenant.overrides), _time(tenant.last_at, "seconds"), tenant.revision)
        self._print(table)

    def health(self, found: Sequence[output.Health]) -> None:
        table = _table("", "", "")
        table.show_header = False
        for check in found:
            mark = Text("ok", style="green") if check.ok else Text("BAD", style="bold red")
            advice = f"\n{_line(check.advice)}" if check.advice else ""
            table.add_row(mark, check.check, f"{_line(check.found)}{advice}")
        table.columns[2].no_wrap = False
        self._print(table)

    def set_up(self, done: output.SetUp) -> None:
        what = "created" if done.created else "up to date:"
        self._print(Text(f"{what} {done.url}, {_count(done.templates, 'template')} in the seed layer"))

    def schema(self, found: output.Schema) -> None:
        state = (
            "upgraded to" if found.upgraded else {"current": "has", "ahead": "is newer than"}.get(found.state, "needs")
        )
        self._print(Text(f"{found.url} {state} schema {found.needed}"))

    # -- memory types

    def memory_path(self, path: str) -> None:
        click.echo(path.encode())

    def memory_text(self, what: str, text: str) -> None:
        click.echo(text.encode(), nl=False)

    def record(self, found: Mapping[str, Any]) -> None:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False).encode())

    def impact(self, key: str, found: Impact) -> None:
        self._print(Text.assemble((key, "bold"), f" over {_count(found.records, 'record')}"))
        if not found:
            self._print(Text("  nothing that is stored would differ"))
        rows = [("moves", f"{m.name}: {m.before or 'no path'} → {m.after}") for m in found.moved]
        rows += [("collide", ", ".join(group)) for group in found.collisions]
        rows += [("no path", f"{s.name}, now {s.before}: {s.why}") for s in found.stopped]
        rows += [("orphaned", f"{name}, stored in {_count(n, 'record')}") for name, n in found.orphaned.items()]
        for m in found.merges:
            rows.append(("merges", f"{m.field}: {m.before} → {m.after}, {_count(m.records, 'record')}"))
            if m.came != m.comes:
                rows.append(("", f"stored {_value(m.current)}, update {_value(m.update)}: {m.came} → {m.comes}"))
        for _, kind in groupby(rows, key=lambda row: row[0] or "merges"):
            self._impact_rows(list(kind))
        if found.pathless:
            said = f"{_count(len(found.pathless), 'record')} that neither version gives a path: {found.pathless[0]} …"
            self._print(Text(f"  unknown   {_line(said)}", style="dim"))

    def _impact_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        for word, told in rows[:_SHOWN]:
            self._print(Text(f"  {word:<9} {_line(told)}"))
        if len(rows) > _SHOWN:
            self._print(Text(f"  {'':<9} and {len(rows) - _SHOWN} more", style="dim"))

    # -- notes and errors

    def assembled(self, found: AssembledContext) -> None:
        for line in assemble.lines(found):
            self._print(line)

    def note(self, text: str) -> None:
        self._notes.print(Text(_lines(text), style="dim"), soft_wrap=True)

    def error(self, error: OvstoreError) -> None:
        self._notes.print(Text.assemble(("Error: ", "bold red"), _lines(_message(error))), soft_wrap=True)
        if isinstance(error, InvalidDocumentError):
            for finding in error.findings:
                self._notes.print(_finding(finding), soft_wrap=True)
        for hint in _hints(error):
            self._notes.print(Text(hint, style="dim"), soft_wrap=True)

    # -- parts

    def _print(self, what: Text | Table, widths: Sequence[int] = ()) -> None:
        """Write lines of text, or a table, whose columns are at least as wide as is said."""
        if isinstance(what, Table):
            _fit(what, self._data.width, widths)
            for line in self._data.render_lines(what, pad=False):
                self._print(_unpadded(line))
        else:
            self._data.print(what, soft_wrap=True)

    def _changes(self, changes: Sequence[Change], *, indent: int, limit: int = _SHOWN) -> None:
        table = Table.grid(padding=(0, _GAP, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis")
        for change in changes[:limit]:
            table.add_row(f"{'':{indent}}{_line(change.path)}", _risk(change.risk, ""), _values(change))
        if changes:
            self._print(table)
        if len(changes) > limit:
            self._print(Text(f"{'':{indent}}and {len(changes) - limit} more", style="dim"))

    def _what_changed(self, key: str, changes: Sequence[Change]) -> None:
        self._changes(changes, indent=2)
        for line in _advice(key) if changes else ():
            self._print(Text(f"  {line}"))

    def _then(self, keys: Sequence[str]) -> None:
        """Say once for each advice what to run again after a change of these templates."""
        advice: dict[str, list[str]] = {}
        for key in keys:
            stage = stages.about(key)
            if stage is not None:
                advice.setdefault(stage.verify, []).append(key)
        for verify, affected in advice.items():
            more = f" and {len(affected) - 3} more" if len(affected) > 3 else ""
            self._print(Text(f"  after that: {verify} ({', '.join(affected[:3])}{more})"))

    def _findings(self, found: Sequence[Finding]) -> None:
        for finding in found:
            self._print(_finding(finding))

    def _reference(self, change_set: str, revision: str) -> None:
        self._print(Text(f"  change set {change_set}\n  revision {revision}", style="dim"))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # Rich would exit with 1, which means findings; `exits` knows what a closed pipe exits with.
        raise BrokenPipeError


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _NO_LIMIT
    return _Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def _fit(table: Table, width: int, widths: Sequence[int]) -> None:
    """Let only the last column give way where the width does not do for all; Rich would shorten each of them."""
    *columns, last = table.columns
    for column, least in zip(columns, widths or [0] * len(columns), strict=True):
        column.width = max(least, *(cell_len(str(cell)) for cell in (column.header, *column.cells)))
    last.max_width = max(_LEAST, width - sum((column.width or 0) + _GAP for column in columns))


def _unpadded(line: Sequence[Segment]) -> Text:
    """A line of a table without the spaces that fill its last column."""
    text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
    text.rstrip()
    return text


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    return table


def _origins(found: Explanation) -> Table:
    """The fields by the version they came from, nearest first; the last one has the rest."""
    paths: dict[str, list[str]] = {}
    for path, origin in found.fields.items():
        paths.setdefault(names.refer(origin.scope, origin.version), []).append(_line(path))
    used = [f"{layer.scope}:{layer.version}" for layer in found.layers if layer.answered]
    table = _table("", "")
    table.show_header = False
    table.columns[1].no_wrap = False
    for version in used:
        fields = paths.get(version, [])
        told = ", ".join(fields) if version != used[-1] or len(used) == 1 else f"all {len(fields)} others"
        table.add_row(f"  {version}", told if len(used) > 1 else f"all {len(fields)} fields")
    return table


def _advice(key: str) -> list[str]:
    stage = stages.about(key)
    if stage is None:
        return []
    return [f"used at: {stage.stage}", f"affects: {stage.affects}", f"after a change: {stage.verify}"]


def _group(listing: Listing) -> tuple[str, str]:
    """What is listed under one heading: settings stand behind the prompts of their category, not between them."""
    return listing.category, listing.kind


def _layer(listing: Listing) -> Text:
    style = {names.SEED: "dim", names.GLOBAL: "blue"}.get(listing.scope, "green")
    patch = " patch" if listing.mode == "patch" else ""
    return Text(names.refer(listing.scope, listing.version) + patch, style=style)


def _faded(layer: Layer) -> str:
    return "" if layer.answered else "dim"


def _risk(risk: str, before: str = "  risk ") -> Text:
    return Text(before + risk, style=_RISKS[risk])


def _finding(finding: Finding) -> Text:
    place = ":".join(str(part) for part in (finding.path, finding.line, finding.column) if part is not None)
    text = Text(f"{_line(place)}: " if place else "")
    text.append(f"{finding.severity}[{finding.code}]", style=_SEVERITIES[finding.severity])
    text.append(f": {_line(finding.message)}")
    if finding.hint:
        text.append(f"\n    {_line(finding.hint)}", style="dim")
    return text


def _message(error: OvstoreError) -> str:
    """The error's own words but for its first line, where that speaks of arguments of the library."""
    first, _, rest = str(error).partition("\n")
    if isinstance(error, InvalidDocumentError):
        return first
    if isinstance(error, RiskError):
        needs = (
            "needs a reason" if error.risk == error.accepted else f"is higher than {error.accepted}, which is accepted"
        )
        return f"the risk of this write is {error.risk}, and that {needs}\n{rest}"
    return str(error)


def _hints(error: OvstoreError) -> list[str]:
    """What the error's advice is called on the command line."""
    if isinstance(error, RiskError):
        reason = " --reason TEXT" if error.risk == "very_high" else ""
        return [f"To accept that: --accept-risk {error.risk}{reason}"]
    if isinstance(error, ContractError):
        return ["To keep for those what they have now: --freeze-dependents"]
    return []


def _in(scope: str) -> str:
    """The option that names a scope."""
    return {names.GLOBAL: "", names.SEED: " --seed"}.get(scope, f" --tenant {scope}")


def _kind(kind: str) -> str:
    return {"memory": "memory schema"}.get(kind, kind)


def _arrow(before: int | None, after: int | None) -> str:
    return f"{before or 'none'} → {after or 'none'}"


def _values(change: Change) -> str:
    """Show both values of a change; of texts with several lines only how many lines came and went."""
    before, after = change.before, change.after
    if change.field == "document":
        return "appears" if before is None else "disappears" if after is None else "is another"
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        old, new = Counter(before.splitlines()), Counter(after.splitlines())
        return f"+{(new - old).total()} -{(old - new).total()} lines"
    return f"{_value(before)} → {_value(after)}"


def _value(value: object) -> str:
    if value is None:
        return "absent"
    if isinstance(value, str) and "\n" in value:
        return f"text of {_count(len(value.splitlines()), 'line')}"
    shown = hashing.canonical_json(value)
    return names.printable(shown if len(shown) <= 60 else shown[:57] + "...")


def _time(at: datetime, precision: str) -> str:
    return at.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def _first(text: str) -> str:
    """The beginning of a description, which for a memory schema can be pages."""
    line = _line(text.strip().partition("\n\n")[0])
    return line if len(line) <= 160 else line[:159] + "…"


def _line(text: str) -> str:
    return names.printable(" ".join(text.split()))


def _lines(text: str) -> str:
    return "\n".join(names.printable(line) for line in text.split("\n"))


def _visible(line: str) -> str:
    return "\t".join(names.printable(part) for part in line.split("\t"))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
