"""Proofs made by a graph, checked offline against nothing but a root."""

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from typing import Any

import cbor2
import pytest

import mycel
from mycel.errors import InvalidIdentifier, MycelError, NotFound
from mycel.store.log.journal import tx_bytes
from tests.unit.store.given import (
    FACT,
    Clock,
    add_concepts,
    concept_key,
    define,
    edge_tree_key,
    entries,
    link_key,
)


def flipped(root: bytes) -> Iterator[bytes]:
    for at in (0, 7, 100, 255):
        changed = bytearray(root)
        changed[at // 8] ^= 1 << at % 8
        yield bytes(changed)


def assert_holds_only_under(proof: mycel.StateProof | mycel.EntryProof, root: bytes) -> None:
    """The proof verifies, also when it has travelled as JSON, and under no other root."""
    travelled = mycel.proof_from_dict(json.loads(json.dumps(proof.to_dict())))
    assert travelled == proof
    assert travelled.verify(root)
    for other in (bytes(32), b"", *flipped(root)):
        assert not proof.verify(other)


@pytest.fixture(params=["pending", "folded", "loaded"])
def grown(request: pytest.FixtureRequest, db: mycel.Graph, clock: Clock) -> mycel.Graph:
    """A graph whose trees are on disk, or not yet, or came in one load."""
    define(db, [FACT], ["likes"])
    match request.param:
        case "folded":
            for n in range(300):
                db.write(lambda tx, n=n: tx.put_concept(FACT, f"filler {n}"))
        case "loaded":
            with db.transaction() as tx:
                rows = (mycel.ConceptRow(FACT, f"filler {n}") for n in range(900))
                made = tx.put_concepts(rows)
                links = (
                    mycel.PropositionRow(src, "likes", dst)
                    for src, dst in zip(made, made[7:], strict=False)
                )
                tx.put_propositions(links)
        case _:
            add_concepts(db, "filler 0", "filler 1")
    clock.tick()
    return db


def test_live_removed_and_absent_elements_are_proven(grown: mycel.Graph) -> None:
    db = grown
    one, other, gone = add_concepts(db, "one", "other", "gone")
    live = db.add_edge(one, "likes", other)
    removed = db.add_edge(other, "likes", one)
    about = db.add_edge(live, "references", removed)
    db.write(lambda tx: tx.retire(gone, reason="why"))
    db.remove_edge(other, "likes", one)
    root = db.snapshot().overall_root
    keys = {name: concept_key(FACT, name) for name in ("one", "other", "gone", "never")}
    there = link_key(keys["one"], "likes", keys["other"])
    back = link_key(keys["other"], "likes", keys["one"])
    for target, key, tombstoned in (
        (one, keys["one"], False),
        ((FACT, "one"), keys["one"], False),
        (db.get(other), keys["other"], False),
        (gone, keys["gone"], True),
        ((FACT, "gone"), keys["gone"], True),
        (live, edge_tree_key(keys["one"], "likes", keys["other"]), False),
        ((one, "likes", other), edge_tree_key(keys["one"], "likes", keys["other"]), False),
        (removed, edge_tree_key(keys["other"], "likes", keys["one"]), True),
        ((other, "likes", one), edge_tree_key(keys["other"], "likes", keys["one"]), True),
        (about, edge_tree_key(there, "references", back), True),
        ((FACT, "never"), keys["never"], None),
        ((one, "references", other), edge_tree_key(keys["one"], "references", keys["other"]), None),
        ((live, "likes", other), edge_tree_key(there, "likes", keys["other"]), None),
        ((gone, "likes", one), edge_tree_key(keys["gone"], "likes", keys["one"]), None),
        (("Unknown", "one"), concept_key("Unknown", "one"), None),
        ((one, "unknown", other), edge_tree_key(keys["one"], "unknown", keys["other"]), None),
        (((FACT, "never"), "likes", one), edge_tree_key(keys["never"], "likes", keys["one"]), None),
        (
            (one, "likes", ("Unknown", "x")),
            edge_tree_key(keys["one"], "likes", concept_key("Unknown", "x")),
            None,
        ),
        (
            ((FACT, "one"), "likes", (FACT, "other")),
            edge_tree_key(keys["one"], "likes", keys["other"]),
            False,
        ),
    ):
        proof = db.prove(target)
        assert proof.key == key
        assert_holds_only_under(proof, root)
        assert mycel.StateProof.from_bytes(proof.to_bytes()) == proof
        if tombstoned is None:
            assert proof.record is None
        else:
            assert proof.record is not None
            decode = mycel.decode_concept if proof.namespace == "concepts" else mycel.decode_edge
            assert (decode(proof.record).tombstone is not None) is tombstoned


def test_every_element_of_a_graph_is_proven(grown: mycel.Graph) -> None:
    db = grown
    root = db.snapshot().overall_root
    n = 0
    while (found := db.get_concept(FACT, f"filler {n}")) is not None:
        if n % 13 == 0:
            assert db.prove(found).verify(root)
        absent = db.prove((FACT, f"absent {n}"))
        assert absent.record is None
        assert absent.verify(root)
        n += 13 if n else 1
    assert n


def test_an_empty_namespace_proves_that_nothing_is_in_it(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    proof = db.prove((one, "references", other))
    assert db.snapshot().edges_root == bytes(32)
    assert_holds_only_under(proof, db.snapshot().overall_root)


def test_a_proof_of_something_else_does_not_verify(grown: mycel.Graph) -> None:
    db = grown
    one, _ = add_concepts(db, "one", "other")
    root = db.snapshot().overall_root
    proof, absent = db.prove(one), db.prove((FACT, "never"))
    assert proof.record is not None
    for forged in (
        replace(proof, record=proof.record[:-1] + b"\x00"),
        replace(proof, record=None),
        replace(proof, record=b""),
        replace(proof, key=concept_key(FACT, "other")),
        replace(proof, namespace="edges"),
        replace(proof, snapshot=replace(proof.snapshot, entries=proof.snapshot.entries + 1)),
        replace(proof, snapshot=replace(proof.snapshot, concepts_root=bytes(32))),
        replace(proof, tree=absent.tree),
        replace(absent, record=proof.record),
        replace(absent, key=proof.key),
        replace(absent, tree=proof.tree, key=proof.key),
    ):
        assert not forged.verify(root)


def test_a_proof_is_of_its_own_moment(db: mycel.Graph) -> None:
    (one,) = add_concepts(db, "one")
    old, root = db.prove(one), db.snapshot().overall_root
    db.write(lambda tx: tx.update(one, attributes={"a": 1}))
    new, new_root = db.prove(one), db.snapshot().overall_root
    assert root != new_root
    assert old.verify(root)
    assert not old.verify(new_root)
    assert new.verify(new_root)
    assert not new.verify(root)


def test_what_cannot_be_proven_is_said_clearly(db: mycel.Graph) -> None:
    (one,) = add_concepts(db, "one")
    for unknown in ("C:999998", "P:999999:references"):
        with pytest.raises(NotFound):
            db.prove(unknown)
    for no_names in (("No type", "one"), (one, "no predicate", one), (("", "one"), "likes", one)):
        with pytest.raises(InvalidIdentifier):
            db.prove(no_names)
    for ends in ((one, "C:999998"), ("C:999998", one), ("P:999999:references", one)):
        with pytest.raises(NotFound):
            db.prove((ends[0], "references", ends[1]))


@pytest.mark.parametrize(
    "nonsense",
    [5, None, (), ("a",), (1, 2), ("a", "b", "c", "d"), (FACT, "\ud800"), (FACT, 5), (FACT, None)],
)
def test_what_names_no_element_cannot_be_proven(db: mycel.Graph, nonsense: Any) -> None:
    define(db, [FACT])
    with pytest.raises(MycelError):
        db.prove(nonsense)


def test_the_overall_root_commits_to_every_root_by_name(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    db.add_edge(one, "references", other)
    snapshot = db.snapshot()
    named = {
        "journal": snapshot.journal_root,
        "concepts": snapshot.concepts_root,
        "edges": snapshot.edges_root,
        "entries": snapshot.entries,
    }
    assert snapshot.overall_root == sha256(cbor2.dumps(named, canonical=True)).digest()
    assert mycel.Snapshot.from_dict(snapshot.to_dict()) == snapshot


# ---------------------------------------------------------------------------------------------
# The journal


def test_every_entry_and_transaction_is_proven_at_its_place(db: mycel.Graph) -> None:
    for n in range(20):
        add_concepts(db, f"n{n}")
    root, last = db.snapshot().overall_root, entries(db)
    proofs = [db.prove_entry(seq) for seq in range(1, last + 1)]
    for proof in proofs:
        assert_holds_only_under(proof, root)
        assert not replace(proof, seq=proof.seq % last + 1).verify(root)
        assert not replace(proof, entry=proof.entry + b"\x00").verify(root)
        assert not replace(proof, entry=proofs[proof.seq % last].entry).verify(root)


@pytest.mark.parametrize("seq", [0, -1, 10**6, 2**70])
def test_an_entry_that_never_was_cannot_be_proven(db: mycel.Graph, seq: int) -> None:
    with pytest.raises(NotFound):
        db.prove_entry(seq)


@pytest.mark.parametrize("bad", ["1", None, 1.5])
def test_an_entry_is_named_by_a_number(db: mycel.Graph, bad: object) -> None:
    with pytest.raises(MycelError):
        db.prove_entry(bad)  # type: ignore[arg-type]
    with pytest.raises(MycelError):
        db.prove_consistency(bad)  # type: ignore[arg-type]


def test_every_snapshot_is_the_beginning_of_every_later_one(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    snapshots = [db.snapshot()]
    for n in range(24):
        match n % 4:
            case 0:
                db.add_edge(one, "references", other)
            case 1:
                db.remove_edge(one, "references", other)
            case 2:
                add_concepts(db, *(f"n{n} {m}" for m in range(n)))
            case 3:
                made = add_concepts(db, f"purged {n}")
                db.purge(made[0], "on request")
        new = db.snapshot()
        for old in (*snapshots, new):
            proof = db.prove_consistency(old.entries)
            travelled = mycel.proof_from_dict(json.loads(json.dumps(proof.to_dict())))
            assert isinstance(travelled, mycel.ConsistencyProof)
            assert travelled.verify(old.journal_root, new.overall_root)
            assert not proof.verify(sha256(old.journal_root).digest(), new.overall_root)
            assert not proof.verify(old.journal_root, sha256(new.overall_root).digest())
        for old, newer in pairwise(snapshots):
            wrong = db.prove_consistency(old.entries)
            assert not wrong.verify(newer.journal_root, new.overall_root)
        snapshots.append(new)


def test_the_empty_journal_is_the_beginning_of_every_other(db: mycel.Graph) -> None:
    proof = db.prove_consistency(0)
    assert proof.verify(proof.old_journal_root, db.snapshot().overall_root)


@pytest.mark.parametrize("size", [-1, 10**6])
def test_a_journal_that_never_was_has_no_continuation(db: mycel.Graph, size: int) -> None:
    with pytest.raises(NotFound):
        db.prove_consistency(size)


def test_two_graphs_that_parted_cannot_prove_one_to_continue_the_other(
    db: mycel.Graph, clock: Clock
) -> None:
    add_concepts(db, "one")
    ours = db.snapshot()
    with mycel.open(":memory:", clock_us=clock) as other:
        add_concepts(other, "another")
        add_concepts(other, "more")
        proof = other.prove_consistency(ours.entries)
        assert not proof.verify(ours.journal_root, other.snapshot().overall_root)


def test_the_leaf_of_a_transaction_can_be_read_in_one_way_only() -> None:
    """Rows that are read may be damaged: roots of another length must give another leaf."""
    concepts, edges = bytes(10) + b"\x58\x20" + bytes(20), bytes(range(32))
    shifted = concepts[:10], concepts[12:] + b"\x58\x20" + edges
    first, second = (tx_bytes(1, 2, "actor", "", *roots) for roots in ((concepts, edges), shifted))
    assert first != second
    assert cbor2.loads(first) == [1, 2, "actor", "", concepts, edges]
    assert cbor2.loads(second) == [1, 2, "actor", "", *shifted]
