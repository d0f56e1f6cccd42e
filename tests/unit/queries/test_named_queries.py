"""Named queries: written, checked, run, and seen through every door."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.api.graph import Graph
from mycel.errors import (
    ConstraintViolation,
    InvalidSyntax,
    InvalidValueType,
    MycelError,
    NotFound,
    TypeMismatch,
)
from mycel.queries.gq_parser import parse_queries
from tests.cases import each_case

TEXT = """\
// Towns.
query large($least: I64? @description("People, at least."), $limit: I32 = 20)
    @description("Large towns.")
    @instruction("Use it {before} a trip.")
    @tool
{ FIND(?c.name, ?c.attributes.people) WHERE {
    ?c {type: "City"} // with a } in a comment
    FILTER(?c.attributes.people >= :least || IS_NULL(:least)) FILTER(?c.name != "}")
  } ORDER BY ?c.name LIMIT :limit }

query found_city($name: String, $people: U64)
{ UPSERT { CONCEPT { {type: "City", name: :name} SET ATTRIBUTES { people: :people } } } }
"""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Graph]:
    with mycel.open(tmp_path / "x.db") as db:
        db.schema.apply("node City { people: U64? }")
        db.execute(
            'UPSERT { CONCEPT { {type: "City", name: "Porto"} SET ATTRIBUTES {people: 9} } }'
        )
        db.queries.add(TEXT)
        yield db


def test_a_query_is_run_by_name_with_typed_values(db: Graph) -> None:
    assert db.queries.large().rows == [("Porto", 9)]
    assert db.queries.large(least=10).rows == []
    assert db.queries.run("large", {"least": "9", "limit": 1}).rows == [("Porto", 9)]
    db.queries.found_city(name="Faro", people=(1 << 64) - 1)
    assert db.queries.large(least="10").rows == [("Faro", (1 << 64) - 1)]
    assert "large" in db.queries
    assert [query.name for query in db.queries] == ["found_city", "large"]


def test_values_never_become_text_of_the_command(db: Graph) -> None:
    hostile = '"} } } DELETE CONCEPT ?c DETACH WHERE { ?c {type: "City"} }'
    db.queries.found_city(name=hostile, people=1)
    assert [name for name, _ in db.queries.large().rows] == [hostile, "Porto"]


def test_a_definition_is_knowledge_with_history_and_branches(db: Graph) -> None:
    before = db.snapshot()
    db.branches.create("draft")
    with db.open_branch("draft") as draft:
        draft.queries.remove("large")
        assert "large" not in draft.queries
    assert db.queries.large().rows
    db.merge("draft")
    with pytest.raises(NotFound):
        db.queries.run("large")
    assert db.as_of(before.seq).get_concept("NamedQuery", "large").attributes["text"]
    assert db.verify().ok


def test_a_text_that_does_not_work_adds_nothing(db: Graph) -> None:
    body = 'FIND(?c.name) WHERE { ?c {type: "City"} }'
    texts: dict[str, type[MycelError]] = {
        "": ConstraintViolation,
        "query": InvalidSyntax,
        "query x": InvalidSyntax,
        "query x()": InvalidSyntax,
        "query x() {": InvalidSyntax,
        "query x() { }": InvalidSyntax,
        "query x() { FOO }": InvalidSyntax,
        f"query x() {{ {body} }} query x() {{ {body} }}": InvalidSyntax,
        f"query x($a: Foo) {{ {body} }}": InvalidSyntax,
        f"query x($a: String) {{ {body} }}": ConstraintViolation,
        "query x() { FIND(?c) WHERE { ?c {type: :t} } }": ConstraintViolation,
        'query x() { FIND(?c) WHERE { ?c {type: "Nope"} } }': TypeMismatch,
        'query x() { FIND(?c) WHERE { (?c, "nope", ?d) } }': TypeMismatch,
        'query x() { UPSERT { CONCEPT { {type: "Nope", name: "a"} } } }': TypeMismatch,
        f'query x($n: I32 = "a") {{ {body} LIMIT :n }}': InvalidValueType,
        "query x() § {": InvalidSyntax,
        f"query y() {{ {body} }} query x() {{": InvalidSyntax,
    }
    entries = db.snapshot().entries
    with each_case() as case:
        for text, error in texts.items():
            with case(text), pytest.raises(error):
                db.queries.add(text)
    assert db.snapshot().entries == entries


def test_values_of_other_types_are_refused(db: Graph) -> None:
    with each_case() as case:
        for given in (
            {"least": "x"},
            {"least": 1 << 63},
            {"limit": True},
            {"limit": 1.5},
            {"leest": 1},
            {"limit": None},
        ):
            with case(str(given)), pytest.raises((InvalidValueType, InvalidSyntax)):
                db.queries.run("large", given)
    with pytest.raises(InvalidSyntax, match="needs the parameter 'name'"):
        db.queries.run("found_city", {"people": 1})


def test_a_reader_may_not_run_what_writes_and_is_not_told_of_it(db: Graph) -> None:
    with pytest.raises(NotFound) as denied:
        db.queries.run("found_city", {"name": "a", "people": 1}, readonly=True)
    with pytest.raises(NotFound) as unknown:
        db.queries.run("no_such", {}, readonly=True)
    assert denied.value.message.replace("found_city", "no_such") == unknown.value.message
    assert denied.value.hint == unknown.value.hint


def test_a_descriptor_says_what_goes_in_and_what_comes_out(db: Graph) -> None:
    writing, reading = db.queries.describe()
    assert reading["parameters"]["properties"]["least"] == {
        "type": "string",
        "format": "int64",
        "description": "People, at least.",
    }
    assert reading["parameters"]["properties"]["limit"]["default"] == 20
    assert reading["columns"] == ["?c.name", "?c.attributes.people"]
    assert (reading["writes"], reading["types"]) == (False, ["City"])
    assert writing["writes"]
    assert writing["parameters"]["required"] == ["name", "people"]


def test_a_change_of_the_schema_that_breaks_a_query_is_told(db: Graph) -> None:
    assert db.queries.check() == []
    for schema in ("node Town { people: U64? }", "node City { size: U64? }"):
        planned = db.schema.plan(schema)
        broken = [problem.name for problem in db.queries.broken_by(planned.changes)]
        assert broken == ["found_city", "large"]
    assert db.queries.broken_by(db.schema.plan("node City { people: U64? x: I32? }").changes) == []
    db.queries.add("query types() { DESCRIBE CONCEPT TYPES }")
    assert db.queries.run("types").value


def test_a_definition_that_came_by_another_door_is_checked_when_it_is_run(db: Graph) -> None:
    db.execute(
        'UPSERT { CONCEPT { {type: "NamedQuery", name: "bad"} SET ATTRIBUTES { text: "query" } } }'
    )
    assert [problem.name for problem in db.queries.check()] == ["bad"]
    assert [query.name for query in db.queries] == ["found_city", "large"]
    with pytest.raises(InvalidSyntax):
        db.queries.run("bad")


def test_parsing_keeps_the_text_of_each_declaration() -> None:
    for query in parse_queries(TEXT):
        assert parse_queries(query.text) == (query,)
