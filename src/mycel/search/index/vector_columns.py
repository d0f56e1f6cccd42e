"""The vectors of `Vector` properties, which follow the commits.

A vector is in the record of a concept. For a property with `@embed`, it is made from the text of
another property. Both are stored as arrays in tables of their own (`index.property_vectors`). They
are derived data: no record or root depends on them. `prepare` makes the vectors of newly written
concepts and stores each batch, so that interrupted work continues where it stopped. A reader makes
vectors that are still missing, and keeps them in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from math import inf
from threading import Lock
from time import monotonic
from typing import Final, NamedTuple

import numpy as np

from mycel.embedding.embedder import Embedder
from mycel.errors import ConstraintViolation, ExecutionTimeout, did_you_mean
from mycel.model.names import shorten
from mycel.model.values import parse_object
from mycel.schema.model import NodeType, Property
from mycel.schema.stored_declaration import PG, declaration
from mycel.search.index.passage_index import EMBEDDED_AT_ONCE_MAX, PassageIndex
from mycel.search.index.vector_matrix import Floats, VectorMatrix, built
from mycel.store.database import Store
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER
from mycel.store.index.property_vectors import Column, PropertyVector, keep
from mycel.store.query import passages, property_vectors, summary, vocabulary
from mycel.store.query.passages import SourceRow
from mycel.store.query.reader import Reader

F32_MAX: Final = float(np.finfo(np.float32).max)

STORED_TOGETHER: Final = 4_096
"""The number of vectors of records that are stored at once."""


class VectorProperty(NamedTuple):
    """A `Vector` property of a type."""

    type: int
    label: str
    """The type and the property, for messages."""
    name: str
    dimension: int
    source: str | None
    """The property whose text is embedded, with `@embed`."""
    model: str | None
    """The only model that may embed it, if the schema names one."""
    is_declared: bool = True
    """False if no schema declares the type; every array with the right number of items is then a
    vector."""


class VectorColumns:
    """The vectors of all `Vector` properties of one store. Several threads may use it at once."""

    def __init__(self, store: Store, passages: Callable[[], PassageIndex]) -> None:
        self._store: Final = store
        self._passages: Final = passages
        self._lock: Final = Lock()
        self._matrices: Final[dict[tuple[Column, int], VectorMatrix]] = {}
        self._unsaved: Final[dict[Column, dict[int, PropertyVector]]] = {}

    def prepare(self, of: VectorProperty, deadline: float = inf) -> None:
        """Make and store the missing vectors of a property; the caller must hold no open reader.

        Raises:
            ConstraintViolation: the embedder in use does not make vectors of this property.
            EmbedderFailed: the embedder failed; the vectors made before are stored.
            ExecutionTimeout: the deadline (`time.monotonic`) has passed; the same.
        """
        if self._store.location.readonly:
            return
        column = self._column(of)
        with self._store.reading() as reader:
            matrix = self._matrices.get((column, of.dimension))
            changed = None if matrix is None else passages.changed_since(reader, matrix.seq)
            missing = [
                source_row.element
                for source_row in property_vectors.missing(reader, column, changed)
            ]
        size = STORED_TOGETHER if of.source is None else EMBEDDED_AT_ONCE_MAX
        for at in range(0, len(missing), size):
            if monotonic() > deadline:
                raise _late(of, at, len(missing))
            with self._store.reading() as reader:
                vectors = self._make_vectors(reader, of, missing[at : at + size])
            self._store.derive(keep, column, vectors)

    def matrix(self, reader: Reader, of: VectorProperty) -> VectorMatrix:
        """All vectors of a property in the state of a reader; missing vectors are made.

        Raises:
            ConstraintViolation, EmbedderFailed, ExecutionTimeout: as `prepare`.
        """
        column = self._column(of)
        with self._lock:
            seq = passages.last_entry(reader)
            current = self._matrices.get((column, of.dimension))
            if current is not None and current.seq == seq:
                return current
            changed = None if current is None else passages.changed_since(reader, current.seq)
            vectors = self._read_vectors(reader, of, column, changed)
            if current is None or changed is None:
                matrix = built(seq, of.dimension, vectors)
            else:
                matrix = current.changed(seq, changed, vectors)
            self._matrices[column, of.dimension] = matrix
            return matrix

    def vectors(self, reader: Reader, of: VectorProperty, numbers: Sequence[int]) -> Floats:
        """The vectors of concepts that are in the matrix of a property, in the same order."""
        with self._lock:
            by_number = dict(self._read_vectors(reader, of, self._column(of), numbers))
        rows = np.frombuffer(b"".join(by_number[number] for number in numbers), "<f4")
        return rows.reshape(len(numbers), of.dimension)

    def vector(self, reader: Reader, of: VectorProperty, number: int) -> list[float] | None:
        """The vector of one concept; None if it has none."""
        with self._lock:
            by_number = dict(self._read_vectors(reader, of, self._column(of), [number]))
        return np.frombuffer(by_number[number], "<f4").tolist() if number in by_number else None

    def complete(self) -> None:
        """Make the vectors of all properties with `@embed` that the embedder in use can make."""
        embedder = self._passages().embedder
        with self._store.reading() as reader:
            vector_properties = [
                prop
                for prop in _embedded(reader)
                if prop.model in (None, embedder.name) and prop.dimension == embedder.dimensions
            ]
        for prop in vector_properties:
            self.prepare(prop)

    def misfits(self) -> list[str]:
        """Sentences about properties with `@embed` of another size than the embedder makes."""
        with self._store.reading() as reader:
            embedded = list(_embedded(reader))
        embedder = self._passages().embedder
        return [
            f"{_misfit(prop, embedder)} {_way_out(prop, embedder)}"
            for prop in embedded
            if prop.model in (None, embedder.name) and prop.dimension != embedder.dimensions
        ]

    def _column(self, of: VectorProperty) -> Column:
        model = "" if of.source is None else self._embedder(of).embedder.name
        return Column(model, of.type, of.name)

    def _embedder(self, of: VectorProperty) -> PassageIndex:
        """The passages whose embedder makes the vectors of a property."""
        passages = self._passages()
        name, dimensions = passages.embedder.name, passages.embedder.dimensions
        if of.model not in (None, name):
            raise ConstraintViolation(
                f"{of.label} is made by the model {of.model!r}, and the embedder in use is"
                f" {name!r}: vectors of two models do not compare.",
                hint="Choose that model with `mycel embed use`, or declare another in @embed.",
            )
        if of.dimension != dimensions:
            raise ConstraintViolation(
                _misfit(of, passages.embedder), hint=_way_out(of, passages.embedder)
            )
        return passages

    def _read_vectors(
        self,
        reader: Reader,
        of: VectorProperty,
        column: Column,
        numbers: Collection[int] | None,
    ) -> Iterator[tuple[int, bytes]]:
        """The vectors of all concepts that have one, or of the concepts with these numbers."""
        size = 4 * of.dimension
        unread = None if numbers is None else set(numbers)
        for number, vector in property_vectors.stored(reader, column, numbers):
            if unread is not None:
                unread.discard(number)
            if len(vector) == size:
                yield number, vector
        if unread is not None and not unread:
            return
        unsaved = self._unsaved.setdefault(column, {})
        missing = {
            source_row.element: source_row.seq
            for source_row in property_vectors.missing(reader, column, unread)
        }
        new = [
            number
            for number, seq in missing.items()
            if number not in unsaved or unsaved[number].seq != seq
        ]
        for at in range(0, len(new), EMBEDDED_AT_ONCE_MAX):
            if monotonic() > reader.deadline:
                raise _late(of, at, len(new))
            some = self._make_vectors(reader, of, new[at : at + EMBEDDED_AT_ONCE_MAX])
            unsaved |= {property_vector.element: property_vector for property_vector in some}
        for number in missing:
            if len(unsaved[number].vector) == size:
                yield number, unsaved[number].vector

    def _make_vectors(
        self, reader: Reader, of: VectorProperty, numbers: Collection[int]
    ) -> list[PropertyVector]:
        """The vectors of concepts, from their records or their texts."""
        rows: list[PropertyVector] = []
        texts: list[tuple[SourceRow, str]] = []
        for source_row in passages.sources(reader, numbers):
            attributes = parse_object(source_row.attributes)
            written, text = attributes.get(of.name), attributes.get(of.source or "")
            if isinstance(written, list) and is_vector(written):
                rows.append(_property_vector(source_row, np.array(written, np.float32)))
            elif of.source is not None and isinstance(text, str) and text:
                texts.append((source_row, text))
            else:
                rows.append(PropertyVector(source_row.element, source_row.seq, b""))
        if texts:
            vectors = self._embedder(of).text_vectors([text for _, text in texts])
            pairs = zip(texts, vectors, strict=True)
            rows += [_property_vector(source, vector) for (source, _), vector in pairs]
        return rows


def is_vector(value: object) -> bool:
    """True for an array of numbers that are all in the range of f32."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(type(number) in (int, float) and abs(number) <= F32_MAX for number in value)
    )


def vector_property(
    reader: Reader, type_name: str, name: str, dimension: int | None = None
) -> VectorProperty:
    """The `Vector` property with this type, as KIP names it, and this name.

    With `dimension`, an attribute of a type that no schema declares may be one.

    Raises:
        TypeMismatch: there is no such type.
        ConstraintViolation: the type has no such property, or it is no vector.
    """
    number = reader.type_number(type_name)
    node_type = declaration(summary.definition(reader, CONCEPT_TYPE_NUMBER, type_name))
    if node_type is None and dimension is not None:
        label = f"{type_name}.{name}"
        return VectorProperty(number, label, name, dimension, None, None, is_declared=False)
    properties = node_type.properties if isinstance(node_type, NodeType) else ()
    vectors = [property_.name for property_ in properties if property_.type.scalar == "Vector"]
    property_ = next((property_ for property_ in properties if property_.name == name), None)
    if property_ is not None and name in vectors:
        return _property(number, type_name, property_)
    if property_ is not None:
        problem = f"{type_name}.{name} is {property_.type}, and no vector."
    else:
        problem = f"{type_name} declares no property {shorten(name)!r}."
    hint = did_you_mean(name, vectors) or (
        f"Its vectors are {', '.join(vectors)}."
        if vectors
        else f"Declare one in a schema: node {type_name} {{ embedding: Vector(128)? }}."
    )
    raise ConstraintViolation(problem, hint=hint)


def _embedded(reader: Reader) -> Iterator[VectorProperty]:
    """All properties with `@embed`."""
    for attributes in vocabulary.definitions_with(reader, PG):
        node_type = declaration(attributes)
        if isinstance(node_type, NodeType):
            number = reader.find_type(node_type.kip_name)
            for property_ in node_type.properties:
                if number is not None and property_.embed_source is not None:
                    yield _property(number, node_type.kip_name, property_)


def _property(number: int, type_name: str, prop: Property) -> VectorProperty:
    return VectorProperty(
        number,
        f"{type_name}.{prop.name}",
        prop.name,
        prop.type.dimension or 0,
        prop.embed_source,
        prop.embed_model,
    )


def _misfit(of: VectorProperty, embedder: Embedder) -> str:
    return (
        f"{of.label} has {of.dimension} dimensions, and the embedder in use, {embedder.name!r},"
        f" makes vectors of {embedder.dimensions}."
    )


def _way_out(of: VectorProperty, embedder: Embedder) -> str:
    return (
        "Choose another embedder with `mycel embed use`, or declare"
        f" {of.name}: Vector({embedder.dimensions})."
    )


def _late(of: VectorProperty, number: int, count: int) -> ExecutionTimeout:
    return ExecutionTimeout(
        f"{number} of {count} missing vectors of {of.label} were made in time.",
        hint="They are kept: ask again, or make all of them with `mycel embed rebuild`.",
    )


def _property_vector(source: SourceRow, vector: Floats) -> PropertyVector:
    return PropertyVector(source.element, source.seq, vector.astype("<f4").tobytes())
