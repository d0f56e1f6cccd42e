"""Forgetting for good: content is gone from every byte, and everything still verifies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import ConstraintViolation, MycelError, NotFound, TypeMismatch
from mycel.store.write.purge import purge
from tests.unit.store.given import (
    FACT,
    Clock,
    add_concepts,
    assert_sound,
    define,
    entries,
    legible,
    number_of,
)

# Words that occur nowhere else, and that no stemmer shortens.
SECRETS = {
    "name": "qvwzkname",
    "attribute": "qvwzkattribut",
    "old value": "qvwzkoldvalu",
    "key": "qvwzkkei",
    "metadata": "qvwzkmetadat",
    "link": "qvwzklink",
    "removed link": "qvwzkremovedlink",
    "link about link": "qvwzkaboutlink",
    "reason": "qvwzkreason",
}


def found_in(content: bytes) -> list[str]:
    """Which of the secrets can be read in the bytes."""
    folded = content.lower()
    return [what for what, word in SECRETS.items() if word.encode() in folded]


def add_secrets(db: mycel.Graph) -> tuple[str, list[str]]:
    """A concept with a past, and links with secrets of their own that touch it."""
    friend, witness = add_concepts(db, "friend", "witness")
    with db.transaction() as tx:
        secret = tx.put_concept(
            FACT,
            f"the {SECRETS['name']}",
            {"text": f"said {SECRETS['old value']}", SECRETS["key"]: 1},
            {"source": SECRETS["metadata"]},
        )
        removed = tx.add_edge(friend, "related_to", secret, data={"w": SECRETS["removed link"]})
    with db.transaction() as tx:
        tx.update(secret, attributes={"text": f"says {SECRETS['attribute']}"})
        link = tx.add_edge(secret, "references", friend, data={"w": SECRETS["link"]})
        tx.remove_edge(friend, "related_to", secret, reason=SECRETS["reason"])
    about = db.add_edge(link, "attested_by", witness, data={"w": SECRETS["link about link"]})
    return secret, [removed, link, about]


def fill(db: mycel.Graph, count: int) -> None:
    """So much else that trees and text index are folded, and rows have moved between pages."""
    with db.transaction() as tx:
        tx.define_type("Filler")
        rows = (mycel.ConceptRow("Filler", f"filler {n}", {"t": "x" * 90}) for n in range(count))
        made = tx.put_concepts(rows)
        tx.add_edge(made[0], "references", made[1])


def in_small_steps(db: mycel.Graph, count: int) -> None:
    define(db, ["Filler"])
    for n in range(count):
        db.write(lambda tx, n=n: tx.put_concept("Filler", f"step {n}"))


@pytest.mark.parametrize("before", [0, 700], ids=["alone", "after much else"])
@pytest.mark.parametrize("after", [0, 700, -270], ids=["pending", "before a load", "folded"])
def test_purged_content_is_in_no_byte_of_the_files(
    path: Path, clock: Clock, before: int, after: int
) -> None:
    with mycel.open(path, clock_us=clock, durability="off") as db:
        if before:
            fill(db, before)
        secret, _ = add_secrets(db)
        if after > 0:
            fill(db, after + before)
        elif after < 0:
            in_small_steps(db, -after)
        assert set(found_in(legible(path))) >= {"name", "attribute", "old value", "link"}
        purged = db.purge(secret, "on request", by="officer")
        assert purged.scrubbed
        assert found_in(legible(path)) == []
        add_concepts(db, "afterwards")
        assert found_in(legible(path)) == []
        assert_sound(db)
    assert found_in(legible(path)) == []
    with mycel.open(path) as db:
        assert_sound(db)


def test_purging_works_the_same_after_a_search_has_brought_the_index_up_to_date(
    db: mycel.Graph, path: Path
) -> None:
    secret, _ = add_secrets(db)
    assert [element.id for element, _ in db.search(SECRETS["attribute"])] == [secret]
    db.purge(secret, "on request")
    assert found_in(legible(path)) == []
    for word in SECRETS.values():
        assert db.search(word) == []
    assert_sound(db)


def test_purging_while_somebody_reads_leaves_scrubbing_for_later(path: Path, clock: Clock) -> None:
    with mycel.open(path, clock_us=clock, durability="off", busy_timeout_s=0.05) as db:
        secret, _ = add_secrets(db)
        one, other = add_concepts(db, "one", "other")
        db.add_edge(one, "references", other)
        db.add_edge(one, "supersedes", other)
        edges = db.edges_out(one)
        next(edges)
        purged = db.purge(secret, "on request")
        assert not purged.scrubbed
        with pytest.raises(NotFound):
            db.get(secret)
        assert len(list(edges)) == 1, "the reader was not disturbed"
        assert db.scrub().scrubbed
        assert found_in(legible(path)) == []
        assert_sound(db)


def test_purged_content_is_gone_in_memory_too(clock: Clock) -> None:
    with mycel.open(":memory:", clock_us=clock) as db:
        secret, links = add_secrets(db)
        db.purge(secret, "on request")
        for each in (secret, *links):
            with pytest.raises(NotFound):
                db.get(each)
        assert_sound(db)


def test_a_purge_takes_every_link_that_ever_touched_the_element(
    db: mycel.Graph, clock: Clock
) -> None:
    secret, links = add_secrets(db)
    (friend,) = [edge.dst for edge in db.edges_out(secret)]
    kept = db.add_edge(friend, "references", next(db.edges_out(links[1])).dst)
    before = entries(db)
    clock.tick()
    purged = db.purge(secret, "on request", by="officer")
    # Versions: 2 of the concept, 2 of the removed link, 1 each of the others.
    assert (purged.concepts, purged.propositions, purged.entries) == (1, 3, 6)
    assert entries(db) == before + 4 + 1
    for each in (secret, *links):
        with pytest.raises(NotFound):
            db.get(each)
    assert db.get(kept).id == kept
    assert [edge.id for edge in db.edges_out(friend, include_tombstoned=True)] == [kept]
    assert list(db.edges_in(friend, include_tombstoned=True)) == []


def test_history_says_who_purged_and_why_and_nothing_else(db: mycel.Graph, clock: Clock) -> None:
    secret, links = add_secrets(db)
    now = clock.tick()
    db.purge(secret, "on request", by="officer")
    for each in (secret, *links):
        versions = db.history.versions(each)
        assert all(version.element is None for version in versions)
        last = versions[-1]
        assert (last.kind, last.reason) == ("purge", "on request")
        assert (last.transaction.actor, last.transaction.time_us) == ("officer", now)
        shown = str([version.to_dict() for version in versions])
        assert found_in(shown.encode()) == []


def test_the_past_shows_nothing_of_what_was_purged_and_everything_else(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    db.add_edge(one, "references", other)
    secret, links = add_secrets(db)
    db.add_edge(one, "references", secret)
    seq = entries(db)
    db.purge(secret, "on request")
    past = db.as_of(seq)
    for each in (secret, *links):
        with pytest.raises(NotFound):
            past.get(each)
    assert past.get_concept(FACT, f"the {SECRETS['name']}") is None
    assert [edge.dst for edge in past.edges_out(one, include_tombstoned=True)] == [other]


def test_the_log_still_verifies_and_goes_on_from_every_older_head(db: mycel.Graph) -> None:
    snapshots = []
    for n in range(3):
        add_concepts(db, f"n{n}")
        snapshots.append(db.snapshot())
    secret, _ = add_secrets(db)
    snapshots.append(db.snapshot())
    old_entries = [db.prove_entry(seq).entry for seq in range(1, entries(db) + 1)]
    db.purge(secret, "on request")
    snapshots.append(db.snapshot())
    overall = db.snapshot().overall_root
    for seq, entry in enumerate(old_entries, 1):
        proof = db.prove_entry(seq)
        assert proof.entry == entry, "an entry commits to hashes, and those stay"
        assert proof.verify(overall)
    for old in snapshots:
        assert db.prove_consistency(old.entries).verify(old.journal_root, overall)
    assert_sound(db)


def test_what_was_purged_is_proven_absent(db: mycel.Graph) -> None:
    secret, _ = add_secrets(db)
    name = f"the {SECRETS['name']}"
    before = db.prove((FACT, name))
    db.purge(secret, "on request")
    proof = db.prove((FACT, name))
    assert proof.record is None
    assert proof.verify(db.snapshot().overall_root)
    assert before.key == proof.key
    assert not before.verify(db.snapshot().overall_root)
    with pytest.raises(NotFound):
        db.prove(secret)


def test_purging_restores_the_roots_from_before(db: mycel.Graph) -> None:
    add_concepts(db, "friend", "witness")
    before = db.snapshot()
    secret, _ = add_secrets(db)
    db.purge(secret, "on request")
    after = db.snapshot()
    assert (after.concepts_root, after.edges_root) == (before.concepts_root, before.edges_root)


def test_an_element_made_again_after_its_purge_is_a_new_one(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    link = db.add_edge(one, "references", other)
    db.purge(one, "a mistake")
    (again,) = add_concepts(db, "one")
    fresh = db.add_edge(again, "references", other)
    assert number_of(again) > number_of(one)
    assert number_of(fresh) > number_of(link)
    assert [version.kind for version in db.history.versions(again)] == ["put_concept"]
    assert [version.kind for version in db.history.versions(one)][-1] == "purge"
    proof = db.prove(again)
    assert proof.verify(db.snapshot().overall_root)
    db.purge(again, "once more")
    add_concepts(db, "one")
    assert_sound(db)


def test_a_removed_element_can_be_purged(db: mycel.Graph, path: Path) -> None:
    secret, links = add_secrets(db)
    db.write(lambda tx: tx.retire(secret, reason=SECRETS["reason"]))
    purged = db.purge(secret, "on request")
    assert (purged.concepts, purged.propositions) == (1, 3)
    assert found_in(legible(path)) == []
    with pytest.raises(NotFound):
        db.get_edge(links[1], "attested_by", secret)
    assert_sound(db)


def test_a_revived_element_is_purged_with_all_its_lives(db: mycel.Graph, path: Path) -> None:
    define(db, [FACT])
    for word in (SECRETS["old value"], SECRETS["attribute"]):
        made = db.write(lambda tx, word=word: tx.put_concept(FACT, "one", {"text": word}))
        db.write(lambda tx, made=made: tx.retire(made))
    made = db.write(lambda tx: tx.put_concept(FACT, "one", {"text": SECRETS["metadata"]}))
    assert db.purge(made, "on request").entries == 5
    assert found_in(legible(path)) == []
    assert_sound(db)


def test_a_link_can_be_purged_alone(db: mycel.Graph, path: Path) -> None:
    secret, links = add_secrets(db)
    purged = db.purge(links[1], "on request")
    assert (purged.concepts, purged.propositions) == (0, 2)
    assert set(found_in(legible(path))) & {"link", "link about link"} == set()
    assert db.get(secret).id == secret
    assert_sound(db)


def test_a_definition_that_nothing_uses_can_be_purged(db: mycel.Graph) -> None:
    define(db, ["Unused"], ["unused"])
    for meta, name in (("$ConceptType", "Unused"), ("$PropositionType", "unused")):
        definition = db.get_concept(meta, name)
        assert definition is not None
        db.purge(definition, "on request")
    one, other = add_concepts(db, "one", "other")
    with pytest.raises(TypeMismatch):
        db.add_edge(one, "unused", other)
    with pytest.raises(TypeMismatch):
        db.write(lambda tx: tx.put_concept("Unused", "x"))
    assert_sound(db)
    define(db, ["Unused"], ["unused"])
    db.add_edge(one, "unused", other)
    assert_sound(db)


@pytest.mark.parametrize("meta", ["$ConceptType", "$PropositionType"])
@pytest.mark.parametrize("more", [False, True], ids=["last", "before others"])
def test_a_removed_definition_can_be_purged(db: mycel.Graph, meta: str, more: bool) -> None:
    definition = db.write(lambda tx: tx.put_concept(meta, "brief"))
    db.write(lambda tx: tx.retire(definition))
    if more:
        define(db, ["Later"], ["later"])
    db.purge(definition, "on request")
    assert_sound(db)
    define(db, ["Last"])
    assert_sound(db)


def test_several_purges_follow_one_another(db: mycel.Graph, path: Path) -> None:
    secret, links = add_secrets(db)
    hub, *others = add_concepts(db, "hub", *(f"n{n}" for n in range(5)))
    for other in others:
        db.add_edge(hub, "references", other)
    db.purge(links[2], "first")
    db.purge(others[0], "second")
    db.purge(secret, "third")
    db.purge(hub, "fourth")
    assert found_in(legible(path)) == []
    assert_sound(db)


@pytest.mark.parametrize("absent", ["C:999998", "P:999999:references"])
def test_purging_what_never_was_is_not_found(db: mycel.Graph, absent: str) -> None:
    before = db.snapshot()
    with pytest.raises(NotFound):
        db.purge(absent, "on request")
    assert db.snapshot() == before


def test_purging_twice_is_not_found(db: mycel.Graph) -> None:
    (one,) = add_concepts(db, "one")
    db.purge(one, "on request")
    before = db.snapshot()
    with pytest.raises(NotFound):
        db.purge(one, "on request")
    assert db.snapshot() == before


@pytest.mark.parametrize("reason", ["", "x" * 4097, "\ud800", None, 5])
def test_a_purge_needs_a_reason(db: mycel.Graph, reason: Any) -> None:
    (one,) = add_concepts(db, "one")
    before = db.snapshot()
    with pytest.raises(MycelError):
        db.purge(one, reason)
    assert db.snapshot() == before
    assert db.get(one).id == one


def test_a_definition_in_use_by_what_was_removed_stays_readable_after_its_purge(
    db: mycel.Graph,
) -> None:
    (one,) = add_concepts(db, "one")
    definition = db.get_concept("$ConceptType", FACT)
    assert definition is not None
    with pytest.raises(ConstraintViolation):
        db.purge(definition, "on request")
    db.write(lambda tx: tx.retire(one))
    db.purge(definition, "on request")
    last = db.history.versions(one)[-1].element
    assert isinstance(last, mycel.Concept)
    assert last.type == FACT
    assert_sound(db)


def test_purging_leaves_ids_and_numbers_alone(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    steps: list[Callable[[], Any]] = [
        lambda: db.purge(other, "on request"),
        lambda: db.purge(one, "on request"),
    ]
    for step in steps:
        step()
    (third,) = add_concepts(db, "third")
    assert number_of(third) == number_of(other) + 2
    assert_sound(db)


def test_nothing_is_purged_by_a_transaction_that_has_ended(db: mycel.Graph) -> None:
    define(db, [FACT])
    with db.transaction() as tx:
        one = tx.put_concept(FACT, "one")
    for ref in (one, "no id"):
        with pytest.raises(ConstraintViolation, match="This transaction has ended"):
            purge(tx, ref, "too late")
    assert db.get(one)
