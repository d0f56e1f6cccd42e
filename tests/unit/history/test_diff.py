"""Differences: each element that differs, each of its values, and texts by their lines."""

from collections.abc import Iterator

import pytest

import mycel
from mycel.errors import InvalidValueType
from mycel.store.query.diff import ABSENT
from tests.unit.store.given import TickingClock


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with mycel.open(clock_us=TickingClock(), core_capsules=False) as graph:
        with graph.transaction() as tx:
            tx.define_type("Concept")
            tx.define_predicate("uses")
            for name in ("a", "a/x", "b"):
                tx.put_concept("Concept", f"concept://w/{name}", {"content": "one\ntwo\nthree\n"})
            tx.put_proposition("concept://w/a", "uses", "concept://w/b")
        graph.history.tag("start")
        yield graph


def told(diff: mycel.Diff) -> list[tuple[str, str]]:
    return [(each.kind, each.label) for each in diff.elements]


def test_elements_are_added_removed_changed_and_moved(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concept("Concept", "concept://w/new", {"n": 1}, {"source": "s"})
        tx.retire("concept://w/a/x", reason="no longer")
        tx.update("concept://w/a", attributes={"n": 2}, drop_attributes=["content"])
        tx.move("concept://w/b", name="concept://w/c")
        link = tx.get_edge("concept://w/a", "uses", "concept://w/c")
        tx.update(link, weight=0.25)  # type: ignore[arg-type]
    found = db.history.diff("start")
    assert told(found) == [
        ("changed", "concept://w/a"),
        ("removed", "concept://w/a/x"),
        ("moved", "concept://w/c"),
        ("added", "concept://w/new"),
        ("changed", "concept://w/a -uses-> concept://w/c"),
    ]
    assert found.counts == {"added": 1, "removed": 1, "changed": 2, "moved": 1}
    assert [tuple(each) for each in found.elements[0].values] == [
        ("attributes", "content", "one\ntwo\nthree\n", ABSENT),
        ("attributes", "n", ABSENT, 2),
    ]
    assert [tuple(each) for each in found.elements[2].values] == [
        ("name", "", "concept://w/b", "concept://w/c")
    ]
    assert [tuple(each) for each in found.elements[4].values] == [("weight", "", 1.0, 0.25)]
    assert told(db.history.diff("start", "start")) == []
    back = db.history.diff(db.snapshot().entries, "start")
    assert [each.kind for each in back.elements] == [
        "changed",
        "added",
        "moved",
        "removed",
        "changed",
    ]
    wire = found.to_dict()["elements"][2]
    assert wire == {
        "change": "moved",
        "id": found.elements[2].element.id,
        "type": "Concept",
        "name": "concept://w/c",
        "values": [{"field": "name", "old": "concept://w/b", "new": "concept://w/c"}],
    }


def test_texts_differ_by_lines(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.update("concept://w/b", attributes={"content": "one\n2\nthree\n"}))
    (change,) = db.history.diff("start").elements
    assert change.values[0].lines() == ["@@ -1,3 +1,3 @@", " one", "-two", "+2", " three"]
    assert change.to_dict()["values"][0]["lines"][2:4] == ["-two", "+2"]


def test_what_changed_and_changed_back_is_no_difference(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.update("concept://w/b", attributes={"n": 1}))
    db.write(lambda tx: tx.update("concept://w/b", drop_attributes=["n"]))
    db.write(lambda tx: tx.retire("concept://w/a/x"))
    text = {"content": "one\ntwo\nthree\n"}
    db.write(lambda tx: tx.put_concept("Concept", "concept://w/a/x", text))
    assert not db.history.diff("start")
    db.write(lambda tx: tx.update("concept://w/b", attributes={"n": 1}))
    db.history.tag("whole")
    db.write(lambda tx: tx.update("concept://w/b", attributes={"n": 1.0}))
    assert [tuple(each)[2:] for each in db.history.diff("whole").elements[0].values] == [(1, 1.0)]


def test_paths_narrow_a_difference_and_a_link_is_where_its_subject_is(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        for name in ("a", "a/x", "b"):
            tx.update(f"concept://w/{name}", attributes={"n": 1})
        tx.put_proposition("concept://w/b", "uses", "concept://w/a")
        tx.put_concept("Concept", "concept://w/ab")
    a, x, b = (f"concept://w/{name}" for name in ("a", "a/x", "b"))
    linked = f"{b} -uses-> {a}"
    number = db.get(b).id
    for paths, labels in (
        ([a], [a, x]),
        (a, [a, x]),
        ([f"{a}/"], [a, x]),
        ([x, b], [x, b, linked]),
        ([number], [b]),
        (["kip:Concept"], [a, x, "concept://w/ab", b, linked]),
        (["concept://other"], []),
    ):
        assert [each.label for each in db.history.diff("start", paths=paths).elements] == labels
    for wrong in ([""], [5], ["/"]):
        with pytest.raises(InvalidValueType):
            db.history.diff("start", paths=wrong)


def test_what_was_purged_is_counted_and_not_shown(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.update("concept://w/a/x", attributes={"secret": "word"}))
    db.purge("concept://w/a/x", "asked for")
    found = db.history.diff("start")
    assert (told(found), found.purged) == ([], 1)
