"""EXPORT: a capsule that recreates the matched elements in another graph.

The capsule holds every matched concept and link with its attributes and metadata, and every link
whose two ends are in it, links about links included. Any other end is named by type and name, or by
the pattern of the link, and has to exist in the graph to which the capsule is applied. `outside`
lists such ends, except those that every new graph has. WITH DEFINITIONS puts the definitions that
the capsule uses in front. Definitions that every new graph has are left out, unless they were
changed here.

Ids, versions and metadata keys that start with an underscore are left out. For a type that a schema
declares, the definition is exported without the declaration: each graph applies its own schema. The
weight of a link is written (`SET WEIGHT`) unless it is 1, which every new link has.

Pages contain the matched concepts, then the matched links with an end that is not matched, each in
the order of their numbers. A link between matched elements is on the page of its later end, so
pages have to be applied in order. A definition is on the first page that needs it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from graphlib import TopologicalSorter
from itertools import islice
from typing import Final

import orjson

from mycel.engine.outcome import Outcome
from mycel.engine.page_cursor import cursor_after, place_of
from mycel.engine.protection_guard import DEFINITIONS
from mycel.engine.seed import shipped_concepts, shipped_links
from mycel.engine.values import Values
from mycel.engine.where_targets import targets
from mycel.errors import InternalError, ResourceExhausted
from mycel.kip import ast
from mycel.kip.formatter import format_command
from mycel.kip.fragments import placeholders, quoted
from mycel.model import ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.limits import CAPSULE_BYTES_MAX, COMMAND_BYTES_MAX, NESTING_DEPTH_MAX
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.model.values import JsonObject, own_metadata
from mycel.schema.definitions import is_unchanged
from mycel.schema.stored_declaration import PG, PG_DROPPED
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.query import summary
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import DEFAULT_WEIGHT

EXPORT_ELEMENTS_MAX: Final = 10_000
"""The maximum number of matched elements of one capsule; the links between them are not counted."""

_META: Final = {CONCEPT_TYPE: CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE: PROPOSITION_TYPE_NUMBER}
_NESTING_KEPT: Final = 8
"""The levels of nesting that a capsule needs around and inside its patterns."""


def export(reader: Reader, node: ast.Export, values: Values) -> Outcome:
    """Run an EXPORT; raises ResourceExhausted if the capsule is too large, or nests too deep."""
    limit = EXPORT_ELEMENTS_MAX
    if node.limit is not None:
        limit = min(limit, values.positive(node.limit, "LIMIT"))
    numbers = targets(
        reader, node.where, node.target.name, values, include_archived=node.include_archived
    )
    matched = sorted(numbers, key=_place)
    purpose = _purpose(node, values)
    start, earlier_definitions = 0, []
    cursor = None if node.cursor is None else values.cursor(node.cursor)
    if cursor is not None:
        last, *earlier_definitions = place_of(cursor, purpose)
        start = bisect_right(matched, _place(last), key=_place)
    closure = LinkClosure(reader, matched)
    # A link between matched elements is exported with them, so it is not counted for pages.
    seeds = (number for number in matched[start:] if not closure.spans(number))
    page = list(islice(seeds, limit + 1))
    more = len(page) > limit
    del page[limit:]
    selection = CapsuleContent(reader, page, [*matched[:start], *earlier_definitions], matched)
    definitions = (
        _add_definitions(reader, selection, earlier_definitions) if node.definitions else {}
    )
    capsule = CapsuleWriter(reader, selection).capsule()
    outside = [
        _describe_element(reader, element)
        for element in selection.outside()
        if not _is_shipped(reader, element)
    ]
    return Outcome(
        {
            "capsule": capsule,
            "concepts": len(selection.concepts) - len(definitions),
            "propositions": len(selection.links),
            **({"definitions": list(definitions.values())} if node.definitions else {}),
            **({"outside": outside} if outside else {}),
        },
        cursor_after(purpose, [page[-1], *earlier_definitions, *definitions]) if more else None,
        tuple(_warnings(capsule)),
    )


def _add_definitions(
    reader: Reader, selection: CapsuleContent, earlier_definitions: list[int]
) -> dict[int, str]:
    """Add the definitions that a capsule needs and lacks; returns their names by number.

    Links between definitions are added too, and so are the definitions of their predicates.
    """
    added: dict[int, str] = {}
    while True:
        elements = [*selection.concepts.values(), *selection.links.values(), *selection.outside()]
        needed = sorted({_definition_of(element) for element in elements} - DEFINITIONS)
        generator = (reader.concept_named(_META[meta], name) for meta, name in needed)
        fresh = {
            concept.number: concept.name
            for concept in generator
            if concept is not None
            and concept.number not in selection.concepts
            and concept.number not in earlier_definitions
            and not _is_as_shipped(concept)
        }
        if not fresh:
            return added
        added |= fresh
        selection.add(fresh)


def _definition_of(element: Element) -> tuple[str, str]:
    if isinstance(element, Concept):
        return CONCEPT_TYPE, element.type
    return PROPOSITION_TYPE, element.predicate


def _is_as_shipped(definition: Concept) -> bool:
    """True if every new graph has this definition with the same attributes."""
    shipped = shipped_concepts().get((definition.type, definition.name))
    attributes = definition.attributes
    return shipped is not None and all(is_unchanged(key, attributes, shipped) for key in attributes)


def _is_shipped(reader: Reader, element: Element) -> bool:
    """True for an element that every new graph has."""
    if isinstance(element, Concept):
        return (element.type, element.name) in shipped_concepts()
    ends = (_element(reader, end) for end in element.ends)
    subject, object_ = ((end.type, end.name) if isinstance(end, Concept) else None for end in ends)
    return (subject, element.predicate, object_) in shipped_links()


def _describe_element(reader: Reader, element: Element) -> str:
    """An element for people: the type and name of a concept, or the ends of a link."""
    if isinstance(element, Concept):
        return f"{element.type} {quoted(element.name)}"
    ends = (_element(reader, end) for end in element.ends)
    subject, object_ = (
        _describe_element(reader, end) if isinstance(end, Concept) else "(…)" for end in ends
    )
    return f"({subject}, {element.predicate}, {object_})"


def _place(number: int) -> tuple[bool, int]:
    """The sort key of a matched element: concepts come before links."""
    return not ids.is_concept(number), number


def _purpose(node: ast.Export, values: Values) -> str:
    """The command without its page, with its parameters, to which a cursor belongs."""
    bare = replace(node, limit=None, cursor=None)
    parameters = {placeholder.name: values.value(placeholder) for placeholder in placeholders(bare)}
    return format_command(bare) + orjson.dumps(parameters, option=orjson.OPT_SORT_KEYS).decode()


def _warnings(capsule: str) -> Iterator[str]:
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


def _element(reader: Reader, number: int) -> Element:
    element = reader.element(number)
    if element is None:
        raise InternalError(f"The element {number} is missing from its own snapshot.")
    return element


class LinkClosure:
    """A set of elements, and all links whose ends are in the set or are such links themselves."""

    def __init__(self, reader: Reader, elements: Iterable[int]) -> None:
        self._reader = reader
        self._known = dict.fromkeys(elements, True)

    def add(self, number: int) -> None:
        self._known[number] = True

    def spans(self, number: int) -> bool:
        """True for a link whose two ends are in the closure."""
        return not ids.is_concept(number) and all(
            map(self.holds, _element(self._reader, number).ends)
        )

    def holds(self, number: int) -> bool:
        cache, waiting = self._known, [number]
        if number in cache or ids.is_concept(number):  # The common cases need no search.
            return cache.get(number, False)
        while waiting:
            at = waiting[-1]
            ends = () if ids.is_concept(at) or at in cache else _element(self._reader, at).ends
            if unknown := [end for end in ends if end not in cache]:
                waiting += unknown
                continue
            cache.setdefault(at, bool(ends) and all(cache[end] for end in ends))
            waiting.pop()
        return cache[number]


class CapsuleContent:
    """The elements of a capsule, each after all elements that it refers to."""

    def __init__(
        self, reader: Reader, page: list[int], before: list[int], matched: list[int]
    ) -> None:
        self._reader = reader
        self._matched = frozenset(matched)
        self._before = LinkClosure(reader, before)
        self._included = LinkClosure(reader, before)
        self._chosen: dict[int, Element] = {}
        self.concepts: dict[int, Concept] = {}
        self.links: dict[int, Proposition] = {}
        self.add(page)

    def add(self, elements: Iterable[int]) -> None:
        """Add elements, and every link that belongs to them."""
        waiting = list(elements)
        self._chosen |= {number: _element(self._reader, number) for number in waiting}
        for number in waiting:
            self._included.add(number)
        while waiting:
            number = waiting.pop()
            for link in (*self._spanned(number), *self._still_missing(number)):
                if link not in self._chosen:
                    self._chosen[link] = _element(self._reader, link)
                    self._included.add(link)
                    waiting.append(link)
        concepts = [element for element in self._chosen.values() if isinstance(element, Concept)]
        concepts.sort(
            key=lambda concept: (
                concept.type not in _META,
                concept.type == PROPOSITION_TYPE,
                concept.number,
            )
        )
        self.concepts = {concept.number: concept for concept in concepts}
        self.links = self._sorted()

    def outside(self) -> list[Element]:
        """The elements that the capsule refers to and that are on no page up to this one."""
        elements: dict[int, Element] = {}
        waiting = deque(end for link in self.links.values() for end in link.ends)
        while waiting:
            number = waiting.popleft()
            if number not in elements and not self._included.holds(number):
                elements[number] = element = _element(self._reader, number)
                waiting += element.ends
        return list(elements.values())

    def _spanned(self, number: int) -> Iterator[int]:
        """Links of an element whose other end is exported too, without those of earlier pages."""
        for link, other in summary.touching(self._reader, number):
            if self._included.holds(other) and not self._before.holds(link):
                yield link

    def _still_missing(self, number: int) -> Iterator[int]:
        """Matched links at the ends of this link, which it needs on this page or an earlier one."""
        if ids.is_concept(number):
            return
        for end in self._chosen[number].ends:
            if end in self._matched and not ids.is_concept(end) and not self._included.holds(end):
                yield end

    def _sorted(self) -> dict[int, Proposition]:
        links = {
            n: element for n, element in self._chosen.items() if isinstance(element, Proposition)
        }
        order: TopologicalSorter[int] = TopologicalSorter()
        for number in sorted(links):
            order.add(number, *(end for end in links[number].ends if end in links))
        return {number: links[number] for number in order.static_order()}


class CapsuleWriter:
    """Writes a selection as UPSERT."""

    def __init__(self, reader: Reader, selection: CapsuleContent) -> None:
        self._reader = reader
        self._selection = selection
        self._handles = self._assign_handles()

    def capsule(self) -> str:
        """The text of the capsule; empty if nothing was selected, since KIP has no empty UPSERT."""
        chosen = self._selection
        blocks: tuple[ast.ConceptBlock | ast.PropositionBlock, ...] = (
            *(self._concept(concept) for concept in chosen.concepts.values()),
            *(self._link(link) for link in chosen.links.values()),
        )
        return format_command(ast.Capsule((ast.Upsert(blocks),))) if blocks else ""

    def _assign_handles(self) -> dict[int, ast.Variable]:
        """Give a handle to each element of the capsule that a link in the capsule refers to."""
        chosen = self._selection
        used = {end for link in chosen.links.values() for end in link.ends}
        return {
            number: ast.Variable(f"{letter}{place}")
            for letter, elements in (("c", chosen.concepts), ("l", chosen.links))
            for place, number in enumerate((element for element in elements if element in used), 1)
        }

    def _concept(self, concept: Concept) -> ast.ConceptBlock:
        return ast.ConceptBlock(
            self._handles.get(concept.number),
            _matcher(concept),
            attributes=_map(_portable(concept)),
            metadata=_map(own_metadata(concept.metadata)),
        )

    def _link(self, link: Proposition) -> ast.PropositionBlock:
        return ast.PropositionBlock(
            self._handles.get(link.number),
            self._pattern(link, 0),
            attributes=_map(link.attributes),
            metadata=_map(own_metadata(link.metadata)),
            weight=None if link.weight == DEFAULT_WEIGHT else ast.Literal(link.weight),
        )

    def _pattern(self, link: Proposition, depth: int) -> ast.LinkPattern:
        if depth > NESTING_DEPTH_MAX - _NESTING_KEPT:
            raise ResourceExhausted(
                f"The link {link.id} refers to links that refer to links, nested too deep for a"
                " capsule.",
                hint="Match the links in between as well.",
            )
        subject, object_ = (self._end(end, depth) for end in link.ends)
        return ast.LinkPattern(subject, ast.Literal(link.predicate), object_)

    def _end(self, number: int, depth: int) -> ast.Endpoint:
        handle = self._handles.get(number)
        if handle is not None:
            return handle
        element = _element(self._reader, number)
        if isinstance(element, Concept):
            return _matcher(element)
        return self._pattern(element, depth + 1)


def _matcher(concept: Concept) -> ast.ConceptMatcher:
    return ast.ConceptMatcher(type=ast.Literal(concept.type), name=ast.Literal(concept.name))


def _portable(concept: Concept) -> JsonObject:
    """The attributes without the declaration of a schema: each graph applies its own schema."""
    attributes = concept.attributes
    if concept.type in _META:
        attributes.pop(PG, None)
        attributes.pop(PG_DROPPED, None)
    return attributes


def _map(content: JsonObject) -> ast.Literal | None:
    return ast.Literal(content) if content else None
