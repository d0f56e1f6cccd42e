"""A question to a graph: what the stages need from the store, brought together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import log2
from typing import Final

import numpy as np

from mycel.errors import EmbedderFailed
from mycel.recall.index import Recall
from mycel.recall.lazy import LazyRecall
from mycel.recall.stages import Edge, Found, Sources, ranked
from mycel.recall.weights import Stage
from mycel.search.embedding import SEMANTIC, Mode, NotReadyError
from mycel.search.ranking import Question
from mycel.store.query import lookup
from mycel.store.query.candidates import TermIndex
from mycel.store.query.filters import ALL, Condition
from mycel.store.query.reader import Reader

LINKS_FOLLOWED: Final = 1_000
"""The number of links that are followed from all seeds together, in each direction."""

_BY_MEANING: Final[tuple[Stage, ...]] = ("words", "named", "link", "shared")


def recalled(
    reader: Reader,
    recall: LazyRecall,
    asked: Question,
    mode: Mode,
    kind: int | None,
    limit: int,
    *,
    condition: Condition = ALL,
) -> tuple[list[Found], str]:
    """Concepts that fit a question, best first, and a warning if there is one.

    `kind` is the number of a type that they must have, `condition` that of other filters. The mode
    "semantic" goes by meaning alone. While the vectors of a chosen embedder are being made, and
    when it fails, those of the model inside the package are used.

    Raises:
        NotReadyError: those are being made as well.
        EmbedderFailed: the model inside the package cannot be used.
    """
    try:
        found = recalled_by(reader, recall.get(), asked, mode, kind, limit, condition=condition)
        return found, ""
    except (NotReadyError, EmbedderFailed) as error:
        instead = recall.instead()
        if instead is None:
            raise
        why = error.message if isinstance(error, EmbedderFailed) else "Vectors are being made."
        found = recalled_by(reader, instead, asked, mode, kind, limit, condition=condition)
    return found, f"{why} This answer uses the embedder inside the package."


def recalled_by(
    reader: Reader,
    recall: Recall,
    asked: Question,
    mode: Mode,
    kind: int | None,
    limit: int,
    *,
    condition: Condition = ALL,
    without: Collection[Stage] = (),
) -> list[Found]:
    """Concepts that fit a question, by the vectors of one embedder; `without` some stages."""
    corpus = recall.corpus(reader)
    sources = Sources(
        TermIndex(reader).scores,
        lambda numbers: recall.pieces(reader, numbers),
        lambda numbers: _edges(reader, numbers),
        recall.question_vector,
        recall.calibration(reader),
    )
    allowed = None if kind is None else corpus.types == kind
    if condition.sql:
        passes = np.isin(corpus.numbers, condition.numbers(reader, "concept"))
        allowed = passes if allowed is None else passes & allowed
    return ranked(
        corpus,
        recall.model,
        asked.text,
        asked.terms,
        sources,
        allowed=allowed,
        without=_BY_MEANING if mode == SEMANTIC else without,
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
