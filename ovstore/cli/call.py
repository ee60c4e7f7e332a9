"""One run of the command line: the database, the form of the output and the actor that were asked for."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

import ovstore

if TYPE_CHECKING:
    from ovstore.cli.output import Output
    from ovstore.store import Store
    from ovstore.view import View

DEFAULT_FILE: Final = Path("ovstore.db")
DEFAULT_URL: Final = f"sqlite:///{DEFAULT_FILE}"


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

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Open the store; a missing default file is made, with a note."""
        made = self.makes_default
        with ovstore.open(self.url, create=made) as store:
            if made:
                self.out.note(
                    f"made {DEFAULT_FILE} in this folder, with the templates of ovstore {ovstore.__version__}"
                )
            yield store

    @contextmanager
    def view(self, tenant: str | None, seed: bool) -> Iterator[Store | View]:
        """Open the store and give what a tenant, seed or, without either, global sees of it."""
        if tenant is not None and seed:
            raise click.UsageError("--tenant and --seed are two places: give one of them")
        with self.store() as store:
            yield seen(store, tenant, seed)


def seen(store: Store, tenant: str | None, seed: bool) -> Store | View:
    """Return the verbs bound to a tenant or to seed; without either the store itself, which then means global."""
    if seed:
        return store.seed
    return store if tenant is None else store.tenant(tenant)


pass_call = click.make_pass_decorator(Call)
