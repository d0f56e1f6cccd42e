"""The fit of an element to a question by its names and words; `weights` has the scores.

    name       a full name of the element is the question
    alias      one of its aliases is
    segment    the end of its path is: the last segment, or a qualified name (`json.dumps`); with
               segments left out between (`urls.reverse`) it is worth a little less
    spelling   its name is the question but for spaces, marks and the suffix of a file: `query set`
               for `QuerySet`, `cart` for `cart.py`
    beginning  its name begins with the question; the more of the name it is, the higher
    parts      all words of the question are parts of its name; likewise
    words      its text has words of the question: the share of them that it has, times a half to
               one for its BM25 score, beside the most that the question could reach
    stems      the same where a word only begins like the last word of the question

A match gives a score between its least and its most, and an element has the best score of its
matches. Tests, generated and vendored files have less (`ASIDE_FACTOR`), unless the question is
about tests. So every score is between 0 and 1, and means the same for every question. Elements with
the same score are ordered: exact spelling of the question first, then more incoming links, then the
older element. The text of changelogs, and of comments at the start of modules, counts a little less
than that of other documents (`RECORD_FACTOR`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from mycel.search.question import Question
from mycel.search.weights import (
    ASIDE_FACTOR,
    ASIDE_TEXT_FACTOR,
    COVERED,
    HALF_REACHED,
    MATCH_SCORES,
    RECORD_FACTOR,
    Match,
)
from mycel.text.kinds import MODULE_SLUG
from mycel.text.names import ElementNames, Standing, called, folded, key, parts, squeeze


class Fit(NamedTuple):
    """The fit of a concept to a question, by its names and its text."""

    score: float
    is_named: bool
    """True if a name fits, and not only the text."""
    same_case: bool
    """True if a name has exactly the spelling of the question."""


def fit_names(question: Question, name: str, attributes: Mapping[str, Any], words: float) -> Fit:
    """The fit of a concept; `words` is the score of its text."""
    names = called(name, attributes)
    match, share = _name_match(question, names) if _may_be_named(question, names) else (None, 0.0)
    score = words if match is None else max(words, MATCH_SCORES[match].score(share))
    if names.standing is Standing.ASIDE and not question.is_about_tests:
        score *= ASIDE_TEXT_FACTOR if match is None else ASIDE_FACTOR
    elif match is None and not question.is_about_releases and _is_of_record(names):
        score *= RECORD_FACTOR
    same_case = question.text in names.names or question.text.endswith(names.segments[-1])
    return Fit(score, match is not None, same_case)


def _is_of_record(names: ElementNames) -> bool:
    """True for a section of a changelog, and for the comment that a module begins with."""
    *files, last = names.pieces
    if last == MODULE_SLUG:
        return True
    return bool(files) and "changelog" in (file.partition(".")[0].lower() for file in files)


def score_words(
    matched: Mapping[int, tuple[float, float]], usual: float, match: Literal["words", "stems"]
) -> dict[int, float]:
    """The scores of elements by number, from the share of terms and the BM25 score of each.

    `usual` is the BM25 score of a text of ordinary length that has each term once. A score never
    depends on other hits, so a filter changes no score.
    """
    return {
        number: MATCH_SCORES[match].score(
            share * (COVERED + (1 - COVERED) * _part(max(bm25, 0.0), usual))
        )
        for number, (share, bm25) in matched.items()
    }


def _part(bm25: float, usual: float) -> float:
    return bm25 / (bm25 + HALF_REACHED * usual) if bm25 else 0.0


def _may_be_named(question: Question, names: ElementNames) -> bool:
    """True if the names contain all parts of a question; a cheap check before the matches."""
    squeezed = squeeze(" ".join((*names.names, *names.pieces, *names.aliases)))
    return all(part in squeezed for part in question.parts)


def _name_match(question: Question, names: ElementNames) -> tuple[Match | None, float]:
    """The best match of names with a question, and its share."""
    if any(folded(name) == question.folded for name in names.names):
        return "name", 1.0
    if any(folded(alias) == question.folded for alias in names.aliases):
        return "alias", 1.0
    share = _by_segments(question, names)
    if share is not None:
        return "segment", share
    titles = names.titles
    if question.key and any(key(title) == question.key for title in (*titles, names.segments[-1])):
        return "spelling", 1.0
    return max(
        ((match, share) for title in titles for match, share in _partly(question, title)),
        key=lambda pair: pair[1],
        default=(None, 0.0),
    )


def _by_segments(question: Question, names: ElementNames) -> float | None:
    """1 if a path ends with the question, 0 if only with segments left out, None otherwise."""
    if question.folded == folded(names.pieces[-1]):
        return 1.0
    *outer, last = question.segments or ("",)
    if not outer:
        return None
    for form in (names.segments, names.pieces):
        keys = [key(segment) for segment in form]
        if any("".join(keys[-count:]) == question.key for count in range(2, len(keys) + 1)):
            return 1.0
        if keys[-1] == last and _in_order(outer, keys[:-1]):
            return 0.0
    return None


def _in_order(pieces: Sequence[str], among: Sequence[str]) -> bool:
    rest = iter(among)
    return all(part in rest for part in pieces)


def _partly(question: Question, title: str) -> Iterator[tuple[Match, float]]:
    name = folded(title)
    if question.folded and name.startswith(question.folded):
        yield "beginning", len(question.folded) / len(name)
    own = frozenset(parts(title))
    if question.parts and question.parts <= own:
        yield "parts", sum(map(len, question.parts)) / sum(map(len, own))
