"""What a caller hands in: frozen models of the layers, the memories, the lore, the history and the tools.

Everything an assembly depends on is in the request, in the templates and policy that go with it, and in nothing else:
the time is `now`, chance comes from a seed, state of lore entries comes in and goes out. Tenant and revision are
arguments of the call. Ids are the caller's; they are unique within their kind, since the trace accounts for each one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, tzinfo
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    NonNegativeInt,
    ValidationError,
    field_validator,
    model_validator,
)

from ovstore.context.policy import Policy
from ovstore.context.trace import Role, TimedState
from ovstore.errors import InvalidArgumentError


def _whole(text: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError("half of a surrogate pair, which is no character") from error
    return text


Text = Annotated[str, AfterValidator(_whole)]
Id = Annotated[Text, Field(min_length=1)]
Logic = Literal["and_any", "not_all", "not_any", "and_all"]
Position = Literal["before", "after", "an_top", "an_bottom", "at_depth", "em_top", "em_bottom", "outlet"]
LoreRole = Literal["system", "user", "assistant"]
ToolKind = Literal["builtin", "memory_search", "memory_write", "mcp", "shortcut", "external"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Message(_Model):
    """One message of the history. Of tool calls only the ids are needed, to keep calls and results together."""

    id: Id
    role: Role
    content: Text = ""
    created_at: AwareDatetime | None = None
    tool_calls: tuple[Text, ...] = ()
    tool_call_id: Text | None = None

    @model_validator(mode="after")
    def _tool_fields(self) -> Self:
        if self.role == "tool" and self.tool_call_id is None:
            raise ValueError("a tool message names the call that it answers: tool_call_id")
        if self.tool_calls and self.role != "assistant":
            raise ValueError("only an assistant message has tool_calls")
        return self


class MemoryItem(_Model):
    """One entry of the long-term store. The score is the caller's; what has none comes after all that have one."""

    id: Id
    content: Text
    updated_at: AwareDatetime | None = None
    score: float | None = None
    archived: bool = False
    valid_from: AwareDatetime | None = None
    valid_until: AwareDatetime | None = None
    meta: dict[str, JsonValue] = {}


class SessionSummary(_Model):
    session_id: Id
    session_name: Text
    summary: Text
    updated_at: AwareDatetime


class UserProfile(_Model):
    """The user's profile; `hand_edited` says that a person changed it, which updates must keep."""

    content: Text
    updated_at: AwareDatetime
    hand_edited: bool = False


class WorldbookEntry(_Model):
    """One piece of lore and when it comes up. None takes the book's value; `priority` None is the order.

    A key of the form `/pattern/flags` is a regular expression; with `use_regex` every key is one.
    """

    uid: Id
    content: Text
    comment: Text = ""
    enabled: bool = True
    constant: bool = False
    keys: tuple[Text, ...] = ()
    secondary_keys: tuple[Text, ...] = ()
    selective: bool = True
    use_regex: bool = False
    logic: Logic = "and_any"
    position: Position = "before"
    order: int = 100
    priority: int | None = None
    depth: NonNegativeInt = 4
    role: LoreRole = "system"
    outlet: Text | None = None
    scan_depth: NonNegativeInt | None = None
    case_sensitive: bool | None = None
    match_whole_words: bool | None = None
    probability: float = Field(100, ge=0, le=100)
    group: Text = ""
    group_override: bool = False
    group_weight: float = Field(100, ge=0)
    use_group_scoring: bool | None = None
    sticky: NonNegativeInt = 0
    cooldown: NonNegativeInt = 0
    delay: NonNegativeInt = 0
    ignore_budget: bool = False
    exclude_recursion: bool = False
    prevent_recursion: bool = False
    delay_until_recursion: NonNegativeInt = 0
    extensions: dict[str, JsonValue] = {}


class Worldbook(_Model):
    """A book of lore bound to the session. `max_recursion_steps` None is as long as something new comes up."""

    id: Id
    name: Text
    entries: tuple[WorldbookEntry, ...] = ()
    scan_depth: NonNegativeInt = 4
    recursive: bool = True
    max_recursion_steps: NonNegativeInt | None = 2
    max_entries: NonNegativeInt | None = None
    max_chars: NonNegativeInt | None = None
    token_budget: NonNegativeInt | None = None
    case_sensitive: bool = False
    match_whole_words: bool = True
    use_group_scoring: bool = False
    extensions: dict[str, JsonValue] = {}

    @field_validator("id")
    @classmethod
    def _no_slash(cls, value: str) -> str:
        if "/" in value:
            raise ValueError("a book's id has no '/': entries are named book/uid")
        return value

    @field_validator("entries")
    @classmethod
    def _unique(cls, entries: tuple[WorldbookEntry, ...]) -> tuple[WorldbookEntry, ...]:
        _refuse_repeated("entry", (entry.uid for entry in entries))
        return entries


class Tool(_Model):
    """A tool that the model may be offered; the caller keeps its definition."""

    id: Id
    kind: ToolKind


class AssembleRequest(_Model):
    """Everything one assembly is made of. `policy` holds only the fields that override the tenant's `context.policy`.

    `now` is the time of the user's newest message; `timezone` an IANA name.
    """

    session_id: Id
    now: AwareDatetime
    timezone: Text = "UTC"
    locale: Text = "en"
    system_prompt: Text | None = None
    topic_prompt: Text | None = None
    enhanced_prompt: Text | None = None
    memories: tuple[MemoryItem, ...] = ()
    summaries: tuple[SessionSummary, ...] = ()
    profile: UserProfile | None = None
    worldbooks: tuple[Worldbook, ...] = ()
    worldbook_state: dict[str, TimedState] = {}
    history: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    policy: dict[str, JsonValue] = {}

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        zone(name)
        return name

    @field_validator("policy", mode="before")
    @classmethod
    def _named_fields(cls, value: Any) -> Any:
        return value.model_dump(mode="json", exclude_unset=True) if isinstance(value, Policy) else value

    @model_validator(mode="after")
    def _unique(self) -> Self:
        _refuse_repeated("memory", (memory.id for memory in self.memories))
        _refuse_repeated("summary of session", (summary.session_id for summary in self.summaries))
        _refuse_repeated("world book", (book.id for book in self.worldbooks))
        _refuse_repeated("message", (message.id for message in self.history))
        _refuse_repeated("tool", (tool.id for tool in self.tools))
        return self


def read(request: AssembleRequest | Mapping[str, Any] | str | bytes) -> AssembleRequest:
    """Return a request given as a model, as plain data or as JSON text.

    Raises InvalidArgumentError with everything that is wrong with it.
    """
    if isinstance(request, AssembleRequest):
        return request
    try:
        if isinstance(request, (str, bytes)):
            return AssembleRequest.model_validate_json(request)
        return AssembleRequest.model_validate(request)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        lines = [f"{_place(problem['loc'])}: {problem['msg'].removeprefix('Value error, ')}" for problem in problems]
        message = "the request cannot be assembled:\n" + "\n".join(lines)
        raise InvalidArgumentError(message, argument="request") from error


def _place(steps: Iterable[str | int]) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return path.removeprefix(".") or "request"


def zone(name: str) -> tzinfo:
    """Return a time zone by its IANA name; UTC is known even where there is no zone database."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (LookupError, OSError, ValueError) as error:
        raise ValueError(f"{name!r} is no time zone that this machine knows (Europe/Rome, Asia/Shanghai)") from error


def _refuse_repeated(what: str, ids: Iterable[str]) -> None:
    if repeated := [value for value, times in Counter(ids).items() if times > 1]:
        raise ValueError(f"{what} ids must be unique; more than once: {', '.join(repeated)}")
