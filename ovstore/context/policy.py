"""The policy of an assembly: order, switches, limits. A document (`context.policy`) that tenants patch like any other.

A request may name fields that override the tenant's. Every field has a default here, and the seed document spells the
same ones out. Order says where a layer stands, never whether it is there: that is what the switches say, and under a
budget the priorities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError, field_validator

from ovstore.context import faults
from ovstore.context.fields import Count, Counting, Span, Text, Whole
from ovstore.context.trace import TemplateRef
from ovstore.errors import InvalidArgumentError

SystemLayer = Literal[
    "system_prompt",
    "topic_prompt",
    "time",
    "memory",
    "recent_conversation_memory",
    "user_profile_memory",
    "worldbook_before",
    "worldbook_after",
    "worldbook_an_top",
    "worldbook_an_bottom",
    "worldbook_outlet",
]
Layer = Literal[
    SystemLayer,
    "worldbook_em_top",
    "time_landmark",
    "worldbook_at_depth",
    "history",
    "worldbook_em_bottom",
    "enhanced_prompt",
    "separator",
]
Group = Literal["keyed_lore", "memory", "recent_conversation_memory", "history", "user_profile_memory", "constant_lore"]

WRAPPED: Final[tuple[Layer, ...]] = tuple(name for name in get_args(Layer) if name not in ("history", "separator"))
"""The layers that have a wrapper of their own, `context.<layer>`."""

NAMED_ORDERS: Final = ("seed", "worldbook_first", "stable_first")
SEED_ORDER: Final[tuple[SystemLayer, ...]] = get_args(SystemLayer)
LORE_FIRST: Final = tuple(sorted(SEED_ORDER, key=lambda layer: not layer.startswith("worldbook_")))
ISOLATED_LAYERS: Final = frozenset(
    {"system_prompt", "topic_prompt", "enhanced_prompt", "history"}
    | {layer for layer in get_args(Layer) if layer.startswith("worldbook_")}
)
"""What isolation lets through; whatever is not listed here stays out, so a layer added later does too."""

PRIORITY: Final[Mapping[Group, int]] = MappingProxyType(
    {
        "keyed_lore": 10,
        "memory": 20,
        "recent_conversation_memory": 30,
        "history": 40,
        "user_profile_memory": 50,
        "constant_lore": 60,
    }
)
"""Under a token budget the lowest goes first. System, topic, enhanced prompt, time and the newest turn never go."""


class Policy(BaseModel):
    """How a request is assembled. Limits of 0 or None mean none, but for `memory_top_k`, where 0 means all."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    order: Literal["seed", "worldbook_first", "stable_first"] | Annotated[tuple[SystemLayer, ...], Strict(False)] = (
        "seed"
    )
    separator: Text = "\n\n"
    entry_order: Literal["ascending", "descending"] = "ascending"
    memory_enabled: bool = True
    memory_top_k: Count = 3
    summaries_enabled: bool = True
    summary_limit: Counting = 5
    profile_enabled: bool = True
    time: Literal["front", "tail", "off"] = "front"
    time_precision: Literal["second", "minute", "hour", "day"] = "second"
    landmarks: bool = True
    landmark_minutes: Annotated[Span, Field(ge=1)] = 30
    max_history: Count = 0
    trim: Literal["turns", "messages", "sawtooth"] = "turns"
    sawtooth_low: float = Field(0.5, gt=0, lt=1)
    depth_anchor: Literal["floating", "pinned"] = "floating"
    volatile_tail: bool = False
    tail_role: Literal["system", "user"] = "system"
    merge_tail_into_user: bool = False
    mid_system: bool = True
    isolation: bool = False
    escape: Literal["block_tags", "xml", "none"] = "block_tags"
    tags: Annotated[tuple[str, ...], Strict(False)] = ()
    token_budget: Counting | None = None
    reserve_output: Count = 0
    layer_budget: dict[Layer, Counting] = {}
    priority: dict[Group, Whole | None] = {}
    rng_seed: Whole = 0
    summary_turns: Counting = 6
    summary_minutes: Span = 120

    @field_validator("order", mode="before")
    @classmethod
    def _known_order(cls, order: Any) -> Any:
        """Say it in one sentence: of a union each side would have its own complaint."""
        if not isinstance(order, (list, tuple)):
            if order not in NAMED_ORDERS:
                raise ValueError(f"{faults.none_of(order, NAMED_ORDERS)}, nor a list of layers")
            return order
        if strange := [layer for layer in order if layer not in SEED_ORDER]:
            raise ValueError("; ".join(faults.none_of(layer, SEED_ORDER) for layer in strange))
        if len(set(order)) < len(order):
            raise ValueError("a layer stands in the order twice")
        return order

    @field_validator("tags")
    @classmethod
    def _names(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [tag for tag in tags if not (tag.replace("_", "").replace("-", "").isalnum() and tag.isascii())]:
            raise ValueError(f"a tag is of letters, digits, _ and -: {', '.join(wrong)}")
        return tags

    @property
    def layers(self) -> tuple[SystemLayer, ...]:
        """The layers of the system message in their order, before stability is looked at; unnamed ones at the end."""
        if self.order == "worldbook_first":
            return LORE_FIRST
        named = () if isinstance(self.order, str) else self.order
        return (*named, *(layer for layer in SEED_ORDER if layer not in named))

    @property
    def priorities(self) -> Mapping[Group, int | None]:
        """Each group's priority; None: never dropped."""
        return {**PRIORITY, **self.priority}

    @property
    def limit(self) -> int | None:
        """The tokens that may be used, what is reserved for the answer taken off."""
        return None if self.token_budget is None else max(0, self.token_budget - self.reserve_output)


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of a settings document, and which version they are of."""

    values: Mapping[str, Any]
    ref: TemplateRef | None = None


def problems(values: Mapping[str, Any]) -> tuple[tuple[faults.Steps, str], ...]:
    """Return what is wrong with the values of a `context.policy`, full or patch: where, and a sentence for each."""
    given = {name: value for name, value in values.items() if value is not None}
    try:
        Policy.model_validate(given)
    except ValidationError as error:
        return faults.found(error, given, Policy)
    return ()


def effective(settings: Settings, named: Mapping[str, Any]) -> Policy:
    """Lay the fields that a request names, and that were found good, over the tenant's policy.

    Raises InvalidArgumentError with everything that is wrong with the tenant's.
    """
    if wrong := problems(settings.values):
        ref = settings.ref
        where = f"context.policy of {ref.scope} (version {ref.version})" if ref else "the policy"
        raise InvalidArgumentError(
            f"{where} cannot be used:\n{faults.lines(wrong)}", argument="policy", value=dict(settings.values)
        )
    return Policy.model_validate(
        {name: value for name, value in {**settings.values, **named}.items() if value is not None}
    )
