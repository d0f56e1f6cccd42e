"""The nine tools of the memory server of the protocol's own project, over a graph of Mycel.

Whoever comes from there keeps prompts and habits: names of tools, what they take and what they give
are the same, as JSON in the text and as structured content; only the words are ours. So is what it
ignores and what it refuses; `mycel.knowledge.memory` says how that is kept.

What differs is said in docs/memory.md: an answer that no client would take whole is cut, and a
second text then says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import anyio
import anyio.to_thread
import orjson
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from mycel import __version__
from mycel.errors import InvalidSyntax, MycelError, did_you_mean
from mycel.knowledge.memory.entities import Entity, Relation
from mycel.knowledge.memory.memory_server import WHOLE_CHARACTERS_MAX, Graph, Memory
from mycel.mcp import arguments
from mycel.mcp.arguments import Schema
from mycel.mcp.messages import worded
from mycel.mcp.results import failure
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.nexus import Nexus
from mycel.service.file_presence import Presence
from mycel.service.malloc_trim import Leftovers
from mycel.syntax.gc_pause import collector_paused

RESOURCE_URI: Final = "memory://knowledge-graph"
CALLS_AT_ONCE: Final = 16
"""How many requests work on the graph at the same time; the others wait."""
_NAMES_TOLD: Final = 20

Result = TypeVar("Result")


class Told(NamedTuple):
    """What a tool gives: a text, the same as data, and perhaps a remark."""

    text: str
    data: JsonObject
    remark: str | None = None


class MemoryTool(NamedTuple):
    """One tool: how it is announced, and what it does."""

    name: str
    title: str
    description: str
    takes: Schema
    gives: Schema
    run: Callable[[Memory, JsonObject], Told]
    reads: bool = False
    destroys: bool = False

    def announced(self) -> Tool:
        """The tool as clients see it."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=dict(self.takes),
            output_schema=dict(self.gives),
            annotations=ToolAnnotations(
                read_only_hint=self.reads,
                destructive_hint=self.destroys,
                idempotent_hint=self.reads or self.destroys,
                open_world_hint=False,
            ),
        )


# What they take and give.


def _text(description: str) -> JsonObject:
    return {"type": "string", "description": description}


def _list(items: Schema, description: str | None = None) -> JsonObject:
    described = {} if description is None else {"description": description}
    return {"type": "array", "items": items, **described}


def _object(**properties: Schema) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(properties)}


_ENTITY: Final = _object(
    name=_text("What the entity is called; no other one has this name"),
    entityType=_text("What kind of thing it is, such as person or project"),
    observations=_list({"type": "string"}, "What is known about it, one fact each"),
)
_RELATION: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "from": _text("The name of the entity that the relation leaves"),
        "to": _text("The name of the entity that it leads to"),
        "relationType": _text("How they are related, in active voice, such as works_at"),
    },
    "required": ["from", "to", "relationType"],
}
_OBSERVATIONS: Final = _object(
    entityName=_text("The name of the entity"),
    contents=_list({"type": "string"}, "What to add, one fact each"),
)
_DELETION: Final = _object(
    entityName=_text("The name of the entity"),
    observations=_list({"type": "string"}, "What to take back, word for word"),
)
_GRAPH: Final = _object(entities=_list(_ENTITY), relations=_list(_RELATION))
_DONE: Final = _object(success={"type": "boolean"}, message={"type": "string"})
_ADDED: Final = _object(
    results=_list(
        _object(entityName={"type": "string"}, addedObservations=_list({"type": "string"}))
    )
)


# What they do.


def _create_entities(memory: Memory, given: JsonObject) -> Told:
    new = memory.create_entities(
        Entity(each["name"], each["entityType"], tuple(each["observations"]))
        for each in given["entities"]
    )
    return _listed("entities", [each.to_dict() for each in new])


def _create_relations(memory: Memory, given: JsonObject) -> Told:
    new = memory.create_relations(_relation(each) for each in given["relations"])
    return _listed("relations", [each.to_dict() for each in new])


def _add_observations(memory: Memory, given: JsonObject) -> Told:
    added = memory.add_observations(
        (each["entityName"], each["contents"]) for each in given["observations"]
    )
    return _listed(
        "results", [{"entityName": name, "addedObservations": new} for name, new in added]
    )


def _delete_entities(memory: Memory, given: JsonObject) -> Told:
    deleted, missing = memory.delete_entities(given["entityNames"])
    return _done(len(deleted), len(deleted) + len(missing), ("entity", "entities"), missing)


def _delete_observations(memory: Memory, given: JsonObject) -> Told:
    count, missing = memory.delete_observations(
        (each["entityName"], each["observations"]) for each in given["deletions"]
    )
    asked = sum(len(each["observations"]) for each in given["deletions"])
    return _done(count, asked, ("observation", "observations"), missing)


def _delete_relations(memory: Memory, given: JsonObject) -> Told:
    count = memory.delete_relations(_relation(each) for each in given["relations"])
    return _done(count, len(given["relations"]), ("relation", "relations"), ())


def _read_graph(memory: Memory, _given: JsonObject) -> Told:
    return _graph(memory.read_graph())


def _search_nodes(memory: Memory, given: JsonObject) -> Told:
    return _graph(memory.search_nodes(given["query"]))


def _open_nodes(memory: Memory, given: JsonObject) -> Told:
    return _graph(memory.open_nodes(given["names"]))


def _relation(given: Mapping[str, str]) -> Relation:
    return Relation(given["from"], given["to"], given["relationType"])


def _listed(key: str, items: list[JsonObject]) -> Told:
    return Told(_json(items), {key: items})


def _done(count: int, asked: int, nouns: tuple[str, str], missing: tuple[str, ...]) -> Told:
    noun = nouns[asked != 1]
    message = f"Deleted {count if count == asked else f'{count} of {asked}'} {noun}."
    if missing:
        named = ", ".join(shorten(each) for each in missing[:_NAMES_TOLD])
        more = "…" if len(missing) > _NAMES_TOLD else ""
        message += f" There is no entity named {named}{more}."
    return Told(message, {"success": True, "message": message})


def _graph(graph: Graph) -> Told:
    told = graph.to_dict()
    return Told(_json(told), told, graph.cut)


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


TOOLS: Final = (
    MemoryTool(
        "create_entities",
        "Create Entities",
        "Create entities in the knowledge graph. Those whose names exist are left as they are.",
        _object(entities=_list(_ENTITY)),
        _object(entities=_list(_ENTITY)),
        _create_entities,
    ),
    MemoryTool(
        "create_relations",
        "Create Relations",
        "Create relations between entities of the knowledge graph, in active voice. The entities"
        " may be created later; relations that exist are left as they are.",
        _object(relations=_list(_RELATION)),
        _object(relations=_list(_RELATION)),
        _create_relations,
    ),
    MemoryTool(
        "add_observations",
        "Add Observations",
        "Add observations to entities of the knowledge graph, which have to exist.",
        _object(observations=_list(_OBSERVATIONS)),
        _ADDED,
        _add_observations,
    ),
    MemoryTool(
        "delete_entities",
        "Delete Entities",
        "Delete entities from the knowledge graph, with all their relations.",
        _object(entityNames=_list({"type": "string"}, "The names of the entities")),
        _DONE,
        _delete_entities,
        destroys=True,
    ),
    MemoryTool(
        "delete_observations",
        "Delete Observations",
        "Delete single observations of entities of the knowledge graph.",
        _object(deletions=_list(_DELETION)),
        _DONE,
        _delete_observations,
        destroys=True,
    ),
    MemoryTool(
        "delete_relations",
        "Delete Relations",
        "Delete relations from the knowledge graph.",
        _object(relations=_list(_RELATION, "The relations to delete")),
        _DONE,
        _delete_relations,
        destroys=True,
    ),
    MemoryTool(
        "read_graph",
        "Read Graph",
        "Read the whole knowledge graph, or as much of it as fits into one answer.",
        {"type": "object", "properties": {}},
        _GRAPH,
        _read_graph,
        reads=True,
    ),
    MemoryTool(
        "search_nodes",
        "Search Nodes",
        "Search the knowledge graph for entities whose name, type or observations hold a text."
        " They come with all their relations.",
        _object(query=_text("What to look for, in names, types and observations")),
        _GRAPH,
        _search_nodes,
        reads=True,
    ),
    MemoryTool(
        "open_nodes",
        "Open Nodes",
        "Open entities of the knowledge graph by their names, with all their relations.",
        _object(names=_list({"type": "string"}, "The names of the entities")),
        _GRAPH,
        _open_nodes,
        reads=True,
    ),
)


def build_server(db: Nexus, *, readonly: bool = False) -> Server[Any]:
    """A server that has these tools, and the whole graph as a resource."""
    memory = Memory(db)
    presence, leftovers = Presence(db.path), Leftovers()
    tools = {each.name: each for each in TOOLS if each.reads or not readonly}
    limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def in_thread(work: Callable[[], Result]) -> Result:
        def run() -> Result:
            presence.check()
            return work()

        return await anyio.to_thread.run_sync(leftovers.after, run, limiter=limiter)

    async def list_tools(_ctx: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[each.announced() for each in tools.values()])

    async def call_tool(_ctx: Any, params: Any) -> CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            # A result and no error of the protocol, as there.
            close = did_you_mean(shorten(params.name), list(tools))
            return _failed(
                InvalidSyntax(
                    f"There is no tool {shorten(params.name)!r}. {close}".rstrip(),
                    hint=f"There are {', '.join(tools)}.",
                )
            )
        try:
            return await in_thread(partial(call, memory, tool, params.arguments or {}))
        except MycelError as error:
            return _failed(error)

    async def list_resources(_ctx: Any, _params: Any) -> ListResourcesResult:
        return ListResourcesResult(resources=[_RESOURCE])

    async def list_templates(_ctx: Any, _params: Any) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(_ctx: Any, params: Any) -> ReadResourceResult:
        if str(params.uri) != RESOURCE_URI:
            raise MCPError(
                INVALID_PARAMS, f"There is no such resource; {RESOURCE_URI} is the whole graph."
            )
        try:
            return await in_thread(partial(_whole_graph, memory))
        except MycelError as error:
            raise MCPError(INTERNAL_ERROR, f"{error.message} {error.hint}") from None

    server = Server(
        "mycel-memory",
        version=__version__,
        title="Mycel",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )
    server.middleware.append(worded)
    return server


def _whole_graph(memory: Memory) -> ReadResourceResult:
    # Among tens of thousands of entities there is no garbage to look for.
    with collector_paused(True):
        text = _json(memory.read_graph(characters_max=WHOLE_CHARACTERS_MAX).to_dict())
    content = TextResourceContents(uri=RESOURCE_URI, mime_type="application/json", text=text)
    return ReadResourceResult(contents=[content])


_RESOURCE: Final = Resource(
    name="knowledge-graph",
    title="Knowledge Graph",
    uri=RESOURCE_URI,
    description="The whole knowledge graph: all entities and relations",
    mime_type="application/json",
)


def call(memory: Memory, tool: MemoryTool, given: Mapping[str, Any]) -> CallToolResult:
    """Run a tool.

    Raises:
        MycelError: what was passed is not what it takes, or it failed.
    """
    known = _known(tool.takes, given)
    told = tool.run(memory, arguments.check(tool.name, tool.takes, known, exact=True))
    texts = [told.text] if told.remark is None else [told.text, told.remark]
    return CallToolResult(
        content=[TextContent(type="text", text=each) for each in texts],
        structured_content=told.data,
        is_error=False,
    )


def _failed(error: MycelError) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=failure(error).text)], is_error=True
    )


def _known(schema: Schema, given: Any) -> Any:
    """Without the keys that the schema does not know: there they are ignored."""
    if isinstance(given, Mapping) and "properties" in schema:
        known = schema["properties"]
        return {key: _known(known[key], each) for key, each in given.items() if key in known}
    if isinstance(given, list) and "items" in schema:
        return [_known(schema["items"], each) for each in given]
    return given
