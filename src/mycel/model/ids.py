"""Ids: `C:12` and `P:13:treats` outside, integers inside.

Concepts and propositions share one space of 64-bit integers: concepts are even, propositions odd.
So a subject or object column needs no column that says which table it points into, both tables
grow at their right edge (negative numbers for one of them made the file 1.6 times larger), and the
number in the file is the number people see.
"""

from __future__ import annotations

import re

from mycel.errors import InvalidId
from mycel.model.limits import INTEGER_MAX
from mycel.model.names import shown

FIRST_CONCEPT = 2
FIRST_PROPOSITION = 1
ID_STEP = 2

_CONCEPT = re.compile(r"C:([1-9][0-9]{0,18})", re.ASCII)
_PROPOSITION = re.compile(r"P:([1-9][0-9]{0,18}):\$?[A-Za-z_][A-Za-z0-9_]{0,254}", re.ASCII)


def is_concept(number: int) -> bool:
    """Whether an inner id is a concept's.

    >>> is_concept(12), is_concept(13)
    (True, False)
    """
    return not number & 1


def concept_id(number: int) -> str:
    """The outer id of a concept."""
    return f"C:{number}"


def proposition_id(number: int, predicate: str) -> str:
    """The outer id of a proposition."""
    return f"P:{number}:{predicate}"


def parse_id(text: object) -> int:
    """The inner id of either kind of element.

    Raises:
        InvalidId: it is no id at all, or a number of the other kind.
    """
    if isinstance(text, str):
        digits = text[2:]
        if text[:2] == "C:" and digits.isdecimal() and digits.isascii() and len(digits) < 19:
            number = int(digits)  # The usual case, without a regular expression.
            if number and not number & 1 and digits[0] != "0":
                return number
        elif found := _CONCEPT.fullmatch(text):
            number = int(found[1])
            if is_concept(number) and number <= INTEGER_MAX:
                return number
        elif found := _PROPOSITION.fullmatch(text):
            number = int(found[1])
            if not is_concept(number) and number <= INTEGER_MAX:
                return number
    raise InvalidId(
        f"{shown(text)} is not the id of a concept or proposition.",
        hint="Ids look like C:12 (concepts have even numbers) and P:13:predicate (odd ones).",
    )


def parse_concept_id(text: object) -> int:
    """The inner id of a concept; a proposition's id is refused."""
    number = parse_id(text)
    if not is_concept(number):
        raise InvalidId(f"{shown(text)} is a proposition's id; a concept's is needed here.")
    return number


def parse_proposition_id(text: object) -> int:
    """The inner id of a proposition; a concept's id is refused."""
    number = parse_id(text)
    if is_concept(number):
        raise InvalidId(f"{shown(text)} is a concept's id; a proposition's is needed here.")
    return number
