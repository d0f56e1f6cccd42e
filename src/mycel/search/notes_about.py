"""Notes about what a question names: "what should I know before I change src/cart.py?".

Somebody linked these notes with `about`, so they belong into the answer, whatever their words are.
A name is a URI, a path, an identifier in the question, or the whole question.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.search.name_match import fit_names
from mycel.search.question import Question
from mycel.search.weights import ASIDE_FACTOR, BM25_COLUMNS, NAMED_LEAST
from mycel.store.query import lookup
from mycel.store.query.candidates import Candidates
from mycel.store.query.reader import Reader
from mycel.text.kinds import NAME_CHARACTERS_MAX, is_identifier
from mycel.text.names import key

ABOUT: Final = "about"
NAMES_MAX: Final = 5
BEARERS_COMPARED: Final = 100
BEARERS_MAX: Final = 3
"""Nodes that one name may mean."""
NOTES_MAX: Final = 5
"""Notes about one node."""

_AROUND_NAMES: Final = "`'\"“”‘’«»()[]{}<>,;:?!."


def find_notes_about(reader: Reader, question: Question) -> dict[int, str]:
    """The notes about nodes that a question names, each with the reason why it is found."""
    about = reader.find_predicate(ABOUT)
    if about is None:
        return {}
    notes: dict[int, str] = {}
    for bearer in _named_nodes(reader, question):
        name = shorten(unquote(bearer.name).rstrip("/").rpartition("/")[2])
        for _, _, note in lookup.links_after(
            reader, bearer.number, "in", (about,), (0, 0), NOTES_MAX
        ):
            notes.setdefault(note, f"{ABOUT} {name}")
    return notes


def _named_nodes(reader: Reader, question: Question) -> Iterator[Concept]:
    candidates = Candidates(reader, columns=BM25_COLUMNS)
    for name in _names_in(question.text):
        asked = Question(name)
        numbers = [number for number, _, _ in lookup.named(reader, [name])]
        # The key of a file has its suffix.
        keys = (asked.keys() | {key(name.rpartition("/")[2])}) - {""}
        numbers = numbers or candidates.by_keys(keys, BEARERS_COMPARED)
        fits = [
            (fit_names(asked, concept.name, concept.attributes, 0.0), concept)
            for number in numbers
            if (concept := reader.concept(number)) is not None
        ]
        least = NAMED_LEAST * ASIDE_FACTOR
        named = [pair for pair in fits if pair[0].score >= least]
        named.sort(key=lambda pair: (-pair[0].score, pair[1].number))
        yield from (concept for _, concept in named[:BEARERS_MAX])


def _names_in(text: str) -> list[str]:
    """The names in a question: URIs, paths and identifiers, and the whole of a short question.

    >>> _names_in("What of `src/cart.py` and Cart.save?")
    ['What of `src/cart.py` and Cart.save?', 'src/cart.py', 'Cart.save']
    """
    words = (word.strip(_AROUND_NAMES) for word in text.split())
    names = [text, *(word for word in words if "://" in word or is_identifier(word))]
    return [each for each in dict.fromkeys(names) if len(each) <= NAME_CHARACTERS_MAX][:NAMES_MAX]
