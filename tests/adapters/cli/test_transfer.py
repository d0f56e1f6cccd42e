"""`mycel load` and `mycel export`."""

import gzip
import json
from pathlib import Path

import pytest

import mycel
from tests.adapters.cli.conftest import Run, Terminal, needs_posix

SCHEMA = """
node Person { email: String @key  name: String  age: I32? }
edge Knows: Person -> Person { since: Date? }
"""
PEOPLE = """\
{"type": "Person", "data": {"email": "ada", "name": "Ada", "age": 36}}
{"edge": "knows", "from": "ada", "to": "bob"}
{"type": "Person", "data": {"email": "bob", "name": "Bob"}}
"""


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph with a schema, named by MYCEL_DB, and a file of rows for it."""
    with mycel.open(tmp_path / "people.db", core_capsules=False) as db:
        db.schema.apply(SCHEMA)
    monkeypatch.setenv("MYCEL_DB", str(tmp_path / "people.db"))
    path = tmp_path / "people.jsonl"
    path.write_text(PEOPLE)
    return path


def exported(run: Run, *words: str) -> list[dict[str, object]]:
    return run("export", *words).objects


def test_loading_shows_a_table_of_what_was_done(run: Run, people: Path) -> None:
    done = run("load", people)
    table = "type    rows  created\nPerson  2     2\nKnows   1     1\n"
    assert (done.status, done.stdout) == (0, table)
    again = run("load", people, "--mode", "merge")
    assert again.lines[0].split() == ["type", "rows", "unchanged"]


def test_loading_tells_programs_one_object(run: Run, people: Path) -> None:
    told = run("load", people, "--json").object
    assert (told["concepts"], told["links"], told["created"]) == (2, 1, 3)
    assert [each["name"] for each in told["types"]] == ["Person", "Knows"]


def test_several_files_are_loaded_together(run: Run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "Knows.csv.gz").write_bytes(gzip.compress(b"src,dst,since\nbob,cy,2020-01-01\n"))
    (tmp_path / "more.tsv").write_text("email\tname\ncy\tCy\n")
    refused = run("load", tmp_path / "Knows.csv.gz", people)
    assert refused.status == 1
    assert "Knows.csv.gz, line 2" in refused.stderr
    assert run("load", tmp_path / "more.tsv", "--type", "Person").status == 0
    assert run("load", tmp_path / "Knows.csv.gz", people).status == 0
    assert len(exported(run)) == 5


def test_rows_come_through_a_pipe(run: Run, people: Path) -> None:
    assert run("load", "-", input=PEOPLE).status == 0
    table = "email;name\ncy;Cy\n"
    words = ("load", "-", "--type", "Person", "--format", "csv", "--delimiter", ";")
    assert run(*words, input=table).status == 0
    assert len(exported(run, "Person")) == 3


def test_an_error_names_file_line_type_and_value(run: Run, people: Path) -> None:
    people.write_text(
        PEOPLE + '{"type": "Person", "data": {"email": "c", "name": "C", "age": "x"}}\n'
    )
    done = run("load", people)
    assert (done.status, done.stdout) == (2, "")
    assert f"{people}, line 4: Person.age must be I32:" in done.stderr
    error = run("load", people, "--json").error
    assert error["data"]["line"] == 4
    assert error["data"]["property"] == "age"
    assert exported(run) == []


def test_what_is_no_choice_is_refused(run: Run, people: Path) -> None:
    for words in (("--mode", "replace"), ("--format", "xml"), ("--delimiter", "ab")):
        assert run("load", people.with_name("Person.csv"), *words).status == 2
    assert run("load").status == 2
    assert run("load", people.with_name("nope.jsonl")).status == 1


def test_exporting_writes_rows_that_can_be_loaded(run: Run, people: Path, tmp_path: Path) -> None:
    run("load", people)
    done = run("export")
    assert [json.loads(line).get("type", "edge") for line in done.lines] == [
        "Person",
        "Person",
        "edge",
    ]
    assert done.stderr == "2 concepts, 1 link.\n"
    assert run("load", "-", "--mode", "overwrite", input=done.stdout).status == 0
    assert run("export", "--json").stderr == ""


def test_tables_go_to_standard_output_or_into_a_directory(
    run: Run, people: Path, tmp_path: Path
) -> None:
    run("load", people)
    assert (
        run("export", "Person", "--format", "csv").stdout
        == "email,name,age\nada,Ada,36\nbob,Bob,\n"
    )
    out = tmp_path / "out"
    done = run("export", "--format", "parquet", "--output", out)
    assert done.stdout.startswith(f"Wrote {out / 'Person.parquet'}, {out / 'Knows.parquet'}: 2 con")
    told = run("export", "--output", tmp_path / "all.jsonl", "--json").object
    assert told == {
        "concepts": 2,
        "links": 1,
        "files": [str(tmp_path / "all.jsonl")],
        "warnings": [],
    }
    assert run("load", out / "Knows.parquet", out / "Person.parquet", "--mode", "merge").status == 0


def test_what_a_table_cannot_carry_is_told(run: Run, people: Path) -> None:
    people.write_text(PEOPLE.replace('"name": "Bob"', '"name": ""'))
    run("load", people)
    done = run("export", "Person", "--format", "csv")
    assert "Warning: 1 row has an empty text" in done.stderr


def test_rows_of_the_past_are_exported(run: Run, people: Path) -> None:
    run("load", people)
    then = run("log", "--json").objects[0]["seq"]
    people.write_text(PEOPLE.replace("Bob", "Robert"))
    run("load", people, "--mode", "merge")
    assert "Robert" in run("export", "Person", "--format", "csv").stdout
    past = run("export", "Person", "--format", "csv", "--as-of", str(then)).stdout
    assert past == "email,name,age\nada,Ada,36\nbob,Bob,\n"


def test_what_cannot_be_exported_is_refused(run: Run, people: Path) -> None:
    assert run("export", "Persn").status == 2
    assert run("export", "--format", "arrow").status == 2
    assert run("export", "--format", "csv").status == 2


def test_nothing_to_load_is_said(run: Run, people: Path) -> None:
    assert run("load", "-", input="").stderr == "There were no rows.\n"


@needs_posix
def test_a_person_who_waits_sees_how_far_it_has_come(people: Path, tmp_path: Path) -> None:
    terminal = Terminal("load", str(people))
    said = terminal.read_to_end()
    assert "Person" in said
    assert terminal.process.returncode == 0
    assert "Loading" in said
