"""Computes the nodes and relations that the files of a project should have.

file://ws/src/a.py             a file, of the type Resource
concept://ws/src               a folder, of the type Concept
concept://ws/src/a.py/Cart.add a symbol, of the type Symbol
concept://ws/docs/a.md/usage   a section, of the type Section
concept://ws/tags/idea         a tag, of the type Tag
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, NamedTuple, assert_never

import orjson

from mycel.errors import MycelError
from mycel.knowledge import vocabulary as words
from mycel.knowledge.bootstrap.limits import EXTERNAL_MAX
from mycel.knowledge.code.file_kinds import detect
from mycel.knowledge.code.module_paths import outward
from mycel.knowledge.code.relation_values import SourceRelations
from mycel.knowledge.code.source_facts import FileFacts, Section, Symbol
from mycel.knowledge.source_files.file_facts import FileRead, is_readme
from mycel.knowledge.uris import build
from mycel.knowledge.vocabulary import CONCEPT, RESOURCE
from mycel.model.limits import NAME_BYTES_MAX

AUTHORS: Final = "authors"
"""The attribute with the authors of a file or folder."""
RELATION_KEYS: Final = frozenset({"external_imports", "external_links", "note"})
FILE_KEYS: Final = RELATION_KEYS | {
    "file_type", "extension", "size_bytes", "line_count", "mime_type", "last_modified",
    "aliases", "tags", "front_matter", AUTHORS,
}  # fmt: skip
FOLDER_KEYS: Final = frozenset(
    ("name", "content", "node_type", "file_count", "total_size", "depth", AUTHORS)
)
SYMBOL_KEYS: Final = frozenset(("name", "kind", "signature", "doc", "line", "end_line"))
SECTION_KEYS: Final = frozenset(("name", "heading", "content", "level", "line", "end_line"))
TAG_KEYS: Final = frozenset(("name",))
KEYS: Final = {
    words.RESOURCE: FILE_KEYS,
    words.CONCEPT: FOLDER_KEYS,
    words.SYMBOL: SYMBOL_KEYS,
    words.SECTION: SECTION_KEYS,
    words.TAG: TAG_KEYS,
}
"""The attributes that a bootstrap writes, by the type of the node."""
PACKAGE: Final = "pkg:"
"""The prefix of the URIs of packages outside the project."""

_PLAIN: Final = re.compile(r"[\w.$!@~-]+", re.ASCII)
_DOCUMENTS: Final = frozenset(("markdown", "restructuredtext", "asciidoc"))


Authors = Sequence[Mapping[str, Any]]
"""The authors of a file or folder. Each has a name, the number of commits, and the day of the
last."""


class Wanted(NamedTuple):
    """The wanted state of a node."""

    uri: str
    type: str
    attributes: dict[str, Any]
    keys: frozenset[str]
    """All attributes that a bootstrap writes for nodes of this type."""
    stamp: dict[str, Any] | None = None
    """The state of the file, by which the next run sees if it has changed."""


class WantedRelation(NamedTuple):
    """A wanted relation, by the URIs of its ends."""

    source: str
    relation: str
    target: str
    weight: float
    is_missing: bool = False
    """True if the target does not exist, so that a placeholder takes its place."""


class Totals(NamedTuple):
    """The number and size of the files below a folder."""

    files: int = 0
    size: int = 0


class Namer:
    """The URIs of one workspace. Each is computed only once.

    `file` and `folder` return the URI of a path. The URI of a folder with the path of a file is the
    prefix of the URIs of its symbols. Both raise InvalidId or ConstraintViolation for a path that
    cannot be part of a URI.
    """

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self.files_root: Final = f"file://{workspace}"
        self.file: Final = cache(lambda path: _checked(build("file", workspace, path).text))
        self.folder: Final = cache(lambda path: build("concept", workspace, path).text)

    def symbol(self, path: str, qualified: str) -> str:
        """The URI of a symbol; "" for a name that fits into no URI."""
        if not _PLAIN.fullmatch(qualified) or qualified in (".", ".."):
            return self._odd_symbol(path, qualified)
        uri = f"{self.folder(path)}/{qualified}"
        return uri if len(uri) <= NAME_BYTES_MAX // 4 else self._odd_symbol(path, qualified)

    def section(self, path: str, slug: str) -> str:
        """The URI of a section; "" for a name that fits into no URI."""
        try:
            return _checked(build("concept", self._workspace, f"{path}/{slug}").text)
        except MycelError:
            return ""

    def concept(self, path: str) -> str:
        """The URI of a concept that a document names; "" for a name that fits into no URI."""
        try:
            uri = _checked(build("concept", self._workspace, path).text)
        except MycelError:
            return ""
        return uri if uri != self.folder("") else ""

    def _odd_symbol(self, path: str, qualified: str) -> str:
        try:
            # `operator/` of C++ has a slash, which would separate two parts of a path.
            name = qualified.replace("/", "∕")
            uri = _checked(build("concept", self._workspace, f"{path}/{name}").text)
        except MycelError:
            return ""
        return uri if uri.startswith(f"{self.folder(path)}/") else ""


def _checked(uri: str) -> str:
    if len(uri.encode()) > NAME_BYTES_MAX:
        raise MycelError("the path is too long")
    return uri


def totals(sizes: Mapping[str, int]) -> dict[str, Totals]:
    """The number and size of the files below each folder."""
    files: Counter[str] = Counter({"": 0})
    total: Counter[str] = Counter()
    for path, size in sizes.items():
        for folder in outward(posixpath.dirname(path), "/"):
            files[folder] += 1
            total[folder] += size
    return {folder: Totals(count, total[folder]) for folder, count in files.items()}


def wanted_folder(
    namer: Namer, path: str, below: Totals, readme: str, root_name: str, authors: Authors = ()
) -> Wanted:
    """The node of a folder."""
    attributes: dict[str, Any] = {
        "name": path.rpartition("/")[2] or root_name,
        "node_type": "directory",
        "file_count": below.files,
        "total_size": below.size,
        "depth": path.count("/") + 1 if path else 0,
    }
    if readme:
        attributes["content"] = readme
    if authors:
        attributes[AUTHORS] = list(authors)
    return Wanted(namer.folder(path), CONCEPT, attributes, FOLDER_KEYS)


def wanted_file(
    namer: Namer, read: FileRead, relations: SourceRelations, version: int, authors: Authors = ()
) -> Wanted:
    """The node of a file."""
    attributes: dict[str, Any] = {
        "file_type": read.file_type,
        "extension": posixpath.splitext(read.path)[1].lower(),
        "size_bytes": read.size,
        "mime_type": read.mime_type,
        "last_modified": _moment(read.mtime_ns),
    }
    if read.line_count is not None:
        attributes["line_count"] = read.line_count
    attributes |= relation_attributes(relations, read.facts.note if read.facts is not None else "")
    if read.facts is not None:
        attributes |= _note_attributes(read.facts)
    if authors:
        attributes[AUTHORS] = list(authors)
    stamp = {"size": read.size, "mtime_ns": read.mtime_ns, "hash": read.hash, "version": version}
    return Wanted(namer.file(read.path), RESOURCE, attributes, FILE_KEYS, stamp)


def _note_attributes(facts: FileFacts) -> dict[str, Any]:
    """The properties that a note defines itself."""
    matter = orjson.loads(facts.front_matter) if facts.front_matter else {}
    attributes = {"aliases": list(facts.aliases), "tags": list(facts.tags), "front_matter": matter}
    return {key: value for key, value in attributes.items() if value}


def relation_attributes(relations: SourceRelations, note: str) -> dict[str, Any]:
    """The attributes about relations to the outside, and about missing parts.

    These are the outside modules and pages that the file refers to, and a sentence on parts of the
    file that were left out.
    """
    attributes: dict[str, Any] = {
        "external_imports": list(relations.external[:EXTERNAL_MAX]),
        "external_links": list(relations.external_links[:EXTERNAL_MAX]),
        "note": note or relations.note,
    }
    return {key: value for key, value in attributes.items() if value}


def _moment(mtime_ns: int) -> str:
    try:
        moment = datetime.fromtimestamp(mtime_ns // 1_000_000_000, UTC)
    except (ValueError, OverflowError, OSError):  # The time is outside of the calendar.
        return ""
    return moment.isoformat().replace("+00:00", "Z")


def wanted_symbols(namer: Namer, read: FileRead) -> Iterator[Wanted]:
    """The nodes of the symbols of a file."""
    for symbol in read.facts.symbols if read.facts is not None else ():
        uri = namer.symbol(read.path, symbol.qualified)
        if uri:
            stamp = {"hash": symbol.hash}
            yield Wanted(uri, words.SYMBOL, _symbol_attributes(symbol), SYMBOL_KEYS, stamp)


def _symbol_attributes(symbol: Symbol) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "name": symbol.name,
        "kind": symbol.kind,
        "line": symbol.line,
        "end_line": symbol.end_line,
    }
    if symbol.signature:
        attributes["signature"] = symbol.signature
    if symbol.doc:
        attributes["doc"] = symbol.doc
    return attributes


def wanted_sections(namer: Namer, read: FileRead) -> Iterator[Wanted]:
    """The nodes of the sections of a document."""
    for section in read.facts.sections if read.facts is not None else ():
        uri = namer.section(read.path, section.slug)
        if uri:
            yield Wanted(uri, words.SECTION, _section_attributes(section), SECTION_KEYS)


def _section_attributes(section: Section) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "name": section.name,
        "heading": section.heading,
        "level": section.level,
    }
    if section.text:
        attributes["content"] = section.text
    if section.line:
        attributes |= {"line": section.line, "end_line": section.end_line}
    return attributes


def wanted_tags(namer: Namer, relations: SourceRelations) -> Iterator[Wanted]:
    """The nodes of the tags of a note, and of the outside packages that a manifest names."""
    for relation in relations.texts:
        name = relation.target.path
        if relation.target.kind == "package":
            yield Wanted(name, RESOURCE, {"file_type": "package"}, FILE_KEYS)
        uri = _tag_uri(namer, name) if relation.target.kind == "tag" else ""
        if uri:
            yield Wanted(uri, words.TAG, {"name": name}, TAG_KEYS)


def _tag_uri(namer: Namer, tag: str) -> str:
    # Tags that differ only in case are one tag.
    return namer.concept(f"tags/{tag.casefold()}")


def contains(namer: Namer, path: str, *, is_folder: bool) -> WantedRelation | None:
    """The relation from a folder to a file or folder directly in it; None for the root."""
    if not path:
        return None
    above = namer.folder(posixpath.dirname(path))
    if is_folder:
        return WantedRelation(above, words.CONTAINS, namer.folder(path), words.FOLDER_COST)
    cost = words.README_COST if is_readme(path) else words.FILE_COST
    return WantedRelation(above, words.CONTAINS, namer.file(path), cost)


def defined_in(namer: Namer, path: str, symbols: tuple[Symbol, ...]) -> Iterator[WantedRelation]:
    """Relations from a file to its symbols, and from symbols to those inside them."""
    uris = {symbol.qualified: namer.symbol(path, symbol.qualified) for symbol in symbols}
    for qualified, uri in uris.items():
        if not uri:
            continue
        holder = uris.get(qualified.rpartition(".")[0])
        if holder:
            yield WantedRelation(holder, words.DEFINES, uri, words.MEMBER_COST)
        else:
            yield WantedRelation(namer.file(path), words.DEFINES, uri, words.SYMBOL_COST)


def sections_in(namer: Namer, path: str, sections: tuple[Section, ...]) -> Iterator[WantedRelation]:
    """Relations from a document to its sections, and from sections to their subsections."""
    file = namer.file(path)
    is_first = True
    for section in sections:
        uri = namer.section(path, section.slug)
        if not uri:
            continue
        yield WantedRelation(uri, words.SECTION_OF, file, words.SECTION_OF_COST)
        holder = namer.section(path, section.parent) if section.parent else ""
        if holder:
            yield WantedRelation(uri, words.SECTION_OF, holder, words.SECTION_OF_COST)
        cost = words.BEGINNING_COST if is_first else words.SECTION_COST
        yield WantedRelation(holder or file, words.CONTAINS, uri, cost)
        is_first = False


def text_relations(
    namer: Namer, relations: SourceRelations, folders: Mapping[str, object]
) -> Iterator[WantedRelation]:
    """The links and mentions of the sections of a file, and its tags."""
    file_uri = namer.file(relations.path)
    for section, relation, (kind, path, name) in relations.texts:
        source = namer.section(relations.path, section) if section else file_uri
        match kind:
            case "path":
                target = namer.folder(path) if path in folders else namer.file(path)
            case "symbol":
                target = namer.symbol(path, name)
            case "section":
                target = namer.section(path, name)
            case "missing":
                target = namer.concept(path)
            case "tag":
                target = _tag_uri(namer, path)
            case "package":
                target = path
            case _:
                assert_never(kind)
        if source and target and source != target:
            is_missing = kind == "missing"
            yield WantedRelation(source, relation, target, _TEXT_COSTS[relation], is_missing)


_TEXT_COSTS: Final = {
    words.REFERENCES: words.REFERENCE_COST,
    words.NAMES: words.NAME_COST,
    words.TAGGED: words.TAG_COST,
    words.DEPENDS_ON: words.DEPENDENCY_COST,
}


def code_relations(
    namer: Namer, relations: SourceRelations, folders: Mapping[str, object]
) -> Iterator[WantedRelation]:
    """The relations that are written in a file, except those to its own symbols."""
    file_uri = namer.file(relations.path)
    for imported in relations.imports:
        yield WantedRelation(file_uri, words.IMPORTS, namer.file(imported), words.IMPORT_COST)
    for relation, cost, pairs in (
        (words.CALLS, words.CALL_COST, relations.calls),
        (words.MAY_CALL, words.MAY_CALL_COST, relations.may_calls),
        (words.USES, words.USE_COST, relations.uses),
        (words.EXTENDS, words.EXTENDS_COST, relations.extends),
    ):
        for pair in pairs:
            place = pair.source
            source = namer.symbol(place.path, place.qualified) if place.qualified else file_uri
            target = namer.symbol(pair.target.path, pair.target.qualified)
            if source and target and source != target:
                yield WantedRelation(source, relation, target, cost)
    for tested in relations.tests:
        yield WantedRelation(namer.file(tested), words.TESTED_BY, file_uri, words.TEST_COST)
    for link in relations.links:
        is_folder = link in folders
        target = namer.folder(link) if is_folder else namer.file(link)
        yield WantedRelation(file_uri, words.REFERENCES, target, words.REFERENCE_COST)
        if is_folder or detect(link).language not in _DOCUMENTS:
            yield WantedRelation(target, words.DOCUMENTED_BY, file_uri, words.DOCUMENT_COST)
