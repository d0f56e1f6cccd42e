"""Mentions in answers: nodes that a text names, and named nodes without a relation."""

from __future__ import annotations

from typing import Final

from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.node_values import Node
from mycel.mcp.results import Answer, TextPage
from mycel.mcp.tool_context import ToolCall
from mycel.model.values import JsonObject

CONCISE: Final = 5
DETAILED: Final = 20
"""The maximum number of mentions that are shown in detail."""


def add(
    call: ToolCall, knowledge: Knowledge, node: Node, page: TextPage, entry: JsonObject
) -> None:
    """Add the nodes that the text mentions, on the first page of its relations."""
    if call.arguments.get("cursor") is not None:
        return
    mentions = knowledge.mentions(node.uri, limit=DETAILED if call.is_detailed else CONCISE)
    if mentions and page.add(f"mentions: {', '.join(mentions)}"):
        entry["mentions"] = list(mentions)


def unlinked(call: ToolCall) -> Answer:
    """Nodes that mention other nodes to which they have no relation."""
    mentions = call.served.knowledge.unlinked_mentions(limit=DETAILED)
    page = TextPage()
    for uri, other in mentions:
        page.add(f"{uri} mentions {other}")
    if not mentions:
        page.close("No text is known to mention a node that it has no relation to.")
    elif not call.served.readonly:
        page.close(
            "Where the text says how they are related, write a relation with remember_knowledge."
        )
    return Answer(str(page), {"mentions": [list(pair) for pair in mentions]})
