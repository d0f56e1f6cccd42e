"""`mycel schema`: schemas as files, and the one in force."""

import json
from pathlib import Path

import pytest

import mycel
from tests.adapters.cli.conftest import Run

PEOPLE = """// who there is
node Person {
  email: String @key
  age: I32?
  @range(age, 0..150)
}

edge Knows: Person -> Person
"""


@pytest.fixture
def graph(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "graph.db"
    monkeypatch.setenv("MYCEL_DB", str(path))
    assert run("init").status == 0
    return path


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.pg"
    path.write_text(PEOPLE, encoding="utf-8")
    return path


def changed(people: Path, old: str, new: str) -> str:
    path = people.with_name("other.pg")
    path.write_text(PEOPLE.replace(old, new), encoding="utf-8")
    return str(path)


def test_a_file_is_checked_without_a_graph(run: Run, people: Path) -> None:
    done = run("schema", "check", str(people))
    assert done.status == 0
    assert "1 node, 1 edge" in done.stdout
    told = run("schema", "check", str(people), "--json").object
    assert told["ir_hash"] == mycel.schema.load(PEOPLE).ir_hash


def test_an_error_names_file_line_and_column(run: Run, people: Path) -> None:
    wrong = changed(people, "I32?", "int")
    done = run("schema", "check", wrong)
    assert done.status == 2
    assert f"{wrong}, line 4, column 8" in done.stderr.replace("\n", " ")
    assert "^^^" in done.stderr
    error = run("schema", "check", wrong, "--json").error
    assert (error["data"]["file"], error["data"]["line"], error["data"]["column"]) == (wrong, 4, 8)


def test_formatting_prints_writes_or_only_checks(run: Run, people: Path) -> None:
    assert run("schema", "fmt", "--check", str(people)).status == 0
    messy = changed(people, "  email: String @key", "email :String@key // unique")
    assert run("schema", "fmt", "--check", messy).status == 1
    wanted = PEOPLE.replace("@key", "@key // unique")
    assert run("schema", "fmt", messy).stdout == wanted
    assert run("schema", "fmt", "--write", messy).stdout == f"{messy}: formatted\n"
    assert Path(messy).read_text(encoding="utf-8") == wanted


@pytest.mark.usefixtures("graph")
def test_a_schema_is_planned_applied_and_shown(run: Run, people: Path) -> None:
    assert "No schema" in run("schema", "show").stderr
    planned = run("schema", "plan", str(people), "--json")
    assert planned.status == 0
    assert planned.object["supported"] is True
    assert "No schema" in run("schema", "show").stderr
    applied = run("schema", "apply", str(people), "--json").object
    assert applied["applied"] is True
    assert "who there is" not in run("schema", "show").stdout
    assert run("schema", "show").stdout == PEOPLE.split("\n", 1)[1]
    assert run("schema", "show", "--ir").object == mycel.schema.load(PEOPLE).ir()
    (version,) = run("schema", "history", "--json").objects
    assert version["seq"] == applied["manifest_version"]
    again = run("schema", "apply", str(people))
    assert (again.status, again.stdout) == (0, "")
    assert "Nothing to change" in again.stderr
    before = str(applied["manifest_version"] - 1)
    assert "No schema" in run("schema", "show", "--as-of", before).stderr


@pytest.mark.usefixtures("graph")
def test_what_the_data_does_not_satisfy_is_listed_and_not_applied(run: Run, people: Path) -> None:
    run("schema", "apply", str(people))
    for name in ("ada", "bob"):
        run("concept", "put", "Person", name)
    tighter = changed(people, "I32?", "I32")
    for command in ("plan", "apply"):
        done = run("schema", command, tighter)
        assert done.status == 1
        assert "'ada'" in done.stderr
        assert "'bob'" in done.stderr
        assert "Person.age is required" in done.stderr
    assert run("schema", "plan", "--no-data", tighter).status == 0
    assert run("schema", "show").stdout == PEOPLE.split("\n", 1)[1]


@pytest.mark.usefixtures("graph")
def test_two_files_or_the_graph_and_a_file_are_compared(run: Run, people: Path) -> None:
    other = changed(people, "age: I32?", "age: I32?  city: String?")
    assert run("schema", "diff", str(people), str(people)).status == 0
    done = run("schema", "diff", str(people), other, "--json")
    assert done.status == 1
    assert [step["kind"] for step in done.object["steps"]] == ["add_property"]
    run("schema", "apply", str(people))
    assert run("schema", "diff", other, "--json").object == done.object
    assert run("schema", "diff", other, other, other).status == 2


@pytest.mark.usefixtures("graph")
def test_a_schema_is_inferred_from_what_grew(run: Run, tmp_path: Path) -> None:
    run("define", "type", "Drug")
    run("concept", "put", "Drug", "Aspirin", "--attributes", '{"grams": 0.5}')
    text = run("schema", "infer", "Drug").stdout
    assert "node Drug {\n  grams: F64\n}" in text
    path = tmp_path / "drugs.pg"
    path.write_text(text, encoding="utf-8")
    assert run("schema", "apply", str(path)).status == 0
    assert run("schema", "infer", "Drugs").status == 1


@pytest.mark.usefixtures("graph")
def test_what_goes_for_good_has_to_be_asked_for(run: Run, people: Path) -> None:
    run("schema", "apply", str(people))
    run("concept", "put", "Person", "ada", "--attributes", '{"age": 36}')
    without = changed(people, "  age: I32?\n  @range(age, 0..150)\n", "")
    run("schema", "apply", without)
    run("schema", "apply", str(people))
    assert "36" in run("kip", 'FIND(?p.attributes.age) WHERE { ?p {name: "ada"} }').stdout
    run("schema", "apply", without, "--allow-data-loss")
    run("schema", "apply", str(people))
    assert "36" not in run("kip", 'FIND(?p.attributes.age) WHERE { ?p {name: "ada"} }').stdout


@pytest.mark.usefixtures("graph")
def test_a_file_that_declares_nothing_hides_everything_only_if_that_is_said(
    run: Run, people: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.pg"
    empty.write_text("// nothing yet\n", encoding="utf-8")
    assert run("schema", "apply", str(empty)).status == 0, "there is nothing to hide"
    run("schema", "apply", str(people))
    for source in (str(empty), "-"):
        done = run("schema", "apply", source, input="")
        assert done.status == 2
        said = " ".join(done.stderr.split())
        assert "Person: hide node, 0 rows" in said
        assert "--allow-removals" in said
    assert "node Person" in run("schema", "show").stdout
    assert run("schema", "apply", str(empty), "--allow-removals").status == 0
    assert run("schema", "show").stdout == ""


@pytest.mark.usefixtures("graph")
def test_a_rename_that_is_ignored_is_told(run: Run, people: Path) -> None:
    people.write_text("node A { x: I32? } node B { y: String? }", encoding="utf-8")
    run("schema", "apply", str(people))
    people.write_text(
        'node A @rename_from("B") { y: String? } node B @rename_from("A") { x: I32? }',
        encoding="utf-8",
    )
    warnings = run("schema", "plan", str(people), "--json").object["warnings"]
    assert [each.partition(":")[0] for each in warnings] == ["node A", "node B"]
    assert run("schema", "diff", str(people), "--json").object["warnings"] == warnings
    assert 'Warning: node A: @rename_from("B") is ignored' in run(
        "schema", "plan", str(people)
    ).stderr.replace("\n", " ")
    assert run("schema", "apply", str(people), "--json").object["warnings"] == warnings


@pytest.mark.usefixtures("graph")
def test_what_is_hidden_is_listed_restored_and_discarded(run: Run, people: Path) -> None:
    whole = "node Person { email: String @key  age: I32? }\nnode Team { name: String @key }\n"
    people.write_text(whole, encoding="utf-8")
    run("schema", "apply", str(people))
    run("concept", "put", "Person", "ada", "--attributes", '{"age": 36}')
    people.write_text("node Person { email: String @key }\n", encoding="utf-8")
    planned = run("schema", "plan", str(people))
    assert "Person.age: hide, 1 row" in planned.stdout
    assert "with --allow-removals" in planned.stderr
    dropped = run("schema", "plan", str(people), "--allow-data-loss", "--json").object
    assert [each["kind"] for each in dropped["steps"]] == ["drop_property", "drop_type"]
    assert run("schema", "apply", str(people)).status == 2
    assert run("schema", "apply", str(people), "--allow-removals").status == 0
    hidden = [json.loads(line) for line in run("schema", "hidden", "--json").stdout.splitlines()]
    assert [(each["name"], each["rows"]) for each in hidden] == [("Person.age", 1), ("Team", 0)]
    assert "age: I32?" in run("schema", "hidden").stdout
    restored = run("schema", "restore", "Person.age", "--json").object
    assert restored["steps"][0]["rows"] == 1
    unasked = run("schema", "discard", "Team")
    assert unasked.status == 2
    assert "--yes" in unasked.stderr
    assert run("schema", "discard", "Team", "--yes", "--json").object["name"] == "Team"
    assert run("schema", "restore", "Team").status == 1
    assert "Nothing is hidden." in run("schema", "hidden").stderr


@pytest.mark.usefixtures("graph")
def test_what_applying_leaves_hidden_is_warned_of(run: Run, people: Path) -> None:
    for text in ("node A { x: I32? }", "node A { }", "node A { x: String? }"):
        people.write_text(text, encoding="utf-8")
        done = run("schema", "apply", str(people))
    assert "Warning: property A.x: it was I32? when it was hidden" in done.stderr.replace("\n", " ")
