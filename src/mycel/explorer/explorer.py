"""The class `Explorer`: a method for each view, by name and with checked parameters.

`VIEWS` names every view with its parameters; the HTTP endpoints and the OpenAPI description are
made from it. The tool of the MCP App offers those that are listed in `mcp.app_view`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from mycel import __version__
from mycel.api.graph import Graph
from mycel.errors import ExecutionTimeout, NotFound
from mycel.explorer import (
    authors,
    conflicts,
    details,
    edits,
    limits,
    naming,
    neighbours,
    past,
    routes,
    saved,
)
from mycel.explorer import overview as overviews
from mycel.explorer.census import BYS, By, Census
from mycel.explorer.health_view import health_view
from mycel.explorer.live_counts import LiveCounts
from mycel.explorer.moments import Scene, moment_of, scene, scene_of
from mycel.explorer.parameters import (
    AT,
    CURSOR,
    ID,
    Argument,
    Parameters,
    checked,
    integer_parameter,
)
from mycel.explorer.proposing import proposable, propose
from mycel.explorer.source_text import source_text
from mycel.explorer.suggestions import suggest
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.node_values import Relation
from mycel.model import times
from mycel.model.allowance import current
from mycel.model.client_names import current as current_client
from mycel.model.client_names import working_for
from mycel.model.directions import DIRECTIONS
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.store.query import outline
from mycel.store.query.filters import Filters
from mycel.store.query.history import snapshot_of
from mycel.store.query.merges import count_undecided
from mycel.text.kinds import KINDS, AnswerKind

TIMEOUT_S: Final = 30.0
CLIENT: Final = "explorer"
"""The program that the journal names if a caller of a write names no program."""


@dataclass(frozen=True, slots=True)
class View:
    """One view: its description and its parameters."""

    description: str
    parameters: Parameters
    run: Callable[..., JsonObject] | None = None
    """A function from a scene and the parameters to the answer; None if `Explorer` has a method."""
    has_body: bool = False
    """True if the parameters may be a JSON body, because lists of ids can be long."""


_DIRECTION: Final = Argument("text", "Of its links", "both", words=DIRECTIONS)
_WAY: Final = Argument("text", "Of the links to follow", "out", words=DIRECTIONS)
_SINCE: Final = Argument("text", "From this moment on")
_UNTIL: Final = Argument("text", "Up to this moment")
_FOR_TIME: Final = Argument("text", "Only elements that hold at this time")
_RELATIONS: Final = Argument("texts", "Only these relation types")

VIEWS: Final[dict[str, View]] = {
    "about": View("The graph: its size, branch, workspaces, and the rights of the caller", {}),
    "suggest": View(
        "Nodes by the beginning of a word in their name or path",
        {
            "q": Argument(
                "text",
                "What was typed so far",
                required=True,
                most=limits.QUESTION_CHARACTERS_MAX,
            ),
            "limit": integer_parameter("Hits", limits.SUGGESTIONS, limits.SUGGESTIONS_MAX),
            "at": AT,
        },
    ),
    "identify": View(
        "The node that a reader of the page means by a text",
        {
            "text": Argument("text", "A name, a path, a URI or an id", required=True),
            "near": Argument("text", "A path belongs to the workspace of this node"),
            "shown": Argument("texts", "Ids on the page", (), most=limits.KNOWN_MAX),
            "is_new": Argument("flag", "The text is the path of a new node", default=False),
        },
        naming.identify,
        has_body=True,
    ),
    "search": View(
        "Nodes that fit a question, by names, words, meaning and links",
        {
            "q": Argument(
                "text", "The question", required=True, most=limits.QUESTION_CHARACTERS_MAX
            ),
            "limit": integer_parameter("Hits", limits.HITS, limits.HITS_MAX),
            "type": Argument("text", "Only nodes of this type"),
            "kind": Argument("text", "Only notes, or only code", "any", words=KINDS),
            "for_time": _FOR_TIME,
            "at": AT,
        },
    ),
    "overview": View(
        "Groups of nodes with the links between them, or the inside of one group",
        {
            "by": Argument("text", "How nodes are grouped", "folder", words=BYS),
            "group": Argument("text", "Show the inside of this group"),
            "limit": integer_parameter("Nodes", limits.GROUP_NODES, limits.GROUP_NODES_MAX),
            "at": AT,
        },
    ),
    "near": View(
        "Neighbours of a node that are not shown yet, and the links among all shown nodes",
        {
            "id": ID,
            "limit": integer_parameter("Neighbours", limits.NEIGHBOURS, limits.NEIGHBOURS_MAX),
            "known": Argument("texts", "Ids that are shown already", (), most=limits.KNOWN_MAX),
            "types": Argument("texts", "Only neighbours of these types"),
            "relations": _RELATIONS,
            "direction": _DIRECTION,
            "for_time": _FOR_TIME,
            "at": AT,
        },
        neighbours.near,
        has_body=True,
    ),
    "links": View(
        "Some nodes, and all links among them",
        {
            "ids": Argument("texts", "Their ids", required=True, most=limits.KNOWN_MAX),
            "at": AT,
        },
        neighbours.among,
        has_body=True,
    ),
    "reach": View(
        "Nodes within a cost of a node, nearest first: a link costs its weight",
        {
            "id": ID,
            "max_cost": Argument("number", "The cost of a path", limits.REACHED_COST),
            "max_nodes": integer_parameter("Nodes", limits.REACHED_NODES, limits.REACHED_NODES_MAX),
            "relations": _RELATIONS,
            "direction": _WAY,
            "for_time": _FOR_TIME,
            "at": AT,
        },
        routes.reach,
    ),
    "path": View(
        "The cheapest path between two nodes: a link costs its weight",
        {
            "from": Argument("text", "The node at its beginning", required=True),
            "to": Argument("text", "The node at its end", required=True),
            "relations": _RELATIONS,
            "direction": _DIRECTION,
            "for_time": _FOR_TIME,
            "at": AT,
        },
        routes.path,
    ),
    "node": View("One node with all its values", {"id": ID, "at": AT}, details.node),
    "source": View(
        "The source of a symbol, or the head of a file, as it is on the disk now",
        {"id": ID},
        source_text,
    ),
    "relations": View(
        "Relations of a node",
        {
            "id": ID,
            "direction": _DIRECTION,
            "relation": _RELATIONS,
            "limit": integer_parameter("Relations", limits.RELATIONS, limits.RELATIONS_MAX),
            "cursor": CURSOR,
            "at": AT,
        },
        details.relations,
    ),
    "history": View(
        "Versions of a node, newest first",
        {
            "id": ID,
            "limit": integer_parameter("Versions", limits.VERSIONS, limits.VERSIONS_MAX),
            "cursor": CURSOR,
            "at": AT,
        },
        details.versions,
    ),
    "proof": View("The proof that a node is part of the state", {"id": ID}, details.proof),
    "missing": View(
        "Concepts that relations name and that do not exist yet",
        {
            "limit": integer_parameter("Concepts", limits.MISSING, limits.MISSING_MAX),
            "cursor": CURSOR,
            "at": AT,
        },
        details.missing_concepts,
    ),
    "upkeep": View(
        "The health of the graph: stale, contested, duplicate, orphaned and growing elements",
        {"limit": integer_parameter("Findings of each kind", limits.FINDINGS, limits.FINDINGS_MAX)},
        health_view,
    ),
    "commits": View(
        "Commits, newest first",
        {
            "limit": integer_parameter("Commits", limits.COMMITS, limits.COMMITS_MAX),
            "before": integer_parameter(
                "Only commits that ended before this position", None, 1 << 62
            ),
            "path": Argument("text", "Only commits that changed nodes under this URI"),
            "type": Argument("text", "Only commits that changed this type or relation type"),
            "actor": Argument("text", "Only commits of this actor"),
            "since": _SINCE,
            "until": _UNTIL,
            "text": Argument("text", "Only commits with this text in their message"),
        },
    ),
    "commit": View(
        "The commit that an entry of the journal is part of",
        {"entry": Argument("whole", "Its position", most=1 << 62, required=True)},
        past.commit_with,
    ),
    "moments": View(
        "Moments to choose from: tags, the newest commits, days on which something was written",
        {"zone": Argument("text", "The offset of days from UTC, such as +01:00", "Z")},
        past.moments_to_choose,
    ),
    "authors": View(
        "The actors who wrote in a span, with the numbers of their commits and changes",
        {
            "since": _SINCE,
            "until": _UNTIL,
            "limit": integer_parameter("Actors", limits.AUTHORS, limits.AUTHORS_MAX),
            "at": AT,
        },
        authors.authors,
    ),
    "touched": View(
        "Nodes and links that were written in a span, by some actors or anybody",
        {
            "ids": Argument(
                "texts", "Only these nodes and the links among them", most=limits.KNOWN_MAX
            ),
            "since": _SINCE,
            "until": _UNTIL,
            "actors": Argument("texts", "Only changes of these actors", most=limits.AUTHORS_MAX),
            "limit": integer_parameter(
                "Nodes, without ids", limits.TOUCHED, limits.GROUP_NODES_MAX
            ),
            "at": AT,
        },
        authors.touched,
        has_body=True,
    ),
    "not_holding": View(
        "The nodes among some ids, and the links among them, that do not hold at a time",
        {
            "ids": Argument("texts", "The nodes", required=True, most=limits.KNOWN_MAX),
            "time": Argument("text", "The time", required=True),
            "at": AT,
        },
        neighbours.not_holding,
        has_body=True,
    ),
    "timeline": View(
        "Equal spans of time with the number of changes in each",
        {
            "buckets": integer_parameter("Spans", limits.BUCKETS, limits.BUCKETS_MAX),
            "from": Argument("text", "The moment at which they begin"),
            "to": Argument("text", "The moment at which they end"),
        },
        past.timeline,
    ),
    "saved": View(
        "The saved views; with an id, one of them with all of it",
        {"id": Argument("text", "The id of a saved view")},
    ),
    "conflicts": View("Open merges with their conflicts", {}, conflicts.list_open_merges),
    "diff": View(
        "The elements that differ between two moments or branches",
        {
            "from": Argument("text", "A moment or a branch", required=True),
            "to": Argument("text", "A moment or a branch; without, now"),
            "path": Argument("text", "Only nodes under this URI"),
            "limit": integer_parameter("Elements", limits.CHANGES, limits.CHANGES_MAX),
            "cursor": CURSOR,
        },
    ),
}
"""Every view that reads, by name."""


class Explorer:
    """Views of one graph, for any number of threads."""

    def __init__(
        self,
        db: Graph,
        knowledge: Knowledge,
        *,
        readonly: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.db: Final = db
        self.readonly: Final = readonly
        self._given_knowledge: Final = knowledge
        self._home: Knowledge | None = None
        """The knowledge with a workspace that has nodes in this graph; None until there is one."""
        self._timeout_s: Final = timeout_s
        self._live: Final = LiveCounts(db)
        self._past: Final[OrderedDict[tuple[int, int], Census]] = OrderedDict()
        """Censuses of past states, by position and number of purges."""
        self._lock: Final = threading.Lock()
        self._comparing: Final = threading.BoundedSemaphore(limits.DIFFS_AT_ONCE)
        self._overviews: Final[OrderedDict[tuple[Any, ...], tuple[Census, JsonObject]]] = (
            OrderedDict()
        )

    def view(self, name: str, arguments: Mapping[str, Any]) -> JsonObject:
        """The answer of a view.

        Raises:
            NotFound: there is no such view.
            MycelError: a parameter is wrong, or names nothing.
        """
        view = VIEWS.get(name)
        if view is None:
            raise NotFound(
                f"There is no view {shorten(repr(name))}.", hint=f"There are {', '.join(VIEWS)}."
            )
        values = _as_arguments(checked(name, view.parameters, arguments))
        if view.run is None:
            answer: JsonObject = getattr(self, f"_{name}")(**values)
            return answer
        with self._scene(values.pop("at", None)) as scene:
            return view.run(scene, **values)

    def write(self, arguments: Mapping[str, Any]) -> JsonObject:
        """Run a write of `edits.OPERATIONS`, which `op` names, or propose it.

        Raises:
            AccessDenied: nothing may be written, nor proposed.
            VersionConflict: the node has changed since it was read.
            MycelError: the write is refused; nothing was written.
        """
        kinds = Argument("text", "The kind of write", words=tuple(edits.OPERATIONS), required=True)
        may_propose = bool(proposable(self.db.branch))
        if self.readonly and not may_propose:
            raise edits.refuse_write()
        op = checked("write", {"op": kinds}, {"op": arguments.get("op")})["op"]
        operation = edits.OPERATIONS[op]
        rest = {key: value for key, value in arguments.items() if key != "op"}
        values = checked(op, {**operation.parameters, **edits.COMMON}, rest)
        with working_for(current_client() or CLIENT):
            if may_propose:
                return propose(self._knowledge, op, values)
            return operation.run(self._knowledge, self.db, values)

    def act(self, action: str, arguments: Mapping[str, Any]) -> JsonObject:
        """Decide conflicts of an open merge, commit it, or abort it.

        Raises:
            AccessDenied: nothing may be written.
            MycelError: the write is impossible; nothing was written.
        """
        values = self._checked_write(action, conflicts.ACTIONS[action], arguments)
        with working_for(current_client() or CLIENT):
            commit = conflicts.act(self.db, action, values)
        with self._scene(None) as scene:
            merges = conflicts.list_open_merges(scene)
            return merges | {"commit": conflicts.committed(scene, commit)}

    def change_saved(self, action: str, arguments: Mapping[str, Any]) -> JsonObject:
        """Save a view under a name, rename or delete a saved one.

        Raises:
            AccessDenied: nothing may be written.
            MycelError: the write is impossible; nothing was written.
        """
        values = self._checked_write(action, saved.ACTIONS[action], arguments)
        views, id_ = self.db.saved_views, values["id"]
        if action == "save":
            body = saved.check_body(values)
            with self._scene(saved.moment_of_view(body)) as scene:
                return scene.answer(**saved.save(scene, views, body, name=values["name"], id_=id_))
        with self._scene(None) as scene:
            if action == "rename":
                return scene.answer(**saved.rename(views, id_, values["name"]))
            return scene.answer(**saved.delete(views, id_))

    def _checked_write(
        self, name: str, parameters: Parameters, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The checked parameters of a write; raises `AccessDenied` if the caller may not write."""
        if self.readonly:
            raise edits.refuse_write()
        return checked(name, parameters, arguments)

    def warm(self) -> None:
        """Make the counts that the first screen shows, unless they exist."""
        self.view("overview", {})

    def warm_names(self) -> None:
        """Make the index of names, unless it exists."""
        self._live.index()

    def most_linked(self, limit: int, at: str | None = None) -> list[str]:
        """The ids of the nodes with the most links."""
        with self._counted(at) as (scene, census):
            return [card["id"] for card in scene.cards.all(census.most_linked(limit))]

    @property
    def _knowledge(self) -> Knowledge:
        """The knowledge in the workspace of the folder, or else in the largest one of the graph."""
        if self._home is None:
            knowledge = self._given_knowledge
            with self.db.reading() as reader:
                workspace = (
                    knowledge.workspace if naming.has_nodes(reader, knowledge.workspace) else None
                )
            if workspace is None:
                with self._live.counted() as (census, _):
                    workspace = naming.largest_workspace(census)
            if workspace is None:
                return knowledge
            self._home = naming.in_workspace(knowledge, workspace)
        return self._home

    def _scene(self, at: str | None) -> AbstractContextManager[Scene]:
        return scene(
            self._knowledge, at, timeout_s=self._timeout_s, census=self._live.census_if_ready()
        )

    @contextmanager
    def _counted(self, at: str | None) -> Iterator[tuple[Scene, Census]]:
        """The state of a moment, with the census of the same state."""
        if at is None:
            knowledge = self._knowledge
            with self._live.counted() as (census, reader):
                yield scene_of(knowledge, reader, census, self._timeout_s), census
            return
        with self._scene(at) as scene:
            yield scene, self._past_census(scene)

    def _past_census(self, scene: Scene) -> Census:
        key = scene.position, outline.purges(scene.reader)
        with self._lock:
            if key in self._past:
                self._past.move_to_end(key)
                return self._past[key]
        census = Census(scene.reader)
        census.take_lines()
        with self._lock:
            self._past[key] = census
            while len(self._past) > limits.PAST_CENSUSES:
                self._past.popitem(last=False)
        return census

    # The views.

    def _about(self) -> JsonObject:
        with self._counted(None) as (scene, census):
            snapshot = snapshot_of(scene.reader)
            return scene.answer(
                name="mycel",
                graph=naming.graph_name(self.db) or scene.knowledge.workspace,
                version=__version__,
                time=times.to_text(snapshot.time_us),
                root=snapshot.overall_root.hex(),
                writable=not self.readonly and scene.reader.has_writing_rights(),
                proposable=proposable(self.db.branch),
                branch=self.db.branch,
                branches=self._branches(),
                workspace=scene.knowledge.workspace,
                workspaces=overviews.workspaces(census),
                counts=overviews.counts(scene.reader, census),
                conflicts=count_undecided(scene.reader),
                actor=self.db.actor,
            )

    def _branches(self) -> list[JsonObject]:
        names = [] if self.db.path == ":memory:" else self.db.branches.names()
        return [{"name": name, "open": name == self.db.branch} for name in names]

    def _saved(self, *, id_: str | None) -> JsonObject:
        if id_ is None:
            with self._scene(None) as scene:
                return scene.answer(**saved.list_views(self.db.saved_views))
        view, body = self.db.saved_views.get(id_)
        with self._scene(saved.moment_of_view(body)) as scene:
            return saved.show_view(scene, view, body)

    def _suggest(self, *, q: str, limit: int, at: str | None) -> JsonObject:
        with self._scene(at) as scene:
            ready = None if scene.is_past else self._live.index_if_ready()
            hits = suggest(scene, ready, q, limit)
            return scene.answer(hits=hits, complete=scene.is_past or ready is not None)

    def _search(
        self,
        *,
        q: str,
        limit: int,
        type_: str | None,
        kind: AnswerKind,
        for_time: str | None,
        at: str | None,
    ) -> JsonObject:
        warnings: list[str] = []
        filters: Filters = {"kind": kind, "for_time": for_time}
        if at is not None:
            filters["as_of"] = moment_of(at)
        answers = self._knowledge.search(q, limit=limit, type=type_, warnings=warnings, **filters)
        with self._scene(at) as scene:
            hits = []
            for hit in answers:
                number = None if isinstance(hit.found, Relation) else scene.find(hit.found.id)
                card = None if number is None else scene.cards.get(number)
                if card is not None:
                    more = {"score": round(hit.score, 4), "why": list(hit.why)}
                    more |= {"snippet": hit.snippet, "section": hit.kind}
                    more |= {"caveats": list(hit.found.caveats)} if hit.found.caveats else {}
                    hits.append(card | more)
            return scene.answer(hits=hits, warnings=warnings)

    def _overview(self, *, by: By, group: str | None, limit: int, at: str | None) -> JsonObject:
        with self._counted(at) as (scene, census):
            key = id(census), census.position, by, group, limit
            with self._lock:
                stored = self._overviews.get(key)
            # Keep the census as well, so that no other object gets its id.
            if stored is not None and stored[0] is census:
                return stored[1]
            answer = overviews.overview(scene, census, by, group, limit)
            with self._lock:
                self._overviews[key] = census, answer
                while len(self._overviews) > limits.OVERVIEWS_KEPT:
                    self._overviews.popitem(last=False)
            return answer

    def _commits(self, *, limit: int, before: int | None, **where: Any) -> JsonObject:
        payload = past.commits(self.db, limit, before, where)
        with self._scene(None) as scene:
            return scene.answer(**payload)

    def _diff(self, *, from_: str, **values: Any) -> JsonObject:
        allowance = current()
        wait_s = self._timeout_s if allowance is None else allowance.wait_s()
        if not self._comparing.acquire(timeout=wait_s):
            raise ExecutionTimeout(
                "Other comparisons are running at the moment.", hint="Retry later."
            )
        try:
            return past.diff(self.db, {"from": from_, **values})
        finally:
            self._comparing.release()


def _as_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as keyword arguments; a name that Python has for something else gets a `_`."""
    return {
        f"{key}_" if key in ("from", "id", "type") else key: value for key, value in values.items()
    }
