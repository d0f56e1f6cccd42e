"""Looks up nodes by alias and by short name, in the text index.

A short name is the readable name of a node, or the end of its path: `Collection.add`,
`collection.rs`, `Money is counted in cents`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from mycel.engine.missing_concepts import is_placeholder
from mycel.errors import AmbiguousName
from mycel.knowledge.node_lookup import element_uri
from mycel.knowledge.uris import CONCEPT, FILE, Uri
from mycel.model.elements import Concept
from mycel.model.names import first_few, shorten
from mycel.search.weights import BM25_COLUMNS
from mycel.store.query import lookup
from mycel.store.query.candidates import Candidates
from mycel.store.query.reader import Reader
from mycel.text.names import Standing, called, key

BEARERS_MAX: Final = 100
"""The maximum number of nodes that are compared with one short name."""
CANDIDATES_SHOWN: Final = 10

ALIASES: Final = "aliases"
_SCOPES: Final = re.compile(r"::|#")


class ShortNames:
    """The nodes that have a text as an alias or as a short name.

    The index does not have nodes of an open transaction yet; `own` has such nodes, which are found
    too.
    """

    def __init__(self, reader: Reader, own: Collection[int] = (), *, at_home: bool = False) -> None:
        """Take the reader. With `at_home`, a reference only means nodes of its own workspace."""
        self._reader: Final = reader
        self._at_home: Final = at_home
        self._core_concepts: Final = lookup.core_concepts(reader)
        self._index: Final = Candidates(reader, without=self._core_concepts, columns=BM25_COLUMNS)
        self._by_key: dict[str, list[Concept]] = {}
        self._by_name: dict[str, list[Concept]] = {}
        self._own: dict[str, list[Concept]] = {}
        for concept in reader.elements(own).values():
            if isinstance(concept, Concept):
                names = called(concept.name, concept.attributes)
                for name in sorted(names.keys()):
                    self._own.setdefault(name, []).append(concept)

    def fetch(self, uris: Sequence[Uri]) -> None:
        """Look up references together, before `bearers_of` is called for each."""
        most = len(uris) * BEARERS_MAX
        keys = {name_key for uri in uris for name_key in _keys_of(uri)}
        bearers = self._with_keys(keys, most)
        # With more rows, frequent names may have crowded out the others.
        self._by_key = {key: [] for key in keys} if len(bearers) < most else {}
        for concept in bearers:
            for name_key in called(concept.name, concept.attributes).keys() & self._by_key.keys():
                self._by_key[name_key].append(concept)
        self._by_name = {}
        for number, _, name in lookup.find_by_name(
            self._reader, [uri.path for uri in uris if uri.path]
        ):
            bearer = self._reader.concept(number)
            if bearer is not None and number not in self._core_concepts:
                self._by_name.setdefault(name, []).append(bearer)

    def bearers_of(self, uri: Uri) -> tuple[str, list[Concept]]:
        """The nodes that a reference may mean, and words that say how they have that name."""
        texts = (uri.text, uri.path) if uri.is_bare else (uri.text,)
        bearers_of_key = self._near(uri, self.bearers(map(key, texts)))
        aliased = [bearer for bearer in bearers_of_key if _has_alias(bearer, texts)]
        if len(aliased) == 1:
            return "is an alias of", aliased
        if not uri.is_bare or not uri.path:
            return "", []
        bearers = {concept.number: concept for concept in (*aliased, *self._find_bearers(uri))}
        return "is short for", list(bearers.values())

    def bearers_around(self, uri: Uri) -> list[Concept]:
        """Nodes whose path has the parts of a dotted name, with other parts in between."""
        dotted_name = dotted(uri.path)
        return [bearer for bearer in self.bearers(_keys_of(uri)) if _is_around(bearer, dotted_name)]

    def bearers_of_last(self, uri: Uri) -> list[Concept]:
        """Nodes with the last part of a dotted name, if its other parts are modules."""
        *outer, last = dotted(uri.path).rpartition("/")[2].split(".")
        if not outer or outer[-1][:1].isupper():
            return []
        return [
            bearer
            for bearer in self.bearers({key(last)})
            if called(bearer.name, bearer.attributes).segments[-1] == last
        ]

    def bearers(self, keys: Iterable[str]) -> list[Concept]:
        """The nodes that have one of these keys."""
        name_keys = {key for key in keys if key}
        own = [concept for key in name_keys for concept in self._own.get(key, ())]
        if name_keys <= self._by_key.keys():
            indexed = [concept for key in name_keys for concept in self._by_key[key]]
        else:
            # Keys are searched one by one, longest first: a common name cannot crowd out
            # `Owner.name`.
            by_length = sorted(name_keys, key=lambda name_key: (-len(name_key), name_key))
            indexed = [
                with_key for key in by_length for with_key in self._with_keys({key}, BEARERS_MAX)
            ]
        return list({concept.number: concept for concept in (*indexed, *own)}.values())

    def _near(self, uri: Uri, bearers: list[Concept]) -> list[Concept]:
        """The bearers in the workspace of the reference; or all, if there are too many."""
        if not self._at_home or not uri.is_bare or len(bearers) >= BEARERS_MAX:
            return bearers
        return [bearer for bearer in bearers if not is_elsewhere(bearer, uri.workspace)]

    def _with_keys(self, keys: Collection[str], limit: int) -> list[Concept]:
        numbers = self._index.by_keys(keys, limit)
        elements = self._reader.elements(numbers)
        return [
            element
            for number in numbers
            if isinstance(element := elements.get(number), Concept) and not is_placeholder(element)
        ]

    def _find_bearers(self, uri: Uri) -> list[Concept]:
        """Nodes with a short name, preferably in its exact case.

        Tests count only if there is no other node.
        """
        dotted_name = dotted(uri.path)
        bearers = {
            concept.number: concept for concept in self._near(uri, self.bearers(_keys_of(uri)))
        }
        # A plain name has no key, so it is looked up as a name.
        bearers |= {concept.number: concept for concept in self._by_name.get(uri.path, ())}
        as_is: Callable[[str], str] = str
        for fold in (as_is, str.casefold):
            fitting = [
                bearer for bearer in bearers.values() if _is_called(bearer, dotted_name, fold)
            ]
            if fitting:
                break
        return [concept for concept in fitting if not _is_aside(concept)] or fitting


def dotted(path: str) -> str:
    """A path with dots in place of the separators of names in code.

    >>> dotted("shop::Cart#add")
    'shop.Cart.add'
    """
    return _SCOPES.sub(".", path)


def _keys_of(uri: Uri) -> set[str]:
    """The index keys of the nodes that a reference may mean."""
    if not uri.is_bare:
        return {key(uri.text)} - {""}
    last = dotted(uri.path).rpartition("/")[2]
    pieces = [part for part in last.split(".") if part] or [last]
    texts = (uri.text, uri.path, last, pieces[-1], "".join(pieces[-2:]))
    return {key(text) for text in texts} - {""}


def _has_alias(concept: Concept, texts: Collection[str]) -> bool:
    aliases: Any = concept.attributes.get(ALIASES)
    names = aliases if isinstance(aliases, list) else [aliases]
    keys = {text.casefold() for text in texts}
    return any(isinstance(alias, str) and alias.casefold() in keys for alias in names)


def _is_called(concept: Concept, name: str, fold: Callable[[str], str]) -> bool:
    """True if a name is the readable name of a concept, or the end of its path.

    Modules count as a part of a name too: `cart.price` for `src/cart.py/price`.
    """
    attributes = concept.attributes
    text, readable = fold(name), attributes.get("name")
    path = fold(dotted(unquote(concept.name)))
    if text == path or (isinstance(readable, str) and fold(readable) == text):
        return True
    if "://" not in path or path.endswith((f"/{text}", f".{text}")):
        return "://" in path
    pieces = text.split(".")
    segments = called(concept.name, attributes).segments
    return len(pieces) > 1 and pieces == [fold(segment) for segment in segments[-len(pieces) :]]


def _is_around(concept: Concept, name: str) -> bool:
    """True if a dotted name has the last segment of a path and, before it, others in order."""
    *outer, last = name.rpartition("/")[2].split(".")
    segments = called(concept.name, concept.attributes).segments
    rest = iter(segments[:-1])
    return bool(outer) and segments[-1] == last and all(segment in rest for segment in outer)


def is_elsewhere(concept: Concept, workspace: str) -> bool:
    """True for a concept or file of another workspace. Other resources belong to no workspace."""
    scheme, _, rest = concept.name.partition("://")
    return scheme in (CONCEPT, FILE) and rest.partition("/")[0] != workspace


def _is_aside(concept: Concept) -> bool:
    return called(concept.name, concept.attributes).standing is Standing.ASIDE


def several_nodes(bearers: Mapping[Uri, Sequence[Concept]]) -> AmbiguousName:
    """The error for short names that several nodes have, with the URIs of the nodes."""
    candidates = {uri: [element_uri(bearer) for bearer in bearers[uri]] for uri in bearers}
    numbers = {
        uri: f"{BEARERS_MAX} nodes or more" if len(group) >= BEARERS_MAX else str(len(group))
        for uri, group in candidates.items()
    }
    names = {uri: repr(shorten(uri.path, 200)) for uri in bearers}
    is_one = len(bearers) == 1
    lists = [
        f"{'' if is_one else names[uri] + ': '}{'; '.join(first_few(group, CANDIDATES_SHOWN))}"
        for uri, group in candidates.items()
    ]
    first = next(iter(bearers))
    return AmbiguousName(
        " ".join(
            f"{names[uri]} is a short name of several nodes ({numbers[uri]})."
            for uri in list(bearers)[:CANDIDATES_SHOWN]
        ),
        hint=f"Pass the URI of the one you mean: {' | '.join(lists[:CANDIDATES_SHOWN])} (or"
        f" {first.text} for a concept that has only this name).",
        data={
            "uri": first.text,
            "candidates": candidates[first][:CANDIDATES_SHOWN],
            "ambiguous": {
                uri.path: group[:CANDIDATES_SHOWN]
                for uri, group in list(candidates.items())[:CANDIDATES_SHOWN]
            },
        },
    )
