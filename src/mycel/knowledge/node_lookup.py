"""Leads from URIs to the elements that they name, and back.

A URI is a concept's name, and a name is unique only together with a type. If several concepts have
one name, the URI names the concept of the type `Concept` or `Resource`, otherwise the oldest one,
and a placeholder only if there is no other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import unquote

from mycel.engine.missing_concepts import MISSING, MISSING_ENTITY, is_placeholder, keeps_place
from mycel.errors import ConstraintViolation
from mycel.knowledge.node_values import Child, Node, NodeType, Page, Relation
from mycel.knowledge.uris import Uri, kip_identity, uri_of
from mycel.knowledge.vocabulary import (
    CONCEPT,
    CONTENT,
    OBSERVATIONS_KEY,
    RESOURCE,
    STAMP,
)
from mycel.model import ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.values import JsonObject
from mycel.store.query import lookup
from mycel.store.query.reader import Reader

_PLAIN: Final = (CONCEPT, RESOURCE)


class NodeMatch(NamedTuple):
    """An element that a URI names."""

    number: int
    type: str
    """The type of a concept; empty for a relation."""
    is_missing: bool = False
    """True if the element is a placeholder."""


def find_all(reader: Reader, uris: Collection[Uri]) -> dict[str, NodeMatch]:
    """The elements that these URIs name, by the normal form of the URIs."""
    matches: dict[str, NodeMatch] = {}
    names = [uri.text for uri in uris if not uri.is_kip]
    for number, type_number, name in lookup.find_by_name(reader, names) if names else ():
        type_name = reader.type_name(type_number)
        new = NodeMatch(number, type_name, keeps_place(type_name, name))
        matches[name] = min(matches.get(name, new), new, key=rank)
    for uri in uris:
        if uri.is_kip:
            element = _element_of(reader, uri)
            if element is not None:
                matches[uri.text] = NodeMatch(
                    element.number, _type_of(element), is_placeholder(element)
                )
    return matches


def find(reader: Reader, uri: Uri) -> NodeMatch | None:
    """The element that a URI names, placeholders included."""
    return find_all(reader, (uri,)).get(uri.text)


def _element_of(reader: Reader, uri: Uri) -> Element | None:
    identity = kip_identity(uri)
    if isinstance(identity, str):
        element = reader.element(ids.parse_id(identity))
        return element if element is None or element.id == identity else None
    return reader.find_concept(*identity)


def rank(match: NodeMatch) -> tuple[int, int]:
    """The sort key of elements with one name: the URI names the element with the lowest key."""
    return 2 if match.is_missing else int(match.type not in _PLAIN), match.number


def _type_of(element: Element) -> str:
    return element.type if isinstance(element, Concept) else ""


def current_uris(
    reader: Reader, ids_before: Mapping[str, str], parsed: Callable[[str], Uri]
) -> dict[str, str | None]:
    """The current URIs of nodes, by the URIs that they had, looked up by id where it is known.

    None for a removed node, unless the URI was written again.
    """
    return {uri: _current_uri(reader, parsed(uri), id_) for uri, id_ in ids_before.items()}


def _current_uri(reader: Reader, uri: Uri, id_: str) -> str | None:
    element = reader.element(ids.parse_id(id_)) if id_ else None
    if element is not None:
        return element_uri(element)
    node_match = find(reader, uri)
    return None if node_match is None or node_match.is_missing else uri.text


def concepts_page(
    reader: Reader, workspace: str, limit: int, cursor: str | None, without: Collection[str]
) -> Page[Node]:
    """Concepts of a workspace by URI, `without` some types, after the cursor."""
    root = f"concept://{workspace}"
    if cursor is not None and not f"{cursor}/".startswith(f"{root}/"):
        raise ConstraintViolation(
            "The cursor is not of this list.", hint="Pass next_cursor of the page before."
        )
    unlisted = (MISSING, MISSING_ENTITY, *without)
    hidden = {reader.find_type(name) for name in unlisted} - {None}
    rows = [] if cursor else lookup.find_by_name(reader, [root])
    rows = [row for row in rows if row[1] not in hidden] + lookup.named_below(
        reader,
        root,
        after=cursor or "",
        limit=limit + 1,
        without=[number for number in hidden if number is not None],
    )
    nodes: dict[str, Node] = {}  # KIP may have written several concepts with one name.
    for number, _, name in rows[:limit]:
        concept = reader.concept(number)
        if concept is not None:
            nodes.setdefault(name, as_node(concept, content=False))
    return Page(tuple(nodes.values()), rows[limit - 1][2] if len(rows) > limit else None)


def children_of(reader: Reader, roots: Sequence[str]) -> list[Child]:
    """The parts directly below URIs, by name; each appears once. Placeholders are left out."""
    hidden = [number for name in (MISSING, MISSING_ENTITY) if (number := reader.find_type(name))]
    children: dict[str, Child] = {}
    for root in roots:
        for segment in lookup.segments_below(reader, root, without=hidden):
            concept = None if segment.number is None else reader.concept(segment.number)
            node = None if concept is None else as_node(concept, content=False)
            child = Child(
                path=unquote(segment.name),
                uri=f"{root}/{segment.name}",
                type=None if node is None else node.type,
                name=None if node is None or node.name == node.uri else node.name,
                below=segment.below,
            )
            sibling = children.get(child.path)
            if sibling is not None:  # Both a file and the symbols in it have this path.
                below = sibling.below + child.below
                child = replace(sibling if sibling.type is not None else child, below=below)
            children[child.path] = child
    return [children[path] for path in sorted(children)]


# From elements to values.


def uri_at(reader: Reader, number: int) -> str:
    """The URI of an element by its number."""
    element = reader.element(number)
    return f"kip:{reader.outer_id(number)}" if element is None else element_uri(element)


def element_uri(element: Element) -> str:
    if isinstance(element, Proposition):
        return f"kip:{element.id}"
    return uri_of(element.type, element.name)


def take_content(attributes: JsonObject) -> str | None:
    """Remove the content from attributes, and return it.

    The content of an entity of the memory server is the list of its observations.
    """
    if (text := attributes.pop(CONTENT, None)) is not None:
        return str(text)
    observations = attributes.get(OBSERVATIONS_KEY)
    if not observations or not isinstance(observations, list):
        return None
    if not all(isinstance(item, str) for item in observations):
        return None
    del attributes[OBSERVATIONS_KEY]
    return "\n".join(f"- {item}" for item in observations)


def as_node(concept: Concept, *, content: bool = True) -> Node:
    """A concept as a node, with or without its content."""
    properties = concept.attributes
    properties.pop(STAMP, None)
    node_type: NodeType = "resource" if concept.type == RESOURCE else "concept"
    if is_placeholder(concept):
        node_type = "missing"
    name, text = properties.pop("name", None), take_content(properties)
    if node_type == "resource":
        name = text = None
    elif not isinstance(name, str):
        name = concept.name if name is None else str(name)
    return Node(
        uri=element_uri(concept),
        id=concept.id,
        type=concept.type,
        node_type=node_type,
        name=name,
        content=text if content else None,
        properties=properties,
        metadata=concept.metadata,
        created_at=concept.created_at,
        updated_at=concept.updated_at,
        version=concept.version,
    )


def as_relation(reader: Reader, link: Proposition, concept: Concept | None = None) -> Relation:
    """A link as a relation between URIs; `concept` may be an end that was already read."""
    ends = [
        concept if concept is not None and concept.id == end else reader.element(ids.parse_id(end))
        for end in (link.subject, link.object)
    ]
    uris = [
        f"kip:{outer}" if end is None else element_uri(end)
        for end, outer in zip(ends, (link.subject, link.object), strict=True)
    ]
    return Relation(
        id=link.id,
        source=uris[0],
        relation=link.predicate,
        target=uris[1],
        weight=link.weight,
        properties=link.attributes,
        metadata=link.metadata,
        created_at=link.created_at,
        updated_at=link.updated_at,
        version=link.version,
        missing=tuple(uri for end, uri in zip(ends, uris, strict=True) if is_placeholder(end)),
    )
