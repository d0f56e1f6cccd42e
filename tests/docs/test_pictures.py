"""The pictures of README.md and docs/: they exist, they are shown somewhere, and they are small."""

import re

from tests.docs.blocks import ROOT

KINDS = ("webp", "svg", "png", "gif", "jpg")


def test_every_picture_that_is_shown_exists_every_one_that_exists_is_shown_and_all_are_small() -> (
    None
):
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {
        (page.parent / name).resolve()
        for page in pages
        for name in re.findall(rf"[\w./-]+\.(?:{'|'.join(KINDS)})\b", page.read_text("utf-8"))
        if "/" in name or name.startswith("explorer-")
    }
    there = {path for kind in KINDS for path in (ROOT / "docs").glob(f"*.{kind}")}
    assert there - shown == set()
    assert {path for path in shown if path.parent == ROOT / "docs"} - there == set()
    assert sum(path.stat().st_size for path in there) < 400_000
