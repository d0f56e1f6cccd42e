"""Finds broken links that the graph alone cannot show: links to other workspaces, and to files.

A link to a concept of another workspace has a placeholder as its end, even if the concept exists
there. A link to a file leads to a node, even if the file is gone. So this module asks the other
workspaces and the disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from mycel.errors import MycelError
from mycel.knowledge.bootstrap_stamp import AUTHOR
from mycel.knowledge.node_lookup import as_relation
from mycel.knowledge.node_values import DistantNode, Page, Relation
from mycel.knowledge.uris import parse
from mycel.knowledge.vocabulary import RESOURCE
from mycel.knowledge.workspace_files import path_of
from mycel.store.query import lookup
from mycel.store.query.reader import Reader

FILES_MARK: Final = "f"
"""The prefix of a cursor of links to files, which come after all other links."""
SCANNED_MAX: Final = 50_000
"""The maximum number of links to files that are checked for one page."""
_BATCH: Final = 1_000
_CONCEPT: Final = "concept://"


def distant_ends(relations: Sequence[Relation], workspace: str) -> list[str]:
    """The ends of relations that are placeholders of concepts in other workspaces."""
    ends = dict.fromkeys(uri for relation in relations for uri in relation.missing)
    return [
        uri
        for uri in ends
        if uri.startswith(_CONCEPT) and parse(uri, workspace).workspace != workspace
    ]


def judge(relations: Sequence[Relation], ends: Mapping[str, DistantNode]) -> list[Relation]:
    """The relations with an end that is really missing, each with the reason."""
    judged = []
    for relation in relations:
        distant_nodes = [ends[uri] for uri in relation.missing if uri in ends]
        missing = tuple(
            uri for uri in relation.missing if uri not in ends or not ends[uri].is_there
        )
        if missing:
            reasons = tuple(map(_reason, (node for node in distant_nodes if not node.is_there)))
            caveats = (*relation.caveats, *reasons)
            judged.append(replace(relation, missing=missing, caveats=caveats))
    return judged


def _reason(node: DistantNode) -> str:
    proof = ", proven" if node.is_proven else ""
    return f"{node.uri} is {node.state}{proof}. {node.advice}".strip()


def links_to_gone_files(
    reader: Reader, root: Path, workspace: str, after: int, limit: int
) -> Page[Relation]:
    """A page of links to missing files of the workspace, among links that somebody wrote."""
    type_number = reader.find_type(RESOURCE)
    if type_number is None:
        return Page(())

    @cache
    def is_gone(uri: str) -> bool:
        try:
            return not path_of(parse(uri.partition("#")[0], workspace), root).exists()
        except MycelError:
            return False  # A path that leads out of the workspace is not checked here.

    prefix = f"file://{workspace}/"
    relations: list[Relation] = []
    for _ in range(0, SCANNED_MAX, _BATCH):
        numbers = lookup.links_at_named(reader, {type_number: prefix}, after, _BATCH)
        for number in numbers:
            link = reader.link(number)
            if link is None or link.metadata == AUTHOR:
                continue
            relation = as_relation(reader, link)
            if relation.target.startswith(prefix) and is_gone(relation.target):
                if len(relations) == limit:
                    return Page(tuple(relations), f"{FILES_MARK}{after}")
                advice = f"The file {relation.target} is gone. Link to its new place, or unlink it."
                relations.append(replace(relation, caveats=(*relation.caveats, advice)))
            after = number
        if len(numbers) < _BATCH:
            return Page(tuple(relations))
    return Page(tuple(relations), f"{FILES_MARK}{after}")
