"""Patterns: what matches, and what is said about those that cannot be compiled."""

import pytest

from mycel.errors import InvalidSyntax
from mycel.syntax.regex import compiled, matcher


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("b+", "abbc", True),
        ("^b+$", "abbc", False),
        ("^b+$", "bb", True),
        ("^b+$", "bb\n", False),
        ("^.$", "é", True),
        ("^.$", "猫", True),
        ("", "", True),
        ("(a)(b)?", "xa", True),
        ("x", "", False),
    ],
)
def test_a_matcher_says_what_a_search_finds(pattern: str, text: str, matches: bool) -> None:
    assert matcher(pattern)(text) is matches
    assert (compiled(pattern).search(text) is not None) is matches


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "(?=a)", "\\1"])
def test_what_cannot_be_compiled_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidSyntax, match="cannot use the pattern"):
        matcher(pattern)


def test_a_pattern_that_invites_backtracking_takes_no_longer_than_others() -> None:
    assert not matcher("^(a+)+$")("a" * 50_000 + "b")
