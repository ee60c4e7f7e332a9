"""The kinds of value that requests, policies and books are made of. Strict: a number is no text, and `yes` is no truth.

A time says its zone, and can be told in every other. Text has no half of a surrogate pair: it could not be sent.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, JsonValue, Strict
from pydantic_core import PydanticCustomError, PydanticSerializationError, to_json

MOST_TEXT: Final = 100_000_000
MOST: Final = 2**63 - 1
MOST_SPAN: Final = 10**9
"""Of minutes and of messages: what is added to a time or a count stays one that is taken."""


def _written(value: Any) -> Any:
    """Refuse numbers, also as text: whether they are seconds or milliseconds would be a guess."""
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str) or "-" not in value[1:]:
        raise PydanticCustomError("datetime_type", "no time")
    return value


def _tellable(time: datetime) -> datetime:
    if not 1 < time.year < 9999:
        raise ValueError("the year cannot be told in every time zone: 2 to 9998")
    return time


def _encodable(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if value:
        try:
            to_json(value)
        except PydanticSerializationError as error:
            raise ValueError("half of a surrogate pair in it, which is no character") from error
    return value


# With a limit the validator reads a text as Unicode, and half a surrogate pair is found on the way.
Text = Annotated[str, Strict(), Field(max_length=MOST_TEXT)]
Id = Annotated[str, Strict(), Field(min_length=1, max_length=MOST_TEXT)]
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict(), Field(ge=-MOST, le=MOST)]
Count = Annotated[int, Strict(), Field(ge=0, le=MOST)]
Counting = Annotated[int, Strict(), Field(ge=1, le=MOST)]
Number = Annotated[float, Strict()]
Span = Annotated[int, Strict(), Field(ge=0, le=MOST_SPAN)]
Time = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_tellable)]
Notes = Annotated[dict[str, JsonValue], AfterValidator(_encodable)]
