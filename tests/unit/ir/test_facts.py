"""What can be told of a query without running it."""

from __future__ import annotations

from mycel.ir import query as ir
from mycel.ir.facts import atom_variables, block_variables, condition_variables, is_determined
from tests.cases import cases

TOWN = ir.ConceptAtom("town", 3)
ULM = ir.ConceptAtom("#1", 3, ir.Constant("Ulm", "text"))
LINK = ir.LinkAtom("#2", "town", "#1", (64,))
NOBODY: frozenset[str] = frozenset()


def block(*atoms: ir.Atom, optionals: tuple[ir.Optional, ...] = ()) -> ir.Block:
    names = frozenset(name for atom in atoms for name in atom_variables(atom) if ir.is_named(name))
    return ir.Block(atoms, optionals, binds=names)


@cases(
    ("atom", "variables"),
    [
        (TOWN, ("town",)),
        (ir.LinkByNumber("l", ir.Constant(1, "number"), ir.Constant("near", "text")), ("l",)),
        (ir.LinkAtom("l", "s", "o", None, "p"), ("l", "s", "o", "p")),
        (ir.WalkAtom("s", "o", 64, 1, 3), ("s", "o")),
        (ir.WalkAtom("s", "o", 64, 1, None, link="l"), ("s", "o", "l")),
    ],
)
def test_an_atom_tells_its_variables(atom: ir.Atom, variables: tuple[str, ...]) -> None:
    assert atom_variables(atom) == variables


def test_a_condition_tells_the_variables_of_blocks_inside_it() -> None:
    deep = ir.Not(ir.Exists((block(TOWN, LINK),)))
    name, one = ir.Field("x", ("name",)), ir.Constant(1, "number")
    either = ir.Or((ir.Compare("==", name, one), ir.And((ir.IsNull(ir.Field("y")), deep))))
    assert condition_variables(either) == {"x", "y", "town", "#1", "#2"}
    assert condition_variables(ir.Never()) == NOBODY
    assert condition_variables(ir.In(name, ir.Constant("[1]", "numbers"))) == {"x"}
    optional = ir.Optional((block(ULM),))
    assert block_variables(block(TOWN, optionals=(optional,))) == {"town", "#1"}


@cases(
    ("atoms", "known", "determined"),
    [
        ([TOWN], {"town"}, True),
        ([TOWN, LINK, ULM], {"town"}, True),
        ([TOWN, LINK], {"town"}, False),
        ([ir.LinkAtom("#2", "town", "#1", (64, 65)), ULM], {"town"}, False),
        ([ir.LinkAtom("#2", "town", "#1", (64,), mirrored=(64,)), ULM], {"town"}, False),
        ([ir.LinkAtom("l", "#3", "#4", (64,))], {"l"}, True),
        ([ir.LinkAtom("l", "#3", "#4", (64,), mirrored=(64,))], {"l"}, False),
        ([ir.LinkAtom("#2", "town", "other", None, "p")], {"town", "other", "p"}, True),
        ([ir.LinkAtom("#2", "town", "other", None, "p")], {"town", "other"}, False),
        ([ir.WalkAtom("town", "#1", 64, 1, 3), ULM], {"town"}, True),
        ([ir.WalkAtom("town", "#1", 64, 1, 3)], {"town"}, False),
        ([ir.ConceptAtom("#1", None, ir.Constant("Ulm", "text"))], set(), False),
        ([ir.ConceptAtom("#1", None, None, ir.Constant(2, "number"))], set(), True),
    ],
)
def test_rows_need_no_comparing_where_everything_follows_from_the_solution(
    atoms: list[ir.Atom], known: set[str], determined: bool
) -> None:
    assert is_determined(block(*atoms), frozenset(known)) is determined


def test_an_optional_must_follow_too() -> None:
    firm, loose = ir.Optional((block(ULM),)), ir.Optional((block(ULM), block(ULM)))
    assert is_determined(block(TOWN, optionals=(firm,)), frozenset({"town"}))
    assert not is_determined(block(TOWN, optionals=(loose,)), frozenset({"town"}))
