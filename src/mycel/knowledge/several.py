"""Several workspaces of a machine, searched, read and traversed together.

A score means the same in every graph, so the hits of several graphs form one list, best first. Each
hit names its workspace, because a graph may also have nodes with URIs of other workspaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from mycel.api.opening import open_graph
from mycel.errors import NotFound, TypeMismatch
from mycel.knowledge.elsewhere import Elsewhere
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.node_values import Hit, Node
from mycel.knowledge.uris import parse
from mycel.model.values import JsonObject
from mycel.store.file.workspace_databases import existing_database, workspaces_of


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


class NearNode(NamedTuple):
    """A node that a traversal has reached, and the workspace that it comes from."""

    workspace: str
    uri: str
    cost: float
    type: str
    state: str
    """`here`, or a state of `DistantNode`."""
    text: str
    """The reason why the node was reached; for a node of another workspace, its content or
    advice."""

    def to_dict(self) -> JsonObject:
        return dict(self._asdict())


class SeveralWorkspaces:
    """The knowledge of several workspaces, by name."""

    def __init__(self, workspaces: Mapping[str, Knowledge]) -> None:
        """Take the workspaces. The caller closes their graphs."""
        self._workspaces: Final = dict(workspaces)

    @property
    def names(self) -> list[str]:
        """The names of the workspaces."""
        return list(self._workspaces)

    def search(
        self, words: str, *, limit: int = 10, near: str | None = None, **how: Any
    ) -> list[PlacedHit]:
        """Hits of all workspaces, ranked together; the options are those of `Knowledge.search`.

        A workspace that lacks the requested `type` has no hits. A workspace that lacks the node of
        `near` is searched without `near`.

        Raises:
            TypeMismatch: no workspace has the type.
            NotFound: no workspace has the node of `near`.
        """
        if near is not None:
            near = self.get(near)[0].node.uri
        hits: list[PlacedHit] = []
        mismatches: list[TypeMismatch] = []
        for name, knowledge in self._workspaces.items():
            how["near"] = near if near is not None and knowledge.has(near) else None
            try:
                hits += (
                    PlacedHit(name, hit) for hit in knowledge.search(words, limit=limit, **how)
                )
            except TypeMismatch as error:
                mismatches.append(error)
        if mismatches and len(mismatches) == len(self._workspaces):
            raise mismatches[0]
        return sorted(hits, key=lambda placed: (-placed.hit.score, placed.workspace))[:limit]

    def get(self, uri: str) -> list[PlacedNode]:
        """A node as each workspace has it; its own workspace comes first.

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

    def traverse(self, uri: str, **bounds: Any) -> list[NearNode]:
        """The nodes near a node, nearest first, across workspaces.

        It starts in the workspace of the URI, or in the first workspace that has the node. Links
        into other workspaces are followed. The bounds are those of `Knowledge.traverse`.

        Raises:
            NotFound: none has it.
        """
        name, node = self.get(uri)[0]
        knowledge = self._workspaces[name]
        elsewhere = Elsewhere(local=self._path_of)
        view = KnowledgeView(knowledge.db, workspace=knowledge.workspace, elsewhere=elsewhere)
        reached = view.traverse(node.uri, **bounds)
        distant = {far.uri: far for far in reached.distant}
        nodes = [
            NearNode(name, near.uri, near.cost, near.node.type, "here", near.reason)
            for near in reached.nodes
            if isinstance(near.node, Node) and near.uri not in distant
        ]
        nodes += [
            NearNode(
                far.workspace, far.uri, far.cost, far.type, far.state, far.content or far.advice
            )
            for far in distant.values()
        ]
        return sorted(nodes, key=lambda near: (near.cost, near.uri))

    def _path_of(self, name: str) -> Path | None:
        knowledge = self._workspaces.get(name)
        return None if knowledge is None else Path(knowledge.db.path)


@contextmanager
def local_workspaces(names: Sequence[str] = ()) -> Iterator[SeveralWorkspaces]:
    """Workspaces of this user on this machine, open during a block; without names, all of them.

    Raises:
        NotFound: there is none of a name; the hint names those that exist.
    """
    paths = {name: existing_database(name) for name in names or workspaces_of(Path.home())}
    with ExitStack() as stack:
        opened: dict[str, Knowledge] = {}
        for name, path in paths.items():
            db = open_graph(path, create=False, core_capsules=False)
            stack.enter_context(closing(db))
            opened[name] = Knowledge(db, workspace=name.lower())
        yield SeveralWorkspaces(opened)
