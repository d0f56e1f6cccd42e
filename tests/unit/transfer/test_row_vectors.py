"""Vectors that are made on the way in."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
import pytest

import mycel
from mycel.errors import ConstraintViolation, InvalidValueType
from mycel.transfer import load, pre_embed, row_spool, row_vectors
from tests.unit.transfer.conftest import attributes, refused

SCHEMA = """
node Note { id_: String @key  text: String?  title: String?
            vector: Vector(3)? @embed(text)  head: Vector(3)? @embed(title) }
node Must { text: String  vector: Vector(3) @embed(text) }
"""


class Lengths:
    """Gives each text a vector that tells its length, and remembers what it was asked."""

    name = "lengths"
    dimensions = 3

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.asked.append(list(texts))
        return numpy.array([[len(text), 1, 0] for text in texts], dtype=numpy.float32)


@pytest.fixture
def db() -> Iterator[mycel.Nexus]:
    with mycel.open(bootstrap=False) as db:
        db.schema.apply(SCHEMA)
        yield db


def note(name: str, **more: object) -> dict[str, object]:
    return {"type": "Note", "data": {"id_": name, **more}}


def test_absent_vectors_are_made_and_given_ones_are_kept(db: mycel.Nexus) -> None:
    rows = [
        note("a", text="four"),
        note("b", text="four", vector=[9, 9, 9]),
        note("c"),
        note("d", text="", title="two"),
    ]
    loaded = db.load(rows, embedder=Lengths())
    assert attributes(db, "Note", "a")["vector"] == [4.0, 1.0, 0.0]
    assert attributes(db, "Note", "b")["vector"] == [9.0, 9.0, 9.0]
    assert attributes(db, "Note", "c") == {"id_": "c"}
    assert attributes(db, "Note", "d") == {
        "id_": "d",
        "text": "",
        "title": "two",
        "head": [3.0, 1.0, 0.0],
    }
    assert loaded.warnings == ()
    assert rows[0] == note("a", text="four")


def test_the_embedder_of_the_graph_is_used_and_asked_in_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_vectors, "TEXTS_TOGETHER_MAX", 2)
    monkeypatch.setattr(pre_embed, "CHUNK_ROWS", 3)
    embedder = Lengths()
    with mycel.open(bootstrap=False, embedder=embedder) as db:
        db.schema.apply(SCHEMA)
        db.load([note(name, text=name) for name in "abcde"])
    assert embedder.asked == [["a", "b"], ["c"], ["d", "e"]]


def test_required_vectors_are_made_before_they_are_asked_for(db: mycel.Nexus) -> None:
    row = {"type": "Must", "id": "m", "data": {"text": "abc"}}
    error = refused(db, [{"type": "Must", "data": {"text": "a", "vector": [1, 2, 3]}}, row])
    assert isinstance(error, ConstraintViolation)
    assert "Must.vector is required" in error.message
    assert "embedder" in error.hint
    assert error.data["row"] == 2
    db.load([row], embedder=Lengths())
    assert attributes(db, "Must", "m")["vector"] == [3.0, 1.0, 0.0]


def test_without_an_embedder_one_warning_for_each_property_counts_the_rows(
    db: mycel.Nexus,
) -> None:
    rows = [note("a", text="x"), note("b", title="y"), note("c", text="z"), note("d", text="")]
    warnings = db.load(rows).warnings
    assert len(warnings) == 2
    assert "2 rows of Note have no 'vector'" in warnings[0]
    assert "1 row of Note has no 'head'" in warnings[1]
    assert db.load([note("e")]).warnings == (), "there is nothing to embed"


def test_vectors_that_do_not_fit_are_refused_before_anything_is_asked(db: mycel.Nexus) -> None:
    embedder = Lengths()
    embedder.dimensions = 4
    error = refused(db, [note("a", text="x")], embedder=embedder)
    assert "3 dimensions" in error.message
    assert "vectors of 4" in error.message
    assert embedder.asked == []


def test_an_embedder_that_gives_too_few_vectors_is_told(db: mycel.Nexus) -> None:
    class Lazy(Lengths):
        def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
            return super().embed(texts)[1:]

    error = refused(db, [note("a", text="x")], embedder=Lazy())
    assert isinstance(error, InvalidValueType)
    assert "0 vectors of 1 text." in error.message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "no list of vectors"),
        ([None], "no list of vectors"),
        ([1.0], "no list of vectors"),
        ([["a", "b", "c"]], "no list of vectors"),
        (5, "no list of vectors"),
        ([[1.0, 2.0]], "a vector of 2 numbers, and says that it makes 3"),
    ],
)
def test_an_embedder_that_gives_something_else_is_told(
    db: mycel.Nexus, given: Any, message: str
) -> None:
    class Wrong(Lengths):
        def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
            return given  # type: ignore[no-any-return]

    error = refused(db, [note("a", text="x")], embedder=Wrong())
    assert isinstance(error, InvalidValueType)
    assert message in error.message
    assert "one vector for each text" in error.hint


def test_in_a_merge_only_a_text_that_changes_is_embedded_again(db: mycel.Nexus) -> None:
    db.load([note("a", text="one"), note("b", text="two")], embedder=Lengths())
    embedder = Lengths()
    db.load(
        [note("a", text="one"), note("b", text="three"), note("b", title="t")],
        mode="merge",
        embedder=embedder,
    )
    assert embedder.asked == [["three", "t"]]
    assert attributes(db, "Note", "b")["vector"] == [5.0, 1.0, 0.0]


def test_rows_that_were_loaded_without_vectors_get_them_later(db: mycel.Nexus) -> None:
    rows = [note("a", text="one")]
    db.load(rows)
    assert db.load(rows, mode="merge", embedder=Lengths()).updated == 1
    assert attributes(db, "Note", "a")["vector"] == [3.0, 1.0, 0.0]


class Busy(Lengths):
    """Has something else to do in the graph before it answers."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__()
        self._work = work

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self._work()
        return super().embed(texts)


def test_others_write_while_an_embedder_thinks(db: mycel.Nexus) -> None:
    def work() -> None:
        db.write(lambda tx: tx.put_concept("Note", "other", {"text": "meanwhile"}))

    rows = ({**note(name, text=name)} for name in ("a", "bc"))  # They can be read only once.
    loaded = db.load(rows, embedder=Busy(work))
    assert loaded.created == 2
    assert attributes(db, "Note", "bc")["vector"] == [2.0, 1.0, 0.0]
    assert attributes(db, "Note", "other")["text"] == "meanwhile"
    assert db.verify().ok


def test_a_text_that_changes_meanwhile_still_gets_its_own_vector(db: mycel.Nexus) -> None:
    db.load([note("a", text="one"), note("b", text="two")], embedder=Lengths())
    changes = iter([{"text": "another", "vector": [7.0, 1.0, 0.0]}])

    def work() -> None:
        for change in changes:
            db.write(lambda tx, change=change: tx.put_concept("Note", "a", change))

    embedder = Busy(work)
    db.load([note("a", text="one"), note("b", text="three")], mode="merge", embedder=embedder)
    assert embedder.asked == [["three"], ["one"]]
    assert attributes(db, "Note", "a")["vector"] == [3.0, 1.0, 0.0]


def test_an_embedder_that_fails_leaves_nothing_behind(db: mycel.Nexus) -> None:
    def work() -> None:
        raise ConnectionError("no model there")

    before = db.snapshot()
    with pytest.raises(ConnectionError):
        db.load([note("a"), note("b", text="x")], embedder=Busy(work))
    assert db.snapshot() == before
    assert db.load([note("a")]).created == 1


def test_rows_that_wait_for_their_vectors_keep_their_order_lines_and_ids(
    db: mycel.Nexus, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.schema.apply(SCHEMA + "edge About: Note -> Must { at: F64? }")
    monkeypatch.setattr(pre_embed, "CHUNK_ROWS", 2)
    monkeypatch.setattr(row_spool, "MEMORY_BYTES_MAX", 10)
    rows: list[dict[str, Any]] = [
        {"edge": "About", "from": "a", "to": "m", "data": {"at": 1}},
        note("a", text="x"),
        {"type": "Must", "id": "m", "data": {"text": "abc"}},
        {"type": "Must", "data": {"text": "abcd"}},
    ]
    seen: list[load.Progress] = []
    loaded = db.load(rows, embedder=Lengths(), progress=seen.append)
    assert (loaded.concepts, loaded.links) == (3, 1)
    assert seen[-1].rows == 4
    made = db.execute('FIND(?m.name, ?m.attributes.vector) WHERE { ?m {type: "Must"} }').rows
    assert sorted(len(name) for name, _ in made) == [1, 26], "one has an id of its own"
    bad = [*rows, note("z", text="x", title=5)]
    error = refused(db, (each for each in bad), mode="merge", embedder=Lengths())
    assert error.data["row"] == 5, "though it can be read only once"


def test_an_edge_that_waits_is_judged_as_one_that_does_not(db: mycel.Nexus) -> None:
    db.schema.apply(SCHEMA + "edge About: Note -> Note { at: F64? }")
    edge = {"edge": "About", "from": "a", "to": "b", "data": {"at": float("nan")}}
    nodes = [note("a"), note("b")]
    first, last = refused(db, [edge, *nodes]), refused(db, [*nodes, edge])
    assert "nan is no JSON number" in first.message
    assert first.message.partition(": ")[2] == last.message.partition(": ")[2]
