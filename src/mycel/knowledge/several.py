"""Several workspaces, searched, read and traversed together: graphs of this machine, and remotes.

A score means the same in every graph, so hits of several are one list, the best first. Each says
which workspace it comes from: a URI alone need not, because a graph may have nodes of others. A
node from a remote is proven against the root of the remote, and has a caveat with its author and
address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from mycel.api.opening import open_graph
from mycel.errors import ConstraintViolation, NotFound, TypeMismatch
from mycel.graph.traversal import MAX_COST_DEFAULT
from mycel.knowledge.elsewhere import Elsewhere
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.node_values import DistantNode, Hit, Node
from mycel.knowledge.uris import parse
from mycel.model.values import JsonObject
from mycel.store.file.workspace_databases import existing_database, local_database, workspaces_of


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

    def __init__(
        self,
        workspaces: Mapping[str, Knowledge],
        *,
        remotes: Sequence[str] = (),
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Take the workspaces. The caller closes their graphs.

        `remotes` are names of the registry. `elsewhere` reads these remotes, and the workspaces to
        which links lead.
        """
        self._workspaces: Final = dict(workspaces)
        self._remotes: Final = tuple(name for name in remotes if name not in self._workspaces)
        self._elsewhere: Final = elsewhere or Elsewhere(local=self._path_of)

    @property
    def names(self) -> list[str]:
        return [*self._workspaces, *self._remotes]

    def search(
        self,
        words: str,
        *,
        limit: int = 10,
        near: str | None = None,
        warnings: list[str] | None = None,
        **options: Any,
    ) -> list[PlacedHit]:
        """Hits of all workspaces, ranked together; the options are those of `Knowledge.search`.

        A workspace that lacks a requested type has no hits. A workspace that lacks the node of
        `near` is searched without `near`. Remotes find nodes, as they are now; `warnings` gets a
        sentence about each remote that does not answer.

        Raises:
            TypeMismatch: no workspace has the type.
            NotFound: no workspace has the node of `near`.
            ConstraintViolation: relations or the past of a remote are requested.
        """
        self._check_remote_search(options)
        if near is not None:
            near = self.get(near)[0].node.uri
        hits: list[PlacedHit] = []
        mismatches: list[TypeMismatch] = []
        for name, knowledge in self._workspaces.items():
            near_here = near if near is not None and knowledge.has(near) else None
            try:
                placed = knowledge.search(
                    words, limit=limit, near=near_here, warnings=warnings, **options
                )
            except TypeMismatch as error:
                mismatches.append(error)
            else:
                hits += (PlacedHit(name, hit) for hit in placed)
        for name, outcome in self._search_remotes(words, limit, near, warnings, options):
            if isinstance(outcome, TypeMismatch):
                mismatches.append(outcome)
            else:
                hits += (PlacedHit(name, hit) for hit in outcome)
        if mismatches and len(mismatches) == len(self.names):
            raise mismatches[0]
        return sorted(hits, key=lambda placed: (-placed.hit.score, placed.workspace))[:limit]

    def _check_remote_search(self, options: Mapping[str, Any]) -> None:
        if not self._remotes:
            return
        if options.get("as_of") is not None or options.get("element") == "relation":
            raise ConstraintViolation(
                f"{self._remotes[0]} is a remote: its nodes are found, as they are now.",
                hint="Clone it, or leave out as_of and relations.",
            )

    def _search_remotes(
        self,
        words: str,
        limit: int,
        near: str | None,
        warnings: list[str] | None,
        options: Mapping[str, Any],
    ) -> list[tuple[str, list[Hit] | TypeMismatch]]:
        """The hits of each remote that answers."""
        filters = {
            name: value for name, value in options.items() if name not in ("element", "as_of")
        }
        if near is None:
            return self._elsewhere.search(
                self._remotes, words, limit=limit, warnings=warnings, **filters
            )
        home = parse(near, "").workspace
        outcomes = []
        for name in self._remotes:
            filters["near"] = near if name == home else None
            outcomes += self._elsewhere.search(
                (name,), words, limit=limit, warnings=warnings, **filters
            )
        return outcomes

    def get(self, uri: str, *, warnings: list[str] | None = None) -> list[PlacedNode]:
        """A node as each workspace has it, that of its own workspace first.

        A remote is asked only for nodes of its own workspace; `warnings` gets a sentence if it does
        not return the node.

        Raises:
            NotFound: no workspace has it; the hint says what became of it at a remote.
        """
        nodes = []
        for name, knowledge in self._workspaces.items():
            try:
                nodes.append(PlacedNode(name, knowledge.get(uri)))
            except NotFound:
                continue
        own = parse(uri, "").workspace
        advice = "Search for it."
        if own in self._remotes:
            distant = self._elsewhere.node(uri)
            if distant.node is not None:
                nodes.append(PlacedNode(own, distant.node))
            else:
                advice = f"It is {distant.state}. {distant.advice}"
                if warnings is not None:
                    warnings.append(f"{distant.uri} in {own} is {distant.state}. {distant.advice}")
        if not nodes:
            names = ", ".join(self.names)
            raise NotFound(f"None of the workspaces {names} has {uri}.", hint=advice)
        return sorted(nodes, key=lambda placed: placed.workspace != own)

    def traverse(self, uri: str, **bounds: Any) -> list[NearNode]:
        """The nodes near a node, nearest first, across workspaces.

        It starts in the workspace of the URI, or in the first workspace that has the node. Links
        into other workspaces are followed. The bounds are those of `Knowledge.traverse`.

        Raises:
            NotFound: no workspace has it.
        """
        name, node = self.get(uri)[0]
        knowledge = self._workspaces.get(name)
        if knowledge is None:
            return _near_distant(self._elsewhere.reach({node.uri: 0.0}, **_distant_bounds(bounds)))
        view = KnowledgeView(knowledge.db, workspace=knowledge.workspace, elsewhere=self._elsewhere)
        reached = view.traverse(node.uri, **bounds)
        distant = {far.uri: far for far in reached.distant}
        nodes = [
            NearNode(name, near.uri, near.cost, near.node.type, "here", near.reason)
            for near in reached.nodes
            if isinstance(near.node, Node) and near.uri not in distant
        ]
        nodes += _near_distant(distant.values())
        return sorted(nodes, key=lambda near: (near.cost, near.uri))

    def _path_of(self, name: str) -> Path | None:
        knowledge = self._workspaces.get(name)
        return None if knowledge is None else Path(knowledge.db.path)


def _near_distant(nodes: Iterable[DistantNode]) -> list[NearNode]:
    return [
        NearNode(far.workspace, far.uri, far.cost, far.type, far.state, far.content or far.advice)
        for far in nodes
    ]


def _distant_bounds(bounds: Mapping[str, Any]) -> dict[str, Any]:
    """The bounds of a traversal that begins in another workspace; tokens are not counted there."""
    supported = {name: value for name, value in bounds.items() if name != "max_tokens"}
    return {"max_cost": MAX_COST_DEFAULT} | supported


@contextmanager
def local_workspaces(names: Sequence[str] = ()) -> Iterator[SeveralWorkspaces]:
    """Workspaces of this user, open for the time of a block; without names, all of this machine.

    A name that no workspace of this machine has is looked up in the registry of remotes.

    Raises:
        NotFound: no workspace has one of the names; the hint names those that exist.
    """
    local_names = workspaces_of(Path.home())
    elsewhere = Elsewhere(local=local_database)
    registered = set(elsewhere.workspaces()) if set(names) - set(local_names) else set()
    remotes = [name for name in names if name not in local_names and name in registered]
    with ExitStack() as stack:
        opened: dict[str, Knowledge] = {}
        for name in names or local_names:
            if name in remotes:
                continue
            db = open_graph(existing_database(name), create=False, core_capsules=False)
            stack.enter_context(closing(db))
            opened[name] = Knowledge(db, workspace=name.lower())
        yield SeveralWorkspaces(opened, remotes=remotes, elsewhere=elsewhere)
