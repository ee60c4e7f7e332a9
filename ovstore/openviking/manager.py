"""PromptManager over a store: the prompts of a tenant, under upstream's names, arguments and errors.

A manager is bound to a store and a tenant. Given no store it has a private one, in memory: the bundled templates are
its seed layer, the directory its global layer. Directories are read when the manager is made and by `clear_cache()`;
answers of the store are never kept here, so that a version published elsewhere is served by the next call.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import ovstore
from ovstore import bundled, names, seeding
from ovstore.documents import Prompt
from ovstore.errors import InvalidArgumentError, NotFoundError
from ovstore.names import Risk
from ovstore.openviking import configuration, unchecked
from ovstore.openviking.configuration import Place, Sources
from ovstore.openviking.filling import Seen, fill
from ovstore.openviking.models import PromptTemplate
from ovstore.results import Rendered, Resolved
from ovstore.store import Store
from ovstore.view import View

T = TypeVar("T")

DATABASE_VARIABLE: Final = "OVSTORE_DB"
TENANT_VARIABLE: Final = "OVSTORE_TENANT"
ACTOR_VARIABLE: Final = "OVSTORE_ACTOR"

_log: Final = logging.getLogger("ovstore.openviking")


class TemplateNotFoundError(NotFoundError, FileNotFoundError):
    """No layer has a prompt of that id."""

    def __new__(cls, *args: object, **given: object) -> TemplateNotFoundError:
        return FileNotFoundError.__new__(cls, *args)


class PromptManager:
    """Prompts by id, as upstream's manager has them; `store` and `tenant` say whose.

    With a directory, given or configured (`ovstore.openviking.configuration`), that is read into the global layer: of
    a private store whatever it says, of a given store as an import of at most medium risk. `enable_caching=False` looks
    at the directory before every call. Raises InvalidDocumentError, which is a ValueError, with everything that is
    wrong in the directory, and FileNotFoundError for one that is named and does not exist.

    >>> manager = PromptManager("seed_templates")
    >>> manager.get_llm_config("semantic.document_summary")
    {'temperature': 0.0}
    >>> manager.close()
    """

    def __init__(
        self,
        templates_dir: Place | None = None,
        enable_caching: bool = True,
        *,
        store: Store | None = None,
        tenant: str | None = None,
    ) -> None:
        self._sources = configuration.sources(templates_dir)
        self._accept_risk: Risk = "medium" if store else "very_high"
        self._reading = threading.Lock()
        self._seen: Seen | None = None
        self._stamp: object = None
        self.templates_dir = self._sources.prompts or bundled.folder("seed_templates")
        self.enable_caching = enable_caching
        self.tenant = tenant
        self.store = store or _private_store(self._sources)
        self._end = weakref.finalize(self, self.store.close) if store is None else None
        try:
            self._view: Store | View = self.store if tenant is None else self.store.tenant(tenant)
            self.clear_cache()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<ovstore.openviking PromptManager of {self.tenant or names.GLOBAL} on {self.store!r}>"

    def close(self) -> None:
        """Close a private store; one that was given stays open."""
        if self._end is not None:
            self._end()

    def clear_cache(self) -> None:
        """Read the directories again: what changed there is served from now on, or all that is wrong is raised."""
        if self._sources.nothing:
            return
        with self._reading:
            stamp = self._sources.stamp()
            actor = os.environ.get(ACTOR_VARIABLE) or __package__
            self._seen = fill(self.store, self._sources, self._seen, actor=actor, accept_risk=self._accept_risk)
            self._stamp = stamp

    def load_template(self, prompt_id: str) -> PromptTemplate:
        """Return the effective template, a copy. Raises FileNotFoundError for an id that no layer has."""
        return PromptTemplate.model_validate(self._resolve(prompt_id).document.as_written())

    def render(self, prompt_id: str, variables: Mapping[str, Any] | None = None, validate: bool = True) -> str:
        """Make the text of a prompt; the mapping is left as it is.

        Raises FileNotFoundError for an id that no layer has, ValueError for variables that are missing or of another
        type, RenderError for a template that fails. `validate=False` leaves out the check of what is missing and of
        types. A value that `max_length` cuts and a name that is not declared are warnings of the logger
        `ovstore.openviking`.
        """
        if not isinstance(variables, Mapping | None):
            said = f"variables takes a mapping of names to values, not {type(variables).__name__}"
            raise InvalidArgumentError(said, argument="variables", value=variables)
        given = dict(variables or {})
        if not validate:
            return unchecked.render(self._view, self._resolve(prompt_id), given, self.store._resolver.limits)
        rendered = self._ask(prompt_id, lambda key: self._view.render(key, given))
        _tell(rendered, given)
        return rendered.text

    def get_llm_config(self, prompt_id: str) -> dict[str, Any]:
        """Return the settings of the model call, a copy; {} where there are none."""
        return self.load_template(prompt_id).llm_config or {}

    def list_prompts(self, category: str | None = None) -> list[str]:
        """Return the ids of all prompts that can be loaded, whichever layer has them, in order."""
        self._look()
        return [listing.key for listing in self._view.templates(kind="prompt", category=category)]

    def _look(self) -> None:
        if not self.enable_caching and self._stamp != self._sources.stamp():
            self.clear_cache()

    def _resolve(self, prompt_id: str) -> Resolved:
        resolved = self._ask(prompt_id, self._view.resolve)
        if resolved.kind != "prompt":
            raise _not_found(prompt_id, f"it is a {resolved.kind} document")
        return resolved

    def _ask(self, prompt_id: str, ask: Callable[[str], T]) -> T:
        """Ask for a prompt by its id, else by the one id that upstream would find in the same file."""
        self._look()
        if not isinstance(prompt_id, str) or not names.is_key(prompt_id) or names.is_memory_key(prompt_id):
            raise _not_found(prompt_id, "the id of a prompt has the form category.name")
        try:
            return ask(prompt_id)
        except NotFoundError as error:
            known = (listing.key for listing in self._view.templates(kind="prompt"))
            alike = [key for key in known if _same_file(key, prompt_id)]
            if not alike:
                raise _not_found(prompt_id, "no layer has it", error.near) from error
            return ask(alike[0])


def _same_file(one: str, other: str) -> bool:
    """Whether two ids are one path in upstream, which joins all that follows the first part by `_`."""
    return one.replace(".", "/", 1).replace(".", "_") == other.replace(".", "/", 1).replace(".", "_")


def _not_found(prompt_id: object, why: str, near: tuple[str, ...] = ()) -> TemplateNotFoundError:
    return TemplateNotFoundError(f"there is no prompt {prompt_id!r}: {why}", what="key", name=str(prompt_id), near=near)


def _private_store(sources: Sources) -> Store:
    store = ovstore.open("sqlite://", create=True)
    try:
        if sources.experimental_memory:
            plan = seeding.plan_upgrade(store._database, experimental_memory=True)
            assert plan is not None, "the plain schemas were just seeded"
            seeding.apply_upgrade(store._database, plan, accept_risk="very_high")
    except BaseException:
        store.close()
        raise
    return store


def _tell(rendered: Rendered, given: Mapping[str, Any]) -> None:
    for name in rendered.truncated:
        _log.warning("%s: the value of %s was cut at its max_length", rendered.resolved.key, name)
    document = rendered.resolved.document
    if isinstance(document, Prompt) and not rendered.resolved.provenance.parts:
        extra = given.keys() - {variable.name for variable in document.variables}
        if extra:
            _log.warning("%s has no variable %s", rendered.resolved.key, ", ".join(sorted(map(str, extra))))


_BINDING: Final = (
    DATABASE_VARIABLE,
    TENANT_VARIABLE,
    configuration.TEMPLATES_VARIABLE,
    configuration.CONFIG_VARIABLE,
)
_bound: tuple[object, PromptManager] | None = None
_binding: Final = threading.Lock()


def get_manager() -> PromptManager:
    """Return the manager of this process, bound to OVSTORE_DB (a private store without it) and OVSTORE_TENANT.

    It is made at the first call, and anew where one of the variables that it was made by has changed since.
    """
    global _bound
    asked = tuple(map(os.environ.get, _BINDING))
    with _binding:
        if _bound is None or _bound[0] != asked:
            _bound = (asked, _from_environment())
        return _bound[1]


def _from_environment() -> PromptManager:
    url, tenant = os.environ.get(DATABASE_VARIABLE), os.environ.get(TENANT_VARIABLE) or None
    if not url:
        return PromptManager(tenant=tenant)
    store = ovstore.open(url)
    try:
        manager = PromptManager(store=store, tenant=tenant)
    except BaseException:
        store.close()
        raise
    weakref.finalize(manager, store.close)
    return manager


def render_prompt(prompt_id: str, variables: Mapping[str, Any] | None = None) -> str:
    """Make the text of a prompt by the manager of this process."""
    return get_manager().render(prompt_id, variables)


def get_llm_config(prompt_id: str) -> dict[str, Any]:
    """Return the settings of a prompt's model call by the manager of this process."""
    return get_manager().get_llm_config(prompt_id)
