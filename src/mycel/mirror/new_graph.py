"""The documents of a new graph; when they are needed, a graph is created in memory to read them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from mycel.api.opening import open_graph
from mycel.mirror.documents import MirrorDocument
from mycel.mirror.front_matter import read_document
from mycel.mirror.projection import Projection


def core_document(uri: str) -> MirrorDocument | None:
    """The document that every new graph has under a URI; None if there is none."""
    return _by_uri().get(uri)


@cache
def _by_uri() -> Mapping[str, MirrorDocument]:
    with open_graph() as graph, graph.reading() as reader:
        read = [read_document(*file) for file in Projection(reader, is_whole=True).files()]
    return {document.uri: document for document in read}
