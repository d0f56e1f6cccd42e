"""The corpus of a store, kept in step with what is committed.

What changed since the corpus was made is one range of the journal. Those elements are derived anew
before a question is answered, so an answer never rests on what is no longer so; storing what was
derived comes later, when some has gathered, and only saves the next process the work.

Vectors of an embedder other than the shipped model may be slow to make. With `background`, a search
makes only a few itself; for more a thread works through them in batches, stores each as it comes,
and holds no reader meanwhile. `NotReadyError` says so until all are there.

A new name, and a phrase that is seen for the second time, may stand in texts that were derived
before: the text index says in which, and their mentions are found again.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from math import inf
from threading import Lock, Thread
from time import monotonic
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.calibration import SHIPPED, Calibration, calibration_of, pairs
from mycel.embedding.guard import QUESTION_S, SEARCH_S, GuardedEmbedder
from mycel.embedding.static import StaticModel, shipped_model
from mycel.embedding.vectors import as_bytes, unit
from mycel.errors import (
    DatabaseBusy,
    DatabaseClosed,
    DatabaseError,
    DiskFull,
    EmbedderFailed,
    MycelError,
)
from mycel.model.values import parse_object
from mycel.recall import blocks
from mycel.recall.corpus import ASKS, TIMED, TITLED, Corpus, Floats, Interner, Rows, Shared
from mycel.recall.passages import passage_of
from mycel.recall.phrases import PhraseSet, Vocabulary, capitalised
from mycel.search.embedding import Embedder, NotReadyError
from mycel.store.database import Store
from mycel.store.index import passages as tables
from mycel.store.index.passages import DICTIONARY, PassageRow, block_of
from mycel.store.query import candidates, lookup, passages
from mycel.store.query.passages import SourceRow
from mycel.store.query.reader import Reader

VERSION: Final = 1
"""Of the way in which passages are derived. What another one derived is not used."""

SAVED_TOGETHER_MIN: Final = 256
"""The number of derived passages that are stored at once."""

DERIVED_TOGETHER: Final = 2_000
"""The number of passages in a portion; of many, each portion is stored as it is derived."""

DERIVED_AT_ONCE_MAX: Final = 20_000
"""A search with a deadline derives so many elements itself."""

EMBEDDED_AT_ONCE_MAX: Final = 64
"""The number of texts in one call of an embedder; with `background`, in one search."""

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


class Derived(NamedTuple):
    """The data derived from one concept."""

    row: PassageRow
    vector: bytes
    phrases: dict[int, str]
    """Its names and capitalised phrases, by their hashes."""

    @property
    def pieces(self) -> NDArray[np.uint16]:
        return _pieces(self.row)


class Recall:
    """The corpus of one store. Several threads may ask at once."""

    def __init__(
        self, store: Store, embedder: Embedder | None = None, *, background: bool = False
    ) -> None:
        """An `embedder` of None is the model inside the package."""
        self._store: Final = store
        self._guarded: Final = None if embedder is None else GuardedEmbedder(embedder)
        self._in_background: Final = background
        self._embedded: dict[int, tuple[int, bytes]] = {}
        self._failure: MycelError | None = None
        self._calibration: Calibration | None = None
        self._lock: Final = Lock()
        self._starting: Final = Lock()
        self._corpus: Corpus | None = None
        self._unsaved: dict[int, Derived] = {}
        self._saved: dict[int, Derived] = {}
        self._gone: set[int] = set()
        self._since: int | None = None
        self._touched: set[int] | None = None
        """Blocks that changed since they were stored; None if all are to be stored."""
        self._tried: int | None = None
        self._report: Callable[[int, int], object] | None = None
        self._thread: Thread | None = None
        self._stopped = False

    @property
    def model(self) -> StaticModel:
        """The model whose word pieces texts are made of."""
        return shipped_model()

    @property
    def embedder(self) -> Embedder:
        """The model that makes vectors."""
        return shipped_model() if self._guarded is None else self._guarded

    def question_vector(self, text: str) -> Floats:
        """The vector of a question, with length one; shorter if the shipped model is uncertain.

        Raises:
            EmbedderFailed: the embedder failed, or takes too long.
        """
        if self._guarded is None:
            return self.model.embed([text]).reshape(-1) * np.float32(self.model.certainty(text))
        return unit(self._guarded.embed([text], QUESTION_S)).reshape(-1)

    def text_vectors(self, texts: Sequence[str]) -> Floats:
        """The vectors of some texts, as the embedder makes them.

        Raises:
            EmbedderFailed: the embedder failed, or takes too long.
        """
        if self._guarded is None:
            return self.model.embed(texts)
        return self._guarded.embed(texts, SEARCH_S)

    def calibration(self, reader: Reader) -> Calibration:
        """The meaning of the embedder's cosines: measured once, and stored.

        Raises:
            EmbedderFailed: the embedder failed, or takes too long.
        """
        if self._guarded is None:
            return SHIPPED
        if self._calibration is None:
            found = passages.calibration(reader, self.mark)
            self._calibration = self._measured() if found is None else Calibration(*found)
        return self._calibration

    def _measured(self) -> Calibration:
        texts = [text for each in pairs() for text in each]
        vectors = np.concatenate(
            [
                self.text_vectors(texts[at : at + EMBEDDED_AT_ONCE_MAX])
                for at in range(0, len(texts), EMBEDDED_AT_ONCE_MAX)
            ]
        )
        made = calibration_of(*np.split(vectors, 2))
        with suppress(DatabaseError, DatabaseBusy, DiskFull):
            self._store.derive(tables.keep_calibration, self.mark, made)
        return made

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
        if (self._in_background or reader.deadline < inf) and self._is_busy(reader):
            if self._failure is not None:
                raise self._failure
            raise NotReadyError
        try:
            return self._current(reader)
        except EmbedderFailed as error:
            if self._in_background:
                self._failure = error
                self._start()
            raise

    def _current(self, reader: Reader) -> Corpus:
        with self._lock:
            seq = passages.last_entry(reader)
            if self._corpus is None:
                self._corpus = self._load(reader, seq)
            elif self._corpus.seq < seq:
                changed = passages.changed_since(reader, self._corpus.seq)
                self._corpus = self._follow(reader, self._corpus, seq, changed)
            return self._corpus

    def close(self) -> None:
        """Stop deriving."""
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """Let a thread that derives end soon."""
        self._stopped = True
        if self._guarded is not None:
            self._guarded.stop()

    def _is_busy(self, reader: Reader) -> bool:
        """True if a thread is deriving; one is started if there is much to derive."""
        if self._thread is None or not self._thread.is_alive():
            most = EMBEDDED_AT_ONCE_MAX if self._in_background else DERIVED_AT_ONCE_MAX
            is_new = self._corpus is None or self._in_background
            if not is_new or self._pending(reader) <= most:
                return False
            self._start()
        return True

    def _start(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._derive_all, name="mycel-recall", daemon=True)
                self._thread.start()

    def _pending(self, reader: Reader) -> int:
        """The number of concepts that are to be derived, at most."""
        if self._corpus is not None:
            return len(passages.changed_since(reader, self._corpus.seq))
        since = passages.mark(reader, self.mark)
        if since is None:
            return len(passages.sought(reader))
        return len(passages.changed_since(reader, since))

    def _derive_all(self) -> None:
        try:
            self.complete()
            self._failure = None
        except MycelError as error:
            self._failure = error  # The next search tells it.

    def complete(self, report: Callable[[int, int], object] | None = None) -> None:
        """Derive and store all that is not yet.

        `report` is told how many vectors have been made, and of how many.

        Raises:
            EmbedderFailed: the embedder failed; what it made before is stored.
        """
        self._report = report
        if self._guarded is not None:
            self._embed(self._guarded, report)
        with self._store.reading() as reader:
            self._current(reader)
        self._report = None
        with self._lock:
            if self._corpus is not None and (self._unsaved or self._gone or self._touched is None):
                self._save(self._corpus.seq, self._corpus)

    def _embed(
        self, embedder: GuardedEmbedder, report: Callable[[int, int], object] | None
    ) -> None:
        """Make the vectors that are missing, batch by batch, each in a moment of its own."""
        with self._store.reading() as reader:
            missing = passages.without_vector(reader, self.mark)
        for at in range(0, len(missing), EMBEDDED_AT_ONCE_MAX):
            with self._store.reading() as reader:
                some = passages.sources(reader, missing[at : at + EMBEDDED_AT_ONCE_MAX])
                made = [
                    (each, self._passage(each, reader.type_name(each.type))[2]) for each in some
                ]
            vectors = (
                as_bytes(embedder.embed([text for _, text in made], patient=True)) if made else []
            )
            rows = [
                (source.element, source.seq, vector)
                for (source, _), vector in zip(made, vectors, strict=True)
            ]
            if not self._store.location.readonly:
                self._store.maintain(tables.keep_vectors, self.mark, rows)
            self._embedded |= {element: (seq, vector) for element, seq, vector in rows}
            if report is not None:
                report(min(at + EMBEDDED_AT_ONCE_MAX, len(missing)), len(missing))
        with self._store.reading() as reader:
            self.calibration(reader)

    def save(self) -> None:
        """Store what was derived if enough has gathered; to be called when nothing is being read.

        What was stored the last time stays at hand until now, for those who began reading before.
        """
        with self._lock:
            self._saved = {}
            enough = len(self._unsaved) + len(self._gone) >= SAVED_TOGETHER_MIN
            if self._corpus is None or self._store.location.readonly:
                return
            # Blocks that are missing are stored once, if that is possible, for the next process.
            missing = self._touched is None and self._tried != self._corpus.seq
            if enough or (missing and len(self._corpus) >= SAVED_TOGETHER_MIN):
                self._tried = self._corpus.seq
                self._save(self._corpus.seq, self._corpus)

    def pieces(self, reader: Reader, numbers: Sequence[int]) -> list[NDArray[np.uint16]]:
        """The word pieces of passages."""
        at_hand = {  # Other threads may take out of both meanwhile.
            number: each
            for number in numbers
            if (each := self._unsaved.get(number) or self._saved.get(number))
        }
        missing = [number for number in numbers if number not in at_hand]
        stored = passages.pieces_of(reader, missing) if missing else {}
        texts = {
            number: text
            for number, each in stored.items()
            if not len(each) % 2
            and (text := np.frombuffer(each, "<u2")).max(initial=0) < len(self.model.pieces)
        }
        if lost := set(missing).difference(texts):  # The table is damaged.
            with self._lock:
                made = {each.row.element: each for each in self._derived(reader, lost)}
                self._unsaved |= made
            at_hand |= made
        nothing = np.zeros(0, np.uint16)
        return [
            at_hand[number].pieces if number in at_hand else texts.get(number, nothing)
            for number in numbers
        ]

    @property
    def mark(self) -> str:
        """The name under which passages and vectors are stored."""
        return f"{VERSION}/{self.model.name}/{self.embedder.name}"

    def _load(self, reader: Reader, seq: int) -> Corpus:
        """The corpus from what is stored, and what changed since."""
        self._since = passages.mark(reader, self.mark)
        changed: set[int] = set()
        if self._since is not None:
            changed = passages.changed_since(reader, self._since)
            corpus = self._stored(reader, seq)
            if corpus is not None:
                changed |= passages.sought(reader).difference(corpus.numbers.tolist())
                if not self._is_much(changed, corpus):
                    self._unsaved, self._gone, self._touched = {}, set(), set()
                    return self._follow(reader, corpus, seq, changed) if changed else corpus
        length = self.embedder.dimensions
        kept = [
            (row, vector)
            for row, vector in passages.stored(reader, self.mark)
            # A server may have got another model under the same name.
            if row.element not in changed and len(vector) == length and _is_whole(row)
        ]
        text = np.frombuffer(b"".join(row.pieces for row, _ in kept), "<u2")
        if len(text) and text.max() >= len(self.model.pieces):
            kept = []  # No such piece: the table is damaged.
        changed |= passages.sought(reader).difference(row.element for row, _ in kept)
        made, self._saved = self._portions(reader, changed)
        self._embedded = {}
        derived = {each.row.element: each for each in made}
        self._unsaved = {at: each for at, each in derived.items() if at not in self._saved}
        self._gone = changed - derived.keys()
        self._touched = None
        return self._built(seq, [*kept, *((each.row, each.vector) for each in made)])

    def _portions(
        self, reader: Reader, numbers: Collection[int]
    ) -> tuple[list[Derived], dict[int, Derived]]:
        """Passages of many concepts, and those that are stored, by number.

        Each portion is stored as it comes, so a process that ends meanwhile leaves its work to the
        next one. The phrases are left out: they would take as much memory as all other data.
        """
        made: list[Derived] = []
        stored: dict[int, Derived] = {}
        wanted = sorted(numbers)
        for at in range(0, len(wanted), DERIVED_TOGETHER):
            found = self._derived(reader, wanted[at : at + DERIVED_TOGETHER])
            some = [each._replace(phrases={}) for each in found]
            made += some
            if len(wanted) > DERIVED_TOGETHER:
                with suppress(DatabaseError, DatabaseBusy, DiskFull):
                    portion = [(each.row, each.vector) for each in some]
                    self._store.derive(tables.keep_portion, self.mark, portion)
                    stored |= {each.row.element: each for each in some}
                if self._report is not None and self._guarded is None:
                    self._report(min(at + DERIVED_TOGETHER, len(wanted)), len(wanted))
        return made, stored

    def _stored(self, reader: Reader, seq: int) -> Corpus | None:
        """The corpus of the stored blocks; None if they are damaged or not all there."""
        shared = Shared(self.vocabulary, self.embedder.dimensions, Interner(), Interner())
        found = passages.blocks(reader, self.mark)
        owners, content = array("q"), bytearray()
        for element, vector in passages.vectors(reader, self.mark):
            owners.append(element)
            content += vector
        try:
            dictionary = blocks.unpacked_hashes(found.pop(DICTIONARY))
            numbers = (shared.actors.number, shared.episodes.number)
            arrays = blocks.joined(found.values(), numbers)
            elements = np.frombuffer(owners, np.int64)
            table = np.frombuffer(content, np.int8).reshape(len(elements), shared.dimensions)
        except (KeyError, ValueError):
            return None
        if np.array_equal(elements, arrays["numbers"]):
            return Corpus.stored(seq, arrays | {"vectors": table}, dictionary, shared)
        places = np.minimum(np.searchsorted(elements, arrays["numbers"]), len(elements) - 1)
        keep = elements[places] == arrays["numbers"] if len(elements) else places >= 0
        arrays = blocks.kept(arrays | {"vectors": table[places]}, keep)
        return Corpus.stored(seq, arrays, dictionary, shared)

    def _is_much(self, changed: Collection[int], corpus: Corpus) -> bool:
        """True if a corpus is better built anew than changed."""
        return len(changed) > max(SAVED_TOGETHER_MIN, len(corpus) // REBUILT_SHARE)

    def _built(self, seq: int, rows: Rows) -> Corpus:
        """A corpus of all passages, with their mentions."""
        names, phrases = (
            np.frombuffer(b"".join(each), "<u4")
            for each in ([row.names for row, _ in rows], [row.phrases for row, _ in rows])
        )
        seen, counts = np.unique(phrases, return_counts=True)
        dictionary = PhraseSet(self.vocabulary, np.concatenate((names, seen[counts > 1])))
        shared = Shared(self.vocabulary, self.embedder.dimensions, Interner(), Interner())
        return Corpus.of(seq, rows, dictionary, shared)

    def _follow(self, reader: Reader, corpus: Corpus, seq: int, changed: set[int]) -> Corpus:
        """The corpus after these concepts have changed."""
        made = self._derived(reader, changed)
        self._unsaved |= {each.row.element: each for each in made}
        gone = changed - {each.row.element for each in made}
        for number in gone:
            self._unsaved.pop(number, None)
        self._gone = (self._gone | gone) - {each.row.element for each in made}
        if self._is_much(changed, corpus):
            self._save(seq, None)
            return self._load(reader, seq)
        new = self._new_phrases(corpus, made)
        dictionary = np.union1d(corpus.dictionary, np.fromiter(new, np.uint32))
        older = self._older(reader, corpus, new.values(), changed)
        rows = [(each.row, each.vector) for each in made] + older
        if self._touched is not None:
            self._touched |= {block_of(number) for number in changed}
            self._touched |= {block_of(row.element) for row, _ in older}
        return corpus.changed(seq, rows, gone, PhraseSet(self.vocabulary, dictionary))

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
        if self._guarded is None:
            tokens = [_pieces(row).tolist() for row, _ in made]
            vectors = as_bytes(self.model.embed_tokens(tokens))
        else:
            vectors = self._vectors(reader, self._guarded, [row for row, _ in made], texts)
        return [
            Derived(row, vector, phrases)
            for (row, phrases), vector in zip(made, vectors, strict=True)
        ]

    def _vectors(
        self,
        reader: Reader,
        embedder: GuardedEmbedder,
        rows: Sequence[PassageRow],
        texts: Sequence[str],
    ) -> list[bytes]:
        """The vectors of passages: those that are at hand, and new ones of the others."""
        length = embedder.dimensions
        found = passages.vectors_of(reader, self.mark, [row.element for row in rows])
        for row in rows:
            at_hand = self._unsaved.get(row.element) or self._saved.get(row.element)
            if at_hand is not None and at_hand.row.seq == row.seq:
                found[row.element] = at_hand.vector
            elif self._embedded.get(row.element, (None,))[0] == row.seq:
                found[row.element] = self._embedded[row.element][1]
        missing = [at for at, row in enumerate(rows) if len(found.get(row.element, b"")) != length]
        for start in range(0, len(missing), EMBEDDED_AT_ONCE_MAX):
            some = missing[start : start + EMBEDDED_AT_ONCE_MAX]
            # Time must be left for an answer without these vectors.
            within_s = min(SEARCH_S, max((reader.deadline - monotonic()) / 2, 0.1))
            vectors = as_bytes(embedder.embed([texts[at] for at in some], within_s))
            found |= {rows[at].element: each for at, each in zip(some, vectors, strict=True)}
        return [found[row.element] for row in rows]

    def _passage(self, source: SourceRow, type_name: str) -> tuple[PassageRow, dict[int, str], str]:
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

    def _save(self, seq: int, corpus: Corpus | None) -> None:
        """Store what was derived, if nobody minds; the next process derives it otherwise.

        `corpus` is of the same entry of the journal; without it no blocks are left.
        """
        made = [(each.row, each.vector) for each in self._unsaved.values()]
        some: dict[int, bytes] = {}
        if corpus is not None:
            some = corpus.blocks(self._touched)
            some[DICTIONARY] = blocks.packed_hashes(corpus.dictionary)
        whole = corpus is None or self._touched is None
        with suppress(DatabaseError, DatabaseBusy, DiskFull):
            changes = self.mark, self._since, seq, made, self._gone
            done = self._store.derive(tables.write, *changes, blocks=some, whole=whole)
            if done:
                self._saved = self._unsaved
                self._since, self._unsaved, self._gone = seq, {}, set()
                self._touched = None if corpus is None else set()


def _is_whole(row: PassageRow) -> bool:
    """True if the stored arrays of a passage have no part of an item."""
    return not (len(row.names) % 4 or len(row.phrases) % 4 or len(row.pieces) % 2)


def _pieces(row: PassageRow) -> NDArray[np.uint16]:
    return np.frombuffer(row.pieces, "<u2")
