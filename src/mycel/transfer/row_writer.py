"""Rows to the graph, a chunk at a time, in one of three modes.

    append      every row is new; an existing element is an error
    merge       the element of a row gets the properties of the row, and keeps other properties
    overwrite   the element of a row gets the properties of the row and the defaults of the schema,
                and loses other properties; elements of the loaded types without a row are removed,
                except the two actors of the system

New rows are written with the bulk puts of the transaction, which cost a fraction of single puts. In
the mode append, no row is looked up before: the numbers of elements show afterwards whether they
are new. When a chunk fails and the error names no row, its rows are put again one by one, in the
transaction that is lost anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from mycel.engine.batch import concepts_there
from mycel.engine.protection_guard import ACTORS
from mycel.errors import (
    DiskFull,
    DuplicateExists,
    ExecutionTimeout,
    InternalError,
    MycelError,
)
from mycel.model import ids
from mycel.model.elements import Concept, Element
from mycel.model.values import JsonObject
from mycel.store.file.layout import Table
from mycel.store.query import lookup
from mycel.store.query.bulk import instances
from mycel.store.write.bitset import NumberSet
from mycel.store.write.bulk import ConceptRow, PropositionRow
from mycel.store.write.transaction import DEFAULT_WEIGHT, Transaction
from mycel.transfer.load_targets import EdgeTarget, NodeTarget, Target, without_nulls
from mycel.transfer.source_rows import EdgeRow, NodeRow, RowError, SourceRow, end_shown

Mode: TypeAlias = Literal["append", "merge", "overwrite"]

REASON: Final = "not among the rows that were loaded"


JoinedEdge: TypeAlias = tuple[EdgeRow, str, str]
"""An edge with the ids of its ends."""


class RowWriter:
    """Writes the rows of one load."""

    def __init__(self, tx: Transaction, mode: Mode) -> None:
        self._tx: Final = tx
        self._mode: Final = mode
        self._seen: Final = (NumberSet(), NumberSet())
        """The numbers of elements that have a row, for "overwrite": concepts even, links odd."""
        self.counts: Final[dict[Target, Counter[str]]] = {}
        """The numbers of rows created, updated, unchanged and removed, by target."""

    def count(self, target: Target) -> Counter[str]:
        """The counts of a target, which becomes part of the load with the first call."""
        return self.counts.setdefault(target, Counter())

    def nodes(self, rows: Sequence[NodeRow]) -> None:
        """Write nodes with different identities; raises RowError about one of them."""
        self._begin(rows)
        existing = {} if self._mode == "append" else self._nodes_there(rows)
        self._create_nodes(
            [row for row in rows if row.identity not in existing] if existing else rows
        )
        for row in rows if existing else ():
            if row.identity in existing:
                self._change(row, existing[row.identity])

    def _nodes_there(self, rows: Sequence[NodeRow]) -> dict[tuple[NodeTarget, str], str]:
        names: dict[str, list[str]] = {}
        for row in rows:
            names.setdefault(row.target.type, []).append(row.name)
        concept_ids = concepts_there(self._tx, names)
        return {
            row.identity: concept_ids[row.target.type, row.name]
            for row in (rows if concept_ids else ())
            if (row.target.type, row.name) in concept_ids
        }

    def _create_nodes(self, rows: Sequence[NodeRow]) -> None:
        puts = [
            ConceptRow(row.target.type, row.name, _complete_attributes(row), row.metadata)
            for row in rows
        ]
        tx = self._tx
        seq, first = tx.position, tx.next_concept
        element_ids = self._put(rows, puts, tx.put_concepts, lambda put: tx.put_concept(*put))
        if tx.next_concept - first != len(rows) * ids.ID_STEP:
            for row, id_ in zip(rows, element_ids, strict=True):
                self._check_new(row, tx.get(id_), seq)
        if self._mode == "overwrite":
            for id_ in element_ids:
                self._seen[0].add(int(id_[2:]))
        self._count_created(rows)

    def edges(self, joined: Sequence[JoinedEdge]) -> None:
        """Write edges with different identities; raises RowError about one of them."""
        self._begin([row for row, _, _ in joined])
        existing = {} if self._mode == "append" else self._edges_there(joined)
        fresh = [edge for edge in joined if _place(*edge) not in existing] if existing else joined
        self._create_edges(fresh)
        for edge in joined if existing else ():
            if (number := existing.get(_place(*edge))) is not None:
                self._change(edge[0], ids.link_id(number, edge[0].target.predicate))

    def _edges_there(self, joined: Sequence[JoinedEdge]) -> dict[tuple[str, str, str], int]:
        reader = self._tx.reader
        outer, name = reader.outer_id, reader.predicate_name
        numbers = {
            predicate: reader.predicate_number(predicate)
            for predicate in {row.target.predicate for row, _, _ in joined}
        }
        places = [
            (ids.parse_id(subject), numbers[row.target.predicate], ids.parse_id(object_))
            for row, subject, object_ in joined
        ]
        links = lookup.links_between(reader, places).items()
        return {
            (name(predicate), outer(subject), outer(object_)): number
            for (subject, predicate, object_), number in links
        }

    def _create_edges(self, joined: Sequence[JoinedEdge]) -> None:
        rows = [row for row, _, _ in joined]
        puts = [
            PropositionRow(
                start,
                row.target.predicate,
                end,
                _complete_attributes(row),
                row.metadata,
                row.weight,
            )
            for row, start, end in joined
        ]
        tx = self._tx
        seq, first = tx.position, tx.next_proposition
        alone = lambda put: tx.put_proposition(*put[:5], weight=put.weight)  # noqa: E731
        self._put(rows, puts, tx.put_propositions, alone)
        numbers: Iterable[int] = range(first, tx.next_proposition, ids.ID_STEP)
        if tx.next_proposition - first != len(rows) * ids.ID_STEP:
            numbers = []
            for row, subject, object_ in joined:
                link = tx.get_edge(subject, row.target.predicate, object_)
                if link is not None:
                    self._check_new(row, link, seq)
                    numbers.append(link.number)
        if self._mode == "overwrite":
            for number in numbers:
                self._seen[1].add(number)
        self._count_created(rows)

    def _begin(self, rows: Sequence[SourceRow]) -> None:
        """Begin to count, so that targets are listed in the order of their first rows."""
        for target in dict.fromkeys(row.target for row in rows):
            self.count(target)

    def _count_created(self, rows: Sequence[SourceRow]) -> None:
        for target, number in Counter(row.target for row in rows).items():
            self.count(target)["created"] += number

    def _put(
        self,
        rows: Sequence[SourceRow],
        puts: list[Any],
        together: Callable[[list[Any]], Any],
        alone: Callable[[Any], object],
    ) -> Any:
        """Put rows together; if that fails, find the row that fails."""
        try:
            return together(puts)
        except (InternalError, DiskFull, ExecutionTimeout):
            raise  # The storage failed, so a second try is useless.
        except MycelError as error:
            at = error.data.pop("row", None)
            if isinstance(at, int) and at < len(rows):
                raise RowError(error, rows[at]) from None
            for row, put in zip(rows, puts, strict=True):
                try:
                    alone(put)
                except MycelError as again:
                    raise RowError(again, row) from None
            raise

    def _check_new(self, row: SourceRow, element: Element, seq: int) -> None:
        """Refuse a row whose element existed before this chunk."""
        if element.seq > seq and element.version == 1:
            return  # It is new, or was removed before and is new again.
        tx = self._tx
        is_of_load = element.created_us == tx.time_us and element.seq >= tx.first_seq
        raise RowError(exists(row, repeated=is_of_load), row)

    def _change(self, row: SourceRow, id_: str) -> None:
        """Change an existing element to its row."""
        number = ids.parse_id(id_)
        try:
            if self._mode == "merge":
                changed = self._merge(row, id_)
            elif number in self._seen[number & 1]:
                raise exists(row, repeated=True)
            else:
                self._seen[number & 1].add(number)
                changed = self._replace(row, id_)
        except (InternalError, DiskFull, ExecutionTimeout):
            raise
        except MycelError as error:
            raise RowError(error, row) from None
        self.count(row.target)["updated" if changed else "unchanged"] += 1

    def _merge(self, row: SourceRow, id_: str) -> bool:
        attributes, dropped = row.attributes, list[str]()
        if row.target.is_typed and None in attributes.values():
            dropped = [name for name, value in attributes.items() if value is None]
            attributes = without_nulls(attributes)
        weight = row.weight if isinstance(row, EdgeRow) else None
        return self._tx.update(
            id_,
            attributes=attributes,
            drop_attributes=dropped,
            metadata=row.metadata,
            weight=weight,
        )

    def _replace(self, row: SourceRow, id_: str) -> bool:
        element = self._tx.get(id_)
        new = row.target.with_defaults(row.target.complete_attributes(row.attributes))
        metadata = row.metadata or {}
        weight = None
        if isinstance(row, EdgeRow):
            weight = DEFAULT_WEIGHT if row.weight is None else row.weight
        return self._tx.update(
            id_,
            attributes=new,
            drop_attributes=element.attributes.keys() - new.keys(),
            metadata=metadata,
            drop_metadata=[
                key for key in element.metadata if key not in metadata and not key.startswith("_")
            ],
            weight=weight,
        )

    def remove_other_nodes(self) -> None:
        """Remove the nodes of loaded types that were not among the rows."""
        for target in [count for count in self.counts if isinstance(count, NodeTarget)]:
            self._remove_others(target, "concept", self._tx.reader.find_type(target.type))

    def remove_other_edges(self) -> None:
        """Remove the edges of loaded types that were not among the rows."""
        for target in [count for count in self.counts if isinstance(count, EdgeTarget)]:
            kind = self._tx.reader.find_predicate(target.predicate)
            self._remove_others(target, "proposition", kind)

    def _remove_others(self, target: Target, table: Table, kind: int | None) -> None:
        if kind is None:
            return
        reader = self._tx.reader
        for number in instances.numbers(reader, table, kind):
            # A link may have been removed with another link at its end.
            element = None if number in self._seen[number & 1] else reader.element(number)
            is_actor = isinstance(element, Concept) and (element.type, element.name) in ACTORS
            if element is not None and not is_actor:
                removal = self._tx.retire(element.id, reason=REASON)
                self.count(target)["removed"] += removal.concepts + removal.propositions


def _complete_attributes(row: SourceRow) -> JsonObject:
    try:
        return row.target.complete_attributes(row.attributes)
    except MycelError as error:
        raise RowError(error, row) from None


def _place(row: EdgeRow, subject: str, object_: str) -> tuple[str, str, str]:
    return row.target.predicate, subject, object_


def exists(row: SourceRow, *, repeated: bool) -> DuplicateExists:
    """The error about a row that has to be new but is not."""
    label = row.target.label
    data: dict[str, Any] = {"type": label}
    if isinstance(row, NodeRow):
        row_label = f"{label} {row.name!r}"
        key = row.target.key
        data |= {"property": ", ".join(key) or "id", "value": row.name}
    else:
        row_label = f"{label} from {end_shown(row.subject)} to {end_shown(row.object)}"
    if repeated:
        return DuplicateExists(
            f"{row_label} appears twice.",
            hint='Leave one of them out; in the mode "merge" the later one wins.',
            data=data | {"repeated": True},
        )
    return DuplicateExists(
        f"{row_label} exists already.",
        hint='The mode "merge" updates existing elements, and "overwrite" replaces them.',
        data=data,
    )
