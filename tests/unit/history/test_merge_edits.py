"""Edits of an earlier state are merged like a branch."""

from __future__ import annotations

from typing import Any

import pytest

import mycel
from mycel.errors import InvalidValueType, NotFound
from mycel.store.query.lineage import imports
from tests.unit.history.test_merge import _without_waiting, db, put
from tests.unit.history.test_merge_cases import at, content, write

__all__ = ("_without_waiting", "db")


def fact(name: str) -> dict[str, str]:
    return {"type": "Fact", "name": name}


def test_edits_of_an_earlier_state_are_merged_like_a_branch(db: mycel.Graph) -> None:
    write(db, [["link", "a", "b", 1.0]], "base")
    base = next(db.history.log(limit=1)).commit
    put(db, "a", x=2)
    put(db, "later", x=1)
    edits: list[dict[str, Any]] = [
        {"concept": fact("a"), "attributes": {"x": 1, "y": 5}, "to": {"name": "moved"}},
        {"concept": fact("new"), "attributes": {"z": 1}, "metadata": {"source": "file"}},
        {"concept": fact("later"), "attributes": {"y": 1}},
        {
            "link": {"subject": fact("new"), "predicate": "likes", "object": fact("a")},
            "weight": 0.5,
        },
        {
            "link": {
                "subject": fact("b"),
                "predicate": "likes",
                "object": {"type": "Concept", "name": "concept://t/nowhere"},
            }
        },
        {
            "link": {"subject": fact("a"), "predicate": "likes", "object": fact("b")},
            "removed": True,
        },
    ]
    done = db.merges.merge_changes(edits, base=base, source="mirror")
    found = content(db)
    assert (done.status, done.source, done.base) == ("merged", "mirror", (base,))
    assert found["moved"].attributes == {"x": 2, "y": 5}
    assert found["later"].attributes == {"x": 1, "y": 1}
    assert found["new"].metadata == {"source": "file"}
    assert found["new likes moved"].weight == 0.5
    assert {"a", "a likes b", "moved likes b"}.isdisjoint(found)
    assert "b likes concept://t/nowhere" in found
    assert db.merges.merge_changes([], base=base).status == "up_to_date"
    with db._store.reading() as reader:
        assert [mark[1:] for _, mark in imports(reader)] == [("mirror", base)]

    here = next(db.history.log(limit=1)).commit
    put(db, "moved", x=3)
    clash = db.merges.merge_changes([{"concept": fact("moved"), "attributes": {"x": 4}}], base=here)
    assert [each.path for each in clash.conflicts] == [("x",)]
    db.merges.resolve("*", "theirs")
    db.merges.commit()
    assert found["moved"].number == db.get(at("moved")).number
    assert db.get(at("moved")).attributes == {"x": 4}
    gone = db.merges.merge_changes([{"concept": fact("moved"), "removed": True}], base=here)
    assert [each.kind for each in gone.conflicts] == ["delete_modify"]


def test_edits_that_make_no_sense_are_refused_as_a_whole(db: mycel.Graph) -> None:
    before, here = db.snapshot(), next(db.history.log(limit=1)).commit
    wrong: list[Any] = [
        {"concept": fact("n"), "colour": 1},
        {"attributes": {}},
        {"concept": "n"},
        {"link": {"subject": fact("a")}},
        {"link": {"subject": fact("a"), "predicate": "likes", "object": fact("nobody")}},
        {"concept": fact("n"), "attributes": [1]},
        {"concept": fact("a"), "to": 5},
        {"link": {"subject": fact("a"), "predicate": "likes", "object": fact("b")}, "weight": "x"},
        "n",
    ]
    for edit in wrong:
        with pytest.raises((InvalidValueType, NotFound)):
            db.merges.merge_changes([{"concept": fact("ok")}, edit], base=here)
    assert db.snapshot() == before
