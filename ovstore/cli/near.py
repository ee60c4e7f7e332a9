"""Names that were perhaps mistyped, and those of the same scope that were perhaps meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from ovstore import names
from ovstore.errors import NotFoundError
from ovstore.results import Entry

if TYPE_CHECKING:
    from ovstore.cli.sequel import Log
    from ovstore.store import Store
    from ovstore.view import View

_LOOKED_AT: Final = 2_000
"""Entries, newest first, whose actors and categories count as known."""


def tenant_note(store: Store, tenant: str) -> str | None:
    """Return what to say of a tenant that was never written to.

    Not which one was perhaps meant: nothing of a tenant is told through another's name, not even that there is one.
    """
    if store.tenant(tenant).heads():
        return None
    return f"nothing was ever written to {tenant}; `ovstore tenants` lists to whom something was"


def audit_note(view: Store | View, log: Log, *, key: str | None, actor: str | None, category: str | None) -> str | None:
    """Return what may be wrong with a question about the log that found nothing: a key, an actor or a category."""
    if key is not None and not _has(log(key=key)):
        try:
            view.versions(key)
        except NotFoundError as error:
            return str(error)
    if actor is not None and not _has(log(actor=actor)):
        return f"no entry by {actor}{_meant(names.near(actor, {entry.actor for entry in _newest(log)}))}"
    if category is not None and not _has(log(category=category)):
        near = names.near(category, {entry.category for entry in _newest(log)})
        return f"no entry in the category {category}{_meant(near)}"
    return None


def category_note(view: Store | View, category: str) -> str | None:
    """Return what may be wrong with a list of a category in which there is nothing."""
    known = {listing.category for listing in view.templates()}
    return None if category in known else f"no category {category}{_meant(names.near(category, known))}"


def _has(entries: Iterator[Entry]) -> bool:
    return next(entries, None) is not None


def _newest(log: Log) -> Iterator[Entry]:
    return islice(log(), _LOOKED_AT)


def _meant(near: Iterable[str]) -> str:
    found = " or ".join(near)
    return f"; did you mean {found}?" if found else ""
