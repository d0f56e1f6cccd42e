"""Turns results of a search into nodes: hits with snippets, and hits with the nodes near them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from mycel.engine.missing_concepts import is_placeholder
from mycel.graph.costs import TOKEN_CHARACTERS
from mycel.knowledge.bootstrap_stamp import AUTHOR
from mycel.knowledge.node_lookup import as_node, as_relation, element_uri
from mycel.knowledge.node_traversal import ReachedNode
from mycel.knowledge.node_values import DistantNode, Hit, Node, Relation
from mycel.knowledge.relation_writer import broken_counts
from mycel.knowledge.stale_notes import with_marks
from mycel.model import ids
from mycel.model.elements import Concept, Element
from mycel.model.names import SLEEP_TASK, count
from mycel.model.values import JsonObject
from mycel.search.index.passages import prose
from mycel.search.question import Question
from mycel.store.query.reader import Reader
from mycel.text.analysis import terms_of
from mycel.text.names import Standing, called
from mycel.text.snippets import snippet

if TYPE_CHECKING:
    from mycel.search.hits import ElementHit

RECALL_HITS: Final = 5
RECALL_TOKENS: Final = 4_000
RECALL_NODES_EACH: Final = 50
"""The maximum number of nodes near each hit that are considered."""

SNIPPET_CHARACTERS: Final = 180


@dataclass(frozen=True, slots=True)
class Recalled:
    """The nodes that fit a question, and the nodes near them."""

    nodes: tuple[ReachedNode, ...]
    """Nodes that fit come first, at a cost of 0; each has the reasons for which it was found."""
    left_out: int
    """The number of nodes for which there was no room."""
    distant: tuple[DistantNode, ...] = ()
    """Nodes of other workspaces, to which links lead from these."""

    @property
    def tokens(self) -> int:
        """The tokens of all nodes together."""
        return sum(node.tokens for node in self.nodes)

    def to_dict(self) -> JsonObject:
        payload: JsonObject = {
            "nodes": [node.to_dict() for node in self.nodes],
            "left_out": self.left_out,
        }
        if self.distant:
            payload["distant"] = [node.to_dict() for node in self.distant]
        return payload


def written_hits(
    sought: Callable[..., list[ElementHit]], limit: int, *, tasks: bool = False
) -> list[ElementHit]:
    """The best hits with content, of a search that takes a `limit`.

    Placeholders have no content. Tasks of upkeep only repeat names, so they are left out too,
    unless `tasks` is true.
    """
    most = limit
    while True:
        element_hits = sought(limit=most)
        hits = [
            element_hit
            for element_hit in element_hits
            if not is_placeholder(element_hit.element)
            and (tasks or not _is_task(element_hit.element))
        ]
        if len(hits) >= limit or len(element_hits) < most:
            return hits[:limit]
        most *= 2  # Placeholders took places among the hits.


def _is_task(element: Element) -> bool:
    return isinstance(element, Concept) and element.type == SLEEP_TASK


def as_hits(
    reader: Reader, hits: Sequence[ElementHit], question: str, time_us: int | None
) -> list[Hit]:
    """Hits of the graph as hits of nodes and relations, with caveats as of a time or of now."""
    elements = [hit.element for hit in hits]
    answers = [
        as_node(element) if isinstance(element, Concept) else as_relation(reader, element)
        for element in elements
    ]
    terms = terms_of(question)
    marked = _with_broken_links(reader, with_marks(reader, answers, time_us))
    return [
        Hit(
            element_uri(hit.element),
            hit.score,
            answer,
            hit.why,
            snippet(prose(_texts_of(answer)), terms, SNIPPET_CHARACTERS),
            hit.kind,
        )
        for hit, answer in zip(hits, marked, strict=True)
    ]


def _with_broken_links(reader: Reader, answers: Sequence[Node | Relation]) -> list[Node | Relation]:
    """Hits with the number of links to missing concepts, on each node that somebody wrote."""
    notes = [
        ids.parse_id(node.id)
        for node in answers
        if isinstance(node, Node) and node.metadata != AUTHOR
    ]
    broken = broken_counts(reader, notes)
    return [
        replace(answer, caveats=(*answer.caveats, count(broken[number], "broken link")))
        if (number := ids.parse_id(answer.id)) in broken
        else answer
        for answer in answers
    ]


def gathered(
    question: Question,
    hits: Sequence[ElementHit],
    around: Sequence[Sequence[ReachedNode]],
    max_tokens: int,
) -> Recalled:
    """Hits with the nodes near each, without repeats and within a budget.

    Some nodes near a hit say nothing about the question, and are left out: files without content;
    and tests, generated and vendored code unless the question is about tests.
    """
    starts = [
        replace(nodes[0], reason=f"fits by {', '.join(hit.why) or 'words'}", score=hit.score)
        for hit, nodes in zip(hits, around, strict=True)
        if nodes
    ]
    near = sorted(
        (
            (node.cost, rank, node)
            for rank, nodes in enumerate(around)
            for node in nodes[1:]
            if _says_something(node.node, question)
        ),
        key=lambda way: way[:2],
    )
    chosen: dict[str, ReachedNode] = {}
    left_out, room = set[str](), max_tokens
    for start in (*starts, *(node for _, _, node in near)):
        if start.uri in chosen:
            continue
        if start.tokens > room:
            left_out.add(start.uri)
            continue
        chosen[start.uri] = start
        room -= start.tokens
    return Recalled(tuple(chosen.values()), len(left_out - chosen.keys()))


def with_distant(recalled: Recalled, nodes: Sequence[DistantNode], max_tokens: int) -> Recalled:
    """The recalled nodes with nodes of other workspaces, the nearest ones while there is room."""
    room = max_tokens - recalled.tokens
    chosen = []
    for node in nodes:
        text = f"{node.uri}{node.origin}{node.content or node.advice}"
        room -= -(-len(text) // TOKEN_CHARACTERS)
        if room < 0:
            break
        chosen.append(node)
    return replace(recalled, distant=tuple(chosen))


def _says_something(node: Node | Relation, question: Question) -> bool:
    if not isinstance(node, Node) or node.content or node.type not in ("Resource", "Symbol"):
        return True
    if node.type == "Resource":
        return False
    return question.is_about_tests or called(node.uri, {}).standing is not Standing.ASIDE


def _texts_of(element: Node | Relation) -> JsonObject:
    """The properties and content of a node; a symbol's kind is left out if its signature has it."""
    texts = dict(element.properties)
    kind, signature = texts.get("kind"), texts.get("signature")
    if isinstance(signature, str) and kind in signature.split():
        del texts["kind"]
    content = getattr(element, "content", None)
    return texts | {"content": content} if content else texts
