"""Tenants whose every text, name and number is marked, and the marks that an answer holds.

A mark is `zq`, the tenant's letter and what it marks: `zqbreason` is a reason of the tenant b. Whatever tenant a is
told, in results, errors, logs or files, has no mark of b in it but those that a's own question had.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from folders import write
from pydantic import BaseModel
from samples import memory, patch, prompt

from ovstore import Store
from ovstore.transfer import Plan

KEY = "semantic.note"
SEEDS = Path(__file__).parents[2] / "seed_templates"
LETTERS = {"acme": "a", "globex": "b", "acme/desk": "c", "acme/bench": "d"}
_MARK = re.compile(r"zq[a-d][a-z0-9]*")
_TIME = r"datetime\.datetime\([^)]*\)|\d{4}-\d\d-\d\d[T ][\d:.]+(\+00:00|Z)?"
_OF_ONE_STORE = re.compile(rf"0x[0-9a-f]+|[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}|[0-9a-f]{{16,64}}|{_TIME}")


@dataclass(frozen=True)
class Tenant:
    """One tenant: its marks by name, and where it stood when all of it had been written."""

    name: str
    revision: str
    at: datetime
    head: str
    plan: Plan

    def mark(self, what: str) -> str:
        return f"zq{LETTERS[self.name]}{what}"

    @property
    def key(self) -> str:
        return f"semantic.{self.mark('key')}"

    @property
    def reference(self) -> str:
        return f"{self.name}:1"


def note(mark: str, key: str = KEY) -> str:
    """A prompt that is marked wherever its author can write."""
    data = prompt(
        key,
        template=f"{mark}text {{{{ q }}}}",
        variables=[
            "q",
            {"name": f"{mark}name", "type": "string", "description": f"{mark}what", "default": f"{mark}default"},
        ],
        llm_config={f"{mark}setting": f"{mark}value"},
        output_schema={"title": f"{mark}schema"},
    )
    return data.replace("A note", f"{mark}description").replace("{{ q }}", f"{{{{ q }}}} {{{{ {mark}name }}}}")


def marked(store: Store, tenant: str, folder: Path) -> Tenant:
    """Write something marked of every kind for a tenant."""
    mark = f"zq{LETTERS[tenant]}"
    by: dict[str, Any] = {
        "tenant": tenant,
        "actor": f"{mark}actor",
        "reason": f"{mark}reason",
        "accept_risk": "very_high",
    }
    store.publish(note(f"{mark}first"), change_set=f"{mark}changeset", **by)
    store.activate(KEY, 1, label=f"{mark}label", **by)
    store.publish(note(mark), **by)
    store.rollback(KEY, **by)
    store.activate(KEY, 2, **by)
    store.publish(note(mark, f"semantic.{mark}key"), **by)
    store.publish(prompt(f"shared.{mark}part", template=f"{mark}text", variables=[]), **by)
    store.publish(prompt(f"semantic.{mark}user", template=f"{{% include 'shared.{mark}part' %}}", variables=[]), **by)
    store.publish(patch("semantic.shared", template=f"{mark}patch {{{{ q }}}}"), **by)
    store.publish(
        patch(
            "context.memory", template=f"{mark}wrapper {{% for item in items %}}{{{{ item.content }}}}{{% endfor %}}"
        ),
        **by,
    )
    files = {f"{mark}category/{mark}habit.yaml": memory(f"{mark}habit", description=f"{mark}description")}
    store.apply(store.plan_import(write(folder / mark, files), tenant=tenant), actor=f"{mark}actor", accept_risk="high")
    plan = store.plan_import(
        write(folder / f"{mark}plan", {"semantic/plan.yaml": note(mark, "semantic.plan")}), tenant=tenant
    )
    entries = list(store.audit(tenant=tenant))
    return Tenant(tenant, store.resolve(KEY, tenant=tenant).revision, entries[0].at, store.heads()[tenant], plan)


def everything_for_all(store: Store) -> None:
    """What global serves to everybody."""
    for key in (KEY, "semantic.shared"):
        store.publish(prompt(key), actor="ops")
    store.publish(memory(), actor="ops")
    store.seed.apply(store.seed.plan_import(SEEDS, category="context"), actor="pkg")


def peopled(store: Store, names: Iterable[str], folder: Path) -> Mapping[str, Tenant]:
    """Write what everyone gets and what these tenants have, and look at all of it, so that it lies in the caches."""
    everything_for_all(store)
    written = {name: marked(store, name, folder) for name in names}
    for name in names:
        store.resolve_many(tenant=name)
        store.render(KEY, {"q": "?"}, tenant=name)
    # A workspace's revision names its tenant's, which may have moved since it was asked for.
    return {n: replace(t, revision=store.resolve(KEY, tenant=n).revision) for n, t in written.items()}


def state(store: Store, tenant: str) -> object:
    return store.heads()[tenant], store.resolve_many(tenant=tenant), store.render(KEY, {"q": "?"}, tenant=tenant).text


def marks(value: object) -> set[str]:
    """Return every mark in whatever a caller can read of a value without reaching for what is private."""
    return set(_MARK.findall("\n".join(_texts(value, {}))))


def words(value: object) -> list[str]:
    """Return all that a caller can read of a value, without what differs from store to store: hashes, ids, times."""
    return [_OF_ONE_STORE.sub("…", text) for text in _texts(value, {})]


def _texts(value: object, seen: dict[int, object]) -> Iterable[str]:
    if value is None or isinstance(value, (str, int, float, Path, datetime)):
        yield str(value)
        return
    if isinstance(value, bytes):
        yield value.decode(errors="replace")
        return
    if id(value) in seen:
        return
    # Kept, or the next object could have the same id.
    seen[id(value)] = value
    yield repr(value)
    if isinstance(value, BaseException):
        yield str(value)
        for part in (value.args, vars(value), value.__cause__, value.__context__, getattr(value, "__notes__", ())):
            yield from _texts(part, seen)
    elif isinstance(value, Mapping):
        for part in value.items():
            yield from _texts(part, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _texts(part, seen)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _texts(getattr(value, field.name), seen)
    elif isinstance(value, BaseModel):
        yield from _texts(value.model_dump(), seen)
    elif type(value).__module__.startswith("ovstore"):
        for name in dir(value):
            if not name.startswith("_") and not callable(getattr(value, name)):
                yield from _texts(getattr(value, name), seen)
