"""One run of the command line: the database, the form of the output and the actor that were asked for."""

from __future__ import annotations

import gc
import getpass
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

import ovstore

if TYPE_CHECKING:
    from ovstore.cli.output import Output
    from ovstore.results import Rendered
    from ovstore.store import Store
    from ovstore.view import View

DEFAULT_FILE: Final = Path("ovstore.db")
DEFAULT_URL: Final = f"sqlite:///{DEFAULT_FILE}"
_IN_MEMORY: Final = re.compile(r"sqlite(\+pysqlite)?://(/(:memory:)?)?")


@dataclass
class Call:
    """The three options of every command; those behind the command replace those before it.

    Without a database the default file is meant, and made on first use.
    """

    db: str | None
    form: str
    given_actor: str | None

    @property
    def url(self) -> str:
        if self.db is not None and _IN_MEMORY.fullmatch(self.db):
            raise click.UsageError(
                f"{self.db} is a database in memory, which is gone when the command ends: name a file, sqlite:///FILE"
            )
        return self.db or DEFAULT_URL

    @property
    def makes_default(self) -> bool:
        """Whether this call has to make the default file."""
        return self.db is None and not DEFAULT_FILE.exists()

    @property
    def actor(self) -> str:
        """Who writes: the actor given, else the system user."""
        if self.given_actor is not None:
            return self.given_actor
        try:
            return getpass.getuser()
        except (KeyError, ImportError, OSError) as error:
            raise click.UsageError("this system does not tell who you are: give --actor NAME") from error

    @cached_property
    def out(self) -> Output:
        # Rich takes 50 ms to import, which --help need not wait for.
        if self.form == "json":
            from ovstore.cli.json_output import JsonOutput

            return JsonOutput()
        from ovstore.cli.text_output import TextOutput

        return TextOutput()

    def rendered(self, found: Rendered) -> None:
        """Write what was rendered: as text exactly that, which need not wait for Rich either."""
        if self.form == "json":
            from ovstore.cli.json_output import JsonOutput

            JsonOutput().rendered(found)
        else:
            click.echo(found.text.encode(), nl=False)

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Open the store; a missing default file is made, with a note."""
        made = self.makes_default
        with _loaded()(self.url, create=made) as store:
            if made:
                self.out.note(
                    f"made {DEFAULT_FILE} in this folder, with the templates of ovstore {ovstore.__version__}"
                )
            yield store

    @contextmanager
    def scoped(self, tenant: str | None, seed: bool, *, own: bool = False) -> Iterator[tuple[Store, Store | View]]:
        """Open the store and give it with what a tenant, seed or, without either, global sees of it.

        With `own`, which asks only for what the tenant has itself, one that nobody ever wrote to is noted.
        """
        if tenant is not None and seed:
            raise click.UsageError("--tenant and --seed are two places: give one of them")
        with self.store() as store:
            if own:
                self.doubt(store, tenant)
            yield store, seen(store, tenant, seed)

    @contextmanager
    def view(self, tenant: str | None, seed: bool, *, own: bool = False) -> Iterator[Store | View]:
        """Open the store and give what a scope sees of it; see `scoped`."""
        with self.scoped(tenant, seed, own=own) as (_, view):
            yield view

    def doubt(self, store: Store, tenant: str | None) -> None:
        """Note that a tenant was never written to; see `scoped`."""
        from ovstore.cli import near

        if tenant is not None:
            self.note(near.tenant_note(store, tenant))

    def note(self, text: str | None) -> None:
        """Write a note, if there is one."""
        if text is not None:
            self.out.note(text)


def _loaded() -> Callable[..., Store]:
    """Return what opens a store, with all that it imports."""
    # None of that is garbage: looking for some among it, and once more at the end, takes a fifth of a short command.
    gc.disable()
    found = ovstore.open
    gc.freeze()
    gc.enable()
    return found


def seen(store: Store, tenant: str | None, seed: bool) -> Store | View:
    """Return the verbs bound to a tenant or to seed; without either the store itself, which then means global."""
    if seed:
        return store.seed
    return store if tenant is None else store.tenant(tenant)


pass_call = click.make_pass_decorator(Call)
