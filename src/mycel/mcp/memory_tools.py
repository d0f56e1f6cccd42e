"""The nine tools of the official MCP memory server, over a graph of Mycel.

Names of tools, arguments and results are the same, as JSON in the text and as structured content;
`mycel.knowledge.memory` implements them. The differences are in docs/memory.md: an answer
larger than clients take is cut, and a second text says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
import orjson
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from mycel import __version__
from mycel.api.graph import Graph
from mycel.errors import InvalidSyntax, MycelError, did_you_mean
from mycel.knowledge.memory.entities import Entity, EntityRelation
from mycel.knowledge.memory.memory_server import WHOLE_CHARACTERS_MAX, EntityGraph, Subgraph
from mycel.mcp import arguments
from mycel.mcp.arguments import Schema
from mycel.mcp.messages import worded
from mycel.mcp.results import COMPLETE, failure
from mycel.model.json_schema import array, record, text, texts
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.service.malloc_trim import MemoryTrim
from mycel.syntax.gc_pause import collector_paused

RESOURCE_URI: Final = "memory://knowledge-graph"
CALLS_AT_ONCE: Final = 16
"""The maximum number of requests that use the graph at the same time; the others wait."""
_LISTS: Final[tuple[CacheableMethod, ...]] = (
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
_NAMES_TOLD: Final = 20

T = TypeVar("T")


class Reply(NamedTuple):
    """The result of a tool: a text, the same content as data, and perhaps a remark."""

    text: str
    data: JsonObject
    remark: str | None = None


class MemoryTool(NamedTuple):
    """One tool: its description, the schemas of its arguments and result, and its function."""

    name: str
    description: str
    takes: Schema
    gives: Schema
    run: Callable[[EntityGraph, JsonObject], Reply]
    reads: bool = False
    destroys: bool = False

    def to_wire(self) -> JsonObject:
        """The tool as MCP lists it."""
        return {
            "name": self.name,
            "title": self.name.replace("_", " ").title(),
            "description": self.description,
            "inputSchema": self.takes,
            "outputSchema": self.gives,
            "annotations": {
                "readOnlyHint": self.reads,
                "destructiveHint": self.destroys,
                "idempotentHint": self.reads or self.destroys,
                "openWorldHint": False,
            },
        }


# Schemas of arguments and results.


def _object(**properties: Schema) -> JsonObject:
    """The schema of an object that has all of these properties."""
    return record(properties, *properties)


_ENTITY: Final = _object(
    name=text("Unique name of the entity"),
    entityType=text("Kind of thing, such as person or project"),
    observations=texts("Facts about it, one each"),
)
_RELATION: Final = _object(
    **{
        "from": text("Name of the source entity"),
        "to": text("Name of the target entity"),
        "relationType": text("Relation in active voice, such as works_at"),
    }
)
_NAMES: Final = texts("Names of the entities")
_OBSERVATIONS: Final = _object(
    entityName=text("Name of the entity"), contents=texts("Facts to add, one each")
)
_DELETION: Final = _object(
    entityName=text("Name of the entity"), observations=texts("Facts to delete, word for word")
)
_GRAPH: Final = _object(entities=array(_ENTITY), relations=array(_RELATION))
_DONE: Final = _object(success={"type": "boolean"}, message=text())
_ADDED: Final = _object(results=array(_object(entityName=text(), addedObservations=texts())))


# Functions of the tools.


def _create_entities(memory: EntityGraph, arguments: JsonObject) -> Reply:
    new = memory.create_entities(
        Entity(entity["name"], entity["entityType"], tuple(entity["observations"]))
        for entity in arguments["entities"]
    )
    return _list_reply("entities", [entity.to_dict() for entity in new])


def _create_relations(memory: EntityGraph, arguments: JsonObject) -> Reply:
    new = memory.create_relations(_relation(relation) for relation in arguments["relations"])
    return _list_reply("relations", [entity_relation.to_dict() for entity_relation in new])


def _add_observations(memory: EntityGraph, arguments: JsonObject) -> Reply:
    added = memory.add_observations(
        (observation["entityName"], observation["contents"])
        for observation in arguments["observations"]
    )
    return _list_reply(
        "results", [{"entityName": name, "addedObservations": new} for name, new in added]
    )


def _delete_entities(memory: EntityGraph, arguments: JsonObject) -> Reply:
    deleted, missing = memory.delete_entities(arguments["entityNames"])
    return _count_reply(len(deleted), len(deleted) + len(missing), ("entity", "entities"), missing)


def _delete_observations(memory: EntityGraph, arguments: JsonObject) -> Reply:
    count, missing = memory.delete_observations(
        (deletion["entityName"], deletion["observations"]) for deletion in arguments["deletions"]
    )
    requested = sum(len(deletion["observations"]) for deletion in arguments["deletions"])
    return _count_reply(count, requested, ("observation", "observations"), missing)


def _delete_relations(memory: EntityGraph, arguments: JsonObject) -> Reply:
    count = memory.delete_relations(_relation(relation) for relation in arguments["relations"])
    return _count_reply(count, len(arguments["relations"]), ("relation", "relations"), ())


def _relation(wire: Mapping[str, str]) -> EntityRelation:
    return EntityRelation(wire["from"], wire["to"], wire["relationType"])


def _list_reply(key: str, items: list[JsonObject]) -> Reply:
    return Reply(_json(items), {key: items})


def _count_reply(
    count: int, requested: int, nouns: tuple[str, str], missing: tuple[str, ...]
) -> Reply:
    noun = nouns[requested != 1]
    message = f"Deleted {count if count == requested else f'{count} of {requested}'} {noun}."
    if missing:
        listing = ", ".join(shorten(name) for name in missing[:_NAMES_TOLD])
        more = "…" if len(missing) > _NAMES_TOLD else ""
        message += f" There is no entity named {listing}{more}."
    return Reply(message, {"success": True, "message": message})


def _graph(graph: Subgraph) -> Reply:
    payload = graph.to_dict()
    return Reply(_json(payload), payload, graph.cut)


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


TOOLS: Final = (
    MemoryTool(
        "create_entities",
        "Create entities. An entity whose name exists is left unchanged.",
        _object(entities=array(_ENTITY)),
        _object(entities=array(_ENTITY)),
        _create_entities,
    ),
    MemoryTool(
        "create_relations",
        "Create relations between entities, in active voice. Relations that exist are left"
        " unchanged; an entity may be created after its relations.",
        _object(relations=array(_RELATION)),
        _object(relations=array(_RELATION)),
        _create_relations,
    ),
    MemoryTool(
        "add_observations",
        "Add observations to entities that exist.",
        _object(observations=array(_OBSERVATIONS)),
        _ADDED,
        _add_observations,
    ),
    MemoryTool(
        "delete_entities",
        "Delete entities with all their relations.",
        _object(entityNames=_NAMES),
        _DONE,
        _delete_entities,
        destroys=True,
    ),
    MemoryTool(
        "delete_observations",
        "Delete single observations of entities.",
        _object(deletions=array(_DELETION)),
        _DONE,
        _delete_observations,
        destroys=True,
    ),
    MemoryTool(
        "delete_relations",
        "Delete relations between entities.",
        _object(relations=array(_RELATION)),
        _DONE,
        _delete_relations,
        destroys=True,
    ),
    MemoryTool(
        "read_graph",
        "Read the whole knowledge graph, or as much of it as fits into one answer.",
        record({}),
        _GRAPH,
        lambda memory, _: _graph(memory.read_graph()),
        reads=True,
    ),
    MemoryTool(
        "search_nodes",
        "Find entities that contain a text in their name, type or observations, with all their"
        " relations.",
        _object(query=text("Text to find in names, types and observations")),
        _GRAPH,
        lambda memory, given: _graph(memory.search_nodes(given["query"])),
        reads=True,
    ),
    MemoryTool(
        "open_nodes",
        "Read entities by name, with all their relations.",
        _object(names=_NAMES),
        _GRAPH,
        lambda memory, given: _graph(memory.open_nodes(given["names"])),
        reads=True,
    ),
)


def build_server(db: Graph, *, readonly: bool = False) -> Server[Any]:
    """A server that has these tools, and the whole graph as a resource."""
    memory = EntityGraph(db)
    leftovers = MemoryTrim()
    tools = {
        memory_tool.name: memory_tool for memory_tool in TOOLS if memory_tool.reads or not readonly
    }
    limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def in_thread(work: Callable[[], T]) -> T:
        def run() -> T:
            db.check_in_place()
            return work()

        return await anyio.to_thread.run_sync(leftovers.after, run, limiter=limiter)

    async def list_tools(_ctx: Any, _params: Any) -> JsonObject:
        return COMPLETE | {"tools": [tool.to_wire() for tool in tools.values()]}

    async def call_tool(_ctx: Any, params: Any) -> JsonObject:
        tool = tools.get(params.name)
        if tool is None:
            # Like the official server, it returns a result and not an error of the protocol.
            close = did_you_mean(shorten(params.name), list(tools))
            return _failed(
                InvalidSyntax(
                    f"There is no tool {shorten(params.name)!r}. {close}".rstrip(),
                    hint=f"The tools are {', '.join(tools)}.",
                )
            )
        try:
            return await in_thread(partial(call, memory, tool, params.arguments or {}))
        except MycelError as error:
            return _failed(error)

    async def list_resources(_ctx: Any, _params: Any) -> JsonObject:
        return COMPLETE | {"resources": [_RESOURCE]}

    async def list_templates(_ctx: Any, _params: Any) -> JsonObject:
        return COMPLETE | {"resourceTemplates": []}

    async def read_resource(_ctx: Any, params: Any) -> JsonObject:
        if str(params.uri) != RESOURCE_URI:
            message = f"There is no such resource; {RESOURCE_URI} is the whole graph."
            raise MCPError(types.INVALID_PARAMS, message)
        try:
            return await in_thread(partial(_whole_graph, memory))
        except MycelError as error:
            raise MCPError(types.INTERNAL_ERROR, f"{error.message} {error.hint}") from None

    server: Server[Any] = Server(
        "mycel-memory",
        version=__version__,
        title="Mycel",
        cache_hints=dict.fromkeys(_LISTS, CacheHint(0, "private")),
    )
    add = server.add_request_handler
    add("tools/list", types.PaginatedRequestParams, list_tools)
    add("tools/call", types.CallToolRequestParams, call_tool)
    add("resources/list", types.PaginatedRequestParams, list_resources)
    add("resources/templates/list", types.PaginatedRequestParams, list_templates)
    add("resources/read", types.ReadResourceRequestParams, read_resource)
    server.middleware.append(worded)
    return server


def _whole_graph(memory: EntityGraph) -> JsonObject:
    # Tens of thousands of new entities contain no garbage, so collection would only cost time.
    with collector_paused(True):
        graph = _json(memory.read_graph(characters_max=WHOLE_CHARACTERS_MAX).to_dict())
    content = {"uri": RESOURCE_URI, "mimeType": "application/json", "text": graph}
    return COMPLETE | {"contents": [content]}


_RESOURCE: Final = {
    "name": "knowledge-graph",
    "title": "Knowledge Graph",
    "uri": RESOURCE_URI,
    "description": "The whole knowledge graph: all entities and relations",
    "mimeType": "application/json",
}


def call(memory: EntityGraph, tool: MemoryTool, values: Mapping[str, Any]) -> JsonObject:
    """Run a tool."""
    accepted = _declared_arguments(tool.takes, values)
    reply = tool.run(memory, arguments.check(tool.name, tool.takes, accepted, exact=True))
    parts = [reply.text] if reply.remark is None else [reply.text, reply.remark]
    content = [{"type": "text", "text": part} for part in parts]
    return COMPLETE | {"content": content, "structuredContent": reply.data, "isError": False}


def _failed(error: MycelError) -> JsonObject:
    content = [{"type": "text", "text": failure(error).text}]
    return COMPLETE | {"content": content, "isError": True}


def _declared_arguments(schema: Schema, value: Any) -> Any:
    """The arguments without keys that the schema lacks: the official server ignores them."""
    if isinstance(value, Mapping) and "properties" in schema:
        properties = schema["properties"]
        return {
            key: _declared_arguments(properties[key], member)
            for key, member in value.items()
            if key in properties
        }
    if isinstance(value, list) and "items" in schema:
        return [_declared_arguments(schema["items"], member) for member in value]
    return value
