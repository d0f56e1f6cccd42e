"""Names on the page: the workspace of the graph, and the node that a reader means by a text.

A server is started in some folder, and the graph that it shows may have been made in another one.
A path that a reader types therefore belongs to a workspace of the graph, never to one that only the
folder has.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from mycel.api.graph import Graph
from mycel.errors import AmbiguousName
from mycel.explorer.census import Census
from mycel.explorer.folders import last_segment
from mycel.explorer.moments import Scene
from mycel.explorer.overview import workspaces
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.name_resolution import resolve_all
from mycel.knowledge.uris import Uri, UriKind, parse
from mycel.model.values import JsonObject
from mycel.store.file.workspace_databases import HOME_FOLDER, PREFIX, is_address, workspace_in
from mycel.store.query import lookup
from mycel.store.query.reader import Reader

CANDIDATES_MAX: Final = 10
_SCHEMES: Final = ("concept", "file")


def has_nodes(reader: Reader, workspace: str) -> bool:
    """True if a workspace has nodes or files in a state."""
    return any(lookup.named_from(reader, f"{scheme}://{workspace}/", 1) for scheme in _SCHEMES)


def largest_workspace(census: Census) -> str | None:
    """The workspace with the most nodes; None in a graph without concept and file URIs."""
    rows = workspaces(census)
    return rows[0]["name"] if rows else None


def graph_name(db: Graph) -> str | None:
    """The name of a graph for people: the name of its file; None for a graph in memory.

    A branch has the name of its graph.
    """
    if db.path == ":memory:":
        return None
    if is_address(db.path):
        return workspace_in(db.path)
    path = Path(db.path)
    prefix = PREFIX if path.parent.name == HOME_FOLDER else ""
    return path.stem.removeprefix(prefix).removesuffix(f"@{db.branch}")


def in_workspace(knowledge: Knowledge, workspace: str) -> Knowledge:
    """The knowledge in another workspace, without access to files."""
    if workspace == knowledge.workspace:
        return knowledge
    return Knowledge(
        knowledge.db,
        workspace=workspace,
        context=knowledge.context,
    )


def uri_beside(knowledge: Knowledge, text: str, beside: Uri, *, kind: UriKind = "concept") -> Uri:
    """The URI that a text means; a path is in the workspace of another URI, if that has one."""
    uri = knowledge.uri(text, kind=kind)
    return parse(text, beside.workspace, kind=kind) if uri.is_bare and beside.workspace else uri


def identify(
    scene: Scene, text: str, *, near: str | None, shown: Sequence[str], is_new: bool
) -> JsonObject:
    """The node that a reader means by a text: `id`, and `node` if it exists.

    A URI or an id means itself. Otherwise names of shown nodes are tried first, then paths in the
    workspace of the node `near`, then short names and former names. If several nodes could be
    meant, they are `candidates`, and there is no `id`. For a new node (`is_new`) only the path is
    tried.
    """
    uri = _uri(scene, text, near)
    hint = None
    if uri.is_bare and not is_new:
        bearers = _shown_as(scene, uri, shown)
        if len(bearers) > 1:
            return scene.answer(id=None, node=None, candidates=scene.cards.all(bearers), hint=None)
        if bearers:
            card = scene.cards.get(bearers[0])
            return scene.answer(id=card and card["id"], node=card, candidates=[], hint=None)
    if not is_new:
        try:
            resolved = resolve_all(scene.reader, (uri,)).get(uri)
        except AmbiguousName as several:
            candidates = several.data.get("candidates", ())[:CANDIDATES_MAX]
            numbers = scene.find_all(candidates).values()
            return scene.answer(id=None, node=None, candidates=scene.cards.all(numbers), hint=None)
        if resolved is not None:
            uri, hint = resolved.uri, resolved.hint
    number = scene.find(uri.text)
    card = None if number is None else scene.cards.get(number)
    return scene.answer(
        id=uri.text if card is None else card["id"], node=card, candidates=[], hint=hint
    )


def _uri(scene: Scene, text: str, near: str | None) -> Uri:
    if near is None:
        return scene.knowledge.uri(text)
    return uri_beside(scene.knowledge, text, scene.knowledge.uri(near))


def _shown_as(scene: Scene, uri: Uri, screen_ids: Collection[str]) -> list[int]:
    """The shown nodes that a path names: by the whole path, or else by a name or the path's end."""
    numbers = list(dict.fromkeys(scene.find_all(screen_ids).values()))
    path = uri.path.casefold()
    exact, alike = [], []
    for number, card in zip(numbers, scene.cards.all(numbers), strict=True):
        id_ = card["id"].casefold()
        if card["id"] == uri.text or id_.partition("://")[2].partition("/")[2] == path:
            exact.append(number)
        elif path in (card["name"].casefold(), last_segment(id_)) or id_.endswith(f"/{path}"):
            alike.append(number)
    own = [number for number in exact if (scene.cards.get(number) or {}).get("id") == uri.text]
    return (own or exact or alike)[:CANDIDATES_MAX]
