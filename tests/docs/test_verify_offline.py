"""The verifier in examples/, made from docs/format.md alone, judges proofs as Mycel does."""

import ast
import copy
import importlib.util
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import mycel
from tests.docs.blocks import ROOT, blocks_of

SCRIPT = ROOT / "examples" / "verify_offline.py"
DRUGS = 120

Wire = dict[str, Any]


@pytest.fixture(scope="module")
def verifier() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_offline", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def db() -> Iterator[mycel.Graph]:
    """A graph with something of everything: versions, tombstones, links about links, a purge."""
    with mycel.open(actor="ada") as db:
        with db.transaction(message="load") as tx:
            tx.define_type("Drug", {"description": "A medicine."})
            tx.define_predicate("treats")
            rows = [
                mycel.ConceptRow("Drug", f"Drug {n}", {"n": n, "x": n / 7}) for n in range(DRUGS)
            ]
            drugs = tx.put_concepts(rows)
            for one, other in pairwise(drugs):
                link = tx.add_edge(
                    one, "treats", other, weight=0.25, data={"é": [None, True, -1.5]}
                )
            tx.add_edge(drugs[0], "contradicts", link)
        db.write(
            lambda tx: tx.update(drugs[5], attributes={"n": -5}, metadata={"source": "leaflet"})
        )
        db.remove_edge(drugs[1], "treats", drugs[2], reason="a mistake")
        db.write(lambda tx: tx.retire(drugs[9]))
        db.purge(drugs[20], "asked for")
        yield db


def wire_of(proof: Any) -> Wire:
    wire: Wire = json.loads(json.dumps(proof.to_dict()))
    return wire


def drug(db: mycel.Graph, number: int) -> mycel.Concept:
    found = db.get_concept("Drug", f"Drug {number}")
    assert found is not None
    return found


def proofs(db: mycel.Graph) -> dict[str, Any]:
    one, two = drug(db, 0), drug(db, 1)
    entries = db.snapshot().entries
    return {
        "a concept": db.prove(one),
        "a concept that was changed": db.prove(drug(db, 5)),
        "a concept that was removed": db.prove(("Drug", "Drug 9")),
        "a concept that was purged": db.prove(("Drug", "Drug 20")),
        "a concept that never was": db.prove(("Drug", "Drug X")),
        "a definition": db.prove(("$ConceptType", "Drug")),
        "an edge": db.prove((one, "treats", two)),
        "an edge that was removed": db.prove((two, "treats", drug(db, 2))),
        "an edge that never was": db.prove((two, "treats", one)),
        "an edge about an edge": db.prove(next(db.edges_out(one, ["contradicts"]))),
        "the first entry": db.prove_entry(1),
        "an entry": db.prove_entry(30),
        "the last transaction": db.prove_entry(entries),
        "the first transaction": db.prove_entry(18),
        "growth from nothing": db.prove_consistency(0),
        "growth from a power of two": db.prove_consistency(64),
        "growth from an odd size": db.prove_consistency(99),
        "no growth": db.prove_consistency(entries),
    }


WHAT = [
    "a concept",
    "a concept that was changed",
    "a concept that was removed",
    "a concept that was purged",
    "a concept that never was",
    "a definition",
    "an edge",
    "an edge that was removed",
    "an edge that never was",
    "an edge about an edge",
    "the first entry",
    "an entry",
    "the last transaction",
    "the first transaction",
    "growth from nothing",
    "growth from a power of two",
    "growth from an odd size",
    "no growth",
]
every_proof = pytest.mark.parametrize("what", WHAT)


def accepts(verifier: ModuleType, wire: Wire, root: bytes, old_root: bytes | None) -> bool:
    try:
        verifier.check(wire, root, None, old_root)
    except verifier.Refused:
        return False
    except (LookupError, TypeError, ValueError):
        return False
    return True


def mycel_accepts(wire: Wire, root: bytes, old_root: bytes | None) -> bool:
    try:
        proof = mycel.proof_from_dict(wire)
    except mycel.errors.MycelError:
        return False
    if isinstance(proof, mycel.ConsistencyProof):
        return old_root is not None and proof.verify(old_root, root)
    return proof.verify(root)


def old_root_of(proof: Any) -> bytes | None:
    return proof.old_journal_root if isinstance(proof, mycel.ConsistencyProof) else None


@every_proof
def test_a_real_proof_is_accepted(what: str, db: mycel.Graph, verifier: ModuleType) -> None:
    proof = proofs(db)[what]
    assert accepts(verifier, wire_of(proof), db.snapshot().overall_root, old_root_of(proof))


@every_proof
def test_a_proof_is_refused_under_another_root(
    what: str, db: mycel.Graph, verifier: ModuleType
) -> None:
    proof = proofs(db)[what]
    other = bytes(32)
    assert not accepts(verifier, wire_of(proof), other, old_root_of(proof))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a number, a text or nothing stands in a proof."""
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from places(item, (*path, key))
    else:
        yield path


def tampered(value: Any, dice: random.Random) -> Any:
    if value is None:
        return "00"
    if isinstance(value, int):
        return value + 1
    at = dice.randrange(len(value))
    return value[:at] + ("1" if value[at] != "1" else "2") + value[at + 1 :]


@every_proof
def test_whatever_is_changed_in_a_proof_it_is_refused(
    what: str, db: mycel.Graph, verifier: ModuleType, seed: int
) -> None:
    dice = random.Random(seed)
    proof = proofs(db)[what]
    root, old_root = db.snapshot().overall_root, old_root_of(proof)
    wire = wire_of(proof)
    for place in places(wire):
        if place == ("snapshot", "time_us"):
            continue  # No root covers the time: it is a courtesy to the reader.
        if place == ("key",) and wire["record"] is None:
            continue  # Another key that is absent as well: see the test for what was asked.
        changed = copy.deepcopy(wire)
        holder = changed
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = tampered(holder[place[-1]], dice)
        assert not accepts(verifier, changed, root, old_root), place
        assert not mycel_accepts(changed, root, old_root), place


def without_last(part: str) -> Callable[[Wire], None]:
    return lambda wire: wire[part].pop()


def doubled(part: str) -> Callable[[Wire], None]:
    return lambda wire: wire[part].append(wire[part][-1])


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("a concept", without_last("steps")),
        ("a concept", doubled("steps")),
        ("a concept", without_last("leaves")),
        ("a concept", doubled("leaves")),
        ("a concept", lambda wire: wire["leaves"].clear()),
        ("a concept", lambda wire: wire["leaves"].reverse()),
        ("a concept", lambda wire: wire.update(record=None)),
        ("a concept", lambda wire: wire.update(namespace="edges")),
        ("a concept that never was", lambda wire: wire.update(leaves=[], steps=[])),
        ("an entry", without_last("path")),
        ("an entry", doubled("path")),
        ("an entry", lambda wire: wire.update(seq=0)),
        ("growth from an odd size", without_last("path")),
        ("growth from an odd size", doubled("path")),
        ("growth from an odd size", lambda wire: wire["path"].clear()),
        ("growth from nothing", lambda wire: wire["path"].append("00" * 32)),
        ("no growth", lambda wire: wire["path"].append("00" * 32)),
        ("no growth", lambda wire: wire.update(kind="something")),
    ],
)
def test_a_proof_of_another_shape_is_refused(
    what: str, change: Callable[[Wire], None], db: mycel.Graph, verifier: ModuleType
) -> None:
    proof = proofs(db)[what]
    root, old_root = db.snapshot().overall_root, old_root_of(proof)
    wire = wire_of(proof)
    change(wire)
    assert not accepts(verifier, wire, root, old_root)
    assert not mycel_accepts(wire, root, old_root)


def test_it_reads_what_the_record_says(db: mycel.Graph, verifier: ModuleType) -> None:
    root = db.snapshot().overall_root
    said = verifier.check(wire_of(proofs(db)["a concept that was changed"]), root)
    changed = drug(db, 5)
    assert said["part of"] == "concepts"
    assert (said["type"], said["name"], said["version"]) == ("Drug", "Drug 5", 2)
    assert (said["attributes"], said["metadata"]) == (changed.attributes, changed.metadata)
    assert said["created_at"] == pytest.approx(changed.created_us / 1e6)
    said = verifier.check(wire_of(proofs(db)["an edge that was removed"]), root)
    assert (said["weight"], said["attributes"]) == (0.25, {"é": [None, True, -1.5]})
    assert (said["tombstoned"], said["tombstoned_reason"]) == (True, "a mistake")


def test_it_reads_what_an_entry_says(db: mycel.Graph, verifier: ModuleType) -> None:
    snapshot = db.snapshot()
    said = verifier.check(wire_of(db.prove_entry(snapshot.entries)), snapshot.overall_root)
    newest = next(db.history.log())
    assert (said["kind"], said["actor"], said["message"]) == ("transaction", "ada", "purge")
    assert said["first_seq"] == newest.first_seq
    assert said["concepts_root"] == snapshot.concepts_root.hex()
    said = verifier.check(wire_of(db.prove_entry(snapshot.entries - 1)), snapshot.overall_root)
    assert (said["kind"], said["element"][:2], said["before"]) == ("purge", "C:", "00" * 32)


@pytest.mark.parametrize(
    ("what", "about"),
    [
        ("a concept", ["Drug:Drug 0"]),
        ("a concept that never was", ["Drug:Drug X"]),
        ("an edge", ["Drug:Drug 0", "treats", "Drug:Drug 1"]),
        ("an edge that never was", ["Drug:Drug 1", "treats", "Drug:Drug 0"]),
    ],
)
def test_it_tells_whether_a_proof_is_about_what_was_asked(
    what: str, about: list[str], db: mycel.Graph, verifier: ModuleType
) -> None:
    root, wire = db.snapshot().overall_root, wire_of(proofs(db)[what])
    assert verifier.check(wire, root, about)
    with pytest.raises(verifier.Refused, match="not about"):
        verifier.check(wire, root, [*about[:-1], "Drug:Drug 7"])


def test_a_consistency_proof_needs_the_root_that_was_written_down(
    db: mycel.Graph, verifier: ModuleType
) -> None:
    root, proof = db.snapshot().overall_root, db.prove_consistency(99)
    for old_root in (None, bytes(32), db.prove_consistency(98).old_journal_root):
        assert not accepts(verifier, wire_of(proof), root, old_root)


def test_an_empty_tree_has_proofs_of_absence(verifier: ModuleType) -> None:
    with mycel.open(core_capsules=False) as db:
        db.write(lambda tx: tx.define_type("Drug"))
        one, two = db.write(lambda tx: [tx.put_concept("Drug", name) for name in "ab"])
        wire, root = wire_of(db.prove((one, "references", two))), db.snapshot().overall_root
    assert wire["leaves"] == []
    assert verifier.check(wire, root, ["Drug:a", "references", "Drug:b"])
    wire["record"] = "a0"
    assert not accepts(verifier, wire, root, None)


def test_the_proof_on_the_page_is_one_that_mycel_makes_and_it_holds(verifier: ModuleType) -> None:
    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    (shown,) = [json.loads(each.source) for each in blocks_of(page) if each.language == "json"]
    with mycel.open(core_capsules=False, clock_us=lambda: 1_700_000_000_000_000) as db:
        with db.transaction(actor="ada") as tx:
            tx.define_type("Drug")
            tx.put_concept("Drug", "Aspirin", {"dose_mg": 500})
        assert wire_of(db.prove(("Drug", "Aspirin"))) == shown
        root = db.snapshot().overall_root
    said = verifier.check(shown, root, ["Drug:Aspirin"])
    assert (said["name"], said["attributes"]) == ("Aspirin", {"dose_mg": 500})
    assert all(len(step) == 4 for step in shown["steps"])


def test_it_imports_nothing_but_the_standard_library() -> None:
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    }
    assert imported <= sys.stdlib_module_names


def run(*words: str | Path) -> tuple[int, str]:
    # -I and -S: no environment, no installed packages.
    done = subprocess.run(
        [sys.executable, "-I", "-S", SCRIPT, *words], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout


def test_as_a_program_it_says_whether_a_proof_holds(db: mycel.Graph, tmp_path: Path) -> None:
    path, root = tmp_path / "proof.json", db.snapshot().overall_root.hex()
    path.write_text(json.dumps(db.prove(drug(db, 0)).to_dict()), encoding="utf-8")
    status, said = run(path, root, "--about", "Drug:Drug 0")
    assert (status, said[:16]) == (0, "Proven: part of ")
    assert "name Drug 0" in said
    assert run(path, root, "--about", "Drug:Drug 1")[0] == 1
    assert run(path, "00" * 32)[0] == 1
    path.write_text(
        path.read_text(encoding="utf-8").replace('"state"', '"entry"'), encoding="utf-8"
    )
    assert run(path, root)[0] == 1
    path.write_text("[]", encoding="utf-8")
    assert run(path, root)[0] == 1
    path.write_text("no JSON", encoding="utf-8")
    assert run(path, root)[0] == 1
