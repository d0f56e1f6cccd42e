"""Counts of the whole graph: groups of nodes, links between groups, degrees.

Nodes are grouped by type, by domain, and by shelf. A shelf is a folder with everything below it. If
the inner folders of a folder are shelves of their own, it has only the nodes directly in the folder
(`folders`). A graph may have as many folders as nodes, but only some dozens of shelves.

A census of the live state is made once, by reading all concepts and links. It then follows the
journal: only changed elements are read again. A link is subtracted from the groups that its ends
had, and added to the groups that they have now. If a node changes its group, its links move with
it. A purge leaves no trace of the purged element, so the census is made again after it.

Definitions and other elements that every graph has do not count as nodes, as in the view `nodes` of
the file.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from mycel.engine.missing_concepts import MISSING, MISSING_ENTITY, keeps_place
from mycel.explorer import limits
from mycel.explorer.folders import FolderTree, concept_folder, parent_of
from mycel.model.names import ACTORS, CORE_DOMAINS, META_TYPES
from mycel.model.state import State
from mycel.store.query import outline
from mycel.store.query.outline import ConceptLine, LinkLine
from mycel.store.query.reader import Reader

if TYPE_CHECKING:
    from numpy.typing import NDArray

By = Literal["folder", "domain", "type"]
BYS: Final[tuple[By, ...]] = ("folder", "domain", "type")

MEMBERSHIP: Final = "belongs_to_domain"
_CORE_CONCEPTS: Final = CORE_DOMAINS | ACTORS
_SPECIAL: Final = {MISSING, MISSING_ENTITY, *(type_name for type_name, _ in _CORE_CONCEPTS)}
"""Types with concepts that are placeholders, or part of every graph."""
_NONE: Final = 0
"""The number for no folder and no type: the concept does not exist, or is no node."""
_SHELF_BITS: Final = 16
"""The bits for the number of a shelf; there are far fewer shelves."""
GROWTH_NODES: Final = 100
"""A graph may grow by at least this many nodes before the shelves are chosen again."""
ENTRIES_READ: Final = 50_000
"""Up to this many journal entries beyond the size of the graph are followed. After more, the
census is made again."""
CHANGES_SHARE_MAX: Final = 5
"""When more than one in this many elements has changed, the census is made again."""


class _Kind(NamedTuple):
    """A type of concepts, as the census needs it."""

    name: str
    is_special: bool
    """True if not all of its concepts are ordinary nodes."""


class Grouping:
    """One way to put nodes into groups: the nodes in each, and the links between them."""

    def __init__(self) -> None:
        self.of: Final = array("i")
        """The group of each concept; half the number of the concept is its index."""
        self.nodes: Final[Counter[int]] = Counter()
        self.missing: Final[Counter[int]] = Counter()
        self.links: Counter[tuple[int, int]] | None = None
        """The links between groups, counted when they are first needed."""


class Census:
    """Counts of one state."""

    def __init__(self, reader: Reader) -> None:
        """Read all concepts and links of the state of a reader."""
        self.position = reader.position
        self.types: Final = Grouping()
        self.domains: Final = Grouping()
        """Nodes by domain; a group is half the number of the concept of a domain."""
        self.shelves: Final = Grouping()
        self._groupings: Final = (self.types, self.domains, self.shelves)
        self.degrees: Final = array("i")
        """The number of links at each concept; half the number of the concept is its index."""
        self.missing: Final[set[int]] = set()
        """The numbers of the placeholders."""
        self.relations: Final[Counter[int]] = Counter()
        """The number of links by predicate, without links among definitions and other core
        elements."""
        self.folder_of: Final = array("i")
        """The folder of each concept; half the number of the concept is its index."""
        self.folders: Final[list[str]] = [""]
        """The names of folders; the number of a folder is its index here."""
        self._numbers: Final[dict[str, int]] = {"": _NONE}
        self.shelf_names: Final[list[tuple[str, bool]]] = [("", False)]
        """The folder of each shelf, and True if the shelf has everything below the folder."""
        self._shelf_numbers: Final[dict[str, int]] = {}
        self._shelf_of: Final = array("i", (_NONE,))
        """The number of the shelf of each folder, by the number of the folder."""
        self._membership: Final = reader.find_predicate(MEMBERSHIP) or -1
        self._kinds: Final[dict[int, _Kind]] = {}
        self._links_end = outline.links_end(reader)
        """The number that the next new link gets."""
        self._is_divided = False
        self._size = 0
        """The number of nodes at the time when the shelves were chosen."""
        self.lines: list[ConceptLine] | None = []
        """All nodes as they were read; `take_lines` returns and drops them."""
        self._read_all(reader)

    def take_lines(self) -> list[ConceptLine]:
        """All nodes as they were read; only the first call returns them."""
        concept_lines, self.lines = self.lines or [], None
        return concept_lines

    # Reading all.

    def _read_all(self, reader: Reader) -> None:
        lines = self.lines = list(outline.concepts(reader))
        self._reserve(max((line.number for line in lines), default=0))
        for line in lines:
            self._enter(reader, line)
        self._divide()
        # Imported late: it takes long to load. For a million links it counts ten times as fast as
        # Python.
        import numpy as np  # noqa: PLC0415

        subjects, predicates, objects = columns = outline.link_columns(reader)
        members = predicates == self._membership
        self._enter_domains(zip(*(column[members].tolist() for column in columns), strict=True))
        slots = [slot for slot, folder in enumerate(self.folder_of) if folder != _NONE]
        for slot in slots:
            self.shelves.of[slot] = self._shelf_of[self.folder_of[slot]]
        for grouping in self._groupings:
            grouping.nodes.update(map(grouping.of.__getitem__, slots))
            grouping.missing.update(grouping.of[number >> 1] for number in self.missing)
        self._size = len(slots)
        # Ends with odd numbers are links.
        between = (subjects | objects) & 1 == 0
        from_, to = subjects[between] >> 1, objects[between] >> 1
        hidden = np.zeros(len(self.degrees), bool)
        hidden[[line.number >> 1 for line in lines if not self._is_node(line.number)]] = True
        self.relations.update(_counted(predicates))
        self.relations.subtract(_counted(predicates[between][hidden[from_] & hidden[to]]))
        for ends in (subjects, objects):
            linked = np.bincount(ends[ends & 1 == 0] >> 1, minlength=len(self.degrees))
            for slot in np.flatnonzero(linked).tolist():
                self.degrees[slot] += int(linked[slot])
        of = np.array(self.shelves.of, np.int64)
        pairs = _counted(of[from_] << _SHELF_BITS | of[to])
        low = (1 << _SHELF_BITS) - 1
        self.shelves.links = Counter(
            {
                (pair >> _SHELF_BITS, pair & low): count
                for pair, count in pairs.items()
                if pair >> _SHELF_BITS and pair & low
            }
        )

    def links_between(self, grouping: Grouping, reader: Reader) -> Counter[tuple[int, int]]:
        """The links between groups; the reader shows the state of this census."""
        if grouping.links is None:
            of, folders = grouping.of, self.folder_of
            grouping.links = Counter(
                (of[s >> 1], of[o >> 1])
                for s, _, o in outline.links(reader)
                if not (s | o) & 1 and folders[s >> 1] and folders[o >> 1]
            )
        return grouping.links

    def _divide(self) -> None:
        """Choose the shelves, and assign every folder to one."""
        inside = Counter(folder for folder in self.folder_of if folder != _NONE)
        tree = FolderTree({self.folders[number]: count for number, count in inside.items()})
        for folder, is_whole in tree.groups(limits.GROUPS_WANTED, limits.GROUPS_MAX).items():
            self._add_shelf(folder, is_whole=is_whole)
        for folder in self.folders[1:]:
            self._shelf_of.append(self._shelf(folder))
        self._is_divided = True

    def _add_shelf(self, folder: str, *, is_whole: bool) -> int:
        number = self._shelf_numbers[folder] = len(self.shelf_names)
        self.shelf_names.append((folder, is_whole))
        return number

    def _shelf(self, folder: str) -> int:
        """The shelf of a folder; a folder in a new part of the graph gets a new shelf."""
        around: str | None = folder
        outermost = folder
        while around is not None:
            number = self._shelf_numbers.get(around)
            if number is not None:
                return number
            outermost = around
            around = parent_of(around)
        return self._add_shelf(outermost, is_whole=True)

    def _reserve(self, number: int) -> None:
        more = (number >> 1) + 1 - len(self.degrees)
        if more > 0:
            for of in (self.degrees, self.folder_of, *(group.of for group in self._groupings)):
                of.extend([_NONE] * more)

    def _enter(self, reader: Reader, line: ConceptLine) -> None:
        """Set folder and type of a concept; neither if it is no node."""
        number, type_number, name, _ = line
        kind = self._kinds.get(type_number) or self._kind(reader, type_number)
        if kind.is_special:
            if kind.name in META_TYPES or (kind.name, name) in _CORE_CONCEPTS:
                return
            if keeps_place(kind.name, name):
                self.missing.add(number)
        # Most names are URIs with a path; the folder is the part before the last slash.
        head, _, last = name.rpartition("/")
        folder = self._numbers.get(head) if "://" in head and "#" not in last else None
        if folder is None:
            folder = self._folder_number(concept_folder(kind.name, name))
        slot = number >> 1
        self.folder_of[slot] = folder
        self.types.of[slot] = type_number
        if self._is_divided:
            self.shelves.of[slot] = self._shelf_of[folder]

    def _kind(self, reader: Reader, number: int) -> _Kind:
        name = reader.type_name(number)
        is_special = name in META_TYPES or name in _SPECIAL
        kind = self._kinds[number] = _Kind(name, is_special)
        return kind

    def _folder_number(self, folder: str) -> int:
        number = self._numbers.get(folder)
        if number is None:
            number = self._numbers[folder] = len(self.folders)
            self.folders.append(folder)
            if self._is_divided:  # Otherwise all folders get their shelves together.
                self._shelf_of.append(self._shelf(folder))
        return number

    def _enter_domains(self, ends: Iterable[tuple[int, int, int]]) -> None:
        """Set the domain of nodes from links; of several domains, the one linked first."""
        members = ((s, o) for s, p, o in ends if p == self._membership)
        for subject, domain in sorted(members, reverse=True):
            if not subject & 1 and self._is_node(subject):
                self.domains.of[subject >> 1] = domain >> 1

    def _is_node(self, number: int) -> bool:
        slot = number >> 1
        return slot < len(self.folder_of) and self.folder_of[slot] != _NONE

    def _count_node(self, number: int, by: int) -> None:
        for grouping in self._groupings:
            group = grouping.of[number >> 1]
            grouping.nodes[group] += by
            if number in self.missing:
                grouping.missing[group] += by

    def _count_link(self, link: LinkLine, by: int) -> None:
        ends = link.subject, link.object
        flags = [not end & 1 and self._is_node(end) for end in ends]
        for end in ends:
            if not end & 1 and end >> 1 < len(self.degrees):
                self.degrees[end >> 1] += by
        if any(flags) or (link.subject | link.object) & 1:
            self.relations[link.predicate] += by
        if all(flags):
            for grouping in self._groupings:
                if grouping.links is not None:
                    grouping.links[grouping.of[ends[0] >> 1], grouping.of[ends[1] >> 1]] += by

    def most_linked(self, limit: int) -> list[int]:
        """The numbers of the nodes with the most links."""
        slots = [slot for slot, folder in enumerate(self.folder_of) if folder != _NONE]
        best = nlargest(limit, slots, key=lambda slot: (self.degrees[slot], -slot))
        return [slot << 1 for slot in best]

    # Following the journal.

    def follow(self, reader: Reader) -> list[ConceptLine] | None:
        """Bring the counts up to the position of a reader of the live state.

        A reader of an older position changes nothing.

        Returns the nodes that are new or changed. Returns None, and counts nothing, if the census
        has to be made again: after a purge, or if most of the graph has changed. When a graph has
        grown to twice its size, its shelves are chosen again.
        """
        if self.types.nodes.total() > 2 * self._size + GROWTH_NODES:
            return None
        if reader.position <= self.position:
            return []
        size = len(self.degrees) + self.relations.total()
        if reader.position - self.position > size + ENTRIES_READ:
            return None
        changes = outline.changes_since(reader, self.position)
        if changes is None:
            return None
        if (len(changes.concepts) + len(changes.links)) * CHANGES_SHARE_MAX > size + 10_000:
            return None
        lines = {line.number: line for line in outline.concepts_among(reader, changes.concepts)}
        new = {link.number: link for link in outline.links_among(reader, changes.links)}
        # A new element had no group before, and a new concept has only new links.
        older = [number for number in changes.links if number < self._links_end]
        before = reader.at(State(self.position))
        old = {link.number: link for link in (outline.links_among(before, older) if older else ())}
        moving = {number for number in changes.concepts if self._moves(reader, number, lines)}
        moving |= {
            link.subject
            for link in (*old.values(), *new.values())
            if link.predicate == self._membership and not link.subject & 1
        }
        moved = [number for number in moving if self._is_node(number)]
        if moved:
            old |= {link.number: link for link in outline.links_at(before, moved)}
            new |= {link.number: link for link in outline.links_at(reader, moved)}
        entering = [lines[number] for number in moving if number in lines]
        entering += outline.concepts_among(reader, moving - lines.keys()) if moving else ()
        for link in old.values():
            self._count_link(link, -1)
        self._reserve(max((*changes.concepts, *moving), default=0))
        for number in moving:
            self._clear(number)
        for line in entering:
            self._enter(reader, line)
        self._enter_domains((link.subject, link.predicate, link.object) for link in new.values())
        for number in moving:
            if self._is_node(number):
                self._count_node(number, 1)
        for link in new.values():
            self._count_link(link, 1)
        self.position, self._links_end = changes.position, outline.links_end(reader)
        return list(lines.values())

    def _moves(self, reader: Reader, number: int, now: dict[int, ConceptLine]) -> bool:
        """True if a concept is new or gone, or has another type or folder."""
        line = now.get(number)
        if line is None or not self._is_node(number):
            return True
        type_name, slot = reader.type_name(line.type), number >> 1
        folder = self.folders[self.folder_of[slot]]
        return (
            self.types.of[slot] != line.type
            or folder != concept_folder(type_name, line.name)
            or (number in self.missing) != keeps_place(type_name, line.name)
        )

    def _clear(self, number: int) -> None:
        """Subtract a concept from the counts, if it is a node."""
        if self._is_node(number):
            self._count_node(number, -1)
        self.missing.discard(number)
        self.folder_of[number >> 1] = _NONE
        for grouping in self._groupings:
            grouping.of[number >> 1] = _NONE


def _counted(numbers: NDArray[Any]) -> dict[int, int]:
    """Distinct numbers, each with its count."""
    import numpy as np  # noqa: PLC0415 - as above

    ndarray, counts = np.unique(numbers, return_counts=True)
    return dict(zip(ndarray.tolist(), counts.tolist(), strict=True))
