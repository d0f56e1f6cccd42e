"""Costs and tokens of a traversal.

Sums of floats are inexact: 0.1 and 0.2 add up to more than 0.3, so two equal costs could differ by
the order of adding. A weight is therefore rounded to a whole number of billionths, and a cost is a
sum of these integers: sums are exact, and equal costs compare as equal. Callers see decimals.

Tokens are estimated at four characters each, without a tokenizer, so a budget means the same for
every model.
"""

from __future__ import annotations

from typing import Final

from mycel.errors import ConstraintViolation, InvalidValueType
from mycel.model.elements import Concept, Element
from mycel.model.limits import TRAVERSE_COST_MAX
from mycel.model.names import kind_of
from mycel.store.query.weighted_links import UNITS_PER_COST

TOKEN_CHARACTERS: Final = 4


def as_cost(units: int) -> float:
    """A cost as people read it.

    >>> as_cost(500_000_000), as_cost(100_000_000 + 200_000_000)
    (0.5, 0.3)
    """
    return units / UNITS_PER_COST


def as_units(cost: object) -> int:
    """The bound of a cost, as a whole number of units.

    Raises:
        InvalidValueType: the cost is no number.
        ConstraintViolation: the cost is less than 0, more than `TRAVERSE_COST_MAX`, or not finite.
    """
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        raise InvalidValueType(f"max_cost must be a number, not {kind_of(cost)}.")
    if not 0 <= cost <= TRAVERSE_COST_MAX:
        # Python refuses to convert an integer of more than some thousand digits to text.
        shown_cost = cost if abs(cost) < 1e18 or isinstance(cost, float) else "out of range"
        raise ConstraintViolation(
            f"max_cost is {shown_cost}; it must be between 0 and {TRAVERSE_COST_MAX:,}.",
            hint="A link costs its weight, from 0 to 1; an ordinary link costs 1.",
        )
    return round(cost * UNITS_PER_COST)


def tokens_of(element: Element) -> int:
    """About how many tokens an element takes when a model reads all of it."""
    if isinstance(element, Concept):
        name_length = len(element.type) + len(element.name)
    else:
        name_length = len(element.subject) + len(element.predicate) + len(element.object)
    characters = name_length + len(element.attributes_json) + len(element.metadata_json)
    return -(-characters // TOKEN_CHARACTERS)
