"""Walks of every length, wherever they stand in a command, join what the reference says they join.

The engine searches a walk in one of several ways: by its bounds, by the ends that are known, and by
what is asked of them. The reference walks every length from every element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mycel
from mycel.errors import ExecutionTimeout
from tests.prepared import NEW, Prepared
from tests.reference import ReferenceNexus

STOPS = [f"s{at}" for at in range(6)]
VOCABULARY = """
UPSERT {
  CONCEPT { {type: "$ConceptType", name: "Stop"} SET ATTRIBUTES { description: "A stop." } }
  CONCEPT {
    {type: "$PropositionType", name: "leads"}
    SET ATTRIBUTES { description: "Leads there.", subject_types: ["*"], object_types: ["*"] }
  }
  CONCEPT {
    {type: "$PropositionType", name: "near"}
    SET ATTRIBUTES {
      description: "Near each other.", subject_types: ["*"], object_types: ["*"], is_symmetric: true
    }
  }
}
"""
BEGUN = Prepared(lambda db: db.execute(VOCABULARY))

WALKS = (
    '(?a, {w}, ?b)',
    '(?a, {w}, {type: "Stop", name: "s1"})',
    '({type: "Stop", name: "s1"}, {w}, ?a)',
    '?b {type: "Stop"} (?a, {w}, ?b)',
    '(?a, {w}, ?a)',
    '?a {type: "Stop"} (?a, {w}, ?a)',
    '(?a, {w}, ?b) FILTER(?b.name == "s2")',
    '(?a, {w}, ?b) FILTER(?a.attributes.k > 2)',
    '(?a, {w}, ?b) FILTER(?b.attributes.k == 3)',
    '(?a, {w}, ?b) FILTER(?a.attributes.k < ?b.attributes.k)',
    '?a {type: "Stop"} NOT { (?a, {w}, {type: "Stop", name: "s1"}) }',
    '?a {type: "Stop"} NOT { (?a, {w}, ?x) FILTER(?x.name == "s2") }',
    '?a {type: "Stop"} NOT { (?a, {w}, ?a) }',
    '?a {type: "Stop"} NOT { (?x, {w}, ?a) ?x {type: "Stop"} }',
    '?a {type: "Stop"} ?b {type: "Stop"} NOT { (?a, {w}, ?b) }',
    '?a {type: "Stop"} OPTIONAL { (?a, {w}, ?b) FILTER(?b.name == "s0") }',
    '?a {type: "Stop"} OPTIONAL { ?b {type: "Stop", name: "s3"} (?b, {w}, ?a) }',
    '?a {type: "Stop"} OPTIONAL { (?a, {w}, ?b) (?b, {w}, ?a) }',
    '?a {type: "Stop"} (?a, {w}, {type: "Stop"})',
    '(?a, {w}, {type: "Stop", name: "s1"}) ({type: "Stop", name: "s2"}, {w}, ?a)',
    '?a {type: "Stop", name: "s0"} ?b {type: "Stop", name: "s4"} (?a, {w}, ?b)',
    '?l (?a, {w}, ?b)',
    '?l (?a, {w}, ?a)',
    '?l (?a, {w}, {type: "Stop", name: "s1"}) ?a {type: "Stop"}',
)  # fmt: skip
HOPS = (
    "{1,}",
    "{0,}",
    "{3,}",
    "{1,2}",
    "{0,4}",
    "{1,6}",
    "{1,300}",
    "{2,9}",
    "{6}",
    "{41}",
    "{7,8}",
)

pairs_of_stops = st.tuples(st.sampled_from(STOPS), st.sampled_from(STOPS))


@st.composite
def networks(draw: st.DrawFn) -> str:
    """A capsule of stops and links between them; some links begin or end at another link."""
    blocks = [
        f'CONCEPT ?{name} {{ {{type: "Stop", name: "{name}"}} SET ATTRIBUTES {{ k: {at} }} }}'
        for at, name in enumerate(STOPS)
    ]
    links = draw(st.lists(pairs_of_stops, max_size=11, unique=True))
    handles: list[str] = []
    for subject, object_ in links:
        predicate = draw(st.sampled_from(["leads", "leads", "near"]))
        end = draw(st.sampled_from(handles)) if handles and draw(st.integers(0, 9)) == 9 else None
        if subject == object_ and end is None:
            continue
        handle = f"l{len(handles)}"
        blocks.append(f'PROPOSITION ?{handle} {{ (?{subject}, "{predicate}", ?{end or object_}) }}')
        handles.append(handle)
    return f"UPSERT {{ {' '.join(blocks)} }}"


@cache
def begun_reference() -> ReferenceNexus:
    reference = ReferenceNexus()
    assert "result" in reference.request({"command": VOCABULARY})
    return reference


@contextmanager
def both_with(network: str) -> Iterator[tuple[mycel.Graph, ReferenceNexus]]:
    reference = ReferenceNexus()
    reference.graph = begun_reference().graph.copy()
    with BEGUN.opened() as engine:
        for side in (engine, reference):
            assert "result" in side.request({"command": network})
        yield engine, reference


def find(where: str) -> str:
    shown = ["?a.name", "?a.predicate"]
    shown += ["?b.name", "?b.predicate"] if "?b" in where else []
    # Links have other ids in each engine; their ends tell them apart here.
    shown += ["?l.predicate", "?l.attributes"] if "?l" in where else []
    return f"FIND({', '.join(shown)}) WHERE {{ {where} }}"


def rows(engine: Any, command: str) -> Counter[str]:
    response = engine.request({"command": command})
    assert "result" in response, (command, response)
    return Counter(map(repr, zip(*response["result"], strict=True)))


@given(
    network=networks(),
    asked=st.lists(
        st.tuples(
            st.sampled_from(WALKS), st.sampled_from(['"leads"', '"near"']), st.sampled_from(HOPS)
        ),
        min_size=3,
        max_size=6,
    ),
)
def test_a_walk_joins_what_the_reference_says(
    network: str, asked: list[tuple[str, str, str]]
) -> None:
    with both_with(network) as (engine, reference):
        now = engine.snapshot().seq
        engine.execute('UPSERT { CONCEPT { {type: "Stop", name: "later"} } }')
        for where, predicate, hops in asked:
            command = find(where.replace("{w}", predicate + hops))
            expected = rows(reference, command)
            past = command.replace(" WHERE", f" AS OF {now} WHERE")
            assert rows(engine, past) == expected, past
    with both_with(network) as (engine, reference):
        for where, predicate, hops in asked:
            command = find(where.replace("{w}", predicate + hops))
            assert rows(engine, command) == rows(reference, command), command


def test_the_last_link_is_that_of_a_shortest_walk_of_an_allowed_length() -> None:
    ring = " ".join(
        f'PROPOSITION {{ (?s{at}, "leads", ?s{(at + 1) % 3}) SET ATTRIBUTES {{ from: {at} }} }}'
        for at in range(3)
    )
    stops = " ".join(f'CONCEPT ?s{at} {{ {{type: "Stop", name: "s{at}"}} }}' for at in range(3))
    with both_with(f"UPSERT {{ {stops} {ring} }}") as (engine, _):
        for hops, expected in {"{1,}": [2, 0, 1], "{4,500}": [2, 0, 1], "{302}": [1]}.items():
            where = f'?l ({{type: "Stop", name: "s0"}}, "leads"{hops}, ?b)'
            command = f"FIND(?l.attributes.from) WHERE {{ {where} }} ORDER BY ?b.name"
            assert engine.execute(command).value == expected, hops


def test_long_walks_from_everywhere_read_each_link_some_times_only() -> None:
    """Walks of at least forty links meet the same elements at every length, from every start."""
    size = 60
    with NEW.opened() as db:
        with db.transaction() as tx:
            tx.define_type("Stop")
            tx.define_predicate("leads")
            stops = [tx.put_concept("Stop", f"t{at}") for at in range(size)]
            for at in range(size):
                tx.add_edge(stops[at], "leads", stops[(at + 1) % size])
                tx.add_edge(stops[at], "leads", stops[(at * 7 + 3) % size])
        for where in (
            '(?a, "leads"{40,50}, ?b)',
            '?a {type: "Stop"} ?b {type: "Stop"} NOT { NOT { (?a, "leads"{40,50}, ?b) } }',
        ):
            statements: list[str] = []
            with db._store.reading() as reader:
                connection: Any = reader.connection
            connection.exec_trace = lambda _, text, __, texts=statements: texts.append(text) or True
            found = db.execute(f"FIND(COUNT(?a)) WHERE {{ {where} }}").value
            connection.exec_trace = None
            assert found > size * size / 2
            assert 2 < len(statements) < 2 * size, where


def test_a_search_for_a_walk_ends_at_its_deadline() -> None:
    """A ring of many stops has as many different levels: nothing repeats before it is round."""
    size = 300
    stops = " ".join(f'CONCEPT ?s{at} {{ {{type: "Stop", name: "t{at}"}} }}' for at in range(size))
    ring = " ".join(
        f'PROPOSITION {{ (?s{at}, "leads", ?s{(at + 1) % size}) }}' for at in range(size)
    )
    with both_with(f"UPSERT {{ {stops} {ring} }}") as (engine, _):
        where = '?a {type: "Stop"} ?b {type: "Stop"} NOT { (?a, "leads"{65000,65535}, ?b) }'
        with (
            mycel.open(engine.path, timeout_s=0.05) as hurried,
            pytest.raises(ExecutionTimeout),
        ):
            hurried.execute(f"FIND(?a, ?b) WHERE {{ {where} }}")
