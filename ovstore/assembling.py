"""Context assembly over the store: the wrappers and the policy that a tenant gets, seen at one revision.

What is assembled is the business of `ovstore.context`; here its templates come from the chain, so that every character
of a wrapper names the version that wrote it, and the same request at the same revision gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ovstore import checking, context, render, seeing
from ovstore.context.layers import Retrieve
from ovstore.context.policy import WRAPPED
from ovstore.context.tokens import CountTokens
from ovstore.names import GLOBAL
from ovstore.resolver import Found, Resolver
from ovstore.seeing import Question

KEYS: Final = (checking.POLICY, *(f"context.{layer}" for layer in WRAPPED))
"""Everything that an assembly may use, looked up in one statement."""


def assembled(
    resolver: Resolver,
    question: Question,
    request: context.AssembleRequest | Mapping[str, Any] | str | bytes,
    *,
    retrieve: Retrieve | None,
    count_tokens: CountTokens | None,
) -> context.AssembledContext:
    """Assemble a request with what a scope gets."""
    seen = resolver.see(question, KEYS)
    tenant = "" if question.scope == GLOBAL else question.scope

    def of(key: str) -> Found:
        if key not in seen:
            raise seeing.not_found(resolver.database, question, key)
        return seen[key]

    def ref(found: Found) -> context.TemplateRef:
        nearest = found.answer.nearest
        return context.TemplateRef(found.answer.key, nearest.scope, nearest.number, found.content.document_hash)

    def template(key: str) -> context.Template:
        found = of(key)

        def write(values: Mapping[str, Any]) -> context.Written:
            made = render.rendered(resolver, found, values)
            return context.Written(made.text, made.truncated, tuple(map(ref, found.parts)))

        return context.Template(ref(found), write)

    policy = of(checking.POLICY)
    settings = context.Settings(policy.content.data["values"], ref(policy))
    made = context.assemble(
        request,
        templates=template,
        policy=settings,
        tenant=tenant,
        retrieve=retrieve,
        count_tokens=count_tokens,
    )
    return replace(made, revision=policy.sight.revision)
