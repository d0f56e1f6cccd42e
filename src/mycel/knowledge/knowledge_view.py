"""The class `KnowledgeView`: every method that reads one workspace, by URI."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self, TypeVar, Unpack

from mycel.api.graph import Graph
from mycel.engine.missing_concepts import is_placeholder
from mycel.errors import (
    AmbiguousName,
    ConstraintViolation,
    InvalidId,
    InvalidValueType,
    MycelError,
    NotFound,
)
from mycel.graph.followed import followed_links
from mycel.graph.traversal import MAX_COST_DEFAULT, MAX_NODES_DEFAULT, Bounds, Reached
from mycel.graph.walk import check_whole
from mycel.history.submissions import OnConflict, Submission
from mycel.knowledge import python_views, recalled_nodes, relation_writer, workspace_files
from mycel.knowledge.active_context import ActiveContext, Shown
from mycel.knowledge.dead_links import (
    FILES_MARK,
    distant_ends,
    judge,
    links_to_gone_files,
)
from mycel.knowledge.input_values import page_limit, uri_list
from mycel.knowledge.limits import RESOURCE_BYTES_MAX
from mycel.knowledge.name_resolution import locate, node_at
from mycel.knowledge.node_caveats import with_caveats
from mycel.knowledge.node_conflicts import with_conflicts
from mycel.knowledge.node_lookup import (
    as_node,
    children_of,
    concepts_page,
    current_uris,
    element_uri,
    find,
)
from mycel.knowledge.node_traversal import (
    NodeTraversal,
    distant_starts,
    find_notes_inside,
    with_uris,
)
from mycel.knowledge.node_values import (
    Child,
    DistantNode,
    Hit,
    Node,
    NodeOutcome,
    Page,
    Relation,
    ResourceContent,
)
from mycel.knowledge.recalled_nodes import Recalled
from mycel.knowledge.relation_pages import bad_cursor, is_number, relations_page
from mycel.knowledge.stale_notes import with_marks
from mycel.knowledge.uris import Uri, UriKind, build, check_workspace, parse
from mycel.model import ids
from mycel.model.directions import Direction
from mycel.model.names import SLEEP_TASK, kind_of, shorten
from mycel.search.modes import HYBRID, SearchMode
from mycel.search.notes_about import ABOUT
from mycel.search.question import Question
from mycel.store.query.filters import Filters, state_reader, visibility_of
from mycel.store.query.history import Moment
from mycel.store.query.reader import Reader

if TYPE_CHECKING:
    from mycel.search.hits import ElementHit

PAGE_DEFAULT: Final = 100
SEARCH_DEFAULT: Final = 10
MENTIONS_DEFAULT: Final = 10

T = TypeVar("T")
Sought = Literal["any", "node", "relation"]

_ID: Final = re.compile(r"[CP]:\d", re.ASCII)
_ROOTLESS: Final = re.compile(r"[./]*")
_KINDS: Final[tuple[UriKind, ...]] = ("concept", "file")
_SOUGHT: Final[dict[str, Literal["CONCEPT", "PROPOSITION"] | None]] = {
    "any": None,
    "node": "CONCEPT",
    "relation": "PROPOSITION",
}


class FileRule(Protocol):
    """Decides which files of a workspace may be read."""

    def check(self, path: str) -> None:
        """Raise an error if the file at a path from the root may not be read."""
        ...

    def check_content(self, content: ResourceContent) -> None:
        """Raise an error if the content of a file may not be shown."""
        ...


class OtherWorkspaces(Protocol):
    """Reads nodes of other workspaces, and submits to them (`knowledge.elsewhere`)."""

    def workspaces(self) -> list[str]:
        """The names of the known workspaces."""
        ...

    def reach(
        self,
        starts: Mapping[str, float],
        *,
        max_cost: float,
        max_nodes: int = 100,
        direction: Direction = "out",
        relation_types: Sequence[str] | None = None,
    ) -> list[DistantNode]:
        """The nodes near URIs of other workspaces. `starts` has the cost of reaching each URI."""
        ...

    def submit(
        self,
        workspace: str,
        changes: Sequence[Mapping[str, Any]],
        *,
        base: str | None = None,
        message: str = "",
        on_conflict: OnConflict = "fail",
    ) -> Submission:
        """Submit changes to a registered workspace."""
        ...


class KnowledgeView:
    """Nodes, relations and files of a workspace, by URI, to read, search and traverse.

    A path without a scheme belongs to `workspace`. Its `file://` URIs are relative to the folder
    `root`; without one, no file can be read. With `file_rule`, only files that it allows are read.
    Traversals load the nodes they reach into `context`. They go on in other workspaces through
    `elsewhere`, and `get`, `search` and `recall` find nodes there.
    """

    def __init__(
        self,
        db: Graph,
        *,
        workspace: str,
        root: str | Path | None = None,
        context: ActiveContext | None = None,
        file_rule: FileRule | None = None,
        elsewhere: OtherWorkspaces | None = None,
    ) -> None:
        self.db: Final = db
        self.workspace: Final = check_workspace(workspace)
        self.root: Final = None if root is None else Path(root)
        self.file_rule: Final = file_rule
        self.elsewhere: Final = elsewhere
        self.context: Final = ActiveContext() if context is None else context
        self._reader: Reader | None = None

    def __repr__(self) -> str:
        return f"<mycel.{type(self).__name__} {self.workspace!r} in {self.db.path!r}>"

    # For Python programs and notebooks.

    def __len__(self) -> int:
        """The number of concepts and files of the workspace."""
        with self._reading() as reader:
            return python_views.count_nodes(reader, self.workspace)

    def __bool__(self) -> bool:
        return True  # An empty workspace is true as well.

    def __contains__(self, uri: object) -> bool:
        """True if `get` finds a node of this graph: by its URI, a path or a short name."""
        if not isinstance(uri, str):
            return False
        try:
            with self._reading() as reader:
                locate(reader, self.uri(uri))
        except (AmbiguousName, InvalidId, NotFound):
            return False
        return True

    def __iter__(self) -> Iterator[Node]:
        """The nodes of the workspace at one moment, without content: concepts, then files."""
        with self._reading() as reader:
            return iter(list(python_views.nodes_of(reader, self.workspace)))

    def _repr_html_(self) -> str:
        """An HTML table of the first nodes, for notebooks."""
        with self._reading() as reader:
            return python_views.html_table(reader, self.workspace)

    def to_networkx(self) -> Any:
        """The nodes of the workspace and their relations, as a `networkx.MultiDiGraph`.

        Nodes are URIs with `type`, `name` and `properties`; edges have the relation type as their
        key, and `weight` and `properties`.

        Raises:
            NotFound: networkx is not installed; it is the extra `networkx`.
        """
        with self._reading() as reader:
            return python_views.as_networkx(reader, self.workspace)

    def with_context(self, context: ActiveContext) -> Self:
        """The same knowledge with another active context."""
        return self.of(self.db, context)

    def of(self, db: Graph, context: ActiveContext) -> Self:
        """The knowledge of another graph of the same workspace, such as a branch."""
        return type(self)(
            db,
            workspace=self.workspace,
            root=self.root,
            context=context,
            file_rule=self.file_rule,
            elsewhere=self.elsewhere,
        )

    @contextmanager
    def moment(
        self, reader: Reader | None = None, *, as_of: Moment | None = None
    ) -> Iterator[Self]:
        """The same knowledge at one moment: all reads in the block see one state.

        Writes in the block are not visible there. With `reader`, the moment is the one that this
        open reader shows; with `as_of`, a moment of the past.
        """
        with self._reading() if reader is None else nullcontext(reader) as moment_reader:
            view = self.with_context(self.context)
            view._reader = state_reader(moment_reader, {"as_of": as_of})
            try:
                yield view
            finally:
                view._reader = None

    def _reading(self, *, words: bool = False) -> AbstractContextManager[Reader]:
        if self._reader is not None:
            return nullcontext(self._reader)
        return self.db.reading(words=words)

    def uri(self, ref: str, *, kind: UriKind = "concept") -> Uri:
        """The URI for a text, which is a URI, an id such as C:12, or a path in the workspace.

        An absolute path below the root, or its `file:///` URI, becomes the path from the root.

        Raises:
            InvalidId: the text is none of these, or leads out of its workspace.
        """
        if _ID.match(str(ref)):
            return parse(f"kip:{ref}", self.workspace)
        inner = None
        if self.root is not None and isinstance(ref, str):
            inner = workspace_files.below(self.root, ref)
        if inner is None:
            return parse(ref, self.workspace, kind=kind)
        is_uri = ref.lstrip()[:5].lower() == "file:"
        return parse(build("file" if is_uri else kind, self.workspace, inner).text, "")

    def file_at(self, uri: Uri) -> Uri | None:
        """The `file://` URI with the path of a bare URI, if the workspace has such a file."""
        if self.root is None or uri.workspace != self.workspace or not uri.path:
            return None
        file = build("file", uri.workspace, uri.path)
        with suppress(MycelError, OSError, ValueError):
            if workspace_files.path_of(file, self.root).is_file():
                return file
        return None

    def _map_refs(
        self, refs: Iterable[str], work: Callable[[Uri], T]
    ) -> tuple[NodeOutcome[T], ...]:
        """The outcome of `work` for each URI; an invalid or unknown URI has an error instead."""
        outcomes: list[NodeOutcome[T]] = []
        for ref in refs:
            try:
                address = self.uri(ref)
            except MycelError as error:
                outcomes.append(NodeOutcome(str(ref), error=error))
                continue
            try:
                outcomes.append(NodeOutcome(ref, work(address)))
            except (AmbiguousName, InvalidId, NotFound) as error:
                outcomes.append(NodeOutcome(ref, error=error))
        return tuple(outcomes)

    def get(
        self,
        uri: str,
        *,
        content: bool = True,
        as_of: Moment | None = None,
        for_time: datetime | str | None = None,
    ) -> Node:
        """The node with a URI; without `content`, its text is left out.

        `as_of` is a moment of the past whose state is read. The caveats are those of the time
        `for_time`.

        A former URI, an alias, the path of a file, and a short name of a single node lead to their
        node too; the node's `hint` says so. A node of another workspace that is not in this graph
        is read from that workspace; a caveat says who wrote it.

        Raises:
            NotFound: there is no such node; if it is of another workspace, the hint says what
                became of it.
            AmbiguousName: several have the short name; the hint names them.
        """
        address = self.uri(uri)
        time_us = visibility_of({"for_time": for_time}).valid_at_us
        try:
            with self._reading() as live:
                reader = state_reader(live, {"as_of": as_of})
                return self._node(reader, address, content=content, time_us=time_us)
        except NotFound as error:
            is_now = as_of is None and time_us is None
            if not (is_now and self._is_elsewhere(address)):
                raise
            (distant,) = self.distant([uri])
            if distant.node is None:
                error.hint = f"It is {distant.state}. {distant.advice}"
                raise
            return distant.node if content else replace(distant.node, content=None)

    def _is_elsewhere(self, address: Uri) -> bool:
        """True for a node of another workspace that can be asked for."""
        # Within a moment no other workspace is asked: an open reader must not wait for a network.
        is_free = self.elsewhere is not None and self._reader is None
        return is_free and address.scheme == "concept" and address.workspace != self.workspace

    def _node(
        self, reader: Reader, address: Uri, *, content: bool, time_us: int | None = None
    ) -> Node:
        located = locate(reader, address)
        (node,) = with_marks(reader, [as_node(located.concept, content=content)], time_us)
        self.context.touch(node.uri)
        self.db.use_counts.note((located.concept.number,))
        return node if located.hint is None else replace(node, hint=located.hint)

    def get_many(
        self, uris: Iterable[str], *, content: bool = True
    ) -> tuple[NodeOutcome[Node], ...]:
        """For each URI, in order: its node, or an error. All nodes are read at one moment."""
        refs = uri_list(uris)
        with self._reading() as reader:
            return self._map_refs(refs, partial(self._node, reader, content=content))

    def concepts(
        self, *, without: Collection[str] = (), limit: int = PAGE_DEFAULT, cursor: str | None = None
    ) -> Page[Node]:
        """The concepts of the workspace by URI, `without` those of some types.

        Content and placeholders of missing concepts are left out.
        """
        most = page_limit(limit)
        with self._reading() as reader:
            return concepts_page(reader, self.workspace, most, cursor, without)

    def children(self, path: str = "") -> list[Child]:
        """The parts directly below a path of the workspace, by name: concepts and files.

        Raises:
            InvalidId: the text is no path, or leads out of its workspace.
        """
        with self._reading() as reader:
            if path and not _ROOTLESS.fullmatch(path):
                addresses = [self.uri(path, kind=kind).text for kind in _KINDS]
            else:
                addresses = [f"{kind}://{self.workspace}" for kind in _KINDS]
            return children_of(reader, list(dict.fromkeys(addresses)))

    def has(self, uri: str) -> bool:
        """True if there is a node with this URI."""
        with self._reading() as reader:
            node_match = find(reader, self.uri(uri))
            return node_match is not None and not node_match.is_missing

    def relations(
        self,
        uri: str,
        *,
        direction: Direction = "both",
        relation_types: Collection[str] | None = None,
        limit: int = PAGE_DEFAULT,
        cursor: str | None = None,
        as_of: Moment | None = None,
        for_time: datetime | str | None = None,
    ) -> Page[Relation]:
        """Relations of a node: relations of notes first, then relations of code, `may_call` last.

        In each of these groups, outgoing relations come first; then the order is by relation type
        and other end. `as_of` is a moment of the past whose state is read. `for_time` leaves out
        relations that do not hold at that time, or whose ends do not.

        Raises:
            NotFound: there is no such node.
            TypeMismatch: a relation type is not defined.
        """
        address = self.uri(uri)
        bounds = Bounds(direction=direction, relation_types=relation_types)  # Checks both.
        most = page_limit(limit)
        time_us = visibility_of({"for_time": for_time}).valid_at_us
        with self._reading() as live:
            reader = state_reader(live, {"as_of": as_of})
            node_match = find(reader, address)
            node = (
                reader.concept(node_match.number)
                if node_match and ids.is_concept(node_match.number)
                else None
            )
            if node is None or is_placeholder(node):
                with suppress(AmbiguousName, NotFound) if node is not None else nullcontext():
                    node = node_at(reader, address)
            types = bounds.relation_types
            page = relations_page(reader, node, direction, types, most, cursor, time_us=time_us)
            items = with_caveats(reader, with_conflicts(reader, page.items), time_us)
            return replace(page, items=tuple(items))

    def broken_links(
        self, limit: int = PAGE_DEFAULT, *, cursor: str | None = None, look: bool = False
    ) -> Page[Relation]:
        """Relations with a `missing` end: a concept that does not exist yet. Oldest first.

        With `look`, other workspaces are asked: a relation is left out if its end exists there, and
        otherwise a caveat says what became of the end. After these come relations to files that are
        gone. A page may be shorter than the limit.
        """
        most = page_limit(limit)
        with self._reading() as reader:
            if look and cursor is not None and cursor.startswith(FILES_MARK):
                after = cursor.removeprefix(FILES_MARK)
                if self.root is None or not is_number(after):
                    raise bad_cursor(cursor)
                return links_to_gone_files(reader, self.root, self.workspace, int(after), most)
            page = relation_writer.broken_page(reader, most, cursor)
            if look and page.next_cursor is None and self.root is not None:
                room = most - len(page)
                files = links_to_gone_files(reader, self.root, self.workspace, 0, room)
                page = Page((*page.items, *files.items), files.next_cursor)
        if not look or self.elsewhere is None:
            return page
        ends = distant_ends(page.items, self.workspace)
        nodes = self.elsewhere.reach(
            dict.fromkeys(ends, 0.0), max_cost=0.0, max_nodes=max(1, len(ends))
        )
        by_uri = {node.uri: node for node in nodes if node.uri in ends}
        to_files = [relation for relation in page.items if not relation.missing]
        return replace(page, items=(*judge(page.items, by_uri), *to_files))

    def traverse(
        self,
        uri: str,
        *,
        max_cost: float = MAX_COST_DEFAULT,
        max_nodes: int = MAX_NODES_DEFAULT,
        max_tokens: int | None = None,
        direction: Direction = "out",
        relation_types: Collection[str] | None = None,
        as_of: Moment | None = None,
        for_time: datetime | str | None = None,
        include_archived: bool = False,
    ) -> NodeTraversal:
        """The nodes near a node, nearest first: a path costs the sum of its relations' weights.

        The node itself comes first, at a cost of 0. `max_nodes` and `max_tokens` are hard budgets;
        `cut_off` tells what did not fit. Reached nodes are loaded into the active context. `as_of`
        is a moment of the past whose state is read. `for_time` leaves out elements that do not hold
        at that time. With both set to one time, the answer is what the graph held at that time
        about that time.

        Raises:
            NotFound: there is no such node.
            TypeMismatch: a relation type is not defined.
            ConstraintViolation, InvalidValueType: a bound is invalid.
        """
        address = self.uri(uri)
        visibility = visibility_of({"for_time": for_time, "include_archived": include_archived})
        bounds = Bounds(max_cost, max_nodes, max_tokens, direction, relation_types, visibility)
        is_now = as_of is None and for_time is None
        try:
            reached = self._traverse_here(address, bounds, as_of)
        except NotFound as error:
            if not (is_now and self._is_elsewhere(address)):
                raise
            distant = self._reach({address.text: 0.0}, bounds, max_nodes)
            start = next(node for node in distant if node.uri == address.text)
            if not start.is_there:
                error.hint = f"It is {start.state}. {start.advice}"
                raise
            return NodeTraversal((), distant=tuple(distant))
        evicted = self.context.add_all(
            ((node.uri, node.tokens, node.reason) for node in reached.nodes),
            ids={node.uri: node.node.id for node in reached.nodes},
        )
        starts = distant_starts(reached.nodes, self.workspace) if is_now else {}
        room = max(1, max_nodes - len(reached.nodes) + len(starts))
        distant = self._reach(starts, bounds, room)
        return replace(reached, evicted=evicted, distant=tuple(distant))

    def _traverse_here(self, address: Uri, bounds: Bounds, as_of: Moment | None) -> NodeTraversal:
        with self._reading() as live:
            reader = state_reader(live, {"as_of": as_of})
            start = locate(reader, address)
            reached_elements = self.db.traverse_in(reader, start.concept, bounds)
            reached = with_uris(reader, reached_elements, bounds.visibility.valid_at_us)
            notes: tuple[tuple[Node, str], ...] = ()
            if bounds.relation_types is None or ABOUT in bounds.relation_types:
                uris = {node.uri for node in reached.nodes}
                notes = find_notes_inside(reader, start.concept, uris)
            self._count(start.concept.number, reached_elements.nodes)
        return replace(reached, notes_inside=notes, hint=start.hint)

    def _reach(self, starts: Mapping[str, float], bounds: Bounds, room: int) -> list[DistantNode]:
        """The nodes near the nodes of other workspaces to which links lead."""
        if self.elsewhere is None or not starts:
            return []
        return self.elsewhere.reach(
            starts,
            max_cost=bounds.max_cost,
            max_nodes=room,
            direction=bounds.direction,
            relation_types=None if bounds.relation_types is None else list(bounds.relation_types),
        )

    def distant(self, uris: Iterable[str]) -> list[DistantNode]:
        """The nodes of other workspaces among these, as their own workspaces have them now."""
        if self.elsewhere is None:
            return []
        addresses = [self.uri(uri) for uri in uris]
        starts = {
            address.text: 0.0
            for address in addresses
            if address.scheme == "concept" and address.workspace != self.workspace
        }
        nodes = self.elsewhere.reach(starts, max_cost=0, max_nodes=len(starts)) if starts else []
        return [node for node in nodes if node.uri in starts]

    def _count(self, start: int, nodes: Sequence[Reached]) -> None:
        """Count uses of the nodes that a traversal reached, and of the links that it followed."""
        counts = self.db.use_counts
        if counts.is_on:
            counts.note([node.element.number for node in nodes])
            counts.note_followed(followed_links(start, nodes))

    def refresh_context(self) -> Shown:
        """The active context, brought up to date with changes of the graph by any process.

        Moved nodes are shown under their new URI, and removed nodes as evicted.
        """
        ids_before = {loaded_node.uri: loaded_node.id for loaded_node in self.context.show().loaded}
        with self._reading() as reader:
            now = current_uris(reader, ids_before, self.uri)
        self.context.follow(now)
        return self.context.show()

    def read_resource(self, uri: str, *, bytes_max: int = RESOURCE_BYTES_MAX) -> ResourceContent:
        """The current content of a file of the workspace, with or without a node.

        Raises:
            NotFound: there is no such file.
            ConstraintViolation: the URI is of no file of this workspace, or outside of its root.
            ResourceExhausted: the file is larger than `bytes_max`.
        """
        address = self.uri(uri, kind="file")
        if not address.is_file or address.workspace != self.workspace:
            raise ConstraintViolation(
                f"{shorten(address.text, 200)} is no file of the workspace {self.workspace!r}.",
                hint=f"Files that can be read are called file://{self.workspace}/path.",
            )
        if self.root is None:
            raise ConstraintViolation(
                f"The workspace {self.workspace!r} has no root folder.",
                hint="Name the folder of its files: `root` of Knowledge, --root of `mycel mcp`;"
                " `mycel serve` shows files with --files.",
            )
        check_whole("bytes_max", bytes_max)
        rule = self.file_rule
        if rule is None:
            return workspace_files.read(address, self.root, bytes_max=bytes_max)
        rule.check(address.path)
        content = workspace_files.read(address, self.root, bytes_max=bytes_max)
        rule.check_content(content)
        return content

    def search(
        self,
        words: str,
        *,
        element: Sought = "node",
        type: str | Sequence[str] | None = None,  # noqa: A002 - the word for it
        limit: int = SEARCH_DEFAULT,
        threshold: float = 0.0,
        mode: SearchMode = HYBRID,
        warnings: list[str] | None = None,
        **filters: Unpack[Filters],
    ) -> list[Hit]:
        """Nodes, relations or both that fit a question. Modes and filters are as in `Graph.search`.

        `type` is a type of nodes, or a relation type if only relations are sought. Placeholders of
        missing concepts are not found, and tasks of upkeep only by their type.
        `warnings` gets a sentence if an embedder fails and the answer does without it.
        A URI of another workspace finds its node there, if it is not here.

        Raises:
            TypeMismatch: the type is not defined.
        """
        if element not in tuple(_SOUGHT):
            raise ConstraintViolation(
                f"A search finds node, relation or any, not {shorten(repr(element))}."
            )
        if not isinstance(threshold, int | float):
            raise InvalidValueType(f"threshold must be a number, not {kind_of(threshold)}.")
        options = {"type": type, "threshold": threshold, "mode": mode, "warnings": warnings}
        with self._hits(words, limit, filters, element=_SOUGHT[element], **options) as (
            reader,
            hits,
        ):
            time_us = visibility_of(filters).valid_at_us
            answers = recalled_nodes.as_hits(reader, hits, words, time_us)
        distant = [] if element == "relation" else self._named_elsewhere(words, warnings)
        return [*distant, *answers][:limit]

    def _named_elsewhere(self, words: str, warnings: list[str] | None) -> list[Hit]:
        """The node of another workspace whose URI is searched for, if it is not here."""
        if not words.startswith("concept://"):
            return []
        with suppress(MycelError):
            address = self.uri(words.strip())
            if self._is_elsewhere(address) and not self.has(address.text):
                (distant,) = self.distant([address.text])
                if distant.node is not None:
                    return [Hit(distant.uri, 1.0, distant.node, ("name",))]
                if warnings is not None:
                    warnings.append(f"{distant.uri} is {distant.state}. {distant.advice}")
        return []

    @contextmanager
    def _hits(
        self, words: str, limit: int, filters: Filters, **options: Any
    ) -> Iterator[tuple[Reader, list[ElementHit]]]:
        """The hits of a search, and a reader of the state that was searched.

        Filters are read from the view of this workspace: `near` is a node, and a bare path is a
        concept.
        """
        with self._reading(words=True) as live:
            reader = state_reader(live, filters)
            near, path = filters.get("near"), filters.get("path")
            if isinstance(path, str) and path and ":" not in path:
                filters["path"] = self.uri(path).text
            if isinstance(near, str):
                filters["near"] = node_at(reader, self.uri(near))
            sought = partial(self.db.hits_in, reader, words, **options, **filters)
            types = options.get("type") or ()
            tasks = SLEEP_TASK in ((types,) if isinstance(types, str) else types)
            yield reader, recalled_nodes.written_hits(sought, page_limit(limit), tasks=tasks)

    def mentions(self, uri: str, *, limit: int = MENTIONS_DEFAULT) -> tuple[str, ...]:
        """The URIs of nodes that the text of a node mentions by name, the rarest names first.

        Mentions are derived from texts, so they follow every rename, alias and new node. They are
        no relations: if a text says how two nodes are related, write a relation.

        Raises:
            NotFound: there is no such node.
        """
        address = self.uri(uri)
        with self._reading() as reader:
            number = node_at(reader, address).number
            elements = reader.elements(numbers := self.db.mentions_in(reader, number, limit))
        return tuple(element_uri(elements[number]) for number in numbers if number in elements)

    def unlinked_mentions(self, *, limit: int = MENTIONS_DEFAULT) -> tuple[tuple[str, str], ...]:
        """Pairs of node URIs: the first node mentions the second, and no relation joins them."""
        with self._reading() as reader:
            pairs = self.db.unlinked_mentions_in(reader, limit)
            elements = reader.elements({number for pair in pairs for number in pair})
        return tuple(
            (element_uri(elements[one]), element_uri(elements[other]))
            for one, other in pairs
            if one in elements and other in elements
        )

    def recall(
        self,
        question: str,
        *,
        type: str | Sequence[str] | None = None,  # noqa: A002 - the word for it
        limit: int = recalled_nodes.RECALL_HITS,
        max_tokens: int = recalled_nodes.RECALL_TOKENS,
        max_cost: float = MAX_COST_DEFAULT,
        mode: SearchMode = HYBRID,
        warnings: list[str] | None = None,
        **filters: Unpack[Filters],
    ) -> Recalled:
        """Return the nodes that fit a question, then the nodes near them.

        Nodes that fit come first, best first; then their surroundings by cost, in both directions.
        No node comes twice, and all of them together take at most `max_tokens`. `type` and the
        other filters are those of `search`; they apply to the nodes that fit, and not to the nodes
        near them. Nodes of other workspaces to which links lead are in `distant`.

        Raises:
            TypeMismatch: the type is not defined.
            ConstraintViolation, InvalidValueType: a bound is invalid.
        """
        bounds = Bounds(max_cost, recalled_nodes.RECALL_NODES_EACH, max_tokens, "both")
        # All nodes share one budget.
        bounds = replace(bounds, max_tokens=None, visibility=visibility_of(filters))
        options = {"element": "CONCEPT", "type": type, "mode": mode, "warnings": warnings}
        with self._hits(question, limit, filters, **options) as (reader, hits):
            around = [
                with_uris(
                    reader,
                    self.db.traverse_in(reader, hit.element, bounds),
                    bounds.visibility.valid_at_us,
                ).nodes
                for hit in hits
            ]
        recalled = recalled_nodes.gathered(Question(question), hits, around, max_tokens)
        self.db.use_counts.note([ids.parse_id(node.node.id) for node in recalled.nodes])
        if filters.get("as_of") is not None or filters.get("for_time") is not None:
            return recalled
        starts = distant_starts(recalled.nodes, self.workspace)
        distant = self._reach(starts, bounds, recalled_nodes.RECALL_NODES_EACH)
        return recalled_nodes.with_distant(recalled, distant, max_tokens)
