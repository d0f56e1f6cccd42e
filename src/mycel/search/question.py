"""A question, analysed once: its words, its key, and the path that it may be."""

from __future__ import annotations

from typing import Final
from unicodedata import normalize

from mycel.text.analysis import QUESTION_CHARACTERS_MAX, terms_of
from mycel.text.names import folded, key, parts, segments_asked

TERMS_MAX: Final = 16
"""The maximum number of words of a question that are used: the longest ones, which are the most
specific."""

_ABOUT_TESTS: Final = frozenset(("test", "tests", "testing", "tested"))
_ABOUT_RELEASES: Final = frozenset(
    ("version", "versions", "release", "releases", "released", "changelog", "changed", "since")
)


class Question:
    """A question in the forms that the parts of a search need."""

    def __init__(self, text: str) -> None:
        text = " ".join(normalize("NFC", text[:QUESTION_CHARACTERS_MAX]).split())
        self.text = text.encode(errors="ignore").decode().replace("\0", "")
        self.folded = folded(self.text)
        self.key = key(self.text)
        self.segments = segments_asked(self.text)
        terms = terms_of(self.text)
        self.parts = frozenset(parts(" ".join(terms)))
        if len(terms) > TERMS_MAX:
            terms = sorted(terms, key=lambda term: -len(term))[:TERMS_MAX]
        self.terms = terms
        self.is_about_releases = not self.parts.isdisjoint(_ABOUT_RELEASES)
        self.is_about_tests = not self.parts.isdisjoint(_ABOUT_TESTS)

    def keys(self) -> set[str]:
        """The keys of names that may equal the question."""
        return {text for text in (self.key, *self.segments[-1:]) if text}
