"""Processes that write in every layer at once what may not fit together: what anyone gets always folds, nobody deadlocks."""

from __future__ import annotations

import psycopg
import workers
from postgres import plain
from sqlalchemy import make_url

from ovstore import Store


def test_writes_in_every_layer_at_once_leave_every_fold_valid(store: Store, url: str) -> None:
    store.seed.publish(workers.note("seed", tone=True), actor="pkg")
    counts = workers.together([(workers.quarrel, url, f"p{n}", 25) for n in range(6)])
    done, refused = map(sum, zip(*counts, strict=True))
    assert done > 30 and refused > 0
    assert any(store.audit(action="freeze"))
    for tenant in workers.SCOPES:
        assert store.render("semantic.note", {"q": "?"}, tenant=tenant).text.endswith("?")
    assert deadlocks(url) == 0


def deadlocks(url: str) -> int:
    """How many deadlocks the server has had to end in a database; on SQLite there are no two writers."""
    if url.startswith("sqlite"):
        return 0
    with psycopg.connect(plain(make_url(url))) as connection:
        query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        return int(connection.execute(query).fetchone()[0])
