"""The command line as a process of its own: what it imports, its exit code, pipes that close, other encodings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from running import run
from samples import prompt

OVSTORE = str(Path(sys.executable).with_name("ovstore"))
HEAVY = ("sqlalchemy", "pydantic", "jinja2", "yaml", "alembic", "psycopg", "rich", "jsonschema")


def start(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OVSTORE_")}
    return subprocess.run([OVSTORE, *arguments], cwd=cwd, env=clean | environment, capture_output=True, timeout=120)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["render", "--help"], ["schema", "prompt"]])
def test_version_and_help_import_nothing_heavy(folder: Path, arguments: list[str]) -> None:
    script = (
        "import sys, ovstore.cli\n"
        f"sys.argv = ['ovstore', *{arguments!r}]\n"
        "try:\n    ovstore.cli.main()\n"
        f"finally:\n    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0
    assert ran.stderr == "[]\n"


def test_a_render_loads_only_what_it_uses(folder: Path, sqlite_url: str) -> None:
    (folder / "note.yaml").write_text(prompt())
    run("--db", sqlite_url, "publish", "note.yaml", "--actor", "ann")
    unused = ["yaml", "alembic", "psycopg", "rich.progress", "ovstore.lifecycle", "ovstore.context", "ovstore.memory"]
    script = (
        "import sys, ovstore.cli\n"
        f"sys.argv = ['ovstore', '--db', {sqlite_url!r}, 'render', 'semantic.note', '-v', 'q=x']\n"
        "try:\n    ovstore.cli.main()\n"
        f"finally:\n    print([name for name in {unused!r} if name in sys.modules], file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=120)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("Note x", "[]\n", 0)


def test_version_is_that_of_the_package(folder: Path) -> None:
    import ovstore

    assert start("--version", cwd=folder).stdout.decode() == f"ovstore {ovstore.__version__}\n"


def test_a_named_database_that_is_missing_ends_the_process_with_6(folder: Path) -> None:
    ran = start("list", cwd=folder, OVSTORE_DB="sqlite:///missing.db")
    assert ran.returncode == 6
    assert ran.stdout == b""
    assert b"Traceback" not in ran.stderr


def test_a_text_is_written_to_a_pipe_byte_for_byte(folder: Path, sqlite_url: str) -> None:
    (folder / "note.yaml").write_text(prompt(template="Größe {{ q }}\n\n"))
    run("--db", sqlite_url, "publish", "note.yaml", "--actor", "ann")
    ran = start("render", "semantic.note", "-v", "q=1", cwd=folder, OVSTORE_DB=sqlite_url, PYTHONIOENCODING="latin-1")
    assert ran.stdout == "Größe 1\n".encode()


@pytest.mark.parametrize(
    "arguments", [["render", "semantic.note", "-v", "q=1"], ["list"], ["list", "--format", "json"]]
)
def test_a_reader_that_goes_away_ends_the_command_quietly(folder: Path, sqlite_url: str, arguments: list[str]) -> None:
    (folder / "note.yaml").write_text(prompt())
    run("--db", sqlite_url, "publish", "note.yaml", "--actor", "ann")
    reader, writer = os.pipe()
    os.close(reader)
    command = [OVSTORE, "--db", sqlite_url, *arguments]
    ran = subprocess.run(command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, timeout=120)
    os.close(writer)
    assert ran.returncode == 141
    assert b"Traceback" not in ran.stderr
    assert b"Error" not in ran.stderr


def test_what_a_terminal_cannot_show_is_escaped(folder: Path, sqlite_url: str) -> None:
    (folder / "note.yaml").write_text(prompt().replace("A note", "Größe →"))
    run("--db", sqlite_url, "publish", "note.yaml", "--actor", "ann")
    ran = start("list", cwd=folder, OVSTORE_DB=sqlite_url, PYTHONIOENCODING="latin-1")
    assert "Größe \\u2192".encode("latin-1") in ran.stdout


def test_json_is_utf_8_whatever_the_terminal_is(folder: Path, sqlite_url: str) -> None:
    (folder / "note.yaml").write_text(prompt().replace("A note", "Größe →"))
    run("--db", sqlite_url, "publish", "note.yaml", "--actor", "ann")
    ran = start("list", "--format", "json", cwd=folder, OVSTORE_DB=sqlite_url, PYTHONIOENCODING="latin-1")
    assert json.loads(ran.stdout.decode())["description"] == "Größe →"


def test_an_argument_in_another_encoding_is_told_and_not_stored(folder: Path, sqlite_url: str) -> None:
    (folder / "note.yaml").write_text(prompt())
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OVSTORE_")}
    arguments = [OVSTORE, "--db", sqlite_url, "publish", "note.yaml", "--actor", b"Andr\xe9"]
    ran = subprocess.run(arguments, cwd=folder, env=clean, capture_output=True, timeout=120)
    assert ran.returncode == 2
    assert b"is not an actor" in ran.stderr
    assert b"Traceback" not in ran.stderr


def test_a_shell_completes_commands_and_keys(folder: Path, sqlite_url: str) -> None:
    (folder / "note.yaml").write_text(prompt())
    run("--db", sqlite_url, "publish", "note.yaml", "--actor", "ann")

    def completed(*words: str) -> list[str]:
        ran = start(
            cwd=folder,
            OVSTORE_DB=sqlite_url,
            _OVSTORE_COMPLETE="bash_complete",
            COMP_WORDS=" ".join(words),
            COMP_CWORD=str(len(words) - 1),
        )
        return [line.partition(",")[2] for line in ran.stdout.decode().splitlines()]

    assert completed("ovstore", "pub") == ["publish"]
    assert completed("ovstore", "show", "sem") == ["semantic.note"]


def test_completion_makes_no_database(folder: Path) -> None:
    ran = start(cwd=folder, _OVSTORE_COMPLETE="bash_complete", COMP_WORDS="ovstore show s", COMP_CWORD="2")
    assert ran.stdout.strip() == b""
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_write_is_done_where_the_caller_has_closed_every_stream(folder: Path, sqlite_url: str, form: str) -> None:
    (folder / "note.yaml").write_text(prompt())
    line = f"{OVSTORE} --db {sqlite_url} --format {form} publish note.yaml <&- >&- 2>&-"
    assert subprocess.run(["bash", "-c", line], cwd=folder, timeout=120).returncode == 0
    assert "semantic.note" in run("--db", sqlite_url, "list").out
