"""Names that are made of countless folders."""

import mycel
from mycel.explorer.explorer import Explorer
from mycel.explorer.folders import DEPTH_MAX, FolderTree, folder_of


def test_names_of_thousands_of_segments_make_few_folders() -> None:
    names = [f"concept://shop/{at}{'/a' * 1_900}/leaf" for at in range(160)]
    tree = FolderTree(dict.fromkeys(map(folder_of, names), 1))
    assert len(tree.below) <= DEPTH_MAX * len(names)
    with mycel.open() as db:
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
    with mycel.open() as db:
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
