"""The tools that read: search, get, traverse, describe, and the active context."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mycel.errors import ConstraintViolation, MycelError, NotFound
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.nodes import Hit, Node, Relation
from mycel.knowledge.traversal import Reached
from mycel.knowledge.vocabulary import BOOKKEEPING
from mycel.mcp import rendering
from mycel.mcp.desk import Call, bad_cursor
from mycel.mcp.language import CHEAT_SHEET
from mycel.mcp.results import Answer, Page, but_for, data_within, estimate, size_of, without
from mycel.model.names import shorten
from mycel.model.values import JsonObject

SEARCH_LIMIT: Final = 10
SEARCH_DEPTH_MAX: Final = 1_000
"""How far pages of a search go; beyond, other words help more than more pages."""
RELATIONS_SHOWN: Final = 20
FOUND_CHARACTERS: Final = 1_000
"""How much of its content a hit shows, if details are asked for."""
TRAVERSE_TOKENS: Final = 12_000
NAMES_PAGE: Final = 200


# Searching.


def search(call: Call) -> Answer:
    """Nodes and relations whose text fits some words."""
    arguments = call.arguments
    limit = arguments.get("limit", SEARCH_LIMIT)
    offset = call.number_in("hits") or 0
    if offset >= SEARCH_DEPTH_MAX or (arguments.get("cursor") and not offset):
        raise bad_cursor()
    found = call.desk.knowledge.search(
        arguments["query"],
        kind=arguments.get("kind", "node"),
        type=arguments.get("type"),
        limit=min(offset + limit + 1, SEARCH_DEPTH_MAX),
    )
    hits = found[offset : offset + limit]
    page, shown = Page(), []
    for hit in hits:
        if not page.add(_hit(hit, detailed=call.is_detailed)):
            break
        shown.append(hit)
    data: JsonObject = {
        "hits": [{"uri": hit.uri, "score": round(hit.score, 3)} for hit in shown],
    }
    end = offset + len(shown)
    if shown and len(found) > end:
        data["next_cursor"] = f"hits:{end}"
        page.close(f"There are more: cursor hits:{end}. Other words may help more.")
    if not hits:
        page.close(_nothing_found(call, arguments["query"]))
    return Answer(str(page), data_within(data))


def _hit(hit: Hit, *, detailed: bool) -> str:
    if isinstance(hit.found, Relation):
        return f"{hit.score:.2f} {rendering.relation(hit.found, detailed=detailed)}"
    node = hit.found
    called = f" {node.name}" if node.name and node.name != node.uri else ""
    if not detailed:
        about = rendering.snippet(node)
        return f"{hit.score:.2f} {node.uri} ({node.type}){called}{about and ': ' + about}"
    parts = (
        f"{hit.score:.2f} {rendering.head(node)}",
        rendering.facts(node, detailed=False),
        shorten(node.content or "", FOUND_CHARACTERS),
    )
    return "\n".join(part for part in parts if part) + "\n"


def _nothing_found(call: Call, words: str) -> str:
    about = f"Nothing fits {shorten(repr(words))}"
    if (call.number_in("hits") or 0) > 0:
        return "There are no more hits."
    kind = call.arguments.get("type")
    within = f" among those of type {kind}" if kind else ""
    return (
        f"{about}{within}. Try fewer or other words, or describe_graph. If you learn it elsewhere,"
        " remember_knowledge keeps it for the next time."
    )


# Getting.


def get(call: Call) -> Answer:
    """Nodes by URI, with their relations."""
    knowledge, arguments = call.knowledge(), call.arguments
    uris = call.uris()
    if len(uris) > 1 and "cursor" in arguments:
        raise ConstraintViolation(
            "A cursor goes with one URI, and here are several.",
            hint="Pass the URI whose answer gave the cursor, alone.",
        )
    page = Page()
    told: JsonObject = {"nodes": []}
    failures: dict[str, MycelError] = {}
    for at, uri in enumerate(uris):
        try:
            shown = _node(call, knowledge, uri, page, told)
        except MycelError as error:
            failures[uri] = error
            continue
        if not shown:
            rest = uris[at:]
            told["not_shown"] = rest
            page.close(f"There was no room for {len(rest)} more: {shorten(', '.join(rest), 400)}")
            break
    if len(failures) == len(uris):
        return without(failures)
    but_for(failures, page, told)
    return Answer(str(page), data_within(told))


def _node(call: Call, knowledge: Knowledge, uri: str, page: Page, told: JsonObject) -> bool:
    """Add what there is to say about one node. False if there is no room for it."""
    arguments, detailed = call.arguments, call.is_detailed
    file = knowledge.uri(uri, kind="file") if arguments.get("read_file") else None
    reads = file is not None and file.is_file
    node = _known(knowledge, uri if file is None else file.text, needed=not reads)
    entry = {"uri": uri if file is None else file.text}
    if node is not None:
        entry = rendering.brief(node, detailed=detailed)
    since = call.number_in("content")
    links_only = arguments.get("cursor", "").startswith("relations:")
    text = ""
    if not links_only:
        # First, because it may fail: half of an answer would stand there otherwise.
        text = (_file_text(knowledge, entry) if reads else node and node.content) or ""
    if since is None and not links_only and not page.add(_about(node, entry["uri"], detailed)):
        return False
    _content(text, since or 0, page, entry)
    if node is not None and since is None and "content_cursor" not in entry:
        _relations(call, knowledge, node, page, entry)
    told["nodes"].append(entry)
    return True


def _known(knowledge: Knowledge, uri: str, *, needed: bool) -> Node | None:
    """The node of a URI; where a file is to be read, it need not have one."""
    try:
        return knowledge.get(uri)
    except NotFound:
        if needed:
            raise
        return None


def _about(node: Node | None, uri: str, detailed: bool) -> str:
    if node is None:
        return f"{uri} (not in the graph)"
    return f"{rendering.head(node)}\n{rendering.facts(node, detailed=detailed)}".rstrip()


def _file_text(knowledge: Knowledge, entry: JsonObject) -> str:
    content = knowledge.read_resource(entry["uri"])
    entry["mime_type"], entry["size_bytes"] = content.mime_type, content.size_bytes
    if content.text is None:
        return f"(no text: {content.size_bytes} bytes of {content.mime_type})"
    return content.text


def _content(text: str, since: int, page: Page, entry: JsonObject) -> None:
    if not text:
        return
    page.add("")
    shown = page.add_beginning(text[since:])
    until = since + shown
    if until < len(text):
        entry["content_cursor"] = f"content:{until}"
        page.close(
            f"… {len(text) - until} more characters: get_nodes with this URI alone and cursor"
            f" content:{until}"
        )


def _relations(call: Call, knowledge: Knowledge, node: Node, page: Page, entry: JsonObject) -> None:
    arguments = call.arguments
    limit = arguments.get("relations", RELATIONS_SHOWN)
    if not limit:
        return
    cursor = arguments.get("cursor")
    if cursor is not None and not cursor.startswith("relations:"):
        raise bad_cursor()
    lines: list[str] = []
    while True:
        found = knowledge.relations(
            node.uri,
            direction=arguments.get("direction", "both"),
            relation_types=arguments.get("relation_types"),
            limit=limit,
            cursor=cursor and cursor.removeprefix("relations:"),
        )
        lines = [
            rendering.relation(each, seen_from=node.uri, detailed=call.is_detailed)
            for each in found
        ]
        # Nobody can say where a page would go on that is cut in its middle: ask for a smaller one.
        if estimate("\n".join(lines)) + len(lines) < page.left or limit == 1:
            break
        limit = max(limit // 2, 1)
    for line in ("", *lines) if lines else ():
        page.add(line)
    if found.next_cursor is not None:
        entry["relations_cursor"] = f"relations:{found.next_cursor}"
        page.close(f"… more relations: cursor relations:{found.next_cursor}")


# Traversing.


def traverse(call: Call) -> Answer:
    """What is near a node, nearest first, loaded into the active context."""
    knowledge, told = call.with_context()
    arguments = call.arguments
    how = {key: arguments[key] for key in _BOUNDS if key in arguments}
    how.setdefault("max_tokens", TRAVERSE_TOKENS)
    found = knowledge.traverse(arguments["start"], **how)
    page, shown = Page(), 0
    for each in found.nodes:
        if not page.add(_reached(each, detailed=call.is_detailed)):
            break
        shown += 1
    told["nodes"] = [{"uri": each.uri, "cost": each.cost} for each in found.nodes[:shown]]
    if shown < len(found.nodes):
        page.close(
            f"{len(found.nodes) - shown} more nodes had no room here. Lower max_cost or max_nodes,"
            " or traverse from one of those above."
        )
        told["not_shown"] = len(found.nodes) - shown
    for cut in found.cut_off:
        page.close(cut.sentence)
    if found.cut_off:
        told["cut_off"] = [
            {"budget": cut.budget, "limit": cut.limit, "remaining": cut.remaining}
            for cut in found.cut_off
        ]
    if found.evicted:
        page.close(f"{len(found.evicted)} nodes had to leave the active context for these.")
    if "context_id" in told:
        page.close(f"Loaded into the context {told['context_id']}.")
    return Answer(str(page), data_within(told))


_BOUNDS: Final = ("max_cost", "max_nodes", "max_tokens", "direction", "relation_types")


def _reached(each: Reached, *, detailed: bool) -> str:
    node, why = each.node, f"\n    {each.reason}" if each.hops else ""
    if isinstance(node, Relation):
        return f"{each.cost:.4g} {rendering.relation(node)}{why}"
    called = f" {node.name}" if node.name and node.name != node.uri else ""
    line = f"{each.cost:.4g} {node.uri} ({node.type}){called}"
    if not detailed:
        about = rendering.snippet(node)
        return f"{line}{about and ': ' + about}{why}"
    parts = (line + why, rendering.facts(node, detailed=False), node.content or "")
    return "\n".join(part for part in parts if part) + "\n"


# The active context.


def context(call: Call) -> Answer:
    """Show, fill or empty the active context."""
    action = call.arguments.get("action", "show")
    uris = call.uris() if action in ("add", "remove") else []
    knowledge, told = call.with_context()
    said: list[str] = []
    failures: dict[str, MycelError] = {}
    match action:
        case "add" | "remove":
            for uri in uris:
                try:
                    said += (_load if action == "add" else _unload)(knowledge, uri)
                except MycelError as error:
                    failures[uri] = error
            if len(failures) == len(uris):
                return without(failures)
        case "clear":
            said.append(f"{knowledge.context.clear()} nodes are no longer loaded.")
    shown = knowledge.context.show()
    told |= {"loaded": len(shown.loaded), "size_max": shown.size_max, "tokens": shown.tokens}
    told["evicted"] = shown.evicted_count
    page = Page()
    for line in said:
        page.add(line)
    page.add(
        f"{len(shown.loaded)} of {shown.size_max} nodes are loaded, about {shown.tokens} tokens;"
        f" {shown.evicted_count} were evicted."
    )
    if "context_id" in told:
        page.add(f"context_id: {told['context_id']} (pass it to the next call)")
    _list(page, (f"{each.uri} ({each.tokens} tokens): {each.why}" for each in shown.loaded))
    if shown.evicted:
        page.add("Evicted, last first:")
        evicted = shown.evicted if call.is_detailed else shown.evicted[:10]
        _list(page, (f"{each.uri}: {each.why}" for each in evicted))
    if not shown.loaded:
        page.close("Nothing is loaded: traverse_graph from a node loads what belongs to it.")
    but_for(failures, page, told)
    return Answer(str(page), data_within(told))


def _load(knowledge: Knowledge, uri: str) -> list[str]:
    node = knowledge.get(uri)
    size = size_of(node.to_dict())
    gone = knowledge.context.add(node.uri, tokens=size, why="added by request")
    return [f"Made room: {each}" for each in gone]


def _unload(knowledge: Knowledge, uri: str) -> list[str]:
    address = knowledge.uri(uri)
    is_id = address.is_kip  # A context knows nodes by their URIs.
    found = knowledge.get(uri).uri if is_id else address.text
    return [] if knowledge.context.discard(found) else [f"{found} was not loaded."]


def _list(page: Page, lines: Iterable[str]) -> None:
    for line in lines:
        if not page.add(f"- {line}"):
            page.close("- … and others")
            return


# Describing.


def describe(call: Call) -> Answer:
    """What there is in the graph, and how it can be asked."""
    match call.arguments.get("topic", "overview"):
        case "kip":
            return Answer(CHEAT_SHEET)
        case "broken_links":
            return _broken_links(call)
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


def _overview(call: Call) -> Answer:
    desk = call.desk
    primer = desk.db.execute("DESCRIBE PRIMER").value
    counts = primer["nexus"]
    page = Page()
    page.add(f"Workspace {desk.knowledge.workspace}: concept://{desk.knowledge.workspace}/…")
    if desk.knowledge.root is not None:
        page.add(f"Files below {desk.knowledge.root}: file://{desk.knowledge.workspace}/…")
    page.add(
        f"{counts['concepts']} concepts, {counts['links']} relations,"
        f" {counts['concept_types']} types, {counts['proposition_types']} relation types."
    )
    for title, key in (("Types", "concept_types"), ("Relation types", "proposition_types")):
        page.add(f"{title}:")
        for each in primer.get(key, ()):
            number = each.get("instances", each.get("links"))
            count = "" if number is None else f" ({number})"  # Not all are counted in large graphs.
            about = shorten(each.get("description", ""), 100 if not call.is_detailed else 400)
            if not page.add(f"- {each['name']}{count} {about}".rstrip()):
                break
    if call.is_detailed:
        page.add(rendering.value(primer, whole=True))
    broken = len(desk.knowledge.broken_links(limit=100))
    if broken:
        number = "100 or more" if broken == 100 else str(broken)
        page.close(f"{number} links lead to concepts nobody has written: topic broken_links.")
    if desk.readonly:
        page.close("This server only reads.")
    return Answer(str(page), {"workspace": desk.knowledge.workspace, **counts})


def _broken_links(call: Call) -> Answer:
    found = call.desk.knowledge.broken_links(
        limit=NAMES_PAGE // 2, cursor=call.arguments.get("cursor")
    )
    page = Page()
    for link in found:
        page.add(rendering.relation(link))
    data: JsonObject = {
        "missing": list(dict.fromkeys(uri for link in found for uri in link.missing))
    }
    if found.next_cursor is not None:
        data["next_cursor"] = found.next_cursor
        page.close(f"There are more: cursor {found.next_cursor}")
    page.close(
        "Write a missing concept with remember_knowledge, and its links heal."
        if found.items
        else "Every link leads somewhere."
    )
    return Answer(str(page), data_within(data))


def _names(call: Call, kind: str) -> Answer:
    cursor = call.arguments.get("cursor")
    command = f"DESCRIBE {kind} TYPES LIMIT {NAMES_PAGE}" + (" CURSOR :cursor" if cursor else "")
    found = call.desk.db.execute(command, {"cursor": cursor} if cursor else {})
    data: JsonObject = {"names": found.value}
    page = Page()
    page.add(", ".join(found.value))
    if found.next_cursor is not None:
        data["next_cursor"] = found.next_cursor
        page.close(f"There are more: cursor {found.next_cursor}")
    return Answer(str(page), data_within(data))


def _definition(call: Call, kind: str) -> Answer:
    name = call.arguments.get("name")
    if name is None:
        return _names(call, kind)
    told = call.desk.db.execute(f"DESCRIBE {kind} TYPE :name", {"name": name}).value
    if "attributes_seen" in told:
        told["attributes_seen"] = [
            each for each in told["attributes_seen"] if each["key"] != BOOKKEEPING
        ]
    return Answer(rendering.value(told, whole=True), {"name": name})
