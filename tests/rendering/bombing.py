"""Bombs, and a process that sets them off: each in a child of its own, with its time and memory measured.

Run as a script it reads names from stdin and answers each with one line of JSON. Time is the child's processor time,
so that a busy machine does not decide; memory is what its peak adds to what it had before.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from typing import Any

from ovstore import rendering
from ovstore.errors import OvstoreError

_HARD_STOP = 30
_BYTES = 1 if sys.platform == "darwin" else 1024


def _shared(start: str, wrap: str, name: str = "a") -> str:
    """A list or tuple of a thousand times a thousand of one and the same: small in memory, endless to walk."""
    inner = wrap.replace("a", name)
    return f"{{% set {name} = {start} %}}" + f"{{% set {name} = {inner} %}}" * 3


LISTS = _shared("[1] * 1000", "[a] * 1000")
TUPLES = _shared("(1,) * 300", "(a,) * 300")
OTHER_LISTS = _shared("[1] * 1000", "[a] * 1000", "b")
OTHER_TUPLES = _shared("(1,) * 300", "(a,) * 300", "b")
MILLION = "{% set s = 'a' * 1000000 %}"

# Each ends in RenderBudgetError with the limit named here, when it is checked or when it is rendered.
BOMBS: dict[str, tuple[str, str]] = {
    # Repetition
    "repeat": ("{{ 'A' * 2000000000 }}", "text"),
    "repeat from the left": ("{{ 2000000000 * 'A' }}", "text"),
    "repeat a given number": ("{{ 'A' * n }}", "text"),
    "repeat a list": ("{{ [1] * 2000000000 }}", "items"),
    "repeat a tuple": ("{{ (1,) * 2000000000 }}", "items"),
    "doubling by tilde": ("{% set s = 'aaaaaaaa' %}" + "{% set s = s ~ s %}" * 40, "text"),
    "doubling by plus": ("{% set s = 'aaaaaaaa' %}" + "{% set s = s + s %}" * 40, "text"),
    "doubling a list": ("{% set s = [1] %}" + "{% set s = s + s %}" * 40, "items"),
    "growing text": (
        "{% set n = namespace(s='') %}{% for i in range(90000) %}{% set n.s = n.s ~ 'aaaaaaaaaa' %}{% endfor %}",
        "built",
    ),
    "growing list": (
        "{% set n = namespace(s=[]) %}{% for i in range(90000) %}{% set n.s = n.s + [i] %}{% endfor %}",
        "built",
    ),
    # Numbers
    "power": ("{{ 2 ** 100000000 }}", "text"),
    "power of a power": ("{{ 9 ** (9 ** 9) }}", "text"),
    "squaring": ("{% set n = namespace(a=10) %}{% for i in range(99) %}{% set n.a = n.a * n.a %}{% endfor %}", "text"),
    "number of hex digits": ("{{ ('f' * 1900000)|int(base=16) }}", "text"),
    # Loops and calls
    "nested loops": (
        "{% for a in range(999) %}{% for b in range(999) %}{% for c in range(999) %}x" + "{% endfor %}" * 3,
        "steps",
    ),
    "nested empty loops": ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "steps"),
    "nested loops that let nothing pass": (
        "{% for a in range(99999) %}{% for b in range(99999) if false %}{% endfor %}{% endfor %}",
        "steps",
    ),
    "range": ("{{ range(10 ** 9)|list }}", "items"),
    "range that is summed": ("{{ range(10 ** 9)|sum }}", "items"),
    "range beyond the machine": ("{% for i in range(10 ** 30) %}{% endfor %}", "items"),
    "macro that calls itself": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "depth"),
    "macro that calls itself twice": (
        "{% macro f(i) %}{% if i %}{{ f(i - 1) }}{{ f(i - 1) }}{% endif %}{% endmacro %}{{ f(30) }}",
        "steps",
    ),
    "macro through caller": (
        "{% macro f() %}{{ caller() }}{% endmacro %}"
        "{% macro g() %}{% call f() %}{{ g() }}{% endcall %}{% endmacro %}{{ g() }}",
        "depth",
    ),
    "block that prints itself": ("{% block b %}{{ self.b() }}{% endblock %}", "depth"),
    "blocks that print the next twice": (
        "".join(
            f"{{% block b{i} %}}{{{{ self.b{i + 1}() }}}}{{{{ self.b{i + 1}() }}}}{{% endblock %}}" for i in range(30)
        )
        + "{% block b30 %}x{% endblock %}",
        "steps",
    ),
    "recursive loop": ("{% for i in [[[]]] recursive %}{{ loop([i]) }}{% endfor %}", "depth"),
    "recursive loop that doubles": ("{% for i in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}", "depth"),
    "generators within generators": (
        "{% set n = namespace(g=[1]) %}"
        "{% for i in range(5000) %}{% set n.g = n.g|map('abs') %}{% endfor %}{{ n.g|list }}",
        "depth",
    ),
    # Padding and formats
    "center": ("{{ 'a'|center(2000000000) }}", "text"),
    "center method": ("{{ 'a'.center(2000000000) }}", "text"),
    "ljust": ("{{ 'a'.ljust(2000000000) }}", "text"),
    "rjust": ("{{ 'a'.rjust(2000000000, 'x') }}", "text"),
    "zfill": ("{{ '1'.zfill(2000000000) }}", "text"),
    "expandtabs": ("{{ ('\\t' * 1000).expandtabs(2000000000) }}", "text"),
    "format width": ("{{ '%2000000000d' % 1 }}", "text"),
    "format filter width": ("{{ '%2000000000d'|format(1) }}", "text"),
    "format precision": ("{{ '%.2000000000f' % 1 }}", "text"),
    "format star": ("{{ '%*d' % (2000000000, 1) }}", "text"),
    "format star precision": ("{{ '%.*f' % (2000000000, 1) }}", "text"),
    "format width behind brackets": ("{{ '%((a))2000000000d' % {'(a)': 1} }}", "text"),
    "format of one key many times": (MILLION + "{{ ('%(a)s' * 10000) % {'a': s} }}", "text"),
    "brace width": ("{{ '{:2000000000}'.format(1) }}", "text"),
    "brace precision": ("{{ '{:.2000000000f}'.format(1.5) }}", "text"),
    "brace nested width": ("{{ '{:{}}'.format(1, 2000000000) }}", "text"),
    "brace of one value many times": (MILLION + "{{ ('{0}' * 10000).format(s) }}", "text"),
    # Filters and methods that enlarge
    "indent by a number": ("{{ 'a\\nb'|indent(2000000000) }}", "text"),
    "indent of many lines": ("{{ ('a\\n' * 100000)|indent(1000000) }}", "text"),
    "indent by a text": (MILLION + "{{ ('a\\n' * 1000)|indent(s) }}", "text"),
    "replace": ("{{ ('a' * 1000000)|replace('a', 'b' * 1000000) }}", "text"),
    "replace nothing": ("{{ ('a' * 1000000)|replace('', 'b' * 1000000) }}", "text"),
    "replace method": ("{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}", "text"),
    "join": (MILLION + "{{ range(50000)|join(s) }}", "text"),
    "join method": (MILLION + "{{ s.join(['a'] * 90000) }}", "text"),
    "batch": ("{{ [1]|batch(2000000000, 'x')|list }}", "items"),
    "slice": ("{{ [1]|slice(2000000000)|list }}", "items"),
    "tojson indent": ("{{ [[1]]|tojson(indent=2000000000) }}", "text"),
    "escape": ("{{ ('&' * 1900000)|e }}", "text"),
    "urlencode": ("{{ ('é' * 1900000)|urlencode }}", "built"),
    "wordwrap": ("{{ ('a' * 1000000)|wordwrap(1) }}", "built"),
    "wordwrap of hyphens": ("{{ ('a-' * 500000)|wordwrap(9) }}", "built"),
    "title": ("{{ ('a ' * 900000)|title }}", "built"),
    "split": ("{{ ('a ' * 900000).split() }}", "items"),
    "splitlines": ("{{ ('a\\n' * 900000).splitlines() }}", "items"),
    "list of characters": ("{{ ('a' * 1900000)|list }}", "items"),
    "sum of lists": ("{{ ([[1] * 1000] * 1000)|sum(start=[]) }}", "built"),
    "striptags": ("{{ ('<!--a-->x' * 100000)|striptags }}", "built"),
    "strip": ("{{ ('a' * 1000000).strip('b' * 999999 ~ 'a') }}", "built"),
    "trim": ("{{ ('a' * 1000000)|trim('b' * 999999 ~ 'a') }}", "built"),
    "attribute path": ("{{ ['aa']|map(attribute='0" + ".0" * 9999 + "')|list }}", "nesting"),
    # Work without a trace
    "upper again and again": (MILLION + "{% for i in range(90000) %}{% set t = s|upper %}{% endfor %}", "built"),
    "capture again and again": (
        MILLION + "{% for i in range(90000) %}{% set t %}{{ s }}{% endset %}{% endfor %}",
        "built",
    ),
    "comparing again and again": (
        MILLION + "{% set t = 'a' * 1000000 %}{% for i in range(90000) %}{% set x = s == t %}{% endfor %}",
        "built",
    ),
    "looking up again and again": (
        "{% set l = range(90000)|list %}{% for i in range(90000) %}{% set x = -1 in l %}{% endfor %}",
        "built",
    ),
    "finding again and again": (MILLION + "{% for i in range(90000) %}{% set x = s.find('b') %}{% endfor %}", "built"),
    "sorting again and again": (
        "{% set l = range(50000)|list %}{% for i in range(90000) %}{% set x = l|sort %}{% endfor %}",
        "built",
    ),
    "grouping a long list": ("{{ range(99999)|groupby('x') }}", "built"),
    "mapping again and again": (
        "{% for i in range(999) %}{% set x = range(90000)|map('abs')|list %}{% endfor %}",
        "built",
    ),
    "selecting again and again": (
        "{% for i in range(999) %}{% set x = range(90000)|select('gt', 999999)|first %}{% endfor %}",
        "built",
    ),
    # Values that hold one another
    "shared lists as text": (LISTS + "{{ a }}", "built"),
    "shared lists joined": (LISTS + "{{ a|join }}", "built"),
    "shared lists as JSON": (LISTS + "{{ a|tojson }}", "built"),
    "shared lists by tilde": (LISTS + "{{ a ~ '' }}", "built"),
    "shared lists formatted": (LISTS + "{{ '%s' % (a,) }}", "built"),
    "shared lists in braces": (LISTS + "{{ '{}'.format(a) }}", "built"),
    "shared lists compared": (LISTS + OTHER_LISTS + "{{ a == b }}", "built"),
    "shared lists in a list": (LISTS + OTHER_LISTS + "{{ a in [b] }}", "built"),
    "shared lists sorted": (LISTS + OTHER_LISTS + "{{ [a, b]|sort }}", "built"),
    "shared lists tested": (LISTS + OTHER_LISTS + "{{ a is eq b }}", "built"),
    "shared lists looked for": (LISTS + OTHER_LISTS + "{{ [b].index(a) }}", "built"),
    "shared lists that changed": (
        LISTS + OTHER_LISTS + "{% for i in [a, b] %}{{ loop.changed(i) }}{% endfor %}",
        "built",
    ),
    "shared tuples as a key": (TUPLES + "{{ {a: 1} }}", "built"),
    "shared tuples looked up": (TUPLES + "{{ {}[a] }}", "built"),
    "shared tuples got": (TUPLES + "{{ {}.get(a) }}", "built"),
    "shared tuples made unique": (TUPLES + OTHER_TUPLES + "{{ [a, b]|unique|list }}", "built"),
    "shared lists by literals": (
        "{% set a = [1, 1, 1, 1, 1, 1, 1, 1] %}" + "{% set a = [a, a, a, a, a, a, a, a] %}" * 9 + "{{ a }}",
        "built",
    ),
    "deep list": (
        "{% set n = namespace(a=[]) %}{% for i in range(40000) %}{% set n.a = [n.a] %}{% endfor %}{{ n.a }}",
        "nesting",
    ),
    "deep tuple as a key": (
        "{% set n = namespace(a=()) %}{% for i in range(40000) %}{% set n.a = (n.a,) %}{% endfor %}{{ {n.a: 1} }}",
        "nesting",
    ),
    # Output
    "output": (MILLION + "{% for i in range(90000) %}{{ s }}{% endfor %}", "output"),
    "output of prose": ("{% for i in range(50000) %}" + "x" * 5000 + "{% endfor %}", "output"),
    # Templates that are bombs themselves
    "ten megabytes": ("x" * 10_000_000, "template"),
    "ten megabytes of tags": ("{{ 1 }}" * 1_500_000, "template"),
    "many tags": ("{{ 1 }}" * 100_000, "tokens"),
    "many comments": ("{##}" * 200_000, "tokens"),
    "many terms": ("{{ 1" + " + 1" * 100_000 + " }}", "tokens"),
    "deep brackets": ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "nesting"),
    "deep lists": ("{{ " + "[" * 3000 + "1" + "]" * 3000 + " }}", "nesting"),
    "deep mappings": ("{{ " + "{1: " * 1500 + "1" + "}" * 1500 + " }}", "nesting"),
    "deep negation": ("{{ " + "not " * 5000 + "1 }}", "nesting"),
    "deep signs": ("{{ " + "-" * 5000 + "1 }}", "nesting"),
    "deep branches": ("{% if 1 %}" * 1000 + "{% endif %}" * 1000, "nesting"),
    "deep loops": ("{% for a in b %}" * 900 + "{% endfor %}" * 900, "nesting"),
    "deep filters": ("{{ 1" + "|abs" * 2000 + " }}", "nesting"),
    "deep attributes": ("{{ n" + ".a" * 2000 + " }}", "nesting"),
    "deep calls": ("{{ n" + "()" * 2500 + " }}", "nesting"),
    "deep sums": ("{{ 1" + "+1" * 2000 + " }}", "nesting"),
    "deep conditions": ("{{ " + "1 if 1 else " * 1300 + "1 }}", "nesting"),
}

# As large as a template can be, or slow for a careless reader, and right all the same.
LARGE: dict[str, str] = {
    "bombs in a branch never taken": (
        "{% if false %}{{ 'A' * 2000000000 }}{{ 'a'|center(2000000000) }}{{ '%2000000000d'|format(1) }}"
        "{{ range(2000000000)|list }}{{ 'ab'|replace('a', 'b' * 2000000000) }}{{ 5|round(-2000000000) }}{% endif %}"
    ),
    "bombs behind and": "{{ false and 'A' * 2000000000 }}{{ true or 'a'|center(2000000000) }}",
    "bombs in a macro never called": "{% macro m(a='A' * 2000000000) %}{{ 9 ** 9 ** 9 ** 9 }}{% endmacro %}",
    "as many tags as there can be": "{{ n }}" * 1990,
    "as many filters as there can be": "{{ n|string|upper|lower }}" * 650,
    "as many branches as there can be": "{% if n %}a{% endif %}" * 740,
    "as many loops as there can be": "{% for i in [1] %}a{% endfor %}" * 490,
    "as many macros as there can be": "{% macro a(x) %}a{% endmacro %}" * 540,
    "prose as long as there can be": "x" * 999_999,
    "braces": "{ " * 400_000,
    "text beside long digits": "1" * 500_000 + "{{ n }}" + "1" * 400_000,
}

# Not a template at all, and slow for a careless reader.
BROKEN: dict[str, str] = {
    "unclosed string": "{{ '" + "a" * 900_000,
    "unclosed comments": "{#" * 400_000,
    "unclosed raw": "{% raw %}" * 100_000,
    "spaces in tags": ("{%" + " " * 100) * 9000,
    "long number": "{{ " + "9" * 900_000 + " }}",
    "long hex number": "{{ 0x" + "f" * 900_000 + " }}",
    "long fraction": "{{ 1." + "9" * 900_000 + " }}",
    "long underscored number": "{{ " + "1_" * 450_000 + "1 }}",
}


def measured(name: str) -> dict[str, Any]:
    """Check, compile and render; say how each ended and what it took."""
    template = BOMBS[name][0] if name in BOMBS else LARGE.get(name) or BROKEN[name]
    variables = [{"name": "n", "type": "any", "default": 2_000_000_000}]
    data = {"metadata": {"id": "demo.bomb"}, "variables": variables, "template": template}
    took: dict[str, float] = {}
    ended: dict[str, Any] = {}
    compiled: list[Any] = []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for step, run in (
        ("check", lambda: [f.code for f in rendering.check("prompt", data) if f.severity == "error"]),
        ("compile", lambda: compiled.append(rendering.compile("prompt", data))),
        ("render", lambda: len(rendering.render(compiled[0])[0])),
    ):
        start = time.process_time()
        try:
            ended[step] = run() if step != "render" or compiled else None
        except OvstoreError as error:
            ended[step] = [type(error).__name__, getattr(error, "limit", None)]
        took[step] = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * _BYTES
    return {"took": took, "ended": ended, "grown": grown}


def _in_a_child(name: str) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        signal.alarm(_HARD_STOP)
        os.write(writing, json.dumps(measured(name)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    return text or json.dumps({"died": status})


def main() -> None:
    rendering.check("prompt", {"metadata": {"id": "demo.warm"}, "template": "{{ 'warm'|upper }}"})
    for line in sys.stdin:
        sys.stdout.write(_in_a_child(line.rstrip("\n")) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
