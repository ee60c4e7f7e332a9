"""Every grammar once: keys, tenants and their chains, labels, version references, revisions, actors and reasons.

All functions are pure and either return the name in its one form or raise InvalidArgumentError with the rule it broke.
Names are compared exactly; nothing is trimmed or folded, since a name that is silently mended is a name that two
callers read differently.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ovstore.errors import InvalidArgumentError

Kind = Literal["prompt", "memory", "settings"]
Mode = Literal["full", "patch"]
Risk = Literal["none", "low", "medium", "high", "very_high"]
Severity = Literal["error", "warning", "info"]
Action = Literal["publish", "activate", "rollback", "rollback_tenant", "withdraw", "freeze"]

SEED: Final = "seed"
GLOBAL: Final = "global"
LIVE: Final = "live"
RISKS: Final[tuple[Risk, ...]] = ("none", "low", "medium", "high", "very_high")
ACTIONS: Final[tuple[Action, ...]] = ("publish", "activate", "rollback", "rollback_tenant", "withdraw", "freeze")
KINDS: Final[tuple[Kind, ...]] = ("prompt", "memory", "settings")

MAX_KEY = 200
MAX_ACTOR = 200
MAX_REASON = 10_000
MAX_NUMBER = 2**31 - 1

_PART = re.compile(r"[a-z][a-z0-9_-]*")
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")
_LABEL = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_CHANGE_SET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}")
_MARK = re.compile(r"(?P<scope>\S+)@(?P<seq>[0-9]{1,18})\.(?P<head>[0-9a-f]{16})")


def check_key(key: object) -> str:
    """Return the key, or say what is wrong with it.

    >>> check_key("semantic.document_summary")
    'semantic.document_summary'
    """
    if not isinstance(key, str) or not is_key(key):
        raise InvalidArgumentError(
            f"{_quote(key)} is not a key: parts of a-z, 0-9, _ and - that begin with a letter, joined by dots, "
            f"at most {MAX_KEY} characters (semantic.document_summary, profile)",
            argument="key",
            value=key,
        )
    return key


def check_keys(keys: object) -> tuple[str, ...]:
    """Return several keys, each once, in their order; text by itself is no list of keys."""
    if isinstance(keys, Iterable) and not isinstance(keys, (str, bytes)):
        return tuple(dict.fromkeys(check_key(key) for key in keys))
    raise InvalidArgumentError(f"{_quote(keys)} is no list of keys", argument="keys", value=keys)


def is_key(key: str) -> bool:
    return len(key) <= MAX_KEY and all(_PART.fullmatch(part) for part in key.split("."))


def is_memory_key(key: str) -> bool:
    """Whether the key has the one part of a memory type; prompts and settings have two or more."""
    return "." not in key


def default_place(key: str) -> tuple[str, str]:
    """Return the path and the category of a key that was never read from a directory.

    >>> default_place("semantic.doc.summary"), default_place("profile")
    (('semantic/doc.summary.yaml', 'semantic'), ('memory/profile.yaml', 'memory'))
    """
    category, _, rest = key.partition(".")
    return (f"{category}/{rest}.yaml", category) if rest else (f"memory/{key}.yaml", "memory")


def scope_of(tenant: object) -> str:
    """Return the scope that a tenant argument names: None is the global layer, never the empty string.

    >>> scope_of(None), scope_of("acme/support")
    ('global', 'acme/support')
    """
    if tenant is None:
        return GLOBAL
    if not isinstance(tenant, str) or not is_tenant(tenant):
        raise InvalidArgumentError(
            f"{_quote(tenant)} is not a tenant: 1 to 128 of A-Z, a-z, 0-9, '.', '_', '@' and '-', a letter or digit "
            "first, optionally '/' and a workspace of the same form; 'seed' and 'global' are layers, not tenants",
            argument="tenant",
            value=tenant,
        )
    return tenant


def is_tenant(tenant: str) -> bool:
    parts = tenant.split("/")
    return len(parts) <= 2 and all(_TENANT.fullmatch(p) and p.lower() not in (SEED, GLOBAL) for p in parts)


def chain(scope: str) -> tuple[str, ...]:
    """Return the scopes that a scope falls back through, nearest first, itself included.

    >>> chain("acme/support")
    ('acme/support', 'acme', 'global', 'seed')
    """
    if scope == SEED:
        return (SEED,)
    if scope == GLOBAL:
        return (GLOBAL, SEED)
    if "/" in scope:
        return (scope, scope.partition("/")[0], GLOBAL, SEED)
    return (scope, GLOBAL, SEED)


def parent(scope: str) -> str | None:
    """Return the next scope of the chain; None behind seed."""
    rest = chain(scope)[1:]
    return rest[0] if rest else None


def check_label(label: object) -> str:
    if not isinstance(label, str) or not _LABEL.fullmatch(label):
        raise InvalidArgumentError(
            f"{_quote(label)} is not a label: a letter a-z, then at most 63 of a-z, 0-9, _ and - (live, staging)",
            argument="label",
            value=label,
        )
    return label


def check_change_set(change_set: object) -> str:
    """Return the caller's id for a write, or a new UUID where there is none."""
    if change_set is None:
        return str(uuid.uuid4())
    text = str(change_set) if isinstance(change_set, uuid.UUID) else change_set
    if not isinstance(text, str) or not _CHANGE_SET.fullmatch(text):
        raise InvalidArgumentError(
            f"{_quote(change_set)} is not a change-set id: a UUID, or 1 to 128 of letters, digits, '.', '_', ':', '@', "
            "'/' and '-'",
            argument="change_set",
            value=change_set,
        )
    return text


def check_risk(risk: object, argument: str = "accept_risk") -> Risk:
    for known in RISKS:
        if risk == known:
            return known
    raise InvalidArgumentError(f"{_quote(risk)} is not a risk: {', '.join(RISKS)}", argument=argument, value=risk)


def check_actor(actor: object) -> str:
    """Return the actor in NFC; control characters are refused, since a log line that can be forged proves nothing."""
    if isinstance(actor, str):
        actor = unicodedata.normalize("NFC", actor)
        if actor.strip() and len(actor) <= MAX_ACTOR and not _forbidden(actor, allow_newline=False):
            return actor
    raise InvalidArgumentError(
        f"{_quote(actor)} is not an actor: 1 to {MAX_ACTOR} characters, not blank, without control characters",
        argument="actor",
        value=actor,
    )


def check_choice(value: object, choices: Collection[str], argument: str) -> None:
    if value not in tuple(choices):
        raise InvalidArgumentError(
            f"{_quote(value)} is not a {argument}: {', '.join(choices)}", argument=argument, value=value
        )


def check_text(text: object, argument: str) -> str:
    """Return what a filter is to be equal to; anything that a database could hold is allowed."""
    if isinstance(text, str) and not _forbidden(text, allow_newline=True):
        return text
    raise InvalidArgumentError(
        f"{_quote(text)} is not a {argument}: text without control characters", argument=argument, value=text
    )


def check_reason(reason: object) -> str:
    if isinstance(reason, str) and len(reason) <= MAX_REASON and not _forbidden(reason, allow_newline=True):
        return reason
    raise InvalidArgumentError(
        f"{_quote(reason)} is not a reason: text of at most {MAX_REASON} characters, without control characters "
        "but newlines",
        argument="reason",
        value=reason,
    )


def _forbidden(text: str, *, allow_newline: bool) -> bool:
    """Control characters, lone surrogates (which no database stores), and line and paragraph separators."""
    return any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and not (allow_newline and c == "\n") for c in text)


@dataclass(frozen=True, slots=True)
class VersionRef:
    """One version: its scope (None: the scope of the call) and number."""

    scope: str | None
    number: int


def version_ref(reference: object, argument: str = "version") -> VersionRef:
    """Read `3`, `"3"`, `"seed:3"` or `"acme/support:3"`.

    >>> version_ref("global:3")
    VersionRef(scope='global', number=3)
    """
    scope, digits = "", ""
    if isinstance(reference, int) and not isinstance(reference, bool):
        digits = str(reference) if 0 < reference <= MAX_NUMBER else ""
    elif isinstance(reference, str):
        scope, colon, digits = reference.rpartition(":")
        digits = digits if not colon or scope in (SEED, GLOBAL) or is_tenant(scope) else ""
    if re.fullmatch(r"[1-9][0-9]{0,9}", digits) and int(digits) <= MAX_NUMBER:
        return VersionRef(scope or None, int(digits))
    raise InvalidArgumentError(
        f"{_quote(reference)} is not a version: a number from 1 to {MAX_NUMBER}, or a scope and a number "
        '("seed:3", "acme:3")',
        argument=argument,
        value=reference,
    )


def refer(scope: str, number: int) -> str:
    """Write the version reference that `version_ref` reads."""
    return f"{scope}:{number}"


NO_HEAD: Final = bytes(32)


@dataclass(frozen=True, slots=True)
class Mark:
    """Where one scope stands: sequence and head (32 bytes, or the first 8 of them as hex in a revision)."""

    scope: str
    seq: int
    head: str

    def __str__(self) -> str:
        return f"{self.scope}@{self.seq}.{self.head}"


def mark(scope: str, seq: int, head: bytes) -> Mark:
    return Mark(scope, seq, head.hex()[:16])


def revision_text(marks: Iterable[Mark | str]) -> str:
    """Write a revision, nearest scope first; a scope never written to stands at 0."""
    return " ".join(str(m) for m in marks)


def revision_marks(revision: str) -> Mapping[str, Mark]:
    """Read a revision; the scopes are those of the call that gave it.

    >>> revision_marks("global@7.02aa02aa02aa02aa seed@2.77e177e177e177e1")["global"].seq
    7
    """
    marks: dict[str, Mark] = {}
    for word in revision.split(" "):
        match = _MARK.fullmatch(word)
        scope = match["scope"] if match else ""
        if not match or scope in marks or not (scope in (SEED, GLOBAL) or is_tenant(scope)):
            raise InvalidArgumentError(
                f"{_quote(revision)} is not a revision: `scope@sequence.head` for each scope of a chain, as answers "
                "carry it",
                argument="at",
                value=revision,
            )
        marks[scope] = Mark(scope, int(match["seq"]), match["head"])
    return marks


def near(name: str, known: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Return the known names most like the given one, best first."""
    return tuple(difflib.get_close_matches(name, sorted(set(known) - {name}), n=limit, cutoff=0.6))


def folded(path: str) -> str:
    """Return what a disk that ignores case and Unicode form compares: the same for all spellings of a path.

    >>> folded("Ramen.md") == folded("ramen.md")
    True
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def printable(text: str) -> str:
    """Escape control characters and bidirectional overrides, so that stored text cannot steer a terminal."""
    return "".join(c if c == " " or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _quote(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length()} bits"  # Python itself refuses to write out the longest
    text = printable(repr(value))
    return text if len(text) <= 80 else text[:77] + "..."
