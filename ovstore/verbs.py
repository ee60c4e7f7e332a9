"""The write verbs: each says, under the lock, which versions and label moves it means; `lifecycle.commit` does them.

publish, activate, withdraw and freeze push onto the stack of a label; a rollback pops. `rollback_tenant` pushes what
stood at a past time. Moving a label to where it is writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ovstore import checking, names
from ovstore.db import log, read
from ovstore.db.engines import Database
from ovstore.errors import ConflictError, InvalidArgumentError, InvalidDocumentError, NotFoundError
from ovstore.lifecycle import Committed, Locked, Order, commit
from ovstore.names import LIVE, Action, Risk
from ovstore.results import Move, Published
from ovstore.steps import New, Step


def publish(
    database: Database,
    scope: str,
    key: str,
    new: New,
    given: Order,
    *,
    expected: object = None,
    declared: Risk = "none",
    live: bool = True,
) -> Published:
    """Add a version and, unless it is a draft, make it live; a source equal to the live one changes nothing."""
    number = 0

    def steps(locked: Locked) -> Sequence[Step]:
        nonlocal number
        place = read.place(locked.conn, locked.own, key)
        _check_expected(key, scope, LIVE, expected, place.live)
        if place.live is not None and place.source_hash == new.source_hash:
            number = place.live
            return []
        label, before = (LIVE, place.live) if live else (None, None)
        return [Step(scope, key, "publish", label, before, place.last + 1, new=new, declared=declared)]

    try:
        done = commit(database, scope, given, steps)
    except InvalidDocumentError as error:
        if new.mode == "patch":
            _check_extends(database, scope, key, error)
        raise
    entry = done.entry(key, "publish", LIVE if live else None)
    if entry is None:
        return Published(key, scope, number, True, "none", (), done.revision(scope), done.change_set)
    version = entry.after or 0
    return Published(key, scope, version, False, entry.risk, entry.changes, done.revision(scope), done.change_set)


def _check_extends(database: Database, scope: str, key: str, error: InvalidDocumentError) -> None:
    """Raise an error that says so where a patch was refused since no layer has what it extends."""
    with database.read() as conn:
        known = read.keys(conn, read.stands(conn, names.chain(scope)).values())
    if key not in known:
        raise InvalidDocumentError(
            [checking.nothing_to_extend(finding, key, scope, known) for finding in error.findings]
        ) from error


def activate(
    database: Database, scope: str, key: str, version: object, label: str, given: Order, *, expected: object = None
) -> Move:
    """Point a label at a version of the same scope."""
    reference = names.version_ref(version)
    if reference.scope not in (None, scope):
        raise InvalidArgumentError(
            f"a label of {scope} points at versions of {scope}, not at {version}: publish a copy of it instead",
            argument="version",
            value=version,
        )

    def steps(locked: Locked) -> Sequence[Step]:
        standing = locked.standing(key, label)
        _check_expected(key, scope, label, expected, standing)
        _check_version(locked, key, reference.number)
        if standing == reference.number:
            return []
        return [Step(scope, key, "activate", label, standing, reference.number)]

    return _moved(commit(database, scope, given, steps), scope, key, label, "activate", reference.number)


def rollback(
    database: Database,
    scope: str,
    key: str,
    label: str,
    given: Order,
    *,
    to: object = None,
    expected: object = None,
) -> Move:
    """Undo the newest move of a label, or all moves down to where it last stood at `to`."""
    target = None if to is None else names.version_ref(to, "to")
    if target is not None and target.scope not in (None, scope):
        raise InvalidArgumentError(
            f"a rollback in {scope} goes to versions of {scope}, not to {to}", argument="to", value=to
        )
    stood: int | None = None

    def steps(locked: Locked) -> Sequence[Step]:
        nonlocal stood
        stood = locked.standing(key, label)
        _check_expected(key, scope, label, expected, stood)
        if target is None:
            return [_pop(locked, key, label)]
        _check_version(locked, key, target.number)
        if stood == target.number:
            return []
        return [_pop_to(locked, key, label, stood, target.number)]

    return _moved(commit(database, scope, given, steps), scope, key, label, "rollback", stood)


def _pop(locked: Locked, key: str, label: str) -> Step:
    top = next(log.stack(locked.conn, locked.own, key, label), None)
    if top is None:
        _check_known(locked, key)
        raise ConflictError(
            f"{_pointer(key, label)} has no move left to undo in {locked.scope}: it is not overridden here",
            expected="a move to undo",
            found=None,
        )
    return Step(locked.scope, key, "rollback", label, top.after, top.before, undoes=top.seq)


def _pop_to(locked: Locked, key: str, label: str, standing: int | None, number: int) -> Step:
    """Pop to where the label last stood at a number; a version it never stood at is pushed, as activate does."""
    for push in log.stack(locked.conn, locked.own, key, label):
        if push.before == number:
            return Step(locked.scope, key, "rollback", label, standing, number, undoes=push.seq)
    return Step(locked.scope, key, "rollback", label, standing, number)


def withdraw(database: Database, scope: str, key: str, label: str, given: Order, *, expected: object = None) -> Move:
    """Stop overriding, so that the next layer answers."""

    def steps(locked: Locked) -> Sequence[Step]:
        standing = locked.standing(key, label)
        _check_expected(key, scope, label, expected, standing)
        if standing is None:
            _check_known(locked, key)
            return []
        return [Step(scope, key, "withdraw", label, standing, None)]

    return _moved(commit(database, scope, given, steps), scope, key, label, "withdraw", None)


def _check_expected(key: str, scope: str, label: str, expected: object, standing: int | None) -> None:
    """Refuse where the caller thought the label stood elsewhere; 0 is "not overriding"."""
    if expected is None:
        return
    if not isinstance(expected, int) or isinstance(expected, bool) or not 0 <= expected <= names.MAX_NUMBER:
        raise InvalidArgumentError(
            f"expected is a version number up to {names.MAX_NUMBER}, or 0 for not overriding",
            argument="expected",
            value=expected,
        )
    if expected != (standing or 0):
        raise ConflictError(
            f"{_pointer(key, label)} in {scope}: expected {_stood(expected)}, found {_stood(standing or 0)}; "
            "nothing was changed",
            expected=expected,
            found=standing or 0,
        )


def _stood(number: int) -> str:
    return f"version {number}" if number else "no override"


def _pointer(key: str, label: str) -> str:
    return key if label == LIVE else f"{label} of {key}"


def _check_version(locked: Locked, key: str, number: int) -> None:
    if (key, number) in read.versions(locked.conn, locked.own, [(key, number)]):
        return
    last = read.last_numbers(locked.conn, locked.own, [key]).get(key)
    if last is None:
        _check_known(locked, key)
    has = f"its versions there are 1 to {last}" if last else "it has no version there"
    raise NotFoundError(f"{key} has no version {number} in {locked.scope}: {has}", what="version", name=str(number))


def _check_known(locked: Locked, key: str) -> None:
    known = read.keys(locked.conn, locked.stands.values())
    if key not in known and not read.last_numbers(locked.conn, locked.own, [key]):
        raise NotFoundError(
            f"no layer of {locked.scope} knows {key}", what="key", name=key, near=names.near(key, known)
        )


def _moved(done: Committed, scope: str, key: str, label: str, action: Action, standing: int | None) -> Move:
    entry = done.entry(key, action, label)
    if entry is not None:
        return done.move(entry)
    return Move(key, scope, label, standing, standing, "none", (), done.revision(scope), done.change_set)
