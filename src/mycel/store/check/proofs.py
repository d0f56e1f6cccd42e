"""Makes proofs about the live state and the journal, from the trees and the log on disk."""

from __future__ import annotations

from collections.abc import Iterable

from mycel.errors import InvalidId, NotFound
from mycel.merkle import log
from mycel.merkle.proofs import ConsistencyProof, EntryProof, Namespace, StateProof
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import check_identifier, check_name, shorten
from mycel.model.records import concept_key, link_key, tree_key
from mycel.store.log.audit import Auditor
from mycel.store.log.journal import JournalNodes
from mycel.store.log.trees import StateTrees
from mycel.store.query.history import snapshot_of
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref


def prove(reader: Reader, target: Ref) -> StateProof:
    """Prove that an element is part of the state, or that no element has this identity.

    Raises:
        NotFound: no element ever had this id.
        InvalidIdentifier: no type or predicate can have this name.
    """
    head = reader.head()
    namespace, natural, record = _identify(reader, target)
    key = tree_key(natural)
    trees = StateTrees(reader.connection)
    trees.follow(head, head.seq)
    return StateProof(namespace, key, record, trees.prove(namespace, key), head.snapshot())


def prove_elements(reader: Reader, elements: Iterable[Element]) -> list[StateProof]:
    """Prove that elements, or their tombstones, are part of the live state: one proof each."""
    head = reader.head()
    snapshot = head.snapshot()
    trees = StateTrees(reader.connection)
    trees.follow(head, head.seq)
    auditor = Auditor(reader.connection, reader.registry)
    proofs = []
    for element in elements:
        namespace: Namespace = "concepts" if isinstance(element, Concept) else "edges"
        key = tree_key(auditor.key(element.number))
        record = reader.record_at(element.seq)
        proofs.append(StateProof(namespace, key, record, trees.prove(namespace, key), snapshot))
    return proofs


def prove_entry(reader: Reader, seq: int) -> EntryProof:
    """Prove that the journal has an entry, or a transaction, at its position.

    Raises:
        NotFound: the journal has no such entry.
    """
    head = reader.head()
    if not 1 <= seq <= head.seq:
        raise NotFound(
            f"The journal has no entry {seq}: it goes from 1 to {head.seq}.",
            hint="Choose an entry within these bounds.",
        )
    nodes = JournalNodes(reader.connection, reader.registry)
    path = log.inclusion_path(nodes, seq - 1, head.seq)
    return EntryProof(seq, nodes.entry(seq), tuple(path), head.snapshot())


def prove_consistency(reader: Reader, old_entries: int) -> ConsistencyProof:
    """Prove that an earlier journal is the beginning of the journal in the reader's state.

    Raises:
        NotFound: the journal never had this many entries.
    """
    snapshot = snapshot_of(reader)
    if not 0 <= old_entries <= snapshot.entries:
        raise NotFound(
            f"The journal never had {old_entries} entries: it has {snapshot.entries}.",
            hint="Choose a number up to this one.",
        )
    nodes = JournalNodes(reader.connection, reader.registry)
    return ConsistencyProof(
        old_entries,
        log.root_at(nodes, old_entries),
        tuple(log.consistency_path(nodes, old_entries, snapshot.entries)),
        snapshot,
    )


def _identify(reader: Reader, target: Ref) -> tuple[Namespace, bytes, bytes | None]:
    """Namespace, natural key and present record of the element to be proven.

    The key is computed from names alone. A proof of absence is therefore possible even for
    undefined types and predicates, and for edges between concepts that never existed.
    """
    auditor = Auditor(reader.connection, reader.registry)
    element: Element | None
    match target:
        case str() | Concept() | Proposition():
            element = reader.element(_element_number(reader, target), tombstoned=True)
        case (type_name, name):
            element = _concept_ever(reader, type_name, name)
            if element is None:
                return "concepts", concept_key(type_name, name), None
        case (src, predicate, dst):
            check_identifier(predicate, "predicate")
            number = reader.registry.predicates.number(reader.connection, predicate)
            (source, from_key), (destination, to_key) = (
                _end(reader, auditor, end) for end in (src, dst)
            )
            element = None
            if number is not None and source is not None and destination is not None:
                element = reader.link_between(source, number, destination, tombstoned=True)
            if element is None:
                return "edges", link_key(from_key, predicate, to_key), None
        case _:
            raise InvalidId(
                f"{shorten(repr(target))} names nothing that can be proven.",
                hint="Pass an id, or (type, name), or (source, predicate, target).",
            )
    if element is None:
        raise NotFound(f"There is no element {target!r}, live or removed.")
    namespace: Namespace = "concepts" if isinstance(element, Concept) else "edges"
    return namespace, auditor.key(element.number), reader.record_at(element.seq)


def _element_number(reader: Reader, ref: Ref) -> int:
    """The number of an element that exists or existed.

    Raises:
        NotFound: there never was such an element.
    """
    number = reader.number(ref)
    if not reader.was_ever(number):
        raise NotFound(f"There is no element {ref!r}, live or removed.")
    return number


def _concept_ever(reader: Reader, type_name: str, name: str) -> Concept | None:
    """The concept with this type and name, live or removed."""
    check_identifier(type_name, "type")
    check_name(name)
    return reader.find_concept(type_name, name, tombstoned=True)


def _end(reader: Reader, auditor: Auditor, ref: Ref) -> tuple[int | None, bytes]:
    """The number of an end of an edge, or None if it never existed; and its natural key."""
    if isinstance(ref, tuple) and len(ref) == 2:
        concept = _concept_ever(reader, *ref)
        if concept is None:
            return None, concept_key(*ref)
        return concept.number, auditor.key(concept.number)
    number = _element_number(reader, ref)
    return number, auditor.key(number)
