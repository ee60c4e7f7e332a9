"""Prompts made of parts: everything that a prompt includes, looked up where the prompt itself was, and what is wrong.

A part is named by its key and found through the same chain, so a tenant's override of a part reaches every prompt that
includes it, for that tenant alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ovstore import checking, names, rendering
from ovstore.db import above
from ovstore.layering import FoldError
from ovstore.rendering import TemplateFinding
from ovstore.steps import Prospect, fold_chain

Fetch = Callable[[str], Mapping[str, Any] | None]
"""From the key of a part to its folded document; None where there is no such prompt."""

Includes = Mapping[str, set[str]]
"""By the key of a prompt the keys of the parts that it includes, in whatever scope that sees the steps."""


def gather(key: str, data: Mapping[str, Any], fetch: Fetch) -> dict[str, Mapping[str, Any]]:
    """Return a prompt and every part below it that exists, by key."""
    documents: dict[str, Mapping[str, Any]] = {key: data}
    todo = list(checking.parts_of("prompt", data))
    while todo:
        part = todo.pop(0)
        if part in documents or names.is_memory_key(part):
            continue
        found = fetch(part)
        if found is not None:
            documents[part] = found
            todo += checking.parts_of("prompt", found)
    return documents


def wrong(
    prospect: Prospect, scope: str, key: str, data: Mapping[str, Any], *, after: bool
) -> tuple[TemplateFinding, ...]:
    """Return what is wrong with the parts of a prompt as a scope sees them, before or after the steps.

    Raises FoldError where one of the parts makes no document.
    """
    if not checking.parts_of("prompt", data):
        return ()

    def fetch(part: str) -> Mapping[str, Any] | None:
        folded = fold_chain(scope, prospect.look(scope, part, after=after))
        return folded.data if folded is not None and folded.kind == "prompt" else None

    return rendering.check_parts(key, gather(key, data, fetch))


def newly_wrong(prospect: Prospect, scope: str, key: str) -> str:
    """Say what would be wrong with a prompt's parts after the steps; empty where it is fine or was wrong before.

    What does not even fold is said of the patch that does not.
    """
    found: list[str] = []
    for after in (True, False):
        try:
            folded = fold_chain(scope, prospect.look(scope, key, after=after))
            if folded is None or folded.kind != "prompt":
                return ""
            findings = wrong(prospect, scope, key, folded.data, after=after)
        except FoldError:
            return ""
        found.append("; ".join(f.message for f in findings if f.severity == "error"))
    return found[0] if found[0] and not found[1] else ""


def includes(prospect: Prospect) -> Includes:
    """Return what includes what around the keys that the steps move: up to every user, and from there down to all."""
    moved = {key for _, key in prospect.moved if not names.is_memory_key(key)}
    pairs = {
        (key, part)
        for (_, key), version in prospect.moved.items()
        if version is not None
        for part in checking.parts_of(version.kind, version.data)
    }
    scopes = None if prospect.above is None else [*prospect.above, *(stand.id for stand in prospect.stands.values())]
    if moved:
        pairs |= above.includes_around(prospect.conn, sorted(moved), scopes)
    known = set(moved)
    while todo := {user for user, part in pairs if part in known} - known:
        known |= todo
        pairs |= above.users_of(prospect.conn, sorted(todo), scopes)
    seen = set(moved)
    while todo := (known | {part for _, part in pairs}) - seen:
        seen |= todo
        pairs |= above.parts_of(prospect.conn, sorted(todo), scopes)
    found: dict[str, set[str]] = {}
    for user, part in pairs:
        found.setdefault(user, set()).add(part)
    return found


def users_of(key: str, included: Includes) -> set[str]:
    """Return a prompt's key and those of all that include it, directly or through other parts."""
    users = {key}
    grown = True
    while grown:
        more = {user for user, parts in included.items() if user not in users and parts & users}
        users |= more
        grown = bool(more)
    return users


def made_of(keys: Iterable[str], included: Includes) -> set[str]:
    """Return the keys and those of all parts below them."""
    found: set[str] = set()
    todo = set(keys)
    while todo:
        found |= todo
        todo = {part for key in todo for part in included.get(key, ())} - found
    return found
