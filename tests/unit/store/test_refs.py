"""Ids of links at every door: the whole text names a link, and its number alone does not."""

from collections.abc import Callable

import pytest

import mycel
from mycel.errors import MycelError, NotFound


@pytest.fixture
def db() -> mycel.Nexus:
    db = mycel.open(":memory:", actor="tester", bootstrap=False)
    with db.transaction() as tx:
        tx.define_type("Town")
        for predicate in ("near", "feeds", "notes"):
            tx.define_predicate(predicate)
        a, b, c = (tx.put_concept("Town", name) for name in "abc")
        link = tx.put_proposition(a, "near", b)
        tx.put_proposition(link, "notes", c)
    return db


def ids_of(db: mycel.Nexus) -> tuple[str, str]:
    """The id of the link, and the same number with the predicate of another one."""
    (link,) = db.execute('FIND(?l.id) WHERE { ?l (?a, "near", ?b) }').value
    return link, link.replace("near", "feeds")


def town(db: mycel.Nexus, name: str) -> str:
    (found,) = db.execute('FIND(?t.id) WHERE { ?t {type: "Town", name: :name} }', name=name).value
    return str(found)


Door = Callable[[mycel.Nexus, str], object]
DOORS: dict[str, Door] = {
    "get": lambda db, id_: db.get(id_),
    "get of a removed one": lambda db, id_: db.get(id_, tombstoned=True),
    "get in a transaction": lambda db, id_: db.write(lambda tx: tx.get(id_)),
    "get_edge": lambda db, id_: db.get_edge(id_, "notes", town(db, "c")),
    "get_edge in a transaction": lambda db, id_: db.write(
        lambda tx: tx.get_edge(id_, "notes", town(db, "c")) or []
    ),
    "edges_out": lambda db, id_: list(db.edges_out(id_)),
    "find": lambda db, id_: db.find(id_, mycel.Follow(["notes"])),
    "traverse": lambda db, id_: db.traverse(id_),
    "history": lambda db, id_: db.history(id_),
    "prove": lambda db, id_: db.prove(id_),
    "add_edge": lambda db, id_: db.add_edge(town(db, "b"), "notes", id_),
    "update": lambda db, id_: db.write(lambda tx: tx.update(id_, attributes={"k": 1})),
    "relink": lambda db, id_: db.write(lambda tx: tx.relink(id_, object_=town(db, "c"))),
    "FIND": lambda db, id_: db.execute("FIND(?l) WHERE { ?l (id: :id) }", id=id_).value,
    "UPSERT": lambda db, id_: db.execute(
        "UPSERT { PROPOSITION { (id: :id) SET ATTRIBUTES { k: 2 } } }", id=id_
    ),
    "UPDATE": lambda db, id_: db.execute(
        "UPDATE ?l SET ATTRIBUTES { k: 3 } WHERE { ?l (id: :id) }", id=id_
    ),
    "TRAVERSE": lambda db, id_: db.execute("TRAVERSE FROM (id: :id)", id=id_),
    "DELETE": lambda db, id_: db.execute("DELETE PROPOSITIONS ?l WHERE { ?l (id: :id) }", id=id_),
    "history of a removed one": lambda db, id_: db.history(id_),
    "purge": lambda db, id_: db.purge(id_, "asked for"),
}


def answer(door: Door, db: mycel.Nexus, id_: str) -> object:
    try:
        return door(db, id_)
    except MycelError as error:
        return error.name


def test_the_number_of_a_link_with_another_predicate_names_nothing_at_any_door(
    db: mycel.Nexus,
) -> None:
    right, wrong = ids_of(db)
    for name, door in DOORS.items():
        before = db.snapshot()
        assert answer(door, db, wrong) in ([], "NotFound"), name
        assert db.snapshot() == before, name
        door(db, right)  # And the same door takes the id of the link.


def test_a_link_that_moves_to_another_predicate_has_another_id(db: mycel.Nexus) -> None:
    old, new = ids_of(db)
    assert db.write(lambda tx: tx.move(old, predicate="feeds")) == new
    assert db.get(new).id == new
    for door in (lambda: db.history(old), lambda: list(db.edges_out(old))):
        with pytest.raises(NotFound):
            door()


def test_what_was_purged_is_written_again_as_a_new_element(db: mycel.Nexus) -> None:
    link, _ = ids_of(db)
    ends = db.get(link).subject, db.get(link).object
    db.purge(link, "asked for")
    again = db.add_edge(ends[0], "near", ends[1])
    assert again != link
    assert [each.kind for each in db.history(link)] == ["purge"]
    with pytest.raises(NotFound):
        db.get(link, tombstoned=True)
    removed = db.write(lambda tx: tx.retire(again)) and db.add_edge(ends[0], "near", ends[1])
    assert removed == again  # What was only removed is revived.


def test_a_removed_link_is_found_by_the_id_it_had_when_another_has_taken_its_place(
    db: mycel.Nexus,
) -> None:
    taker, _ = ids_of(db)
    ends = db.get(taker).subject, db.get(taker).object
    removed = db.add_edge(ends[0], "feeds", ends[1])
    db.remove_edge(ends[0], "feeds", ends[1])
    db.write(lambda tx: tx.move(taker, predicate="feeds"))
    assert db.get(removed, tombstoned=True).tombstoned
    assert db.history(removed)[0].element is not None
    assert answer(DOORS["history"], db, removed.replace("feeds", "notes")) == "NotFound"
    assert db.purge(removed, "asked for").propositions == 1
    assert [each.kind for each in db.history(removed)] == ["purge"]
