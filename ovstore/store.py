"""The Store: the public face. It opens a database and answers for global, for any tenant and for seed.

Every method with `tenant=` does what the view of that tenant does (`ovstore.view`); None is the global layer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal

from ovstore import freshness as freshnesses
from ovstore import names
from ovstore.caching import Recent
from ovstore.db import migrate
from ovstore.db.direct import Direct
from ovstore.db.engines import Database
from ovstore.errors import InvalidArgumentError
from ovstore.loading import Later
from ovstore.names import LIVE, SEED, Kind
from ovstore.rendering import RenderLimits
from ovstore.resolver import Resolver
from ovstore.results import (
    ChangeSet,
    Diff,
    Entry,
    Explanation,
    Listing,
    Move,
    Problem,
    Published,
    Rendered,
    Resolved,
    Tenant,
    Version,
)
from ovstore.view import Source, View

if TYPE_CHECKING:
    from ovstore import directories, history, seeding, verifying
    from ovstore.context import AssembledContext, AssembleRequest
    from ovstore.context.layers import Retrieve
    from ovstore.context.tokens import CountTokens
    from ovstore.memory import MemoryType
    from ovstore.transfer import Plan, Watch
else:
    history, seeding, verifying = map(Later, ("history", "seeding", "verifying"))


class _Everywhere:
    """The type of EVERYWHERE."""

    def __repr__(self) -> str:
        return "ovstore.EVERYWHERE"


EVERYWHERE: Final = _Everywhere()
"""Every scope: what `audit` looks at unless it is given a tenant."""

MOST_VIEWS: Final = 20_000
"""Tenants whose checked names are kept."""


def open(
    url: str,
    *,
    create: bool = False,
    freshness: Literal["strict", "push"] | float = "strict",
    heartbeat: float = 2.0,
    listen: str | None = None,
    limits: RenderLimits | None = None,
) -> Store:
    """Open the store in a database: `sqlite:///file.db` or `postgresql+psycopg://user@host/name`.

    `create` makes the schema (and a SQLite file), upgrades an older one, and fills an empty seed layer with the
    templates of this package; it does nothing else to a seed layer. Without it a database that is not ready is a
    MigrationRequiredError with the command that makes it so.

    `freshness` says how old an answer may be. "strict": a read that begins after a commit sees it, in every process.
    "push": the server tells of writes on a connection of its own (`listen`, where `url` leads through a pooler), and an
    answer is never older than `heartbeat` seconds; on SQLite it is strict. A number: never older than so many seconds.
    One's own writes are always seen.

    >>> import ovstore
    >>> with ovstore.open("sqlite://", create=True) as store:
    ...     store.resolve("semantic.document_summary").scope
    'seed'
    """
    freshly = freshnesses.chosen(url, freshness=freshness, heartbeat=heartbeat, listen=listen)
    database = Database(url, create=create)
    try:
        if create:
            migrate.upgrade(database)
        migrate.require(database)
        direct = Direct(database)
        store = Store(Resolver(database, direct, freshly(database, direct), limits or RenderLimits()))
        if create:
            seeding.seed(database)
    except BaseException:
        database.close()
        raise
    return store


class Store:
    """Prompt templates and memory schemas of many tenants in one database. Thread-safe; survives fork.

    A context manager that closes its connections. Made by `ovstore.open`.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._database = resolver.database
        self._views: Recent[str | None, View] = Recent(MOST_VIEWS, lambda _: 1)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ovstore store on {self._database.url}>"

    def close(self) -> None:
        """Close all connections, and end the listener if there is one. A closed store answers nothing more."""
        self._resolver.close()

    def tenant(self, name: str) -> View:
        """Return the same verbs bound to one tenant or workspace, with no way to another, to global or to seed."""
        if name is None:
            raise InvalidArgumentError("a view is of a tenant: None is the global layer", argument="tenant")
        return self._view(name)

    @property
    def seed(self) -> View:
        """The same verbs bound to the seed layer."""
        return View(self._resolver, SEED)

    def _view(self, tenant: str | None) -> View:
        try:
            view = self._views.get(tenant)
        except TypeError:
            view = None  # what cannot be a key is no tenant either, and is told so below
        if view is None:
            view = View(self._resolver, names.scope_of(tenant))
            self._views.put(tenant, view)
        return view

    def publish(
        self,
        source: Source,
        *,
        tenant: str | None = None,
        actor: str,
        reason: str = "",
        expected: int | None = None,
        accept_risk: str = "medium",
        risk: str | None = None,
        live: bool = True,
        dependents: str = "refuse",
        change_set: str | None = None,
    ) -> Published:
        """Add a version in a tenant's scope and make it live; see `View.publish`."""
        return self._view(tenant).publish(
            source,
            actor=actor,
            reason=reason,
            expected=expected,
            accept_risk=accept_risk,
            risk=risk,
            live=live,
            dependents=dependents,
            change_set=change_set,
        )

    def activate(
        self,
        key: str,
        version: int | str,
        *,
        label: str = LIVE,
        tenant: str | None = None,
        actor: str,
        reason: str = "",
        expected: int | None = None,
        accept_risk: str = "medium",
        dependents: str = "refuse",
        change_set: str | None = None,
    ) -> Move:
        """Point a label at a version of the tenant's own scope."""
        return self._view(tenant).activate(
            key,
            version,
            label=label,
            actor=actor,
            reason=reason,
            expected=expected,
            accept_risk=accept_risk,
            dependents=dependents,
            change_set=change_set,
        )

    def rollback(
        self,
        key: str,
        *,
        to: int | None = None,
        label: str = LIVE,
        tenant: str | None = None,
        actor: str,
        reason: str,
        expected: int | None = None,
        accept_risk: str = "medium",
        dependents: str = "refuse",
        change_set: str | None = None,
    ) -> Move:
        """Undo the newest move of a label, or walk back to where it last stood at `to`; see `View.rollback`."""
        return self._view(tenant).rollback(
            key,
            to=to,
            label=label,
            actor=actor,
            reason=reason,
            expected=expected,
            accept_risk=accept_risk,
            dependents=dependents,
            change_set=change_set,
        )

    def rollback_tenant(
        self,
        tenant: str | None,
        *,
        to: datetime | str,
        workspaces: bool = False,
        actor: str,
        reason: str,
        accept_risk: str = "medium",
        dependents: str = "refuse",
        change_set: str | None = None,
    ) -> tuple[Move, ...]:
        """Put a whole tenant (None: global) back to a time or revision; see `View.rollback_tenant`."""
        return self._view(tenant).rollback_tenant(
            to=to,
            workspaces=workspaces,
            actor=actor,
            reason=reason,
            accept_risk=accept_risk,
            dependents=dependents,
            change_set=change_set,
        )

    def withdraw(
        self,
        key: str,
        *,
        label: str = LIVE,
        tenant: str | None = None,
        actor: str,
        reason: str,
        expected: int | None = None,
        accept_risk: str = "medium",
        dependents: str = "refuse",
        change_set: str | None = None,
    ) -> Move:
        """Stop overriding a key, so that the next layer answers."""
        return self._view(tenant).withdraw(
            key,
            label=label,
            actor=actor,
            reason=reason,
            expected=expected,
            accept_risk=accept_risk,
            dependents=dependents,
            change_set=change_set,
        )

    def resolve(
        self,
        key: str,
        *,
        tenant: str | None = None,
        label: str = LIVE,
        at: datetime | str | None = None,
        version: int | str | None = None,
    ) -> Resolved:
        """Return the effective document of a key for a tenant, and who answered.

        `label` is a lens: in each scope that label, else live. `at` is a revision (the same answer for ever) or an
        aware time; `version` folds one version on the live layers below it.
        """
        return self._view(tenant).resolve(key, label=label, at=at, version=version)

    def resolve_many(
        self,
        keys: Sequence[str] | None = None,
        *,
        tenant: str | None = None,
        label: str = LIVE,
        at: datetime | str | None = None,
    ) -> Mapping[str, Resolved]:
        """Return the effective documents of many keys, or of all, in one statement."""
        return self._view(tenant).resolve_many(keys, label=label, at=at)

    def render(
        self,
        key: str,
        variables: Mapping[str, Any] | None = None,
        *,
        tenant: str | None = None,
        label: str = LIVE,
        at: datetime | str | None = None,
        version: int | str | None = None,
    ) -> Rendered:
        """Make the text of a prompt for a tenant; see `View.render`."""
        return self._view(tenant).render(key, variables, label=label, at=at, version=version)

    def memory(
        self,
        key: str,
        *,
        tenant: str | None = None,
        label: str = LIVE,
        at: datetime | str | None = None,
        version: int | str | None = None,
    ) -> MemoryType:
        """Return a memory type at work for a tenant; see `ovstore.memory`."""
        return self._view(tenant).memory(key, label=label, at=at, version=version)

    def assemble(
        self,
        request: AssembleRequest | Mapping[str, Any] | str | bytes,
        *,
        tenant: str | None = None,
        at: datetime | str | None = None,
        retrieve: Retrieve | None = None,
        count_tokens: CountTokens | None = None,
    ) -> AssembledContext:
        """Put prompts, memory, lore and history together into the messages of one model call; see `View.assemble`.

        >>> import ovstore
        >>> with ovstore.open("sqlite://", create=True) as store:
        ...     asked = {"session_id": "s1", "now": "2026-04-19T12:00:00Z", "system_prompt": "Be brief."}
        ...     [(segment.layer, segment.template.scope) for segment in store.assemble(asked).trace if segment.template]
        [('system_prompt', 'seed'), ('time', 'seed')]
        """
        return self._view(tenant).assemble(request, at=at, retrieve=retrieve, count_tokens=count_tokens)

    def explain(
        self,
        key: str,
        *,
        tenant: str | None = None,
        label: str = LIVE,
        at: datetime | str | None = None,
        version: int | str | None = None,
    ) -> Explanation:
        """Return every layer that was looked at, why it did or did not answer, and where each field came from."""
        return self._view(tenant).explain(key, label=label, at=at, version=version)

    def templates(
        self,
        *,
        tenant: str | None = None,
        kind: Kind | None = None,
        category: str | None = None,
        stage: str | None = None,
        enabled: bool | None = None,
        label: str = LIVE,
        at: datetime | str | None = None,
    ) -> tuple[Listing, ...]:
        """Return what a tenant gets, by category and key, each with the layer that answers."""
        return self._view(tenant).templates(
            kind=kind, category=category, stage=stage, enabled=enabled, label=label, at=at
        )

    def versions(self, key: str, *, tenant: str | None = None) -> tuple[Version, ...]:
        """Return every version of a key in the whole chain: nearest scope first, newest first in each."""
        return self._view(tenant).versions(key)

    def history(self, key: str, *, tenant: str | None = None) -> tuple[Entry, ...]:
        """Return every entry of a key in the whole chain, newest first."""
        return self._view(tenant).history(key)

    def diff(self, key: str, before: int | str, after: int | str, *, tenant: str | None = None) -> Diff:
        """Compare two versions of the chain, each folded on the live layers below it."""
        return self._view(tenant).diff(key, before, after)

    def audit(
        self,
        *,
        key: str | None = None,
        category: str | None = None,
        tenant: str | _Everywhere | None = EVERYWHERE,
        effective: bool = False,
        actor: str | None = None,
        action: str | None = None,
        field: str | None = None,
        risk: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Iterator[Entry]:
        """Yield the entries that match, newest first, of every scope unless a tenant is given (None: global).

        `effective`: those of the tenant's whole chain. `risk` is the least one wanted; since and until are inclusive.

        >>> import ovstore
        >>> with ovstore.open("sqlite://", create=True) as store:
        ...     [entry.actor for entry in store.audit(field="merge_op")]
        []
        """
        scopes: tuple[str, ...] | None = None
        if not isinstance(tenant, _Everywhere):
            scope = names.scope_of(tenant)
            scopes = names.chain(scope) if effective else (scope,)
        elif effective:
            raise InvalidArgumentError("effective=True is asked of one tenant: give tenant=", argument="effective")
        return history.audit(
            self._database,
            scopes,
            key=key,
            category=category,
            actor=actor,
            action=action,
            field=field,
            risk=risk,
            since=since,
            until=until,
        )

    def heads(self) -> Mapping[str, str]:
        """Return the head of every scope's log, to be kept where the database's owner cannot reach."""
        return history.heads(self._database)

    def verify(self, *, heads: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
        """Return everything that is not as it was written; empty means whole. See `ovstore.verifying`."""
        return verifying.verify(self._database, heads=heads)

    def tenants(self) -> tuple[Tenant, ...]:
        """Return every tenant and workspace that was ever written to, by name."""
        return history.tenants(self._database)

    def plan_import(
        self,
        path: str | os.PathLike[str] | directories.Listing,
        *,
        tenant: str | None = None,
        prune: bool = False,
        strict: bool = False,
        category: str | None = None,
        experimental_memory: bool = False,
        watch: Watch | None = None,
    ) -> Plan:
        """Read a directory and tell what importing it would do; nothing is written. See `View.plan_import`."""
        return self._view(tenant).plan_import(
            path,
            prune=prune,
            strict=strict,
            category=category,
            experimental_memory=experimental_memory,
            watch=watch,
        )

    def apply(
        self, plan: Plan, *, actor: str, reason: str = "", accept_risk: str = "medium", dependents: str = "refuse"
    ) -> ChangeSet:
        """Do what a plan says in the scope it was made for, all or nothing; see `View.apply`."""
        return View(self._resolver, plan.scope).apply(
            plan, actor=actor, reason=reason, accept_risk=accept_risk, dependents=dependents
        )

    def export(
        self,
        path: str | os.PathLike[str],
        keys: Sequence[str] | None = None,
        *,
        tenant: str | None = None,
        effective: bool = False,
    ) -> tuple[Path, ...]:
        """Write what a tenant overrides as files, byte for byte; see `View.export`."""
        return self._view(tenant).export(path, keys, effective=effective)
