"""`mycel capsule`: what is shipped, what comes in, what goes out."""

import os
import stat
import sys
from pathlib import Path

import pytest

import mycel
from mycel.capsules import NAMES
from mycel.engine import export
from tests.adapters.cli.conftest import Run

MOSS = 'UPSERT { CONCEPT { {type: "Plant", name: :name} } }'
PLANTS = 'FIND(?p.name) WHERE { ?p {type: "Plant"} } ORDER BY ?p.name'


@pytest.fixture
def bare(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph without the core capsules."""
    path = tmp_path / "bare.db"
    monkeypatch.setenv("MYCEL_DB", str(path))
    assert run("init", "--bare").status == 0
    return path


def applied(run: Run) -> dict[str, str]:
    return {each["name"]: each["applied"] for each in run("capsule", "list", "--json").objects}


# What is shipped.


@pytest.mark.usefixtures("garden")
def test_a_new_graph_has_all_that_is_shipped(run: Run) -> None:
    listed = run("capsule", "list")
    assert [line.split()[0] for line in listed.lines] == ["name", *NAMES]
    assert applied(run) == dict.fromkeys(NAMES, "yes")
    assert run("capsule", "apply", "core").stdout == "core: nothing is new.\n"
    entry = run("capsule", "list", "--json").objects[0]
    assert entry.keys() == {"name", "title", "version", "description", "applied"}


@pytest.mark.usefixtures("garden")
def test_a_graph_of_an_earlier_version_is_told_to_take_what_is_new(run: Run) -> None:
    former = '{"subject_types": ["Event"]}'
    put = ("concept", "put", "$PropositionType", "mentions", "--attributes", former)
    assert run(*put, "--actor", "$system").status == 0
    assert applied(run) == dict.fromkeys(NAMES, "yes") | {"event": "partly"}
    doctor = run("doctor").stdout
    assert "event incomplete; `mycel capsule apply core` completes them" in doctor
    assert run("capsule", "apply", "core").stdout == "core: 1 completed concept.\n"
    assert applied(run) == dict.fromkeys(NAMES, "yes")


@pytest.mark.usefixtures("bare")
def test_what_is_shipped_can_be_applied_by_name_in_any_order(run: Run) -> None:
    assert applied(run) == dict.fromkeys(NAMES, "no")
    done = run("capsule", "apply", "domains", "genesis", "--json").object
    assert done["capsules"] == ["domains", "genesis"]
    assert done["concepts_created"] > 0
    assert applied(run) == dict.fromkeys(NAMES, "no") | {"genesis": "yes", "domains": "yes"}
    rest = run("capsule", "apply", "core")
    assert "new concepts" in rest.stdout
    assert set(applied(run).values()) == {"yes"}
    assert run("log", "--limit", "1", "--json").object["actor"] == "$system"


@pytest.mark.usefixtures("bare")
def test_a_rehearsal_of_what_is_shipped_writes_nothing(run: Run) -> None:
    before = run("snapshot", "--json").object
    done = run("capsule", "apply", "core", "--dry-run", "--json").object
    assert done["dry_run"] is True
    assert done["concepts_created"] > 0
    assert run("capsule", "apply", "core", "--dry-run").stdout.startswith("core: Valid. It would")
    assert run("snapshot", "--json").object == before


@pytest.mark.usefixtures("bare")
def test_a_capsule_without_what_it_builds_on_is_refused_as_a_whole(run: Run) -> None:
    before = run("snapshot", "--json").object
    assert run("capsule", "apply", "event").status == 2
    assert run("snapshot", "--json").object == before


@pytest.mark.usefixtures("garden")
def test_what_has_evolved_stays(run: Run) -> None:
    run("concept", "put", "Domain", "Unsorted", "--attributes", '{"description": "The attic"}')
    run("capsule", "apply", "core")
    shown = run("concept", "get", "Domain", "Unsorted", "--json").object
    assert shown["attributes"]["description"] == "The attic"


def test_the_list_can_be_seen_before_there_is_a_database(run: Run, tmp_path: Path) -> None:
    done = run("--db", tmp_path / "none.db", "capsule", "list")
    assert done.status == 0
    assert "mycel init" in done.stderr
    assert len(done.lines) == len(NAMES) + 1
    assert not (tmp_path / "none.db").exists()


# What comes in.


@pytest.mark.usefixtures("garden")
def test_files_are_applied_in_order_and_standard_input_is_one(run: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "first.kip", tmp_path / "second.kip"
    first.write_text('UPSERT { CONCEPT { {type: "$ConceptType", name: "Bed"} } }')
    second.write_text('UPSERT { CONCEPT { {type: "Bed", name: "North"} } }')
    done = run("capsule", "apply", first, second, "-", "--param", "name=Moss", input=MOSS)
    assert done.status == 0
    assert [line.partition(": ")[0] for line in done.lines] == [str(first), str(second), "-"]
    assert done.stderr.startswith("Warning: ")
    assert run("kip", PLANTS, "--json").object["result"] == ["Fern", "Moss", "Oak"]
    again = run("capsule", "apply", first, "--json").object
    assert again["capsules"] == [str(first)]
    assert again["blocks"] == 1
    assert run("capsule", "apply", first).stdout.endswith("; nothing changed.\n")


@pytest.mark.usefixtures("garden")
def test_a_rehearsal_of_a_file_writes_nothing(run: Run) -> None:
    words = ("capsule", "apply", "-", "--param", "name=Moss", "--dry-run")
    assert "-: Valid. It would do this: 1 block" in run(*words, input=MOSS).stdout
    assert run(*words, "--json", input=MOSS).object["blocks"] == 1
    assert run("kip", PLANTS, "--json").object["result"] == ["Fern", "Oak"]


@pytest.mark.usefixtures("garden")
def test_a_file_that_is_no_capsule_is_refused_by_name(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "question.kip"
    file.write_text(PLANTS)
    done = run("capsule", "apply", file)
    assert done.status == 2
    assert f"{file}: This is no capsule." in done.stderr
    file.write_text("UPSERT { CONCEPT }")
    done = run("capsule", "apply", file)
    assert f"{file}: Line 1, column 18" in done.stderr
    assert "^" in done.stderr.splitlines()[2]


@pytest.mark.usefixtures("garden")
def test_what_is_neither_a_file_nor_shipped_is_refused_before_anything_runs(run: Run) -> None:
    before = run("snapshot", "--json").object
    done = run("capsule", "apply", "-", "/nowhere/x.kip", "--param", "name=Moss", input=MOSS)
    assert done.status == 2
    assert "mycel capsule list" in done.stderr
    assert run("capsule", "apply").status == 2
    assert run("snapshot", "--json").object == before


# What goes out.


@pytest.mark.usefixtures("garden")
def test_what_was_exported_makes_the_same_elsewhere(run: Run, tmp_path: Path) -> None:
    file, other = tmp_path / "garden.kip", ("--db", tmp_path / "other.db")
    done = run("capsule", "export", "--type", "$ConceptType", "--type", "Plant", "--output", file)
    assert done.stdout.startswith(f"Wrote {file}: ")
    run(*other, "init")
    run(*other, "define", "predicate", "shades")
    assert run(*other, "capsule", "apply", file).status == 0
    question = 'FIND(?p.name, ?p.attributes, ?x.name) WHERE { (?p, "shades", ?x) }'
    here, there = (run(*db, "kip", question, "--json").object for db in ((), other))
    assert here == there
    assert here["result"][0] == ["Oak"]


@pytest.mark.usefixtures("garden")
def test_clauses_choose_what_their_first_variable_matches(run: Run) -> None:
    done = run(
        "capsule",
        "export",
        '?p {type: "Plant"}',
        "FILTER(?p.name == :name) // one",
        "--param",
        "name=Oak",
    )
    assert done.status == 0
    assert '"Oak"' in done.stdout
    assert '"Fern"' not in done.stdout
    link = run("capsule", "export", '?l (?a, "shades", ?b)', "--json").object
    assert (link["concepts"], link["propositions"]) == (0, 1)


@pytest.fixture
def elsewhere(run: Run, tmp_path: Path) -> tuple[str, Path]:
    """The option for another graph, a new one."""
    option = ("--db", tmp_path / "elsewhere.db")
    assert run(*option, "init").status == 0
    return option


@pytest.mark.usefixtures("garden")
def test_what_was_exported_can_be_applied_to_a_new_graph(
    run: Run, tmp_path: Path, elsewhere: tuple[str, Path]
) -> None:
    file = tmp_path / "plants.kip"
    done = run("capsule", "export", "--type", "Plant", "--output", file)
    assert done.stdout == (
        f"Wrote {file}: 2 concepts, 1 link, and 2 definitions in front: Plant, shades.\n"
    )
    assert done.stderr == ""
    applied = run(*elsewhere, "capsule", "apply", file)
    assert (applied.status, applied.stdout.startswith(f"{file}: 5 blocks: C:")) == (0, True)
    for question in (
        'FIND(?p.name, ?p.attributes, ?x.name) WHERE { (?p, "shades", ?x) }',
        'FIND(?t.attributes) WHERE { ?t {type: "$ConceptType", name: "Plant"} }',
        'FIND(?t.attributes) WHERE { ?t {type: "$PropositionType", name: "shades"} }',
    ):
        here, there = (run(*db, "kip", question, "--json").object for db in ((), elsewhere))
        assert here == there
        assert here["result"][0]


@pytest.mark.usefixtures("garden")
def test_a_capsule_on_standard_output_is_told_about_beside_it(run: Run) -> None:
    done = run("capsule", "export", "--type", "Plant")
    assert done.stdout.index('name: "shades"') < done.stdout.index('name: "Oak"')
    assert done.stderr == "2 concepts, 1 link, and 2 definitions in front: Plant, shades.\n"


@pytest.mark.usefixtures("garden")
def test_definitions_can_be_left_out(run: Run, elsewhere: tuple[str, Path]) -> None:
    done = run("capsule", "export", "--type", "Plant", "--without-definitions")
    assert "$ConceptType" not in done.stdout
    assert done.stderr == "2 concepts, 1 link.\n"
    refused = run(*elsewhere, "capsule", "apply", "-", "--json", input=done.stdout)
    assert refused.error["code"] == "KIP_2001"


@pytest.mark.usefixtures("garden")
def test_definitions_that_were_matched_are_not_said_twice(run: Run) -> None:
    done = run("capsule", "export", "--type", "$ConceptType", "--type", "Plant", "--json").object
    assert done["definitions"] == ["shades"]
    assert done["capsule"].count('name: "Plant"') == 1


@pytest.mark.usefixtures("garden")
def test_definitions_of_a_new_graph_come_along_only_if_they_were_changed(run: Run) -> None:
    run("concept", "put", "Person", "Ada")
    words = ("capsule", "export", '?p {type: "Person", name: "Ada"}', "--json")
    assert run(*words).object["definitions"] == []
    run("define", "type", "Person", "--description", "Somebody who gardens")
    changed = run(*words).object
    assert changed["definitions"] == ["Person"]
    assert "Somebody who gardens" in changed["capsule"]


@pytest.mark.usefixtures("garden")
def test_definitions_that_are_linked_bring_the_predicate_of_their_link(
    run: Run, elsewhere: tuple[str, Path]
) -> None:
    run("define", "type", "Tree")
    run("define", "predicate", "narrower_than")
    run("concept", "put", "Tree", "Elm")
    run("edge", "add", "$ConceptType:Tree", "narrower_than", "$ConceptType:Plant")
    done = run("capsule", "export", "--type", "Tree", "--type", "Plant", "--json").object
    assert done["definitions"] == ["Plant", "Tree", "shades", "narrower_than"]
    assert done["propositions"] == 2
    assert run(*elsewhere, "capsule", "apply", "-", input=done["capsule"]).status == 0


@pytest.mark.usefixtures("garden")
def test_what_a_capsule_refers_to_outside_itself_is_told(
    run: Run, tmp_path: Path, elsewhere: tuple[str, Path]
) -> None:
    link = '?l (?a, "shades", ?b)'
    done = run("capsule", "export", link)
    assert "2 elements that it does not hold" in done.stderr
    assert 'Plant "Oak", Plant "Fern". Export them as well' in done.stderr
    as_json = run("capsule", "export", link, "--json")
    assert as_json.object["outside"] == ['Plant "Oak"', 'Plant "Fern"']
    assert as_json.stderr == ""
    file = tmp_path / "link.kip"
    written = run("capsule", "export", link, "--output", file, "--json").object
    assert written["outside"] == ['Plant "Oak"', 'Plant "Fern"']
    assert run(*elsewhere, "capsule", "apply", file, "--json").error["code"] == "KIP_3002"
    run("edge", "add", "Plant:Oak", "belongs_to_domain", "Domain:Unsorted")
    own = '?l ({type: "Plant", name: "Oak"}, "belongs_to_domain", ?d)'
    assert run("capsule", "export", own, "--json").object["outside"] == ['Plant "Oak"']


@pytest.mark.usefixtures("garden")
def test_a_link_outside_is_told_by_what_it_joins(run: Run) -> None:
    shade = run("edge", "out", "Plant:Oak", "--json").object["id"]
    run("define", "predicate", "doubts")
    run("edge", "add", "Plant:Fern", "doubts", shade)
    done = run("capsule", "export", '?l (?a, "doubts", ?b)', "--json").object
    assert done["definitions"] == ["Plant", "doubts", "shades"]
    assert '(Plant "Oak", shades, Plant "Fern")' in done["outside"]


@pytest.mark.usefixtures("garden")
def test_pages_follow_one_another_until_all_is_out(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run("capsule", "export", "--type", "Plant", "--json").object
    monkeypatch.setattr(export, "EXPORT_ELEMENTS_MAX", 1)
    pages = run("capsule", "export", "--type", "Plant", "--json").objects
    assert len(pages) == 2
    assert sum(page["concepts"] for page in pages) == whole["concepts"] == 2
    assert sum(page["propositions"] for page in pages) == whole["propositions"] == 1
    file = tmp_path / "plants.kip"
    done = run("capsule", "export", "--type", "Plant", "--output", file, "--json").object
    assert done == {
        "path": str(file),
        "concepts": 2,
        "propositions": 1,
        "definitions": ["Plant", "shades"],
    }
    before = run("snapshot", "--json").object
    assert run("capsule", "apply", file).status == 0
    assert run("snapshot", "--json").object == before


@pytest.mark.usefixtures("garden")
def test_a_capsule_carries_weights(run: Run) -> None:
    run("edge", "add", "Plant:Fern", "shades", "Plant:Oak", "--weight", "0.5")
    done = run("capsule", "export", "--type", "Plant")
    assert "SET WEIGHT 0.5" in done.stdout
    assert "Warning" not in done.stderr


@pytest.mark.usefixtures("garden")
def test_nothing_to_export_is_an_error_and_leaves_no_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "events.kip"
    file.write_text("precious")
    done = run("capsule", "export", "--type", "Event", "--output", file, "--json")
    assert (done.status, done.error["code"]) == (1, "KIP_3002")
    assert file.read_text() == "precious"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["events.kip", "garden.db"]


@pytest.mark.usefixtures("garden")
def test_a_file_is_replaced_in_whole(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "plants.kip"
    file.write_text("precious")

    def fail(_file: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        done = run("capsule", "export", "--type", "Plant", "--output", file)
    assert done.status == 2
    assert "cannot be written: No space left on device." in done.stderr
    assert file.read_text() == "precious"
    assert run("capsule", "export", "--type", "Plant", "--output", file).status == 0
    assert file.read_text().startswith("UPSERT {")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["garden.db", "plants.kip"]
    if sys.platform != "win32":
        umask = os.umask(0)
        os.umask(umask)
        assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask


@pytest.mark.usefixtures("garden")
@pytest.mark.parametrize(
    "words",
    [
        (),
        ('?p {type: "Plant"}', "--type", "Plant"),
        ('{type: "Plant"}',),
        ("?p {type: 'Plant'}",),
        ("--type", "Plnat"),
        ("--type", "Plant", "--output", "/nowhere/x.kip"),
    ],
)
def test_an_export_that_makes_no_sense_is_refused(run: Run, words: tuple[str, ...]) -> None:
    done = run("capsule", "export", *words)
    assert done.status == 2
    assert done.stdout == ""


def test_a_graph_that_is_written_to_meanwhile_is_told(
    run: Run, garden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = mycel.Graph.execute

    def write_meanwhile(db: mycel.Graph, command: str, values: dict[str, object]) -> object:
        with mycel.open(garden) as other, other.transaction() as tx:
            tx.put_concept("Plant", "Moss")
        return execute(db, command, values)

    monkeypatch.setattr(mycel.Graph, "execute", write_meanwhile)
    done = run("capsule", "export", "--type", "Plant")
    assert done.status == 0
    assert "The graph was written to meanwhile" in done.stderr
