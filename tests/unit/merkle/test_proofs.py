"""Snapshots and the three kinds of proof: there and back, tampered with, and malformed."""

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycel.errors import InvalidValueType
from mycel.merkle.log import consistency_path, inclusion_path
from mycel.merkle.pages import EMPTY
from mycel.merkle.proofs import (
    ConsistencyProof,
    EntryProof,
    Proof,
    Snapshot,
    StateProof,
    proof_from_dict,
)
from mycel.merkle.sparse import SparseProof, prove, root
from tests.cases import cases
from tests.unit.merkle.test_log import StrictNodes, naive_root
from tests.unit.merkle.test_sparse import digest, flip, group_hash, grown, through

ENTRIES = 37
RECORDS = {digest(f"key {n}"): f"record {n}".encode() for n in range(60)}
KEY, ABSENT = digest("key 7"), digest("no key")
CONCEPTS = grown({key: sha256(record).digest() for key, record in RECORDS.items()})
SNAPSHOT = Snapshot(
    entries=ENTRIES,
    time_us=1_700_000_000_000_000,
    journal_root=naive_root(0, ENTRIES),
    concepts_root=root(CONCEPTS),
    edges_root=EMPTY,
)
OVERALL = SNAPSHOT.overall_root

MEMBER = StateProof("concepts", KEY, RECORDS[KEY], prove(CONCEPTS, KEY), SNAPSHOT)
ABSENTEE = StateProof("concepts", ABSENT, None, prove(CONCEPTS, ABSENT), SNAPSHOT)
ABSENT_FROM_EMPTY = StateProof("edges", KEY, None, SparseProof((), ()), SNAPSHOT)
ENTRY = EntryProof(6, b"5", tuple(inclusion_path(StrictNodes(ENTRIES), 5, ENTRIES)), SNAPSHOT)
CONSISTENT = ConsistencyProof(
    20, naive_root(0, 20), tuple(consistency_path(StrictNodes(ENTRIES), 20, ENTRIES)), SNAPSHOT
)
PROOFS: dict[str, Proof] = {
    "member": MEMBER,
    "absentee": ABSENTEE,
    "absent from an empty tree": ABSENT_FROM_EMPTY,
    "entry": ENTRY,
    "consistency": CONSISTENT,
}
STATE_PROOFS = [proof for proof in PROOFS.values() if isinstance(proof, StateProof)]
every_proof = pytest.mark.parametrize("proof", PROOFS.values(), ids=PROOFS.keys())


def holds(proof: Proof, overall_root: bytes = OVERALL) -> bool:
    if isinstance(proof, ConsistencyProof):
        return proof.verify(CONSISTENT.old_journal_root, overall_root)
    return proof.verify(overall_root)


# ---------------------------------------------------------------------------------------------
# Snapshots


def test_the_overall_root_is_the_hash_of_a_canonical_map_of_names() -> None:
    named = {
        "edges": SNAPSHOT.edges_root,
        "entries": SNAPSHOT.entries,
        "journal": SNAPSHOT.journal_root,
        "concepts": SNAPSHOT.concepts_root,
    }
    assert sha256(cbor2.dumps(named, canonical=True)).digest() == OVERALL


def test_the_overall_root_never_changes_for_the_same_roots() -> None:
    snapshot = Snapshot(7, 1, b"\x01" * 32, b"\x02" * 32, b"\x03" * 32)
    assert (
        snapshot.overall_root.hex()
        == "691eb12ecee60f9b790c6403b70c2c5da2572c3c6073ea647674747e32809899"
    )


@cases(
    "change",
    [
        {"entries": ENTRIES + 1},
        {"entries": 0},
        {"journal_root": flip(SNAPSHOT.journal_root, 0)},
        {"concepts_root": flip(SNAPSHOT.concepts_root, 255)},
        {"edges_root": flip(SNAPSHOT.edges_root, 100)},
        {"concepts_root": SNAPSHOT.edges_root, "edges_root": SNAPSHOT.concepts_root},
        {"concepts_root": SNAPSHOT.journal_root, "journal_root": SNAPSHOT.concepts_root},
    ],
)
def test_the_overall_root_changes_with_everything_it_names(change: dict[str, Any]) -> None:
    assert replace(SNAPSHOT, **change).overall_root != OVERALL


def test_the_overall_root_does_not_commit_to_the_time() -> None:
    assert replace(SNAPSHOT, time_us=0).overall_root == OVERALL


def test_a_snapshot_knows_its_roots_by_namespace_and_its_seq() -> None:
    assert SNAPSHOT.root_of("concepts") == SNAPSHOT.concepts_root
    assert SNAPSHOT.root_of("edges") == SNAPSHOT.edges_root
    assert SNAPSHOT.seq == ENTRIES


def test_a_snapshot_survives_json() -> None:
    wire = json.loads(json.dumps(SNAPSHOT.to_dict()))
    assert wire["overall_root"] == OVERALL.hex()
    assert Snapshot.from_dict(wire) == SNAPSHOT
    del wire["overall_root"]
    assert Snapshot.from_dict(wire) == SNAPSHOT


@cases("stated", [flip(OVERALL, 3).hex(), "", "xx", 5, [], {}, OVERALL.hex()[:-2]])
def test_a_snapshot_with_another_overall_root_is_refused(stated: object) -> None:
    with pytest.raises(InvalidValueType, match="overall root"):
        Snapshot.from_dict(SNAPSHOT.to_dict() | {"overall_root": stated})


@pytest.mark.parametrize("name", ["entries", "journal_root", "concepts_root", "edges_root"])
def test_a_snapshot_whose_roots_were_changed_after_the_fact_is_refused(name: str) -> None:
    wire = SNAPSHOT.to_dict()
    wire[name] = 5 if name == "entries" else digest("other").hex()
    with pytest.raises(InvalidValueType, match="overall root"):
        Snapshot.from_dict(wire)


# ---------------------------------------------------------------------------------------------
# Proofs


@every_proof
def test_an_honest_proof_holds_under_its_overall_root_and_no_other(proof: Proof) -> None:
    assert holds(proof)
    assert not holds(proof, flip(OVERALL, 0))
    assert not holds(proof, b"")


@every_proof
def test_a_proof_survives_json_and_still_holds(proof: Proof) -> None:
    wire = json.loads(json.dumps(proof.to_dict()))
    assert proof_from_dict(wire) == proof
    assert type(proof).from_dict(wire) == proof
    assert holds(proof_from_dict(wire))


@pytest.mark.parametrize("proof", STATE_PROOFS)
def test_a_state_proof_survives_as_bytes_that_are_shorter_than_json(proof: StateProof) -> None:
    content = proof.to_bytes()
    assert StateProof.from_bytes(content) == proof
    assert StateProof.from_bytes(content).verify(OVERALL)
    assert len(content) < len(json.dumps(proof.to_dict())) / 2


def test_a_journal_that_shrank_or_was_rewritten_is_not_consistent() -> None:
    assert not CONSISTENT.verify(naive_root(0, 21), OVERALL)
    assert not replace(CONSISTENT, old_journal_root=naive_root(0, 21)).verify(
        naive_root(0, 21), OVERALL
    )
    later = replace(SNAPSHOT, entries=20, journal_root=naive_root(0, 20))
    backward = ConsistencyProof(ENTRIES, naive_root(0, ENTRIES), CONSISTENT.path, later)
    assert not backward.verify(naive_root(0, ENTRIES), later.overall_root)


def test_a_journal_is_consistent_with_itself_and_with_the_empty_one() -> None:
    same = ConsistencyProof(ENTRIES, SNAPSHOT.journal_root, (), SNAPSHOT)
    assert same.verify(SNAPSHOT.journal_root, OVERALL)
    nothing = naive_root(0, 0)
    assert ConsistencyProof(0, nothing, (), SNAPSHOT).verify(nothing, OVERALL)
    assert not ConsistencyProof(0, digest("x"), (), SNAPSHOT).verify(digest("x"), OVERALL)


@cases(
    "tampered",
    [
        replace(MEMBER, key=flip(KEY, 0)),
        replace(MEMBER, key=ABSENT),
        replace(MEMBER, key=KEY[:31]),
        replace(MEMBER, record=b"another"),
        replace(MEMBER, record=b""),
        replace(MEMBER, record=None),
        replace(MEMBER, namespace="edges"),
        replace(MEMBER, tree=ABSENTEE.tree),
        replace(MEMBER, tree=SparseProof((), ())),
        replace(MEMBER, tree=replace(MEMBER.tree, steps=MEMBER.tree.steps[1:])),
        replace(MEMBER, snapshot=replace(SNAPSHOT, entries=ENTRIES + 1)),
        replace(MEMBER, snapshot=replace(SNAPSHOT, concepts_root=EMPTY)),
        replace(ABSENTEE, key=KEY),
        replace(ABSENTEE, record=b"there after all"),
        replace(ABSENTEE, namespace="edges"),
        replace(ABSENTEE, tree=MEMBER.tree),
        replace(ABSENTEE, tree=SparseProof((), ())),
        replace(ABSENT_FROM_EMPTY, namespace="concepts"),
        replace(ABSENT_FROM_EMPTY, record=b""),
        replace(ENTRY, seq=5),
        replace(ENTRY, seq=7),
        replace(ENTRY, seq=0),
        replace(ENTRY, seq=ENTRIES + 1),
        replace(ENTRY, seq=2**70),
        replace(ENTRY, entry=b"6"),
        replace(ENTRY, path=ENTRY.path[:-1]),
        replace(ENTRY, path=()),
        replace(ENTRY, path=(*ENTRY.path, EMPTY)),
        replace(ENTRY, path=(b"", *ENTRY.path[1:])),
        replace(ENTRY, snapshot=replace(SNAPSHOT, entries=2**70)),
        replace(ENTRY, snapshot=replace(SNAPSHOT, journal_root=EMPTY)),
        replace(CONSISTENT, old_entries=21),
        replace(CONSISTENT, old_entries=0),
        replace(CONSISTENT, old_journal_root=EMPTY),
        replace(CONSISTENT, path=CONSISTENT.path[::-1]),
        replace(CONSISTENT, path=()),
    ],
)
def test_a_proof_that_was_tampered_with_does_not_hold(tampered: Proof) -> None:
    assert not holds(tampered)


@pytest.mark.parametrize("proof", [MEMBER, ABSENTEE], ids=["member", "absentee"])
def test_any_bit_changed_in_the_bytes_of_a_state_proof_is_noticed(proof: StateProof) -> None:
    content = proof.to_bytes()
    accepted = []
    for bit in range(len(content) * 8):
        try:
            changed = StateProof.from_bytes(flip(content, bit))
        except InvalidValueType:
            continue
        assert changed != proof
        if changed.verify(OVERALL):
            accepted.append(changed)
    # The time is nobody's claim, and a proof of absence serves all keys that would be in its place.
    for changed in accepted:
        if changed.snapshot.time_us != SNAPSHOT.time_us:
            assert replace(changed, snapshot=SNAPSHOT) == proof
        else:
            assert proof is ABSENTEE
            assert replace(changed, key=ABSENT) == proof
            assert changed.key not in RECORDS


def hashes_in(wire: Any) -> list[tuple[Any, Any]]:
    """Where the strings of a wire form are: (container, key)."""
    found = []
    for key, value in wire.items() if isinstance(wire, dict) else enumerate(wire):
        if isinstance(value, (dict, list)):
            found += hashes_in(value)
        elif isinstance(value, str):
            found.append((wire, key))
    return found


@every_proof
def test_any_string_changed_on_the_wire_is_noticed(proof: Proof) -> None:
    places = len(hashes_in(proof.to_dict()))
    assert places > 4
    for place in range(places):
        wire = proof.to_dict()
        container, key = hashes_in(wire)[place]
        old = container[key]
        container[key] = ("0" if old[0] != "0" else "1") + old[1:]
        try:
            changed = proof_from_dict(wire)
        except InvalidValueType:
            continue
        serves_that_key_too = isinstance(changed, StateProof) and changed.record is None
        assert not holds(changed) or (serves_that_key_too and key == "key")


def test_a_state_proof_for_a_million_leaves_and_a_long_record_is_under_2_kib() -> None:
    record = bytes(range(100)) * 3
    key = digest("deep")
    steps = tuple((bit, b"".join(digest((bit, n)) for n in range(3))) for bit in range(0, 20, 2))
    group = {digest(n): digest(n) for n in range(7)} | {key: sha256(record).digest()}
    top = group_hash(group)
    for bit, others in reversed(steps):
        top = through(key, bit, others, top)
    snapshot = Snapshot(2**40, 2**52, digest("journal"), digest("concepts"), top)
    tree = SparseProof(steps, tuple(sorted(group.items())))
    proof = StateProof("edges", key, record, tree, snapshot)
    assert proof.verify(snapshot.overall_root)
    assert len(proof.to_bytes()) < 2048


# ---------------------------------------------------------------------------------------------
# Malformed input


def without(wire: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in wire.items() if key != name}


@every_proof
def test_a_proof_with_a_field_missing_or_of_another_type_is_refused(proof: Proof) -> None:
    wire = proof.to_dict()
    for name in without(wire, "kind"):
        with pytest.raises(InvalidValueType):
            proof_from_dict(without(wire, name))
        for value in (5.5, -1, True, "zz", "00", [5], [[5, "00"]], [["x", "00" * 32]], {}, [[]]):
            if name in ("record", "entry") and value == "00":
                assert not holds(proof_from_dict(wire | {name: value}))  # Any bytes may be read.
                continue
            with pytest.raises(InvalidValueType):
                proof_from_dict(wire | {name: value})


@cases("name", list(without(SNAPSHOT.to_dict(), "overall_root")))
@cases("value", [None, -1, 1.5, True, "", "00", "zz" * 32, [], {}, "00" * 33])
def test_a_snapshot_with_a_field_of_another_type_is_refused(name: str, value: Any) -> None:
    wire = without(SNAPSHOT.to_dict(), "overall_root")
    for broken in (wire | {name: value}, without(wire, name)):
        with pytest.raises(InvalidValueType):
            Snapshot.from_dict(broken)


@cases("bit", [-1, 256, 2**70, 1.0, True, "1", None])
def test_a_step_at_a_bit_that_no_key_has_is_refused(bit: Any) -> None:
    with pytest.raises(InvalidValueType):
        StateProof.from_dict(MEMBER.to_dict() | {"steps": [[bit, *["00" * 32] * 3]]})


@cases("hashes", [[], ["00" * 32] * 2, ["00" * 32] * 4, ["00" * 96], ["00"] * 3])
def test_a_step_without_three_hashes_is_refused(hashes: list[str]) -> None:
    with pytest.raises(InvalidValueType):
        StateProof.from_dict(MEMBER.to_dict() | {"steps": [[0, *hashes]]})


@cases(
    "wire",
    [
        None,
        5,
        "state",
        [],
        ["kind"],
        {},
        {"kind": None},
        {"kind": "other"},
        {"kind": []},
        {"kind": {}},
        {"kind": ["state"]},
        {"kind": "state"},
        {"kind": "entry"},
        {"kind": "consistency"},
        {"kind": "state", "namespace": ["concepts"]},
    ],
)
def test_what_is_no_proof_is_refused(wire: object) -> None:
    with pytest.raises(InvalidValueType):
        proof_from_dict(wire)


def test_a_kind_nested_too_deep_to_be_printed_is_refused() -> None:
    nested: Any = []
    for _ in range(100_000):
        nested = [nested]
    for wire in ({"kind": nested}, MEMBER.to_dict() | {"namespace": nested, "snapshot": nested}):
        with pytest.raises(InvalidValueType):
            proof_from_dict(wire)


PARTS = cbor2.loads(MEMBER.to_bytes())


@cases("at", range(8))
@cases(
    "value",
    [None, -1, 2**70, 1.5, True, "", "x" * 96, b"", b"x", b"x" * 31, [], [1] * 33, {}, {1: 2}],
)
def test_bytes_with_a_part_of_another_type_are_refused_or_do_not_hold(at: int, value: Any) -> None:
    content = cbor2.dumps([*PARTS[:at], value, *PARTS[at + 1 :]], canonical=True)
    any_record = at == 2 and (value is None or isinstance(value, bytes))
    no_steps_or_leaves = at in (3, 4) and value == b""
    any_number = at in (5, 6) and value == 2**70
    if any_record or no_steps_or_leaves or any_number:
        is_time = at == 6  # Which nothing commits to.
        assert StateProof.from_bytes(content).verify(OVERALL) == is_time
    else:
        with pytest.raises(InvalidValueType):
            StateProof.from_bytes(content)


@cases(
    "content",
    [
        b"",
        b"\x00",
        b"\xa0",
        b"\x80",
        b"\xff",
        MEMBER.to_bytes()[:-1],
        MEMBER.to_bytes() + b"\x00",
        b"\x99\x00\x08" + MEMBER.to_bytes()[1:],
        b"\x9f" + MEMBER.to_bytes()[1:] + b"\xff",
        cbor2.dumps(PARTS[:-1]),
        cbor2.dumps([*PARTS, None]),
        cbor2.dumps(dict(enumerate(PARTS))),
        cbor2.dumps("12345678"),
        cbor2.dumps(["concept", *PARTS[1:]]),
        cbor2.dumps([["concepts"], *PARTS[1:]]),
        cbor2.dumps([*PARTS[:3], PARTS[3] + b"\x00", *PARTS[4:]]),
        cbor2.dumps([*PARTS[:4], PARTS[4] + b"\x00", *PARTS[5:]]),
        cbor2.dumps([*PARTS[:7], PARTS[7][:-1]]),
    ],
)
def test_bytes_that_are_no_state_proof_are_refused(content: bytes) -> None:
    with pytest.raises(InvalidValueType):
        StateProof.from_bytes(content)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["state", "entry", "consistency", "concepts", "edges", "00" * 32, "zz" * 32]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


def reading_raises_nothing_else(read: Callable[[], Proof | Snapshot]) -> None:
    try:
        made = read()
    except InvalidValueType:
        return
    # Whatever is read can be judged and written again.
    if isinstance(made, Snapshot):
        assert Snapshot.from_dict(made.to_dict()) == made
    else:
        holds(made)
        assert proof_from_dict(made.to_dict()) == made
    if isinstance(made, StateProof):
        assert StateProof.from_bytes(made.to_bytes()) == made


@given(st.data())
def test_random_json_in_any_field_raises_nothing_else(data: st.DataObject) -> None:
    wire = data.draw(st.sampled_from(list(PROOFS.values()))).to_dict()
    inside = data.draw(st.booleans(), label="inside the snapshot")
    target = wire["snapshot"] if inside else wire
    if inside and data.draw(st.booleans()):
        del target["overall_root"]
    for name in data.draw(st.lists(st.sampled_from(sorted(target)), max_size=3)):
        target[name] = data.draw(json_values)
    reading_raises_nothing_else(lambda: proof_from_dict(wire))


@given(json_values)
def test_random_json_is_read_as_a_proof_or_refused(wire: Any) -> None:
    reading_raises_nothing_else(lambda: proof_from_dict(wire))
    for kind in (Snapshot, StateProof, EntryProof, ConsistencyProof):
        reading_raises_nothing_else(lambda kind=kind: kind.from_dict(wire))


@given(
    st.lists(
        json_values | st.binary(max_size=40) | st.sampled_from(PARTS), min_size=8, max_size=8
    ).map(lambda parts: cbor2.dumps(parts, canonical=True))
    | st.binary(max_size=60)
    | st.integers(0, 8 * len(MEMBER.to_bytes()) - 1).map(lambda bit: flip(MEMBER.to_bytes(), bit))
)
def test_random_bytes_are_read_as_a_state_proof_or_refused(content: bytes) -> None:
    reading_raises_nothing_else(lambda: StateProof.from_bytes(content))
