"""Predicate numbers, and the canonical record of an edge as the notes on edges write it down."""

import cbor2
import pytest

import mycel
from tests.unit.store.given import (
    FACT,
    START_US,
    Clock,
    DeliberateError,
    add_concepts,
    assert_sound,
    concept_key,
    define,
    edge_tree_key,
    fail_after,
    link_key,
)

BUILT_IN = {
    "derived_from": 0x01,
    "supersedes": 0x02,
    "references": 0x03,
    "contradicts": 0x04,
    "corroborates": 0x05,
    "consents_to": 0x06,
    "dispatched_to": 0x07,
    "attested_by": 0x08,
    "cited_in": 0x09,
    "tombstones": 0x0A,
    "part_of": 0x0B,
    "instance_of": 0x0C,
    "caused_by": 0x0D,
    "observed_by": 0x0E,
    "related_to": 0x0F,
}


def record_of(db: mycel.Graph, src: str, predicate: str, dst: str) -> bytes:
    record = db.prove((src, predicate, dst)).record
    assert record is not None
    return record


# ---------------------------------------------------------------------------------------------
# Numbers


def test_the_built_in_predicates_keep_their_numbers(db: mycel.Graph) -> None:
    source, target = add_concepts(db, "source", "target")
    for predicate in BUILT_IN:
        db.add_edge(source, predicate, target)
    assert {edge.predicate: edge.type for edge in db.edges_out(source)} == BUILT_IN


def test_predicates_defined_later_are_numbered_from_0x40_in_the_order_of_definition(
    db: mycel.Graph,
) -> None:
    source, target = add_concepts(db, "source", "target")
    define(db, predicates=["zeta", "alpha"])
    define(db, predicates=["zeta", "mu"])
    for predicate in ("mu", "zeta", "alpha"):
        db.add_edge(source, predicate, target)
    numbers = {edge.predicate: edge.type for edge in db.edges_out(source)}
    assert numbers == {"zeta": 0x40, "alpha": 0x41, "mu": 0x42}


def test_the_number_of_a_removed_predicate_is_never_given_to_another(db: mycel.Graph) -> None:
    source, target = add_concepts(db, "source", "target")
    define(db, predicates=["first"])
    db.write(lambda tx: tx.retire(tx.get_concept("$PropositionType", "first")))
    define(db, predicates=["second"])
    define(db, predicates=["first"])
    db.add_edge(source, "first", target)
    db.add_edge(source, "second", target)
    numbers = {edge.predicate: edge.type for edge in db.edges_out(source)}
    assert numbers == {"first": 0x40, "second": 0x41}
    assert_sound(db)


def test_the_number_of_a_purged_predicate_is_never_given_to_another(db: mycel.Graph) -> None:
    source, target = add_concepts(db, "source", "target")
    define(db, predicates=["first"])
    definition = db.get_concept("$PropositionType", "first")
    assert definition is not None
    db.purge(definition, "a name that should be forgotten")
    define(db, predicates=["second"])
    db.add_edge(source, "second", target)
    assert next(db.edges_out(source)).type == 0x41
    assert_sound(db)


def test_a_transaction_that_fails_takes_no_number(db: mycel.Graph) -> None:
    source, target = add_concepts(db, "source", "target")
    with pytest.raises(DeliberateError):
        fail_after(db, lambda tx: tx.define_predicate("lost"))
    define(db, predicates=["kept"])
    db.add_edge(source, "kept", target)
    assert next(db.edges_out(source)).type == 0x40


# ---------------------------------------------------------------------------------------------
# Bytes


def test_a_fresh_edge_has_exactly_the_record_of_the_document(db: mycel.Graph) -> None:
    source, target = add_concepts(db, "source", "target")
    db.add_edge(source, "references", target, weight=0.9, created_by="andrew")
    src, dst = concept_key(FACT, "source")[:16], concept_key(FACT, "target")[:16]
    assert record_of(db, source, "references", target) == (
        bytes.fromhex("a601030250")
        + src
        + bytes.fromhex("0350")
        + dst
        + bytes.fromhex("041a6553f1000566616e6472657706fa3f666666")
    )


def test_a_record_is_read_back_as_what_was_written(db: mycel.Graph, clock: Clock) -> None:
    source, target = add_concepts(db, "source", "target")
    created = clock.tick(1)
    data = {"page": 7, "quote": "“naïve” 猫", "nested": {"b": [1, 2.5, None, True]}}
    db.add_edge(source, "references", target, weight=0.25, data=data, created_by="andrew")
    fields = mycel.decode_edge(record_of(db, source, "references", target))
    assert fields.type == 3
    assert fields.src == concept_key(FACT, "source")[:16]
    assert fields.dst == concept_key(FACT, "target")[:16]
    assert (fields.created_us, fields.created_by) == (created, "andrew")
    assert (fields.weight, fields.attributes, fields.metadata) == (0.25, data, {})
    assert (fields.version, fields.tombstone) == (1, None)


def test_data_stands_in_field_11_as_canonical_cbor(db: mycel.Graph) -> None:
    source, target = add_concepts(db, "source", "target")
    db.add_edge(source, "references", target, data={"b": 1, "a": 2})
    fields = cbor2.loads(record_of(db, source, "references", target))
    assert fields[11] == b"\xa2\x61a\x02\x61b\x01"


def test_empty_fields_are_left_out(db: mycel.Graph) -> None:
    source, target = add_concepts(db, "source", "target")
    db.add_edge(source, "references", target, weight=0)
    assert set(cbor2.loads(record_of(db, source, "references", target))) == {1, 2, 3, 4, 5}
    db.remove_edge(source, "references", target)
    removed = cbor2.loads(record_of(db, source, "references", target))
    assert set(removed) == {1, 2, 3, 4, 5, 7, 8, 10}, "no reason was given"


def test_a_removed_edge_has_its_tombstone_in_fields_7_to_10(db: mycel.Graph, clock: Clock) -> None:
    source, target = add_concepts(db, "source", "target")
    db.add_edge(source, "references", target)
    removed_at = clock.tick(1_000_000)
    db.remove_edge(source, "references", target, reason="superseded", by="auditor")
    record = record_of(db, source, "references", target)
    fields = cbor2.loads(record)
    assert (fields[7], fields[8], fields[9], fields[10]) == (
        True,
        removed_at // 1_000_000,
        "superseded",
        "auditor",
    )
    tombstone = mycel.decode_edge(record).tombstone
    assert tombstone == (removed_at, "auditor", "superseded")


def test_a_record_is_canonical_cbor(db: mycel.Graph, clock: Clock) -> None:
    source, target = add_concepts(db, "source", "target")
    db.add_edge(source, "references", target, weight=0.5, data={"n": 1})
    clock.tick(1_000_000)
    db.remove_edge(source, "references", target, reason="why")
    record = record_of(db, source, "references", target)
    # RFC 8949 §4.2.1 has keys in the order of their bytes, which is that of these small numbers.
    keys = list(cbor2.loads(record))
    assert keys == sorted(keys)
    assert record[0] == 0xA0 + len(keys)
    assert mycel.decode_edge(record).encode() == record


def test_the_key_of_an_edge_is_the_hash_of_its_ends_and_predicate(db: mycel.Graph) -> None:
    source, target = add_concepts(db, "source", "target")
    claim = db.add_edge(source, "references", target)
    db.add_edge(claim, "attested_by", target)
    one, other = concept_key(FACT, "source"), concept_key(FACT, "target")
    key = link_key(one, "references", other)
    assert db.prove(claim).key == edge_tree_key(one, "references", other)
    about = db.prove((claim, "attested_by", target))
    assert about.key == edge_tree_key(key, "attested_by", other)
    assert about.record is not None
    assert mycel.decode_edge(about.record).src == key[:16], "an edge about an edge names its key"


def test_a_concept_is_proven_by_the_record_of_its_type_and_name(db: mycel.Graph) -> None:
    (made,) = add_concepts(db, "source")
    proof = db.prove(made)
    assert proof.key == concept_key(FACT, "source")
    assert proof.record is not None
    fields = mycel.decode_concept(proof.record)
    assert (fields.type, fields.name, fields.created_us) == (FACT, "source", START_US)
    definition = db.prove(("$PropositionType", "related_to"))
    assert definition.record is not None
    assert mycel.decode_concept(definition.record).number == 0x0F


def test_replicas_that_number_things_otherwise_agree_on_records_and_roots(clock: Clock) -> None:
    def replica(names: list[str], order: list[int]) -> mycel.Snapshot:
        with mycel.open(":memory:", actor="tester", clock_us=clock) as db:
            made = dict(zip(names, add_concepts(db, *names), strict=True))
            edges = [("a", "references", "b"), ("b", "part_of", "c"), ("c", "references", "a")]
            for at in order:
                src, predicate, dst = edges[at]
                db.add_edge(made[src], predicate, made[dst])
            return db.snapshot()

    one, other = replica(["a", "b", "c"], [0, 1, 2]), replica(["c", "a", "b"], [2, 0, 1])
    assert one.concepts_root == other.concepts_root
    assert one.edges_root == other.edges_root
    assert one.journal_root != other.journal_root, "the journals tell different stories"


def test_forgetting_an_edge_restores_the_root_from_before_it(db: mycel.Graph) -> None:
    source, target = add_concepts(db, "source", "target")
    db.add_edge(source, "references", target)
    before = db.snapshot()
    other = db.add_edge(target, "references", source)
    assert db.snapshot().edges_root != before.edges_root
    db.purge(other, "never mind")
    assert db.snapshot().edges_root == before.edges_root
    assert db.snapshot().concepts_root == before.concepts_root
