"""Ids: `C:12` and `P:13:treats` outside, integers inside.

Concepts and links share one space of 64-bit integers: concepts are even, links odd. A subject or
object thus needs no second column for its table, both tables grow at their right edge (negative
numbers for one of them made the file 1.6 times larger), and the number in the file is the number
that people see.
"""

from __future__ import annotations

import re

from mycel.errors import InvalidId
from mycel.model.limits import INTEGER_MAX
from mycel.model.names import quote_value

FIRST_CONCEPT = 2
FIRST_LINK = 1
ID_STEP = 2

NO_CONCEPT = 0
NO_LINK = -1
"""Numbers that no element ever has. They stand for well-formed ids that are never given out."""

_CONCEPT = re.compile(r"C:([0-9]+)", re.ASCII)
_PROPOSITION = re.compile(r"P:([0-9]+):\$?[A-Za-z_][A-Za-z0-9_]{0,254}", re.ASCII)


def is_concept(number: int) -> bool:
    """True if an inner id belongs to a concept.

    >>> is_concept(12), is_concept(13)
    (True, False)
    """
    return not number & 1


def concept_id(number: int) -> str:
    """The outer id of a concept."""
    return f"C:{number}"


def link_id(number: int, predicate: str) -> str:
    """The outer id of a link."""
    return f"P:{number}:{predicate}"


def parse_id(text: object) -> int:
    """The inner id of either kind of element.

    Every id of the right form is accepted. If the store never gives out its number, the result is
    `NO_CONCEPT` or `NO_LINK`, which no element has.

    >>> parse_id("C:12"), parse_id("C:13"), parse_id("P:12:treats")
    (12, 0, -1)

    Raises:
        InvalidId: the text is no id.
    """
    if isinstance(text, str):
        if match := _CONCEPT.fullmatch(text):
            number = _number(match[1])
            return number if is_concept(number) else NO_CONCEPT
        if match := _PROPOSITION.fullmatch(text):
            number = _number(match[1])
            return NO_LINK if is_concept(number) else number
    raise InvalidId(
        f"{quote_value(text)} is not the id of a concept or proposition.",
        hint="Ids look like C:12 for a concept and P:13:predicate for a link.",
    )


def _number(digits: str) -> int:
    """The number of these digits; 0 if the store would write the number differently."""
    number = int(digits) if len(digits) < 20 and digits[0] != "0" else 0
    return number if number <= INTEGER_MAX else 0


def parse_concept_id(text: object) -> int:
    """The inner id of a concept; a link's id is refused."""
    number = parse_id(text)
    if not is_concept(number):
        raise InvalidId(f"{quote_value(text)} is a proposition's id; a concept's is needed here.")
    return number


def parse_link_id(text: object) -> int:
    """The inner id of a link; a concept's id is refused."""
    number = parse_id(text)
    if is_concept(number):
        raise InvalidId(f"{quote_value(text)} is a concept's id; a proposition's is needed here.")
    return number
