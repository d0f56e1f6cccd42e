"""The origins of elements that a hook shows: the author, or the source of an import.

Words count as the user's own if they are by the person whose hook it is, by agents that write
through the server of that person (`$self`), or by Mycel. All others are shown as quotations:
elements of which another actor wrote a version, imported and captured elements, and sections of
files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mycel.hooks.quoting import one_line, origin_mark, origin_name, quotation
from mycel.imports.note_writer import DIGEST
from mycel.knowledge.knowledge import Knowledge
from mycel.model import ids, times
from mycel.model.client_names import SEPARATOR, import_source_of
from mycel.model.names import SELF_ACTOR, SYSTEM_ACTOR
from mycel.store.query.authorship import writers

TALK: Final = frozenset(("Turn", "Conversation", "Session"))
"""The classes of Events that hold turns of a conversation, or a summary of them."""


class Origins:
    """The origins of elements, for one person."""

    def __init__(self, knowledge: Knowledge, person: str) -> None:
        self._knowledge: Final = knowledge
        self._own: Final = frozenset((person, knowledge.db.actor, SELF_ACTOR, SYSTEM_ACTOR))

    def is_own(self, actor: str) -> bool:
        """True if an actor's words are the user's own."""
        if import_source_of(actor):
            return False
        return actor in self._own or actor.startswith(f"{SELF_ACTOR}{SEPARATOR}")

    def of(self, elements: Iterable[str]) -> dict[str, str]:
        """The origin of each element by id, empty for the user's own."""
        numbers = {id_: ids.parse_id(id_) for id_ in elements}
        with self._knowledge.db.reading() as reader:
            actors = writers(reader, numbers.values())
        return {id_: self._foreign(actors[number]) for id_, number in numbers.items()}

    def of_actor(self, actor: str) -> str:
        """The origin of an actor's words, empty for the user's own."""
        if self.is_own(actor):
            return ""
        source = import_source_of(actor)
        return f"imported from {origin_name(source)}" if source else f"by {origin_name(actor)}"

    def _foreign(self, actors: Mapping[str, int]) -> str:
        """The last actor whose words are not the user's own, with the day."""
        others = {actor: time for actor, time in actors.items() if not self.is_own(actor)}
        if not others:
            return ""
        actor = max(others, key=others.__getitem__)
        return f"{self.of_actor(actor)}, {times.to_text(others[actor])[:10]}"


def said_by(attributes: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """The origin that the values of an element show; empty if they show none."""
    if attributes.get("event_class") in TALK:
        speakers = attributes.get("participants")
        name = origin_name(", ".join(map(str, speakers[:2]))) if isinstance(speakers, list) else ""
        day = str(attributes.get("start_time") or "")[:10]
        speech = f"said by {name}" if name else "from a conversation"
        return f"{speech} on {day}" if day else speech
    if DIGEST in metadata:
        return f"imported from {origin_name(metadata.get('source') or 'a file')}"
    return ""


def line_of(origin: str, uri: str, title: str, text: object, characters: int) -> str:
    """An element on one line; as a quotation if it has an origin."""
    words = " ".join(filter(None, (title and f"{one_line(title, 100)}:", str(text))))
    if not origin:
        return f"{uri} {one_line(words, characters)}".rstrip()
    if uri.isprintable() and not set(uri) & set(' "<>'):
        return f"{origin_mark(origin)} {uri} {quotation(words, characters)}"
    return f"{origin_mark(origin)} {quotation(f'{uri} {words}', characters)}"
