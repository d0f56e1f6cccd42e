"""NEAREST: the concepts whose arrays of numbers point most nearly the same way, each compared."""

from __future__ import annotations

from math import hypot
from typing import Any

from mycel.errors import ConstraintViolation, InvalidValueType, TypeMismatch
from mycel.kip import ast
from mycel.model.values import JsonObject
from tests.reference.graph import Graph
from tests.reference.parameters import Parameters

LIMIT_MAX = 1_000


def nearest(node: ast.Nearest, graph: Graph, values: Parameters) -> list[JsonObject]:
    """The concepts, nearest first, each with its cosine; filters are beyond the reference."""
    filters = (node.path, node.workspace, node.actor, node.since, node.until, node.metadata)
    if any(each is not None for each in filters):
        raise NotImplementedError("Filters are beyond the reference.")
    type_name, by = values.text(node.type), values.text(node.by)
    if type_name not in graph.type_names():
        raise TypeMismatch(f"The type {type_name!r} is not defined.")
    to = values.value(node.to)
    if not _is_vector(to):
        raise InvalidValueType("This is no vector.")
    if not any(to):
        raise ConstraintViolation("A vector of zeros has no direction.")
    limit = 10 if node.limit is None else min(values.positive(node.limit), LIMIT_MAX)
    least = -1 if node.threshold is None else values.number(node.threshold)
    if not -1 <= least <= 1:
        raise ConstraintViolation("A cosine is between -1 and 1.")
    of_type = [each for each in graph.concepts() if each.type == type_name]
    vectors: dict[int, Any] = {each.number: each.attributes.get(by) for each in of_type}
    alike = {
        number: vector
        for number, vector in vectors.items()
        if _is_vector(vector) and len(vector) == len(to)
    }
    if not alike:
        raise ConstraintViolation("There is no such vector.")
    cosines = sorted((-_cosine(to, vector), number) for number, vector in alike.items())
    found = []
    for cosine, number in cosines[:limit]:
        if -cosine >= least:
            wire = graph.wire(number)
            wire["metadata"]["_score"] = round(-cosine, 4)
            found.append(wire)
    return found


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(x) in (int, float) for x in value)


def _cosine(one: list[float], other: list[float]) -> float:
    lengths = hypot(*one) * hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
