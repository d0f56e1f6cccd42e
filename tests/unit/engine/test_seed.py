"""What a new graph knows: added once, never overwritten."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel import capsules
from mycel.capsules.former import FORMER_VALUES
from mycel.engine.definition_guard import DefinitionGuard
from mycel.engine.protection_guard import ProtectionGuard
from mycel.engine.seed import Applied, apply, seed_graph
from mycel.engine.upsert import upsert
from mycel.engine.values import Values
from mycel.errors import NotFound, TypeMismatch
from mycel.kip import ast, parse
from mycel.store.database import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    guards = [ProtectionGuard(), DefinitionGuard(strict=True)]
    store = Store(tmp_path / "graph.db", durability="off", guards=guards)
    yield store
    store.close()


@pytest.fixture
def db(store: Store) -> mycel.Graph:
    seed_graph(store)
    return mycel.Graph(store, actor="tester")


def concept(db: mycel.Graph, type_name: str, name: str) -> mycel.Concept:
    return db.write(lambda tx: concept_in(tx, type_name, name))


def concept_in(tx: mycel.Transaction, type_name: str, name: str) -> mycel.Concept:
    found = tx.get_concept(type_name, name)
    assert found is not None
    return found


def run(tx: mycel.Transaction, text: str) -> None:
    command = parse(text)
    assert isinstance(command, ast.Capsule)
    upsert(tx, command, Values({}))


def test_a_new_graph_gets_everything_in_one_transaction_of_the_system(store: Store) -> None:
    db = mycel.Graph(store)
    before = len(list(db.history.log()))
    assert seed_graph(store) == Applied(concepts_created=28, concepts_filled=17, links_created=41)
    entries = list(db.history.log())
    assert len(entries) == before + 1
    assert (entries[0].actor, entries[0].message) == ("$system", "add the core capsules")
    assert db.verify(replay=True).problems == ()


def test_a_second_time_changes_nothing_and_journals_nothing(store: Store, db: mycel.Graph) -> None:
    before = db.snapshot()
    assert seed_graph(store) == Applied()
    assert db.snapshot() == before


@pytest.mark.parametrize("name", capsules.NAMES)
@pytest.mark.parametrize("actor", ["tester", "$self"])
def test_upserting_a_capsule_again_is_allowed_to_anybody_and_changes_nothing(
    db: mycel.Graph, name: str, actor: str
) -> None:
    before = db.snapshot()
    db.write(lambda tx: run(tx, capsules.read(name)), actor=actor)
    assert db.snapshot() == before


def test_the_result_is_the_one_that_upsert_would_have(tmp_path: Path, db: mycel.Graph) -> None:
    with mycel.Graph(Store(tmp_path / "other.db", durability="off")) as other:
        for name in capsules.NAMES:
            with other.transaction(actor="$system") as tx:
                run(tx, capsules.read(name))
        for type_name, name in (
            ("$ConceptType", "$ConceptType"),
            ("$PropositionType", "derived_from"),
            ("Domain", "CoreSchema"),
            ("Person", "$self"),
        ):
            one, two = concept(db, type_name, name), concept(other, type_name, name)
            assert (one.attributes, one.metadata) == (two.attributes, two.metadata)


def test_predicates_of_the_store_are_described(db: mycel.Graph) -> None:
    found = concept(db, "$PropositionType", "derived_from")
    assert found.attributes["subject_types"] == ["*"]
    assert found.metadata["source"] == "mycel/capsules/predicates"


def test_what_has_evolved_stays(store: Store, db: mycel.Graph) -> None:
    own = concept(db, "Person", "$self")
    event = concept(db, "$ConceptType", "Event")
    with db.transaction() as tx:
        tx.update(own.id, attributes={"cognitive_state": "sleeping", "values": ["candour"]})
        tx.update(event.id, attributes={"description": "Ours."}, metadata={"author": "tester"})
    before = db.snapshot()
    assert seed_graph(store) == Applied()
    assert db.snapshot() == before


def test_attributes_that_are_missing_are_filled_in(store: Store, db: mycel.Graph) -> None:
    event = concept(db, "$ConceptType", "Event")
    with db.transaction() as tx:
        tx.update(event.id, attributes={"description": "Ours."}, drop_attributes=["display_hint"])
        tx.update(event.id, metadata={"author": "tester"})
    assert seed_graph(store) == Applied(concepts_filled=1)
    filled = concept(db, "$ConceptType", "Event")
    assert filled.attributes == event.attributes | {"description": "Ours."}
    assert filled.metadata["author"] == "tester"


def test_values_of_earlier_capsules_are_replaced_and_those_of_users_stay(
    store: Store, db: mycel.Graph
) -> None:
    """A graph of an earlier version takes what is new, and has then what a new graph has."""
    shipped = {identity: concept(db, *identity).attributes for identity in FORMER_VALUES}
    with db.transaction(actor="$system") as tx:
        for identity, attributes in FORMER_VALUES.items():
            values = {key: former[0] for key, former in attributes.items()}
            tx.update(concept_in(tx, *identity).id, attributes=values)
        for name in ("Commitment", "Experience", "ExperienceStep", "Skill"):
            tx.retire(concept_in(tx, "$ConceptType", name).id)
        for name in ("committed_to", "owed_to", "has_step", "derived_insight", "compiled_to"):
            tx.retire(concept_in(tx, "$PropositionType", name).id)
        tx.update(
            concept_in(tx, "$PropositionType", "involves").id, attributes={"description": "Ours."}
        )
    changed = len(FORMER_VALUES)
    assert seed_graph(store) == Applied(
        concepts_created=9, concepts_filled=changed, links_created=9
    )
    ours = {("$PropositionType", "involves"): {"description": "Ours."}}
    for identity, attributes in shipped.items():
        assert concept(db, *identity).attributes == attributes | ours.get(identity, {})


def test_what_others_have_made_keeps_its_origin(store: Store) -> None:
    db = mycel.Graph(store, actor="tester")
    with db.transaction() as tx:
        tx.define_type("Event", {"description": "Ours."})
        tx.define_type("Person")
    seed_graph(store)
    event = concept(db, "$ConceptType", "Event")
    assert (event.attributes["description"], event.metadata) == ("Ours.", {})
    assert "instance_schema" in event.attributes
    assert concept(db, "$ConceptType", "Person").metadata["author"] == "$system"


def test_what_was_removed_comes_back_when_it_is_asked_for(store: Store, db: mycel.Graph) -> None:
    event = concept(db, "$ConceptType", "Event").id
    with db.transaction() as tx:
        tx.retire(event)
    assert seed_graph(store) == Applied(concepts_created=1, links_created=1)


def test_a_single_capsule_can_be_applied(store: Store) -> None:
    assert store.run(
        lambda tx: apply(tx, ["person", "genesis"]), actor="$system", message=""
    ) == Applied(concepts_created=4, concepts_filled=2, links_created=5)


def test_a_single_capsule_finds_what_others_have_brought(store: Store, db: mycel.Graph) -> None:
    db.write(lambda tx: tx.retire(concept_in(tx, "$ConceptType", "Event")))
    applied = store.run(lambda tx: apply(tx, ["event"]), actor="$system", message="")
    assert applied == Applied(concepts_created=1, links_created=1)


def test_a_capsule_without_what_it_builds_on_is_refused(store: Store) -> None:
    with pytest.raises(TypeMismatch, match="Person"):
        store.run(lambda tx: apply(tx, ["self"]), actor="$system", message="")


def test_a_capsule_that_is_not_shipped_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound) as caught:
        store.run(lambda tx: apply(tx, ["sleep_tasks"]), actor="$system", message="")
    assert "sleep_task" in caught.value.hint
