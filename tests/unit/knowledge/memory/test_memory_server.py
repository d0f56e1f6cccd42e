"""Entities and relations as the memory server has them, over a real graph."""

from collections.abc import Iterator

import pytest

import mycel
from mycel.errors import ConstraintViolation, NotFound
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.memory.entities import Entity, EntityRelation
from mycel.knowledge.memory.memory_server import EntityGraph
from tests.prepared import NEW

ADA = Entity("Ada", "person", ("likes tea", "wrote the first program"))
BABBAGE = Entity("Babbage", "person", ("designed an engine",))
ENGINE = Entity("Analytical_Engine", "machine")


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with NEW.opened() as db:
        yield db


@pytest.fixture
def memory(db: mycel.Graph) -> EntityGraph:
    memory = EntityGraph(db)
    memory.create_entities([ADA, BABBAGE, ENGINE])
    return memory


def test_a_graph_without_entities_answers_every_question_with_nothing(db: mycel.Graph) -> None:
    empty = EntityGraph(db)
    assert empty.read_graph().to_dict() == {"entities": [], "relations": []}
    assert empty.search_nodes("x").entities == ()
    assert empty.open_nodes(["x"]).entities == ()
    assert empty.delete_entities(["x"])[1] == ("x",)
    assert empty.delete_relations([EntityRelation("x", "y", "z")]) == 0
    assert empty.delete_observations([("x", ["y"])]) == (0, ("x",))


def test_entities_are_created_once_whatever_their_type(memory: EntityGraph) -> None:
    again = Entity("Ada", "programmer", ("other",))
    new = Entity("Byron", "poet")
    assert memory.create_entities([again, new, Entity("Byron", "lord")]) == [new]
    assert memory.open_nodes(["Ada"]).entities == (ADA,)


def test_relations_are_created_once(memory: EntityGraph) -> None:
    relation = EntityRelation("Babbage", "Analytical_Engine", "designed")
    assert memory.create_relations([relation, relation]) == [relation]
    assert memory.create_relations([relation]) == []
    assert memory.read_graph().relations == (relation,)


def test_relations_of_entities_that_are_not_there_are_kept_and_wait_for_them(
    db: mycel.Graph, memory: EntityGraph
) -> None:
    knows, between = EntityRelation("Ada", "Nobody", "knows"), EntityRelation("X", "Y", "knows")
    itself, last = (
        EntityRelation("Nobody", "Nobody", "is"),
        EntityRelation("Nobody", "Babbage", "knows"),
    )
    relations = [knows, between, last, itself]
    assert memory.create_relations(relations) == relations
    assert memory.create_relations(relations) == []
    everything = memory.read_graph()
    assert everything.relations == tuple(relations)
    assert [each.name for each in everything.entities] == ["Ada", "Babbage", "Analytical_Engine"]
    assert memory.open_nodes(["Ada"]).relations == (knows,)
    for found in (memory.open_nodes(["Nobody"]), memory.search_nodes("nobod")):
        assert (found.entities, found.relations) == ((), ())
    with pytest.raises(NotFound, match="no entity named 'Nobody'"):
        memory.add_observations([("Nobody", ["is there"])])
    # Whichever way it is created, the relations are its own.
    db.execute('UPSERT { CONCEPT { {type: "Entity", name: "Nobody"} } }')
    assert memory.create_entities([Entity("X", "thing")]) == [Entity("X", "thing")]
    assert memory.open_nodes(["Nobody"]).relations == (knows, last, itself)
    assert memory.open_nodes(["X"]).relations == (between,)
    assert memory.read_graph().relations == tuple(relations)


def test_placeholders_go_with_their_last_relation(db: mycel.Graph, memory: EntityGraph) -> None:
    def placeholders() -> list[str]:
        found = db.execute('FIND(?e.name) WHERE { ?e {type: "MissingEntity"} } ORDER BY ?e.name')
        return list(found.value)

    relations = [
        EntityRelation("Ada", "A", "r"),
        EntityRelation("B", "C", "r"),
        EntityRelation("D", "D", "r"),
    ]
    memory.create_relations(
        [*relations, EntityRelation("D", "A", "r"), EntityRelation("Babbage", "E", "r")]
    )
    assert placeholders() == ["A", "B", "C", "D", "E"]
    assert memory.delete_relations([*relations[:2], EntityRelation("D", "A", "r")]) == 3
    assert placeholders() == ["D", "E"]  # D is still related to itself.
    assert memory.delete_relations(relations) == 1
    assert memory.delete_entities(["Babbage"])[0] == ("Babbage",)
    assert placeholders() == []
    memory.create_relations(relations)
    assert memory.delete_entities(["C", "D"]) == ((), ("C", "D"))
    assert memory.read_graph().relations == (relations[0],)
    assert placeholders() == ["A"]


def test_relations_that_wait_are_listed_among_the_broken_links(
    db: mycel.Graph, memory: EntityGraph
) -> None:
    knowledge = Knowledge(db, workspace="w")
    memory.create_relations([EntityRelation("Ada", "Nobody", "knows")])
    (link,) = knowledge.broken_links()
    assert (link.source, link.missing) == ("kip:Person/Ada", (link.target,))
    memory.create_entities([Entity("Nobody", "person")])
    assert not knowledge.broken_links().items


@pytest.mark.parametrize(
    "texts",
    [
        ("works at", "works_at", "works-at"),
        ("属于", "принадлежит", ""),
        ("3rd of", "_3rd_of"),
        # These predicates are for other types.
        ("involves", "belongs_to_domain"),
        ("x" * 300, "x" * 299),
    ],
)
def test_a_type_of_relation_may_be_any_text_and_comes_back_as_it_was(
    memory: EntityGraph, texts: tuple[str, ...]
) -> None:
    relations = [EntityRelation("Ada", "Babbage", text) for text in texts]
    assert memory.create_relations(relations) == relations
    assert memory.create_relations(relations) == []
    assert memory.open_nodes(["Ada"]).relations == tuple(relations)
    assert memory.delete_relations(relations[:1]) == 1
    assert memory.open_nodes(["Ada"]).relations == tuple(relations[1:])


def test_an_entity_may_be_related_to_itself(memory: EntityGraph) -> None:
    itself = EntityRelation("Ada", "Ada", "knows")
    assert memory.create_relations([itself]) == [itself]
    assert memory.create_relations([itself]) == []
    assert memory.search_nodes("tea").relations == (itself,)
    assert memory.read_graph().relations == (itself,)
    assert memory.delete_relations([itself]) == 1
    assert memory.delete_relations([itself]) == 0
    assert memory.open_nodes(["Ada"]).to_dict()["entities"] == [ADA.to_dict()]


def test_observations_that_are_known_are_not_added_again(memory: EntityGraph) -> None:
    added = memory.add_observations([("Ada", ["likes tea", "plays the harp"]), ("Babbage", [])])
    assert added == [("Ada", ["plays the harp"]), ("Babbage", [])]
    (ada,) = memory.open_nodes(["Ada"]).entities
    assert ada.observations == (*ADA.observations, "plays the harp")


def test_observations_about_nobody_are_refused_and_none_is_added(memory: EntityGraph) -> None:
    with pytest.raises(NotFound):
        memory.add_observations([("Ada", ["new"]), ("Nobody", ["new"])])
    assert memory.open_nodes(["Ada"]).entities == (ADA,)


def test_an_entity_goes_with_its_relations_and_comes_back_without_them(memory: EntityGraph) -> None:
    memory.create_relations([EntityRelation("Ada", "Babbage", "knows")])
    assert memory.delete_entities(["Ada", "Nobody"]) == (("Ada",), ("Nobody",))
    assert memory.read_graph().to_dict() == {
        "entities": [BABBAGE.to_dict(), ENGINE.to_dict()],
        "relations": [],
    }
    memory.create_entities([Entity("Ada", "ghost")])
    assert memory.read_graph().entities == (BABBAGE, ENGINE, Entity("Ada", "ghost"))


def test_observations_are_taken_back_word_for_word(memory: EntityGraph) -> None:
    taken = memory.delete_observations([("Ada", ["likes tea", "likes"]), ("Nobody", ["x"])])
    assert taken == (1, ("Nobody",))
    assert memory.open_nodes(["Ada"]).entities[0].observations == ("wrote the first program",)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("ada", ["Ada"]),
        ("IKES TE", ["Ada"]),
        ("person", ["Ada", "Babbage"]),
        ("tical_eng", ["Analytical_Engine"]),
        ("engine", ["Babbage", "Analytical_Engine"]),
        ("likes  tea", []),
        ("tea\nwrote", []),
        ("", ["Ada", "Babbage", "Analytical_Engine"]),
        ("observations", []),
    ],
)
def test_a_search_finds_a_text_anywhere_and_nothing_else(
    memory: EntityGraph, query: str, found: list[str]
) -> None:
    assert [each.name for each in memory.search_nodes(query).entities] == found


def test_what_is_found_or_opened_comes_with_relations_at_either_end(memory: EntityGraph) -> None:
    out, back = (
        EntityRelation("Ada", "Babbage", "knows"),
        EntityRelation("Analytical_Engine", "Ada", "made"),
    )
    memory.create_relations([out, back, EntityRelation("Babbage", "Analytical_Engine", "built")])
    assert memory.search_nodes("tea").relations == (out, back)
    assert memory.open_nodes(["Ada", "Nobody"]).relations == (out, back)


def test_other_concepts_of_the_graph_are_not_entities(db: mycel.Graph, memory: EntityGraph) -> None:
    with db.transaction() as tx:
        tx.define_type("Drug")
        tx.define_predicate("cures")
        drug = tx.put_concept("Drug", "Ada")
        tx.add_edge(db.get_concept("Person", "Ada"), "cures", drug)
    assert memory.open_nodes(["Ada"]).to_dict() == {"entities": [ADA.to_dict()], "relations": []}


def test_entities_are_concepts_that_the_language_knows(
    db: mycel.Graph, memory: EntityGraph
) -> None:
    memory.create_relations([EntityRelation("Ada", "Babbage", "worked with")])
    found = db.execute(
        'FIND(?b.attributes.entityType) WHERE { ?a {type: "Person", name: "Ada"}'
        ' (?a, "worked_with", ?b) }'
    )
    assert found.value == ["person"]


def test_what_no_concept_can_be_called_is_refused(memory: EntityGraph) -> None:
    with pytest.raises(ConstraintViolation):
        memory.create_entities([Entity("New", "x"), Entity("", "x")])
    assert memory.open_nodes(["New"]).entities == ()


def test_what_others_wrote_into_an_entity_does_no_harm(
    db: mycel.Graph, memory: EntityGraph
) -> None:
    with db.transaction() as tx:
        tx.put_concept("Entity", "Odd", {"observations": ["good", 3], "more": {"a": 1}})
    assert memory.open_nodes(["Odd"]).entities == (Entity("Odd", "", ("good",)),)
    assert memory.search_nodes("oo").entities == (Entity("Odd", "", ("good",)),)
    memory.add_observations([("Odd", ["new"])])
    memory.delete_observations([("Odd", ["good"])])
    assert db.get_concept("Entity", "Odd").attributes == {
        "observations": [3, "new"],
        "more": {"a": 1},
    }


def test_an_observation_that_others_wrote_without_a_list_is_kept() -> None:
    with NEW.opened() as db:
        with db.transaction() as tx:
            tx.define_type("Entity")  # By somebody who knows nothing of the memory server.
            tx.put_concept("Entity", "Odd", {"observations": "likes tea"})
        memory = EntityGraph(db)
        memory.add_observations([("Odd", ["new"])])
        assert memory.open_nodes(["Odd"]).entities == (Entity("Odd", "", ("likes tea", "new")),)


def test_an_answer_that_is_too_large_is_cut_and_says_so(db: mycel.Graph) -> None:
    memory = EntityGraph(db, characters_max=2_000)
    memory.create_entities(Entity(f"e{n}", "thing", ("x" * 50,)) for n in range(100))
    memory.create_relations(EntityRelation(f"e{n}", f"e{n + 1}", "before") for n in range(99))
    for graph in (memory.read_graph(), memory.search_nodes("x"), memory.search_nodes("thing")):
        assert 0 < len(graph.entities) < 20
        assert graph.relations
        assert graph.cut is not None
        assert "incomplete" in graph.cut
    assert memory.open_nodes(["e5"]).cut is None
    assert len(memory.read_graph(characters_max=10**6).entities) == 100
