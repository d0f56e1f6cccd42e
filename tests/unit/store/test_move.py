"""Elements that get another identity, and stay the elements they are."""

from collections.abc import Callable
from pathlib import Path

import cbor2
import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    DuplicateExists,
    ImmutableTarget,
    InvalidId,
    InvalidValueType,
    MycelError,
    NotFound,
    SelfEdgeError,
    TypeMismatch,
)
from mycel.store.write.bulk import PropositionRow
from tests.cases import each_case
from tests.stored_bytes import stored_bytes
from tests.unit.store.given import (
    EVENT,
    FACT,
    Clock,
    DeliberateError,
    add_concepts,
    assert_sound,
    concept_key,
    define,
    dump,
    edge_tree_key,
    entries,
    fail_after,
    link_key,
    number_of,
)


def add(db: mycel.Graph, src: str, predicate: str, dst: str, note: str = "") -> str:
    data = {"note": note} if note else {}
    return db.write(lambda tx: tx.add_edge(src, predicate, dst, data=data))


def move(db: mycel.Graph, ref: str, **to: str) -> str:
    return db.write(lambda tx: tx.move(ref, **to), actor="ann")


def retire(db: mycel.Graph, ref: str, reason: str = "") -> None:
    db.write(lambda tx: tx.retire(ref, reason=reason))


def found(db: mycel.Graph, word: str) -> list[str]:
    return [element.id for element, _ in db.search(word, mode="keyword")]


# Concepts.


def test_a_concept_with_another_name_and_type_stays_the_concept_it_is(
    db: mycel.Graph, clock: Clock
) -> None:
    define(db, [FACT, EVENT])
    one = db.write(lambda tx: tx.put_concept(FACT, "one", {"text": "words"}, {"source": "s"}))
    made = db.get(one)
    clock.tick()
    assert move(db, one, type_name=EVENT, name="first") == one
    after = db.get(one)
    assert isinstance(after, mycel.Concept)
    assert (after.type, after.name, after.version) == (EVENT, "first", 2)
    assert (after.attributes, after.metadata) == ({"text": "words"}, {"source": "s"})
    assert (after.created_us, after.created_by) == (made.created_us, made.created_by)
    assert after.updated_us == clock.now_us
    assert db.get_concept(EVENT, "first") == after
    assert db.get_concept(FACT, "one") is None
    assert_sound(db)


def test_type_and_name_can_change_alone(db: mycel.Graph) -> None:
    define(db, [FACT, EVENT])
    (one,) = add_concepts(db, "one")
    move(db, one, type_name=EVENT)
    assert db.get_concept(EVENT, "one") == db.get(one)
    move(db, one, name="first")
    assert db.get_concept(EVENT, "first") == db.get(one)
    assert_sound(db)


def test_links_on_a_concept_follow_with_their_ids_versions_and_content(db: mycel.Graph) -> None:
    one, two, three = add_concepts(db, "one", "two", "three")
    out, back = add(db, one, "references", two, "a xylophone"), add(db, three, "observed_by", one)
    about = add(db, out, "caused_by", three)
    on_both = add(db, about, "related_to", one)
    elsewhere = add(db, two, "references", three)
    before = entries(db)
    move(db, one, name="first")
    assert entries(db) == before + 1 + 4 + 1  # The concept, four links, the transaction.
    keys = {name: concept_key(FACT, name) for name in ("first", "two", "three")}
    out_key = link_key(keys["first"], "references", keys["two"])
    about_key = link_key(out_key, "caused_by", keys["three"])
    assert db.prove(one).key == keys["first"]
    assert db.prove(out).key == edge_tree_key(keys["first"], "references", keys["two"])
    assert db.prove(back).key == edge_tree_key(keys["three"], "observed_by", keys["first"])
    assert db.prove(about).key == edge_tree_key(out_key, "caused_by", keys["three"])
    assert db.prove(on_both).key == edge_tree_key(about_key, "related_to", keys["first"])
    assert [db.get(each).version for each in (out, back, about, on_both)] == [1, 1, 1, 1]
    assert [version.kind for version in db.history.versions(out)] == ["add_edge", "relink_edge"]
    assert [version.kind for version in db.history.versions(elsewhere)] == ["add_edge"]
    assert [edge.id for edge in db.edges_out(one)] == [out]
    assert found(db, "xylophone") == [out]
    assert_sound(db)


def test_tombstones_of_links_follow_and_are_revived_as_what_they_were(db: mycel.Graph) -> None:
    one, two, three = add_concepts(db, "one", "two", "three")
    removed = add(db, one, "references", two)
    about = add(db, removed, "caused_by", three)
    retire(db, removed, "wrong")
    move(db, one, name="first")
    keys = {name: concept_key(FACT, name) for name in ("first", "two", "three")}
    removed_key = link_key(keys["first"], "references", keys["two"])
    assert db.prove(removed).key == edge_tree_key(keys["first"], "references", keys["two"])
    assert db.prove(about).key == edge_tree_key(removed_key, "caused_by", keys["three"])
    assert db.history.versions(removed)[-1].reason == "wrong"
    assert_sound(db)
    assert add(db, one, "references", two) == removed
    assert add(db, removed, "caused_by", three) == about
    assert_sound(db)


def test_links_can_be_put_on_a_moved_concept_in_the_same_transaction(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    with db.transaction() as tx:
        tx.add_edge(two, "references", one)  # Now the transaction remembers its key.
        tx.move(one, name="first")
        link = tx.add_edge(one, "references", two)
        tx.put_propositions([mycel.PropositionRow(one, "part_of", two)])
        tx.move(one, name="second")
    expected = edge_tree_key(concept_key(FACT, "second"), "references", concept_key(FACT, "two"))
    assert db.prove(link).key == expected
    assert_sound(db)


def test_the_next_transaction_knows_the_new_keys(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    add(db, one, "references", two)
    move(db, one, name="first")
    link = add(db, two, "part_of", one)
    expected = edge_tree_key(concept_key(FACT, "two"), "part_of", concept_key(FACT, "first"))
    assert db.prove(link).key == expected
    assert_sound(db)


def test_a_concept_is_found_by_the_words_of_its_new_name_only(db: mycel.Graph) -> None:
    define(db, [FACT, EVENT])
    (one,) = add_concepts(db, "a xylophone")
    assert found(db, "xylophone") == [one]
    move(db, one, name="a vibraphone")
    assert (found(db, "xylophone"), found(db, "vibraphone")) == ([], [one])
    move(db, one, type_name=EVENT)
    assert found(db, "vibraphone") == [one]
    assert_sound(db)


def test_commands_find_the_present_by_its_name_and_the_past_by_its_own(db: mycel.Graph) -> None:
    define(db, [FACT, EVENT])
    one, two = add_concepts(db, "one", "two")
    add(db, two, "references", one)
    then = db.snapshot().seq
    move(db, one, type_name=EVENT, name="first")

    def names(command: str) -> list[object]:
        return [row[0] for row in db.execute(command).rows]

    assert names('FIND(?c.type) WHERE { ?c {name: "first"} }') == [EVENT]
    assert names('FIND(?c.type) WHERE { ?c {name: "one"} }') == []
    assert names(f'FIND(?c.name) WHERE {{ ?c {{type: "{FACT}"}} }}') == ["two"]
    linked = f'WHERE {{ ({{type: "{FACT}", name: "two"}}, "references", ?c) }}'
    assert names(f"FIND(?c.name) {linked}") == ["first"]
    assert names(f"FIND(?c.name) AS OF {then} {linked}") == ["one"]
    assert names(f'FIND(?c.type) AS OF {then} WHERE {{ ?c {{name: "one"}} }}') == [FACT]
    assert names(f'FIND(?c.type) AS OF {then} WHERE {{ ?c {{name: "first"}} }}') == []


def test_history_and_past_states_show_what_it_was(db: mycel.Graph) -> None:
    define(db, [FACT, EVENT])
    (one,) = add_concepts(db, "one")
    before = db.snapshot()
    move(db, one, type_name=EVENT, name="first")
    history = db.history.versions(one)
    assert [(version.kind, version.transaction.actor) for version in history] == [
        ("put_concept", "tester"),
        ("move_concept", "ann"),
    ]
    shown = [version.element for version in history]
    assert [(each.type, each.name) for each in shown if isinstance(each, mycel.Concept)] == [
        (FACT, "one"),
        (EVENT, "first"),
    ]
    then = db.as_of(before.entries)
    was = then.get_concept(FACT, "one")
    assert was is not None
    assert was.id == one
    assert then.get_concept(EVENT, "first") is None


def test_the_new_identity_can_be_proven_and_the_old_one_is_proven_absent(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    link = add(db, one, "references", two)
    move(db, one, name="first")
    root = db.snapshot().overall_root
    here, gone, edge = db.prove((FACT, "first")), db.prove((FACT, "one")), db.prove(link)
    assert (here.key, gone.record) == (concept_key(FACT, "first"), None)
    assert all(proof.verify(root) for proof in (here, gone, edge))
    assert edge.record is not None
    assert mycel.decode_edge(edge.record).src == concept_key(FACT, "first")[:16]


def test_what_is_put_under_the_old_name_is_another_concept(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    link = add(db, one, "references", two)
    move(db, one, name="first")
    (other,) = add_concepts(db, "one")
    assert other != one
    assert list(db.edges_out(other)) == []
    assert add(db, other, "references", two) != link
    assert_sound(db)


def test_a_concept_can_be_moved_and_moved_back(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    link = add(db, one, "references", two)
    key = db.prove(link).key
    move(db, one, name="first")
    move(db, one, name="one")
    assert db.get(one).version == 3
    assert db.prove(link).key == key
    assert_sound(db)


def test_two_concepts_can_change_names_within_a_transaction(db: mycel.Graph) -> None:
    one, two, three = add_concepts(db, "one", "two", "three")
    first, second = add(db, one, "references", three), add(db, two, "references", three)
    add(db, one, "part_of", two)
    with db.transaction() as tx:
        tx.move(one, name="between")
        tx.move(two, name="one")
        tx.move(one, name="two")
    keys = [concept_key(FACT, name) for name in ("one", "two", "three")]
    assert db.prove(first).key == edge_tree_key(keys[1], "references", keys[2])
    assert db.prove(second).key == edge_tree_key(keys[0], "references", keys[2])
    assert_sound(db)


def test_a_tombstone_that_has_the_new_name_is_set_aside(db: mycel.Graph) -> None:
    one, two, gone = add_concepts(db, "one", "two", "gone")
    left = add(db, gone, "references", two)
    about = add(db, left, "caused_by", one)
    retire(db, gone, "wrong")
    link = add(db, one, "references", two)
    before = db.history.versions(gone)[-1]
    move(db, one, name="gone")
    now = db.get_concept(FACT, "gone")
    assert now is not None
    assert now.id == one
    aside = db.history.versions(gone)[-1]
    assert (aside.kind, aside.reason) == ("move_concept", "wrong")
    assert isinstance(aside.element, mycel.Concept)
    assert isinstance(before.element, mycel.Concept)
    changed = before.element._replace(name=gone, seq=aside.seq)
    assert aside.element == changed, "nothing but its name has changed"
    keys = {name: concept_key(FACT, name) for name in (gone, "gone", "two")}
    left_key = link_key(keys[gone], "references", keys["two"])
    assert db.prove(gone).key == keys[gone]
    assert db.prove(left).key == edge_tree_key(keys[gone], "references", keys["two"])
    assert db.prove(about).key == edge_tree_key(left_key, "caused_by", keys["gone"])
    assert db.prove(link).key == edge_tree_key(keys["gone"], "references", keys["two"])
    assert_sound(db)
    move(db, one, name="one")
    assert add_concepts(db, "gone") not in ([gone], [one])
    assert add_concepts(db, gone) == [gone], "it can be revived under its id"
    assert_sound(db)


def test_a_concept_that_was_removed_is_revived_under_a_name_that_another_one_had(
    db: mycel.Graph,
) -> None:
    one, two, other = add_concepts(db, "one", "two", "other")
    left = add(db, one, "references", two)
    for each in (one, other):
        retire(db, each)
    (like,) = (each for each in db.history.versions(one) if each.kind == "put_concept")
    assert isinstance(like.element, mycel.Concept)
    wanted = like.element._replace(name="other", attributes_json='{"x":1}')
    assert db.write(lambda tx: tx.revive_concept(wanted, {})) == one
    now = db.get_concept(FACT, "other")
    assert now is not None
    assert (now.id, now.attributes) == (one, {"x": 1})
    assert db.prove(one).key == concept_key(FACT, "other")
    assert db.prove(other).key == concept_key(FACT, other)
    keys = concept_key(FACT, "other"), concept_key(FACT, "two")
    assert db.prove(left).key == edge_tree_key(keys[0], "references", keys[1])
    assert_sound(db)


def test_a_tombstone_is_set_aside_under_a_name_that_is_free(db: mycel.Graph) -> None:
    one, gone = add_concepts(db, "one", "gone")
    add_concepts(db, gone)
    retire(db, gone)
    move(db, one, name="gone")
    assert db.prove(gone).key == concept_key(FACT, f"{gone} 1")
    assert_sound(db)


def test_a_concept_can_take_the_place_of_one_retired_in_the_same_transaction(
    db: mycel.Graph,
) -> None:
    one, two, three = add_concepts(db, "one", "two", "three")
    add(db, two, "references", three)
    with db.transaction() as tx:
        tx.retire(two)
        tx.move(one, name="two")
        new = tx.put_concept(FACT, "one")
        tx.retire(one)
        tx.move(new, name="two")
    assert db.get(new).version == 2
    assert_sound(db)


def a_ring(db: mycel.Graph, size: int) -> list[str]:
    """Concepts, each with a link to the next."""
    define(db, [FACT, EVENT])
    with db.transaction() as tx:
        made = tx.put_concepts(mycel.ConceptRow(FACT, f"row {n}") for n in range(size))
        tx.put_propositions(
            mycel.PropositionRow(one, "references", other)
            for one, other in zip(made, [*made[1:], made[0]], strict=True)
        )
    return made


def test_many_concepts_and_links_of_one_transaction_move_in_the_next(db: mycel.Graph) -> None:
    made = a_ring(db, 700)
    with db.transaction() as tx:
        for each in made:
            tx.move(each, type_name=EVENT)
    assert db.get_concept(EVENT, "row 699") == db.get(made[699])
    assert_sound(db)


def test_links_between_concepts_that_move_together_are_written_once(db: mycel.Graph) -> None:
    made = a_ring(db, 50)
    before = entries(db)
    assert db.write(lambda tx: tx.move_concepts((each, EVENT, None) for each in made)) == made
    assert entries(db) == before + 50 + 50 + 1
    assert db.get_concept(EVENT, "row 49") == db.get(made[49])
    keys = concept_key(EVENT, "row 0"), concept_key(EVENT, "row 1")
    (link,) = db.edges_out(made[0])
    assert db.prove(link).key == edge_tree_key(keys[0], "references", keys[1])
    assert_sound(db)


def test_concepts_that_move_together_move_in_their_order(db: mycel.Graph) -> None:
    made = a_ring(db, 5)
    about = add(db, next(db.edges_out(made[0])).id, "caused_by", made[3])
    retire(db, made[4])
    rows = [
        (made[0], None, "row 4"),  # Sets the tombstone aside.
        (made[1], None, "row 0"),
        (made[2], EVENT, "row 0"),
        (made[0], EVENT, None),
        (made[3], None, "row 3"),  # Stays what it is.
        (made[0], FACT, "row 1"),
    ]
    db.write(lambda tx: tx.move_concepts(rows))
    shown = [db.get(each) for each in made[:4]]
    assert [(each.type, each.name) for each in shown if isinstance(each, mycel.Concept)] == [
        (FACT, "row 1"),
        (FACT, "row 0"),
        (EVENT, "row 0"),
        (FACT, "row 3"),
    ]
    assert [each.version for each in shown] == [4, 2, 2, 1]
    assert len(db.history.versions(about)) == 2
    assert_sound(db)


def test_many_links_are_settled_a_part_at_a_time_and_each_once(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mycel.store.write.rekey.CHUNK_LINKS", 3)
    made = a_ring(db, 20)
    first = next(db.edges_out(made[0])).id
    about = add(db, first, "caused_by", made[9])
    # An older link comes to be about a newer one, which has to be settled before it.
    older = next(db.edges_out(made[3])).id
    db.write(lambda tx: tx.relink(older, object_=about))
    links = [each.id for one in (*made, first) for each in db.edges_out(one)]
    before = {each: len(db.history.versions(each)) for each in links}
    db.write(lambda tx: tx.move_concepts((each, None, f"moved {each}") for each in made))
    assert {each: len(db.history.versions(each)) for each in links} == {
        each: count + 1 for each, count in before.items()
    }
    assert_sound(db)


def test_a_move_that_fails_on_the_way_spoils_those_before_it(db: mycel.Graph) -> None:
    made = a_ring(db, 4)
    before = db.snapshot()
    rows = [(made[0], EVENT, None), (made[1], None, "row 2")]

    def go_on(tx: mycel.Transaction) -> None:
        with pytest.raises(DuplicateExists):
            tx.move_concepts(rows)

    with pytest.raises(ConstraintViolation, match="halfway"):
        db.write(go_on)
    assert db.snapshot() == before


def test_only_concepts_move_together(db: mycel.Graph) -> None:
    made = a_ring(db, 3)
    (link,) = db.edges_out(made[0])
    with pytest.raises(InvalidId):
        db.write(lambda tx: tx.move_concepts([(link.id, EVENT, None)]))


# Links.


def test_a_link_with_another_predicate_stays_the_link_it_is(db: mycel.Graph, clock: Clock) -> None:
    one, two = add_concepts(db, "one", "two")
    link = add(db, one, "references", two, "a xylophone")
    clock.tick()
    moved = move(db, link, predicate="part_of")
    assert moved == f"P:{number_of(link)}:part_of"
    after = db.get(moved)
    assert isinstance(after, mycel.Proposition)
    assert (after.predicate, after.type, after.version) == ("part_of", 11, 2)
    assert (after.attributes, after.updated_us) == ({"note": "a xylophone"}, clock.now_us)
    assert list(db.edges_out(one)) == list(db.edges_in(two, ["part_of"])) == [after]
    with pytest.raises(NotFound):
        db.get(link)
    assert found(db, "xylophone") == [moved]
    keys = concept_key(FACT, "one"), concept_key(FACT, "two")
    assert db.prove(moved).key == edge_tree_key(keys[0], "part_of", keys[1])
    assert db.prove((one, "references", two)).record is None
    assert_sound(db)


def test_links_about_it_name_its_predicate_of_then_in_the_past(db: mycel.Graph) -> None:
    one, two, three = add_concepts(db, "one", "two", "three")
    link = add(db, one, "references", two)
    about = add(db, link, "caused_by", three)
    then = db.snapshot().seq
    moved = move(db, link, predicate="part_of")
    retire(db, about)
    subjects = [
        version.element.subject
        for version in db.history.versions(about)
        if isinstance(version.element, mycel.Proposition)
    ]
    assert subjects == [link, moved, moved]
    assert [edge.subject for edge in db.as_of(then).edges_in(three)] == [link]
    assert db.as_of(then).get(link).id == link
    keys = [concept_key(FACT, name) for name in ("one", "two", "three")]
    link_now = link_key(keys[0], "part_of", keys[1])
    assert db.prove(about).key == edge_tree_key(link_now, "caused_by", keys[2])
    assert_sound(db)


def test_a_removed_link_is_called_by_its_last_predicate(db: mycel.Graph) -> None:
    one, two, three = add_concepts(db, "one", "two", "three")
    link = add(db, one, "references", two)
    about = add(db, link, "caused_by", three)
    moved = move(db, link, predicate="part_of")
    retire(db, moved)
    (left,) = db.edges_in(three, include_tombstoned=True)
    assert (left.id, left.subject) == (about, moved)


def test_a_tombstone_of_the_new_predicate_changes_places_with_a_link(db: mycel.Graph) -> None:
    one, two, three = add_concepts(db, "one", "two", "three")
    gone = add(db, one, "part_of", two)
    about_gone = add(db, gone, "caused_by", three)
    retire(db, gone)
    link = add(db, one, "references", two)
    moved = move(db, link, predicate="part_of")
    left = db.get_edge(one, "references", two)
    assert left is not None
    assert (left.number, left.tombstoned_by) == (number_of(gone), "ann")
    assert add(db, one, "references", two) == f"P:{number_of(gone)}:references"
    assert add(db, left.id, "caused_by", three) == about_gone
    assert db.get(moved).version == 2
    assert_sound(db)


def test_a_link_of_a_new_predicate_is_found_in_the_same_transaction(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    with db.transaction() as tx:
        new = tx.put_concept(FACT, "new")
        link = tx.add_edge(new, "references", one)
        moved = tx.move(link, predicate="part_of")
        assert tx.put_proposition(new, "part_of", one, {"a": 1}) == moved
        assert tx.add_edge(new, "references", one) != moved
        assert tx.add_edge(moved, "caused_by", two)
    assert_sound(db)


# What is refused.


def test_becoming_what_it_is_changes_nothing(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    link = add(db, one, "references", two)
    before = entries(db)
    assert move(db, one, type_name=FACT, name="one") == one
    assert move(db, one) == one
    assert move(db, link, predicate="references") == link
    assert entries(db) == before


Refs = dict[str, str]


@pytest.mark.parametrize(
    ("error", "ref", "to"),
    [
        (DuplicateExists, "one", {"name": "two"}),
        (DuplicateExists, "one", {"type_name": EVENT}),
        (DuplicateExists, "link", {"predicate": "part_of"}),
        (TypeMismatch, "one", {"type_name": "Undefined"}),
        (TypeMismatch, "one", {"type_name": "Dropped"}),
        (TypeMismatch, "link", {"predicate": "undefined"}),
        (ConstraintViolation, "one", {"name": ""}),
        (ConstraintViolation, "one", {"name": "x" * 5000}),
        (InvalidValueType, "one", {"name": 7}),
        (InvalidId, "one", {"predicate": "part_of"}),
        (InvalidId, "link", {"name": "three"}),
        (InvalidId, "link", {"type_name": EVENT}),
        (ImmutableTarget, "type", {"name": "Other"}),
        (ImmutableTarget, "type", {"type_name": "$PropositionType"}),
        (ImmutableTarget, "predicate", {"name": "other"}),
        (ImmutableTarget, "one", {"type_name": "$ConceptType"}),
        (NotFound, "retired", {"name": "three"}),
        (NotFound, "removed", {"predicate": "part_of"}),
    ],
)
def test_an_element_that_cannot_become_that_stays(
    db: mycel.Graph, path: Path, error: type[MycelError], ref: str, to: Refs
) -> None:
    define(db, [EVENT, "Dropped"], ["likes_not"])
    one, two, retired = add_concepts(db, "one", "two", "retired")
    add_concepts(db, "one", type_name=EVENT)
    refs = {"one": one, "retired": retired, "link": add(db, one, "references", two)}
    add(db, one, "part_of", two)
    refs["removed"] = add(db, two, "references", one)
    for key, meta, name in (
        ("type", "$ConceptType", FACT),
        ("predicate", "$PropositionType", "likes_not"),
        ("dropped", "$ConceptType", "Dropped"),
    ):
        definition = db.get_concept(meta, name)
        assert definition is not None
        refs[key] = definition.id
    for each in ("removed", "retired", "dropped"):
        retire(db, refs[each])
    rows = dump(path)
    with pytest.raises(error) as raised:
        move(db, refs[ref], **to)
    assert raised.value.hint
    assert dump(path) == rows


def test_a_refused_move_leaves_its_transaction_whole(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    link = add(db, one, "references", two)
    with db.transaction() as tx:
        with pytest.raises(DuplicateExists):
            tx.move(one, name="two")
        tx.update(link, attributes={"n": 1})
    assert db.get(link).version == 2
    assert_sound(db)


def test_a_move_that_is_rolled_back_leaves_nothing(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    link = add(db, one, "references", two)
    before = db.snapshot()
    with pytest.raises(DeliberateError):
        fail_after(db, lambda tx: tx.move(one, name="first"))
    assert db.snapshot() == before
    assert add(db, one, "references", two) == link
    add(db, two, "references", one)
    assert_sound(db)


# Definitions.


def test_a_type_whose_instances_have_moved_can_be_retired(db: mycel.Graph) -> None:
    define(db, [FACT, EVENT])
    one, two = add_concepts(db, "one", "two")
    add(db, one, "references", two)
    old = db.get_concept("$ConceptType", FACT)
    assert old is not None
    with db.transaction() as tx:
        for each in (one, two):
            tx.move(each, type_name=EVENT)
        tx.retire(old)
    with pytest.raises(TypeMismatch):
        move(db, one, type_name=FACT)
    assert_sound(db)


def test_a_predicate_whose_links_have_moved_can_be_retired(db: mycel.Graph) -> None:
    define(db, predicates=["likes_not"])
    one, two = add_concepts(db, "one", "two")
    link = add(db, one, "likes_not", two)
    old = db.get_concept("$PropositionType", "likes_not")
    assert old is not None
    with db.transaction() as tx:
        tx.define_predicate("dislikes")
        tx.move(link, predicate="dislikes")
        tx.retire(old)
    assert [edge.predicate for edge in db.edges_out(one)] == ["dislikes"]
    assert_sound(db)


# Purging.


def a_story(db: mycel.Graph) -> tuple[str, ...]:
    """Concepts and links that have been several things, and tombstones that had to give way."""
    define(db, [FACT, EVENT])
    one, two, three, gone = add_concepts(db, "one", "two", "three", "gone")
    left = add(db, gone, "references", two)
    retire(db, gone)
    link = add(db, one, "references", two)
    about = add(db, link, "caused_by", three)
    removed = add(db, one, "part_of", two)
    retire(db, removed)
    db.write(lambda tx: tx.update(one, attributes={"n": 1}))
    move(db, one, name="gone")
    link = move(db, link, predicate="part_of")
    removed = removed.replace("part_of", "references")  # The two have changed places.
    move(db, one, type_name=EVENT, name="last")
    add_concepts(db, "gone")
    db.write(lambda tx: tx.update(about, attributes={"n": 1}))
    move(db, two, name="second")
    return one, two, three, gone, left, link, about, removed


@pytest.mark.parametrize("which", range(8))
def test_the_roots_stay_provable_when_what_has_moved_is_purged(db: mycel.Graph, which: int) -> None:
    made = a_story(db)
    db.purge(made[which], "asked for")
    assert db.history.versions(made[which])[-1].kind == "purge"
    assert_sound(db)
    (again,) = add_concepts(db, "one")
    move(db, again, name="yet another")
    assert_sound(db)


def test_everything_can_be_purged_one_after_the_other(db: mycel.Graph) -> None:
    for each in a_story(db):
        try:
            db.purge(each, "asked for")
        except NotFound:
            continue  # It went with one of those before.
        assert_sound(db)


def test_nothing_keeps_the_names_of_a_purged_concept(db: mycel.Graph, path: Path) -> None:
    secret, other = add_concepts(db, "xylophone", "glockenspiel")
    retire(db, other)
    link = add(db, secret, "references", add_concepts(db, "else")[0])
    move(db, secret, name="glockenspiel")
    move(db, secret, name="vibraphone")
    db.purge(secret, "asked for")
    db.close()
    content = stored_bytes(path)
    assert b"xylophone" not in content
    assert b"vibraphone" not in content
    assert b"glockenspiel" in content, "the one that was removed had this name too"
    assert link


def test_a_purge_says_which_keys_a_concept_had(db: mycel.Graph, path: Path) -> None:
    (one,) = add_concepts(db, "one")
    db.write(lambda tx: tx.update(one, attributes={"n": 1}))
    move(db, one, name="first")
    move(db, one, name="one")
    history = db.history.versions(one)
    db.purge(one, "asked for")
    (record,) = [cbor2.loads(row[4]) for row in dump(path)["journal"] if row[1] == 6]
    assert [seq for seq, _ in record[4]] == [
        version.seq
        for at, version in enumerate(history)
        if at == 0 or version.kind == "move_concept"
    ]
    assert [key for _, key in record[4]] == [
        concept_key(FACT, name) for name in ("one", "first", "one")
    ]


# Guards.


class Watch:
    """Sees all that concerns one type or predicate, and may write other attributes."""

    in_bulk = False

    def __init__(self, name: str, attributes: dict[str, object] | None = None) -> None:
        self.name, self.attributes = name, attributes
        self.seen: list[mycel.Change] = []

    def concerns(self, tx: mycel.Transaction, type_or_predicate: str, *, link: bool) -> bool:
        return type_or_predicate == self.name

    def check(self, tx: mycel.Transaction, change: mycel.Change) -> dict[str, object] | None:
        if change.kind == "update":
            self.seen.append(change)
            return self.attributes
        return None

    def check_commit(self, tx: mycel.Transaction) -> None:
        pass


@pytest.mark.parametrize("name", [FACT, EVENT])
def test_guards_of_the_old_type_and_of_the_new_one_are_asked(
    path: Path, clock: Clock, name: str
) -> None:
    watch = Watch(name)
    with mycel.open(path, guards=[watch], clock_us=clock) as db:
        define(db, [EVENT])
        (one,) = add_concepts(db, "one")
        before = db.get(one)
        move(db, one, type_name=EVENT, name="first")
        (change,) = watch.seen
        assert (change.before, change.number) == (before, number_of(one))
        assert (change.type_or_predicate, change.name_or_ends) == (EVENT, "first")


@pytest.mark.parametrize("name", ["references", "part_of"])
def test_guards_of_the_old_predicate_and_of_the_new_one_are_asked(
    path: Path, clock: Clock, name: str
) -> None:
    watch = Watch(name)
    with mycel.open(path, guards=[watch], clock_us=clock) as db:
        one, two = add_concepts(db, "one", "two")
        move(db, add(db, one, "references", two), predicate="part_of")
        (change,) = watch.seen
        assert (change.type_or_predicate, change.name_or_ends) == ("part_of", (one, two))


def test_what_a_guard_makes_of_the_attributes_is_written_with_the_move(
    path: Path, clock: Clock
) -> None:
    on_type, on_predicate = Watch(EVENT, {"text": "cello"}), Watch("part_of", {"text": "viola"})
    with mycel.open(path, guards=[on_type, on_predicate], clock_us=clock) as db:
        define(db, [EVENT])
        one, two = add_concepts(db, "one", "two")
        link = add(db, one, "references", two)
        move(db, one, type_name=EVENT)
        moved = move(db, link, predicate="part_of")
        assert (db.get(one).attributes, db.get(one).version) == ({"text": "cello"}, 2)
        assert (db.get(moved).attributes, db.get(moved).version) == ({"text": "viola"}, 2)
        assert (found(db, "cello"), found(db, "viola")) == ([one], [moved])
        assert_sound(db)


def test_a_link_cannot_lead_to_itself_whatever_its_ends_are_called(db: mycel.Graph) -> None:
    one, two = add_concepts(db, "one", "two")
    link = add(db, one, "caused_by", two)
    about = add(db, link, "caused_by", two)
    ways: dict[str, Callable[[mycel.Transaction], object]] = {
        "relink by id": lambda tx: tx.relink(link, object_=one),
        "relink by key": lambda tx: tx.relink(link, object_=(FACT, "one")),
        "relink by keys": lambda tx: tx.relink(link, subject=two, object_=(FACT, "two")),
        "relink a key": lambda tx: tx.relink(((FACT, "one"), "caused_by", two), subject=two),
        "relink to a link": lambda tx: tx.relink(about, object_=(one, "caused_by", two)),
        "add": lambda tx: tx.add_edge(one, "caused_by", (FACT, "one")),
        "put": lambda tx: tx.put_proposition((FACT, "one"), "caused_by", one),
        "put many": lambda tx: tx.put_propositions(
            [PropositionRow((FACT, "one"), "caused_by", one)]
        ),
    }
    before = db.snapshot()
    with each_case() as case:
        for name, way in ways.items():
            with case(name), pytest.raises(SelfEdgeError, match="cannot be linked to itself"):
                db.write(way)
    assert db.snapshot() == before
    assert_sound(db)
