"""What happened: versions, history, audit, differences between versions, heads and tenants. History and audit are
the same rows, read through different filters; everything comes newest first.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from ovstore import changes, documents, grammar, names, seeing
from ovstore.db import above, log, read
from ovstore.db.engines import Database
from ovstore.db.log import Wanted
from ovstore.errors import InvalidArgumentError
from ovstore.layering import Folded
from ovstore.results import Diff, Entry, Tenant, Version


def versions(database: Database, scope: str, key: str) -> tuple[Version, ...]:
    """Return every version of a key in the whole chain: nearest scope first, newest first in each."""
    chain = names.chain(scope)
    with database.read() as conn:
        stands = read.stands(conn, chain)
        found = log.versions(conn, [stands[name] for name in chain if name in stands], key)
    if not found:
        raise seeing.not_found(database, seeing.Question(scope), key)
    return tuple(found)


def history(database: Database, scope: str, key: str) -> tuple[Entry, ...]:
    """Return every entry of a key in the whole chain, newest first."""
    with database.read() as conn:
        found = log.of_key(conn, read.stands(conn, names.chain(scope)).values(), key)
    if not found:
        raise seeing.not_found(database, seeing.Question(scope), key)
    return tuple(found)


def audit(
    database: Database,
    scopes: tuple[str, ...] | None,
    *,
    key: object = None,
    category: object = None,
    actor: object = None,
    action: str | None = None,
    field: object = None,
    risk: object = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Iterator[Entry]:
    """Yield the entries that match, newest first, reading a page at a time; `scopes` None is every scope."""
    if action is not None:
        names.check_choice(action, names.ACTIONS, "action")
    wanted = Wanted(
        key=None if key is None else names.check_key(key),
        category=None if category is None else names.check_text(category, "category"),
        actor=None if actor is None else names.check_actor(actor),
        action=action,
        field=None if field is None else _field(field),
        risk=None if risk is None else names.RISKS.index(names.check_risk(risk, "risk")),
        since=None if since is None else _aware("since", since),
        until=None if until is None else _aware("until", until),
    )
    return _entries(database, scopes, wanted)


def _entries(database: Database, scopes: Sequence[str] | None, wanted: Wanted) -> Iterator[Entry]:
    """Each page is a read of its own, so that a slow reader holds no snapshot open; an append-only log allows it."""
    if scopes is not None:
        with database.read() as conn:
            stands = read.stands(conn, scopes)
        wanted = replace(wanted, scopes=tuple(stand.id for stand in stands.values()))
    after: log.Position | None = None
    while True:
        with database.read() as conn:
            page, after = log.page(conn, wanted, after)
        yield from page
        if after is None:
            return


FIELDS: Final = frozenset({changes.DOCUMENT} | {path[-1] for kind in grammar.GRAMMAR for path, _ in grammar.walk(kind)})
"""What a changed field can be called in the log: the keys of the grammar, and `document` for a whole one."""


def _field(field: object) -> str:
    """Return a field that can be in the log; a mistyped one would read as "nobody changed it"."""
    if isinstance(field, str) and field in FIELDS:
        return field
    near = names.near(str(field), FIELDS)
    raise InvalidArgumentError(
        f"{field!r} is not a field of a document, such as merge_op, template or llm_config, which stands for all in it"
        + (f"; did you mean {' or '.join(near)}?" if near else ""),
        argument="field",
        value=field,
    )


def _aware(argument: str, moment: object) -> int:
    if not isinstance(moment, datetime):
        raise InvalidArgumentError(
            f"{argument} is an aware datetime, not {type(moment).__name__}", argument=argument, value=moment
        )
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise InvalidArgumentError(
            f"{argument}={moment.isoformat()} has no time zone: give an aware time", argument=argument, value=moment
        )
    return log.to_us(moment)


def diff(database: Database, scope: str, key: str, before: object, after: object) -> Diff:
    """Compare two versions as they fold on the live layers below each: fields by path, and the text of both."""
    for argument, reference in (("before", before), ("after", after)):
        names.version_ref(reference, argument)
    asked = seeing.ask(scope, version=before), seeing.ask(scope, version=after)
    old, new = (seeing.fold(seen, key) for seen in seeing.see_two(database, *asked, key=key))
    found = changes.between(old, new)
    lines = difflib.unified_diff(
        documents.generate(old.data).decode().splitlines(keepends=True),
        documents.generate(new.data).decode().splitlines(keepends=True),
        _named(key, old),
        _named(key, new),
    )
    return Diff(found, "".join(lines))


def _named(key: str, folded: Folded) -> str:
    return f"{key} {names.refer(folded.used[0].scope, folded.used[0].number)}"


def heads(database: Database, scopes: Sequence[str] | None = None) -> Mapping[str, str]:
    """Return `sequence.hash` of each scope's last entry, to be kept where the database's owner cannot reach."""
    with database.read() as conn:
        stands = read.stands_everywhere(conn) if scopes is None else read.stands(conn, scopes)
    return {name: f"{stand.seq}.{stand.head.hex()}" for name, stand in stands.items() if stand.seq}


def tenants(database: Database) -> tuple[Tenant, ...]:
    """Return every tenant and workspace that was ever written to, by name."""
    with database.read() as conn:
        stands = read.stands_everywhere(conn)
        counts = above.overrides(conn)
    found = [
        Tenant(name, counts.get(stand.id, 0), log.from_us(stand.last_at), str(stand.mark))
        for name, stand in stands.items()
        if name not in (names.SEED, names.GLOBAL) and stand.seq
    ]
    return tuple(sorted(found, key=lambda tenant: tenant.name))
