"""Names made to break out: refused at every entry in one manner, or exactly that tenant and no other. Cases 18 and 47."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import surface
from folders import CASES, contents, write
from samples import patch, prompt
from surface import KEY

import ovstore
from ovstore import Store
from ovstore.view import View

LISTS = json.loads((CASES / "47_tenant_reserved_traversal" / "ids.json").read_text())
LOOK_ALIKES = ("аcme", "ａｃｍｅ", "acme\u200b", "acme\u202e", "acmé", "acme\u0301", "ac\xadme", "ℊlobal")
SQL = (
    "%",
    "acme%",
    "acme'--",
    'acme" OR 1=1',
    "acme'; DROP TABLE ovstore_scope",
    "acme\\",
    "*",
    "acme?",
    ":acme",
    "$1",
)
NEVER = (
    *LOOK_ALIKES,
    *SQL,
    "",
    " ",
    "acme ",
    " acme",
    "acme\n",
    "\nacme",
    "acme\r",
    "acme\tx",
    "acme\0",
    "\0",
    "\ud800",
)
NO_TEXT = (0, 1, True, 2.5, b"acme", ["acme"], 10**5000)
# None is the global layer, and with a stroke it is a workspace.
TENANTS = (
    *(name for name in LISTS["tenants"] if name not in (None, "a/b")),
    *NEVER,
    *NO_TEXT,
    *(
        "acme/",
        "/acme",
        "acme//desk",
        "a/b/c",
        "/",
        "..",
        "acme/..",
        "../acme",
        "acme/../globex",
        "acme/.",
        "acme%2Fdesk",
    ),
    *("Seed", "GLOBAL", "gLoBaL", "seed/desk", "global/desk", "acme/seed", "acme/Global"),
    *("x" * 129, "x" * 10_000, "acme/" + "x" * 129, "acme/" * 5_000),
    *("-acme", ".acme", "_acme", "@acme", "acme/-desk"),
)
# One part is a memory type, and export never trusts a key as a file name by itself.
KEYS = (
    *(key for key in LISTS["ids"] if key not in ("semantic", "semantic.con")),
    *(f"semantic.{name}" for name in NEVER),
    *NEVER,
    *NO_TEXT,
    *("Semantic.note", "semantic.Note", "semantic.1", "1.note", "semantic.note.", "semantic/note", "../note", "a..b"),
    *("k" * 201, "k" * 10_000, "semantic." + "k" * 192),
)
LABELS = (
    *NEVER,
    *NO_TEXT,
    *("Live", "LIVE", "live ", "live\n", "1live", "-live", "_live", "a.b", "../live", "a/b", "l" * 65, "l" * 10_000),
)
VERSIONS = (
    *(0, -1, 2**31, 2**63, 10**30, 10**5000, True, 1.0, "", "0", "-1", "1\n", " 1", "01", "1.0", "٣", "１", "9" * 11),
    *("seed:", ":1", "acme:", "seed:1\n", "Seed:1", "acme/:1", "acme/desk/x:1", "../acme:1", "acme%:1", "a:b:1", b"1"),
)
ACTORS = (
    "",
    " ",
    "\n",
    "ann\n",
    "ann\0",
    "a\x1b[31mnn",
    "ann\u2028",
    "ann\x85",
    "a" * 201,
    "a" * 10_000,
    "\ud800",
    *NO_TEXT,
)
REASONS = ("r\0", "r\x1b[2J", "r\r\n", "r\u2028", "r\t", "r" * 10_001, "\ud800", *NO_TEXT)
CHANGE_SETS = ("", " ", "a b", "a\n", "a\0", "x" * 129, "x" * 10_000, "'--", "%", "../a", *LOOK_ALIKES, *NO_TEXT)
TIMES = ("", "now", "2026-01-01", "acme@1", "global@1.zz seed@0." + "0" * 16, "\0", "x" * 10_000, 5, b"x")
HOSTILE = {
    "tenant": TENANTS,
    "key": KEYS,
    "label": LABELS,
    "version": VERSIONS,
    "actor": ACTORS,
    "reason": REASONS,
    "change_set": CHANGE_SETS,
    "at": TIMES,
    "expected": (-1, 2**31, 10**5000, True, "1", 1.0, "\0"),
    "risk": ("", "High", "high\n", "\0", 3),
    "accept_risk": ("", "High", "high\n", "\0", 3),
    "dependents": ("", "Freeze", "\0", True),
    "action": ("", "Publish", "\0", 3),
    "kind": ("", "Prompt", "\0", 3, ["prompt"]),
    "stage": ("", "User", "\0", 3, ["user"]),
    "before": VERSIONS,
    "after": VERSIONS,
    "category": ("\0", "\ud800", 3),
    "field": ("\0", "\ud800", 3),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "in", {"semantic/note.yaml": prompt()})


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with ovstore.open(url) as opened:
        opened.publish(prompt(), actor="ann")
        before = opened.heads()
        yield opened
        assert opened.heads() == before
        assert opened.tenants() == ()


HARMLESS = {
    *("self", "source", "name", "keys", "path", "plan", "request", "variables", "heads", "to"),
    *("live", "effective", "workspaces", "prune", "strict", "enabled", "experimental_memory"),
    *("since", "until", "watch", "retrieve", "count_tokens"),
}
"""Flags, functions, times, and what has tests of its own."""


def refuse(target: Store | View, name: str, parameter: str, arguments: dict[str, Any]) -> None:
    """Each hostile value is an InvalidArgumentError that names the argument, on one line of a readable length."""
    for value in HOSTILE[parameter]:
        if parameter == "reason" and "reason" not in arguments and value == "":
            continue
        with pytest.raises(ovstore.InvalidArgumentError) as error:
            surface.call(target, name, arguments | {parameter: value})
        assert error.value.argument == parameter, value
        assert len(str(error.value)) < 400
        assert str(error.value).isprintable()


@pytest.mark.parametrize("parameter", HOSTILE)
def test_a_hostile_value_is_refused_at_every_entry(store: Store, folder: Path, parameter: str) -> None:
    given = surface.arguments(store, folder)
    for kind, target in ((Store, store), (View, store.tenant("acme"))):
        for name in surface.taking(kind, parameter):
            refuse(target, name, parameter, surface.needed(surface.methods(kind)[name], given))


def test_every_parameter_that_names_something_is_tried() -> None:
    parameters = {
        name for kind in (Store, View) for found in surface.methods(kind).values() for name in found.parameters
    }
    assert parameters - HOSTILE.keys() == HARMLESS


def test_a_view_of_no_tenant_is_refused(sqlite_url: str) -> None:
    with ovstore.open(sqlite_url) as store:
        for tenant in (*TENANTS, None):
            with pytest.raises(ovstore.InvalidArgumentError) as error:
                store.tenant(tenant)  # type: ignore[arg-type]
            assert error.value.argument == "tenant"


def test_a_rollback_to_no_version_is_refused(store: Store) -> None:
    for version in VERSIONS:
        with pytest.raises(ovstore.InvalidArgumentError) as error:
            store.rollback(KEY, to=version, actor="ann", reason="r")  # type: ignore[arg-type]
        assert error.value.argument == "to"


def test_keys_in_a_list_are_refused_too(store: Store, tmp_path: Path) -> None:
    for key in KEYS:
        with pytest.raises(ovstore.InvalidArgumentError):
            store.resolve_many([KEY, key])  # type: ignore[list-item]
        with pytest.raises(ovstore.InvalidArgumentError):
            store.export(tmp_path / "out", [KEY, key])  # type: ignore[list-item]
    assert not (tmp_path / "out").exists()


def test_a_document_cannot_bring_a_hostile_key_along(store: Store, tmp_path: Path) -> None:
    keys = [key for key in KEYS if isinstance(key, str)]
    for number, key in enumerate(keys):
        sources = [prompt(key, template="{{ q }}"), patch(key, template="{{ q }}")]
        folder = write(
            tmp_path / str(number),
            {f"{n}.yaml": source.encode(errors="surrogatepass") for n, source in enumerate(sources)},
        )
        for source in sources:
            with pytest.raises(ovstore.InvalidDocumentError):
                store.publish(source, actor="ann")
        plan = store.plan_import(folder)
        assert {f.path for f in plan.errors} == {str(folder / "0.yaml"), str(folder / "1.yaml")}, key
        with pytest.raises(ovstore.InvalidDocumentError):
            store.apply(plan, actor="ann")


ODD = (
    *(
        "acm_",
        "acme.",
        "acme-",
        "acme@",
        "ACME",
        "Acme",
        "acme",
        "a",
        "0",
        "x" * 128,
        "acme.eu",
        "a@b@c",
        "a@@b",
        "a@b@",
    ),
    *(
        "globals",
        "seeds",
        "Seed1",
        "live",
        "acme/ACME",
        "acme/acme",
        "acme/a.b",
        "a/acme",
        "acm_/desk",
        "x/" + "y" * 128,
    ),
    *("a@1.0123456789abcdef", "a@1.0123456789abcdef/b@2.0123456789abcdef", "a@1", "a.b@1.c"),
)


@pytest.fixture
def crowd(url: str) -> Iterator[Store]:
    """A store where every odd tenant has a text of its own, named after it."""
    with ovstore.open(url) as opened:
        opened.publish(prompt(template="global {{ q }}"), actor="ann")
        for tenant in ODD:
            opened.publish(prompt(template=f"of {tenant} {{{{ q }}}}"), tenant=tenant, actor=tenant)
        yield opened
        assert opened.verify() == ()


def test_an_odd_name_is_exactly_that_tenant(crowd: Store) -> None:
    assert [tenant.name for tenant in crowd.tenants()] == sorted(ODD)
    heads = crowd.heads()
    for tenant in ODD:
        view = crowd.tenant(tenant)
        found = view.resolve(KEY)
        assert (found.scope, found.document["template"]) == (tenant, f"of {tenant} {{{{ q }}}}")
        assert crowd.resolve(KEY, tenant=tenant) == view.resolve(KEY, at=found.revision) == found
        assert view.resolve(KEY, version=f"{tenant}:1").scope == tenant
        assert {entry.actor for entry in crowd.audit(tenant=tenant)} == {tenant}
        chain = [name for name in ovstore.names.chain(tenant) if name in ODD]
        assert [version.scope for version in view.versions(KEY)[:-1]] == chain
        assert view.verify(heads={tenant: heads[tenant]}) == ()


def test_a_name_near_anothers_gets_what_everyone_gets(crowd: Store) -> None:
    for tenant in ("acm", "acmex", "acme_", "aCme", "b", "x" * 127, "y", "acme/Acme", "globex/desk"):
        scope = crowd.resolve(KEY, tenant=tenant).scope
        assert scope == ("acme" if tenant.startswith("acme/") else "global")
        assert list(crowd.audit(tenant=tenant)) == []


def test_an_export_of_an_odd_tenant_stays_in_its_folder(crowd: Store, tmp_path: Path) -> None:
    for number, tenant in enumerate(ODD):
        crowd.export(tmp_path / "out" / str(number), tenant=tenant)
    assert list(contents(tmp_path / "out")) == sorted(f"{n}/semantic/note.yaml" for n in range(len(ODD)))
    assert {path.name for path in tmp_path.iterdir()} <= {"out", "ovstore.db", "ovstore.db-wal", "ovstore.db-shm"}
