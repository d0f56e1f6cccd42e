"""Reads the text of PDF documents with pypdf, an extra, a page at a time."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from time import process_time
from typing import Final

from mycel.knowledge.documents.text_lines import NumberedLine, TextBlock

PAGES_MAX: Final = 300
SECONDS_MAX: Final = 1.2
"""The processor time for one document; the process that reads it is stopped soon after."""

_HYPHEN: Final = re.compile(r"(?<=[a-z])-\n(?=[a-z])")


class PdfPages:
    """The pages of a document, and its title. `note` says which pages are not read."""

    def __init__(self) -> None:
        self.note = ""
        self.title = ""

    def read(self, data: bytes) -> Iterator[TextBlock]:
        """Each page with text as a block; the line of the block is the number of the page."""
        import pypdf  # noqa: PLC0415 - an extra

        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        began = process_time()
        try:
            document = pypdf.PdfReader(io.BytesIO(data))
            if document.is_encrypted:
                self.note = "encrypted: not read"
                return
            title = document.metadata.title if document.metadata is not None else None
            self.title = title.strip() if isinstance(title, str) else ""
            for number, page in enumerate(document.pages, 1):
                if number > PAGES_MAX or process_time() - began > SECONDS_MAX:
                    self.note = f"only its first {number - 1} pages are read"
                    return
                text = _HYPHEN.sub("", page.extract_text() or "").replace("\0", "")
                if text.strip():
                    lines = tuple(NumberedLine(number, line) for line in text.split("\n"))
                    yield TextBlock(2, f"Page {number}", number, lines)
        except Exception:  # noqa: BLE001 - pypdf raises errors of every kind for broken documents
            self.note = self.note or "cannot be read as a PDF, or not to its end"
