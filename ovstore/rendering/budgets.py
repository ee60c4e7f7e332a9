"""Limits of a render: what each one bounds, its default, and the counters that hold it.

Each render has its own `Budget`; nothing is shared between renders or threads, so a template that runs into a limit
ends alone. Time is the last resort: the other limits are counted, so that whether a template passes does not depend on
how busy the machine is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from time import monotonic
from typing import Final, NoReturn

from ovstore.errors import InvalidArgumentError, RenderBudgetError

MAX_PART_DEPTH: Final = 8
MAX_BITS: Final = 14_280  # 4,300 decimal digits: longer whole numbers Python itself refuses to print
MAX_VALUE_DEPTH: Final = 100
CALL: Final = 8
EACH: Final = 32  # what one value costs in time and memory, however short it is
_CLOCK_EVERY: Final = 64
_CLOCK_AMOUNT: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderLimits:
    """Named limits; a template that goes over one fails with RenderBudgetError and the limit's name.

    >>> RenderLimits(steps=1_000).steps
    1000
    """

    template: int = 1_000_000
    """Characters of one template."""
    tokens: int = 6_000
    """Jinja tokens of one template: names, operators, literals, delimiters and stretches of text."""
    nesting: int = 64
    """Statements and expressions within one another; at most 100, beyond which Python cannot compile them."""
    steps: int = 100_000
    """Loop turns and calls, nested ones too: a turn, a block and a part take one step for each eight expressions begun
    in them, the call of a macro, a block or a recursive loop eight more."""
    depth: int = 32
    """Calls of macros, blocks and recursive loops within one another."""
    output: int = 2_000_000
    """Characters of the text."""
    text: int = 2_000_000
    """Characters of one string that an expression builds."""
    items: int = 100_000
    """Entries of one list, range or other sequence that an expression builds."""
    built: int = 10_000_000
    """Characters and entries that all expressions of a render build or walk, together."""
    values: int = 1_000_000
    """Values within the variables of a render: scalars, lists and mappings, counted each time they appear."""
    seconds: float = 2.0
    """Wall time of a render, looked at every 64 steps and at every large operation."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            number = int | float if field.name == "seconds" else int
            if isinstance(value, bool) or not isinstance(value, number) or value <= 0:
                raise InvalidArgumentError(f"limit {field.name} must be above 0", argument=field.name, value=value)
        if self.nesting > 100:
            raise InvalidArgumentError("limit nesting can be 100 at most", argument="nesting", value=self.nesting)


def over(limits: RenderLimits, limit: str, what: str) -> NoReturn:
    """Refuse to go on."""
    value = getattr(limits, limit)
    amount = f"{value:,}" if isinstance(value, int) else f"{value:g}"
    raise RenderBudgetError(f"{what}: the limit `{limit}` is {amount}", limit=limit)


class Budget:
    """What a render has left."""

    __slots__ = ("built", "deadline", "depth", "limits", "mark", "steps")

    def __init__(self, limits: RenderLimits) -> None:
        self.limits = limits
        self.steps = limits.steps
        self.mark = max(limits.steps - _CLOCK_EVERY, 0)
        self.built = limits.built
        self.depth = 0
        self.deadline = monotonic() + limits.seconds

    def turn(self, weight: int) -> bool:
        """Take the steps of a loop turn, a call or a part; true, so that it can stand in a condition.

        Compiled code has the same written out.
        """
        self.steps -= weight
        if self.steps < self.mark:
            self.checkpoint()
        return True

    def checkpoint(self) -> None:
        if self.steps < 0:
            over(self.limits, "steps", "too many loop turns and calls")
        self.mark = max(self.steps - _CLOCK_EVERY, 0)
        self.look_at_the_clock()

    def spend(self, amount: int) -> None:
        """Take characters or entries that are about to be built or walked."""
        self.built -= amount
        if self.built < 0:
            over(self.limits, "built", "too much is built from values")
        if amount > _CLOCK_AMOUNT:
            self.look_at_the_clock()

    def look_at_the_clock(self) -> None:
        if monotonic() > self.deadline:
            over(self.limits, "seconds", "the template takes too long")

    def enter(self) -> None:
        """Go one call deeper; the caller takes it back with `depth -= 1`."""
        self.depth += 1
        if self.depth > self.limits.depth:
            over(self.limits, "depth", "calls are nested too deep")

    def sized(self, text: str) -> str:
        """Pass on a string that was just built."""
        size = len(text)
        self.built -= size + EACH
        if self.built < 0 or size > self.limits.text:
            self.room(size)
        return text

    def room(self, size: int) -> None:
        """Refuse a string of that many characters before it is built."""
        if size > self.limits.text:
            over(self.limits, "text", "an expression builds too long a text")
        if size > self.built:
            over(self.limits, "built", "too much is built from values")

    def places(self, count: int) -> None:
        """Refuse a sequence of that many entries before it is built, and take them."""
        if count > self.limits.items:
            over(self.limits, "items", "an expression builds too long a sequence")
        self.spend(EACH * count)
