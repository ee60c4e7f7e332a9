"""From what was found for a key to text: compiled and linked with its parts, rendered, its errors put in their place.

A DEBUG record on the logger `ovstore.render` names key, tenant, scope, version and hash of each render, never text, so
that one can see which stage of a system really uses which template.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NoReturn

from ovstore import documents, names, rendering
from ovstore.db import read
from ovstore.db.engines import Database
from ovstore.errors import RenderError
from ovstore.resolver import Found, Resolver
from ovstore.results import Rendered

_log = logging.getLogger(__name__)


def rendered(resolver: Resolver, found: Found, variables: Mapping[str, Any]) -> Rendered:
    """Render a prompt that was found. Errors carry its key, scope, version, and line and column in its YAML."""
    if found.content.kind != "prompt":
        raise _no_prompt(found)
    try:
        text, cut = rendering.render(resolver.composed(found), variables)
    except RenderError as error:
        _place(resolver.database, found, error)
    if _log.isEnabledFor(logging.DEBUG):
        _log_use(found)
    return Rendered.lazily(text, cut, found.make)


def _no_prompt(found: Found) -> RenderError:
    kind = "memory schema" if found.content.kind == "memory" else "settings document"
    nearest = found.answer.nearest
    key = found.answer.key
    return RenderError(f"{key} is a {kind}, not a prompt", key=key, scope=nearest.scope, version=nearest.number)


def _log_use(found: Found) -> None:
    nearest = found.answer.nearest
    _log.debug(
        "key=%s tenant=%s scope=%s version=%d hash=%s",
        found.answer.key,
        found.sight.scope,
        nearest.scope,
        nearest.number,
        found.content.document_hash,
    )


def _place(database: Database, found: Found, error: RenderError) -> NoReturn:
    """Raise the error again with the version whose template it speaks of, and the place in that version's YAML."""
    error.key = error.key or found.answer.key
    blamed = next((part for part in found.parts if part.answer.key == error.key), found)
    origin = blamed.content.folded(blamed.answer).fields["template"]
    error.scope, error.version = origin.scope, origin.version
    with database.read() as conn:
        stand = read.stands(conn, [origin.scope])[origin.scope]
        source, error.path = read.source(conn, stand, error.key, origin.version)
    if error.line is not None:
        place = documents.parse(source).template_position(("template",), error.line, error.column or 1)
        error.line, error.column = place or (None, None)
    where = ":".join(str(part) for part in (error.path, error.line, error.column) if part is not None)
    message = f"{error.key} ({names.refer(origin.scope, origin.version)}, {where}): {error}"
    error.args = (message,)
    raise error
