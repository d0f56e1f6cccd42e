"""NEAREST: concepts by the vectors of a property."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mycel
from mycel.errors import ConstraintViolation, InvalidSyntax, InvalidValueType, MycelError
from mycel.search.evidence import highest
from mycel.search.index import vector_matrix
from mycel.search.index.vector_matrix import Floats, VectorMatrix, built
from tests.prepared import NEW

SCHEMA = """
node Page { title: String @key  text: String?  at: Vector(4)?
            meaning: Vector(128)? @embed(text) }
"""


def nearest(db: mycel.Graph, to: Any, by: str = "at", more: str = "", **bound: Any) -> list[str]:
    command = f'NEAREST CONCEPT TO :to WITH TYPE "Page" BY :by {more}'
    hits = db.execute(command, {"to": to, "by": by, **bound}).value
    assert all(-1 <= hit["metadata"]["_score"] <= 1 for hit in hits)
    return [hit["name"] for hit in hits]


def directions(count: int, dimension: int, seed: int = 1) -> Floats:
    made: Floats = np.random.default_rng(seed).standard_normal((count, dimension), np.float32)
    return made


def test_answers_equal_a_comparison_with_every_vector_and_follow_each_write(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    vectors = directions(60, 4)
    rows = [
        {
            "type": "Page",
            "data": {"title": f"{at:02}", "at": each.tolist()},
            "metadata": {"odd": at % 2},
        }
        for at, each in enumerate(vectors)
    ]

    def expected(to: Floats, places: list[int]) -> list[str]:
        units = vectors[places] / np.linalg.norm(vectors[places], axis=1)[:, None]
        return [f"{places[at]:02}" for at in np.argsort(-(units @ to))[:10]]

    with mycel.open(path) as db, mycel.open(path) as other:
        db.schema.apply(SCHEMA)
        db.load(rows)
        before = db.snapshot()
        for to in directions(3, 4, 2):
            assert nearest(db, to.tolist()) == expected(to, list(range(60)))
            odd = nearest(db, to.tolist(), more="METADATA {odd: 1}")
            assert odd == expected(to, list(range(1, 60, 2)))
        assert nearest(db, [1, 0, 0, 0], more='ACTOR "nobody"') == []
        assert nearest(db, [1, 0, 0, 0], more='UNDER "kip:Page" SINCE "2000-01-01" LIMIT 3')
        assert db.snapshot() == before
        db.write(lambda tx: tx.put_concept("Page", "07", {"at": [0, 0, 0, 9]}))
        for graph in (db, other):
            assert nearest(graph, [0, 0, 0, 1], more="LIMIT 1") == ["07"]
        other.write(lambda tx: tx.retire(tx.get_concept("Page", "07").id, reason="gone"))
        assert "07" not in nearest(db, [0, 0, 0, 1], more="LIMIT 1000")
    with mycel.open(path, readonly=True) as db:
        assert len(nearest(db, [0, 0, 0, 1], more="LIMIT 1000")) == 59


def test_a_text_is_compared_with_texts_as_they_are_now() -> None:
    with NEW.opened() as db:
        db.schema.apply(SCHEMA)
        for name, text in (("ferry", "Boats leave every hour."), ("cook", "He bakes bread.")):
            db.write(lambda tx, n=name, t=text: tx.put_concept("Page", n, {"text": t}))
        assert nearest(db, "ship departures", "meaning")[0] == "ferry"
        swap = 'UPDATE ?p SET ATTRIBUTES {text: :t} WHERE { ?p {type: "Page", name: :n} }'
        db.execute(swap, {"n": "ferry", "t": "A loaf of rye."})
        db.execute(swap, {"n": "cook", "t": "Vessels in the port."})
        assert nearest(db, "ship departures", "meaning")[0] == "cook"
        same = db.embeddings.vector(("Page", "cook"), "meaning")
        assert nearest(db, same, "meaning", "THRESHOLD 0.99") == ["cook"]


def test_vectors_and_properties_that_do_not_fit_are_refused_with_what_to_do() -> None:
    with NEW.opened() as db:
        db.schema.apply(SCHEMA)
        db.load([{"type": "Page", "data": {"title": "a", "text": "t", "at": [1, 0, 0, 0]}}])
        wrong: list[tuple[Any, str, type[MycelError], str]] = [
            ([1, 2], "at", ConstraintViolation, "vectors of 4 numbers, and this one has 2"),
            ([0, 0, 0, 0], "at", ConstraintViolation, "zeros has no direction"),
            ([1, 0, 0, float("nan")], "at", InvalidValueType, "nan"),
            (
                [1, 0, 0, 1e300],
                "at",
                InvalidValueType,
                "holds 1e+300; a number of",
            ),
            ([], "at", InvalidValueType, "not with an array"),
            ({"a": 1}, "at", InvalidValueType, "not with an object"),
            (None, "at", InvalidValueType, "not with null"),
            ([1, 0, 0, True], "at", InvalidValueType, "not with an array"),
            ([1, 0, 0, 0], "text", ConstraintViolation, "Page.text is String?, and no vector"),
            ([1, 0, 0, 0], "att", ConstraintViolation, "declares no property 'att'"),
            ("words", "at", InvalidValueType, "no text can be compared"),
        ]
        for to, by, error, message in wrong:
            with pytest.raises(error) as refused:
                nearest(db, to, by)
            assert message in refused.value.message
            assert refused.value.hint
        with pytest.raises(InvalidSyntax, match="NEAREST CONCEPT TO"):
            db.execute("NEAREST CONCEPT [1, 2]")
        plan = db.execute('EXPLAIN NEAREST CONCEPT TO [1,0,0,0] BY "at" WITH TYPE "Page"').value
        assert plan["command"].startswith("NEAREST CONCEPT TO [1, 0, 0, 0]")
        answer = db.request({"command": "NEAREST CONCEPT TO :v", "dry_run": True})
        assert answer["error"]["code"] == "KIP_1001"


def test_codes_find_the_nearest_of_many_and_follow_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_matrix, "EXACT_MAX", 1_000)
    monkeypatch.setattr(vector_matrix, "NUMBERS_MAX", 0)
    monkeypatch.setattr(vector_matrix, "RESCORED_MIN", 800)  # One in 25, as 4,000 of 100,000.
    count, dimension = 20_000, 36
    vectors = directions(count, dimension)
    units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    whole = dict(enumerate(each.tobytes() for each in vectors))

    def read(numbers: Any) -> Floats:
        rows = np.frombuffer(b"".join(whole[number] for number in numbers), "<f4")
        return rows.reshape(-1, dimension)

    def found(matrix: VectorMatrix, to: Floats, **more: Any) -> list[int]:
        return [number for number, _ in matrix.nearest(to, 10, read, **more)]

    matrix = built(1, dimension, whole.items())
    assert matrix.vectors is None
    hits = 0
    for to in directions(20, dimension, 3):
        hits += len({*found(matrix, to)} & set(np.argsort(-(units @ to))[:10].tolist()))
    assert hits >= 0.95 * 200
    allowed = np.arange(count) % 100 == 7
    few = np.flatnonzero(allowed)
    to = directions(1, dimension, 4)[0]
    assert found(matrix, to, allowed=allowed) == few[np.argsort(-(units[few] @ to))[:10]].tolist()
    whole[5], whole[count] = to.tobytes(), (-to).tobytes()
    changed = matrix.changed(2, [5, 6, count], [(5, whole[5]), (count, whole[count])])
    assert found(changed, to)[0] == 5
    assert found(changed, -to)[0] == count
    assert 6 not in changed.numbers
    small = built(1, dimension, list(whole.items())[:999]).changed(2, [], list(whole.items())[999:])
    assert small.vectors is None, "it has grown beyond what is kept whole"
    assert found(small, to)[0] == 5


def test_equal_values_are_chosen_by_number_in_whatever_order_they_were_read() -> None:
    vectors = np.tile(np.array([0.6, 0.8], np.float32), (40, 1))
    for numbers in (range(2, 82, 2), range(80, 0, -2)):
        matrix = VectorMatrix(1, np.fromiter(numbers, np.int64), vectors, None)
        pairs = matrix.nearest(np.array([1, 0], np.float32), 5, lambda _: vectors)
        assert [number for number, _ in pairs] == [2, 4, 6, 8, 10]
        places = highest(np.full(40, 0.5, np.float32), 5, matrix.numbers)
        assert matrix.numbers[places].tolist() == [2, 4, 6, 8, 10]
