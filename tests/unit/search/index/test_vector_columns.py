"""Vectors of `@embed` are derived: fresh after every write, through every door, in no record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy
import pytest

import mycel
from mycel.errors import ConstraintViolation, EmbedderFailed, NotFound

SCHEMA = """
node Note { id_: String @key  text: String?  title: String?
            vector: Vector(3)? @embed(text)  head: Vector(3)? @embed(title)  own: Vector(2)? }
node Must { text: String  vector: Vector(3) @embed(text) }
"""


class Lengths:
    """Gives each text a vector that tells its length, and remembers what it was asked."""

    name = "lengths"
    dimensions = 3

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.asked += texts
        return numpy.array([[len(text), 1, 0] for text in texts], dtype=numpy.float32)


def opened(path: Path | None = None, embedder: object = None) -> mycel.Graph:
    db = mycel.open(path or ":memory:", embedder=embedder or Lengths(), clock_us=lambda: 10**15)
    db.schema.apply(SCHEMA)
    return db


def row(name: str, **more: object) -> dict[str, object]:
    return {"type": "Note", "data": {"id_": name, **more}}


def test_vectors_are_fresh_after_every_write_through_every_door_and_move_no_root(
    tmp_path: Path,
) -> None:
    ref = ("Note", "n")
    doors: list[tuple[str, Callable[[mycel.Graph, str], object]]] = [
        ("load", lambda db, text: db.load([row("n", text=text)], mode="merge")),
        (
            "transaction",
            lambda db, text: db.write(lambda tx: tx.put_concept("Note", "n", {"text": text})),
        ),
        (
            "UPSERT",
            lambda db, text: db.execute(
                'UPSERT { CONCEPT ?n { {type: "Note", name: "n"} SET ATTRIBUTES {text: :t} } }',
                {"t": text},
            ),
        ),
        (
            "UPDATE",
            lambda db, text: db.execute(
                'UPDATE ?n SET ATTRIBUTES {text: :t} WHERE { ?n {type: "Note", name: "n"} }',
                {"t": text},
            ),
        ),
    ]
    lengths = []
    with opened(tmp_path / "a.db") as db, opened(tmp_path / "b.db") as without:
        for at, (door, write) in enumerate(doors):
            write(db, "x" * (at + 1))
            write(without, "x" * (at + 1))
            before = db.snapshot()
            assert before == without.snapshot()
            found = db.embeddings.vector(ref, "vector")
            assert found is not None
            lengths.append(found[0])
            assert "vector" not in db.get(ref).attributes, door
            assert db.snapshot() == before
            if at == 1:
                db.history.tag("two")
                without.history.tag("two")
        assert lengths == [1, 2, 3, 4]
        db.history.rollback("two")
        assert db.embeddings.vector(ref, "vector") == [2.0, 1.0, 0.0]
        db.write(lambda tx: tx.put_concept("Note", "n", {"text": None}))
        assert db.embeddings.vector(ref, "vector") is None
        assert db.verify(replay=True).problems == ()


def test_a_vector_that_was_written_is_data_and_counts_before_a_derived_one() -> None:
    with opened() as db:
        db.load([row("n", text="four", vector=[9, 9, 9], own=[1, 2])])
        assert db.get(("Note", "n")).attributes["vector"] == [9.0, 9.0, 9.0]
        assert db.embeddings.vector(("Note", "n"), "vector") == [9.0, 9.0, 9.0]
        assert db.embeddings.vector(("Note", "n"), "own") == [1.0, 2.0]
        assert db.embeddings.vector(("Note", "n"), "head") is None
        db.write(lambda tx: tx.put_concept("Note", "n", {"vector": None}))
        assert db.embeddings.vector(("Note", "n"), "vector") == [4.0, 1.0, 0.0]


def test_no_record_needs_a_derived_vector_even_if_it_is_declared_without_a_question_mark() -> None:
    with opened() as db:
        db.write(lambda tx: tx.put_concept("Must", "m", {"text": "abc"}))
        db.load([{"type": "Must", "id": "o", "data": {"text": "ab"}}])
        assert db.embeddings.vector(("Must", "m"), "vector") == [3.0, 1.0, 0.0]
        assert db.embeddings.vector(("Must", "o"), "vector") == [2.0, 1.0, 0.0]


def test_another_embedder_makes_all_vectors_anew_and_a_purge_leaves_none(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"

    def count(db: mycel.Graph) -> int:
        with db.reading() as reader:
            (found,) = reader.fetch_one("SELECT count(*) FROM recall_property WHERE length(vector)")
        return int(found)

    with mycel.open(path) as db:
        db.schema.apply("node Page { title: String @key  vector: Vector(128)? @embed(title) }")
        db.load([{"type": "Page", "data": {"title": title}} for title in ("one", "two")])
        db.embeddings.use("static")
        assert count(db) == 2
        before = db.embeddings.vector(("Page", "one"), "vector")
        db.embeddings.rebuild()
        assert count(db) == 2
        assert db.embeddings.vector(("Page", "one"), "vector") == before
        db.purge(("Page", "one"), reason="asked for")
        assert count(db) == 1
    embedder = Lengths()
    embedder.dimensions = 128
    embedder.embed = lambda texts: numpy.ones((len(texts), 128))  # type: ignore[method-assign]
    with mycel.open(path, embedder=embedder) as db:
        assert db.embeddings.vector(("Page", "two"), "vector") == [1.0] * 128


def test_a_vector_that_cannot_be_is_told_with_what_to_do(tmp_path: Path) -> None:
    class Broken(Lengths):
        def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
            raise ConnectionError("no model there")

    schema = SCHEMA + 'node Far { text: String @key  vector: Vector(3)? @embed(text, model="far") }'
    with opened(tmp_path / "g.db") as db:
        db.schema.apply(schema)
    with mycel.open(tmp_path / "g.db") as db:  # The model inside the package makes 128 numbers.
        db.load([row("n", text="four"), {"type": "Far", "data": {"text": "f"}}])
        for ref, name, message in (
            (("Note", "n"), "vector", "has 3 dimensions, and the embedder in use"),
            (("Far", "f"), "vector", "is made by the model 'far'"),
            (("Note", "n"), "text", "Note.text is String?, and no vector"),
            (("Note", "n"), "vectr", "Note declares no property 'vectr'"),
        ):
            with pytest.raises(ConstraintViolation) as refused:
                db.embeddings.vector(ref, name)
            assert message in refused.value.message
            assert refused.value.hint
        with pytest.raises(NotFound):
            db.embeddings.vector(("Note", "nobody"), "vector")
    with opened(embedder=Broken()) as db:
        db.load([row("n", text="four")])
        before = db.snapshot()
        with pytest.raises(EmbedderFailed, match="no model there"):
            db.embeddings.vector(("Note", "n"), "vector")
        assert db.snapshot() == before


def test_a_vector_of_another_size_than_the_embedder_makes_is_refused_with_the_schema(
    tmp_path: Path,
) -> None:
    with mycel.open(tmp_path / "g.db", embedder=Lengths()) as db:
        wrong = "node Note { text: String?  vector: Vector(64)? @embed(text) }"
        for door in (db.schema.apply, db.schema.plan):
            with pytest.raises(ConstraintViolation) as caught:
                door(wrong)
            assert "64 dimensions" in caught.value.message
            assert "makes vectors of 3" in caught.value.message
            assert "Vector(3)" in caught.value.hint
        assert db.schema.catalog.node("Note") is None
        # Vectors of its own, and those of a model that is named, are no matter of this embedder.
        assert db.schema.apply(wrong.replace("@embed(text)", "")).applied
        assert db.schema.apply(wrong.replace("(text)", '(text, model="other")')).applied
        db.schema.apply("", allow_removals=True, allow_data_loss=True)
        assert db.schema.apply(wrong.replace("64", "3")).applied
        db.load([{"type": "Note", "data": {"text": "tea"}}])

    class Shorter(Lengths):
        name, dimensions = "shorter", 2

    with mycel.open(tmp_path / "g.db", embedder=Shorter()) as db:
        # Another embedder is told with the next rows, and what is in force may be applied again.
        (warning,) = db.load([{"type": "Note", "data": {"text": "milk"}}]).warnings
        assert "3 dimensions" in warning
        assert "vectors of 2" in warning
        assert db.schema.apply(wrong.replace("64", "3")).supported
