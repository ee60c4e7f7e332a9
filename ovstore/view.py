"""The store as one scope sees it: every verb bound to a tenant, a workspace, global or seed, with no way to another.

`Store` is made of views; a view can be handed to code that must not reach anyone else. Methods are short: they check
what the caller gave, call the named steps, and return frozen answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ovstore import names, render, seeing
from ovstore.documents import Document, MemorySchema
from ovstore.errors import InvalidArgumentError
from ovstore.grammar import STAGES
from ovstore.loading import Later
from ovstore.names import LIVE, Kind
from ovstore.resolver import Found, Resolver
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
    Version,
)

if TYPE_CHECKING:
    from ovstore import (
        assembling,
        directories,
        history,
        lifecycle,
        memory,
        restoring,
        sources,
        transfer,
        verbs,
        verifying,
    )
    from ovstore.context import AssembledContext, AssembleRequest
    from ovstore.context.layers import Retrieve
    from ovstore.context.tokens import CountTokens
    from ovstore.memory import MemoryType
    from ovstore.transfer import Plan, Watch
else:
    # What only reads and renders does without these, and without most of the time that importing takes.
    assembling, directories, history, lifecycle, memory = map(
        Later, ("assembling", "directories", "history", "lifecycle", "memory")
    )
    restoring, sources, transfer, verbs, verifying = map(
        Later, ("restoring", "sources", "transfer", "verbs", "verifying")
    )

Source: TypeAlias = str | bytes | os.PathLike[str] | Mapping[str, Any] | Document
"""YAML as text or bytes, a path to a file of it, or a document."""


class View:
    """One scope of a store. Made by `store.tenant(name)` and `store.seed`.

    Errors are those of the store: InvalidArgumentError for names, NotFoundError, ConflictError, and so on.
    """

    def __init__(self, resolver: Resolver, scope: str) -> None:
        self._resolver = resolver
        self._database = resolver.database
        self._scope = scope

    def __repr__(self) -> str:
        return f"<ovstore view of {self._scope}>"

    def publish(
        self,
        source: Source,
        *,
        actor: str,
        reason: str = "",
        expected: int | None = None,
        accept_risk: str = "medium",
        risk: str | None = None,
        live: bool = True,
        dependents: str = "refuse",
        change_set: str | None = None,
    ) -> Published:
        """Add a version and make it live (`live=False`: a draft that no label points at).

        `source` is YAML as text or bytes, a path, or a document. `expected` is the version that the caller saw live
        here, 0 for none. `risk` declares a higher risk than ovstore can see. Raises InvalidDocumentError with every
        finding, ConflictError, RiskError or ContractError; then nothing was written.
        """
        given = lifecycle.order(
            actor=actor, reason=reason, change_set=change_set, accept_risk=accept_risk, dependents=dependents
        )
        declared = "none" if risk is None else names.check_risk(risk, "risk")
        key, new = sources.prepare(source)
        return verbs.publish(
            self._database, self._scope, key, new, given, expected=expected, declared=declared, live=live
        )

    def activate(
        self,
        key: str,
        version: int | str,
        *,
        label: str = LIVE,
        actor: str,
        reason: str = "",
        expected: int | None = None,
        accept_risk: str = "medium",
        dependents: str = "refuse",
        change_set: str | None = None,
    ) -> Move:
        """Point a label at a version of this scope."""
        given = lifecycle.order(
            actor=actor, reason=reason, change_set=change_set, accept_risk=accept_risk, dependents=dependents
        )
        key, label = names.check_key(key), names.check_label(label)
        return verbs.activate(self._database, self._scope, key, version, label, given, expected=expected)

    def rollback(
        self,
        key: str,
        *,
        to: int | None = None,
        label: str = LIVE,
        actor: str,
        reason: str,
        expected: int | None = None,
        accept_risk: str = "medium",
        dependents: str = "refuse",
        change_set: str | None = None,
    ) -> Move:
        """Undo the newest move of a label; again and again it walks back to not overriding.

        With `to`, back to where the label last stood at that version.
        """
        given = lifecycle.order(
            actor=actor, reason=reason, change_set=change_set, accept_risk=accept_risk, dependents=dependents
        )
        key, label = names.check_key(key), names.check_label(label)
        return verbs.rollback(self._database, self._scope, key, label, given, to=to, expected=expected)

    def withdraw(
        self,
        key: str,
        *,
        label: str = LIVE,
        actor: str,
        reason: str,
        expected: int | None = None,
        accept_risk: str = "medium",
        dependents: str = "refuse",
        change_set: str | None = None,
    ) -> Move:
        """Stop overriding a key here, so that the next layer answers."""
        given = lifecycle.order(
            actor=actor, reason=reason, change_set=change_set, accept_risk=accept_risk, dependents=dependents
        )
        key, label = names.check_key(key), names.check_label(label)
        return verbs.withdraw(self._database, self._scope, key, label, given, expected=expected)

    def rollback_tenant(
        self,
        *,
        to: datetime | str,
        workspaces: bool = False,
        actor: str,
        reason: str,
        accept_risk: str = "medium",
        dependents: str = "refuse",
        change_set: str | None = None,
    ) -> tuple[Move, ...]:
        """Put all live labels of this scope back to where they stood at an aware time or a revision.

        Keys born later are withdrawn; `workspaces` takes the tenant's workspaces along. What is inherited is not
        rolled back: each move says whether the document is again what it was (`restored`), and which layers differ.
        A restored patch that its base no longer carries is a ContractError, or with `dependents="freeze"` comes back
        as a full copy of the text of that time.
        """
        given = lifecycle.order(
            actor=actor, reason=reason, change_set=change_set, accept_risk=accept_risk, dependents=dependents
        )
        return restoring.rollback_tenant(self._database, self._scope, to, given, workspaces=workspaces)

    def resolve(
        self,
        key: str,
        *,
        label: str = LIVE,
        at: datetime | str | None = None,
        version: int | str | None = None,
    ) -> Resolved:
        """Return the effective document of a key, and who answered."""
        return self._find(key, label, at, version).resolved()

    def _find(self, key: str, label: str, at: datetime | str | None, version: int | str | None) -> Found:
        if at is None and version is None:
            return self._resolver.find(self._scope, key, label)
        return self._resolver.of(self._see(key, label, at, version), key)

    def resolve_many(
        self, keys: Sequence[str] | None = None, *, label: str = LIVE, at: datetime | str | None = None
    ) -> Mapping[str, Resolved]:
        """Return the effective documents of many keys, or of all, in one statement; an unknown key is an error."""
        wanted = None if keys is None else names.check_keys(keys)
        question = seeing.ask(self._scope, label=label, at=at)
        if at is None:
            found = self._resolver.find_many(self._scope, wanted, question.label)
            return {key: one.resolved() for key, one in found.items()}
        seen = seeing.see(self._database, question, wanted)
        seeing.check_label_known(self._database, seen)
        for key in wanted or ():
            if not seen.layers.get(key):
                raise seeing.not_found(self._database, question, key)
        every = sorted(seen.layers) if wanted is None else wanted
        return {key: self._resolver.of(seen, key).resolved() for key in every}

    def explain(
        self,
        key: str,
        *,
        label: str = LIVE,
        at: datetime | str | None = None,
        version: int | str | None = None,
    ) -> Explanation:
        """Return every layer that was looked at, why it did or did not answer, and where each field came from."""
        return seeing.explanation(self._see(key, label, at, version), key)

    def _see(self, key: str, label: object, at: object, version: object) -> seeing.Seen:
        key = names.check_key(key)
        question = seeing.ask(self._scope, label=label, at=at, version=version)
        seen = seeing.see(self._database, question, [key])
        seeing.check_label_known(self._database, seen)
        if not seen.layers.get(key):
            raise seeing.not_found(self._database, question, key)
        return seen

    def render(
        self,
        key: str,
        variables: Mapping[str, Any] | None = None,
        *,
        label: str = LIVE,
        at: datetime | str | None = None,
        version: int | str | None = None,
    ) -> Rendered:
        """Make the text of a prompt. Values are data: they are copied, checked against the declaration, and never
        rendered themselves. Raises RenderError; see `RenderLimits` for the budgets."""
        return render.rendered(self._resolver, self._find(key, label, at, version), variables or {})

    def assemble(
        self,
        request: AssembleRequest | Mapping[str, Any] | str | bytes,
        *,
        at: datetime | str | None = None,
        retrieve: Retrieve | None = None,
        count_tokens: CountTokens | None = None,
    ) -> AssembledContext:
        """Put prompts, memory, lore and history together into the messages of one model call.

        The wrappers and the policy are this scope's `context.*` documents, at one revision, which the answer carries:
        with `at=` it replays the same bytes. `retrieve(query, k)` gives memories, `count_tokens(text)` counts. Raises
        InvalidArgumentError for a request that cannot be used, ContextBudgetError for one that cannot fit.
        """
        return assembling.assembled(
            self._resolver,
            seeing.ask(self._scope, at=at),
            request,
            retrieve=retrieve,
            count_tokens=count_tokens,
        )

    def memory(
        self,
        key: str,
        *,
        label: str = LIVE,
        at: datetime | str | None = None,
        version: int | str | None = None,
    ) -> MemoryType:
        """Return a memory type at work: where its records lie, what they look like, how an update merges.

        Its words mean what they meant when its schema was stored; see `ovstore.memory.MERGE_SEMANTICS`.
        """
        found = self._find(key, label, at, version)
        document = found.document()
        if not isinstance(document, MemorySchema):
            said = f"{key} is no memory type but of the kind {document.kind}"
            raise InvalidArgumentError(said, argument="key", value=key)
        return memory.MemoryType(document, semantics=found.format(), limits=self._resolver.limits)

    def templates(
        self,
        *,
        kind: Kind | None = None,
        category: str | None = None,
        stage: str | None = None,
        enabled: bool | None = None,
        label: str = LIVE,
        at: datetime | str | None = None,
    ) -> tuple[Listing, ...]:
        """Return the effective set, by category and key, each with the layer that answers."""
        if kind is not None:
            names.check_choice(kind, names.KINDS, "kind")
        if stage is not None:
            names.check_choice(stage, STAGES, "stage")
        if category is not None:
            names.check_text(category, "category")
        seen = seeing.see(self._database, seeing.ask(self._scope, label=label, at=at), None)
        seeing.check_label_known(self._database, seen)
        return seeing.listings(seen, kind=kind, category=category, stage=stage, enabled=enabled)

    def versions(self, key: str) -> tuple[Version, ...]:
        """Return every version of a key in the whole chain: nearest scope first, newest first in each."""
        return history.versions(self._database, self._scope, names.check_key(key))

    def history(self, key: str) -> tuple[Entry, ...]:
        """Return every entry of a key in the whole chain, newest first."""
        return history.history(self._database, self._scope, names.check_key(key))

    def diff(self, key: str, before: int | str, after: int | str) -> Diff:
        """Compare two versions of the chain, each folded on the live layers below it."""
        return history.diff(self._database, self._scope, names.check_key(key), before, after)

    def audit(
        self,
        *,
        key: str | None = None,
        category: str | None = None,
        effective: bool = False,
        actor: str | None = None,
        action: str | None = None,
        field: str | None = None,
        risk: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Iterator[Entry]:
        """Yield this scope's entries that match, newest first; `effective`: those of the whole chain.

        `risk` is the least one wanted; since and until are inclusive.
        """
        scopes = names.chain(self._scope) if effective else (self._scope,)
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

    def plan_import(
        self,
        path: str | os.PathLike[str] | directories.Listing,
        *,
        prune: bool = False,
        strict: bool = False,
        category: str | None = None,
        experimental_memory: bool = False,
        watch: Watch | None = None,
    ) -> Plan:
        """Read a directory (or one file) and tell what importing it here would do; nothing is written.

        `prune` withdraws what this scope overrides and the directory lacks; `strict` makes warnings errors; `category`
        narrows both to one. A folder `experimental_memory` is left out unless asked for, then it replaces by type.
        `watch` is called behind each file with how many of how many are read.
        """
        if category is not None:
            names.check_text(category, "category")
        return transfer.plan_import(
            self._database,
            self._scope,
            path if isinstance(path, directories.Listing) else Path(path),
            prune=prune,
            strict=strict,
            category=category,
            experimental_memory=experimental_memory,
            watch=watch,
        )

    def apply(
        self, plan: Plan, *, actor: str, reason: str = "", accept_risk: str = "medium", dependents: str = "refuse"
    ) -> ChangeSet:
        """Do what a plan of this scope says, all or nothing, once however often it is applied.

        Raises StalePlanError when the store has moved since, InvalidDocumentError when the plan has errors, RiskError
        and ContractError as publish does.
        """
        given = lifecycle.order(
            actor=actor, reason=reason, change_set=plan.change_set, accept_risk=accept_risk, dependents=dependents
        )
        return transfer.apply(self._database, self._scope, plan, given)

    def export(
        self, path: str | os.PathLike[str], keys: Sequence[str] | None = None, *, effective: bool = False
    ) -> tuple[Path, ...]:
        """Write what this scope overrides, byte for byte, each file where it was read from; return the files.

        `effective`: everything that the scope gets, folded, as YAML whose head names the versions. The folder must be
        empty or hold an earlier export.
        """
        wanted = None if keys is None else names.check_keys(keys)
        return transfer.export(self._database, self._scope, Path(path), wanted, effective=effective)

    def verify(self, *, heads: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
        """Return what is not as it was written in this scope's log; empty means whole."""
        return verifying.verify(self._database, heads=heads, scopes=frozenset({self._scope}))

    def heads(self) -> Mapping[str, str]:
        """Return the head of this scope's log, to be kept elsewhere."""
        return history.heads(self._database, [self._scope])
