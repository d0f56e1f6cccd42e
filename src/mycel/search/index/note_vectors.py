"""Vectors of notes and of sections by the sentence model, beside those of all passages.

They follow the corpus: a changed passage loses its vector. A search makes a few missing vectors
itself. If more are missing, a thread makes them while searches use the static model: first those of
notes that somebody wrote, then those of sections, each portion stored at once. The vectors of
sections are used only when all exist, because a section with a vector would rank before a better
one without.

In a graph with more than `PASSAGES_MAX` notes, making the vectors would take minutes, and the
sentence model is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import Final

import numpy as np

from mycel.embedding.sentence_model import CALIBRATION, SentenceModel
from mycel.embedding.static import shipped_model
from mycel.embedding.vectors import as_bytes
from mycel.errors import DatabaseBusy, DatabaseError, DiskFull, EmbedderFailed, MycelError
from mycel.search.index.corpus import Corpus, Floats, Positions
from mycel.search.index.derivation import Derived
from mycel.store.database import Store
from mycel.store.index import passages as tables
from mycel.store.index.passages import PassageRow
from mycel.store.query import passages
from mycel.store.query.reader import Reader

PASSAGES_MAX: Final = 5_000
AT_ONCE_MAX: Final = 16
"""The maximum number of vectors that a search makes itself, and the number that is stored at
once."""
AT_ONCE_S: Final = 2.0
"""The time that must be left for the answer after a search has made vectors."""

Derive = Callable[[Reader, Collection[int]], Sequence[Derived]]
"""Derives the passages of concepts."""


class NoteVectors:
    """The vectors of the notes of one store. Several threads may use it at once."""

    def __init__(self, store: Store, model: SentenceModel, mark: str, derive: Derive) -> None:
        """Take the name under which vectors are stored, and the function that derives passages."""
        self._store: Final = store
        self._model: Final = model
        self._mark: Final = mark
        self._derive: Final = derive
        self._lock: Final = Lock()
        self._portion: Final = Lock()
        """A lock that is held while a portion is made; taken before `_lock`."""
        self._seq: int | None = None
        self._vectors: dict[int, bytes] = {}
        """The vectors by element, in the state after the journal entry `_seq`."""
        self._missing: list[int] = []
        """Elements without a vector, notes before sections."""
        self._sections: frozenset[int] = frozenset()
        self._unsaved: list[tuple[int, int, bytes]] = []
        self._thread: Thread | None = None
        self._stopped: Final = Event()
        self.failure: EmbedderFailed | None = None
        """The reason why the model is no longer used."""

    @property
    def missing(self) -> int:
        """The number of passages whose vectors are to be made."""
        return len(self._missing)

    def meaning(self, reader: Reader, corpus: Corpus, question: str) -> tuple[Positions, Floats]:
        """The places of the passages whose vectors are used, and the evidence on each.

        There are none if the model cannot be used (`failure`).
        """
        if self.failure is None:
            try:
                return self._meaning(reader, corpus, question)
            except EmbedderFailed as error:
                self.failure = error
        return np.zeros(0, np.int64), np.zeros(0, np.float32)

    def _meaning(self, reader: Reader, corpus: Corpus, question: str) -> tuple[Positions, Floats]:
        with self._lock:
            self._follow(reader, corpus)
            if len(self._missing) > AT_ONCE_MAX:
                self._start()
            elif self._missing and reader.deadline - monotonic() > AT_ONCE_S:
                self._keep(self._embed_rows(self._passages(reader, self._missing)))
            used = self._vectors
            if not self._sections.isdisjoint(self._missing):
                used = {section: used[section] for section in used.keys() - self._sections}
            numbers = np.fromiter(used, np.int64)
            rows = np.frombuffer(b"".join(used.values()), np.int8)
        places = corpus.places(numbers)
        is_there = places >= 0
        vectors = rows.reshape(-1, self._model.dimensions)[is_there].astype(np.float32)
        if not len(vectors):
            return places[is_there], np.zeros(0, np.float32)
        (question_vector,) = self._model.embed_pieces(
            [np.array(shipped_model().token_ids(question), np.int64)]
        )
        cosines = np.einsum("ij,j->i", vectors, question_vector)
        cosines /= np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), 1e-9)
        return places[is_there], CALIBRATION.shares(cosines)

    def follow(self, reader: Reader, corpus: Corpus) -> None:
        """Bring the vectors and the list of missing ones to a state of the graph."""
        with self._lock:
            self._follow(reader, corpus)

    def complete(
        self, report: Callable[[int, int], object] | None = None, *, sections: bool
    ) -> None:
        """Make all missing vectors of notes, and of sections if asked; `save` stores them.

        Searches go on meanwhile: the lock is free while the model reads.
        """
        most = 0
        while not self._stopped.is_set() and self.failure is None:
            with self._lock:
                left = len(self._missing_elements(sections=sections))
            most = max(most, left)
            if report is not None and left < most:
                report(most - left, most)
            try:
                if not left:
                    return
                if not self._make_portion(sections=sections):
                    with self._lock:  # Another thread may have made the last ones.
                        if self._missing_elements(sections=sections):
                            return
            except EmbedderFailed as error:
                self.failure = error

    def save(self) -> None:
        """Try to store new vectors; if that fails, the next process makes them again."""
        with self._lock, suppress(DatabaseError, DatabaseBusy, DiskFull):
            if self._unsaved:
                self._store.derive(tables.keep_vectors, self._mark, self._unsaved)
                self._unsaved = []

    def stop(self) -> None:
        """Ask the thread to end soon."""
        self._stopped.set()

    def close(self) -> None:
        """End the thread."""
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def _follow(self, reader: Reader, corpus: Corpus) -> None:
        """Drop the vectors of changed passages, and read stored vectors."""
        if self._seq == corpus.seq:
            return
        changed = set[int]() if self._seq is None else passages.changed_since(reader, self._seq)
        elements, sections = corpus.note_elements(), corpus.sections()
        elements = elements if len(elements) <= PASSAGES_MAX else []
        sections = sections if len(elements) + len(sections) <= PASSAGES_MAX else []
        self._sections = frozenset(sections)
        elements += sections
        self._vectors = {
            number: self._vectors[number]
            for number in elements
            if number in self._vectors and number not in changed
        }
        missing = [number for number in elements if number not in self._vectors]
        stored = passages.vectors_of(reader, self._mark, missing) if missing else {}
        for number, vector in stored.items():
            if len(vector) == self._model.dimensions:
                self._vectors[number] = vector
        self._missing = [number for number in missing if number not in self._vectors]
        self._seq = min(corpus.seq, passages.last_entry(reader))

    def _passages(self, reader: Reader, numbers: Sequence[int]) -> list[PassageRow]:
        return [passage.row for passage in self._derive(reader, numbers)] if numbers else []

    def _embed_rows(self, rows: Sequence[PassageRow]) -> list[tuple[int, int, bytes]]:
        vectors = self._model.embed_pieces([np.frombuffer(row.pieces, "<u2") for row in rows])
        return [
            (row.element, row.seq, vector)
            for row, vector in zip(rows, as_bytes(vectors), strict=True)
        ]

    def _keep(self, new_rows: Sequence[tuple[int, int, bytes]]) -> None:
        self._vectors |= {element: vector for element, _, vector in new_rows}
        self._unsaved += new_rows
        self._missing = [number for number in self._missing if number not in self._vectors]

    def _start(self) -> None:
        if not self._stopped.is_set() and (self._thread is None or not self._thread.is_alive()):
            self._thread = Thread(target=self._work, name="mycel-notes", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        """Make missing vectors, portion by portion."""
        while not self._stopped.is_set() and self.failure is None:
            try:
                portion = self._make_portion(sections=True)
            except EmbedderFailed as error:
                self.failure = error
                return
            except MycelError:  # The graph was closed.
                return
            self.save()
            if not portion:
                # Nothing is missing, or the missing passages were removed; the next search finds
                # out.
                return

    def _make_portion(self, *, sections: bool) -> int:
        """Make the first of the missing vectors; returns how many were made.

        One thread at a time calls this, so that no vector is made twice.
        """
        with self._portion:
            with self._lock:
                seq, some = self._seq, self._missing_elements(sections=sections)[:AT_ONCE_MAX]
            with self._store.reading() as reader:
                rows = self._passages(reader, some)
            new_rows: list[tuple[int, int, bytes]] = []
            for row in rows:
                if self._stopped.is_set():
                    break
                new_rows += self._embed_rows([row])
            with self._lock:
                if self._seq == seq:  # After a change, these vectors may be of older texts.
                    self._keep(new_rows)
            return len(new_rows)

    def _missing_elements(self, *, sections: bool) -> list[int]:
        """The elements without a vector; with `sections`, sections too."""
        return [number for number in self._missing if sections or number not in self._sections]
