"""What must not change: the foundation, its links, and the two actors."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mycel
from mycel.engine.protection_guard import (
    ACTORS,
    DEFINITIONS,
    FOUNDATION,
    ProtectionGuard,
    check_merge,
    check_removal,
)
from mycel.errors import ConstraintViolation, ImmutableTarget
from mycel.store.database import Store
from tests.prepared import NEW

Work = Callable[[mycel.Transaction], object]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[mycel.Graph]:
    NEW.put(tmp_path / "graph.db")
    store = Store(tmp_path / "graph.db", durability="off", guards=[ProtectionGuard()])
    with mycel.Graph(store, actor="tester") as db:
        yield db


def id_of(db: mycel.Graph, type_name: str, name: str) -> str:
    found = db.write(lambda tx: tx.get_concept(type_name, name))
    assert found is not None
    return found.id


def refuse(db: mycel.Graph, work: Work, actor: str = "tester") -> ImmutableTarget:
    before = db.snapshot()
    with pytest.raises(ImmutableTarget) as caught:
        db.write(work, actor=actor)
    assert db.snapshot() == before
    assert caught.value.code == "KIP_3004"
    return caught.value


by_name = pytest.mark.parametrize(
    "identity", sorted(FOUNDATION), ids=lambda identity: f"{identity[0]}-{identity[1]}"
)
each_actor = pytest.mark.parametrize("name", sorted(name for _, name in ACTORS))


@by_name
def test_the_foundation_is_changed_by_nobody_but_the_system(
    db: mycel.Graph, identity: tuple[str, str]
) -> None:
    element = id_of(db, *identity)
    error = refuse(db, lambda tx: tx.update(element, attributes={"description": "mine"}))
    assert identity[1] in error.message
    assert "of your own" in error.hint
    refuse(db, lambda tx: tx.update(element, metadata={"status": "old"}))
    refuse(db, lambda tx: tx.update(element, drop_attributes=["description"]))
    refuse(db, lambda tx: tx.put_concept(*identity, {"note": 1}), actor="$self")
    assert db.write(
        lambda tx: tx.update(element, attributes={"description": "better"}), actor="$system"
    )


GENESIS = """
UPSERT {
  CONCEPT ?types {
    {type: "$ConceptType", name: "$ConceptType"}
    SET ATTRIBUTES { description: "Told anew.", key_instances: ["$ConceptType", "Domain"] }
  }
  CONCEPT { {type: "$ConceptType", name: "Domain"} SET ATTRIBUTES { description: "A field." } }
  CONCEPT {
    {type: "$PropositionType", name: "belongs_to_domain"}
    SET ATTRIBUTES { description: "Membership.", subject_types: ["*"], object_types: ["Domain"] }
  }
  CONCEPT { {type: "Domain", name: "CoreSchema"} SET ATTRIBUTES { description: "The core." } }
}
WITH METADATA { source: "genesis", author: "$system" }
UPSERT {
  CONCEPT ?core { {type: "Domain", name: "CoreSchema"} }
  CONCEPT ?types {
    {type: "$ConceptType", name: "$ConceptType"}
    SET PROPOSITIONS { ("belongs_to_domain", ?core) }
  }
}
WITH METADATA { source: "housekeeping", author: "$system" }
"""


def test_a_genesis_capsule_is_for_the_system_alone(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with mycel.open(path, actor="ada", durability="off") as db:
        before = db.snapshot()
        with pytest.raises(ImmutableTarget) as caught:
            db.execute(GENESIS)
        assert db.snapshot() == before
        assert 'actor="$system"' in caught.value.hint
    with mycel.open(path, actor="$system", durability="off") as db:
        assert db.execute(GENESIS).value["blocks"] == 6
        core = 'FIND(?d.metadata.source) WHERE { ?d {type: "Domain", name: "CoreSchema"} }'
        assert db.execute(core).value == ["genesis"]
        applied = db.snapshot()
        db.execute(GENESIS)
        assert db.snapshot() == applied


@by_name
@pytest.mark.parametrize("actor", ["tester", "$self", "$system"])
def test_the_foundation_is_removed_by_nobody(
    db: mycel.Graph, identity: tuple[str, str], actor: str
) -> None:
    element = db.get(id_of(db, *identity))
    assert isinstance(element, mycel.Concept)
    with pytest.raises(ImmutableTarget, match="cannot be removed"):
        check_removal(element)
    # Of a definition, the store may have said first that it is in use.
    with pytest.raises((ImmutableTarget, ConstraintViolation)):
        db.write(lambda tx: tx.retire(element), actor=actor)
    with pytest.raises((ImmutableTarget, ConstraintViolation)):
        db.purge(element, "asked for", by=actor)
    assert db.get(element.id) == element


@pytest.mark.parametrize("identity", [("Domain", "CoreSchema"), *sorted(ACTORS)])
@pytest.mark.parametrize("actor", ["tester", "$system"])
def test_the_foundation_and_the_actors_are_renamed_by_nobody(
    db: mycel.Graph, identity: tuple[str, str], actor: str
) -> None:
    element = id_of(db, *identity)
    db.write(lambda tx: tx.define_type("Lighthouse"))
    refuse(db, lambda tx: tx.move(element, name="other"), actor)
    refuse(db, lambda tx: tx.move(element, type_name="Lighthouse"), actor)


def test_a_definition_is_protected_even_when_nothing_uses_it_any_more(tmp_path: Path) -> None:
    store = Store(tmp_path / "graph.db", durability="off", guards=[ProtectionGuard()])
    with mycel.Graph(store, actor="tester") as db:
        domain = db.write(lambda tx: tx.define_type("Domain"))
        refuse(db, lambda tx: tx.retire(domain), "$system")
        with pytest.raises(ImmutableTarget):
            db.purge(domain, "asked for")


@pytest.mark.parametrize(
    "identity", sorted(DEFINITIONS), ids=lambda identity: f"{identity[0]}-{identity[1]}"
)
def test_links_that_hold_the_definitions_together_are_not_severed(
    db: mycel.Graph, identity: tuple[str, str]
) -> None:
    definition, core = id_of(db, *identity), id_of(db, "Domain", "CoreSchema")
    error = refuse(db, lambda tx: tx.remove_edge(definition, "belongs_to_domain", core))
    assert identity[1] in error.message
    link = db.write(lambda tx: tx.get_edge(definition, "belongs_to_domain", core))
    assert link is not None
    refuse(db, lambda tx: tx.retire(link.id), actor="$system")
    with pytest.raises(ImmutableTarget):
        db.purge(link.id, "asked for")


def test_links_that_hold_the_definitions_together_are_not_pointed_elsewhere(
    db: mycel.Graph,
) -> None:
    domain, core = id_of(db, "$ConceptType", "Domain"), id_of(db, "Domain", "CoreSchema")
    archived = id_of(db, "Domain", "Archived")
    link = db.write(lambda tx: tx.get_edge(domain, "belongs_to_domain", core))
    assert link is not None
    refuse(db, lambda tx: tx.relink(link.id, object_=archived))
    refuse(db, lambda tx: tx.move(link.id, predicate="part_of"), "$system")
    refuse(db, lambda tx: tx.update(link.id, metadata={"note": "stays"}))
    refuse(db, lambda tx: tx.update(link.id, weight=0.5))


def test_ordinary_things_come_to_the_core_domain_and_go(db: mycel.Graph) -> None:
    core = id_of(db, "Domain", "CoreSchema")
    kind = db.write(lambda tx: tx.define_type("Lighthouse"))
    db.add_edge(kind, "belongs_to_domain", core)
    assert db.remove_edge(kind, "belongs_to_domain", core)
    event = id_of(db, "$ConceptType", "Event")
    assert db.remove_edge(event, "belongs_to_domain", core)


def test_a_definition_may_belong_to_other_domains_for_a_while(db: mycel.Graph) -> None:
    domain = id_of(db, "$ConceptType", "Domain")
    archived = id_of(db, "Domain", "Archived")
    db.add_edge(domain, "belongs_to_domain", archived)
    assert db.remove_edge(domain, "belongs_to_domain", archived)


def test_other_domains_and_definitions_are_free(db: mycel.Graph) -> None:
    for identity in (("Domain", "Unsorted"), ("$ConceptType", "Event")):
        element = id_of(db, *identity)
        assert db.write(lambda tx, e=element: tx.update(e, attributes={"description": "mine"}))
    db.execute('UPSERT { CONCEPT { {type: "Domain", name: "Mine"} } }')
    assert db.write(lambda tx: tx.retire(id_of_in(tx, "Domain", "Mine"))).concepts == 1
    assert db.write(lambda tx: tx.retire(id_of_in(tx, "$ConceptType", "Event"))).concepts == 1


def id_of_in(tx: mycel.Transaction, type_name: str, name: str) -> str:
    found = tx.get_concept(type_name, name)
    assert found is not None
    return found.id


@each_actor
def test_the_two_actors_are_not_removed(db: mycel.Graph, name: str) -> None:
    person = id_of(db, "Person", name)
    for actor in ("tester", "$self", "$system"):
        refuse(db, lambda tx: tx.retire(person), actor)
        with pytest.raises(ImmutableTarget):
            db.purge(person, "asked for", by=actor)


@each_actor
def test_the_two_actors_evolve(db: mycel.Graph, name: str) -> None:
    person = id_of(db, "Person", name)
    change = {"persona": "curious", "growth_log": [{"at": "today"}]}
    assert db.write(lambda tx: tx.update(person, attributes=change, metadata={"confidence": 0.5}))
    assert db.write(lambda tx: tx.update(person, drop_attributes=["persona"]))


@each_actor
@pytest.mark.parametrize("actor", ["tester", "$self", "$system"])
def test_core_directives_stay_as_they_are(db: mycel.Graph, name: str, actor: str) -> None:
    person = id_of(db, "Person", name)
    error = refuse(db, lambda tx: tx.update(person, attributes={"core_directives": []}), actor)
    assert "persona" in error.hint
    refuse(db, lambda tx: tx.update(person, attributes={"core_directives": None}), actor)
    refuse(db, lambda tx: tx.update(person, drop_attributes=["core_directives"]), actor)
    same = db.get(person).attributes["core_directives"]
    mood = {"core_directives": same, "persona": "calm"}
    assert db.write(lambda tx: tx.update(person, attributes=mood), actor=actor)


def test_core_directives_are_set_on_creation_or_once_by_the_system(tmp_path: Path) -> None:
    store = Store(tmp_path / "graph.db", durability="off", guards=[ProtectionGuard()])
    with mycel.Graph(store, actor="tester") as db:
        db.write(lambda tx: tx.define_type("Person"))
        own = db.write(lambda tx: tx.put_concept("Person", "$self", {"core_directives": ["a"]}))
        refuse(db, lambda tx: tx.update(own, attributes={"core_directives": ["b"]}), "$system")
        system = db.write(lambda tx: tx.put_concept("Person", "$system"))
        refuse(db, lambda tx: tx.update(system, attributes={"core_directives": ["b"]}), "tester")
        directives = {"core_directives": ["b"]}
        assert db.write(lambda tx: tx.update(system, attributes=directives), actor="$system")
        refuse(db, lambda tx: tx.update(system, attributes={"core_directives": ["c"]}), "$system")


def test_other_persons_are_free(db: mycel.Graph) -> None:
    person = db.write(lambda tx: tx.put_concept("Person", "Ada", {"core_directives": ["a"]}))
    assert db.write(lambda tx: tx.update(person, attributes={"core_directives": []}))
    assert db.write(lambda tx: tx.retire(person)).concepts == 1


def test_what_is_protected_is_merged_with_nothing(db: mycel.Graph) -> None:
    def concept(type_name: str, name: str) -> mycel.Concept:
        found = db.get(id_of(db, type_name, name))
        assert isinstance(found, mycel.Concept)
        return found

    db.write(lambda tx: [tx.put_concept("Person", name) for name in ("Ada", "Grace")])
    ada, grace, own = (concept("Person", name) for name in ("Ada", "Grace", "$self"))
    check_merge(ada, grace)
    for source, target in ((ada, own), (own, ada)):
        with pytest.raises(ImmutableTarget, match=r"\$self"):
            check_merge(source, target)
    for name in ("CoreSchema", "Unsorted", "Archived", "System"):
        with pytest.raises(ImmutableTarget, match=name):
            check_merge(ada, concept("Domain", name))
