"""Notes that cite something that has changed since."""

from __future__ import annotations

import os
from pathlib import Path

import mycel
from mycel.knowledge.bootstrap import bootstrap

CART = "class Cart:\n    def add(self, item):\n        return item\n\n\ndef check(item): ...\n"
GUIDE = "# Guide\n\nAll about it.\n\n## Use\n\nRun it.\n"


def write(path: Path, text: str) -> None:
    path.write_text(text)
    later = path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(later, later))


def test_a_note_is_marked_when_what_it_cites_has_changed(shop: mycel.Knowledge, root: Path) -> None:
    write(root / "cart.py", CART)
    write(root / "guide.md", GUIDE)
    bootstrap(shop)
    cited = {
        "file": "file://shop/cart.py",
        "method": "concept://shop/cart.py/Cart.add",
        "other": "concept://shop/cart.py/check",
        "section": "concept://shop/guide.md/use",
    }
    for name, target in cited.items():
        shop.add(f"notes/{name}", content=f"About the {name} of a cart.")
        shop.link(f"notes/{name}", "about", target)

    def marks() -> dict[str, tuple[str, ...]]:
        found = shop.get_many([f"notes/{name}" for name in cited])
        nodes = {each.uri.rpartition("/")[2]: each.result for each in found}
        return {name: node.changed_since for name, node in nodes.items() if node is not None}

    nothing = dict.fromkeys(cited, ())
    assert marks() == nothing
    # Lines that move, another time, and other sections are no change of what is cited.
    write(root / "guide.md", "# Guide\n\nAll about it,\n\nand more.\n\n## Use\n\nRun it.\n")
    os.utime(root / "cart.py", ns=(10**18, 10**18))
    bootstrap(shop)
    assert marks() == nothing
    write(root / "cart.py", "# New.\n" + CART.replace("return item", "return [item]"))
    write(root / "guide.md", GUIDE.replace("Run it.", "Run it twice."))
    bootstrap(shop)
    assert marks() == nothing | {
        "file": (cited["file"],),
        "method": (cited["method"],),
        "section": (cited["section"],),
    }
    hits = {hit.uri: hit.found for hit in shop.search("about the method of a cart")}
    assert hits["concept://shop/notes/method"].changed_since == (cited["method"],)  # type: ignore[union-attr]
    assert shop.get("notes/file").version == 1, "a mark is derived, not written"
    # Writing the note again removes the mark, and so does a link that is made again.
    shop.update("notes/method", content="It returns a list now.")
    shop.unlink("notes/file", "about", cited["file"])
    shop.link("notes/file", "about", cited["file"])
    assert marks() == nothing | {"section": (cited["section"],)}
    (root / "guide.md").unlink()
    bootstrap(shop)
    assert marks()["section"] == (cited["section"],)
