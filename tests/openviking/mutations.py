"""Directories that went wrong: the synthetic one with one thing changed in one file, and how that is to be found.

Each is what a person does by mistake: a key lost, misspelt or of the wrong form, a name that nobody declares, a file
that is cut off or in the wrong place. All of them are harmful: the original would fail later, or serve something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutation:
    """In one file `old` becomes `new`; what is found has this code and stands where `at` (else `new`) begins."""

    code: str
    path: str
    old: str
    new: str
    at: str | None = None

    def __str__(self) -> str:
        return " ".join(f"{self.code} {Path(self.path).stem} {self.old} becomes {self.new}".split())

    def apply(self, folder: Path) -> int:
        """Change the file and return the line that the finding has to name."""
        place = folder / self.path
        text = place.read_text(encoding="utf-8")
        assert text.count(self.old) >= 1, f"{self.path} has no {self.old!r}"
        changed = text.replace(self.old, self.new, 1)
        place.write_text(changed, encoding="utf-8")
        return changed.count("\n", 0, changed.index(self.at) if self.at else text.index(self.old)) + 1


SUMMARY = "semantic/document_summary.yaml"
CHECK = "vision/page_check.yaml"
RECIPES = "memory/recipes.yaml"
IDENTITY = "memory/identity.yaml"
REVIEWS = "memory/reviews.yaml"
UPDATE = "compression/notes_v2_update.yaml"

DELETED_KEYS = [
    Mutation("missing-key", SUMMARY, '  id: "semantic.document_summary"\n', "", at="metadata:"),
    Mutation("missing-key", SUMMARY, '  name: "House summary"\n', "", at="metadata:"),
    Mutation("missing-key", SUMMARY, '  version: "2.3.0"\n', "", at="metadata:"),
    Mutation("missing-key", SUMMARY, '  language: "en"\n', "", at="metadata:"),
    Mutation("missing-key", SUMMARY, '  category: "semantic"\n', "", at="metadata:"),
    Mutation("missing-key", SUMMARY, "template: |", "description: |", at="metadata:"),
    Mutation("missing-key", SUMMARY, '    type: "string"\n', "", at='name: "file_name"'),
    Mutation("missing-key", SUMMARY, '    description: "Its text"\n', "", at='name: "content"'),
    Mutation("undeclared-variable", SUMMARY, '  - name: "file_name"\n', '  - name: "file"\n', at="{{ file_name }}"),
    Mutation("missing-key", RECIPES, "{name: cuisine, type", "{type"),
    Mutation("incomplete-schema", RECIPES, 'directory: "', '# "', at="memory_type"),
    Mutation("incomplete-schema", RECIPES, 'filename_template: "', '# "', at="memory_type"),
    Mutation("incomplete-schema", "memory/habits.yml", "fields:\n  - name: content\n", "", at="name:"),
    Mutation("incomplete-schema", "memory/tasks.yaml", "memory_type: tasks\n", "", at="enabled"),
]
WRONG_TYPES = [
    Mutation("wrong-type", SUMMARY, "metadata:\n", "metadata: []\nunused:\n"),
    Mutation("wrong-type", SUMMARY, 'name: "House summary"', 'name: ["House summary"]', at='["House'),
    Mutation("wrong-type", CHECK, "llm_config:\n", "llm_config: none\nunused:\n", at="none"),
    Mutation("wrong-type", CHECK, "output_schema:\n", "output_schema: [object]\nunused:\n", at="[object]"),
    Mutation("wrong-type", SUMMARY, "required: true", 'required: "true"', at='"true"'),
    Mutation("wrong-default", CHECK, "default: 1,", 'default: "one",', at='"one"'),
    Mutation("wrong-default", CHECK, "default: false", "default: 0", at="default: 0"),
    Mutation("wrong-default", "retrieval/query_plan.yml", "default: []", "default: {}", at="{}"),
    Mutation("bad-max-length", SUMMARY, 'max_length: "40"', "max_length: 0", at="max_length: 0"),
    Mutation("bad-max-length", SUMMARY, 'max_length: "40"', "max_length: -2", at="-2"),
    Mutation("wrong-type", RECIPES, "fields:\n", "fields: {}\nunused:\n", at="{}"),
    Mutation("wrong-type", "memory/habits.yml", "enable: true", 'enable: "no"', at='"no"'),
    Mutation("wrong-type", "memory/acquaintances.yaml", "peer_enabled: true", "peer_enabled: 1", at="1"),
    Mutation("wrong-init-value", IDENTITY, 'init_value: "0"', 'init_value: "none"', at='"none"'),
    Mutation("bad-number", CHECK, "temperature: 0.1", "temperature: .inf", at=".inf"),
]
WRONG_NAMES = [
    Mutation("mistyped-key", SUMMARY, "template: |", "tempalte: |"),
    Mutation("mistyped-key", SUMMARY, "variables:", "variable:"),
    Mutation("mistyped-key", SUMMARY, "llm_config:", "llmConfig:"),
    Mutation("mistyped-key", SUMMARY, "    max_length:", "    maxlength:", at="maxlength"),
    Mutation("mistyped-key", RECIPES, "filename_template", "file_name_template"),
    Mutation("mistyped-key", RECIPES, "embedding_template", "embeding_template"),
    Mutation("mistyped-key", RECIPES, "dish, type: string, merge_op", "dish, type: string, mergeop", at="mergeop"),
    Mutation("unknown-choice", CHECK, "type: boolean, description: Whether", "type: boolaen, description: Whether"),
    Mutation("unknown-choice", RECIPES, "merge_op: sum", "merge_op: add", at="add"),
    Mutation("unknown-choice", RECIPES, "merge_op: immutable", "merge_op: Immutable", at="Immutable"),
    Mutation("unknown-choice", REVIEWS, "operation_mode: add_only", "operation_mode: append", at="append"),
    Mutation("unknown-choice", "memory/acquaintances.yaml", "stage: user", "stage: users", at="users"),
    Mutation(
        "sum-on-text", RECIPES, "times_cooked, type: int64", "times_cooked, type: string", at="times_cooked, type"
    ),
    Mutation("bad-id", SUMMARY, 'id: "semantic.document_summary"', 'id: "Semantic.Document Summary"', at='"Semantic'),
    Mutation("bad-id", SUMMARY, 'id: "semantic.document_summary"', 'id: "document_summary"', at='"document'),
    Mutation("bad-id", RECIPES, "memory_type: recipes", 'memory_type: ""', at='""'),
    Mutation("duplicate-document", "memory/tasks.yaml", "memory_type: tasks", "memory_type: recipes", at="recipes"),
    Mutation("duplicate-name", IDENTITY, "{name: mood", "{name: name"),
    Mutation("reserved-name", RECIPES, "{name: notes", "{name: user_space", at="user_space, type"),
    Mutation("duplicate-key", SUMMARY, "template: |", 'template: "short"\ntemplate: |', at="template: |"),
]
WRONG_TEMPLATES = [
    Mutation("template-syntax", SUMMARY, "{%- endif %}", "{%- end %}"),
    Mutation("undeclared-variable", SUMMARY, "  {{ content }}", "  {{ contents }}"),
    Mutation("undeclared-variable", RECIPES, "{{ cuisine|lower }}/", "{{ kitchen|lower }}/"),
    Mutation("undeclared-variable", RECIPES, "# {{ dish }}\n", "# {{ meal }}\n"),
    Mutation("undeclared-variable", "memory/acquaintances.yaml", "link_target(", "link_to("),
    Mutation("undeclared-variable", REVIEWS, "get_year(ranges)", "get_year(spans)"),
    Mutation("unknown-filter", UPDATE, "latest_notes|trim", "latest_notes|trimmed"),
    Mutation("private-attribute", UPDATE, "{{ text }}\n", "{{ text.__class__ }}\n"),
    Mutation("unsafe-path", RECIPES, 'filename_template: "{{', 'filename_template: "../{{'),
    Mutation("unsafe-path", IDENTITY, 'filename_template: "identity.md"', 'filename_template: "/identity.md"'),
]
BROKEN_FILES = [
    Mutation("yaml-syntax", CHECK, "required: [keep]", "required: [keep"),
    Mutation("several-documents", CHECK, "llm_config:", "---\nllm_config:"),
    Mutation("tab-indentation", SUMMARY, '  version: "2.3.0"', '\tversion: "2.3.0"'),
    Mutation("unknown-alias", CHECK, "default: 1,", "default: *one,", at="*one"),
]
MUTATIONS = [*DELETED_KEYS, *WRONG_TYPES, *WRONG_NAMES, *WRONG_TEMPLATES, *BROKEN_FILES]
