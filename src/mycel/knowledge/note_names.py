"""Makes titles and paths of notes from their texts."""

from __future__ import annotations

import re
from typing import Final

from mycel.model.names import shorten

NOTES_PATH: Final = "notes"
TITLE_CHARACTERS: Final = 60
SLUG_CHARACTERS: Final = 50


def title_of(content: str) -> str:
    """The title of a text: its first sentence.

    >>> title_of("# Passkeys only. Passwords leak.")
    'Passkeys only'
    """
    line = next(iter(content.strip().splitlines()), "").lstrip("# ").strip()
    sentence = re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0].rstrip(".")
    return shorten(sentence, TITLE_CHARACTERS)


def note_path(title: str) -> str:
    """The path for a note with this title.

    >>> note_path("Passkeys only!")
    'notes/passkeys-only'
    """
    slug = re.sub(r"[^\w]+", "-", title.lower()).strip("-")[:SLUG_CHARACTERS].strip("-")
    return f"{NOTES_PATH}/{slug or 'note'}"
