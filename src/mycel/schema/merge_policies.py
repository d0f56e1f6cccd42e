"""The policies of `@merge`, by which a merge of branches chooses between two values of a property.

A new policy is a name in `MergePolicy`. The type checker then asks for the types that it fits, and
for its choice in `by_policy` of `history.merge.rules`.
"""

from __future__ import annotations

from typing import Final, Literal, assert_never, get_args

from mycel.schema.scalars import NUMERIC, ORDERED, SCALARS, Scalar, scalar_words

MergePolicy = Literal["set", "max", "min", "counter", "newest", "ask"]
MERGE_POLICIES: Final[tuple[MergePolicy, ...]] = get_args(MergePolicy)


def policy_of(word: object) -> MergePolicy | None:
    """The policy with this name; None if there is none."""
    return next((policy for policy in MERGE_POLICIES if policy == word), None)


def merge_fits(policy: MergePolicy, scalar: Scalar, *, is_list: bool) -> bool:
    """True if a policy can decide between values of a type."""
    match policy:
        case "set":
            return is_list
        case "counter":
            return not is_list and scalar in NUMERIC
        case "max" | "min":
            return not is_list and scalar in ORDERED
        case "newest" | "ask":
            return True
        case _:
            assert_never(policy)


def fitting_types(policy: MergePolicy) -> str:
    """The types that a policy is for, in words."""
    match policy:
        case "set":
            return "lists"
        case "counter":
            return "numbers"
        case "max" | "min":
            return f"numbers, {scalar_words(ORDERED - NUMERIC)}"
        case "newest" | "ask":
            return "all values"
        case _:
            assert_never(policy)


def _is_general(policy: MergePolicy) -> bool:
    """True if a policy fits values of all types."""
    return all(
        merge_fits(policy, scalar, is_list=is_list)
        for scalar in SCALARS
        for is_list in (False, True)
    )


GENERAL_WORDS: Final = ("ours", "theirs", *filter(_is_general, MERGE_POLICIES))
"""The words that a caller may use for any value: sides and policies."""
SPECIAL_WORDS: Final = tuple(policy for policy in MERGE_POLICIES if not _is_general(policy))
"""The policies for values of some types only."""
