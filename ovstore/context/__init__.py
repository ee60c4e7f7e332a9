"""Context assembly: from prompts, memory, lore and history to the messages of one model call, each character accounted
for. Pure: what is assembled depends on the request, the templates and the policy alone."""

from __future__ import annotations

from ovstore.context.assembly import assemble
from ovstore.context.dialects import Difference, ImportReport, export_worldbook, import_worldbook
from ovstore.context.due import Due, cut_summary, profile_due, summary_due, summary_input
from ovstore.context.policy import Policy, Settings
from ovstore.context.request import (
    AssembleRequest,
    MemoryItem,
    Message,
    SessionSummary,
    Tool,
    UserProfile,
    Worldbook,
    WorldbookEntry,
)
from ovstore.context.tokens import approx_tokens
from ovstore.context.trace import (
    AssembledContext,
    AssembledMessage,
    Breakpoint,
    Divergence,
    Dropped,
    Segment,
    Template,
    TemplateRef,
    TimedState,
    Written,
    first_divergence,
)
from ovstore.context.worldbook import evaluate_worldbooks

__all__ = [
    "AssembleRequest",
    "AssembledContext",
    "AssembledMessage",
    "Breakpoint",
    "Difference",
    "Divergence",
    "Dropped",
    "Due",
    "ImportReport",
    "MemoryItem",
    "Message",
    "Policy",
    "Segment",
    "SessionSummary",
    "Settings",
    "Template",
    "TemplateRef",
    "TimedState",
    "Tool",
    "UserProfile",
    "Worldbook",
    "WorldbookEntry",
    "Written",
    "approx_tokens",
    "assemble",
    "cut_summary",
    "evaluate_worldbooks",
    "export_worldbook",
    "first_divergence",
    "import_worldbook",
    "profile_due",
    "summary_due",
    "summary_input",
]
