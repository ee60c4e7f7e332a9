"""What the resolver knows without asking: the data structures, with nothing that reads a database.

A **State** is what one scope has behind one entry of its log: which version answers for a key, filled in as keys are
asked for. What it says never changes; a scope that moves gets a new one, which takes over what the old one knew. A
**Sight** is a chain of states that were true together. An **Answer** says which versions a key's document is made of,
and a **Content** is that document, without a word of whose it is: tenants with the same content share it.

Threads share all of it without a lock: single operations of dictionaries and sets are whole by themselves, and who
loses a race does some work again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from ovstore import documents, layering, names, rendering
from ovstore.db.direct import Move, Row
from ovstore.db.read import Stand
from ovstore.documents import Document
from ovstore.errors import InvalidDocumentError
from ovstore.layering import Folded, FoldError, LayerVersion
from ovstore.names import LIVE, Kind, Mode
from ovstore.rendering import Compiled, RenderLimits
from ovstore.results import Finding

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A mapping that forgets what has not been used for longest, so that its values' weights stay within a limit.

    It has two generations: what is used moves to the young one, and when that is half of the limit, the old one goes.

    >>> words = Recent(4, len)
    >>> words.put("a", "aa"), words.put("b", "bbb"), words.get("a"), words.put("c", "cc"), words.get("b")
    (None, None, 'aa', None, None)
    """

    __slots__ = ("_half", "_old", "_weigh", "_weight", "_young")

    def __init__(self, limit: int, weigh: Callable[[V], int]) -> None:
        self._half = limit // 2
        self._weigh = weigh
        self._weight = 0
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self.put(key, found)
        return found

    def put(self, key: K, value: V) -> None:
        self._young[key] = value
        self.grew(self._weigh(value))

    def grew(self, weight: int) -> None:
        """Take it that a value became heavier."""
        self._weight += weight
        if self._weight > self._half:
            self._old, self._young, self._weight = self._young, {}, 0


@dataclass(slots=True, eq=False)
class Pointer:
    """A version that answers for a key in a scope, without its content; `label` is what points at it.

    `answer` is the last one that it was the nearest layer of: chains that share their layers share it.
    """

    scope: str
    label: str
    number: int
    mode: Mode
    kind: Kind
    category: str
    source_hash: bytes
    document_hash: bytes
    format: int
    answer: Answer | None = None


Layered: TypeAlias = Pointer | LayerVersion
"""A version that takes part in an answer, without or with its content."""

UNKNOWN: Final = Pointer("", "", 0, "full", "prompt", "", b"", b"", 0)
"""Stands where nobody has looked yet."""


class State:
    """What one scope has where it stands; `stand` None is a scope that does not exist.

    `known` has by label and key what the label points at, None for nothing. Of labels in `whole` all keys are known.
    `before` is a state behind an earlier entry, from which this one can still be brought forward. `mark` is how a
    revision writes it.
    """

    __slots__ = ("before", "known", "mark", "stand", "whole")

    def __init__(self, stand: Stand | None, before: State | None = None) -> None:
        self.stand = stand
        self.mark = "" if stand is None else str(stand.mark)
        self.before = before
        self.known: dict[str, dict[str, Pointer | None]] = {}
        self.whole: set[str] = set()

    def find(self, label: str, key: str) -> Pointer | None:
        """Return what a label of a key points at; UNKNOWN where that was never looked up."""
        if self.stand is None or not self.stand.seq:
            return None
        found = self.known.get(label, _NOTHING).get(key, UNKNOWN)
        return None if found is UNKNOWN and label in self.whole else found

    def knows(self, label: str, key: str | None) -> bool:
        """Whether it is known here, or can be brought forward, what a label of a key or of all keys points at."""
        if self.stand is None or not self.stand.seq or label in self.whole or key in self.known.get(label, _NOTHING):
            return True
        return self.before is not None and self.before.knows(label, key)

    def learn(self, label: str, key: str, pointer: Pointer | None) -> None:
        self.known.setdefault(label, {}).setdefault(key, pointer)

    def learn_rest(self, labels: Iterable[str], keys: Sequence[str] | None) -> None:
        """Take it that the labels have nothing for those keys, or for all keys, that was not learnt before."""
        if keys is None:
            self.whole.update(labels)
        else:
            for label in labels:
                for key in keys:
                    self.learn(label, key, None)

    def usable(self, stand: Stand, most: int) -> State | None:
        """Return the state that one where the scope stands now can be brought forward from, over not too many moves."""
        state = self.before or self
        own = state.stand
        if own is None or own.id != stand.id or not 0 < own.seq < stand.seq <= own.seq + most:
            return None
        return state

    def bring_forward(self, before: State, moves: Sequence[Move], pointer: Callable[[Row], Pointer]) -> None:
        """Take over what a state before knew, but for what the entries since have moved.

        They have to lead from there to here without a gap, or another history lies between the two.
        """
        self.before = None
        if before.stand is None or self.stand is None:
            return
        ends = [(before.stand.seq, before.stand.head), (self.stand.seq, self.stand.head)]
        if len(moves) != ends[1][0] - ends[0][0] + 1 or [(m.seq, m.head) for m in (moves[0], moves[-1])] != ends:
            return
        known = {label: keys.copy() for label, keys in before.known.copy().items()}
        for move in moves[1:]:
            if move.label is not None:
                known.setdefault(move.label, {})[move.key] = move.version and pointer(move.version)
        for label, keys in known.items():
            for key, found in keys.items():
                self.learn(label, key, found)
        self.whole.update(before.whole)


_NOTHING: Final[Mapping[str, Pointer | None]] = {}


class Sight:
    """What a scope's chain has at one moment: the states of its scopes, nearest first, all read in one statement.

    `stamp` is freshness's, taken before that read. `labels` are all those that the chain ever had, once asked for.
    """

    __slots__ = ("answers", "chain", "labels", "revision", "scope", "stamp", "states")

    def __init__(self, scope: str, states: tuple[State, ...], stamp: Any) -> None:
        self.scope = scope
        self.chain = names.chain(scope)
        self.states = states
        self.stamp = stamp
        self.answers: dict[str, dict[str, Answer]] = {}
        self.labels: frozenset[str] | None = None
        self.revision = names.revision_text(
            state.mark or names.mark(name, 0, names.NO_HEAD) for name, state in zip(self.chain, states, strict=True)
        )

    @property
    def stands(self) -> tuple[Stand | None, ...]:
        return tuple(state.stand for state in self.states)

    def layers(self, label: str, key: str) -> tuple[Pointer, ...] | None:
        """Return what the label, else `live`, points at in each scope; None where that is not known everywhere."""
        found = []
        for state in self.states:
            pointer = state.find(label, key)
            if pointer is None and label != LIVE:
                pointer = state.find(LIVE, key)
            if pointer is UNKNOWN:
                return None
            if pointer is not None:
                found.append(pointer)
        return tuple(found)

    def knows(self, label: str, key: str | None = None) -> bool:
        """Whether it is known what every scope has for a key, or for all keys."""
        return all(state.knows(lens, key) for state in self.states for lens in {label, LIVE})

    def keys(self, label: str) -> set[str] | None:
        """Return every key that the chain has something for; None where that is not known."""
        found: set[str] = set()
        for state in self.states:
            if state.stand is None or not state.stand.seq:
                continue
            for lens in {label, LIVE}:
                if lens not in state.whole:
                    return None
                found.update(key for key, pointer in state.known.get(lens, {}).copy().items() if pointer is not None)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The versions that answer for a key, nearest first; the first `used` of them make its document.

    `content_id` names what comes of them, by the hashes of their sources and documents.
    """

    key: str
    layers: tuple[Layered, ...]
    used: int
    content_id: bytes

    @property
    def nearest(self) -> Layered:
        return self.layers[0]


def answer(key: str, layers: Sequence[Layered]) -> Answer:
    """Return the answer that layers give; InvalidDocumentError where no full document is among them."""
    used = next((depth for depth, layer in enumerate(layers, 1) if layer.mode == "full"), None)
    if used is None:
        lowest = layers[-1]
        why = f"{names.refer(lowest.scope, lowest.number)} is a patch, and nothing below it has a document to extend"
        raise invalid(key, layers, [Finding("patch-does-not-apply", "error", why)])
    made_of = b"".join(layer.source_hash + layer.document_hash for layer in layers[:used])
    return Answer(key, tuple(layers), used, made_of)


def invalid(key: str, layers: Sequence[Layered], findings: Sequence[Finding]) -> InvalidDocumentError:
    versions = ", ".join(names.refer(layer.scope, layer.number) for layer in layers)
    return InvalidDocumentError(findings, f"{key} as folded from {versions} is not a valid document")


class Content:
    """A document made of layers, and what is made of it once for all who have it: the model and the program."""

    __slots__ = ("_compiled", "_document", "data", "document_hash", "kind", "layers", "weight")

    def __init__(self, made: Answer, layers: Sequence[dict[str, Any]], weight: int) -> None:
        """Fold the contents of the layers that an answer uses; raises InvalidDocumentError where they do not fit.

        A full version by itself was found valid when it was written.
        """
        self.layers = tuple(layers)
        self.weight = weight
        self._compiled: Compiled | None = None
        self._document: Document | None = None
        self.kind, self.data = made.nearest.kind, self.layers[0]
        self.document_hash = made.nearest.document_hash.hex()
        if made.used > 1:
            self._fold(made)

    def _fold(self, made: Answer) -> None:
        try:
            folded = self.folded(made)
        except FoldError as error:
            finding = Finding("patch-does-not-apply", "error", str(error))
            raise invalid(made.key, made.layers[: made.used], [finding]) from error
        self.kind, self.data = folded.kind, folded.data
        self.document_hash = layering.folded_hash(folded).hex()
        self._document, findings = documents.build(self.kind, self.data)
        if self._document is None:
            raise invalid(made.key, made.layers[: made.used], findings)

    def folded(self, made: Answer) -> Folded:
        """Return the document with the layers of one of those answers that it is the content of."""
        used = zip(made.layers[: made.used], self.layers, strict=True)
        return layering.fold([_with_data(layer, data) for layer, data in used])

    @property
    def document(self) -> Document:
        if self._document is None:
            self._document = documents.stored(self.kind, self.data)
        return self._document

    def compiled(self, limits: RenderLimits) -> Compiled:
        """Return the program, compiled on first use; all who ask have the same limits."""
        if self._compiled is None:
            self._compiled = rendering.compile(self.kind, self.data, limits)
        return self._compiled


def _with_data(layer: Layered, data: dict[str, Any]) -> LayerVersion:
    return LayerVersion(
        scope=layer.scope,
        label=layer.label,
        number=layer.number,
        mode=layer.mode,
        kind=layer.kind,
        data=data,
        source_hash=layer.source_hash,
        document_hash=layer.document_hash,
        path="",
        category=layer.category,
        base="",
        format=layer.format,
    )
