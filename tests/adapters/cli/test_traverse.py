"""`mycel traverse`: a tree for people, a table for pipes, JSON for programs."""

from pathlib import Path

import pytest

import mycel
from tests.adapters.cli.conftest import Run, Terminal, needs_posix

pytestmark = pytest.mark.usefixtures("graph")


def test_a_pipe_gets_a_table_nearest_first(run: Run) -> None:
    done = run("traverse", "Drug:Aspirin")
    assert done.status == 0
    heading, *rows = done.lines
    assert heading.split() == ["cost", "hops", "id", "type", "name", "why"]
    assert [row.split()[0] for row in rows] == ["0", "0.9", "1"]
    assert "reached over treats (0.9) from Aspirin" in rows[1]


def test_json_is_an_object_for_each_element(run: Run) -> None:
    start, near, far = run("traverse", "Drug:Aspirin", "--json").objects
    assert (start["node"]["name"], start["cost"], start["path"]) == ("Aspirin", 0.0, [])
    assert (near["node"]["name"], near["cost"]) == ("Headache", 0.9)
    assert far["path"][0]["relation"] == "treats"


def test_bounds_are_options(run: Run, graph: Path) -> None:
    def names(*options: str) -> list[str]:
        found = run("traverse", "Symptom:Headache", "--json", *options).objects
        return [each["node"]["name"] for each in found]

    assert names() == ["Headache"]
    assert names("--direction", "in") == ["Headache", "Ibuprofen", "Aspirin", "Fever"]
    assert names("--direction", "in", "--max-cost", "0.5") == ["Headache", "Ibuprofen"]
    assert names("--direction", "in", "--follow", "related_to") == ["Headache", "Fever"]
    assert names("--direction", "in", "--max-tokens", "1") == ["Headache"]
    with mycel.open(graph) as db:
        before = next(entry.seq for entry in db.history.log() if entry.message == "concepts")
    assert names("--direction", "in", "--as-of", str(before)) == ["Headache"]


def test_a_time_and_archived_elements_are_asked_for_by_options(run: Run, graph: Path) -> None:
    with mycel.open(graph) as db:
        db.execute(
            'UPDATE ?d SET METADATA {valid_until: "2020-01-01"} WHERE { ?d {name: "Fever"} }'
        )
        db.execute('ARCHIVE ?d WHERE { ?d {name: "Ibuprofen"} }')

    def names(*command: str) -> set[str]:
        objects = run(*command, "--json").objects
        return {(each.get("node") or each)["name"] for each in objects}

    walk = ("traverse", "Symptom:Headache", "--direction", "in")
    assert names(*walk) == {"Headache", "Aspirin", "Fever"}
    assert names(*walk, "--include-archived") == {"Headache", "Aspirin", "Fever", "Ibuprofen"}
    assert names(*walk, "--for-time", "2024-01-01") == {"Headache", "Aspirin"}
    assert names(*walk, "--for-time", "2019-01-01") == {"Headache", "Aspirin", "Fever"}
    find = ("search", "--element", "concept", "Fever Ibuprofen")
    assert names(*find) >= {"Fever"}
    assert "Fever" not in names(*find, "--for-time", "2024-01-01")
    assert "Ibuprofen" not in names(*find)
    assert "Ibuprofen" in names(*find, "--include-archived")


def test_what_a_budget_cut_off_is_a_note(run: Run) -> None:
    done = run("traverse", "Drug:Aspirin", "--max-nodes", "2")
    assert "The budget of 2 nodes is used up: 1 element is left out" in done.stderr
    assert "Raise --max-nodes" in done.stderr


def test_what_is_not_there_is_an_error(run: Run) -> None:
    done = run("traverse", "Drug:Aspirine")
    assert (done.status, done.stdout) == (1, "")
    assert "Aspirine" in done.stderr
    assert run("traverse", "Drug:Aspirin", "--max-cost", "-1").status == 2
    assert run("traverse", "Drug:Aspirin", "--follow", "nothing").status == 2


@needs_posix
def test_a_terminal_gets_a_tree_and_what_is_missing_is_red(graph: Path) -> None:
    with mycel.open(graph) as db:
        with db.transaction() as tx:
            tx.define_type("Missing")
            ghost = tx.put_concept("Missing", "concept://ws/ghost")
        headache = db.get_concept("Symptom", "Headache")
        assert headache is not None
        db.add_edge(headache.id, "references", ghost, weight=0.05)
    drawn = Terminal("traverse", "Drug:Aspirin").read_to_end()
    assert "Aspirin" in drawn
    assert "├── " in drawn or "└── " in drawn
    assert "→ treats 0.9" in drawn
    assert "\x1b[1;31mconcept://ws/ghost" in drawn
    plain = Terminal("traverse", "Drug:Aspirin", NO_COLOR="1").read_to_end()
    assert "31m" not in plain
    lines = plain.replace("\r", "").split("\n")
    of_ghost, elsewhere = (line for line in lines if "ghost" in line)
    assert elsewhere.startswith("concept://ws/ghost: not registered.")
    (of_headache,) = [line for line in lines if "Headache" in line]
    assert of_ghost.index("→") > of_headache.index("→")


def test_the_language_is_shown_as_a_table(run: Run) -> None:
    done = run("kip", 'TRAVERSE FROM {type: "Drug", name: "Aspirin"} LIMIT 2')
    assert done.lines[0].split() == ["cost", "hops", "element", "why"]
    assert 'Symptom "Headache"' in done.stdout
    assert "The budget of 2 nodes" in done.stderr
    told = run("kip", 'EXPLAIN TRAVERSE FROM {type: "Drug", name: "Aspirin"}')
    assert "max_cost: 1.0" in told.stdout


def test_every_command_that_takes_an_element_takes_its_kip_uri(run: Run, graph: Path) -> None:
    with mycel.open(graph) as db:
        link = db.get_edge(("Drug", "Aspirin"), "treats", ("Symptom", "Headache")).id
    aspirin, headache = "kip:Drug/Aspirin", "kip:Symptom/Headache"
    commands = [
        ["show", aspirin],
        ["traverse", aspirin],
        ["find", aspirin],
        ["history", aspirin],
        ["history", f"kip:{link}"],
        ["prove", aspirin],
        ["prove", aspirin, "treats", headache],
        ["prove", f"kip:{link}"],
        ["edge", "get", aspirin, "treats", headache],
        ["edge", "out", aspirin],
        ["edge", "in", headache],
        ["concept", "get", aspirin],
        ["conflicts", "--element", aspirin],
        ["search", "pain", "--near", aspirin],
        ["explore", "--center", aspirin, "--export", str(graph.parent / "picture.json")],
        ["note", "Take it with water.", "--about", aspirin],
        ["edge", "add", headache, "treats", aspirin],
        ["edge", "remove", headache, "treats", aspirin],
        ["concept", "retire", aspirin],
        ["purge", aspirin, "--reason", "asked for", "--yes"],
    ]
    failed = {" ".join(each): done.stderr for each in commands if (done := run(*each)).status}
    assert failed == {}
