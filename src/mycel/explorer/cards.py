"""Elements and links in the short form that every view uses.

A card has no content: `id` is the URI, which means the same in every copy of the graph, and `ref`
the element id, which stays when a node is moved. In the live state, the card of a node in conflict
has the number of its conflicts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from mycel.engine.missing_concepts import keeps_place
from mycel.explorer.folders import is_test, last_segment
from mycel.knowledge.uris import uri_of
from mycel.knowledge.vocabulary import RESOURCE, SYMBOL
from mycel.model import ids
from mycel.model.elements import Concept, Proposition
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.store.query import neighbours
from mycel.store.query.merges import open_conflicts
from mycel.store.query.neighbours import WeightedLink
from mycel.store.query.reader import Reader

Degrees = Callable[[Collection[int]], Mapping[int, int]]
"""The number of links at elements."""

NAME_CHARACTERS_MAX = 200
"""The maximum number of characters of a name in a card; longer names are cut."""


class Cards:
    """Cards of elements in the state of a reader. Each element is read only once."""

    def __init__(self, reader: Reader, degrees: Degrees | None = None) -> None:
        self._reader = reader
        self.degrees: Degrees = degrees or (lambda numbers: neighbours.degrees(reader, numbers))
        self._cards: dict[int, JsonObject] = {}
        self._owners: dict[str, int] = {}

    def read(self, numbers: Iterable[int]) -> None:
        """Read the cards of elements, with as few statements as possible."""
        missing = {number for number in numbers if number not in self._cards}
        concepts = {number for number in missing if ids.is_concept(number)}
        symbols = self._reader.find_type(SYMBOL)
        rows = neighbours.concept_rows(self._reader, concepts, symbols) if concepts else {}
        degrees = self.degrees(missing) if missing else {}
        for number in sorted(rows):
            row = rows[number]
            type_name = self._reader.type_name(row.type)
            card = card_of(row.number, type_name, row.name, row.version, row.label)
            if isinstance(row.symbol, str):
                card["symbol"] = shorten(row.symbol)
            if row.is_gone:
                card["gone"] = True
            self._keep(number, card | {"degree": degrees.get(number, 0)})
        if self._reader.state.is_live:
            for number, conflicts in open_conflicts(self._reader, rows).items():
                self._cards[number]["conflicts"] = len(conflicts)
        if missing == concepts:
            return
        links = self._reader.elements(missing - concepts)
        ends = (ids.parse_id(end) for link in links.values() for end in _ends(link))
        self.read([end for end in ends if ids.is_concept(end)])
        for number in sorted(links):
            link = links[number]
            if isinstance(link, Proposition):
                self._keep(number, self._link_card(link) | {"degree": degrees.get(number, 0)})

    def _keep(self, number: int, card: JsonObject) -> None:
        # Two concepts of different types may have one URI as their name.
        if self._owners.setdefault(card["id"], number) != number:
            card["id"] = f"kip:{card['ref']}"
        self._cards[number] = card

    def _link_card(self, link: Proposition) -> JsonObject:
        subject, object_ = (self._name(end) for end in _ends(link))
        return {
            "id": f"kip:{link.id}",
            "ref": link.id,
            "name": shorten(f"{subject} —{link.predicate}→ {object_}", NAME_CHARACTERS_MAX),
            "type": link.predicate,
            "kind": "link",
            "version": link.version,
        }

    def _name(self, end: str) -> str:
        card = self._cards.get(ids.parse_id(end))
        return end if card is None else str(card["name"])

    def get(self, number: int) -> JsonObject | None:
        """The card of an element; None if the element is not part of the state."""
        if number not in self._cards:
            self.read((number,))
        return self._cards.get(number)

    def all(self, numbers: Iterable[int]) -> list[JsonObject]:
        """The cards of elements, in order, without those that are not part of the state."""
        order = list(numbers)
        self.read(order)
        return [self._cards[number] for number in order if number in self._cards]

    def links(self, rows: Iterable[WeightedLink]) -> list[JsonObject]:
        """Links in their short form; their ends are ids."""
        weighted_links = list(rows)
        self.read(end for row in weighted_links for end in (row.subject, row.object))
        return [self.link(row) for row in weighted_links]

    def link(self, row: WeightedLink) -> JsonObject:
        """A link in its short form."""
        relation = self._reader.predicate_name(row.predicate)
        ends = [self.get(end) for end in (row.subject, row.object)]
        payload: JsonObject = {
            "id": ids.link_id(row.number, relation),
            "source": _id(ends[0], row.subject),
            "target": _id(ends[1], row.object),
            "relation": relation,
            "weight": row.weight,
        }
        if any(end is not None and (end["kind"] == "missing" or "gone" in end) for end in ends):
            payload["missing"] = True
        return payload


def card_of(number: int, type_name: str, name: str, version: int, label: str | None) -> JsonObject:
    """The card of a concept, without its degree."""
    uri = uri_of(type_name, name)
    kind = "resource" if type_name == RESOURCE else "concept"
    if keeps_place(type_name, name):
        kind = "missing"
    readable = label if label and kind == "concept" else last_segment(uri)
    return {
        "id": uri,
        "ref": ids.concept_id(number),
        "name": shorten(readable, NAME_CHARACTERS_MAX),
        "type": type_name,
        "kind": kind,
        "version": version,
    } | ({"test": True} if is_test(uri) else {})


def concept_card(concept: Concept) -> JsonObject:
    """The card of a concept that was read with its content, without its degree."""
    label = concept.attributes.get("name")
    return card_of(
        concept.number,
        concept.type,
        concept.name,
        concept.version,
        label if isinstance(label, str) else None,
    )


def _ends(link: object) -> tuple[str, ...]:
    return (link.subject, link.object) if isinstance(link, Proposition) else ()


def _id(card: JsonObject | None, number: int) -> str:
    return str(number) if card is None else str(card["id"])
