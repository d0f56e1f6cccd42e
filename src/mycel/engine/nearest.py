"""NEAREST: concepts by the vectors of a property, by cosine (our extension).

    NEAREST CONCEPT TO [0.1, 0.7, 0.2] WITH TYPE "Page" BY "embedding" LIMIT 5

The question may be a text if the property has `@embed`; the text is then embedded.
`search.index.vector_columns` stores the vectors; missing vectors are made first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mycel.engine.outcome import Outcome
from mycel.engine.search import SEARCH_LIMIT_MAX, filters_of
from mycel.engine.values import Values, json_kind
from mycel.errors import ConstraintViolation, InvalidValueType
from mycel.kip import ast
from mycel.search.index.search_index import SearchIndex
from mycel.search.index.vector_columns import F32_MAX, VectorProperty, is_vector, vector_property
from mycel.search.index.vector_matrix import Floats
from mycel.search.search import SEARCH_LIMIT_DEFAULT
from mycel.store.database import Store
from mycel.store.query.filters import condition
from mycel.store.query.reader import Reader
from mycel.store.query.vocabulary import Vocabulary


def prepare(
    store: Store, node: ast.Nearest, values: Values, index: SearchIndex, deadline: float
) -> None:
    """Make and store the missing vectors of the property. Call it without an open reader."""
    with store.reading() as reader:
        of, _ = _asked(reader, node, values)
    index.columns().prepare(of, deadline)


def nearest(
    reader: Reader, node: ast.Nearest, values: Values, index: SearchIndex | None
) -> Outcome:
    """Run a NEAREST; without an `index`, only check it."""
    of, to = _asked(reader, node, values)
    limit = SEARCH_LIMIT_DEFAULT if node.limit is None else values.positive(node.limit, "LIMIT")
    threshold = -1.0 if node.threshold is None else values.number(node.threshold, "THRESHOLD")
    if not -1 <= threshold <= 1:
        raise ConstraintViolation(
            f"The THRESHOLD is {threshold}; cosines are between -1 and 1.",
            hint="1 means the same direction, 0 a right angle.",
        )
    passing = condition(reader, filters_of(node, values, "NEAREST"), "concept")
    if index is None:
        return Outcome([])
    vector = index.get().text_vectors([to])[0] if isinstance(to, str) else np.array(to, np.float32)
    columns = index.columns()
    matrix = columns.matrix(reader, of)
    if not len(matrix.numbers) and not of.is_declared:
        raise ConstraintViolation(
            f"No {of.label} is an array of {of.dimension} numbers.",
            hint="Give as many numbers as the vectors have, or declare the property in a schema as"
            f" Vector({of.dimension}).",
        )
    allowed = np.isin(matrix.numbers, passing.passing(reader)) if passing.sql else None

    def read(numbers: Any) -> Floats:
        return columns.vectors(reader, of, numbers)

    matches = matrix.nearest(vector, min(limit, SEARCH_LIMIT_MAX), read, allowed)
    elements = reader.elements([number for number, _ in matches])
    result = []
    for number, cosine in matches:
        if cosine >= threshold and number in elements:
            wire: dict[str, Any] = elements[number].to_dict()
            wire["metadata"] = wire["metadata"] | {"_score": round(cosine, 4)}
            result.append(wire)
    return Outcome(result)


def _asked(
    reader: Reader, node: ast.Nearest, values: Values
) -> tuple[VectorProperty, list[float] | str]:
    """The property of a NEAREST, and the vector or text to compare with."""
    type_name = values.text(node.type, "type of NEAREST")
    name = values.text(node.by, "property of NEAREST")
    Vocabulary(reader).type_number(type_name)
    question = values.value(node.to)
    if isinstance(question, str):
        of = vector_property(reader, type_name, name)
        if of.source is None:
            raise InvalidValueType(
                f"{of.label} has vectors that its records bring, and no text can be compared"
                " with them.",
                hint="Give a vector, or declare the property with @embed(source).",
                span=node.to.span,
            )
        return of, question
    if beyond := _beyond_range(question):
        raise InvalidValueType(
            f"The vector of NEAREST holds {beyond[0]:g}; a number of a vector is an f32, from"
            f" {-F32_MAX:.3g} to {F32_MAX:.3g}.",
            hint="Scale the vector down: only its direction counts.",
            span=node.to.span,
        )
    if not is_vector(question):
        raise InvalidValueType(
            f"NEAREST compares with a vector, not with {json_kind(question)}.",
            hint="Give an array of finite numbers: TO [0.1, 0.2, 0.3], or TO :vector.",
            span=node.to.span,
        )
    of = vector_property(reader, type_name, name, len(question))
    if len(question) != of.dimension:
        raise ConstraintViolation(
            f"{of.label} has vectors of {of.dimension} numbers, and this one has {len(question)}.",
            hint=f"Give a vector of {of.dimension} numbers.",
            span=node.to.span,
        )
    if not any(question):
        raise ConstraintViolation(
            "A vector of zeros has no direction.",
            hint="Give a vector with at least one other number.",
            span=node.to.span,
        )
    return of, question


def _beyond_range(value: object) -> list[float]:
    """The numbers of an array that are too large for f32."""
    if not isinstance(value, list) or not all(type(number) in (int, float) for number in value):
        return []
    return [number for number in value if abs(number) > F32_MAX]
