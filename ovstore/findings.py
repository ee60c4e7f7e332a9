"""The codes of findings: how bad each is, what it means and what to do. `docs/findings.md` is this table for people.

A code never changes its meaning or its severity, since filters and baselines are kept by code; one that is no longer
found is not used again. An error refuses the document; a warning is accepted, and refused under `--strict`; an info
is for knowing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ovstore import names
from ovstore.names import Severity
from ovstore.results import Finding

_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Code:
    severity: Severity
    meaning: str
    advice: str


SOURCE: Final[Mapping[str, Code]] = {
    "too-large": Code("error", "The source is larger than 2 MiB.", "Split the template into parts."),
    "not-utf-8": Code("error", "The source is not UTF-8.", "Save the file as UTF-8."),
    "byte-order-mark": Code(
        "error", "A byte order mark (U+FEFF) stands behind the start of the file or in a key.", "Delete the mark."
    ),
    "nul-character": Code("error", "The source holds a NUL, which PostgreSQL cannot store.", "Delete the NUL."),
    "control-character": Code(
        "error",
        "A control character that YAML does not allow.",
        "Delete it, or write it as an escape in double quotes.",
    ),
    "surrogate-character": Code(
        "error", "Half of a surrogate pair, which is no character.", "Write the character itself, or as \\UXXXXXXXX."
    ),
    "invisible-character": Code(
        "warning",
        "A control character or byte order mark inside a text.",
        "Delete it, unless the model is meant to see it.",
    ),
    "empty-document": Code(
        "error", "There is nothing in the file but comments.", "Write a document, or delete the file."
    ),
    "several-documents": Code(
        "error", "The file holds more than one YAML document.", "Put each document into its own file."
    ),
    "yaml-syntax": Code("error", "The source is not YAML.", "Mend the line that is named, or the one above it."),
    "tab-indentation": Code("error", "A tab stands where YAML takes spaces.", "Indent with spaces."),
    "duplicate-key": Code("error", "A key is there twice in one mapping.", "Keep one of the two."),
    "bad-key": Code(
        "error",
        "A list, a mapping or nothing stands where a key should be.",
        "Text that begins with { or [ must be quoted.",
    ),
    "non-text-key": Code("warning", "A key that YAML takes for a number, a boolean or the like.", "Quote the key."),
    "unsupported-tag": Code("error", "A tag that JSON has no value for, or that does not fit.", "Leave the tag out."),
    "unknown-alias": Code(
        "error", "An alias without its anchor.", "Write the anchor (&name) first, or quote the text."
    ),
    "alias-cycle": Code("error", "An alias inside what it stands for.", "Write the value out."),
    "alias-expansion": Code(
        "error", "The aliases stand for more than a document may hold.", "Write less, without aliases."
    ),
    "bad-merge": Code("error", "`<<` with something else than a mapping or a list of mappings.", "Quote the key `<<`."),
    "too-deep": Code("error", "More than 100 mappings and lists inside one another.", "Make the document flatter."),
    "too-many-nodes": Code("error", "More than 100,000 keys and values.", "Split the document."),
    "more-findings": Code("info", "A file has more findings than are shown.", "Mend those shown and check again."),
}

DOCUMENT: Final[Mapping[str, Code]] = {
    "not-a-mapping": Code(
        "error",
        "The file holds a list or a scalar.",
        "Begin with the keys of a prompt (metadata), a memory schema (memory_type) or a patch (extends).",
    ),
    "unknown-document": Code(
        "error",
        "A mapping without any key that a prompt, a memory schema or a patch begins with.",
        "Begin with metadata (a prompt), memory_type (a memory schema) or extends (a patch).",
    ),
    "missing-key": Code("error", "A key that must be there is absent or null.", "Add the key."),
    "incomplete-schema": Code(
        "error",
        "A memory schema without all it needs; it would replace a whole one.",
        "Add the keys; or, to change some keys of an existing type only, begin with `extends:` and its name.",
    ),
    "mistyped-key": Code("error", "An unknown key that is close to a known one.", "Correct the key."),
    "unknown-key": Code("warning", "A key that means nothing here; it is ignored.", "Delete the key."),
    "older-spelling": Code("info", "A memory schema uses name, enable or agent_only.", "Use the present spelling."),
    "ignored-spelling": Code(
        "warning", "An older spelling beside the present one; it is ignored.", "Delete the older one."
    ),
    "wrong-type": Code(
        "error", "A value of another form than the key takes.", "Write the value in the form that is named."
    ),
    "quoted-number": Code("warning", "A number in quotes; it is read as the number.", "Leave the quotes out."),
    "unknown-choice": Code("error", "A value outside a closed set.", "Take one of the values that are named."),
    "bad-id": Code(
        "error",
        "An id, memory type or extends that is no key, or not one of its kind.",
        "A prompt has category.name, a memory type one part; a-z, 0-9, _ and -, each part begins with a letter.",
    ),
    "category-mismatch": Code(
        "warning", "metadata.category is not the first part of the id, which counts.", "Make them the same."
    ),
    "bad-name": Code(
        "error",
        "A name that no template could use.",
        "Take letters, digits and _, a letter first, at most 200 characters.",
    ),
    "awkward-name": Code(
        "warning", "A field's name that templates cannot use.", "Take letters, digits and _, a letter first."
    ),
    "reserved-name": Code("error", "A name that already means something else in templates.", "Take another name."),
    "duplicate-name": Code("error", "Two variables or two fields with one name.", "Rename or delete one."),
    "required-default": Code(
        "info",
        "`required: true` beside a default: nobody has to give the variable.",
        "Leave out `required`, or the default.",
    ),
    "wrong-default": Code("error", "A default that is not of the variable's type.", "Change the default or the type."),
    "bad-max-length": Code("error", "max_length is not a whole number from 1.", "Write 1 or more, or leave it out."),
    "unused-max-length": Code("warning", "max_length on a variable that is not text.", "Leave max_length out."),
    "long-default": Code("warning", "A default longer than max_length; it is cut.", "Shorten it, or raise max_length."),
    "wrong-init-value": Code(
        "error", "An init_value that is not of the field's type.", "Change the value or the type."
    ),
    "sum-on-text": Code("error", "merge_op sum on a field that is no number.", "Take the type int64 or float32."),
    "patch-on-value": Code(
        "warning", "merge_op patch on a field that is not text acts as replace.", "Write `merge_op: replace`."
    ),
    "custom-agent-stage": Code(
        "warning",
        "A type of the stage agent that is not one of OpenViking's own: it extracts those two by their names only.",
        "Write `stage: user`, or see to it that your own program extracts the type.",
    ),
    "ambiguous-scalar": Code(
        "warning",
        "Plain yes, no, on, off or a number with a leading zero in free JSON.",
        "Write true, false or the number, or quote the text.",
    ),
    "bad-number": Code(
        "error",
        "A number that JSON cannot hold: infinite, not a number, or over 100 digits.",
        "Quote it, if it is text.",
    ),
    "not-json": Code("error", "A value in a program's document that JSON has no form for.", "Give text or a number."),
    "changed-identity": Code("error", "A patch that names another id than it extends.", "Leave the id out."),
    "needed-key": Code(
        "error", "A patch removes a key that its base cannot do without.", "Give a value, or leave it out."
    ),
    "bad-remove": Code(
        "error",
        "`$remove` outside a patch's items, not true, or with other keys.",
        "Write only name and `$remove: true`.",
    ),
    "empty-patch": Code("warning", "A patch that changes nothing.", "Add what differs."),
}

FOLD: Final[Mapping[str, Code]] = {
    "patch-does-not-apply": Code(
        "error",
        "A patch does not fit what lies below it.",
        "Look at the base with `ovstore explain`, and mend the patch.",
    ),
}

FOLDER: Final[Mapping[str, Code]] = {
    "unreadable-file": Code(
        "error", "A file, folder or link that the system does not let be read.", "Mend its permissions, or delete it."
    ),
    "outside-link": Code("error", "A link that leaves the folder.", "Copy the file into the folder."),
    "linked-folder": Code(
        "warning", "A link to a folder; it is not followed.", "Move the folder to where the link is."
    ),
    "special-file": Code("error", "A pipe, socket or device that is named like a template.", "Move it elsewhere."),
    "bad-file-name": Code(
        "error",
        "A name that is not UTF-8, or holds a control character, a line break or a backslash.",
        "Rename the file or folder.",
    ),
    "folder-too-large": Code(
        "error", "More files or bytes than a folder of templates has.", "Import its folders one by one."
    ),
    "no-documents": Code(
        "warning",
        "No .yaml or .yml file lies in a folder, or none that was asked for.",
        "Check the path, and the category if one was given.",
    ),
    "nothing-to-keep": Code(
        "error",
        "Pruning by a folder without a document, which would withdraw all that the scope has.",
        "Check the path; if that is meant, withdraw key by key, or put the scope back to before its first write.",
    ),
    "case-collision": Code(
        "warning", "Two paths that differ by case alone; some disks hold only one of them.", "Rename one of the two."
    ),
    "duplicate-document": Code("error", "Two files are for one key.", "Keep one of the two."),
    "path-mismatch": Code(
        "warning",
        "A file lies elsewhere than its id says: a typing error in one of the two, as a rule.",
        "A prompt a.b lies in a/b.yaml, a memory type t in memory/t.yaml; the id counts.",
    ),
    "near-key": Code(
        "warning",
        "A new key that is a slip away from one that a farther layer has: nobody may ever ask for it.",
        "Correct the id, if the other was meant.",
    ),
    "same-label": Code(
        "info",
        "A prompt is imported with other content and the metadata.version that it had.",
        "Raise it if people go by it; versions of the store are counted without it.",
    ),
    "same-as-below": Code(
        "info",
        "Files of a plan that say what a farther layer says already; they would hide its later versions.",
        "Leave them out of the folder until they differ.",
    ),
    "several-categories": Code(
        "info",
        "A plan that changes several categories at once.",
        "One category at a time is easier to judge and to roll back.",
    ),
}

_MEMORY_FILE: Final[Mapping[str, Code]] = {
    "broken-trailer": Code(
        "error", "The stored values at the end of a memory file are no JSON object.", "Mend the JSON by hand."
    ),
    "text-behind-trailer": Code(
        "error", "A memory file goes on behind its stored values.", "Move that text above the comment."
    ),
}

_SETTINGS: Final[Mapping[str, Code]] = {
    "bad-policy": Code(
        "error",
        "A value of `context.policy` that no assembly can use.",
        "Take a name and a value from docs/context.md.",
    ),
    "wrong-kind": Code(
        "error",
        "`context.policy` that is no settings document, or a wrapper of contexts that is no prompt.",
        "Write it as what it is, or take another id.",
    ),
}

_ANSWER: Final[Mapping[str, Code]] = {
    "bad-output-schema": Code(
        "warning",
        "An output_schema that is no JSON Schema; only `ovstore check` looks into it.",
        "Mend the keyword that is named; without `$schema` it is JSON Schema 2020-12.",
    ),
}

CODES: Final[Mapping[str, Code]] = MappingProxyType(
    {**SOURCE, **DOCUMENT, **FOLD, **FOLDER, **_MEMORY_FILE, **_SETTINGS, **_ANSWER}
)


def found(
    code: str,
    message: str,
    *,
    path: str | None = None,
    at: tuple[int, int] | None = None,
    hint: str | None = None,
) -> Finding:
    """Return a finding of the code's severity; without a hint of its own it gives the code's advice."""
    known = CODES[code]
    line, column = at or (None, None)
    return Finding(code, known.severity, message, path, line, column, known.advice if hint is None else hint)


def dotted(path: Sequence[str | int]) -> str:
    """Write a path into a document, for a message: `variables[0].type`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{shown(part)}" for part in path).removeprefix(".")


def shown(text: str) -> str:
    """Make an author's text fit for a message: one line, no control characters, not long."""
    return names.printable(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def described(value: object) -> str:
    """Say what a value is, for a message."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, str):
        return f'the text "{shown(value)}"'
    return "nothing" if value is None else f"`{shown(str(value))}`"
