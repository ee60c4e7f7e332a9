"""Memory types at work: memory path, content, embedding, merge and impact.

Records, messages and memory files are read here and handed on; nothing of a memory is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ovstore import names
from ovstore.cli import exits, values
from ovstore.cli.call import Call, pass_call, seen
from ovstore.cli.options import Command, F, as_of, in_scope, key_argument, moment, together, version
from ovstore.cli.reading import scope_name
from ovstore.errors import InvalidDocumentError
from ovstore.grammar import OVERVIEWS

if TYPE_CHECKING:
    from ovstore.documents import MemorySchema
    from ovstore.memory import MemoryType, Record
    from ovstore.results import Finding
    from ovstore.store import Store


class Group(Command, click.Group):
    """A command with commands of its own below it."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group(
    "memory",
    cls=Group,
    examples="""
    ovstore memory path profile --user-space u1
    ovstore memory impact events --with 2 --against records.jsonl
    """,
)
def memory_command() -> None:
    """Show what a memory type does: paths, texts, merges.

    Nothing is written: records come in as options and files, and what the type makes of them goes to stdout.
    """


def _file(name: str, metavar: str, told: str) -> Callable[[F], F]:
    kind = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
    return click.option(name, metavar=metavar, type=kind, help=told)


values_options = together(
    click.option(
        "variables",
        "-v",
        metavar="NAME=VALUE",
        multiple=True,
        help="A field's value, read as its type. NAME=@FILE takes the text of a file, NAME=@@TEXT the text @TEXT.",
    ),
    _file("--vars", "FILE", "The record, or a part of it: a JSON object, or a memory file (.md); -v goes before it."),
)
now_option = click.option("--now", type=moment, metavar="TIME", help="What dates are that no message tells.")
conversation = together(
    _file("--messages", "FILE.json", "The conversation: a JSON list of messages with role, content and created_at."),
    now_option,
)


@memory_command.command(
    "path",
    cls=Command,
    examples="""
    ovstore memory path entities -v category=person -v name="Ines Okafor" --user-space u1
    ovstore memory path events --vars event.json --messages session.json --user-space u1 --tenant acme
    """,
)
@key_argument
@values_options
@click.option("--user-space", metavar="USER", required=True, help="Whose memory it is.")
@click.option("--agent-space", metavar="AGENT", help="Whose it is, where the path is an agent's.")
@click.option("--peer", "peer_id", metavar="PEER", help="The peer of that user that it is about.")
@conversation
@in_scope
@as_of
@pass_call
def path_command(
    call: Call,
    /,
    user_space: str,
    agent_space: str | None,
    peer_id: str | None,
    messages: Path | None,
    now: datetime | None,
    **asked: Any,
) -> None:
    """Tell where a record lies.

    Exits with 1 where the record has no path: a value is missing, or is none that a path can hold.
    """
    kind, record = _asked(call, **asked)
    path = kind.path(
        record,
        user_space=user_space,
        agent_space=agent_space,
        peer_id=peer_id,
        messages=_messages(messages),
        now=now,
    )
    call.out.memory_path(path)


@memory_command.command(
    "content",
    cls=Command,
    examples="ovstore memory content entities --vars ines.json > ines.md",
)
@key_argument
@values_options
@click.option("--source-uri", metavar="URI", default="", help="Where the record lies; links are relative to it.")
@click.option("--file", "whole", is_flag=True, help="The whole memory file, with the stored values behind the body.")
@conversation
@in_scope
@as_of
@pass_call
def content_command(
    call: Call, /, source_uri: str, whole: bool, messages: Path | None, now: datetime | None, **asked: Any
) -> None:
    """Render the body of a record's file: exactly its text."""
    kind, record = _asked(call, **asked)
    make = kind.file if whole else kind.content
    call.out.memory_text("content", make(record, source_uri=source_uri, messages=_messages(messages), now=now))


@memory_command.command(
    "embedding",
    cls=Command,
    examples="ovstore memory embedding entities --vars ines.json",
)
@key_argument
@values_options
@conversation
@in_scope
@as_of
@pass_call
def embedding_command(call: Call, /, messages: Path | None, now: datetime | None, **asked: Any) -> None:
    """Render the text that is embedded for a record: exactly that."""
    kind, record = _asked(call, **asked)
    call.out.memory_text("embedding", kind.embedding(record, messages=_messages(messages), now=now))


@memory_command.command(
    "merge",
    cls=Command,
    examples="""
    ovstore memory merge skills --current greet.md -v total_executions=1 --file
    ovstore memory merge profile --current record.json --vars update.json
    ovstore memory merge profile --current record.json --clear content
    """,
)
@key_argument
@values_options
@_file("--current", "FILE", "What is stored: a memory file (.md), or a record as JSON. Without it the memory is new.")
@click.option("--clear", metavar="FIELD", multiple=True, help="Empty a field: its value is absent afterwards.")
@click.option("--file", "whole", is_flag=True, help="Write the memory file that holds the result, not the record.")
@conversation
@in_scope
@as_of
@pass_call
def merge_command(
    call: Call,
    /,
    current: Path | None,
    clear: tuple[str, ...],
    whole: bool,
    messages: Path | None,
    now: datetime | None,
    key: str,
    variables: tuple[str, ...],
    vars: Path | None,  # noqa: A002  the option is called --vars, as that of render
    **asked: Any,
) -> None:
    """Merge an update into a record.

    It is given by -v, --clear and --vars (a JSON object). A text field takes -v as its new text; blocks come by --vars.
    Exits with 1, and merges nothing, where a field does not take its update.
    """
    from ovstore.memory import CLEAR

    kind = _type(call, key, **asked)
    stored = _stored(kind, current, "--current") if current else None
    update = _given(kind, variables, values.from_file(vars) if vars else {})
    if both := update.keys() & set(clear):
        raise click.BadParameter(f"{min(both)} is given a value too", param_hint="--clear")
    merged = kind.merge(stored, update | dict.fromkeys(clear, CLEAR))
    for name, text in values.from_arguments(variables).items():
        if kind.fields[name].type == "string" and _is_update(text):
            call.out.note(
                f"{name}: -v takes this as the text to store; blocks are given as JSON, in --vars FILE.json, and "
                f"--clear {name} empties it"
            )
    if whole:
        call.out.memory_text("file", kind.file(merged, messages=_messages(messages), now=now))
    else:
        call.out.record(merged)


@memory_command.command(
    "impact",
    cls=Command,
    examples="""
    ovstore memory impact entities --with entities.yaml --against memories/
    ovstore memory impact entities --with seed:2 --against records.jsonl --tenant acme
    """,
)
@key_argument
@click.option(
    "--with",
    "successor",
    metavar="FILE|VERSION",
    required=True,
    help="The schema or patch that would come, or 3, seed:3.",
)
@click.option(
    "--against",
    metavar="DIR|JSONL",
    required=True,
    type=click.Path(exists=True, path_type=Path),
    help="The memory files of one user, or one record a line: its values, or {values, user_space, messages, …}.",
)
@now_option
@in_scope
@pass_call
def impact_command(
    call: Call, /, key: str, successor: str, against: Path, now: datetime | None, tenant: str | None, seed: bool
) -> int:
    """Tell what a schema change would do to stored memories.

    Which paths move, collide or stop rendering, which fields are orphaned, and which updates would merge otherwise.
    Exits with 1 if it would do anything, or if of some record nobody can tell.
    """
    kind = _type(call, key, tenant, seed)
    with call.store() as store:
        new = _successor(store, kind, successor, tenant, seed)
    found = kind.impact(new, (replace(record, now=record.now or now) for record in _records(kind, against)))
    call.out.impact(key, found)
    if not found.records:
        call.out.note(f"{against} holds no record of {key}")
    return exits.FINDINGS if found else 0


def _asked(
    call: Call,
    *,
    key: str,
    variables: tuple[str, ...],
    vars: Path | None,  # noqa: A002  the option is called --vars, as that of render
    **asked: Any,
) -> tuple[MemoryType, dict[str, Any]]:
    kind = _type(call, key, **asked)
    return kind, _given(kind, variables, _stored(kind, vars, "--vars") if vars else {})


def _type(call: Call, key: str, tenant: str | None, seed: bool, **asked: Any) -> MemoryType:
    with call.view(tenant, seed) as view:
        return view.memory(key, **asked)


def _given(kind: MemoryType, variables: tuple[str, ...], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with the values of -v in it, each read as the type of its field."""
    types = {name: field.stored_type for name, field in kind.fields.items()}
    given = values.from_arguments(variables)
    return {**record, **{name: values.convert(name, text, types.get(name)) for name, text in given.items()}}


def _is_update(text: str) -> bool:
    """Whether a text is what --vars would take for blocks, or for the wish to clear a field."""
    from ovstore.memory.blocks import is_patch
    from ovstore.memory.merging import is_clear

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and (is_patch(value) or is_clear(value))


def _stored(kind: MemoryType, path: Path, where: str) -> dict[str, Any]:
    """Read a memory file, which is named .md, or a record as JSON."""
    if path.suffix == ".md":
        return kind.record(values.read_text(str(path), where), str(path))
    return values.from_file(path, where)


def _messages(path: Path | None) -> list[Mapping[str, Any]]:
    if path is None:
        return []
    found = values.read_json(path, "--messages")
    if not isinstance(found, list) or not all(isinstance(message, dict) for message in found):
        raise click.BadParameter(f"{path} holds no list of messages", param_hint="--messages")
    return found


def _successor(store: Store, kind: MemoryType, given: str, tenant: str | None, seed: bool) -> MemorySchema | MemoryType:
    """Return the schema that would come: that of a version, of a file, or of a patch on what lies below the scope."""
    from ovstore import checking, documents, layering

    path = Path(given)
    if not path.is_file():
        if path.suffix in (".yaml", ".yml"):
            raise click.BadParameter(f"there is no file {given}", param_hint="--with")
        return seen(store, tenant, seed).memory(kind.name, version=version(given))
    checked = checking.check_source(path.read_bytes(), str(path))
    checking.require(checked)
    parsed = checked.parsed
    if parsed.key != kind.name or parsed.data is None:
        raise click.BadParameter(f"{given} is {parsed.key}, not {kind.name}", param_hint="--with")
    data = parsed.data
    if parsed.mode == "patch":
        below = names.parent(scope_name(tenant, seed))
        if below is None:
            raise click.BadParameter("a patch has nothing to lie on in the seed layer", param_hint="--with")
        base = seen(store, None if below in (names.SEED, names.GLOBAL) else below, below == names.SEED).resolve(
            kind.name
        )
        try:
            data = layering.apply_patch("memory", base.document.as_written(), data)
        except layering.FoldError as error:
            raise click.BadParameter(str(error), param_hint="--with") from error
    document, findings = documents.build("memory", data)
    if not isinstance(document, documents.MemorySchema):
        raise InvalidDocumentError(findings)
    return document


def _records(kind: MemoryType, against: Path) -> Iterator[Record]:
    if against.is_dir():
        files = (
            path
            for path in sorted(against.rglob("*.md"))
            if names.folded(path.name) not in OVERVIEWS and path.is_file()
        )
        yield from _of_files(kind, against, files)
        return
    for number, line in enumerate(values.read_text(str(against), "--against").split("\n"), 1):
        if line.strip():
            yield _line(line, f"{against}, line {number}")


def _of_files(kind: MemoryType, against: Path, files: Iterable[Path]) -> Iterator[Record]:
    """Yield the records of the type; what is wrong with any file is told with what is wrong with all others."""
    from ovstore.memory import Record

    findings: list[Finding] = []
    for path in files:
        try:
            record = kind.record(values.read_text(str(path), "--against"), str(path))
        except InvalidDocumentError as error:
            findings += error.findings
            continue
        if record.get("memory_type", kind.name) == kind.name:
            yield Record(record, path.relative_to(against).as_posix())
    if findings:
        raise InvalidDocumentError(findings)


def _line(line: str, name: str) -> Record:
    from ovstore.memory import Record

    found = values.parsed_json(line, name, "--against")
    if not isinstance(found, dict):
        raise click.BadParameter(f"{name} is no object", param_hint="--against")
    if not isinstance(found.get("values"), dict) or not set(found) <= set(Record.__dataclass_fields__):
        return Record(found, name)
    if "now" in found:
        found["now"] = moment(str(found["now"]))
    return Record(**{"name": name, **found})
