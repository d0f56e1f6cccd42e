"""Puts of an UPSERT, queued so that they are written in bulk.

All concepts of a queue are written first, then all links, each kind in the order of its puts. The
result is the same as if each put were written alone: a put depends on no other put of its queue,
except that a link needs its ends.

When a bulk write fails, the transaction is lost. The puts are then repeated one by one, in the
order of the command, only to find the first put that fails: its error is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from mycel.engine.functional_guard import warn_ended
from mycel.errors import DiskFull, ExecutionTimeout, InternalError, MycelError, UnknownReference
from mycel.kip import ast
from mycel.model import ids
from mycel.store.query import lookup
from mycel.store.write.bulk import ConceptRow, PropositionRow
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import located

_TOGETHER_MIN: Final = 8
"""The least length of a queue that is written in bulk.

For shorter queues, looking up existing elements first would cost more.
"""

_Keys: TypeAlias = Mapping[str, Any] | None


def concepts_there(tx: Transaction, names: Mapping[str, list[str]]) -> dict[tuple[str, str], str]:
    """The ids of existing concepts, by type and name; `names` has the names to look up per type.

    A type that was never defined has no concepts.
    """
    concept_ids: dict[tuple[str, str], str] = {}
    for type_name, group in names.items():
        numbers = tx.numbers_named(type_name, group)
        concept_ids.update(((type_name, name), ids.concept_id(at)) for name, at in numbers.items())
    return concept_ids


Block: TypeAlias = ast.ConceptBlock | ast.PropositionBlock


class BlockPlace(NamedTuple):
    """The position of a block in its capsule, for errors."""

    statement: ast.Upsert
    ordinal: int
    """The number of the statement."""
    at: int
    block: Block

    def name_block(self, error: MycelError) -> MycelError:
        """The error, with the number of its statement and block added."""
        kind = "CONCEPT" if isinstance(self.block, ast.ConceptBlock) else "PROPOSITION"
        handle = "" if self.block.handle is None else f" (?{self.block.handle.name})"
        error.message = f"Block {self.at}, {kind}{handle}: {error.message}"
        error.args = (error.message,)
        error.data |= {"block": self.at, "upsert": self.ordinal}
        return located(error, self.block.span)

    def undefined(self, name: str) -> UnknownReference:
        """The error for a handle that no block before this one defines."""
        later = [
            at
            for at, block in enumerate(self.statement.blocks, 1)
            if block.handle is not None and block.handle.name == name
        ]
        if later and later[0] == self.at:
            hint = "A block cannot refer to its own handle."
        elif later:
            hint = f"Block {later[0]} defines it; move that block before this one."
        else:
            hint = f"Define it with a block CONCEPT ?{name} {{ … }} before this one."
        return UnknownReference(
            f"The handle ?{name} is not defined yet.",
            hint=f"{hint} Handles live within one UPSERT, from the end of their block on.",
        )


@dataclass(slots=True, eq=False)
class ConceptPut:
    """A concept to create or to change. It has an id once it exists."""

    type: str
    name: str
    attributes: _Keys
    metadata: _Keys
    place: BlockPlace
    id: str | None = None

    def put(self, tx: Transaction) -> None:
        self.id = tx.put_concept(self.type, self.name, self.attributes, self.metadata)


@dataclass(slots=True, eq=False)
class LinkPut:
    """A link to create or to change. It has an id once it is written."""

    subject: str | ConceptPut
    predicate: str
    object: str | ConceptPut
    attributes: _Keys
    metadata: _Keys
    weight: float | None
    place: BlockPlace
    id: str | None = None

    def ends(self) -> tuple[str, str]:
        """The ids of both ends; both must be written already."""
        return written_id(self.subject), written_id(self.object)

    def put(self, tx: Transaction) -> None:
        subject, object_ = self.ends()
        self.id = tx.put_proposition(
            subject, self.predicate, object_, self.attributes, self.metadata, weight=self.weight
        )
        warn_ended(tx, self.id, self.metadata)


Put: TypeAlias = ConceptPut | LinkPut
End: TypeAlias = str | ConceptPut | LinkPut
"""An end of a link: an id, or an element that waits to be written."""


def written_id(end: End) -> str:
    """The id of an element, which must be written already."""
    return end if isinstance(end, str) else str(end.id)


def settled(end: End) -> End:
    """The id of an element if it is written, and otherwise its put."""
    return end if isinstance(end, str) or end.id is None else end.id


class Batch:
    """Puts that wait to be written together."""

    def __init__(self, tx: Transaction) -> None:
        self._tx: Final = tx
        self._concepts: dict[tuple[str, str], ConceptPut] = {}
        self._links: dict[tuple[End, str, End], LinkPut] = {}
        self._queue: list[Put] = []

    def __len__(self) -> int:
        return len(self._queue)

    def waiting_link(self, subject: End, predicate: str, object_: End) -> LinkPut | None:
        return self._links.get((subject, predicate, object_))

    def put_concept(self, put: ConceptPut) -> None:
        """Queue a concept. If the same concept waits already, the queue is written first."""
        key = (put.type, put.name)
        if key in self._concepts:
            self.write()
        self._concepts[key] = put
        self._queue.append(put)

    def put_link(self, put: LinkPut) -> None:
        """Queue a link. Each end is written already, or is a concept in the queue."""
        key = (put.subject, put.predicate, put.object)
        if self._links.setdefault(key, put) is not put:
            self.write()
            self._links[key] = put
        self._queue.append(put)

    def write(self) -> None:
        """Write all waiting puts; raises the error of the first put that fails."""
        concepts, links, queue = self._concepts, self._links, self._queue
        if not queue:
            return
        self._concepts, self._links, self._queue = {}, {}, []
        if len(queue) < _TOGETHER_MIN:
            self._one_by_one(queue)
            return
        try:
            created = self._write_concepts(list(concepts.values()))
            self._write_links(list(links.values()), created)
        except (InternalError, DiskFull, ExecutionTimeout):
            raise  # The storage failed, so trying one by one would fail as well.
        except MycelError:
            self._one_by_one(queue)
            raise

    def _one_by_one(self, queue: Sequence[Put]) -> None:
        for put in queue:
            try:
                put.put(self._tx)
            except MycelError as error:
                raise put.place.name_block(error) from None

    def _write_concepts(self, puts: list[ConceptPut]) -> set[str]:
        """Write concepts, existing ones one by one; returns the ids of the new ones."""
        fresh = []
        for put in puts:
            if put.id is None:
                fresh.append(put)
            elif put.attributes or put.metadata:
                put.put(self._tx)
        rows = [ConceptRow(put.type, put.name, put.attributes, put.metadata) for put in fresh]
        concepts = self._tx.put_concepts(rows)
        for put, concept_id in zip(fresh, concepts, strict=True):
            put.id = concept_id
        return set(concepts)

    def _write_links(self, puts: list[LinkPut], created: set[str]) -> None:
        """Write links, existing ones one by one."""
        # A guard may need their order.
        guards = self._tx.guards
        for put in puts:
            if guards.goes_alone(self._tx, put.predicate, link=True):
                put.put(self._tx)
        puts = [put for put in puts if put.id is None]
        ends = [put.ends() for put in puts]
        existing = self._links_there(puts, ends, created)
        fresh, rows = [], []
        for put, (subject, object_) in zip(puts, ends, strict=True):
            if existing and (put.predicate, subject, object_) in existing:
                put.put(self._tx)
            else:
                keys = put.attributes, put.metadata, put.weight
                fresh.append(put)
                rows.append(PropositionRow(subject, put.predicate, object_, *keys))
        first = self._tx.next_proposition
        self._tx.put_propositions(rows)
        if self._tx.next_proposition - first == len(fresh) * ids.ID_STEP:
            for number, put in enumerate(fresh):
                put.id = ids.link_id(first + number * ids.ID_STEP, put.predicate)
        else:  # A link that had been removed got its old id again.
            for put in fresh:
                subject, object_ = put.ends()
                link = self._tx.get_edge(subject, put.predicate, object_)
                put.id = None if link is None else link.id

    def _links_there(
        self, puts: list[LinkPut], ends: list[tuple[str, str]], created: set[str]
    ) -> set[tuple[str, str, str]]:
        """The links that exist already. A concept that was just created has none."""
        reader = self._tx.reader
        places = {
            (ids.parse_id(subject), reader.predicate_number(put.predicate), ids.parse_id(object_))
            for put, (subject, object_) in zip(puts, ends, strict=True)
            if subject not in created and object_ not in created
        }
        return {
            (reader.predicate_name(predicate), reader.outer_id(subject), reader.outer_id(object_))
            for subject, predicate, object_ in lookup.links_between(reader, places)
        }
