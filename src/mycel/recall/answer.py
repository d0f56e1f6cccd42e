"""A question to a graph: what the stages need from the store, brought together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log2
from typing import Final

import numpy as np

from mycel.embedding.vectors import checked_vectors
from mycel.recall.corpus import Floats
from mycel.recall.index import Recall
from mycel.recall.stages import Edge, Found, Sources, ranked
from mycel.recall.weights import Stage
from mycel.search.embedding import SEMANTIC, Embedder, Mode
from mycel.search.ranking import Question
from mycel.store.query import lookup
from mycel.store.query.candidates import TermIndex
from mycel.store.query.reader import Reader

LINKS_FOLLOWED: Final = 1_000
"""So many links of the graph are followed from all seeds together, in each direction."""

_BY_MEANING: Final[tuple[Stage, ...]] = ("words", "named", "link", "shared")


def recalled(
    reader: Reader, recall: Recall, asked: Question, mode: Mode, kind: int | None, limit: int
) -> list[Found]:
    """Concepts that fit a question, best first.

    `kind` is the number of a type that they must have. The mode "semantic" goes by meaning alone.
    """
    corpus = recall.corpus(reader)
    sources = Sources(
        TermIndex(reader).scores,
        lambda numbers: recall.pieces(reader, numbers),
        lambda numbers: _edges(reader, numbers),
        lambda text: _vector(recall.embedder, text),
    )
    return ranked(
        corpus,
        recall.model,
        asked.text,
        asked.terms,
        sources,
        allowed=None if kind is None else corpus.types == kind,
        without=_BY_MEANING if mode == SEMANTIC else (),
        limit=limit,
    )


def _edges(reader: Reader, numbers: Sequence[int]) -> list[Edge]:
    around = lookup.links_around_each(reader, numbers, LINKS_FOLLOWED)
    degrees = Counter(number for number, _ in around)
    return [
        Edge(
            number,
            each.other,
            reader.predicate_name(each.predicate),
            1 / (1 + log2(degrees[number])),
        )
        for number, each in around
    ]


def _vector(embedder: Embedder, text: str) -> Floats:
    vector = checked_vectors(embedder, [text])[0]
    length = float(np.linalg.norm(vector))
    unit: Floats = vector / length if length else vector
    return unit
