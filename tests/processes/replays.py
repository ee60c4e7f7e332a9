"""The log played again in plain Python: what each past revision has to answer, whatever the store says of it now."""

from __future__ import annotations

from collections.abc import Sequence

from workers import Answer, Walked

from ovstore import Store, names


def assert_each_answer_was_committed(store: Store, done: Sequence[Walked]) -> None:
    """Each answer is what the entries up to its revision imply; asked again at its revision, some are given again."""
    answers = _answers(done)
    entries = {(entry.scope, entry.seq): entry for entry in store.audit()}
    served: dict[tuple[str, int], dict[str, int | None]] = {}
    for scope, seq in sorted(entries):
        entry = entries[scope, seq]
        served[scope, seq] = served.get((scope, seq - 1), {}) | {entry.key: entry.after}
    for answer in answers:
        marks = names.revision_marks(answer.revision)
        live = [(scope, served.get((scope, mark.seq), {}).get(answer.key)) for scope, mark in marks.items()]
        found = [(scope, number) for scope, number in live if number is not None]
        # Seed and global hold whole documents, the scopes above them patches.
        whole = next(n for n, (scope, _) in enumerate(found) if scope in ("global", "seed"))
        assert answer.versions == tuple(found[: whole + 1])
    for answer in answers[:: len(answers) // 25 + 1]:
        past = store.resolve(answer.key, tenant=tenant(answer.scope), at=answer.revision)
        assert Answer.of(answer.scope, past) == answer


def assert_scopes_stood_at_once(store: Store, done: Sequence[Walked]) -> None:
    """The scopes of each revision stood there at one moment: none had moved on before another came to where it stood.

    By the times of the entries, so all writers must have had one clock.
    """
    times = {(entry.scope, entry.seq): entry.at for entry in store.audit()}
    for answer in _answers(done):
        marks = names.revision_marks(answer.revision).values()
        stood = [times[mark.scope, mark.seq] for mark in marks if mark.seq]
        moved_on = [at for mark in marks if (at := times.get((mark.scope, mark.seq + 1)))]
        assert not moved_on or max(stood) < min(moved_on)


def _answers(done: Sequence[Walked]) -> list[Answer]:
    return sorted({answer for walk in done for answer in walk.answers})


def tenant(scope: str) -> str | None:
    return None if scope == "global" else scope
