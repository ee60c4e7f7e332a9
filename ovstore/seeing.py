"""What a chain has for keys, read from the database and explained: now, in the past, or of one version.

It is looked up in one of three ways: what labels say now (one statement), what they said at a revision or a time
(`at`), or one named version on the live layers below it (`version`). The rest is the same for all three. What is
served now without asking twice is the business of `ovstore.resolver`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from ovstore import caching, changes, layering, names
from ovstore.caching import Layered
from ovstore.db import Connection, log, read
from ovstore.db.engines import Database
from ovstore.db.read import Stand
from ovstore.errors import InvalidArgumentError, NotFoundError
from ovstore.layering import Folded, FoldError, LayerVersion
from ovstore.names import LIVE, Kind
from ovstore.results import Explanation, Finding, Layer, Listing

At = datetime | str | None


@dataclass(frozen=True, slots=True)
class Question:
    """What a caller asks of a scope; at most one of `at` and `version`, and no label beside a version."""

    scope: str
    label: str = LIVE
    at: At = None
    version: object = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What the chain has for the keys that were asked for, and where its scopes stood."""

    question: Question
    stands: Mapping[str, Stand]
    layers: Mapping[str, Mapping[str, LayerVersion]]
    revision: str

    @property
    def scope(self) -> str:
        return self.question.scope


def ask(scope: str, *, label: object = LIVE, at: object = None, version: object = None) -> Question:
    """Check the arguments that every reading method takes."""
    if version is not None and (at is not None or label != LIVE):
        raise InvalidArgumentError(
            "version= names one version by itself: give it without label= and at=", argument="version", value=version
        )
    if isinstance(at, datetime):
        if at.tzinfo is None or at.utcoffset() is None:
            raise InvalidArgumentError(
                f"at={at.isoformat()} has no time zone: give an aware time (datetime.now(timezone.utc))",
                argument="at",
                value=at,
            )
        if log.to_us(at) > time.time_ns() // 1000:
            raise InvalidArgumentError(
                f"at={at.isoformat()} is in the future: nobody knows what will be served then",
                argument="at",
                value=at,
            )
    elif at is not None and not isinstance(at, str):
        raise InvalidArgumentError(
            f"at is a revision or an aware time, not {type(at).__name__}", argument="at", value=at
        )
    return Question(scope, names.check_label(label), at, version)


def see(database: Database, question: Question, keys: Sequence[str] | None) -> Seen:
    """Look up what the chain has: one statement, but for a past state, a single version or very many keys."""
    if question.at is None and question.version is None and len(keys or ()) <= read.CHUNK:
        with database.look() as conn:
            return _see_now(conn, question, keys)
    with database.read() as conn:
        if question.at is not None:
            return _see_past(conn, question, question.at, keys)
        if question.version is not None:
            return _see_version(conn, question, keys)
        return _see_now(conn, question, keys)


def see_two(database: Database, before: Question, after: Question, *, key: str) -> tuple[Seen, Seen]:
    """Look up two single versions at one moment."""
    with database.read() as conn:
        return _see_version(conn, before, [key]), _see_version(conn, after, [key])


def _see_now(conn: Connection, question: Question, keys: Sequence[str] | None) -> Seen:
    chain = names.chain(question.scope)
    view = read.chain(conn, chain, question.label, keys)
    return Seen(question, view.stands, view.layers, revision_of(chain, view.stands))


def revision_of(chain: Iterable[str], stands: Mapping[str, Stand]) -> str:
    """Return where the scopes of a chain stand; one that does not exist has no entry yet."""
    marks = (stands[name].mark if name in stands else names.mark(name, 0, names.NO_HEAD) for name in chain)
    return names.revision_text(marks)


def _see_past(conn: Connection, question: Question, at: datetime | str, keys: Sequence[str] | None) -> Seen:
    chain = names.chain(question.scope)
    stands = read.stands(conn, chain)
    until = times_of(conn, stands, question)
    if isinstance(at, datetime):
        marks = [
            log.last_at(conn, stands[name], until[name]) if name in stands else names.mark(name, 0, names.NO_HEAD)
            for name in chain
        ]
    else:
        given = _marks_for(question.scope, at)
        marks = [given[name] for name in chain]
    layers = read.chain_as_of(conn, stands, until, question.label, keys)
    return Seen(question, stands, layers, names.revision_text(marks))


def times_of(conn: Connection, stands: Mapping[str, Stand], question: Question) -> dict[str, int]:
    """Return for each scope of the chain the time (µs) up to which its entries count; a revision names entries."""
    if isinstance(question.at, datetime):
        return dict.fromkeys(stands, log.to_us(question.at))
    if question.at is None:
        raise InvalidArgumentError("a revision or an aware time is needed", argument="to")
    given = _marks_for(question.scope, question.at)
    for name in names.chain(question.scope):
        if name not in stands and given[name].seq:
            raise _unknown_mark(given[name])
    return {name: time_of(conn, stand, given[name]) for name, stand in stands.items() if name in given}


def _marks_for(scope: str, revision: str) -> Mapping[str, names.Mark]:
    marks = names.revision_marks(revision)
    chain = names.chain(scope)
    missing = [name for name in chain if name not in marks]
    strange = [name for name in marks if name not in chain and not name.startswith(scope + "/")]
    if missing or strange:
        said = ", ".join(marks)
        raise InvalidArgumentError(
            f"the revision speaks of {said}; an answer for {scope} comes from {', '.join(chain)}",
            argument="at",
            value=revision,
        )
    return marks


def time_of(conn: Connection, stand: Stand, mark: names.Mark) -> int:
    """Return the time (µs) of the entry that a revision names; before the first entry nothing was there."""
    if mark.seq == 0:
        if mark.head != names.NO_HEAD.hex()[:16]:
            raise _unknown_mark(mark)
        return -1
    position = log.position(conn, stand, mark.seq)
    if position is None or position[1].hex()[:16] != mark.head:
        raise _unknown_mark(mark)
    return position[0]


def _unknown_mark(mark: names.Mark) -> NotFoundError:
    return NotFoundError(
        f"{mark} is not in this store's log: the revision is of another store, or of one that was restored since",
        what="revision",
        name=str(mark),
    )


def _see_version(conn: Connection, question: Question, keys: Sequence[str] | None) -> Seen:
    reference = names.version_ref(question.version)
    chain = names.chain(question.scope)
    scope = reference.scope or question.scope
    key = (keys or ("",))[0]
    view = read.chain(conn, chain, LIVE, [key])
    named = None
    if scope in chain and scope in view.stands:
        named = read.versions(conn, view.stands[scope], [(key, reference.number)]).get((key, reference.number))
    if named is None:
        raise _no_version(conn, question, view, key, scope, reference.number)
    below = {name: layer for name, layer in view.layers.get(key, {}).items() if name in names.chain(scope)[1:]}
    return Seen(question, view.stands, {key: {scope: named} | below}, revision_of(chain, view.stands))


def _no_version(
    conn: Connection, question: Question, view: read.ChainView, key: str, scope: str, number: int
) -> NotFoundError:
    chain = names.chain(question.scope)
    if not view.layers.get(key) and not log.keys_moved(conn, view.stands.values(), [key]):
        return _not_found(conn, question, key, view.stands)
    if scope not in chain:
        why = f"{scope} is not in the chain of {question.scope} ({', '.join(chain)})"
    else:
        last = read.last_numbers(conn, view.stands[scope], [key]).get(key) if scope in view.stands else None
        why = (
            "it has no version there"
            if not last
            else f"its versions there are 1 to {last}"
            if last > 1
            else "1 is its only one"
        )
    known = [names.refer(name, layer.number) for name, layer in view.layers.get(key, {}).items()]
    live = f"; live in the chain: {', '.join(known)}" if known else ""
    return NotFoundError(f"{key} has no version {number} in {scope}: {why}{live}", what="version", name=str(number))


def fold(seen: Seen, key: str) -> Folded:
    """Fold what was seen for a key; the caller knows that something was."""
    ordered = [seen.layers[key][name] for name in names.chain(seen.question.scope) if name in seen.layers[key]]
    try:
        return layering.fold(ordered)
    except FoldError as error:
        raise caching.invalid(key, ordered, [Finding("patch-does-not-apply", "error", str(error))]) from error


def layers_of(
    chain: Sequence[str], label: str, key: str, layers: Mapping[str, Layered], folded: Folded
) -> tuple[Layer, ...]:
    """Say of every scope of a chain what it has for a key and why it did or did not take part."""
    used = {layer.scope for layer in folded.used}
    lies_on = {layer.scope: lower for layer, lower in pairwise(folded.used)}
    base = folded.used[-1]
    found: list[Layer] = []
    for name in chain:
        layer = layers.get(name)
        if layer is None:
            asked = "" if label == LIVE else f" under {label} or live"
            found.append(Layer(name, None, None, None, False, f"has no version of {key}{asked}"))
            continue
        if name == base.scope:
            why = "the nearest full document"
        elif name in used:
            why = f"patches {lies_on[name]}"
        else:
            why = f"hidden by the full document {base}"
        found.append(
            Layer(
                name,
                layer.label,
                layer.number,
                layer.mode,
                name in used,
                why,
                layer.source_hash.hex(),
                layer.document_hash.hex(),
            )
        )
    return tuple(found)


def explanation(seen: Seen, key: str) -> Explanation:
    """Tell every layer, where each field came from, and whether callers of what is overridden are still served."""
    folded = fold(seen, key)
    hidden = {n: layer for n, layer in seen.layers[key].items() if n != folded.used[0].scope}
    below = [hidden[name] for name in names.chain(seen.question.scope) if name in hidden]
    contract: tuple[str, ...] = ()
    if below:
        try:
            contract = changes.broken_between(layering.fold(below), folded)
        except FoldError as error:
            contract = (f"what lies below makes no document: {error}",)
    told = layers_of(names.chain(seen.scope), seen.question.label, key, seen.layers[key], folded)
    return Explanation(key, seen.revision, told, folded.fields, contract)


def not_found(database: Database, question: Question, key: str) -> NotFoundError:
    """Say that no layer knows a key, with near names from that chain only."""
    with database.read() as conn:
        return _not_found(conn, question, key, read.stands(conn, names.chain(question.scope)))


def _not_found(conn: Connection, question: Question, key: str, stands: Mapping[str, Stand]) -> NotFoundError:
    known = read.keys(conn, stands.values())
    near = () if key in known else names.near(key, known)
    chain = ", ".join(names.chain(question.scope))
    when = "" if question.at is None else " at that time"
    return NotFoundError(f"no layer of {question.scope} ({chain}) knows {key}{when}", what="key", name=key, near=near)


def check_label_known(database: Database, seen: Seen) -> None:
    """Refuse a label that the chain never had for any key: a mistyped lens would silently show what is live."""
    label = seen.question.label
    if label == LIVE or any(layer.label == label for at in seen.layers.values() for layer in at.values()):
        return
    with database.read() as conn:
        known = read.label_names(conn, read.stands(conn, names.chain(seen.scope)).values())
    if label not in known:
        raise no_label(seen.scope, label, known)


def no_label(scope: str, label: str, known: Iterable[str]) -> NotFoundError:
    return NotFoundError(
        f"no layer of {scope} has the label {label} for any key",
        what="label",
        name=label,
        near=names.near(label, known),
    )


def listings(
    seen: Seen, *, kind: Kind | None, category: str | None, stage: str | None, enabled: bool | None
) -> tuple[Listing, ...]:
    """List what was seen, sorted by category and key; stage and enabled are questions about memory schemas alone."""
    rows = (_listing(seen, key) for key in sorted(seen.layers))
    chosen = [
        listing
        for listing, data in rows
        if (kind is None or listing.kind == kind)
        and (category is None or listing.category == category)
        and (stage is None or (listing.kind == "memory" and data.get("stage", "user") == stage))
        and (enabled is None or (listing.kind == "memory" and data.get("enabled", True) == enabled))
    ]
    return tuple(sorted(chosen, key=lambda listing: (listing.category, listing.key)))


def _listing(seen: Seen, key: str) -> tuple[Listing, Mapping[str, object]]:
    folded = fold(seen, key)
    nearest = folded.used[0]
    described = folded.data.get("metadata", folded.data).get("description", "")
    listing = Listing(key, folded.kind, nearest.category, nearest.scope, nearest.number, nearest.mode, described)
    return listing, folded.data
