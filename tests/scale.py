"""Fills a migrated database with many tenants by a few large statements, for tests and measurements of size.

Each tenant overrides the same keys, each with a row of versions of which the last is live; global has all of them, and
every tenth tenant a workspace with as many. Contents are equal from tenant to tenant. The rows are what the writer
would write but for the hashes of the log, which are only told apart, and for a part that older versions are said to
include, in every tenth scope: `verify` would complain of all of them.
"""

from __future__ import annotations

import json
from typing import Any

from samples import prompt
from sqlalchemy import text

from ovstore import documents, hashing
from ovstore.db.engines import Database

KEYS = 20


def key(n: int) -> str:
    """The keys are numbered from 1."""
    return f"many.key{n:02d}"


def fill(url: str, tenants: int, versions: int = 3, words: int = 20, keys: int = KEYS) -> None:
    """Add the tenants t1, t2 … and the workspaces t10/w, t20/w …; templates have about so many words."""
    database = Database(url)
    sqlite = database.dialect == "sqlite"
    many = f"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {tenants}) SELECT n FROM s"
    numbers = f"({many}) AS t" if sqlite else f"generate_series(1, {tenants}) AS t(n)"
    binary = "BLOB" if sqlite else "BYTEA"

    def hashed(words: str) -> str:
        return f"CAST(substr({words}, 1, 64) AS BLOB)" if sqlite else f"sha256(({words})::bytea)"

    head = "'the entry of ' || s.id || ' that has the number ' || "
    scope = "INSERT INTO ovstore_scope (name, parent_id, revision, head, last_at)"
    each = "FROM ovstore_scope s, scale_content c WHERE s.id >= 2"
    at = "1700000000000000 + s.id * 1000 + c.seq"
    statements = [
        f"{scope} SELECT 't' || t.n, 2, 0, {hashed(repr('nothing'))}, 0 FROM {numbers}",
        f"{scope} SELECT name || '/w', id, 0, head, 0 FROM ovstore_scope WHERE name LIKE 't%0'",
        "INSERT INTO ovstore_version SELECT s.id, c.key, c.number, 'prompt', 'full', c.source, c.source_hash, "
        f"c.document, c.document_hash, 1, c.path, 'many', 'global:{versions}' {each}",
        f"INSERT INTO ovstore_part SELECT s.id, c.key, c.number, c.key || '_part' {each} AND c.number < {versions} "
        "AND s.id % 10 = 0",
        "INSERT INTO ovstore_entry (scope_id, seq, at, change_set, actor, action, reason, risk, key, category, label, "
        "before_number, after_number, source_hash, changes_hash, hash) "
        f"SELECT s.id, c.seq, {at}, 'c' || s.id || '-' || c.seq, 'scale', 'publish', '', 1, c.key, 'many', 'live', "
        f"CASE WHEN c.number > 1 THEN c.number - 1 END, c.number, c.source_hash, c.source_hash, {hashed(head + 'c.seq')} "
        f"{each}",
        f"INSERT INTO ovstore_change SELECT s.id, c.seq, 0, {at}, c.key, 'template', 'template', '1', '2', 1 {each}",
        f"INSERT INTO ovstore_label SELECT s.id, 'live', c.key, c.number, 'full', 'global:{versions}', c.seq "
        f"{each} AND c.number = {versions}",
        f"UPDATE ovstore_scope AS s SET revision = {keys * versions}, head = {hashed(f'{head}{keys * versions}')}, "
        "last_at = 1800000000000000 WHERE id >= 2",
        "DROP TABLE scale_content",
        "ANALYZE",
    ]
    contents = [content(n, number, versions, words) for n in range(1, keys + 1) for number in range(1, versions + 1)]
    with database.alter() as connection:
        columns = "key TEXT, number INT, seq INT, path TEXT, document TEXT"
        hashes = f"source {binary}, source_hash {binary}, document_hash {binary}"
        connection.execute(text(f"CREATE TEMPORARY TABLE scale_content ({columns}, {hashes})"))
        places = ", ".join(f":{name}" for name in contents[0])
        connection.execute(text(f"INSERT INTO scale_content VALUES ({places})"), contents)
        for statement in statements:
            connection.execute(text(statement))
    database.close()


def content(n: int, number: int, versions: int, words: int) -> dict[str, Any]:
    """What one version of a key holds in whatever scope."""
    source = prompt(key(n), template="word " * words + f"{number} {{{{ q }}}}")
    document = json.loads(source)
    return {
        "key": key(n),
        "number": number,
        "seq": (n - 1) * versions + number,
        "path": f"many/{n}.yaml",
        "document": json.dumps(document),
        "source": source.encode(),
        "source_hash": hashing.source_hash(source.encode()),
        "document_hash": hashing.document_hash(documents.canonical("prompt", "full", document)),
    }
