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


def test_what_only_reads_like_a_name_is_no_mention(shop: Knowledge, root: Path) -> None:
    (root / "router.rs").write_text(
        "pub fn new_route() {}\nfn get_handler() {}\nfn format() {}\nfn wrap_all() {}\n"
    )
    (root / "CHANGELOG.md").write_text("# Changes\n\n## 0.4.2\n\nFixed.\n\n## A graph\n\nNew.\n")
    bootstrap(shop)
    written = (
        'Call `Router::new().route("/", get(handler))`, then `bun run format`; version 0.4.2 has'
        " a graph. See renew_routes and `shop::wrap_all`."
    )
    shop.add("notes/routes", content=written)
    assert shop.mentions("notes/routes") == ("concept://shop/router.rs/wrap_all",)
    shop.add("notes/named", content="new_route takes what `format` returns.")
    code = "concept://shop/router.rs"
    assert set(shop.mentions("notes/named")) == {f"{code}/new_route", f"{code}/format"}
