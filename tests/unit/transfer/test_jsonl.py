"""What a line of JSON, or a dictionary, says; and what is wrong with one."""

import gzip
import io
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    InvalidSyntax,
    InvalidValueType,
    MycelError,
    NotFound,
    ResourceExhausted,
    SelfEdgeError,
    TypeMismatch,
)
from mycel.transfer import streams
from tests.unit.transfer.conftest import Write, attributes, knows, links, names, person, refused


def test_nodes_are_named_by_their_keys_and_get_their_defaults(
    db: mycel.Graph, write: Write
) -> None:
    loaded = db.load(write("a.jsonl", [person("ada", age=36), person("bob", role="admin")]))
    assert (loaded.concepts, loaded.links, loaded.created) == (2, 0, 2)
    assert attributes(db, "Person", "ada") == {
        "email": "ada",
        "name": "Ada",
        "age": 36,
        "role": "user",
    }
    assert attributes(db, "Person", "bob")["role"] == "admin"


def test_a_composite_key_names_by_the_array_of_its_texts(db: mycel.Graph) -> None:
    db.load(
        [
            {"type": "Seat", "data": {"number": 7, "row": 3}},
            person("ada"),
            {"edge": "sits", "from": "ada", "to": [3, 7]},
        ]
    )
    assert names(db, "Seat") == ['["3","7"]']
    assert links(db, "Sits") == [("ada", '["3","7"]')]


@pytest.mark.parametrize("key", [[3, 7], ["3", "7"], '["3","7"]', (3, 7)])
def test_a_composite_key_can_be_written_in_several_ways(db: mycel.Graph, key: Any) -> None:
    db.load([{"type": "Seat", "data": {"number": 7, "row": 3}}, person("ada")])
    db.load([{"edge": "Sits", "from": "ada", "to": key}])
    assert len(links(db, "Sits")) == 1


@pytest.mark.parametrize("key", [3, [3], [3, 7, 1], "3", ["x", 7], [3, None], {"row": 3}, None])
def test_what_is_no_key_is_refused_as_an_end(db: mycel.Graph, key: Any) -> None:
    db.load([person("ada")])
    error = refused(db, [{"edge": "Sits", "from": "ada", "to": key}])
    assert isinstance(error, InvalidValueType)
    assert error.data["row"] == 1


def test_a_node_without_a_key_takes_its_id_or_gets_one(db: mycel.Graph) -> None:
    db.load(
        [
            {"type": "Note", "id": "n1", "data": {"text": "one"}},
            {"type": "Note", "data": {"id": "n2", "text": "two"}},
            {"type": "Note", "data": {"text": "three"}},
            {"type": "Note", "data": {"text": "four"}},
        ]
    )
    *made, first, second = names(db, "Note")
    assert [first, second] == ["n1", "n2"]
    assert all(len(name) == 26 for name in made)
    assert attributes(db, "Note", "n2") == {"text": "two"}
    # In the order in which they came.
    assert [attributes(db, "Note", name)["text"] for name in made] == ["three", "four"]


def test_an_id_that_is_not_the_key_is_refused(db: mycel.Graph) -> None:
    db.load([person("ada") | {"id": "ada"}])
    error = refused(db, [person("bob") | {"id": "robert"}])
    assert "'robert'" in error.message
    assert error.data["type"] == "Person"


def test_metadata_and_weight_are_kept(db: mycel.Graph) -> None:
    db.load(
        [
            person("ada") | {"metadata": {"source": "letter"}},
            person("bob"),
            knows("ada", "bob", weight=0.5, metadata={"by": "x"}, data={"since": "1843-01-01"}),
        ]
    )
    (edge,) = db.edges_out(db.get_concept("Person", "ada").id)
    assert (edge.weight, edge.metadata, edge.data) == (0.5, {"by": "x"}, {"since": "1843-01-01"})
    assert db.get_concept("Person", "ada").metadata == {"source": "letter"}


@pytest.mark.parametrize("name", ["Knows", "knows", "KNOWS"])
def test_edges_of_the_schema_are_told_without_regard_to_case(db: mycel.Graph, name: str) -> None:
    db.load([person("ada"), person("bob"), {"edge": name, "from": "ada", "to": "bob"}])
    assert links(db, "Knows") == [("ada", "bob")]


def test_a_type_is_known_by_its_name_in_the_schema_and_in_kip() -> None:
    with mycel.open(core_capsules=False) as db:
        db.schema.apply('node Drug @kip("medicine") { name: String @key }')
        db.load(
            [{"type": "Drug", "data": {"name": "a"}}, {"type": "medicine", "data": {"name": "b"}}]
        )
        assert names(db, "medicine") == ["a", "b"]


def test_types_that_kip_alone_knows_are_loaded_by_name(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type("Plant")
        tx.define_predicate("likes")
        tx.define_predicate("shades", {"subject_types": ["Plant"], "object_types": ["Plant"]})
    db.load(
        [
            person("ada"),
            {"type": "Plant", "name": "Oak", "data": {"height": [1, {"m": 20}]}},
            {"type": "Plant", "id": "Fern"},
            {"edge": "shades", "from": "Oak", "to": "Fern"},
            {
                "edge": "likes",
                "from": {"type": "Person", "name": "ada"},
                "to": {"type": "Plant", "name": "Oak"},
            },
        ]
    )
    assert attributes(db, "Plant", "Oak") == {"height": [1, {"m": 20}]}
    assert links(db, "shades") == [("Oak", "Fern")]
    assert links(db, "likes") == [("ada", "Oak")]
    assert isinstance(refused(db, [{"type": "Plant", "data": {}}]), InvalidValueType)
    assert (
        "may join several types"
        in refused(db, [{"edge": "likes", "from": "ada", "to": "Oak"}]).hint
    )
    assert isinstance(refused(db, [{"edge": "Likes", "from": "a", "to": "b"}]), TypeMismatch)


def test_a_link_may_join_a_link(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.define_predicate("supports"))
    link = {"edge": "Knows", "from": "ada", "to": "bob"}
    db.load(
        [
            {"edge": "supports", "from": {"type": "Note", "name": "n"}, "to": link},
            link,
            person("ada"),
            person("bob"),
            {"type": "Note", "id": "n", "data": {"text": "seen"}},
        ]
    )
    (about,) = db.edges_out(db.get_concept("Note", "n").id)
    assert about.object.endswith(":Knows")


def test_dates_bytes_and_other_objects_of_python_are_taken(db: mycel.Graph) -> None:
    row = person(
        "ada",
        born=date(1815, 12, 10),
        seen=datetime(1852, 11, 27, 12, tzinfo=UTC),
        photo=b"\x00\xff",
        tags=("a", "b"),
    )
    db.load([row])
    stored = attributes(db, "Person", "ada")
    assert stored["born"] == "1815-12-10"
    assert stored["seen"] == "1852-11-27T12:00:00.000Z"
    assert stored["photo"] == "AP8="
    assert stored["tags"] == ["a", "b"]
    assert row["data"]["photo"] == b"\x00\xff"  # What the caller has stays the caller's.


def test_keys_may_be_objects_of_python() -> None:
    day, moment = date(2024, 1, 31), datetime(2024, 1, 31, 12, tzinfo=UTC)
    with mycel.open(core_capsules=False) as db:
        db.schema.apply(
            "node Day { on: Date @key }\nnode Slot { at: DateTime  number: I32  @key(at, number) }"
            "\nedge Has: Day -> Slot"
        )
        db.load([{"type": "Day", "data": {"on": day}}])
        db.load([{"at": moment, "number": Decimal(1)}], type="Slot")
        db.load([{"edge": "Has", "from": day, "to": (moment, 1)}])
        name = '["2024-01-31T12:00:00Z","1"]'
        assert links(db, "Has") == [("2024-01-31", name)]
        same = [{"id": day, "on": day}, {"id": "2024-01-31", "on": day}]
        assert db.load(same, type="Day", mode="merge").unchanged == 2
        ends = [{"src": day, "dst": [moment, Decimal(1)]}]
        assert db.load(ends, type="Has", mode="merge").unchanged == 1


def test_rows_of_one_type_may_leave_out_what_they_are(db: mycel.Graph, write: Write) -> None:
    db.load([{"email": "ada", "name": "Ada"}, {"email": "bob", "name": "Bob"}], type="Person")
    db.load(write("x.jsonl", [{"src": "ada", "dst": "bob", "since": "1843-01-01"}]), type="Knows")
    db.load([{"id": "n1", "text": "hello"}], type="Note")
    db.load([{"from": "ada", "to": "n1"}], type="wrote")
    assert links(db, "Knows") == [("ada", "bob")]
    assert links(db, "Wrote") == [("ada", "n1")]


@pytest.mark.parametrize("rows", [[{"src": "ada"}], [{"src": "ada", "from": "ada", "to": "x"}]])
def test_an_edge_needs_both_of_its_ends_once(db: mycel.Graph, rows: list[Any]) -> None:
    assert isinstance(refused(db, rows, type="Knows"), InvalidSyntax)


def test_a_property_may_be_called_like_an_end() -> None:
    with mycel.open(core_capsules=False) as db:
        db.schema.apply("node A { k: String @key }\nedge E: A -> A { from: String?  to: String? }")
        db.load([{"k": "x"}, {"k": "y"}], type="A")
        db.load([{"src": "x", "dst": "y", "from": "here"}], type="E")
        (edge,) = db.edges_out(db.get_concept("A", "x").id)
        assert edge.data == {"from": "here"}


def test_null_says_nothing(db: mycel.Graph) -> None:
    db.load([person("ada", age=None, role=None)])
    assert attributes(db, "Person", "ada") == {"email": "ada", "name": "Ada", "role": "user"}


def test_empty_lines_a_byte_order_mark_and_any_line_ends_are_fine(
    db: mycel.Graph, write: Write
) -> None:
    text = '\ufeff{"type":"Note","data":{"text":"a"}}\r\n\n  \n{"type":"Note","data":{"text":"b"}}'
    assert db.load(write("a.ndjson", text)).created == 2


# Where rows come from.


def test_open_files_of_text_and_of_bytes_are_read(db: mycel.Graph, write: Write) -> None:
    path = write("a.jsonl", [person("ada")])
    with path.open() as file:
        db.load(file)
    with write("b.jsonl", [person("bob")]).open("rb") as file:
        db.load(file)
    db.load(io.StringIO('{"type":"Note","data":{"text":"a"}}'), format="jsonl")
    db.load(io.BytesIO(b'{"type":"Note","data":{"text":"b"}}'), format="jsonl")
    assert names(db, "Person") == ["ada", "bob"]
    assert len(names(db, "Note")) == 2


def test_several_files_are_one_load(db: mycel.Graph, write: Write) -> None:
    edges, nodes = write("e.jsonl", [knows("ada", "bob")]), write("n.jsonl", [person("ada")])
    error = refused(db, [edges, nodes])
    assert error.data["file"] == str(edges)
    before = db.snapshot().seq
    loaded = db.load([edges, nodes, str(write("m.jsonl", [person("bob")]))])
    assert loaded.created == 3
    (entry,) = [each for each in db.history.log() if each.seq > before]
    assert entry.message.startswith("load ")


def test_compressed_files_are_unpacked(db: mycel.Graph, write: Write) -> None:
    packed = gzip.compress(b'{"type":"Note","data":{"text":"a"}}\n' * 3)
    assert db.load(write("a.jsonl.gz", packed)).created == 3
    error = refused(db, write("b.jsonl.gz", packed[:-9]))
    assert isinstance(error, InvalidSyntax)
    assert "gzip" in error.message
    assert "gzip" in refused(db, write("c.jsonl.gz", b"plain\n")).message


def test_a_line_that_is_too_long_is_refused_before_it_fills_the_memory(
    db: mycel.Graph, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "LINE_BYTES_MAX", 1000)
    bomb = gzip.compress(b'{"type":"Note","data":{"text":"a"}}\n' + b" " * 10_000_000)
    error = refused(db, write("a.jsonl.gz", bomb))
    assert isinstance(error, ResourceExhausted)
    assert error.data["line"] == 2
    assert isinstance(refused(db, io.StringIO("x" * 1001), format="jsonl"), ResourceExhausted)


def test_a_file_that_is_not_there_is_named(db: mycel.Graph, tmp_path: Path) -> None:
    error = refused(db, tmp_path / "nope.jsonl")
    assert isinstance(error, NotFound)
    assert str(tmp_path / "nope.jsonl") in error.message
    assert "line" not in error.data
    assert isinstance(refused(db, tmp_path, format="jsonl"), MycelError)


@pytest.mark.parametrize("source", [7, None, b"{}", {"type": "Note"}])
def test_what_cannot_be_loaded_is_refused(db: mycel.Graph, source: Any) -> None:
    assert isinstance(refused(db, source), InvalidValueType)


# What is wrong, and where.

WRONG: list[tuple[Any, type[MycelError], str]] = [
    ("[1]", InvalidSyntax, "[1] is not a row"),
    ("{", InvalidSyntax, "It is not JSON: unexpected end of data at character 2."),
    ('{"type": "Note", "data": NaN}', InvalidSyntax, "It is not JSON"),
    ('{"type":"Note","data":{"text":"a","text":"b"}}', InvalidSyntax, "'text' is repeated"),
    ('{"type":"Note","type":"Note","data":{"text":"a"}}', InvalidSyntax, "'type' is repeated"),
    ('{"type":"Note","data":{"text":36893488147419103232}}', InvalidValueType, "Note.text must be"),
    ("{}", InvalidSyntax, 'neither "type" nor "edge"'),
    ('{"type":"Note","dat":{}}', InvalidSyntax, "no 'dat'"),
    ('{"edge":"Knows","form":"a","to":"b"}', InvalidSyntax, "no 'form'"),
    ('{"type":"Note","data":[]}', InvalidValueType, "no object"),
    ('{"type":"Note","data":{"text":"a"},"metadata":1}', InvalidValueType, "no object"),
    ('{"type":"Note","data":{"text":"a"},"metadata":{"_x":1}}', ConstraintViolation, "reserved"),
    ('{"type":["Note"],"data":{}}', TypeMismatch, "There is no type"),
    ('{"type":"$ConceptType","name":"X"}', TypeMismatch, "not rows"),
    ('{"edge":"Loves","from":"a","to":"b"}', TypeMismatch, "There is no edge 'Loves'"),
    ('{"type":"Note","id":7,"data":{"text":"a"}}', InvalidValueType, "is text"),
    ('{"type":"Note","id":"","data":{"text":"a"}}', ConstraintViolation, "must not be empty"),
    ('{"edge":"Knows","from":"a","to":"a"}', SelfEdgeError, "Person 'a' to itself"),
    ('{"edge":"Knows","from":"a","to":"b","weight":"x"}', InvalidValueType, "not a number"),
    (
        '{"edge":"Knows","from":"ok","to":"nobody"}',
        NotFound,
        "'nobody', which does not",
    ),
    ('{"type":"Person","data":{"name":"a"}}', ConstraintViolation, "Person.email is required"),
    ('{"type":"Person","data":{"email":"a"}}', ConstraintViolation, "Person.name is required"),
    ('{"type":"Person","data":{"email":"a","nam":"A"}}', ConstraintViolation, "property 'nam'"),
    ('{"type":"Person","data":{"email":7,"name":"A"}}', InvalidValueType, "Person.email must be"),
    (
        '{"type":"Person","data":{"email":"a","name":"A","role":"boss"}}',
        ConstraintViolation,
        "invalid enum value 'boss' for Person.role (expected: admin, user)",
    ),
    (
        '{"type":"Person","data":{"email":"a","name":"A","age":151}}',
        ConstraintViolation,
        "@range violation on Person.age: 151 is not within 0..150",
    ),
]


@pytest.mark.parametrize(("line", "kind", "said"), WRONG, ids=[each[2] for each in WRONG])
def test_what_is_wrong_with_a_row_is_told_with_its_line(
    db: mycel.Graph, write: Write, line: str, kind: type[MycelError], said: str
) -> None:
    db.load([person("ok")])
    good = '{"type":"Note","data":{"text":"fine"}}\n'
    path = write("rows.jsonl", f"{good}\n{line}\n{good}")
    error = refused(db, path)
    assert isinstance(error, kind)
    assert error.message.startswith(f"{path}, line 3: ")
    assert said in error.message
    assert (error.data["file"], error.data["line"]) == (str(path), 3)
    assert error.hint


def test_the_data_of_an_error_names_type_property_and_value(db: mycel.Graph) -> None:
    error = refused(db, [person("ada"), person("bob", age="old")])
    assert error.data["row"] == 2
    assert (error.data["type"], error.data["property"]) == ("Person", "age")
    assert error.data["value"] == "old"


def test_a_type_that_is_misspelt_is_told_with_the_closest(db: mycel.Graph) -> None:
    assert refused(db, [{"type": "Persn", "data": {}}]).hint == "Did you mean 'Person'?"
    assert refused(db, [{"edge": "Know", "from": "a", "to": "b"}]).hint == "Did you mean 'Knows'?"


def test_an_interface_has_no_rows() -> None:
    with mycel.open(core_capsules=False) as db:
        db.schema.apply("interface Named { name: String }\nnode A implements Named { x: I32? }")
        error = refused(db, [{"type": "Named", "data": {"name": "x"}}])
        assert "interface" in error.message


def test_a_time_is_read_to_its_end(db: mycel.Graph) -> None:
    db.load([person("a", seen="2024-01-31T12:00:00Z")])
    assert attributes(db, "Person", "a")["seen"] == "2024-01-31T12:00:00.000Z"
    for said in ("2024-01-31T12:00:00Zx", "2024-01-31T12:00:00Z  ", "2024-13-31T12:00:00Z"):
        error = refused(db, [person("b", seen=said)])
        assert (error.data["property"], error.data["value"]) == ("seen", said)
        assert repr(said) in error.message
