"""The names that are defined, as a command meets them."""

from __future__ import annotations

import pytest

import mycel
from mycel.errors import TypeMismatch
from mycel.store.query.vocabulary import Vocabulary


@pytest.fixture
def db() -> mycel.Graph:
    db = mycel.open(":memory:", core_capsules=False)
    with db.transaction() as tx:
        tx.define_type("Harbour")
        tx.define_predicate("near", {"is_symmetric": True})
        tx.define_predicate("feeds", {"is_symmetric": "true"})
    return db


def words(db: mycel.Graph) -> Vocabulary:
    with db._store.reading() as reader:
        return Vocabulary(reader)


def test_defined_names_have_numbers(db: mycel.Graph) -> None:
    found = words(db)
    assert found.types.keys() == {"$ConceptType", "$PropositionType", "Harbour"}
    assert {"near", "feeds", "related_to"} <= found.predicates.keys()


def test_only_true_makes_a_predicate_symmetric(db: mycel.Graph) -> None:
    found = words(db)
    assert found.predicate("near").is_symmetric
    assert not found.predicate("feeds").is_symmetric
    assert found.symmetric_predicates() == (found.predicate("near").number,)


@pytest.mark.parametrize("name", ["Harbor", "harbour", "", "x" * 10_000, "Harbour\0"])
def test_a_name_that_is_not_defined_is_refused_with_the_closest(db: mycel.Graph, name: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        words(db).type_number(name)
    assert len(caught.value.message) < 400
    if name == "Harbor":
        assert "Harbour" in (caught.value.hint or "")


def test_a_name_that_was_retired_is_not_defined_until_it_is_again(db: mycel.Graph) -> None:
    db.execute('DELETE CONCEPT ?t DETACH WHERE { ?t {type: "$ConceptType", name: "Harbour"} }')
    assert "Harbour" not in words(db).types
    db.execute('UPSERT { CONCEPT { {type: "$ConceptType", name: "Harbour"} } }')
    assert "Harbour" in words(db).types
