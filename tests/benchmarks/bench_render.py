"""What the guards cost: renders against plain, precompiled Jinja2 with the same values, in one run.

Prints the medians of interleaved rounds in microseconds of processor time, and their ratios. Run it as a script.
"""

from __future__ import annotations

import statistics
import time
import timeit
from collections.abc import Callable
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ovstore import rendering

ROUNDS = 41

PROSE = "# Task\n\n" + ("word " * 12 + "\n") * 5
FIVE = f"{PROSE}<a>{{{{ a }}}}</a>\n{PROSE}{{{{ b }}}}{PROSE}{{{{ c }}}}{PROSE}{{{{ d }}}}{PROSE}{{{{ e }}}}\n{PROSE}"
LOGIC = (
    f"{PROSE}{{% if a %}}<a>{{{{ a }}}}</a>{{% endif %}}\n{PROSE}{{% for x in xs %}}- {{{{ x }}}}\n{{% endfor %}}"
    f"{PROSE}{{{{ c }}}}{PROSE}{{{{ d }}}}{PROSE}{{{{ e }}}}\n"
)
RECORDS = "{% for r in records %}- {{ r.name }} ({{ r.kind|upper }}): {{ r.note }}\n{% endfor %}"
TEXTS = {name: f"value of {name}" for name in "abcde"}
ROWS = [{"name": f"n{i}", "kind": "k", "note": f"note {i}"} for i in range(50)]

CASES: tuple[tuple[str, str, dict[str, Any], int], ...] = (
    ("2 KB, five variables", FIVE, TEXTS, 500),
    ("2 KB, if and for", LOGIC, {**TEXTS, "xs": ["q", "r", "s"]}, 500),
    ("loop over 50 records", RECORDS, {"records": ROWS}, 40),
)


def medians(functions: list[Callable[[], Any]], number: int) -> list[float]:
    """Return microseconds of each, measured in turns, so that a busy moment hits all alike."""
    taken: list[list[float]] = [[] for _ in functions]
    for _ in range(ROUNDS):
        for times, function in zip(taken, functions, strict=True):
            times.append(timeit.timeit(function, number=number, timer=time.thread_time) / number * 1e6)
    return [statistics.median(times) for times in taken]


def prompt(template: str, values: dict[str, Any]) -> dict[str, Any]:
    kinds = {name: "string" if isinstance(value, str) else "list" for name, value in values.items()}
    variables = [{"name": name, "type": kind} for name, kind in kinds.items()]
    return {"metadata": {"id": "bench.note"}, "variables": variables, "template": template}


def main() -> None:
    print(f"{'':24}{'plain':>10}{'ovstore':>10}{'ratio':>8}{'stock sandbox':>16}{'ratio':>8}")
    for name, template, values, number in CASES:
        compiled = rendering.compile("prompt", prompt(template, values))
        plain = jinja2.Environment().from_string(template)
        stock = ImmutableSandboxedEnvironment().from_string(template)
        assert rendering.render(compiled, values)[0] == plain.render(values)
        floor, ours, theirs = medians(
            [
                lambda plain=plain, values=values: plain.render(values),
                lambda compiled=compiled, values=values: rendering.render(compiled, values),
                lambda stock=stock, values=values: stock.render(values),
            ],
            number,
        )
        print(f"{name:24}{floor:>10.1f}{ours:>10.1f}{ours / floor:>8.2f}{theirs:>16.1f}{theirs / floor:>8.2f}")


if __name__ == "__main__":
    main()
