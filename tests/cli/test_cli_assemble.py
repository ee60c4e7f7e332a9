"""`ovstore assemble`: layers in the margin, what was left out and why, totals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from running import Cli

SEEDS = Path(__file__).parents[2] / "seed_templates"
ASKED: dict[str, Any] = {
    "session_id": "s",
    "now": "2026-04-19T12:00:00Z",
    "system_prompt": "Be kind.\nAlways.",
    "memories": [{"id": f"m{n}", "content": f"memory {n}", "score": n} for n in range(5)],
    "history": [{"id": "u1", "role": "user", "content": "hello\x1b[31m"}],
    "tools": [{"id": "search", "kind": "builtin"}],
}


@pytest.fixture
def asked(cli: Cli, folder: Path) -> Path:
    cli("import", SEEDS, "--category", "context", "--seed")
    path = folder / "request.json"
    path.write_text(json.dumps(ASKED), encoding="utf-8")
    return path


def test_text_shows_each_layer_in_the_margin_what_was_left_out_and_the_totals(cli: Cli, asked: Path) -> None:
    shown = cli("assemble", asked).out
    lines = shown.splitlines()
    assert lines[0].startswith("system  ")
    assert any(line.startswith("   system_prompt") and line.endswith("│ <system_prompt>") for line in lines)
    assert any(line.strip() == "│ Always." for line in lines)
    assert any(line.startswith("  ~time") for line in lines)
    assert "  memory: top_k: m0, m1" in lines
    assert "user u1  " in shown and "tools search" in shown
    assert any(line.split()[0:1] == ["memory"] and line.endswith("seed:1") for line in lines)
    assert lines[-1].startswith("revision global@0.")


def test_on_a_terminal_of_80_columns_every_line_keeps_within_them_and_behind_its_margin(
    cli: Cli, asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lore = [{"uid": f"an-entry-with-a-long-name-{n}", "content": "x", "keys": ["nowhere"]} for n in range(20)]
    summary = {"session_id": "o", "session_name": "n", "summary": "龙" * 90, "updated_at": "2026-04-18T09:00:00Z"}
    wide = {
        **ASKED,
        "system_prompt": "Be kind, " * 30 + "x" * 200,
        "summaries": [summary],
        "worldbooks": [{"id": "book", "name": "Book", "entries": lore}],
        "tools": [{"id": f"a_tool_with_a_long_name_{n}", "kind": "builtin"} for n in range(5)],
    }
    shown = cli("assemble", "-", text=json.dumps(wide)).out.splitlines()
    assert max(map(cell_len, shown)) <= 80
    kind = [line for line in shown if "Be kind" in line]
    assert len(kind) > 3 and len({line.index("│") for line in kind}) == 1


def test_elsewhere_a_line_is_as_long_as_it_is(cli: Cli, asked: Path) -> None:
    long = "Be kind. " * 30
    assert long in cli("assemble", "-", text=json.dumps({**ASKED, "system_prompt": long})).out


def test_what_people_said_cannot_steer_the_terminal(cli: Cli, asked: Path) -> None:
    assert "\x1b" not in cli("assemble", asked).out
    assert "hello\\x1b[31m" in cli("assemble", asked).out


def test_json_is_the_result_with_its_names(cli: Cli, asked: Path) -> None:
    found = cli("--format", "json", "assemble", asked).json
    assert found["messages"][1] == {
        "role": "user",
        "content": "hello\x1b[31m",
        "id": "u1",
        "tool_calls": [],
        "tool_call_id": None,
    }
    assert {drop["source_id"]: drop["reason"] for drop in found["dropped"]} == {"m0": "top_k", "m1": "top_k"}
    assert found["policy"]["memory_top_k"] == 3
    again = cli("--format", "json", "assemble", asked, "--at", found["revision"]).json
    assert again == found


def test_a_request_comes_from_stdin_and_warnings_go_to_stderr(cli: Cli, asked: Path) -> None:
    ran = cli("assemble", "-", text=json.dumps({**ASKED, "policy": {"isolation": True}}))
    assert ran.err.startswith("warning: isolation is on and no world book is bound")


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("[]", 2, "one JSON object"),
        ("{", 2, "not JSON"),
        ('{"a": 1, "b": [{"c": 1, "c": 2}], "a": 2}', 2, "more than once in one object: a, b[0].c"),
        pytest.param("[" * 100_000, 2, "nested too deep", id="deep"),
        ('{"session_id": "s"}', 2, "now: missing"),
        (json.dumps({**ASKED, "policy": {"token_budget": 5}}), 1, "what is never dropped needs"),
    ],
)
def test_what_cannot_be_assembled_says_why(cli: Cli, asked: Path, text: str, code: int, said: str) -> None:
    assert said in cli("assemble", "-", text=text, code=code).err
