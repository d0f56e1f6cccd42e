"""Names that are made of countless folders."""

from itertools import product
from random import Random

import mycel
from mycel.explorer.explorer import Explorer
from mycel.explorer.folders import DEPTH_MAX, FolderTree, folder_of
from mycel.explorer.overview import group_names
from tests.prepared import NEW


def test_names_of_thousands_of_segments_make_few_folders() -> None:
    names = [f"concept://shop/{at}{'/a' * 1_900}/leaf" for at in range(160)]
    tree = FolderTree(dict.fromkeys(map(folder_of, names), 1))
    assert len(tree.below) <= DEPTH_MAX * len(names)
    with NEW.opened() as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        knowledge.remember([{"uri": each} for each in names])
        explorer = Explorer(db, knowledge, readonly=True)
        first = explorer.view("overview", {})
        assert sum(each["nodes"] for each in first["groups"]) == len(names)
        # The folder of a node can be opened, and shows it.
        node = explorer.view("node", {"id": names[0]})
        inside = explorer.view("overview", {"group": node["folder"]})
        assert [(each["id"], each["name"]) for each in inside["nodes"]] == [(names[0], "leaf")]


def test_nodes_of_a_folder_are_tied_to_the_folders_beside_them() -> None:
    with NEW.opened() as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        for source, target in (("top", "sub/a"), ("top", "sub/b"), ("sub/a", "top"), ("top", "x")):
            knowledge.link(source, "needs", target)
        knowledge.link("sub/a", "needs", "other/c")
        explorer = Explorer(db, knowledge, readonly=True)
        inside = explorer.view("overview", {"group": "concept://shop"})
        assert {each["name"] for each in inside["groups"]} == {"sub", "other"}
        tie = {"node": "concept://shop/top", "group": "concept://shop/sub", "count": 3}
        assert inside["ties"] == [tie]
        assert explorer.view("overview", {})["ties"] == []


def test_groups_have_different_names_however_much_of_their_paths_is_alike() -> None:
    segments = ("a", "b", "api")
    folders = [
        f"{workspace}/{'/'.join(path)}"
        for workspace in ("concept://v", "concept://w", "file://w")
        for depth in (1, 2, 3)
        for path in product(segments, repeat=depth)
    ]
    for count in (2, 9, len(folders)):
        chosen = Random(count).sample(folders, count)
        names = group_names(chosen)
        assert len(set(names.values())) == count
        assert all(folder.endswith(name) for folder, name in names.items())
    pair = ["concept://w/a/x/api", "concept://w/b/x/api"]
    assert list(group_names(pair).values()) == ["a/x/api", "b/x/api"]


def divide(folders: dict[str, int]) -> dict[str, int]:
    """The groups of folders with this many nodes directly in each, with the nodes of each group."""
    tree = FolderTree(
        {f"concept://app/{name}".rstrip("/"): count for name, count in folders.items()}
    )
    groups = tree.groups(24, 60)
    inner = {name: tree.below[name] for name in groups}
    for name, is_whole in groups.items():
        if not is_whole:
            parts = [each for each in groups if each.startswith(f"{name}/")]
            outer = [each for each in parts if not any(each.startswith(f"{p}/") for p in parts)]
            inner[name] -= sum(tree.below[each] for each in outer)
    return {name.removeprefix("concept://app").lstrip("/"): count for name, count in inner.items()}


def test_a_project_is_divided_evenly_and_its_tests_are_one_group() -> None:
    sources = {f"src/app/m{i:02}.py": 20 + 3 * i for i in range(16)}
    tests = {f"tests/test_{i:02}.py": 12 for i in range(36)}
    groups = divide({"": 3, "src": 1, "src/app": 16, "tests": 36} | sources | tests)
    assert groups["tests"] == 36 + 36 * 12
    assert set(sources) <= set(groups)
    assert not any(name.startswith("tests/") for name in groups)
    assert min(groups.values()) >= 3


def test_tests_are_divided_if_there_is_nothing_else() -> None:
    groups = divide({"tests": 3} | {f"tests/part{i}/inner": 30 for i in range(8)})
    assert len(groups) > 4


def test_folders_with_a_single_child_are_one_and_small_parts_are_the_rest() -> None:
    chain = {"main": 1, "main/java": 1, "main/java/com": 1}
    parts = {f"main/java/com/part{i}": 40 for i in range(5)}
    small = {f"main/java/com/tiny{i}": 1 for i in range(20)}
    groups = divide(chain | parts | small)
    assert set(parts) <= set(groups)
    assert not set(groups) & set(small)
    assert sum(groups.values()) == len(chain) + 5 * 40 + len(small)
    assert FolderTree({f"concept://app/{each}": 1 for each in (*chain, *parts)}).parts(None) == [
        f"concept://app/{each}" for each in parts
    ]


def test_groups_of_one_name_are_told_apart_and_tests_are_marked() -> None:
    with NEW.opened() as db:
        knowledge = mycel.Knowledge(db, workspace="app")
        for folder in ("a/api", "b/api", "tests/unit"):
            knowledge.remember([{"uri": f"{folder}/n{i:03}"} for i in range(200)])
        knowledge.add("src/x.test.ts/run")
        explorer = Explorer(db, knowledge, readonly=True)
        groups = {each["name"]: each for each in explorer.view("overview", {})["groups"]}
        assert {"a/api", "b/api"} <= set(groups)
        assert [name for name, each in groups.items() if each.get("test")] == ["tests"]
        cards = explorer.view("links", {"ids": ["src/x.test.ts/run", "a/api/n001"]})["nodes"]
        assert [card.get("test") for card in cards] == [True, None]
