"""Folders as they are read and checked, without a database: which files count, and all that is wrong with them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from folders import CASES, write
from samples import memory, patch, prompt

import ovstore
from ovstore import directories
from ovstore.directories import File
from ovstore.results import Finding


def codes(folder: Path, **options: bool) -> list[str]:
    return [finding.code for finding in ovstore.check(folder, **options)]


def test_a_folder_without_faults_has_no_findings(tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt(), "memory/habits.yml": memory()})
    assert ovstore.check(tmp_path) == ()


def test_all_findings_of_all_files_come_at_once_with_their_places() -> None:
    found = ovstore.check(CASES / "33_bad_file_reported" / "dir")
    files = {Path(f.path or "").name: [g for g in found if g.path == f.path] for f in found}
    assert set(files) == {"good.yaml", "novar.yaml", "tab.yaml"}
    assert [f.code for f in files["good.yaml"]] == ["path-mismatch"]
    (tab,) = files["tab.yaml"]
    assert (tab.code, tab.severity, tab.line) == ("tab-indentation", "error", 2)
    missing = {f.message for f in files["novar.yaml"] if f.code == "missing-key"}
    assert any("template" in message for message in missing)
    assert any("name" in message for message in missing)


def test_hidden_files_and_other_files_are_not_looked_at(tmp_path: Path) -> None:
    write(tmp_path, {".hidden.yaml": "not: [closed", ".git/config.yaml": "{", "notes.txt": "x", "README.md": "#"})
    assert codes(tmp_path) == ["no-documents"]


def test_findings_come_in_the_order_of_paths_and_lines(tmp_path: Path) -> None:
    write(tmp_path, {"b/x.yaml": "", "a/y.yaml": "", "a/B.yaml": "", "c.yml": ""})
    (tmp_path / "a" / "gone.yaml").symlink_to("nothing.yaml")
    (tmp_path / "d.yaml").symlink_to("nothing.yaml")
    assert [Path(f.path or "").relative_to(tmp_path).as_posix() for f in ovstore.check(tmp_path)] == [
        *("a/B.yaml", "a/gone.yaml", "a/y.yaml", "b/x.yaml", "c.yml", "d.yaml")
    ]


def test_one_file_is_checked_whatever_it_is_called(tmp_path: Path) -> None:
    write(tmp_path, {"draft.txt": prompt(), "wrong.txt": prompt(template="{{ qq }}")})
    assert ovstore.check(tmp_path / "draft.txt") == ()
    assert "undeclared-variable" in codes(tmp_path / "wrong.txt")


def test_an_output_schema_that_is_none_is_a_warning_at_the_keyword(tmp_path: Path) -> None:
    wrong = {"type": "objct", "properties": {"a": {"pattern": "["}}}
    write(tmp_path, {"semantic/note.yaml": prompt(output_schema=wrong), "b.yaml": patch("a.b", output_schema=wrong)})
    found = [f for f in ovstore.check(tmp_path / "semantic") if f.code == "bad-output-schema"]
    assert [(f.severity, f.message.partition(" is ")[0]) for f in found] == [
        ("warning", "output_schema.type"),
        ("warning", "output_schema.properties.a.pattern"),
    ]
    source = (tmp_path / "semantic/note.yaml").read_text().splitlines()
    assert ['"objct"' in source[(found[0].line or 0) - 1], '"["' in source[(found[1].line or 0) - 1]] == [True, True]
    assert codes(tmp_path / "b.yaml").count("bad-output-schema") == 2


def test_an_output_schema_is_checked_by_the_dialect_that_it_names(tmp_path: Path) -> None:
    older = {"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 1, "exclusiveMaximum": True}
    write(tmp_path, {"a.yaml": prompt(output_schema=older), "b.yaml": prompt(output_schema={"$schema": 1})})
    assert "bad-output-schema" not in codes(tmp_path / "a.yaml")
    assert "bad-output-schema" in codes(tmp_path / "b.yaml")


def test_a_path_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ovstore.InvalidArgumentError, match="there is no file or folder"):
        ovstore.check(tmp_path / "missing")


def test_two_files_of_one_key_are_refused_with_both_places(tmp_path: Path) -> None:
    write(tmp_path, {"a/one.yaml": "\n" + prompt("a.one"), "a/two.yaml": prompt("a.one")})
    (twin,) = [f for f in ovstore.check(tmp_path) if f.code == "duplicate-document"]
    assert twin.severity == "error"
    assert (twin.path, twin.line) == (str(tmp_path / "a/two.yaml"), 3)
    assert f"{tmp_path / 'a/one.yaml'}:4:" in twin.message


def test_an_experimental_schema_is_no_twin_of_the_plain_one(tmp_path: Path) -> None:
    write(tmp_path, {"memory/habits.yaml": memory(), "memory/experimental_memory/habits.yaml": memory(description="x")})
    assert ovstore.check(tmp_path) == ()


def test_an_id_that_differs_from_the_path_is_a_warning_at_the_id() -> None:
    (found,) = ovstore.check(CASES / "47_tenant_reserved_traversal" / "idpath")
    assert (found.code, found.severity, found.line) == ("path-mismatch", "warning", 2)
    assert "semantic/other.yaml" in found.message and "semantic.case47" in found.message


@pytest.mark.parametrize("path", ["a/b/c.yaml", "a/b.c.yaml", "a/b_c.yaml", "a.b.c.yml"])
def test_an_id_fits_each_usual_path(tmp_path: Path, path: str) -> None:
    write(tmp_path, {path: prompt("a.b.c")})
    assert ovstore.check(tmp_path) == ()


def test_strict_makes_warnings_errors_and_leaves_infos(tmp_path: Path) -> None:
    late = {"name": "q", "type": "string", "description": "q", "required": True, "default": "x"}
    write(tmp_path, {"a/other.yaml": prompt("a.one", variables=[late])})
    assert {f.code: f.severity for f in ovstore.check(tmp_path)} == {
        "path-mismatch": "warning",
        "required-default": "info",
    }
    assert {f.code: f.severity for f in ovstore.check(tmp_path, strict=True)} == {
        "path-mismatch": "error",
        "required-default": "info",
    }


def test_a_patch_is_checked_without_what_it_extends(tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": patch("semantic.note", template="Mine: {{ q }}")})
    assert ovstore.check(tmp_path) == ()


def test_a_link_is_read_where_it_stays_in_the_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", {".data/note": prompt()})
    (folder / "semantic").mkdir()
    (folder / "semantic/note.yaml").symlink_to("../.data/note")
    assert ovstore.check(folder) == ()


def test_links_that_leave_the_folder_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"outside/note.yaml": prompt()})
    folder = write(tmp_path / "in", {"semantic/other.yaml": prompt("semantic.other")})
    (folder / "semantic/note.yaml").symlink_to(tmp_path / "outside/note.yaml")
    (folder / "linked").symlink_to(tmp_path / "outside")
    assert {Path(f.path or "").name: f.code for f in ovstore.check(folder)} == {
        "note.yaml": "outside-link",
        "linked": "outside-link",
    }


def test_a_link_to_a_folder_is_not_followed_so_that_no_circle_is_walked(tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    (tmp_path / "semantic/again").symlink_to(tmp_path)
    assert codes(tmp_path) == ["linked-folder"]


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    (tmp_path / "semantic/gone.yaml").symlink_to("nothing.yaml")
    assert codes(tmp_path) == ["unreadable-file"]


def test_a_link_that_leads_round_in_a_circle_is_refused_as_one_to_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    (tmp_path / "semantic/round.yaml").symlink_to("round.yaml")
    (tmp_path / "semantic/round").symlink_to("round")
    (found,) = ovstore.check(tmp_path)
    assert (found.code, found.message) == ("unreadable-file", "the link leads nowhere")
    assert "Delete the link" in found.hint


def test_a_file_that_goes_after_it_was_listed_is_told_as_gone(tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    (file,) = directories.listing(tmp_path).files
    file.place.unlink()
    found = directories.read(file)
    assert isinstance(found, Finding)
    assert "gone since the folder was listed" in found.message
    assert "writes into the folder" in found.hint


def test_a_pipe_is_refused_and_never_opened(tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    os.mkfifo(tmp_path / "semantic/pipe.yaml")
    assert codes(tmp_path) == ["special-file"]
    assert codes(tmp_path / "semantic/pipe.yaml") == ["special-file"]


def test_a_file_beyond_the_limit_is_refused_with_both_sizes(tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt() + "#" * 3_000_000})
    (found,) = ovstore.check(tmp_path)
    assert found.code == "too-large"
    assert "3,000,2" in found.message and "2,097,152" in found.message


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt(template="é").encode("latin-1"), "semantic/b.yaml": b"\xff\xfea\0"})
    assert codes(tmp_path) == ["not-utf-8", "not-utf-8"]


def test_a_name_with_a_line_break_is_refused_and_shown_escaped(tmp_path: Path) -> None:
    write(tmp_path, {"semantic/no\nte.yaml": prompt()})
    (found,) = ovstore.check(tmp_path)
    assert found.code == "bad-file-name"
    assert "\n" not in str(found)


def test_paths_that_differ_by_case_alone_are_a_warning() -> None:
    # Not every disk of a test can hold both files.
    files = [File(Path("A/x.yaml"), "A/x.yaml"), File(Path("a/X.yaml"), "a/X.yaml"), File(Path("a/y.yaml"), "a/y.yaml")]
    (found,) = directories.case_collisions(files)
    assert (found.code, found.severity, found.path) == ("case-collision", "warning", str(Path("a/X.yaml")))


def test_more_files_than_any_folder_of_templates_has_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "MAX_FILES", 2)
    write(tmp_path, {f"a/n{n}.yaml": "" for n in range(3)})
    assert codes(tmp_path) == ["folder-too-large"]


def test_a_check_needs_no_database_library(tmp_path: Path) -> None:
    write(tmp_path, {"semantic/note.yaml": prompt()})
    program = "import sys, ovstore; print(ovstore.check(sys.argv[1]), 'sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "() False\n"
