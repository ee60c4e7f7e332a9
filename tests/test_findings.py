"""The codes of findings: each has a source that brings it about, and stands in the docs as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_documents import HEAD, MEMORY, PROMPT

from ovstore import checking, documents, findings
from ovstore.findings import CODES, DOCUMENT, SOURCE
from ovstore.rendering import codes
from ovstore.yaml_io import MAX_DEPTH, MAX_NODES, MAX_SOURCE

DOCS = Path(__file__).parent.parent / "docs" / "findings.md"
VARIABLE = "variables:\n- {name: q, type: string, description: d"
NUMBER = VARIABLE.replace("string", "int")
PATCH = "extends: semantic.note\n"

EXAMPLES: dict[str, str | bytes] = {
    "too-large": b"#" * (MAX_SOURCE + 1),
    "not-utf-8": b"a: \xff\n",
    "byte-order-mark": "\ufeff\ufeff" + PROMPT,
    "nul-character": PROMPT + 'output_schema: {a: "\\0"}\n',
    "control-character": PROMPT + "# \x07\n",
    "surrogate-character": "unreachable with libyaml",
    "invisible-character": PROMPT + 'output_schema: {a: "\\e"}\n',
    "empty-document": "",
    "several-documents": PROMPT + "---\n" + PROMPT,
    "yaml-syntax": PROMPT + "a: [\n",
    "tab-indentation": "metadata:\n\tid: a.b\n",
    "duplicate-key": PROMPT + "template: x\n",
    "bad-key": PROMPT + "llm_config: {? [a] : 1}\n",
    "non-text-key": PROMPT + "llm_config: {1: 1}\n",
    "unsupported-tag": PROMPT + "llm_config: {a: !!set {b}}\n",
    "unknown-alias": PROMPT + "llm_config: *a\n",
    "alias-cycle": PROMPT + "llm_config: &a {b: *a}\n",
    "alias-expansion": PROMPT + f"llm_config: {{a: &a {'x' * 1000}, b: [{'*a, ' * 3000}]}}\n",
    "bad-merge": PROMPT + "llm_config: {<<: 1}\n",
    "too-deep": "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
    "too-many-nodes": "- a\n" * MAX_NODES,
    "more-findings": PROMPT + "".join(f"x{n}: 1\n" for n in range(documents.MAX_FINDINGS + 1)),
    "not-a-mapping": "- a\n",
    "unknown-document": "name: x\nversion: 1\n",
    "missing-key": HEAD,
    "incomplete-schema": "memory_type: habits\n",
    "mistyped-key": PROMPT + "llmconfig: {}\n",
    "unknown-key": PROMPT + "tags: []\n",
    "older-spelling": MEMORY + "enable: true\n",
    "ignored-spelling": MEMORY + "name: habits\n",
    "wrong-type": PROMPT + "llm_config: []\n",
    "quoted-number": PROMPT + VARIABLE + ", max_length: '7'}\n",
    "unknown-choice": MEMORY + "stage: nowhere\n",
    "bad-id": PROMPT.replace("semantic.note", "semantic"),
    "category-mismatch": PROMPT.replace("category: semantic", "category: vision"),
    "bad-name": PROMPT + VARIABLE.replace("name: q", "name: a-b") + "}\n",
    "awkward-name": MEMORY.replace("name: name", "name: call-count"),
    "reserved-name": MEMORY.replace("name: name", "name: user_space"),
    "duplicate-name": PROMPT + VARIABLE + "}\n- {name: q, type: int, description: d}\n",
    "required-default": PROMPT + VARIABLE + ", required: true, default: x}\n",
    "wrong-default": PROMPT + NUMBER + ", default: x}\n",
    "bad-max-length": PROMPT + VARIABLE + ", max_length: -2}\n",
    "unused-max-length": PROMPT + NUMBER + ", max_length: 7}\n",
    "long-default": PROMPT + VARIABLE + ", default: xyz, max_length: 2}\n",
    "wrong-init-value": MEMORY.replace("immutable", "sum, type: int64, init_value: many"),
    "sum-on-text": MEMORY.replace("immutable", "sum"),
    "patch-on-value": MEMORY.replace("immutable", "patch, type: int64"),
    "custom-agent-stage": MEMORY + "stage: agent\n",
    "ambiguous-scalar": PROMPT + "output_schema: {enum: [en, no]}\n",
    "bad-number": PROMPT + "llm_config: {temperature: .inf}\n",
    "not-json": "only in plain data",
    "changed-identity": PATCH + "metadata: {id: semantic.other}\n",
    "needed-key": PATCH + "template: null\n",
    "bad-remove": PATCH + "variables: [{name: q, $remove: false}]\n",
    "empty-patch": PATCH,
}
ELSEWHERE = {"surrogate-character", "not-json"}


def test_errors_of_a_document_and_of_its_template_are_told_at_once() -> None:
    source = HEAD + VARIABLE.replace("string", "strng") + "}\ntemplate: |\n  {{ q }} {{ r }}\n"
    checked = checking.check_source(source.encode(), "x.yaml")
    assert [(f.code, f.line, f.column) for f in checked.findings] == [
        ("unknown-choice", 9, 19),
        ("undeclared-variable", 11, 14),
    ]


def test_a_name_is_not_called_undeclared_where_the_variables_could_not_be_read() -> None:
    checked = checking.check_source((HEAD + "variables: 5\ntemplate: '{{ q }}'\n").encode())
    assert [f.code for f in checked.findings] == ["wrong-type"]


def test_every_code_of_sources_and_documents_has_an_example() -> None:
    assert set(EXAMPLES) == SOURCE.keys() | DOCUMENT.keys()


@pytest.mark.parametrize("code", sorted(EXAMPLES.keys() - ELSEWHERE))
def test_a_code_is_found_in_its_example_alone_with_a_place_and_something_to_do(code: str) -> None:
    source = EXAMPLES[code]
    parsed = documents.parse(source if isinstance(source, bytes) else source.encode(), "x.yaml")
    known = [finding for finding in parsed.findings if finding.code == code]
    assert known and all(f.severity == CODES[code].severity and f.message and f.hint for f in known)
    assert code in {"too-large", "more-findings"} or all(f.line and f.column for f in known)
    others = {f.code for f in parsed.findings} - {code}
    assert others <= ({"unknown-key"} if code == "more-findings" else {"bad-key"} if code == "yaml-syntax" else set())
    assert (parsed.document is None) is (CODES[code].severity == "error")


def test_half_a_character_is_refused_also_where_the_parser_lets_it_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    from ovstore import yaml_io

    monkeypatch.setattr(yaml_io, "_Loader", yaml.SafeLoader)
    parsed = documents.parse((PROMPT + 'output_schema: {a: "\\ud83d"}\n').encode())
    assert [f.code for f in parsed.findings] == ["surrogate-character"]


def test_data_of_a_program_may_hold_what_json_cannot() -> None:
    _, found = documents.build("prompt", {"metadata": {}, "template": "x", "llm_config": {"a": b"x"}})
    assert "not-json" in {f.code for f in found}


def test_the_docs_have_every_code_as_it_is() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (\w+) \| (.+) \| (.+) \|$", DOCS.read_text(encoding="utf-8"), re.M)
    documented = {code: tuple(rest) for code, *rest in rows}
    told = {code: (known.severity, known.meaning, known.advice) for code, known in CODES.items()}
    declared = {code: tuple(text.replace("|", "\\|") for text in row) for code, row in (codes.CODES | told).items()}
    missing = [f"| `{code}` | {' | '.join(row)} |" for code, row in declared.items() if documented.get(code) != row]
    assert not missing, "rows to add to docs/findings.md or to mend there:\n" + "\n".join(missing)
    assert len(rows) == len(documented)
    assert documented.keys() == declared.keys()


def test_a_code_of_templates_and_of_documents_has_one_severity() -> None:
    assert all(codes.CODES[code][0] == CODES[code].severity for code in codes.CODES.keys() & CODES.keys())


def test_codes_are_kebab_case_and_told_in_sentences() -> None:
    for code, known in findings.CODES.items():
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", code)
        assert known.meaning.endswith(".") and known.advice.endswith(".")
