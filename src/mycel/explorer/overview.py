"""Groups of nodes with the links between them, and the inside of a group.

A drawing has room for some dozens of groups. Nodes are grouped by folder, by domain or by type;
large folders are divided and small groups folded together, and every answer says how many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from heapq import nlargest
from typing import Any, Final, NamedTuple

from mycel.errors import NotFound
from mycel.explorer import limits
from mycel.explorer.census import By, Census, Grouping
from mycel.explorer.folders import FolderTree, last_segment, parent_of
from mycel.explorer.moments import Scene
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.store.query import surroundings
from mycel.store.query.reader import Reader

REST: Final = "…"
"""The id of folded groups begins so; the place of the first of them follows."""


class _Group(NamedTuple):
    """A group before it is shown."""

    id: str
    name: str
    nodes: int
    missing: int


def counts(reader: Reader, census: Census) -> JsonObject:
    """The size of a graph: nodes, links, missing concepts, and both by kind."""
    types = {n: c for n, c in census.groupings["type"].nodes.most_common() if c}
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
    """The workspaces of concept and file URIs in a graph, the largest first."""
    found: Counter[str] = Counter()
    nodes = census.groupings["folder"].nodes
    for number, folder in enumerate(census.folders):
        scheme, _, rest = folder.partition("://")
        if scheme in ("concept", "file") and nodes[number]:
            found[rest.partition("/")[0]] += nodes[number]
    listed = found.most_common(limits.WORKSPACES_MAX)
    return [{"name": name, "nodes": count} for name, count in listed]


def overview(scene: Scene, census: Census, by: By, group: str | None, limit: int) -> JsonObject:
    """The groups of a graph, or of one group; with few nodes, the nodes too."""
    told = _by_folder(census, group) if by == "folder" else _by_kind(scene, census, by, group)
    groups, of, members, total = told
    start = _start(group)
    if start:
        groups = groups[start:]
        total = sum(each.nodes for each in groups)
    most = len(groups) if len(groups) <= limits.GROUPS_MAX else limits.GROUPS_MAX - 1
    shown, rest = groups[:most], groups[most:]
    place: dict[str | None, str] = {each.id: each.id for each in shown}
    rest_id = f"{REST}{start + len(shown)}"
    place |= {each.id: rest_id for each in rest}
    links, inner = _linked(census.groupings[by], lambda number: place.get(of(number)))
    is_small = group is None and total <= limits.SMALL_GRAPH_NODES
    numbers = _members(census, by, None if is_small else members, is_all=is_small)
    best = nlargest(limit, numbers, key=lambda number: (census.degrees[number >> 1], -number))
    answer: dict[str, Any] = {
        "by": by,
        "group": group,
        "groups": [_shown(each, inner[each.id]) for each in shown],
        "links": links,
        "folded": len(rest),
        "counts": counts(scene.reader, census),
        "nodes": scene.cards.all(best),
        "total": total,
        "shown": len(best),
    }
    if rest:
        nodes, missing = sum(each.nodes for each in rest), sum(each.missing for each in rest)
        folded = _Group(rest_id, f"{len(rest):,} smaller groups", nodes, missing)
        answer["groups"].append(_shown(folded, inner[rest_id]) | {"rest": True})
    edges = surroundings.links_between(scene.reader, best, best, limits.LINKS_MAX) if best else []
    answer["edges"] = scene.cards.links(edges)
    return scene.told(**answer) | {"position": census.position}


def _start(group: str | None) -> int:
    if group is None or not group.startswith(REST):
        return 0
    return int(group[1:]) if group[1:].isdecimal() and len(group) < 8 else 0


_Parts = tuple[Sequence[_Group], "Callable[[int], str | None]", "set[int] | None", int]
"""Groups by size, the group of a number, numbers whose nodes are shown themselves, all nodes."""


def _by_folder(census: Census, group: str | None) -> _Parts:
    grouping = census.groupings["folder"]
    nodes = {census.folders[n]: count for n, count in grouping.nodes.items() if count}
    lacking = {census.folders[n]: count for n, count in grouping.missing.items() if count}
    tree, gaps = FolderTree(nodes), FolderTree(lacking)
    if group is None or group.startswith(REST):
        chosen, members = tree.groups(limits.GROUPS_WANTED, limits.GROUPS_MAX), None
        total = sum(nodes.values())
    else:
        if group not in tree.below:
            raise _no_group(group)
        chosen = dict.fromkeys(tree.parts(group), True)
        members = {n for n, name in enumerate(census.folders) if name == group}
        total = tree.below[group]
    groups = [
        _Group(
            each,
            last_segment(each) if parent_of(each) else each.removeprefix("kip:"),
            tree.below[each] if whole else tree.own[each],
            gaps.below[each] if whole else gaps.own[each],
        )
        for each, whole in chosen.items()
    ]
    known: dict[int, str | None] = {}

    def of(number: int) -> str | None:
        if number not in known:
            folder: str | None = census.folders[number]
            is_own = True
            while folder is not None and not (folder in chosen and (chosen[folder] or is_own)):
                folder, is_own = parent_of(folder), False
            known[number] = folder
        return known[number]

    return sorted(groups, key=lambda each: (-each.nodes, each.id)), of, members, total


def _by_kind(scene: Scene, census: Census, by: By, group: str | None) -> _Parts:
    grouping = census.groupings[by]
    numbers = [number for number, count in grouping.nodes.items() if count]
    names = _type_names(scene, numbers) if by == "type" else _domain_names(scene, numbers)
    groups = [
        _Group(*names[number], grouping.nodes[number], grouping.missing[number])
        for number in numbers
    ]
    groups.sort(key=lambda each: (-each.nodes, each.id))
    if group is None or group.startswith(REST):
        return groups, lambda n: names[n][0] if n in names else None, None, grouping.nodes.total()
    chosen = {number for number, (id_, _) in names.items() if id_ == group}
    if not chosen:
        raise _no_group(group)
    return [], lambda _: None, chosen, sum(grouping.nodes[number] for number in chosen)


def _type_names(scene: Scene, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
    names = {number: scene.reader.type_name(number) for number in numbers if number}
    return {number: (name, name) for number, name in names.items()}


def _domain_names(scene: Scene, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
    scene.cards.read(number for number in numbers if number)
    found = {}
    for number in numbers:
        card = scene.cards.get(number) if number else None
        found[number] = ("", "no domain") if card is None else (card["id"], card["name"])
    return found


def _no_group(group: str) -> NotFound:
    return NotFound(
        f"There is no group {shorten(group)!r} in this state.",
        hint="Ask for the overview without `group`, and take the id of one of its groups.",
    )


def _members(census: Census, by: By, groups: set[int] | None, *, is_all: bool) -> list[int]:
    """The numbers of the nodes in some groups, or of all."""
    if is_all:
        of: Any = census.groupings["type"].of
        return [slot << 1 for slot, number in enumerate(of) if number]
    if not groups:
        return []
    of, there = census.groupings[by].of, census.groupings["type"].of
    return [slot << 1 for slot, n in enumerate(of) if n in groups and there[slot]]


def _linked(
    grouping: Grouping, of: Callable[[int], str | None]
) -> tuple[list[JsonObject], Mapping[Hashable, int]]:
    """Links between groups, the most frequent first, and the number inside each group."""
    found: Counter[tuple[str | None, str | None]] = Counter()
    for (one, other), count in grouping.links.items():
        if count:
            found[of(one), of(other)] += count
    inner: Counter[Hashable] = Counter()
    between = []
    for (source, target), count in found.most_common():
        if source == target:
            inner[source] += count
        elif source is not None and target is not None:
            between.append({"source": source, "target": target, "count": count})
    return between[: limits.LINKS_MAX], inner


def _shown(group: _Group, links: int) -> JsonObject:
    return {
        "id": group.id,
        "name": shorten(group.name),
        "nodes": group.nodes,
        "links": links,
        "missing": group.missing,
    }
