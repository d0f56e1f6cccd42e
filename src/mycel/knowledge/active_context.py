"""The nodes that a model is working with, in memory.

`ActiveContext` holds a bounded number of nodes, and evicts the least recently used one when it is
full. A server on a pipe has one context. Over HTTP, requests are independent: a caller gets the
handle of a context and passes it back. `Contexts` keeps a bounded number of contexts.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from secrets import token_urlsafe
from threading import Lock
from typing import Any, Final

from mycel.errors import ConstraintViolation, NotFound
from mycel.knowledge.limits import CONTEXT_EVICTED, CONTEXT_NODES, CONTEXT_NODES_MAX, CONTEXTS_MAX
from mycel.model.names import shorten

_HANDLE_BYTES: Final = 24


@dataclass(frozen=True, slots=True)
class LoadedNode:
    """A node that is loaded into the context."""

    uri: str
    tokens: int
    why: str
    """The reason for which the node was loaded."""
    id: str = ""
    """The id of the node, which stays the same when the node moves; empty if not known."""


@dataclass(frozen=True, slots=True)
class Evicted:
    """A node that was in the context."""

    uri: str
    why: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The content of a context at one moment."""

    size_max: int
    loaded: tuple[LoadedNode, ...]
    """The loaded nodes; the one used last comes first."""
    evicted: tuple[Evicted, ...]
    """The evicted nodes; the one evicted last comes first."""
    evicted_count: int
    """The number of evictions since the context was made or cleared."""

    @property
    def tokens(self) -> int:
        """The estimated tokens of all loaded nodes."""
        return sum(loaded_node.tokens for loaded_node in self.loaded)

    def to_dict(self) -> dict[str, Any]:
        return {
            "size_max": self.size_max,
            "tokens": self.tokens,
            "loaded": [
                {"uri": loaded_node.uri, "tokens": loaded_node.tokens, "why": loaded_node.why}
                for loaded_node in self.loaded
            ],
            "evicted": [{"uri": eviction.uri, "why": eviction.why} for eviction in self.evicted],
            "evicted_count": self.evicted_count,
        }


class ActiveContext:
    """The loaded nodes. A new node evicts the least recently used one. Safe for threads."""

    def __init__(self, size_max: int = CONTEXT_NODES) -> None:
        if isinstance(size_max, bool) or not isinstance(size_max, int):
            raise ConstraintViolation("The size of a context is a whole number of nodes.")
        if not 1 <= size_max <= CONTEXT_NODES_MAX:
            raise ConstraintViolation(
                f"A context of {size_max} nodes is not possible.",
                hint=f"It holds 1 to {CONTEXT_NODES_MAX} nodes; {CONTEXT_NODES} is usual.",
            )
        self.size_max: Final = size_max
        self._lock: Final = Lock()
        self._loaded: OrderedDict[str, LoadedNode] = OrderedDict()
        self._evicted: deque[Evicted] = deque(maxlen=CONTEXT_EVICTED)
        self._evicted_count = 0

    def __len__(self) -> int:
        return len(self._loaded)

    def __contains__(self, uri: object) -> bool:
        return uri in self._loaded

    def add(
        self,
        uri: str,
        *,
        tokens: int = 0,
        why: str = "added",
        id: str = "",  # noqa: A002 - the word for it
    ) -> tuple[str, ...]:
        """Load a node, or use it again. Returns the evicted URIs."""
        return self.add_all(((uri, tokens, why),), ids={uri: id})

    def add_all(
        self, nodes: Iterable[tuple[str, int, str]], *, ids: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Load nodes, each given as URI, tokens and reason. The first node counts as used last.

        Nodes beyond the size of the context are not loaded. `ids` has the id of each URI, so that
        nodes can be followed when they move. Returns the evicted URIs.
        """
        node_ids = ids or {}
        by_uri = {uri: (tokens, why) for uri, tokens, why in reversed(list(nodes))}
        with self._lock:
            for uri, (tokens, why) in by_uri.items():
                self._loaded[uri] = LoadedNode(uri, tokens, why, node_ids.get(uri, ""))
                self._loaded.move_to_end(uri)
            uris = []
            while len(self._loaded) > self.size_max:
                uri, _ = self._loaded.popitem(last=False)
                self._evict(uri, f"least recently used of more than {self.size_max}")
                uris.append(uri)
        return tuple(uris)

    def touch(self, uri: str) -> bool:
        """Mark a node as used again. Returns False if it is not loaded."""
        with self._lock:
            if uri not in self._loaded:
                return False
            self._loaded.move_to_end(uri)
            return True

    def discard(self, uri: str, *, why: str = "removed by request") -> bool:
        """Unload a node. Returns False if it was not loaded."""
        with self._lock:
            if self._loaded.pop(uri, None) is None:
                return False
            self._evict(uri, why)
            return True

    def rename(self, old: str, new: str, *, subtree: bool = False) -> None:
        """Change the URI of a moved node, and with `subtree` those of all nodes below it."""
        with self._lock:
            self._follow(
                {
                    uri: new + uri[len(old) :]
                    for uri in self._loaded
                    if uri == old or (subtree and uri.startswith(f"{old}/"))
                }
            )

    def follow(self, now: Mapping[str, str | None]) -> None:
        """Replace old URIs by current ones. A node whose current URI is None is unloaded."""
        with self._lock:
            self._follow(now)

    def clear(self) -> int:
        """Unload all nodes and forget evictions. Returns the number of loaded nodes."""
        with self._lock:
            count = len(self._loaded)
            self._loaded.clear()
            self._evicted.clear()
            self._evicted_count = 0
            return count

    def show(self) -> Shown:
        """The loaded nodes, last used first; and the evicted nodes, last evicted first."""
        with self._lock:
            return Shown(
                self.size_max,
                tuple(reversed(self._loaded.values())),
                tuple(reversed(self._evicted)),
                self._evicted_count,
            )

    def _follow(self, now: Mapping[str, str | None]) -> None:
        before, self._loaded = self._loaded, OrderedDict()
        for old, loaded_node in before.items():
            uri = now.get(old, old)
            if uri is None:
                self._evict(old, "no longer in the graph")
                continue
            self._loaded[uri] = replace(loaded_node, uri=uri)
            self._loaded.move_to_end(uri)  # If two nodes became one, the later use counts.

    def _evict(self, uri: str, why: str) -> None:
        self._evicted_count += 1
        self._evicted.append(Evicted(uri, why))


class Contexts:
    """A bounded number of contexts, each with a handle. Safe for threads."""

    def __init__(self, count_max: int = CONTEXTS_MAX, *, size_max: int = CONTEXT_NODES) -> None:
        if count_max < 1:
            raise ConstraintViolation(f"count_max is {count_max}; it must be at least 1.")
        self._count_max: Final = count_max
        self._size_max: Final = ActiveContext(size_max).size_max
        self._lock: Final = Lock()
        self._contexts: OrderedDict[str, ActiveContext] = OrderedDict()

    def __len__(self) -> int:
        return len(self._contexts)

    def mint(self) -> str:
        """Make a context and return its random handle.

        Drops the least recently used context if there are too many.
        """
        handle, context = token_urlsafe(_HANDLE_BYTES), ActiveContext(self._size_max)
        with self._lock:
            self._contexts[handle] = context
            if len(self._contexts) > self._count_max:
                self._contexts.popitem(last=False)
        return handle

    def get(self, handle: object) -> ActiveContext:
        """The context that a handle names.

        Raises:
            NotFound: the handle was never made, or its context was dropped.
        """
        with self._lock:
            context = self._contexts.get(handle) if isinstance(handle, str) else None
            if context is None:
                raise NotFound(
                    f"There is no context {shorten(repr(handle))}.",
                    hint="It was dropped, by a restart or to make room. Leave context_id out to get"
                    " a new one; the graph itself has lost nothing.",
                )
            self._contexts.move_to_end(str(handle))
            return context


class NoContexts(Contexts):
    """Contexts for a server of several processes: each call gets a new one, and none is kept."""

    def mint(self) -> str:
        return ""

    def get(self, handle: object) -> ActiveContext:
        """A new context.

        Raises:
            ConstraintViolation: a context of an earlier call is asked for.
        """
        if handle != "":
            raise ConstraintViolation(
                "This server has several processes and keeps no contexts.",
                hint="Leave context_id out, or start the server without --workers.",
            )
        return ActiveContext(self._size_max)
