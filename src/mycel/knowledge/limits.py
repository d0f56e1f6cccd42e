"""Every bound of the knowledge engine, in one place."""

from __future__ import annotations

from typing import Final

PAGE_MAX: Final = 10_000
"""Nodes or relations of one page, or hits of one search; more are not given at once."""

ITEMS_MAX: Final = 1_000_000
"""Nodes, and relations, that are written as one transaction."""

RESOURCE_BYTES_MAX: Final = 1 << 20
"""How large a file may be that is read, unless the caller says otherwise."""

WORKSPACE_CHARACTERS_MAX: Final = 63
"""The name of a workspace."""

CONTEXT_NODES: Final = 100
"""How many nodes a context holds, unless told otherwise."""

CONTEXT_NODES_MAX: Final = 10_000

CONTEXT_EVICTED: Final = 100
"""How many of the nodes that left a context are remembered."""

CONTEXTS_MAX: Final = 1_000
"""How many handles of contexts are kept at once."""
