"""Texts of memory schemas: which names and functions each may use, and paths whose fixed parts are safe."""

from __future__ import annotations

from typing import Any

import pytest
from small import DIRECTORY, memory

from ovstore import rendering
from ovstore.errors import RenderError, UnsafeTemplateError, VariableTypeError


def found(**texts: str) -> list[tuple[str, tuple[str | int, ...], int, int]]:
    return [(f.code, f.path, f.line, f.column) for f in rendering.check("memory", memory("ranges", **texts))]


def rendered(which: str, values: dict[str, Any], helpers: dict[str, Any] | None = None, **texts: str) -> str:
    return rendering.render(
        rendering.compile("memory", memory("ranges", **texts)), values, which=which, helpers=helpers
    )[0]


def test_directory_and_filename_are_rendered_as_one() -> None:
    path = rendered(
        "path", {"user_space": "u1", "name": "a/b"}, directory=DIRECTORY + "/", filename_template="{{ name }}.md"
    )
    assert path == "viking://user/u1/memories/notes/a/b.md"


def test_a_finding_points_into_the_text_that_it_is_in() -> None:
    assert found(directory="viking://{{ nope }}/x", filename_template="{{ name }}\n{{ nada }}.md") == [
        ("undeclared-variable", ("directory",), 1, 13),
        ("undeclared-variable", ("filename_template",), 2, 4),
        ("unsafe-path", ("filename_template",), 1, 1),
    ]


@pytest.mark.parametrize(
    ("text", "name", "allowed"),
    [
        ("filename_template", "user_space", True),
        ("filename_template", "peer_id", True),
        ("filename_template", "content", False),
        ("filename_template", "items", False),
        ("content_template", "content", True),
        ("content_template", "links", True),
        ("content_template", "backlinks", True),
        ("content_template", "source_uri", True),
        ("content_template", "items", False),
        ("content_template", "language", False),
        ("embedding_template", "content", True),
        ("embedding_template", "memory_type", True),
        ("embedding_template", "uri_basename", False),
        ("overview_template", "items", True),
        ("overview_template", "directory_name", True),
        ("overview_template", "name", False),
        ("description", "language", True),
        ("description", "name", False),
    ],
)
def test_each_text_knows_its_own_names(text: str, name: str, allowed: bool) -> None:
    template = f"{{{{ {name} }}}}"
    codes = [code for code, *_ in found(**{text: template + (".md" if text == "filename_template" else "")})]
    assert codes == ([] if allowed else ["undeclared-variable"])


def test_a_field_description_knows_the_language() -> None:
    data = memory()
    data["fields"][0]["description"] = "In {{ language }}"
    compiled = rendering.compile("memory", data)
    assert rendering.render(compiled, {"language": "no"}, which="fields.name.description")[0] == "In no"


FUNCTIONS = (
    *("get_year", "get_month", "get_day", "get_session_timestamp", "get_timestamp_from_ranges"),
    *("get_first_message_time_from_ranges", "get_first_message_time_with_weekday_from_ranges"),
    *("get_event_content", "get_resource_event_content", "read_message_ranges"),
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_extract_context_is_called_with_plain_data(name: str) -> None:
    given: list[Any] = []

    def function(*args: Any) -> str:
        given.append(args)
        return "said"

    template = f"{{{{ extract_context.{name}(ranges) }}}}"
    assert found(content_template=template) == []
    helpers = {f"extract_context.{name}": function}
    assert rendered("content", {"ranges": "0-3"}, helpers, content_template=template) == "said"
    assert given == [("0-3",)]


def test_link_functions_are_called_in_content_alone() -> None:
    helpers = {"uri_basename": lambda uri: uri.rsplit("/", 1)[-1], "link_target": lambda uri: f"../{uri}"}
    template = "{{ uri_basename(source_uri) }} {{ link_target('b.md') }}"
    assert rendered("content", {"source_uri": "x/a.md"}, helpers, content_template=template) == "a.md ../b.md"


def test_a_function_that_was_not_given_is_an_error() -> None:
    with pytest.raises(RenderError, match="get_year was not given"):
        rendered("content", {}, content_template="{{ extract_context.get_year('0') }}")


def test_a_function_that_gives_no_plain_data_is_an_error() -> None:
    with pytest.raises(RenderError, match="returned object"):
        rendered("content", {}, {"uri_basename": lambda uri: object()}, content_template="{{ uri_basename('a') }}")


def test_a_function_that_fails_tells_nothing_of_itself() -> None:
    def broken(uri: str) -> str:
        raise OSError(f"/srv/secret/{uri} at 0x7f0000")

    with pytest.raises(RenderError) as error:
        rendered("content", {}, {"uri_basename": broken}, content_template="{{ uri_basename('a') }}")
    assert "secret" not in str(error.value) and isinstance(error.value.__cause__, OSError)


@pytest.mark.parametrize(
    "template",
    [
        "{{ extract_context.messages }}",
        "{{ extract_context.get_yaer(ranges) }}",
        "{{ extract_context.get_year }}",
        "{{ extract_context.read_file('/etc/passwd') }}",
        "{{ extract_context.__class__ }}",
    ],
)
def test_nothing_else_of_extract_context_is_available(template: str) -> None:
    data = memory("ranges", content_template=template)
    assert {f.severity for f in rendering.check("memory", data)} == {"error"}
    with pytest.raises(UnsafeTemplateError):
        rendering.compile("memory", data)


def test_a_made_up_function_of_extract_context_is_stopped() -> None:
    template = "{% set e = extract_context %}{{ e.read_file('x') }}"
    with pytest.raises(UnsafeTemplateError, match="has no function read_file"):
        rendered("content", {}, content_template=template)


@pytest.mark.parametrize("template", ["{{ extract_context }}", "{{ [extract_context] }}", "{{ uri_basename }}"])
def test_a_function_has_no_text(template: str) -> None:
    with pytest.raises(RenderError):
        rendered("content", {}, content_template=template)


@pytest.mark.parametrize("name", ["extract_context", "uri_basename", "link_target"])
def test_prompts_have_no_functions_of_memory(name: str) -> None:
    data = {"metadata": {"id": "a.b"}, "template": f"{{{{ {name}('x') }}}}"}
    assert [f.code for f in rendering.check("prompt", data)] == ["undeclared-variable"]


@pytest.mark.parametrize(
    ("key", "text", "what"),
    [
        ("filename_template", "../outside.md", "segment"),
        ("filename_template", "a/../b.md", "segment"),
        ("filename_template", "./a.md", "segment"),
        ("filename_template", "{{ name }}/..", "segment"),
        ("filename_template", "{{ '..' }}/a.md", "segment"),
        ("filename_template", "{% if name %}../{% endif %}a.md", "segment"),
        ("filename_template", "/etc/x.md", "absolute"),
        ("filename_template", "C:\\x.md", "backslash"),
        ("filename_template", "c:x.md", "absolute"),
        ("filename_template", "a\\{{ name }}.md", "backslash"),
        ("filename_template", "a//b.md", "empty segment"),
        ("filename_template", "a\n.md", "control character"),
        ("filename_template", "a\u2028.md", "control character"),
        ("filename_template", "a\x85.md", "control character"),
        ("filename_template", "a/C:{{ name }}.md", "drive letter"),
        ("directory", "viking://user/c:x/y", "drive letter"),
        ("directory", "C:/x", "drive letter"),
        ("filename_template", "{{ name }}/", "slash"),
        ("filename_template", "", "empty"),
        ("filename_template", "{{ name }}/.Overview.md", "overview"),
        ("directory", "viking://user/{{ user_space }}/../other", "segment"),
        ("directory", "viking://user//x", "empty segment"),
        ("directory", "/etc", "empty segment"),
        ("directory", "viking://user/{{ user_space }}\\x", "backslash"),
        ("directory", "viking://user/./x", "segment"),
    ],
)
def test_a_fixed_part_of_a_path_that_is_unsafe_is_an_error(key: str, text: str, what: str) -> None:
    found = [f for f in rendering.check("memory", memory(**{key: text})) if f.code == "unsafe-path"]
    assert found and all(f.path == (key,) and f.severity == "error" for f in found)
    assert any(what in f.message for f in found)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("filename_template", "{{ extract_context.get_year(ranges) }}/{{ name }}.md"),
        ("filename_template", "a..b/{{ name }}...md"),
        ("filename_template", ".hidden/{{ name }}"),
        ("filename_template", "{{ name }}_{{ extract_context.get_session_timestamp() }}.md"),
        ("directory", "viking://user/{{ user_space }}/memories/t"),
        ("directory", "viking://user/{{ user_space }}/memories/t/"),
        ("directory", "memories/{{ peer_id }}"),
    ],
)
def test_a_path_that_is_safe_has_no_finding(key: str, text: str) -> None:
    assert found(**{key: text}) == []


@pytest.mark.parametrize("value", ["absent", None])
@pytest.mark.parametrize(
    "template", ["{{ name }}.md", "{{ name|lower }}.md", "{{ name ~ '.md' }}", "{{ '%s.md' % name }}"]
)
def test_a_path_with_a_hole_is_an_error(template: str, value: str | None) -> None:
    values = {"user_space": "u"} if value == "absent" else {"user_space": "u", "name": None}
    with pytest.raises(RenderError):
        rendered("path", values, filename_template=template)


def test_a_path_may_say_what_stands_for_a_missing_value() -> None:
    path = rendered("path", {"user_space": "u"}, filename_template="{{ name|default('none') }}.md")
    assert path.endswith("/none.md")


def test_an_absent_field_prints_nothing_outside_of_paths() -> None:
    assert rendered("content", {}, content_template="[{{ name }}]{{ name|default('d') }}") == "[]d"


def test_values_of_a_memory_are_copied_to_plain_data() -> None:
    with pytest.raises(VariableTypeError, match="name must be plain data"):
        rendered("content", {"name": object()}, content_template="{{ name }}")


def test_a_text_that_the_schema_does_not_have_is_an_error() -> None:
    with pytest.raises(RenderError, match="notes has no content to render"):
        rendered("content", {})


def test_parts_are_for_prompts() -> None:
    assert found(content_template="{% include 'shared.tone' %}") == [("part-in-memory", ("content_template",), 1, 4)]


@pytest.mark.parametrize(
    ("key", "text", "told", "hint"),
    [
        ("overview_template", "{{ uri_basename('x') }}", "uri_basename is not declared", "directory_name, items"),
        ("description", "{{ speech }}", "speech is not declared", "here it knows language"),
        ("content_template", "{{ extract_context.get_year }}", "get_year is a function: call it", ""),
    ],
)
def test_what_a_template_gets_and_how_is_told_where_it_takes_something_else(
    key: str, text: str, told: str, hint: str
) -> None:
    (finding,) = [f for f in rendering.check("memory", memory(**{key: text})) if f.severity == "error"]
    assert told in finding.message and hint in (finding.hint or "")
