"""CSV and TSV: cells typed by the schema, and errors that name the cell."""

import csv
import gzip
import io

import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    InvalidSyntax,
    InvalidValueType,
    MycelError,
    ResourceExhausted,
    TypeMismatch,
)
from mycel.transfer import delimited, streams
from tests.unit.transfer.conftest import Write, attributes, links, names, refused


def test_cells_are_typed_by_the_schema(db: mycel.Graph, write: Write) -> None:
    text = (
        "email,name,age,role,born,seen,photo,tags,score,active\n"
        'ada,"Lovelace, ""Ada""",36,admin,1815-12-10,1852-11-27 13:00:00+01:00,AP8=,'
        '"[""a"", ""b""]",1,true\n'
        "bob,Bob,,,,,,,,\n"
    )
    db.load(write("people.csv", text), type="Person")
    assert attributes(db, "Person", "ada") == {
        "email": "ada",
        "name": 'Lovelace, "Ada"',
        "age": 36,
        "role": "admin",
        "born": "1815-12-10",
        "seen": "1852-11-27T12:00:00.000Z",
        "photo": "AP8=",
        "tags": ["a", "b"],
        "score": 1.0,
        "active": True,
    }
    assert attributes(db, "Person", "bob") == {"email": "bob", "name": "Bob", "role": "user"}


def test_a_file_is_of_the_type_that_it_is_called_after(db: mycel.Graph, write: Write) -> None:
    people = write("Person.csv", "email,name\nada,Ada\nbob,Bob\n")
    edges = write("knows.tsv", "src\tdst\tsince\tweight\nada\tbob\t1843-01-01\t0.5\n")
    db.load([edges, people])
    assert links(db, "Knows") == [("ada", "bob")]
    (edge,) = db.edges_out(db.get_concept("Person", "ada").id)
    assert (edge.weight, edge.data) == (0.5, {"since": "1843-01-01"})
    error = refused(db, write("stuff.csv", "a,b\n1,2\n"))
    assert isinstance(error, TypeMismatch)
    assert isinstance(refused(db, write("my people.csv", "a\n1\n")), InvalidValueType)


def test_a_property_called_weight_is_the_property(db: mycel.Graph, write: Write) -> None:
    db.load(write("Seat.csv", "row,number\n1,2\n"))
    db.load(write("Person.csv", "email,name\nada,Ada\n"))
    db.load(write("Sits.csv", 'from,to,weight\nada,"[1,2]",70.5\n'))
    (edge,) = db.edges_out(db.get_concept("Person", "ada").id)
    assert (edge.weight, edge.data) == (1.0, {"weight": 70.5})


def test_an_id_column_names_what_has_no_key_and_may_be_empty(db: mycel.Graph, write: Write) -> None:
    db.load(write("Note.csv", "id,text\nn1,one\n,two\n"))
    assert "n1" in names(db, "Note")
    assert len(names(db, "Note")) == 2


def test_a_byte_order_mark_other_delimiters_and_quoted_line_ends_are_fine(
    db: mycel.Graph, write: Write
) -> None:
    text = '\ufeffemail;name\r\n\r\nada;"Ada\nLovelace"\r\nbob;Bob\r\n'
    db.load(write("Person.csv", text), delimiter=";")
    assert attributes(db, "Person", "ada")["name"] == "Ada\nLovelace"
    error = refused(db, write("Person.csv", text + "bob;Bob\r\n"), delimiter=";", mode="overwrite")
    assert (error.data["other_line"], error.data["line"]) == (5, 6)


def test_compressed_tables_and_open_files_are_read(db: mycel.Graph, write: Write) -> None:
    db.load(write("Person.csv.gz", gzip.compress(b"email,name\nada,Ada\n")))
    db.load(io.StringIO("email,name\nbob,Bob\n"), format="csv", type="Person")
    db.load(io.BytesIO(b"email\tname\ncy\tCy\n"), format="tsv", type="Person")
    assert names(db, "Person") == ["ada", "bob", "cy"]


def test_everything_is_text_where_no_schema_says_otherwise(db: mycel.Graph, write: Write) -> None:
    db.write(lambda tx: tx.define_type("Plant"))
    db.load(write("Plant.csv", "name,height,note\nOak,20,\nFern,1,low\n"))
    assert attributes(db, "Plant", "Oak") == {"height": "20"}
    assert attributes(db, "Plant", "Fern") == {"height": "1", "note": "low"}


def test_in_a_merge_an_empty_cell_leaves_what_is_there(db: mycel.Graph, write: Write) -> None:
    db.load(write("Person.csv", "email,name,age\nada,Ada,36\n"))
    db.load(write("Person.csv", "email,age,active\nada,,true\n"), mode="merge")
    stored = attributes(db, "Person", "ada")
    assert (stored["age"], stored["active"], stored["name"]) == (36, True, "Ada")


WRONG: list[tuple[str, type[MycelError], int, str]] = [
    ("email,nam\na,A\n", ConstraintViolation, 1, "Person has no property 'nam'"),
    ("email,email\na,A\n", InvalidSyntax, 1, "Two columns are called 'email'"),
    ("email,\na,A\n", InvalidSyntax, 1, "Column 2 has no name"),
    ("", InvalidSyntax, 1, "There is no header"),
    ("\n\n", InvalidSyntax, 1, "There is no header"),
    ("email,name\na\n", InvalidSyntax, 2, "It has 1 cells, and the header has 2"),
    ("email,name\na,A,x\n", InvalidSyntax, 2, "It has 3 cells, and the header has 2"),
    ('email,name\na,"A\n', InvalidSyntax, 2, "It is not CSV"),
    ('email,name\na,"A"x\n', InvalidSyntax, 2, "It is not CSV"),
    ("email,name\n,A\n", ConstraintViolation, 2, "Person.email is required"),
    ("email,name\na,\n", ConstraintViolation, 2, "Person.name is required"),
    ("email,name,age\na,A,old\n", InvalidValueType, 2, "Person.age must be I32: 'old'"),
    ("email,name,age\na,A,200\n", ConstraintViolation, 2, "@range violation on Person.age"),
    ("email,name,role\na,A,boss\n", ConstraintViolation, 2, "invalid enum value 'boss' for"),
    ("email,name,tags\na,A,x y\n", InvalidValueType, 2, "Person.tags must be [String]"),
    ("email,name,born\na,A,1.2.2020\n", InvalidValueType, 2, "Person.born must be Date"),
]


@pytest.mark.parametrize(("text", "kind", "line", "said"), WRONG, ids=[each[3] for each in WRONG])
def test_what_is_wrong_with_a_table_is_told_with_its_line(
    db: mycel.Graph, write: Write, text: str, kind: type[MycelError], line: int, said: str
) -> None:
    path = write("Person.csv", text)
    error = refused(db, path)
    assert isinstance(error, kind)
    assert error.message.startswith(f"{path}, line {line}: ")
    assert said in error.message


def test_the_data_of_an_error_names_the_cell(db: mycel.Graph, write: Write) -> None:
    error = refused(db, write("Person.csv", "email,name,age\na,A,old\n"))
    assert (error.data["type"], error.data["property"]) == ("Person", "age")
    assert (error.data["value"], error.data["line"]) == ("old", 2)


def test_text_that_is_no_utf_8_is_told_with_its_line(db: mycel.Graph, write: Write) -> None:
    error = refused(db, write("Person.csv", b"email,name\na,A\nb,\xff\n"))
    assert isinstance(error, InvalidSyntax)
    assert error.data["line"] == 3


def test_a_quotation_mark_that_is_never_closed_does_not_fill_the_memory(
    db: mycel.Graph, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = csv.field_size_limit(1000)
    try:
        monkeypatch.setattr(delimited, "LINE_BYTES_MAX", 1000)
        monkeypatch.setattr(streams, "LINE_BYTES_MAX", 1000)
        lines = "x" * 100 + "\n"
        error = refused(db, write("Person.csv", 'email,name\na,"' + lines * 100))
    finally:
        csv.field_size_limit(before)
    assert isinstance(error, ResourceExhausted)


@pytest.mark.parametrize("delimiter", ["", ";;", "\n", '"'])
def test_what_cannot_part_cells_is_refused(db: mycel.Graph, write: Write, delimiter: str) -> None:
    path = write("Person.csv", "email,name\na,A\n")
    if delimiter:
        assert isinstance(refused(db, path, delimiter=delimiter), InvalidValueType)
    else:
        assert db.load(path, delimiter=delimiter).created == 1


def test_line_ends_of_another_age_are_told(db: mycel.Graph, write: Write) -> None:
    error = refused(db, write("Person.csv", "email,name\ra,A\r"))
    assert "single carriage returns" in error.message


def test_another_delimiter_is_suggested(db: mycel.Graph, write: Write) -> None:
    for each in ";|\t":
        error = refused(db, write("Person.csv", f"email{each}name\na{each}A\n"))
        assert error.hint == f"Cells seem to be separated by {each!r}: name it with `delimiter`."
    assert "delimiter" not in refused(db, write("Person.csv", "mail\na\n")).hint


def test_what_is_packed_is_told_by_its_bytes_where_its_name_says_nothing(
    db: mycel.Graph, write: Write
) -> None:
    packed = gzip.compress(b"email,name\na,A\n")
    assert db.load(write("Person.csv", packed)).created == 1
    path = write("Person.csv.gz", packed)
    with gzip.open(path) as unpacked:
        assert db.load(unpacked, type="Person", format="csv", mode="merge").unchanged == 1
    with path.open("rb") as file:
        assert db.load(file, type="Person", format="csv", mode="merge").unchanged == 1
