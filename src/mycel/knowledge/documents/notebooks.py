"""Turns notebooks into Markdown: text cells unchanged, code cells between fences."""

from __future__ import annotations

from typing import Any, Final

import orjson

CELLS_MAX: Final = 2_000
CODE_CHARACTERS_MAX: Final = 4_000
"""The maximum number of characters of one code cell that are kept; its results are left out."""


def notebook_text(text: str) -> str:
    """The cells of a notebook as Markdown; "" if it cannot be read."""
    try:
        notebook = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ""
    if not isinstance(notebook, dict):
        return ""
    cells = notebook.get("cells")
    language = _language(notebook)
    texts = [
        _cell(cell, language) for cell in (cells if isinstance(cells, list) else [])[:CELLS_MAX]
    ]
    return "\n\n".join(text for text in texts if text)


def _cell(cell: Any, language: str) -> str:
    if not isinstance(cell, dict):
        return ""
    source = cell.get("source")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str) or not source.strip():
        return ""
    if cell.get("cell_type") == "code":
        return f"```{language}\n{source[:CODE_CHARACTERS_MAX].strip()}\n```"
    return source.strip() if cell.get("cell_type") == "markdown" else ""


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) and name.isalnum() else "python"
