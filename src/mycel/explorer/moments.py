"""The state that a view shows, and the elements that ids name in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Final

from mycel.errors import MycelError, NotFound
from mycel.explorer.cards import Cards, Degrees
from mycel.explorer.census import Census
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.name_resolution import node_at
from mycel.knowledge.node_lookup import find, find_all
from mycel.knowledge.uris import Uri, kip_identity
from mycel.model import ids
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.store.query import neighbours
from mycel.store.query.history import Moment, state_at
from mycel.store.query.reader import Reader

_LONG_NUMBER: Final = 19


@dataclass(frozen=True, slots=True)
class Scene:
    """One state of the graph, while a view of it is made."""

    reader: Reader
    cards: Cards
    position: int
    is_past: bool
    knowledge: Knowledge

    def answer(self, **answer: object) -> JsonObject:
        """Add the position of the shown state to an answer."""
        return {"position": self.position} | ({"past": True} if self.is_past else {}) | answer

    def number(self, text: str) -> int:
        """The number of the element that a URI or id names.

        Raises:
            InvalidId: the text is neither a URI nor an id.
            NotFound: this state has no such element.
        """
        uri = self.knowledge.uri(text)
        node_match = find(self.reader, uri)
        if node_match is not None:
            return node_match.number
        if self.is_past:
            raise NotFound(
                f"There was no node {shorten(uri.text, 200)} at position {self.position}.",
                hint="Choose another moment, or look at the present.",
                data={"uri": uri.text},
            )
        return node_at(self.reader, uri).number

    def find(self, text: str) -> int | None:
        """The number of the element that a text names, or None."""
        return self.find_all((text,)).get(text)

    def find_all(self, texts: Iterable[str]) -> dict[str, int]:
        """The numbers of the elements that texts name, by text; texts without one are left out."""
        uris: dict[str, Uri] = {}
        for text in texts:
            with suppress(MycelError):
                uris[text] = self.knowledge.uri(text)
        plain = {uri.text: uri for uri in uris.values() if not _is_broken(uri)}
        concepts = find_all(self.reader, plain.values())
        return {
            text: concepts[uri.text].number for text, uri in uris.items() if uri.text in concepts
        }


def _is_broken(uri: Uri) -> bool:
    """True for a URI of KIP that names no element in any state."""
    if not uri.is_kip:
        return False
    try:
        identity = kip_identity(uri)
        if isinstance(identity, str):
            ids.parse_id(identity)
    except MycelError:
        return True
    return False


def moment_of(text: str) -> Moment:
    """The moment that a text names: a position, or anything else that `state_at` accepts."""
    is_number = text.isascii() and text.isdecimal() and len(text) < _LONG_NUMBER
    return int(text) if is_number else text


@contextmanager
def scene(
    knowledge: Knowledge, at: str | None, *, timeout_s: float, census: Census | None = None
) -> Iterator[Scene]:
    """The state of a moment, or the present; statements in the block end at the deadline.

    `census` may provide the degrees of nodes in the live state.
    """
    with knowledge.db.reading() as live:
        reader = live if at is None else live.at(state_at(live, moment_of(at)))
        yield scene_of(knowledge, reader, census, timeout_s)


def scene_of(
    knowledge: Knowledge, reader: Reader, census: Census | None, timeout_s: float
) -> Scene:
    """The state that a reader shows."""
    reader.deadline = monotonic() + timeout_s
    is_past = not reader.state.is_live
    counted = None if census is None or is_past else _degrees_of(census, reader)
    cards = Cards(reader, counted)
    return Scene(reader, cards, reader.position, is_past, knowledge)


def _degrees_of(census: Census, reader: Reader) -> Degrees:
    of_census = census.degrees

    def degrees(numbers: Collection[int]) -> Mapping[int, int]:
        inside = {n: of_census[n >> 1] for n in numbers if not n & 1 and n >> 1 < len(of_census)}
        rest = [n for n in numbers if n not in inside]
        return inside | (neighbours.degrees(reader, rest) if rest else {})

    return degrees
