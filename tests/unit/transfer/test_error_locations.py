"""What is wrong with rows, all of it: told at once, each with its line, property and constraint."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import mycel
from mycel.errors import MycelError, NotFound
from tests.unit.transfer.conftest import names


def test_everything_that_is_wrong_with_a_file_is_told_with_its_lines(
    db: mycel.Graph, tmp_path: Path
) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text(
        '{"type": "Person", "data": {"email": "a", "name": "A", "age": 200}}\n'
        '{"type": "Person", "data": {"email": "b", "name": "B"}}\n'
        '{"type": "Person", "data": {"email": "c", "name": 5}}\n'
        "no json\n"
        '{"type": "Person", "data": {"email": "d"}}\n'
    )
    with pytest.raises(MycelError) as caught:
        db.load(path)
    error = caught.value
    assert [each["line"] for each in error.data["violations"]] == [1, 3, 4, 5]
    assert [each.get("property") for each in error.data["violations"]] == [
        "age",
        "name",
        None,
        "name",
    ]
    assert error.data["line"] == 1
    assert len(error.message.splitlines()) == 4
    assert names(db, "Person") == []


@pytest.mark.parametrize("kind", ["csv", "parquet", "dictionaries"])
def test_cells_of_tables_that_are_wrong_are_all_told(
    db: mycel.Graph, tmp_path: Path, kind: str
) -> None:
    rows = [("a", "A", "old"), ("b", "B", "7"), ("c", "C", "young")]
    source: Any = [dict(zip(("email", "name", "age"), row, strict=True)) for row in rows]
    if kind == "csv":
        source = tmp_path / "Person.csv"
        source.write_text("email,name,age\n" + "\n".join(map(",".join, rows)))
    elif kind == "parquet":
        table = pa.table({"email": ["a", "b", "c"], "name": ["A", "B", "C"], "age": [-1, 7, 200]})
        source = tmp_path / "Person.parquet"
        parquet.write_table(table, source)
    with pytest.raises(MycelError) as caught:
        db.load(source, type="Person")
    told = caught.value.data["violations"]
    unit = "line" if kind == "csv" else "row"
    expected = [2, 4] if kind == "csv" else [1, 2, 3] if kind == "dictionaries" else [1, 3]
    assert [each[unit] for each in told] == expected
    assert {each["property"] for each in told} == {"age"}


def test_a_merge_is_not_told_of_what_its_rows_leave_out(db: mycel.Graph) -> None:
    db.load([{"email": "a", "name": "A"}, {"email": "b", "name": "B"}], type="Person")
    rows = [{"email": "a", "age": 200}, {"email": "b", "age": 7}, {"email": "b", "age": -1}]
    with pytest.raises(MycelError) as caught:
        db.load(rows, type="Person", mode="merge")
    assert [each["row"] for each in caught.value.data["violations"]] == [1, 3]


def test_violations_that_only_the_commit_finds_have_their_lines(
    db: mycel.Graph, tmp_path: Path
) -> None:
    code = "node Code { name: String @key  value: String @unique }"
    db.schema.apply(code, allow_removals=True)
    path = tmp_path / "Code.csv"
    path.write_text("name,value\na,x\nb,x\nc,y\nd,z\ne,y\n")
    with pytest.raises(MycelError) as caught:
        db.load(path)
    told = caught.value.data["violations"]
    assert [(each["line"], each["other_line"], each["value"]) for each in told] == [
        (3, 2, "x"),
        (6, 4, "y"),
    ]


def test_all_ends_that_are_missing_are_told(db: mycel.Graph) -> None:
    rows = [{"src": "a", "dst": "b"}, {"src": "b", "dst": "a"}, {"src": "c", "dst": "b"}]
    db.load([{"email": "a", "name": "A"}], type="Person")
    with pytest.raises(NotFound) as caught:
        db.load(rows, type="Knows")
    told = caught.value.data["violations"]
    assert [(each["row"], each["property"], each["value"]) for each in told] == [
        (1, "to", "b"),
        (2, "from", "b"),
        (3, "from", "c"),
    ]
