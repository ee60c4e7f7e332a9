"""`edit` with editors that are small scripts: what they get to see, and what becomes of the text they leave."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Cli
from samples import patch, prompt

Editor = Callable[[str], None]


@pytest.fixture
def editor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """Make an editor of a few lines of Python that get the text and leave it; it keeps what it saw in seen.yaml."""

    def make(script: str) -> None:
        program = folder / "editor.py"
        program.write_text(
            "import sys, pathlib\n"
            "path = pathlib.Path(sys.argv[1])\n"
            "text = path.read_text()\n"
            f"pathlib.Path({str(folder / 'seen.yaml')!r}).write_text(text)\n"
            f"{script}\n"
            "path.write_text(text)\n"
        )
        monkeypatch.setenv("EDITOR", f"{shlex.quote(sys.executable)} {shlex.quote(str(program))}")

    return make


@pytest.fixture
def noted(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A store whose global layer has semantic.note, with a comment in its source; it keeps texts in the folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    cli("publish", "-", text="# ours\n" + prompt(template="Note {{ q }}"))
    return cli


def test_it_starts_from_the_source_that_answers(noted: Cli, editor: Editor, folder: Path) -> None:
    editor("text = text.replace('Note {{', 'Acme {{')")
    noted("edit", "semantic.note", "--tenant", "acme", "--reason", "ours")
    assert (folder / "seen.yaml").read_text() == "# ours\n" + prompt(template="Note {{ q }}")
    assert noted("render", "semantic.note", "-v", "q=1", "--tenant", "acme").out == "Acme 1"
    assert noted("show", "semantic.note", "--source", "--tenant", "acme").out.startswith("# ours\n")


def test_patch_publishes_only_what_differs(noted: Cli, editor: Editor) -> None:
    editor("text = text.replace('Note {{', 'Acme {{')")
    noted("edit", "semantic.note", "--tenant", "acme", "--patch")
    source = noted("show", "semantic.note", "--source", "--tenant", "acme").out
    assert source == 'extends: semantic.note\ntemplate: "Acme {{ q }}"\n'


def test_a_patch_of_ones_own_is_edited_as_it_is(noted: Cli, editor: Editor, folder: Path) -> None:
    own = patch("semantic.note", template="Acme {{ q }}")
    noted("publish", "-", "--tenant", "acme", text=own)
    editor("text = text.replace('Acme', 'Acme again')")
    noted("edit", "semantic.note", "--tenant", "acme")
    assert (folder / "seen.yaml").read_text() == own


def test_what_is_folded_from_a_patch_below_is_edited_whole(noted: Cli, editor: Editor, folder: Path) -> None:
    noted("publish", "-", "--tenant", "acme", text=patch("semantic.note", template="Acme {{ q }}"))
    editor("text = text.replace('Acme', 'Support')")
    noted("edit", "semantic.note", "--tenant", "acme/support", "--patch")
    assert 'template: "Acme {{ q }}"' in (folder / "seen.yaml").read_text()
    source = noted("show", "semantic.note", "--source", "--tenant", "acme/support").out
    assert source == 'extends: semantic.note\ntemplate: "Support {{ q }}"\n'


def test_a_text_that_stays_as_it_was_publishes_nothing(noted: Cli, editor: Editor) -> None:
    editor("")
    assert "nothing was published" in noted("edit", "semantic.note", "--tenant", "acme").err
    noted("show", "semantic.note", "--tenant", "acme", "--version", "1", code=3)


def test_findings_are_told_and_the_text_is_offered_again(noted: Cli, editor: Editor) -> None:
    editor("text = text.replace('{{ q', '{{ r') if '{{ q' in text else text.replace('{{ r', 'Mended {{ q')")
    ran = noted("edit", "semantic.note", text="y\n")
    assert "r" in ran.err
    assert "Edit again?" in ran.err
    assert noted("render", "semantic.note", "-v", "q=1").out == "Note Mended 1"


def test_a_text_that_is_given_up_is_kept(noted: Cli, editor: Editor) -> None:
    editor("text = text.replace('{{ q', '{{ r')")
    ran = noted("edit", "semantic.note", code=1, text="n\n")
    kept = Path(ran.err.rpartition("your text is kept in ")[2].strip())
    assert "{{ r }}" in kept.read_text()


def test_without_anybody_to_ask_findings_end_it(noted: Cli, editor: Editor) -> None:
    editor("text = text.replace('{{ q', '{{ r')")
    assert "your text is kept in" in noted("edit", "semantic.note", code=1, text="").err


def test_a_refusal_keeps_the_text(noted: Cli, editor: Editor) -> None:
    editor("text = text.replace('\"required\": true', '\"required\": false')")
    noted("edit", "semantic.note")
    editor("text = text.replace('\"required\": false', '\"required\": true')")
    ran = noted("edit", "semantic.note", code=5)
    assert Path(ran.err.partition("your text is kept in ")[2].partition("\n")[0]).exists()


def test_another_templates_text_is_refused(noted: Cli, editor: Editor) -> None:
    editor("text = text.replace('semantic.note', 'semantic.other')")
    ran = noted("edit", "semantic.note", code=1, text="n\n")
    assert "this is semantic.other; semantic.note is being edited" in ran.err


def test_who_was_overtaken_is_told_and_keeps_the_text(noted: Cli, editor: Editor, folder: Path) -> None:
    other = folder / "other.yaml"
    other.write_text(prompt(template="Other {{ q }}"))
    publish = "import os, subprocess; subprocess.run([os.path.dirname(sys.executable) + '/ovstore', 'publish', "
    editor(f"{publish}{str(other)!r}], check=True)\ntext = text.replace('Note {{', 'Late {{')")
    ran = noted("edit", "semantic.note", code=4)
    assert "expected version 1, found version 2" in ran.err
    assert "your text is kept in" in ran.err


def test_a_patch_needs_a_layer_below(noted: Cli, editor: Editor) -> None:
    editor("")
    assert "--patch needs a layer below" in noted("edit", "semantic.note", "--patch", code=2).err
    noted("publish", "-", "--seed", text=prompt("semantic.other"))
    assert "seed is the last one" in noted("edit", "semantic.other", "--seed", "--patch", code=2).err


def test_an_editor_that_fails_is_told(noted: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "false")
    assert "set EDITOR" in noted("edit", "semantic.note", code=2).err
    assert list(Path(tempfile.gettempdir()).glob("ovstore-edit-*")) == []


def test_a_patch_that_is_refused_keeps_the_whole_text_and_speaks_of_its_lines(
    noted: Cli, editor: Editor, folder: Path
) -> None:
    editor("text = text.replace('{{ q', '{{ r')")
    ran = noted("edit", "semantic.note", "--tenant", "acme", "--patch", code=1, text="n\n")
    kept = Path(ran.err.rpartition("your text is kept in ")[2].strip())
    seen = (folder / "seen.yaml").read_text()
    assert kept.read_text() == seen.replace("{{ q", "{{ r")
    line = next(n for n, text in enumerate(seen.splitlines(), 1) if "{{ q" in text)
    assert f"\n{line}:" in ran.err


def test_an_editor_that_fails_on_the_way_leaves_what_was_written(noted: Cli, editor: Editor, folder: Path) -> None:
    editor("if '{{ r' in text: sys.exit(1)\ntext = text.replace('{{ q', '{{ r')")
    ran = noted("edit", "semantic.note", code=2, text="y\n")
    kept = Path(ran.err.partition("your text is kept in ")[2].partition("\n")[0])
    assert "{{ r }}" in kept.read_text()


def test_an_edit_tells_the_warnings_of_its_text(noted: Cli, editor: Editor) -> None:
    editor("text = text.replace('Note {{ q }}', 'Note')")
    assert "unused-variable" in noted("edit", "semantic.note").err


def test_an_edit_that_was_published_already_is_told_and_not_begun_again(
    noted: Cli, editor: Editor, folder: Path
) -> None:
    editor("text = text.replace('Note {{', 'First {{')")
    noted("edit", "semantic.note", "--change-set", "deploy-7")
    (folder / "seen.yaml").unlink()
    editor("text = text.replace('First {{', 'Second {{')")
    ran = noted("edit", "semantic.note", "--change-set", "deploy-7")
    assert "change set deploy-7 was applied already, at " in ran.err
    assert not (folder / "seen.yaml").exists()
    assert noted("render", "semantic.note", "-v", "q=1").out == "First 1"


def test_an_interrupt_keeps_what_was_written_till_then(noted: Cli, editor: Editor) -> None:
    editor(
        "import os, signal\n"
        "path.write_text(text.replace('Note {{', 'Acme {{'))\n"
        f"os.kill({os.getpid()}, signal.SIGINT)\n"
        "sys.exit()"
    )
    ran = noted("edit", "semantic.note", code=130)
    kept = Path(ran.err.partition("your text is kept in ")[2].partition("\n")[0])
    assert "Acme {{ q }}" in kept.read_text()
