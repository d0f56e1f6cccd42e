"""Records: the document's example, `cbor2` as a second opinion, and what is no record."""

import struct
from collections import OrderedDict
from decimal import Decimal
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import cbor2
import numpy as np
import pytest

from mycel.errors import ConstraintViolation, InvalidValueType
from mycel.model import cbor
from mycel.model.records import (
    ConceptFields,
    EdgeFields,
    Recorder,
    Tombstone,
    canonical_weight,
    concept_key,
    decode_concept,
    decode_edge,
    link_key,
    record_hash,
    tree_key,
)
from tests.cases import cases

SRC, DST = b"\x01" * 16, b"\x02" * 16
DAY_US = 1_700_000_000_000_000

# The example of the notes on edges.
EXAMPLE = bytes.fromhex(
    "a60103025001010101010101010101010101010101035002020202020202020202020202020202"
    "041a6553f1000566616e6472657706fa3f666666"
)


def in_record(attributes: dict[str, Any], metadata: dict[str, Any]) -> tuple[bytes, bytes]:
    """Both as they stand in a record."""
    one, other = (
        head + cbor.byte_string(cbor.encode(each)) if each else b""
        for head, each in ((b"\x0b", attributes), (b"\x0c", metadata))
    )
    return one, other


def canonical(fields: dict[int, Any]) -> bytes:
    return cbor2.dumps(fields, canonical=True)


def seconds(microseconds: int) -> int | Decimal:
    """A time as the map of a record holds it."""
    whole, rest = divmod(microseconds, 1_000_000)
    return whole if not rest and whole >= 0 else Decimal(microseconds).scaleb(-6)


def edge(**changes: Any) -> EdgeFields:
    made = EdgeFields(
        type=3,
        src=SRC,
        dst=DST,
        attributes={},
        metadata={},
        created_us=DAY_US,
        created_by="andrew",
        weight=0.9,
        version=1,
        updated_us=changes.get("created_us", DAY_US),
        tombstone=None,
    )
    return made._replace(**changes)


def concept(**changes: Any) -> ConceptFields:
    made = ConceptFields(
        type="Drug",
        name="Aspirin",
        attributes={},
        metadata={},
        created_us=DAY_US,
        created_by="andrew",
        version=1,
        updated_us=changes.get("created_us", DAY_US),
        tombstone=None,
        number=None,
    )
    return made._replace(**changes)


def edge_map(**changes: Any) -> dict[Any, Any]:
    """The map of the example, with fields replaced (`f9="x"`) or left out (`f6=None`)."""
    fields = {1: 3, 2: SRC, 3: DST, 4: 1_700_000_000, 5: "andrew", 6: EXAMPLE_WEIGHT}
    return changed(fields, changes)


def concept_map(**changes: Any) -> dict[Any, Any]:
    return changed({1: "Drug", 2: "Aspirin", 4: 1_700_000_000, 5: "andrew"}, changes)


def changed(fields: dict[Any, Any], changes: dict[str, Any]) -> dict[Any, Any]:
    merged = fields | {int(key[1:]): value for key, value in changes.items()}
    return {key: value for key, value in merged.items() if value is not None}


EXAMPLE_WEIGHT = struct.unpack(">f", struct.pack(">f", 0.9))[0]

EDGES = {
    "new": edge(),
    "without a weight": edge(weight=0.0),
    "with data": edge(attributes={"a": [1, 2.5, None, {"b": "ü"}]}, metadata={"source": "x"}),
    "changed": edge(version=2, updated_us=DAY_US + 1),
    "changed often": edge(version=70_000, updated_us=DAY_US + 10**6),
    "removed": edge(tombstone=Tombstone(DAY_US + 5, "eve", "wrong")),
    "removed without a reason": edge(tombstone=Tombstone(DAY_US + 10**6, "eve", "")),
    "to the microsecond": edge(created_us=DAY_US + 123_456),
    "before the epoch": edge(created_us=-(10**6)),
    "of a large type": edge(type=0x40 + 70_000),
    "with everything": edge(
        attributes={"a": 1},
        metadata={"b": 2},
        version=24,
        updated_us=1,
        tombstone=Tombstone(2, "", "r" * 300),
    ),
}
CONCEPTS = {
    "new": concept(),
    "a definition": concept(type="$ConceptType", name="Drug", number=64),
    "with number 0": concept(number=0),
    "with long names": concept(type="T" * 255, name="漢" * 1365, created_by="é" * 100),
    "with attributes": concept(attributes={"a": {"b": [True]}}, metadata={"": -1}),
    "changed": concept(version=2, updated_us=DAY_US + 1),
    "removed": concept(tombstone=Tombstone(DAY_US, "eve", "wrong"), number=300),
    "with empty names": concept(type="", name="", created_by=""),
}


def test_the_record_of_a_new_edge_is_the_example_of_the_document() -> None:
    assert edge().encode() == EXAMPLE == canonical(edge_map())
    assert decode_edge(EXAMPLE) == edge()


def test_an_edge_names_its_ends_by_the_first_16_bytes_of_their_keys() -> None:
    src, dst = sha256(b"src").digest(), sha256(b"dst").digest()
    record = edge(src=src, dst=dst).encode()
    assert decode_edge(record) == edge(src=src[:16], dst=dst[:16])


@cases("fields", EDGES.values(), ids=EDGES.keys())
def test_an_edge_is_the_map_that_cbor2_would_write(fields: EdgeFields) -> None:
    stone = fields.tombstone
    weight = struct.unpack(">f", struct.pack(">f", fields.weight))[0]
    assert fields.encode() == canonical(
        edge_map(
            f1=fields.type,
            f4=seconds(fields.created_us),
            f6=weight or None,
            f7=True if stone else None,
            f8=seconds(stone.at_us) if stone else None,
            f9=(stone.reason or None) if stone else None,
            f10=stone.by if stone else None,
            f11=canonical(fields.attributes) if fields.attributes else None,
            f12=canonical(fields.metadata) if fields.metadata else None,
            f13=fields.version if fields.version > 1 else None,
            f14=seconds(fields.updated_us) if fields.version > 1 else None,
        )
    )


@cases("fields", CONCEPTS.values(), ids=CONCEPTS.keys())
def test_a_concept_is_the_map_that_cbor2_would_write(fields: ConceptFields) -> None:
    stone = fields.tombstone
    assert fields.encode() == canonical(
        concept_map(
            f1=fields.type,
            f2=fields.name,
            f4=seconds(fields.created_us),
            f5=fields.created_by,
            f7=True if stone else None,
            f8=seconds(stone.at_us) if stone else None,
            f9=(stone.reason or None) if stone else None,
            f10=stone.by if stone else None,
            f11=canonical(fields.attributes) if fields.attributes else None,
            f12=canonical(fields.metadata) if fields.metadata else None,
            f13=fields.version if fields.version > 1 else None,
            f14=seconds(fields.updated_us) if fields.version > 1 else None,
            f15=fields.number,
        )
    )


@cases("fields", EDGES.values(), ids=EDGES.keys())
def test_an_edge_is_read_back_as_it_was(fields: EdgeFields) -> None:
    assert decode_edge(fields.encode()) == fields


@cases("fields", CONCEPTS.values(), ids=CONCEPTS.keys())
def test_a_concept_is_read_back_as_it_was(fields: ConceptFields) -> None:
    assert decode_concept(fields.encode()) == fields


@cases("attributes", [{}, {"a": 1}])
@cases("metadata", [{}, {"source": "x"}])
@cases("weight", [0.0, 0.9, 1.0])
def test_edges_made_by_the_dozen_have_the_same_keys_and_records(
    attributes: dict[str, Any], metadata: dict[str, Any], weight: float
) -> None:
    keys = [sha256(bytes([n])).digest() for n in range(3)]
    recorder = Recorder(DAY_US + 1, "andrew")
    content = in_record(attributes, metadata)
    for number, name in ((3, "references"), (300, "p" * 255), (3, "references")):
        for subject, object_ in ((keys[0], keys[1]), (keys[1], keys[2]), (keys[2], keys[0])):
            assert recorder.edge((number, name), subject, object_, content, weight) == (
                link_key(subject, name, object_),
                edge(
                    type=number,
                    src=subject,
                    dst=object_,
                    attributes=attributes,
                    metadata=metadata,
                    created_us=DAY_US + 1,
                    weight=weight,
                ).encode(),
            )


def test_a_weight_has_32_bits_even_where_16_would_do() -> None:
    for weight in (0.25, 0.5, 1.0):
        record = edge(weight=weight).encode()
        assert record.endswith(b"\x06\xfa" + struct.pack(">f", weight))
        assert decode_edge(record).weight == weight


def test_the_record_does_not_depend_on_how_the_attributes_were_given() -> None:
    plain = concept(attributes={"b": [1, 2], "a": {"y": 1, "x": 2}}).encode()
    for attributes in (
        {"a": {"x": 2, "y": 1}, "b": (1, 2)},
        OrderedDict(b=[1, 2], a={"y": 1, "x": 2}),
        MappingProxyType({"b": [1, 2], "a": {"y": 1, "x": 2}}),
    ):
        assert concept(attributes=attributes).encode() == plain


def test_a_version_of_1_has_no_time_of_update() -> None:
    assert edge(updated_us=DAY_US + 99).encode() == edge().encode()


@cases(
    "fields",
    [
        edge_map(f1=None),
        edge_map(f2=None),
        edge_map(f3=None),
        edge_map(f4=None),
        edge_map(f5=None),
        edge_map(f1="3"),
        edge_map(f1=3.0),
        edge_map(f1=True),
        edge_map(f1=-1),
        edge_map(f1=-250),
        edge_map(f1=2**70),
        edge_map(f2="x" * 16),
        edge_map(f2=SRC[:15]),
        edge_map(f2=SRC + b"\x01"),
        edge_map(f3=b""),
        edge_map(f3=16),
        edge_map(f3=[1] * 16),
        edge_map(f4="1700000000"),
        edge_map(f4="x" * 1000),
        edge_map(f4=b"1"),
        edge_map(f4=[1]),
        edge_map(f4=1.7e9),
        edge_map(f4=float("nan")),
        edge_map(f4=float("inf")),
        edge_map(f4=True),
        edge_map(f4=-1),
        edge_map(f4=2**70),
        edge_map(f4=-(2**70)),
        edge_map(f4=Decimal("1.5")),
        edge_map(f4=Decimal("1700000000.000000")),
        edge_map(f4=Decimal("NaN")),
        edge_map(f5=5),
        edge_map(f5=b"andrew"),
        edge_map(f6="0.9"),
        edge_map(f6=True),
        edge_map(f6=1),
        edge_map(f6=0.0),
        edge_map(f6=0.5),  # 16 bits.
        edge_map(f6=0.9),  # 64 bits.
        edge_map(f6=1.5),
        edge_map(f6=-0.5),
        edge_map(f6=float("nan")),
        edge_map(f7=True),
        edge_map(f8=1),
        edge_map(f7=False, f8=1, f10="eve"),
        edge_map(f7=True, f8=1),
        edge_map(f7=True, f10="eve"),
        edge_map(f7=1, f8=1, f10="eve"),
        edge_map(f7=True, f8=1, f9="", f10="eve"),
        edge_map(f7=True, f8=1, f9=5, f10="eve"),
        edge_map(f7=True, f8="1", f10="eve"),
        edge_map(f7=True, f8=1, f10=b"eve"),
        edge_map(f10="eve"),
        edge_map(f11=b""),
        edge_map(f11=b"\xa0"),
        edge_map(f11={"a": 1}),
        edge_map(f11="x"),
        edge_map(f11=5),
        edge_map(f11=b"\xff"),
        edge_map(f11=b"\x01"),
        edge_map(f11=b"\x81\x01"),
        edge_map(f11=b"\x61a"),
        edge_map(f11=b"\xa1\x01\x02"),
        edge_map(f11=canonical({"a": float("nan")})),
        edge_map(f11=canonical({"a": float("inf")})),
        edge_map(f11=canonical({"a": b"bytes"})),
        edge_map(f11=canonical({"a": 2**64})),
        edge_map(f11=canonical({"a": -(2**63) - 1})),
        edge_map(f11=canonical({"a": Decimal("1.5")})),
        edge_map(f11=canonical({"a": cbor2.CBORSimpleValue(99)})),
        edge_map(f11=canonical({"a": cbor2.undefined})),
        edge_map(f11=canonical({"a": cbor2.CBORTag(4000, 1)})),
        edge_map(f11=canonical({"x" * 2000: 1})),
        edge_map(f11=b"\xa1\x61a" + b"\x81" * 70 + b"\x00"),
        edge_map(f11=b"\xa2\x61b\x01\x61a\x02"),
        edge_map(f11=b"\xa2\x61a\x01\x61a\x02"),
        edge_map(f11=b"\xbf\x61a\x01\xff"),
        edge_map(f11=b"\xa1\x61a\x18\x01"),
        edge_map(f11=b"\xa1\x61a\xfa\x3f\x80\x00\x00"),
        edge_map(f11=b"\xa1\x61a\x01\x00"),
        edge_map(f12=b"\x81\x01"),
        edge_map(f12=5),
        edge_map(f13=1, f14=1),
        edge_map(f13=0, f14=1),
        edge_map(f13=-3, f14=1),
        edge_map(f13=2),
        edge_map(f14=1),
        edge_map(f13="2", f14=1),
        edge_map(f13=2.0, f14=1),
        edge_map(f13=2, f14="1"),
        edge_map(f13=2**64, f14=1),
        edge_map(f15=1),
        edge_map(f16=1),
        edge_map() | {"x": 1},
        edge_map() | {-1: 1},
        {},
    ],
)
def test_a_map_that_is_no_edge_is_refused(fields: dict[Any, Any]) -> None:
    with pytest.raises(InvalidValueType):
        decode_edge(canonical(fields))


@cases(
    "fields",
    [
        concept_map(f1=None),
        concept_map(f2=None),
        concept_map(f4=None),
        concept_map(f5=None),
        concept_map(f1=3),
        concept_map(f1=b"Drug"),
        concept_map(f2=5),
        concept_map(f2=["Aspirin"]),
        concept_map(f3=1),
        concept_map(f4="now"),
        concept_map(f5=5),
        concept_map(f6=0.9),
        concept_map(f7=True, f8=1),
        concept_map(f11=b"\x81\x01"),
        concept_map(f13="2", f14=1),
        concept_map(f15="1"),
        concept_map(f15=-1),
        concept_map(f15=1.0),
        concept_map(f15=True),
        concept_map(f15=2**63),
        concept_map(f16=1),
        {},
    ],
)
def test_a_map_that_is_no_concept_is_refused(fields: dict[Any, Any]) -> None:
    with pytest.raises(InvalidValueType):
        decode_concept(canonical(fields))


@cases("decode", [decode_edge, decode_concept])
@cases(
    "record",
    [b"", b"\xa0", b"\x80", b"\x01", b"\x61x", b"\xf6", b"\xff", b"\xa1", EXAMPLE[:-1]],
)
def test_other_bytes_are_no_record(decode, record: bytes) -> None:
    with pytest.raises(InvalidValueType):
        decode(record)


def test_an_edge_is_no_concept_and_a_concept_no_edge() -> None:
    with pytest.raises(InvalidValueType):
        decode_concept(EXAMPLE)
    with pytest.raises(InvalidValueType):
        decode_edge(concept().encode())


@cases(
    "record",
    [
        EXAMPLE + b"\x00",
        EXAMPLE + EXAMPLE,
        b"\xb8\x06" + EXAMPLE[1:],  # A longer head.
        b"\xbf" + EXAMPLE[1:] + b"\xff",  # An indefinite map.
        b"\xa7" + EXAMPLE[1:3] + EXAMPLE[1:],  # A field twice.
        b"\xa6" + EXAMPLE[3:] + EXAMPLE[1:3],  # Out of order.
        EXAMPLE.replace(b"\x01\x03\x02\x50", b"\x01\x18\x03\x02\x50"),
        EXAMPLE.replace(b"\x04\x1a", b"\x04\x1b\x00\x00\x00\x00"),
        EXAMPLE.replace(b"\x66andrew", b"\x78\x06andrew"),
        EXAMPLE.replace(b"\x66andrew", b"\x7f\x63and\x63rew\xff"),
        b"\xd9\xd9\xf7" + EXAMPLE,  # Tagged as CBOR.
    ],
)
def test_other_ways_to_write_the_same_record_are_refused(record: bytes) -> None:
    assert cbor2.loads(record) == cbor2.loads(EXAMPLE)
    with pytest.raises(InvalidValueType):
        decode_edge(record)


def test_natural_keys_are_hashes_of_canonical_arrays() -> None:
    drug = concept_key("Drug", "Aspirin")
    symptom = concept_key("Symptom", "Kopfschmerz 頭痛" + "x" * 300)
    assert drug == sha256(cbor2.dumps(["Drug", "Aspirin"], canonical=True)).digest()
    assert (
        symptom
        == sha256(cbor2.dumps(["Symptom", "Kopfschmerz 頭痛" + "x" * 300], canonical=True)).digest()
    )
    link = link_key(drug, "treats", symptom)
    hashed = sha256(cbor2.dumps([drug, "treats", symptom], canonical=True)).digest()
    assert link == hashed + drug[:2]
    higher = link_key(link, "x" * 255, link)
    ends = [hashed, "x" * 255, hashed]
    assert higher == sha256(cbor2.dumps(ends, canonical=True)).digest() + hashed[:2]


def test_natural_keys_never_change() -> None:
    drug, symptom = concept_key("Drug", "Aspirin"), concept_key("Symptom", "Headache")
    assert drug.hex() == "5749fa4e1027196c0c362cb51e3cd03de55e9841689501cc8b460ddf8c3d81f9"
    assert (
        link_key(drug, "treats", symptom).hex()
        == "8aa0ee13d5da60cfb1fef2c88a7ec34ef3996c1d74ef5100c5eaee1c2f02cd0b5749"
    )


def test_in_a_tree_the_links_of_one_subject_begin_alike() -> None:
    drug, other = concept_key("Drug", "Aspirin"), concept_key("Symptom", "Headache")
    links = [link_key(drug, name, other) for name in ("treats", "causes")]
    assert {tree_key(each)[:2] for each in links} == {drug[:2]}
    assert [tree_key(each)[2:] for each in links] == [each[:30] for each in links]
    assert tree_key(drug) == drug


def test_what_a_tree_holds_of_a_record_is_its_sha256() -> None:
    assert record_hash(EXAMPLE) == sha256(EXAMPLE).digest()


def test_natural_keys_tell_apart_what_reads_the_same_when_joined() -> None:
    keys = {
        concept_key("ab", "c"),
        concept_key("a", "bc"),
        concept_key("abc", ""),
        concept_key("", "abc"),
    }
    assert len(keys) == 4


@cases(
    ("weight", "stored"),
    [
        (0.9, 0.9),
        (0.1, 0.1),
        (0.3, 0.3),
        (0.7, 0.7),
        (1 / 3, 0.33333334),
        (0.123456789, 0.12345679),
        (0.1 + 0.2, 0.3),
        (0, 0.0),
        (1, 1.0),
        (0.5, 0.5),
        (-0.0, 0.0),
        (1e-50, 0.0),
        (1e-10, 1e-10),
        (0.99999999, 1.0),
        (0.9999999, 0.9999999),
        (np.float64(0.9), 0.9),
    ],
)
def test_a_weight_is_stored_as_the_shortest_decimal_of_its_32_bits(
    weight: float, stored: float
) -> None:
    kept = canonical_weight(weight)
    assert repr(kept) == repr(stored)
    assert struct.pack(">f", kept) == struct.pack(">f", weight + 0.0)
    assert repr(canonical_weight(kept)) == repr(kept)


@cases(
    "weight",
    [-0.1, 1.1, 2, -1, 1.0000001, -1e-300, 1e300, float("inf"), float("-inf"), float("nan")],
)
def test_a_weight_lies_between_0_and_1(weight: float) -> None:
    with pytest.raises(ConstraintViolation, match="not between 0 and 1"):
        canonical_weight(weight)


@pytest.mark.parametrize("weight", [10**400, -(10**400), 10**5000], ids=["+", "-", "unprintable"])
def test_an_integer_beyond_any_float_is_no_weight(weight: int) -> None:
    with pytest.raises(ConstraintViolation):
        canonical_weight(weight)


@cases("weight", [True, False, None, "0.9", b"1", [1], {}, Decimal("0.9"), 0.9j, np.float32(1)])
def test_a_weight_is_a_number(weight: object) -> None:
    with pytest.raises(InvalidValueType):
        canonical_weight(weight)


@cases("attributes", [{}, {"a": 1}])
@cases("metadata", [{}, {"source": "x"}])
@cases("number", [None, 3, 300])
def test_the_record_of_a_new_concept_is_that_of_any_concept(
    attributes: dict[str, Any], metadata: dict[str, Any], number: int | None
) -> None:
    content = in_record(attributes, metadata)
    recorder = Recorder(DAY_US + 1, "andrew")
    record = concept(
        type="T",
        name="n",
        attributes=attributes,
        metadata=metadata,
        created_us=DAY_US + 1,
        number=number,
    ).encode()
    for _ in range(2):
        made = recorder.concept("T", "n", content, number)
        assert made == (concept_key("T", "n"), record)
