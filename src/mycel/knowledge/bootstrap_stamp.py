"""The marks that show which elements a bootstrap wrote."""

from __future__ import annotations

from typing import Final

AUTHOR: Final = {"author": "bootstrap"}
"""The metadata of nodes and relations that a bootstrap wrote."""
AUTHOR_TEXT: Final = '{"author":"bootstrap"}'
