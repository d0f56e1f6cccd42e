"""Finds notes that may be outdated, because a file, symbol or section that they cite has changed.

A note cites the nodes that it is linked with. It may be outdated if the content of such a node has
changed since the note and the link were last written. The mark is derived when a note is read: a
changed file writes nothing, and writing the note again removes the mark.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from mycel.knowledge.author_marks import with_authors
from mycel.knowledge.bootstrap_stamp import AUTHOR, AUTHOR_TEXT
from mycel.knowledge.node_caveats import with_caveats
from mycel.knowledge.node_conflicts import with_conflicts
from mycel.knowledge.node_values import Node, Relation
from mycel.model import ids
from mycel.search.changed_citations import find_changed_citations
from mycel.store.query.reader import Reader

ElementT = TypeVar("ElementT", Node, Relation, Node | Relation)


def with_marks(
    reader: Reader, elements: Sequence[ElementT], time_us: int | None = None
) -> list[ElementT]:
    """Nodes and relations with conflicts, caveats and authors, and with changed citations.

    With `time_us`, the caveats are those of that time.
    """
    marked: list[Any] = with_caveats(reader, with_conflicts(reader, elements), time_us)
    notes = {
        ids.parse_id(element.id): (at, element)
        for at, element in enumerate(marked)
        if isinstance(element, Node) and element.metadata != AUTHOR
    }
    if notes and reader.state.seq is None:
        for number, uris in find_changed(reader, notes).items():
            at, note = notes[number]
            marked[at] = replace(note, changed_since=uris)
    return with_authors(reader, marked)


def find_changed(reader: Reader, notes: Collection[int]) -> dict[int, tuple[str, ...]]:
    """For each of these notes, the URIs that it cites and that have changed since.

    Only live states have an answer.
    """
    return find_changed_citations(reader, notes, AUTHOR_TEXT)
