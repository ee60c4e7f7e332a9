"""A memory type at work: where a record lies, what it looks like, what an update makes of it.

A record is a mapping of a type's fields to their values, with whatever else is stored beside them. Everything here is
a function of the schema and what the caller gives: no file is read, no clock is asked, no argument is changed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import Any, Final

from ovstore import rendering
from ovstore.documents import Field, MemorySchema
from ovstore.errors import InvalidArgumentError, MergeError, MissingVariablesError, PathError, RenderError
from ovstore.grammar import OVERVIEWS
from ovstore.memory import paths
from ovstore.memory.files import read_file, unfit, write_file
from ovstore.memory.impact import Impact, Record, impact_of
from ovstore.memory.links import link_target, merge_links, uri_basename
from ovstore.memory.merging import MERGE_SEMANTICS, is_clear, merge_value
from ovstore.memory.messages import Message, extract_context
from ovstore.names import folded, near
from ovstore.rendering import Compiled, RenderLimits

MAX_EMBEDDED: Final = 50_000
"""Bytes of UTF-8 of the body that an embedding gets to see."""

LINKS: Final = ("links", "backlinks")
IDENTITY: Final = frozenset({"memory_type", "user_id", "user_ids", "peer_id"})
"""What an update may hold beside fields and links: whose it is and of what type, which is no part of a record."""

# Whose a memory is stands in its path; version and type are written anew, behind all else.
_LEFT_OUT: Final = frozenset({"user_id", "user_ids", "version", "memory_type"})


class MemoryType:
    """What the memories of one type do, by the schema of one version. Made by `store.memory(type)`.

    `semantics` is the number that the version is stored under, see MERGE_SEMANTICS.
    """

    def __init__(
        self, schema: MemorySchema, *, semantics: int = MERGE_SEMANTICS, limits: RenderLimits | None = None
    ) -> None:
        if semantics != MERGE_SEMANTICS:
            raise InvalidArgumentError(
                f"{schema.memory_type} is stored with merge semantics {semantics}, and this ovstore knows "
                f"{MERGE_SEMANTICS}: upgrade ovstore",
                argument="semantics",
                value=semantics,
            )
        self.schema = schema
        self.limits = limits

    def __repr__(self) -> str:
        return f"<ovstore memory type {self.name}>"

    @property
    def name(self) -> str:
        return self.schema.memory_type

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        return {field.name: field for field in self.schema.fields}

    @cached_property
    def _compiled(self) -> Compiled:
        return rendering.compile("memory", self.schema.as_written(), self.limits)

    def _template(self, which: str) -> str | None:
        """Return a template of the schema; a blank one is none, since a body of nothing would lose what is stored."""
        template: str | None = getattr(self.schema, f"{which}_template")
        return template if template and template.strip() else None

    def path(
        self,
        values: Mapping[str, Any],
        *,
        user_space: str,
        agent_space: str | None = None,
        peer_id: str | None = None,
        messages: Sequence[Message] = (),
        now: datetime | None = None,
    ) -> str:
        """Return where a record lies: directory and filename_template, rendered as one.

        A type with `peer_enabled: false` keeps no memories for peers and ignores `peer_id`. `now` is used only for a
        date that the messages do not tell. Raises PathError with the part that has no value, or none that a path can
        hold; see `ovstore.memory.paths`.
        """
        _hold_record(values)
        peer = peer_id if self.schema.peer_enabled else None
        identity = {
            "user_space": paths.space(user_space, peer),
            "user_id": paths.component(user_space, "user_space"),
            "peer_id": None if peer is None else paths.component(peer, "peer_id"),
            "agent_space": None if agent_space is None else paths.component(agent_space, "agent_space"),
            "memory_type": self.name,
        }
        given = paths.plain({n: v for n, v in values.items() if n not in identity}) | _given(identity)
        try:
            return paths.finish(self._render("path", given, messages, now, part=paths.part))
        except MissingVariablesError as error:
            raise PathError(str(error), part=error.names[0], memory_type=self.name) from error
        except RenderError as error:
            if isinstance(error.__cause__, PathError):
                raise self._unfit(error.__cause__, values) from error
            raise
        except PathError as error:
            raise self._unfit(error, values) from error

    def _unfit(self, error: PathError, values: Mapping[str, Any]) -> PathError:
        """Name the field that a refused part came from, where it can be told."""
        name = next((n for n, v in values.items() if v is not None and error.part.lower() == str(v).lower()), None)
        said = f"{self.name}: {name or 'the part'} {error}"
        return PathError(said, part=name or error.part, memory_type=self.name)

    def content(
        self,
        values: Mapping[str, Any],
        *,
        source_uri: str = "",
        messages: Sequence[Message] = (),
        now: datetime | None = None,
    ) -> str:
        """Return the body of a record's file: content_template without white space around it, else its `content`.

        `source_uri` is where the record lies; `link_target` is relative to it.
        """
        _hold_record(values)
        if self._template("content") is None:
            return str(values.get("content") or "")
        given = {"content": "", "links": [], "backlinks": [], **_given(values)}
        given |= {"source_uri": source_uri, "memory_type": self.name}
        return self._render("content", given, messages, now, source_uri=source_uri).strip()

    def embedding(
        self, values: Mapping[str, Any], *, messages: Sequence[Message] = (), now: datetime | None = None
    ) -> str:
        """Return the text to embed for a record: embedding_template, else its body.

        Of the body the first 50,000 bytes count. A record without `content` has the one that content_template makes.
        """
        _hold_record(values)
        template = self._template("embedding")
        body = values.get("content")
        if body is None and (template is None or "content" in template):
            body = self.content(values, messages=messages, now=now)
        seen = str(body or "").encode()[:MAX_EMBEDDED].decode(errors="ignore")
        if template is None:
            return seen
        return self._render("embedding", {**_given(values), "content": seen, "memory_type": self.name}, messages, now)

    def overview(self, files: Mapping[str, Mapping[str, Any]], *, directory: str) -> str | None:
        """Return the overview of a directory from its records, by file name; None where there is none to write.

        Overviews themselves and files that are no `.md` are left out; the others come in the order of their names.
        """
        _hold_record(files, "files")
        for record in files.values():
            _hold_record(record, "files")
        names = sorted(name for name in files if name.endswith(".md") and folded(name) not in OVERVIEWS)
        if self._template("overview") is None or not names:
            return None
        values = {
            "items": [{"file_name": name, "file_content": {"content": "", **_given(files[name])}} for name in names],
            "memory_type": self.name,
            "directory_name": directory.rstrip("/").rpartition("/")[2],
        }
        return self._render("overview", values)

    def description(self, language: str, *, field: str | None = None) -> str:
        """Return what the type, or one of its fields, is for; `language` is the one variable of a description."""
        which = "description" if field is None else f"fields.{field}.description"
        if field is not None and field not in self.fields:
            raise InvalidArgumentError(f"{self.name} has no field {field}", argument="field", value=field)
        text = self.schema.description if field is None else self.fields[field].description
        return self._render(which, {"language": language}) if text else ""

    def merge(self, current: Mapping[str, Any] | None, update: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record behind an update; `current` None is a memory that does not exist yet.

        What the update does not name stays, fields and whatever else is stored; a body that content_template alone
        makes is no part of it. Raises MergeError, with nothing merged, when a field does not take its update
        (`failures` has each, `merged` the record without those), when the operation mode forbids it, when a name is no
        field, or when what is stored is of another type.

        >>> from ovstore.documents import build
        >>> schema, _ = build("memory", {"memory_type": "tally", "directory": "d", "filename_template": "t.md",
        ...     "fields": [{"name": "count", "type": "int64", "merge_op": "sum"}]})
        >>> MemoryType(schema).merge({"count": 2, "version": 1}, {"count": 3})
        {'count': 5, 'version': 1}
        """
        if current is not None:
            _hold_record(current, "current")
        _hold_record(update, "update")
        self._hold_type(current)
        self._hold_mode(current)
        merged = dict(current or {})
        if self._template("content") is not None and "content" not in self.fields:
            merged.pop("content", None)  # the body of the file as it was, which is made anew of the record
        failures = []
        for name, value in update.items():
            try:
                self._merge_one(merged, name, value)
            except MergeError as error:
                failures.append(error)
        for name, value in merged.items():
            if why := unfit({name: value}):
                raise MergeError(f"{self.name}.{name}: what is stored no memory holds: {why}", field=name)
        if failures:
            first = failures[0]
            raise MergeError(
                "\n".join(f"{self.name}.{error}" for error in failures),
                field=first.field,
                block=first.block,
                failures=failures,
                merged=copy.deepcopy(merged),
            )
        return copy.deepcopy(merged)

    def _hold_type(self, current: Mapping[str, Any] | None) -> None:
        stored = (current or {}).get("memory_type")
        if stored not in (None, self.name):
            raise MergeError(f"what is stored is a memory of the type {stored}, not {self.name}")

    def _hold_mode(self, current: Mapping[str, Any] | None) -> None:
        mode = self.schema.operation_mode
        if mode == "add_only" and current is not None:
            raise MergeError(f"{self.name} is add_only: a memory that is there is not changed")
        if mode == "update_only" and current is None:
            raise MergeError(f"{self.name} is update_only: a memory that is not there is not added")

    def _merge_one(self, record: dict[str, Any], name: str, update: Any) -> None:
        if name in self.fields:
            value = merge_value(self.fields[name], record.get(name), update)
        elif name in LINKS:
            value = None if is_clear(update) else merge_links(name, record.get(name), update)
        elif name in IDENTITY:
            if name == "memory_type" and update not in (None, self.name):
                raise MergeError(f"{name}: the update is for {update}", field=name)
            return
        else:
            alike = near(str(name), self.fields, 1)
            hint = f"; did you mean {alike[0]}?" if alike else f"; there are {', '.join(self.fields)}"
            raise MergeError(f"{name}: no field of that name{hint}", field=name)
        if value is None:
            record.pop(name, None)
        else:
            record[name] = value

    def file(
        self,
        values: Mapping[str, Any],
        *,
        source_uri: str = "",
        messages: Sequence[Message] = (),
        now: datetime | None = None,
    ) -> str:
        """Return the text of a record's file, one version on from the one that the record has, else version 1."""
        body = self.content(values, source_uri=source_uri, messages=messages, now=now)
        kept = {name: values.get(name) for name in self.fields}
        kept |= {name: value for name, value in values.items() if name not in kept}
        if self._template("content") is None or "content" not in self.fields:
            kept.pop("content", None)
        version = values.get("version") or 0
        if isinstance(version, bool) or not isinstance(version, int) or version < 0:
            said = f"{self.name}: the record's version is {version!r}, which is no number of a version (1, 2, 3 …)"
            raise InvalidArgumentError(said, argument="values", value=version)
        stored = {name: value for name, value in kept.items() if name not in _LEFT_OUT}
        stored |= {"version": version + 1, "memory_type": self.name}
        return write_file(body, stored)

    def record(self, text: str, path: str | None = None) -> dict[str, Any]:
        """Return the record of a file: its stored values, and its body as `content` unless that is stored too."""
        file = read_file(text, path)
        return {**file.values, "content": file.values.get("content", file.body)}

    def impact(self, new: MemorySchema | MemoryType, records: Iterable[Mapping[str, Any] | Record]) -> Impact:
        """Return what stored records would go through if `new` came in the place of this schema."""
        if isinstance(new, MemorySchema):
            new = MemoryType(new, limits=self.limits)
        if not isinstance(new, MemoryType):
            raise InvalidArgumentError("new takes a MemoryType or a MemorySchema", argument="new", value=new)
        return impact_of(self, new, records)

    def _render(
        self,
        which: str,
        values: Mapping[str, Any],
        messages: Sequence[Message] = (),
        now: datetime | None = None,
        *,
        source_uri: str = "",
        part: Callable[[str], str] | None = None,
    ) -> str:
        functions = extract_context(messages, now)
        helpers: dict[str, Callable[..., Any]] = {f"extract_context.{name}": f for name, f in functions.items()}
        helpers |= {"uri_basename": uri_basename, "link_target": partial(link_target, source_uri)}
        try:
            return rendering.render(self._compiled, values, which=which, helpers=helpers, part=part)[0]
        except RenderError as error:
            error.key = self.name
            error.args = (f"{self.name}{'' if which == 'path' else f' ({which})'}: {error}",)
            raise


def _hold_record(given: object, argument: str = "values") -> None:
    """Refuse what is no record before anything is made of it: records and updates are often what a model wrote."""
    if not isinstance(given, Mapping):
        said = f"{argument} takes a mapping, not {type(given).__name__}"
        raise InvalidArgumentError(said, argument=argument, value=given)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is None: to a template it is absent, so that it prints nothing and takes its default."""
    return {name: value for name, value in values.items() if value is not None}
