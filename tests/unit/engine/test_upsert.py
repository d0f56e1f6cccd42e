"""UPSERT: blocks in their order, handles, targets, metadata, versions, and all or nothing."""

from __future__ import annotations

import random

import pytest

from mycel.engine import batch
from mycel.errors import (
    ConstraintViolation,
    DuplicateExists,
    InvalidId,
    InvalidIdentifier,
    InvalidValueType,
    MycelError,
    NotFound,
    SelfEdgeError,
    TypeMismatch,
    UnknownReference,
    VersionConflict,
)
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction
from tests.unit.engine.commands import Graph

RIVER = """
UPSERT {
  CONCEPT ?bern { {type: "City", name: "Bern"} SET ATTRIBUTES { people: 140, tags: [1, 2] } }
  CONCEPT ?aare {
    {type: "River", name: "Aare"}
    SET ATTRIBUTES { km: 288 }
    SET PROPOSITIONS {
      ("flows_through", ?bern) WITH METADATA { source: null, own: 1 }
    }
  } WITH METADATA { source: "atlas", level: "block" }
  PROPOSITION ?claim { (?bern, "near", ?aare) SET ATTRIBUTES { metres: 0 } }
  PROPOSITION { (?aare, "says", ?claim) }
} WITH METADATA { source: "map", level: "all" }
"""


@pytest.fixture
def graph() -> Graph:
    return Graph()


def test_blocks_create_what_they_say_and_report_it(graph: Graph) -> None:
    result = graph.run(RIVER)
    bern, aare = graph.concept("Bern"), graph.concept("Aare", "River")
    assert result["blocks"] == 4
    assert result["upsert_concept_nodes"] == [bern.id, aare.id]
    assert [graph.link(each).predicate for each in result["upsert_proposition_links"]] == [
        "flows_through",
        "near",
        "says",
    ]
    assert graph.links() == {
        "Aare flows_through Bern",
        "Bern near Aare",
        "Aare says (Bern near Aare)",
    }
    assert bern.attributes == {"people": 140, "tags": [1, 2]}


def test_inner_metadata_wins_key_by_key_and_null_counts(graph: Graph) -> None:
    flows, near, says = graph.run(RIVER)["upsert_proposition_links"]
    assert graph.concept("Bern").metadata == {"source": "map", "level": "all"}
    assert graph.concept("Aare", "River").metadata == {"source": "atlas", "level": "block"}
    assert graph.link(flows).metadata == {"source": None, "level": "block", "own": 1}
    assert graph.link(near).metadata == {"source": "map", "level": "all"}
    assert graph.link(says).metadata == {"source": "map", "level": "all"}


def test_the_second_run_changes_nothing(graph: Graph) -> None:
    first = graph.run(RIVER)
    before = graph.entries, graph.everything()
    assert graph.run(RIVER) == first
    assert (graph.entries, graph.everything()) == before


def test_keys_that_are_given_replace_those_there_and_others_stay(graph: Graph) -> None:
    graph.run(RIVER)
    graph.run("""UPSERT { CONCEPT { {type: "City", name: "Bern"}
        SET ATTRIBUTES { tags: [], mayor: null } } }""")
    bern = graph.concept("Bern")
    assert bern.attributes == {"people": 140, "tags": [], "mayor": None}
    assert bern.version == 2


def test_set_propositions_only_adds(graph: Graph) -> None:
    graph.run(RIVER)
    result = graph.run("""UPSERT {
        CONCEPT ?thun { {type: "City", name: "Thun"} }
        CONCEPT { {type: "River", name: "Aare"}
          SET PROPOSITIONS { ("flows_through", ?thun) } } }""")
    assert len(result["upsert_proposition_links"]) == 1
    assert {"Aare flows_through Bern", "Aare flows_through Thun"} <= graph.links()


def test_an_element_that_is_put_twice_is_reported_once(graph: Graph) -> None:
    result = graph.run("""UPSERT {
        CONCEPT ?a { {type: "City", name: "Bern"} SET ATTRIBUTES { x: 1 } }
        CONCEPT ?b { {type: "City", name: "Bern"} SET ATTRIBUTES { x: 2 } }
        CONCEPT ?c { {type: "City", name: "Thun"}
          SET PROPOSITIONS { ("near", ?a) ("near", ?b) WITH METADATA { y: 1 } } } }""")
    bern = graph.concept("Bern")
    assert (bern.attributes, bern.version) == ({"x": 2}, 2)
    assert result["upsert_concept_nodes"] == [bern.id, graph.concept("Thun").id]
    (near,) = result["upsert_proposition_links"]
    assert (graph.link(near).metadata, graph.link(near).version) == ({"y": 1}, 2)
    assert result["blocks"] == 3


def test_types_and_predicates_can_be_used_by_the_blocks_after_their_definition(
    graph: Graph,
) -> None:
    graph.run("""UPSERT {
        CONCEPT { {type: "$ConceptType", name: "Lake"} }
        CONCEPT { {type: "$PropositionType", name: "feeds"} }
        CONCEPT ?l { {type: "Lake", name: "Thunersee"} }
        CONCEPT { {type: "River", name: "Aare"} SET PROPOSITIONS { ("feeds", ?l) } } }""")
    assert graph.links() == {"Aare feeds Thunersee"}
    error = graph.refuses(
        TypeMismatch,
        """UPSERT { CONCEPT { {type: "Hill", name: "Gurten"} }
                    CONCEPT { {type: "$ConceptType", name: "Hill"} } }""",
    )
    assert error.message.startswith("Block 1, CONCEPT: ")


def test_several_upserts_are_one_transaction_with_handles_of_their_own(graph: Graph) -> None:
    city = 'UPSERT {{ CONCEPT ?x {{ {{type: "City", name: "{}"}} }} }}'
    result = graph.run(city.format("Bern") + city.format("Thun"))
    assert (result["blocks"], len(result["upsert_concept_nodes"])) == (2, 2)
    error = graph.refuses(
        UnknownReference,
        city.format("Biel") + 'UPSERT { PROPOSITION { (?x, "near", ?x) } }',
    )
    assert error.message.startswith("UPSERT 2: Block 1, PROPOSITION: ")
    assert error.data["upsert"] == 2


def test_an_id_matches_and_never_creates(graph: Graph) -> None:
    graph.run(RIVER)
    bern = graph.concept("Bern").id
    graph.run("UPSERT { CONCEPT { {id: :id} SET ATTRIBUTES { people: 1 } } }", id=bern)
    assert graph.concept("Bern").attributes["people"] == 1
    near = graph.run(RIVER)["upsert_proposition_links"][1]
    result = graph.run(
        "UPSERT { PROPOSITION { (id: :id) SET ATTRIBUTES { metres: 5 } } } WITH METADATA { m: 1 }",
        id=near,
    )
    assert result["upsert_proposition_links"] == [near]
    assert graph.link(near).attributes == {"metres": 5}
    assert graph.link(near).metadata["m"] == 1
    wrong = near.replace("near", "says")
    graph.refuses(NotFound, 'UPSERT { CONCEPT { {id: "C:99998"} } }')
    graph.refuses(NotFound, "UPSERT { PROPOSITION { (id: :id) } }", id=wrong)
    graph.refuses(InvalidId, "UPSERT { CONCEPT { {id: :id} } }", id=near)
    graph.refuses(InvalidId, "UPSERT { PROPOSITION { (id: :id) } }", id=bern)
    graph.refuses(InvalidId, 'UPSERT { CONCEPT { {id: "Bern"} } }')


@pytest.mark.parametrize(
    "target",
    [
        '{type: "City", name: "Bern"}',
        "{id: :bern}",
        '({type: "City", name: "Bern"}, "near", {type: "River", name: "Aare"})',
        '({type: "River", name: "Aare"}, "near", {id: :bern})',
        "(id: :near)",
    ],
)
def test_targets_that_exist_can_be_named_in_every_way(graph: Graph, target: str) -> None:
    near = graph.run(RIVER)["upsert_proposition_links"][1]
    bern = graph.concept("Bern").id
    result = graph.run(
        f"""UPSERT {{
            CONCEPT ?t {{ {{type: "City", name: "Thun"}}
              SET PROPOSITIONS {{ ("says", {target}) }} }}
            PROPOSITION {{ ({target}, "says", ?t) }} }}""",
        bern=bern,
        near=near,
    )
    there, back = map(graph.link, result["upsert_proposition_links"])
    assert there.object == back.subject == (near if "near" in target else bern)


def test_a_nested_pattern_finds_a_link_of_the_same_capsule(graph: Graph) -> None:
    graph.run("""UPSERT {
        CONCEPT ?a { {type: "City", name: "A"} }
        CONCEPT ?b { {type: "City", name: "B"} SET PROPOSITIONS { ("near", ?a) } }
        PROPOSITION { (?a, "says", (?b, "near", ?a)) }
        PROPOSITION { (?b, "says", (?a, "near", ?b)) } }""")
    assert graph.links() == {"B near A", "A says (B near A)", "B says (B near A)"}


def test_a_missing_target_says_what_to_do(graph: Graph) -> None:
    graph.run(RIVER)
    put = 'UPSERT {{ CONCEPT ?x {{ {{type: "City", name: "Thun"}} SET PROPOSITIONS {{ {} }} }} }}'
    error = graph.refuses(NotFound, put.format('("near", {type: "City", name: "Berm"})'))
    assert error.message == "Block 1, CONCEPT (?x): There is no City named 'Berm'."
    assert "Did you mean 'Bern'?" in error.hint
    assert "CONCEPT block before this one" in error.hint
    error = graph.refuses(NotFound, put.format('("near", {type: "River", name: "Bern"})'))
    assert "Type of a concept with that name: City." in error.hint
    types = [f"Kind{number}" for number in range(4)]
    defined = (f'CONCEPT {{ {{type: "$ConceptType", name: "{name}"}} }}' for name in types)
    graph.run(f"UPSERT {{ {' '.join(defined)} }}")
    for at, name in enumerate(types):
        graph.run(f'UPSERT {{ CONCEPT {{ {{type: "{name}", name: "Thing"}} }} }}')
        error = graph.refuses(NotFound, put.format('("near", {type: "River", name: "Thing"})'))
        assert ("or …" in error.hint) == (at == 3)
    error = graph.refuses(
        NotFound,
        put.format(
            '("says", ({type: "City", name: "Bern"}, "says", {type: "River", name: "Aare"}))'
        ),
    )
    assert "PROPOSITION block" in error.hint


def test_a_handle_is_defined_before_it_is_used_and_once(graph: Graph) -> None:
    city = 'CONCEPT {} {{ {{type: "City", name: "{}"}} {} }}'
    early = city.format("?a", "A", 'SET PROPOSITIONS { ("near", ?b) }') + city.format("?b", "B", "")
    error = graph.refuses(UnknownReference, f"UPSERT {{ {early} }}")
    assert "Block 2 defines it" in error.hint
    own = city.format("?a", "A", 'SET PROPOSITIONS { ("near", ?a) }')
    assert "its own handle" in graph.refuses(UnknownReference, f"UPSERT {{ {own} }}").hint
    twice = city.format("?a", "A", "") + city.format("?a", "B", "")
    error = graph.refuses(DuplicateExists, f"UPSERT {{ {twice} }}")
    assert error.message.startswith("Block 2, CONCEPT (?a): ")


def test_names_that_are_not_defined_are_answered_with_the_closest(graph: Graph) -> None:
    error = graph.refuses(TypeMismatch, 'UPSERT { CONCEPT { {type: "city", name: "Bern"} } }')
    assert "Did you mean 'City'?" in error.hint
    error = graph.refuses(
        TypeMismatch,
        'UPSERT { CONCEPT ?a { {type: "City", name: "A"} } PROPOSITION { (?a, "nearr", ?a) } }',
    )
    assert "Did you mean 'near'?" in error.hint


def test_a_block_that_defines_a_name_is_proposed_only_where_it_would_work(graph: Graph) -> None:
    create = 'UPSERT {{ CONCEPT {{ {{type: "{}", name: "Bern"}} }} }}'
    for name in ("Town", "T" * 100):
        error = graph.refuses(TypeMismatch, create.format(name))
        block = f'CONCEPT {{ {{type: "$ConceptType", name: "{name}"}} }}'
        assert f"A block {block} before this one" in error.hint
        graph.run(f"UPSERT {{ {block} }}")
    assert "block" not in graph.refuses(TypeMismatch, create.format("Old Town")).hint
    retention = 'SET RETENTION {{after: "1d", then: "archive"}} FOR {} TYPE "Village"'
    for kind in ("CONCEPT", "PROPOSITION"):
        assert "block" not in graph.refuses(TypeMismatch, retention.format(kind)).hint


def test_what_breaks_a_rule_is_refused_with_its_block(graph: Graph) -> None:
    cities = """CONCEPT ?a { {type: "City", name: "A"} } CONCEPT ?b { {type: "City", name: "B"} }"""
    cases: list[tuple[type[MycelError], str, str]] = [
        (SelfEdgeError, 'PROPOSITION { (?a, "near", {type: "City", name: "A"}) }', "PROPOSITION"),
        (ConstraintViolation, "CONCEPT { {id: :x} } WITH METADATA { _version: 1 }", "CONCEPT"),
        (
            ConstraintViolation,
            'PROPOSITION { (?a, "near", ?b) } WITH METADATA { _score: 1 }',
            "PROPOSITION",
        ),
        (InvalidValueType, 'CONCEPT { {type: "City", name: "C"} SET ATTRIBUTES :n }', "CONCEPT"),
        (UnknownReference, 'CONCEPT { {type: "City", name: :gone} }', "CONCEPT"),
        (InvalidIdentifier, 'CONCEPT { {type: "$ConceptType", name: "x y"} }', "CONCEPT"),
    ]
    graph.run('UPSERT { CONCEPT { {type: "City", name: "X"} } }')
    known = {"x": graph.concept("X").id, "n": 5}
    for error_class, block, kind in cases:
        error = graph.refuses(error_class, f"UPSERT {{ {cities} {block} }}", **known)
        assert error.message.startswith(f"Block 3, {kind}: ")
        assert error.data["block"] == 3


def test_a_version_that_is_not_the_expected_one_stops_everything(graph: Graph) -> None:
    put = 'UPSERT { CONCEPT { {type: "City", name: "Bern"} EXPECT VERSION :v SET ATTRIBUTES :a } }'
    graph.refuses(VersionConflict, put, v=1, a={})
    graph.run(put, v=0, a={"x": 1})
    graph.refuses(VersionConflict, put, v=0, a={"x": 2})
    graph.run(put, v=1, a={"x": 2})
    assert graph.concept("Bern").attributes == {"x": 2}
    graph.refuses(ConstraintViolation, put, v=-1, a={})
    graph.refuses(InvalidValueType, put, v=1.5, a={})
    by_id = "UPSERT { CONCEPT { {id: :id} EXPECT VERSION :v SET ATTRIBUTES { x: 3 } } }"
    graph.refuses(VersionConflict, by_id, id=graph.concept("Bern").id, v=0)
    graph.run(by_id, id=graph.concept("Bern").id, v=2)


def test_links_have_versions_too(graph: Graph) -> None:
    put = """UPSERT {
        CONCEPT ?a { {type: "City", name: "A"} } CONCEPT ?b { {type: "City", name: "B"} }
        PROPOSITION { (?a, "near", ?b) EXPECT VERSION :v SET ATTRIBUTES :a } }"""
    graph.run(put, v=0, a={})
    graph.refuses(VersionConflict, put, v=0, a={"x": 1})
    graph.run(put, v=1, a={"x": 1})


def test_a_failure_caught_inside_a_transaction_still_spoils_it(graph: Graph) -> None:
    from mycel import kip
    from mycel.engine.upsert import upsert
    from mycel.engine.values import Values

    before = graph.entries
    node = kip.parse("""UPSERT { CONCEPT { {type: "City", name: "A"} }
                                 CONCEPT { {type: "Cty", name: "B"} } }""")
    with (
        pytest.raises(ConstraintViolation, match="failed halfway"),
        graph.store.transaction(actor="tester", message="") as tx,
        pytest.raises(TypeMismatch),
    ):
        upsert(tx, node, Values())  # type: ignore[arg-type]
    assert graph.entries == before


def test_a_nested_pattern_finds_a_link_between_concepts_that_the_capsule_names_again(
    graph: Graph,
) -> None:
    graph.run(RIVER)
    graph.run("""UPSERT {
        CONCEPT ?b { {type: "City", name: "Bern"} } CONCEPT ?a { {type: "River", name: "Aare"} }
        PROPOSITION { (?b, "says", (?a, "flows_through", ?b)) } }""")
    assert "Bern says (Aare flows_through Bern)" in graph.links()


# Written together, it is what it would be one by one.


class Picky:
    """Refuses whatever has `bad` in its attributes or metadata."""

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        return True

    def check(self, tx: Transaction, change: Change) -> None:
        if "bad" in change.attributes or "bad" in change.metadata:
            raise ConstraintViolation("It is bad.")

    def check_commit(self, tx: Transaction) -> None: ...


def one_by_one(patch: pytest.MonkeyPatch) -> None:
    """Let every put be written before the next one is looked at."""
    concept, link = batch.Batch.put_concept, batch.Batch.put_link

    def put_concept(self: batch.Batch, put: batch.ConceptPut) -> None:
        concept(self, put)
        self.write()

    def put_link(self: batch.Batch, put: batch.LinkPut) -> None:
        link(self, put)
        self.write()

    patch.setattr(batch.Batch, "put_concept", put_concept)
    patch.setattr(batch.Batch, "put_link", put_link)


def capsule(dice: random.Random) -> str:
    """A capsule of many blocks, in which something may be wrong."""
    handles: list[str] = []
    blocks = []
    mistakes = dice.choice([0, 0, 0.02, 0.1])

    def end() -> str:
        kind = dice.random()
        if kind < mistakes:
            return dice.choice(["?nobody", '{type: "City", name: "nowhere"}'])
        if kind < 0.3 or not handles:
            return f'{{type: "City", name: "n{dice.randrange(6)}"}}'
        if kind < 0.4:
            return f'({end()}, "near", {end()})'
        return dice.choice(handles)

    def keys() -> str:
        if dice.random() < mistakes:
            return dice.choice(["{ bad: 1 }", "{ x: 1 }"])
        return f"{{ k{dice.randrange(3)}: {dice.randrange(3)} }}"

    for at in range(dice.randrange(4, 40)):
        metadata = f" WITH METADATA {keys()}" if dice.random() < 0.3 else ""
        if dice.random() < mistakes:
            metadata = " WITH METADATA { _mine: 1 }"
        if dice.random() < 0.6:
            type_ = "City" if dice.random() > mistakes else dice.choice(["Town", "River"])
            expect = f"EXPECT VERSION {dice.randrange(2)}" if dice.random() < mistakes else ""
            entries = " ".join(f'("near", {end()}){metadata}' for _ in range(dice.randrange(3)))
            blocks.append(
                f'CONCEPT ?h{at} {{ {{type: "{type_}", name: "n{dice.randrange(30)}"}} {expect}'
                f" SET ATTRIBUTES {keys()}"
                + (f" SET PROPOSITIONS {{ {entries} }}" if entries else "")
                + f" }}{metadata}"
            )
        else:
            blocks.append(
                f'PROPOSITION ?h{at} {{ ({end()}, "{dice.choice(["near", "says"])}", {end()})'
                f" SET ATTRIBUTES {keys()} }}{metadata}"
            )
        handles.append(f"?h{at}")
    return f"UPSERT {{ {' '.join(blocks)} }} WITH METADATA {{ source: 1 }}"


def answers(texts: list[str], guarded: bool) -> list[object]:
    graph = Graph([Picky()] if guarded else [])
    graph.run(
        "UPSERT {"
        + " ".join(f'CONCEPT {{ {{type: "City", name: "n{at}"}} }}' for at in range(6))
        + "}"
    )
    told: list[object] = []
    for text in texts:
        try:
            told.append(graph.run(text))
        except MycelError as error:
            told.append((error.code, error.message))
        told.append(graph.everything())
    return told


@pytest.mark.parametrize("guarded", [False, True])
def test_blocks_written_together_are_blocks_written_one_by_one(
    guarded: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(seed)
    stories = [[capsule(dice) for _ in range(4)] for _ in range(15)]
    together = [answers(texts, guarded) for texts in stories]
    one_by_one(monkeypatch)
    for texts, told in zip(stories, together, strict=True):
        alone = answers(texts, guarded)
        assert told == alone, "\n\n".join(texts)
    failed = [told for story in together for told in story if isinstance(told, tuple)]
    passed = [told for story in together for told in story[::2] if isinstance(told, dict)]
    assert failed
    assert passed
