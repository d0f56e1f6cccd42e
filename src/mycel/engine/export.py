"""EXPORT: a capsule that recreates what was matched somewhere else (KIP notes, RC9).

What is in it: every matched concept and link with its attributes and metadata, and every link whose
two ends are in it, links about links included. So matching concepts exports the part of the graph
that they span; matching links exports those links. What the links refer to outside is named by type
and name, or by the pattern of the link it is, and has to exist where the capsule is applied. So do
types and predicates, unless their definitions were matched too; those come first.

What only this graph can know is left out: ids, versions, and metadata keys that start with an
underscore. Of a type that a schema declares, the definition is exported and the declaration is not:
schemas are applied. A link's weight has no place in a capsule; a warning says when one is lost.

Pages go through the matched concepts and then the matched links that join something else, each in
the order of their numbers. A link that comes along stands on the page of its later end, so pages
have to be applied in order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from itertools import islice
from typing import Final

import orjson

from mycel.engine.outcome import Outcome
from mycel.engine.page_cursor import cursor_after, place_of
from mycel.engine.values import Values
from mycel.engine.where_targets import targets
from mycel.errors import InternalError, ResourceExhausted
from mycel.kip import ast
from mycel.kip.facts import placeholders
from mycel.kip.formatter import format_command
from mycel.model import ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.limits import CAPSULE_BYTES_MAX, COMMAND_BYTES_MAX, NESTING_DEPTH_MAX
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.model.values import JsonObject
from mycel.schema.stored_declaration import PG, PG_DROPPED
from mycel.store.query import summary
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import DEFAULT_WEIGHT

EXPORT_ELEMENTS_MAX: Final = 10_000
"""How many matched elements one capsule holds, whatever LIMIT asks for; others come along."""

_DEFINITIONS_FIRST: Final = {CONCEPT_TYPE: 0, PROPOSITION_TYPE: 1}
_NESTING_KEPT: Final = 8
"""How many levels of nesting the capsule has around and inside its patterns."""


def export(reader: Reader, node: ast.Export, values: Values) -> Outcome:
    """Run an EXPORT.

    Raises:
        ResourceExhausted: the capsule is too large, or a link refers to links too deep.
        InvalidSyntax: the cursor is damaged, or of another command.
    """
    limit = EXPORT_ELEMENTS_MAX
    if node.limit is not None:
        limit = min(limit, values.positive(node.limit, "LIMIT"))
    rows = targets(reader, node.where, (node.target.name,), values)
    matched = sorted((number for (number,) in rows if number is not None), key=_place)
    purpose = _purpose(node, values)
    start = 0
    cursor = None if node.cursor is None else values.cursor(node.cursor)
    if cursor is not None:
        after = _place(place_of(cursor, purpose))
        start = bisect_right(matched, after, key=_place)
    whole = Closure(reader, matched)
    # A link between elements that were matched comes along with them, and is none to begin with.
    seeds = (number for number in matched[start:] if not whole.spans(number))
    page = list(islice(seeds, limit + 1))
    more = len(page) > limit
    del page[limit:]
    selection = Selection(reader, page, matched[:start], matched)
    capsule = Writer(reader, selection).capsule()
    return Outcome(
        {
            "capsule": capsule,
            "concepts": len(selection.concepts),
            "propositions": len(selection.links),
        },
        cursor_after(purpose, page[-1]) if more else None,
        tuple(_warnings(selection, capsule)),
    )


def _place(number: int) -> tuple[bool, int]:
    """Where an element stands among all that were matched: concepts before links."""
    return not ids.is_concept(number), number


def _purpose(node: ast.Export, values: Values) -> str:
    """What a cursor belongs to: the command without its page, with its parameters."""
    bare = ast.Export(node.target, node.where)
    given = {each.name: values.value(each) for each in placeholders(bare)}
    return format_command(bare) + orjson.dumps(given, option=orjson.OPT_SORT_KEYS).decode()


def _warnings(selection: Selection, capsule: str) -> Iterator[str]:
    weighted = sum(link.weight != DEFAULT_WEIGHT for link in selection.links.values())
    if weighted:
        yield f"A capsule cannot carry weights: {weighted} links lose theirs."
    size = len(capsule.encode())
    if size > CAPSULE_BYTES_MAX:
        raise ResourceExhausted(
            f"The capsule has {size} bytes; at most {CAPSULE_BYTES_MAX} are allowed.",
            hint="Export in pages: EXPORT … LIMIT 1000, then CURSOR.",
        )
    if size > COMMAND_BYTES_MAX:
        yield (
            f"The capsule has {size} bytes, and a command at most {COMMAND_BYTES_MAX}: apply it as"
            " a capsule file, or export in pages with LIMIT."
        )


def _ends(reader: Reader, link: int) -> tuple[int, int]:
    ends = summary.ends_of(reader, link)
    if ends is None:
        raise InternalError(f"The link {link} is gone from its own snapshot.")
    return ends


class Closure:
    """Some elements and all links that they span: whose ends are among them, or such links."""

    def __init__(self, reader: Reader, elements: Iterable[int]) -> None:
        self._reader = reader
        self._known = dict.fromkeys(elements, True)

    def add(self, number: int) -> None:
        self._known[number] = True

    def spans(self, number: int) -> bool:
        """Whether it is a link whose ends it holds."""
        return not ids.is_concept(number) and all(map(self.holds, _ends(self._reader, number)))

    def holds(self, number: int) -> bool:
        known, waiting = self._known, [number]
        if number in known or ids.is_concept(number):  # The usual cases.
            return known.get(number, False)
        while waiting:
            at = waiting[-1]
            ends = () if ids.is_concept(at) or at in known else _ends(self._reader, at)
            if unknown := [end for end in ends if end not in known]:
                waiting += unknown
                continue
            known.setdefault(at, bool(ends) and all(known[end] for end in ends))
            waiting.pop()
        return known[number]


class Selection:
    """Which elements are in a capsule, each after all that it refers to."""

    def __init__(
        self, reader: Reader, page: list[int], before: list[int], matched: list[int]
    ) -> None:
        self._reader = reader
        self._matched = frozenset(matched)
        self._before = Closure(reader, before)
        self._included = Closure(reader, (*before, *page))
        chosen = self._with_links(page)
        concepts = [self._concept(number) for number in chosen if ids.is_concept(number)]
        concepts.sort(key=lambda each: (_DEFINITIONS_FIRST.get(each.type, 2), each.number))
        self.concepts: Final = {each.number: each for each in concepts}
        self.links: Final = self._sorted([each for each in chosen if not ids.is_concept(each)])

    def _with_links(self, page: list[int]) -> dict[int, None]:
        """The page, and every link that belongs to it."""
        chosen = dict.fromkeys(page)
        waiting = list(page)
        while waiting:
            number = waiting.pop()
            for link in (*self._spanned(number), *self._still_missing(number)):
                if link not in chosen:
                    chosen[link] = None
                    self._included.add(link)
                    waiting.append(link)
        return chosen

    def _spanned(self, number: int) -> Iterator[int]:
        """Links at an element whose other end is there as well, but was not before."""
        for link, other in summary.touching(self._reader, number):
            if self._included.holds(other) and not self._before.holds(link):
                yield link

    def _still_missing(self, number: int) -> Iterator[int]:
        """Links that a link refers to and that would come on a later page: too late for it."""
        if ids.is_concept(number):
            return
        for end in _ends(self._reader, number):
            if end in self._matched and not ids.is_concept(end) and not self._included.holds(end):
                yield end

    def _sorted(self, numbers: list[int]) -> dict[int, Proposition]:
        inside = frozenset(numbers)
        order: TopologicalSorter[int] = TopologicalSorter()
        for number in sorted(numbers):
            order.add(number, *(end for end in _ends(self._reader, number) if end in inside))
        return {number: self._link(number) for number in order.static_order()}

    def _concept(self, number: int) -> Concept:
        found = self._reader.concept(number)
        if found is None:
            raise InternalError(f"The concept {number} is gone from its own snapshot.")
        return found

    def _link(self, number: int) -> Proposition:
        found = self._reader.proposition(number)
        if found is None:
            raise InternalError(f"The link {number} is gone from its own snapshot.")
        return found


class Writer:
    """Writes a selection as UPSERT."""

    def __init__(self, reader: Reader, selection: Selection) -> None:
        self._reader = reader
        self._selection = selection
        self._handles = self._named()

    def capsule(self) -> str:
        """The text; empty if nothing was selected, since an UPSERT cannot be."""
        chosen = self._selection
        blocks: tuple[ast.ConceptBlock | ast.PropositionBlock, ...] = (
            *(self._concept(each) for each in chosen.concepts.values()),
            *(self._link(each) for each in chosen.links.values()),
        )
        return format_command(ast.Capsule((ast.Upsert(blocks),))) if blocks else ""

    def _named(self) -> dict[int, ast.Variable]:
        """A handle for each element of the capsule that a link of it refers to."""
        chosen = self._selection
        used = {ids.parse_id(end) for each in chosen.links.values() for end in _ends_of(each)}
        return {
            number: ast.Variable(f"{letter}{place}")
            for letter, elements in (("c", chosen.concepts), ("l", chosen.links))
            for place, number in enumerate((each for each in elements if each in used), 1)
        }

    def _concept(self, concept: Concept) -> ast.ConceptBlock:
        return ast.ConceptBlock(
            self._handles.get(concept.number),
            _matcher(concept),
            attributes=_map(_portable(concept)),
            metadata=_map(_own(concept)),
        )

    def _link(self, link: Proposition) -> ast.PropositionBlock:
        return ast.PropositionBlock(
            self._handles.get(link.number),
            self._pattern(link, 0),
            attributes=_map(link.attributes),
            metadata=_map(_own(link)),
        )

    def _pattern(self, link: Proposition, depth: int) -> ast.LinkPattern:
        if depth > NESTING_DEPTH_MAX - _NESTING_KEPT:
            raise ResourceExhausted(
                f"The link {link.id} refers to links that refer to links, too deep to be written.",
                hint="Match the links in between as well.",
            )
        subject, object_ = (self._end(end, depth) for end in _ends_of(link))
        return ast.LinkPattern(subject, ast.Literal(link.predicate), object_)

    def _end(self, end: str, depth: int) -> ast.Endpoint:
        number = ids.parse_id(end)
        handle = self._handles.get(number)
        if handle is not None:
            return handle
        element = self._reader.element(number)
        if element is None:
            raise InternalError(f"The element {end} is gone from its own snapshot.")
        if isinstance(element, Concept):
            return _matcher(element)
        return self._pattern(element, depth + 1)


def _ends_of(link: Proposition) -> tuple[str, str]:
    return link.subject, link.object


def _matcher(concept: Concept) -> ast.ConceptMatcher:
    return ast.ConceptMatcher(type=ast.Literal(concept.type), name=ast.Literal(concept.name))


def _portable(concept: Concept) -> JsonObject:
    """The attributes, without what a schema declares or has hidden: each graph applies its own."""
    attributes = concept.attributes
    if concept.type in _DEFINITIONS_FIRST:
        attributes.pop(PG, None)
        attributes.pop(PG_DROPPED, None)
    return attributes


def _own(element: Element) -> JsonObject:
    """The metadata that was written by somebody, not by the engine."""
    return {key: value for key, value in element.metadata.items() if not key.startswith("_")}


def _map(content: JsonObject) -> ast.Literal | None:
    return ast.Literal(content) if content else None
