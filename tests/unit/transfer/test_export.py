"""What leaves the graph, and that it comes back."""

import csv
import gzip
import io
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet
import pytest

import mycel
from mycel.errors import DatabaseError, InvalidValueType, MycelError, TypeMismatch
from mycel.store.query.bulk import instances
from mycel.transfer import export
from tests.prepared import NEW
from tests.unit.transfer.conftest import SCHEMA, attributes, knows, links, person, refused

ROWS: list[dict[str, Any]] = [
    person(
        "ada",
        age=36,
        born="1815-12-10",
        seen="1852-11-27T12:00:00.250Z",
        photo="AP8=",
        tags=["a", "b"],
        score=1.5,
        active=True,
    )
    | {"metadata": {"source": "letter"}},
    person("bob", tags=[]),
    {"type": "Seat", "data": {"row": 1, "number": 2, "note": 'window, "left"\n'}},
    {"type": "Note", "id": "n", "data": {"text": "hello"}},
    {"type": "Note", "data": {"text": "no name"}},
    knows("ada", "bob", weight=0.25, data={"since": "1843-01-01"}, metadata={"by": "x"}),
    {"edge": "Sits", "from": "bob", "to": [1, 2], "data": {"weight": 70.5}, "weight": 0.9},
    {"edge": "Wrote", "from": "ada", "to": "n"},
]


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "CHUNK_ROWS", 2)


def flexible(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type("Plant")
        tx.define_predicate("likes")
        tx.define_predicate("doubts")


FLEXIBLE: list[dict[str, Any]] = [
    {"type": "Plant", "name": "Oak", "data": {"parts": [1, {"x": None}]}},
    {
        "edge": "likes",
        "from": {"type": "Person", "name": "ada"},
        "to": {"type": "Plant", "name": "Oak"},
    },
    {
        "edge": "doubts",
        "from": {"type": "Person", "name": "bob"},
        "to": {"edge": "Knows", "from": "ada", "to": "bob"},
    },
    {
        "edge": "doubts",
        "from": {"type": "Seat", "name": '["1","2"]'},
        "to": {
            "edge": "doubts",
            "from": {"type": "Person", "name": "bob"},
            "to": {"edge": "Knows", "from": "ada", "to": "bob"},
        },
    },
]


def lines(db: mycel.GraphView, **how: Any) -> list[dict[str, Any]]:
    file = io.StringIO()
    db.export(file, **how)
    return [json.loads(line) for line in file.getvalue().splitlines()]


def test_json_lines_give_the_same_graph_back(db: mycel.Graph, tmp_path: Path) -> None:
    flexible(db)
    db.load([*ROWS, *FLEXIBLE])
    exported = db.export(tmp_path / "all.jsonl")
    assert (exported.concepts, exported.links) == (6, 6)
    assert exported.files == (str(tmp_path / "all.jsonl"),)
    with mycel.open(core_capsules=False) as other:
        other.schema.apply(SCHEMA)
        flexible(other)
        loaded = other.load(tmp_path / "all.jsonl")
        assert (loaded.concepts, loaded.links) == (6, 6)
        assert lines(other) == lines(db)
        assert other.load(tmp_path / "all.jsonl", mode="overwrite").unchanged == 12
        assert links(other, "likes") == links(db, "likes")
        assert other.get_concept("Person", "ada").metadata == {"source": "letter"}


def test_a_line_says_what_is_needed_and_no_more(db: mycel.Graph) -> None:
    flexible(db)
    db.load([*ROWS, *FLEXIBLE])
    made = lines(db, types=["Knows", "Seat", "Note", "Sits", "Plant"])
    assert made[0] == {
        "type": "Seat",
        "data": {"row": 1, "number": 2, "note": 'window, "left"\n'},
    }
    assert made[1] == {"type": "Note", "id": "n", "data": {"text": "hello"}}
    assert made[3] == {
        "type": "Plant",
        "name": "Oak",
        "data": {"parts": [1, {"x": None}]},
    }
    assert made[4] == {
        "edge": "Knows",
        "from": "ada",
        "to": "bob",
        "data": {"since": "1843-01-01"},
        "metadata": {"by": "x"},
        "weight": 0.25,
    }
    assert made[5] == {
        "edge": "Sits",
        "from": "bob",
        "to": [1, 2],
        "data": {"weight": 70.5},
        "weight": 0.9,
    }


@pytest.mark.parametrize("format_", ["csv", "tsv", "parquet", "arrow"])
def test_tables_give_back_everything_that_a_schema_declares_with_weights_and_metadata(
    db: mycel.Graph, tmp_path: Path, format_: Any
) -> None:
    db.load(ROWS)
    exported = db.export(tmp_path / "out", format=format_)
    assert exported.warnings == ()
    files = [Path(path) for path in exported.files]
    assert [path.name for path in files] == [
        f"{name}.{format_}" for name in ("Person", "Seat", "Note", "Knows", "Sits", "Wrote")
    ]
    with mycel.open(core_capsules=False) as other:
        other.schema.apply(SCHEMA)
        other.load([*reversed(files)])
        assert sorted(map(json.dumps, lines(other))) == sorted(map(json.dumps, lines(db)))
        assert other.load(files, mode="merge").unchanged == len(ROWS)
        # An empty list is written, and comes back.
        assert attributes(other, "Person", "bob")["tags"] == []


def test_weights_and_metadata_are_columns_only_where_a_row_has_some(db: mycel.Graph) -> None:
    db.load(ROWS)
    beside = {
        name: [
            column
            for column in db.to_arrow(name).column_names
            if column.strip("@") in ("weight", "metadata")
        ]
        for name in ("Person", "Seat", "Knows", "Sits", "Wrote")
    }
    # `weight` is a property of Sits.
    assert beside == {
        "Person": ["metadata"],
        "Seat": [],
        "Knows": ["weight", "metadata"],
        "Sits": ["weight", "@weight"],
        "Wrote": [],
    }
    assert db.to_arrow("Knows").select(["weight", "metadata"]).to_pylist() == [
        {"weight": 0.25, "metadata": '{"by":"x"}'}
    ]
    assert db.to_arrow("Person").column("metadata").to_pylist() == ['{"source":"letter"}', None]


def test_metadata_of_the_actors_alone_makes_no_column() -> None:
    with NEW.opened() as db:
        db.schema.apply(SCHEMA)
        db.load([person("ada")])
        assert "metadata" not in db.to_arrow("Person").column_names


def test_metadata_that_is_no_object_is_refused_in_a_cell(db: mycel.Graph) -> None:
    for cell in ("x", "[1]", '{"a":1,"a":2}', '{"_a":1}'):
        table = pa.table({"id": ["n"], "text": ["t"], "metadata": [cell]})
        error = refused(db, table, type="Note")
        assert error.data["row"] == 1
    db.load(pa.table({"id": ["n"], "text": ["t"], "metadata": [{"a": 1}]}), type="Note")
    found = db.get_concept("Note", "n")
    assert found is not None
    assert found.metadata == {"a": 1}


def test_one_table_goes_into_one_file(db: mycel.Graph, tmp_path: Path) -> None:
    db.load(ROWS)
    assert db.export(tmp_path / "people.csv", types="Person").concepts == 2
    rows = list(csv.DictReader(io.StringIO((tmp_path / "people.csv").read_text())))
    assert [row["email"] for row in rows] == ["ada", "bob"]
    assert rows[0]["tags"] == '["a","b"]'
    assert rows[1]["age"] == ""
    db.export(tmp_path / "knows.parquet", types=["knows"])
    made = pa.parquet.read_table(tmp_path / "knows.parquet").to_pylist()
    assert made == [
        {
            "id": made[0]["id"],
            "src": "ada",
            "dst": "bob",
            "since": date(1843, 1, 1),
            "weight": 0.25,
            "metadata": '{"by":"x"}',
        }
    ]
    assert made[0]["id"].startswith("P:")


def test_open_files_of_text_and_bytes_are_written_to(db: mycel.Graph) -> None:
    db.load(ROWS)
    text, binary = io.StringIO(), io.BytesIO()
    db.export(text)
    db.export(binary)
    assert text.getvalue().encode() == binary.getvalue()
    arrow = io.BytesIO()
    db.export(arrow, types=["Note"], format="arrow")
    assert pa.ipc.open_file(io.BytesIO(arrow.getvalue())).read_all().num_rows == 2
    with pytest.raises(InvalidValueType):
        db.export(io.BytesIO(), format="csv")


def test_a_name_that_ends_with_gz_is_compressed(db: mycel.Graph, tmp_path: Path) -> None:
    db.load(ROWS)
    db.export(tmp_path / "all.jsonl.gz")
    assert gzip.decompress((tmp_path / "all.jsonl.gz").read_bytes()).startswith(b'{"type":"Person"')


def test_what_a_new_graph_begins_with_is_left_out_unless_it_was_changed() -> None:
    with NEW.opened() as db:
        assert lines(db) == []
        db.schema.apply(SCHEMA)
        db.load([person("ada")])
        assert [row["data"]["email"] for row in lines(db)] == ["ada"]
        db.execute(
            'UPSERT { CONCEPT { {type: "Domain", name: "Unsorted"} SET ATTRIBUTES {x: 1} } }'
        )
        assert {row.get("name") for row in lines(db) if row["type"] == "Domain"} == {"Unsorted"}
        assert len(lines(db, types=["Domain"])) > 1
        # The actors are everybody's own.
        assert len(lines(db, types=["Person"])) == 1


def test_an_export_that_fails_leaves_no_file(
    db: mycel.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.load(ROWS)
    (tmp_path / "there.jsonl").write_text("old")
    monkeypatch.setattr("mycel.transfer.export.orjson.dumps", _fail, raising=True)
    with pytest.raises(ZeroDivisionError):
        db.export(tmp_path / "there.jsonl")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["there.jsonl"]
    assert (tmp_path / "there.jsonl").read_text() == "old"
    with pytest.raises(DatabaseError):
        db.export(tmp_path / "no" / "such" / "place.jsonl")


def _fail(*_: Any, **__: Any) -> bytes:
    raise ZeroDivisionError


def test_a_type_that_there_is_not_is_refused(db: mycel.Graph, tmp_path: Path) -> None:
    with pytest.raises(TypeMismatch, match="Person"):
        db.export(tmp_path / "x.jsonl", types=["Persn"])
    with pytest.raises(TypeMismatch):
        db.to_arrow("Persn")
    with pytest.raises(TypeMismatch) as caught:
        db.export(tmp_path / "x.jsonl", types=["Zzz"])
    assert caught.value.hint.startswith("DESCRIBE CONCEPT TYPES lists the existing ones")
    assert list(tmp_path.iterdir()) == []


# Arrow.


def test_a_table_has_the_columns_of_the_catalog_and_moments_as_timestamps(
    db: mycel.Graph,
) -> None:
    db.load([{**row, "metadata": None, "weight": None} if "edge" in row else row for row in ROWS])
    for name in ("Person", "Seat", "Note", "Knows", "Sits", "Wrote"):
        made, declared = db.to_arrow(name), db.schema.catalog.arrow(name)
        made.validate(full=True)
        for field in declared:
            type_ = made.schema.field(field.name).type
            assert type_ == (pa.timestamp("ms", "UTC") if field.name == "seen" else field.type)
        extra = set(made.column_names) - set(declared.names)
        assert extra == ({"metadata"} if name == "Person" else set())
    people = db.to_arrow("Person")
    first = people.slice(0, 1).to_pylist()[0]
    assert (first["id"], first["photo"], first["born"]) == ("ada", b"\x00\xff", date(1815, 12, 10))
    assert db.to_arrow("knows").to_pylist()[0]["src"] == "ada"


def test_moments_keep_their_time_of_day_in_other_libraries(db: mycel.Graph) -> None:
    db.load(ROWS)
    people = db.to_arrow("Person")
    moment = datetime(1852, 11, 27, 12, 0, 0, 250_000, UTC)
    assert people.column("seen").to_pylist()[0] == moment
    assert people.to_pandas()["seen"][0] == pandas.Timestamp(moment)
    assert polars.DataFrame(people)["seen"][0] == moment


def test_a_type_without_rows_is_an_empty_table(db: mycel.Graph) -> None:
    made = db.to_arrow("Person")
    assert made.num_rows == 0
    assert made.column_names == db.schema.catalog.arrow("Person").names


def test_a_table_that_was_taken_out_can_be_put_back(db: mycel.Graph) -> None:
    db.load(ROWS)
    for name, count in (("Person", 2), ("Knows", 1), ("Sits", 1), ("Note", 2)):
        table = db.to_arrow(name)
        assert db.load(table, type=name, mode="overwrite").unchanged == count
        assert db.load(polars.DataFrame(table), type=name, mode="merge").unchanged == count
        assert db.load(table.to_pandas(), type=name, mode="merge").unchanged == count


def test_a_flexible_type_has_its_attributes_in_one_column(db: mycel.Graph, tmp_path: Path) -> None:
    flexible(db)
    db.load([*ROWS, *FLEXIBLE])
    assert db.to_arrow("Plant").to_pylist() == [
        {"id": "Oak", "attributes": '{"parts":[1,{"x":null}]}'}
    ]
    assert db.to_arrow("likes").to_pylist()[0]["dst"] == "Oak"
    assert db.load(db.to_arrow("Plant"), type="Plant", mode="merge").unchanged == 1
    db.export(tmp_path / "Plant.csv", types=["Plant"])
    assert db.load(tmp_path / "Plant.csv", mode="merge").unchanged == 1


def test_attributes_of_a_flexible_type_may_be_called_like_columns(db: mycel.Graph) -> None:
    flexible(db)
    data = {"id": "x", "name": "y", "weight": 3, "metadata": "m", "attributes": [1], "src": 0}
    row = {"type": "Plant", "name": "Oak", "data": data, "metadata": {"by": "me"}}
    db.load([row])
    table = db.to_arrow("Plant")
    out = io.StringIO()
    db.export(out, types=["Plant"], format="csv")
    for source, how in ((table, {}), (io.StringIO(out.getvalue()), {"format": "csv"})):
        db.load([], type="Plant", mode="overwrite")
        db.load(source, type="Plant", **how)
        assert lines(db, types=["Plant"]) == [row]


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_tables_of_a_predicate_without_a_schema_can_be_loaded(
    db: mycel.Graph, tmp_path: Path, format_: Any
) -> None:
    flexible(db)
    db.load([*ROWS, *FLEXIBLE, FLEXIBLE[1] | {"from": {"type": "Note", "name": "n"}}])
    files = db.export(tmp_path / "out", format=format_).files
    with mycel.open(core_capsules=False) as other:
        other.schema.apply(SCHEMA)
        flexible(other)
        other.load(list(files))
        assert sorted(map(json.dumps, lines(other))) == sorted(map(json.dumps, lines(db)))


# The past.


def test_rows_of_the_past_are_those_of_then_with_the_schema_of_then(
    db: mycel.Graph, tmp_path: Path
) -> None:
    flexible(db)
    db.load([*ROWS, *FLEXIBLE])
    then, before, table = db.snapshot().seq, lines(db), db.to_arrow("Person")
    db.load([person("ada", "Countess"), person("cy")], mode="overwrite")
    db.load([{"type": "Plant", "name": "Fern"}])
    db.schema.apply(SCHEMA.replace("born:", "birthday: Date? @rename_from(born)  died:"))
    db.execute('DELETE PROPOSITIONS ?l WHERE { ?l (?a, "Wrote", ?b) }')
    past = db.as_of(then)
    assert lines(db) != before
    assert lines(past) == before
    assert past.to_arrow("Person").equals(table)
    assert past.to_arrow("doubts").num_rows == 2
    assert "birthday" in db.to_arrow("Person").column_names
    for format_ in ("csv", "parquet"):
        exported = past.export(tmp_path / format_, format=format_)
        assert (exported.concepts, exported.links) == (6, 6)
    assert lines(db.as_of(1)) == []
    with pytest.raises(TypeMismatch):
        db.as_of(1).to_arrow("Person")


def test_types_that_were_renamed_since_have_their_old_names_in_the_past() -> None:
    with mycel.open(core_capsules=False) as db:
        db.schema.apply("node Old { k: String @key }  edge Links: Old -> Old")
        rows = [
            {"type": "Old", "data": {"k": "a"}},
            {"type": "Old", "data": {"k": "b"}},
            {"edge": "Links", "from": "a", "to": "b", "data": {}},
        ]
        db.load(rows)
        past = db.as_of(db.snapshot().seq)
        db.schema.apply(
            'node New @rename_from("Old") { k: String @key }'
            ' edge Joins: New -> New @rename_from("Links")'
        )
        assert [row.get("type", row.get("edge")) for row in lines(db)] == ["New", "New", "Joins"]
        assert lines(past) == rows
        assert past.to_arrow("Links").num_rows == 1
        with pytest.raises(TypeMismatch):
            past.to_arrow("New")


def test_what_a_graph_began_with_is_left_out_of_its_past_too() -> None:
    with NEW.opened() as db:
        start = db.snapshot().seq
        db.execute(
            'UPSERT { CONCEPT { {type: "Domain", name: "Unsorted"} SET ATTRIBUTES {x: 1} } }'
        )
        changed = db.snapshot().seq
        db.execute(
            'UPSERT { CONCEPT { {type: "Domain", name: "Unsorted"} SET ATTRIBUTES {x: 2} } }'
        )
        assert lines(db.as_of(start)) == []
        (row,) = lines(db.as_of(changed))
        assert row["data"]["x"] == 1


def test_text_that_csv_cannot_tell_from_none_is_told_of(db: mycel.Graph) -> None:
    db.load([{"type": "Note", "id": "n", "data": {"text": ""}}])
    assert "empty text" in db.export(io.StringIO(), types=["Note"], format="csv").warnings[0]
    assert db.export(io.BytesIO(), types=["Note"], format="arrow").warnings == ()


def test_attributes_beyond_the_schema_are_told_of() -> None:
    with mycel.open(core_capsules=False) as db:
        db.schema.apply("node Thing @open { name: String @key }")
        db.load([{"type": "Thing", "data": {"name": "a", "extra": 1}}])
        assert lines(db) == [{"type": "Thing", "data": {"name": "a", "extra": 1}}]
        assert "beyond the schema" in db.export(io.StringIO(), format="csv").warnings[0]


def test_lists_of_moments_and_large_numbers_survive() -> None:
    with mycel.open(core_capsules=False) as db:
        db.schema.apply(
            "node T { k: U64 @key  at: [DateTime]?  days: [Date]?  v: Vector(2)?  big: I64? }"
        )
        row = {
            "k": 2**64 - 1,
            "at": ["1969-12-31T23:59:59.999Z", "2024-01-31T12:00:00Z"],
            "days": ["2024-02-29"],
            "v": [0.5, -1.0],
            "big": -(2**63),
        }
        db.load([{"type": "T", "data": row}])
        made = db.to_arrow("T")
        assert db.load(made, type="T", mode="merge").unchanged == 1
        assert made.column("k").to_pylist() == [2**64 - 1]
        out = io.StringIO()
        db.export(out, types=["T"], format="csv")
        again = io.StringIO(out.getvalue())
        assert db.load(again, type="T", format="csv", mode="merge").unchanged == 1


def test_texts_with_any_line_end_go_through_csv_and_back(db: mycel.Graph, tmp_path: Path) -> None:
    names = ["a\rb", "a\nb", "a\r\nb", "\r", 'say "\r"']
    db.load([{"email": f"p{at}", "name": name} for at, name in enumerate(names)], type="Person")
    db.export(tmp_path / "Person.csv", types=["Person"])
    assert db.load(tmp_path / "Person.csv", mode="merge").unchanged == len(names)
    db.export(tmp_path / "Person.tsv", types=["Person"])
    assert db.load(tmp_path / "Person.tsv", mode="overwrite").unchanged == len(names)


def test_the_same_file_may_be_written_twice_at_the_same_time(
    db: mycel.Graph, tmp_path: Path
) -> None:
    path = tmp_path / "all.jsonl"
    with export._replacing(path) as one:
        one.write(b"one")
        with export._replacing(path) as other:
            other.write(b"other")
        assert path.read_bytes() == b"other"
    assert path.read_bytes() == b"one"
    assert [each.name for each in tmp_path.iterdir()] == ["all.jsonl"]


def test_a_folder_that_was_exported_is_loaded(tmp_path: Path) -> None:
    schema = "node Drug { name: String @key  dose: I32? } edge Treats: Drug -> Drug"
    rows: list[dict[str, object]] = [
        {"type": "Drug", "data": {"name": name, "dose": at}} for at, name in enumerate("abc")
    ]
    rows += [{"edge": "Treats", "from": "a", "to": "b", "weight": 0.25}]
    with mycel.open(tmp_path / "one.db") as db:
        db.schema.apply(schema)
        db.load(rows)
        db.export(tmp_path / "all.jsonl")
        expected = (tmp_path / "all.jsonl").read_bytes()
        for format_ in ("jsonl", "csv", "tsv", "parquet", "arrow"):
            folder = tmp_path / format_
            folder.mkdir()
            db.export(folder, format=format_)  # type: ignore[arg-type]
            (folder / "README.txt").write_text("Not a table.")
            (folder / ".hidden.csv").write_text("x\n1\n")
            with mycel.open(tmp_path / f"{format_}.db") as copy:
                copy.schema.apply(schema)
                loaded = copy.load(folder)
                assert (loaded.concepts, loaded.links) == (3, 1)
                copy.export(tmp_path / "again.jsonl")
                assert (tmp_path / "again.jsonl").read_bytes() == expected
        # A path that says nothing of a format is a folder, whether it is there or not.
        for name in ("jsonl", "new/one"):
            assert db.export(tmp_path / name).files == (str(tmp_path / name / "graph.jsonl"),)
        (tmp_path / "empty").mkdir()
        for wrong, format_, word in (
            ("empty", None, "no file that can be loaded"),
            ("csv", "parquet", "no file that can be loaded"),
            ("nowhere", None, "nowhere"),
        ):
            with pytest.raises(MycelError, match=word):
                db.load(tmp_path / wrong, format=format_)  # type: ignore[arg-type]
        (tmp_path / "csv" / "my drugs.csv").write_text("name\nx\n")
        with pytest.raises(InvalidValueType, match=r"my drugs\.csv"):
            db.load(tmp_path / "csv", mode="merge")
