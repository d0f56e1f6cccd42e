"""The tool that searches: pages of hits, or a context for an answer within a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, cast

from mycel.errors import ConstraintViolation, MycelError, TypeMismatch
from mycel.knowledge.node_values import Hit, Node, Relation
from mycel.knowledge.recalled_nodes import RECALL_HITS
from mycel.mcp import hints, node_text
from mycel.mcp.results import Answer, TextPage, data_within
from mycel.mcp.tool_context import ToolCall, bad_cursor
from mycel.model.names import count, shorten
from mycel.model.values import JsonObject
from mycel.search.former_names import FORMERLY
from mycel.search.modes import HYBRID, KEYWORD, SEMANTIC
from mycel.search.question import Question
from mycel.search.sections import in_sections, names_no_code
from mycel.search.weights import FAIR, GOOD
from mycel.store.query.filters import Filters
from mycel.text.kinds import CODE, NOTES, SECTION, AnswerKind, checked_kind, used_name

SEARCH_LIMIT: Final = 10
SEARCH_MODES: Final = (HYBRID, KEYWORD, SEMANTIC)
SEARCH_DEPTH_MAX: Final = 1_000
"""The maximum number of hits that pages can show."""
_CURSOR: Final = re.compile(r"hits:(\d{1,6})\+(\d{1,6})", re.ASCII)
_SECTIONS: Final[tuple[AnswerKind, AnswerKind]] = (NOTES, CODE)
_HEADINGS: Final = {NOTES: "Notes:", CODE: "Code:"}
_SHOWN_REASONS: Final = ("linked ", "mentioned by ", "mentions ", "about ", FORMERLY)
POOR_CODE_MAX: Final = 3
"""The maximum number of symbols and files with a poor fit that are shown, unless the question asks
for code."""
FOUND_CHARACTERS: Final = 1_000
"""The maximum number of characters of the content that a detailed hit shows."""


def search(call: ToolCall) -> Answer:
    """Search nodes and relations."""
    arguments = call.arguments
    try:
        return _recall(call) if "context_tokens" in arguments else _search(call)
    except TypeMismatch as error:
        noun: hints.Names = "relation type" if arguments.get("element") == "relation" else "type"
        raise hints.undefined(call.served.db, error, noun, arguments.get("type", ())) from None


def _search(call: ToolCall) -> Answer:
    shown_before = _shown_before(call)
    limit = call.arguments.get("limit", SEARCH_LIMIT)
    warnings: list[str] = []
    hits = _hits(call, shown_before, limit, warnings)
    is_full = len(hits) == limit
    hits = _without_poor_code(call, hits)
    page = TextPage()
    _say_weak(page, [hit.score for hit in hits])
    lines = _lines(hits, detailed=call.is_detailed)
    page_hits = hits[: page.add_all(lines)]
    data: JsonObject = {
        "hits": [
            {"uri": hit.uri, "score": round(hit.score, 3), "kind": hit.kind}
            | ({"why": list(hit.why)} if hit.why else {})
            | ({"caveats": caveats} if (caveats := node_text.care_reasons(hit.found)) else {})
            for hit in page_hits
        ],
    }
    counts = [
        before + sum(hit.kind == kind for hit in page_hits)
        for before, kind in zip(shown_before, _SECTIONS, strict=True)
    ]
    if page_hits and is_full and max(counts) < SEARCH_DEPTH_MAX:
        data["next_cursor"] = cursor = f"hits:{'+'.join(map(str, counts))}"
        page.close(f"There may be more: cursor {cursor}. Other words may help more.")
    query = call.arguments["query"]
    if not hits:
        page.close(_nothing_found(call, query))
    _close_former(page, page_hits)
    _close_others(call, page, hits, limit)
    if call.knowledge().root is not None:
        if names_no_code(Question(query), hits):
            page.close(_about_name(call, query.strip()))
        elif name := used_name(query):
            page.close(f"{_callers_call(name)} lists the lines that use it.")
    for warning in dict.fromkeys(warnings):
        page.close(warning)
    close_conflicts(call, page, (hit.found for hit in page_hits))
    return Answer(str(page), data_within(data))


def _hits(
    call: ToolCall, shown_before: tuple[int, int], limit: int, warnings: list[str]
) -> list[Hit]:
    """The hits of a page, after the notes and the code of earlier pages."""
    arguments, filters = call.arguments, _filters(call)
    search = partial(
        call.served.knowledge.search,
        arguments["query"],
        element=arguments.get("element", "node"),
        type=arguments.get("type"),
        mode=arguments.get("mode", HYBRID),
        warnings=warnings,
    )
    if not any(shown_before):
        return search(limit=limit, **filters)
    requested_kind = checked_kind(filters.pop("kind", None))
    sections: list[list[Hit]] = []
    for kind, before in zip(_SECTIONS, shown_before, strict=True):
        of_kind: Filters = {**filters, "kind": kind}
        depth = min(before + limit, SEARCH_DEPTH_MAX)
        hits = search(limit=depth, **of_kind)[before:] if requested_kind in (None, kind) else []
        sections.append(hits)
    notes, code = sections
    return in_sections(Question(arguments["query"]), notes, code, limit)


def _shown_before(call: ToolCall) -> tuple[int, int]:
    """The counts of notes and of code on earlier pages, from a cursor such as `hits:7+3`."""
    cursor = call.arguments.get("cursor")
    if not cursor:
        return 0, 0
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise bad_cursor()
    notes, code = map(int, match.groups())
    if not 0 < max(notes, code) < SEARCH_DEPTH_MAX:
        raise bad_cursor()
    return notes, code


def _lines(hits: Sequence[Hit], *, detailed: bool) -> Iterator[str]:
    """The hits as text; with two sections, each has a heading."""
    kinds = {hit.kind for hit in hits}
    section = ""
    for hit in hits:
        heading = ""
        if len(kinds) > 1 and hit.kind != section:
            section = hit.kind
            heading = f"{_HEADINGS[section]}\n"
        yield heading + hit_text(hit, detailed=detailed)


def _filters(call: ToolCall) -> Filters:
    filters = {name: call.arguments.get(name) for name in Filters.__annotations__}
    return cast(Filters, filters)


def _recall(call: ToolCall) -> Answer:
    """Nodes that fit a question, and their neighbours, within a budget of tokens."""
    arguments = call.arguments
    if arguments.get("element") == "relation" or arguments.get("cursor"):
        raise ConstraintViolation(
            "context_tokens gives nodes, in one answer.",
            hint="Leave out element and cursor, or context_tokens.",
        )
    warnings: list[str] = []
    recalled = call.served.knowledge.recall(
        arguments["query"],
        type=arguments.get("type"),
        limit=arguments.get("limit", RECALL_HITS),
        max_tokens=arguments["context_tokens"],
        mode=arguments.get("mode", HYBRID),
        warnings=warnings,
        **_filters(call),
    )
    page = TextPage()
    _say_weak(page, [node.score for node in recalled.nodes if node.score is not None])
    number = page.add_all(
        node_text.reached(node, detailed=True) + ("" if node.hops else f"\n    {node.reason}")
        for node in recalled.nodes
    )
    nodes = [
        {"uri": node.uri}
        | ({"cost": node.cost} if node.score is None else {"score": round(node.score, 3)})
        for node in recalled.nodes[:number]
    ]
    left_out = recalled.left_out + len(recalled.nodes) - number
    data: JsonObject = {"nodes": nodes, "left_out": left_out}
    node_text.add_distant(page, data, recalled.distant)
    if left_out:
        page.close(f"{count(left_out, 'more node')} had no room.")
    if not nodes:
        page.close(_nothing_found(call, arguments["query"]))
    for warning in dict.fromkeys(warnings):
        page.close(warning)
    close_conflicts(call, page, (node.node for node in recalled.nodes[:number]))
    return Answer(str(page), data_within(data))


def _speaker_and_date(node: Node) -> str:
    """The speaker and the date of a turn of a conversation; empty for other nodes."""
    speakers, time = node.properties.get("participants"), node.properties.get("start_time")
    if node.type != "Event" or not isinstance(time, str):
        return ""
    names = ", ".join(map(str, speakers[:3])) if isinstance(speakers, list) else ""
    return f" [{f'{names}, ' if names else ''}{time[:10]}]"


def hit_text(hit: Hit, *, detailed: bool) -> str:
    if isinstance(hit.found, Relation):
        return f"{hit.score:.2f} {node_text.relation(hit.found, detailed=detailed)}"
    node = hit.found
    # The URI of a section has the headings above it.
    name = node.properties.get("heading") if node.type == SECTION else node.name
    called = f" {name}" if name and name != node.uri else ""
    if not detailed:
        about = hit.snippet or node_text.snippet(node)
        linked = f" [{why}]" if (why := _shown_reason(hit)) else ""
        contested = node_text.conflict_mark(node)
        return (
            f"{hit.score:.2f} {node.uri} ({node.type}){called}{_speaker_and_date(node)}"
            f"{node_text.caveat_mark(node)}"
            f"{about and ': ' + about}{linked}{contested}"
        )
    parts = (
        f"{hit.score:.2f} {node_text.head(node)}",
        *node_text.conflicts(node),
        hit.why and f"Found by {', '.join(hit.why)}.",
        node_text.facts(node, detailed=False),
        shorten(node.content or "", FOUND_CHARACTERS),
    )
    return "\n".join(part for part in parts if part) + "\n"


def _shown_reason(hit: Hit) -> str:
    """The reason to show beside a hit. Words, names and meaning need none."""
    former_names = [why for why in hit.why if why.startswith(FORMERLY)]
    return next(
        (why for why in (*former_names, *hit.why[:1]) if why.startswith(_SHOWN_REASONS)), ""
    )


def _close_former(page: TextPage, hits: Sequence[Hit]) -> None:
    """If the question is a former name of a node, say its present URI."""
    for hit in hits:
        for why in hit.why:
            if why.startswith(FORMERLY):
                page.close(f"{why.removeprefix(FORMERLY)} is now {hit.uri}.")


def _without_poor_code(call: ToolCall, hits: list[Hit]) -> list[Hit]:
    """Hits with at most `POOR_CODE_MAX` poor fits of code, unless the question asks for code.

    Some word of nearly every question is the name of something in the code.
    """
    arguments = call.arguments
    if arguments.get("element", "node") != "node" or arguments.get("cursor"):
        return hits
    if arguments.get("kind") or arguments.get("type"):
        return hits
    least = FAIR if any(hit.score >= GOOD for hit in hits) else GOOD
    poor = [hit for hit in hits if hit.kind == CODE and hit.score < least]
    left_out = {hit.uri for hit in poor[POOR_CODE_MAX:]}
    return [hit for hit in hits if hit.uri not in left_out]


def _say_weak(page: TextPage, scores: Sequence[float]) -> None:
    """Say at the top if no hit is certain to be about the question."""
    if scores and max(scores) < GOOD:
        page.add(
            f"Nothing fits well (all scores are below {GOOD}): this is the nearest there is, and"
            " the answer may not be here."
        )


def _close_others(call: ToolCall, page: TextPage, hits: Sequence[Hit], limit: int) -> None:
    """If few nodes of the requested types fit the words, name other nodes of these types."""
    types = call.arguments.get("type")
    is_narrow = any(value is not None for value in _filters(call).values())
    if not types or is_narrow or call.arguments.get("cursor") or len(hits) >= limit:
        return
    if call.arguments.get("element", "node") != "node":
        return
    uris = {hit.uri for hit in hits}
    query = (
        "FIND(?n.name) WHERE { ?n {type: :type} }"
        " ORDER BY ?n.metadata._updated_at DESC LIMIT :limit"
    )
    names = [
        name
        for type_name in ([types] if isinstance(types, str) else types)
        for name in call.served.db.execute(query, {"type": type_name, "limit": limit}).value
    ]
    if others := [name for name in dict.fromkeys(names) if name not in uris]:
        listing = ", ".join(shorten(name) for name in others[: limit - len(hits)])
        page.close(f"Others of this type, the newest first, which need not fit: {listing}.")


def _about_name(call: ToolCall, name: str) -> str:
    """A sentence about a name that no hit has: the node that had it before, or a hint."""
    with suppress(MycelError):
        node = call.knowledge().get(name, content=False)
        return node.hint or f"{shorten(name)} is {node.uri}."
    name = shorten(name)
    return f"Nothing is named {name}; {_callers_call(name)} searches the files for it."


def _callers_call(name: str) -> str:
    return f'get_nodes {{"uris": ["{name}"], "callers": true}}'


def _nothing_found(call: ToolCall, words: str) -> str:
    if call.arguments.get("cursor"):
        return "There are no more hits."
    types = call.arguments.get("type")
    subject = f"Nothing of type {' or '.join(types)}" if types else "Nothing"
    if any(value is not None for value in _filters(call).values()):
        subject += " that passes the filters"
    keep = " If you learn it elsewhere, remember_knowledge keeps it for the next time."
    return (
        f"{subject} fits {shorten(repr(words))}. Try fewer or other words, or describe_graph."
        f"{'' if call.served.readonly else keep}"
    )


def close_conflicts(call: ToolCall, page: TextPage, elements: Iterable[Node | Relation]) -> None:
    """If a hit is in conflict, say which tool decides it."""
    if not call.served.readonly and any(element.conflicts for element in elements):
        page.close("Decide the conflicts of merges with resolve_conflicts.")
