"""Mentions: known concepts that texts name, from the corpus of search.

Mentions are derived and not stored as links, so they follow every rename, new alias and new
concept. A name that several concepts have is no mention of any of them. A symbol or file of several
parts, such as `set_idx`, `ImportMode` or `build.ts`, is mentioned only in its exact spelling: "new
route" and `new().route()` are not `new_route`. A single word such as `access` or `Result` means one
only if the text marks it as code, in backquotes, alone or within a path. A folder and a section are
mentioned by names of several words that say something; a section only in other documents. A name
that is a mere number or letter is no mention: "30 days" is not the node `30`. A node does not
mention a node of which it is a part.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from time import monotonic
from typing import Final

import numpy as np

from mycel.embedding.embedder import NotReadyError
from mycel.errors import EmbedderFailed
from mycel.model.elements import Concept
from mycel.search.index.corpus import Corpus
from mycel.search.index.passages import prose
from mycel.search.index.phrases import LITTLE_WORDS
from mycel.search.index.search_index import SearchIndex
from mycel.store.query import lookup
from mycel.store.query.reader import Reader
from mycel.text.kinds import DIRECTORY, is_code, is_document, is_section
from mycel.text.names import called, parts

_MARKED: Final = re.compile(r"`([^`\n]+)`")
_WORD: Final = re.compile(r"\w+")
_EVERYWHERE: Final = frozenset(
    (
        *("self", "this", "result", "option", "none", "some", "ok", "err", "error", "true"),
        *("false", "null", "string", "number", "object", "array", "list", "map", "new", "get"),
        *("set", "value", "key", "name", "type", "id", "data", "main", "test"),
    )
)
"""Words of code that are too common to name a symbol."""

WAIT_S: Final = 5.0
"""If deriving takes longer, a thread does it; until it is done, no mentions are known."""

SCANNED_MAX: Final = 1_000
"""The number of newest texts that are checked for mentions without a link."""


def mentioned(reader: Reader, index: SearchIndex, number: int, limit: int) -> list[int]:
    """Concepts that the text of a concept mentions, the rarest names first."""
    corpus = _corpus(reader, index)
    return [] if corpus is None else mentioned_in(reader, corpus, number, limit)


def mentioned_in(reader: Reader, corpus: Corpus, number: int, limit: int) -> list[int]:
    """Concepts of a corpus that the text of a concept mentions, the rarest names first."""
    return list(islice(_plausible_mentions(reader, number, _mentioned(corpus, number)), limit))


def unlinked(reader: Reader, index: SearchIndex, limit: int) -> list[tuple[int, int]]:
    """Pairs of concepts, the first of which mentions the second, without a link between them.

    The newest texts come first.
    """
    corpus = _corpus(reader, index)
    pairs: list[tuple[int, int]] = []
    if corpus is None:
        return pairs
    for number in np.sort(corpus.numbers[corpus.alive])[::-1][:SCANNED_MAX].tolist():
        if others := list(_plausible_mentions(reader, number, _mentioned(corpus, number))):
            linked = {
                around.other for around in lookup.links_around(reader, number, None, SCANNED_MAX)
            }
            pairs += [(number, other) for other in others if other not in linked]
        if len(pairs) >= limit:
            break
    return pairs[:limit]


def _plausible_mentions(reader: Reader, number: int, others: Sequence[int]) -> Iterator[int]:
    """The mentions among these that a reader of the text would accept as mentions."""
    concept = reader.concept(number) if others else None
    if concept is None:
        return
    text = " ".join((concept.name, prose(concept.attributes)))
    marked = _marked_words(text)
    elements = reader.elements(others)
    for candidate in others:
        other = elements.get(candidate)
        if isinstance(other, Concept) and _is_meant(concept.name, text, marked, other):
            yield candidate


def _is_meant(name: str, text: str, marked: Collection[str], other: Concept) -> bool:
    """True if a node, given by name, text and words marked as code, mentions another one."""
    attributes = other.attributes
    if name.startswith(f"{other.name}/"):
        return False
    if is_section(other.type, attributes):
        document, _, heading = other.name.rpartition("/")
        words = [word for word in parts(heading) if word[0].isalpha() and word not in LITTLE_WORDS]
        return len(words) > 1 and not name.startswith(f"{document}/")
    if is_document(other.type, attributes):
        aliases = called(other.name, attributes).aliases
        if any(_has_word(text, alias) for alias in aliases):
            return True
    elif not is_code(other.type, attributes):
        titles = called(other.name, attributes).titles
        telling = [title for title in titles if _is_telling(title)]
        return len(telling) == len(titles) or _has_all_words(text, telling)
    titles = called(other.name, attributes).titles
    if attributes.get("node_type") == DIRECTORY:
        return any(len(parts(title)) > 1 for title in titles)
    return any(
        title in marked or (len(parts(title)) > 1 and _has_word(text, title)) for title in titles
    )


def _is_telling(title: str) -> bool:
    """True for a name that says something in a text: not a mere number or letter."""
    return any(map(str.isalpha, title)) and (len(title) > 1 or not title.isascii())


def _has_all_words(text: str, titles: Sequence[str]) -> bool:
    """True if a text has all words of one of these titles."""
    words = set(_WORD.findall(text.casefold()))
    return any(words.issuperset(_WORD.findall(title.casefold())) for title in titles)


def _has_word(text: str, word: str) -> bool:
    """True if a text has a word in exactly this spelling, and not as a part of a longer word.

    >>> _has_word("It calls new_route.", "new_route"), _has_word("renew_routes", "new_route")
    (True, False)
    """
    at = text.find(word)
    while at >= 0:
        around = text[at - 1 : at] + text[at + len(word) : at + len(word) + 1]
        if not any(mark.isalnum() or mark == "_" for mark in around):
            return True
        at = text.find(word, at + 1)
    return False


def _marked_words(text: str) -> set[str]:
    """The words of a text in backquotes, without those that every program has.

    A quotation with spaces is a command or a line of code, not a name.
    """
    spans = [span for span in _MARKED.findall(text) if not any(map(str.isspace, span))]
    words = {word for span in spans for word in _WORD.findall(span)}
    return {word for word in words if word.lower() not in _EVERYWHERE}


def _mentioned(corpus: Corpus, number: int) -> list[int]:
    (at,) = corpus.places(np.array([number], np.int64))
    if at < 0:
        return []
    hashes = np.unique(corpus.mentions_of(int(at)))
    phrase, places = corpus.called(hashes)
    counts = corpus.mention_counts(hashes)
    frequencies: dict[int, int] = {}
    for index in np.flatnonzero(np.bincount(phrase, minlength=len(hashes)) == 1):
        other = int(corpus.numbers[places[phrase == index][0]])
        if other != number:
            frequencies[other] = min(frequencies.get(other, counts[index]), counts[index])
    return sorted(frequencies, key=lambda other: (frequencies[other], other))


def _corpus(reader: Reader, index: SearchIndex) -> Corpus | None:
    """The corpus of the model inside the package; None if it is not ready or cannot be used."""
    try:
        with _hurried(reader):
            return (index.instead() or index.get()).corpus(reader)
    except (NotReadyError, EmbedderFailed):
        return None


@contextmanager
def _hurried(reader: Reader) -> Iterator[None]:
    """Give the reader a deadline, so that long work is left to a thread."""
    before = reader.deadline
    reader.deadline = min(before, monotonic() + WAIT_S)
    try:
        yield
    finally:
        reader.deadline = before
