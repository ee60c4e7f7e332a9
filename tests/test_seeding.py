"""The seed layer: filled once however many come at once; upgraded only forwards, openly, and not over others' work."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from folders import write
from samples import memory, patch, prompt

import ovstore
from ovstore import Store, bundled, seeding
from ovstore.db import read
from ovstore.planning import Plan

AUTHOR = f"ovstore {ovstore.__version__}"
FIRST = {
    "semantic/note.yaml": prompt(),
    "semantic/old.yaml": prompt("semantic.old"),
    "memory/habits.yaml": memory(),
    "memory/experimental_memory/habits.yaml": memory(description="An experiment"),
}

Package = Callable[[int, dict[str, str]], None]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """Make this process one of a package with another catalogue."""

    def become(number: int, files: dict[str, str]) -> None:
        folder = write(tmp_path / f"catalogue{number}-{len(list(tmp_path.iterdir()))}", files)
        monkeypatch.setattr(seeding, "CATALOG", number)
        monkeypatch.setattr(bundled, "folder", lambda _: folder)

    return become


@pytest.fixture
def seeded(url: str, package: Package) -> Iterator[Store]:
    package(1, FIRST)
    with ovstore.open(url, create=True) as store:
        yield store
        assert store.verify() == ()


def actions(plan: Plan | None) -> dict[str, str]:
    assert plan is not None
    return {row.key: row.action for row in plan.rows if row.action != "unchanged"}


def upgrade(store: Store, **options: str) -> None:
    plan = seeding.plan_upgrade(store._database)
    assert plan is not None
    seeding.apply_upgrade(store._database, plan, **options)


def catalog(store: Store) -> str:
    with store._database.read() as conn:
        return read.seed_catalog(conn)


def test_an_empty_store_is_seeded_in_one_change_set_without_experiments(seeded: Store) -> None:
    entries = list(seeded.audit())
    assert {(e.actor, e.reason, e.scope) for e in entries} == {(AUTHOR, "bundled catalogue 1", "seed")}
    assert len({e.change_set for e in entries}) == 1
    assert {t.key for t in seeded.templates()} == {"habits", "semantic.note", "semantic.old"}
    assert seeded.resolve("habits").document["description"] != "An experiment"
    assert catalog(seeded) == "1"


def test_a_seed_layer_that_was_written_to_is_left_alone(url: str, seeded: Store, package: Package) -> None:
    seeded.seed.withdraw("semantic.old", actor="ann", reason="unused", accept_risk="high")
    package(2, {"semantic/note.yaml": prompt(template="New {{ q }}")})
    revision = seeded.resolve("semantic.note").revision
    with ovstore.open(url, create=True) as again:
        assert again.resolve("semantic.note").revision == revision
        assert catalog(again) == "1"
    assert seeding.seed(seeded._database) is False


def test_a_store_can_be_seeded_with_the_experimental_schemas(url: str, package: Package) -> None:
    package(1, FIRST)
    with ovstore.open(url) as store:
        assert seeding.seed(store._database, experimental_memory=True) is True
        assert store.resolve("habits").document["description"] == "An experiment"


SEED_TOGETHER = """
import sys
from pathlib import Path
from ovstore import bundled, seeding
from ovstore.db.engines import Database
bundled.folder = lambda _: Path(sys.argv[2])
database = Database(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print(seeding.seed(database))
database.close()
"""


def test_of_processes_that_come_at_once_exactly_one_seeds(store: Store, url: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "seeds", {f"a/n{n}.yaml": prompt(f"a.n{n}") for n in range(10)})
    command = [sys.executable, "-W", "error", "-c", SEED_TOGETHER, url, str(folder)]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=120)[0].strip() for process in processes]
    assert sorted(outputs) == ["False", "False", "False", "True"]
    assert len(list(store.audit())) == 10


def test_nothing_is_to_be_upgraded_where_the_layer_has_the_catalogue(seeded: Store) -> None:
    assert seeding.plan_upgrade(seeded._database) is None


def test_an_upgrade_is_told_with_all_it_changes_before_it_is_done(seeded: Store, package: Package) -> None:
    package(2, {"semantic/note.yaml": prompt(template="New {{ q }}"), **memory_files(FIRST), "a/b.yaml": prompt("a.b")})
    before = seeded.resolve("semantic.note").revision
    plan = seeding.plan_upgrade(seeded._database)
    assert actions(plan) == {"a.b": "add", "semantic.note": "update", "semantic.old": "withdraw"}
    assert seeded.resolve("semantic.note").revision == before


def memory_files(files: dict[str, str]) -> dict[str, str]:
    return {path: source for path, source in files.items() if path.startswith("memory")}


def test_an_upgrade_is_done_as_ovstore_and_numbered(seeded: Store, package: Package) -> None:
    package(2, {**FIRST, "semantic/note.yaml": prompt(template="New {{ q }}")})
    upgrade(seeded)
    entry = next(seeded.audit())
    assert (entry.actor, entry.reason, entry.key) == (AUTHOR, "bundled catalogue 2", "semantic.note")
    assert catalog(seeded) == "2"
    assert seeding.plan_upgrade(seeded._database) is None


def test_a_catalogue_that_differs_by_number_alone_is_remembered(seeded: Store, package: Package) -> None:
    package(2, FIRST)
    upgrade(seeded)
    assert catalog(seeded) == "2"
    assert len(list(seeded.audit())) == 3


def test_a_plan_of_an_upgrade_says_for_whom_it_changes_what(seeded: Store, package: Package) -> None:
    seeded.publish(patch("semantic.note", llm_config={"x": 1}), tenant="acme", actor="ann")
    for n in range(7):
        seeded.publish(prompt(template="Own {{ q }}"), tenant=f"t{n}", actor="ann")
    package(2, {**FIRST, "semantic/note.yaml": prompt(template="New {{ q }}")})
    plan = seeding.plan_upgrade(seeded._database)
    assert plan is not None
    (row,) = [row for row in plan.rows if row.action == "update"]
    assert row.warnings == (
        "patched by acme: the change shows through",
        "overridden by t0, t1, t2, t3, t4, 2 more: nothing changes there",
    )
    seeding.apply_upgrade(seeded._database, plan)
    assert seeded.resolve("semantic.note", tenant="acme").document["template"] == "New {{ q }}"
    assert seeded.resolve("semantic.note", tenant="t0").document["template"] == "Own {{ q }}"


def test_an_upgrade_above_medium_needs_the_risk_accepted(seeded: Store, package: Package) -> None:
    package(2, {path: source for path, source in FIRST.items() if path != "semantic/old.yaml"})
    with pytest.raises(ovstore.RiskError):
        upgrade(seeded)
    assert catalog(seeded) == "1"
    upgrade(seeded, accept_risk="high")
    assert {t.key for t in seeded.templates()} == {"habits", "semantic.note"}


def test_an_upgrade_that_would_undo_a_rollback_is_refused(seeded: Store, package: Package) -> None:
    second = {**FIRST, "semantic/note.yaml": prompt(template="Bad {{ q }}")}
    package(2, second)
    upgrade(seeded)
    seeded.seed.rollback("semantic.note", actor="bob", reason="it shouted")
    package(3, {**second, "semantic/old.yaml": prompt("semantic.old", template="New {{ q }}")})
    with pytest.raises(ovstore.RiskError, match="it shouted"):
        upgrade(seeded)
    assert seeded.resolve("semantic.note").document["template"] == "Note {{ q }}"


def test_an_override_that_an_upgrade_would_break_is_named_and_can_be_frozen(seeded: Store, package: Package) -> None:
    gone = [{"name": "content", "$remove": True}]
    seeded.publish(patch("habits", fields=gone), tenant="acme", actor="ann", accept_risk="high")
    mine = seeded.resolve("habits", tenant="acme").document_hash
    package(2, {**FIRST, "memory/habits.yaml": memory(fields=[{"name": "name", "merge_op": "immutable"}])})
    with pytest.raises(ovstore.ContractError, match="acme"):
        upgrade(seeded, accept_risk="very_high")
    upgrade(seeded, accept_risk="very_high", dependents="freeze")
    assert seeded.resolve("habits", tenant="acme").document_hash == mine


def test_what_others_have_published_into_the_seed_layer_stays(seeded: Store, package: Package) -> None:
    seeded.seed.publish(prompt(template="Ours {{ q }}"), actor="ann")
    seeded.seed.publish(prompt("semantic.ours"), actor="ann")
    package(2, {**FIRST, "semantic/note.yaml": prompt(template="New {{ q }}"), "a/b.yaml": prompt("a.b")})
    plan = seeding.plan_upgrade(seeded._database)
    assert actions(plan) == {"a.b": "add"}
    upgrade(seeded)
    assert seeded.resolve("semantic.note").document["template"] == "Ours {{ q }}"
    assert seeded.resolve("semantic.ours").scope == "seed"


def test_an_older_package_never_writes_over_a_newer_one(seeded: Store, package: Package) -> None:
    package(2, {**FIRST, "semantic/note.yaml": prompt(template="New {{ q }}")})
    upgrade(seeded)
    package(1, FIRST)
    with pytest.raises(ovstore.ConflictError, match="holds catalogue 2, and this package"):
        seeding.plan_upgrade(seeded._database)
    assert seeded.resolve("semantic.note").document["template"] == "New {{ q }}"


def test_an_older_package_that_planned_before_the_newer_one_came_writes_nothing(
    seeded: Store, package: Package
) -> None:
    package(2, {**FIRST, "a/b.yaml": prompt("a.b")})
    planned = seeding.plan_upgrade(seeded._database)
    assert planned is not None
    package(3, FIRST)
    upgrade(seeded)
    package(2, {**FIRST, "a/b.yaml": prompt("a.b")})
    with pytest.raises(ovstore.ConflictError, match="holds catalogue 3"):
        seeding.apply_upgrade(seeded._database, planned)
    assert catalog(seeded) == "3"
    assert "a.b" not in {t.key for t in seeded.templates()}


def test_an_upgrade_planned_before_the_layer_moved_is_stale(seeded: Store, package: Package) -> None:
    package(2, {**FIRST, "a/b.yaml": prompt("a.b")})
    planned = seeding.plan_upgrade(seeded._database)
    assert planned is not None
    seeded.seed.publish(prompt("semantic.ours"), actor="ann")
    with pytest.raises(ovstore.StalePlanError):
        seeding.apply_upgrade(seeded._database, planned)


def test_an_upgrade_leaves_the_experimental_schemas_as_they_are_unless_told(seeded: Store, package: Package) -> None:
    plan = seeding.plan_upgrade(seeded._database, experimental_memory=True)
    assert actions(plan) == {"habits": "update"}
    assert plan is not None
    seeding.apply_upgrade(seeded._database, plan)
    package(2, {**FIRST, "a/b.yaml": prompt("a.b")})
    assert actions(seeding.plan_upgrade(seeded._database)) == {"a.b": "add"}
    assert actions(seeding.plan_upgrade(seeded._database, experimental_memory=False)) == {
        "a.b": "add",
        "habits": "update",
    }


def test_a_process_of_the_older_package_serves_what_the_newer_one_seeded(
    url: str, seeded: Store, package: Package
) -> None:
    assert seeded.render("semantic.note", {"q": "x"}).text == "Note x"
    package(2, {**FIRST, "semantic/note.yaml": prompt(template="New {{ q }}")})
    with ovstore.open(url) as newer:
        upgrade(newer)
    package(1, FIRST)
    assert seeded.render("semantic.note", {"q": "x"}).text == "New x"
    with ovstore.open(url, create=True) as again:
        assert again.render("semantic.note", {"q": "x"}).text == "New x"


def test_templates_that_are_not_whole_are_not_seeded(url: str, package: Package) -> None:
    package(1, {**FIRST, "a/b.yaml": "metadata: {id: a.b}\n"})
    with pytest.raises(ovstore.InvalidDocumentError, match="install it again"):
        ovstore.open(url, create=True)
    with ovstore.open(url) as store:
        assert store.templates() == ()


def test_the_bundled_catalogue_fills_a_store(empty_url: str) -> None:
    with ovstore.open(empty_url, create=True) as store:
        assert catalog(store) == str(seeding.CATALOG)
        assert len(store.seed.templates()) >= 50
        assert seeding.plan_upgrade(store._database) is None
        plan = store.seed.plan_import(bundled.folder("seed_templates"), prune=True, strict=True)
        assert {row.action for row in plan.rows} == {"unchanged"}
        assert [f for f in plan.findings if f.severity == "error"] == []


CATALOGUES = {1: "a164e670226f73af5ddad5803faa9eb53794c6fb44ae5678f6676699e99e1e0b"}
"""What each numbered catalogue holds: the SHA-256 of its paths and bytes."""


def test_whoever_changes_a_seed_template_raises_the_number_of_the_catalogue() -> None:
    folder = bundled.folder("seed_templates")
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.yaml")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    assert CATALOGUES.get(seeding.CATALOG) == digest.hexdigest(), (
        "a seed template has changed: raise CATALOG in ovstore/seeding.py, so that stores learn of it, and add the new "
        "number with its hash here"
    )
