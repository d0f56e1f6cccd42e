"""Source lines of symbols, and of the uses of them.

A bootstrap stores the first and last line of a symbol. The text is read from the files on demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from mycel.errors import MycelError
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.node_values import Node
from mycel.knowledge.references import (
    CERTAIN,
    SYMBOLS_MAX,
    FileLines,
    References,
    SymbolReferences,
    UsedLine,
    UserLines,
)
from mycel.knowledge.vocabulary import CALLS, EXTENDS, MAY_CALL, SYMBOL, USES
from mycel.knowledge.workspace_files import split_lines
from mycel.mcp import node_text
from mycel.mcp.results import TextPage
from mycel.model.names import count, first_few, shorten
from mycel.model.values import JsonObject

LINES_SHOWN: Final = 5
"""The maximum number of lines of one user or file that are shown with text; of the others only
numbers are shown."""
FILES_SHOWN: Final = 10
"""The maximum number of files of a list that are shown with the text of lines; the others only with
numbers."""
NUMBERS_MAX: Final = 200
"""The maximum number of lines of one list that are shown as numbers."""
ASIDE_NUMBERS_MAX: Final = 40
"""The same for lines that are no uses: comments, documents, other symbols with the same name."""
LINE_CHARACTERS: Final = 160
NAMESAKES_SHOWN: Final = 3
_SIGNS: Final = re.compile(r"::|[./#]")

HEADINGS: Final = {
    CALLS: "Called by",
    USES: "Used without a call by",
    EXTENDS: "Extended by",
    MAY_CALL: "Perhaps called by (only the name matches)",
}
"""Relation types of users, each with the heading of its list."""


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


def text_of(knowledge: Knowledge, node: Node, span: LineSpan) -> str:
    """The lines of a symbol, below a line that says where they are."""
    try:
        text = knowledge.read_resource(span.file).text or ""
    except MycelError as error:
        return f"{span}: {error.message}"
    lines = split_lines(text)[span.first - 1 : span.last]
    head = f"{span}:"
    if not any(str(node.name) in line for line in lines):
        head += " (the file has changed; bootstrap_workspace reads it again)"
    return "\n".join((head, *lines))


# Callers.


def add_references(
    references: References, limit: int, page: TextPage, *, detailed: bool
) -> list[JsonObject] | None:
    """Add the uses of symbols: `limit` users of each kind with lines, the others as numbers.

    Returns an entry for each symbol, or one for a name without a symbol; None if they do not fit.
    """
    entries: list[JsonObject] = []
    files = {lines.uri for lines in (*references.possible, *references.mentions)}
    meaning = _meaning(references)
    if meaning and not page.add(meaning):
        return None
    symbols = references.symbols
    if len(symbols) > NAMESAKES_SHOWN:
        symbols = tuple(references for references in symbols if references.users)
    lines = sum(len(lines.lines) for lines in references.possible)
    for uses in symbols:
        entry = node_text.brief(uses.symbol, detailed=detailed)
        if not _add_users(uses, limit, page, entry, len(files), lines):
            return None
        entries.append(entry)
    unused = [
        symbol_references.symbol
        for symbol_references in references.symbols
        if symbol_references not in symbols
    ]
    if unused:
        names = first_few([node.uri for node in unused], NAMESAKES_SHOWN)
        page.add(f"No caller of {len(unused)} of them is certain: {', '.join(names)}")
        entries += [node_text.brief(node, detailed=detailed) for node in unused[:NAMESAKES_SHOWN]]
    if not references.symbols:
        entries.append({"name": references.name})
    for line in _other_lines(references):
        if not page.add(line):
            page.close("… the others do not fit.")
            break
    for entry in entries:
        entry["mentioned_in"] = sorted(files)
    return entries


def _meaning(references: References) -> str:
    """A sentence on the symbols that a name may mean; empty if it can mean only one."""
    name, path = shorten(references.name), shorten(references.asked)
    symbols, others = references.symbols, references.namesakes
    if not symbols and not others:
        return f"No symbol is named {path}."
    if not symbols:
        verb = "symbol is" if len(others) == 1 else "symbols are"
        listing = ", ".join(first_few(others, NAMESAKES_SHOWN))
        return f"No symbol has the path {path}; {len(others)} {verb} named {name}: {listing}"
    if len(symbols) > 1:
        if len(symbols) >= SYMBOLS_MAX:
            many = (
                f"{SYMBOLS_MAX} symbols or more are named {name}; these are the uses of that many."
            )
        else:
            many = f"{len(symbols)} symbols are named {name}; these are the uses of all of them."
        return f"{many} Pass a URI for those of one."
    parts = iter(_SIGNS.split(symbols[0].symbol.uri))
    has_path = all(word in parts for word in _SIGNS.split(path))
    return "" if has_path else f"{path} is taken for the only symbol named {name}."


def _add_users(
    uses: SymbolReferences, limit: int, page: TextPage, entry: JsonObject, files: int, lines: int
) -> bool:
    """Add the users of a symbol. False if they do not fit.

    `files` is the number of files with its name, `lines` that of lines that may call it.
    """
    node = uses.symbol
    span = span_of(node)
    if not page.add(f"{node.uri} ({node.type})" + ("" if span is None else f", {span}")):
        return False
    if not any(lines.relation in CERTAIN for lines in uses.users):
        lines += sum(len(lines.lines) for lines in uses.users)
        verb = "mentions" if files == 1 else "mention"
        sentence = f"No caller is known; {count(files, 'file')} {verb} the name."
        page.add(
            f"No caller is certain; {count(lines, 'line')} may call it." if lines else sentence
        )
    for kind, heading in HEADINGS.items():
        users = [lines for lines in uses.users if lines.relation == kind]
        entry[kind] = [lines.uri for lines in users[:limit]]
        for line in _user_lines(heading, users, limit):
            if not page.add(line):
                page.close("… the others do not fit.")
                return True
    return True


def _user_lines(heading: str, users: Sequence[UserLines], limit: int) -> Iterator[str]:
    if users:
        yield f"{heading}:"
    for user_lines in users[:limit]:
        yield "\n".join((f"- {user_lines.uri}", *_texts(user_lines.lines)))
    rest = users[limit:]
    if rest:
        yield f"… and {count(len(rest), 'other')} (a larger `relations` shows them by name):"
        lines: dict[str, list[UsedLine]] = {}
        for user in rest:
            lines.setdefault(user.file, []).extend(user.lines)
        by_file = [FileLines(file, tuple(sorted(file_lines))) for file, file_lines in lines.items()]
        yield from _numbers(by_file, NUMBERS_MAX)


def _texts(lines: Sequence[UsedLine]) -> Iterator[str]:
    """Lines with their numbers: the first ones with their text."""
    for used_line in lines[:LINES_SHOWN]:
        yield f"    {used_line.number}: {shorten(used_line.text.strip(), LINE_CHARACTERS)}"
    rest = lines[LINES_SHOWN:]
    if rest:
        numbers = ", ".join(str(line.number) for line in rest[:ASIDE_NUMBERS_MAX])
        more = len(rest) - ASIDE_NUMBERS_MAX
        yield f"    also {numbers}" + (f" and {more} more" if more > 0 else "")


def _numbers(files: Iterable[FileLines], most: int) -> Iterator[str]:
    """The numbers of lines by file, up to `most` lines, and how many were left out."""
    left_out = files_left_out = 0
    for lines in files:
        part = lines.lines[:most]
        more = len(lines.lines) - len(part)
        if more and not part:
            left_out += more
            files_left_out += 1
            continue
        most -= len(part)
        numbers = ", ".join(str(line.number) for line in part)
        rest = f" and {more} more" if more else ""
        yield f"- {lines.uri}: {numbers}{rest}" if numbers else f"- {lines.uri}"
    if left_out:
        yield f"… and {count(left_out, 'line')} in {count(files_left_out, 'file')} not shown"


def _other_lines(references: References) -> Iterator[str]:
    """Lines with the name that no relation explains; says how complete the answer is."""
    if not references.is_readable:
        yield "The files cannot be searched for the name here: uses may be missing."
        return
    namesakes = references.namesakes
    if references.possible:
        yield f"{_counted(references.possible)} with the name{_of_others(namesakes)}:"
        for lines in references.possible[:FILES_SHOWN]:
            yield "\n".join((f"- {lines.uri}", *_texts(lines.lines)))
        yield from _numbers(references.possible[FILES_SHOWN:], NUMBERS_MAX)
    elif not references.mentions:
        yield "No other line has the name."
    if references.others:
        yield f"{_counted(references.others)} that define or use another symbol of the name:"
        yield from _numbers(references.others, ASIDE_NUMBERS_MAX)
    if references.mentions:
        files = count(len(references.mentions), "file")
        verb = "mentions" if len(references.mentions) == 1 else "mention"
        yield f"{files} {verb} the name in comments, strings or documents:"
        if references.symbols or len(references.mentions) > FILES_SHOWN:
            yield from _numbers(references.mentions, ASIDE_NUMBERS_MAX)
        else:
            yield from ("\n".join((f"- {e.uri}", *_texts(e.lines))) for e in references.mentions)
    yield _completeness(references)


def _counted(files: Sequence[FileLines]) -> str:
    lines = sum(len(lines.lines) for lines in files)
    return f"{count(lines, 'other line')} of code in {count(len(files), 'file')}"


def _of_others(namesakes: Sequence[str]) -> str:
    """A remark that the lines may refer to other symbols."""
    if not namesakes:
        return ", perhaps uses"
    first = ", ".join(namesakes[:NAMESAKES_SHOWN])
    more = len(namesakes) - NAMESAKES_SHOWN
    rest = f" and {count(more, 'other')}" if more > 0 else ""
    return f", perhaps uses of it or of {first}{rest}"


def _completeness(references: References) -> str:
    if references.unread:
        return (
            f"Incomplete: {references.unread} of {count(references.searched, 'file')} were not"
            " searched, being large, not readable, or out of time."
        )
    return (
        f"All {count(references.searched, 'file')} were searched for the name; uses by another name"
        " or from outside are not known."
    )
