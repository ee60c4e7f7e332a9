"""The tables of docs/catalog.md, made from the seed templates, `ovstore.stages` and the facts beside the seed tests.

Run as a script it writes them into the page; the test beside it holds that nobody has to.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from ovstore import bundled, documents, names, stages
from ovstore.directories import EXPERIMENTAL

PAGE = Path(__file__).parents[2] / "docs" / "catalog.md"
OWN = "context"
FACTS = Path(__file__).parents[1] / "seeds" / "catalog.json"
BEGIN = "<!-- Made by tests/docs/catalog_page.py from the templates: change those, and run it. -->\n"
END = "<!-- The end of what is made. -->\n"


def page() -> str:
    """Return the page as it should be: what people wrote, with the tables between the two marks."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


def tables() -> str:
    facts = json.loads(FACTS.read_text(encoding="utf-8"))
    upstream = {known["key"]: known["upstream"] for known in facts}
    files = [path for path in bundled.folder("seed_templates").rglob("*.yaml") if path.parent.name != EXPERIMENTAL]
    found = sorted(map(read, files), key=lambda d: (d["category"] == OWN, d["category"], d["key"]))
    parts: list[str] = []
    for category, group in groupby(found, lambda document: document["category"]):
        rows = list(group)
        lines = own(rows) if category == OWN else of_guides(category, rows, upstream)
        parts.append("\n".join([f"### {category}", "", *lines, ""]))
    return "\n".join(parts)


def read(path: Path) -> Mapping[str, Any]:
    parsed = documents.parse(path.read_bytes())
    assert parsed.data is not None and parsed.key is not None
    return {"key": parsed.key, "category": path.parent.name, "data": parsed.data}


def of_guides(category: str, rows: Sequence[Mapping[str, Any]], upstream: Mapping[str, str]) -> Iterator[str]:
    general = stages.about(f"{category}.any" if category != "memory" else "any")
    assert general is not None, category
    yield f"Used at: {general.stage}. Affects: {general.affects}. After a change: {general.verify}."
    yield ""
    yield "| id | used at | affects | key inputs | called upstream |"
    yield "| --- | --- | --- | --- | --- |"
    for document in rows:
        stage = stages.about(document["key"])
        assert stage is not None
        off = "" if document["data"].get("enabled", True) else ", off"
        called = upstream[document["key"]] + off
        yield f"| `{document['key']}` | {stage.stage} | {stage.affects} | {inputs(document)} | {called} |"


def own(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "ovstore's own, for the [assembly of contexts](context.md); no guide names them."
    yield ""
    yield "| id | what it does | key inputs |"
    yield "| --- | --- | --- |"
    for document in rows:
        yield f"| `{document['key']}` | {document['data']['metadata']['description']} | {inputs(document)} |"


def inputs(document: Mapping[str, Any]) -> str:
    """What a caller gives, with what may be left out in brackets; of a memory type its fields, immutable ones first."""
    data = document["data"]
    if names.is_memory_key(document["key"]):
        fixed = [field["name"] for field in data["fields"] if field.get("merge_op") == "immutable"]
        others = [field["name"] for field in data["fields"] if field["name"] not in fixed]
        return "; ".join(quoted(group) for group in (fixed, others) if group)
    variables = data.get("variables", [])
    optional = [v["name"] for v in variables if "default" in v or not v.get("required", True)]
    needed = [v["name"] for v in variables if v["name"] not in optional]
    return " ".join([quoted(needed)] * bool(needed) + [f"[{quoted(optional)}]"] * bool(optional)) or "(settings)"


def quoted(group: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in group)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
