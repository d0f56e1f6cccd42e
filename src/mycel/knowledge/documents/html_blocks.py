"""Reads headings, texts and links of HTML pages.

A page that is a template, or has hardly any text, is no document.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

from mycel.knowledge.documents.markdown_links import FoundLink
from mycel.knowledge.documents.text_lines import NumberedLine, TextBlock

WORDS_MIN: Final = 20
"""The least number of words outside of headings that makes a page a document."""
TAGS_MAX: Final = 100_000

_TEMPLATE: Final = re.compile(r"\{%|\{\{|<\?(?!xml)|<%|\$\{")
_LEFT_OUT: Final = frozenset(
    {"script", "style", "nav", "head", "template", "svg", "button", "form"}
)
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_BREAKS: Final = frozenset(
    {"p", "div", "br", "li", "tr", "ul", "ol", "table", "section", "article", "main", "dd", "dt",
     "dl", "blockquote", "pre", "header", "footer"}
)  # fmt: skip
_EMPTY_LINES: Final = re.compile(r"\n\s*\n+")
_SPACES: Final = re.compile(r"[ \t\r\f\v]+")


def html_blocks(text: str) -> tuple[list[TextBlock], list[FoundLink], str]:
    """The headings of a page with their texts, its links by line, and its title."""
    if _TEMPLATE.search(text):
        return [], [], ""
    page = _Page()
    page.feed(text)
    page.close()
    blocks = page.blocks()
    words = sum(len(line.text.split()) for block in blocks for line in block.lines)
    return (blocks, page.links, page.title) if words >= WORDS_MIN else ([], [], "")


class _Page(HTMLParser):
    """Collects the texts of a page. The position of a link is the number of its line."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[FoundLink] = []
        self.title = ""
        self._found: list[tuple[int, str, int, list[tuple[int, str]], str]] = [(0, "", 1, [], "")]
        self._heading: list[str] | None = None
        self._skipping: list[str] = []
        self._in_title = False
        self._tags = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tags += 1
        if self._tags > TAGS_MAX:
            return
        line = self.getpos()[0]
        values = dict(attrs)
        if tag == "title":
            self._in_title = True
        elif tag in _LEFT_OUT:
            self._skipping.append(tag)
        elif tag in _HEADINGS and not self._skipping:
            self._heading = []
            self._found.append((_HEADINGS[tag], "", line, [], values.get("id") or ""))
        elif tag in _BREAKS:
            self._text("\n")
        target = values.get("href") if tag == "a" else None
        if target and not self._skipping:
            self.links.append(FoundLink(line, line, target))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in _LEFT_OUT and tag in self._skipping:
            del self._skipping[self._skipping.index(tag) :]
        elif tag in _HEADINGS and self._heading is not None:
            level, _, line, texts, anchor = self._found.pop()
            self._found.append(
                (level, " ".join("".join(self._heading).split()), line, texts, anchor)
            )
            self._heading = None
        elif tag in _BREAKS:
            self._text("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = " ".join(f"{self.title} {data}".split())[:200]
        else:
            self._text(data)

    def _text(self, text: str) -> None:
        if self._skipping:
            return
        if self._heading is not None:
            self._heading.append(text)
        else:
            self._found[-1][3].append((self.getpos()[0], text))

    def blocks(self) -> list[TextBlock]:
        blocks: list[TextBlock] = []
        for level, heading, line, texts, anchor in self._found:
            page_text = _EMPTY_LINES.sub(
                "\n\n", _SPACES.sub(" ", "".join(text for _, text in texts))
            )
            lines = [part.strip() for part in page_text.strip().split("\n")]
            if not heading and not any(lines):
                continue
            last = texts[-1][0] if texts else line
            # The parser gives only the first and the last line of a text.
            numbered = [NumberedLine(line, text) for text in lines[:-1]]
            numbered.append(NumberedLine(max(last, line), lines[-1]))
            blocks.append(TextBlock(level, heading, line, tuple(numbered), anchor))
        return blocks
