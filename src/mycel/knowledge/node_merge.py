"""Merges two nodes, also of different types.

The first node, the source, is merged into the second, the target. Relations of the source move to
the target. The target takes over properties and metadata that it lacks, and the URI and name of the
source as aliases. Both texts are kept, and what the target does not take over is named in warnings
(`engine.united_values`). The URI of the source leads to the target (`name_resolution`).
"""

from __future__ import annotations

from mycel.engine.united_values import merge_and_unite
from mycel.errors import ConstraintViolation
from mycel.knowledge.name_resolution import locate, name_line
from mycel.knowledge.node_lookup import element_uri
from mycel.knowledge.node_values import MergedNode
from mycel.knowledge.uris import Uri
from mycel.knowledge.vocabulary import RESOURCE, STAMP
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.store.write.transaction import Transaction


def merge_nodes(tx: Transaction, uri: Uri, into: Uri) -> MergedNode:
    """Merge the node of a URI into another one, and remove it.

    Raises:
        NotFound: one of them does not exist.
        ConstraintViolation: the first was read from files, or only the second is a resource.
        ImmutableTarget: one is a definition, or protected.
    """
    located = {node_uri: locate(tx.reader, node_uri, at_home=True) for node_uri in (uri, into)}
    source, target = located[uri].concept, located[into].concept
    merged, target_uri = element_uri(source), element_uri(target)
    if source.number == target.number:
        warning = f"{uri.text} is {target_uri} already; nothing changed."
        return MergedNode(
            target_uri, target.id, merged, version=target.version, warnings=(warning,)
        )
    _check(source, target)
    counts, lost = merge_and_unite(tx, source, target)
    after = tx.reader.concept(target.number) or target
    return MergedNode(
        target_uri,
        target.id,
        merged,
        changed=True,
        version=after.version,
        relations=counts.repointed,
        joined=counts.deduplicated,
        properties=counts.filled,
        warnings=(*lost, *name_line(located)),
    )


def _check(source: Concept, target: Concept) -> None:
    merged = shorten(element_uri(source), 200)
    if STAMP in source.attributes:
        raise ConstraintViolation(
            f"{merged} was read from files, and the next bootstrap would write it again.",
            hint="Merge the other node into this one, or relate the two.",
        )
    if target.type == RESOURCE != source.type:
        raise ConstraintViolation(
            f"The concept {merged} cannot be merged into a resource, which has no content.",
            hint="Merge the resource into the concept, or relate the two.",
        )
