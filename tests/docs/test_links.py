"""Links between documents lead to files and headings that exist."""

from pathlib import Path

from tests.cases import cases
from tests.docs.blocks import DOCUMENTS, ROOT, anchors_of, blocks_of, links_of

PAGES = [*DOCUMENTS, *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md"))]
LINKS = [
    (path, link)
    for path in PAGES
    for link in links_of(path.read_text(encoding="utf-8"))
    if "://" not in link and not link.startswith("vscode:")
]


@cases(("path", "link"), LINKS)
def test_a_link_leads_to_a_file_and_a_heading_that_exist(path: Path, link: str) -> None:
    name, _, anchor = link.partition("#")
    target = (path.parent / name).resolve() if name else path
    assert target.exists(), f"{path.name} links to {link}"
    assert target.is_relative_to(ROOT)
    if anchor:
        assert anchor in anchors_of(target.read_text(encoding="utf-8")), f"{link} has no heading"


def test_every_document_is_linked_from_the_readme() -> None:
    linked = set(links_of((ROOT / "README.md").read_text(encoding="utf-8")))
    assert {f"docs/{path.name}" for path in DOCUMENTS[1:]} <= linked


@cases("path", PAGES)
def test_every_fence_is_closed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    marks = [line for line in text.splitlines() if line.lstrip().startswith("```")]
    assert len(marks) == 2 * len(blocks_of(text))
