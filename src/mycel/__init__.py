"""Mycel: an embedded, verifiable knowledge graph for AI agents.

This module is the public API and nothing else. Public is what `mycel`, `mycel.errors` and
`mycel.testing` list in `__all__`; everything else may change without notice.
"""

from mycel.graph.view import GraphView, PastView
from mycel.graph.walk import FindResult, Follow, Memory
from mycel.merkle.proofs import (
    ConsistencyProof,
    EntryProof,
    Snapshot,
    StateProof,
    proof_from_dict,
)
from mycel.model.elements import Concept, Proposition
from mycel.model.records import decode_concept, decode_edge
from mycel.nexus import Nexus
from mycel.nexus import open_nexus as open  # noqa: A004 - `mycel.open` is how a graph is opened
from mycel.store.bulk import ConceptRow, PropositionRow
from mycel.store.chronicle import LogEntry, Version
from mycel.store.purge import Purged
from mycel.store.transaction import Change, Guard, Retired, Transaction
from mycel.store.verify import Problem, Report

__all__ = [
    "Change",
    "Concept",
    "ConceptRow",
    "ConsistencyProof",
    "EntryProof",
    "FindResult",
    "Follow",
    "GraphView",
    "Guard",
    "LogEntry",
    "Memory",
    "Nexus",
    "PastView",
    "Problem",
    "Proposition",
    "PropositionRow",
    "Purged",
    "Report",
    "Retired",
    "Snapshot",
    "StateProof",
    "Transaction",
    "Version",
    "__version__",
    "decode_concept",
    "decode_edge",
    "open",
    "proof_from_dict",
]

__version__ = "0.1.0"
