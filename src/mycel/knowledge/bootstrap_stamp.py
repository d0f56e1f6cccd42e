"""The marks by which elements that a bootstrap wrote are recognised."""

from __future__ import annotations

from typing import Final

AUTHOR: Final = {"author": "bootstrap"}
"""The metadata of its nodes and relations."""
AUTHOR_TEXT: Final = '{"author":"bootstrap"}'
