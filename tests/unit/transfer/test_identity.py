"""The id of a row means the same in JSON Lines, CSV, dictionaries and tables."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import mycel
from mycel.errors import ConstraintViolation, InvalidValueType
from tests.unit.transfer.conftest import Write, attributes, links, names, refused

SEED_SCHEMA = """
node Account {
    slug: String @key
    logo: Blob?
    summary: String?
    vector: Vector(2)? @embed("summary", model="acme/embed-2") @index
    score: I32? @range(score, 0..100)
    createdAt: DateTime?
}
node Chunk { text: String }
edge PartOf: Chunk -> Account @card(1..1) { note: String? }
"""
SEED = """\
{"type":"Account","data":{"id":"acme.com","slug":"acme.com","logo":"base64:AP8=","score":7,\
"createdAt":"2026-05-12T09:00:00"}}
{"type": "Chunk", "data": {"id": "01J0000000000000000000000A", "text": "one"}}
{"type":"Chunk","data":{"text":"two"}}
{"edge":"PartOf","from":"01J0000000000000000000000A","to":"acme.com","data":{"id":"e1"}}
"""


@pytest.fixture
def seeded() -> Iterator[mycel.Graph]:
    with mycel.open(core_capsules=False) as db:
        db.schema.apply(SEED_SCHEMA)
        yield db


def test_a_seed_file_as_omnigraph_writes_it_is_loaded(seeded: mycel.Graph, write: Write) -> None:
    loaded = seeded.load(write("seed.jsonl", SEED))
    assert (loaded.concepts, loaded.links, loaded.warnings) == (3, 1, ())
    assert attributes(seeded, "Account", "acme.com") == {
        "slug": "acme.com",
        "logo": "AP8=",
        "score": 7,
        "createdAt": "2026-05-12T09:00:00.000Z",
    }
    assert links(seeded, "PartOf") == [("01J0000000000000000000000A", "acme.com")]
    assert link_data(seeded, "PartOf") == [{}]


def link_data(db: mycel.Graph, predicate: str) -> Any:
    return db.execute(f'FIND(?l.attributes) WHERE {{ ?l (?a, "{predicate}", ?b) }}').value


def sources(write: Write, type_name: str, row: dict[str, Any]) -> list[tuple[Any, dict[str, str]]]:
    """One row of a type in every form that has columns."""
    said = {key: value for key, value in row.items() if value is not None}
    cells = ",".join(str(value) for value in said.values())
    return [
        ([said], {"type": type_name}),
        (write(f"{type_name}.csv", f"{','.join(said)}\n{cells}\n"), {}),
        (pa.table({key: [value] for key, value in said.items()}), {"type": type_name}),
    ]


def test_an_id_names_a_node_without_a_key_in_every_form(db: mycel.Graph, write: Write) -> None:
    for source, how in sources(write, "Note", {"id": "n", "text": "one"}):
        db.load(source, mode="overwrite", **how)
        assert names(db, "Note") == ["n"]
    for row in (
        {"type": "Note", "id": "n", "data": {"text": "one"}},
        {"type": "Note", "data": {"id": "n", "text": "one"}},
        {"type": "Note", "id": "n", "name": "n", "data": {"id": "n", "text": "one"}},
    ):
        db.load([row], mode="overwrite")
        assert names(db, "Note") == ["n"]


def test_an_id_agrees_with_the_key_in_every_form(db: mycel.Graph, write: Write) -> None:
    def forms(given: str) -> list[tuple[Any, dict[str, str]]]:
        data = {"email": "ada", "name": "Ada"}
        return [
            *sources(write, "Person", {"id": given, **data}),
            ([{"type": "Person", "id": given, "data": data}], {}),
            ([{"type": "Person", "data": {"id": given, **data}}], {}),
        ]

    for source, how in forms("ada"):
        db.load(source, mode="overwrite", **how)
        assert "id" not in attributes(db, "Person", "ada")
    for source, how in forms("eve"):
        error = refused(db, source, mode="merge", **how)
        assert isinstance(error, ConstraintViolation)
        assert "'eve' is not the key of this Person, 'ada'" in error.message
        assert error.data["property"] == "id"


def test_an_id_may_spell_a_key_as_the_ends_of_edges_do(db: mycel.Graph) -> None:
    seat = {"row": 1, "number": 2}
    for given in ([1, 2], ["1", "2"], '["1","2"]', "[1, 2]"):
        db.load([{"type": "Seat", "id": given, "data": seat}], mode="merge")
        assert names(db, "Seat") == ['["1","2"]']
    for given in ([2, 1], 1, "1", [1], {"row": 1}):
        assert "is not the key" in refused(db, [seat | {"id": given}], type="Seat").message


def test_the_id_of_an_edge_is_read_in_every_form_and_its_ends_name_it(
    db: mycel.Graph, write: Write
) -> None:
    db.load([{"email": name, "name": name} for name in ("ada", "bob")], type="Person")
    data = {"since": "1843-01-01"}
    for source, how in [
        *sources(write, "Knows", {"id": "e1", "src": "ada", "dst": "bob", **data}),
        ([{"edge": "Knows", "id": "e1", "from": "ada", "to": "bob", "data": data}], {}),
        ([{"edge": "Knows", "from": "ada", "to": "bob", "data": {"id": "e1", **data}}], {}),
    ]:
        db.load(source, mode="overwrite", **how)
        assert link_data(db, "Knows") == [data]
    for row in (
        {"edge": "Knows", "id": 7, "from": "ada", "to": "bob"},
        {"edge": "Knows", "from": "ada", "to": "bob", "data": {"id": 7}},
    ):
        error = refused(db, [row], mode="merge")
        assert isinstance(error, InvalidValueType)
        assert "is text" in error.message


def test_two_ids_of_one_row_are_refused(db: mycel.Graph) -> None:
    for row in (
        {"type": "Note", "id": "a", "data": {"id": "b", "text": "x"}},
        {"type": "Note", "id": "a", "name": "b", "data": {"text": "x"}},
        {"type": "Note", "name": "a", "data": {"id": "b", "text": "x"}},
        {"type": "Person", "id": "a", "data": {"id": "b", "email": "a", "name": "x"}},
        {"edge": "Knows", "id": "a", "from": "ada", "to": "bob", "data": {"id": "b"}},
    ):
        error = refused(db, [row])
        assert isinstance(error, ConstraintViolation)
        assert "two ids: 'a' and 'b'" in error.message


def test_in_data_without_a_schema_an_id_is_an_attribute(db: mycel.Graph) -> None:
    db.execute('UPSERT { CONCEPT ?t { {type: "$ConceptType", name: "Plant"} } }')
    db.load([{"type": "Plant", "name": "Oak", "data": {"id": "Q33036816"}}])
    assert attributes(db, "Plant", "Oak") == {"id": "Q33036816"}
