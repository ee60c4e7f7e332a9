"""What is told beside the answer of a write: warnings, what was frozen, a second try, and what may be mistyped."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from running import Cli
from samples import memory, patch, prompt

WIDE = prompt(variables=("q", "r"), template="{{ q }} {{ r }}")
NARROW = prompt(template="{{ q }}")
FREEZE = ("--accept-risk", "high", "--freeze-dependents")


@pytest.fixture
def patched(cli: Cli) -> Cli:
    """A store where two tenants have patches that need the variable r of global."""
    cli("publish", "-", text=WIDE)
    for tenant in ("acme", "globex"):
        cli(
            "publish",
            "-",
            "--tenant",
            tenant,
            text=patch("semantic.note", template=f"{tenant} {{{{ q }}}} {{{{ r }}}}"),
        )
    return cli


def test_a_publish_tells_what_check_would_warn_of(cli: Cli, folder: Path) -> None:
    (folder / "note.yaml").write_text(prompt(variables=("q", "unused"), template="{{ q }}", output_schema={"type": 7}))
    ran = cli("publish", "note.yaml")
    assert "published semantic.note" in ran.out
    assert "note.yaml:" in ran.err
    assert "warning[unused-variable]" in ran.err
    assert "warning[bad-output-schema]" in ran.err


def test_a_pipe_is_published_like_a_file(cli: Cli) -> None:
    there, here = os.pipe()
    os.write(here, prompt().encode())
    os.close(here)
    assert cli("publish", f"/dev/fd/{there}").out.startswith("published semantic.note")
    os.close(there)


def test_a_warning_is_a_finding_in_json(cli: Cli) -> None:
    err = cli("--format", "json", "publish", "-", text=prompt(template="no variable")).err
    (told,) = [json.loads(line) for line in err.splitlines()]
    assert told["finding"]["code"] == "unused-variable"
    assert told["note"].endswith("(Use it, or remove it.)")


def test_an_import_tells_the_warnings_of_its_files(cli: Cli, folder: Path) -> None:
    (folder / "semantic").mkdir()
    (folder / "semantic" / "note.yaml").write_text(prompt(template="no variable"))
    assert "warning[unused-variable]" in cli("import", ".", "--dry-run").out
    (told,) = [json.loads(line) for line in cli("--format", "json", "import", ".").err.splitlines()]
    assert told["finding"]["code"] == "unused-variable"


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_was_frozen_is_named_for_each_tenant(patched: Cli, form: str) -> None:
    err = patched("--format", form, "publish", "-", *FREEZE, text=NARROW).err
    assert "acme:2 of semantic.note" in err
    assert "globex:2 of semantic.note" in err


def test_other_writes_that_freeze_name_what_they_froze(patched: Cli, folder: Path) -> None:
    patched("publish", "-", "--draft", text=NARROW)
    assert "acme:2 of semantic.note" in patched("activate", "semantic.note", "2", *FREEZE).err
    (folder / "semantic").mkdir()
    (folder / "semantic" / "note.yaml").write_text(WIDE.replace("A note", "Our note"))
    patched("import", ".", "--accept-risk", "high")
    patched("publish", "-", "--tenant", "acme", text=patch("semantic.note", template="{{ r }} {{ q }}"))
    (folder / "semantic" / "note.yaml").write_text(NARROW)
    err = patched("import", ".", *FREEZE).err
    assert "acme:4 of semantic.note" in err
    assert "globex" not in err


def test_a_write_that_froze_nothing_says_nothing_of_it(cli: Cli) -> None:
    cli("publish", "-", text=WIDE)
    assert cli("publish", "-", *FREEZE, text=NARROW).err == ""


def test_a_change_set_that_was_applied_already_is_told_with_its_time(cli: Cli) -> None:
    first = cli("publish", "-", "--change-set", "deploy-7", text=prompt())
    assert first.out.startswith("published ")
    assert first.err == ""
    again = cli("publish", "-", "--change-set", "deploy-7", text=prompt())
    at = cli("--format", "json", "history", "semantic.note").lines[0]["at"]
    assert again.err == f"change set deploy-7 was applied already, at {at}; nothing was done again\n"
    assert again.out == f"already {first.out}"


def test_a_move_that_was_done_already_is_told_too(cli: Cli) -> None:
    cli("publish", "-", text=WIDE)
    cli("publish", "-", "--accept-risk", "high", text=NARROW)
    move = ("rollback", "semantic.note", "--change-set", "back", "--accept-risk", "high")
    assert cli(*move).out.startswith("rolled back ")
    again = cli(*move)
    assert again.out.startswith("already rolled back ")
    assert "was applied already" in again.err


def test_a_whole_rollback_that_was_done_already_is_told_too(patched: Cli) -> None:
    back = ("rollback", "--all", "--tenant", "acme", "--to", "2026-01-01T00:00:00Z", "--change-set", "all-back")
    assert patched(*back).err == ""
    assert "change set all-back was applied already, at " in patched(*back).err


def test_a_patch_of_a_key_that_nobody_knows_names_near_keys_and_the_tenant_option(cli: Cli) -> None:
    cli("publish", "-", text=prompt())
    err = cli("publish", "-", code=1, text=patch("semantic.nota", template="{{ q }}")).err
    assert "extends names semantic.nota, which no layer of global (global, seed) knows" in err
    assert "Did you mean semantic.note?" in err
    assert "--tenant T" in err
    assert "--tenant T" not in cli("publish", "-", "--tenant", "acme", code=1, text=patch("semantic.nota")).err


def test_an_import_of_a_patch_into_the_wrong_scope_reminds_of_the_tenant_option(cli: Cli, folder: Path) -> None:
    cli("publish", "-", "--tenant", "acme", text=prompt())
    (folder / "semantic").mkdir()
    (folder / "semantic" / "note.yaml").write_text(patch("semantic.note", template="{{ q }}"))
    assert "--tenant T" in cli("import", ".", code=1).err
    assert "--tenant T" not in cli("import", ".", "--seed", code=1).err


def test_a_patch_of_a_key_of_another_tenant_names_nothing_of_it(cli: Cli) -> None:
    cli("publish", "-", "--tenant", "globex", text=prompt("semantic.secret"))
    assert "secret?" not in cli("publish", "-", "--tenant", "acme", code=1, text=patch("semantic.secrett")).err


def test_a_mistyped_variable_of_a_patch_names_the_one_that_was_meant(cli: Cli) -> None:
    cli("publish", "-", text=prompt(variables=("content",), template="{{ content }}"))
    slip = patch("semantic.note", variables=[{"name": "contnet", "description": "x"}])
    err = cli("publish", "-", "--tenant", "acme", code=1, text=slip).err
    assert "variables[contnet].type is missing" in err
    assert "No item below is called contnet; did you mean content?" in err


def test_a_mistyped_field_of_a_patch_is_noted_where_it_comes_new(cli: Cli) -> None:
    cli("publish", "-", text=memory())
    slip = patch("habits", fields=[{"name": "contnet", "description": "x"}])
    note = "fields[contnet] is new; did you mean content?"
    assert note in cli("publish", "-", "--tenant", "acme", code=5, text=slip).err
    assert note in cli("publish", "-", "--tenant", "acme", "--accept-risk", "high", text=slip).err
    meant = patch("habits", fields=[{"name": "place", "description": "x"}])
    assert "did you mean" not in cli("publish", "-", "--tenant", "globex", "--accept-risk", "high", text=meant).err


FIRST = "the first write to {}; `ovstore tenants` lists to whom something was written\n"


def test_the_first_write_to_a_tenant_is_noted_since_its_name_may_be_mistyped(cli: Cli, folder: Path) -> None:
    (folder / "note.yaml").write_text(prompt())
    assert cli("publish", "note.yaml", "--tenant", "acme", "--draft").err == FIRST.format("acme")
    assert cli("publish", "note.yaml", "--tenant", "acme").err == ""
    assert cli("publish", "note.yaml", "--tenant", "acme/support").err == FIRST.format("acme/support")
    assert cli("publish", "note.yaml", "--tenant", "globex", "--change-set", "a").err == FIRST.format("globex")
    assert "the first write" not in cli("publish", "note.yaml", "--tenant", "globex", "--change-set", "a").err
    assert cli("publish", "note.yaml").err == ""


def test_the_first_import_into_a_tenant_is_noted_before_and_behind_it(cli: Cli, folder: Path) -> None:
    for name in ("one", "two"):
        (folder / "in" / "semantic").mkdir(parents=True, exist_ok=True)
        (folder / "in" / "semantic" / f"{name}.yaml").write_text(prompt(f"semantic.{name}"))
    assert "nothing was ever written to acme" in cli("import", "in", "--tenant", "acme", "--dry-run").err
    assert cli("import", "in", "--tenant", "acme").err == FIRST.format("acme")
    assert "acme" not in cli("import", "in", "--tenant", "acme", "--dry-run").err


def test_a_note_of_a_first_write_names_no_other_tenant(cli: Cli) -> None:
    cli("publish", "-", "--tenant", "acme", text=prompt())
    assert "acme;" not in cli("publish", "-", "--tenant", "acmee", text=prompt()).err
