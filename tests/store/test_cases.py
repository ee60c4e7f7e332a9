"""Cases from the field: inputs made after bug reports, each with its right outcome, through the whole store.

Those on directories, names, races, time and memory have their own files (test_transfer, isolation, processes, memory).
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import ovstore
from ovstore import Store

CASES = Path(__file__).parents[1] / "cases"


def case(number: str, name: str) -> Path:
    (folder,) = CASES.glob(f"{number}_*")
    return folder / name


def publish(store: Store, number: str, name: str) -> None:
    store.publish(case(number, name), actor="ann")


def refused(store: Store, number: str, name: str) -> list[ovstore.results.Finding]:
    """The findings of a refusal; nothing may be stored by it."""
    with pytest.raises(ovstore.InvalidDocumentError) as error:
        publish(store, number, name)
    assert list(store.audit()) == []
    return [f for f in error.value.findings if f.severity == "error"]


def test_01_literal_json_keeps_every_brace(store: Store) -> None:
    publish(store, "01", "prompt.yaml")
    rendered = store.render("semantic.case01", {"q": "Q"})
    assert rendered.text == (
        'Answer Q as JSON:\n{"answer": {"text": "...", "score": [0, 1]}}\n'
        "Keep {braces}, ${HOME} and ^\\d{2,3}$ as they are.\nWrite {{ placeholder }} literally."
    )
    assert [v["name"] for v in rendered.resolved.document["variables"]] == ["q"]


def test_01_a_double_brace_that_is_no_expression_is_refused_with_the_way_out(store: Store) -> None:
    (finding,) = refused(store, "01", "double_brace.yaml")
    assert (finding.line, finding.path) == (9, str(case("01", "double_brace.yaml")))
    assert "raw" in finding.message + finding.hint


def test_03_a_misspelt_placeholder_is_refused_and_named(store: Store) -> None:
    (finding,) = refused(store, "03", "prompt.yaml")
    assert "file_nmae" in finding.message and "file_name" in finding.message + finding.hint


@pytest.mark.parametrize(
    ("name", "key", "stored", "rendered"),
    [
        ("clip", "a", "Answer:\n", "Answer:"),
        ("strip", "b", "Answer:", "Answer:"),
        ("keep", "c", "Answer:\n\n", "Answer:\n"),
        ("fold", "d", "Answer now:\n", "Answer now:"),
    ],
)
def test_05_text_is_stored_exactly_and_one_newline_is_dropped_when_rendering(
    store: Store, name: str, key: str, stored: str, rendered: str, tmp_path: Path
) -> None:
    publish(store, "05", f"{name}.yaml")
    assert store.resolve(f"retrieval.case05{key}").document["template"] == stored
    assert store.render(f"retrieval.case05{key}").text == rendered
    (exported,) = store.export(tmp_path / "out")
    assert exported.read_bytes() == case("05", f"{name}.yaml").read_bytes()


@pytest.mark.parametrize(("number", "key"), [("07", "compression.case07"), ("09", "compression.case09")])
def test_07_and_09_values_come_out_verbatim(store: Store, number: str, key: str) -> None:
    publish(store, number, "prompt.yaml")
    for step in json.loads(case(number, "steps.json").read_text()):
        if step["op"] == "render":
            (value,) = step["vars"].values()
            assert store.render(key, step["vars"]).text.endswith(value)


@pytest.mark.parametrize("name", ["p1", "p2", "p3", "p4"])
def test_11_a_walk_to_internals_is_refused_without_telling_any(store: Store, name: str) -> None:
    findings = refused(store, "11", f"{name}.yaml")
    assert findings
    assert all("0x" not in f.message and "<class" not in f.message for f in findings)


@pytest.mark.parametrize("name", ["p1", "p2", "p3"])
def test_13_a_bomb_is_stored_or_refused_without_going_off(store: Store, name: str) -> None:
    begun = time.monotonic()
    try:
        publish(store, "13", f"{name}.yaml")
    except ovstore.InvalidDocumentError as error:
        assert "limit" in str(error)
    else:
        key = {"p1": "test.case13a", "p2": "test.case13b", "p3": "test.case13c"}[name]
        if name == "p3":
            assert store.render(key).text == "never shown"
        else:
            with pytest.raises(ovstore.RenderBudgetError):
                store.render(key)
    assert time.monotonic() - begun < 5


def test_13_a_bomb_by_value_runs_into_a_limit(store: Store) -> None:
    publish(store, "13", "p4.yaml")
    with pytest.raises(ovstore.RenderBudgetError) as over:
        store.render("test.case13d", {"n": 2_000_000_000})
    assert (over.value.limit, over.value.line) == ("text", 14)
    assert store.render("test.case13d", {"n": 3}).text == "AAA"


def test_15_a_file_path_is_no_part(store: Store) -> None:
    (finding,) = refused(store, "15", "file.yaml")
    assert "etc/hostname" in finding.message


def test_15_a_circle_is_named_by_its_keys(store: Store) -> None:
    (missing,) = refused(store, "15", "cycle_a.yaml")
    assert "test.case15c" in missing.message
    store.publish(case("15", "cycle_b.yaml").read_text().replace("{% include 'test.case15b' %}", ""), actor="ann")
    publish(store, "15", "cycle_a.yaml")
    with pytest.raises(
        ovstore.InvalidDocumentError, match=r"test\.case15c includes test\.case15b includes test\.case15c"
    ):
        publish(store, "15", "cycle_b.yaml")


def test_15_ignore_missing_is_refused(store: Store) -> None:
    assert any("missing" in f.message for f in refused(store, "15", "missing.yaml"))


def test_16_a_key_called_items_is_data(store: Store) -> None:
    publish(store, "16", "top.yaml")
    publish(store, "16", "nested.yaml")
    assert store.render("parsing.case16", {"items": ["a", "b"]}).text == "a;b;"
    assert store.render("parsing.case16b", {"order": {"items": ["a"]}}).text == "['a']"


@pytest.mark.parametrize("name", ["prompt", "desc", "schema"])
def test_18_a_nul_is_refused_with_the_field(store: Store, name: str) -> None:
    (finding,) = refused(store, "18", f"{name}.yaml")
    assert "NUL" in finding.message
    assert {"prompt": "template", "desc": "description", "schema": "output_schema"}[name] in finding.message


def test_21_a_language_called_no_is_the_text_no(store: Store) -> None:
    publish(store, "21", "prompt.yaml")
    assert store.resolve("semantic.case21").document["metadata"]["language"] == "no"


def test_21_a_text_where_a_flag_belongs_is_refused(store: Store) -> None:
    assert any("enabled" in f.message for f in refused(store, "21", "enabled.yaml"))


def test_23_an_exponent_is_a_number_and_a_date_is_text(store: Store) -> None:
    for name in ("llm", "date", "date_schema"):
        publish(store, "23", f"{name}.yaml")
    assert store.resolve("semantic.case23").document["llm_config"] == {
        "temperature": 0.001,
        "max_tokens": 4096,
        "top_p": 0.9,
    }
    assert store.render("semantic.case23b").text == "2026-01-31"
    example: dict[str, Any] = store.resolve("semantic.case23c").document["output_schema"]["example"]
    assert example == {"day": "2026-01-31", "at": "2026-01-31 10:00:00"}


def test_25_a_key_given_twice_is_refused_with_both_lines(store: Store) -> None:
    (finding,) = refused(store, "25", "prompt.yaml")
    assert "template" in finding.message and finding.line == 15 and "13" in finding.message


def test_27_aliases_that_explode_are_refused_at_once(store: Store) -> None:
    begun = time.monotonic()
    assert refused(store, "27", "bomb.yaml")
    assert time.monotonic() - begun < 5


def test_29_one_byte_order_mark_is_no_content_and_two_are_refused(store: Store) -> None:
    publish(store, "29", "bom.yaml")
    plain = case("29", "bom.yaml").read_bytes().removeprefix(b"\xef\xbb\xbf")
    assert store.publish(plain, actor="ann").unchanged
    with pytest.raises(ovstore.InvalidDocumentError, match=r"U\+FEFF"):
        publish(store, "29", "twobom.yaml")


def test_31_two_documents_in_a_file_are_refused_whole(store: Store) -> None:
    assert refused(store, "31", "two.yaml")


@pytest.mark.parametrize("name", ["empty", "comment", "list", "scalar"])
def test_31_what_is_no_mapping_is_said_to_be_no_document(store: Store, name: str) -> None:
    (finding,) = refused(store, "31", f"{name}.yaml")
    assert "mapping" in finding.message
