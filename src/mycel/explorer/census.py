"""Counts of the whole graph: groups of nodes, links between groups, degrees.

A census of the live state is made once, by reading all concepts and links, and then follows the
journal: only elements that changed are read again. A link is counted out of the groups that its
ends had and into those that they have now; a node that changes its group takes its links with it.
A purge leaves no trace of what was there, so the census is made again after one.

Definitions and what else every graph has are no nodes here, as in the view `nodes` of the file.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from mycel.engine.missing_concepts import keeps_place
from mycel.explorer.folders import folder_of
from mycel.knowledge.uris import uri_of
from mycel.model.names import ACTORS, CORE_DOMAINS, META_TYPES
from mycel.model.state import State
from mycel.store.query import outline
from mycel.store.query.outline import ConceptLine, LinkLine
from mycel.store.query.reader import Reader

By = Literal["folder", "domain", "type"]
BYS: Final[tuple[By, ...]] = ("folder", "domain", "type")

MEMBERSHIP: Final = "belongs_to_domain"
_FURNITURE: Final = CORE_DOMAINS | ACTORS
_NONE: Final = 0
"""The number of no folder, no type: the concept is not there, or no node."""
CHANGES_SHARE_MAX: Final = 5
"""When more than one in so many elements has changed, the census is made again."""


class Grouping:
    """One way to put nodes into groups: the nodes in each, and the links between them."""

    def __init__(self) -> None:
        self.of: Final = array("q")
        """The group of each concept, at half its number."""
        self.nodes: Final[Counter[int]] = Counter()
        self.missing: Final[Counter[int]] = Counter()
        self.links: Final[Counter[tuple[int, int]]] = Counter()


class Census:
    """Counts of one state."""

    def __init__(self, reader: Reader) -> None:
        """Read all concepts and links of the state of a reader."""
        self.position = outline.position(reader)
        self.groupings: Final[dict[By, Grouping]] = {by: Grouping() for by in BYS}
        self.degrees: Final = array("i")
        """The number of links at each concept, at half its number."""
        self.missing: Final[set[int]] = set()
        """The placeholders."""
        self.relations: Final[Counter[int]] = Counter()
        """Links by predicate, except those among definitions and the like."""
        self.folders: Final[list[str]] = [""]
        """The names of folders; a folder's number is its place here."""
        self._numbers: Final[dict[str, int]] = {"": _NONE}
        self._membership: Final = reader.find_predicate(MEMBERSHIP) or -1
        self.lines: list[ConceptLine] | None = []
        """All nodes as they were read, until `take_lines` hands them on."""
        self._read_all(reader)

    def take_lines(self) -> list[ConceptLine]:
        """All nodes as they were read, once."""
        found, self.lines = self.lines or [], None
        return found

    # Reading all.

    def _read_all(self, reader: Reader) -> None:
        lines = self.lines = list(outline.concepts(reader))
        self._reserve(max((line.number for line in lines), default=0))
        for line in lines:
            self._enter(reader, line)
        ends = list(outline.links(reader))
        self._enter_domains(ends)
        for number in self._nodes():
            self._count_node(number, 1)
        degrees, folders = self.degrees, self.groupings["folder"].of
        for subject, predicate, object_ in ends:
            shown = False
            for end in (subject, object_):
                if not end & 1:
                    degrees[end >> 1] += 1
                    shown = shown or folders[end >> 1] != _NONE
            if shown or subject & object_ & 1:
                self.relations[predicate] += 1
        for grouping in self.groupings.values():
            of = grouping.of
            grouping.links.update(
                (of[subject >> 1], of[object_ >> 1])
                for subject, _, object_ in ends
                if not (subject | object_) & 1
                and folders[subject >> 1] != _NONE
                and folders[object_ >> 1] != _NONE
            )

    def _reserve(self, number: int) -> None:
        more = (number >> 1) + 1 - len(self.degrees)
        if more > 0:
            self.degrees.extend([0] * more)
            for grouping in self.groupings.values():
                grouping.of.extend([_NONE] * more)

    def _enter(self, reader: Reader, line: ConceptLine) -> None:
        """Set folder and type of a concept; none if it is no node."""
        type_name, slot = reader.type_name(line.type), line.number >> 1
        hidden = type_name in META_TYPES or (type_name, line.name) in _FURNITURE
        folder = "" if hidden else folder_of(uri_of(type_name, line.name))
        number = self._numbers.get(folder)
        if number is None:
            number = self._numbers[folder] = len(self.folders)
            self.folders.append(folder)
        self.groupings["folder"].of[slot] = number
        self.groupings["type"].of[slot] = _NONE if hidden else line.type
        if not hidden and keeps_place(type_name, line.name):
            self.missing.add(line.number)

    def _enter_domains(self, ends: Iterable[tuple[int, int, int]]) -> None:
        """Set the domain of nodes from links; of several, the one that was written first."""
        domains = self.groupings["domain"].of
        members = ((s, o) for s, p, o in ends if p == self._membership)
        for subject, domain in sorted(members, reverse=True):
            if not subject & 1 and self._is_node(subject):
                domains[subject >> 1] = domain

    def _is_node(self, number: int) -> bool:
        folders = self.groupings["folder"].of
        return number >> 1 < len(folders) and folders[number >> 1] != _NONE

    def _nodes(self) -> Iterator[int]:
        """The numbers of all nodes."""
        folders = self.groupings["folder"].of
        return (slot << 1 for slot, folder in enumerate(folders) if folder != _NONE)

    def _count_node(self, number: int, by: int) -> None:
        for grouping in self.groupings.values():
            group = grouping.of[number >> 1]
            grouping.nodes[group] += by
            if number in self.missing:
                grouping.missing[group] += by

    def _count_link(self, link: LinkLine, by: int) -> None:
        ends = link.subject, link.object
        shown = [not end & 1 and self._is_node(end) for end in ends]
        for end in ends:
            if not end & 1 and end >> 1 < len(self.degrees):
                self.degrees[end >> 1] += by
        if any(shown) or link.subject & link.object & 1:
            self.relations[link.predicate] += by
        if all(shown):
            for grouping in self.groupings.values():
                grouping.links[grouping.of[ends[0] >> 1], grouping.of[ends[1] >> 1]] += by

    # Following the journal.

    def follow(self, reader: Reader) -> list[ConceptLine] | None:
        """Count what changed since, up to the state of a reader of the live state.

        Returns the nodes that are new or changed. None if the census has to be made again: after a
        purge, or where most of the graph has changed; nothing is counted then.
        """
        changes = outline.changes_since(reader, self.position)
        if changes is None:
            return None
        size = len(self.degrees) + self.relations.total()
        if (len(changes.concepts) + len(changes.links)) * CHANGES_SHARE_MAX > size + 10_000:
            return None
        before = reader.at(State(self.position))
        lines = {line.number: line for line in outline.concepts_among(reader, changes.concepts)}
        old = {link.number: link for link in outline.links_among(before, changes.links)}
        new = {link.number: link for link in outline.links_among(reader, changes.links)}
        moving = {number for number in changes.concepts if self._moves(reader, number, lines)}
        moving |= {
            link.subject
            for link in (*old.values(), *new.values())
            if link.predicate == self._membership and not link.subject & 1
        }
        old |= {link.number: link for link in outline.links_at(before, moving)}
        new |= {link.number: link for link in outline.links_at(reader, moving)}
        for link in old.values():
            self._count_link(link, -1)
        self._reserve(max((*changes.concepts, *moving), default=0))
        for number in moving:
            self._clear(number)
        for line in outline.concepts_among(reader, moving):
            self._enter(reader, line)
        self._enter_domains((link.subject, link.predicate, link.object) for link in new.values())
        for number in moving:
            if self._is_node(number):
                self._count_node(number, 1)
        for link in new.values():
            self._count_link(link, 1)
        self.position = changes.position
        return list(lines.values())

    def _moves(self, reader: Reader, number: int, now: dict[int, ConceptLine]) -> bool:
        """True if a concept is new or gone, or has another type or folder."""
        line = now.get(number)
        if line is None or not self._is_node(number):
            return True
        type_name, slot = reader.type_name(line.type), number >> 1
        folder = self.folders[self.groupings["folder"].of[slot]]
        return (
            self.groupings["type"].of[slot] != line.type
            or folder != folder_of(uri_of(type_name, line.name))
            or (number in self.missing) != keeps_place(type_name, line.name)
        )

    def _clear(self, number: int) -> None:
        """Count a node out, if it is one."""
        if self._is_node(number):
            self._count_node(number, -1)
        self.missing.discard(number)
        for grouping in self.groupings.values():
            grouping.of[number >> 1] = _NONE
