"""Proofs travel as files and are checked where there is no database."""

import json
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

import mycel
from tests.adapters.cli.conftest import Done, Run

EDGE = ("Drug:Aspirin", "treats", "Symptom:Headache")
ASPIRIN = "the Drug 'Aspirin', version 1, is part of the state"


@pytest.fixture
def proof(graph: Path, tmp_path: Path) -> Path:
    return tmp_path / "proof.json"


@pytest.fixture
def check(run: Run, graph: Path, proof: Path) -> Any:
    """Check the proof, after the database is gone."""

    def call(*more: str | Path, root: str | None = None) -> Done:
        if root is None:
            root = json.loads(proof.read_text())["snapshot"]["overall_root"]
        graph.unlink(missing_ok=True)
        return run("verify", "--proof", proof, "--root", root, *more)

    return call


@pytest.mark.parametrize(
    ("words", "says", "says_offline"),
    [
        (("Drug:Aspirin",), ASPIRIN, ASPIRIN),
        (("C:42",), ASPIRIN, ASPIRIN),
        (
            EDGE,
            "the edge Drug:Aspirin treats Symptom:Headache of weight 0.9 is part of the state",
            "the edge of type 64 and weight 0.9 is part of the state",
        ),
        (
            ("P:1:treats",),
            "the edge P:1:treats of weight 0.9 is part of the state",
            "the edge of type 64 and weight 0.9 is part of the state",
        ),
        (
            ("Drug:Nothing",),
            "there is no concept Drug:Nothing (key ",
            "there is no concept with the key",
        ),
        (
            ("Drug:Ibuprofen", "treats", "Symptom:Fever"),
            "there is no edge Drug:Ibuprofen treats Symptom:Fever (key ",
            "there is no edge with the key",
        ),
        (
            ("NoType:x",),
            "there is no concept NoType:x (key ",
            "there is no concept with the key",
        ),
        (
            ("Drug:Nothing", "unknown", "NoType:x"),
            "there is no edge Drug:Nothing unknown NoType:x (key ",
            "there is no edge with the key",
        ),
        (("--entry", "5"), "entry 5 is part of the journal", "entry 5 is part of the journal"),
    ],
)
def test_a_proof_is_checked_offline_and_says_what_it_proves(
    run: Run, proof: Path, check: Any, words: tuple[str, ...], says: str, says_offline: str
) -> None:
    made = run("prove", *words, "--out", proof)
    assert made.status == 0
    assert says in made.stdout
    done = check()
    assert done.status == 0
    assert done.stdout.startswith("Proven: ")
    assert says_offline in done.stdout
    as_json = check("--json").object
    assert (as_json["ok"], as_json["problem"]) == (True, "")


def test_what_was_removed_is_proven_by_its_tombstone(run: Run, proof: Path, check: Any) -> None:
    run("edge", "remove", *EDGE)
    run("prove", *EDGE, "--out", proof)
    assert "the tombstone of the edge" in check().stdout


def test_a_changed_proof_does_not_hold(run: Run, proof: Path, check: Any) -> None:
    run("prove", "Drug:Aspirin", "--out", proof)
    wire = json.loads(proof.read_text())
    wire["record"] = wire["record"][:-2] + "00"
    proof.write_text(json.dumps(wire))
    done = check()
    assert done.status == 1
    assert done.stdout.startswith("NOT proven: ")
    assert check("--json").object["problem"] == "Its hashes do not lead to the root."


def test_a_proof_with_a_record_of_something_else_does_not_hold(
    run: Run, proof: Path, check: Any
) -> None:
    run("prove", "Drug:Aspirin", "--out", proof)
    wire = json.loads(proof.read_text())
    proof.write_text(json.dumps(wire | {"record": "ff"}))
    done = check()
    assert done.status == 1
    assert "a record that cannot be read" in done.stdout


def test_a_proof_cannot_send_control_characters_to_the_reader(
    run: Run, proof: Path, check: Any
) -> None:
    run("prove", "Drug:Aspirin", "--out", proof)
    wire = json.loads(proof.read_text())
    fields = mycel.decode_concept(bytes.fromhex(wire["record"]))
    forged = fields._replace(type="\x1b[32mDrug", name="\x1b[2J")
    proof.write_text(json.dumps(wire | {"record": forged.encode().hex()}))
    done = check()
    assert done.status == 1
    assert "\x1b" not in done.stdout


def test_a_proof_for_another_root_does_not_hold(run: Run, proof: Path, check: Any) -> None:
    run("prove", "Drug:Aspirin", "--out", proof)
    done = check(root="0" * 64)
    assert done.status == 1
    assert "It was made for another root" in done.stdout


def test_a_proof_must_be_about_what_is_asked(run: Run, proof: Path, check: Any) -> None:
    run("prove", *EDGE, "--out", proof)
    proven = check(*EDGE)
    assert proven.status == 0
    assert "the edge Drug:Aspirin treats Symptom:Headache of weight 0.9" in proven.stdout
    refused = check("Drug:Ibuprofen", "treats", "Symptom:Headache")
    assert refused.status == 1
    assert "the edge of type 64" in refused.stdout
    assert check("Drug:Aspirin").status == 1
    assert check("P:1:treats").status == 2


def test_a_proof_of_absence_must_be_about_what_is_asked(run: Run, proof: Path, check: Any) -> None:
    run("prove", "Drug:Nothing", "--out", proof)
    assert check("Drug:Nothing").status == 0
    assert check("Drug:Aspirin").status == 1


def test_the_root_has_to_come_from_the_reader(run: Run, proof: Path) -> None:
    run("prove", "Drug:Aspirin", "--out", proof)
    done = run("verify", "--proof", proof)
    assert done.status == 2
    assert "--proof needs --root" in done.stderr


def test_growth_of_the_journal_is_proven_against_an_old_root(
    run: Run, proof: Path, check: Any
) -> None:
    old = run("snapshot", "--json").object
    run("define", "type", "Dose")
    run("prove", "--since", str(old["entries"]), "--out", proof)
    assert "begins with the" in check("--old-root", old["journal_root"]).stdout
    assert check("--old-root", "0" * 64).status == 1
    assert check().status == 2
    assert "--old-root" in check().stderr


def test_without_a_file_the_proof_itself_is_the_output(run: Run, proof: Path, check: Any) -> None:
    for more in ((), ("--json",)):
        proof.write_text(run("prove", "Drug:Aspirin", *more).stdout)
        assert json.loads(proof.read_text())["kind"] == "state"
    assert check().status == 0


def test_a_proof_can_come_from_standard_input(run: Run, graph: Path) -> None:
    made = run("prove", "C:42").stdout
    root = json.loads(made)["snapshot"]["overall_root"]
    graph.unlink()
    assert run("verify", "--proof", "-", "--root", root, input=made).status == 0


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"kind": "state"}', '{"kind": "entry", "seq": -1}', "[" * 99_999],
)
def test_what_is_no_proof_is_refused(run: Run, tmp_path: Path, content: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(content)
    done = run("verify", "--proof", file, "--root", "0" * 64)
    assert done.status == 2
    assert done.stderr.startswith("KIP_2003 InvalidValueType: ")


def test_what_is_no_text_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"\xff\xfe\x00")
    assert run("verify", "--proof", file, "--root", "0" * 64).status == 2


@pytest.mark.usefixtures("graph")
def test_a_sound_database_verifies(run: Run) -> None:
    plain = run("verify")
    assert plain.status == 0
    assert all(line.startswith("ok  ") for line in plain.lines[:-1])
    assert plain.lines[-1].endswith("4 edges.")
    report = run("verify", "--replay", "--json").object
    assert report["ok"] is True
    assert "replay" in report["checks"]


def test_damage_is_reported_with_status_one(run: Run, graph: Path) -> None:
    connection = apsw.Connection(str(graph))
    connection.execute("UPDATE concept SET name = 'Aspirine' WHERE name = 'Aspirin'")
    connection.close()
    done = run("verify")
    assert done.status == 1
    assert any(line.startswith("FAIL  ") for line in done.lines)
    as_json = run("verify", "--json")
    assert as_json.status == 1
    assert as_json.object["ok"] is False
    assert as_json.object["problems"]


def test_a_proof_of_a_copy_holds_under_the_root_of_the_original(
    run: Run, graph: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(graph, copy)
    root = run("snapshot", "--json").object["overall_root"]
    proof = tmp_path / "p.json"
    run("--db", copy, "prove", "Drug:Aspirin", "--out", proof)
    assert run("verify", "--proof", proof, "--root", root).status == 0
