"""A question to a graph: what the stages need from the store, brought together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from math import log2
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mycel.errors import EmbedderFailed
from mycel.recall.corpus import Corpus, Floats, Positions
from mycel.recall.evidence import AskedCorpus, PassageEvidence, Sources
from mycel.recall.index import Recall
from mycel.recall.lazy import SearchIndex
from mycel.recall.note_vectors import AT_ONCE_MAX
from mycel.recall.passage_links import PassageLink
from mycel.recall.weights import Stage
from mycel.search.embedding import SEMANTIC, NotReadyError, SearchMode
from mycel.search.kinds import CODE
from mycel.search.ranking import Question
from mycel.store.query import lookup
from mycel.store.query.candidates import TermIndex
from mycel.store.query.filters import Condition
from mycel.store.query.reader import Reader

LINKS_FOLLOWED: Final = 1_000
"""The number of links that are followed from all seeds together, in each direction."""

_BY_MEANING: Final[tuple[Stage, ...]] = ("words", "named", "link", "shared")


class RecallQuestion:
    """A question to a graph by meaning: evidence is made once, for any number of filters.

    The mode "semantic" goes by meaning alone. While the vectors of a chosen embedder are being
    made, and when it fails, those of the model inside the package are used; `warning` says so.
    """

    def __init__(
        self, reader: Reader, recall: SearchIndex, asked: Question, mode: SearchMode
    ) -> None:
        """Gather the evidence.

        Raises:
            NotReadyError: the vectors of the model inside the package are being made as well.
            EmbedderFailed: the model inside the package cannot be used.
        """
        without = _BY_MEANING if mode == SEMANTIC else ()
        self._reader = reader
        self.warning = ""
        try:
            used = recall.get()
            self._corpus, self._asked = _asked(reader, used, asked, without)
            self.warning = _about_notes(used)
        except (NotReadyError, EmbedderFailed) as error:
            instead = recall.instead()
            if instead is None:
                raise
            why = error.message if isinstance(error, EmbedderFailed) else "Vectors are being made."
            self.warning = f"{why} This answer uses the embedder inside the package."
            self._corpus, self._asked = _asked(reader, instead, asked, without)

    def found(self, condition: Condition, limit: int) -> list[PassageEvidence]:
        """Concepts that fit and pass a condition, best first."""
        return self._asked.found(allowed(self._reader, self._corpus, condition), limit)


def recalled_by(
    reader: Reader,
    recall: Recall,
    asked: Question,
    limit: int,
    *,
    without: Collection[Stage] = (),
) -> list[PassageEvidence]:
    """Concepts that fit a question, by the vectors of one embedder; `without` some stages."""
    return _asked(reader, recall, asked, without)[1].found(None, limit)


def _asked(
    reader: Reader, recall: Recall, asked: Question, without: Collection[Stage]
) -> tuple[Corpus, AskedCorpus]:
    corpus = recall.corpus(reader)
    sources = Sources(
        TermIndex(reader).scores,
        lambda numbers: recall.pieces(reader, numbers),
        lambda numbers: _edges(reader, numbers),
        recall.question_vector,
        recall.calibration(reader),
        partial(_note_meaning, reader, recall, corpus),
    )
    return corpus, AskedCorpus(
        corpus, recall.model, asked.text, asked.terms, sources, without=without
    )


def _about_notes(recall: Recall) -> str:
    """The warning of a search for which the sentence model has not read all that it could."""
    if recall.notes is None:
        return ""
    if recall.notes.failure is not None:
        return f"{recall.notes.failure.message} This answer does without it."
    if recall.notes.missing > AT_ONCE_MAX:
        return (
            f"The sentence model has {recall.notes.missing:,} notes and sections still to read;"
            " this answer finds them by the embedder inside the package. A running server reads"
            " them in the background; `mycel embed rebuild` reads them now."
        )
    return ""


def _note_meaning(
    reader: Reader, recall: Recall, corpus: Corpus, question: str
) -> tuple[Positions, Floats]:
    if recall.notes is None:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    return recall.notes.meaning(reader, corpus, question)


def allowed(reader: Reader, corpus: Corpus, condition: Condition) -> NDArray[np.bool_] | None:
    """The passages that pass a condition; None for all."""
    if not condition.sql:
        return None
    passes = np.ones(len(corpus), bool)
    if condition.types is not None:
        passes &= np.isin(corpus.types, list(condition.types))
    if condition.kind is not None:
        passes &= corpus.is_code == (condition.kind == CODE)
    if condition.others:
        passes &= np.isin(corpus.numbers, condition.numbers(reader))
    return passes


def _edges(reader: Reader, numbers: Sequence[int]) -> list[PassageLink]:
    around = lookup.links_around_each(reader, numbers, LINKS_FOLLOWED)
    degrees = Counter(number for number, _ in around)
    return [
        PassageLink(
            number,
            each.other,
            each.predicate,
            1 / (1 + log2(degrees[number])),
        )
        for number, each in around
    ]
