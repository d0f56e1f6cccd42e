"""The default actor and message of writes."""

from __future__ import annotations

from typing import Final

from mycel.model.client_names import SEPARATOR, mark_import
from mycel.model.client_names import current as current_client

DEFAULT_ACTOR: Final = "$self"


class WriteDefaults:
    """The actor and the message of one open graph; all its parts share this object."""

    def __init__(self, actor: str = DEFAULT_ACTOR, message: str = "") -> None:
        self._actor = actor
        self.message = message
        """The default message of commits; if it is empty, a commit has a count of its changes."""

    @property
    def actor(self) -> str:
        """The actor of the graph, with the program that it serves and the source of an import."""
        client = current_client()
        if client and self._actor == DEFAULT_ACTOR:
            return mark_import(f"{DEFAULT_ACTOR}{SEPARATOR}{client}")
        return mark_import(self._actor)

    @actor.setter
    def actor(self, actor: str) -> None:
        self._actor = actor

    def actor_or(self, actor: str | None) -> str:
        """The actor of a call, or the default."""
        return self.actor if actor is None else actor

    def message_or(self, message: str) -> str:
        """The message of a call, or the default."""
        # A value that is not text is refused later.
        return self.message if message == "" else message
