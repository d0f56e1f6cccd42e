"""The vectors of a graph: their state, the choice of the embedder, and a rebuild."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from mycel.errors import ConstraintViolation, EmbedderFailed, NotFound
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.schema.catalog import Catalog
from mycel.schema.model import Property
from mycel.search.index.search_index import SearchIndex
from mycel.search.index.setting import choose
from mycel.store.database import Store
from mycel.store.index import property_vectors
from mycel.store.index.passages import forget_vectors
from mycel.store.query import passages
from mycel.store.query.refs import Ref

EmbeddingReport = Callable[[int, int], object]
"""A function that is called with the number of vectors made so far, and the number of all."""


class EmbeddingStatus(NamedTuple):
    """The vectors of a graph by the embedder in use."""

    embedder: str
    """The name by which the embedder was chosen."""
    model: str | None
    """The identity of the vectors of the embedder; None if it cannot be used."""
    dimensions: int | None
    embedded: int
    """The number of concepts with a vector of their present text."""
    pending: int
    bytes: int
    """The size of the stored vectors."""
    error: str | None
    """The reason why the embedder cannot be used."""


class Embeddings:
    """The operations of `db.embeddings` and `mycel embed`."""

    def __init__(self, store: Store, index: SearchIndex) -> None:
        self._store: Final = store
        self._index: Final = index

    @property
    def choice(self) -> str:
        """The name by which the embedder was chosen."""
        return self._index.choice

    def pending(self) -> int:
        """The number of concepts that the next search by meaning would derive first, at most.

        Raises:
            EmbedderFailed: the embedder cannot be used.
        """
        current = self._index.get()
        with self._store.reading() as reader:
            return current.pending(reader)

    def status(self) -> EmbeddingStatus:
        """The embedder in use, and how much is embedded.

        If the embedder is a server, it is asked for its dimensions.
        """
        choice = self._index.choice
        model = mark = dimensions = error = None
        try:
            current = self._index.get()
            model, mark = current.embedder.name, current.mark
            dimensions = current.embedder.dimensions
        except EmbedderFailed as failed:
            error = failed.message
        with self._store.reading() as reader:
            pending = len(passages.without_vector(reader, mark or ""))
            total = len(passages.sought(reader))
            _, size = passages.vector_bytes(reader, mark or "")
        return EmbeddingStatus(choice, model, dimensions, total - pending, pending, size, error)

    def use(self, name: str, *, report: EmbeddingReport | None = None) -> EmbeddingStatus:
        """Choose an embedder for this graph in every process, and embed everything with it.

        `name` is one of `embedding.choice`. The embedder is tried first, and is not chosen if it
        does not work. Vectors of other models are removed at the end.

        Raises:
            InvalidValueType: there is no such embedder.
            EmbedderFailed: the embedder does not work.
            ConstraintViolation: an embedder was given when the graph was opened.
            DatabaseReadOnly: the folder of the graph cannot be written.
        """
        from mycel.embedding.choice import embedder_named  # noqa: PLC0415 - it brings numpy
        from mycel.embedding.vectors import checked_vectors  # noqa: PLC0415 - as above

        if self._index.is_given:
            raise ConstraintViolation(
                "This graph was opened with an embedder of its own.",
                hint="Open it without `embedder` to choose one for all.",
            )
        checked_vectors(embedder_named(name), ["a first text"])
        choose(self._store, name)
        current = self._index.get()
        current.complete(report)
        self._store.maintain(forget_vectors, but=current.mark)
        self._store.maintain(property_vectors.forget, but=current.embedder.name)
        self._index.columns().complete()
        return self.status()

    def check_schema(self, before: Catalog, desired: Catalog) -> None:
        """Refuse new properties with `@embed` whose vectors the embedder in use does not make.

        If the embedder does not answer, no further property is checked.

        Raises:
            ConstraintViolation: the embedder makes vectors of another size.
        """
        vectors_before = {_embedded_vector(*prop) for prop in _with_embed(before)}
        new = [
            prop for prop in _with_embed(desired) if _embedded_vector(*prop) not in vectors_before
        ]
        if not new:
            return
        with suppress(EmbedderFailed):
            embedder = self._index.get().embedder
            for owner, vector in new:
                misfit = vector.type.dimension != embedder.dimensions
                if misfit and vector.embed_model in (None, embedder.name):
                    raise ConstraintViolation(
                        f"{owner}.{vector.name} has {vector.type.dimension} dimensions, and the"
                        f" embedder in use, {embedder.name!r}, makes vectors of"
                        f" {embedder.dimensions}.",
                        hint=f"Declare {vector.name}: Vector({embedder.dimensions}), choose"
                        " another embedder with `mycel embed use`, or name the model that makes"
                        f' them: @embed({vector.embed_source}, model="…").',
                    )

    def misfits(self, schema: Catalog) -> list[str]:
        """Sentences about properties with `@embed` for which the embedder makes no vectors."""
        if not any(True for _ in _with_embed(schema)):
            return []
        with suppress(EmbedderFailed):
            return self._index.columns().misfits()
        return []

    def vector(self, ref: Ref, property: str) -> list[float] | None:  # noqa: A002 - the word for it
        """The vector of a concept: from its record, or else made from the text of `@embed`.

        None if it has neither.

        Raises:
            NotFound: there is no such concept.
            ConstraintViolation: the property is no vector, or the embedder in use does not make it.
            EmbedderFailed: the embedder failed.
        """
        from mycel.search.index.vector_columns import vector_property  # noqa: PLC0415 - as above

        with self._store.reading() as reader:
            number = reader.number(ref)
            element = reader.element(number)
            if not isinstance(element, Concept):
                raise NotFound(f"There is no concept {shorten(str(ref))!r}.")
            of = vector_property(reader, element.type, property)
            return self._index.columns().vector(reader, of, number)

    def complete(self, *, report: EmbeddingReport | None = None) -> None:
        """Derive the passages and vectors that the next search by meaning would derive first.

        Raises:
            EmbedderFailed: the embedder does not work.
        """
        self._index.get().complete(report)

    def rebuild(self, *, report: EmbeddingReport | None = None) -> EmbeddingStatus:
        """Make all vectors of the embedder in use again.

        Raises:
            EmbedderFailed: the embedder does not work.
        """
        self._store.maintain(forget_vectors, model=self._index.get().mark)
        self._store.maintain(property_vectors.forget)
        self._index.reset()
        self._index.get().complete(report, sections=True)
        self._index.columns().complete()
        return self.status()


def _with_embed(schema: Catalog) -> Iterator[tuple[str, Property]]:
    """The properties of nodes with `@embed`, each after the name of its type."""
    for node in schema.nodes.values():
        for prop in node.properties:
            if prop.embed_source is not None:
                yield node.name, prop


def _embedded_vector(owner: str, prop: Property) -> tuple[str, str, int | None, str | None]:
    return owner, prop.name, prop.type.dimension, prop.embed_model
