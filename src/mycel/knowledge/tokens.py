"""About how many tokens a text has: what budgets of results are counted in."""

from __future__ import annotations

from mycel.graph.costs import TOKEN_CHARACTERS


def estimate(text: str) -> int:
    """About how many tokens a model counts in a text; an empty one has none.

    >>> estimate(""), estimate("word"), estimate("a longer sentence")
    (0, 1, 5)
    """
    return -(-len(text) // TOKEN_CHARACTERS)
