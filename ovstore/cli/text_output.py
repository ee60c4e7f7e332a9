"""Text for people: tables and coloured differences on a terminal, plain lines where the output goes elsewhere.

A terminal's width is used; elsewhere lines are as long as they are, unless COLUMNS says how long. Colours follow the
terminal, NO_COLOR and FORCE_COLOR. Whatever people wrote (actors, reasons, descriptions, values) is shown with its
control characters escaped.
"""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.table import Table
from rich.text import Text

from ovstore import documents, names
from ovstore.cli import assemble, lines, output, phrases, plans, terminal, wording
from ovstore.errors import InvalidDocumentError, OvstoreError
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
    Problem,
    Published,
    Resolved,
    Tenant,
    Version,
    time_text,
)

if TYPE_CHECKING:
    from ovstore.context import AssembledContext
    from ovstore.memory import Impact
    from ovstore.transfer import Plan, Watch

_DIFFERENCES: Final = {"+": "green", "-": "red", "@": "cyan"}
_DONE: Final = {"activate": "activated", "rollback": "rolled back", "withdraw": "withdrew"}
_MANY: Final = 200


class TextOutput:
    """Writes every answer so that a person reads it with pleasure."""

    def __init__(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A terminal that cannot show a character gets its escape, not an error.
                stream.reconfigure(errors="backslashreplace")
        self._data = terminal.console(stderr=False)
        self._notes = terminal.console(stderr=True)

    # -- reading

    def listings(self, found: Sequence[Listing], *, scope: str) -> None:
        widths = (
            max((len(listing.key) for listing in found), default=0) + 2,
            max((len(lines.layer(listing)) for listing in found), default=0),
        )
        groups = groupby(sorted(found, key=_group), _group)
        for n, ((category, kind), group) in enumerate(groups):
            what = {"prompt": "prompts", "memory": "memory schemas"}.get(kind, kind)
            self._print(Text.assemble("\n" if n else "", (category, "bold"), (f"  {what}", "dim")))
            self._lines(lines.listings(self._data, list(group), widths))
        counts = Counter(listing.scope for listing in found)
        where = ", ".join(f"{counts[name]} from {name}" for name in names.chain(scope) if name in counts)
        self.note(f"{wording.counted(len(found), 'template')} for {scope}" + (f": {where}" if where else ""))

    def resolved(self, found: Resolved) -> None:
        used = [layer for layer in found.provenance.layers if layer.answered]
        layers = " on ".join(f"{layer.scope}:{layer.version} ({layer.mode})" for layer in used)
        head = [
            f"{found.key}: {wording.kind_of(found.kind)}, {layers}",
            *wording.advice_on(found.key),
            f"revision {found.revision}",
        ]
        for line in head:
            self._print(Text(f"# {line}", style="dim"))
        click.echo(documents.generate(found.document), nl=False)

    def source(self, found: Version) -> None:
        click.echo(found.source, nl=False)

    def explanation(self, found: Explanation, *, scope: str) -> None:
        self._print(Text.assemble((found.key, "bold"), f" for {scope}"))
        table = terminal.table("", "layer", "mode", "label", "", wraps=True)
        for layer in found.layers:
            mark = Text("→", style="bold green") if layer.answered else ""
            version = f"{layer.scope}:{layer.version}" if layer.version else layer.scope
            table.add_row(
                mark, version, layer.mode or "-", layer.label or "-", wording.one_line(layer.why), style=_faded(layer)
            )
        self._print(table)
        self._print(Text("\nfields", style="bold"))
        self._lines(lines.origins(self._data, found))
        if found.contract:
            self._print(Text("\nbroken for callers of what is overridden", style="bold red"))
            for sentence in found.contract:
                self._print(Text(f"  {wording.one_line(sentence)}"))
        elif sum(layer.version is not None for layer in found.layers) > 1:
            self._print(Text("\ncallers of what is overridden are still served", style="green"))
        self._print(Text(f"\nrevision {found.revision}", style="dim"))

    def versions(self, found: Sequence[Version], *, labels: output.Labels) -> None:
        self._lines(lines.versions(self._data, found, labels))

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
        who = f"  {time_text(entry.at)}  {wording.one_line(entry.actor)}"
        self._print(Text.assemble((f"{entry.scope} {entry.seq}", "bold yellow"), who))
        moved = (
            f"  {entry.label} {wording.arrow(entry.before, entry.after)}" if entry.label else f"  draft {entry.after}"
        )
        risk = (f"  risk {entry.risk}", wording.RISKS[entry.risk])
        self._print(Text.assemble(f"  {entry.action} ", (entry.key, "bold"), moved, risk))
        if entry.reason:
            self._print(Text(f"  “{wording.one_line(entry.reason)}”", style="italic"))
        shown = [change for change in entry.changes if field in (None, change.field)]
        self._lines(lines.changed(self._data, shown, indent=4))
        if len(shown) < len(entry.changes):
            others = wording.counted(len(entry.changes) - len(shown), "other field")
            self._print(Text(f"    and {others}", style="dim"))

    def diff(self, found: Diff) -> None:
        self._lines(lines.changed(self._data, found.changes, indent=0, limit=terminal.NO_LIMIT))
        if found.changes and found.text:
            self._print(Text(""))
        for line in found.text.splitlines():
            style = "bold" if line.startswith(("+++", "---")) else _DIFFERENCES.get(line[:1], "")
            # Rich would turn tabs into spaces.
            self._data.out(wording.safe_line(line), style=style or None, highlight=False)
        if not found.text:
            self.note("no difference")

    # -- writing

    def published(self, done: Published, *, draft: bool, again: bool = False) -> None:
        version = names.refer(done.scope, done.version)
        if done.unchanged:
            self._print(Text(f"{done.key} is live as {version} with this very source; nothing was changed"))
            return
        state = "a draft" if draft else "live"
        self._print(
            Text.assemble(
                _verb("published ", again), (done.key, "bold"), f" as {version}, {state}", wording.risk_text(done.risk)
            )
        )
        self._what_changed(done.key, done.changes)
        if draft:
            self._print(
                Text(f"  to make it live: ovstore activate {done.key} {done.version}{wording.option_of(done.scope)}")
            )
        self._reference(done.change_set, done.revision)

    def move(self, done: Move, *, verb: str, again: bool = False) -> None:
        if done.before == done.after:
            stands = f"stands at {done.after} already" if done.after else "is not overridden"
            self._print(Text(f"{done.label} of {done.key} in {done.scope} {stands}; nothing was changed"))
            return
        moved = f" in {done.scope}: {done.label} {wording.arrow(done.before, done.after)}"
        self._print(
            Text.assemble(_verb(f"{_DONE[verb]} ", again), (done.key, "bold"), moved, wording.risk_text(done.risk))
        )
        self._what_changed(done.key, done.changes)
        self._reference(done.change_set, done.revision)

    def moves(self, done: Sequence[Move]) -> None:
        if not done:
            self.note("all of it stands where it stood then; nothing was changed")
            return
        if not done[0].change_set:
            self._print(Text("would be put back", style="bold"))
        table = terminal.table("key", "scope", "live", "risk", "its text", wraps=True)
        for move in done:
            restored = Text(_again(move), style="yellow" if move.restored is False else "green")
            table.add_row(
                move.key, move.scope, wording.arrow(move.before, move.after), wording.risk_text(move.risk, ""), restored
            )
        self._print(table)
        self._lines(lines.afterwards(move.key for move in done if move.changes))
        if done[0].change_set:
            self._reference(done[0].change_set, done[0].revision)

    @contextmanager
    def reading(self) -> Iterator[Watch]:
        """Show a bar on a terminal while a folder of many files is read."""
        # What draws bars takes a tenth of a second to import.
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        bar = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        progress = Progress(*bar, console=self._notes, transient=True, disable=not self._notes.is_terminal)
        task = progress.add_task("reading")

        def watch(done: int, total: int) -> None:
            if total >= _MANY:
                progress.start()
                progress.update(task, completed=done, total=total)

        try:
            yield watch
        finally:
            if progress.live.is_started:
                progress.stop()

    def plan(self, plan: Plan, *, applied: bool = False) -> None:
        self._lines(plans.lines(self._data, plan))

    def change_set(self, done: ChangeSet, *, planned: int) -> None:
        if not done.moves:
            why = "the store has all of it already" if planned else "there was nothing to import"
            self._print(Text(f"nothing was changed: {why}"))
            return
        self._print(Text(f"applied {wording.counted(len(done.moves), 'change')}", style="green"))
        self._reference(done.id, done.revision)

    # -- files, log and database

    def files(self, written: Sequence[Path]) -> None:
        for path in written:
            self._print(Text(str(path)))
        self.note(wording.counted(len(written), "file"))

    def findings(self, found: Sequence[Finding]) -> None:
        self._lines(wording.finding_text(finding) for finding in found)
        counts = Counter(finding.severity for finding in found)
        told = [wording.counted(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
        self.note(", ".join(told) or "nothing is wrong")

    def problems(self, found: Sequence[Problem]) -> None:
        for problem in found:
            entry = f" {problem.seq}" if problem.seq is not None else ""
            self._print(Text.assemble((f"{problem.scope}{entry}", "bold red"), f": {wording.one_line(problem.what)}"))
        if found:
            self.note(wording.counted(len(found), "problem"))
        else:
            self.note("whole: every version, entry and label is as it was written")

    def heads(self, found: Mapping[str, str]) -> None:
        for scope, head in found.items():
            self._print(Text(f"{scope} {head}"))

    def tenants(self, found: Sequence[Tenant]) -> None:
        if not found:
            self.note("no tenant overrides anything yet")
            return
        table = terminal.table("tenant", "overrides", "last change", "revision", wraps=True)
        for tenant in found:
            table.add_row(tenant.name, str(tenant.overrides), time_text(tenant.last_at, "seconds"), tenant.revision)
        self._print(table)

    def health(self, found: Sequence[output.Health]) -> None:
        table = terminal.table("", "", "", wraps=True)
        table.show_header = False
        for check in found:
            mark = Text("ok", style="green") if check.ok else Text("BAD", style="bold red")
            advice = f"\n{wording.one_line(check.advice)}" if check.advice else ""
            table.add_row(mark, check.check, f"{wording.one_line(check.found)}{advice}")
        self._print(table)

    def set_up(self, done: output.SetUp) -> None:
        what = "created" if done.created else "up to date:"
        self._print(Text(f"{what} {done.url}, {wording.counted(done.templates, 'template')} in the seed layer"))

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
        self._lines(lines.impact(key, found))

    def assembled(self, found: AssembledContext) -> None:
        for line in assemble.lines(found, self._data):
            self._print(line)

    # -- notes and errors

    def note(self, text: str) -> None:
        self._notes.print(Text(wording.safe_lines(text), style="dim"), soft_wrap=True)

    def warning(self, finding: Finding) -> None:
        self._notes.print(wording.finding_text(finding), soft_wrap=True)

    def error(self, error: OvstoreError) -> None:
        self._notes.print(
            Text.assemble(("Error: ", "bold red"), wording.safe_lines(phrases.message_of(error))), soft_wrap=True
        )
        if isinstance(error, InvalidDocumentError):
            for finding in error.findings:
                self._notes.print(wording.finding_text(finding), soft_wrap=True)
        for hint in phrases.hints_for(error):
            self._notes.print(Text(hint, style="dim"), soft_wrap=True)

    # -- parts

    def _print(self, what: Text | Table) -> None:
        if isinstance(what, Table):
            self._lines(terminal.lines(self._data, what))
        else:
            self._data.print(what, soft_wrap=True)

    def _lines(self, found: Iterable[Text]) -> None:
        for line in found:
            self._print(line)

    def _what_changed(self, key: str, changes: Sequence[Change]) -> None:
        self._lines(lines.changed(self._data, changes, indent=2))
        for line in wording.advice_on(key) if changes else ():
            self._print(Text(f"  {line}"))

    def _reference(self, change_set: str, revision: str) -> None:
        self._print(Text(f"  change set {change_set}\n  revision {revision}", style="dim"))


def _verb(word: str, again: bool) -> str:
    return f"already {word}" if again else word


def _again(move: Move) -> str:
    """What a scope that was put back says of one text in it; a frozen override above keeps what it has."""
    if move.restored is None:
        return "stays as it is, as a full copy"
    return "as it was then" if move.restored else f"not as then: {', '.join(move.differs)} moved since"


def _group(listing: Listing) -> tuple[str, str]:
    """What is listed under one heading: settings stand behind the prompts of their category, not between them."""
    return listing.category, listing.kind


def _faded(layer: Layer) -> str:
    return "" if layer.answered else "dim"
