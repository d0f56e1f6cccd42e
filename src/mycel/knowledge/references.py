"""Finds the uses of a symbol, line by line, and how certain each of them is.

The graph has relations between definitions (`calls`, `uses`, `extends`, `may_call`). The lines come
from the files: each line with the name of the symbol, in a searched file, is in one group of the
answer.

    certain   in a definition with a certain relation to the symbol, or beside one: an import
    possible  in a definition that may call it, or code that has the name for an unknown reason
    other     code that names another symbol of the name: `Code::Unknown` for `Status::Unknown`
    mention   in a comment, a string, a document

So even if relations are incomplete, no use in a searched file is missing, except uses under another
name. Large files, and files left when the time is up, are counted as `unread`. If an import
renames the symbol, its new name is followed in that file. If the file of a certain user does not
have the name, as behind a re-export, the lines with the other name are shown, or the line of the
user's definition.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from mycel.errors import MycelError
from mycel.knowledge.code.file_kinds import detect
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.name_mentions import (
    FILE_BYTES_MAX,
    MentioningFile,
    find_mentions,
    find_words,
)
from mycel.knowledge.name_resolution import find_bearers, locate_all
from mycel.knowledge.node_lookup import as_node
from mycel.knowledge.node_values import Node
from mycel.knowledge.reference_evidence import NamedSymbol, NameEvidence
from mycel.knowledge.short_names import dotted
from mycel.knowledge.uris import Uri
from mycel.knowledge.vocabulary import CALLS, EXTENDS, MAY_CALL, SYMBOL, USES
from mycel.knowledge.workspace_files import split_lines
from mycel.model.elements import Concept
from mycel.store.query import lookup
from mycel.store.query.bulk import prefixes
from mycel.store.query.bulk.prefixes import StoredSpan
from mycel.store.query.reader import Reader
from mycel.text.names import Standing, called

SYMBOLS_MAX: Final = 100
"""The maximum number of symbols of one name that an answer covers."""
ALIASES_MAX: Final = 8
"""The maximum number of names that one file gives to a symbol."""

CONSTRUCTORS: Final = frozenset({"__init__", "__new__", "constructor"})
CERTAIN: Final = (CALLS, USES, EXTENDS)
ALIAS_CHARACTERS_MIN: Final = 3
"""The least length of a name that a file gives to a symbol; a shorter name is in too many lines."""
RENAMED_FILES_MAX: Final = 50
"""The maximum number of files without the name that are read for lines of certain users."""
_ALIAS: Final = re.compile(rb"\s{1,9}as\s{1,9}([A-Za-z]\w*+)")
_FUNCTION_KINDS: Final = frozenset({"function", "method", "constructor", "macro", "prototype"})

Group = Literal["possible", "other", "mention"]


class UsedLine(NamedTuple):
    """A line of a file: its number, counted from 1, and its text."""

    number: int
    text: str


class UserLines(NamedTuple):
    """The lines of a user of a symbol: a definition, or the rest of a file."""

    uri: str
    file: str
    relation: str
    lines: tuple[UsedLine, ...]


class FileLines(NamedTuple):
    uri: str
    lines: tuple[UsedLine, ...]


class SymbolReferences(NamedTuple):
    """A symbol with its users: certain ones (`calls`, `uses`, `extends`), or by `may_call`."""

    symbol: Node
    users: tuple[UserLines, ...]


class References(NamedTuple):
    """The uses of the symbols that a name means."""

    asked: str
    """The name that the caller gave, without folders."""
    name: str
    symbols: tuple[SymbolReferences, ...]
    possible: tuple[FileLines, ...]
    """Lines of code with the name that may use the symbols; nothing more is known of them."""
    others: tuple[FileLines, ...]
    """Lines of code that define or name a symbol of `namesakes`."""
    mentions: tuple[FileLines, ...]
    """Lines of comments, strings and documents."""
    namesakes: tuple[str, ...]
    """Other symbols of the same name."""
    searched: int
    """The number of files of the workspace."""
    unread: int
    """The number of files that were not searched: large, unreadable, or left for lack of time."""
    is_readable: bool
    """False if the files are not on this machine, so that nothing was searched."""


def find_references(reader: Reader, knowledge: KnowledgeView, uri: Uri) -> References:
    """All uses of the symbol with a URI, or of all symbols with a short name."""
    concepts = locate_all(reader, uri)
    symbols = ([concept for concept in concepts if concept.type == SYMBOL] or concepts)[
        :SYMBOLS_MAX
    ]
    symbols += _constructed(reader, symbols)
    dotted_name = dotted(uri.path.rpartition("/")[2]).rstrip(".")
    names = {_name(symbol) for symbol in symbols} or {dotted_name.rpartition(".")[2]}
    alike = _namesakes(reader, names, {symbol.number for symbol in symbols})
    targets = [NamedSymbol(symbol.number, symbol.name) for symbol in (*symbols, *alike)]
    users = _users(reader, targets)
    files = [_file_of(symbol.name) for symbol in symbols]
    files += [_file_of(user) for target in targets[: len(symbols)] for user in users[target.uri]]
    mentions = find_mentions(reader, knowledge, names, frozenset(files))
    owner = dotted_name.rpartition(".")[0].rpartition(".")[2] if not symbols else ""
    sorter = _Sorter(reader, names, targets[: len(symbols)], targets[len(symbols) :], users, owner)
    sorter.sort(mentions.files)
    if mentions.is_readable:
        sorter.sort_renamed(lambda file: _text_of(knowledge, file))
    return References(
        asked=uri.path.rpartition("/")[2],
        name=min(names),
        symbols=tuple(
            SymbolReferences(as_node(symbol, content=False), sorter.users_of(symbol.name))
            for symbol in symbols
        ),
        possible=sorter.lines_of("possible"),
        others=sorter.lines_of("other"),
        mentions=sorter.lines_of("mention"),
        namesakes=tuple(concept.name for concept in alike),
        searched=mentions.searched,
        unread=mentions.unread,
        is_readable=mentions.is_readable,
    )


_Users = Mapping[str, Mapping[str, str]]
"""For each symbol, by URI: its users, each with its relation."""


def _name(concept: Concept) -> str:
    name = concept.attributes.get("name")
    own = called(concept.name, concept.attributes).segments[-1]
    return name if isinstance(name, str) and concept.type == SYMBOL and name else own


def _constructed(reader: Reader, symbols: Sequence[Concept]) -> list[Concept]:
    """The classes of these constructors: a call of the class calls the constructor."""
    uris = {symbol.name.rpartition(".")[0] for symbol in symbols if _name(symbol) in CONSTRUCTORS}
    symbol_names = {symbol.name for symbol in symbols}
    concepts = [
        reader.concept(number) for number, _, _ in lookup.find_by_name(reader, uris - symbol_names)
    ]
    return [concept for concept in concepts if concept is not None and concept.type == SYMBOL]


def _namesakes(reader: Reader, names: Collection[str], excluded: Collection[int]) -> list[Concept]:
    """Other symbols with one of these names."""
    return [
        bearer
        for bearer in find_bearers(reader, names)
        if bearer.type == SYMBOL and bearer.number not in excluded and _name(bearer) in names
    ]


def _users(reader: Reader, targets: Sequence[NamedSymbol]) -> dict[str, dict[str, str]]:
    kinds = {number: kind for kind in (MAY_CALL, EXTENDS, USES, CALLS)
             if (number := reader.find_predicate(kind)) is not None}  # fmt: skip
    uris = {target.number: target.uri for target in targets}
    links = prefixes.links_at(reader, "object", list(uris), list(kinds))
    names = prefixes.names_of(reader, {link.subject for link in links})
    order = list(kinds)
    users: dict[str, dict[str, str]] = {target.uri: {} for target in targets}
    for link in sorted(links, key=lambda link: order.index(link.predicate)):
        if link.subject in names:
            # If there are several relations, the strongest one counts.
            users[uris[link.object]][names[link.subject]] = kinds[link.predicate]
    return users


def _file_of(uri: str) -> str:
    """The URI of the file that a symbol is in, or of the file itself."""
    if not uri.startswith("concept://"):
        return uri
    return f"file://{uri.removeprefix('concept://').rpartition('/')[0]}"


class _Sorter:
    """Sorts the lines with a name into groups."""

    def __init__(
        self,
        reader: Reader,
        names: Collection[str],
        targets: Sequence[NamedSymbol],
        namesakes: Sequence[NamedSymbol],
        users: _Users,
        owner: str,
    ) -> None:
        self._reader = reader
        self._names = names
        self._targets = targets
        self._namesakes = namesakes
        self._users = users
        self._evidence = NameEvidence(names, targets, namesakes, owner)
        self._groups: dict[Group, defaultdict[str, list[UsedLine]]] = {
            "possible": defaultdict(list),
            "other": defaultdict(list),
            "mention": defaultdict(list),
        }
        self._of_users: dict[str, defaultdict[str, list[UsedLine]]] = {
            target.uri: defaultdict(list) for target in targets
        }
        self._files_of = {
            target.uri: {
                _file_of(user) for user, kind in users[target.uri].items() if kind != MAY_CALL
            }
            for target in targets
        }
        self._near: set[str] = set()
        """Files that name an owner of one of the symbols."""
        self._files: set[str] = set()
        """Files that contain the name."""
        self._renames: set[str] = set()
        """Names that imports in any file give to the symbols."""

    def sort(self, files: Iterable[MentioningFile]) -> None:
        batch = list(files)
        self._files = {file.uri for file in batch}
        spans = self._spans(self._files)
        for mentioning_file in batch:
            self._sort_file(mentioning_file, spans.get(mentioning_file.uri, []))

    def _spans(self, uris: Iterable[str]) -> dict[str, list[StoredSpan]]:
        number = self._reader.find_type(SYMBOL)
        by_file: defaultdict[str, list[StoredSpan]] = defaultdict(list)
        if number is not None:
            paths = [f"concept://{uri.removeprefix('file://')}" for uri in uris]
            for span in prefixes.spans_below(self._reader, number, paths):
                by_file[_file_of(span.name)].append(span)
        return by_file

    def _sort_file(self, file: MentioningFile, spans: Sequence[StoredSpan]) -> None:
        from mycel.knowledge.code.languages import blank_prose  # noqa: PLC0415 - patterns of all

        source = file.text.encode()
        language = detect(file.uri).language
        code = blank_prose(language, source)
        texts = split_lines(file.text)
        if code is None:
            for number in _numbers(source, self._names):
                self._put("mention", file.uri, texts, number)
            return
        if find_words(code, self._evidence.owners):
            self._near.add(file.uri)
        aliases = _aliases(code, self._names)
        self._renames.update(aliases)
        words = {*self._names, *(alias for alias in aliases if len(alias) >= ALIAS_CHARACTERS_MIN)}
        lines = code.split(b"\n")
        line_numbers = _numbers(code, words)
        around = {number: _innermost(spans, number) for number in line_numbers}
        own = {target.uri for target in self._targets}
        defining = {
            _first_line(span, line_numbers): span.name in own
            for span in spans
            if _last(span.name) in self._names
        }
        within = defaultdict(list)
        for number in line_numbers:
            if number in defining:
                if not defining[number]:
                    self._put("other", file.uri, texts, number)
            else:
                within[around[number]].append(number)
        for span, numbers in within.items():
            for number in numbers:
                line = lines[number - 1]
                group, targets = self._judge(file.uri, language, span, line, len(numbers))
                for target, user in targets:
                    self._of_users[target][user].append(UsedLine(number, texts[number - 1]))
                if not targets:
                    self._put(group, file.uri, texts, number)
        for number in _numbers(source, self._names):
            if number not in around:
                self._put("mention", file.uri, texts, number)

    def sort_renamed(self, read: Callable[[str], str | None]) -> None:
        """Find the lines of certain users in files that have the symbol under another name only."""
        from mycel.knowledge.code.languages import blank_prose  # noqa: PLC0415 - patterns of all

        users: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for target in self._targets:
            for user, relation in self._users[target.uri].items():
                if relation in CERTAIN and _file_of(user) not in self._files:
                    users[_file_of(user)].append((target.uri, user))
        files = sorted(users, key=_rank)[:RENAMED_FILES_MAX]
        spans = self._spans(files)
        for file in files:
            text = read(file)
            if text is None:
                continue
            source = text.encode()
            code = blank_prose(detect(file).language, source) or source
            numbers = _numbers(code, {*self._renames, *_aliases(code, self._renames)})
            texts = split_lines(text)
            places = {span.name: span for span in spans.get(file, ())}
            for symbol, user in users[file]:
                lines = _lines_of(user, places.get(user), numbers, spans.get(file, ()))
                self._of_users[symbol][user] += [
                    UsedLine(number, texts[number - 1]) for number in lines if number <= len(texts)
                ]

    def _put(self, group: Group, uri: str, texts: Sequence[str], number: int) -> None:
        self._groups[group][uri].append(UsedLine(number, texts[number - 1]))

    def _judge(
        self, file: str, language: str, span: StoredSpan | None, line: bytes, count: int
    ) -> tuple[Group, list[tuple[str, str]]]:
        """The group of a line, and pairs of a symbol that it uses and the user.

        `count` is the number of lines in the same definition that have the name.
        """
        if self._evidence.names_another(language, line):
            return "other", []
        user = file if span is None else span.name
        # The definition has one line with the name and certainly uses a namesake, so the line means
        # that.
        is_other = count == 1 and any(
            self._users[namesake.uri].get(user, MAY_CALL) != MAY_CALL
            for namesake in self._namesakes
        )
        uses: list[tuple[str, str]] = []
        for target in self._targets:
            if self._evidence.judge(language, line, target) not in ("this", "open"):
                continue
            relation = self._users[target.uri].get(user)
            if relation is not None and not (is_other and relation == MAY_CALL):
                uses.append((target.uri, user))
            elif self._is_beside(target, file, span):
                uses.append((target.uri, file))
        return ("other" if is_other else "possible"), uses

    def _is_beside(self, target: NamedSymbol, file: str, span: StoredSpan | None) -> bool:
        """True for a line outside of functions, such as an import, in a file with certain users."""
        if target.owner or (span is not None and span.kind in _FUNCTION_KINDS):
            return False
        return file in self._files_of[target.uri]

    def users_of(self, uri: str) -> tuple[UserLines, ...]:
        """The users of a symbol with their lines; code comes before tests, then by URI."""
        lines = self._of_users[uri]
        relations = dict(self._users[uri])
        for user in lines:
            relations.setdefault(user, USES)
        return tuple(
            UserLines(user, _file_of(user), relations[user], tuple(lines.get(user, ())))
            for user in sorted(relations, key=_rank)
        )

    def lines_of(self, group: Group) -> tuple[FileLines, ...]:
        """The lines of a group by file: first files that name the owner, then code before tests."""
        lines = self._groups[group]
        order = sorted(lines, key=lambda uri: (uri not in self._near, *_rank(uri)))
        return tuple(FileLines(uri, tuple(sorted(lines[uri]))) for uri in order)


def _rank(uri: str) -> tuple[bool, str]:
    return called(uri, {}).standing is Standing.ASIDE, uri


def _last(uri: str) -> str:
    return uri.rpartition("/")[2].rpartition(".")[2]


def _numbers(source: bytes, names: Collection[str]) -> dict[int, None]:
    """The numbers of the lines with one of these names."""
    numbers: dict[int, None] = {}
    number, at = 1, 0
    for begin, _ in find_words(source, names):
        number += source.count(b"\n", at, begin)
        at = begin
        numbers[number] = None
    return numbers


def _lines_of(
    user: str, span: StoredSpan | None, numbers: Iterable[int], spans: Sequence[StoredSpan]
) -> list[int]:
    """The lines of a user among these numbers; if it has none, the first line of its definition."""
    if span is None:
        is_file = user == _file_of(user)
        return [number for number in numbers if is_file and _innermost(spans, number) is None]
    return [number for number in numbers if span.first <= number <= span.last] or [span.first]


def _text_of(knowledge: KnowledgeView, file: str) -> str | None:
    """The text of a file; None if it cannot be read."""
    try:
        return knowledge.read_resource(file, bytes_max=FILE_BYTES_MAX).text
    except MycelError:
        return None


def _aliases(code: bytes, names: Collection[str]) -> list[str]:
    """The names that imports of a file give to symbols with these names."""
    aliases: dict[str, None] = {}
    for _, end in find_words(code, names):
        alias = _ALIAS.match(code, end)
        if alias is not None:
            aliases[alias[1].decode()] = None
    return list(aliases)[:ALIASES_MAX]


def _innermost(spans: Sequence[StoredSpan], number: int) -> StoredSpan | None:
    """The smallest definition around a line."""
    around = (span for span in spans if span.first <= number <= span.last)
    return min(around, key=lambda span: (span.last - span.first, -len(span.name)), default=None)


def _first_line(span: StoredSpan, numbers: Iterable[int]) -> int:
    """The first of these lines that is in a definition; 0 if there is none."""
    return next((number for number in numbers if span.first <= number <= span.last), 0)
