"""Fills in vectors that rows lack, from their texts.

The text goes to the embedder in batches. Without an embedder rows are loaded as they are, and one
warning for each property says how many of them have a text and lack the vector.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from mycel.errors import ConstraintViolation, InvalidValueType
from mycel.model.values import JsonObject
from mycel.search.embedding import Embedder
from mycel.transfer.load_targets import Embedding, NodeTarget
from mycel.transfer.source_rows import NodeRow

TEXTS_TOGETHER_MAX: Final = 256
_ONE_EACH: Final = (
    "An embedder gives one vector for each text, in order: as many numbers as it has dimensions."
)


class Vectors:
    """Fills in the vectors of one load."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder: Final = embedder
        self._checked: Final[set[NodeTarget]] = set()
        self._lacking: Final[Counter[tuple[str, Embedding]]] = Counter()

    def filled(
        self, rows: Sequence[NodeRow], present: Mapping[tuple[NodeTarget, str], JsonObject]
    ) -> Sequence[NodeRow]:
        """The rows with their vectors; `present` are attributes of those that exist.

        An existing node whose text stays as it is keeps its vector.

        Raises:
            ConstraintViolation: the vectors would not fit, or a required one cannot be made; its
                data says `at` which row.
        """
        waiting: list[tuple[int, Embedding]] = []
        for at, row in enumerate(rows):
            for each in row.target.embeddings:
                try:
                    wanted = self._is_wanted(row, each, present.get((row.target, row.name)))
                except ConstraintViolation as error:
                    error.data["at"] = at
                    raise
                if wanted:
                    waiting.append((at, each))
        if not waiting:
            return rows
        made = list(rows)
        for (at, each), vector in zip(waiting, self._vectors(rows, waiting), strict=True):
            row = made[at]
            made[at] = row._replace(attributes=row.attributes | {each.property: vector})
        return made

    def warnings(self) -> Iterator[str]:
        """Warnings about rows that lack a vector."""
        for (label, each), count in self._lacking.items():
            rows = f"1 row of {label} has" if count == 1 else f"{count} rows of {label} have"
            yield (
                f"{rows} no {each.property!r}, which is embedded from"
                f" {each.source!r}: no embedder was given. Load them again with one, in the mode"
                ' "merge".'
            )

    def _is_wanted(self, row: NodeRow, each: Embedding, present: JsonObject | None) -> bool:
        text = row.attributes.get(each.source)
        has_text = isinstance(text, str) and bool(text)
        if row.attributes.get(each.property) is not None:
            return False
        if present is not None:
            if text is None or each.property in row.attributes:
                return False  # Nothing is said about the text, or the vector is to go.
            if present.get(each.source) == text and present.get(each.property) is not None:
                return False
        if self._embedder is not None:
            self._check(row.target, self._embedder)
            return has_text
        if each.is_required and present is None:
            raise ConstraintViolation(
                f"{row.target.label}.{each.property} is required, and there is nothing to make it"
                f" from {each.source!r} with.",
                hint="Give the vectors in the rows, or an embedder: db.load(…, embedder=…) or"
                " mycel.open(…, embedder=…).",
                data={"type": row.target.label, "property": each.property, "value": None},
            )
        if has_text:
            self._lacking[row.target.label, each] += 1
        return False

    def _check(self, target: NodeTarget, embedder: Embedder) -> None:
        """That the vectors fit, before the first text is sent anywhere."""
        if target in self._checked:
            return
        for each in target.embeddings:
            if each.model not in (None, embedder.name):
                raise ConstraintViolation(
                    f"{target.label}.{each.property} is made by the model {each.model!r}, and the"
                    f" embedder is {embedder.name!r}: vectors of two models do not compare.",
                    hint="Use an embedder with this `name`, or declare another model in @embed.",
                    data={"type": target.label, "property": each.property},
                )
            if each.dimension != embedder.dimensions:
                raise ConstraintViolation(
                    f"{target.label}.{each.property} has {each.dimension} dimensions, and"
                    f" {embedder.name!r} makes vectors of {embedder.dimensions}.",
                    hint=f"Use another embedder, or declare {each.property}:"
                    f" Vector({embedder.dimensions}).",
                    data={"type": target.label, "property": each.property},
                )
        self._checked.add(target)

    def _vectors(
        self, rows: Sequence[NodeRow], waiting: Sequence[tuple[int, Embedding]]
    ) -> Iterator[list[float]]:
        if self._embedder is None:
            return
        texts = iter([rows[at].attributes[each.source] for at, each in waiting])
        while batch := list(islice(texts, TEXTS_TOGETHER_MAX)):
            yield from _checked(self._embedder, self._embedder.embed(batch), len(batch))


def _checked(embedder: Embedder, given: Any, count: int) -> list[list[float]]:
    """Return the result of an embedder for `count` texts as lists of numbers.

    Raises:
        InvalidValueType: the number of vectors, or their length, is wrong.
    """
    try:
        vectors = [[float(number) for number in vector] for vector in given]
    except (TypeError, ValueError):
        raise InvalidValueType(
            f"What {embedder.name!r} made of {_texts(count)} is no list of vectors.",
            hint=_ONE_EACH,
        ) from None
    if len(vectors) != count:
        raise InvalidValueType(
            f"{embedder.name!r} made {len(vectors)} vectors of {_texts(count)}.", hint=_ONE_EACH
        )
    for vector in vectors:
        if len(vector) != embedder.dimensions:
            raise InvalidValueType(
                f"{embedder.name!r} made a vector of {len(vector)} numbers, and says that it makes"
                f" {embedder.dimensions}.",
                hint=_ONE_EACH,
            )
    return vectors


def _texts(count: int) -> str:
    return "1 text" if count == 1 else f"{count} texts"
