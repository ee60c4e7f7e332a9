"""What a caller hands in: frozen models of the layers, the memories, the lore, the history and the tools.

Everything an assembly depends on is in the request, in the templates and policy that go with it, and in nothing else:
the time is `now`, chance comes from a seed, state of lore entries comes in and goes out. Tenant and revision are
arguments of the call. Ids are the caller's; they are unique within their kind, since the trace accounts for each one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, tzinfo
from typing import Annotated, Any, Final, Literal, Self, TypeVar
from zoneinfo import ZoneInfo

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from ovstore.context import faults
from ovstore.context import policy as policies
from ovstore.context.fields import Count, Flag, Id, Notes, Number, Span, Text, Time, Whole
from ovstore.context.policy import Policy
from ovstore.context.trace import Role, TimedState
from ovstore.errors import InvalidArgumentError

Logic = Literal["and_any", "not_all", "not_any", "and_all"]
Position = Literal["before", "after", "an_top", "an_bottom", "at_depth", "em_top", "em_bottom", "outlet"]
LoreRole = Literal["system", "user", "assistant"]
ToolKind = Literal["builtin", "memory_search", "memory_write", "mcp", "shortcut", "external"]

T = TypeVar("T")
M = TypeVar("M", "MemoryItem", "Worldbook", "Message", "Tool")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Message(_Model):
    """One message of the history. Of tool calls only the ids are needed, to keep calls and results together."""

    id: Id
    role: Role
    content: Text = ""
    created_at: Time | None = None
    tool_calls: tuple[Text, ...] = ()
    tool_call_id: Text | None = None

    @model_validator(mode="after")
    def _tool_fields(self) -> Self:
        if self.role == "tool" and self.tool_call_id is None:
            raise ValueError("a tool message names the call that it answers: tool_call_id")
        if self.tool_calls and self.role != "assistant":
            raise ValueError("only an assistant message has tool_calls")
        return self

    @field_validator("tool_calls")
    @classmethod
    def _once_each(cls, calls: tuple[str, ...]) -> tuple[str, ...]:
        return _unique(calls, calls)


class MemoryItem(_Model):
    """One entry of the long-term store. The score is the caller's; what has none comes after all that have one."""

    id: Id
    content: Text
    updated_at: Time | None = None
    score: Number | None = None
    archived: Flag = False
    valid_from: Time | None = None
    valid_until: Time | None = None
    meta: Notes = {}


class SessionSummary(_Model):
    session_id: Id
    session_name: Text
    summary: Text
    updated_at: Time


class UserProfile(_Model):
    """The user's profile; `hand_edited` says that a person changed it, which updates must keep."""

    content: Text
    updated_at: Time
    hand_edited: Flag = False


class WorldbookEntry(_Model):
    """One piece of lore and when it comes up. None takes the book's value; `priority` None is the order.

    A key of the form `/pattern/flags` is a regular expression; with `use_regex` every key is one.
    """

    uid: Id
    content: Text
    comment: Text = ""
    enabled: Flag = True
    constant: Flag = False
    keys: tuple[Text, ...] = ()
    secondary_keys: tuple[Text, ...] = ()
    selective: Flag = True
    use_regex: Flag = False
    logic: Logic = "and_any"
    position: Position = "before"
    order: Whole = 100
    priority: Whole | None = None
    depth: Count = 4
    role: LoreRole = "system"
    outlet: Text | None = None
    scan_depth: Count | None = None
    case_sensitive: Flag | None = None
    match_whole_words: Flag | None = None
    probability: Annotated[Number, Field(ge=0, le=100)] = 100
    group: Text = ""
    group_override: Flag = False
    group_weight: Annotated[Number, Field(ge=0)] = 100
    use_group_scoring: Flag | None = None
    sticky: Span = 0
    cooldown: Span = 0
    delay: Span = 0
    ignore_budget: Flag = False
    exclude_recursion: Flag = False
    prevent_recursion: Flag = False
    delay_until_recursion: Span = 0
    extensions: dict[str, JsonValue] = {}


class Worldbook(_Model):
    """A book of lore bound to the session. `max_recursion_steps` None is as long as something new comes up, at most
    100 passes."""

    id: Id
    name: Text
    entries: tuple[WorldbookEntry, ...] = ()
    scan_depth: Count = 4
    recursive: Flag = True
    max_recursion_steps: Count | None = 2
    max_entries: Count | None = None
    max_chars: Count | None = None
    token_budget: Count | None = None
    case_sensitive: Flag = False
    match_whole_words: Flag = True
    use_group_scoring: Flag = False
    extensions: dict[str, JsonValue] = {}

    @field_validator("id")
    @classmethod
    def _no_slash(cls, value: str) -> str:
        if "/" in value:
            raise ValueError("a book's id has no '/': entries are named book/uid")
        return value

    @field_validator("entries")
    @classmethod
    def _known_by_uid(cls, entries: tuple[WorldbookEntry, ...]) -> tuple[WorldbookEntry, ...]:
        return _unique(entries, (entry.uid for entry in entries))


class Tool(_Model):
    """A tool that the model may be offered; the caller keeps its definition."""

    id: Id
    kind: ToolKind


class AssembleRequest(_Model):
    """Everything one assembly is made of. `policy` holds only the fields that override the tenant's `context.policy`.

    `now` is the time of the user's newest message; `timezone` an IANA name.
    """

    session_id: Id
    now: Time
    timezone: Text = "UTC"
    locale: Text = "en"
    system_prompt: Text | None = None
    topic_prompt: Text | None = None
    enhanced_prompt: Text | None = None
    memories: tuple[MemoryItem, ...] = ()
    summaries: tuple[SessionSummary, ...] = ()
    profile: UserProfile | None = None
    worldbooks: tuple[Worldbook, ...] = ()
    worldbook_state: dict[Text, TimedState] = {}
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

    @field_validator("memories", "worldbooks", "history", "tools")
    @classmethod
    def _known_by_id(cls, items: tuple[M, ...]) -> tuple[M, ...]:
        return _unique(items, (item.id for item in items))

    @field_validator("summaries")
    @classmethod
    def _known_by_session(cls, items: tuple[SessionSummary, ...]) -> tuple[SessionSummary, ...]:
        return _unique(items, (item.session_id for item in items))


_MEMORIES: Final = TypeAdapter(list[MemoryItem])
_MESSAGES: Final = TypeAdapter(list[Message])


def read(request: AssembleRequest | Mapping[str, Any] | str | bytes) -> AssembleRequest:
    """Return a request given as a model, as plain data or as JSON text.

    Raises InvalidArgumentError with everything that is wrong with it.
    """
    model: AssembleRequest | None = None
    wrong: tuple[tuple[faults.Steps, str], ...] = ()
    try:
        if isinstance(request, AssembleRequest):
            model = request
        elif isinstance(request, (str, bytes)):
            model = AssembleRequest.model_validate_json(request)
        else:
            model = AssembleRequest.model_validate(request)
    except ValidationError as error:
        data = _plain(request)
        wrong = faults.found(error, data, AssembleRequest)
        named = data.get("policy") if isinstance(data, Mapping) else None
    else:
        named = model.policy
    if isinstance(named, Mapping):
        wrong += tuple((("policy", *steps), what) for steps, what in policies.problems(named))
    if model is None or wrong:
        raise InvalidArgumentError(f"the request cannot be assembled:\n{faults.lines(wrong)}", argument="request")
    return model


def read_retrieved(given: Iterable[MemoryItem | Mapping[str, Any]]) -> list[MemoryItem]:
    """Return what a caller's `retrieve` gave, as models; InvalidArgumentError says what is no memory."""
    if not isinstance(given, Iterable):
        raise InvalidArgumentError(
            f"retrieve gave {faults.shown(given)}: it gives memories, best first", argument="retrieve"
        )
    return _models(_MEMORIES, MemoryItem, list(given), "retrieve", "retrieve gave what is no memory")


def read_messages(given: Iterable[Message | Mapping[str, Any]]) -> list[Message]:
    """Return a history, of models or plain data, as models; InvalidArgumentError says what is no message."""
    if not isinstance(given, Iterable):
        raise InvalidArgumentError(f"{faults.shown(given)} is no list of messages", argument="history")
    return _models(_MESSAGES, Message, list(given), "history", "the history cannot be read")


def read_profile(given: UserProfile | Mapping[str, Any]) -> UserProfile:
    """Return a profile, a model or plain data, as a model; InvalidArgumentError says what is wrong with it."""
    return _models(TypeAdapter(UserProfile), UserProfile, given, "profile", "the profile cannot be read")


def _models(adapter: TypeAdapter[T], model: type[BaseModel], given: object, argument: str, wrong: str) -> T:
    try:
        return adapter.validate_python(given)
    except ValidationError as error:
        said = faults.lines(faults.found(error, given, model))
        raise InvalidArgumentError(f"{wrong}:\n{said}", argument=argument) from error


def _plain(request: object) -> Any:
    try:
        return json.loads(request) if isinstance(request, (str, bytes)) else request
    except (ValueError, RecursionError):
        return None


def zone(name: str) -> tzinfo:
    """Return a time zone by its IANA name; UTC is known even where there is no zone database."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (LookupError, OSError, ValueError) as error:
        raise InvalidArgumentError(
            f"{faults.shown(name)} is no time zone that this machine knows: an IANA name such as Europe/Rome",
            argument="timezone",
            value=name,
        ) from error


def _unique(items: tuple[T, ...], ids: Iterable[str]) -> tuple[T, ...]:
    known = tuple(ids)
    if len(known) > 1 and len(set(known)) < len(known):
        repeated = [faults.shown(value) for value, times in Counter(known).items() if times > 1]
        raise ValueError(f"each is known by an id of its own; more than once: {', '.join(repeated)}")
    return items
