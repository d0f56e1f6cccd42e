"""Mycel: an embedded, verifiable knowledge graph for AI agents.

This module is the public API and nothing else. Public is what `mycel`, `mycel.errors`, `mycel.kip`,
`mycel.schema` and `mycel.testing` list in `__all__`; everything else may change without notice.

Names are imported when they are first used, so that `import mycel` and the command line start fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.api.graph_view import GraphView
    from mycel.api.opening import open_graph as open  # noqa: A004 - `mycel.open` opens a graph.
    from mycel.engine.result import Result
    from mycel.graph.traversal import CutOff, Reached, Step, Traversal
    from mycel.graph.walk import FindResult, Follow, Memory
    from mycel.history.backups import Backup, restore
    from mycel.history.merge.outcome import Choice, Conflict, Merge
    from mycel.history.rollback import Rollback
    from mycel.knowledge.active_context import ActiveContext, Contexts
    from mycel.knowledge.knowledge import Knowledge
    from mycel.knowledge.node_values import NewNode, NewRelation, Node, Relation
    from mycel.knowledge.several import SeveralWorkspaces
    from mycel.merkle.proofs import (
        ConsistencyProof,
        EntryProof,
        Snapshot,
        StateProof,
        proof_from_dict,
    )
    from mycel.mirror.mirror import Mirror
    from mycel.model.elements import Concept, Proposition
    from mycel.model.records import decode_concept, decode_edge
    from mycel.store.check.verify import Problem, Report
    from mycel.store.query.commits import LogEntry
    from mycel.store.query.diff import Diff, ElementChange, ValueChange
    from mycel.store.query.history import Version
    from mycel.store.write.bulk import ConceptRow, PropositionRow
    from mycel.store.write.purge import Purged
    from mycel.store.write.scrub import Scrubbed
    from mycel.store.write.transaction import Change, Guard, Retired, Transaction
    from mycel.transfer.export import Exported
    from mycel.transfer.load import Loaded, Progress

__all__ = [
    "ActiveContext",
    "Backup",
    "Change",
    "Choice",
    "Concept",
    "ConceptRow",
    "Conflict",
    "ConsistencyProof",
    "Contexts",
    "CutOff",
    "Diff",
    "ElementChange",
    "EntryProof",
    "Exported",
    "FindResult",
    "Follow",
    "Graph",
    "GraphView",
    "Guard",
    "Knowledge",
    "Loaded",
    "LogEntry",
    "Memory",
    "Merge",
    "Mirror",
    "NewNode",
    "NewRelation",
    "Node",
    "Problem",
    "Progress",
    "Proposition",
    "PropositionRow",
    "Purged",
    "Reached",
    "Relation",
    "Report",
    "Result",
    "Retired",
    "Rollback",
    "Scrubbed",
    "SeveralWorkspaces",
    "Snapshot",
    "StateProof",
    "Step",
    "Transaction",
    "Traversal",
    "ValueChange",
    "Version",
    "__version__",
    "decode_concept",
    "decode_edge",
    "open",
    "proof_from_dict",
    "restore",
]

__version__ = "0.1.0"

_HOMES = {
    "mycel.api.graph": ("Graph",),
    "mycel.api.graph_view": ("GraphView",),
    "mycel.api.opening": ("open_graph",),
    "mycel.engine.result": ("Result",),
    "mycel.graph.traversal": ("CutOff", "Reached", "Step", "Traversal"),
    "mycel.graph.walk": ("FindResult", "Follow", "Memory"),
    "mycel.history.backups": ("Backup", "restore"),
    "mycel.history.merge.outcome": ("Choice", "Conflict", "Merge"),
    "mycel.history.rollback": ("Rollback",),
    "mycel.knowledge.active_context": ("ActiveContext", "Contexts"),
    "mycel.knowledge.knowledge": ("Knowledge",),
    "mycel.knowledge.several": ("SeveralWorkspaces",),
    "mycel.knowledge.node_values": ("NewNode", "NewRelation", "Node", "Relation"),
    "mycel.merkle.proofs": (
        "ConsistencyProof",
        "EntryProof",
        "Snapshot",
        "StateProof",
        "proof_from_dict",
    ),
    "mycel.mirror.mirror": ("Mirror",),
    "mycel.model.elements": ("Concept", "Proposition"),
    "mycel.model.records": ("decode_concept", "decode_edge"),
    "mycel.store.write.bulk": ("ConceptRow", "PropositionRow"),
    "mycel.store.query.commits": ("LogEntry",),
    "mycel.store.query.diff": ("Diff", "ElementChange", "ValueChange"),
    "mycel.store.query.history": ("Version",),
    "mycel.store.write.purge": ("Purged",),
    "mycel.store.write.scrub": ("Scrubbed",),
    "mycel.store.write.transaction": ("Change", "Guard", "Retired", "Transaction"),
    "mycel.store.check.verify": ("Problem", "Report"),
    "mycel.transfer.export": ("Exported",),
    "mycel.transfer.load": ("Loaded", "Progress"),
}
_MODULES = ("errors", "kip", "schema", "testing")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"mycel.{name}")
    inner = "open_graph" if name == "open" else name
    home = _HOME_OF.get(inner)
    if home is None or name == "open_graph":
        raise AttributeError(f"module 'mycel' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), inner)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
