"""Mentions of code and documents: names that a reader would call mentioned, and no common words."""

from pathlib import Path

from mycel import Knowledge
from mycel.knowledge.bootstrap import bootstrap


def test_only_names_that_a_reader_would_call_mentioned_are_mentions(
    shop: Knowledge, root: Path
) -> None:
    (root / "memory").mkdir()
    (root / "memory/store.py").write_text(
        "class Result: pass\nclass Cart: pass\nclass ImportMode: pass\n"
        "def set_idx(): pass\ndef access(): pass\ndef candidates(): pass\n"
    )
    (root / "guide.md").write_text(
        "# Guide\n\n## Summary\n\nEnd.\n\n## Import of carts\n\nBy hand.\n"
    )
    bootstrap(shop)
    written = (
        "The candidates have access to memory. A summary: the Result of set_idx depends on the"
        " ImportMode, and every `Cart` and `Result` on the import of carts."
    )
    shop.add("notes/import", content=written)
    shop.add("notes/plain", name="Depot", content="Nothing.")
    shop.add("notes/ask", content="Ask the Depot.")
    code = "concept://shop/memory/store.py"
    assert set(shop.mentions("notes/import")) == {
        f"{code}/set_idx",
        f"{code}/ImportMode",
        f"{code}/Cart",
        "concept://shop/guide.md/import-of-carts",
    }
    assert shop.mentions("notes/ask") == ("concept://shop/notes/plain",)
    unlinked = shop.unlinked_mentions(limit=100)
    assert ("concept://shop/notes/import", f"{code}/Cart") in unlinked
    assert not any(other.endswith(("/access", "/Result", "/memory")) for _, other in unlinked)
