"""Documents: what is read from YAML, what is found wrong and where, and what the models and plain data hold."""

from __future__ import annotations

import json
import pickle
import textwrap
from typing import Any

import pytest
from drawn import Data, documents_of
from hypothesis import given, settings
from hypothesis import strategies as st

from ovstore import documents, reading
from ovstore.documents import MemorySchema, Parsed, Patch, Prompt, build, canonical, generate, parse
from ovstore.errors import InvalidArgumentError
from ovstore.hashing import canonical_json

HEAD = """\
metadata:
  id: semantic.note
  name: Note
  description: A note
  version: 1.0.0
  language: en
  category: semantic
"""
PROMPT = HEAD + "template: |\n  Note {{ q }}\n"
MEMORY = """\
memory_type: habits
fields:
  - {name: name, merge_op: immutable}
directory: viking://user/{{ user_space }}/memories/habits
filename_template: "{{ name }}.md"
"""


def prompt(rest: str) -> Parsed:
    """Read a prompt without its template, with what is given behind its metadata."""
    text = textwrap.dedent(rest)
    return parse((HEAD + ("" if "template:" in text else "template: x\n") + text).encode(), "note.yaml")


def memory(rest: str) -> Parsed:
    return parse((MEMORY + textwrap.dedent(rest)).encode(), "habits.yaml")


def patch(rest: str, extends: str = "semantic.note") -> Parsed:
    return parse((f"extends: {extends}\n" + textwrap.dedent(rest)).encode(), "patch.yaml")


def codes(parsed: Parsed) -> list[str]:
    return [finding.code for finding in parsed.findings]


def written(parsed: Parsed) -> Data:
    assert parsed.data is not None
    return parsed.data


# -- what is read


def test_a_prompt_is_read_with_all_its_parts() -> None:
    parsed = prompt(
        """\
        variables:
          - {name: q, type: integer, description: How many, default: 5, required: false}
        output_schema: {type: object}
        llm_config: {temperature: 1e-3, max_tokens: 4_096}
        """
    )
    document = parsed.document
    assert isinstance(document, Prompt)
    assert (parsed.key, parsed.kind, parsed.mode, parsed.findings) == ("semantic.note", "prompt", "full", ())
    assert (document.key, document.kind, document.mode) == ("semantic.note", "prompt", "full")
    assert (document.metadata.version, document.template) == ("1.0.0", "x")
    variable = document.variables[0]
    assert (variable.name, variable.type, variable.default, variable.required) == ("q", "int", 5, False)
    assert document.llm_config == {"temperature": 0.001, "max_tokens": 4096}


def test_a_memory_schema_is_read_with_its_defaults() -> None:
    document = memory("").document
    assert isinstance(document, MemorySchema)
    assert (document.key, document.kind, document.mode) == ("habits", "memory", "full")
    assert (document.enabled, document.operation_mode, document.stage, document.peer_enabled) == (
        True,
        "upsert",
        "user",
        True,
    )
    assert (document.fields[0].type, document.fields[0].merge_op, document.content_template) == (
        "string",
        "immutable",
        None,
    )


def test_a_patch_holds_what_it_says_and_null() -> None:
    parsed = patch("llm_config: {temperature: null}\noutput_schema: null\nvariables:\n- {name: q, $remove: true}\n")
    assert isinstance(parsed.document, Patch)
    assert (parsed.key, parsed.kind, parsed.mode) == ("semantic.note", "prompt", "patch")
    assert written(parsed) == {
        "extends": "semantic.note",
        "llm_config": {"temperature": None},
        "output_schema": None,
        "variables": [{"name": "q", "$remove": True}],
    }
    assert patch("enabled: false", "profile").kind == "memory"


@pytest.mark.parametrize("scalar", ["1.10", "no", "2026-01-31", "12:30", "0x1F", "1e-3", "true", "-0"])
def test_a_text_takes_the_scalar_as_it_is_written(scalar: str) -> None:
    parsed = parse(PROMPT.replace("language: en", f"language: {scalar}").encode())
    assert parsed.findings == ()
    assert written(parsed)["metadata"]["language"] == scalar


@pytest.mark.parametrize(
    ("kind", "scalar", "value"),
    [
        *[
            ("string", "2026-01-31", "2026-01-31"),
            ("string", "1.10", "1.10"),
            ("string", "yes", "yes"),
            ("string", "''", ""),
        ],
        *[("int", "007", 7), ("int64", "5", 5), ("float", "1e-3", 0.001), ("number", "5", 5), ("bool", "yes", True)],
        *[("list", "[1, a]", [1, "a"]), ("object", "{a: 2026-01-31}", {"a": "2026-01-31"}), ("any", "1.10", 1.1)],
    ],
)
def test_a_default_is_read_as_its_variables_type_says(kind: str, scalar: str, value: Any) -> None:
    parsed = prompt(f"variables:\n- {{name: q, type: {kind}, description: d, required: false, default: {scalar}}}\n")
    default = written(parsed)["variables"][0]["default"]
    assert (default, type(default)) == (value, type(value))
    assert parsed.document is not None


def test_the_type_may_stand_behind_the_default() -> None:
    parsed = prompt("variables:\n- {default: 1.10, name: q, description: d, required: false, type: string}\n")
    assert written(parsed)["variables"][0]["default"] == "1.10"


def test_free_json_has_numbers_and_no_dates() -> None:
    parsed = prompt(
        "output_schema: {example: {day: 2026-01-31, at: 2026-01-31 10:00:00, n: 1e-3, k: [null, true, 1.0]}}\n"
    )
    example = written(parsed)["output_schema"]["example"]
    assert json.dumps(example) == (
        '{"day": "2026-01-31", "at": "2026-01-31 10:00:00", "n": 0.001, "k": [null, true, 1.0]}'
    )


@pytest.mark.parametrize("nothing", ["", "null", "~"])
def test_null_of_an_optional_key_is_its_absence(nothing: str) -> None:
    parsed = prompt(f"variables: {nothing}\nllm_config: {{a: 1, b: {nothing}}}\noutput_schema: {nothing}\n")
    assert parsed.findings == ()
    assert written(parsed).keys() == {"metadata", "template", "llm_config"}
    assert written(parsed)["llm_config"] == {"a": 1}


def test_null_inside_free_json_stays() -> None:
    data = written(prompt("output_schema: {enum: [null], default: null}\nllm_config: {a: {b: null}}\n"))
    assert (data["output_schema"], data["llm_config"]) == ({"enum": [None], "default": None}, {"a": {"b": None}})


def test_unknown_keys_are_left_out_of_the_document() -> None:
    parsed = memory("version: 3\n")
    assert codes(parsed) == ["unknown-key"]
    assert parsed.document is not None and "version" not in written(parsed)


def test_older_spellings_are_read_and_their_places_known() -> None:
    source = MEMORY.replace("memory_type", "name") + "enable: false\nagent_only: true\n"
    parsed = parse(source.encode())
    assert codes(parsed) == [*["older-spelling"] * 3, "custom-agent-stage"]
    assert list(written(parsed)) == ["memory_type", "fields", "directory", "filename_template", "enabled", "stage"]
    assert (parsed.key, written(parsed)["enabled"], written(parsed)["stage"]) == ("habits", False, "agent")
    assert (parsed.at("memory_type"), parsed.at("enabled"), parsed.at("stage")) == ((1, 7), (6, 9), (7, 13))


def test_the_present_spelling_wins_over_the_older_one() -> None:
    parsed = memory("name: other\nstage: user\nagent_only: true\n")
    assert codes(parsed) == ["ignored-spelling", "ignored-spelling"]
    assert (parsed.key, written(parsed)["stage"]) == ("habits", "user")


def test_agent_only_false_means_nothing_but_in_a_patch_the_user_stage() -> None:
    assert "stage" not in written(memory("agent_only: false\n"))
    assert written(patch("agent_only: false\n", "habits"))["stage"] == "user"


@pytest.mark.parametrize("key", ["experiences", "trajectories"])
def test_the_agent_stage_is_for_the_types_that_openviking_extracts_by_name(key: str) -> None:
    assert codes(parse(MEMORY.replace("habits", key).encode() + b"stage: agent\n")) == []
    assert codes(memory("stage: agent\n")) == codes(patch("stage: agent\n", "habits")) == ["custom-agent-stage"]


def test_a_patch_may_repeat_the_identity_that_it_extends() -> None:
    parsed = patch("metadata: {id: semantic.note, name: Other}\n")
    assert parsed.findings == ()
    assert written(parsed)["metadata"] == {"name": "Other"}


def test_a_default_in_a_patch_without_a_type_is_free_json() -> None:
    assert written(patch("variables: [{name: q, default: 1.10}]\n"))["variables"][0]["default"] == 1.1
    assert written(patch("variables: [{name: q, type: string, default: 1.10}]\n"))["variables"][0]["default"] == "1.10"


def test_a_prompt_of_two_thousand_variables_is_read() -> None:
    items = "".join(f"- {{name: v{n}, type: string, description: d}}\n" for n in range(2000))
    parsed = prompt(f"variables:\n{items}")
    assert parsed.document is not None and len(written(parsed)["variables"]) == 2000


@pytest.mark.parametrize("length", [30_000, 400_000])
@pytest.mark.parametrize("width", [80, 400_000])
def test_a_long_template_is_read_whole(length: int, width: int) -> None:
    lines = ["字" * min(width, length)] * max(1, length // width)
    parsed = prompt("template: |\n" + "".join(f"  {line}\n" for line in lines))
    assert written(parsed)["template"] == "".join(f"{line}\n" for line in lines)


# -- findings


def test_all_findings_of_a_file_are_told_at_once_with_their_places() -> None:
    parsed = parse(
        b"metadata:\n"
        b"  id: Semantic.Note\n"
        b"  name: [a]\n"
        b"  version: 1\n"
        b"  language: en\n"
        b"  category: other\n"
        b"variables:\n"
        b"  - name: q\n"
        b"    type: strng\n"
        b"    max_length: 0\n"
        b"  - name: q\n"
        b"    type: int\n"
        b"    description: d\n"
        b"    default: many\n"
        b"tempalte: x\n"
        b"llm_config: 5\n",
        "note.yaml",
    )
    assert parsed.document is None
    assert [(f.line, f.column, f.code, f.message) for f in parsed.findings] == [
        (1, 1, "missing-key", "metadata.description is missing"),
        (1, 1, "missing-key", "template is missing"),
        (2, 7, "bad-id", 'metadata.id: the text "Semantic.Note" is not a key'),
        (3, 3, "wrong-type", "metadata.name takes text, not a list"),
        (8, 5, "missing-key", "variables[q].description is missing"),
        (9, 11, "unknown-choice", 'variables[q].type: the text "strng" is not known'),
        (10, 17, "bad-max-length", "variables[q].max_length is a whole number from 1, not `0`"),
        (11, 11, "duplicate-name", "variables: `q` is there twice: on line 8 and on line 11"),
        (14, 14, "wrong-default", 'variables[q].default: the text "many" is not of the type int'),
        (15, 1, "mistyped-key", "tempalte is not a key"),
        (16, 13, "wrong-type", "llm_config takes a mapping, not `5`"),
    ]
    assert {f.path for f in parsed.findings} == {"note.yaml"}
    assert all(f.hint for f in parsed.findings)


@pytest.mark.parametrize(
    ("key", "near"),
    [
        *[("variabels", "variables"), ("Variables", "variables"), ("outputSchema", "output_schema")],
        *[("output-schema", "output_schema"), ("LLM_CONFIG", "llm_config"), ("llm_confg", "llm_config")],
    ],
)
def test_a_mistyped_key_is_an_error_that_names_the_right_one(key: str, near: str) -> None:
    parsed = prompt(f"{key}: x\n")
    assert [(f.code, f.hint) for f in parsed.findings] == [("mistyped-key", f"Did you mean `{near}`?")]


@pytest.mark.parametrize("key", ["tags", "author", "version", "template2", "x"])
def test_a_key_that_is_near_to_none_or_to_one_that_is_there_is_a_warning(key: str) -> None:
    parsed = prompt(f"{key}: x\n")
    assert [(f.code, f.severity) for f in parsed.findings] == [("unknown-key", "warning")]


@pytest.mark.parametrize(
    ("value", "near"),
    [("strng", "string"), ("Integer", "integer"), ("booleen", "boolean"), ("dictionary", None), ("5", None)],
)
def test_an_unknown_type_names_those_that_are_known(value: str, near: str | None) -> None:
    (finding,) = prompt(f"variables:\n- {{name: q, type: {value}, description: d}}\n").findings
    assert finding.code == "unknown-choice"
    assert finding.hint.endswith("It is one of any, bool, dict, float, int, list or string.")
    assert finding.hint.startswith(f"Did you mean `{near}`? " if near else "It is")


def test_an_incomplete_memory_schema_names_the_patch_as_the_way() -> None:
    (finding,) = parse(b"memory_type: habits\nenabled: false\n").findings
    assert finding.code == "incomplete-schema"
    assert finding.message == "a memory schema needs fields, filename_template and directory as well"
    assert "extends:" in finding.hint


def test_a_quoted_no_is_no_boolean() -> None:
    (finding,) = memory('enabled: "no"\n').findings
    assert finding.message == 'enabled takes true or false, not the text "no"'
    assert written(memory("enabled: no\n"))["enabled"] is False


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        *[("semantic", "Change the key."), ("Semantic.Note", "Did you mean `semantic.note`?")],
        *[("a..b", None), (".b", None), ("../../etc/passwd", None), ("a.b ", "Did you mean `a.b_`?"), ("''", None)],
    ],
)
def test_an_id_that_is_no_prompts_is_refused(key: str, hint: str | None) -> None:
    source = PROMPT.replace("id: semantic.note", f'id: "{key}"' if key != "''" else "id: ''")
    found = [f for f in parse(source.encode()).findings if f.code == "bad-id"]
    assert len(found) == 1
    assert hint in (None, found[0].hint)


@pytest.mark.parametrize("key", ["a.b", "Habits", "", "..", "x" * 201])
def test_a_memory_type_is_a_key_of_one_part(key: str) -> None:
    source = MEMORY.replace("memory_type: habits", f"memory_type: '{key}'")
    assert codes(parse(source.encode())) == ["bad-id"]


def test_a_source_of_nothing_but_findings_tells_the_worst_and_how_many_more() -> None:
    items = "".join(f"- {{name: v{n}, type: x{n}, description: d, extra: 1}}\n" for n in range(500))
    parsed = prompt(f"variables:\n{items}")
    assert codes(parsed).count("unknown-choice") == documents.MAX_FINDINGS
    assert parsed.findings[-1].message == "900 more findings are not shown"
    assert parsed.document is None


def test_a_default_alone_needs_no_word_about_required() -> None:
    parsed = prompt("variables: [{name: q, type: string, description: d, default: x}]\n")
    assert parsed.findings == ()
    assert isinstance(parsed.document, Prompt) and parsed.document.variables[0].required


def test_many_warnings_do_not_refuse_a_document() -> None:
    items = "".join(f"- {{name: v{n}, type: string, description: d, required: true, default: x}}\n" for n in range(500))
    parsed = prompt(f"variables:\n{items}")
    assert parsed.document is not None and len(parsed.findings) == documents.MAX_FINDINGS + 1


def test_messages_are_one_short_line_whatever_a_file_holds() -> None:
    parsed = prompt(
        '"\\e[2J\\nkey": 1\n"'
        + "k" * 900
        + '": 1\nvariables:\n- {name: "\\u202e\\n", type: "\\e[31m", description: d}\n'
    )
    assert len(parsed.findings) > 3
    assert all(str(f).isprintable() and len(f.message) < 200 for f in parsed.findings)


def test_a_file_read_in_part_still_tells_its_key() -> None:
    parsed = prompt("variables: 5\n")
    assert (parsed.key, parsed.kind, parsed.mode, parsed.document) == ("semantic.note", "prompt", "full", None)
    assert written(parsed)["template"] == "x"


@pytest.mark.parametrize(
    ("variables", "whole"),
    [
        ("[]", True),
        ("null", True),
        ("[{name: q, type: strng, description: d}]", True),
        ("[{type: string, description: d}]", False),
        ("[{name: q, type: string, description: d}, 5]", False),
        ("5", False),
    ],
)
def test_it_is_known_whether_all_variables_could_be_read(variables: str, whole: bool) -> None:
    assert prompt(f"variables: {variables}\n").whole is whole


def test_it_is_known_whether_all_fields_could_be_read() -> None:
    assert memory("stage: nowhere\n").whole
    assert not parse(b"memory_type: habits\n").whole


# -- places


def test_a_position_in_a_block_is_that_of_the_file() -> None:
    parsed = parse((HEAD + "template: |\n\n    Hello {{ q }}\n      {% if %}\n").encode())
    assert parsed.template_position(("template",), 2, 7) == (10, 11)
    assert parsed.template_position(("template",), 3, 3) == (11, 7)


def test_a_position_in_a_text_on_one_line_is_that_of_the_file() -> None:
    parsed = parse(MEMORY.encode())
    assert parsed.template_position(("filename_template",), 1, 4) == (5, 24)
    assert parsed.template_position(("directory",), 1, 15) == (4, 26)


def test_a_position_in_other_text_is_where_the_text_begins() -> None:
    source = HEAD + 'template: "a\\n{{ q }}"\noutput_schema: {a: b}\n'
    parsed = parse(source.encode())
    assert parsed.template_position(("template",), 2, 4) == (8, 11)
    assert parsed.template_position(("llm_config",), 1, 1) == (1, 1)


@pytest.mark.parametrize("head", ["|", "|2", "|+", "|-", "|2-  # text", "&anchor |", "!!str |", "!!str &a\n  |"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_every_character_of_a_block_is_found_in_the_file(head: str, line_break: str) -> None:
    source = (HEAD + f"template: {head}\n\n  x\n    deep {{{{ q }}}}\n\n  {{% y %}}\nllm_config: {{}}\n").replace(
        "\n", line_break
    )
    parsed = parse(source.encode())
    template, lines = written(parsed)["template"], source.split(line_break)
    for number, line in enumerate(template.split("\n"), start=1):
        for column, character in enumerate(line, start=1):
            place = parsed.template_position(("template",), number, column)
            assert place is not None and lines[place[0] - 1][place[1] - 1] == character


@given(st.lists(st.text(st.sampled_from("ab {}%\té漢"), max_size=5), min_size=1, max_size=4))
def test_every_character_of_a_written_template_is_found_in_the_file(between: list[str]) -> None:
    template = "\n".join([*between, "{{ q }}", *between])
    source = generate(written(prompt("")) | {"template": template, "llm_config": {"a": 1}})
    parsed, lines = parse(source), source.decode().split("\n")
    for number, line in enumerate(template.split("\n"), start=1):
        for column, character in enumerate(line, start=1):
            place = parsed.template_position(("template",), number, column)
            assert place is not None and lines[place[0] - 1][place[1] - 1] == character


# -- models and plain data


def test_a_document_is_read_like_a_mapping_of_plain_data() -> None:
    document = prompt("variables: [{name: q, type: integer, description: d}]\nllm_config: {a: 1}\n").document
    assert document is not None
    assert document["template"] == "x"
    assert document["variables"] == [{"name": "q", "type": "int", "description": "d", "required": True}]
    assert document.get("output_schema") is None and document.get("output_schema", 5) == 5
    assert "llm_config" in document and "output_schema" not in document and "nonsense" not in document
    with pytest.raises(KeyError):
        document["output_schema"]


def test_what_a_document_leaves_out_reads_as_its_default() -> None:
    document = prompt("").document
    assert document is not None
    assert (document["variables"], document["llm_config"]) == ([], {})


def test_a_patch_is_read_as_it_is_written() -> None:
    document = patch("llm_config: {a: null}\n").document
    assert document is not None
    assert document["llm_config"] == {"a": None}
    assert "template" not in document and document.get("template", "none") == "none"


def test_a_document_cannot_be_changed() -> None:
    document = prompt("").document
    assert isinstance(document, Prompt)
    with pytest.raises(ValueError, match="frozen"):
        document.template = "other"
    with pytest.raises(InvalidArgumentError, match="as_written"):
        document.model_copy(update={"template": "other"})
    assert document.model_copy(deep=True) == document


def test_what_a_caller_does_to_an_answer_does_not_reach_the_document() -> None:
    source = "variables: [{name: q, type: list, description: d, required: false, default: [[1]]}]\n"
    document = prompt(source + "llm_config: {a: {b: 1}}\noutput_schema: {c: [1]}\n").document
    assert isinstance(document, Prompt) and document.output_schema is not None
    before = json.dumps(document.as_written())
    document.llm_config["a"]["b"] = 2
    document.output_schema["c"].append(2)
    document.variables[0].default[0].append(2)
    document["llm_config"]["a"]["b"] = 2
    document.as_written()["llm_config"]["a"]["b"] = 2
    assert (document.llm_config, document.output_schema) == ({"a": {"b": 1}}, {"c": [1]})
    assert (document.variables[0].default, json.dumps(document.as_written())) == ([[1]], before)


@pytest.mark.parametrize("source", [PROMPT, MEMORY, "extends: a.b\ntemplate: x\n"])
def test_a_document_crosses_processes_whole(source: str) -> None:
    document = parse(source.encode()).document
    copy = pickle.loads(pickle.dumps(document))
    assert document is not None and copy == document
    assert copy.as_written() == document.as_written()


def test_the_canonical_document_has_every_default_and_one_spelling() -> None:
    data = written(
        prompt("variables: [{name: z, type: number, description: d}, {name: a, type: any, description: d}]\n")
    )
    assert canonical("prompt", "full", data) == {
        "metadata": data["metadata"],
        "template": "x",
        "variables": [
            {"name": "a", "type": "any", "description": "d", "required": True},
            {"name": "z", "type": "float", "description": "d", "required": True},
        ],
        "llm_config": {},
    }


def test_nothing_is_filled_into_a_canonical_patch() -> None:
    data = written(patch("variables: [{name: z, type: number}, {name: a, $remove: true}]\nllm_config: {a: null}\n"))
    assert canonical("prompt", "patch", data) == {
        "extends": "semantic.note",
        "variables": [{"name": "a", "$remove": True}, {"name": "z", "type": "float"}],
        "llm_config": {"a": None},
    }


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("", "llm_config: {}\n", True),
        ("", "variables: []\n", True),
        ("llm_config: {a: 1}\n", "llm_config: {a: 1, b: null}\n", True),
        ("llm_config: {a: 0}\n", "llm_config: {a: 0.0}\n", False),
        ("llm_config: {a: 0}\n", "llm_config: {a: false}\n", False),
        ("output_schema: {a: [1, 2]}\n", "output_schema: {a: [2, 1]}\n", False),
        ("", "output_schema: {}\n", False),
    ],
)
def test_documents_are_equal_when_their_canonical_forms_are(one: str, other: str, same: bool) -> None:
    first, second = prompt(one).document, prompt(other).document
    assert first is not None and second is not None
    assert (canonical_json(first.canonical()) == canonical_json(second.canonical())) is same


@settings(deadline=None)
@given(st.sampled_from(["prompt", "memory"]).flatmap(lambda kind: st.tuples(st.just(kind), documents_of[kind])))
def test_a_generated_document_reads_back_as_it_was_written(drawn: tuple[Any, Data]) -> None:
    kind, data = drawn
    built, findings = build(kind, data)
    assert built is not None, findings
    parsed = parse(generate(data))
    assert parsed.document == built
    assert json.dumps(parsed.data) == json.dumps(built.as_written())
    assert generate(built) == generate(built.as_written())


def test_plain_data_is_judged_as_a_file_is() -> None:
    data = written(prompt("variables: [{name: q, type: string, description: d}]\n"))
    data["variables"][0]["default"] = 1.1
    built, findings = build("prompt", data)
    assert built is None
    assert [(f.code, f.line) for f in findings] == [("wrong-default", None)]


def test_building_does_not_change_its_data_nor_keep_it() -> None:
    data = written(prompt("llm_config: {a: [1]}\n"))
    before = json.dumps(data)
    built, _ = build("prompt", data)
    data["llm_config"]["a"].append(2)
    assert built is not None and json.dumps(built.as_written()) == before


@pytest.mark.parametrize("value", [float("nan"), b"x", object(), {1: 2}])
def test_data_that_is_no_json_is_refused(value: Any) -> None:
    built, findings = build("prompt", written(prompt("")) | {"llm_config": {"a": value}})
    assert built is None
    assert {f.code for f in findings} <= {"bad-number", "not-json"}
    with pytest.raises(InvalidArgumentError):
        generate(written(prompt("")) | {"llm_config": {"a": value}})


def test_reading_goes_on_where_templates_are_not_its_business() -> None:
    assert reading.read(parse(PROMPT.encode()).loaded).data == written(parse(PROMPT.encode()))
