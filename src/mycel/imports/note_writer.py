"""Imported notes as nodes, below a folder of their source: `concept://shop/obsidian/ideas/login`.

A note that was changed in the graph keeps the change until its file changes too. A note that was
deleted stays deleted. A link to a note that does not exist is a relation to a missing concept, and
heals when the note is written. A note whose file is gone is archived, unless somebody has changed
it, and restored when the file is back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from mycel.engine.archive import ARCHIVED_BECAUSE, archive_element, restore_element
from mycel.imports.note_files import ImportedNote, NoteLink
from mycel.imports.turn_writer import segment
from mycel.imports.turns import ImportCounts
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.node_values import NewNode, NewRelation
from mycel.knowledge.uris import FILE, build
from mycel.knowledge.vocabulary import RESOURCE
from mycel.model.client_names import import_source_of
from mycel.model.elements import Element
from mycel.model.names import SYSTEM_ACTOR
from mycel.model.retention import is_kept
from mycel.store.index.lifetimes import ARCHIVED_AT
from mycel.store.query import authorship, lookup
from mycel.store.write.transaction import Transaction
from mycel.text.redaction import redact

BATCH_NOTES: Final = 500
DIGEST: Final = "import_digest"
"""The metadata key with the hash of a note's text in its source."""
LINKS: Final = "import_links"
"""The metadata key with the relations that the import wrote, each with its target."""
PLACE: Final = "import_place"
"""The metadata key with a hash of the path of the folder or file that a note was read from."""
GONE: Final = "its file is gone"
"""The reason for which the notes of files that are gone are archived."""
_RESERVED: Final = re.compile(r"[^A-Za-z0-9_]+")


class NoteWriter:
    """Writes the notes of one source into a graph."""

    def __init__(self, knowledge: Knowledge, source: str, counts: ImportCounts) -> None:
        self._knowledge, self._source = knowledge, source
        self._titles: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._place = ""
        self._present: set[str] = set()
        self.counts: Final = counts

    def _uri(self, path: str) -> str:
        parts = [self._source, *(part for part in path.split("/") if part not in ("", ".", ".."))]
        safe = "/".join(segment(part) if len(part) > 150 else part for part in parts)
        return self._knowledge.uri(re.sub(r"[\\\x00-\x1f\x7f-\x9f:]", "-", safe)).text

    def announce(self, notes: Iterable[ImportedNote]) -> None:
        """Remember the titles of notes, so that links find notes that are written later."""
        for note in notes:
            uri = self._uri(note.path)
            for title in (note.title, note.path, note.path.rpartition("/")[2]):
                self._titles.setdefault(title.lower(), uri)
            for alias in note.properties.get("aliases") or ():
                self._aliases.setdefault(str(alias).lower(), uri)

    def enter(self, file: Path) -> None:
        """Begin with a folder or file, from which the next notes are read."""
        self._place = sha256(os.fsencode(file.resolve())).hexdigest()[:16]
        self._present.clear()

    def archive_gone(self, paths: Iterable[str] = ()) -> None:
        """Archive notes of this place that this import has not written, unless they were edited.

        `paths` are the paths of notes that exist and could not be read.
        """
        present = self._present | set(map(self._uri, paths))
        if not present:
            return  # A folder without notes is probably not mounted.
        with self._knowledge.db.reading() as reader:
            below = lookup.named_below(reader, self._knowledge.uri(self._source).text)
            absent = [number for number, _, name in below if name not in present]
            own = [
                number
                for number, element in reader.elements(absent).items()
                if element.metadata.get(PLACE) == self._place
                and element.metadata.get(ARCHIVED_AT) is None
            ]
            authors = authorship.writers(reader, own)
        numbers = [number for number in own if _is_as_imported(authors[number])]

        def archive(tx: Transaction) -> None:
            for element in tx.reader.elements(numbers).values():
                if not is_kept(element.metadata):
                    self.counts.archived += archive_element(tx, element, GONE)

        if numbers:
            self._knowledge.db.write(archive, message=f"import {self._source}: files are gone")

    def _restore(self, elements: Mapping[int, Element]) -> set[int]:
        """Restore notes whose files exist again, and return the numbers of these elements."""
        back = [
            number
            for number, element in elements.items()
            if element.metadata.get(ARCHIVED_AT) is not None
            and element.metadata.get(ARCHIVED_BECAUSE) == GONE
        ]

        def restore(tx: Transaction) -> None:
            for element in tx.reader.elements(back).values():
                restore_element(tx, element)

        if back:
            self._knowledge.db.write(restore, message=f"import {self._source}: files are back")
        return set(back)

    def write(self, notes: Sequence[ImportedNote]) -> None:
        """Write notes that are new or have changed, with their links, as one transaction."""
        uris = {self._uri(note.path): note for note in notes}
        self._present.update(uris)
        with self._knowledge.db.reading() as reader:
            numbers = {name: number for number, _, name in lookup.find_by_name(reader, list(uris))}
            removed = lookup.former_names(reader, [uri for uri in uris if uri not in numbers])
            before = reader.elements(numbers.values())
        restored = self._restore(before)
        if restored:
            with self._knowledge.db.reading() as reader:
                before = reader.elements(numbers.values())
        nodes: list[NewNode] = []
        relations: list[NewRelation] = []
        stale: list[tuple[str, str, str]] = []
        moved: list[int] = []
        resources: dict[str, NewNode] = {}
        for uri, note in uris.items():
            element = before.get(numbers.get(uri, -1))
            digest = _digest(note)
            metadata = {} if element is None else element.metadata
            if element is None and uri in removed:
                self.counts.deleted += 1
            elif metadata.get(DIGEST) == digest:
                self.counts.written += numbers[uri] in restored
                self.counts.known += numbers[uri] not in restored
                if metadata.get(PLACE) != self._place:
                    moved.append(numbers[uri])
            else:
                links: dict[tuple[str, str], None] = {}
                for link in note.links:
                    target = self._target(link)
                    if target != uri:
                        links[link.relation, target] = None
                    if link.is_file:
                        resources[target] = NewNode(target, type=RESOURCE)
                there_before = self._relations(uri) if element is not None else set()
                recorded = metadata.get(LINKS)
                former = {
                    (relation, target)
                    for text in (recorded if isinstance(recorded, list) else ())
                    for relation, _, target in [str(text).partition(" ")]
                }
                stale += [(uri, *pair) for pair in sorted((former & there_before) - links.keys())]
                # Links that others wrote before are not marked as links of the import.
                own = [pair for pair in links if pair in former or pair not in there_before]
                nodes.append(self._node(uri, note, digest, [" ".join(pair) for pair in own]))
                relations += [NewRelation(uri, *pair) for pair in links]
        message = f"import {self._source}"
        if stale:
            self._knowledge.delete_many(
                (), relations=stale, reason="no longer in its file", message=message
            )
        if moved:
            self._move(moved, message)
        if nodes:
            new = [*nodes, *resources.values()]
            outcome = self._knowledge.remember(new, relations, message=message)
            self.counts.written += len(nodes)
            self.counts.links += sum(relation.changed for relation in outcome.relations)

    def _move(self, numbers: Sequence[int], message: str) -> None:
        """Record that notes are now read from another place."""

        def update(tx: Transaction) -> None:
            for element in tx.reader.elements(numbers).values():
                tx.update_found(element, metadata={PLACE: self._place})

        self._knowledge.db.write(update, message=message)

    def _relations(self, uri: str) -> set[tuple[str, str]]:
        return {
            (relation.relation, relation.target)
            for relation in self._knowledge.relations(uri)
            if relation.source == uri
        }

    def _target(self, link: NoteLink) -> str:
        if link.is_file:
            return build(FILE, self._knowledge.workspace, f"{self._source}/{link.target}").text
        name = link.target.lower()
        return self._titles.get(name) or self._aliases.get(name) or self._uri(link.target)

    def _node(self, uri: str, note: ImportedNote, digest: str, links: list[str]) -> NewNode:
        text = redact(note.text)
        self.counts.secrets += text.kinds
        properties = {
            key: self._clean(value)
            for name, value in note.properties.items()
            if (key := _RESERVED.sub("_", name).strip("_")) and not key[0].isdigit()
        }
        metadata: dict[str, Any] = {
            "source": self._source,
            DIGEST: digest,
            LINKS: links,
            PLACE: self._place,
        }
        if note.time is not None:
            metadata["observed_at"] = note.time
        return NewNode(uri, redact(note.title).text, text.text, note.type, properties, metadata)

    def _clean(self, value: Any) -> Any:
        """A property without secrets."""
        match value:
            case str():
                redacted = redact(value)
                self.counts.secrets += redacted.kinds
                return redacted.text
            case list():
                return [self._clean(item) for item in value]
            case Mapping():
                return {key: self._clean(item) for key, item in value.items()}
            case _:
                return value


def _is_as_imported(authors: Mapping[str, int]) -> bool:
    """True if an import wrote the last version of a note, versions by upkeep aside."""
    people = {actor: time for actor, time in authors.items() if actor != SYSTEM_ACTOR}
    return bool(people) and bool(import_source_of(max(people, key=people.__getitem__)))


def _digest(note: ImportedNote) -> str:
    text = "\0".join((note.title, note.text, repr(sorted(note.properties.items(), key=str))))
    return sha256(text.encode(errors="replace")).hexdigest()[:16]
