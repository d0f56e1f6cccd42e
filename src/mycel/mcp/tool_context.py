"""The graph, the knowledge and the contexts that tools work on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.errors import ConstraintViolation, InvalidSyntax, ResourceExhausted
from mycel.explorer.open_explorers import OpenExplorers
from mycel.knowledge.active_context import Contexts
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.several import SeveralWorkspaces
from mycel.model.values import JsonObject

URIS_MAX: Final = 1_000
"""The maximum number of URIs of one call."""

ProgressReport = Callable[[float, float | None, str], None]
"""Reports the progress of a long call: done, total and a text. Raises if the call was cancelled."""

OpenWorkspaces = Callable[[Sequence[str]], AbstractContextManager[SeveralWorkspaces]]
"""Opens workspaces by name for the time of a block; without names, all workspaces."""


@dataclass(slots=True)
class ChosenBranch:
    """The default branch of calls, if one process serves one client."""

    name: str | None = None
    """The name of the branch; None is the branch that the server began with."""


@dataclass(frozen=True, slots=True)
class ServedGraph:
    """A graph, the knowledge in it, its other branches, and the active contexts."""

    db: Graph
    knowledge: Knowledge
    branches: OpenBranches
    explorers: OpenExplorers
    """The views of the explorer, for clients that show the App."""
    contexts: Contexts | None = None
    """Contexts by handle, if calls are independent; None if the process has a single context."""
    readonly: bool = False
    sampling: bool = False
    """True if the user lets the model of the client decide conflicts of merges."""
    chosen: ChosenBranch = field(default_factory=ChosenBranch)
    open_workspaces: OpenWorkspaces | None = None
    """Opens other workspaces of the user; None if calls may not name any."""


class ToolCall(NamedTuple):
    """One call of a tool: the served graph, arguments, and progress report."""

    served: ServedGraph
    arguments: JsonObject
    report: ProgressReport = lambda _done, _total, _words: None

    @property
    def is_detailed(self) -> bool:
        return self.arguments.get("detail") == "detailed"

    @property
    def message(self) -> str:
        """The reason for a change, kept in the journal; empty if the caller gives none."""
        return str(self.arguments.get("message", ""))

    def knowledge(self) -> Knowledge:
        """The knowledge, with the context of the call."""
        handle = self.arguments.get("context_id")
        if self.served.contexts is None or handle is None:
            return self.served.knowledge
        return self.served.knowledge.with_context(self.served.contexts.get(handle))

    def with_context(self) -> tuple[Knowledge, JsonObject]:
        """The knowledge with the context of the call or a new context, and the handle to return."""
        contexts, handle = self.served.contexts, self.arguments.get("context_id")
        if contexts is None:
            return self.served.knowledge, {}
        handle = contexts.mint() if handle is None else handle
        payload: JsonObject = {"context_id": handle} if handle else {}
        return self.served.knowledge.with_context(contexts.get(handle)), payload

    def uris(self) -> list[str]:
        """The URIs of the call, each once."""
        uris = list(dict.fromkeys(self.arguments.get("uris", ())))
        if len(uris) > URIS_MAX:
            raise ResourceExhausted(
                f"{len(uris)} URIs are too many; a call takes at most {URIS_MAX}.",
                hint="Pass them in several calls.",
            )
        if not uris:
            raise InvalidSyntax(
                "There is no URI in uris.", hint='Pass at least one: uris: ["auth/login"].'
            )
        return uris

    def number_in(self, prefix: str) -> int | None:
        """The number in a cursor such as `content:4000`; None for a cursor of another part."""
        cursor = self.arguments.get("cursor")
        if cursor is None or not cursor.startswith(f"{prefix}:"):
            return None
        text = cursor.removeprefix(f"{prefix}:")
        if not (text.isascii() and text.isdecimal() and len(text) < 12):
            raise bad_cursor()
        return int(text)


def bad_cursor() -> ConstraintViolation:
    """The error for an invalid cursor."""
    return ConstraintViolation(
        "The cursor is not of this call.",
        hint="Pass next_cursor of the last answer with the same arguments, or leave it out.",
    )
