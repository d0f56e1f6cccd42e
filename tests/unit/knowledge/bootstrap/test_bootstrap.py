import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mycel
from mycel.errors import ConstraintViolation, NotFound
from mycel.explorer.explorer import Explorer
from mycel.knowledge.bootstrap import Bootstrap, BootstrapProgress, Summary, bootstrap, limits
from mycel.knowledge.bootstrap import graph_writer as bootstrap_writing
from mycel.knowledge.code import file_analysis, name_resolution
from mycel.knowledge.code.project_relations import NAMES_NOTE
from tests.prepared import NEW
from tests.unit.knowledge.bootstrap.conftest import CART, Write, git, state


def links(shop: mycel.Knowledge, uri: str, direction: str = "out") -> set[tuple[str, str, float]]:
    found = shop.relations(uri, direction=direction, limit=1000)  # type: ignore[arg-type]
    return {
        (each.relation, each.target if direction == "out" else each.source, round(each.weight, 3))
        for each in found
    }


# What is written.


def test_files_folders_and_symbols_become_nodes(shop: mycel.Knowledge, project: Path) -> None:
    summary = bootstrap(shop)
    assert (summary.added, summary.files, summary.symbols) == (6, 6, 6)
    assert next(shop.db.history.log(limit=1)).message == "bootstrap: 6 files added"
    file = shop.get("file://shop/src/shop/cart.py")
    assert file.type == "Resource"
    assert file.metadata == {"author": "bootstrap"}
    assert shop.db.get(file.id).attributes["_bootstrap"]["size"] == len(CART)
    assert file.properties == {
        "file_type": "python",
        "extension": ".py",
        "size_bytes": len(CART),
        "line_count": CART.count("\n"),
        "mime_type": "text/x-python",
        "last_modified": "2023-11-14T22:16:20Z",
    }
    folder = shop.get("src/shop")
    assert (folder.type, folder.name) == ("Concept", "shop")
    assert folder.properties["node_type"] == "directory"
    assert folder.properties["file_count"] == 3
    assert folder.properties["depth"] == 2
    root = shop.get("concept://shop")
    assert root.name == "project"
    assert root.content == "Sells."
    assert root.properties["file_count"] == 6
    symbol = shop.get("concept://shop/src/shop/cart.py/Cart.add")
    assert symbol.type == "Symbol"
    assert symbol.name == "add"
    assert symbol.properties == {
        "kind": "method",
        "signature": "def add(self, item)",
        "doc": "Put an item into the cart.",
        "line": 7,
        "end_line": 9,
    }


def test_a_file_whose_names_take_too_long_has_a_note_until_they_do_not(
    shop: mycel.Knowledge, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.py").write_text("from b import f\n\ndef g():\n    f()\n")
    (project / "b.py").write_text("def f(): ...\n")
    with monkeypatch.context() as bounds:
        bounds.setattr(name_resolution, "FILE_LOOKUPS_MAX", 0)
        bounds.setattr(name_resolution, "LOOKUPS_PER_NAME", 0)
        summary = bootstrap(shop)
    assert f"a.py: {NAMES_NOTE}" in summary.notes
    assert shop.get("file://shop/a.py").properties["note"] == NAMES_NOTE
    (project / "b.py").write_text("def f(): ...\ndef h(): ...\n")
    bootstrap(shop)
    assert "note" not in shop.get("file://shop/a.py").properties
    assert ("calls", "concept://shop/b.py/f") in {
        each[:2] for each in links(shop, "concept://shop/a.py/g")
    }


def test_a_property_called_bootstrap_is_shown_and_kept(
    shop: mycel.Knowledge, project: Path
) -> None:
    bootstrap(shop)
    uri = "file://shop/src/shop/cart.py"
    shop.update(uri, properties={"bootstrap": 1 << 40})
    (project / "src/shop/cart.py").write_text("x = 1\n")
    bootstrap(shop)
    properties = shop.get(uri).properties
    assert (properties["bootstrap"], properties["line_count"]) == (1 << 40, 1)


def test_relations_say_how_they_hang_together(shop: mycel.Knowledge, project: Path) -> None:
    bootstrap(shop)
    symbols = "concept://shop/src/shop/cart.py"
    assert links(shop, "concept://shop") == {
        ("contains", "file://shop/README.md", 0.1),
        ("contains", "concept://shop/src", 0.5),
        ("contains", "concept://shop/tests", 0.5),
        ("contains", "concept://shop/docs", 0.5),
    }
    assert links(shop, "concept://shop/src") == {
        ("contains", "concept://shop/src/shop", 0.5),
        ("documented_by", "file://shop/README.md", 0.6),
    }
    assert links(shop, "file://shop/src/shop/cart.py") == {
        ("defines", f"{symbols}/Cart", 0.3),
        ("defines", f"{symbols}/check", 0.3),
        ("tested_by", "file://shop/tests/test_cart.py", 0.8),
        ("documented_by", "file://shop/README.md", 0.6),
    }
    assert links(shop, f"{symbols}/Cart") == {("defines", f"{symbols}/Cart.add", 0.5)}
    assert links(shop, f"{symbols}/Cart.add") == {("calls", f"{symbols}/check", 0.6)}
    main = "concept://shop/src/shop/main.py"
    assert ("imports", "file://shop/src/shop/cart.py", 0.8) in links(
        shop, "file://shop/src/shop/main.py"
    )
    assert ("calls", f"{symbols}/Cart", 0.6) in links(shop, f"{main}/sell")
    assert ("extends", f"{symbols}/Cart", 0.4) in links(shop, f"{main}/BigCart")
    assert links(shop, "file://shop/README.md") == {
        ("contains", "concept://shop/README.md/shop", 0.1),
        ("references", "file://shop/src/shop/cart.py", 0.8),
        ("references", "concept://shop/src", 0.8),
    }
    found = shop.db.search("customer about to buy")
    assert any(element.name == f"{symbols}/Cart" for element, _ in found)  # type: ignore[union-attr]


def test_calls_by_name_alone_are_kept_apart_from_certain_ones(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    write(
        "src/shop/till.py",
        "from shop.cart import Cart\ndef pay(cart: Cart): cart.add(1)\ndef give(x): x.add(1)\n",
    )
    bootstrap(shop)
    add, till = "concept://shop/src/shop/cart.py/Cart.add", "concept://shop/src/shop/till.py"
    assert ("calls", f"{till}/pay", 0.6) in links(shop, add, "in")
    assert ("may_call", f"{till}/give", 0.9) in links(shop, add, "in")
    write("src/shop/till.py", "def give(x): x.other(1)\n")
    bootstrap(shop)
    assert not any(till in source for _, source, _ in links(shop, add, "in"))
    write("src/shop/more.py", "class More:\n    def other(self): pass\n")
    bootstrap(shop)
    other = "concept://shop/src/shop/more.py/More.other"
    assert ("may_call", f"{till}/give", 0.9) in links(shop, other, "in")


def test_a_folder_brings_its_readme_before_its_files(
    shop: mycel.Knowledge, repository: Path, write: Write
) -> None:
    for number in range(200):
        write(f"f{number}.txt")
    write("README.md", "# X\n\nHello.\n")
    write("sub/README.md", "# Y\n\nBelow.\n")
    bootstrap(shop)
    near = shop.traverse("concept://shop", max_cost=0.9)
    assert [node.uri for node in near.nodes[1:]] == [
        "file://shop/README.md", "concept://shop/README.md/x",
        "concept://shop/sub", "file://shop/sub/README.md", "concept://shop/sub/README.md/y",
    ]  # fmt: skip
    assert near.nodes[0].uri == "concept://shop"


def test_binary_and_large_files_have_a_node_and_no_symbols(
    shop: mycel.Knowledge, repository: Path, write: Write
) -> None:
    write("a.py", b"def f():\n    pass\n\0\0")
    write("b.py", "def f():\n    pass\n" * 100)
    write("empty.py")
    write("data.bin", bytes(range(256)))
    summary = bootstrap(shop, bytes_max=1000)
    assert (summary.added, summary.symbols) == (4, 0)
    assert "line_count" not in shop.get("file://shop/b.py").properties
    assert "line_count" not in shop.get("file://shop/data.bin").properties
    assert shop.get("file://shop/empty.py").properties["line_count"] == 0


def test_names_of_every_kind_become_uris(
    shop: mycel.Knowledge, repository: Path, write: Write
) -> None:
    write("a b#c?%41.py", "def f(): pass\n")
    write("größe/日本.py", "def g(): pass\n")
    write("back\\slash.py")
    write("new\nline.py")
    write("x" * 200 + ".py", "def h(): pass\n")
    summary = bootstrap(shop)
    assert summary.added == 3
    assert {each.why for each in summary.skipped} == {"its name cannot be part of a URI"}
    assert shop.get("concept://shop/a%20b%23c%3F%2541.py/f").name == "f"
    assert shop.get("concept://shop/größe/日本.py/g").name == "g"
    assert bootstrap(shop).unchanged == 3


def test_names_of_symbols_that_are_no_paths_become_uris(
    shop: mycel.Knowledge, repository: Path, write: Write
) -> None:
    write("a.cpp", "struct V { V operator/(V o); V operator+(V o); ~V(); };\n")
    bootstrap(shop)
    below = shop.traverse("file://shop/a.cpp", max_cost=1)
    assert len({node.uri for node in below.nodes}) == len(below.nodes)
    assert all("//" not in node.uri.removeprefix("concept://") for node in below.nodes[1:])


def test_what_a_file_imports_from_elsewhere_is_named_at_it(
    shop: mycel.Knowledge, repository: Path, write: Write
) -> None:
    write("a.py", "import requests\nimport helper\n")
    bootstrap(shop)
    assert shop.get("file://shop/a.py").properties["external_imports"] == ["helper", "requests"]
    write("helper.py")
    bootstrap(shop)
    assert shop.get("file://shop/a.py").properties["external_imports"] == ["requests"]
    assert ("imports", "file://shop/helper.py", 0.8) in links(shop, "file://shop/a.py")


# Again.


def test_a_second_run_writes_nothing(shop: mycel.Knowledge, project: Path) -> None:
    bootstrap(shop)
    before = shop.db.snapshot()
    summary = bootstrap(shop)
    assert (summary.unchanged, summary.is_nothing) == (6, True)
    assert shop.db.snapshot() == before


def test_a_file_that_only_looks_new_is_unchanged(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    bootstrap(shop)
    write("src/shop/cart.py", CART)
    summary = bootstrap(shop)
    assert (summary.changed, summary.unchanged) == (0, 6)
    assert bootstrap(shop).is_nothing
    modified = shop.get("file://shop/src/shop/cart.py").properties["last_modified"]
    assert modified == "2023-11-14T22:20:20Z"


def test_what_changed_is_brought_up_to_date(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    bootstrap(shop)
    untouched = shop.get("concept://shop/src/shop/main.py/sell").version
    write("src/shop/cart.py", CART.replace("check", "verify") + "\n\nclass New:\n    pass\n")
    summary = bootstrap(shop)
    assert (summary.added, summary.changed, summary.removed, summary.unchanged) == (0, 1, 0, 5)
    symbols = "concept://shop/src/shop/cart.py"
    with pytest.raises(NotFound):
        shop.get(f"{symbols}/check")
    assert links(shop, f"{symbols}/Cart.add") == {("calls", f"{symbols}/verify", 0.6)}
    assert shop.get(f"{symbols}/New").properties["kind"] == "class"
    assert shop.get("concept://shop/src/shop/main.py/sell").version == untouched


@pytest.mark.sqlite_file("removes the file beside the graph")
@pytest.mark.parametrize("how", ["with facts", "without facts", "by one object"])
def test_many_changes_one_by_one_end_where_a_single_run_does(
    tmp_path: Path, shop: mycel.Knowledge, project: Path, write: Write, how: str
) -> None:
    work = Bootstrap(shop)

    def again() -> None:
        if how == "without facts":
            Path(f"{shop.db.path}-facts").unlink()
        if how == "by one object":
            work.run()
        else:
            bootstrap(shop)

    work.run()
    write("src/shop/extra.py", "from shop.main import sell\n\ndef more():\n    return sell()\n")
    again()
    write("src/shop/cart.py", CART + "\n\ndef extra():\n    return check(2)\n")
    again()
    (project / "src/shop/main.py").rename(project / "src/shop/selling.py")
    again()
    (project / "docs/README.md").unlink()
    again()
    write("src/shop/extra.py", "from shop.selling import sell\n\ndef more():\n    return sell()\n")
    again()
    write("README.md", "# Shop\n\nOther words.\n\n[x](src/shop/extra.py)\n")
    again()
    with mycel.open(tmp_path / "fresh.db", durability="off") as db:
        fresh = mycel.Knowledge(db, workspace="shop", root=project)
        bootstrap(fresh)
        assert state(shop) == state(fresh)
    assert shop.db.verify(replay=True).ok


def test_what_is_gone_is_removed(shop: mycel.Knowledge, project: Path) -> None:
    bootstrap(shop)
    (project / "docs/README.md").unlink()
    (project / "src/shop/cart.py").unlink()
    summary = bootstrap(shop)
    assert (summary.removed, summary.unchanged, summary.kept) == (2, 4, 0)
    for uri in ("file://shop/docs/README.md", "docs", "src/shop/cart.py/Cart"):
        with pytest.raises(NotFound):
            shop.get(uri)
    assert shop.get("concept://shop").properties["file_count"] == 4
    assert bootstrap(shop).is_nothing


def test_a_removed_file_that_comes_back_is_there_again(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    bootstrap(shop)
    before = state(shop)
    (project / "src/shop/cart.py").rename(project.parent / "aside.py")
    bootstrap(shop)
    (project.parent / "aside.py").rename(project / "src/shop/cart.py")
    bootstrap(shop)
    assert state(shop) == before


def test_a_file_and_a_folder_can_change_places(
    shop: mycel.Knowledge, repository: Path, write: Write
) -> None:
    write("lib", "#!/usr/bin/env python3\ndef old(): pass\n")
    write("run/a.py", "def older(): pass\n")
    bootstrap(shop)
    assert shop.get("lib/old")
    (repository / "lib").unlink()
    (repository / "run/a.py").unlink()
    (repository / "run").rmdir()
    write("lib/a.py", "def new(): pass\n")
    write("run", "#!/usr/bin/env python3\ndef newer(): pass\n")
    bootstrap(shop)
    assert shop.get("lib").properties["node_type"] == "directory"
    assert shop.get("lib/a.py/new")
    assert shop.get("run/newer")
    for uri in ("lib/old", "run/a.py/older", "concept://shop/run", "file://shop/lib"):
        with pytest.raises(NotFound):
            shop.get(uri)
    assert bootstrap(shop).is_nothing


def test_a_source_that_becomes_binary_loses_symbols_and_relations(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    bootstrap(shop)
    write("src/shop/main.py", b"\0\0\0")
    bootstrap(shop)
    assert links(shop, "file://shop/src/shop/main.py") == set()
    with pytest.raises(NotFound):
        shop.get("src/shop/main.py/sell")
    assert "line_count" not in shop.get("file://shop/src/shop/main.py").properties


def test_a_file_that_only_looks_new_learns_what_others_changed_for_it(
    shop: mycel.Knowledge, repository: Path, write: Write
) -> None:
    write("a.py", "import helper\nimport other\n")
    bootstrap(shop)
    write("a.py", "import helper\nimport other\n")
    write("helper.py")
    summary = bootstrap(shop)
    assert (summary.added, summary.changed) == (1, 0)
    assert shop.get("file://shop/a.py").properties["external_imports"] == ["other"]
    assert bootstrap(shop).is_nothing


def test_a_new_readme_describes_its_folder(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    bootstrap(shop)
    assert shop.get("src").content is None
    write("src/README.rst", "Source\n======\n\nAll of it.\n")
    bootstrap(shop)
    assert shop.get("src").content == "All of it."
    (project / "src/README.rst").unlink()
    bootstrap(shop)
    assert shop.get("src").content is None


def test_a_part_of_the_workspace_can_be_brought_in_by_itself(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    summary = bootstrap(shop, project / "src")
    assert summary.added == 3
    with pytest.raises(NotFound):
        shop.get("file://shop/README.md")
    bootstrap(shop)
    before = state(shop)
    write("tests/test_cart.py", "")
    summary = bootstrap(shop, project / "src")
    assert (summary.unchanged, summary.is_nothing) == (3, True)
    assert state(shop) == before
    (project / "src/shop/main.py").unlink()
    summary = bootstrap(shop, project / "src")
    assert (summary.removed, summary.unchanged) == (1, 2)
    assert shop.get("file://shop/tests/test_cart.py")


def test_two_workspaces_of_one_graph_do_not_disturb_each_other(
    shop: mycel.Knowledge, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.py").write_text("def f(): pass\n")
    bootstrap(mycel.Knowledge(shop.db, workspace="shop0", root=other))
    bootstrap(mycel.Knowledge(shop.db, workspace="sho", root=other))
    bootstrap(shop)
    for path in sorted(project.rglob("*.py")):
        path.unlink()
    bootstrap(shop)
    assert shop.get("concept://shop0/x.py/f").name == "f"
    assert shop.get("concept://sho/x.py/f").name == "f"


# What others wrote.


def test_what_a_model_added_to_a_node_stays(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    bootstrap(shop)
    uri = "concept://shop/src/shop/cart.py/Cart"
    shop.update(uri, content="The heart of it.", properties={"importance": "high"})
    write("src/shop/cart.py", "\n\n" + CART)
    bootstrap(shop)
    node = shop.get(uri)
    assert (node.content, node.properties["importance"]) == ("The heart of it.", "high")
    assert node.properties["line"] == 6


def test_values_that_a_model_changed_are_the_models_from_then_on(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    bootstrap(shop)
    symbol = "concept://shop/src/shop/cart.py/Cart"
    shop.update(symbol, properties={"doc": "In other words."})
    shop.update("concept://shop", content="What we sell.", name="The shop")
    shop.update("file://shop/src/shop/cart.py", properties={"file_type": "cython"})
    for at in range(1, 4):
        write("src/shop/cart.py", "\n" * at + CART)
        write("README.md", f"# Shop\n\nText number {at}.\n")
        bootstrap(shop)
        node = shop.get(symbol)
        assert (node.properties["doc"], node.properties["line"]) == ("In other words.", 4 + at)
        root = shop.get("concept://shop")
        assert (root.name, root.content) == ("The shop", "What we sell.")
        file = shop.get("file://shop/src/shop/cart.py").properties
        assert file["file_type"] == "cython"
        assert file["size_bytes"] == len(CART) + at


def test_a_value_that_a_model_dropped_does_not_come_back(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    bootstrap(shop)
    uri = "concept://shop/src/shop/cart.py/Cart"
    shop.update(uri, drop=["doc"])
    write("src/shop/cart.py", "\n" + CART)
    bootstrap(shop)
    assert "doc" not in shop.get(uri).properties


def test_nodes_that_a_model_wrote_before_are_filled_in_and_never_changed(
    shop: mycel.Knowledge, project: Path
) -> None:
    shop.add("src/shop", name="Shop code", content="Mine.", properties={"depth": "deep"})
    shop.add("src/shop/cart.py/Cart", content="Mine too.")
    shop.link("concept://shop/ideas", "about", "file://shop/src/shop/main.py")
    shop.link("concept://shop/ideas", "about", "concept://shop/tests")
    bootstrap(shop)
    folder = shop.get("src/shop")
    assert (folder.name, folder.content) == ("Shop code", "Mine.")
    assert (folder.properties["depth"], folder.properties["file_count"]) == ("deep", 3)
    assert "author" not in folder.metadata
    cart = shop.get("src/shop/cart.py/Cart")
    assert (cart.type, cart.content, cart.properties["kind"]) == ("Concept", "Mine too.", "class")
    assert shop.get("file://shop/src/shop/main.py").properties["file_type"] == "python"
    assert shop.get("tests").type == "Concept"
    missing = {uri for link in shop.broken_links() for uri in link.missing}
    assert missing == {"concept://shop/ideas"}
    for path in sorted(project.rglob("*.py")):
        path.unlink()
    bootstrap(shop)
    folder = shop.get("src/shop")
    assert (folder.content, folder.properties["depth"]) == ("Mine.", "deep")


def test_a_node_that_somebody_needs_is_marked_and_not_removed(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    bootstrap(shop)
    cart = "concept://shop/src/shop/cart.py"
    shop.add("ideas/cart", content="It should be faster.")
    shop.link("ideas/cart", "about", f"{cart}/Cart")
    shop.update(f"{cart}/check", content="Checks nothing yet.")
    (project / "src/shop/cart.py").rename(project.parent / "aside.py")
    summary = bootstrap(shop)
    assert summary.kept == 2
    assert shop.get(f"{cart}/Cart").properties["missing_since"]
    assert shop.get(f"{cart}/check").content == "Checks nothing yet."
    assert links(shop, f"{cart}/Cart", "in") == {("about", "concept://shop/ideas/cart", 1.0)}
    with pytest.raises(NotFound):
        shop.get(f"{cart}/Cart.add")
    assert bootstrap(shop).is_nothing
    (project.parent / "aside.py").rename(project / "src/shop/cart.py")
    bootstrap(shop)
    node = shop.get(f"{cart}/Cart")
    assert "missing_since" not in node.properties
    assert ("defines", f"{cart}/Cart.add", 0.5) in links(shop, f"{cart}/Cart")
    assert shop.get(f"{cart}/check").content == "Checks nothing yet."


def test_a_file_that_is_gone_and_needed_is_marked(shop: mycel.Knowledge, project: Path) -> None:
    bootstrap(shop)
    shop.link("concept://shop/src", "main_file", "file://shop/src/shop/main.py")
    (project / "src/shop/main.py").unlink()
    bootstrap(shop)
    assert shop.get("file://shop/src/shop/main.py").properties["missing_since"]
    assert links(shop, "file://shop/src/shop/main.py", "in") == {
        ("main_file", "concept://shop/src", 1.0)
    }
    near = Explorer(shop.db, shop, readonly=True).view("near", {"id": "concept://shop/src"})
    broken = {link["relation"] for link in near["links"] if link.get("missing")}
    assert broken == {"main_file"}
    assert bootstrap(shop).is_nothing


def test_relations_that_a_model_made_or_changed_stay(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    cart = "concept://shop/src/shop/cart.py"
    bootstrap(shop)
    shop.link(f"{cart}/check", "calls", f"{cart}/Cart", weight=0.2)
    shop.set_weight(f"{cart}/Cart.add", "calls", f"{cart}/check", 0.05)
    write("src/shop/cart.py", "\n" + CART)
    bootstrap(shop)
    assert links(shop, f"{cart}/check") == {("calls", f"{cart}/Cart", 0.2)}
    assert links(shop, f"{cart}/Cart.add") == {("calls", f"{cart}/check", 0.05)}
    write("src/shop/cart.py", CART.replace("return check(item)", "return item"))
    bootstrap(shop)
    assert links(shop, f"{cart}/Cart.add") == {("calls", f"{cart}/check", 0.05)}


def test_a_relation_that_a_model_made_first_stays_the_models(
    shop: mycel.Knowledge, project: Path
) -> None:
    shop.link("concept://shop", "contains", "concept://shop/src", weight=0.9)
    bootstrap(shop)
    (relation,) = (
        each for each in shop.relations("concept://shop") if each.target == "concept://shop/src"
    )
    assert round(relation.weight, 3) == 0.9
    assert relation.metadata == {}


def test_what_is_said_about_a_relation_stays(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    bootstrap(shop)
    cart = "concept://shop/src/shop/cart.py"
    (call,) = shop.relations(f"{cart}/Cart.add", direction="out")
    shop.link("concept://shop/review", "doubts", f"kip:{call.id}")
    write("src/shop/cart.py", CART.replace("return check(item)", "return item"))
    bootstrap(shop)
    assert len(shop.relations("concept://shop/review", direction="out")) == 1


def test_a_history_that_was_purged_makes_it_careful(
    shop: mycel.Knowledge, project: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap(shop)
    uri = "concept://shop/src/shop/cart.py/Cart"
    shop.update(uri, properties={"doc": "Mine."})
    monkeypatch.setattr(bootstrap_writing.prefixes, "past_attributes", lambda *_: iter(()))
    write("src/shop/cart.py", "\n" + CART)
    bootstrap(shop)
    properties = shop.get(uri).properties
    assert (properties["doc"], properties["line"]) == ("Mine.", 4)


# When things go wrong.


@pytest.mark.usefixtures("reader_processes")
def test_a_language_that_could_not_be_read_is_read_when_its_extra_is_there(
    shop: mycel.Knowledge, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first/tree_sitter_python.py").write_text("raise ImportError('none')")
    with monkeypatch.context() as without:
        without.syspath_prepend(tmp_path / "first")  # For the process that reads,
        without.setitem(sys.modules, "tree_sitter_python", None)  # and for this one.
        file_analysis._reader.cache_clear()
        summary = bootstrap(shop)
        assert (summary.added, summary.symbols) == (6, 0)
        assert len(summary.notes) == 1
        assert ".[code]" in summary.notes[0]
        assert bootstrap(shop).is_nothing
    file_analysis._reader.cache_clear()
    summary = bootstrap(shop)
    assert (summary.changed, summary.symbols) == (3, 6)
    assert "note" not in shop.get("file://shop/src/shop/cart.py").properties


@pytest.mark.sqlite_file("opens the file in other processes")
def test_two_processes_at_once_leave_one_whole_graph(
    tmp_path: Path, shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    for number in range(60):
        write(f"many/f{number}.py", f"def f{number}():\n    pass\n")
    program = (
        "import sys, mycel\n"
        "from mycel.knowledge.bootstrap import bootstrap\n"
        "with mycel.open(sys.argv[1]) as db:\n"
        "    bootstrap(mycel.Knowledge(db, workspace='shop', root=sys.argv[2]))\n"
    )
    command = [sys.executable, "-c", program, shop.db.path, str(project)]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(timeout=60) for process in both] == [0, 0]
    assert bootstrap(shop).is_nothing
    with mycel.open(tmp_path / "fresh.db", durability="off") as db:
        fresh = mycel.Knowledge(db, workspace="shop", root=project)
        bootstrap(fresh)
        assert state(shop) == state(fresh)


def test_a_run_that_was_killed_is_completed_by_the_next(
    shop: mycel.Knowledge, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mycel.open(tmp_path / "fresh.db", durability="off") as db:
        fresh = mycel.Knowledge(db, workspace="shop", root=project)
        bootstrap(fresh)
        whole = state(fresh)
    monkeypatch.setattr(bootstrap_writing, "ROWS_IN_TRANSACTION", 1)
    monkeypatch.setattr(bootstrap_writing, "_GROUP_ROWS", 3)
    real = bootstrap_writing._Transactions.count
    for steps in range(1, 40):
        left = [steps]

        def count(turns: object, rows: int, left: list[int] = left) -> bool:
            others = real(turns, rows)  # type: ignore[arg-type]
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
            return others

        monkeypatch.setattr(bootstrap_writing._Transactions, "count", count)
        try:
            bootstrap(shop)
        except KeyboardInterrupt:
            continue
        break
    else:
        pytest.fail("it never came to an end")
    assert steps > 1
    assert state(shop) == whole
    assert bootstrap(shop).is_nothing


def test_a_file_that_cannot_be_read_is_skipped_with_the_reason(
    shop: mycel.Knowledge, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cart, text = project / "src/shop/cart.py", (project / "src/shop/cart.py").read_text()
    real = Bootstrap._read

    def read(work: Bootstrap, *how: object) -> object:
        cart.unlink()
        os.mkfifo(cart)
        return real(work, *how)  # type: ignore[arg-type]

    monkeypatch.setattr(Bootstrap, "_read", read)
    summary = bootstrap(shop)
    assert [(each.path, each.why) for each in summary.skipped] == [
        ("src/shop/cart.py", "it is a pipe, not a regular file"),
    ]
    assert summary.added == 5
    monkeypatch.undo()
    cart.unlink()
    cart.write_text(text)
    assert bootstrap(shop).added == 1


def test_a_file_that_vanishes_while_it_is_read_is_gone(
    shop: mycel.Knowledge, project: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap(shop)
    path = write("src/shop/main.py", "x = 1\n")
    real = Bootstrap._read

    def read(work: Bootstrap, *how: object) -> object:
        path.unlink(missing_ok=True)
        return real(work, *how)  # type: ignore[arg-type]

    monkeypatch.setattr(Bootstrap, "_read", read)
    summary = bootstrap(shop)
    assert (summary.removed, summary.unchanged) == (1, 5)
    with pytest.raises(NotFound):
        shop.get("file://shop/src/shop/main.py")


@pytest.mark.parametrize("damage", [b"", b"not a database" * 100])
def test_damaged_facts_beside_the_graph_are_made_anew(
    shop: mycel.Knowledge, project: Path, write: Write, damage: bytes
) -> None:
    bootstrap(shop)
    facts = Path(f"{shop.db.path}-facts")
    facts.write_bytes(damage)
    write("src/shop/cart.py", "\n" + CART)
    bootstrap(shop)
    assert links(shop, "concept://shop/src/shop/main.py/BigCart")
    write("src/shop/cart.py", "\n\n" + CART)
    assert bootstrap(shop).changed == 1


def test_the_graph_itself_is_no_file_of_the_project(project: Path) -> None:
    with mycel.open(project / "graph.db", durability="off") as db:
        shop = mycel.Knowledge(db, workspace="shop", root=project)
        assert bootstrap(shop).added == 6
        assert bootstrap(shop).is_nothing


def test_a_graph_in_memory_can_be_bootstrapped(project: Path, write: Write) -> None:
    with NEW.opened() as db:
        shop = mycel.Knowledge(db, workspace="shop", root=project)
        assert bootstrap(shop).added == 6
        write("src/shop/cart.py", "\n" + CART)
        assert bootstrap(shop).changed == 1


def test_folders_outside_of_the_root_are_refused(shop: mycel.Knowledge, tmp_path: Path) -> None:
    with pytest.raises(ConstraintViolation, match="not inside of"):
        bootstrap(shop, tmp_path)
    with pytest.raises(NotFound):
        bootstrap(shop, shop.root / "absent" if shop.root else None)
    with pytest.raises(ConstraintViolation):
        bootstrap(mycel.Knowledge(shop.db, workspace="x"))
    with pytest.raises(ConstraintViolation):
        bootstrap(shop, jobs=0)


def test_an_empty_folder_is_a_project_too(shop: mycel.Knowledge, root: Path) -> None:
    assert bootstrap(shop).files == 0
    assert shop.get("concept://shop").properties["file_count"] == 0
    assert bootstrap(shop).is_nothing


# Telling.


def test_progress_goes_from_reading_to_writing(shop: mycel.Knowledge, project: Path) -> None:
    seen: list[BootstrapProgress] = []
    bootstrap(shop, progress=seen.append)
    assert list(dict.fromkeys(each.stage for each in seen)) == ["reading", "relating", "writing"]
    assert str(seen[0]) == "Reading files: 0 of 6 files"
    assert all(0 <= each.done <= each.total for each in seen)
    assert seen[-1].done == seen[-1].total


def test_a_summary_can_be_read_by_people_and_programs(shop: mycel.Knowledge, project: Path) -> None:
    summary = bootstrap(shop)
    assert str(summary).startswith("6 files added, 0 changed, 0 removed, 0 unchanged; 6 symbols;")
    told = json.loads(json.dumps(summary.to_dict()))
    assert (told["files"], told["added"], told["skipped"]) == (6, 6, 0)


def test_only_some_of_many_skipped_files_are_named() -> None:
    summary = Summary()
    for number in range(1000):
        summary.skip(f"f{number}", "no reason")
    assert (summary.skipped_count, len(summary.skipped)) == (1000, 100)


@pytest.mark.usefixtures("reader_processes")
def test_several_processes_read_the_same(
    tmp_path: Path, shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    for number in range(120):
        write(f"many/f{number}.py", f"def f{number}():\n    pass\n")
    bootstrap(shop, jobs=2)
    with mycel.open(tmp_path / "fresh.db", durability="off") as db:
        fresh = mycel.Knowledge(db, workspace="shop", root=project)
        bootstrap(fresh)
        assert state(shop) == state(fresh)


def test_limits_are_sane() -> None:
    assert limits.FILE_BYTES_MAX <= 2 << 20  # What the analysis takes.


def test_what_is_below_a_folder_that_cannot_be_read_stays(
    shop: mycel.Knowledge, root: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.py", "def a(): pass\n")
    write("closed/b.py", "def b(): pass\n")
    bootstrap(shop, root)
    before = state(shop)
    real = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return real(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", scandir)
        summary = bootstrap(shop, root)
    assert (summary.removed, summary.skipped_count) == (0, 1)
    assert state(shop) == before


def test_a_relation_that_somebody_removed_is_not_made_again(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    bootstrap(shop)
    here = "concept://shop/src/shop/cart.py"
    call = ("calls", f"{here}/check", 0.6)
    shop.unlink(f"{here}/Cart.add", "calls", f"{here}/check", reason="it only looks like it")
    write("src/shop/cart.py", CART + "\n\ndef more():\n    return check(1)\n")
    bootstrap(shop)
    assert links(shop, f"{here}/Cart.add") == set()
    assert links(shop, f"{here}/more") == {call}
    # Not even when what it leads to goes and comes back.
    write("src/shop/cart.py", CART.replace("def check", "def other"))
    bootstrap(shop)
    write("src/shop/cart.py", CART)
    bootstrap(shop)
    assert shop.get(f"{here}/check")
    assert links(shop, f"{here}/Cart.add") == set()
    shop.link(f"{here}/Cart.add", "calls", f"{here}/check", weight=0.6)
    write("src/shop/cart.py", CART + "\n")
    bootstrap(shop)
    assert links(shop, f"{here}/Cart.add") == {call}


def test_relations_that_were_removed_with_a_file_come_back_with_it(
    shop: mycel.Knowledge, project: Path
) -> None:
    work = Bootstrap(shop)  # One that remembers what it wrote, as in watching.
    work.run()
    before = state(shop)
    shop.delete("file://shop/src/shop/cart.py", reason="by mistake")
    work.run()
    assert state(shop) == before


def test_what_git_lists_and_nobody_may_look_at_stays(
    shop: mycel.Knowledge, project: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap(shop)
    git(project, "add", ".")
    before = state(shop)
    real = os.lstat

    def lstat(path: str | Path) -> os.stat_result:
        if "src/shop/" in str(path):
            raise PermissionError(13, "Permission denied")
        return real(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "lstat", lstat)
        summary = bootstrap(shop)
    assert (summary.removed, summary.skipped_count, summary.unchanged) == (0, 3, 6)
    assert state(shop) == before


def test_the_snippet_of_a_symbol_says_its_kind_once(
    shop: mycel.Knowledge, root: Path, write: Write
) -> None:
    write("a.py", "class Basket:\n    def add(self): ...\n")
    write("b.ts", "export interface Stall { x: number }\nexport function sell() {}\n")
    write("c.rs", "pub enum Coin { Penny }\n")
    bootstrap(shop)
    snippets = {name: shop.search(name)[0].snippet for name in ("Basket", "Stall", "sell", "Coin")}
    assert snippets == {
        "Basket": "class Basket",
        "Stall": "interface Stall",
        "sell": "function sell()",
        "Coin": "pub enum Coin",
    }
    assert shop.search("Basket.add")[0].snippet == "method def add(self)"
