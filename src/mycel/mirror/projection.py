"""The documents of a state of the graph, and those that a range of the journal changed.

Every live concept has a document, with the relations that leave it, except:

- placeholders of missing concepts, which only appear in relations;
- symbols, files and folders that only a bootstrap has written: the next run finds them again. If
  somebody else has described or linked one, it has a document with this content;
- definitions of types that a schema declares: they are in `schema/`, in the schema language;
- the core documents of every graph, unless somebody has changed them (`core`).

If KIP has written several concepts with one name, the document of the URI belongs to the node that
the URI names (`node_lookup`). The others have documents under `kip:Type/name`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mycel.engine.missing_concepts import keeps_place
from mycel.knowledge.bootstrap.ownership import values_of_others
from mycel.knowledge.bootstrap.project_graph import KEYS
from mycel.knowledge.bootstrap_stamp import AUTHOR_TEXT
from mycel.knowledge.node_lookup import NodeMatch, rank
from mycel.knowledge.uris import KIP, uri_of
from mycel.knowledge.vocabulary import STAMP
from mycel.migration import schema_in_force
from mycel.mirror.core import is_core, is_default
from mycel.mirror.documents import (
    LinkName,
    as_json,
    for_yaml,
    line_of,
    link_label,
    link_line,
    quote_path,
    render,
    scalar,
)
from mycel.mirror.paths import declaration_path, path_of
from mycel.model.names import META_TYPES
from mycel.model.values import EMPTY_OBJECT, own_metadata, parse_object
from mycel.schema.formatter import format_declared
from mycel.schema.stored_declaration import PG
from mycel.store.query import contents
from mycel.store.query.contents import StoredConcept, StoredLink
from mycel.store.query.reader import Reader

CONCEPTS_AT_ONCE: Final = 1_000
URIS_KEPT_MAX: Final = 100_000

_STAMP: Final = f'"{STAMP}":'
_RESERVED: Final = '"_'
"""The start of a key in JSON that only the engine writes; a text may start so too."""
_OBJECT: Final = 3
"""The place of the object in the row of a link."""
_DECLARED: Final = f'"{PG}":'


class File(NamedTuple):
    """A file of the mirror."""

    path: str
    content: bytes


class Projection:
    """The documents of one state."""

    def __init__(self, reader: Reader, *, is_whole: bool = False) -> None:
        self._reader: Final = reader
        self._is_whole: Final = is_whole
        """True if the core content of every graph is included."""
        self.uris: Final[dict[int, str]] = {}
        """The URIs of concepts that were read so far."""
        self._quoted: Final[dict[int, str]] = {}
        """The same URIs as JSON."""
        self._paths: Final[dict[int, str]] = {}
        self._targets: Final[dict[int, tuple[str, str]]] = {}
        """The names of concepts and the paths of their files, in the form of links."""
        self._words: Final[dict[int, str]] = {}
        """The names of predicates, as files spell them."""
        self._nests: Final = contents.has_links_on_links(reader)
        self._seconds: set[int] | None = None
        """Concepts whose name is the URI of another concept; None if they are looked up as
        needed."""

    # The whole state.

    def files(self) -> Iterator[File]:
        """All files, in no particular order; a thousand documents are in memory at once."""
        yield from self.declarations()
        shared = contents.shared_names(self._reader)
        self._seconds = self._second(contents.concepts_named(self._reader, shared))
        after = -1
        while rows := contents.page(self._reader, after, CONCEPTS_AT_ONCE):
            after = rows[-1].number
            yield from self._files(rows)

    def declarations(self) -> Iterator[File]:
        """A file for each type that a schema declares."""
        types = list(schema_in_force.read(self._reader).types)
        folded = Counter(type_name.name.casefold() for type_name in types)
        for type_name in types:
            path = declaration_path(type_name.name, is_shared=folded[type_name.name.casefold()] > 1)
            yield File(path, format_declared(type_name).encode())

    # A part of the state.

    def files_of(self, numbers: Collection[int]) -> Iterator[File]:
        """The files of some concepts."""
        yield from self._files(contents.concepts(self._reader, numbers))

    def owners(self, numbers: Iterable[int]) -> set[int]:
        """The concepts whose documents contain these elements; for a link, where it begins."""
        owners: set[int] = set()
        rest = set(numbers)
        while rest:
            owners |= {number for number in rest if not number & 1}
            links = [number for number in rest if number & 1]
            rest = {subject for _, subject, *_ in contents.links(self._reader, links)} - owners
        return owners

    def namesakes(self, numbers: Collection[int]) -> set[int]:
        """Concepts whose documents depend on these ones through a common name.

        They are all concepts that share a name with another one, these included, and the concepts
        with links to them.
        """
        names = {name for _, _, name in contents.names(self._reader, numbers) if ":" in name}
        rows = contents.concepts_named(self._reader, names)
        counts = Counter(row.name for row in rows)
        others = {row.number for row in rows if counts[row.name] > 1}
        return others | self.owners(contents.subjects_linked_to(self._reader, others))

    # Turning rows into files.

    def _files(self, rows: Iterable[StoredConcept]) -> Iterator[File]:
        by_number = {row.number: row for row in rows if not self._is_left_out(row)}
        links = self._links(by_number)
        self._learn([*by_number, *(row[_OBJECT] for link in links.values() for row in link)])
        for number, row in by_number.items():
            file = self._file(row, links.get(number, ()))
            if file is not None:
                yield file

    def _is_left_out(self, row: StoredConcept) -> bool:
        type_name = self._reader.type_name(row.type)
        if keeps_place(type_name, row.name):
            return True
        return type_name in META_TYPES and _DECLARED in row.attributes

    def _file(self, row: StoredConcept, links: Collection[StoredLink]) -> File | None:
        type_name = self._reader.type_name(row.type)
        attributes = parse_object(row.attributes)
        metadata = parse_object(row.metadata)
        if _RESERVED in row.metadata:
            metadata = own_metadata(metadata)
        if _STAMP in row.attributes and STAMP in attributes:
            keys = KEYS.get(type_name, frozenset())
            attributes = values_of_others(attributes, keys)
            if row.metadata == AUTHOR_TEXT:
                metadata = {}
                if not attributes and not links:
                    return None
        uri = self.uris[row.number]
        path = self._path(row.number)
        is_bare = not links and not metadata and not self._is_whole
        if is_bare and is_default(type_name, row.name, attributes, path):
            return None
        lines = [self._line(link, row.number) for link in links]
        body_links = self._body_links(row.number, path, links) if links else ()
        text = render(uri, type_name, attributes, metadata, lines, body_links).encode()
        is_left_out = not self._is_whole and is_core(path, text)
        return None if is_left_out else File(path, text)

    def _path(self, number: int) -> str:
        """The path of the file of a concept whose URI is known."""
        path = self._paths.get(number)
        if path is None:
            path = self._paths[number] = path_of(self.uris[number])
        return path

    def _body_links(self, owner: int, path: str, links: Collection[StoredLink]) -> list[str]:
        """The links of a body: the relations that lead from a concept to another one."""
        folder = quote_path(path[: path.rfind("/") + 1])
        lines = []
        for _, subject, predicate, object_, *_ in links:
            if subject != owner or object_ & 1:
                continue
            target = self._targets.get(object_)
            if target is None:
                quoted = quote_path(self._path(object_))
                target = self._targets[object_] = link_label(self.uris[object_]), quoted
            lines.append(link_line(self._words[predicate], *target, folder))
        return lines

    def _links(self, numbers: Collection[int]) -> dict[int, list[StoredLink]]:
        """The links in the files of some concepts, including links about these links."""
        by_root: dict[int, list[StoredLink]] = {}
        level: Mapping[int, int] = {number: number for number in numbers}
        while level:
            below: dict[int, int] = {}
            for row in contents.links_leaving(self._reader, level):
                number, subject, *_, metadata, version = row
                if metadata == AUTHOR_TEXT and version == 1:
                    continue  # Links of a bootstrap.
                root = level[subject]
                by_root.setdefault(root, []).append(row)
                if self._nests:
                    below[number] = root
            level = below
        return by_root

    def _line(self, row: StoredLink, owner: int) -> str:
        _, subject, predicate, object_, weight, attributes, metadata, _ = row
        word = self._words.get(predicate)
        if word is None:
            word = self._words[predicate] = scalar(self._reader.predicate_name(predicate))
        target = self._quoted.get(object_) or as_json(self._end(object_))
        if _RESERVED in metadata:
            metadata = as_json(own_metadata(parse_object(metadata)))
        return line_of(
            word,
            "" if subject == owner else as_json(self._link_name(subject)),
            target,
            weight,
            "" if attributes == EMPTY_OBJECT else for_yaml(attributes),
            "" if metadata == EMPTY_OBJECT else for_yaml(metadata),
        )

    def _end(self, number: int) -> str | LinkName:
        if number & 1:
            return self._link_name(number)
        if number not in self.uris:
            self._learn([number])
        return self.uris[number]

    def _link_name(self, number: int) -> LinkName:
        ((_, subject, predicate, object_, *_),) = contents.links(self._reader, [number])
        return {
            "source": self._end(subject),
            "relation": self._reader.predicate_name(predicate),
            "target": self._end(object_),
        }

    # URIs of concepts.

    def _learn(self, numbers: Iterable[int]) -> None:
        """Read the URIs of concepts that are not known."""
        unknown = {number for number in numbers if not number & 1} - self.uris.keys()
        if not unknown:
            return
        if len(self.uris) > URIS_KEPT_MAX:
            unknown |= self.uris.keys() & set(numbers)
            self.uris.clear()
            self._quoted.clear()
            self._paths.clear()
            self._targets.clear()
        rows = contents.names(self._reader, unknown)
        seconds = self._seconds
        if seconds is None:
            names = {name for _, _, name in rows if ":" in name}
            seconds = self._second(contents.concepts_named(self._reader, names))
        for number, type_number, name in rows:
            type_name = self._reader.type_name(type_number)
            uri = f"{KIP}:{type_name}/{name}" if number in seconds else uri_of(type_name, name)
            self.uris[number] = uri
            self._quoted[number] = as_json(uri)

    def _second(self, rows: Iterable[StoredConcept]) -> set[int]:
        """The concepts whose name is the URI of another concept, to which the document belongs."""
        by_name: dict[str, list[NodeMatch]] = {}
        for row in rows:
            type_name = self._reader.type_name(row.type)
            match = NodeMatch(row.number, type_name, keeps_place(type_name, row.name))
            by_name.setdefault(row.name, []).append(match)
        return {
            node_match.number
            for node_matches in by_name.values()
            for node_match in node_matches
            if len(node_matches) > 1 and node_match is not min(node_matches, key=rank)
        }


class FileChanges(NamedTuple):
    """The files that differ between two states."""

    added: list[File]
    changed: list[File]
    removed: list[str]
    moves: Sequence[tuple[str, str]] = ()
    """The old and the new URI of each concept whose file has moved."""

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    @property
    def written_count(self) -> list[File]:
        return self.added + self.changed


def changes(old: Reader, new: Reader, numbers: Collection[int]) -> FileChanges:
    """The files that may differ between two states, if only these elements have changed."""
    before, after = Projection(old), Projection(new)
    concepts = before.owners(numbers) | after.owners(numbers)
    concepts |= before.namesakes(concepts) | after.namesakes(concepts)
    was = {file.path: file for file in before.files_of(concepts)}
    written = list(after.files_of(concepts))
    if _are_definitions(old, concepts) or _are_definitions(new, concepts):
        was |= {file.path: file for file in before.declarations()}
        written += after.declarations()
    written.sort()
    moves = [
        (old_uri, new_uri)
        for number, old_uri in before.uris.items()
        if (new_uri := after.uris.get(number, old_uri)) != old_uri and path_of(old_uri) in was
    ]
    return FileChanges(
        [file for file in written if file.path not in was],
        [file for file in written if file.path in was and was[file.path] != file],
        sorted(was.keys() - {file.path for file in written}),
        sorted(moves),
    )


def _are_definitions(reader: Reader, numbers: Collection[int]) -> bool:
    types = {kind for _, kind, _ in contents.names(reader, numbers)}
    return any(reader.type_name(type_name) in META_TYPES for type_name in types)
