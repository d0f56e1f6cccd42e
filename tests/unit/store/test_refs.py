"""Ids of links at every door: the whole text names a link, and its number alone does not."""

from collections.abc import Callable

import pytest

import mycel
from mycel.errors import MycelError, NotFound


@pytest.fixture
def db() -> mycel.Graph:
    db = mycel.open(":memory:", actor="tester", core_capsules=False)
    with db.transaction() as tx:
        tx.define_type("Town")
        for predicate in ("near", "feeds", "notes"):
            tx.define_predicate(predicate)
        a, b, c = (tx.put_concept("Town", name) for name in "abc")
        link = tx.put_proposition(a, "near", b)
        tx.put_proposition(link, "notes", c)
    return db


def ids_of(db: mycel.Graph) -> tuple[str, str]:
    """The id of the link, and the same number with the predicate of another one."""
    (link,) = db.execute('FIND(?l.id) WHERE { ?l (?a, "near", ?b) }').value
    return link, link.replace("near", "feeds")


def town(db: mycel.Graph, name: str) -> str:
    (found,) = db.execute('FIND(?t.id) WHERE { ?t {type: "Town", name: :name} }', name=name).value
    return str(found)


Door = Callable[[mycel.Graph, str], object]
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
    "history": lambda db, id_: db.history.versions(id_),
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
    "history of a removed one": lambda db, id_: db.history.versions(id_),
    "purge": lambda db, id_: db.purge(id_, "asked for"),
}


def answer(door: Door, db: mycel.Graph, id_: str) -> object:
    try:
        return door(db, id_)
    except MycelError as error:
        return error.name


def test_the_number_of_a_link_with_another_predicate_names_nothing_at_any_door(
    db: mycel.Graph,
) -> None:
    right, wrong = ids_of(db)
    for name, door in DOORS.items():
        before = db.snapshot()
        assert answer(door, db, wrong) in ([], "NotFound"), name
        assert db.snapshot() == before, name
        door(db, right)  # And the same door takes the id of the link.


NATURAL: dict[str, object] = {
    "a triple": (("Town", "a"), "near", ("Town", "b")),
    "a triple of URIs": ("town://a", "near", "town://b"),
    "a triple of URIs of KIP": ("kip:Town/a", "near", "kip:Town/b"),
}


@pytest.mark.parametrize("name", NATURAL)
def test_every_door_of_python_takes_a_natural_key_of_a_link(db: mycel.Graph, name: str) -> None:
    key = NATURAL[name]
    with db.transaction() as tx:
        ends = [tx.put_concept("Town", f"town://{each}") for each in "ab"]
        tx.put_proposition(tx.put_proposition(ends[0], "near", ends[1]), "notes", ("Town", "c"))
    link = db.get(key).id
    for door in (
        lambda ref: db.get(ref).id,
        lambda ref: db.get(ref, tombstoned=True).id,
        lambda ref: db.write(lambda tx: tx.get(ref)).id,
        lambda ref: db.get_edge(ref, "notes", ("Town", "c")).object,
        lambda ref: [edge.object for edge in db.edges_out(ref)],
        lambda ref: [memory.id for memory in db.find(ref, mycel.Follow(["notes"])).memories],
        lambda ref: [node.element.id for node in db.traverse(ref).nodes],
        lambda ref: [version.seq for version in db.history.versions(ref)],
        lambda ref: db.prove(ref).key,
        lambda ref: db.as_of(db.snapshot().entries).get(ref).id,
        lambda ref: db.add_edge(ref, "feeds", "town://a"),
        lambda ref: db.write(lambda tx: tx.update(ref, attributes={"k": 1})) in (True, False),
        lambda ref: db.write(lambda tx: tx.relink(ref, object_=("Town", "c"))) == link,
    ):
        # The key comes first: the last of them gives the link another one.
        assert door(key) == door(link)
    moved = (key[0], "near", ("Town", "c"))  # type: ignore[index]
    assert db.write(lambda tx: tx.retire(moved)).propositions == 3
    assert db.get(moved, tombstoned=True).id == link
    assert db.purge(moved, "asked for").propositions == 3


def test_every_door_of_python_takes_the_type_and_name_or_the_uri_of_a_concept(
    db: mycel.Graph,
) -> None:
    with db.transaction() as tx:
        id_ = tx.put_concept("Town", "town://x")
        tx.put_propositions([mycel.PropositionRow("town://x", "near", ("Town", "a"))])
        tx.move_concepts([(("Town", "c"), None, "d")])
    for key in ("town://x", ("Town", "town://x")):
        for door in (
            lambda ref: db.get(ref).id,
            lambda ref: [edge.object for edge in db.edges_out(ref)],
            lambda ref: [edge.object for edge in db.edges_in(ref)],
            lambda ref: db.get_edge(ref, "near", ("Town", "a")).id,
            lambda ref: [memory.id for memory in db.find(ref).memories],
            lambda ref: [node.element.id for node in db.traverse(ref).nodes],
            lambda ref: len(db.history.versions(ref)),
            lambda ref: db.prove(ref).key,
            lambda ref: db.write(lambda tx: tx.put_proposition(ref, "feeds", ("Town", "b"))),
            lambda ref: db.remove_edge(ref, "feeds", ("Town", "b")) in (True, False),
        ):
            assert door(key) == door(id_), key
    with pytest.raises(mycel.errors.SelfEdgeError):
        db.add_edge("town://x", "near", ("Town", "town://x"))
    assert db.write(lambda tx: tx.move("town://x", name="y")) == id_
    assert db.purge(("Town", "y"), "asked for").concepts == 1


def test_natural_keys_of_nothing_say_what_is_missing(db: mycel.Graph) -> None:
    for key, error, words in (
        (("Town", "z"), NotFound, "There is no live Town named 'z'."),
        ("town://z", NotFound, "There is no live element 'town://z'."),
        ((("Town", "a"), "feeds", ("Town", "b")), NotFound, "There is no live element"),
        ((("Town", "z"), "near", ("Town", "b")), NotFound, "There is no live Town named 'z'."),
        (("Twon", "a"), mycel.errors.TypeMismatch, "There is no type 'Twon'."),
        ((("Town", "a"), "nera", ("Town", "b")), mycel.errors.TypeMismatch, "'nera'"),
        ((), mycel.errors.InvalidId, "() names no element."),
        (("a", "b", "c", "d"), mycel.errors.InvalidId, "names no element."),
    ):
        for door in (
            db.get,
            lambda ref: list(db.edges_out(ref)),
            db.find,
            db.traverse,
            db.history.versions,
            lambda ref: db.add_edge(ref, "near", ("Town", "c")),
            lambda ref: db.write(lambda tx: tx.update(ref, attributes={})),
        ):
            with pytest.raises(error) as caught:
                door(key)
            assert words in str(caught.value), key


def test_a_link_that_moves_to_another_predicate_has_another_id(db: mycel.Graph) -> None:
    old, new = ids_of(db)
    assert db.write(lambda tx: tx.move(old, predicate="feeds")) == new
    assert db.get(new).id == new
    for door in (lambda: db.history.versions(old), lambda: list(db.edges_out(old))):
        with pytest.raises(NotFound):
            door()


def test_what_was_purged_is_written_again_as_a_new_element(db: mycel.Graph) -> None:
    link, _ = ids_of(db)
    ends = db.get(link).subject, db.get(link).object
    db.purge(link, "asked for")
    again = db.add_edge(ends[0], "near", ends[1])
    assert again != link
    assert [each.kind for each in db.history.versions(link)] == ["purge"]
    with pytest.raises(NotFound):
        db.get(link, tombstoned=True)
    removed = db.write(lambda tx: tx.retire(again)) and db.add_edge(ends[0], "near", ends[1])
    assert removed == again  # What was only removed is revived.


def test_a_removed_link_is_found_by_the_id_it_had_when_another_has_taken_its_place(
    db: mycel.Graph,
) -> None:
    taker, _ = ids_of(db)
    ends = db.get(taker).subject, db.get(taker).object
    removed = db.add_edge(ends[0], "feeds", ends[1])
    db.remove_edge(ends[0], "feeds", ends[1])
    db.write(lambda tx: tx.move(taker, predicate="feeds"))
    assert db.get(removed, tombstoned=True).tombstoned
    assert db.history.versions(removed)[0].element is not None
    assert answer(DOORS["history"], db, removed.replace("feeds", "notes")) == "NotFound"
    assert db.purge(removed, "asked for").propositions == 1
    assert [each.kind for each in db.history.versions(removed)] == ["purge"]


def test_a_uri_names_the_concept_that_was_live_at_a_moment_not_one_removed_before(
    db: mycel.Graph,
) -> None:
    uri = "https://towns.example/porto"
    db.write(lambda tx: tx.define_type("Village"))
    for first, second in (("Town", "Village"), ("Village", "Town")):
        named = f"{uri}/{first}"
        db.write(lambda tx, t=first, n=named: tx.retire(tx.put_concept(t, n)))
        live = db.write(lambda tx, t=second, n=named: tx.put_concept(t, n, {"size": 1}))
        then = db.snapshot().entries
        db.write(lambda tx, each=live: tx.update(each, attributes={"size": 2}))
        assert db.as_of(then).get(named).id == live, first
        assert db.get(named).id == live, first
        db.write(lambda tx, each=live: tx.retire(each))
        assert db.get(named, tombstoned=True).id == live, first  # The last that had the name.


def test_a_path_is_a_uri_or_the_natural_key_of_a_concept_or_an_element(db: mycel.Graph) -> None:
    town, link = db.get(("Town", "a")), db.get((("Town", "a"), "near", ("Town", "b")))
    with db.transaction() as tx:
        tx.update(town, attributes={"size": 1})
    newest = db.snapshot().seq
    for path in ("kip:Town/a", ("Town", "a"), town.id, town):
        assert next(entry.seq for entry in db.history.log(path=path)) == newest
    for path in (link, link.id):
        assert newest not in [entry.seq for entry in db.history.log(path=path)]
    with pytest.raises(MycelError, match="A path is a URI"):
        list(db.history.log(path=("Town", "a", "b")))  # type: ignore[arg-type]
