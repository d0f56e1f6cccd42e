"""SEARCH … AS OF: the texts of a past state, as they were then."""

from __future__ import annotations

import random
from typing import Any

import pytest

import mycel
from mycel.errors import ConstraintViolation, InvalidSyntax
from mycel.store.query import changed_texts
from mycel.store.write.transaction import Transaction
from tests.prepared import NEW


def names(db: mycel.Graph, question: str, **options: Any) -> list[str]:
    found = db.search(question, mode="keyword", element="CONCEPT", limit=50, **options)
    return [element.name for element, _ in found]


def links_found(db: mycel.Graph, question: str, **options: Any) -> list[Any]:
    return db.search(question, element="PROPOSITION", mode="keyword", **options)


def position(db: mycel.Graph) -> int:
    return next(db.history.log(limit=1)).seq


WORDS = ["harbour", "cranes", "crane", "Brücke", "bruecken", "departing", "departure", "nobility"]
WORDS += ["noble", "ferry", "timetable", "海港", "ties", "tied", "École", "ecole", "QuerySet", "x1"]


def test_a_past_state_answers_as_the_graph_did_at_that_moment() -> None:
    rng = random.Random(7)
    questions = [*WORDS[::2], "ferry timetable", "the noble departures", "query set"]

    def change(tx: Transaction, at: int) -> None:
        name = f"{rng.choice(WORDS)} {rng.randrange(12)}"
        if rng.random() < 0.3 and (old := tx.get_concept("Note", name)) is not None:
            tx.retire(old.id, reason="gone")
            return
        some = {"text": " ".join(rng.choices(WORDS, k=3))}
        if rng.random() < 0.2:
            some["aliases"] = [" ".join(rng.choices(WORDS, k=2))]
        made = tx.put_concept("Note", name, some)
        if rng.random() < 0.4:
            tx.put_proposition(made, "near", first, {"note": rng.choice(WORDS)})

    with NEW.opened() as db:
        with db.transaction() as tx:
            tx.define_type("Note")
            tx.define_predicate("near")
            first = tx.put_concept("Note", "harbour", {"text": "ships"})
        told = []
        for at in range(36):
            db.write(lambda tx, at=at: change(tx, at))
            if at % 16 == 3:
                answers = {each: sorted(names(db, each)) for each in questions}
                links = {
                    each: sorted(link.id for link, _ in links_found(db, each)) for each in questions
                }
                told.append((position(db), answers, links))
        assert any(told[0][1].values())
        assert any(told[-1][2].values())
        for seq, answers, links in told:
            for question in questions:
                assert sorted(names(db, question, as_of=seq)) == answers[question], question
                past = links_found(db, question, as_of=seq)
                assert sorted(link.id for link, _ in past) == links[question], question


def test_elements_are_shown_as_they_were_and_filters_go_by_what_they_were() -> None:
    with NEW.opened() as db:
        with db.transaction(actor="ines") as tx:
            tx.define_type("Note")
            tx.define_predicate("follows")
            tide = tx.put_concept("Note", "concept://port/tide", {"text": "low water"}, {"by": 1})
            gone = tx.put_concept("Note", "concept://port/gone", {"text": "sandbank"})
            tx.put_proposition(tide, "follows", gone, {"note": "slack water"})
        then = position(db)
        db.history.tag("before")
        with db.transaction(actor="omar") as tx:
            tx.put_concept("Note", "concept://port/tide", {"text": "high water"}, {"by": 2})
            tx.retire(gone, reason="dredged")
            tx.put_concept("Note", "concept://port/new", {"text": "low water mark"})
        (hit,) = db.execute('SEARCH CONCEPT "low" MODE "keyword" AS OF "before"').value
        assert hit["attributes"] == {"text": "low water"}
        assert names(db, "low") == ["concept://port/new"]
        assert names(db, "sandbank") == []
        assert names(db, "sandbank", as_of=then) == ["concept://port/gone"]
        assert names(db, "water", as_of=then, actor="omar") == []
        assert names(db, "water", as_of=then, metadata={"by": 1}) == ["concept://port/tide"]
        assert names(db, "water", as_of=then, path="concept://port", type="Note") == [
            "concept://port/tide"
        ]
        (link,) = db.search("slack", element="PROPOSITION", mode="keyword", as_of=then)
        assert link[0].object == gone
        near = db.search("water", mode="keyword", near=gone, as_of=then, element="CONCEPT")
        assert near[0][1] > 0.8
        told = db.execute('SEARCH CONCEPT "low" AS OF :moment LIMIT 3', {"moment": then})
        assert [each["name"] for each in told.value] == ["concept://port/tide"]
        assert told.warnings == (
            "A search AS OF the past goes by names and words: meaning has no past.",
        )


def test_a_rare_word_is_found_however_many_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_texts, "READ_MAX", 10)
    with NEW.opened() as db:
        with db.transaction() as tx:
            tx.define_type("Note")
            for number in range(100):
                tx.put_concept("Note", f"note {number}", {"text": f"item{number:03}"})
        then = position(db)
        with db.transaction() as tx:
            for number in range(100):
                tx.put_concept("Note", f"note {number}", {"text": "changed"})
        assert names(db, "item042", as_of=then) == ["note 42"]


def test_moments_that_are_not_there_are_refused() -> None:
    with NEW.opened() as db:
        for moment, error in ((10**9, ConstraintViolation), ("no-such-tag", InvalidSyntax)):
            with pytest.raises(error):
                db.search("x", as_of=moment)
            with pytest.raises(error):
                db.execute('SEARCH CONCEPT "x" AS OF :m', {"m": moment})
