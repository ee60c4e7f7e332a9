"""Who did what, whether all is whole, and who overrides: audit, verify, heads, tenants and doctor."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from ovstore import names
from ovstore.cli import exits
from ovstore.cli.call import Call, pass_call
from ovstore.cli.options import RISK, TIME, command, complete_tenant
from ovstore.errors import DatabaseError
from ovstore.results import Entry
from ovstore.store import Store

tenant_option = click.option(
    "--tenant", metavar="T", shell_complete=complete_tenant, help="Only this tenant or workspace.  [default: every scope]"
)
seed_option = click.option("--seed", is_flag=True, help="Only the seed layer.")
