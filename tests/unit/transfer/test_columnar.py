"""Arrow, Parquet and pandas: tables of one type."""

import io
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    InvalidSyntax,
    InvalidValueType,
    NotFound,
)
from mycel.transfer import columnar
from tests.unit.transfer.conftest import Write, attributes, links, names, refused

PEOPLE = {
    "email": ["ada", "bob"],
    "name": ["Ada", "Bob"],
    "age": [36, None],
    "born": [date(1815, 12, 10), None],
    "seen": [datetime(1852, 11, 27, 12, 0, 0, 250_000, tzinfo=UTC), None],
    "photo": [b"\x00\xff", None],
    "tags": [["a", "b"], []],
    "score": [1.5, None],
    "active": [True, False],
}
STORED = {
    "email": "ada",
    "name": "Ada",
    "age": 36,
    "born": "1815-12-10",
    "seen": "1852-11-27T12:00:00.250Z",
    "photo": "AP8=",
    "tags": ["a", "b"],
    "score": 1.5,
    "active": True,
    "role": "user",
}


def table() -> Any:
    return pa.table(PEOPLE)


def test_a_table_in_memory_is_loaded(db: mycel.Graph) -> None:
    db.load(table(), type="Person")
    assert attributes(db, "Person", "ada") == STORED
    assert attributes(db, "Person", "bob") == {
        "email": "bob",
        "name": "Bob",
        "tags": [],
        "active": False,
        "role": "user",
    }


def test_batches_readers_and_frames_are_loaded(db: mycel.Graph) -> None:
    note = pa.table({"text": ["a"]})
    db.load(note.to_batches()[0], type="Note")
    db.load(note.to_reader(), type="Note")
    db.load(pandas.DataFrame({"text": ["a", "b"]}, index=[7, 9]), type="Note")
    assert len(names(db, "Note")) == 4


def test_a_frame_says_nothing_where_it_has_nan(db: mycel.Graph) -> None:
    frame = pandas.DataFrame({"email": ["a", "b"], "name": ["A", "B"], "score": [1.5, None]})
    db.load(frame, type="Person")
    assert "score" not in attributes(db, "Person", "b")


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather", "stream.arrow"])
def test_files_are_loaded(db: mycel.Graph, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"people.{suffix}"
    match suffix:
        case "parquet":
            pa.parquet.write_table(table(), path)
        case "feather":
            pa.feather.write_feather(table(), path)
        case "arrow":
            with pa.ipc.new_file(path, table().schema) as writer:
                writer.write_table(table())
        case _:
            with pa.ipc.new_stream(path, table().schema) as writer:
                writer.write_table(table())
    assert db.load(path, type="Person").created == 2
    assert attributes(db, "Person", "ada") == STORED
    with path.open("rb") as file:
        assert db.load(file, type="Person", mode="merge").unchanged == 2


def test_edges_have_their_ends_in_columns(db: mycel.Graph, tmp_path: Path) -> None:
    db.load(table(), type="Person")
    edges = pa.table({"id": ["x"], "src": ["ada"], "dst": ["bob"], "since": [date(1843, 1, 1)]})
    pa.parquet.write_table(edges, tmp_path / "Knows.parquet")
    db.load(tmp_path / "Knows.parquet")
    assert links(db, "Knows") == [("ada", "bob")]
    seats = pa.table({"row": pa.array([1], pa.int8()), "number": [Decimal(2)]})
    db.load(seats, type="Seat")
    db.load(pa.table({"from": ["ada"], "to": ['["1","2"]']}), type="sits")
    assert links(db, "Sits") == [("ada", '["1","2"]')]


def test_moments_keep_their_time_of_day_whatever_they_are_counted_in(db: mycel.Graph) -> None:
    moment = datetime(2024, 1, 31, 12, 30, tzinfo=UTC)
    milliseconds = int(moment.timestamp() * 1000)
    columns = {
        "date64": pa.array([milliseconds], pa.int64()).view(pa.date64()),
        "ns": pa.array([milliseconds * 1_000_000 + 7], pa.int64()).view(pa.timestamp("ns", "UTC")),
        "s": pa.array([milliseconds // 1000], pa.int64()).view(pa.timestamp("s", "Asia/Tokyo")),
        "text": pa.array(["2024-01-31T12:30:00Z"]),
    }
    for name, column in columns.items():
        db.load(pa.table({"email": [name], "name": [name], "seen": column}), type="Person")
        assert attributes(db, "Person", name)["seen"] == "2024-01-31T12:30:00.000Z"


def test_a_flexible_type_takes_what_json_can_say(db: mycel.Graph) -> None:
    db.write(lambda tx: tx.define_type("Plant"))
    db.load(
        pa.table(
            {
                "name": ["Oak"],
                "seen": [datetime(2024, 1, 31, tzinfo=UTC)],
                "day": [date(2024, 1, 31)],
                "raw": [b"\x00"],
                "price": [Decimal("1.5")],
                "parts": [[{"at": date(2024, 1, 31)}]],
            }
        ),
        type="Plant",
    )
    assert attributes(db, "Plant", "Oak") == {
        "seen": "2024-01-31T00:00:00.000Z",
        "day": "2024-01-31",
        "raw": "AA==",
        "price": 1.5,
        "parts": [{"at": "2024-01-31"}],
    }


def test_what_is_wrong_with_a_table_is_told_with_its_row(
    db: mycel.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "BATCH_ROWS", 2)
    path = tmp_path / "Person.parquet"
    ages = pa.table({"email": list("abc"), "name": list("ABC"), "age": [1, 2, 151]})
    pa.parquet.write_table(ages, path)
    error = refused(db, path)
    assert error.message.startswith(f"{path}, row 3: @range violation on Person.age")
    assert (error.data["row"], error.data["property"], error.data["value"]) == (3, "age", 151)
    error = refused(db, pa.table({"email": ["a"], "name": [7]}), type="Person")
    assert isinstance(error, InvalidValueType)
    assert error.message.startswith("Row 1: Person.name must be String")
    error = refused(db, pa.table({"email": ["a"], "nam": ["A"]}), type="Person")
    assert isinstance(error, ConstraintViolation)
    assert "Did you mean 'name'?" in error.hint
    twice = pa.table({"email": ["a", "b", "a"], "name": list("ABC")})
    error = refused(db, twice, type="Person")
    assert (error.data["other_row"], error.data["row"]) == (1, 3)


def test_a_file_that_is_no_table_is_refused(db: mycel.Graph, write: Write) -> None:
    for name in ("Person.parquet", "Person.arrow"):
        error = refused(db, write(name, "no table at all"))
        assert isinstance(error, InvalidSyntax)
        assert "cannot be read as a table" in error.message
    assert isinstance(refused(db, write("Person.parquet.gz", b"")), InvalidValueType)


class Pipe(io.RawIOBase):
    """What cannot go back."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._content.readinto(buffer)


def test_an_arrow_stream_may_come_through_a_pipe_and_parquet_may_not(db: mycel.Graph) -> None:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table().schema) as writer:
        writer.write_table(table())
    db.load(Pipe(sink.getvalue()), format="arrow", type="Person")
    assert names(db, "Person") == ["ada", "bob"]
    error = refused(db, Pipe(b""), format="parquet", type="Person")
    assert "pipe" in error.message


def test_a_table_needs_a_type(db: mycel.Graph) -> None:
    error = refused(db, table())
    assert isinstance(error, InvalidValueType)


def test_without_pyarrow_the_extra_is_named(
    db: mycel.Graph, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("Person.parquet", b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    error = refused(db, path)
    assert isinstance(error, NotFound)
    assert ".[arrow]" in error.hint
    with pytest.raises(NotFound):
        db.to_arrow("Person")
    tables = Path(path).parent / "tables"
    with pytest.raises(NotFound):
        db.export(tables, format="parquet")
    assert not tables.exists()


def test_columns_with_the_same_name_are_refused(db: mycel.Graph) -> None:
    columns = [pa.array(["a"]), pa.array(["Ada"]), pa.array(["Bob"])]
    table = pa.Table.from_arrays(columns, names=["email", "name", "name"])
    assert "Two columns are called 'name'" in refused(db, table, type="Person").message


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("seen", pa.array([2**62], pa.timestamp("s"))),
        ("born", pa.array([2**30], pa.date32())),
    ],
)
def test_times_that_no_calendar_has_are_refused(db: mycel.Graph, name: str, column: Any) -> None:
    error = refused(db, pa.table({"email": ["a"], "name": ["A"], name: column}), type="Person")
    assert isinstance(error, InvalidValueType)
    assert error.data["property"] == name


@pytest.mark.parametrize("kind", ["list", "large_list", "fixed", "dictionary"])
@pytest.mark.parametrize("unit", ["ns", "date64"])
def test_moments_inside_other_types_keep_their_time_of_day(
    db: mycel.Graph, kind: str, unit: str
) -> None:
    """Of nanoseconds, the parts that no moment holds are cut off."""
    log = "node Log { name: String @key  at: DateTime?  times: [DateTime]? }"
    db.schema.apply(log, allow_removals=True)
    item = pa.date64() if unit == "date64" else pa.timestamp("ns", "UTC")
    moment = 1_706_702_400_123 if unit == "date64" else 1_706_702_400_123_456_789
    types = {"list": pa.list_(item), "large_list": pa.large_list(item), "fixed": pa.list_(item, 1)}
    if kind == "dictionary":
        column = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([moment], item))
        db.load(pa.table({"name": ["a"], "at": column}), type="Log")
        assert attributes(db, "Log", "a")["at"] == "2024-01-31T12:00:00.123Z"
    else:
        column = pa.array([[moment]], types[kind])
        db.load(pa.table({"name": ["a"], "times": column}), type="Log")
        assert attributes(db, "Log", "a")["times"] == ["2024-01-31T12:00:00.123Z"]


def test_a_file_of_one_large_batch_is_read_a_part_at_a_time(
    db: mycel.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "BATCH_ROWS", 3)
    sizes: list[int] = []
    values = columnar._values

    def counted(name: str, column: Any) -> list[Any]:
        sizes.append(len(column))
        return values(name, column)

    monkeypatch.setattr(columnar, "_values", counted)
    people = [f"p{n}" for n in range(8)]
    table = pa.table({"email": people, "name": people})
    with pa.ipc.new_file(tmp_path / "Person.arrow", table.schema) as file:
        file.write_batch(table.to_batches()[0])
    assert db.load(tmp_path / "Person.arrow").created == 8
    assert sizes == [3, 3, 3, 3, 2, 2]
    assert db.load(table.to_batches()[0], type="Person", mode="merge").unchanged == 8
