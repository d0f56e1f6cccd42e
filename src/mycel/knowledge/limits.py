"""Every bound of the knowledge engine, in one place."""

from __future__ import annotations

from typing import Final

PAGE_MAX: Final = 10_000
"""Nodes or relations of one page, or hits of one search."""

ITEMS_MAX: Final = 1_000_000
"""Nodes, or relations, written in one transaction."""

RESOURCE_BYTES_MAX: Final = 1 << 20
"""The size of a file that is read, by default."""

WORKSPACE_CHARACTERS_MAX: Final = 63
"""Characters in the name of a workspace."""

CONTEXT_NODES: Final = 100
"""Nodes that a context holds, by default."""

CONTEXT_NODES_MAX: Final = 10_000

CONTEXT_EVICTED: Final = 100
"""Evicted nodes that a context remembers."""

CONTEXTS_MAX: Final = 1_000
"""Contexts with a handle at once."""
