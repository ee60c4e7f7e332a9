"""From what was seen for a key to text: its parts are looked up where it was, compiled, linked and rendered.

A DEBUG record on the logger `ovstore.render` names key, tenant, scope, version and hash of each render, never text, so
that one can see which stage of a system really uses which template.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from ovstore import checking, documents, names, rendering, resolver
from ovstore.db import read
from ovstore.db.engines import Database
from ovstore.errors import RenderError
from ovstore.layering import Folded
from ovstore.rendering import Compiled, RenderLimits
from ovstore.resolver import Question, Seen
from ovstore.results import Part, Rendered

_log = logging.getLogger(__name__)


def rendered(
    database: Database, seen: Seen, key: str, variables: Mapping[str, Any], limits: RenderLimits
) -> Rendered:
    """Render a prompt that was seen. Errors carry its key, scope, version, and line and column in its YAML."""
    resolved = resolver.resolved(seen, key)
    folded = resolver.fold(seen, key)
    if folded.kind != "prompt":
        raise RenderError(
            f"{key} is a {'memory schema' if folded.kind == 'memory' else 'settings document'}, not a prompt",
            key=key,
            scope=resolved.scope,
            version=resolved.version,
        )
    made = {key: folded}
    try:
        compiled = rendering.compile(folded.kind, folded.data, limits)
        if compiled.needs:
            made |= _parts(database, seen, compiled)
            others = {k: rendering.compile(f.kind, f.data, limits) for k, f in made.items() if k != key}
            compiled = rendering.link(compiled, others)
        text, cut = rendering.render(compiled, variables)
    except RenderError as error:
        _place(database, made, key, error)
    parts = tuple(
        Part(k, f.used[0].scope, f.used[0].number, resolver.folded_hash(f).hex()) for k, f in made.items() if k != key
    )
    resolved = replace(resolved, provenance=replace(resolved.provenance, parts=parts))
    _log.debug(
        "key=%s tenant=%s scope=%s version=%d hash=%s",
        key,
        seen.question.scope,
        resolved.scope,
        resolved.version,
        resolved.document_hash,
    )
    llm_config = copy.deepcopy(folded.data.get("llm_config", {}))
    return Rendered(text, resolved, llm_config, copy.deepcopy(folded.data.get("output_schema")), cut)


def _parts(database: Database, seen: Seen, compiled: Compiled) -> dict[str, Folded]:
    """Look up everything that a prompt includes, a level at a time, at the very state that the prompt was seen in."""
    found: dict[str, Folded] = {}
    level: Sequence[str] = compiled.needs
    while level := [part for part in dict.fromkeys(level) if part not in found and part != compiled.key]:
        below = _see_level(database, seen, level)
        named: list[str] = []
        for part in level:
            if below.layers.get(part):
                folded = resolver.fold(below, part)
                if folded.kind == "prompt":
                    found[part] = folded
                    named += checking.parts_of("prompt", folded.data)
        level = [part for part in named if not names.is_memory_key(part)]
    return found


def _see_level(database: Database, seen: Seen, keys: Sequence[str]) -> Seen:
    asked = seen.question
    if asked.at is None:
        now = resolver.see(database, Question(asked.scope, asked.label), keys)
        if now.revision == seen.revision:
            return now
    return resolver.see(database, Question(asked.scope, asked.label, at=seen.revision), keys)


def _place(database: Database, made: Mapping[str, Folded], key: str, error: RenderError) -> NoReturn:
    """Raise the error again with the version whose template it speaks of, and the place in that version's YAML."""
    folded = made.get(error.key or key, made[key])
    origin = folded.fields["template"]
    layer = next(layer for layer in folded.used if layer.scope == origin.scope)
    error.key = error.key or key
    error.scope, error.version, error.path = layer.scope, layer.number, layer.path
    with database.read() as conn:
        source = read.source(conn, read.stands(conn, [layer.scope])[layer.scope], error.key, layer.number)
    if error.line is not None:
        place = documents.parse(source).template_position(("template",), error.line, error.column or 1)
        error.line, error.column = place or (None, None)
    where = ":".join(str(part) for part in (error.path, error.line, error.column) if part is not None)
    message = f"{error.key} ({names.refer(layer.scope, layer.number)}, {where}): {error}"
    error.args = (message,)
    raise error
