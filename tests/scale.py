"""Fills a migrated database with many tenants by a few large statements, for tests and measurements of size.

Each tenant overrides KEYS keys, each with a row of versions of which the last is live; global has all of them, and
every tenth tenant a workspace with as many. Contents are equal from tenant to tenant. The rows are what the writer
would write but for their hashes, which are only told apart: `verify` would complain of all of them.
"""

from __future__ import annotations

import json

from samples import prompt
from sqlalchemy import text

from ovstore.db.engines import Database

KEYS = 20


def key(n: int) -> str:
    """The keys are numbered from 1."""
    return f"many.key{n:02d}"


def fill(url: str, tenants: int, versions: int = 3, words: int = 20) -> None:
    """Add the tenants t1, t2 … and the workspaces t10/w, t20/w …; templates have about so many words."""
    database = Database(url)
    sqlite = database.dialect == "sqlite"

    def series(name: str, last: int) -> str:
        if not sqlite:
            return f"generate_series(1, {last}) AS {name}(n)"
        counted = f"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {last}) SELECT n FROM s"
        return f"({counted}) AS {name}"

    def hashed(words: str) -> str:
        return f"CAST(substr({words}, 1, 64) AS BLOB)" if sqlite else f"sha256(({words})::bytea)"

    def padded(number: str) -> str:
        return f"printf('%02d', {number})" if sqlite else f"lpad(({number})::text, 2, '0')"

    named = "'many.key' || " + padded("k.n")
    seq = f"(k.n - 1) * {versions} + v.n"
    content = hashed(f"{named} || ' has content ' || v.n || ' of these many versions'")
    document = f"replace(replace(:document, '@key', {named}), '@number', CAST(v.n AS TEXT))"
    source = f"CAST({document} AS BLOB)" if sqlite else f"convert_to({document}, 'UTF8')"
    at = f"1700000000000000 + s.id * 1000 + {seq}"
    head = "'the entry of ' || s.id || ' that has the number ' || "
    every = f"FROM ovstore_scope s, {series('k', KEYS)}"
    each = f"{every}, {series('v', versions)} WHERE s.id >= 2"
    nothing = hashed("'nothing'")
    this_head, last_head = hashed(f"{head}({seq})"), hashed(f"{head}{KEYS * versions}")
    scope = "INSERT INTO ovstore_scope (name, parent_id, revision, head, last_at)"
    statements = [
        f"{scope} SELECT 't' || t.n, 2, 0, {nothing}, 0 FROM {series('t', tenants)}",
        f"{scope} SELECT name || '/w', id, 0, {nothing}, 0 FROM ovstore_scope WHERE name LIKE 't%0'",
        f"INSERT INTO ovstore_version SELECT s.id, {named}, v.n, 'prompt', 'full', {source}, {content}, {document}, "
        f"{content}, 1, 'many/' || k.n || '.yaml', 'many', 'global:{versions}' {each}",
        "INSERT INTO ovstore_entry (scope_id, seq, at, change_set, actor, action, reason, risk, key, category, label, "
        "before_number, after_number, source_hash, changes_hash, hash) "
        f"SELECT s.id, {seq}, {at}, 'c' || s.id || '-' || ({seq}), 'scale', 'publish', '', 1, {named}, 'many', 'live', "
        f"CASE WHEN v.n > 1 THEN v.n - 1 END, v.n, {content}, {content}, {this_head} {each}",
        f"INSERT INTO ovstore_change SELECT s.id, {seq}, 0, {at}, {named}, 'template', 'template', '1', '2', 1 {each}",
        f"INSERT INTO ovstore_label SELECT s.id, 'live', {named}, {versions}, 'full', 'global:{versions}', "
        f"k.n * {versions} {every} WHERE s.id >= 2",
        f"UPDATE ovstore_scope AS s SET revision = {KEYS * versions}, head = {last_head}, "
        "last_at = 1800000000000000 WHERE id >= 2",
        "ANALYZE",
    ]
    values = {"document": json.dumps(json.loads(prompt("@key", template="word " * words + "@number {{ q }}")))}
    with database.alter() as connection:
        for statement in statements:
            connection.execute(text(statement), values if ":document" in statement else {})
    database.close()
