"""The Arrow schema of a type."""

import sys

import pyarrow as pa
import pytest

from mycel.errors import NotFound, TypeMismatch
from mycel.schema import load
from tests.cases import cases

SCALARS = {
    "String": pa.utf8(),
    "Blob": pa.large_binary(),
    "Bool": pa.bool_(),
    "I32": pa.int32(),
    "I64": pa.int64(),
    "U32": pa.uint32(),
    "U64": pa.uint64(),
    "F32": pa.float32(),
    "F64": pa.float64(),
    "Date": pa.date32(),
    "DateTime": pa.date64(),
    "enum(a, b)": pa.utf8(),
    "[I32]": pa.list_(pa.field("item", pa.int32())),
    "[String]": pa.list_(pa.field("item", pa.utf8())),
    "Vector(3)": pa.list_(pa.field("item", pa.float32()), 3),
}


@cases(("type_", "arrow"), SCALARS.items())
def test_every_type_of_values_has_its_arrow_type(type_: str, arrow: pa.DataType) -> None:
    schema = load(f"node P {{ a: {type_} b: {type_}? }}").arrow("P")
    assert schema.field("a") == pa.field("a", arrow, nullable=False)
    assert schema.field("b") == pa.field("b", arrow, nullable=True)


def test_a_node_has_an_id_and_then_its_properties_in_their_order() -> None:
    catalog = load("interface I { z: I32 } node P implements I { b: I32 a: I32 }")
    assert catalog.arrow("P").names == ["id", "b", "a", "z"]
    assert catalog.arrow("P").field("id") == pa.field("id", pa.utf8(), nullable=False)


def test_an_edge_has_an_id_its_ends_and_then_its_properties() -> None:
    schema = load("node P {} edge Knows: P -> P { since: Date }").arrow("KNOWS")
    assert schema.names == ["id", "src", "dst", "since"]
    assert {each.type for each in list(schema)[:3]} == {pa.utf8()}


def test_a_type_that_has_no_rows_is_refused() -> None:
    catalog = load("interface Named {} node Person implements Named {}")
    with pytest.raises(TypeMismatch, match="interface"):
        catalog.arrow("Named")
    with pytest.raises(TypeMismatch) as caught:
        catalog.arrow("Persn")
    assert caught.value.hint == "Did you mean 'Person'?"


def test_without_pyarrow_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(NotFound) as caught:
        load("node P {}").arrow("P")
    assert ".[arrow]" in caught.value.hint
