"""Removing concepts, links and definitions, and what goes with them."""

import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    ImmutableTarget,
    MycelError,
    NotFound,
    TypeMismatch,
)
from tests.unit.store.given import FACT, Clock, add_concepts, assert_sound, define, entries


def retire(db: mycel.Graph, ref: str, reason: str = "") -> mycel.Retired:
    return db.write(lambda tx: tx.retire(ref, reason=reason))


def definition(db: mycel.Graph, meta: str, name: str) -> str:
    found = db.get_concept(meta, name)
    assert found is not None
    return found.id


def test_a_removed_concept_is_gone_from_the_live_state_and_kept_in_history(
    db: mycel.Graph, clock: Clock
) -> None:
    define(db, [FACT])
    made = db.write(lambda tx: tx.put_concept(FACT, "one", {"a": 1}))
    now = clock.tick()
    assert retire(db, made, "obsolete") == (1, 0)
    assert db.get_concept(FACT, "one") is None
    with pytest.raises(NotFound):
        db.get(made)
    last = db.history.versions(made)[-1]
    assert (last.kind, last.reason) == ("retire_concept", "obsolete")
    assert last.element is not None
    assert last.element.tombstoned
    assert (last.element.tombstoned_us, last.element.tombstoned_by) == (now, "tester")
    assert last.element.attributes == {"a": 1}


def test_removing_what_is_not_there_is_not_found(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    link = db.add_edge(one, "references", other)
    retire(db, one)
    before = db.snapshot()
    for gone in (one, link, "C:999998", "P:999999:references"):
        with pytest.raises(NotFound):
            retire(db, gone)
    assert db.snapshot() == before


def test_a_concept_takes_every_link_with_it_and_every_link_about_those(db: mycel.Graph) -> None:
    hub, one, two, far = add_concepts(db, "hub", "one", "two", "far")
    out = db.add_edge(hub, "references", one)
    into = db.add_edge(two, "references", hub)
    about = db.add_edge(out, "attested_by", far)
    above = db.add_edge(far, "references", about)
    across = db.add_edge(above, "related_to", into)
    kept = db.add_edge(one, "references", far)
    before = entries(db)
    assert retire(db, hub, "gone") == (1, 5)
    assert entries(db) == before + 6 + 1
    for link in (out, into, about, above, across):
        with pytest.raises(NotFound):
            db.get(link)
        assert db.history.versions(link)[-1].reason == "gone"
    assert db.get(kept).id == kept
    assert_sound(db)


def test_a_link_counts_itself_and_the_links_about_it(db: mycel.Graph) -> None:
    one, other, third = add_concepts(db, "one", "other", "third")
    link = db.add_edge(one, "references", other)
    about = db.add_edge(link, "attested_by", third)
    db.add_edge(about, "references", one)
    assert retire(db, link) == (0, 3)
    assert list(db.edges_in(third)) == []
    assert db.get(one).id == one
    assert_sound(db)


def test_a_chain_of_links_about_links_goes_as_a_whole(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    link = db.add_edge(one, "references", other)
    with db.transaction() as tx:
        for _ in range(100):
            link = tx.add_edge(link, "references", other)
    assert retire(db, one) == (1, 101)
    assert list(db.edges_in(other)) == []
    assert_sound(db)


def test_a_removed_concept_is_revived_afresh_under_its_old_id(
    db: mycel.Graph, clock: Clock
) -> None:
    define(db, [FACT])
    made = db.write(lambda tx: tx.put_concept(FACT, "one", {"a": 1}, {"m": 1}))
    retire(db, made)
    now = clock.tick()
    again = db.write(lambda tx: tx.put_concept(FACT, "one", {"b": 2}), actor="berta")
    revived = db.get(again)
    assert again == made
    assert (revived.attributes, revived.metadata, revived.version) == ({"b": 2}, {}, 1)
    assert (revived.created_us, revived.created_by) == (now, "berta")
    assert not revived.tombstoned
    kinds = [version.kind for version in db.history.versions(made)]
    assert kinds == ["put_concept", "retire_concept", "put_concept"]
    assert_sound(db)


def test_reviving_a_concept_does_not_revive_its_links(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    link = db.add_edge(one, "references", other)
    retire(db, one)
    add_concepts(db, "one")
    assert list(db.edges_out(one)) == []
    assert db.get_edge(one, "references", other).tombstoned
    assert db.add_edge(one, "references", other) == link
    assert_sound(db)


def test_a_definition_in_use_cannot_be_removed(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    define(db, predicates=["likes"])
    db.add_edge(one, "likes", other)
    before = db.snapshot()
    for meta, name in (("$ConceptType", FACT), ("$PropositionType", "likes")):
        with pytest.raises(ConstraintViolation) as caught:
            retire(db, definition(db, meta, name))
        count, noun, example = (
            (2, "concepts", f"{one} (one)")
            if name == FACT
            else (1, "proposition", "likes (from one to other)")
        )
        assert f"{name!r} is still in use by {count} {noun}: " in caught.value.message
        assert example in caught.value.message
        assert caught.value.data["count"] == count
        with pytest.raises(ConstraintViolation):
            db.purge(definition(db, meta, name), "why")
    assert db.snapshot() == before


def test_a_definition_can_be_removed_once_nothing_uses_it(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    define(db, predicates=["likes"])
    db.add_edge(one, "likes", other)
    db.remove_edge(one, "likes", other)
    retire(db, definition(db, "$PropositionType", "likes"))
    with pytest.raises(TypeMismatch):
        db.add_edge(one, "likes", other)
    retire(db, one)
    retire(db, other)
    retire(db, definition(db, "$ConceptType", FACT))
    with pytest.raises(TypeMismatch):
        db.write(lambda tx: tx.put_concept(FACT, "three"))
    define(db, [FACT], ["likes"])
    assert add_concepts(db, "one", "other") == [one, other]
    db.add_edge(one, "likes", other)
    assert_sound(db)


def test_a_definition_that_has_links_of_its_own_takes_them_with_it(db: mycel.Graph) -> None:
    define(db, ["A", "B"])
    one, other = definition(db, "$ConceptType", "A"), definition(db, "$ConceptType", "B")
    db.add_edge(one, "supersedes", other)
    assert retire(db, one) == (1, 1)
    assert list(db.edges_in(other)) == []
    assert_sound(db)


def test_a_definition_made_and_removed_in_one_transaction_is_not_in_force(
    db: mycel.Graph,
) -> None:
    with db.transaction() as tx:
        made = tx.define_type("Brief")
        one = tx.put_concept("Brief", "one")
        with pytest.raises(ConstraintViolation):
            tx.retire(made)
        tx.retire(one)
        tx.retire(made)
        with pytest.raises(TypeMismatch):
            tx.put_concept("Brief", "two")
    with pytest.raises(TypeMismatch):
        db.write(lambda tx: tx.put_concept("Brief", "two"))
    assert_sound(db)


@pytest.mark.parametrize("name", ["$ConceptType", "$PropositionType"])
def test_the_meta_types_can_be_neither_removed_nor_purged(db: mycel.Graph, name: str) -> None:
    before = db.snapshot()
    with pytest.raises(ImmutableTarget):
        retire(db, definition(db, "$ConceptType", name))
    with pytest.raises(ImmutableTarget):
        db.purge(definition(db, "$ConceptType", name), "why")
    assert db.snapshot() == before


@pytest.mark.parametrize("reason", ["x" * 4097, "\ud800", "a\0b", None, 5])
def test_a_reason_that_cannot_be_stored_is_refused(db: mycel.Graph, reason: str) -> None:
    one, other = add_concepts(db, "one", "other")
    db.add_edge(one, "references", other)
    before = db.snapshot()
    for use in (
        lambda: retire(db, one, reason),
        lambda: db.remove_edge(one, "references", other, reason=reason),
    ):
        with pytest.raises(MycelError):
            use()
    assert db.snapshot() == before


def test_a_refused_removal_that_is_caught_leaves_every_link_in_place(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    link = db.add_edge(one, "references", other)
    with db.transaction() as tx:
        with pytest.raises(MycelError):
            tx.retire(one, reason="\ud800")
        tx.update(other, attributes={"a": 1})
    assert db.get(link).id == link
    assert db.get(one).id == one
