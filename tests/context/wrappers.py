"""The seed wrappers and policy, rendered as the store renders them, and requests made short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ovstore import documents, hashing, rendering
from ovstore.context import AssembledContext, AssembleRequest, Settings, Template, TemplateRef, Written, assemble

SEEDS = Path(__file__).parents[2] / "seed_templates" / "context"
NOW = datetime(2026, 4, 19, 12, 0, tzinfo=UTC)


def data_of(name: str) -> dict[str, Any]:
    parsed = documents.parse((SEEDS / f"{name}.yaml").read_bytes(), f"{name}.yaml")
    assert not parsed.findings
    assert parsed.data is not None
    return parsed.data


def template(data: Mapping[str, Any], scope: str = "seed", version: int = 1) -> Template:
    compiled = rendering.compile("prompt", data)
    digest = hashing.document_hash(documents.canonical("prompt", "full", data)).hex()
    ref = TemplateRef(data["metadata"]["id"], scope, version, digest)
    return Template(ref, lambda values: Written(*rendering.render(compiled, values)))


TEMPLATES = {
    f"context.{path.stem}": template(data_of(path.stem))
    for path in sorted(SEEDS.glob("*.yaml"))
    if path.stem != "policy"
}
POLICY = data_of("policy")["values"]


def request(**fields: Any) -> AssembleRequest:
    return AssembleRequest.model_validate({"session_id": "this", "now": NOW, **fields})


def put(
    given: AssembleRequest,
    *,
    templates: Mapping[str, Template] = TEMPLATES,
    retrieve: Any = None,
    count_tokens: Callable[[str], int] | None = None,
    **policy: Any,
) -> AssembledContext:
    """Assemble with the seed wrappers and the seed policy; keywords are fields of the policy."""
    settings = Settings({**POLICY, **policy}, TemplateRef("context.policy", "seed", 1, "0" * 64))
    return assemble(
        given, templates=templates.__getitem__, policy=settings, retrieve=retrieve, count_tokens=count_tokens
    )


def layers(context: AssembledContext) -> list[str]:
    return [segment.layer for segment in context.trace if segment.layer != "separator"]


def told(context: AssembledContext, layer: str) -> str:
    """The text of the first segment of a layer."""
    return next(context.text(segment) for segment in context.trace if segment.layer == layer)


def reasons(context: AssembledContext) -> dict[str, str]:
    return {drop.source_id: drop.reason for drop in context.dropped}


def turns(count: int, size: int = 1) -> list[dict[str, Any]]:
    """A plain chat that ends with a message of the user."""
    said: list[dict[str, Any]] = []
    for n in range(1, count + 1):
        said.append({"id": f"u{n}", "role": "user", "content": f"question {n} " * size})
        said.append({"id": f"a{n}", "role": "assistant", "content": f"answer {n} " * size})
    return said[:-1]


def entry(uid: str, content: str = "", **fields: Any) -> dict[str, Any]:
    return {"uid": uid, "content": content or f"lore {uid}", "constant": True, **fields}


def book(*entries: dict[str, Any], id: str = "book", name: str = "Book", **fields: Any) -> dict[str, Any]:  # noqa: A002
    return {"id": id, "name": name, "entries": list(entries), **fields}


def full(**more: Any) -> Any:
    """Every layer once, and lore at two depths."""
    positions = ("before", "after", "an_top", "an_bottom", "em_top", "em_bottom")
    lore = [entry(place, f"Lore of {place}.", position=place) for place in positions]
    lore += [
        entry("exits", "The lower door is locked at night.", position="outlet", outlet="doors", comment="Lower door"),
        entry("deep", "The keeper never lies.", position="at_depth", depth=10),
        entry("near", "Answer as the keeper would.", position="at_depth", depth=1),
        entry("fog", "Fog means the bell is rung.", constant=False, keys=["fog"], position="after"),
    ]
    history = [
        {"id": "u1", "role": "user", "content": "Good evening.", "created_at": "2026-04-19T11:00:00Z"},
        {
            "id": "a1",
            "role": "assistant",
            "content": "Good evening. What can I do?",
            "created_at": "2026-04-19T11:00:05Z",
        },
        {"id": "u2", "role": "user", "content": "Is there fog tonight?", "created_at": "2026-04-19T12:00:00Z"},
    ]
    return request(
        timezone="Asia/Shanghai",
        system_prompt="You are a helpful assistant.",
        topic_prompt="We talk about the lighthouse of Halden.",
        enhanced_prompt="Answer in at most three sentences.",
        memories=[
            {"id": "boat", "content": "The user owns a small boat.", "score": 0.9},
            {"id": "tea", "content": "The user drinks tea.", "score": 0.4},
            {"id": "cat", "content": "The user has a cat.", "score": 0.2},
            {"id": "sun", "content": "The user likes the sun.", "score": 0.1},
        ],
        summaries=[
            {
                "session_id": "older",
                "session_name": "Tides",
                "summary": "Explained spring tides.",
                "updated_at": "2026-04-10T09:00:00Z",
            },
            {
                "session_id": "newer",
                "session_name": "Radio",
                "summary": "Chose a marine radio; the licence is still open.",
                "updated_at": "2026-04-18T09:00:00Z",
            },
        ],
        profile={"content": "- Sails at weekends.", "updated_at": "2026-04-18T09:30:00Z"},
        worldbooks=[book(*lore, id="halden", name="Halden")],
        history=history,
        **more,
    )
