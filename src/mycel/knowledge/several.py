"""Several workspaces of a machine, searched together.

A score means the same in every graph, so hits of several are one list, the best first. Each says
which workspace it comes from: a URI alone need not, because a graph may have nodes of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mycel.errors import NotFound
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.node_values import Hit, Node
from mycel.knowledge.uris import parse
from mycel.model.values import JsonObject


class PlacedHit(NamedTuple):
    """A hit, and the workspace that it comes from."""

    workspace: str
    hit: Hit

    def to_dict(self) -> JsonObject:
        return {"workspace": self.workspace} | self.hit.to_dict()


class PlacedNode(NamedTuple):
    """A node, and the workspace that it comes from."""

    workspace: str
    node: Node

    def to_dict(self) -> JsonObject:
        return {"workspace": self.workspace} | self.node.to_dict()


class SeveralWorkspaces:
    """The knowledge of several workspaces, by name."""

    def __init__(self, workspaces: Mapping[str, Knowledge]) -> None:
        """Take the workspaces. The caller closes their graphs."""
        self._workspaces: Final = dict(workspaces)

    def search(self, words: str, *, limit: int = 10, **how: Any) -> list[PlacedHit]:
        """Hits of all workspaces, ranked together; the options are those of `Knowledge.search`."""
        hits = [
            PlacedHit(name, hit)
            for name, knowledge in self._workspaces.items()
            for hit in knowledge.search(words, limit=limit, **how)
        ]
        return sorted(hits, key=lambda placed: (-placed.hit.score, placed.workspace))[:limit]

    def get(self, uri: str) -> list[PlacedNode]:
        """A node as each workspace has it, that of its own workspace first.

        Raises:
            NotFound: none has it.
        """
        nodes = []
        for name, knowledge in self._workspaces.items():
            try:
                nodes.append(PlacedNode(name, knowledge.get(uri)))
            except NotFound:
                continue
        if not nodes:
            names = ", ".join(self._workspaces)
            raise NotFound(f"None of the workspaces {names} has {uri}.", hint="Search for it.")
        own = parse(uri, "").workspace
        return sorted(nodes, key=lambda placed: placed.workspace != own)
