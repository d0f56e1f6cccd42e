"""Adds caveats to nodes and relations that are read: superseded, expired, of low confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from mycel.knowledge.bootstrap_stamp import AUTHOR
from mycel.knowledge.node_lookup import element_uri
from mycel.knowledge.node_values import Node, Relation
from mycel.model import ids
from mycel.search.caveats import ElementValues, find_caveats
from mycel.search.validity import MISSING_SINCE
from mycel.store.query.reader import Reader

ElementT = TypeVar("ElementT", Node, Relation, Node | Relation)


def with_caveats(
    reader: Reader, elements: Sequence[ElementT], time_us: int | None = None
) -> list[ElementT]:
    """Nodes and relations with their caveats, as of now or as of a time.

    Elements with only the metadata that a bootstrap writes have none, unless their file is gone.
    """
    values = {
        ids.parse_id(element.id): _values(element)
        for element in elements
        if element.metadata != AUTHOR or MISSING_SINCE in element.properties
    }
    caveats = find_caveats(reader, values, element_uri, time_us=time_us)
    return [
        replace(element, caveats=texts)
        if (texts := caveats.texts(ids.parse_id(element.id)))
        else element
        for element in elements
    ]


def _values(element: Node | Relation) -> ElementValues:
    type_name = element.type if isinstance(element, Node) else ""
    return ElementValues(element.metadata, element.properties, type_name)
