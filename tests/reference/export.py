"""EXPORT: elements as a capsule that makes them again elsewhere."""

from __future__ import annotations

from mycel import kip
from mycel.kip import ast
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.model.values import own_metadata
from tests.reference.graph import Concept, Element, Graph, JsonObject, Link


def export(numbers: list[int], graph: Graph, new: Graph | None = None) -> JsonObject:
    """A capsule with a block for each element; ends that are not among them are named outright.

    With a new graph, the definitions that it lacks or has otherwise stand in front.
    """
    elements = [graph.elements[number] for number in numbers]
    definitions = [] if new is None else _definitions(elements, graph, new)
    concepts = [each for each in elements if isinstance(each, Concept)]
    # A link can only be about one that is older, so in this order each finds its ends.
    links = [each for each in elements if isinstance(each, Link)]
    blocks: tuple[ast.ConceptBlock | ast.PropositionBlock, ...] = (
        *map(_concept_block, (*definitions, *concepts)),
        *(_proposition_block(link, graph) for link in links),
    )
    capsule = kip.format(ast.Capsule((ast.Upsert(blocks),))) if blocks else ""
    result = {"capsule": capsule, "concepts": len(concepts), "propositions": len(links)}
    return result if new is None else result | {"definitions": [each.name for each in definitions]}


def _definitions(elements: list[Element], graph: Graph, new: Graph) -> list[Concept]:
    """The definitions of all types and predicates that elements and their ends have."""
    used: set[tuple[str, str]] = set()
    waiting = list(elements)
    while waiting:
        element = waiting.pop()
        if isinstance(element, Concept):
            used.add((CONCEPT_TYPE, element.type))
        else:
            used.add((PROPOSITION_TYPE, element.predicate))
            waiting += [graph.elements[element.subject], graph.elements[element.object]]
    found = (graph.concept(*each) for each in sorted(used))
    return [each for each in found if each and each not in elements and not _has(new, each)]


def _has(new: Graph, definition: Concept) -> bool:
    there = new.concept(definition.type, definition.name)
    return there is not None and there.attributes == definition.attributes


def _concept_block(concept: Concept) -> ast.ConceptBlock:
    return ast.ConceptBlock(
        None,
        _matcher(concept),
        attributes=_attributes(concept),
        metadata=_metadata(concept),
    )


def _proposition_block(link: Link, graph: Graph) -> ast.PropositionBlock:
    return ast.PropositionBlock(
        None,
        _pattern(link, graph),
        attributes=_attributes(link),
        metadata=_metadata(link),
        weight=None if link.weight == 1 else ast.Literal(link.weight),
    )


def _attributes(element: Element) -> ast.Literal | None:
    return ast.Literal(element.attributes) if element.attributes else None


def _metadata(element: Element) -> ast.Literal | None:
    """The metadata, without keys that only an engine writes."""
    metadata = own_metadata(element.metadata)
    return ast.Literal(metadata) if metadata else None


def _matcher(concept: Concept) -> ast.ConceptMatcher:
    return ast.ConceptMatcher(type=ast.Literal(concept.type), name=ast.Literal(concept.name))


def _pattern(link: Link, graph: Graph) -> ast.LinkPattern:
    return ast.LinkPattern(
        _endpoint(link.subject, graph), ast.Literal(link.predicate), _endpoint(link.object, graph)
    )


def _endpoint(number: int, graph: Graph) -> ast.Endpoint:
    element = graph.elements[number]
    return _matcher(element) if isinstance(element, Concept) else _pattern(element, graph)
