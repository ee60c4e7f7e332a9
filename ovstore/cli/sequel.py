"""What is told beside a write: warnings of its file, what was frozen, and that it had been done before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ovstore import names
from ovstore.results import Entry, time_text

if TYPE_CHECKING:
    from ovstore.cli.call import Call
    from ovstore.results import Change, Finding
    from ovstore.store import Store
    from ovstore.view import View

Log = Callable[..., Iterator[Entry]]


def log_of(store: Store, tenant: str | None, seed: bool) -> Log:
    """Return the audit of one scope: a tenant's, seed's or, without either, that of global."""
    return store.seed.audit if seed else partial(store.audit, tenant=tenant)


def earlier(log: Log, change_set: str | None, **where: str | None) -> Entry | None:
    """Return an entry of a change set that is in the log already: the write was done before."""
    if change_set is None:
        return None
    known = names.check_change_set(change_set)
    return next((entry for entry in log(**where) if entry.change_set == known), None)


def tell_earlier(call: Call, entry: Entry | None) -> None:
    if entry is not None:
        when = time_text(entry.at)
        call.out.note(f"change set {entry.change_set} was applied already, at {when}; nothing was done again")


def tell_first(call: Call, scope: str, revision: str, *, writes: int) -> None:
    """Note the first write to a tenant, whose name may be mistyped; what others there are is not told here."""
    if scope not in (names.SEED, names.GLOBAL) and names.revision_marks(revision)[scope].seq == writes:
        call.out.note(f"the first write to {scope}; `ovstore tenants` lists to whom something was written")


def to_do_it(risk: str) -> str:
    """Return what to say of the options that a write of this risk needs; nothing where it is accepted anyway."""
    options = options_for(risk)
    return f"; to do it:{options}" if options else ""


def options_for(risk: str) -> str:
    """Return the options that a write of this risk needs."""
    if names.RISKS.index(risk) <= names.RISKS.index("medium"):
        return ""
    return f" --accept-risk {risk}" + (" --reason TEXT" if risk == "very_high" else "")


def tell_frozen(call: Call, store: Store, change_set: str, key: str, given: Mapping[str, Any]) -> None:
    """Name each override that a write of a key froze: whose it is, its key and the version that holds the copy."""
    done = earlier(store.audit, change_set, key=key) if given["dependents"] == "freeze" else None
    if done is None:
        return
    entries = store.audit(action="freeze", since=done.at, until=done.at)
    frozen = sorted((e.scope, e.key, e.after or 0) for e in entries if e.change_set == change_set)
    if frozen:
        lines = "\n".join(f"  {names.refer(scope, number)} of {key}" for scope, key, number in frozen)
        call.out.note(f"frozen as full copies of what they gave:\n{lines}")


def tell_warnings(call: Call, findings: Iterable[Finding]) -> None:
    """Tell what `check` would say of the file that was taken all the same."""
    for finding in findings:
        if finding.severity == "warning":
            call.out.warning(finding)


def tell_scope(call: Call, tenant: str | None, seed: bool, findings: Iterable[Finding]) -> None:
    """Remind of --tenant where a patch fits nothing in global."""
    if tenant is None and not seed and any(finding.code == "patch-does-not-apply" for finding in findings):
        call.out.note("this is about global; a patch of what a tenant has goes with --tenant T")


def tell_new_items(call: Call, view: Store | View, key: str, changes: Iterable[Change]) -> None:
    """Tell of variables and fields that came new and are a slip of the hand from one that is there."""
    from ovstore.planning import forms  # which takes the database along, and help does without

    came = [_ITEM.fullmatch(change.path) for change in changes if change.before is None]
    items = [(match[1], match[2]) for match in came if match]
    data = view.resolve(key).document.as_written() if items else {}
    for section, name in items:
        others = {str(item["name"]) for item in data.get(section, ())} - {name}
        meant = sorted(other for other in others if forms(other) & forms(name))
        if meant:
            call.out.note(f"{section}[{name}] is new; did you mean {' or '.join(meant)}?")


_ITEM: Final = re.compile(r"(variables|fields)\[(.+)\]\.name")
