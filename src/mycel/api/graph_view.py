"""`GraphView`: the methods that read one state of the graph.

`db.as_of(moment)` returns the view of a past state. `Graph` is the view of the live one, and adds
everything else.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from math import inf
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Final

from mycel.errors import NotFound
from mycel.graph import traversal, walk
from mycel.graph.adjacency import Adjacency
from mycel.graph.doubts import with_doubts
from mycel.merkle.proofs import Snapshot
from mycel.model.directions import Direction, Way
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import check_name
from mycel.model.state import LIVE, State
from mycel.store.database import Store
from mycel.store.query import history
from mycel.store.query.filters import visibility_of
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref, missing

if TYPE_CHECKING:
    from mycel.transfer.export import Exported
    from mycel.transfer.formats import Format

FIND_LIMIT_DEFAULT: Final = 100


class GraphView:
    """One state of the graph, read-only: its elements, edges, walks and rows."""

    _adjacency: Adjacency | None = None
    """The adjacency in memory, if this view may use it."""

    def __init__(self, store: Store, state: State = LIVE, *, timeout_s: float = inf) -> None:
        self._store = store
        self._timeout_s: Final = timeout_s
        self.state: Final = state
        """The state that this view shows."""

    @property
    def seq(self) -> int | None:
        """The journal position of the state; None for the live state."""
        return self.state.seq

    def snapshot(self) -> Snapshot:
        """All roots of the state."""
        with self._store.reading() as reader:
            return history.snapshot_of(reader.at(self.state))

    # Elements.

    def get(self, ref: Ref, *, tombstoned: bool = False) -> Element:
        """The element that a reference names; with `tombstoned`, also a removed one.

        A reference is an id, a URI, (type, name), (subject, predicate, object), or an element.

        Raises:
            NotFound: this state has no such element.
        """
        with self._store.lending(self.state) as reader:
            element = reader.element(reader.number(ref), tombstoned=tombstoned)
        if element is None:
            raise missing(ref)
        return element

    def get_concept(
        self, type_name: str | None, name: str, *, tombstoned: bool = False
    ) -> Concept | None:
        """The concept with this type and name, or None; with `tombstoned`, also a removed one.

        Without a type, the concept may have any: a name that is a URI needs none.

        Raises:
            TypeMismatch: the type is not defined.
        """
        with self._store.lending(self.state) as reader:
            try:
                number = None if type_name is None else reader.type_number(type_name)
                return reader.concept_named(number, name, tombstoned=tombstoned)
            except (TypeError, UnicodeEncodeError):
                check_name(name)
                raise

    # Edges.

    def get_edge(self, src: Ref, predicate: str, dst: Ref) -> Proposition:
        """The edge, even if it was removed: then its `tombstoned` is True.

        Raises:
            TypeMismatch: the predicate is not defined.
            NotFound: there never was such an edge.
        """
        with self._store.lending(self.state) as reader:
            number = reader.predicate_number(predicate)
            source, target = reader.number(src), reader.number(dst)
            link = reader.link_between(source, number, target, tombstoned=True)
        if link is None:
            ends = [getattr(end, "id", end) for end in (src, dst)]
            raise NotFound(
                f"There never was an edge {predicate!r} from {ends[0]!r} to {ends[1]!r}."
            )
        return link

    def edges_out(
        self,
        src: Ref,
        types: Collection[str] | None = None,
        *,
        include_tombstoned: bool = False,
    ) -> Iterator[Proposition]:
        """Edges that leave an element, in the order of predicate number and target.

        The iteration may be stopped at any edge. All edges are of one moment, even if others write
        meanwhile.
        """
        return self._edges(src, "out", types, include_tombstoned)

    def edges_in(
        self,
        dst: Ref,
        types: Collection[str] | None = None,
        *,
        include_tombstoned: bool = False,
    ) -> Iterator[Proposition]:
        """Edges that reach an element, in the order of predicate number and source."""
        return self._edges(dst, "in", types, include_tombstoned)

    def _edges(
        self,
        end: Ref,
        direction: Way,
        types: Collection[str] | None,
        include_tombstoned: bool,
    ) -> Iterator[Proposition]:
        def read(reader: Reader) -> Iterator[Proposition]:
            number = reader.number(end)
            names = (types,) if isinstance(types, str) else types
            numbers = None if names is None else [reader.predicate_number(name) for name in names]
            links = reader.links(number, direction, numbers, tombstoned=include_tombstoned)
            return _of_element(reader, links, number, end)

        return self._store.stream(self.state, read)

    def traverse(
        self,
        start: Ref,
        *,
        max_cost: float = traversal.MAX_COST_DEFAULT,
        max_nodes: int = traversal.MAX_NODES_DEFAULT,
        max_tokens: int | None = None,
        direction: Direction = "out",
        relation_types: Collection[str] | None = None,
        for_time: datetime | str | None = None,
        include_archived: bool = False,
        doubts: bool = False,
    ) -> traversal.Traversal:
        """The elements near an element, nearest first.

        A link costs its weight, and a path the sum of its links. The start comes first, at a cost
        of 0. Budgets are hard: at most `max_nodes` elements, of about `max_tokens` tokens together.
        `cut_off` lists the elements that did not fit. Links of symmetric predicates are followed in
        both directions. `for_time` leaves out elements that do not hold at that time. Without it,
        elements that hold now come first among equal costs, and the reason says if one does not
        hold. With `doubts`, reasons also name links that their evidence does not support.

        Raises:
            NotFound: the start does not exist.
            TypeMismatch: a type of relation is not defined.
            ConstraintViolation, InvalidValueType: a bound of the wrong kind.
            ExecutionTimeout: the search took too long.
        """
        visibility = visibility_of({"for_time": for_time, "include_archived": include_archived})
        bounds = traversal.Bounds(
            max_cost, max_nodes, max_tokens, direction, relation_types, visibility
        )
        with self._store.reading(self.state) as reader:
            reached = self.traverse_in(reader, start, bounds)
            return with_doubts(reader, reached) if doubts else reached

    def traverse_in(
        self, reader: Reader, start: Ref, bounds: traversal.Bounds
    ) -> traversal.Traversal:
        """`traverse`, at the moment that a reader shows."""
        reader.deadline = monotonic() + self._timeout_s
        number = reader.number(start)
        try:
            return traversal.traverse(reader, number, bounds, self._adjacency)
        except NotFound as error:
            raise NotFound(
                f"{missing(start).message[:-1]} to start from.", hint=error.hint
            ) from None

    def path_in(
        self, reader: Reader, start: Ref, goal: Ref, bounds: traversal.Bounds
    ) -> traversal.CheapestPath:
        """The cheapest path between two elements, at the moment that a reader shows."""
        reader.deadline = monotonic() + self._timeout_s
        ends = reader.number(start), reader.number(goal)
        return traversal.find_path(reader, *ends, bounds, self._adjacency)

    def find(
        self,
        start: Ref,
        follow: walk.Follow | None = None,
        *,
        types: Sequence[str] | None = None,
        limit: int = FIND_LIMIT_DEFAULT,
        form: walk.Form = "medium",
    ) -> walk.FindResult:
        """The elements that can be reached from an element, nearest first, without the start.

        `types` filters the result; the walk also passes through elements of other types.

        Raises:
            NotFound: the start does not exist.
            ConstraintViolation: more hops than the cap of 6, or another bound is broken.
            ExecutionTimeout: the search took too long.
        """
        with self._store.reading(self.state) as reader:
            reader.deadline = monotonic() + self._timeout_s
            follow = follow or walk.Follow()
            return walk.find(reader, start, follow, types=types, limit=limit, form=form)

    # Rows.

    def to_arrow(self, type: str) -> Any:  # noqa: A002 - the word for it
        """All rows of a node or an edge as a `pyarrow.Table`; needs the extra `mycel[arrow]`.

        Raises:
            TypeMismatch: there is no such type.
        """
        from mycel.migration.schema_in_force import read  # noqa: PLC0415 - imported when first needed
        from mycel.transfer.export import to_arrow  # noqa: PLC0415 - as above

        return to_arrow(self._store, type, read_catalog=read, state=self.state)

    def export(
        self,
        target: str | os.PathLike[str] | IO[Any],
        *,
        types: Sequence[str] | None = None,
        format: Format | None = None,  # noqa: A002 - the word for it
    ) -> Exported:
        """Write rows to a file (or an open one) as JSON Lines, or each type as a table.

        If the target is a directory, each table is a file in it, and JSON Lines are graph.jsonl.
        `load` takes the file or the directory.

        Raises:
            TypeMismatch: there is no such type.
        """
        from mycel.migration.schema_in_force import read  # noqa: PLC0415 - as above
        from mycel.transfer.export import export  # noqa: PLC0415 - as above

        return export(
            self._store,
            target,
            read_catalog=read,
            types=types,
            format=format,
            state=self.state,
        )


def _of_element(
    reader: Reader, links: Iterator[Proposition], number: int, ref: Ref
) -> Iterator[Proposition]:
    """The links at an element; raises NotFound if there are none and the element never existed."""
    first = next(links, None)
    if first is not None:
        yield first
        yield from links
    elif not reader.was_ever(number):
        # An element with links exists, so only an empty list needs this check.
        raise missing(ref)
