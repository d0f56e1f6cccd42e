"""Every word of a policy decides between values that it fits, and is told to callers."""

from __future__ import annotations

import mycel
from mycel.history.merge.rules import WORDS, Evidence, by_policy
from mycel.history.merge.values import Contest
from mycel.schema.merge_policies import GENERAL_WORDS, MERGE_POLICIES
from mycel.store.query.origins import Origin

VALUES = ((1, 2, 3), ("a", "b", "c"), ([1], [1, 2], [1, 3]))
"""A base and the values of two sides, of several types."""


def test_every_word_decides_between_some_values() -> None:
    assert set(WORDS) == {*MERGE_POLICIES, "ours", "theirs"}
    evidence = tuple(Evidence({}, frozenset(), "", lambda at=at: Origin(at, "")) for at in range(2))
    decided = {
        word: [
            by_policy(Contest("value", ("k",), *values), word, word, evidence) for values in VALUES
        ]
        for word in WORDS
    }
    assert not any(decided.pop("ask"))
    for word, verdicts in decided.items():
        # A general word decides between all values, a special one between those of its type.
        assert (all if word in GENERAL_WORDS else any)(verdicts), word


def test_the_documentation_of_merge_names_the_general_words() -> None:
    assert all(f'"{word}"' in (mycel.Graph.merge.__doc__ or "") for word in GENERAL_WORDS)
