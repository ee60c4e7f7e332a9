"""import, export, check and schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from running import Cli
from samples import memory, patch, prompt

from ovstore import bundled, schemas
from ovstore.cli.directories import annotation
from ovstore.results import Finding

SEEDS = sorted(bundled.folder("seed_templates").rglob("*.yaml"))


@pytest.fixture
def templates(folder: Path) -> Path:
    """A folder with a prompt and a memory schema."""
    for path, content in {"semantic/note.yaml": prompt(), "memory/habits.yaml": memory()}.items():
        (folder / "templates" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "templates" / path).write_text(content)
    return folder / "templates"


def test_an_import_shows_its_plan_and_applies_it(cli: Cli, templates: Path) -> None:
    out = cli("import", templates, "--reason", "first").out
    assert "plan for global: 2 to add  risk low" in out
    assert "applied 2 changes" in out
    assert [entry["reason"] for entry in cli("--format", "json", "audit").lines] == ["first", "first"]


def test_a_plan_of_many_rows_shows_those_to_look_at_and_counts_the_rest(cli: Cli, templates: Path) -> None:
    cli("import", templates)
    for n in range(60):
        (templates / "semantic" / f"extra{n:02}.yaml").write_text(prompt(f"semantic.extra{n:02}"))
    (templates / "semantic" / "note.yaml").write_text(prompt(variables=("q", "r"), template="{{ q }}{{ r }}"))
    out = cli("import", templates, "--dry-run").out
    assert "60 to add, 1 to update" in out
    assert "and 10 more, of low risk at most and without warnings: 10 to add\n" in out
    assert "update    semantic.note" in out


def test_of_many_harmless_rows_the_riskiest_are_shown(cli: Cli, templates: Path) -> None:
    for n in range(60):
        (templates / "semantic" / f"extra{n:02}.yaml").write_text(prompt(f"semantic.extra{n:02}"))
    (templates / "semantic" / "tone.yaml").write_text(prompt("semantic.tone"))
    cli("import", templates, "--seed")
    (templates / "semantic" / "tone.yaml").write_text(prompt("semantic.tone", llm_config={"temperature": 0.5}))
    for n in range(60):
        (templates / "semantic" / f"extra{n:02}.yaml").write_text(prompt(f"semantic.extra{n:02}", template="X {{ q }}"))
    out = cli("import", templates, "--seed", "--dry-run").out
    assert "  update    semantic.tone     medium\n" in out
    assert "and 11 more, of low risk at most and without warnings: 11 to update\n" in out


def test_of_a_thousand_risky_changes_a_plan_and_its_refusal_stay_readable(cli: Cli, templates: Path) -> None:
    for names in (("q",), ("r",)):
        for n in range(60):
            text = prompt(f"semantic.extra{n:02}", variables=names, template=f"{{{{ {names[0]} }}}}")
            (templates / "semantic" / f"extra{n:02}.yaml").write_text(text)
        ran = cli("import", templates, code=0 if names == ("q",) else 5)
    assert ran.out.count("  update    semantic.extra") == 60
    assert ran.out.count("      variables[r]  high    appears: type") == 50
    assert "(the changes of 10 rows are left out: --format json has them)" in ran.out
    assert ran.out.count("info[same-label]: semantic.extra") == 5
    assert "info[same-label]: and 55 more\n" in ran.out
    assert len(ran.err.splitlines()) < 120
    assert " more lines\nTo accept that: --accept-risk high\n" in ran.err


def test_rows_that_change_nothing_are_counted_where_they_are_many(cli: Cli, templates: Path) -> None:
    for n in range(6):
        (templates / "semantic" / f"extra{n}.yaml").write_text(prompt(f"semantic.extra{n}"))
    cli("import", templates, "--seed")
    (templates / "semantic" / "note.yaml").write_text(prompt(template="Other {{ q }}"))
    out = cli("import", templates, "--tenant", "acme", "--dry-run").out
    assert "  override  semantic.note  low  over seed:1\n" in out
    assert "  override  7 that say the same as what they hide\n" in out
    assert "same as seed:1" not in out
    cli("import", templates, "--tenant", "acme")
    for path in templates.rglob("*.yaml"):
        path.write_text(f"# ours\n{path.read_text()}")
    out = cli("import", templates, "--tenant", "acme", "--dry-run").out
    assert "  update    8 that differ in comments or layout alone\n" in out


def test_a_dry_run_writes_nothing(cli: Cli, templates: Path) -> None:
    assert "2 to add" in cli("import", templates, "--dry-run").out
    assert cli("list").out == ""


def test_the_same_folder_again_changes_nothing(cli: Cli, templates: Path) -> None:
    cli("import", templates)
    out = cli("import", templates).out
    assert "2 unchanged" in out
    assert "nothing was changed" in out


def test_a_folder_without_templates_says_so(cli: Cli, folder: Path) -> None:
    (folder / "empty").mkdir()
    ran = cli("import", "empty")
    assert "no .yaml or .yml file lies in empty, which is empty" in ran.out
    assert "nothing was changed: there was nothing to import" in ran.out
    cli("import", "empty", "--strict", code=1)
    for name in ("d.json", "b.YAML", "a.txt", "c.md"):
        (folder / "empty" / name).touch()
    assert "lies in empty, but a.txt, b.YAML, c.md and 1 more" in cli("import", "empty").out


def test_a_category_that_fits_no_file_says_which_there_are(cli: Cli, templates: Path) -> None:
    ran = cli("import", templates, "--category", "semantc")
    assert "no file is of the category semantc; there are files of memory (1), semantic (1)" in ran.out
    assert "the store has all of it" not in ran.out


def test_a_folder_of_experimental_schemas_alone_says_what_was_left_out(cli: Cli, folder: Path) -> None:
    (folder / "memory" / "experimental_memory").mkdir(parents=True)
    (folder / "memory" / "experimental_memory" / "habits.yaml").write_text(memory())
    assert "every file lies in experimental_memory/, which is left out" in cli("import", "memory").out
    assert "1 to add" in cli("import", "memory", "--experimental-memory").out


def test_a_copy_of_what_lies_below_is_called_so(cli: Cli, templates: Path) -> None:
    cli("import", templates, "--seed")
    out = cli("import", templates, "--tenant", "acme", "--dry-run").out
    assert "override  habits         none  same as seed:1\n" in out
    assert "info[same-as-below]: nothing would differ from what lies below: habits (seed:1), semantic.note" in out
    (templates / "semantic" / "note.yaml").write_text(prompt(template="Other {{ q }}"))
    out = cli("import", templates, "--tenant", "acme", "--dry-run").out
    assert "override  semantic.note  low   over seed:1\n" in out


def test_a_folder_with_an_error_is_1_with_every_finding_and_nothing_written(cli: Cli, templates: Path) -> None:
    for name in ("one", "two"):
        (templates / "semantic" / f"{name}.yaml").write_text(prompt(f"semantic.{name}", template="{{ undeclared }}"))
    ran = cli("import", templates, code=1)
    assert "one.yaml:" in ran.out
    assert "two.yaml:" in ran.out
    assert "after that" not in ran.out
    assert ran.err == "nothing was written: 2 files have errors\n"
    assert cli("list").out == ""


def test_strict_takes_warnings_for_errors(cli: Cli, templates: Path) -> None:
    (templates / "semantic" / "note.yaml").write_text(prompt(nonsense_beyond_mending=1))
    cli("import", templates, "--dry-run")
    cli("import", templates, "--dry-run", "--strict", code=1)


def test_category_narrows_and_prune_withdraws(cli: Cli, templates: Path) -> None:
    cli("import", templates)
    (templates / "semantic" / "note.yaml").unlink()
    (templates / "memory" / "habits.yaml").unlink()
    (templates / "semantic" / "other.yaml").write_text(prompt("semantic.other"))
    out = cli("import", templates, "--prune", "--category", "semantic", "--accept-risk", "high").out
    assert "1 to add, 1 to withdraw" in out
    assert "habits" in cli("list").out


def test_pruning_by_an_empty_folder_is_refused_with_what_to_do(cli: Cli, templates: Path, folder: Path) -> None:
    cli("import", templates, "--tenant", "acme")
    (folder / "empty").mkdir()
    ran = cli("import", "empty", "--tenant", "acme", "--prune", code=1)
    assert "error[nothing-to-keep]: the folder holds no document; pruning by it would withdraw 2 from acme" in ran.out
    assert ran.err == "nothing was written\n"


def test_an_import_is_as_risky_as_its_riskiest_change(cli: Cli, templates: Path) -> None:
    cli("import", templates)
    (templates / "memory" / "habits.yaml").write_text(memory(directory="viking://user/{{ user_space }}/moved"))
    ran = cli("import", templates, code=5)
    assert "directory" in ran.out
    assert "--accept-risk very_high --reason TEXT" in ran.err


def test_an_export_is_what_was_imported_byte_for_byte(cli: Cli, templates: Path, folder: Path) -> None:
    cli("import", templates)
    out = cli("export", "copy").out
    copied = sorted(path.relative_to("copy").as_posix() for path in Path("copy").rglob("*.yaml"))
    assert copied == ["memory/habits.yaml", "semantic/note.yaml"]
    assert all((folder / "copy" / path).read_bytes() == (templates / path).read_bytes() for path in copied)
    assert all(path in out for path in copied)
    assert "2 unchanged" in cli("import", "copy").out


def test_an_export_can_be_of_some_keys_and_of_what_a_tenant_gets(cli: Cli, templates: Path, folder: Path) -> None:
    cli("import", templates)
    cli("publish", "-", "--tenant", "acme", text=patch("semantic.note", template="Acme {{ q }}"))
    cli("export", "some", "habits")
    assert [path.name for path in (folder / "some").rglob("*.yaml")] == ["habits.yaml"]
    cli("export", "all", "--tenant", "acme", "--effective")
    assert "Acme {{ q }}" in (folder / "all" / "semantic" / "note.yaml").read_text()


def test_check_needs_no_database(cli: Cli, templates: Path) -> None:
    ran = cli("--db", "sqlite:///missing.db", "check", templates)
    assert ran.err == "nothing is wrong\n"


def test_check_tells_each_finding_with_its_place_and_counts_them(cli: Cli, templates: Path) -> None:
    (templates / "semantic" / "note.yaml").write_text(prompt(template="{{ a }} {{ b }}", variables=()))
    ran = cli("check", templates, code=1)
    assert "note.yaml:" in ran.out
    assert "error[undeclared-variable]" in ran.out
    assert ran.err == "2 errors\n"


def test_check_takes_several_files(cli: Cli, templates: Path) -> None:
    cli("check", templates / "semantic" / "note.yaml", templates / "memory" / "habits.yaml")


def test_a_warning_is_an_error_under_strict(cli: Cli, templates: Path) -> None:
    (templates / "semantic" / "note.yaml").write_text(prompt(nonsense_beyond_mending=1))
    cli("check", templates)
    cli("check", templates, "--strict", code=1)


def test_findings_can_be_annotations_for_github(cli: Cli, templates: Path) -> None:
    (templates / "semantic" / "note.yaml").write_text(prompt(template="{{ a }}", variables=()))
    out = cli("check", templates, "--github", code=1).out
    assert out.startswith(f"::error file={templates}/semantic/note.yaml,line=")
    assert ",title=ovstore undeclared-variable::" in out


def test_an_annotation_escapes_what_would_end_it() -> None:
    finding = Finding("some-code", "info", "50% of\nthe lines: a, b", "a,b:c.yaml", 3, 7, "mend it")
    expected = "::notice file=a%2Cb%3Ac.yaml,line=3,col=7,title=ovstore some-code::50%25 of%0Athe lines: a, b%0Amend it"
    assert annotation(finding) == expected


@pytest.mark.parametrize("name", schemas.NAMES)
def test_schema_writes_a_json_schema_with_descriptions(cli: Cli, name: schemas.Name) -> None:
    schema = json.loads(cli("schema", name).out)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema == json.loads(cli("--format", "json", "schema", name).out)
    forms = list(_forms(schema))
    assert forms
    assert [key for form in forms for key, value in form.items() if not value.get("description")] == []


def _forms(schema: Any) -> Iterator[dict[str, Any]]:
    """The keys of every closed object in a schema, at its top; conditions name keys too, and say nothing of them."""
    if "additionalProperties" in schema and "properties" in schema:
        yield schema["properties"]
    for branch in ("then", "else", "anyOf", "oneOf"):
        inner = schema.get(branch, [])
        for one in inner if isinstance(inner, list) else [inner]:
            yield from _forms(one)


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_every_seed_template_fits_its_schema(path: Path) -> None:
    data = yaml.safe_load(path.read_bytes())
    name: schemas.Name = "settings" if "values" in data else "prompt" if "metadata" in data else "memory"
    errors = [error.message for error in Draft202012Validator(schemas.schema(name)).iter_errors(data)]
    assert errors == []


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("prompt", {"template": "x"}),
        ("prompt", yaml.safe_load(prompt()) | {"templte": "x"}),
        ("prompt", yaml.safe_load(prompt(variables=({"name": "q", "type": "text", "description": "q"},)))),
        ("prompt", yaml.safe_load(prompt(key="memory"))),
        ("memory", yaml.safe_load(memory("dotted.key"))),
        ("memory", yaml.safe_load(memory(fields=[{"name": "a", "merge_op": "add"}]))),
        ("patch", {"template": "x"}),
        ("patch", {"extends": "profile", "template": "x"}),
        ("patch", {"extends": "semantic.note", "variables": [{"required": False}]}),
        ("patch", {"extends": "semantic.note", "variables": [{"name": "q", "$remove": False}]}),
    ],
)
def test_a_schema_refuses_what_is_wrong(name: schemas.Name, data: object) -> None:
    assert not Draft202012Validator(schemas.schema(name)).is_valid(data)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("prompt", prompt().replace('"1.0.0"', "1.10").replace('"en"', "no")),
        ("prompt", prompt(llm_config=None, output_schema=None)),
        ("memory", memory().replace("memory_type", "name")),
        ("memory", memory(agent_only=True, enable=False)),
        ("memory", memory(fields=[{"name": "n", "type": "int64", "merge_op": "sum", "init_value": 0}])),
        ("patch", patch("semantic.note", template="x", llm_config={"temperature": None}, output_schema=None)),
        ("patch", patch("semantic.note", variables=[{"name": "q", "$remove": True}, {"name": "r", "required": False}])),
        ("patch", patch("profile", fields=[{"name": "content", "merge_op": "replace"}], embedding_template=None)),
    ],
)
def test_a_schema_takes_what_ovstore_takes(name: schemas.Name, source: str) -> None:
    errors = [error.message for error in Draft202012Validator(schemas.schema(name)).iter_errors(yaml.safe_load(source))]
    assert errors == []
