"""The corpus of a store, kept in step with what is committed.

What changed since the corpus was made is one range of the journal. Those elements are derived anew
before a question is answered, so an answer never rests on what is no longer so; storing what was
derived comes later, when some has gathered, and only saves the next process the work.

A new name, and a phrase that is seen for the second time, may stand in texts that were derived
before: the text index says in which, and their mentions are found again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from math import inf
from threading import Lock, Thread
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.static import StaticModel, shipped_model
from mycel.embedding.vectors import as_bytes, embedded
from mycel.errors import DatabaseBusy, DatabaseClosed, DatabaseError, DiskFull, MycelError
from mycel.model.values import parse_object
from mycel.recall.corpus import ASKS, TIMED, TITLED, Corpus, Entry, Interner, Shared
from mycel.recall.passages import passage_of
from mycel.recall.phrases import Hashes, PhraseSet, Vocabulary, capitalised
from mycel.search.embedding import Embedder, NotReadyError
from mycel.store.database import Store
from mycel.store.index.passages import PassageRow
from mycel.store.query import candidates, lookup, passages
from mycel.store.query.passages import Source
from mycel.store.query.reader import Reader

VERSION: Final = 1
"""Of the way in which passages are derived. What another one derived is not used."""

SAVED_TOGETHER_MIN: Final = 256
"""So many derived passages are stored at once."""

DERIVED_AT_ONCE_MAX: Final = 20_000
"""A search with a deadline derives so many elements itself."""

REBUILT_SHARE: Final = 4
"""If more than one in so many passages has changed, the corpus is built anew."""

HEALED_MAX: Final = 200
"""A new name is looked for in so many older texts, the newest first."""

TIME_WORDS: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|week|weekend|month|year"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|morning|recently|since|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)

_NONE: Final = np.zeros(0, np.uint32)


class Derived(NamedTuple):
    """What was made of one concept."""

    row: PassageRow
    vector: bytes
    phrases: dict[int, str]
    """Its names and capitalised phrases, by their hashes."""

    @property
    def pieces(self) -> NDArray[np.uint16]:
        return _pieces(self.row)


class Recall:
    """The corpus of one store. Several threads may ask at once."""

    def __init__(self, store: Store, embedder: Embedder | None = None) -> None:
        self._store: Final = store
        self._chosen: Final = embedder
        self._lock: Final = Lock()
        self._corpus: Corpus | None = None
        self._unsaved: dict[int, Derived] = {}
        self._saved: dict[int, Derived] = {}
        self._gone: set[int] = set()
        self._since: int | None = None
        self._thread: Thread | None = None
        self._stopped = False

    @property
    def model(self) -> StaticModel:
        """The model whose word pieces texts are made of."""
        return shipped_model()

    @property
    def embedder(self) -> Embedder:
        """The model that makes vectors."""
        return shipped_model() if self._chosen is None else self._chosen

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The pieces of the model."""
        return Vocabulary(self.model)

    def corpus(self, reader: Reader) -> Corpus:
        """The corpus, at least as new as what a reader sees.

        If much is to be derived and the reader has no time for it, a thread does it.

        Raises:
            NotReadyError: a thread is deriving.
            EmbedderFailed: the embedder failed.
        """
        if reader.deadline < inf and self._is_busy(reader):
            raise NotReadyError
        with self._lock:
            seq = passages.last_entry(reader)
            if self._corpus is None:
                self._corpus = self._load(reader, seq)
            elif self._corpus.seq < seq:
                self._corpus = self._follow(reader, self._corpus, seq)
            return self._corpus

    def close(self) -> None:
        """Stop deriving."""
        self._stopped = True
        if self._thread is not None:
            self._thread.join()

    def _is_busy(self, reader: Reader) -> bool:
        """True if a thread is deriving; one is started if there is much to derive."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = None
            if self._corpus is None and self._pending(reader) > DERIVED_AT_ONCE_MAX:
                self._thread = Thread(target=self._derive_all, name="mycel-recall", daemon=True)
                self._thread.start()
        return self._thread is not None

    def _pending(self, reader: Reader) -> int:
        """The number of concepts that are to be derived, at most."""
        since = passages.mark(reader, self._mark())
        if since is None:
            return passages.count_sources(reader)
        return len(passages.changed_since(reader, since))

    def _derive_all(self) -> None:
        with suppress(MycelError):  # The next search meets the same error, and tells it.
            with self._store.reading() as reader:
                self.corpus(reader)
            self.save()

    def save(self) -> None:
        """Store what was derived if enough has gathered; to be called when nothing is being read.

        What was stored the last time stays at hand until now, for those who began reading before.
        """
        with self._lock:
            self._saved = {}
            enough = len(self._unsaved) + len(self._gone) >= SAVED_TOGETHER_MIN
            if enough and self._corpus is not None:
                self._save(self._corpus.seq)

    def pieces(self, reader: Reader, numbers: Sequence[int]) -> list[NDArray[np.uint16]]:
        """The word pieces of passages."""
        at_hand = self._saved | self._unsaved if self._saved else self._unsaved
        missing = [number for number in numbers if number not in at_hand]
        stored = passages.pieces_of(reader, missing) if missing else {}
        return [
            at_hand[number].pieces
            if number in at_hand
            else np.frombuffer(stored.get(number, b""), "<u2")
            for number in numbers
        ]

    def _mark(self) -> str:
        return f"{VERSION}/{self.model.name}/{self.embedder.name}"

    def _load(self, reader: Reader, seq: int) -> Corpus:
        """The corpus from what is stored, and what changed since."""
        self._since = passages.mark(reader, self._mark())
        if self._since is None:
            changed = None
            kept: list[tuple[PassageRow, bytes]] = []
        else:
            changed = passages.changed_since(reader, self._since)
            stored = passages.stored(reader, self._mark())
            kept = [each for each in stored if each[0].element not in changed]
        made = self._derived(reader, changed)
        self._unsaved = {each.row.element: each for each in made}
        self._gone = (changed or set()) - self._unsaved.keys()
        return self._built(seq, [*kept, *((each.row, each.vector) for each in made)])

    def _built(self, seq: int, rows: Sequence[tuple[PassageRow, bytes]]) -> Corpus:
        """A corpus of all passages, with their mentions."""
        names = [np.frombuffer(row.names, "<u4") for row, _ in rows]
        phrases = [np.frombuffer(row.phrases, "<u4") for row, _ in rows]
        seen, counts = np.unique(np.concatenate([_NONE, *phrases]), return_counts=True)
        dictionary = PhraseSet(self.vocabulary, np.concatenate((_NONE, *names, seen[counts > 1])))
        entries: list[Entry] = []
        together = 1000
        for at in range(0, len(rows), together):
            block = rows[at : at + together]
            mentioned = dictionary.mentioned([_pieces(row) for row, _ in block])
            entries += [
                _entry(row, vector, mentions)
                for (row, vector), mentions in zip(block, mentioned, strict=True)
            ]
        shared = Shared(self.vocabulary, self.embedder.dimensions, Interner(), Interner())
        return Corpus.of(seq, entries, dictionary.hashes, shared)

    def _follow(self, reader: Reader, corpus: Corpus, seq: int) -> Corpus:
        """The corpus after what was committed since."""
        changed = passages.changed_since(reader, corpus.seq)
        made = self._derived(reader, changed)
        self._unsaved |= {each.row.element: each for each in made}
        gone = changed - {each.row.element for each in made}
        for number in gone:
            self._unsaved.pop(number, None)
        self._gone = (self._gone | gone) - {each.row.element for each in made}
        if len(changed) > max(SAVED_TOGETHER_MIN, len(corpus) // REBUILT_SHARE):
            self._save(seq)
            return self._load(reader, seq)
        new = self._new_phrases(corpus, made)
        dictionary = np.union1d(corpus.dictionary, np.fromiter(new, np.uint32))
        older = self._older(reader, corpus, new.values(), changed)
        rows = [(each.row, each.vector) for each in made] + older
        mentioned = PhraseSet(self.vocabulary, dictionary).mentioned(
            [_pieces(row) for row, _ in rows]
        )
        entries = [
            _entry(row, vector, mentions)
            for (row, vector), mentions in zip(rows, mentioned, strict=True)
        ]
        return corpus.changed(seq, entries, gone, dictionary)

    def _new_phrases(self, corpus: Corpus, made: Iterable[Derived]) -> dict[int, str]:
        """Phrases that become known: new names, and phrases of which one passage knew before."""
        new: dict[int, str] = {}
        seen: set[int] = set()
        for each in made:
            names = set(np.frombuffer(each.row.names, "<u4").tolist())
            for hash_, phrase in each.phrases.items():
                if hash_ in names or hash_ in seen:
                    new[hash_] = phrase
                seen.add(hash_)
        others = np.fromiter(seen - new.keys(), np.uint32)
        again = set(others[corpus.mention_counts(others) > 0].tolist())
        for each in made:
            new |= {hash_: phrase for hash_, phrase in each.phrases.items() if hash_ in again}
        known = np.fromiter(new, np.uint32)
        for hash_ in known[np.isin(known, corpus.dictionary)].tolist():
            del new[hash_]
        return new

    def _older(
        self, reader: Reader, corpus: Corpus, phrases: Iterable[str], without: Collection[int]
    ) -> list[tuple[PassageRow, bytes]]:
        """Passages of before in which the text index has one of these phrases."""
        numbers = {
            number
            for phrase in phrases
            for number in candidates.with_phrase(reader, phrase, HEALED_MAX)
        }
        numbers |= candidates.pending_concepts(reader)
        wanted = np.array(sorted(numbers.difference(without)), np.int64)
        wanted = wanted[corpus.places(wanted) >= 0]
        made = self._derived(reader, set(wanted.tolist())) if len(wanted) else []
        return [(each.row, each.vector) for each in made]

    def _derived(self, reader: Reader, numbers: Collection[int] | None) -> list[Derived]:
        """Passages of live concepts, or of those with these numbers."""
        furniture = lookup.furniture(reader)
        found = [
            each for each in passages.sources(reader, numbers) if each.element not in furniture
        ]
        if not found:
            return []
        made, texts = [], []
        for each in found:
            if self._stopped:
                raise DatabaseClosed("The graph was closed while a search was being prepared.")
            row, phrases, said = self._passage(each, reader.type_name(each.type))
            made.append((row, phrases))
            texts.append(said)
        if self.embedder is self.model:
            tokens = [_pieces(row).tolist() for row, _ in made]
            vectors = as_bytes(self.model.embed_tokens(tokens))
        else:
            vectors = embedded(self.embedder, texts)
        return [
            Derived(row, vector, phrases)
            for (row, phrases), vector in zip(made, vectors, strict=True)
        ]

    def _passage(self, source: Source, type_name: str) -> tuple[PassageRow, dict[int, str], str]:
        found = passage_of(type_name, source.name, parse_object(source.attributes))
        hash_of = self.vocabulary.hash
        names = {hash_: each for each in found.names if (hash_ := hash_of(each))}
        phrases = {hash_: each for each in capitalised(found.text) if (hash_ := hash_of(each))}
        flags = TITLED if found.names else 0
        flags |= TIMED if TIME_WORDS.search(found.text) else 0
        flags |= ASKS if found.text.rstrip().endswith("?") else 0
        pieces = np.array(self.model.token_ids(found.text), "<u2").tobytes()
        row = PassageRow(
            source.element,
            source.seq,
            source.type,
            np.array(sorted(names), "<u4").tobytes(),
            np.array(sorted(phrases), "<u4").tobytes(),
            pieces,
            flags,
            found.date,
            found.actor,
            found.episode,
            found.position,
        )
        return row, phrases | names, found.text

    def _save(self, seq: int) -> None:
        """Store what was derived, if nobody minds; the next process derives it otherwise."""
        made = [(each.row, each.vector) for each in self._unsaved.values()]
        with suppress(DatabaseError, DatabaseBusy, DiskFull):
            done = self._store.keep_passages(self._mark(), self._since, seq, made, self._gone)
            if done:
                self._saved = self._unsaved
                self._since, self._unsaved, self._gone = seq, {}, set()


def _entry(row: PassageRow, vector: bytes, mentions: Hashes) -> Entry:
    own = (np.frombuffer(row.names, "<u4"), np.frombuffer(row.phrases, "<u4"))
    return Entry(row, vector, np.unique(np.concatenate((mentions, *own))))


def _pieces(row: PassageRow) -> NDArray[np.uint16]:
    return np.frombuffer(row.pieces, "<u2")
