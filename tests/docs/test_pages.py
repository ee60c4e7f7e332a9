"""What all pages have in common: links that lead somewhere, and tables that say what the code says."""

from __future__ import annotations

import re

import catalog_page
import pages
import pytest

PAGES = sorted(
    path.relative_to(pages.ROOT).as_posix() for path in [*pages.ROOT.glob("*.md"), *pages.ROOT.glob("docs/*.md")]
)


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_every_link_within_the_project_leads_somewhere(name: str) -> None:
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", pages.read(name), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        page = (pages.ROOT / name).parent / path if path else pages.ROOT / name
        assert page.exists(), f"{name} links to {target}"
        assert not anchor or anchor in anchors(page.read_text(encoding="utf-8")), f"{name} links to {target}"


@pytest.mark.parametrize("name", PAGES)
def test_every_page_of_the_docs_that_is_named_in_a_text_is_there(name: str) -> None:
    named = set(re.findall(r"\bdocs/[\w-]+\.md\b", pages.read(name)))
    assert {path for path in named if not (pages.ROOT / path).exists()} == set()


def test_the_readme_leads_to_every_page() -> None:
    readme = pages.read("README.md")
    assert [name for name in PAGES if name.startswith("docs/") and f"({name})" not in readme] == []


def test_the_catalog_is_what_the_templates_make_it() -> None:
    made = catalog_page.page()
    assert catalog_page.PAGE.read_text(encoding="utf-8") == made, "run: python tests/docs/catalog_page.py"


def test_the_catalog_tells_every_template_once() -> None:
    told = re.findall(r"^\| `([\w.]+)` \|", catalog_page.tables(), re.M)
    assert len(told) == len(set(told)) == 50 + len([key for key in told if key.startswith("context.")])
