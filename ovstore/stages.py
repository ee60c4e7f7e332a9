"""What a template is for: at which step of processing it is used, what a change of it affects, and what to run again.

Facts about the upstream system, by key for the templates that ship with ovstore and by category for all others. Advice
for people, shown by the command line; nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ovstore import names


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of processing. `verify` is what to run again after a change."""

    stage: str
    affects: str
    verify: str


def about(key: str) -> Stage | None:
    """Return what is known of a key, by itself or by its category; None for a category of somebody's own.

    >>> about("retrieval.intent_analysis").verify
    'run the search again'
    """
    category = "memory" if names.is_memory_key(key) else key.partition(".")[0]
    general = _CATEGORIES.get(category)
    if general is None or key not in _TEMPLATES:
        return general
    stage, affects = _TEMPLATES[key]
    return Stage(stage, affects, general.verify)


_IMPORT: Final = "import the document again"
_COMMIT: Final = "commit the session again"

_CATEGORIES: Final[Mapping[str, Stage]] = MappingProxyType(
    {
        "vision": Stage(
            "resource parsing",
            "what is understood of pictures, PDF pages and tables",
            "parse a picture, a table or a scanned PDF again",
        ),
        "parsing": Stage("resource import", "chapters, node and picture summaries", _IMPORT),
        "semantic": Stage(
            "building the semantic index", "file summaries, directory overviews, later retrieval", _IMPORT
        ),
        "retrieval": Stage("before retrieval", "queries and the direction of recall", "run the search again"),
        "compression": Stage(
            "session commit and memory pipeline", "long-term memory, session archives, merges", _COMMIT
        ),
        "memory": Stage(
            "writing and updating memories",
            "how memories are organised and read",
            "look at the text, directory and fields of new memory files",
        ),
        "processing": Stage("after interactions and imports", "strategies and lessons about tools", _COMMIT),
        "indexing": Stage("help for retrieval and the index", "ranking", "run the search again"),
        "skill": Stage("skill resources", "finding skills", "process the skill again"),
        "skill_extract": Stage("session commit", "skills stored from sessions", _COMMIT),
        "context": Stage("assembling a context", "what a model sees, and in which order", "assemble a request again"),
        "test": Stage("validation help", "tests of skills", "generate the test cases again"),
    }
)

_TEMPLATES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "compression.dedup_decision": (
            "deduplicating memory candidates",
            "which candidates are skipped, created or merged",
        ),
        "compression.field_compress": (
            "shortening a memory field",
            "long fields, those of tool memories first, staying bounded and readable",
        ),
        "compression.memory_extraction": (
            "extraction behind session compression",
            "the quality of long-term memory and how often recall hits",
        ),
        "compression.memory_merge": ("merging one memory", "the text of updated memories"),
        "compression.memory_merge_bundle": ("structured merge", "abstract, overview and content of a merged memory"),
        "compression.ov_wm_v2": (
            "first working memory of a session",
            "the archived overview and the current working memory",
        ),
        "compression.ov_wm_v2_update": (
            "each later working memory",
            "how overview and working memory carry on from one commit to the next",
        ),
        "compression.structured_summary": ("archiving a session", "archive summaries, later review and retrieval"),
        "indexing.relevance_scoring": ("scoring candidates", "ranking and filtering of search results"),
        "parsing.audio_summary": ("importing audio", "what audio means to search"),
        "parsing.chapter_analysis": ("dividing long documents", "chapters and the order of pages"),
        "parsing.context_generation": ("describing nodes", "a node's abstract and overview, and what it matches"),
        "parsing.image_summary": ("describing picture nodes", "picture overviews and search"),
        "parsing.semantic_grouping": ("grouping and splitting text", "how fine nodes are, and the quality of chunks"),
        "parsing.video_summary": ("importing video", "what video means to search"),
        "processing.interaction_learning": (
            "after an interaction",
            "lessons kept for reuse, good resources, skills that worked",
        ),
        "processing.strategy_extraction": ("after a resource is added", "the recorded intent behind a resource"),
        "processing.tool_chain_analysis": ("analysing chains of tool calls", "tool patterns and lessons about tools"),
        "retrieval.intent_analysis": (
            "before retrieval",
            "the query plan and the direction of recall, for each type of context",
        ),
        "retrieval.ov_intent_analysis_sft_v4": (
            "before retrieval, with a tuned model",
            "the query plan, in comparison runs too",
        ),
        "retrieval.ov_intent_analysis_sft_v7": (
            "before retrieval, with a tuned model",
            "the query plan, in comparison runs too",
        ),
        "retrieval.recall_rewrite": ("behind recall", "what of the recalled text is handed on"),
        "semantic.code_ast_summary": ("large code files", "code summaries, search and structure"),
        "semantic.code_summary": ("code files", "the code index, its search, what is understood of code"),
        "semantic.document_summary": ("document files", "document summaries, search and overviews"),
        "semantic.file_summary": ("files of any kind", "the directory index, general search, directory overviews"),
        "semantic.overview_generation": ("directories", "overviews, search level by level, navigation"),
        "skill.overview_generation": ("processing a skill", "the skill's summary and whether it is found"),
        "skill.privacy_extraction": ("processing a skill", "which private values stored skills keep"),
        "test.skill_test_generation": ("testing skills", "the design and samples of tests"),
        "vision.batch_filtering": ("many pictures at once", "which pictures are kept"),
        "vision.image_filtering": ("one picture", "whether a picture is processed further"),
        "vision.image_understanding": ("understanding a picture", "its abstract, overview and detail"),
        "vision.page_understanding": ("scanned pages", "what is understood of a page, and the semantics made of it"),
        "vision.page_understanding_batch": ("many scanned pages at once", "efficiency and one voice across pages"),
        "vision.table_understanding": ("tables", "how tables are parsed, summarised and structured"),
        "vision.unified_analysis": ("mixed documents", "documents with pictures, tables and chapters"),
        "cases": ("memories of cases", "cases that can be trained on and graded"),
        "entities": ("memories of entities", "people, projects, organisations and systems"),
        "events": ("memories of events", "review, timeline, narrative"),
        "experiences": ("memories of experiences", "guidance drawn from outcomes"),
        "identity": ("the agent's identity", "a persona that stays the same"),
        "patterns": ("memories of patterns", "procedures that can be used again"),
        "preferences": ("memories of preferences", "recall of tastes, personalisation"),
        "profile": ("the user's profile", "who the user is: background and lasting traits"),
        "session_skills": ("session commit", "skills that are drawn from sessions"),
        "skills": ("memories of skill use", "counts, lessons and the recommended flow"),
        "soul": ("the agent's soul", "limits, continuity, personality"),
        "tools": ("memories of tool use", "lessons about tools, best parameters, failures"),
        "trajectories": ("records of agent runs, append-only", "operation contracts that can be used again"),
    }
)
