"""Answers in words: values, times, risks, findings and errors, with what people wrote made harmless."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from rich.text import Text

from ovstore import changes, hashing, names, stages
from ovstore.results import Change, Finding

RISKS: Final = {"none": "dim", "low": "green", "medium": "yellow", "high": "red", "very_high": "bold red"}
_LEAST: Final = 12
_SEVERITIES: Final = {"error": "bold red", "warning": "yellow", "info": "dim"}


def advice_on(key: str) -> list[str]:
    stage = stages.about(key)
    if stage is None:
        return []
    return [f"used at: {stage.stage}", f"affects: {stage.affects}", f"after a change: {stage.verify}"]


def risk_text(risk: str, before: str = "  risk ") -> Text:
    return Text(before + risk, style=RISKS[risk])


def finding_text(finding: Finding) -> Text:
    place = ":".join(str(part) for part in (finding.path, finding.line, finding.column) if part is not None)
    text = Text(f"{one_line(place)}: " if place else "")
    text.append(f"{finding.severity}[{finding.code}]", style=_SEVERITIES[finding.severity])
    text.append(f": {one_line(finding.message)}")
    if finding.hint:
        text.append(f"\n    {one_line(finding.hint)}", style="dim")
    return text


def option_of(scope: str) -> str:
    """The option that names a scope."""
    return {names.GLOBAL: "", names.SEED: " --seed"}.get(scope, f" --tenant {scope}")


def kind_of(kind: str) -> str:
    return {"memory": "memory schema"}.get(kind, kind)


def arrow(before: int | None, after: int | None) -> str:
    return f"{before or 'none'} → {after or 'none'}"


def both_values(change: Change, room: int) -> str:
    """Show both values of a change in so many columns; of texts with several lines how many lines came and went."""
    before, after = change.before, change.after
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        old, new = Counter(before.splitlines()), Counter(after.splitlines())
        return f"+{(new - old).total()} -{(old - new).total()} lines"
    if any(isinstance(value, str) and "\n" in value for value in (before, after)):
        return f"{value_text(before)} → {value_text(after)}"
    told = changes.told(change, "→")
    if len(told) <= room:
        return told
    # The shorter of the two may leave more to the other; half of the room is everyone's.
    half = (room - 3) // 2
    shorter = min(map(len, changes.beside(before, after)))
    width = max(_LEAST, half if shorter > half else room - 3 - shorter)
    return " → ".join(changes.beside(before, after, width))


def item_text(changes: Sequence[Change], room: int) -> str:
    """Say in so many columns that an item came or went, and what it has or had."""
    came = changes[0].before is None
    pairs = [(change.field, change.after if came else change.before) for change in changes if change.field != "name"]
    held = ", ".join(f"{field} {value_text(value)}" for field, value in pairs)
    told = ("appears" if came else "disappears") + (f": {held}" if held else "")
    return told if len(told) <= room else told[: room - 1] + "…"


def value_text(value: object) -> str:
    if value is None:
        return "absent"
    if isinstance(value, str) and "\n" in value:
        return f"text of {counted(len(value.splitlines()), 'line')}"
    shown = hashing.canonical_json(value)
    return names.printable(shown if len(shown) <= 60 else shown[:59] + "…")


def beginning(text: str) -> str:
    """The beginning of a description, which for a memory schema can be pages."""
    line = one_line(text.strip().partition("\n\n")[0])
    return line if len(line) <= 160 else line[:159] + "…"


def one_line(text: str) -> str:
    return names.printable(" ".join(text.split()))


def safe_lines(text: str) -> str:
    return "\n".join(names.printable(line) for line in text.split("\n"))


def safe_line(line: str) -> str:
    return "\t".join(names.printable(part) for part in line.split("\t"))


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
