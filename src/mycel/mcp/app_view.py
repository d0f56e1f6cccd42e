"""The explorer inside a chat: the MCP App, for clients that negotiate it.

The extension `io.modelcontextprotocol/ui` lets a tool name a page that the client shows beside the
tool's result. The page is the App of the explorer in one file. The page gets the nodes of the
result, with the links among them, in the `_meta` of the result. It reads more through the tool
`explore`, which models do not see. A client without the extension gets neither the page nor the
tool, and its results are not larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from mycel.errors import MycelError
from mycel.knowledge.uris import uri_of
from mycel.mcp.results import Answer
from mycel.mcp.tool_context import ToolCall
from mycel.mcp.tool_list import HISTORY, RESOLVE, SEARCH, TRAVERSE, Tool
from mycel.model.values import JsonObject

if TYPE_CHECKING:
    import mcp_types as types

EXTENSION: Final = "io.modelcontextprotocol/ui"
MIME_TYPE: Final = "text/html;profile=mcp-app"
RESOURCE: Final = "ui://mycel/explorer"
VIEW: Final = "mycel/view"
"""The key of a result's `_meta` under which the App finds its data."""
NODES_MAX: Final = 100
"""The maximum number of nodes of a result that the App shows at first."""

_VIEWS: Final = (
    "about", "suggest", "overview", "near", "links", "node", "relations", "history", "missing",
)  # fmt: skip
_SHOWN: Final = frozenset(tool.name for tool in (SEARCH, TRAVERSE, HISTORY, RESOLVE))
"""Tools whose results the App shows."""


def is_negotiated(capabilities: types.ClientCapabilities | None) -> bool:
    """True if a client shows MCP Apps."""
    extensions = None if capabilities is None else capabilities.extensions
    settings = None if extensions is None else extensions.get(EXTENSION)
    kinds = None if settings is None else settings.get("mimeTypes")
    return isinstance(kinds, list | tuple) and MIME_TYPE in kinds


def tool_to_wire(tool: Tool, *, by_handle: bool) -> JsonObject:
    """A tool in the list for a client that shows the App."""
    payload = tool.to_wire(by_handle=by_handle)
    if tool is EXPLORE:
        payload["_meta"] = {"ui": {"resourceUri": RESOURCE, "visibility": ["app"]}}
    elif tool.name in _SHOWN:
        payload["_meta"] = {"ui": {"resourceUri": RESOURCE}}
    return payload


def resource() -> JsonObject:
    """The App in the list of resources."""
    return {
        "uri": RESOURCE,
        "name": "explorer",
        "title": "The graph",
        "description": "The explorer of the knowledge graph, for clients that show MCP Apps",
        "mimeType": MIME_TYPE,
    }


def content() -> JsonObject:
    """The App itself.

    Raises:
        NotFound: the explorer is not part of this installation.
    """
    # Imported late: only clients that show the App need it.
    from mycel.explorer import bundle  # noqa: PLC0415

    page = bundle.asset(bundle.APP).content.decode()
    # The page loads nothing from the network, so the default policy of the extension is enough.
    payload = {"uri": RESOURCE, "mimeType": MIME_TYPE, "text": page}
    return {"contents": [payload | {"_meta": {"ui": {"prefersBorder": False}}}]}


def with_view(tool: Tool, call: ToolCall, answer: Answer) -> Answer:
    """Add to an answer its nodes and the links among them, which the App shows."""
    if tool.name not in _SHOWN or answer.failed or answer.data is None:
        return answer
    ids = list(dict.fromkeys(_ids_in(answer.data)))[:NODES_MAX]
    if not ids:
        return answer
    try:
        drawn = call.served.explorers.of(call.served.db).view("links", {"ids": ids})
    except MycelError:
        return answer  # The answer is valid without the view.
    loaded = _loaded(call, answer.data)
    for card in drawn["nodes"]:
        if card["id"] in loaded:
            card["active"] = True
    view = {
        "tool": tool.name,
        "position": drawn["position"],
        "nodes": drawn["nodes"],
        "links": drawn["links"],
        "center": drawn["nodes"][0]["id"] if tool is TRAVERSE and drawn["nodes"] else None,
    }
    return answer._replace(view=view) if drawn["nodes"] else answer


def _loaded(call: ToolCall, data: JsonObject) -> set[str]:
    """The URIs of the active context that a call has used."""
    context, contexts = call.served.knowledge.context, call.served.contexts
    if contexts is not None:
        handle = data.get("context_id")
        if handle is None:
            return set()
        context = contexts.get(handle)
    return {loaded_node.uri for loaded_node in context.show().loaded}


def _ids_in(value: Any) -> Iterator[str]:
    """The ids of nodes in the structured part of an answer, in order."""
    match value:
        case {"uri": str(uri)}:
            yield uri
        case {"identity": {"type": str(type_name), "name": str(name)}}:
            yield uri_of(type_name, name)
        case Mapping():
            for member in value.values():
                yield from _ids_in(member)
        case list():
            for member in value:
                yield from _ids_in(member)


def _explore(call: ToolCall) -> Answer:
    name, values = call.arguments["view"], call.arguments.get("parameters", {})
    payload = call.served.explorers.of(call.served.db).view(name, values)
    return Answer(f"The view {name}, for the page beside this chat.", payload)


EXPLORE: Final = Tool(
    "explore",
    "Read the graph for the explorer",
    "Data of the explorer's page. Not for models: use search_knowledge and traverse_graph.",
    {
        "view": {"type": "string", "enum": list(_VIEWS)},
        "parameters": {"type": "object", "description": "As of the endpoint /api/<view>"},
    },
    _explore,
    ("view",),
)
"""The name of the tool through which the App reads."""
