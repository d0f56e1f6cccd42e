"""Reads Markdown: fenced blocks, headings and links; and loads the tool that writes pages."""

import importlib.util
import re
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "docs.py"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NO_RUN = re.compile(r"<!-- no-run: .+ -->\s*$")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block, and the number of the first line inside it."""

    language: str
    source: str
    line: int
    runs: bool
    """False if the comment `<!-- no-run: reason -->` stands right before it."""
    follows_a_block: bool
    """Whether nothing stands between it and the block before it."""


def docs_tool() -> ModuleType:
    """The program that writes pages from the code, as a module."""
    spec = importlib.util.spec_from_file_location("tools_docs", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks_of(document: str) -> list[Block]:
    found = list(_FENCE.finditer(document))
    ends = [0, *(match.end() for match in found)]
    return [
        Block(
            match[1],
            match[2],
            document.count("\n", 0, match.start(2)) + 1,
            not _NO_RUN.search(document, end, match.start()),
            bool(end) and not document[end : match.start()].strip(),
        )
        for end, match in zip(ends, found, strict=False)
    ]


def prose_of(document: str) -> str:
    """The document without its blocks and without code in a line."""
    return re.sub(r"`[^`\n]*`", "``", _FENCE.sub("", document))


def links_of(document: str) -> list[str]:
    return _LINK.findall(prose_of(document))


def anchors_of(document: str) -> set[str]:
    """The anchors that a link may name after `#`: the headings, in the form of GitHub."""
    headings = _HEADING.findall(_FENCE.sub("", document))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows_of(document: str, heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    lines = document.split(f"# {heading}\n", 1)[1].splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line, following in pairwise([*lines[start + 2 :], ""]):
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
        if not following.startswith("|"):
            break
    return rows
