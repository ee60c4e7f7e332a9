"""What one tenant tries on another: for every public method, calls with the other's names, texts and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from canaries import KEY, Tenant, note
from folders import write
from samples import memory, patch, prompt

Calls = Sequence[Mapping[str, Any]]


def probes(own: Tenant, other: Tenant, folder: Path) -> Mapping[str, Calls]:
    """Return by method the arguments of each call that `own` makes."""
    near = other.key[:-1]
    keys = (KEY, other.key, near, f"semantic.{other.mark('user')}", other.mark("habit"))
    mixed = (
        f"{own.revision.split(' ')[0].split('@')[0]}@{other.revision.split(' ')[0].rpartition('@')[2]} "
        + (own.revision.partition(" ")[2])
    )
    moments: tuple[Mapping[str, Any], ...] = (
        {},
        {"label": own.mark("label")},
        {"label": other.mark("label")},
        {"label": other.mark("labex")},
        {"at": own.revision},
        {"at": other.revision},
        {"at": mixed},
        {"at": other.at},
    )
    versions = (1, 2, 99, "global:1", own.reference, other.reference, f"{other.name}:99")
    by = {"actor": "someone", "reason": "why", "accept_risk": "very_high"}
    read = [{"key": key, **moment} for key in keys for moment in moments]
    read += [{"key": key, "version": version} for key in keys for version in versions]
    moves = [{"key": key, **by} for key in (other.key, near, "semantic.absent")]
    moves += [{"key": KEY, "label": other.mark("label"), **by}, {"key": KEY, "expected": 77, **by}]
    sources = (
        prompt(template="mine {{ q }}"),
        prompt(other.key, template="mine {{ q }}"),
        patch(other.key, template="mine {{ q }}"),
        patch(other.mark("habit"), description="mine"),
        memory(other.mark("habit")),
        prompt("semantic.mine", template=f"{{% include 'shared.{other.mark('part')}' %}}", variables=[]),
        prompt("semantic.mine", template=f"{{% include 'shared.{other.mark('par')}' %}}", variables=[]),
        prompt("semantic.mine", template="{% include 'semantic.note' %}"),
        patch("semantic.shared", variables=[{"name": other.mark("name"), "$remove": True}]),
        note(other.mark("first")),
        note(other.mark("")),
    )
    folders = [
        write(folder / f"{own.mark('')}{other.mark('')}{n}", {"semantic/x.yaml": source})
        for n, source in enumerate(sources)
    ]
    both = {"semantic/a.yaml": prompt(other.key), "semantic/b.yaml": patch(near, template="{{ q }}")}
    folders.append(write(folder / f"{own.mark('')}{other.mark('')}both", both))
    request = {
        "session_id": "s",
        "now": "2026-01-01T00:00:00Z",
        "system_prompt": "Be kind.",
        "memories": [{"id": "m", "content": "Likes tea.", "score": 1}],
        "history": [{"id": "u", "role": "user", "content": "hello"}],
    }
    return {
        "resolve": read,
        "explain": read,
        "render": [call | {"variables": {"q": "?"}} for call in read],
        "resolve_many": [*moments, *({"keys": [KEY, key], **moment} for key in keys[1:3] for moment in moments)],
        "templates": [*moments, {"category": other.mark("category")}, {"kind": "memory"}],
        "versions": [{"key": key} for key in keys],
        "history": [{"key": key} for key in keys],
        "diff": [{"key": key, "before": 1, "after": version} for key in keys for version in versions],
        "audit": [
            {},
            {"effective": True},
            {"actor": other.mark("actor")},
            {"category": other.mark("category"), "effective": True},
            *({"key": key, "effective": True} for key in keys),
        ],
        "heads": [{}],
        "verify": [{}, {"heads": {other.name: other.head}}, {"heads": {own.name: other.head}}],
        "memory": [{"key": key} for key in (*keys, "habits")],
        "assemble": [{"request": request, **at} for at in ({}, {"at": own.revision}, {"at": other.revision})],
        "plan_import": [
            *({"path": path} for path in folders),
            {"path": folders[0], "prune": True},
            {"path": folders[-1], "category": other.mark("category"), "strict": True},
        ],
        "export": [
            {"path": folder / own.mark("out")},
            {"path": folder / own.mark("effective"), "effective": True},
            *({"path": folder / own.mark("some"), "keys": [key]} for key in (other.key, near)),
        ],
        "apply": [{"plan": other.plan, **by}],
        "publish": [
            *({"source": source, **by} for source in sources),
            *({"source": source, "actor": "someone"} for source in sources),
            {"source": prompt(template="again {{ q }}"), "change_set": other.mark("changeset"), **by},
        ],
        "activate": [{"version": version, **move} for move in moves for version in versions],
        "rollback": [*moves, *({"to": version, **moves[-1]} for version in versions)],
        "withdraw": [*moves, {"key": other.key, "change_set": other.mark("changeset"), **by}],
        "rollback_tenant": [
            {"to": to, "workspaces": workspaces, **by}
            for to in (own.revision, other.revision, mixed, other.at)
            for workspaces in (False, True)
        ],
    }
