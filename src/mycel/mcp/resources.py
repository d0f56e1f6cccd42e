"""Nodes and files as resources, for clients that let people attach them.

Tools return the same content, because many clients show no resources. The list is bounded, because
a client may read every page before it shows anything.
"""

from __future__ import annotations

from typing import Any, Final

from mycel.errors import ConstraintViolation
from mycel.knowledge.node_values import Node
from mycel.knowledge.vocabulary import SECTION, SYMBOL
from mycel.mcp import node_text
from mycel.mcp.tool_context import ServedGraph
from mycel.model.values import JsonObject

PAGE: Final = 100
PAGES_MAX: Final = 10
RELATIONS_SHOWN: Final = 50
UNLISTED: Final = (SYMBOL, SECTION)
"""Types whose concepts are not listed: a bootstrap writes thousands of them."""

TEMPLATES: Final[list[JsonObject]] = [
    {
        "name": "concept",
        "title": "A concept",
        "uriTemplate": "concept://{workspace}/{+path}",
        "description": "The content, properties and relations of a concept",
        "mimeType": "text/markdown",
    },
    {
        "name": "file",
        "title": "A file of the workspace",
        "uriTemplate": "file://{workspace}/{+path}",
        "description": "The content of a file; the path is relative to the root of the workspace",
    },
]


def list_concepts(served: ServedGraph, cursor: str | None) -> JsonObject:
    """A page of the concepts of the workspace, and the cursor of the next."""
    number, inner = _read_cursor(cursor)
    page = served.knowledge.concepts(without=UNLISTED, limit=PAGE, cursor=inner)
    payload: JsonObject = {
        "resources": [
            {"uri": node.uri, "name": _called(node), "mimeType": "text/markdown"} for node in page
        ]
    }
    if page.next_cursor is not None and number < PAGES_MAX:
        payload["nextCursor"] = f"{number + 1}.{page.next_cursor}"
    return payload


def _called(node: Node) -> str:
    return node.name if node.name and node.name != node.uri else node.uri.rpartition("/")[2]


def _read_cursor(cursor: str | None) -> tuple[int, str | None]:
    if cursor is None:
        return 1, None
    number, dot, inner = cursor.partition(".")
    if not (dot and inner and number.isascii() and number.isdecimal() and len(number) < 3):
        raise ConstraintViolation(
            "The cursor is not of this list.", hint="Pass nextCursor of the page before."
        )
    return int(number), inner


def read(served: ServedGraph, uri: str) -> JsonObject:
    """The content of a file, or a node with its relations, by URI.

    Raises:
        NotFound: there is no such file or node.
        ConstraintViolation, InvalidId: the URI leads out of the workspace.
    """
    if served.knowledge.uri(uri).is_file:
        file = served.knowledge.read_resource(uri)
        payload: dict[str, Any] = {"uri": uri, "mimeType": file.mime_type}
        payload |= {"blob": file.base64} if file.text is None else {"text": file.text}
        return {"contents": [payload]}
    return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": _page(served, uri)}]}


def _page(served: ServedGraph, uri: str) -> str:
    with served.knowledge.moment() as knowledge:
        node = knowledge.get(uri)
        links = knowledge.relations(node.uri, limit=RELATIONS_SHOWN)
    lines = [f"# {node.name or node.uri}", "", f"{node.uri} ({node.type})", ""]
    if marks := [*node_text.care_reasons(node), *node_text.terms(node), *node_text.conflicts(node)]:
        lines += [*(f"> {mark}" for mark in marks), ""]
    lines += [f"- {line}" for line in node_text.facts(node, detailed=False).splitlines()]
    lines += ["", node.content] if node.content else []
    if links.items:
        lines += ["", "## Relations", ""]
        lines += [f"- {node_text.relation(link, seen_from=node.uri)}" for link in links]
    if links.next_cursor is not None:
        lines.append("- … and others")
    return "\n".join(lines) + "\n"
