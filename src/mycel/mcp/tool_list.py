"""Names, descriptions and schemas of the tools.

A model reads all of them in every conversation. So there are at most 14 tools with less than 3,500
tokens, which a test checks. Schemas are in the subset of JSON Schema that `arguments` checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mycel.mcp import (
    history_tools,
    kip_tools,
    merge_tools,
    read_tools,
    search_tool,
    several_tools,
    upkeep_tool,
    write_tools,
)
from mycel.mcp.results import Answer
from mycel.mcp.tool_context import ToolCall
from mycel.model.decisions import DECISIONS
from mycel.model.directions import DIRECTIONS, ways_of
from mycel.model.json_schema import Schema, array, record, text, texts, typed
from mycel.model.limits import TRAVERSE_COST_MAX
from mycel.model.values import JsonObject
from mycel.schema.merge_policies import GENERAL_WORDS


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    description: str
    properties: Mapping[str, Schema]
    run: Callable[[ToolCall], Answer]
    required: tuple[str, ...] = ()
    writes: bool = False
    destroys: bool = False
    """True if it may remove or replace values."""
    repeatable: bool = True
    """True if a second call with the same arguments changes nothing."""
    has_context: bool = False
    """True if the tool uses an active context, which independent calls have to name."""
    reading: Tool | None = None
    """For a tool that writes: the part of it that a read-only server offers; None if there is
    none."""
    is_long: bool = False
    """True if it reports progress."""
    run_over_several: Callable[[ToolCall], Answer] | None = None
    """Runs a call that names several workspaces; None if the tool works on one workspace."""

    def schema(self, *, by_handle: bool = False) -> Schema:
        """The schema of the arguments; `by_handle` is for servers of many clients.

        On such a server contexts have handles, and no client sees other workspaces of the machine.
        """
        properties = {**self.properties, "branch": BRANCH}
        if by_handle and self.has_context:
            properties["context_id"] = CONTEXT_ID
        if not by_handle and self.run_over_several is not None:
            properties["workspaces"] = WORKSPACES
        # The module `arguments` refuses unknown arguments with a clear error, so the schema need
        # not forbid them.
        return record(properties, *self.required)

    def to_wire(self, *, by_handle: bool = False) -> JsonObject:
        """The tool as MCP lists it."""
        hints: dict[str, bool] = {"openWorldHint": False}
        if self.writes:  # readOnlyHint is false by default.
            hints |= {"destructiveHint": self.destroys, "idempotentHint": self.repeatable}
        else:
            hints |= {"readOnlyHint": True}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema(by_handle=by_handle),
            "annotations": hints,
        }


def _integer_schema(
    description: str, minimum: int, maximum: int, usual: int | None = None
) -> Schema:
    default = {} if usual is None else {"default": usual}
    return typed("integer", description, minimum=minimum, maximum=maximum, **default)


def _object(description: str = "") -> Schema:
    return typed("object", description)


def _flag(description: str = "") -> Schema:
    return typed("boolean", description)


def _one_of(usual: str, *others: str) -> Schema:
    """The schema for one of some words, of which the first is the default."""
    return typed("string", enum=[usual, *others])


DETAIL: Final = _one_of("concise", "detailed")
CURSOR: Final = text("next_cursor")
WEIGHT: Final = typed(
    "number",
    "Cost to follow it: 0 together, 1 (default) a step",
    minimum=0,
    maximum=1,
)
MESSAGE: Final = text()
BRANCH: Final = text()
WORKSPACES: Final = text()
"""The instructions explain workspaces once for all tools."""
CONTEXT_ID: Final = text()
"""Answers that contain a context id explain it."""

_COMMANDS: Final[dict[str, Schema]] = {
    "command": text("One command"),
    # Some clients refuse an array without a schema for its items.
    "commands": array(
        {"anyOf": [text(), typed("object")]}, 'Several: texts or {"command", "parameters"}'
    ),
    "parameters": _object("Values of :placeholders"),
    "dry_run": _flag("Only show it"),
    "rows": _flag("FIND: an array for each row"),
}
_WRITING: Final = _COMMANDS | {"message": MESSAGE}

_CONCEPT: Final = record(
    {
        "uri": text(),
        "name": text("Readable name"),
        "content": text("Markdown; replaces the old content"),
        "type": text(
            "If neither Concept nor Resource. Event, Insight, Person and Preference require"
            " properties: describe_graph"
        ),
        "properties": _object("Other facts"),
        "metadata": _object("source, confidence (0 to 1), author, …"),
    },
    "uri",
)

_RELATION: Final = record(
    {
        "source": text(),
        "relation": text("snake_case: depends_on, implemented_in, tested_by, …"),
        "target": text(),
        "weight": WEIGHT,
        "properties": _object(),
        "metadata": _object(),
    },
    *("source", "relation", "target"),
)

_ENDS: Final = record(
    {"source": text(), "relation": text(), "target": text()}, *("source", "relation", "target")
)

SEARCH: Final = Tool(
    "search_knowledge",
    "Search",
    "Find what is known, by a question or an exact name (QuerySet, json.dumps). Call it before you"
    " start a task, read many files, or write. Gives URIs for the other tools.",
    {
        "query": text("A question, a few words, or a name"),
        "kind": typed(
            "string",
            "notes: by somebody; code: files and symbols",
            enum=["any", "notes", "code"],
        ),
        "type": texts("Decision, Risk, Symbol, …"),
        "element": _one_of("node", "relation", "any"),
        "mode": _one_of(*search_tool.SEARCH_MODES),
        "path": text("Only below this URI"),
        "workspace": text(),
        "actor": text("Who wrote it"),
        "since": text("Written since then"),
        "until": text(),
        "metadata": _object("With these values"),
        "near": text("Prefer what is near"),
        "without": texts("Types to leave out"),
        "as_of": text("Time, commit or tag"),
        "for_time": text("Only what holds then"),
        "include_archived": _flag(),
        "context_tokens": _integer_schema("Give contents too, within this", 100, 16_000),
        "limit": _integer_schema("", 1, 50, usual=search_tool.SEARCH_LIMIT),
        "detail": DETAIL,
        "cursor": CURSOR,
    },
    search_tool.search,
    ("query",),
    run_over_several=several_tools.search,
)

GET: Final = Tool(
    "get_nodes",
    "Get nodes",
    "Read nodes by URI: content, properties, relations. URIs are concept://workspace/path,"
    " file://workspace/path or any other; a bare path is a concept here."
    ' Callers of a function: {"uris": ["save"], "callers": true}.',
    {
        "uris": texts(),
        "relations": _integer_schema("Number to show", 0, 200, usual=read_tools.RELATIONS_SHOWN),
        "direction": _one_of("both", *ways_of("both")),
        "relation_types": texts(),
        "read_file": _flag("Also files, lines of symbols"),
        "callers": _flag("Instead: callers, with source lines"),
        "as_of": text(),
        "for_time": text(),
        "detail": DETAIL,
        "cursor": text("Of the last answer"),
    },
    read_tools.get,
    ("uris",),
    has_context=True,
    run_over_several=several_tools.get,
)

TRAVERSE: Final = Tool(
    "traverse_graph",
    "Traverse",
    "List nodes near a node, nearest first, with paths: a relation costs its weight, a path the"
    " sum. Loads them into the active context.",
    {
        "start": text("URI"),
        "max_cost": typed("number", minimum=0, maximum=TRAVERSE_COST_MAX, default=1),
        "max_nodes": _integer_schema("", 1, 1000, usual=100),
        "max_tokens": _integer_schema(
            "Budget for the nodes' content", 1, 100_000, usual=read_tools.TRAVERSE_TOKENS
        ),
        "direction": _one_of(*DIRECTIONS),
        "relation_types": texts(),
        "as_of": text(),
        "for_time": text(),
        "include_archived": _flag(),
        "detail": DETAIL,
    },
    read_tools.traverse,
    ("start",),
    has_context=True,
    run_over_several=several_tools.traverse,
)

REMEMBER: Final = Tool(
    "remember_knowledge",
    "Remember",
    "Write what you learned: concepts, resources (file:// and other URIs) and relations, all or"
    " nothing. Values are merged into what exists; new types are registered; relations may lead to"
    " what is missing.",
    {
        "concepts": array(_CONCEPT),
        "relations": array(_RELATION),
        "message": MESSAGE,
        "detail": DETAIL,
    },
    write_tools.remember,
    writes=True,
    destroys=True,
)

UPDATE: Final = Tool(
    "update_node",
    "Update a node",
    "Change a node, move it (its relations stay), or merge it into another.",
    {
        "uri": text(),
        "name": text(),
        "content": text("Replaces the content"),
        "type": text(),
        "append": text("Added on a new line"),
        "properties": _object("Merged into its properties"),
        "drop": texts("Properties to remove"),
        "metadata": _object(),
        "expect_version": _integer_schema("Fail if its version differs", 1, 1 << 53),
        "new_uri": text("Move it to this URI"),
        "subtree": _flag("With what is below"),
        "merge_into": text("URI that takes over all it has"),
        "superseded_by": text("Its successor"),
        "message": MESSAGE,
    },
    write_tools.update,
    ("uri",),
    writes=True,
    destroys=True,
)

FORGET: Final = Tool(
    "forget_nodes",
    "Forget",
    "Hide nodes until restore (archive, the default); or remove them with their relations, or"
    " single relations: history keeps them.",
    {
        "action": _one_of(*write_tools.FORGET_ACTIONS),
        "uris": texts(),
        "relations": array(_ENDS),
        "reason": text(),
        "message": MESSAGE,
    },
    write_tools.forget,
    writes=True,
    destroys=True,
)

CONTEXT: Final = Tool(
    "manage_context",
    "Active context",
    "Show, add, remove or clear loaded nodes.",
    {
        "action": _one_of("show", "add", "remove", "clear"),
        "uris": texts(),
        "detail": DETAIL,
    },
    read_tools.context,
    has_context=True,
)

BOOTSTRAP: Final = Tool(
    "bootstrap_workspace",
    "Bootstrap",
    "Read the workspace into the graph: files, symbols, imports, calls, tests. For a new"
    " project and after larger changes.",
    {"path": text("A folder"), "detail": DETAIL},
    write_tools.bootstrap,
    writes=True,
    destroys=True,
    is_long=True,
)

DESCRIBE: Final = Tool(
    "describe_graph",
    "Describe",
    "Overview, types, KIP, …",
    {
        "topic": _one_of(
            *("overview", "types", "type", "relation_types", "relation_type"),
            *("broken_links", "mentions", "kip", "queries", "upkeep"),
        ),
        "name": text("Of the type"),
        "detail": DETAIL,
        "cursor": CURSOR,
    },
    read_tools.describe,
)

EXECUTE: Final = Tool(
    "execute_kip",
    "Execute KIP",
    "Run KIP, the graph's language, for what other tools cannot do. Syntax: describe_graph topic"
    " kip.",
    _WRITING,
    kip_tools.execute,
    writes=True,
    destroys=True,
    repeatable=False,
)

EXECUTE_READONLY: Final = Tool(
    "execute_kip_readonly",
    "Read with KIP",
    "Query in KIP: FIND, SEARCH, DESCRIBE, EXPORT; for patterns, filters, counts.",
    _COMMANDS,
    kip_tools.execute_readonly,
)

_HISTORY: Final[dict[str, Schema]] = {
    "action": _one_of(*history_tools.READING),
    "from": text("Commit, tag, time, entry or branch"),
    "to": text("The end"),
    "paths": texts("URIs; what is below counts"),
    "type": text("Of log"),
    "actor": text(),
    "text": text(),
    "limit": _integer_schema("", 1, 200, usual=history_tools.LOG_LIMIT),
    "cursor": CURSOR,
    "changes": typed("array", items={"type": "object"}),
    "message": MESSAGE,
}

HISTORY: Final = Tool(
    "manage_history",
    "History",
    "What changed (log), how two states differ (diff), names of commits (tags, tag);"
    " revert takes back the commit `to`, rollback makes all, or what is under paths, as it"
    " was then. switch_branch is for all later calls; merge takes the branch `name`. Try dry_run"
    " first. submit commits or proposes changes.",
    _HISTORY
    | {
        "action": _one_of(*history_tools.READING, *history_tools.WRITING),
        "name": text(),
        "force": _flag("Delete unmerged; ask first"),
        "policy": text(f"Of merge: {', '.join(GENERAL_WORDS)}; submit: propose"),
        "dry_run": _flag("Only show it"),
    },
    history_tools.history,
    writes=True,
    destroys=True,
    repeatable=False,
    reading=Tool(
        "manage_history",
        "History",
        "What changed, when and why (log), the values that differ between two states (diff), names"
        " of commits (tags), and branches: copies of the graph. switch_branch is for all later"
        " calls. submit proposes changes.",
        _HISTORY | {"name": text()},
        history_tools.history,
    ),
)

RESOLVE: Final = Tool(
    "resolve_conflicts",
    "Resolve conflicts",
    "Decide conflicts of a merge, and commit when none is left. Without resolutions: list them.",
    {
        "merge_id": text(),
        "resolutions": merge_tools.RESOLUTIONS,
        "abort": _flag("Give the merge up"),
        "message": MESSAGE,
        "cursor": CURSOR,
    },
    merge_tools.resolve,
    writes=True,
    destroys=True,
)

TEND: Final = Tool(
    "tend_memory",
    "Tend memory",
    "Decide what upkeep asks; shows the next. Rules: describe_graph topic upkeep.",
    {
        "cycle": _flag("Run one first"),
        "dry_run": _flag("Only show it"),
        "task": text(),
        "decision": typed("string", enum=list(DECISIONS)),
        "keep": text("Letter to keep"),
        "concepts": array(typed("object")),
        "reason": text(),
        "decisions": array(typed("object"), "Many: task, decision, keep, elements"),
        "context_tokens": _integer_schema("", 200, 16_000, usual=upkeep_tool.CONTEXT_TOKENS),
    },
    upkeep_tool.tend,
    writes=True,
    destroys=True,
)

TOOLS: Final = (
    SEARCH,
    GET,
    TRAVERSE,
    REMEMBER,
    UPDATE,
    FORGET,
    CONTEXT,
    BOOTSTRAP,
    DESCRIBE,
    HISTORY,
    RESOLVE,
    TEND,
    EXECUTE,
    EXECUTE_READONLY,
)


def offered(*, readonly: bool, has_files: bool = True) -> tuple[Tool, ...]:
    """The tools of a server.

    A read-only server offers only tools that read; `bootstrap` needs files.
    """
    tools = TOOLS if has_files else tuple(tool for tool in TOOLS if tool is not BOOTSTRAP)
    if not readonly:
        return tools
    generator = (tool.reading if tool.writes else tool for tool in tools)
    return tuple(tool for tool in generator if tool is not None)
