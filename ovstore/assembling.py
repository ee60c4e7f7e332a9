"""Context assembly over the store: the wrappers and the policy that a tenant gets, seen at one revision.

What is assembled is the business of `ovstore.context`; here its templates come from the chain, so that every character
of a wrapper names the version that wrote it, and the same request at the same revision gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ovstore import checking, context, render, resolver
from ovstore.context.layers import Retrieve
from ovstore.context.policy import SEED_ORDER
from ovstore.context.tokens import CountTokens
from ovstore.db.engines import Database
from ovstore.errors import InvalidArgumentError
from ovstore.names import GLOBAL
from ovstore.rendering import RenderLimits
from ovstore.resolver import Question

KEYS: Final = (
    checking.POLICY,
    *(f"context.{layer}" for layer in SEED_ORDER),
    *("context.enhanced_prompt", "context.time_landmark"),
    *("context.worldbook_em_top", "context.worldbook_em_bottom", "context.worldbook_at_depth"),
)
"""Everything that an assembly may use, looked up in one statement."""


def assembled(
    database: Database,
    question: Question,
    request: context.AssembleRequest | Mapping[str, Any] | str | bytes,
    limits: RenderLimits,
    *,
    retrieve: Retrieve | None,
    count_tokens: CountTokens | None,
) -> context.AssembledContext:
    """Assemble a request with what a scope gets. Wrappers also get the name of the tenant, as `tenant`."""
    seen = resolver.see(database, question, KEYS)
    tenant = "" if question.scope == GLOBAL else question.scope

    def ref(key: str) -> context.TemplateRef:
        if not seen.layers.get(key):
            raise resolver.not_found(database, question, key)
        found = resolver.resolved(seen, key)
        return context.TemplateRef(key, found.scope, found.version, found.document_hash)

    def template(key: str) -> context.Template:
        return context.Template(
            ref(key), lambda values: render.rendered(database, seen, key, {"tenant": tenant, **values}, limits).text
        )

    policy = ref(checking.POLICY)
    folded = resolver.fold(seen, checking.POLICY)
    if folded.kind != "settings":
        raise InvalidArgumentError(
            f"{checking.POLICY} of {policy.scope} is no settings document but a {folded.kind}", argument="policy"
        )
    settings = context.Settings(folded.data["values"], policy)
    found = context.assemble(request, templates=template, policy=settings, retrieve=retrieve, count_tokens=count_tokens)
    return replace(found, revision=seen.revision)
