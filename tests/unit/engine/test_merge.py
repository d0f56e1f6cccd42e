"""MERGE: two concepts become one, with everything that was said about either."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mycel.errors import (
    ConstraintViolation,
    DuplicateExists,
    ImmutableTarget,
    NotFound,
)
from mycel.model import times
from mycel.model.periods import holds_at
from tests.unit.engine.commands import Graph

MERGE = """MERGE CONCEPT ?s INTO ?t WHERE {
    ?s {type: "City", name: "Berne"} ?t {type: "City", name: "Bern"} }"""


@pytest.fixture
def graph() -> Graph:
    graph = Graph()
    graph.run("""UPSERT {
        CONCEPT { {type: "City", name: "Bern"}
            SET ATTRIBUTES { people: 140, aliases: ["Bärn"], mayor: null } }
        CONCEPT { {type: "City", name: "Berne"}
            SET ATTRIBUTES { people: 1, canton: "BE", mayor: "x", aliases: ["Bärn", "Berna"] } }
        CONCEPT { {type: "City", name: "Thun"} }
        CONCEPT { {type: "River", name: "Aare"} }
    } WITH METADATA { source: "atlas" }""")
    return graph


def links(graph: Graph, *texts: str) -> list[str]:
    """Create links, each `subject predicate object`, and return their ids."""
    names = {"Bern": "City", "Berne": "City", "Thun": "City", "Aare": "River"}
    handles = " ".join(
        f'CONCEPT ?{name} {{ {{type: "{type_}", name: "{name}"}} }}'
        for name, type_ in names.items()
    )
    blocks = []
    for at, text in enumerate(texts):
        subject, predicate, object_ = text.split()
        blocks.append(
            f'PROPOSITION ?l{at} {{ (?{subject}, "{predicate}", ?{object_})'
            f" SET ATTRIBUTES {{ at: {at}, own{at}: {at} }} }} WITH METADATA {{ m{at}: {at} }}"
        )
    made: list[str] = graph.run(f"UPSERT {{ {handles} {' '.join(blocks)} }}")[
        "upsert_proposition_links"
    ]
    return made


def test_the_target_takes_over_what_it_lacks(graph: Graph) -> None:
    result = graph.run(MERGE)
    assert result == {
        "merged": True,
        "links_repointed": 0,
        "links_deduplicated": 0,
        "attributes_filled": 2,  # The canton, and an alias more.
    }
    bern = graph.concept("Bern")
    assert bern.attributes == {
        "people": 140,
        "mayor": None,
        "canton": "BE",
        "aliases": ["Bärn", "Berna", "Berne"],
    }
    assert bern.metadata == {"source": "atlas", "_merged_from": ["City:Berne"]}
    assert bern.version == 2
    assert "Berne" not in {each.get("name") for each in graph.everything().values()}


def test_links_keep_their_ids_and_lead_to_the_target(graph: Graph) -> None:
    made = links(graph, "Aare flows_through Berne", "Berne near Thun", "Thun says l1")
    assert graph.run(MERGE)["links_repointed"] == 2
    assert graph.links() == {
        "Aare flows_through Bern",
        "Bern near Thun",
        "Thun says (Bern near Thun)",
    }
    assert graph.link(made[1]).subject == graph.concept("Bern").id
    assert graph.link(made[2]).object == made[1]


def test_where_a_link_is_there_already_it_stays_and_takes_over_keys(graph: Graph) -> None:
    stays, goes = links(graph, "Aare flows_through Bern", "Aare flows_through Berne")
    result = graph.run(MERGE)
    assert (result["links_repointed"], result["links_deduplicated"]) == (0, 1)
    assert graph.link(stays).attributes == {"at": 0, "own0": 0, "own1": 1}
    assert graph.link(stays).metadata == {"m0": 0, "m1": 1}
    assert graph.get(goes) is None


def test_links_about_a_link_that_goes_follow_to_the_one_that_stays(graph: Graph) -> None:
    made = links(
        graph,
        "Bern near Thun",
        "Berne near Thun",
        "Aare says l1",  # follows
        "Aare says l0",  # is where it would go to
        "Thun says l2",  # follows in turn
        "l1 says Thun",  # follows as a subject
        "Berne says l1",  # both of its ends change
    )
    result = graph.run(MERGE)
    assert graph.links() == {
        "Bern near Thun",
        "Aare says (Bern near Thun)",
        "Thun says (Aare says (Bern near Thun))",
        "(Bern near Thun) says Thun",
        "Bern says (Bern near Thun)",
    }
    assert result["links_deduplicated"] == 2
    assert [graph.get(made[at]) is None for at in range(7)] == [
        False, True, True, False, False, False, False
    ]  # fmt: skip


def test_a_link_between_the_two_goes(graph: Graph) -> None:
    links(graph, "Bern near Berne", "Berne says Bern", "Thun says l0")
    result = graph.run(MERGE)
    assert (result["links_repointed"], result["links_deduplicated"]) == (0, 3)
    assert graph.links() == set()


def test_merging_again_says_that_it_has_happened(graph: Graph) -> None:
    source = graph.concept("Berne").id
    graph.run(MERGE)
    bern = graph.concept("Bern").id
    by_id = """MERGE CONCEPT ?s INTO ?t WHERE {
        ?s {id: :s} ?t {type: "City"} FILTER(?t.name == "Bern") }"""
    for command in (MERGE, by_id):
        error = graph.refuses(NotFound, command, s=source)
        assert "already happened" in error.hint
        assert error.data["merged_into"] == bern


def test_a_chain_of_merges_is_remembered_step_by_step(graph: Graph) -> None:
    graph.run(MERGE)
    graph.run("""MERGE CONCEPT ?s INTO ?t WHERE {
        ?s {type: "City", name: "Bern"} ?t {type: "City", name: "Thun"} }""")
    thun = graph.concept("Thun")
    assert thun.metadata["_merged_from"] == ["City:Berne", "City:Bern"]
    assert thun.attributes["aliases"] == ["Bärn", "Berna", "Berne", "Bern"]


def test_merging_a_concept_into_itself_does_nothing(graph: Graph) -> None:
    before = graph.entries
    for where in ('?s {name: "Bern"} ?t {name: "Bern"}', '?s {name: "Bern"} ?t {type: "City"}'):
        command = f"MERGE CONCEPT ?s INTO ?t WHERE {{ {where} FILTER(?t.name == ?s.name) }}"
        assert graph.run(command)["merged"] is True
    assert graph.run('MERGE CONCEPT ?s INTO ?s WHERE { ?s {name: "Bern"} }')["merged"] is True
    assert graph.entries == before


def test_both_have_to_be_one_concept(graph: Graph) -> None:
    links(graph, "Aare near Thun")
    merge = "MERGE CONCEPT ?s INTO ?t WHERE {{ {} }}"
    one = '?t {type: "City", name: "Bern"}'
    for missing in ('?s {type: "City", name: "Basel"}', '?s {id: "C:99998"}', '?s {name: "Basel"}'):
        error = graph.refuses(NotFound, merge.format(f"{missing} {one}"))
        assert "already" not in error.hint
    error = graph.refuses(DuplicateExists, merge.format(f'?s {{type: "City"}} {one}'))
    assert "?s is bound to several elements" in error.message
    graph.refuses(DuplicateExists, merge.format('?s {name: "Bern"} ?t {type: "City"}'))
    graph.refuses(ConstraintViolation, merge.format(f'?s {{type: "River", name: "Aare"}} {one}'))
    graph.refuses(ConstraintViolation, merge.format(f'?s (?x, "near", ?y) {one}'))


def test_definitions_and_the_foundation_are_not_merged(graph: Graph) -> None:
    graph.refuses(
        ImmutableTarget,
        """MERGE CONCEPT ?s INTO ?t WHERE {
            ?s {type: "$ConceptType", name: "City"} ?t {type: "$ConceptType", name: "River"} }""",
    )
    graph.run("""UPSERT { CONCEPT { {type: "$ConceptType", name: "Person"} }
        CONCEPT { {type: "Person", name: "$self"} } CONCEPT { {type: "Person", name: "me"} } }""")
    for source, target in (("$self", "me"), ("me", "$self")):
        graph.refuses(
            ImmutableTarget,
            """MERGE CONCEPT ?s INTO ?t WHERE {
                ?s {type: "Person", name: :s} ?t {type: "Person", name: :t} }""",
            s=source,
            t=target,
        )


@pytest.mark.parametrize(
    ("own", "other", "united"),
    [
        (None, None, ["Berne"]),
        ("Bärn", ["Berna"], ["Bärn", "Berna", "Berne"]),
        ([], "Berna", ["Berna", "Berne"]),
        ({"odd": 1}, ["Berna"], {"odd": 1}),
        ([1], {"odd": 1}, [1, "Berne"]),
    ],
)
def test_aliases_of_any_shape_are_united(
    graph: Graph, own: object, other: object, united: object
) -> None:
    put = 'UPSERT { CONCEPT { {type: "City", name: :n} SET ATTRIBUTES { aliases: :a } } }'
    graph.run(put, n="Bern", a=own)
    graph.run(put, n="Berne", a=other)
    graph.run(MERGE)
    assert graph.concept("Bern").attributes["aliases"] == united


def test_history_and_proofs_hold_after_a_merge(graph: Graph) -> None:
    from mycel import Graph

    links(graph, "Bern near Thun", "Berne near Thun", "Aare says l1", "Aare near Berne")
    graph.run(MERGE)
    assert Graph(graph.store, actor="tester").verify(replay=True).problems == ()


# A model: a link is what it says, so a merge is one name in the place of another.


def said(graph: Graph) -> set[Any]:
    """Every link as (subject, predicate, object), in which ends are names or such links."""
    all_ = graph.everything()

    def term(id_: str) -> Any:
        wire = all_[id_]
        if wire["_type"] == "ConceptNode":
            return wire["name"]
        return term(wire["subject"]), wire["predicate"], term(wire["object"])

    return {term(id_) for id_ in all_ if id_.startswith("P:")}


def renamed(term: Any) -> Any:
    """The term with Bern for Berne; None if it, or a part of it, joins something to itself."""
    if isinstance(term, str):
        return "Bern" if term == "Berne" else term
    subject, object_ = renamed(term[0]), renamed(term[2])
    if subject is None or object_ is None or subject == object_:
        return None
    return subject, term[1], object_


def test_whatever_was_said_is_said_of_the_target(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(40):
        graph = Graph()
        ends = ["Bern", "Berne", "Thun", "Aare"]
        texts: list[str] = []
        for _ in range(dice.randrange(1, 16)):
            subject, object_ = dice.sample(ends, 2)
            text = f"{subject} {dice.choice(['near', 'says'])} {object_}"
            if text not in texts:
                ends.append(f"l{len(texts)}")
                texts.append(text)
        links(graph, *texts)
        before = said(graph)
        result = graph.run(MERGE)
        after = {renamed(term) for term in before} - {None}
        assert said(graph) == after, texts
        assert result["links_deduplicated"] == len(before) - len(after), texts


def test_values_that_the_target_keeps_against_the_source_are_named(graph: Graph) -> None:
    assert graph.warnings(MERGE) == (
        "'Bern' keeps its mayor, people; only past states (AS OF) have the other values.",
    )


@pytest.mark.parametrize(
    ("kept", "moved", "period", "said"),
    [
        # It holds in both periods, and the later one is the present one.
        ({"until": "2001"}, {"from": "2002"}, {"from": "2002"}, "it also held until 2001"),
        ({"from": "2002"}, {"until": "2001"}, {"from": "2002"}, "it also held until 2001"),
        ({"from": "2000", "until": "2001"}, {"from": "2003", "until": "2004"},
         {"from": "2003", "until": "2004"}, "it also held from 2000-01-01 until 2001"),
        # Periods that overlap or follow each other become one.
        ({"from": "2000", "until": "2002"}, {"from": "2001"}, {"from": "2000"}, "they held"),
        ({"until": "2001"}, {"from": "2001"}, {}, "they held"),
        # A link without dates does not say when it began, but it holds.
        ({"until": "2001"}, {}, {}, "it also held until 2001"),
        ({}, {"until": "2001"}, {}, "it also held until 2001"),
        ({"from": "2001"}, {}, {"from": "2001"}, ""),
        ({}, {"from": "2001"}, {"from": "2001"}, "they held without dates, and from 2001"),
    ],
)  # fmt: skip
def test_of_two_links_that_become_one_a_link_that_holds_now_stays(
    graph: Graph, kept: dict[str, str], moved: dict[str, str], period: dict[str, str], said: str
) -> None:
    made = links(graph, "Bern near Thun", "Berne near Thun")
    for id_, dates in zip(made, (kept, moved), strict=True):
        for key, year in dates.items():
            graph.run(
                f'UPDATE ?l SET METADATA {{ valid_{key}: "{year}-01-01" }}'
                f' WHERE {{ ?l (id: "{id_}") }}'
            )
    every = graph.warnings(MERGE)
    metadata = graph.link(made[0]).metadata
    assert {key[6:]: value[:4] for key, value in metadata.items() if "valid_" in key} == period
    warnings = [text for text in every if "Two links became" in text and "held" in text]
    assert len(warnings) == bool(said)
    assert said in " ".join(warnings)
    held_before = holds_at(metadata, times.from_text("2000-06-01"))
    assert held_before == ("until" in {**kept, **moved})


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_superseded_or_archived_link_does_not_end_a_link_that_holds(
    graph: Graph, is_kept: bool
) -> None:
    made = links(graph, "Bern near Thun", "Berne near Thun")
    ended = made[0 if is_kept else 1]
    graph.run(
        'UPDATE ?l SET METADATA { status: "superseded", valid_until: "2001-01-01" }'
        f' WHERE {{ ?l (id: "{ended}") }}'
    )
    graph.run(MERGE)
    metadata = graph.link(made[0]).metadata
    assert not metadata.keys() & {"status", "valid_until"}
