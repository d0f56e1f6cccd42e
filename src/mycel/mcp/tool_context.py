"""What the tools of one server work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from mycel.errors import ConstraintViolation, InvalidSyntax, ResourceExhausted
from mycel.knowledge.active_context import Contexts
from mycel.knowledge.knowledge import Knowledge
from mycel.model.values import JsonObject
from mycel.nexus import Nexus

URIS_MAX: Final = 1_000
"""How many nodes one call may be about."""

Report = Callable[[float, float | None, str], None]
"""Says how far a long call is: done, in all, and a few words. Raises when nobody waits any more."""


def _say_nothing(_done: float, _total: float | None, _words: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class Desk:
    """A graph, the knowledge in it, and where active contexts are kept."""

    db: Nexus
    knowledge: Knowledge
    contexts: Contexts | None = None
    """Contexts by handle, where calls stand alone; None where the process has one."""
    readonly: bool = False


class Call(NamedTuple):
    """One call of a tool: what it works on, its arguments, and whom to tell how far it is."""

    desk: Desk
    arguments: JsonObject
    report: Report = _say_nothing

    @property
    def is_detailed(self) -> bool:
        return self.arguments.get("detail") == "detailed"

    def knowledge(self) -> Knowledge:
        """The knowledge, with the context that the call names.

        Raises:
            NotFound: there is no such context.
        """
        handle = self.arguments.get("context_id")
        if self.desk.contexts is None or handle is None:
            return self.desk.knowledge
        return self.desk.knowledge.with_context(self.desk.contexts.get(handle))

    def with_context(self) -> tuple[Knowledge, JsonObject]:
        """The same for a call that loads nodes: it gets a new context if it names none.

        Returns the knowledge, and the handle as a part of the answer.
        """
        contexts, handle = self.desk.contexts, self.arguments.get("context_id")
        if contexts is None:
            return self.desk.knowledge, {}
        handle = contexts.mint() if handle is None else handle
        return self.desk.knowledge.with_context(contexts.get(handle)), {"context_id": handle}

    def uris(self) -> list[str]:
        """The URIs that it is about, each once.

        Raises:
            InvalidSyntax: there are none.
            ResourceExhausted: there are too many.
        """
        found = list(dict.fromkeys(self.arguments.get("uris", ())))
        if len(found) > URIS_MAX:
            raise ResourceExhausted(
                f"These are {len(found)} URIs; at most {URIS_MAX} are taken at once.",
                hint="Pass them in several calls.",
            )
        if not found:
            raise InvalidSyntax(
                "There is no URI in uris.", hint='Pass at least one: uris: ["auth/login"].'
            )
        return found

    def number_in(self, prefix: str) -> int | None:
        """The number in a cursor such as `content:4000`; None if the cursor is about another part.

        Raises:
            ConstraintViolation: it is no cursor.
        """
        cursor = self.arguments.get("cursor")
        if cursor is None or not cursor.startswith(f"{prefix}:"):
            return None
        text = cursor.removeprefix(f"{prefix}:")
        if not (text.isascii() and text.isdecimal() and len(text) < 12):
            raise bad_cursor()
        return int(text)


def bad_cursor() -> ConstraintViolation:
    """The error for a cursor that no answer gave out."""
    return ConstraintViolation(
        "This is no cursor of this question.",
        hint="Pass next_cursor of the answer before, with the same arguments, or leave it out.",
    )
