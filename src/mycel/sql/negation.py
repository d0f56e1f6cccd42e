"""NOT of one link from a given element: tested row by row, or against a set.

`(?a, "knows", ?b) (?b, "knows", ?c) NOT { (?a, "knows", ?c) }` with a given `?a` tests for many
`?c` whether `?a` is linked to them. If `?a` has few links, each test is a look-up. For a hub it is
faster to collect all its targets once and test against that set; but if there are few tests,
collecting the targets can take a thousand times as long as the look-ups.

The set is therefore used only if the block reads the same links anyway, and the statement itself
decides, by counting the links up to a bound.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from mycel.ir import query as ir
from mycel.sql.scope import Cell, Scope

FEW: Final = 16
"""Elements with up to this many links are tested link by link."""


class Fan(NamedTuple):
    """All links with a predicate that leave, or lead to, one element that constants determine."""

    side: Literal["subject", "object"]
    ground: str
    predicate: int

    def lacks(self, end: Cell, predicate: str, not_exists: str) -> str:
        """The test that an element is not at the other end of these links.

        `predicate` is the placeholder of the predicate's number; `not_exists` is the test of one
        link.
        """
        far = "object" if self.side == "subject" else "subject"
        links = f"proposition q WHERE q.{self.side} = {self.ground} AND q.predicate = {predicate}"
        count = f"SELECT count(*) FROM (SELECT 1 FROM {links} LIMIT {FEW + 1}) f"
        among = f"{end.number} NOT IN (SELECT q.{far} FROM {links})"
        return f"CASE WHEN ({count}) > {FEW} THEN {among} ELSE {not_exists} END"


def fans_of(atom: ir.LinkAtom, subject: Cell | None, object_: Cell | None) -> tuple[Fan, ...]:
    """The fan whose links a pattern reads; none if more than one end restricts the pattern."""
    match atom.predicates, subject, object_:
        case (int() as predicate,), Cell(ground=str() as ground), None:
            return (Fan("subject", ground, predicate),)
        case (int() as predicate,), None, Cell(ground=str() as ground):
            return (Fan("object", ground, predicate),)
        case _:
            return ()


def gathered(block: ir.Block, scope: Scope, fans: set[Fan]) -> tuple[Fan, Cell] | None:
    """The links against which a NOT can be tested as a set, and the element that is tested."""
    match block:
        case ir.Block(atoms=(ir.LinkAtom(mirrored=(), predicate_variable=None) as atom,)) if not (
            block.optionals or block.conditions or block.independent or atom.link in scope
        ):
            subject, object_ = scope.get(atom.subject), scope.get(atom.object)
        case _:
            return None
    for fan in (*fans_of(atom, subject, None), *fans_of(atom, None, object_)):
        end = object_ if fan.side == "subject" else subject
        if fan in fans and end is not None and end.is_present:
            return fan, end
    return None
