"""The tools that read by URI: get, traverse, describe, and the active context."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from mycel.errors import (
    AmbiguousName,
    ConstraintViolation,
    MycelError,
    NotFound,
    TypeMismatch,
)
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.node_values import Node
from mycel.knowledge.vocabulary import STAMP
from mycel.mcp import (
    hints,
    mention_tools,
    node_text,
    query_tools,
    source_lines,
    type_text,
    upkeep_tool,
)
from mycel.mcp.kip_tools import CHEAT_SHEET
from mycel.mcp.results import Answer, TextPage, answer_about, data_within, estimate, size_of
from mycel.mcp.search_tool import close_conflicts
from mycel.mcp.tool_context import ToolCall, bad_cursor
from mycel.model.names import count, shorten
from mycel.model.values import JsonObject

RELATIONS_SHOWN: Final = 20
TRAVERSE_TOKENS: Final = 12_000
NAMES_PAGE: Final = 200
NOTE_TYPES: Final = ("Event", "Insight", "Person", "Preference")
"""Core types for notes; an overview names the properties that they require, even if unused."""


# The tool `get`.


def get(call: ToolCall) -> Answer:
    """Nodes by URI, with their relations, of one moment."""
    arguments = call.arguments
    uris = call.uris()
    if len(uris) > 1 and "cursor" in arguments:
        raise ConstraintViolation(
            "A cursor is for one URI, and several are given.",
            hint="Pass only the URI of the answer with the cursor.",
        )
    _check_times(arguments)
    page = TextPage()
    payload: JsonObject = {"nodes": []}
    failures: dict[str, MycelError] = {}
    add = _callers if arguments.get("callers", False) else _node
    with call.knowledge().moment(as_of=arguments.get("as_of")) as knowledge:
        for at, uri in enumerate(uris):
            try:
                is_added = add(call, knowledge, uri, page, payload)
            except TypeMismatch as error:  # Computed once for all nodes.
                raise _unknown_relation(call, error) from None
            except MycelError as error:
                failures[uri] = hints.in_tools(error, readonly=call.served.readonly)
                continue
            if not is_added:
                rest = uris[at:]
                payload["not_shown"] = rest
                left = shorten(", ".join(rest), 400)
                page.close(f"{len(rest)} more do not fit: {left}")
                break
    if not _is_of_time(arguments):
        _add_distant(call, failures, page, payload)
    if not call.served.readonly and any("conflicts" in node for node in payload["nodes"]):
        page.close("Decide the conflicts of merges with resolve_conflicts.")
    return answer_about(len(uris), failures, page, payload)


def _is_of_time(arguments: JsonObject) -> bool:
    return "as_of" in arguments or "for_time" in arguments


def _check_times(arguments: JsonObject) -> None:
    """Raise ConstraintViolation if a call asks for a time and for files, which are read as now."""
    if _is_of_time(arguments) and (arguments.get("read_file") or arguments.get("callers")):
        raise ConstraintViolation(
            "read_file and callers read the files as they are now, and not those of another time.",
            hint="Leave out as_of and for_time, or read_file and callers.",
        )


def _add_distant(
    call: ToolCall, failures: dict[str, MycelError], page: TextPage, payload: JsonObject
) -> None:
    """Add missing nodes that belong to other workspaces; for the rest, say where they went."""
    knowledge = call.knowledge()
    absent = {
        knowledge.uri(uri).text: uri
        for uri, error in failures.items()
        if isinstance(error, NotFound)
    }
    nodes = knowledge.distant(absent)
    present = [node for node in nodes if node.is_there]
    for node in nodes:
        if not node.is_there:
            failures[absent[node.uri]].hint = f"It is {node.state}. {node.advice}"
        else:
            del failures[absent[node.uri]]
    node_text.add_distant(page, payload, present, characters=GOTTEN_CHARACTERS)


def _callers(
    call: ToolCall, knowledge: Knowledge, uri: str, page: TextPage, payload: JsonObject
) -> bool:
    """Add the users of a symbol, or of the symbols of a name. False if they do not fit."""
    references = knowledge.references(uri)
    if not (references.symbols or references.possible or references.mentions):
        knowledge.get(uri)  # This raises an error with the closest URIs.
    limit = call.arguments.get("relations", RELATIONS_SHOWN)
    entries = source_lines.add_references(references, limit, page, detailed=call.is_detailed)
    payload["nodes"] += entries or ()
    return entries is not None


def _node(
    call: ToolCall, knowledge: Knowledge, uri: str, page: TextPage, payload: JsonObject
) -> bool:
    """Add one node. False if it does not fit."""
    arguments, detailed = call.arguments, call.is_detailed
    target = _target(
        knowledge,
        uri,
        read_file=arguments.get("read_file", False),
        for_time=arguments.get("for_time"),
    )
    node = target.node
    entry: JsonObject = {"uri": target.file}
    if node is not None:
        entry = node_text.brief(node, detailed=detailed)
    span = source_lines.span_of(node) if node is not None and arguments.get("read_file") else None
    since = call.number_in("content")
    links_only = arguments.get("cursor", "").startswith("relations:")
    text = ""
    if not links_only:
        # Read first, because a failure must not leave a part of the answer.
        text = (
            _file_text(knowledge, target, entry) if target.file else node and node.content
        ) or ""
        if node is not None and span is not None:
            source = source_lines.text_of(knowledge, node, span)
            text = f"{text}\n\n{source}" if text else source
            entry["lines"] = {"uri": span.file, "first": span.first, "last": span.last}
    if since is None and not links_only and not page.add(_about(node, entry["uri"], detailed)):
        return False
    _content(text, since or 0, page, entry)
    if node is not None and since is None and "content_cursor" not in entry:
        _relations(call, knowledge, node, page, entry)
        if not _is_of_time(arguments):
            mention_tools.add(call, knowledge, node, page, entry)
    payload["nodes"].append(entry)
    return True


class _Target(NamedTuple):
    """The target of a URI: a node, a file to read, or both."""

    node: Node | None
    file: str = ""
    """The URI of a file to read, or empty."""
    no_node: AmbiguousName | NotFound | None = None
    """The error if a bare path names no node and is therefore treated as a file."""


def _target(
    knowledge: Knowledge, uri: str, *, read_file: bool, for_time: str | None = None
) -> _Target:
    """The target of a URI. A bare path is a concept; if there is none, a file to read."""
    file = knowledge.uri(uri, kind="file")
    if not (read_file and file.is_file):
        return _Target(knowledge.get(uri, for_time=for_time))
    is_bare = not knowledge.uri(uri).is_file
    if not (is_bare and knowledge.has(uri)) and knowledge.file_at(file) is not None:
        try:
            return _Target(knowledge.get(file.text), file.text)
        except NotFound:
            return _Target(None, file.text)  # A file may have no node.
    try:
        node = knowledge.get(uri)
    except (NotFound, AmbiguousName) as error:
        return _Target(None, file.text, error if is_bare else None)
    return _Target(node, node.uri if knowledge.uri(node.uri).is_file else "")


def _unknown_relation(call: ToolCall, error: TypeMismatch) -> TypeMismatch:
    names = call.arguments.get("relation_types", [])
    return hints.undefined(call.served.db, error, "relation type", names)


def _about(node: Node | None, uri: str, detailed: bool) -> str:
    if node is None:
        return f"{uri} (not in the graph)"
    parts = (node.hint, node_text.head(node), node_text.facts(node, detailed=detailed))
    return "\n".join(filter(None, (*parts, *node_text.conflicts(node))))


def _file_text(knowledge: Knowledge, target: _Target, entry: JsonObject) -> str:
    try:
        content = knowledge.read_resource(target.file)
    except NotFound as error:
        if target.no_node is not None:
            target.no_node.message += f" Nor is there a file {shorten(target.file, 200)}."
            raise target.no_node from None
        raise error from None
    entry["mime_type"], entry["size_bytes"] = content.mime_type, content.size_bytes
    if content.text is None:
        return f"(no text: {content.size_bytes} bytes of {content.mime_type})"
    return content.text


def _content(text: str, since: int, page: TextPage, entry: JsonObject) -> None:
    if not text:
        return
    page.add("")
    length = page.add_beginning(text[since:])
    until = since + length
    if until < len(text):
        entry["content_cursor"] = f"content:{until}"
        page.close(
            f"… {len(text) - until} more characters: get_nodes with this URI alone and cursor"
            f" content:{until}"
        )


def _relations(
    call: ToolCall, knowledge: Knowledge, node: Node, page: TextPage, entry: JsonObject
) -> None:
    arguments = call.arguments
    limit = arguments.get("relations", RELATIONS_SHOWN)
    if not limit:
        return
    cursor = arguments.get("cursor")
    if cursor is not None and not cursor.startswith("relations:"):
        raise bad_cursor()
    lines: list[str] = []
    while True:
        relations = knowledge.relations(
            node.uri,
            direction=arguments.get("direction", "both"),
            relation_types=arguments.get("relation_types"),
            limit=limit,
            cursor=cursor and cursor.removeprefix("relations:"),
            for_time=arguments.get("for_time"),
        )
        lines = [
            node_text.relation(relation, seen_from=node.uri, detailed=call.is_detailed)
            for relation in relations
        ]
        # A page that was cut in the middle has no cursor, so the hint asks for a smaller page.
        if estimate("\n".join(lines)) + len(lines) < page.tokens_left or limit == 1:
            break
        limit = max(limit // 2, 1)
    for line in ("", *lines) if lines else ():
        page.add(line)
    if relations.next_cursor is not None:
        entry["relations_cursor"] = f"relations:{relations.next_cursor}"
        page.close(f"… more relations: cursor relations:{relations.next_cursor}")


# The tool `traverse`.


def traverse(call: ToolCall) -> Answer:
    """The nodes near a node, nearest first, loaded into the active context."""
    knowledge, payload = call.with_context()
    arguments = call.arguments
    bounds = {key: arguments[key] for key in _BOUNDS if key in arguments}
    bounds.setdefault("max_tokens", TRAVERSE_TOKENS)
    try:
        node_traversal = knowledge.traverse(arguments["start"], **bounds)
    except TypeMismatch as error:
        raise _unknown_relation(call, error) from None
    page = TextPage()
    if node_traversal.hint is not None:
        page.add(node_traversal.hint)
    detailed = call.is_detailed
    number = page.add_all(
        node_text.reached(node, detailed=detailed) for node in node_traversal.nodes
    )
    payload["nodes"] = [
        {"uri": node.uri, "cost": node.cost} for node in node_traversal.nodes[:number]
    ]
    if node_traversal.notes_inside:
        page.add("Notes about what is inside:")
        page.add_all(
            f"{note.uri} ({note.type}){node_text.caveat_mark(note)}: {node_text.snippet(note)}"
            f" [about {uri}]"
            for note, uri in node_traversal.notes_inside
        )
        payload["notes_inside"] = [note.uri for note, _ in node_traversal.notes_inside]
    node_text.add_distant(page, payload, node_traversal.distant)
    if number < len(node_traversal.nodes):
        more = count(len(node_traversal.nodes) - number, "more node")
        page.close(
            f"{more} do not fit. Lower max_cost or max_nodes, or traverse from one of those above."
        )
        payload["not_shown"] = len(node_traversal.nodes) - number
    for cut in node_traversal.cut_off:
        page.close(cut.sentence)
    if node_traversal.cut_off:
        payload["cut_off"] = [
            {"budget": cut.budget, "limit": cut.limit, "remaining": cut.remaining}
            for cut in node_traversal.cut_off
        ]
    close_conflicts(call, page, (node.node for node in node_traversal.nodes[:number]))
    if node_traversal.evicted:
        nodes = count(len(node_traversal.evicted), "node")
        page.close(f"{nodes} evicted from the active context to make room.")
    if "context_id" in payload:
        page.close(
            f"Loaded into an active context. Pass context_id {payload['context_id']} to the next"
            " traverse_graph, get_nodes or manage_context to continue with it; without it, each"
            " starts a new one."
        )
    return Answer(str(page), data_within(payload))


GOTTEN_CHARACTERS: Final = 2_000
_BOUNDS: Final = (
    *("max_cost", "max_nodes", "max_tokens", "direction", "relation_types"),
    *("as_of", "for_time", "include_archived"),
)


# The active context.


def context(call: ToolCall) -> Answer:
    """Show, fill or empty the active context."""
    action = call.arguments.get("action", "show")
    uris = call.uris() if action in ("add", "remove") else []
    knowledge, payload = call.with_context()
    knowledge.refresh_context()
    changed: _Changed = {}
    failures: dict[str, MycelError] = {}
    match action:
        case "add" | "remove":
            for uri in uris:
                try:
                    (_load if action == "add" else _unload)(knowledge, uri, changed)
                except MycelError as error:
                    failures[uri] = hints.in_tools(error, readonly=call.served.readonly)
        case "clear":
            changed["removed"] = [
                loaded_node.uri for loaded_node in knowledge.context.show().loaded
            ]
            knowledge.context.clear()
    contents = knowledge.context.show()
    payload |= changed
    payload |= {
        "loaded": len(contents.loaded),
        "size_max": contents.size_max,
        "tokens": contents.tokens,
    }
    payload["evicted"] = contents.evicted_count
    page = TextPage()
    if action != "show" and not any(changed.values()):
        page.add("Nothing changed.")
    for key, words in _CHANGES.items():
        if changed.get(key):
            page.add(f"{words} ({len(changed[key])}):")
            _list(page, changed[key])
    page.add(
        f"Loaded: {len(contents.loaded)} of at most {count(contents.size_max, 'node')}, about"
        f" {count(contents.tokens, 'token')}; evicted: {contents.evicted_count}."
    )
    if "context_id" in payload:
        page.add(f"context_id: {payload['context_id']} (pass it to the next call)")
    if action == "show" or call.is_detailed:
        _list(
            page,
            [
                f"{loaded_node.uri} ({loaded_node.tokens} tokens): {loaded_node.why}"
                for loaded_node in contents.loaded
            ],
        )
        if contents.evicted:
            page.add("Evicted, last first:")
            evicted = contents.evicted if call.is_detailed else contents.evicted[:10]
            _list(page, [f"{eviction.uri}: {eviction.why}" for eviction in evicted])
    if not contents.loaded:
        page.close("Nothing is loaded: traverse_graph loads the nodes near a node.")
    return answer_about(len(uris), failures, page, payload)


_Changed = dict[str, list[str]]
"""URIs, by the effect of the call on them in the active context."""
_CHANGES: Final = {
    "added": "Added",
    "used_again": "Loaded already",
    "made_room": "Evicted to make room",
    "removed": "Removed",
    "not_loaded": "Not loaded",
}


def _load(knowledge: Knowledge, uri: str, changed: _Changed) -> None:
    node = knowledge.get(uri)
    size = size_of(node.to_dict())
    was_there = node.uri in knowledge.context
    evictions = knowledge.context.add(node.uri, tokens=size, why="added by request", id=node.id)
    changed.setdefault("used_again" if was_there else "added", []).append(node.uri)
    changed.setdefault("made_room", []).extend(evictions)


def _unload(knowledge: Knowledge, uri: str, changed: _Changed) -> None:
    full_uri = knowledge.uri(uri).text
    if full_uri not in knowledge.context:
        with suppress(NotFound):
            full_uri = knowledge.get(uri, content=False).uri
    was_there = knowledge.context.discard(full_uri)
    changed.setdefault("removed" if was_there else "not_loaded", []).append(full_uri)


def _list(page: TextPage, lines: Sequence[str]) -> None:
    if page.add_all(f"- {line}" for line in lines) < len(lines):
        page.close("- … and others")


# The tool `describe`.


def describe(call: ToolCall) -> Answer:
    """The content of the graph, and how to query it."""
    match call.arguments.get("topic", "overview"):
        case "kip":
            return Answer(CHEAT_SHEET)
        case "queries":
            return query_tools.query_list(call)
        case "upkeep":
            return upkeep_tool.topic(call)
        case "broken_links":
            return _broken_links(call)
        case "mentions":
            return mention_tools.unlinked(call)
        case "types":
            return _names(call, "CONCEPT")
        case "relation_types":
            return _names(call, "PROPOSITION")
        case "type":
            return _definition(call, "CONCEPT")
        case "relation_type":
            return _definition(call, "PROPOSITION")
        case _:
            return _overview(call)


def _overview(call: ToolCall) -> Answer:
    served = call.served
    primer = served.db.execute("DESCRIBE PRIMER").value
    counts = primer["nexus"]
    page = TextPage()
    page.add(f"Workspace {served.knowledge.workspace}: concept://{served.knowledge.workspace}/…")
    if served.knowledge.root is not None:
        page.add(f"Files below {served.knowledge.root}: file://{served.knowledge.workspace}/…")
    maintenance = primer["maintenance"]
    archived = f" ({maintenance['archived']} archived)" if maintenance["archived"] else ""
    page.add(
        f"{counts['concepts']} concepts{archived}, {counts['links']} relations,"
        f" {counts['concept_types']} types, {counts['proposition_types']} relation types."
    )
    types = primer.get("concept_types", ())
    required = type_text.required_properties(served.db, [type_name["name"] for type_name in types])
    for title, key in (("Types", "concept_types"), ("Relation types", "proposition_types")):
        page.add(f"{title} in use:")
        for row in primer.get(key, ()):
            number = row.get("instances", row.get("links"))
            if number == 0:
                continue
            # In a large graph, counting stops early.
            total = "" if number is None else f" ({number})"
            about = shorten(row.get("description", ""), 100 if not call.is_detailed else 400)
            name = row["name"]
            if key == "concept_types":
                name = type_text.name_with_required(name, required)
            if not page.add(f"- {name}{total} {about}".rstrip()):
                break
    unused = {
        type_name["name"] for type_name in types if type_name.get("instances") == 0
    } & required.keys()
    demanding = [
        type_text.name_with_required(name, required) for name in NOTE_TYPES if name in unused
    ]
    if demanding:
        page.add(f"Also defined: {', '.join(demanding)}")
    page.add("Topics types and relation_types list all of them, unused ones too.")
    if call.is_detailed:
        page.add(node_text.value(primer, is_whole=True))
    broken = len(served.knowledge.broken_links(limit=100))
    if broken:
        number = "100 or more" if broken == 100 else str(broken)
        page.close(f"{number} relations to missing concepts: topic broken_links.")
    if contested := sum(len(merge.unresolved) for merge in served.db.merges):
        page.close(f"{count(contested, 'conflict')} of merges to decide: resolve_conflicts.")
    if waiting := maintenance["tasks_waiting"]:
        cycle = maintenance["last_cycle"] or "never"
        number = count(waiting, "task")
        page.close(f"{number} of upkeep to decide, last cycle {cycle}: tend_memory.")
    if served.readonly:
        page.close("This server is read-only.")
    return Answer(str(page), {"workspace": served.knowledge.workspace, **counts})


def _broken_links(call: ToolCall) -> Answer:
    links = call.served.knowledge.broken_links(
        limit=NAMES_PAGE // 2, cursor=call.arguments.get("cursor"), look=True
    )
    page = TextPage()
    for link in links:
        page.add(node_text.relation(link))
    data: JsonObject = {
        "missing": list(dict.fromkeys(uri for link in links for uri in link.missing))
    }
    _add_cursor(links.next_cursor, page, data)
    if not links.items:
        page.close("No relation has a missing end, or leads to a file that is gone.")
    elif data["missing"] and not call.served.readonly:
        page.close("remember_knowledge adds a missing concept; its relations stay.")
    return Answer(str(page), data_within(data))


def _names(call: ToolCall, kind: str) -> Answer:
    cursor = call.arguments.get("cursor")
    command = f"DESCRIBE {kind} TYPES LIMIT {NAMES_PAGE}" + (" CURSOR :cursor" if cursor else "")
    result = call.served.db.execute(command, {"cursor": cursor} if cursor else {})
    data: JsonObject = {"names": result.value}
    page = TextPage()
    types = result.value if kind == "CONCEPT" else ()
    required = type_text.required_properties(call.served.db, types)
    page.add(", ".join(type_text.name_with_required(name, required) for name in result.value))
    _add_cursor(result.next_cursor, page, data)
    return Answer(str(page), data_within(data))


def _add_cursor(cursor: str | None, page: TextPage, data: JsonObject) -> None:
    if cursor is not None:
        data["next_cursor"] = cursor
        page.close(f"There are more: cursor {cursor}")


def _definition(call: ToolCall, kind: str) -> Answer:
    name = call.arguments.get("name")
    if name is None:
        return _names(call, kind)
    try:
        payload = call.served.db.execute(f"DESCRIBE {kind} TYPE :name", {"name": name}).value
    except NotFound as error:
        noun: hints.Names = "type" if kind == "CONCEPT" else "relation type"
        raise hints.undefined(call.served.db, error, noun, [name]) from None
    if "attributes_seen" in payload:
        payload["attributes_seen"] = [
            attribute for attribute in payload["attributes_seen"] if attribute["key"] != STAMP
        ]
    text = (
        node_text.value(payload, is_whole=True) if call.is_detailed else type_text.concise(payload)
    )
    return Answer(text, {"name": name})
