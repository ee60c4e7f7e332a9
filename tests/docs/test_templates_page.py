"""Every YAML block of docs/templates.md is a file that ovstore takes."""

from __future__ import annotations

import re
from pathlib import Path

import ovstore
from ovstore.checking import check_source

PAGE = Path(__file__).parents[2] / "docs" / "templates.md"


def test_the_documents_of_the_page_are_accepted_and_the_patch_folds() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        assert [f for f in check_source(block.encode()).findings if f.severity != "info"] == []
    with ovstore.open("sqlite://", create=True) as store:
        for block in blocks[:3]:
            store.publish(block, actor="ann")
        store.publish(blocks[3], tenant="acme", actor="ann", accept_risk="high")
        assert store.render("support.answer", {"question": "why?"}, tenant="acme").text == "Answer formally: why?"
        assert store.resolve("support.answer", tenant="acme").document.get("llm_config", {}) == {}
