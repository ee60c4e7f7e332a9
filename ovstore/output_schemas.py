"""Is the output_schema of a prompt a JSON Schema? Nothing in ovstore depends on it, but programs that read answers do.

Looked at by `ovstore.check` alone: jsonschema is slow to load, and checking a schema costs more than all the rest of a
document, so that publishing, importing and seeding do without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ovstore.checking import Checked
from ovstore.findings import dotted, found, shown
from ovstore.results import Finding

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""What a schema is written in that names no other in its `$schema`."""


def check(checked: Checked) -> Iterator[Finding]:
    """Yield a finding for each place where the output_schema of a document, or of a patch, is no JSON Schema."""
    data = checked.parsed.data
    schema = data.get("output_schema") if data else None
    if not isinstance(schema, dict):
        return
    for path, what in problems(schema):
        where = ("output_schema", *path)
        message = f"{dotted(where)} is no JSON Schema: {what}"
        yield found("bad-output-schema", message, path=checked.path, at=checked.parsed.at(*where))


def problems(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield where a schema breaks the rules of its dialect, 2020-12 unless it names another, and how.

    >>> list(problems({"type": "object", "required": "name"}))
    [(('required',), "'name' is not of type 'array'")]
    """
    from jsonschema import FormatChecker, validators  # see above

    named = schema.get("$schema", DIALECT)
    if not isinstance(named, str):
        yield ("$schema",), "it has to be text"
        return
    dialect = validators.validator_for({"$schema": named}, default=validators.validator_for({"$schema": DIALECT}))
    rules = dialect(dialect.META_SCHEMA, format_checker=FormatChecker(["regex"]))
    for error in sorted(rules.iter_errors(schema), key=lambda error: [str(part) for part in error.absolute_path]):
        yield tuple(error.absolute_path), shown(error.message)
