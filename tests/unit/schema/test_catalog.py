"""What a catalog answers."""

from dataclasses import FrozenInstanceError, replace

import pytest

from mycel.schema import Catalog, Dropped, load

TEXT = "interface Named {} node Person {} edge WorksAt: Person -> Person"


def test_types_are_found_by_name_and_edges_whatever_the_case() -> None:
    catalog = load(TEXT)
    assert catalog.node("Person") is catalog.type("Person") is catalog.nodes["Person"]
    assert catalog.edge("worksat") is catalog.type("WORKSAT") is catalog.edges["WorksAt"]
    assert catalog.interface("Named") is catalog.type("Named")
    assert [each.name for each in catalog.types] == ["Named", "Person", "WorksAt"]


def test_names_that_are_not_there_are_not_found() -> None:
    catalog = load(TEXT)
    assert catalog.node("person") is None
    assert catalog.node("Named") is None
    assert catalog.edge("Person") is None
    assert catalog.type("Nobody") is None


def test_the_empty_catalog_is_that_of_an_empty_text() -> None:
    assert Catalog() == load("")
    assert Catalog() != load(TEXT)
    assert list(Catalog().types) == []


def test_what_was_dropped_does_not_count_in_comparisons() -> None:
    catalog = load(TEXT)
    assert replace(catalog, dropped=(Dropped("node", "Gone"),)) == catalog


def test_the_same_shape_may_have_other_numbers() -> None:
    catalog = load("node P { a: I32 }")
    node = catalog.nodes["P"]
    renumbered = replace(
        node, type_id=7, properties=tuple(replace(each, prop_id=8) for each in node.properties)
    )
    other = Catalog(nodes={"P": renumbered})
    assert other.same_shape(catalog)
    assert catalog.same_shape(catalog)
    assert other.ir() != catalog.ir()
    assert other.ir_hash != catalog.ir_hash
    assert not load("node P { a: I64 }").same_shape(catalog)


def test_a_catalog_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        load(TEXT).nodes = {}  # type: ignore[misc]
