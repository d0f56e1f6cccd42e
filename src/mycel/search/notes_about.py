"""Notes about nodes that a question names, or about code that fits it.

"What should I know before I change src/cart.py?": notes with a link `about` to that file belong
into the answer, even without words of the question. A name is a URI, a path, an identifier in the
question, or the whole question.

"Why are two carts made one?" finds the symbol `mergeCarts`. A note about this symbol or its file is
more likely to answer the question than another note that fits equally well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from mycel.text.kinds import NAME_CHARACTERS_MAX, names_in
from mycel.text.names import key

ABOUT: Final = "about"
NAMES_MAX: Final = 5
BEARERS_COMPARED: Final = 100
BEARERS_MAX: Final = 3
"""The maximum number of nodes that one name may mean."""
NOTES_MAX: Final = 5
"""The maximum number of notes about one node."""

_SYMBOL_SCHEME: Final = "concept://"


def find_notes_about(reader: Reader, question: Question) -> dict[int, str]:
    """The notes about nodes that a question names, each with the reason for the hit."""
    about = reader.find_predicate(ABOUT)
    if about is None:
        return {}
    notes: dict[int, str] = {}
    for bearer in _named_nodes(reader, question):
        name = shorten(end_of(bearer.name))
        for _, _, note in lookup.links_after(
            reader, bearer.number, "in", (about,), (0, 0), NOTES_MAX
        ):
            notes.setdefault(note, f"{ABOUT} {name}")
    return notes


def find_notes_of_code(
    reader: Reader, about: int, code: Mapping[int, float]
) -> dict[int, tuple[int, float]]:
    """The notes about some code or its files: the best subject of each, and its score.

    `about` is the number of that predicate; `code` are files and symbols, each with its score.
    """
    elements = reader.elements(code)
    names = {
        number: element.name
        for number, element in elements.items()
        if isinstance(element, Concept) and element.name.startswith(_SYMBOL_SCHEME)
    }
    files = {name: _file_of(name) for name in names.values()}
    numbers = {name: number for number, _, name in lookup.find_by_name(reader, set(files.values()))}
    notes: dict[int, tuple[int, float]] = {}
    for number, score in sorted(code.items(), key=lambda pair: (-pair[1], pair[0])):
        file = numbers.get(files.get(names.get(number, ""), ""))
        for target in (number, file) if file is not None else (number,):
            links = lookup.links_after(reader, target, "in", (about,), (0, 0), NOTES_MAX)
            for _, _, note in links:
                notes.setdefault(note, (target, score))
    return notes


def end_of(uri: str) -> str:
    """The last segment of a URI in readable form."""
    return unquote(uri).rstrip("/").rpartition("/")[2]


def _file_of(symbol: str) -> str:
    """The URI of the file that the URI of a symbol is in.

    >>> _file_of("concept://shop/src/cart.py/Cart.save")
    'file://shop/src/cart.py'
    """
    return f"file://{symbol.removeprefix(_SYMBOL_SCHEME).rpartition('/')[0]}"


def _named_nodes(reader: Reader, question: Question) -> Iterator[Concept]:
    candidates = Candidates(reader, columns=BM25_COLUMNS)
    for name in _names_in(question.text):
        name_question = Question(name)
        numbers = [number for number, _, _ in lookup.find_by_name(reader, [name])]
        # The key of a file has its suffix.
        keys = (name_question.keys() | {key(name.rpartition("/")[2])}) - {""}
        numbers = numbers or candidates.by_keys(keys, BEARERS_COMPARED)
        fits = [
            (fit_names(name_question, concept.name, concept.attributes, 0.0), concept)
            for number in numbers
            if (concept := reader.concept(number)) is not None
        ]
        least = NAMED_LEAST * ASIDE_FACTOR
        best = [pair for pair in fits if pair[0].score >= least]
        best.sort(key=lambda pair: (-pair[0].score, pair[1].number))
        yield from (concept for _, concept in best[:BEARERS_MAX])


def _names_in(text: str) -> list[str]:
    """The names in a question: the whole of a short one, URIs, paths and identifiers.

    >>> _names_in("What of `src/cart.py` and Cart.save?")
    ['What of `src/cart.py` and Cart.save?', 'src/cart.py', 'Cart.save']
    """
    names = dict.fromkeys((text, *names_in(text)))
    return [name for name in names if len(name) <= NAME_CHARACTERS_MAX][:NAMES_MAX]
