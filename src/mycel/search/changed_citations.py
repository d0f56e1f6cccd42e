"""Files, symbols and sections that notes cite, and that have changed since."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from mycel.model.values import parse_object
from mycel.search.validity import MISSING_SINCE
from mycel.store.query.bulk.citations import attributes_then, changed_citations
from mycel.store.query.reader import Reader
from mycel.text.kinds import STAMP

CHANGED_SHOWN: Final = 5
"""The maximum number of changed citations that are named at one note."""
CONTENT: Final = "content"
_HASH: Final = "hash"


def find_changed_citations(
    reader: Reader, notes: Collection[int], author: str
) -> dict[int, tuple[str, ...]]:
    """The URIs that each note cites and whose targets have changed since; live state only.

    An element whose only metadata is `author`, as text, was read from files, and is no note.
    """
    changed: dict[int, list[str]] = {}
    for citation in changed_citations(reader, notes, author):
        now = parse_object(citation.attributes)
        if STAMP not in now or len(changed.get(citation.note, ())) >= CHANGED_SHOWN:
            continue
        then = attributes_then(reader, citation.cited, citation.written)
        if then is not None and _content(parse_object(then)) != _content(now):
            changed.setdefault(citation.note, []).append(citation.name)
    return {note: tuple(names) for note, names in changed.items()}


def _content(attributes: Mapping[str, Any]) -> object:
    """The values that tell if the content of a file, symbol or section has changed."""
    stamp = attributes.get(STAMP)
    digest = stamp.get(_HASH) if isinstance(stamp, dict) else None
    content = digest if digest is not None else attributes.get(CONTENT)
    return content, MISSING_SINCE in attributes
