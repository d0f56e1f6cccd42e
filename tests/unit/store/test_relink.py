"""Links that are pointed elsewhere, and keep their ids."""

from collections.abc import Callable
from pathlib import Path

import cbor2
import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    DuplicateExists,
    InternalError,
    InvalidId,
    NotFound,
    SelfEdgeError,
)
from tests.unit.store.given import (
    FACT,
    Clock,
    add_concepts,
    assert_sound,
    concept_key,
    dump,
    edge_tree_key,
    entries,
    link_key,
)


def add(db: mycel.Graph, src: str, predicate: str, dst: str, note: str = "") -> str:
    data = {"note": note} if note else {}
    return db.write(lambda tx: tx.add_edge(src, predicate, dst, data=data))


def relink(db: mycel.Graph, ref: str, **ends: str) -> str:
    return db.write(lambda tx: tx.relink(ref, **ends), actor="ann")


def test_a_link_that_is_pointed_elsewhere_keeps_its_id_and_content(
    db: mycel.Graph, clock: Clock
) -> None:
    one, two, three = add_concepts(db, "one", "two", "three")
    link = add(db, one, "references", two, "a xylophone")
    clock.tick()
    assert relink(db, link, object_=three) == link
    found = db.get(link)
    assert isinstance(found, mycel.Proposition)
    assert (found.subject, found.object, found.version) == (one, three, 2)
    assert (found.attributes, found.updated_us) == ({"note": "a xylophone"}, clock.now_us)
    assert list(db.edges_out(one)) == list(db.edges_in(three)) == [found]
    assert list(db.edges_in(two, include_tombstoned=True)) == []
    with pytest.raises(NotFound):
        db.get_edge(one, "references", two)
    assert [element.id for element, _ in db.search("xylophone")] == [link]
    assert_sound(db)


def test_both_ends_can_change_at_once(db: mycel.Graph) -> None:
    one, two, three, four = add_concepts(db, "one", "two", "three", "four")
    link = add(db, one, "references", two)
    relink(db, link, subject=three, object_=four)
    assert [edge.id for edge in db.edges_out(three)] == [link]
    relink(db, link, subject=four, object_=three)
    assert [edge.id for edge in db.edges_in(three)] == [link]
    assert_sound(db)


def test_history_and_past_states_show_where_it_led(db: mycel.Graph) -> None:
    one, two, three = add_concepts(db, "one", "two", "three")
    link = add(db, one, "references", two)
    before = db.snapshot()
    relink(db, link, object_=three)
    kinds = [(version.kind, version.transaction.actor) for version in db.history.versions(link)]
    assert kinds == [("add_edge", "tester"), ("relink_edge", "ann")]
    then = db.as_of(before.entries)
    assert [edge.object for edge in then.edges_out(one)] == [two]
    assert [edge.id for edge in then.edges_in(two)] == [link]
    assert list(then.edges_in(three)) == []


def test_the_new_place_can_be_proven_and_the_old_one_is_proven_empty(db: mycel.Graph) -> None:
    one, two, three = add_concepts(db, "one", "two", "three")
    link = add(db, one, "references", two)
    relink(db, link, object_=three)
    root = db.snapshot().overall_root
    keys = {name: concept_key(FACT, name) for name in ("one", "two", "three")}
    proof, absent = db.prove(link), db.prove((one, "references", two))
    assert proof.key == edge_tree_key(keys["one"], "references", keys["three"])
    assert absent.key == edge_tree_key(keys["one"], "references", keys["two"])
    assert (absent.record, absent.verify(root), proof.verify(root)) == (None, True, True)
    assert proof.record is not None
    assert mycel.decode_edge(proof.record).dst == keys["three"][:16]


def test_links_about_it_follow_with_their_ids_and_versions(db: mycel.Graph) -> None:
    one, two, three, four = add_concepts(db, "one", "two", "three", "four")
    link = add(db, one, "references", two)
    about = add(db, link, "caused_by", four)
    on_both = add(db, about, "related_to", link)
    removed = add(db, four, "observed_by", link)
    db.write(lambda tx: tx.retire(removed, reason="wrong"))
    relink(db, link, object_=three)
    keys = {name: concept_key(FACT, name) for name in ("one", "three", "four")}
    link_now = link_key(keys["one"], "references", keys["three"])
    about_now = link_key(link_now, "caused_by", keys["four"])
    assert db.prove(about).key == edge_tree_key(link_now, "caused_by", keys["four"])
    assert db.prove(on_both).key == edge_tree_key(about_now, "related_to", link_now)
    assert db.prove(removed).key == edge_tree_key(keys["four"], "observed_by", link_now)
    assert [db.get(each).version for each in (about, on_both)] == [1, 1]
    assert [version.kind for version in db.history.versions(about)] == ["add_edge", "relink_edge"]
    assert db.history.versions(removed)[-1].reason == "wrong"
    assert_sound(db)
    db.write(lambda tx: tx.add_edge(four, "observed_by", link))
    assert db.get(removed).id == removed
    assert_sound(db)


def test_a_tombstone_in_the_new_place_changes_places_with_it(db: mycel.Graph) -> None:
    one, two, three, four = add_concepts(db, "one", "two", "three", "four")
    gone = add(db, one, "references", three)
    about_gone = add(db, gone, "caused_by", four)
    db.write(lambda tx: tx.retire(gone, reason="wrong"))
    link = add(db, one, "references", two)
    about = add(db, link, "caused_by", four)
    relink(db, link, object_=three)
    found = db.get_edge(one, "references", three)
    left = db.get_edge(one, "references", two)
    assert found is not None
    assert left is not None
    assert (found.id, left.id) == (link, gone)
    assert (left.tombstoned_by, left.tombstoned_reason) == ("ann", "re-pointed")
    assert db.get(about).id == about
    with pytest.raises(NotFound):
        db.get(about_gone)
    assert_sound(db)
    assert add(db, one, "references", two) == gone
    assert add(db, gone, "caused_by", four) == about_gone
    assert_sound(db)


def test_two_links_can_change_places_within_a_transaction(db: mycel.Graph) -> None:
    one, two, three, spare = add_concepts(db, "one", "two", "three", "spare")
    first, second = add(db, one, "references", two), add(db, one, "references", three)
    with db.transaction() as tx:
        tx.relink(first, object_=spare)
        tx.relink(second, object_=two)
        tx.relink(first, object_=three)
    assert [edge.id for edge in db.edges_in(two)] == [second]
    assert [edge.id for edge in db.edges_in(three)] == [first]
    assert_sound(db)


def test_a_link_can_go_and_come_back(db: mycel.Graph) -> None:
    one, two, three = add_concepts(db, "one", "two", "three")
    link = add(db, one, "references", two)
    root = db.snapshot().edges_root
    relink(db, link, object_=three)
    other = add(db, one, "references", two)
    assert other != link
    db.write(lambda tx: tx.retire(other))
    relink(db, link, object_=two)
    assert db.snapshot().edges_root != root
    assert [edge.id for edge in db.edges_out(one)] == [link]
    assert_sound(db)


def test_a_link_to_a_new_concept_is_found_there_in_the_same_transaction(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    link = add(db, one, "references", two)
    with db.transaction() as tx:
        new = tx.put_concept(FACT, "new")
        tx.relink(link, object_=new)
        assert tx.put_proposition(one, "references", new, {"a": 1}) == link
    assert db.get(link).version == 3
    assert_sound(db)


def test_pointing_it_where_it_leads_changes_nothing(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    link = add(db, one, "references", two)
    before = entries(db)
    assert relink(db, link, subject=one, object_=two) == link
    assert relink(db, link) == link
    assert entries(db) == before


Refs = dict[str, str]


@pytest.mark.parametrize(
    ("error", "ref", "ends"),
    [
        (SelfEdgeError, "link", {"object_": "one"}),
        (SelfEdgeError, "link", {"subject": "two"}),
        (DuplicateExists, "link", {"object_": "three"}),
        (ConstraintViolation, "link", {"object_": "about"}),
        (ConstraintViolation, "link", {"subject": "about_about"}),
        (ConstraintViolation, "link", {"subject": "link"}),
        (NotFound, "link", {"subject": "retired"}),
        (NotFound, "removed", {"subject": "three"}),
        (InvalidId, "one", {"subject": "three"}),
    ],
)
def test_a_link_that_cannot_be_pointed_there_stays(
    db: mycel.Graph, path: Path, error: type[Exception], ref: str, ends: Refs
) -> None:
    one, two, three, retired = add_concepts(db, "one", "two", "three", "retired")
    refs = {"one": one, "two": two, "three": three, "retired": retired}
    refs["link"] = add(db, one, "references", two)
    add(db, one, "references", three)
    refs["about"] = add(db, refs["link"], "caused_by", three)
    refs["about_about"] = add(db, refs["about"], "caused_by", three)
    refs["removed"] = add(db, two, "references", three)
    db.write(lambda tx: [tx.retire(refs["removed"]), tx.retire(retired)])
    rows = dump(path)
    with pytest.raises(error):
        relink(db, refs[ref], **{end: refs[name] for end, name in ends.items()})
    assert dump(path) == rows


def purged_one(db: mycel.Graph) -> tuple[str, ...]:
    one, two, three, four = add_concepts(db, "one", "two", "three", "four")
    gone = add(db, one, "references", three)
    db.write(lambda tx: tx.retire(gone))
    link = add(db, one, "references", two)
    about = add(db, link, "caused_by", four)
    db.write(lambda tx: tx.update(link, attributes={"n": 1}))
    relink(db, link, object_=three)
    relink(db, link, subject=four)
    db.write(lambda tx: tx.update(about, attributes={"n": 1}))
    return one, two, three, four, link, about, gone


@pytest.mark.parametrize("which", range(7))
def test_a_purge_takes_what_ever_led_to_the_element_and_the_roots_stay_provable(
    db: mycel.Graph, which: int
) -> None:
    made = purged_one(db)
    db.purge(made[which], "asked for")
    assert_sound(db)
    one, two, _, four, link, about, _ = made
    if made[which] in (one, two, four, link):
        for each in (link, about):
            with pytest.raises(NotFound):
                db.get(each)
    add(db, "C:2", "references", "C:4")
    assert_sound(db)


def test_a_purge_says_which_keys_a_link_had(db: mycel.Graph, path: Path) -> None:
    made = purged_one(db)
    history = db.history.versions(made[4])
    db.purge(made[4], "asked for")
    records = [cbor2.loads(row[4]) for row in dump(path)["journal"] if row[1] == 6]
    ((_, _, _, _, keys),) = [each for each in records if each[0] == records[-1][0]]
    moved = [version.seq for version in history if version.kind in ("add_edge", "relink_edge")]
    assert [seq for seq, _ in keys] == moved
    names = [("one", "two"), ("one", "three"), ("four", "three")]
    assert [key for _, key in keys] == [
        link_key(subject, "references", object_) + subject[:2]
        for subject, object_ in [
            (concept_key(FACT, one), concept_key(FACT, other)) for one, other in names
        ]
    ]


def test_a_guard_sees_the_new_ends(path: Path, clock: Clock) -> None:
    seen: list[mycel.Change] = []

    class Watch:
        def concerns(self, tx: mycel.Transaction, type_or_predicate: str, *, link: bool) -> bool:
            return link

        def check(self, tx: mycel.Transaction, change: mycel.Change) -> None:
            seen.append(change)
            if change.kind == "update":
                raise ConstraintViolation("not there")

        def check_commit(self, tx: mycel.Transaction) -> None:
            pass

    with mycel.open(path, guards=[Watch()], clock_us=clock) as db:
        one, two, three = add_concepts(db, "one", "two", "three")
        link = add(db, one, "references", two)
        with pytest.raises(ConstraintViolation, match="not there"):
            relink(db, link, object_=three)
        assert seen[-1].name_or_ends == (one, three)
        assert seen[-1].before == db.get(link)
        assert db.get(link).version == 1


def test_the_engine_keeps_metadata_of_its_own(db: mycel.Graph) -> None:
    (one,) = add_concepts(db, "one")
    db.write(lambda tx: tx.update(one, metadata={"m": 1}, reserved={"_merged_from": ["C:8"]}))
    assert db.get(one).metadata == {"m": 1, "_merged_from": ["C:8"]}
    assert db.get(one).to_dict()["metadata"]["_merged_from"] == ["C:8"]
    db.write(lambda tx: tx.update(one, metadata={"m": 2}))
    assert db.get(one).metadata == {"m": 2, "_merged_from": ["C:8"]}
    assert not db.write(lambda tx: tx.update(one, reserved={"_merged_from": ["C:8"]}))
    assert_sound(db)


@pytest.mark.parametrize(
    "change",
    [
        lambda tx, ref: tx.update(ref, metadata={"_merged_from": []}),
        lambda tx, ref: tx.update(ref, drop_metadata=["_merged_from"]),
    ],
)
def test_others_cannot_write_the_metadata_of_the_engine(
    db: mycel.Graph, change: Callable[[mycel.Transaction, str], object]
) -> None:
    (one,) = add_concepts(db, "one")
    db.write(lambda tx: tx.update(one, reserved={"_merged_from": ["C:8"]}))
    with pytest.raises(ConstraintViolation):
        db.write(lambda tx: change(tx, one))
    assert db.get(one).metadata == {"_merged_from": ["C:8"]}


@pytest.mark.parametrize("key", ["merged", "_version", "_updated_at"])
def test_the_engine_keeps_no_other_keys(db: mycel.Graph, key: str) -> None:
    (one,) = add_concepts(db, "one")
    with pytest.raises(InternalError):
        db.write(lambda tx: tx.update(one, reserved={key: 1}))
