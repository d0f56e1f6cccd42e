"""Computes hashes of natural keys from elements that were read."""

from __future__ import annotations

from collections.abc import Callable

from mycel.model.elements import Concept, Element
from mycel.model.records import concept_key, link_key
from mycel.store.log.topological import inside_out


def element_key(element: Element, read: Callable[[int], Element | None]) -> bytes | None:
    """The hash of an element's natural key; None if an end of the link does not exist.

    `read` gives the elements at the ends of links, by number.
    """
    elements: dict[int, Element | None] = {element.number: element}

    def ends(number: int) -> list[int]:
        link = elements[number]
        for end in () if link is None else link.ends:
            if end not in elements:
                elements[end] = read(end)
        return [] if link is None else list(link.ends)

    keys: dict[int, bytes | None] = {}
    for number in inside_out(element.number, ends):
        keys[number] = _key(elements[number], keys)
    return keys[element.number]


def _key(element: Element | None, keys: dict[int, bytes | None]) -> bytes | None:
    if element is None or isinstance(element, Concept):
        return None if element is None else concept_key(element.type, element.name)
    subject, object_ = (keys[end] for end in element.ends)
    if subject is None or object_ is None:
        return None
    return link_key(subject, element.predicate, object_)
