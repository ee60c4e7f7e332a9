"""Prompts made of parts: everything that a prompt includes, looked up where the prompt itself was, and what is wrong.

A part is named by its key and found through the same chain, so a tenant's override of a part reaches every prompt that
includes it, for that tenant alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ovstore import checking, names, rendering
from ovstore.db import Connection, read
from ovstore.db.read import User
from ovstore.layering import FoldError
from ovstore.rendering import TemplateFinding
from ovstore.steps import Prospect, fold_chain

Fetch = Callable[[str], Mapping[str, Any] | None]
"""From the key of a part to its folded document; None where there is no such prompt."""


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
    """Return what is wrong with the parts of a prompt as a scope sees them, before or after the steps."""
    if not checking.parts_of("prompt", data):
        return ()

    def fetch(part: str) -> Mapping[str, Any] | None:
        folded = fold_chain(scope, prospect.look(scope, part, after=after))
        return folded.data if folded is not None and folded.kind == "prompt" else None

    return rendering.check_parts(key, gather(key, data, fetch))


def newly_wrong(prospect: Prospect, scope: str, key: str) -> str:
    """Say what would be wrong with a prompt's parts after the steps; empty where it is fine or was wrong before."""
    found: list[str] = []
    for after in (True, False):
        try:
            folded = fold_chain(scope, prospect.look(scope, key, after=after))
        except FoldError:
            return ""
        if folded is None or folded.kind != "prompt":
            return ""
        findings = wrong(prospect, scope, key, folded.data, after=after)
        found.append("; ".join(f.message for f in findings if f.severity == "error"))
    return found[0] if found[0] and not found[1] else ""


def users(conn: Connection, key: str) -> list[User]:
    """Return every live prompt that includes a part, directly or through other parts."""
    found: dict[tuple[str, str], User] = {}
    reached = {key}
    todo = [key]
    while todo:
        level = read.users_everywhere(conn, todo)
        todo = []
        for user in level:
            found.setdefault((user.stand.name, user.key), user)
            if user.key not in reached:
                reached.add(user.key)
                todo.append(user.key)
    return list(found.values())
