"""What `edit` puts into the editor, and what it makes of the text that comes back."""

from __future__ import annotations

from dataclasses import dataclass

import click

from ovstore import checking, documents, layering, names
from ovstore.cli.call import seen
from ovstore.cli.reading import answering, scope_name
from ovstore.documents import Document
from ovstore.errors import InvalidDocumentError, NotFoundError
from ovstore.findings import found
from ovstore.store import Store


@dataclass(frozen=True)
class Draft:
    """A text to edit. `standing` is the version that the scope has live, 0 for none; `below` is what a patch is made
    against, None where the whole text is published."""

    key: str
    text: bytes
    standing: int
    below: Document | None

    def source(self, edited: bytes) -> bytes:
        """Return what to publish: the edited text or, for a patch, how it differs from what is below.

        Raises InvalidDocumentError with every finding, also where the text became another template's.
        """
        # The whole text is checked also where a patch is made of it: places are those that the editor shows.
        checked = checking.check_source(edited)
        parsed, findings = checked.parsed, list(checked.findings)
        if parsed.key not in (None, self.key):
            findings.append(found("changed-identity", f"this is {parsed.key}; {self.key} is being edited", at=(1, 1)))
        if any(finding.severity == "error" for finding in findings):
            raise InvalidDocumentError(findings)
        if self.below is None or parsed.mode == "patch" or parsed.data is None:
            return edited
        return documents.generate(layering.diff(self.below.kind, self.below.as_written(), parsed.data))


def begin(store: Store, key: str, *, tenant: str | None, seed: bool, patch: bool) -> Draft:
    """Return the text that answers for a key: its own source, unless it is folded from several versions.

    A patch of the scope's own is edited as it is, unless `patch` makes a new one of the whole text.
    """
    scope, view = scope_name(tenant, seed), seen(store, tenant, seed)
    resolved = view.resolve(key)
    answer = answering(resolved, view.versions(key))
    own = resolved.scope == scope
    as_it_is = answer.mode == "full" or (own and not patch)
    text = answer.source if as_it_is else documents.generate(resolved.document)
    below = _below(store, scope, key) if patch else None
    return Draft(key, text, resolved.version if own else 0, below)


def _below(store: Store, scope: str, key: str) -> Document:
    parent = names.parent(scope)
    if parent is None:
        raise click.UsageError("--patch needs a layer below, and seed is the last one")
    view = seen(store, None if parent in (names.SEED, names.GLOBAL) else parent, parent == names.SEED)
    try:
        return view.resolve(key).document
    except NotFoundError as error:
        raise click.UsageError(f"--patch needs a layer below {scope} that has {key}; edit it without") from error
