"""Documents and vaults in the graph."""

from __future__ import annotations

from pathlib import Path

import pytest

import mycel
from mycel.knowledge.bootstrap import bootstrap
from mycel.search.modes import HYBRID, KEYWORD
from tests.unit.knowledge.bootstrap.conftest import Write, state

GUIDE = """# Guide

All about the shop. See [the cart](src/cart.py).

## Install

Run `pip install shop` and wait for a little while until it is done.

## Use

Call `Cart.add` or open src/cart.py. More in [install](#install) and [tea](tea.md).
"""


def out(shop: mycel.Knowledge, uri: str) -> set[tuple[str, str]]:
    return {(each.relation, each.target) for each in shop.relations(uri, direction="out")}


@pytest.fixture
def folder(root: Path, write: Write) -> Path:
    """A folder without Git."""
    write("guide.md", GUIDE)
    write("src/cart.py", "class Cart:\n    def add(self, item): ...\n")
    return root


def test_sections_become_nodes_with_their_text(shop: mycel.Knowledge, folder: Path) -> None:
    summary = bootstrap(shop)
    assert summary.sections == 3
    assert "3 sections" in str(summary)
    section = shop.get("guide.md/install")
    assert (section.type, section.name) == ("Section", "Guide > Install")
    assert section.content == "Run `pip install shop` and wait for a little while until it is done."
    assert section.properties == {"heading": "Install", "level": 2, "line": 5, "end_line": 7}
    assert out(shop, section.uri) == {("section_of", "file://shop/guide.md")}
    assert shop.search("wait until it is done")[0].uri == section.uri


def test_sections_lead_to_what_they_link_to_and_name(shop: mycel.Knowledge, folder: Path) -> None:
    bootstrap(shop)
    assert out(shop, "guide.md/use") == {
        ("section_of", "file://shop/guide.md"),
        ("names", "file://shop/src/cart.py"),
        ("names", "concept://shop/src/cart.py/Cart.add"),
        ("references", "concept://shop/guide.md/install"),
        ("references", "concept://shop/tea.md"),
    }
    (missing,) = shop.broken_links()
    assert missing.missing == ("concept://shop/tea.md",)
    assert {each.uri for each in shop.traverse("file://shop/guide.md").nodes} >= {
        "concept://shop/guide.md/guide", "concept://shop/guide.md/use", "file://shop/src/cart.py"
    }  # fmt: skip


def test_a_missing_document_heals_the_links_to_it(
    shop: mycel.Knowledge, folder: Path, write: Write
) -> None:
    bootstrap(shop)
    write("tea.md", "# Tea\n")
    bootstrap(shop)
    assert ("references", "file://shop/tea.md") in out(shop, "guide.md/use")
    assert not shop.broken_links()
    (folder / "tea.md").unlink()
    bootstrap(shop)
    assert len(shop.broken_links()) == 1
    write("guide.md", "# Guide\n")
    bootstrap(shop)
    assert not shop.broken_links()
    assert "Missing" not in {type_ for type_, *_ in state(shop)[0]}


def test_a_change_makes_new_versions_of_sections_that_changed_or_moved(
    shop: mycel.Knowledge, folder: Path, write: Write
) -> None:
    def sections() -> list[tuple[int, object, object]]:
        nodes = [shop.get(f"guide.md/{name}") for name in ("guide", "install", "use")]
        return [(n.version, n.properties["line"], n.properties["end_line"]) for n in nodes]

    bootstrap(shop)
    assert sections() == [(1, 1, 3), (1, 5, 7), (1, 9, 11)]
    later = GUIDE.replace("a little while", "a while")
    write("guide.md", later)
    bootstrap(shop)
    assert sections() == [(1, 1, 3), (2, 5, 7), (1, 9, 11)]
    # Text above moves the sections below it.
    write("guide.md", later.replace("All about", "Nearly all\n\nabout"))
    bootstrap(shop)
    assert sections() == [(2, 1, 5), (3, 7, 9), (2, 11, 13)]


def test_a_section_keeps_its_node_under_another_heading(
    shop: mycel.Knowledge, folder: Path, write: Write
) -> None:
    bootstrap(shop)
    before = shop.get("guide.md/install")
    shop.link("concept://shop/notes/pip", "about", before.uri)
    write("guide.md", GUIDE.replace("## Install", "## How to install it").replace("little ", ""))
    bootstrap(shop)
    after = shop.get("guide.md/how-to-install-it")
    assert (after.id, after.name) == (before.id, "Guide > How to install it")
    assert "for a while" in str(after.content)
    assert [each.relation for each in shop.relations(after.uri, relation_types=["about"])] == [
        "about"
    ]


def test_a_section_that_is_gone_goes_unless_others_wrote_to_it(
    shop: mycel.Knowledge, folder: Path, write: Write
) -> None:
    bootstrap(shop)
    shop.update("guide.md/install", properties={"reviewed": True})
    write("guide.md", "# Guide\n\nAll about the shop.\n")
    bootstrap(shop)
    assert "missing_since" in shop.get("guide.md/install").properties
    with pytest.raises(mycel.errors.NotFound):
        shop.get("guide.md/use")


def test_a_vault_is_a_workspace(shop: mycel.Knowledge, root: Path, write: Write) -> None:
    write(
        "Tea.md",
        "---\naliases: [Cha]\ntags: [drink]\nstatus: draft\n---\n"
        "Leaves in water. See [[Water#Hot]], [[coffee]] and ![[pot.png]].\n",
    )
    write("basics/Water.md", "# Water\n\n## Hot\n\nFor [[cha]]. #drink/hot\n")
    write("pot.png", b"\x89PNG\0")
    bootstrap(shop)
    tea = shop.get("file://shop/Tea.md").properties
    assert (tea["aliases"], tea["tags"]) == (["Cha"], ["drink"])
    assert tea["front_matter"] == {"status": "draft"}
    assert out(shop, "Tea.md/text") == {
        ("section_of", "file://shop/Tea.md"),
        ("references", "concept://shop/basics/Water.md/hot"),
        ("references", "concept://shop/coffee"),
        ("references", "file://shop/pot.png"),
    }
    assert ("references", "file://shop/Tea.md") in out(shop, "basics/Water.md/hot")
    assert ("tagged", "concept://shop/tags/drink") in out(shop, "file://shop/Tea.md")
    assert ("tagged", "concept://shop/tags/drink/hot") in out(shop, "file://shop/basics/Water.md")
    assert shop.get("concept://shop/tags/drink").type == "Tag"
    near = shop.traverse("file://shop/Tea.md").nodes
    assert "concept://shop/basics/Water.md/water" in {each.uri for each in near}
    (link,) = shop.broken_links()
    assert link.missing == ("concept://shop/coffee",)
    write("Tea.md", "Nothing.\n")
    bootstrap(shop)
    (link,) = shop.broken_links()
    assert link.missing == ("concept://shop/cha",)  # The alias is gone.
    with pytest.raises(mycel.errors.NotFound):
        shop.get("concept://shop/tags/drink")
    assert "front_matter" not in shop.get("file://shop/Tea.md").properties


def test_what_is_pinned_outlasts_its_file_and_its_last_relation(
    shop: mycel.Knowledge, root: Path, write: Write
) -> None:
    write("Tea.md", "See [[coffee]].\n")
    write("basics/Water.md", "# Water\n\nHot.\n")
    bootstrap(shop)
    pinned = ("concept://shop/coffee", "file://shop/basics/Water.md")
    for uri in pinned:
        shop.db.execute(
            "UPDATE ?x SET METADATA { pinned: true } WHERE { ?x {name: :uri} }", uri=uri
        )
    write("Tea.md", "Nothing.\n")
    (root / "basics/Water.md").unlink()
    bootstrap(shop)
    for uri in pinned:
        found = shop.db.execute("FIND(?x.name) WHERE { ?x {name: :uri} }", uri=uri).value
        assert found == [uri]


def test_wikilinks_in_properties_are_links_of_the_note(
    shop: mycel.Knowledge, root: Path, write: Write
) -> None:
    write("Tea.md", '---\nkind: [[Drinks]]\nwith: ["[[Milk|some]]", "[[Tea]]"]\n---\nLeaves.\n')
    write("Drinks.md", "---\ntags: [list]\nof: '[[Tea]]'\n---\n")
    bootstrap(shop)
    links = {link for link in out(shop, "file://shop/Tea.md") if link[0] == "references"}
    assert links == {
        ("references", "file://shop/Drinks.md"),
        ("references", "concept://shop/Milk"),
    }
    (missing,) = shop.broken_links()
    assert missing.missing == ("concept://shop/Milk",)
    # A note without a text has links and tags too.
    assert out(shop, "file://shop/Drinks.md") == {
        ("references", "file://shop/Tea.md"),
        ("tagged", "concept://shop/tags/list"),
    }
    write("Tea.md", "Leaves.\n")
    bootstrap(shop)
    assert not shop.broken_links().items


def test_a_document_is_a_note_that_its_names_find_once(
    shop: mycel.Knowledge, root: Path, write: Write
) -> None:
    text = "---\naliases: [Firebird]\n---\n# Phoenix\n\nBilling anew.\n\n## Risks\n\nDebt.\n"
    write("Phoenix.md", text)
    write("Log.md", "# Log\n\nThe choir sang, then Firebird was shown.\n")
    write("main.py", "def sing():\n    pass\n")
    bootstrap(shop)
    file, section = "file://shop/Phoenix.md", "concept://shop/Phoenix.md/phoenix"
    assert file in shop.mentions("concept://shop/Log.md/log")
    for mode in (HYBRID, KEYWORD):
        assert shop.search("phoenix.md", kind="notes", mode=mode)[0].uri == file
        for question in ("Firebird", "Phoenix"):
            hits = shop.search(question, kind="notes", mode=mode)
            assert hits[0].uri in {file, section}, (question, mode)
            assert hits[0].score > 0.9, (question, mode)
            assert len({file, section} & {hit.uri for hit in hits}) == 1, (question, mode)
        notes = {hit.uri for hit in shop.search("shop", kind="notes", mode=mode, limit=50)}
        assert "file://shop/main.py" not in notes
    assert shop.search("Firebird")[0].kind == "notes"
    assert [hit.uri for hit in shop.search("Phoenix", type="Resource")][:1] == [file]
    assert [hit.uri for hit in shop.search("main", kind="code")][:1] == ["file://shop/main.py"]


def test_parts_of_a_project_depend_on_each_other_and_on_packages(
    shop: mycel.Knowledge, root: Path, write: Write
) -> None:
    write("a/package.json", '{"name": "a", "dependencies": {"b": "*", "react": "19"}}')
    write("b/package.json", '{"name": "b", "dependencies": {}}')
    bootstrap(shop)
    assert out(shop, "file://shop/a/package.json") == {
        ("depends_on", "file://shop/b/package.json"),
        ("depends_on", "pkg:npm/react"),
    }
    assert shop.get("pkg:npm/react").type == "Resource"
    write("a/package.json", '{"name": "a", "dependencies": {"b": "*"}}')
    bootstrap(shop)
    with pytest.raises(mycel.errors.NotFound):
        shop.get("pkg:npm/react")
