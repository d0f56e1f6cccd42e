"""Groups of nodes with the links between them, and the content of a group.

A drawing has room for some dozens of groups. Nodes are grouped by folder, by domain or by type;
large folders are divided and small groups joined. Every answer says how many groups were joined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import nlargest
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from mycel.errors import NotFound
from mycel.explorer import limits
from mycel.explorer.census import By, Census
from mycel.explorer.folders import FolderTree, is_test_folder, last_segment, parent_of
from mycel.explorer.moments import Scene
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.store.query import neighbours, outline
from mycel.store.query.reader import Reader

REST: Final = "…"
"""The beginning of the id of joined groups; the index of the first one follows."""


FEW: Final = 8
"""If a group has less than one in this many nodes, their links are looked up. Otherwise all links
are read."""


class _Group(NamedTuple):
    """A group that is being collected."""

    id: str
    name: str
    nodes: int
    missing: int
    is_test: bool = False


def counts(reader: Reader, census: Census) -> JsonObject:
    """The size of a graph: nodes by type, links by predicate, missing concepts."""
    types = {n: c for n, c in census.types.nodes.most_common() if c}
    relations = {n: c for n, c in census.relations.most_common() if c}
    missing = len(census.missing)
    return {
        "nodes": sum(types.values()) - missing,
        "links": sum(relations.values()),
        "missing": missing,
        "types": {reader.type_name(number): count for number, count in types.items()},
        "relations": {reader.predicate_name(number): count for number, count in relations.items()},
    }


def workspaces(census: Census) -> list[JsonObject]:
    """The workspaces of concept and file URIs in a graph, the largest first.

    `group` is the group of the concepts of a workspace, or the group of its files if there are more
    files.
    """
    counter: Counter[str] = Counter()
    groups: Counter[tuple[str, str]] = Counter()
    for number, (folder, _) in enumerate(census.shelf_names):
        scheme, _, rest = folder.partition("://")
        if scheme in ("concept", "file") and (nodes := census.shelves.nodes[number]):
            name = rest.partition("/")[0]
            counter[name] += nodes
            groups[name, scheme] += nodes
    return [
        {"name": name, "nodes": nodes, "group": f"{scheme}://{name}"}
        for name, nodes in counter.most_common(limits.WORKSPACES_MAX)
        for scheme in [max(("concept", "file"), key=lambda kind: groups[name, kind])]
    ]


def overview(scene: Scene, census: Census, by: By, group: str | None, limit: int) -> JsonObject:
    """The groups of a graph, or of one group; with few nodes, the nodes too."""
    start = _start(group)
    if by == "folder":
        parts = _shelves(scene, census) if group is None or start else _inside(scene, census, group)
    else:
        parts = _kinds(scene, census, by, None if start else group)
    groups = sorted(parts.groups, key=lambda part: (-part.nodes, part.id))[start:]
    most = len(groups) if len(groups) <= limits.GROUPS_MAX else limits.GROUPS_MAX - 1
    head, rest = groups[:most], groups[most:]
    rest_id = f"{REST}{start + most}"
    place = {group.id: group.id for group in head} | {group.id: rest_id for group in rest}
    links, inner = _linked(parts.links, place)
    members = parts.members
    if group is None and census.types.nodes.total() <= limits.SMALL_GRAPH_NODES:
        members = [slot << 1 for slot, folder in enumerate(census.folder_of) if folder]
    best = nlargest(limit, members, key=lambda number: (census.degrees[number >> 1], -number))
    answer: dict[str, Any] = {
        "by": by,
        "group": group,
        "groups": [_group_fields(group, inner[group.id]) for group in head],
        "links": links,
        "folded": len(rest),
        "counts": counts(scene.reader, census),
        "nodes": scene.cards.all(best),
        "total": sum(group.nodes for group in groups) + len(parts.members),
        "shown": len(best),
    }
    if rest:
        nodes, missing = sum(group.nodes for group in rest), sum(group.missing for group in rest)
        folded = _Group(rest_id, f"{len(rest):,} others", nodes, missing)
        answer["groups"].append(_group_fields(folded, inner[rest_id]) | {"rest": True})
    most = limits.LINKS_MAX
    weighted = neighbours.links_between(scene.reader, best, best, most + 1) if best else []
    answer["edges"] = scene.cards.links(weighted[:most])
    answer["ties"] = _tied(scene, parts.ties, set(best), place)
    if len(weighted) > most:
        answer["links_cut"] = True
    return scene.answer(**answer) | {"position": census.position}


def _start(group: str | None) -> int:
    if group is None or not group.startswith(REST):
        return 0
    return int(group[1:]) if group[1:].isdecimal() and len(group) < 8 else 0


class _Parts(NamedTuple):
    """Groups, the links between them by their ids, and nodes that are shown themselves."""

    groups: list[_Group]
    links: Mapping[tuple[str, str], int]
    members: list[int]
    ties: Mapping[tuple[int, str], int] = MappingProxyType({})
    """Links between these nodes and groups, in both directions."""


def _shelves(scene: Scene, census: Census) -> _Parts:
    """The groups of the whole graph by folder."""
    names = [folder for folder, _ in census.shelf_names]
    grouping = census.shelves
    numbers = [number for number in range(len(names)) if grouping.nodes[number]]
    labels = group_names([names[number] for number in numbers])
    groups = []
    for number in numbers:
        folder, is_whole = census.shelf_names[number]
        label = labels[folder]
        name = label if is_whole else f"{label.removeprefix('concept://')} (rest)"
        nodes, missing = grouping.nodes[number], grouping.missing[number]
        groups.append(_Group(folder, name, nodes, missing, is_test_folder(folder)))
    links = census.links_between(grouping, scene.reader)
    return _Parts(groups, _count_links_by_group(links, dict(enumerate(names))), [])


def _inside(scene: Scene, census: Census, group: str) -> _Parts:
    """The folders in a folder, and the nodes directly in it."""
    inner = f"{group}/"
    numbers = {
        number
        for number, folder in enumerate(census.folders)
        if folder == group or folder.startswith(inner)
    }
    slots = [slot for slot, folder in enumerate(census.folder_of) if folder in numbers]
    if not slots:
        raise _no_group(group)
    count = Counter(census.folder_of[slot] for slot in slots)
    tree = FolderTree({census.folders[number]: nodes for number, nodes in count.items()})
    chosen = set(tree.parts(group))
    place = {number: _part_of(census.folders[number], chosen) for number in numbers}
    of = census.folder_of
    missing = Counter(place[of[n >> 1]] for n in census.missing if of[n >> 1] in numbers)
    labels = group_names(chosen, group)
    groups = [
        _Group(folder, labels[folder], tree.below[folder], missing[folder], is_test_folder(folder))
        for folder in chosen
    ]
    counter: Counter[tuple[str, str]] = Counter()
    ties: Counter[tuple[int, str]] = Counter()
    for subject, object_ in _ends(scene, slots, len(of)) if chosen else ():
        if (subject | object_) & 1 or max(subject, object_) >> 1 >= len(of):
            continue
        one, other = place.get(of[subject >> 1]), place.get(of[object_ >> 1])
        if one and other:
            counter[one, other] += 1
        elif one is not None and other is not None and (one or other):
            ties[(object_, one) if one else (subject, other or "")] += 1
    return _Parts(groups, counter, [slot << 1 for slot in slots if not place[of[slot]]], ties)


def _ends(scene: Scene, slots: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """The ends of the links at some nodes; if these are many, the ends of all links."""
    if len(slots) * FEW < size:
        lines = outline.links_at(scene.reader, [slot << 1 for slot in slots])
        return ((link.subject, link.object) for link in lines)
    return ((subject, object_) for subject, _, object_ in outline.links(scene.reader))


def _part_of(folder: str | None, chosen: set[str]) -> str:
    """The chosen folder that contains a folder; empty if none does."""
    while folder is not None and folder not in chosen:
        folder = parent_of(folder)
    return folder or ""


def group_names(folders: Collection[str], around: str | None = None) -> dict[str, str]:
    """Names for groups of folders: as few last segments of a path as make it unique.

    Inside a folder, names begin with the first segment below it.

    >>> group_names(["concept://a/x/api", "concept://a/y/api", "concept://a/z"])
    {'concept://a/x/api': 'x/api', 'concept://a/y/api': 'y/api', 'concept://a/z': 'z'}
    >>> list(group_names(["concept://w/a/x/api", "concept://w/b/x/api"]).values())
    ['a/x/api', 'b/x/api']
    """
    names = {}
    for folder in folders:
        if around is not None and folder.startswith(f"{around}/"):
            names[folder] = folder[len(around) + 1 :]
        else:
            names[folder] = _folder_name(folder)
    outer = {folder: parent_of(folder) for folder in names}
    while True:
        shared = Counter(names.values())
        longer = [(f, above) for f, above in outer.items() if above and shared[names[f]] > 1]
        if not longer:
            return names
        for folder, above in longer:
            names[folder] = f"{_folder_name(above)}/{names[folder]}"
            outer[folder] = parent_of(above)


def _folder_name(folder: str) -> str:
    return last_segment(folder) if parent_of(folder) else folder.removeprefix("kip:")


def _kinds(scene: Scene, census: Census, by: By, group: str | None) -> _Parts:
    """The groups of the whole graph by type or domain, or the nodes of one such group."""
    grouping = census.types if by == "type" else census.domains
    numbers = [number for number, count in grouping.nodes.items() if count]
    names = _type_names(scene, numbers) if by == "type" else _domain_names(scene, numbers)
    if group is None:
        groups = [
            _Group(*names[number], grouping.nodes[number], grouping.missing[number])
            for number in numbers
        ]
        links = census.links_between(grouping, scene.reader)
        return _Parts(
            groups, _count_links_by_group(links, {n: id_ for n, (id_, _) in names.items()}), []
        )
    chosen = {number for number, (id_, _) in names.items() if id_ == group}
    if not chosen:
        raise _no_group(group)
    of, folders = grouping.of, census.folder_of
    return _Parts([], {}, [slot << 1 for slot, n in enumerate(of) if n in chosen and folders[slot]])


def _count_links_by_group(
    links: Mapping[tuple[int, int], int], names: Mapping[int, str]
) -> dict[tuple[str, str], int]:
    """The links between groups, by their ids."""
    return {
        (names[one], names[other]): count
        for (one, other), count in links.items()
        if count and one in names and other in names
    }


def _type_names(scene: Scene, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
    names = {number: scene.reader.type_name(number) for number in numbers if number}
    return {number: (name, name) for number, name in names.items()}


def _domain_names(scene: Scene, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
    scene.cards.read(number << 1 for number in numbers if number)
    domains = {}
    for number in numbers:
        card = scene.cards.get(number << 1) if number else None
        domains[number] = ("", "no domain") if card is None else (card["id"], card["name"])
    return domains


def _no_group(group: str) -> NotFound:
    return NotFound(
        f"There is no group {shorten(group)!r} in this state.",
        hint="Ask for the overview without `group`, and take the id of one of its groups.",
    )


def _linked(
    links: Mapping[tuple[str, str], int], place: Mapping[str, str]
) -> tuple[list[JsonObject], Mapping[str, int]]:
    """Links between shown groups, the most frequent first, and the number of links inside each."""
    counter: Counter[tuple[str, str]] = Counter()
    inner: Counter[str] = Counter()
    for (one, other), count in links.items():
        source, target = place.get(one), place.get(other)
        if source is None or target is None:
            continue
        if source == target:
            inner[source] += count
        else:
            counter[source, target] += count
    between = [
        {"source": source, "target": target, "count": count}
        for (source, target), count in counter.most_common(limits.LINKS_MAX)
    ]
    return between, inner


def _tied(
    scene: Scene, ties: Mapping[tuple[int, str], int], nodes: set[int], place: Mapping[str, str]
) -> list[JsonObject]:
    """Links between shown nodes and shown groups, the most frequent first."""
    counter: Counter[tuple[int, str]] = Counter()
    for (number, group), count in ties.items():
        if number in nodes and group in place:
            counter[number, place[group]] += count
    cards = {number: scene.cards.get(number) for number in nodes}
    return [
        {"node": card["id"], "group": group, "count": count}
        for (number, group), count in counter.most_common(limits.LINKS_MAX)
        if (card := cards[number]) is not None
    ]


def _group_fields(group: _Group, links: int) -> JsonObject:
    return ({"test": True} if group.is_test else {}) | {
        "id": group.id,
        "name": shorten(group.name),
        "nodes": group.nodes,
        "links": links,
        "missing": group.missing,
    }
