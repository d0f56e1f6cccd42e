"""The corpus of a store, which follows the commits.

The changes since the corpus was made are one range of the journal. Their elements are derived again
before a question is answered, so no answer uses outdated passages. Derived passages are stored
later, when enough have gathered; this only saves work for the next process.

Vectors of an embedder other than the shipped model may be slow to make. With `background`, a search
makes only a few itself. If more are missing, a thread makes them in batches, stores each batch, and
holds no reader meanwhile. Until all exist, searches get a `NotReadyError`.

A new name, or a phrase that is seen for the second time, may occur in texts that were derived
before. The text index finds these texts, and their mentions are derived again.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from math import inf
from threading import Lock, Thread
from time import monotonic
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.calibration import SHIPPED, Calibration, calibration_of, pairs
from mycel.embedding.embedder import Embedder, NotReadyError
from mycel.embedding.guard import QUESTION_S, SEARCH_S, GuardedEmbedder
from mycel.embedding.sentence_model import installed_model
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
from mycel.model.permission import permitted
from mycel.search.index import blocks
from mycel.search.index.corpus import Corpus, Floats, Positions
from mycel.search.index.derivation import Derived, derived, is_sound
from mycel.search.index.note_vectors import NoteVectors
from mycel.search.index.passage_columns import Interner, PassageColumns, PassageEntry, Shared
from mycel.search.index.phrases import PhraseSet, PhraseVocabulary, vocabulary_of
from mycel.store.database import Store
from mycel.store.file.process_memory import return_memory
from mycel.store.index import passages as tables
from mycel.store.index.passages import DICTIONARY, block_of
from mycel.store.query import candidates, lookup, passages
from mycel.store.query.passages import SourceRow
from mycel.store.query.reader import Reader

VERSION: Final = 5
"""The version of the derivation of passages. Passages of another version are derived again."""

SAVED_TOGETHER_MIN: Final = 256
"""At least this many derived passages are stored at once."""

DERIVED_TOGETHER: Final = 2_000
"""The number of passages in a portion. If there are several portions, each is stored once it is
derived."""

DERIVED_AT_ONCE_MAX: Final = 20_000
"""The maximum number of elements that a search with a deadline derives itself."""

EMBEDDED_AT_ONCE_MAX: Final = 64
"""The number of texts in one call of an embedder; with `background`, in one search."""

REBUILT_SHARE: Final = 4
"""If more than one passage in this many has changed, the corpus is rebuilt."""

HEALED_MAX: Final = 200
"""The number of older texts that are searched for a new name, the newest first."""


class PassageIndex:
    """The corpus of one store. Several threads may use it at once."""

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
        self._unsaved: dict[int, PassageEntry] = {}
        self._saved: dict[int, PassageEntry] = {}
        self._columns: PassageColumns | None = None
        """All passages of a corpus that was built from rows, until every reader sees the stored
        rows."""
        self._gone: set[int] = set()
        self._since: int | None = None
        self._touched: set[int] | None = None
        """The blocks that changed since they were stored; None if all blocks have to be stored."""
        self._tried: int | None = None
        self._report: Callable[[int, int], object] | None = None
        self._thread: Thread | None = None
        self._stopped = False
        self.notes: Final = self._note_vectors()
        """The vectors of notes by the sentence model; None if the model is not installed or not
        used."""

    def _note_vectors(self) -> NoteVectors | None:
        model = installed_model() if self._guarded is None else None
        if model is None:
            return None
        mark = f"{VERSION}/{self.model.name}/notes/{model.name}"
        return NoteVectors(self._store, model, mark, self._passages)

    @property
    def model(self) -> StaticModel:
        """The model that divides texts into word pieces."""
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
            calibration = passages.calibration(reader, self.mark)
            self._calibration = (
                self._measured() if calibration is None else Calibration(*calibration)
            )
        return self._calibration

    def _measured(self) -> Calibration:
        texts = [text for pair in pairs() for text in pair]
        vectors = np.concatenate(
            [
                self.text_vectors(texts[at : at + EMBEDDED_AT_ONCE_MAX])
                for at in range(0, len(texts), EMBEDDED_AT_ONCE_MAX)
            ]
        )
        calibration = calibration_of(*np.split(vectors, 2))
        with suppress(DatabaseError, DatabaseBusy, DiskFull):
            self._store.derive(tables.keep_calibration, self.mark, calibration)
        return calibration

    @property
    def vocabulary(self) -> PhraseVocabulary:
        """The pieces of the model."""
        return vocabulary_of(self.model)

    def corpus(self, reader: Reader) -> Corpus:
        """The corpus, at least as new as the state of a reader.

        If there is much to derive and the reader has no time left, a thread does it.

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
                with self._store.reading_once() as snapshot:
                    snapshot.deadline = reader.deadline
                    self._corpus = self._load(snapshot, passages.last_entry(snapshot))
                return_memory()
            if self._corpus.seq < seq:
                changed = passages.changed_since(reader, self._corpus.seq)
                self._corpus = self._follow(reader, self._corpus, seq, changed)
            return self._corpus

    def close(self) -> None:
        """Stop deriving."""
        self.stop()
        if self.notes is not None:
            self.notes.close()
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """Ask a thread that derives to end soon."""
        self._stopped = True
        if self.notes is not None:
            self.notes.stop()
        if self._guarded is not None:
            self._guarded.stop()

    def _is_busy(self, reader: Reader) -> bool:
        """True if a thread is deriving; starts one if there is much to derive."""
        if self._thread is None or not self._thread.is_alive():
            most = EMBEDDED_AT_ONCE_MAX if self._in_background else DERIVED_AT_ONCE_MAX
            is_new = self._corpus is None or self._in_background
            if not is_new or self.pending(reader) <= most:
                return False
            self._start()
        return True

    def _start(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._derive_all, name="mycel-recall", daemon=True)
                self._thread.start()

    def pending(self, reader: Reader) -> int:
        """The number of concepts that are to be derived, at most."""
        if self._corpus is not None:
            return len(passages.changed_since(reader, self._corpus.seq))
        since = passages.mark(reader, self.mark)
        if since is None:
            return len(passages.sought(reader))
        return len(passages.changed_since(reader, since))

    def has_derived(self, reader: Reader) -> bool:
        """True if a search by meaning has derived something before, in any process."""
        return self._corpus is not None or passages.mark(reader, self.mark) is not None

    def _derive_all(self) -> None:
        try:
            self.complete()
            self._failure = None
        except MycelError as error:
            self._failure = error  # The next search reports the error.

    def complete(
        self, report: Callable[[int, int], object] | None = None, *, sections: bool = False
    ) -> None:
        """Derive and store everything that is missing.

        `report` gets the number of vectors made and their total. The sentence model is slow:
        without `sections` it embeds only the notes that somebody wrote.

        Raises:
            EmbedderFailed: the embedder failed; its earlier vectors are stored.
        """
        self._report = report
        if self._guarded is not None:
            self._embed(self._guarded, report)
        with self._store.reading() as reader:
            corpus = self._current(reader)
            if self.notes is not None:
                self.notes.follow(reader, corpus)
        if self.notes is not None:
            self.notes.complete(report, sections=sections)
            self.notes.save()
        self._report = None
        with self._lock:
            if self._corpus is not None and (self._unsaved or self._gone or self._touched is None):
                self._save(self._corpus.seq, self._corpus)

    def _embed(
        self, embedder: GuardedEmbedder, report: Callable[[int, int], object] | None
    ) -> None:
        """Make missing vectors in batches; each batch has its own reader."""
        with self._store.reading() as reader:
            missing = passages.without_vector(reader, self.mark)
        for at in range(0, len(missing), EMBEDDED_AT_ONCE_MAX):
            with self._store.reading() as reader:
                some = passages.sources(reader, missing[at : at + EMBEDDED_AT_ONCE_MAX])
                passage_rows = [self._row(reader, source_row) for source_row in some]
            texts = [passage.text for passage in passage_rows]
            vectors = as_bytes(embedder.embed(texts, patient=True)) if passage_rows else []
            rows = [
                (row.element, row.seq, vector)
                for (row, _, _), vector in zip(passage_rows, vectors, strict=True)
            ]
            if not self._store.location.readonly:
                # Vectors depend on the texts alone, so any process may store them.
                with permitted(None):
                    self._store.maintain(tables.keep_vectors, self.mark, rows)
            self._embedded |= {element: (seq, vector) for element, seq, vector in rows}
            if report is not None:
                report(min(at + EMBEDDED_AT_ONCE_MAX, len(missing)), len(missing))
        with self._store.reading() as reader:
            self.calibration(reader)

    def save(self) -> None:
        """Store derived passages if enough have gathered; call it without an open reader.

        Passages of the last time stay in memory until now, for readers that began before they were
        stored.
        """
        if self.notes is not None:
            self.notes.save()
        with self._lock:
            self._saved = {}
            if self._corpus is None or self._store.location.readonly:
                return
            was_built, self._columns = self._columns is not None, None
            enough = len(self._unsaved) + len(self._gone) >= SAVED_TOGETHER_MIN
            # Missing blocks are stored once, if possible, for the next process.
            missing = self._touched is None and self._tried != self._corpus.seq
            if enough or (missing and len(self._corpus) >= SAVED_TOGETHER_MIN):
                self._tried = self._corpus.seq
                self._save(self._corpus.seq, self._corpus)
            if was_built:
                return_memory()

    def pieces(self, reader: Reader, numbers: Sequence[int]) -> list[NDArray[np.uint16]]:
        """The word pieces of passages."""
        columns = self._columns  # Other threads may remove items from all three meanwhile.
        pieces = {} if columns is None else columns.pieces_of(numbers)
        for number in numbers:
            if at_hand := self._unsaved.get(number) or self._saved.get(number):
                pieces[number] = _pieces(at_hand[0].pieces)
        missing = [number for number in numbers if number not in pieces]
        stored = passages.pieces_of(reader, missing) if missing else {}
        read = {number: _pieces(data) for number, data in stored.items() if not len(data) % 2}
        count = len(self.model.pieces)
        if read and np.concatenate(list(read.values())).max(initial=0) >= count:
            read = {
                number: piece_ids
                for number, piece_ids in read.items()
                if piece_ids.max(initial=0) < count
            }
        pieces |= read
        if lost := set(missing).difference(pieces):  # The table is damaged.
            with self._lock:
                entries, _ = self._derived(reader, lost)
                self._unsaved |= {row.element: (row, vector) for row, vector in entries}
            pieces |= {row.element: _pieces(row.pieces) for row, _ in entries}
        nothing = np.zeros(0, np.uint16)
        return [pieces.get(number, nothing) for number in numbers]

    @property
    def mark(self) -> str:
        """The name under which passages and vectors are stored."""
        return f"{VERSION}/{self.model.name}/{self.embedder.name}"

    def _load(self, reader: Reader, seq: int) -> Corpus:
        """The corpus from stored passages and later changes."""
        self._since = passages.mark(reader, self.mark)
        changed: set[int] = set()
        if self._since is not None:
            changed = passages.changed_since(reader, self._since)
            corpus = self._stored(reader, seq)
            if corpus is not None:
                changed |= set(_without(passages.sought(reader), corpus.numbers).tolist())
                if not self._is_much(changed, corpus):
                    self._unsaved, self._gone, self._touched = {}, set(), set()
                    return self._follow(reader, corpus, seq, changed) if changed else corpus
        columns = PassageColumns(self._shared())
        for row, vector in passages.stored(reader, self.mark):
            # A server may now use another model under the same name.
            is_fit = len(vector) == self.embedder.dimensions and is_sound(row, self.model)
            if is_fit and row.element not in changed:
                columns.add(row, vector)
        self._unsaved, self._touched = {}, None
        missing = _without(passages.sought(reader), np.array(columns.numbers))
        self._derive_into(columns, reader, missing)
        self._embedded = {}
        self._gone = changed.difference(columns.numbers)
        self._columns = columns
        return self._built(seq, columns)

    def _derive_into(self, columns: PassageColumns, reader: Reader, numbers: Positions) -> None:
        """Add the passages of many concepts.

        Each portion is stored once it is derived, so if the process ends, the next one continues.
        """
        for at in range(0, len(numbers), DERIVED_TOGETHER):
            entries, _ = self._derived(reader, numbers[at : at + DERIVED_TOGETHER].tolist())
            if len(numbers) <= DERIVED_TOGETHER or not self._keep(entries):
                self._unsaved |= {row.element: (row, vector) for row, vector in entries}
            for row, vector in entries:
                columns.add(row, vector)
            if self._report is not None and self._guarded is None:
                self._report(min(at + DERIVED_TOGETHER, len(numbers)), len(numbers))

    def _keep(self, entries: Sequence[PassageEntry]) -> bool:
        """Store a portion; returns False if that failed and it has to be stored later."""
        if self._store.location.readonly:
            return True
        with suppress(DatabaseError, DatabaseBusy, DiskFull):
            return self._store.derive(tables.keep_portion, self.mark, entries) is True
        return False

    def _shared(self) -> Shared:
        return Shared(self.vocabulary, self.embedder.dimensions, Interner(), Interner())

    def _stored(self, reader: Reader, seq: int) -> Corpus | None:
        """The corpus of the stored blocks; None if they are damaged or not all there."""
        shared = self._shared()
        rows = passages.blocks(reader, self.mark)
        try:
            block, data = next(rows)
            dictionary = blocks.unpacked_hashes(data)
            numbers = (shared.actors.number, shared.episodes.number)
            arrays = blocks.joined((data for _, data in rows), numbers)
            elements, vectors = self._stored_vectors(reader)
        except (StopIteration, ValueError):
            return None
        if block != DICTIONARY:
            return None
        if np.array_equal(elements, arrays["numbers"]):
            return Corpus.stored(seq, arrays | {"vectors": vectors}, dictionary, shared)
        places = np.minimum(np.searchsorted(elements, arrays["numbers"]), len(elements) - 1)
        keep = elements[places] == arrays["numbers"] if len(elements) else places >= 0
        arrays = blocks.select_arrays(arrays | {"vectors": vectors[places]}, keep)
        return Corpus.stored(seq, arrays, dictionary, shared)

    def _stored_vectors(self, reader: Reader) -> tuple[Positions, NDArray[np.int8]]:
        """The elements with stored vectors, and these.

        Raises:
            ValueError: a vector is damaged.
        """
        elements, content = array("q"), bytearray()
        for element, vector in passages.vectors(reader, self.mark):
            elements.append(element)
            content += vector
        vectors = np.frombuffer(content, np.int8)
        return np.array(elements), vectors.reshape(len(elements), self.embedder.dimensions)

    def _is_much(self, changed: Collection[int], corpus: Corpus) -> bool:
        """True if rebuilding the corpus is cheaper than changing it."""
        return len(changed) > max(SAVED_TOGETHER_MIN, len(corpus) // REBUILT_SHARE)

    def _built(self, seq: int, columns: PassageColumns) -> Corpus:
        """A corpus of all passages, with their mentions."""
        (names, _), (phrases, _) = columns.lists("names"), columns.lists("phrases")
        distinct, counts = np.unique(phrases, return_counts=True)
        dictionary = PhraseSet(self.vocabulary, np.concatenate((names, distinct[counts > 1])))
        return Corpus.of(seq, columns, dictionary)

    def _follow(self, reader: Reader, corpus: Corpus, seq: int, changed: set[int]) -> Corpus:
        """The corpus after these concepts have changed."""
        entries, phrases = self._derived(reader, changed)
        rows = {row.element: (row, vector) for row, vector in entries}
        self._unsaved |= rows
        removals = changed - rows.keys()
        for number in removals:
            self._unsaved.pop(number, None)
        self._gone = (self._gone | removals) - rows.keys()
        if self._is_much(changed, corpus):
            self._save(seq, None)
            return self._load(reader, seq)
        new = self._new_phrases(corpus, entries, phrases)
        dictionary = np.union1d(corpus.dictionary, np.fromiter(new, np.uint32))
        older = self._older(reader, corpus, new.values(), changed)
        if self._touched is not None:
            self._touched |= {block_of(number) for number in changed}
            self._touched |= {block_of(row.element) for row, _ in older}
        return corpus.changed(
            seq, entries + older, removals, PhraseSet(self.vocabulary, dictionary)
        )

    def _new_phrases(
        self, corpus: Corpus, entries: Iterable[PassageEntry], phrases: Sequence[dict[int, str]]
    ) -> dict[int, str]:
        """Phrases to add to the dictionary: new names, and phrases that had only one passage."""
        new: dict[int, str] = {}
        hashes_seen: set[int] = set()
        for (row, _), some in zip(entries, phrases, strict=True):
            names = set(np.frombuffer(row.names, "<u4").tolist())
            for hash_, phrase in some.items():
                if hash_ in names or hash_ in hashes_seen:
                    new[hash_] = phrase
                hashes_seen.add(hash_)
        others = np.fromiter(hashes_seen - new.keys(), np.uint32)
        again = set(others[corpus.mention_counts(others) > 0].tolist())
        for some in phrases:
            new |= {hash_: phrase for hash_, phrase in some.items() if hash_ in again}
        hashes = np.fromiter(new, np.uint32)
        for hash_ in hashes[np.isin(hashes, corpus.dictionary)].tolist():
            del new[hash_]
        return new

    def _older(
        self, reader: Reader, corpus: Corpus, phrases: Iterable[str], without: Collection[int]
    ) -> list[PassageEntry]:
        """Older passages in which the text index finds one of these phrases."""
        numbers = {
            number
            for phrase in phrases
            for number in candidates.with_phrase(reader, phrase, HEALED_MAX)
        }
        numbers |= candidates.pending_concepts(reader)
        number_array = np.array(sorted(numbers.difference(without)), np.int64)
        present = number_array[corpus.places(number_array) >= 0]
        return self._derived(reader, present.tolist())[0] if len(present) else []

    def _derived(
        self, reader: Reader, numbers: Collection[int]
    ) -> tuple[list[PassageEntry], list[dict[int, str]]]:
        """Passages of live concepts with these numbers, and the phrases of each by their hashes."""
        derivations = self._passages(reader, numbers)
        if self._guarded is None:
            vectors = as_bytes(
                self.model.embed_tokens([_pieces(e.row.pieces) for e in derivations])
            )
        else:
            vectors = self._vectors(reader, self._guarded, derivations)
        rows = [(passage.row, vector) for passage, vector in zip(derivations, vectors, strict=True)]
        return rows, [passage.phrases for passage in derivations]

    def _passages(self, reader: Reader, numbers: Collection[int]) -> list[Derived]:
        """The passages of live concepts with these numbers."""
        core_concepts = lookup.core_concepts(reader)
        return [
            self._row(reader, source)
            for source in passages.sources(reader, numbers)
            if source.element not in core_concepts
        ]

    def _row(self, reader: Reader, source: SourceRow) -> Derived:
        if self._stopped:
            raise DatabaseClosed("The graph was closed while a search was being prepared.")
        return derived(source, reader.type_name(source.type), self.model, self.vocabulary)

    def _vectors(
        self, reader: Reader, embedder: GuardedEmbedder, derivations: Sequence[Derived]
    ) -> list[bytes]:
        """The vectors of passages: stored ones where they exist, and new ones for the others."""
        length = embedder.dimensions
        rows = [passage.row for passage in derivations]
        by_element = passages.vectors_of(reader, self.mark, [row.element for row in rows])
        for row in rows:
            at_hand = self._unsaved.get(row.element) or self._saved.get(row.element)
            if at_hand is not None and at_hand[0].seq == row.seq:
                by_element[row.element] = at_hand[1]
            elif self._embedded.get(row.element, (None,))[0] == row.seq:
                by_element[row.element] = self._embedded[row.element][1]
        missing = [
            at for at, row in enumerate(rows) if len(by_element.get(row.element, b"")) != length
        ]
        for start in range(0, len(missing), EMBEDDED_AT_ONCE_MAX):
            some = missing[start : start + EMBEDDED_AT_ONCE_MAX]
            # Leave time for an answer without these vectors.
            within_s = min(SEARCH_S, max((reader.deadline - monotonic()) / 2, 0.1))
            vectors = as_bytes(embedder.embed([derivations[at].text for at in some], within_s))
            by_element |= {
                rows[at].element: vector for at, vector in zip(some, vectors, strict=True)
            }
        return [by_element[row.element] for row in rows]

    def _save(self, seq: int, corpus: Corpus | None) -> None:
        """Try to store derived passages; if that fails, the next process derives them again.

        `corpus` belongs to the same journal entry; without it, the stored blocks are removed.
        """
        some: dict[int, bytes] = {}
        if corpus is not None:
            some = corpus.blocks(self._touched)
            some[DICTIONARY] = blocks.packed_hashes(corpus.dictionary)
        is_whole = corpus is None or self._touched is None
        with suppress(DatabaseError, DatabaseBusy, DiskFull):
            entries = list(self._unsaved.values())
            changes = self.mark, self._since, seq, entries, self._gone
            is_saved = self._store.derive(tables.write, *changes, blocks=some, is_whole=is_whole)
            if is_saved:
                self._saved = self._unsaved
                self._since, self._unsaved, self._gone = seq, {}, set()
                self._touched = None if corpus is None else set()


def _without(numbers: array[int], excluded: Positions) -> Positions:
    """The unknown ones among these numbers, in order."""
    return np.setdiff1d(np.frombuffer(numbers, np.int64), excluded)


def _pieces(packed: bytes) -> NDArray[np.uint16]:
    return np.frombuffer(packed, "<u2")
