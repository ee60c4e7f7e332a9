"""World books of other programs: read, written, and told apart.

    sillytavern          {"entries": {"0": {…}}}
    character_card_v2    {"spec": "chara_card_v2", "data": {"character_book": {…}}}, or the book alone
    character_card_v3    {"spec": "chara_card_v3", "data": {"character_book": {…}}}, or the book alone
    lorebook_v3          {"spec": "lorebook_v3", "data": {…}}

Nothing is lost on the way. A book keeps the file it was read from in `extensions["ovstore"]`: written in the same
dialect it is the same JSON again, changed only where the book was. What a dialect has no place for goes into the file
in the same way. What means another thing here than there is told, entry by entry.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, TypeVar, get_args

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass as validated

from ovstore.context import cards, decorators, faults, keys, sillytavern
from ovstore.context.decorators import Tell
from ovstore.context.request import Worldbook, WorldbookEntry
from ovstore.errors import InvalidArgumentError

Dialect = Literal["sillytavern", "character_card_v2", "character_card_v3", "lorebook_v3"]
M = TypeVar("M", Worldbook, WorldbookEntry)

OURS: Final = "ovstore"
_SPECS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {"chara_card_v2": "character_card_v2", "chara_card_v3": "character_card_v3", "lorebook_v3": "lorebook_v3"}
)
_GONE: Final = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that means another thing here than in the program a book is from. `entry` is a uid, "" for all."""

    code: str
    entry: str
    message: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    book: Worldbook
    dialect: Dialect
    differences: tuple[Difference, ...]


@validated(frozen=True, config=ConfigDict(strict=True))
class _File:
    """What a book was read from: what was around it, how its entries were named, and what the book was called then."""

    dialect: Dialect
    frame: dict[str, Any] | None
    listed: bool
    keys: dict[str, str] = field(default_factory=dict)
    given: dict[Literal["id", "name"], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Form(Generic[M]):
    """How a dialect writes a model: raw data to fields, and a model to raw data. `meant` are the names in a raw
    `extensions` that stand for fields; all others there are somebody's own."""

    model: type[M]
    read: Callable[[Mapping[str, Any], Tell], dict[str, Any]]
    write: Callable[[M], dict[str, Any]]
    meant: frozenset[str] = frozenset()

    def again(self, raw: Mapping[str, Any], like: M) -> M:
        """Read raw data as a model; an entry's uid is that of another, since it stands elsewhere."""
        known: dict[str, Any] = {"uid": like.uid} if isinstance(like, WorldbookEntry) else {}
        return self.made({**self.read(raw, _silent), **known})

    def made(self, fields: Mapping[str, Any]) -> M:
        try:
            return self.model.model_validate(fields)
        except ValidationError as error:
            uid = fields.get("uid")
            whose = "" if uid is None else f"entry {faults.shown(uid)}: "
            said = faults.lines(faults.found(error, fields, self.model))
            raise InvalidArgumentError(f"the world book cannot be read: {whose}{said}", argument="data") from error


def _silent(code: str, message: str) -> None:
    """Take no notice."""


def dialect_of(data: Any) -> Dialect:
    """Return the dialect of a file; InvalidArgumentError where it is none."""
    if isinstance(data, dict):
        if data.get("spec") in _SPECS:
            return _SPECS[data["spec"]]
        if isinstance(data.get("data"), dict) and "character_book" in data["data"]:
            return "character_card_v2"
        entries = data.get("entries")
        if isinstance(entries, dict):
            return "sillytavern"
        if isinstance(entries, list):
            first = entries[0] if entries and isinstance(entries[0], dict) else {}
            if "key" in first:
                return "sillytavern"
            return "character_card_v3" if "use_regex" in first else "character_card_v2"
    raise InvalidArgumentError(
        "this is no world book: expected {entries: {…}} of SillyTavern, a character card with a character_book, or "
        "{spec: lorebook_v3}",
        argument="data",
    )


def _known(dialect: Dialect) -> Dialect:
    known = get_args(Dialect)
    if dialect not in known:
        raise InvalidArgumentError(faults.none_of(dialect, known), argument="dialect", value=dialect)
    return dialect


def import_worldbook(
    data: Mapping[str, Any],
    dialect: Dialect | Literal["auto"] = "auto",
    *,
    id: str | None = None,  # noqa: A002
    name: str | None = None,
) -> ImportReport:
    """Read a world book from the plain data of a file; what is handed in is left as it is.

    Without `id` and `name` the book goes by the name it has in the file.
    """
    known = dialect_of(data) if dialect == "auto" else _known(dialect)
    try:
        wrong = tuple(faults.no_json(data))
        frame, raw = _unframed(copy.deepcopy(dict(data)), known)
    except RecursionError as error:
        raise InvalidArgumentError("the world book is nested too deep", argument="data") from error
    if wrong:
        raise InvalidArgumentError(f"the world book cannot be read:\n{faults.lines(wrong)}", argument="data")
    told: list[Difference] = []
    listed = isinstance(raw["entries"], list)
    top = {key: value for key, value in raw.items() if key != "entries"}
    form = _book_form(known)
    pairs = _raw_entries(raw["entries"])
    entries = [_import_entry(uid, entry, known, told) for uid, entry in pairs]
    there = {} if listed else {uid: key for (uid, _), key in zip(pairs, raw["entries"], strict=True) if uid != key}
    book = _taken_in(form, known, top, _silent, {"entries": entries})
    named = {key: value for key, value in (("id", id), ("name", name)) if value is not None}
    book = form.made({**dict(book), **named})
    file = _File(known, frame, listed, there, {"id": book.id, "name": book.name})
    kept = {**_kept(book), "file": asdict(file)}
    book = book.model_copy(update={"extensions": {**book.extensions, OURS: kept}})
    general = [Difference(code, "", message) for code, message in _general(top, known, book)]
    return ImportReport(book, known, (*general, *told))


def export_worldbook(book: Worldbook, dialect: Dialect) -> dict[str, Any]:
    """Return the plain data of a file in a dialect; a book that was read from it gives the same file again."""
    kept = _kept(book)
    form = _book_form(_known(dialect))
    file = _read_from(kept, dialect)
    if file is None:
        file = _File(dialect, {"spec": dialect} if dialect == "lorebook_v3" else None, dialect != "sillytavern")
    else:
        # A name that the importer gave is no change of the file.
        before = form.again(kept["sources"][dialect], book)
        given = {name for name, value in file.given.items() if getattr(book, name) == value}
        book = book.model_copy(update={name: getattr(before, name) for name in given})
    raw = _given_out(form, dialect, book)
    entries = {entry.uid: _export_entry(entry, dialect) for entry in book.entries}
    if file.listed:
        raw["entries"] = [*entries.values()]
        for (uid, entry), (written, _) in zip(entries.items(), _raw_entries(raw["entries"]), strict=True):
            if uid != written:
                _keep(entry, fields={"uid": uid})
    else:
        raw["entries"] = {file.keys.get(uid, uid): entry for uid, entry in entries.items()}
    return _framed(file.frame, raw)


def _taken_in(form: _Form[M], dialect: Dialect, raw: dict[str, Any], tell: Tell, more: Mapping[str, Any]) -> M:
    """Make a model of raw data. The model keeps the data, and what earlier dialects had said in it."""
    extensions = raw.get("extensions")
    every = dict(extensions) if isinstance(extensions, dict) else {}
    ours = _ours(every)
    if ours:
        del every[OURS]
    own = {name: value for name, value in every.items() if name not in form.meant and name != OURS}
    source = {**raw, "extensions": every} if isinstance(extensions, dict) else raw
    kept = {"sources": {**ours.get("sources", {}), dialect: source}}
    fields = {**form.read(raw, tell), **more, **ours.get("fields", {})}
    return form.made({**fields, "extensions": {**own, OURS: kept}})


def _ours(extensions: Any) -> dict[str, Any]:
    """What we kept in a file; a thing of that name that we did not write is somebody's own."""
    ours = extensions.get(OURS) if isinstance(extensions, dict) else None
    return ours if isinstance(ours, dict) and not ours.keys() - {"sources", "fields"} and _is_whole(ours) else {}


def _is_whole(ours: Mapping[str, Any]) -> bool:
    sources, fields = ours.get("sources", {}), ours.get("fields", {})
    by_dialect = isinstance(sources, dict) and sources.keys() <= set(get_args(Dialect))
    return by_dialect and all(isinstance(source, dict) for source in sources.values()) and isinstance(fields, dict)


def _given_out(form: _Form[M], dialect: Dialect, model: M) -> dict[str, Any]:
    """Make raw data of a model: the data it was read from with what has changed since, or new data."""
    own = {name: copy.deepcopy(value) for name, value in model.extensions.items() if name != OURS}
    sources = dict(_kept(model).get("sources", {}))
    source = sources.pop(dialect, None)
    raw = form.write(model)
    if source is not None:
        unchanged = form.write(form.again(source, model))
        base = copy.deepcopy(source)
        extensions = base.get("extensions")
        if own or isinstance(extensions, dict):
            theirs = extensions if isinstance(extensions, dict) else {}
            meant = {name: value for name, value in theirs.items() if name in form.meant or name == OURS}
            base["extensions"] = {**own, **meant}
        raw = _overlaid(base, raw, unchanged)
    elif own:
        raw["extensions"] = {**own, **raw.get("extensions", {})}
    after = form.again(raw, model)
    lost = {
        name: value
        for name, value in model.model_dump(mode="json", exclude={"extensions", "entries"}).items()
        if getattr(after, name) != getattr(model, name)
    }
    if sources:
        _keep(raw, sources=sources)
    if lost:
        _keep(raw, fields=lost)
    return raw


def _overlaid(base: dict[str, Any], now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Carry over into base what differs between two ways to write a model."""
    for name in {**before, **now}:
        new, old = now.get(name, _GONE), before.get(name, _GONE)
        if name == "extensions" and isinstance(new, dict) and isinstance(old, dict):
            theirs = base.get(name)
            inner = _overlaid(dict(theirs) if isinstance(theirs, dict) else {}, new, old)
            if inner or isinstance(theirs, dict):
                base[name] = inner
        elif new is _GONE and old is not _GONE:
            base.pop(name, None)
        elif new != old:
            base[name] = new
    return base


def _kept(model: Worldbook | WorldbookEntry) -> dict[str, Any]:
    """What an importer kept in a model; in one that was written by hand anything may stand there."""
    kept = model.extensions.get(OURS)
    return dict(kept) if isinstance(kept, dict) and _is_whole(kept) else {}


def _read_from(kept: Mapping[str, Any], dialect: Dialect) -> _File | None:
    """The file that a book was read from, if it was one of this dialect."""
    try:
        file = _File(**kept["file"])
    except (KeyError, TypeError, ValidationError):
        return None
    return file if file.dialect == dialect and dialect in kept.get("sources", {}) else None


def _keep(raw: dict[str, Any], **what: dict[str, Any]) -> None:
    """Put something of ours into raw data."""
    extensions = raw.get("extensions")
    raw["extensions"] = extensions = extensions if isinstance(extensions, dict) else {}
    ours = extensions[OURS] = _ours(extensions)
    for name, value in what.items():
        ours[name] = {**ours.get(name, {}), **value}


def _unframed(data: dict[str, Any], dialect: Dialect) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Take the book out of the card or envelope around it."""
    frame: dict[str, Any] | None = None
    raw: Any = data
    if dialect == "lorebook_v3":
        raw, frame = data.pop("data", None), data
    elif dialect != "sillytavern" and isinstance(data.get("data"), dict):
        raw, frame = data["data"].pop("character_book", None), data
    if not isinstance(raw, dict) or not isinstance(raw.get("entries"), (dict, list)):
        raise InvalidArgumentError("there is no book with entries in it", argument="data")
    return frame, raw


def _framed(frame: Mapping[str, Any] | None, raw: dict[str, Any]) -> dict[str, Any]:
    if frame is None:
        return raw
    data = copy.deepcopy(dict(frame))
    if isinstance(data.get("data"), dict):
        data["data"]["character_book"] = raw
    else:
        data["data"] = raw
    return data


def _raw_entries(entries: Mapping[str, Any] | list[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return raw entries with their uids: SillyTavern's own keys, in a list the ids, or the places without them."""
    if isinstance(entries, list):
        pairs = [(_own_id(entry, place), entry) for place, entry in enumerate(entries)]
    else:
        pairs = [(str(key) or "0", entry) for key, entry in entries.items()]
    if wrong := [uid for uid, entry in pairs if not isinstance(entry, dict)]:
        raise InvalidArgumentError(f"entries that are no mappings: {', '.join(wrong)}", argument="data")
    unique: dict[str, dict[str, Any]] = {}
    taken = {uid for uid, _ in pairs}
    for place, (uid, entry) in enumerate(pairs):
        known = uid
        while known in unique:
            known = next(name for n in count(place) if (name := f"{uid}#{n}") not in taken)
            taken.add(known)
        unique[known] = entry
    return list(unique.items())


def _own_id(entry: Any, place: int) -> str:
    known = entry.get("id", entry.get("uid")) if isinstance(entry, dict) else None
    return str(known) if known is not None and str(known) else str(place)


def _import_entry(uid: str, raw: dict[str, Any], dialect: Dialect, told: list[Difference]) -> WorldbookEntry:
    def tell(code: str, message: str) -> None:
        told.append(Difference(code, uid, message))

    entry = _taken_in(_entry_form(dialect), dialect, raw, tell, {"uid": uid})
    for code, message in _particular(entry):
        tell(code, message)
    return entry


def _export_entry(entry: WorldbookEntry, dialect: Dialect) -> dict[str, Any]:
    raw = _given_out(_entry_form(dialect), dialect, entry)
    source = _kept(entry).get("sources", {}).get(dialect)
    if source is None:
        name = "uid" if dialect == "sillytavern" else "id"
        return {name: int(entry.uid), **raw} if entry.uid.isdecimal() else raw
    if dialect != "character_card_v2" and raw.get("content") != source.get("content"):
        raw["content"] = decorators.header_of(source.get("content")) + entry.content
    return raw


def _entry_form(dialect: Dialect) -> _Form[WorldbookEntry]:
    if dialect == "sillytavern":
        return _Form(WorldbookEntry, sillytavern.read, sillytavern.write)
    version = 2 if dialect == "character_card_v2" else 3
    return _Form(
        WorldbookEntry,
        lambda raw, tell: cards.read(raw, tell, version=version),
        lambda entry: cards.write(entry, version=version),
        cards.MEANT,
    )


def _book_form(dialect: Dialect) -> _Form[Worldbook]:
    of_cards = dialect != "sillytavern"

    def read(raw: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        reading = sillytavern.Reading(raw, tell)
        name = reading.text("name") or "world book"
        fields: dict[str, Any] = {
            "id": name.replace("/", "-"),
            "name": name,
            "scan_depth": reading.number("scan_depth", 4) if of_cards else 2,
            "recursive": reading.flag("recursive_scanning", False) if of_cards else False,
            "max_recursion_steps": None,
            "match_whole_words": False,
        }
        if of_cards and raw.get("token_budget") is not None:
            fields["token_budget"] = reading.number("token_budget", 0)
        return fields

    def write(book: Worldbook) -> dict[str, Any]:
        if not of_cards:
            return {}
        written = {"name": book.name, "scan_depth": book.scan_depth, "recursive_scanning": book.recursive}
        budget = {} if book.token_budget is None else {"token_budget": book.token_budget}
        return {**written, **budget, "extensions": {}}

    return _Form(Worldbook, read, write)


def _particular(entry: WorldbookEntry) -> Iterator[tuple[str, str]]:
    """What one entry means differently here."""
    way = keys.Way(bool(entry.case_sensitive), bool(entry.match_whole_words), entry.use_regex)
    every = (*entry.keys, *entry.secondary_keys)
    if [key for key in every if keys.pattern_of(key, way)]:
        yield "regex-key", "expressions run on RE2: no look-around, no references back; \\w and \\b know ASCII only"
    for key in every:
        if why := keys.ready(key, way).fault:
            yield "regex-fault", f"{key!r} never matches here: {why}"
    if entry.match_whole_words and any(len(key.split()) > 1 for key in every):
        yield "whole-words", "a key of several words has its borders looked at too; there it is found inside words"
    if entry.position in ("an_top", "an_bottom"):
        yield (
            "author-note",
            "a block of the system message here; there it stands around the author's note, or not at all",
        )
    if entry.position in ("em_top", "em_bottom"):
        yield "examples", "it stands around the history here; there around the example messages"
    if entry.probability < 100:
        percent = f"{entry.probability:g} of 100"
        yield "probability", f"{percent} in every program; those that read 1 or less as a share would always take it"
    if entry.sticky:
        yield "sticky", f"{entry.sticky} counts the message at which it comes up: {entry.sticky - 1} more follow"


def _general(raw: Mapping[str, Any], dialect: Dialect, book: Worldbook) -> Iterable[tuple[str, str]]:
    """What a whole file means differently here, or in the program that the guide describes."""
    entries = book.entries
    yield "order", "in a block, higher order stands nearer the end, as there; entry_order: descending turns it round"
    yield "budget", "what does not fit is passed over and smaller ones still come in; there the first one ends it"
    yield "names", "keys are not looked for in the names of speakers; there they are"
    if dialect == "sillytavern":
        yield (
            "settings",
            "scan depth 2 and no recursion are its settings for all books; set the book's as yours are there",
        )
        if any("scan_depth" in entry.model_fields_set and entry.scan_depth == 0 for entry in entries):
            yield "scan-depth", "scan depth 0 looks into topic prompt, enhanced prompt and recursion alone"
    else:
        if raw.get("recursive_scanning") is None:
            yield "recursion", "the book does not say whether it recurses: it does not"
        if raw.get("scan_depth") is None:
            yield "scan-depth", "the book has no scan depth: 4"
    if any(entry.priority is not None for entry in entries):
        yield "priority", "it decides who stays under a budget and never the order"
    if any(entry.position == "at_depth" for entry in entries):
        yield "depth", "without depth or role an entry stands at 4 as system; those at one depth go by order, then role"
    if any(entry.group for entry in entries):
        yield "groups", "a group has one winner in its book, for the whole assembly; weights are 100 unless given"
    if any(entry.logic in ("not_any", "not_all") and entry.secondary_keys for entry in entries):
        yield "score", "secondary keys under NOT add nothing to an entry's score"
