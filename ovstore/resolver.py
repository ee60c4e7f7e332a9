"""The read path, and the only owner of caches: what a scope gets for a key, without asking twice.

A chain that was seen once answers from memory as long as freshness says that nothing can have moved. Where something
may have, one statement reads where its scopes stand; a scope that has moved is brought forward by reading its entries
since; what is still not known is looked up, in one statement for the whole chain and any number of keys. Past states
and single versions are read each time (`ovstore.seeing`), but what is made of them is kept like the rest: by hashes,
so that one program serves all tenants with the same content.

Everything kept is of one database. Scope and label are in each key; a content's has the hashes of all it is made of.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from ovstore import caching, hashing, names, rendering, seeing
from ovstore.caching import Answer, Content, Pointer, Recent, Sight, State
from ovstore.db import read
from ovstore.db.direct import Direct, Looked, Row
from ovstore.db.engines import Database
from ovstore.db.read import Stand
from ovstore.documents import Document
from ovstore.freshness import Freshness
from ovstore.names import LIVE
from ovstore.rendering import Compiled, RenderLimits
from ovstore.results import Part, Provenance, Resolved
from ovstore.seeing import Question, Seen

MOST_ANSWERS: Final = 1_000_000
"""Keys of scopes, and again keys of chains, whose answers are kept; each takes about 140 bytes."""

MOST_TEXT: Final = 16_000_000
"""Characters of stored documents whose contents are kept; model and program take about six bytes for each."""

MOST_MOVES: Final = 500
"""Entries that are read to bring a scope forward; one that has moved farther is looked up anew."""

_MOST_LINKED: Final = 10_000
_MOST_WORDS: Final = 100_000
_STRICT: Final = "strict"
_NOWHERE: Final = State(None)
_LEAST: Final = 1_000

Texts = Mapping[tuple[str, str, int], str]
"""Contents as JSON, by scope, key and number."""

T = TypeVar("T")


class Found:
    """What answers for a key, and how it is known that this is not old; the rest is made when it is asked for."""

    __slots__ = ("answer", "content", "fresh", "label", "parts", "sight")

    def __init__(self, sight: Sight | Seen, label: str, made: Answer, content: Content, fresh: str) -> None:
        self.sight = sight
        self.label = label
        self.answer = made
        self.content = content
        self.fresh = fresh
        self.parts: Sequence[Found] = ()

    def make(self, field: str) -> Any:
        """Make a field of a Resolved or a Rendered."""
        return getattr(self, field)()

    def resolved(self) -> Resolved:
        nearest, content = self.answer.layers[0], self.content
        return Resolved.lazily(
            self.answer.key,
            content.kind,
            nearest.scope,
            nearest.number,
            self.sight.revision,
            content.document_hash,
            self.fresh,
            self.make,
        )

    def document(self) -> Document:
        return self.content.document

    def provenance(self) -> Provenance:
        layers = {layer.scope: layer for layer in self.answer.layers}
        folded = self.content.folded(self.answer)
        told = seeing.layers_of(names.chain(self.sight.scope), self.label, self.answer.key, layers, folded)
        return Provenance(told, folded.fields, tuple(part.as_part() for part in self.parts))

    def format(self) -> int:
        """Return the format of the full document below the patches: what its words mean."""
        return self.answer.layers[self.answer.used - 1].format

    def as_part(self) -> Part:
        nearest = self.answer.layers[0]
        return Part(self.answer.key, nearest.scope, nearest.number, self.content.document_hash)

    def llm_config(self) -> dict[str, Any]:
        return copy.deepcopy(self.content.data.get("llm_config", {}))

    def output_schema(self) -> dict[str, Any] | None:
        return copy.deepcopy(self.content.data.get("output_schema"))


class Resolver:
    """What one store knows of its database, and how it finds out."""

    def __init__(self, database: Database, direct: Direct, freshness: Freshness, limits: RenderLimits) -> None:
        self.database = database
        self.limits = limits
        self._direct = direct
        self._freshness = freshness
        self._sights: Recent[str, Sight] = Recent(MOST_ANSWERS, lambda sight: _size(sight.answers.copy()))
        self._states: Recent[str, State] = Recent(MOST_ANSWERS, lambda state: _size(state.known.copy()))
        self._contents: Recent[bytes, Content] = Recent(MOST_TEXT, lambda content: content.weight)
        self._linked: Recent[bytes, Compiled] = Recent(_MOST_LINKED, lambda _: 1)
        self._words: Recent[Any, Any] = Recent(_MOST_WORDS, lambda _: 1)

    def close(self) -> None:
        self._freshness.close()
        # Before the idle ones are closed: what is at work now is closed when it comes back.
        self.database.close()
        self._direct.close()

    def find(self, scope: str, key: str, label: str = LIVE) -> Found:
        """Return what a scope gets for a key now.

        Raises NotFoundError, InvalidDocumentError for layers that do not fit, InvalidArgumentError for the names.
        """
        sight, fresh = self._sights.get(scope), self._freshness.name
        if sight is not None and not self._freshness.holds(sight):
            sight, fresh = self._confirmed(sight, [names.check_key(key)], names.check_label(label)), _STRICT
        if sight is not None:
            try:
                made = sight.answers[label][key]
            except (KeyError, TypeError):
                made = None
            if made is not None:
                content = self._contents.get(made.content_id)
                if content is not None:
                    return Found(sight, label, made, content, fresh)
        return self._found(scope, sight, fresh, [names.check_key(key)], names.check_label(label))[key]

    def find_many(self, scope: str, keys: Sequence[str] | None, label: str = LIVE) -> dict[str, Found]:
        """Return what a scope gets now for many keys, or for all, at one moment."""
        return self._found(scope, *self._trusted(scope, keys, label), keys, label)

    def see(self, question: Question, keys: Sequence[str]) -> dict[str, Found]:
        """Return what was asked for at one moment, now or past, by key; those that nobody has are left out."""
        if question.at is None and question.version is None:
            trusted = self._trusted(question.scope, keys, question.label)
            return self._found(question.scope, *trusted, keys, question.label, strict=False)
        seen = seeing.see(self.database, question, keys)
        return {key: self.of(seen, key) for key in keys if seen.layers.get(key)}

    def of(self, seen: Seen, key: str) -> Found:
        """Return what answers for a key that was seen, with the content and the program that others have too."""
        layers = seen.layers[key]
        made = caching.answer(key, [layers[name] for name in names.chain(seen.scope) if name in layers])
        content = self._contents.get(made.content_id)
        if content is None:
            used = [layers[layer.scope] for layer in made.layers[: made.used]]
            weight = sum(len(hashing.canonical_json(layer.data)) for layer in used)
            content = self._kept(made, [layer.data for layer in used], weight)
        return Found(seen, seen.question.label, made, content, _STRICT)

    def composed(self, found: Found) -> Compiled:
        """Return the program of a prompt, with its parts linked in and told by `found.parts`."""
        compiled = found.content.compiled(self.limits)
        if not compiled.needs:
            return compiled
        parts = self._parts(found, compiled.needs)
        found.parts = tuple(parts.values())
        made_of = b"".join((found.answer.content_id, *(part.answer.content_id for part in found.parts)))
        linked = self._linked.get(made_of)
        if linked is None:
            linked = rendering.link(compiled, {key: part.content.compiled(self.limits) for key, part in parts.items()})
            self._linked.put(made_of, linked)
        return linked

    def _parts(self, found: Found, needs: Sequence[str]) -> dict[str, Found]:
        """Look up everything that a prompt includes, a level at a time, at the moment that the prompt was seen at."""
        parts: dict[str, Found] = {}
        level = list(needs)
        while level:
            wanted = [key for key in dict.fromkeys(level) if key not in parts and key != found.answer.key]
            below = self._beside(found, wanted) if wanted else {}
            prompts = {key: part for key, part in below.items() if part.content.kind == "prompt"}
            parts |= prompts
            level = [key for part in prompts.values() for key in part.content.compiled(self.limits).needs]
        return parts

    def _beside(self, found: Found, keys: Sequence[str]) -> dict[str, Found]:
        """Return what answers for other keys at the same moment."""
        sight, label = found.sight, found.label
        if isinstance(sight, Sight):
            known = self._known(sight, keys, label, found.fresh, {})
            if known is not None:
                return known
            looked = self._direct.look(sight.chain, label, keys)
            if looked.stands == sight.stands:
                known = self._known(sight, keys, label, _STRICT, self._learn(sight, looked, label, keys))
                assert known is not None, "all of it was just looked up"
                return known
        seen = seeing.see(self.database, Question(sight.scope, label, at=sight.revision), keys)
        return {key: self.of(seen, key) for key in keys if seen.layers.get(key)}

    def _trusted(self, scope: str, keys: Sequence[str] | None, label: str) -> tuple[Sight | None, str]:
        """Return a sight of the chain that is as fresh as was promised, and how that is known; None for no sight."""
        sight = self._sights.get(scope)
        if sight is None or self._freshness.holds(sight):
            return sight, self._freshness.name
        return self._confirmed(sight, keys, label), _STRICT

    def _found(
        self, scope: str, sight: Sight | None, fresh: str, keys: Sequence[str] | None, label: str, strict: bool = True
    ) -> dict[str, Found]:
        """Return what answers for the keys as far as it is known; else look all of them up, in one statement."""
        found = None if sight is None else self._known(sight, keys, label, fresh, {})
        if sight is None or found is None:
            # A sight that still serves has a stamp that does.
            stamp = self._freshness.stamp() if sight is None else sight.stamp
            looked = self._direct.look(names.chain(scope), label, keys)
            sight = self._adopted(scope, looked.stands, stamp)
            found = self._known(sight, keys, label, _STRICT, self._learn(sight, looked, label, keys))
            assert found is not None, "all of it was just looked up"
        if label != LIVE and not any(layer.label == label for f in found.values() for layer in f.answer.layers):
            self._check_label(sight, label)
        # Only now: a label that nobody has would be served what is live.
        sight.answers.setdefault(label, {}).update((key, one.answer) for key, one in found.items())
        self._sights.grew(len(found))
        for key in keys if keys and strict else ():
            if key not in found:
                raise seeing.not_found(self.database, Question(scope, label), key)
        return found

    def _known(
        self, sight: Sight, keys: Sequence[str] | None, label: str, fresh: str, texts: Texts
    ) -> dict[str, Found] | None:
        """Return what answers for the keys, those that nobody has left out; None where only looking can tell."""
        if keys is None:
            every = sight.keys(label)
            if every is None and self._bring_forward(sight):
                every = sight.keys(label)
            if every is None:
                return None
            keys = sorted(every)
        found: dict[str, Found] = {}
        for key in keys:
            layers = sight.layers(label, key)
            if layers is None and self._bring_forward(sight):
                layers = sight.layers(label, key)
            if layers is None:
                return None
            if layers:
                made = self._made(key, layers)
                content = self._contents.get(made.content_id) or self._read(made, texts)
                if content is None:
                    return None
                found[made.key] = Found(sight, label, made, content, fresh)
        return found

    def _made(self, key: str, layers: tuple[Pointer, ...]) -> Answer:
        nearest = layers[0]
        made = nearest.answer
        if made is None or made.layers != layers:
            made = nearest.answer = caching.answer(self._same(key), layers)
        return made

    def _read(self, made: Answer, texts: Texts) -> Content | None:
        """Make the content of an answer of what was looked up; None where that is not among it."""
        used = made.layers[: made.used]
        found = [texts.get((layer.scope, made.key, layer.number), "") for layer in used]
        if not all(found):
            return None
        layers = [
            read.document(text, layer.scope, made.key, layer.number, layer.kind, layer.mode, layer.document_hash)
            for text, layer in zip(found, used, strict=True)
        ]
        return self._kept(made, layers, sum(map(len, found)))

    def _kept(self, made: Answer, layers: Sequence[dict[str, Any]], weight: int) -> Content:
        content = Content(made, layers, weight + _LEAST)
        self._contents.put(made.content_id, content)
        return content

    def _confirmed(self, sight: Sight, keys: Sequence[str] | None, label: str) -> Sight | None:
        """Return a sight of where the scopes of a chain stand now; None where the keys have to be looked up anyway.

        Looking up tells where the scopes stand too, and so stays one statement.
        """
        if not self._knows(sight, keys, label):
            return None
        stamp = self._freshness.stamp()
        return self._adopted(sight.scope, self._direct.stands(sight.chain), stamp)

    def _knows(self, sight: Sight, keys: Sequence[str] | None, label: str) -> bool:
        """Whether a chain that has not moved answers for the keys without being asked."""
        answers = sight.answers.get(label, {})
        for key in keys or ():
            made = answers.get(key)
            known = sight.knows(label, key) if made is None else self._contents.get(made.content_id) is not None
            if not known:
                return False
        return keys is not None or sight.knows(label)

    def _adopted(self, scope: str, stands: tuple[Stand | None, ...], stamp: object) -> Sight:
        """Keep a sight of a chain as its scopes were just read to stand; the same one where they have not moved."""
        sight = self._sights.get(scope)
        if sight is not None and sight.stands == stands:
            sight.stamp = stamp
            return sight
        sight = Sight(scope, tuple(self._state(stand) for stand in stands), stamp)
        self._sights.put(scope, sight)
        return sight

    def _state(self, stand: Stand | None) -> State:
        if stand is None:
            return _NOWHERE
        known = self._states.get(stand.name)
        if known is not None and known.stand == stand:
            return known
        state = State(stand, None if known is None else known.usable(stand, MOST_MOVES))
        self._states.put(stand.name, state)
        return state

    def _bring_forward(self, sight: Sight) -> bool:
        """Let states take over what those before them knew; whether any did."""
        done = False
        for state in sight.states:
            before = state.before
            if before is not None and before.stand is not None and state.stand is not None:
                moves = self._direct.moves(state.stand.id, before.stand.seq, state.stand.seq)
                state.bring_forward(before, moves, partial(self._pointer, state.stand.name))
                self._states.grew(_size(state.known.copy()))
                done = True
        return done

    def _learn(self, sight: Sight, looked: Looked, label: str, keys: Sequence[str] | None) -> Texts:
        """Write down what was looked up in the states, which stand where it was, and return the contents."""
        by_id = {state.stand.id: state for state in sight.states if state.stand is not None}
        texts: dict[tuple[str, str, int], str] = {}
        for row in looked.rows:
            state = by_id[row.scope_id]
            scope = state.stand.name if state.stand else ""
            pointer = self._pointer(scope, row)
            state.learn(pointer.label, self._same(row.key), pointer)
            texts[scope, row.key, row.number] = row.document
        labels, asked = {label, LIVE}, None if keys is None else [self._same(key) for key in keys]
        for state in by_id.values():
            state.learn_rest(labels, asked)
        self._states.grew(len(looked.rows) + len(by_id) * len(keys or ()))
        return texts

    def _pointer(self, scope: str, row: Row) -> Pointer:
        same = self._same
        return Pointer(
            scope,
            LIVE if row.label == LIVE else same(row.label),
            row.number,
            "full" if row.mode == "full" else "patch",
            "prompt" if row.kind == "prompt" else same(row.kind),
            same(row.category),
            same(row.source_hash),
            same(row.document_hash),
            row.format,
        )

    def _same(self, word: T) -> T:
        """Return the one copy that is kept of what is equal in many rows."""
        known: T | None = self._words.get(word)
        if known is None:
            self._words.put(word, word)
            return word
        return known

    def _check_label(self, sight: Sight, label: str) -> None:
        """Refuse a label that the chain never had for any key: a mistyped lens would silently show what is live."""
        if sight.labels is None:
            with self.database.read() as conn:
                stands = [stand for stand in sight.stands if stand is not None]
                sight.labels = frozenset(read.label_names(conn, stands))
        if label not in sight.labels:
            raise seeing.no_label(sight.scope, label, sight.labels)


def _size(answers: Mapping[str, Mapping[str, object]]) -> int:
    """What a sight or a state weighs: its keys, and about as much as eight of them for itself."""
    return 8 + sum(map(len, answers.values()))
