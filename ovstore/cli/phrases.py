"""What the library says, in the words of the command line: arguments become options, calls become commands.

The one table; a test goes through every message of the library and holds it complete.
"""

from __future__ import annotations

import re
from typing import Final

from ovstore.errors import InvalidDocumentError, OvstoreError, RiskError

_PHRASES: Final = tuple(
    (re.compile(said), spoken)
    for said, spoken in (
        (r'accept_risk="(\w+)"', r"--accept-risk \1"),
        (r'pass dependents="freeze"', "give --freeze-dependents"),
        (r"effective=True", "--effective"),
        (r"'seed' and 'global' are layers, not tenants", "the seed layer is --seed, and global goes without either"),
        (r"^expected is a version", "--expected is a version"),
        (r"heads\(\) gives it", "`ovstore heads` writes it"),
        (r": plan again; nothing was changed", ", and nothing was changed: run the same command again"),
        (r"give messages or now", "give --messages or --now"),
        (r": give an aware time(?: \(\S+\))?", ": write Z for UTC behind it, or an offset"),
        (r"an aware (?:time|datetime)|a datetime with a time zone", "a time with a zone"),
        (r"\b(version|label|at|since|until|tenant)=(?=[^\s,;])", r"--\1 "),
        (r"\b(version|label|at|since|until|tenant)=", r"--\1"),
    )
)

_LINES: Final = 100
"""Of a refusal; the plan of an import shows what is more, and the errors of JSON hold every change."""


def message_of(error: OvstoreError) -> str:
    """The error in words of the command line; of refused documents without the findings, which are told apart."""
    first, _, rest = str(error).partition("\n")
    if isinstance(error, InvalidDocumentError):
        return spoken(first)
    if isinstance(error, RiskError):
        needs = (
            "needs a reason" if error.risk == error.accepted else f"is higher than {error.accepted}, which is accepted"
        )
        lines = rest.splitlines()
        more = [f"and {len(lines) - _LINES} more lines"] if len(lines) > _LINES else []
        return "\n".join([f"the risk of this write is {error.risk}, and that {needs}", *lines[:_LINES], *more])
    return spoken(str(error))


def hints_for(error: OvstoreError) -> list[str]:
    """What the error's advice is called on the command line."""
    if isinstance(error, RiskError):
        reason = " --reason TEXT" if error.risk == "very_high" else ""
        return [f"To accept that: --accept-risk {error.risk}{reason}"]
    return []


def spoken(message: str) -> str:
    """Return a message of the library as the command line says it."""
    for said, instead in _PHRASES:
        message = said.sub(instead, message)
    return message
