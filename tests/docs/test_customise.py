"""docs/customise.md does what it says, and so do the hook and the modeline that it speaks of."""

from __future__ import annotations

from pathlib import Path

import pages
import shell
import yaml
from samples import prompt

PAGE = pages.read("docs/customise.md")


def test_every_command_of_the_page_does_what_the_page_shows(folder: Path) -> None:
    pages.play(PAGE)


def test_the_hook_passes_good_files_and_refuses_bad_ones(folder: Path) -> None:
    (hook,) = yaml.safe_load(pages.read(".pre-commit-hooks.yaml"))
    assert f"- id: {hook['id']}\n" in PAGE
    (folder / "good.yaml").write_text(prompt())
    (folder / "doubtful.yaml").write_text(prompt(tags=[]))
    assert shell.run(f"{hook['entry']} good.yaml").code == 0
    assert shell.run(f"{hook['entry']} good.yaml doubtful.yaml").code == 1


def test_the_modeline_of_the_page_is_a_comment_that_changes_nothing(folder: Path, sqlite_url: str) -> None:
    (modeline, *_) = pages.blocks(PAGE, "yaml")
    assert modeline.startswith("# yaml-language-server: $schema=")
    (folder / "note.yaml").write_text(prompt())
    shell.run(f"ovstore --db {sqlite_url} publish note.yaml")
    (folder / "note.yaml").write_text(modeline + prompt())
    assert "risk none" in shell.run(f"ovstore --db {sqlite_url} publish note.yaml").output
