"""Neighbourhoods of nodes and hits of searches, as one workspace gives them to another.

docs/remote-protocol.md describes the form. It includes records and proofs, so that the receiver can
check it against a root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, cast

from mycel.engine.missing_concepts import is_placeholder
from mycel.errors import AmbiguousName, ConstraintViolation, InvalidId, NotFound
from mycel.graph.traversal import Bounds, Reached
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.name_resolution import locate
from mycel.knowledge.node_lookup import element_uri, find
from mycel.model.directions import Direction
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.ids import parse_id
from mycel.model.records import record_hash
from mycel.store.check.proofs import prove_elements
from mycel.store.query.commits import commit_at
from mycel.store.query.reader import Reader

STARTS_MAX: Final = 100
NODES_MAX: Final = 1000
HITS_MAX: Final = 100
WORDS_CHARACTERS_MAX: Final = 4_000
"""The length of a question that another workspace may send."""
LINKS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class SubgraphRequest:
    """A request for a neighbourhood."""

    starts: Sequence[str]
    costs: Sequence[float] = ()
    """The cost so far of each start; 0 if it is left out."""
    max_cost: float = 1.0
    max_nodes: int = 100
    direction: Direction = "both"
    relation_types: Sequence[str] | None = None
    proofs: bool = False

    def __post_init__(self) -> None:
        """Refuse a request that cannot be answered."""
        if not 1 <= len(self.starts) <= STARTS_MAX or len(self.costs) > len(self.starts):
            raise ConstraintViolation(
                f"A subgraph has 1 to {STARTS_MAX} starts, each with at most one cost."
            )


def read_hits(
    view: KnowledgeView, words: str, *, limit: int, **options: Any
) -> tuple[dict[str, Any], str]:
    """The nodes that fit some words at one moment, with proofs; and the digest of the answer.

    `options` has the options of `KnowledgeView.search`.

    Raises:
        TypeMismatch: a type is not defined.
    """
    with view.db.reading(words=True) as reader, view.moment(reader) as now:
        hits = now.search(words, limit=limit, element="node", **options)
        numbers = [parse_id(hit.found.id) for hit in hits]
        elements = reader.elements(numbers)
        concepts = [cast(Concept, elements[number]) for number in numbers]
        records = reader.records_at([concept.seq for concept in concepts])
        payload = _origin(now, reader) | {
            "hits": [
                _wire_node(concept, records[concept.seq])
                | {"score": hit.score, "kind": hit.kind, "why": hit.why, "snippet": hit.snippet}
                for hit, concept in zip(hits, concepts, strict=True)
            ],
            "proofs": _proofs(reader, concepts),
        }
    digest = sha256(b"".join(record_hash(records[concept.seq]) for concept in concepts))
    digest.update(repr([(hit.score, hit.why, hit.snippet) for hit in hits]).encode())
    return payload, digest.hexdigest()


def read_subgraph(view: KnowledgeView, request: SubgraphRequest) -> tuple[dict[str, Any], str]:
    """A neighbourhood as of one moment, and the digest of its records.

    Raises:
        ConstraintViolation, InvalidId: a bound or a start is invalid.
    """
    with view.db.reading() as reader:
        hood = _Neighbourhood(view, reader, request)
        hood.reach()
        return hood.wire(), hood.digest()


class _Neighbourhood:
    """The nodes reached from all starts, each at its least cost."""

    def __init__(self, view: KnowledgeView, reader: Reader, request: SubgraphRequest) -> None:
        self._view = view
        self._reader = reader
        self._request = request
        self._reached: dict[int, tuple[float, Reached, Concept]] = {}
        self._missing: list[dict[str, Any]] = []
        self._is_truncated = False
        self._links: list[Proposition] = []
        self._shown: list[Element] = []
        self._records: dict[int, bytes] = {}

    def reach(self) -> None:
        """Traverse from each start, the cheapest first, as far as the cost allows."""
        request = self._request
        costs = [*request.costs, *[0.0] * (len(request.starts) - len(request.costs))]
        relation_types = request.relation_types
        if relation_types is not None:  # Relation types that this graph lacks lead nowhere.
            relation_types = [
                name for name in relation_types if self._reader.find_predicate(name) is not None
            ]
        for cost, start in sorted(zip(costs, request.starts, strict=True)):
            concept = self._start(start)
            left = request.max_cost - cost
            if concept is None or left < 0:
                continue
            bounds = Bounds(left, request.max_nodes, None, request.direction, relation_types)
            traversal = self._view.db.traverse_in(self._reader, concept.id, bounds)
            self._is_truncated |= bool(traversal.cut_off)
            for node in traversal.nodes:
                self._take(cost, node, concept)
        nearest = sorted(self._reached.items(), key=lambda item: (item[1][0], item[0]))
        self._is_truncated |= len(nearest) > request.max_nodes
        self._reached = dict(nearest[: request.max_nodes])
        self._collect()

    def _take(self, cost: float, node: Reached, start: Concept) -> None:
        element = node.element
        if not isinstance(element, Concept) or is_placeholder(element):
            return
        total = cost + node.cost
        before = self._reached.get(element.number)
        if before is None or total < before[0]:
            self._reached[element.number] = total, node, start

    def _start(self, text: str) -> Concept | None:
        """The concept of a start; if there is none, None, and the reason is noted."""
        uri = self._view.uri(text)
        match = find(self._reader, uri)
        concept = None if match is None or match.is_missing else self._reader.concept(match.number)
        if concept is not None:
            return concept
        entry: dict[str, Any] = {"uri": uri.text, "status": "unknown"}
        try:
            moved = locate(self._reader, uri, at_home=True).concept
        except (AmbiguousName, InvalidId, NotFound):
            dead = self._reader.concept_named(None, uri.text, tombstoned=True)
            if dead is not None and dead.tombstoned:
                entry = {"uri": uri.text, "status": "removed"}
                entry |= {"reason": dead.tombstoned_reason or "", "by": dead.tombstoned_by}
                (proof,) = prove_elements(self._reader, [dead])
                entry["proof"] = proof.to_dict()
        else:
            entry = {"uri": uri.text, "status": "moved", "to": element_uri(moved)}
        self._missing.append(entry)
        return None

    def _collect(self) -> None:
        """Collect the links that leave the reached nodes, and the records of all of them."""
        for number in self._reached:
            for link in self._reader.links(number, "out"):
                if len(self._links) == LINKS_MAX:
                    self._is_truncated = True
                    break
                self._links.append(link)
        nodes = [node.element for _, node, _ in self._reached.values()]
        self._shown = [*nodes, *self._links]
        self._records = self._reader.records_at([element.seq for element in self._shown])

    def digest(self) -> str:
        """A digest of all records in the answer, and of the missing starts."""
        hashes = [record_hash(self._records[element.seq]) for element in self._shown]
        missing = [f"{item['uri']} {item['status']}".encode() for item in self._missing]
        return sha256(b"".join([*hashes, *missing, b"%d" % self._is_truncated])).hexdigest()

    def wire(self) -> dict[str, Any]:
        """The answer as JSON."""
        reader = self._reader
        ends = {end for link in self._links for end in link.ends}
        elements = reader.elements(ends)
        payload = _origin(self._view, reader) | {
            "nodes": [self._node(*reached) for reached in self._reached.values()],
            "links": [self._link(link, elements) for link in self._links],
            "missing": self._missing,
            "truncated": self._is_truncated,
        }
        if self._request.proofs:
            nodes = [cast(Concept, node.element) for _, node, _ in self._reached.values()]
            payload["proofs"] = _proofs(reader, nodes)
        return payload

    def _node(self, cost: float, node: Reached, start: Concept) -> dict[str, Any]:
        element = node.element
        payload = _wire_node(cast(Concept, element), self._records[element.seq])
        payload |= {"cost": cost, "hops": node.hops}
        if node.path:
            step = node.path[-1]
            before = element_uri(start)
            if len(node.path) > 1:
                source = self._reader.element(self._reader.number(node.path[-2].node))
                before = before if source is None else element_uri(source)
            payload["via"] = {
                "from": before,
                "relation": step.relation,
                "direction": step.direction,
                "weight": step.weight,
            }
        return payload

    def _link(self, link: Proposition, elements: dict[int, Element]) -> dict[str, Any]:
        source, target = (elements[end] for end in link.ends)
        return {
            "source": element_uri(source),
            "relation": link.predicate,
            "target": element_uri(target),
            "weight": link.weight,
            "attributes": link.attributes,
            "metadata": link.metadata,
            "record_hash": record_hash(self._records[link.seq]).hex(),
        }


def _origin(view: KnowledgeView, reader: Reader) -> dict[str, Any]:
    """The origin of an answer, and the state that it shows."""
    snapshot = reader.head().snapshot()
    return {
        "workspace": view.workspace,
        "branch": view.db.branch,
        "commit": commit_at(reader, snapshot.entries),
        "overall_root": snapshot.overall_root.hex(),
    }


def _wire_node(concept: Concept, record: bytes) -> dict[str, Any]:
    return {
        "uri": element_uri(concept),
        "type": concept.type,
        "name": concept.attributes.get("name"),
        "attributes": concept.attributes,
        "metadata": concept.metadata,
        "version": concept.version,
        "created_by": concept.created_by,
        "record_hash": record_hash(record).hex(),
    }


def _proofs(reader: Reader, nodes: Sequence[Concept]) -> dict[str, Any]:
    proofs = prove_elements(reader, nodes)
    return {
        "snapshot": reader.head().snapshot().to_dict(),
        "nodes": {
            element_uri(node): _without_snapshot(proof.to_dict())
            for node, proof in zip(nodes, proofs, strict=True)
        },
    }


def _without_snapshot(proof: dict[str, Any]) -> dict[str, Any]:
    del proof["snapshot"]  # All proofs have the same head, which the answer has once.
    return proof
