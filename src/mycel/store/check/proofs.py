"""Proofs about the live state and the journal, made from the trees and the log on disk."""

from __future__ import annotations

from mycel.errors import NotFound
from mycel.merkle import log
from mycel.merkle.proofs import ConsistencyProof, EntryProof, StateProof
from mycel.model.records import tree_key
from mycel.store.check.targets import Target, identify
from mycel.store.log.journal import JournalNodes
from mycel.store.log.trees import StateTrees
from mycel.store.query.reader import Reader


def prove(reader: Reader, target: Target) -> StateProof:
    """Prove that an element is part of the state, or that there is none with this identity.

    Raises:
        NotFound: an id that no element ever had.
        InvalidIdentifier: no type or predicate can have this name.
    """
    head = reader.head()
    namespace, natural, record = identify(reader, target)
    key = tree_key(natural)
    trees = StateTrees(reader.connection)
    trees.follow(head, head.seq)
    return StateProof(namespace, key, record, trees.prove(namespace, key), head.snapshot())


def prove_entry(reader: Reader, seq: int) -> EntryProof:
    """Prove that the journal has an entry, or a transaction, at its position.

    Raises:
        NotFound: the journal has no such entry.
    """
    head = reader.head()
    if not 1 <= seq <= head.seq:
        raise NotFound(f"The journal has no entry {seq}: it goes from 1 to {head.seq}.")
    nodes = JournalNodes(reader.connection, reader.registry)
    path = log.inclusion_path(nodes, seq - 1, head.seq)
    return EntryProof(seq, nodes.entry(seq), tuple(path), head.snapshot())


def prove_consistency(reader: Reader, old_entries: int) -> ConsistencyProof:
    """Prove that the journal of then is the beginning of the journal of now.

    Raises:
        NotFound: the journal never had so many entries.
    """
    head = reader.head()
    if not 0 <= old_entries <= head.seq:
        raise NotFound(f"The journal never had {old_entries} entries: it has {head.seq}.")
    nodes = JournalNodes(reader.connection, reader.registry)
    return ConsistencyProof(
        old_entries,
        log.root_at(nodes, old_entries),
        tuple(log.consistency_path(nodes, old_entries, head.seq)),
        head.snapshot(),
    )
