"""ovstore keeps the prompt templates and memory schemas of an agent system in SQL, for many tenants at once.

Start with `open`. Everything that is raised is an `OvstoreError`; the names in `__all__` are what is promised.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ovstore.errors import (
        ConflictError,
        ContextBudgetError,
        ContractError,
        DatabaseError,
        InvalidArgumentError,
        InvalidDocumentError,
        MergeError,
        MigrationRequiredError,
        MissingVariablesError,
        NotFoundError,
        OvstoreError,
        PathError,
        RenderBudgetError,
        RenderError,
        RiskError,
        StalePlanError,
        TamperError,
        UnsafeTemplateError,
        VariableTypeError,
    )
    from ovstore.gathering import check
    from ovstore.rendering import RenderLimits
    from ovstore.store import EVERYWHERE, Store, open

__version__ = "0.1.0"

_HOMES = {
    "open": "ovstore.store",
    "Store": "ovstore.store",
    "EVERYWHERE": "ovstore.store",
    "check": "ovstore.gathering",
    "RenderLimits": "ovstore.rendering",
}

__all__ = [
    "EVERYWHERE",
    "ConflictError",
    "ContextBudgetError",
    "ContractError",
    "DatabaseError",
    "InvalidArgumentError",
    "InvalidDocumentError",
    "MergeError",
    "MigrationRequiredError",
    "MissingVariablesError",
    "NotFoundError",
    "OvstoreError",
    "PathError",
    "RenderBudgetError",
    "RenderError",
    "RenderLimits",
    "RiskError",
    "StalePlanError",
    "Store",
    "TamperError",
    "UnsafeTemplateError",
    "VariableTypeError",
    "__version__",
    "check",
    "open",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # Loaded on first use: `ovstore --version` must not import SQLAlchemy.
    if name not in __all__:
        raise AttributeError(f"module 'ovstore' has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "ovstore.errors")), name)
    globals()[name] = value
    return value
