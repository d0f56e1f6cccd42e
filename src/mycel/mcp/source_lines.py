"""Source lines of symbols and of the calls to them.

A bootstrap stores the first and last line of a symbol, and its callers. The text is read from the
files on demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from mycel.errors import MycelError, NotFound, TypeMismatch
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.name_mentions import find_mentions
from mycel.knowledge.name_resolution import NAMED_SCORE
from mycel.knowledge.node_values import Node, Relation
from mycel.knowledge.vocabulary import CALLS, MAY_CALL, SYMBOL, USES
from mycel.mcp.results import TextPage
from mycel.model.names import shorten
from mycel.model.values import JsonObject

LINES_SHOWN: Final = 5
"""Calls in one caller that are shown."""
LINE_CHARACTERS: Final = 160
NAMESAKES_MAX: Final = 20
"""Symbols of one name that are shown."""
SEARCHED_MAX: Final = 200

_PROSE: Final = re.compile(
    r"""(?s)[rRbBuUfF]{0,2}(\"{3}|'{3}).*?(?:\1|\Z)|/\*.*?(?:\*/|\Z)|(?m:^)[^\S\n]*(?:\#|//)[^\n]*"""
)
"""Strings in triple quotes, comments between `/*` and `*/`, and comment lines."""

KINDS: Final = {
    CALLS: "Called by",
    USES: "Used without a call by",
    MAY_CALL: "Perhaps called by (only the name matches)",
}
"""Relation types of callers and users, each with the heading of its list."""
FILES_SHOWN: Final = 8
"""Further files with the name that are shown."""


class LineSpan(NamedTuple):
    """Lines of a file, both ends included."""

    file: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.file}, lines {self.first} to {self.last}"


def span_of(node: Node) -> LineSpan | None:
    """The lines of a symbol; None for other nodes."""
    first, last = node.properties.get("line"), node.properties.get("end_line")
    if node.type != SYMBOL or not isinstance(first, int) or not isinstance(last, int):
        return None
    path, slash, _ = node.uri.removeprefix("concept://").rpartition("/")
    return LineSpan(f"file://{path}", first, last) if slash else None


class SourceTexts:
    """The texts of files, each read once."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._files: dict[str, list[str]] = {}

    def lines(self, file: str) -> list[str]:
        """The lines of a file."""
        if file not in self._files:
            self._files[file] = (self._knowledge.read_resource(file).text or "").splitlines()
        return self._files[file]

    def text(self, node: Node, span: LineSpan) -> str:
        """The lines of a symbol, below a line with their place."""
        try:
            found = self.lines(span.file)[span.first - 1 : span.last]
        except MycelError as error:
            return f"{span}: {error.message}"
        head = f"{span}:"
        if not any(str(node.name) in line for line in found):
            head += " (the file has changed; bootstrap_workspace reads it again)"
        return "\n".join((head, *found))

    def calls(self, caller: Node, name: str) -> list[str]:
        """The lines of a symbol or file that call `name`, with their numbers."""
        span = span_of(caller)
        file = caller.uri if span is None else span.file
        try:
            lines = self.lines(file)
        except MycelError:
            return [f"({file} cannot be read)"]
        first, last = (1, len(lines)) if span is None else (span.first, span.last)
        written = lines[first - 1 : last]
        code = _without_prose(written)
        call, word = rf"\b{re.escape(name)}\s*+\(", rf"\b{re.escape(name)}\b"
        # The bare name is next, for a function that is passed on; text that looks like prose last.
        for pattern, searched in ((call, code), (word, code), (word, written)):
            found = [
                f"{number}: {shorten(line.strip(), LINE_CHARACTERS)}"
                for number, (line, text) in enumerate(zip(written, searched, strict=True), first)
                if re.search(pattern, text) and not (span and number == first)
            ]
            if found:
                more = len(found) - LINES_SHOWN
                return found[:LINES_SHOWN] + [f"… and {more} more lines"] * (more > 0)
        return []


def _without_prose(lines: list[str]) -> list[str]:
    """The lines with spaces for comments and strings in triple quotes, except f-strings."""

    def blank(found: re.Match[str]) -> str:
        is_code = "f" in found[0][:2].lower() and found[1] is not None
        return found[0] if is_code else re.sub(r"[^\n]", " ", found[0])

    return _PROSE.sub(blank, "\n".join(lines)).split("\n")


# Callers.


def symbols_named(knowledge: Knowledge, name: str) -> list[Node]:
    """The symbol with a URI, or the symbols with a name: `save`, `Cart.save`, `shop.cart.save`."""
    try:
        return [knowledge.get(name)]
    except NotFound as error:
        last = name.rpartition("/")[2]
        word = last.rpartition(".")[2]
        hits = knowledge.search(word, type=SYMBOL, limit=SEARCHED_MAX)
        found = [hit.found for hit in hits if isinstance(hit.found, Node)]
        named = [node for node in found if f".{_qualified(node)}".endswith(f".{last}")]
        if not named and word != last:
            hits = knowledge.search(last, type=SYMBOL, limit=NAMESAKES_MAX, threshold=NAMED_SCORE)
            found = [hit.found for hit in hits if isinstance(hit.found, Node)]
            named = [node for node in found if node.name == word]
        if not named:
            error.message += f" Nor is there a symbol named {shorten(repr(last))}."
            lines = [line for line in _mentioning(knowledge, word, set(), {}) if word == last]
            error.hint = "\n".join((*lines, error.hint or "")).rstrip()
            raise error from None
        return named[:NAMESAKES_MAX]


def _qualified(node: Node) -> str:
    return node.uri.rpartition("/")[2]


def add_callers(
    knowledge: Knowledge, node: Node, limit: int, page: TextPage, entry: JsonObject
) -> bool:
    """Add the callers of a symbol, and apart from them possible ones. False if they do not fit."""
    sources = SourceTexts(knowledge)
    name = str(node.name or _qualified(node))
    files: set[str] = set()
    if not page.add(f"{node.uri} ({node.type}){_place(node)}"):
        return False
    for kind, words in KINDS.items():
        found = _incoming(knowledge, node, kind, limit + 1)
        entry[kind] = [each.source for each in found[:limit]]
        files |= {_file_of(each.source) for each in found}
        if kind == CALLS and not found:
            page.add("No caller is known for certain.")
        if not found:
            continue
        page.add(f"{words}:")
        for link in found[:limit]:
            if not page.add("\n".join(_caller(knowledge, sources, link, name))):
                page.close("… the others do not fit.")
                return True
        if len(found) > limit:
            page.close(
                f"… and others: pass a larger `relations`, or page with direction in and"
                f" relation_types {kind} instead of callers."
            )
    for line in _mentioning(knowledge, name, files | {_file_of(node.uri)}, entry):
        if not page.add(line):
            page.close("… the others do not fit.")
            break
    return True


def _file_of(uri: str) -> str:
    """The URI of the file that a symbol is in, or of the file itself."""
    if not uri.startswith("concept://"):
        return uri
    return f"file://{uri.removeprefix('concept://').rpartition('/')[0]}"


def _mentioning(
    knowledge: Knowledge, name: str, known: set[str], entry: JsonObject
) -> Iterator[str]:
    """Sentences on how complete a list of callers is: the other files that mention the name."""
    mentions = find_mentions(knowledge, name)
    if mentions is None:
        yield "The files cannot be searched for the name here: callers may be missing."
        return
    others = [each for each in mentions.files if each.uri not in known]
    entry["mentioned_in"] = [each.uri for each in others]
    files = f"{len(others)} other file{'s' * (len(others) != 1)}"
    verb = "mentions" if len(others) == 1 else "mention"
    yield f"{files} {verb} the name:" if others else "No other file mentions the name."
    for each in others[:FILES_SHOWN]:
        lines = [f"    {at}: {shorten(text.strip(), LINE_CHARACTERS)}" for at, text in each.lines]
        more = len(lines) - LINES_SHOWN
        rest = [f"    … and {more} more lines"] if more > 0 else []
        yield "\n".join((f"- {each.uri}", *lines[:LINES_SHOWN], *rest))
    if len(others) > FILES_SHOWN:
        yield f"… and {len(others) - FILES_SHOWN} more files"
    if mentions.unread:
        yield f"({mentions.unread} files were not searched, for lack of time.)"


def _place(node: Node) -> str:
    span = span_of(node)
    return "" if span is None else f", {span}"


def _caller(knowledge: Knowledge, sources: SourceTexts, link: Relation, name: str) -> list[str]:
    try:
        caller = knowledge.get(link.source)
    except NotFound:
        return [f"- {link.source}"]
    lines = sources.calls(caller, name)
    return [f"- {link.source}", *(f"    {each}" for each in lines)]


def _incoming(knowledge: Knowledge, node: Node, kind: str, limit: int) -> list[Relation]:
    try:
        found = knowledge.relations(node.uri, direction="in", relation_types=[kind], limit=limit)
    except TypeMismatch:
        return []  # No bootstrap has written such a relation.
    return list(found)
