"""Turns as Events in the graph.

    concept://shop/conversations/claude-code/3f2a                a conversation: title, times, links
    concept://shop/conversations/claude-code/3f2a/8c1e           a turn: its words and speaker

The URI of a turn has the ids of its source. So a turn that was written before is found by its name
and left unchanged, and a turn that was deleted stays deleted, as do all turns of a deleted
conversation. A conversation is linked by `mentions` to the files and concepts of the graph that its
turns name, and has an attribute with the sentences in which something is decided.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Final

from mycel.api.graph import Graph
from mycel.imports.session_words import decision_in
from mycel.imports.turns import ImportCounts, Turn
from mycel.knowledge.uris import FILE, build
from mycel.model import ids
from mycel.model.elements import Concept
from mycel.model.values import parse_object
from mycel.store.query import lookup
from mycel.store.query.bulk import members
from mycel.store.query.reader import Reader
from mycel.store.write.bulk import ConceptRow, PropositionRow
from mycel.store.write.transaction import Transaction
from mycel.text.names import called
from mycel.text.redaction import redact

EVENT: Final = "Event"
MENTIONS: Final = "mentions"
DECISIONS: Final = "decisions"
"""The attribute of a conversation with the sentences in which something is decided."""
DECISIONS_MAX: Final = 12
DECISION_CHARACTERS: Final = 600
FOLDER: Final = "conversations"
BATCH_TURNS: Final = 2_000
"""The maximum number of turns in one transaction."""
NAMES_MAX: Final = 50_000
"""The maximum number of concepts whose names are searched for in turns."""
MENTIONED_MAX: Final = 30
"""The maximum number of links from one conversation to elements that it mentions."""
NAME_WORDS_MAX: Final = 4
NAME_CHARACTERS_MIN: Final = 4
SUMMARY_CHARACTERS: Final = 300
SEGMENT_CHARACTERS_MAX: Final = 64
_NO_SEGMENT: Final = re.compile(r"[^A-Za-z0-9._-]+")
_WORDS: Final = re.compile(r"[^\W_]+")
_PATHS: Final = re.compile(r"[\w./-]+")
_CODE_TYPES: Final = frozenset(("Resource", "Symbol", "Section", EVENT))


class TurnWriter:
    """Writes turns of one source into a graph, a batch in a transaction."""

    def __init__(
        self, db: Graph, workspace: str, source: str, counts: ImportCounts | None = None
    ) -> None:
        self._db, self._workspace, self._source = db, workspace, source
        self._names: dict[str, int] | None = None
        self._firsts: frozenset[str] = frozenset()
        self._secrets: Final = dict[tuple[str, str], Counter[str]]()
        """The numbers of secrets by kind, for each turn of the current batch that has any."""
        self.counts: Final = counts or ImportCounts()

    def conversation_uri(self, conversation: str) -> str:
        """The URI of a conversation of the source."""
        path = f"{FOLDER}/{self._source}/{segment(conversation)}"
        return build("concept", self._workspace, path).text

    def write(self, turns: Sequence[Turn], message: str = "") -> None:
        """Write the turns that the graph does not have, in one transaction."""
        clean: list[Turn] = []
        self._secrets.clear()
        for turn in turns:
            text, title = redact(turn.text), redact(turn.title)
            if text.kinds:
                self._secrets[turn.conversation, turn.id] = text.kinds
            clean.append(turn._replace(text=text.text, title=title.text))
        message = message or self._db.message or f"import {self._source}"
        self._db.write(lambda tx: self._put(tx, clean), message=message)

    def _put(self, tx: Transaction, turns: Sequence[Turn]) -> None:
        _require(tx)
        conversations: dict[str, list[Turn]] = {}
        for turn in turns:
            conversations.setdefault(self.conversation_uri(turn.conversation), []).append(turn)
        by_name = {
            f"{uri}/{segment(turn.id)}": (uri, turn)
            for uri, own in conversations.items()
            for turn in own
        }
        reader = tx.reader
        names = [*conversations, *by_name]
        numbers = lookup.numbers_named(reader, reader.type_number(EVENT), names)
        removed = lookup.former_names(reader, [name for name in names if name not in numbers])
        rows: list[ConceptRow] = []
        new: dict[str, list[Turn]] = {}
        for name, (uri, turn) in by_name.items():
            if name in numbers:
                self.counts.known += 1
            elif name in removed or uri in removed:
                self.counts.deleted += 1
            else:
                rows.append(self._row(name, turn))
                self.counts.secrets += self._secrets.get((turn.conversation, turn.id), Counter())
                new.setdefault(uri, []).append(turn)
        tx.put_concepts(rows)
        self.counts.written += len(rows)
        subjects = {
            uri: self._put_conversation(tx, uri, own, numbers.get(uri)) for uri, own in new.items()
        }
        self._link(tx, new, subjects)

    def _row(self, name: str, turn: Turn) -> ConceptRow:
        attributes: dict[str, Any] = {
            "event_class": "Turn",
            "content_summary": turn.text,
            "participants": [turn.speaker],
            "context": {
                "conversation": f"{self._source}/{turn.conversation}",
                "position": turn.position,
            },
        }
        if turn.time is not None:
            attributes["start_time"] = turn.time
        return ConceptRow(EVENT, name, attributes)

    def _put_conversation(
        self, tx: Transaction, uri: str, turns: Sequence[Turn], number: int | None
    ) -> str:
        """Write the changed attributes of a conversation, and return its id."""
        before = None if number is None else tx.reader.concept(number)
        attributes = _conversation(turns, before)
        if before is None:
            self.counts.conversations += 1
            attributes |= {"event_class": "Conversation", "source": self._source}
            return tx.put_concept(EVENT, uri, attributes)
        if attributes:
            tx.update(before.id, attributes=attributes)
        return before.id

    def _link(self, tx: Transaction, new: dict[str, list[Turn]], subjects: dict[str, str]) -> None:
        if self._names is None:
            self._names = _names_of(tx)
            self._firsts = frozenset(name.partition(" ")[0] for name in self._names)
        links = [
            PropositionRow(subjects[uri], MENTIONS, ids.concept_id(target))
            for uri, turns in new.items()
            for target in self._mentioned(tx.reader, turns)
        ]
        self.counts.links += tx.put_propositions(links)

    def _mentioned(self, reader: Reader, turns: Iterable[Turn]) -> list[int]:
        """The elements that turns name, the most often named first."""
        counts: Counter[int] = Counter()
        paths: Counter[str] = Counter()
        names = self._names or {}
        for turn in turns:
            if names:
                counts.update(_named_in(turn.text, names, self._firsts))
            paths.update(
                word.strip("./") for word in _PATHS.findall(turn.text) if "." in word or "/" in word
            )
        uris = {
            build(FILE, self._workspace, path).text: count
            for path, count in paths.items()
            if path and ".." not in path and len(path) <= 200
        }
        for number, _type, name in lookup.find_by_name(reader, list(uris)) if uris else ():
            counts[number] += uris[name]
        return [number for number, _ in counts.most_common(MENTIONED_MAX)]


def segment(text: str) -> str:
    """An id of a source as a part of a path, unique even where characters are left out.

    >>> segment("8c1e-4d"), segment("D1:3")
    ('8c1e-4d', 'D1-3-641b031b')
    """
    safe = _NO_SEGMENT.sub("-", text).strip(".-")[:SEGMENT_CHARACTERS_MAX]
    if safe == text:
        return safe
    digest = sha256(text.encode(errors="replace")).hexdigest()[:8]
    return f"{safe[: SEGMENT_CHARACTERS_MAX - 9]}-{digest}"


def _require(tx: Transaction) -> None:
    """Define types and predicates of the core capsules, if the graph was created without them."""
    if EVENT not in tx.defined_types():
        tx.define_type(EVENT)
    if MENTIONS not in tx.defined_predicates():
        tx.define_predicate(MENTIONS)


def _conversation(turns: Sequence[Turn], before: Concept | None) -> dict[str, Any]:
    """The attributes of a conversation that change with new turns."""
    attributes = {} if before is None else before.attributes
    times = sorted(turn.time for turn in turns if turn.time is not None)
    title = next((turn.title for turn in reversed(turns) if turn.title), "")
    changes: dict[str, Any] = {}
    if before is None:
        first = turns[0]
        words = " ".join(first.text.split())[:SUMMARY_CHARACTERS]
        changes["content_summary"] = f"Conversation that began with {first.speaker}: {words}"
    if title:
        changes["name"] = title
    if times:
        changes["start_time"] = min(times[0], attributes.get("start_time", times[0]))
        changes["end_time"] = max(times[-1], attributes.get("end_time", times[-1]))
    before_them = attributes.get(DECISIONS)
    decisions = list(before_them) if isinstance(before_them, list) else []
    decided = (" ".join(decision_in(turn.text).split()) for turn in turns)
    decisions += [sentence[:DECISION_CHARACTERS] for sentence in decided if sentence]
    if decisions:
        changes[DECISIONS] = list(dict.fromkeys(decisions))[:DECISIONS_MAX]
    return {key: value for key, value in changes.items() if attributes.get(key) != value}


def _names_of(tx: Transaction) -> dict[str, int]:
    """The concepts that somebody named, by their names in lower case."""
    reader = tx.reader
    names: dict[str, int] = {}
    types = {
        number
        for name, number in tx.defined_types().items()
        if name not in _CODE_TYPES and not name.startswith("$")
    }
    core_concepts = lookup.core_concepts(reader)
    after = -1
    while types and len(names) < NAMES_MAX:
        page = members.page(reader, types, after, BATCH_TURNS)
        for member in page:
            after = member.number
            if member.number in core_concepts:
                continue
            titles = called(member.name, parse_object(member.attributes)).titles
            for title in titles[:3]:
                key = " ".join(_WORDS.findall(title.lower())[: NAME_WORDS_MAX + 1])
                if len(key) >= NAME_CHARACTERS_MIN and key.count(" ") < NAME_WORDS_MAX:
                    names.setdefault(key, member.number)
        if len(page) < BATCH_TURNS:
            break
    return names


def _named_in(text: str, names: dict[str, int], firsts: frozenset[str]) -> Iterable[int]:
    """The concepts that a text names; `firsts` are the first words of names."""
    words = _WORDS.findall(text.lower())
    if firsts.isdisjoint(words):
        return
    for at, word in enumerate(words):
        if word in firsts:
            for end in range(at + 1, min(at + NAME_WORDS_MAX, len(words)) + 1):
                number = names.get(" ".join(words[at:end]))
                if number is not None:
                    yield number
