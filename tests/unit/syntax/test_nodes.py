"""Nodes behave like slotted dataclasses that compare by their fields."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

from mycel.syntax.nodes import node


@node
class Leaf:
    """A node with a place that does not count."""

    name: str
    children: tuple[Leaf, ...] = ()
    place: int = field(default=0, compare=False, repr=False)


@node
class Other:
    """The same fields, another kind."""

    name: str
    children: tuple[Leaf, ...] = ()


@node
class Bare:
    """A node that has only a place."""

    place: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    children: tuple[Any, ...] = ()
    place: int = field(default=0, compare=False, repr=False)


def test_nodes_compare_by_what_they_say() -> None:
    assert Leaf("a", (Leaf("b"),), 3) == Leaf("a", (Leaf("b", place=9),))
    assert Leaf("a") != Leaf("b")
    assert Bare(1) == Bare(2)
    others: list[object] = [Other("a"), ("a", ()), Bare(), None]
    assert Leaf("a") not in others


def test_equal_nodes_have_equal_hashes() -> None:
    assert {Leaf("a", place=1), Leaf("a", place=2), Bare(1), Bare(2)} == {Leaf("a"), Bare()}


def test_nodes_show_themselves_as_dataclasses_do() -> None:
    shown = repr(Leaf("a", (Leaf("b"),), 3))
    assert shown == "Leaf(name='a', children=(Leaf(name='b', children=()),))"
    assert shown.replace("Leaf", "Plain") == repr(Plain("a", (Plain("b"),), 3))


def test_nodes_have_no_place_for_other_fields() -> None:
    with pytest.raises(AttributeError, match="extra"):
        Leaf("a").extra = 1  # type: ignore[attr-defined]


def test_nodes_are_dataclasses_to_everybody_else() -> None:
    leaf = Leaf("a", place=3)
    assert is_dataclass(leaf)
    assert [each.name for each in fields(leaf)] == ["name", "children", "place"]
    assert replace(leaf, name="b") == Leaf("b")
    assert replace(leaf, name="b").place == 3
    match leaf:
        case Leaf(name, children):
            assert (name, children) == ("a", ())
        case _:
            pytest.fail("A node matches its own class.")


def test_nodes_can_be_copied_and_pickled() -> None:
    leaf = Leaf("a", (Leaf("b"),), 3)
    for again in (copy.copy(leaf), copy.deepcopy(leaf), pickle.loads(pickle.dumps(leaf))):
        assert again == leaf
        assert again.place == 3


def test_a_missing_field_is_named() -> None:
    with pytest.raises(TypeError, match=r"Leaf\.__init__\(\).*name"):
        Leaf()  # type: ignore[call-arg]
