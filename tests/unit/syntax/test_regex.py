"""Patterns: what matches, and what is said about those that cannot be compiled."""

import subprocess
import sys

import pytest

from mycel.errors import InvalidSyntax, ResourceExhausted
from mycel.model.limits import PATTERN_BYTES_MAX
from mycel.syntax.regex import PATTERNS_CACHED_MAX, WORK_MAX, matcher
from tests.cases import cases


@cases(
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
def test_a_pattern_matches_anywhere_in_a_text(pattern: str, text: str, matches: bool) -> None:
    assert matcher(pattern)(text) is matches


@cases("pattern", ["(", "a{2,1}", r"(a)\1", "(?=a)", "[z-a]", "*", "a{1001}"])
def test_what_cannot_be_compiled_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidSyntax, match="cannot use the pattern") as caught:
        matcher(pattern)
    assert "RE2" in (caught.value.hint or "")


def test_a_pattern_that_invites_backtracking_takes_no_longer_than_others() -> None:
    assert not matcher("^(a+)+$")("a" * 50_000 + "b")


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
def test_no_pattern_takes_much_memory() -> None:
    script = """
import resource
from mycel.errors import MycelError
from mycel.syntax.regex import matcher
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
matcher("warm")("up")
before = peak()
for pattern in "(a?)" * 2000, "(a?)" * 50_000, r"\\pL" * 2700:
    try:
        print(matcher(pattern)("ab" * 5000))
    except MycelError as error:
        print(error.code)
print(peak() - before)
"""
    said = subprocess.check_output([sys.executable, "-c", script], text=True, timeout=60)
    *answers, megabytes = said.split()
    assert answers == ["True", "KIP_4002", "KIP_4002"]
    assert int(megabytes) < 128


def test_what_is_too_large_is_refused_with_a_limit() -> None:
    assert matcher("é" * (PATTERN_BYTES_MAX // 2))("e") is False
    for pattern in (
        "é" * (PATTERN_BYTES_MAX // 2) + "x",
        "a{1000}" * 200,
        "(?i)\\pL{1000}",
    ):
        with pytest.raises(ResourceExhausted) as caught:
            matcher(pattern)
        assert caught.value.hint
        assert len(caught.value.message) < 300


def test_a_large_pattern_takes_short_texts_only() -> None:
    matches = matcher("^.{0,1000}$")
    assert matches("é" * 1000)
    assert not matches("é" * 1001)
    with pytest.raises(ResourceExhausted, match="too long for the pattern"):
        matches("a" * (WORK_MAX // 9000))
    assert matcher("b$")("a" * 1_000_000 + "b")


def test_patterns_are_kept_up_to_a_bound() -> None:
    for n in range(PATTERNS_CACHED_MAX + 50):
        matcher(f"pattern {n}")
    assert matcher.cache_info().currsize == PATTERNS_CACHED_MAX
