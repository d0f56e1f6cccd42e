"""The tool that searches: hits on pages, or the context of an answer within a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from mycel.errors import ConstraintViolation, TypeMismatch
from mycel.knowledge.node_values import Hit, Node, Relation
from mycel.knowledge.recalled_nodes import RECALL_HITS
from mycel.mcp import hints, node_text
from mycel.mcp.results import Answer, TextPage, data_within
from mycel.mcp.tool_context import ToolCall, bad_cursor
from mycel.model.names import count, shorten
from mycel.model.values import JsonObject
from mycel.search.embedding import HYBRID, KEYWORD, SEMANTIC
from mycel.store.query.filters import Filters

SEARCH_LIMIT: Final = 10
SEARCH_MODES: Final = (HYBRID, KEYWORD, SEMANTIC)
SEARCH_DEPTH_MAX: Final = 1_000
"""Hits that pages of a search reach."""
FOUND_CHARACTERS: Final = 1_000
"""Characters of its content that a detailed hit shows."""


def search(call: ToolCall) -> Answer:
    """Nodes and relations that match some words."""
    arguments = call.arguments
    try:
        return _recall(call) if "context_tokens" in arguments else _search(call)
    except TypeMismatch as error:
        what: hints.Names = "relation type" if arguments.get("kind") == "relation" else "type"
        raise hints.undefined(call.state.db, error, what, [arguments.get("type")]) from None


def _search(call: ToolCall) -> Answer:
    arguments = call.arguments
    limit = arguments.get("limit", SEARCH_LIMIT)
    offset = call.number_in("hits") or 0
    if offset >= SEARCH_DEPTH_MAX or (arguments.get("cursor") and not offset):
        raise bad_cursor()
    warnings: list[str] = []
    found = call.state.knowledge.search(
        arguments["query"],
        kind=arguments.get("kind", "node"),
        type=arguments.get("type"),
        limit=min(offset + limit + 1, SEARCH_DEPTH_MAX),
        mode=arguments.get("mode", HYBRID),
        warnings=warnings,
        **_filters(call),
    )
    hits = found[offset : offset + limit]
    page = TextPage()
    shown = hits[: page.add_all(_hit(each, detailed=call.is_detailed) for each in hits)]
    data: JsonObject = {
        "hits": [
            {"uri": hit.uri, "score": round(hit.score, 3)}
            | ({"why": list(hit.why)} if hit.why else {})
            for hit in shown
        ],
    }
    end = offset + len(shown)
    if shown and len(found) > end:
        data["next_cursor"] = f"hits:{end}"
        page.close(f"There are more: cursor hits:{end}. Other words may help more.")
    if not hits:
        page.close(_nothing_found(call, arguments["query"]))
    for warning in dict.fromkeys(warnings):
        page.close(warning)
    close_conflicts(call, page, (each.found for each in shown))
    return Answer(str(page), data_within(data))


def _filters(call: ToolCall) -> Filters:
    given = {name: call.arguments.get(name) for name in Filters.__annotations__}
    return cast(Filters, given)


def _recall(call: ToolCall) -> Answer:
    """Nodes that fit a question, and what is near them, within a budget of tokens."""
    arguments = call.arguments
    if arguments.get("kind") == "relation" or arguments.get("cursor"):
        raise ConstraintViolation(
            "context_tokens gives nodes, in one answer.",
            hint="Leave out kind and cursor, or context_tokens.",
        )
    warnings: list[str] = []
    found = call.state.knowledge.recall(
        arguments["query"],
        type=arguments.get("type"),
        limit=arguments.get("limit", RECALL_HITS),
        max_tokens=arguments["context_tokens"],
        mode=arguments.get("mode", HYBRID),
        warnings=warnings,
        **_filters(call),
    )
    page = TextPage()
    shown = page.add_all(
        node_text.reached(each, detailed=True) + ("" if each.hops else f"\n    {each.reason}")
        for each in found.nodes
    )
    nodes = [{"uri": each.uri, "cost": each.cost} for each in found.nodes[:shown]]
    left_out = found.left_out + len(found.nodes) - shown
    if left_out:
        page.close(f"{count(left_out, 'more node')} had no room.")
    if not nodes:
        page.close(_nothing_found(call, arguments["query"]))
    for warning in dict.fromkeys(warnings):
        page.close(warning)
    close_conflicts(call, page, (each.node for each in found.nodes[:shown]))
    return Answer(str(page), data_within({"nodes": nodes, "left_out": left_out}))


def _hit(hit: Hit, *, detailed: bool) -> str:
    if isinstance(hit.found, Relation):
        return f"{hit.score:.2f} {node_text.relation(hit.found, detailed=detailed)}"
    node = hit.found
    called = f" {node.name}" if node.name and node.name != node.uri else ""
    if not detailed:
        about = hit.snippet or node_text.snippet(node)
        linked = f" [{hit.why[0]}]" if hit.why[:1] and hit.why[0].startswith("linked") else ""
        contested = node_text.conflict_mark(node)
        return (
            f"{hit.score:.2f} {node.uri} ({node.type}){called}{about and ': ' + about}{linked}"
            f"{contested}"
        )
    parts = (
        f"{hit.score:.2f} {node_text.head(node)}",
        *node_text.conflicts(node),
        hit.why and f"Found by {', '.join(hit.why)}.",
        node_text.facts(node, detailed=False),
        shorten(node.content or "", FOUND_CHARACTERS),
    )
    return "\n".join(part for part in parts if part) + "\n"


def _nothing_found(call: ToolCall, words: str) -> str:
    if (call.number_in("hits") or 0) > 0:
        return "There are no more hits."
    kind = call.arguments.get("type")
    what = f"Nothing of type {kind}" if kind else "Nothing"
    if any(value is not None for value in _filters(call).values()):
        what += " that passes the filters"
    keep = " If you learn it elsewhere, remember_knowledge keeps it for the next time."
    return (
        f"{what} fits {shorten(repr(words))}. Try fewer or other words, or describe_graph."
        f"{'' if call.state.readonly else keep}"
    )


def close_conflicts(call: ToolCall, page: TextPage, found: Iterable[Node | Relation]) -> None:
    """Say what to call if something that was found is in conflict."""
    if not call.state.readonly and any(each.conflicts for each in found):
        page.close("Decide the conflicts of merges with resolve_conflicts.")
