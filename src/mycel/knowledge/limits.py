"""Every limit of the knowledge engine, in one place."""

from __future__ import annotations

from typing import Final

PAGE_MAX: Final = 10_000
"""The maximum number of nodes or relations on one page, and hits of one search."""

ITEMS_MAX: Final = 1_000_000
"""The maximum number of nodes, or relations, that one transaction writes."""

RESOURCE_BYTES_MAX: Final = 1 << 20
"""The default size limit of a file that is read."""

WORKSPACE_CHARACTERS_MAX: Final = 63
"""The maximum number of characters in the name of a workspace."""

CONTEXT_NODES: Final = 100
"""The default number of nodes that a context holds."""

CONTEXT_NODES_MAX: Final = 10_000

CONTEXT_EVICTED: Final = 100
"""The number of evicted nodes that a context remembers."""

CONTEXTS_MAX: Final = 1_000
"""The maximum number of contexts with a handle at one time."""
