"""Forgetting the past for good: what is left is what it was, and everything still verifies."""

from __future__ import annotations

import contextlib
from io import StringIO
from pathlib import Path
from random import Random

import apsw
import pytest

import mycel
from mycel.errors import ConstraintViolation, MycelError, NotFound
from mycel.model.ids import parse_id
from mycel.store.write.purge import purge_entry
from tests.unit.store.given import (
    FACT,
    Clock,
    add_concepts,
    assert_sound,
    define,
    legible,
    problems,
)

OLD, GONE, LINK, LATER = "qvwzkoldvalu", "qvwzkgonevalu", "qvwzklinkvalu", "qvwzklatervalu"


def here(path: Path) -> set[str]:
    """The words that can be read in the files."""
    content = legible(path).lower()
    return {word for word in (OLD, GONE, LINK, LATER) if word.encode() in content}


def test_what_was_removed_or_superseded_is_in_no_byte_and_the_rest_is_as_it_was(
    path: Path, clock: Clock
) -> None:
    with mycel.open(path, clock_us=clock, durability="off") as db:
        define(db, [FACT], ["likes"])
        kept, gone, friend = add_concepts(db, "kept", "gone", "friend")
        db.write(lambda tx: tx.update(kept, attributes={"text": OLD}))
        db.write(lambda tx: tx.update(gone, attributes={"text": GONE}))
        db.add_edge(kept, "likes", gone, data={"text": LINK})
        db.write(lambda tx: tx.update(kept, attributes={"text": "present"}))
        db.write(lambda tx: tx.retire(gone, reason="no longer so"))
        clock.tick()
        moment = db.snapshot().entries
        then = {each.id: each for each in (db.get(kept), db.get(friend))}
        clock.tick()
        db.write(lambda tx: tx.update(kept, attributes={"text": LATER}))
        db.write(lambda tx: tx.update(kept, attributes={"text": "newest"}))
        counted = db.scrub(moment, dry_run=True)
        assert here(path) == {OLD, GONE, LINK, LATER}
        done = db.scrub(moment, "the law", by="officer")
        assert done.scrubbed
        assert counted == done._replace(scrubbed=False)
        assert (done.until, done.concepts, done.propositions, done.versions) == (moment, 1, 1, 2)
        assert here(path) == {LATER}, "what was superseded later is still there"
        assert db.get(kept).attributes["text"] == "newest"
        past = db.as_of(moment)
        assert {each: past.get(each) for each in then} == then
        with pytest.raises(ConstraintViolation, match=f"before entry {moment} was scrubbed"):
            db.as_of(moment - 1)
        kinds = [version.kind for version in db.history.versions(kept)]
        assert kinds == ["put_concept", "put_concept", "put_concept", "scrub"]
        assert db.history.versions(gone)[-1].reason == "the law"
        with pytest.raises(NotFound):
            db.history.versions(
                "C:1"
            )  # No number of a concept: not the entry that says where it begins.
        assert_sound(db)
        nothing = db.scrub(moment, "again")
        assert not any(nothing[1:4])
        later = db.scrub(db.snapshot().entries, "all of it")
        assert later.versions == 2
        assert here(path) == set()
        assert_sound(db)
        db.purge(kept, "asked for")
        assert_sound(db)
    with mycel.open(path) as db:
        assert_sound(db)


def test_links_that_were_led_elsewhere_outlive_what_they_led_to(
    db: mycel.Graph, clock: Clock
) -> None:
    define(db, [FACT], ["likes"])
    one, loser, winner = add_concepts(db, "one", "loser", "winner")
    link = db.add_edge(one, "likes", loser)
    about = db.add_edge(link, "references", winner)
    db.write(lambda tx: tx.relink(tx.get(link), object_=winner))
    db.write(lambda tx: tx.move(one, name="renamed"))
    db.write(lambda tx: tx.retire(loser, reason="merged"))
    clock.tick()
    live = [db.get(each) for each in (one, winner)], list(db.edges_out(one))
    done = db.scrub(db.snapshot().entries, "tidy")
    assert done.concepts == 1
    assert done.versions > 3
    assert ([db.get(each) for each in (one, winner)], list(db.edges_out(one))) == live
    assert db.get(about).object == winner
    assert_sound(db)
    db.write(lambda tx: tx.move(one, name="once more"))
    assert_sound(db)
    db.scrub(db.snapshot().entries, "tidy again")
    assert_sound(db)
    db.purge(one, "asked for")
    assert_sound(db)


def test_scrubbing_needs_a_moment_that_was_and_a_reason(db: mycel.Graph) -> None:
    (one,) = add_concepts(db, "one")
    db.write(lambda tx: tx.update(one, attributes={"n": 1}))
    before = db.snapshot()
    with pytest.raises(ConstraintViolation, match="There is no moment"):
        db.scrub(10_000, "too far")
    with pytest.raises(ConstraintViolation, match="must not be empty"):
        db.scrub(before.entries)
    assert db.snapshot() == before
    assert db.scrub().scrubbed, "without a moment, the file is rewritten"
    assert db.snapshot() == before


def test_the_text_index_forgets_words_of_versions_that_it_still_held(
    path: Path, clock: Clock
) -> None:
    with mycel.open(path, clock_us=clock, durability="off") as db:
        define(db, [FACT], ["likes"])
        one, other = add_concepts(db, "one", GONE)
        db.write(lambda tx: tx.update(one, attributes={"text": OLD}))
        link = db.add_edge(one, "likes", other, data={"text": LINK})
        assert len(db.search(OLD, mode="keyword")) == 1, "the index has caught up"
        db.write(lambda tx: tx.update(one, attributes={"text": "present"}))
        db.write(lambda tx: tx.update(link, attributes={"text": LATER}))
        db.write(lambda tx: tx.move(other, name="renamed"))
        assert here(path) == {OLD, GONE, LINK, LATER}
        db.scrub(db.snapshot().entries, "the law")
        assert here(path) == {LATER}
        assert [found.id for found, _ in db.search(LATER)] == [link]
        assert_sound(db)


def test_verify_finds_versions_that_were_removed_in_the_name_of_an_earlier_scrub(
    path: Path, clock: Clock
) -> None:
    with mycel.open(path, clock_us=clock, durability="off") as db:
        (one,) = add_concepts(db, "one")
        entries = []
        for number in range(4):
            db.write(lambda tx, n=number: tx.update(one, attributes={"n": n}))
            entries.append(db.history.versions(one)[-1].seq)
            clock.tick()
        done = db.scrub(entries[1] + 1, "tidy")
        assert done.versions == 2
        scrubbed = db.history.versions(one)[-1].seq
        assert_sound(db)
    connection = apsw.Connection(str(path))
    with connection:
        purge_entry(connection, entries[1], scrubbed)
        purge_entry(connection, entries[2], -scrubbed)
        bindings = parse_id(one), entries[2]
        connection.execute("DELETE FROM concept_past WHERE id = ? AND to_seq <= ?", bindings)
    connection.close()
    with mycel.open(path) as db:
        found = {each["where"] for each in problems(db.verify())}
    assert found == {f"journal {entries[2]}"}, "it lies after the moment of the scrub"


def test_views_and_cursors_from_before_are_refused_rather_than_answered_in_part(
    db: mycel.Graph, clock: Clock
) -> None:
    add_concepts(db, "one", "two", "three")
    view = db.as_of(db.snapshot().entries)
    listing = f'FIND(?c.name) WHERE {{ ?c {{type: "{FACT}"}} }} ORDER BY ?c.name LIMIT 1'
    page = db.execute(listing)
    one = view.get_concept(FACT, "one")
    assert one is not None
    db.write(lambda tx: tx.retire(one.id, reason="so"))
    clock.tick()
    then = db.as_of(db.snapshot().entries)
    kept = db.execute(listing)
    db.scrub(then.seq, "tidy")
    refused = (
        lambda: view.get(one.id),
        lambda: view.get_concept(FACT, "two"),
        lambda: list(view.edges_out(one.id)),
        lambda: view.find(one.id),
        lambda: view.export(StringIO()),
        lambda: db.execute(f"{listing} CURSOR :cursor", cursor=page.next_cursor),
    )
    for each in refused:
        with pytest.raises(ConstraintViolation, match="was scrubbed"):
            each()
    assert then.get_concept(FACT, "two") is not None
    assert db.execute(f"{listing} CURSOR :cursor", cursor=kept.next_cursor).value == ["two"]


def test_what_is_hidden_goes_with_the_past_and_is_named(path: Path, clock: Clock) -> None:
    with mycel.open(path, clock_us=clock, durability="off") as db:
        whole = "node A { k: String @key  x: String? }  node B { k: String @key }"
        db.schema.apply(whole)
        db.write(lambda tx: tx.put_concept("A", "a", {"x": OLD}))
        db.write(lambda tx: tx.put_concept("B", GONE))
        assert len(db.search(OLD, mode="keyword")) == 1, "the text index has it"
        clock.tick()
        db.schema.apply("node A { k: String @key }", allow_removals=True)
        moment = db.snapshot().entries
        clock.tick()
        assert db.scrub(moment, dry_run=True).hidden == ("A.x", "B")
        assert [each.name for each in db.schema.hidden()] == ["A.x", "B"], "it was only counted"
        done = db.scrub(moment, "the law")
        assert done.hidden == ("A.x", "B")
        assert here(path) == set()
        assert db.schema.hidden() == []
        db.schema.apply(whole)
        assert db.get_concept("B", GONE) is None
        assert len(db.schema.history()) == 3, "definitions keep their past"
        assert_sound(db)


def test_scrubbing_any_history_at_any_moment_leaves_all_later_states(clock: Clock) -> None:
    for seed in range(4):
        random = Random(seed)
        with mycel.open(":memory:", clock_us=clock, core_capsules=False) as db:
            define(db, [FACT], ["likes"])
            moments = [_disturb(db, random) for _ in range(40)]
            states = {moment: _state(db, moment) for moment in moments}
            for chosen in sorted(random.sample(moments, 2)):
                before = db.snapshot()
                db.scrub(chosen, "tidy")
                for moment, state in states.items():
                    if moment >= chosen:
                        assert _state(db, moment) == state, (seed, chosen, moment)
                assert_sound(db)
                assert db.prove_consistency(before.entries).verify(
                    before.journal_root, db.snapshot().overall_root
                )


def _disturb(db: mycel.Graph, random: Random) -> int:
    """One change of something, or none; the position of the journal after it."""
    ids = [f"C:{number}" for number in range(2, 60, 2)] + [f"P:{n}:likes" for n in range(1, 40, 2)]
    one, other = random.choice(ids), random.choice(ids)
    name = f"n{random.randrange(12)}"
    changes = (
        lambda tx: tx.put_concept(FACT, name, {"n": random.randrange(9)}),
        lambda tx: tx.put_concept(FACT, name, {"n": random.randrange(9)}),
        lambda tx: tx.add_edge(one, "likes", other, data={"n": random.randrange(9)}),
        lambda tx: tx.add_edge(one, "likes", other),
        lambda tx: tx.update(one, attributes={"n": random.randrange(9)}),
        lambda tx: tx.retire(one, reason="so"),
        lambda tx: tx.move(one, name=name),
        lambda tx: tx.relink(tx.get(one), object_=other),
    )
    with contextlib.suppress(MycelError):
        db.write(random.choice(changes))
    return db.snapshot().entries


def _state(db: mycel.Graph, moment: int) -> list[object]:
    view = db.as_of(moment)
    concepts = [view.get_concept(FACT, f"n{n}") for n in range(12)]
    found = [each for each in concepts if each is not None]
    return [*found, *(link for each in found for link in view.edges_out(each.id))]
