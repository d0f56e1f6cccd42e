"""The knowledge of one workspace: concepts, resources and relations by URI.

`Knowledge` is a thin layer over an open graph. A node is a concept of KIP whose name is its URI, a
relation is a proposition with a weight; so everything written here can be asked for in KIP, has a
history and can be proven, and what KIP wrote can be read here.

Each method that writes is one transaction: it happens as a whole or not at all, and calling it
again changes nothing. Threads may share one `Knowledge`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from mycel.engine.missing_concepts import is_placeholder
from mycel.errors import (
    ConstraintViolation,
    InvalidId,
    InvalidValueType,
    MycelError,
    NotFound,
    did_you_mean,
)
from mycel.graph.traversal import MAX_COST_DEFAULT, MAX_NODES_DEFAULT, Bounds
from mycel.graph.walk import check_whole
from mycel.knowledge import node_writer, relation_writer, workspace_files
from mycel.knowledge.active_context import ActiveContext, Shown
from mycel.knowledge.limits import ITEMS_MAX, PAGE_MAX, RESOURCE_BYTES_MAX
from mycel.knowledge.node_lookup import (
    as_node,
    as_relation,
    concepts_page,
    element_uri,
    find,
    names_now,
    node_at,
)
from mycel.knowledge.node_traversal import Traversal, with_uris
from mycel.knowledge.node_values import (
    Direction,
    Hit,
    Linked,
    NewNode,
    NewRelation,
    Node,
    Outcome,
    Page,
    Relation,
    Remembered,
    Removed,
    ResourceContent,
    Written,
)
from mycel.knowledge.uris import Kind, Uri, build, check_workspace, parse
from mycel.knowledge.vocabulary import doubts
from mycel.model import ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import kind_of, shorten
from mycel.model.records import canonical_weight
from mycel.nexus import Nexus
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction

PAGE_DEFAULT: Final = 100
SEARCH_DEFAULT: Final = 10

Result = TypeVar("Result")
Draft = TypeVar("Draft", NewNode, NewRelation)
Sought = Literal["any", "node", "relation"]

_REQUIRED: Final = ("uri", "source", "relation", "target")
_ID: Final = re.compile(r"[CP]:\d", re.ASCII)
_DIRECTIONS: Final = ("out", "in", "both")
_SOUGHT: Final[dict[str, Literal["CONCEPT", "PROPOSITION"] | None]] = {
    "any": None,
    "node": "CONCEPT",
    "relation": "PROPOSITION",
}


class Knowledge:
    """Concepts, resources and relations of a graph, by URI.

    `workspace` is where a path without a scheme belongs. `root` is the folder that its `file://`
    URIs are relative to; without one, no file can be read. `context` is where nodes that a
    traversal reaches are loaded.
    """

    def __init__(
        self,
        db: Nexus,
        *,
        workspace: str,
        root: str | Path | None = None,
        context: ActiveContext | None = None,
    ) -> None:
        self.db: Final = db
        self.workspace: Final = check_workspace(workspace)
        self.root: Final = None if root is None else Path(root)
        self.context: Final = ActiveContext() if context is None else context
        self._reader: Reader | None = None
        """A reader to use for everything, within `moment`."""

    def __repr__(self) -> str:
        return f"<mycel.Knowledge {self.workspace!r} in {self.db.path!r}>"

    def with_context(self, context: ActiveContext) -> Knowledge:
        """The same knowledge, loaded into another context."""
        return Knowledge(self.db, workspace=self.workspace, root=self.root, context=context)

    @contextmanager
    def moment(self) -> Iterator[Knowledge]:
        """The same knowledge as it is at one moment: whatever is read of it in the block agrees.

        It is for reading: what is written in the block is not seen there.
        """
        with self._reading() as reader:
            held = self.with_context(self.context)
            held._reader = reader
            try:
                yield held
            finally:
                held._reader = None

    def _reading(self, *, words: bool = False) -> AbstractContextManager[Reader]:
        if self._reader is not None:
            return nullcontext(self._reader)
        return self.db.reading(words=words)

    def uri(self, ref: str, *, kind: Kind = "concept") -> Uri:
        """The URI that a text means: a URI, an id such as C:12, or a path in the workspace.

        An absolute path below the root, or a `file:///` URI of one, means the path from the root.

        Raises:
            InvalidId: it means none, or leads out of its workspace.
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

    def _each(
        self, refs: Iterable[str], work: Callable[[Uri], Result]
    ) -> tuple[Outcome[Result], ...]:
        """What becomes of each URI; one that is none, or names nothing, fails alone."""
        outcomes: list[Outcome[Result]] = []
        for ref in refs:
            try:
                address = self.uri(ref)
            except MycelError as error:
                outcomes.append(Outcome(str(ref), error=error))
                continue
            try:
                outcomes.append(Outcome(ref, work(address)))
            except (InvalidId, NotFound) as error:
                outcomes.append(Outcome(ref, error=error))
        return tuple(outcomes)

    # Nodes.

    def add(
        self,
        uri: str,
        *,
        name: str | None = None,
        content: str | None = None,
        type: str | None = None,  # noqa: A002 - the word for it
        properties: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        relations: Iterable[NewRelation | Mapping[str, Any]] = (),
        exist_ok: bool = False,
    ) -> Written:
        """Add a node, perhaps with relations; links that led to it before it was there heal.

        Without a `type`, `concept://` URIs are of the type Concept and all others Resource. A
        relation may leave out its source, which is then this node. With `exist_ok`, a node that
        exists is merged into.

        Raises:
            DuplicateExists: it exists and says something else.
        """
        node = NewNode(uri, name, content, type, properties, metadata)
        made = self._remember(
            (node,), _drafts(relations, NewRelation, source=uri), merge=exist_ok, message="add"
        )
        changed = made.nodes[0].changed or any(each.changed for each in made.relations)
        return replace(made.nodes[0], changed=changed, warnings=made.warnings)

    def get(self, uri: str, *, content: bool = True) -> Node:
        """The node with a URI; its content may be left out.

        Raises:
            NotFound: there is none; the hint names the closest.
        """
        address = self.uri(uri)
        with self._reading() as reader:
            node = as_node(node_at(reader, address), content=content)
        self.context.touch(node.uri)
        return node

    def concepts(
        self,
        *,
        without: Collection[str] = (),
        limit: int = PAGE_DEFAULT,
        cursor: str | None = None,
    ) -> Page[Node]:
        """The concepts of the workspace by URI, of whatever type but `without` some.

        They come without their content. Concepts that nobody has written yet are not among them.
        """
        most = _limit(limit)
        with self._reading() as reader:
            return concepts_page(reader, self.workspace, most, cursor, without)

    def get_many(self, uris: Iterable[str], *, content: bool = True) -> tuple[Outcome[Node], ...]:
        """The nodes with these URIs, all of one moment, in the order of the URIs.

        A URI that names no node has an error for an outcome, and the others their nodes.
        """
        wanted = _refs(uris)
        with self._reading() as reader:
            found = self._each(
                wanted, lambda address: as_node(node_at(reader, address), content=content)
            )
        for each in found:
            if each.result is not None:
                self.context.touch(each.result.uri)
        return found

    def update(
        self,
        uri: str,
        *,
        name: str | None = None,
        content: str | None = None,
        append: str | None = None,
        properties: Mapping[str, Any] | None = None,
        drop: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        expect_version: int | None = None,
    ) -> Written:
        """Change a node: what is given is merged into it, and `drop` names what goes.

        `append` adds to the content on a line of its own, unless it ends so already.

        Raises:
            NotFound: there is no such node.
            VersionConflict: it has another version than `expect_version`.
        """
        address = self.uri(uri)
        if expect_version is not None:
            check_whole("expect_version", expect_version)
        changes = node_writer.Changes(
            name, content, append, properties, drop, metadata, expect_version
        )
        (written, told), warnings = self._write(
            lambda tx: node_writer.update_node(tx, address, changes), "update"
        )
        return replace(written, warnings=(*told, *doubts(metadata, written.uri), *warnings))

    def move(self, uri: str, new_uri: str, *, subtree: bool = False) -> Written:
        """Give a node another URI; links follow. With `subtree`, all below it move too.

        Where links led to the new URI already, they lead to the node now.

        Raises:
            NotFound: there is no such node.
            DuplicateExists: there is one under the new URI.
        """
        old = self.uri(uri)
        new = self.uri(new_uri, kind="file" if old.is_file else "concept")
        if old.is_kip:
            with self._reading() as reader:
                old = self.uri(element_uri(node_at(reader, old)))
        written, warnings = self._write(
            lambda tx: node_writer.move_node(tx, old, new, subtree=subtree), "move"
        )
        self.context.rename(old.text, new.text, subtree=subtree)
        return replace(written, warnings=warnings)

    def delete(self, uri: str, *, reason: str = "") -> Removed:
        """Remove a node with every relation that leaves or reaches it.

        History keeps what was removed, with the reason.

        Raises:
            NotFound: there never was such a node.
        """
        address = self.uri(uri)
        (removed, called), warnings = self._write(
            lambda tx: node_writer.delete_node(tx, address, reason=reason), "delete"
        )
        self.context.discard(called, why="deleted")
        return replace(removed, warnings=(*removed.warnings, *warnings))

    def delete_many(self, uris: Iterable[str], *, reason: str = "") -> tuple[Outcome[Removed], ...]:
        """Remove nodes with every relation of theirs, as one transaction.

        A URI that never named a node has an error for an outcome, and the others go. Any other
        error means that nothing was removed.
        """
        wanted = _refs(uris)
        called: list[str] = []

        def work(tx: Transaction) -> tuple[Outcome[Removed], ...]:
            called.clear()

            def delete(address: Uri) -> Removed:
                removed, name = node_writer.delete_node(tx, address, reason=reason)
                called.append(name)
                return removed

            return self._each(wanted, delete)

        # Guards warn about what is written, not about what goes.
        outcomes, _ = self._write(work, "delete")
        for name in called:
            self.context.discard(name, why="deleted")
        return outcomes

    def remember(
        self,
        concepts: Iterable[NewNode | Mapping[str, Any]] = (),
        relations: Iterable[NewRelation | Mapping[str, Any]] = (),
        *,
        exist_ok: bool = True,
    ) -> Remembered:
        """Write many nodes and relations as one transaction: all of them, or none.

        Each is a `NewNode` or `NewRelation`, or an object with their fields. Relations may lead to
        nodes of the same call.
        """
        return self._remember(
            _drafts(concepts, NewNode),
            _drafts(relations, NewRelation),
            merge=exist_ok,
            message="remember",
        )

    def _remember(
        self,
        nodes: tuple[NewNode, ...],
        relations: tuple[NewRelation, ...],
        *,
        merge: bool,
        message: str,
    ) -> Remembered:
        known: dict[str, Uri] = {}

        def uri(ref: str) -> Uri:
            try:
                return known[ref]
            except (KeyError, TypeError):  # New, or nothing that could be a URI.
                found = self.uri(ref)
            known[ref] = found
            return found

        uris = [uri(node.uri) for node in nodes]
        ends = [(uri(each.source), uri(each.target)) for each in relations]

        def work(tx: Transaction) -> Remembered:
            written, told = node_writer.put_nodes(tx, nodes, uris, merge=merge)
            linked, more = (
                relation_writer.put_relations(tx, relations, ends) if relations else ([], [])
            )
            return Remembered(tuple(written), tuple(linked), (*told, *more))

        made, warnings = self._write(work, message)
        doubtful = [
            *(each for node in nodes for each in doubts(node.metadata, node.uri)),
            *(
                each
                for link in relations
                for each in doubts(link.metadata, f"{link.source} —{link.relation}→ {link.target}")
            ),
        ]
        return replace(made, warnings=(*made.warnings, *doubtful, *warnings))

    # Relations.

    def link(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        weight: float | None = None,
        properties: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Linked:
        """Relate two nodes; a relation that exists is merged into.

        A relation type that is new is registered. A resource that is not there is added. A concept
        that is not there is kept as a placeholder, with a warning: see `broken_links`.

        Raises:
            ConstraintViolation: the weight is not within 0 and 1.
            SelfEdgeError: both ends are the same node.
        """
        draft = NewRelation(source, relation, target, weight, properties, metadata)
        made = self._remember((), (draft,), merge=True, message="link")
        return replace(made.relations[0], warnings=made.warnings)

    def unlink(self, source: str, relation: str, target: str, *, reason: str = "") -> bool:
        """Remove a relation. False if there was none."""
        ends = self.uri(source), self.uri(target)

        def work(tx: Transaction) -> bool:
            link = self._find_link(tx, ends, relation)
            if link is None:
                return False
            placeholders = relation_writer.placeholders_of(tx.reader, (link,))
            tx.retire(link.id, reason=reason)
            relation_writer.sweep(tx, placeholders)
            return True

        return self._write(work, "unlink")[0]

    def set_weight(self, source: str, relation: str, target: str, weight: float) -> Linked:
        """Say what it costs to follow a relation that exists: from 0 to 1.

        Raises:
            NotFound: there is no such relation.
            ConstraintViolation: the weight is not within 0 and 1.
        """
        ends = self.uri(source), self.uri(target)
        cost = canonical_weight(weight)

        def work(tx: Transaction) -> Linked:
            link = self._find_link(tx, ends, relation)
            if link is None:
                raise NotFound(
                    f"There is no relation {shorten(repr(relation))} from {ends[0].text} to"
                    f" {ends[1].text}.",
                    hint="Look at the relations of one end, or link the two first.",
                )
            changed = tx.update(link.id, weight=cost)
            return Linked(link.id, ends[0].text, relation, ends[1].text, changed=changed)

        linked, warnings = self._write(work, "set_weight")
        return replace(linked, warnings=warnings)

    def _find_link(
        self, tx: Transaction, ends: tuple[Uri, Uri], relation: str
    ) -> Proposition | None:
        reader = tx.reader
        source, target = (find(reader, end) for end in ends)
        if not isinstance(relation, str):
            raise InvalidValueType(f"A relation type is a name, not {kind_of(relation)}.")
        number = reader.find_predicate(relation)
        if source is None or target is None or number is None:
            return None
        return reader.link(source.number, number, target.number)

    def relations(
        self,
        uri: str,
        *,
        direction: Direction = "both",
        relation_types: Collection[str] | None = None,
        limit: int = PAGE_DEFAULT,
        cursor: str | None = None,
    ) -> Page[Relation]:
        """Relations of a node, those that leave it first, then by relation type and other end.

        Raises:
            NotFound: there is no such node.
            TypeMismatch: a relation type is not defined.
        """
        address = self.uri(uri)
        if direction not in _DIRECTIONS:
            raise ConstraintViolation(
                f"There is no direction {shorten(repr(direction))}.",
                hint="It is out, in or both.",
            )
        if isinstance(relation_types, str):
            relation_types = (relation_types,)
        elif relation_types is not None and not isinstance(relation_types, Collection):
            raise InvalidValueType(
                f"relation_types is a list of names, not {kind_of(relation_types)}."
            )
        most = _limit(limit)
        with self._reading() as reader:
            found = find(reader, address)
            node = (
                reader.concept(found.number)
                if found is not None and ids.is_concept(found.number)
                else None
            )
            if node is None:
                node = node_at(reader, address)  # Says what is wrong.
            return relation_writer.page_of(reader, node, direction, relation_types, most, cursor)

    def broken_links(
        self, limit: int = PAGE_DEFAULT, *, cursor: str | None = None
    ) -> Page[Relation]:
        """Relations whose `missing` end nobody has written yet, oldest first."""
        most = _limit(limit)
        with self._reading() as reader:
            return relation_writer.broken_page(reader, most, cursor)

    # What is near.

    def traverse(
        self,
        uri: str,
        *,
        max_cost: float = MAX_COST_DEFAULT,
        max_nodes: int = MAX_NODES_DEFAULT,
        max_tokens: int | None = None,
        direction: Direction = "out",
        relation_types: Collection[str] | None = None,
    ) -> Traversal:
        """What is near a node, nearest first: a relation costs its weight, a way their sum.

        The node itself comes first, at a cost of 0. `max_nodes` and `max_tokens` are hard budgets;
        `cut_off` tells what did not fit. What is reached is loaded into the active context.

        Raises:
            NotFound: there is no such node.
            TypeMismatch: a relation type is not defined.
            ConstraintViolation, InvalidValueType: a bound that is none.
        """
        address = self.uri(uri)
        bounds = Bounds(max_cost, max_nodes, max_tokens, direction, relation_types)
        with self._reading() as reader:
            start = node_at(reader, address)
            reached = with_uris(reader, self.db.traverse_in(reader, start, bounds))
        evicted = self.context.add_all(
            ((each.uri, each.tokens, each.reason) for each in reached.nodes),
            ids={each.uri: each.node.id for each in reached.nodes},
        )
        return replace(reached, evicted=evicted)

    def refresh_context(self) -> Shown:
        """The active context as the graph is now, whoever changed it, in whatever process.

        Nodes that have moved are shown under their new URI, and those that are gone as evicted.
        """
        with self._reading() as reader:
            now = names_now(
                reader,
                {each.uri: each.id for each in self.context.show().loaded},
                self.uri,
            )
        self.context.follow(now)
        return self.context.show()

    # Content and words.

    def read_resource(self, uri: str, *, bytes_max: int = RESOURCE_BYTES_MAX) -> ResourceContent:
        """What a file of the workspace holds now. It need not have a node.

        Raises:
            NotFound: there is no such file.
            ConstraintViolation: it is not a file of this workspace, or outside of its root.
            ResourceExhausted: it is larger than `bytes_max`.
        """
        address = self.uri(uri, kind="file")
        if not address.is_file or address.workspace != self.workspace:
            raise ConstraintViolation(
                f"{shorten(address.text, 200)} is no file of the workspace {self.workspace!r}.",
                hint=f"Files that can be read are called file://{self.workspace}/path.",
            )
        if self.root is None:
            raise ConstraintViolation(
                f"Nobody has said where the files of the workspace {self.workspace!r} are.",
                hint="Name the folder: `root` of Knowledge, --root of the server.",
            )
        check_whole("bytes_max", bytes_max)
        return workspace_files.read(address, self.root, bytes_max=bytes_max)

    def search(
        self,
        words: str,
        *,
        kind: Sought = "node",
        type: str | None = None,  # noqa: A002 - the word for it
        limit: int = SEARCH_DEFAULT,
        threshold: float = 0.0,
    ) -> list[Hit]:
        """Nodes, relations or both whose text fits some words, best first.

        `type` is a type of nodes, or a relation type if only relations are sought. Concepts that
        nobody has written yet are not found.

        Raises:
            TypeMismatch: the type is not defined.
        """
        if kind not in tuple(_SOUGHT):
            raise ConstraintViolation(
                f"There is no kind {shorten(repr(kind))}.", hint="It is node, relation or any."
            )
        if not isinstance(threshold, int | float):
            raise InvalidValueType(f"threshold must be a number, not {kind_of(threshold)}.")
        most = wanted = _limit(limit)
        with self._reading(words=True) as reader:
            while True:
                found = self.db.search_in(
                    reader,
                    words,
                    limit=wanted,
                    kind=_SOUGHT[kind],
                    type=type,
                    threshold=threshold,
                )
                hits = [each for each in found if _is_written(each[0])]
                if len(hits) >= most or len(found) < wanted:
                    break
                wanted *= 2  # Placeholders took places.
            return [
                Hit(
                    element_uri(element),
                    score,
                    as_node(element)
                    if isinstance(element, Concept)
                    else as_relation(reader, element),
                )
                for element, score in hits[:most]
            ]

    # Writing.

    def _write(
        self, work: Callable[[Transaction], Result], message: str
    ) -> tuple[Result, tuple[str, ...]]:
        """Run a function as one transaction. Returns what it returns, and the guards' warnings."""
        ran: list[Transaction] = []

        def run(tx: Transaction) -> Result:
            ran[:] = [tx]
            return work(tx)

        result = self.db.write(run, message=message)
        return result, tuple(ran[0].warnings)


def _refs(uris: Iterable[str]) -> list[str]:
    if isinstance(uris, str | Mapping) or not isinstance(uris, Iterable):
        raise InvalidValueType(
            f"A list of URIs is needed, not {kind_of(uris)}.", hint="Put a single one into a list."
        )
    wanted = list(islice(uris, PAGE_MAX + 1))
    if len(wanted) > PAGE_MAX:
        raise ConstraintViolation(
            f"More than {PAGE_MAX:,} URIs at once are too many.", hint="Pass them in several calls."
        )
    return wanted


def _is_written(element: Element) -> bool:
    return not is_placeholder(element)


def _limit(limit: int) -> int:
    check_whole("limit", limit)
    if limit < 1:
        raise ConstraintViolation(f"limit is {limit}; it must be at least 1.")
    return min(limit, PAGE_MAX)


def _drafts(given: Iterable[Any], kind: type[Draft], **defaults: str) -> tuple[Draft, ...]:
    """What is to be written, read from values or from objects with their fields."""
    fields = tuple(kind.__dataclass_fields__)
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InvalidValueType(
            f"A list is needed, not {kind_of(given)}.",
            hint=f"Each of its items is an object with the fields {', '.join(fields)}.",
        )
    drafts: list[Draft] = []
    for at, each in enumerate(given):
        if at >= ITEMS_MAX:
            raise ConstraintViolation(
                f"More than {ITEMS_MAX:,} at once are too many.",
                hint="Write them in several calls.",
            )
        if isinstance(each, kind):
            drafts.append(each)
            continue
        if not isinstance(each, Mapping):
            raise InvalidValueType(
                f"A {kind.__name__} is an object, not {kind_of(each)}.",
                hint=f"Its fields are {', '.join(fields)}.",
                data={"row": at},
            )
        drafts.append(_draft(defaults | dict(each), kind, fields, at))
    return tuple(drafts)


def _draft(given: Mapping[str, Any], kind: type[Draft], fields: tuple[str, ...], at: int) -> Draft:
    for key in given:
        if key not in fields:
            raise ConstraintViolation(
                f"A {kind.__name__} has no field {shorten(repr(key))}.",
                hint=f"{did_you_mean(str(key), list(fields))} Its fields are"
                f" {', '.join(fields)}.".strip(),
                data={"row": at},
            )
    absent = [field for field in _REQUIRED if field in fields and field not in given]
    if absent:
        raise ConstraintViolation(
            f"A {kind.__name__} needs {' and '.join(absent)}.",
            hint=f"Its fields are {', '.join(fields)}.",
            data={"row": at},
        )
    return kind(**given)
