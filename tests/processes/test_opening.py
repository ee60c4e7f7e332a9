"""Processes that open an empty database at once: one makes it, and it is made once."""

from __future__ import annotations

import workers

import ovstore


def test_of_six_processes_that_open_an_empty_database_all_find_it_seeded_once(empty_url: str) -> None:
    answers = workers.together([(workers.create, empty_url)] * 6)
    assert len(set(answers)) == 1
    with ovstore.open(empty_url) as store:
        entries = list(store.audit())
        assert len(entries) == answers[0][0] > 0
        assert len({entry.change_set for entry in entries}) == 1
        assert {entry.scope for entry in entries} == {"seed"}
        assert store.verify() == ()
