"""Templates made to take all time and memory: each is over in under a second and under 100 MB, in a child process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bombing import BOMBS, BROKEN, LARGE
from small import compiled, prompt

from ovstore import rendering
from ovstore.errors import OvstoreError

SCRIPT = Path(__file__).with_name("bombing.py")
SECONDS = 1.0
BYTES = 100_000_000

Setting = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def set_off() -> Iterator[Setting]:
    """Set off a bomb by name in a child of a process that is kept for that."""
    with subprocess.Popen(
        [sys.executable, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdin is not None and run.stdout is not None
        stdin, stdout = run.stdin, run.stdout

        def setting(name: str) -> dict[str, Any]:
            stdin.write(name + "\n")
            stdin.flush()
            answer: dict[str, Any] = json.loads(stdout.readline())
            return answer

        yield setting
        stdin.close()


def named(table: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("name", table, ids=lambda name: name.replace(" ", "-"))


def assert_small(answer: dict[str, Any]) -> None:
    assert "died" not in answer
    assert max(answer["took"].values()) < SECONDS, answer
    assert answer["grown"] < BYTES, answer


@named(BOMBS)
def test_a_bomb_is_over_quickly_and_names_the_limit(name: str, set_off: Setting) -> None:
    answer = set_off(name)
    assert_small(answer)
    refused = answer["ended"]["compile"] or answer["ended"]["render"]
    assert refused == ["RenderBudgetError", BOMBS[name][1]]


@named(LARGE)
def test_a_large_template_is_checked_and_rendered_quickly(name: str, set_off: Setting) -> None:
    answer = set_off(name)
    assert_small(answer)
    assert answer["ended"]["check"] == [] and isinstance(answer["ended"]["render"], int)


@named(BROKEN)
def test_a_broken_template_is_refused_quickly(name: str, set_off: Setting) -> None:
    answer = set_off(name)
    assert_small(answer)
    assert answer["ended"]["check"] == ["template-syntax"]
    assert answer["ended"]["compile"] == ["RenderError", None]


def test_bombs_do_not_disturb_the_renders_of_other_threads() -> None:
    good = compiled("{% for r in rows %}{{ loop.index }}:{{ r.name|upper }};{% endfor %}", rows="list")
    rows = [{"name": f"row {i}"} for i in range(50)]
    right = "".join(f"{i}:ROW {i - 1};" for i in range(1, 51))
    bombs = [
        rendering.compile("prompt", prompt(BOMBS[name][0], n={"type": "any", "default": 2_000_000_000}))
        for name in (
            "repeat",
            "nested loops",
            "macro that calls itself twice",
            "shared lists as text",
            "growing text",
            "output",
        )
    ]
    stop = threading.Event()
    stopped: list[str] = []

    def keep_bombing() -> None:
        while not stop.is_set():
            for bomb in bombs:
                try:
                    rendering.render(bomb)
                except OvstoreError as error:
                    stopped.append(type(error).__name__)

    bombers = [threading.Thread(target=keep_bombing) for _ in range(2)]
    for bomber in bombers:
        bomber.start()
    try:
        texts = {rendering.render(good, {"rows": rows})[0] for _ in range(200)}
    finally:
        stop.set()
        for bomber in bombers:
            bomber.join()
    assert texts == {right}
    assert set(stopped) == {"RenderBudgetError"}


def test_a_render_after_a_bomb_is_as_before() -> None:
    both = compiled(
        "{% if bomb %}{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}{% endif %}ok",
        bomb="bool",
    )
    for _ in range(2):
        with pytest.raises(OvstoreError):
            rendering.render(both, {"bomb": True})
        assert rendering.render(both, {"bomb": False})[0] == "ok"
