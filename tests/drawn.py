"""Documents for Hypothesis: valid full prompts and memory schemas of one key, as an author could have written them.

Names come from a small pool, so that two documents share items, and values from pools that hold what Python takes for
equal and JSON does not (0, 0.0, false) and what looks like nothing (empty text, lists, mappings, null inside them).
"""

from __future__ import annotations

import string
from typing import Any

from hypothesis import strategies as st

from ovstore.grammar import MERGE_OPS, OPERATION_MODES, STAGES, VARIABLE_TYPES

PROMPT_KEY = "semantic.summary"
MEMORY_KEY = "profile"

Data = dict[str, Any]

alike = st.sampled_from([0, 0.0, False, 1, 1.0, True, -0.0, 10**18, 1e18, "", "0", "null", [], {}, [None], {"a": None}])
text = st.text(alphabet=string.ascii_letters + string.digits + " {}%.äß漢\n", max_size=12)
free = st.recursive(
    st.none() | alike | text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    max_leaves=4,
)
names = st.sampled_from(["q", "tone", "items", "content", "_x", "größe"])
templates = st.sampled_from(["Say {{ q }}.", "Say {{ q }}!", "{% if q %}{{ tone }}{% endif %}", "plain", "", "{{ q"])

_DEFAULTS: dict[str, st.SearchStrategy[Any]] = {
    "string": text,
    "int": st.sampled_from([0, 1, -1, 2**70]),
    "float": st.sampled_from([0, 0.0, 1, 1.0, 0.5]),
    "bool": st.booleans(),
    "list": st.lists(free, max_size=2),
    "dict": st.dictionaries(text, free, max_size=2),
    "any": free.filter(lambda value: value is not None),
}
_INITIAL: dict[str, st.SearchStrategy[str]] = {
    "int": st.sampled_from(["0", "7"]),
    "float": st.sampled_from(["0.5", "7"]),
    "bool": st.sampled_from(["true", "false"]),
}


def _some(
    required: dict[str, st.SearchStrategy[Any]], optional: dict[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[Data]:
    """A mapping with its keys in any order."""
    drawn = st.fixed_dictionaries(required, optional=optional)
    return drawn.flatmap(lambda data: st.permutations(list(data.items())).map(dict))


@st.composite
def variables(draw: st.DrawFn, name: str) -> Data:
    spelled = draw(st.sampled_from(sorted(VARIABLE_TYPES)))
    optional = {
        "default": _DEFAULTS[VARIABLE_TYPES[spelled]],
        "required": st.booleans(),
        "max_length": st.sampled_from([1, 2, 500]),
    }
    return draw(_some({"name": st.just(name), "type": st.just(spelled), "description": text}, optional))


@st.composite
def memory_fields(draw: st.DrawFn, name: str) -> Data:
    spelled = draw(st.none() | st.sampled_from(sorted(VARIABLE_TYPES)))
    kind = VARIABLE_TYPES[spelled or "string"]
    ops = [op for op in MERGE_OPS if op != "sum" or kind in ("int", "float")]
    required = {"name": st.just(name)} | ({} if spelled is None else {"type": st.just(spelled)})
    optional = {"description": text, "merge_op": st.sampled_from(ops), "init_value": _INITIAL.get(kind, text)}
    return draw(_some(required, optional))


def _items(of: Any, least: int = 0) -> st.SearchStrategy[list[Data]]:
    chosen = st.lists(names, min_size=least, max_size=4, unique=True)
    return chosen.flatmap(lambda drawn: st.tuples(*(of(name) for name in drawn)).map(list))


config = st.dictionaries(
    st.sampled_from(["temperature", "model", "stop", ""]), alike | free.filter(lambda v: v is not None), max_size=3
)

prompts: st.SearchStrategy[Data] = _some(
    {
        "metadata": _some(
            {"id": st.just(PROMPT_KEY), "category": st.just("semantic")}
            | dict.fromkeys(["name", "description", "version", "language"], text),
            {},
        ),
        "template": templates,
    },
    {
        "variables": _items(variables),
        "output_schema": st.dictionaries(text, free, max_size=2),
        "llm_config": config,
    },
)

memory_schemas: st.SearchStrategy[Data] = _some(
    {
        "memory_type": st.just(MEMORY_KEY),
        "fields": _items(memory_fields),
        "directory": st.sampled_from(["memories/profile", "memories/{{ user_space }}"]),
        "filename_template": st.sampled_from(["profile.md", "{{ q }}.md"]),
    },
    {
        "description": text,
        **dict.fromkeys(["content_template", "embedding_template", "overview_template"], text),
        "enabled": st.booleans(),
        "peer_enabled": st.booleans(),
        "operation_mode": st.sampled_from(sorted(OPERATION_MODES)),
        "stage": st.sampled_from(sorted(STAGES)),
    },
)

documents_of = {"prompt": prompts, "memory": memory_schemas}
