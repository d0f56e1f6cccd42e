"""Commits as they happen: the elements that each one changed, without content.

An event names elements by their ids at the time of its commit. A client that shows an event reads
the content from the views.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from mycel.api.graph import Graph
from mycel.engine.missing_concepts import keeps_place
from mycel.explorer import limits
from mycel.explorer.past import commit_of
from mycel.knowledge.uris import uri_of
from mycel.model.state import LIVE, State
from mycel.model.values import JsonObject
from mycel.store.query import commits, history, outline
from mycel.store.query.reader import Reader


class StreamEvent(NamedTuple):
    """One commit as an event of the stream."""

    position: int
    text: bytes
    purges: bool = False
    """True if elements were purged: earlier events may name them."""


def format_event(kind: str, data: JsonObject, position: int | None = None) -> bytes:
    """An event in the form of server-sent events."""
    number = b"" if position is None else f"id: {position}\n".encode()
    return b"%sevent: %s\ndata: %s\n\n" % (number, kind.encode(), orjson.dumps(data))


def position(db: Graph) -> int:
    """The present position of the journal."""
    with db.reading() as reader:
        return reader.position


def events_after(
    db: Graph,
    after: int,
    most: int = limits.FEED_GAP_COMMITS,
    page: int = limits.FEED_PAGE_COMMITS,
) -> list[StreamEvent] | None:
    """The next commits after a position, in order; None if too many follow, or they are unknown.

    At most `page` commits are returned; fewer if their events are large. They are unknown if the
    history was scrubbed, or the position belongs to another graph.
    """
    with db.reading() as reader:
        if after > reader.position:
            return None
        log_entries = commits.transactions_after(reader, after, most + 1)
        if len(log_entries) > most or history.is_scrubbed(reader, after):
            return None
        events = []
        size = 0
        for entry in log_entries[:page]:
            text = _event(reader, entry)
            events.append(StreamEvent(entry.seq, text, commits.has_purged(reader, entry)))
            size += len(text)
            if size > limits.FEED_PAGE_BYTES:
                break
        return events


_ADDED: Final = "added"


def _event(reader: Reader, entry: commits.LogEntry, most: int = limits.EVENT_IDS_MAX) -> bytes:
    """The event of a commit; it names at most `most` elements, and fewer if names are long."""
    numbers = commits.changed_elements(reader, entry, most)
    newest = reader.position == entry.seq
    before = reader.at(State(entry.first_seq - 1))
    after = reader.at(LIVE if newest else State(entry.seq))
    concepts = [number for number in numbers if not number & 1]
    old, new = (_names(reader, concepts) for reader in (before, after))
    payload: dict[str, Any] = commit_of(entry) | {"position": entry.seq}
    payload["added"] = [new[n] for n in concepts if n in new and n not in old]
    payload["removed"] = [old[n] for n in concepts if n in old and n not in new]
    payload["moved"] = [
        [old[n], new[n]] for n in concepts if n in old and n in new and old[n] != new[n]
    ]
    payload["ids"] = [new[n] for n in concepts if n in new]
    payload["healed"] = _healed(before, after, concepts)
    payload["links"] = _links(before, after, [number for number in numbers if number & 1])
    payload["more"] = max(0, entry.changes - most)
    text = format_event("change", payload, entry.seq)
    is_long = len(text) > limits.EVENT_BYTES_MAX
    return _event(reader, entry, most // 4) if is_long and most else text


def _names(reader: Reader, numbers: list[int]) -> dict[int, str]:
    concept_lines = outline.concepts_among(reader, numbers)
    return {line.number: uri_of(reader.type_name(line.type), line.name) for line in concept_lines}


def _healed(before: Reader, after: Reader, concepts: list[int]) -> list[list[str]]:
    """Placeholders whose concept was written: the ids before and after."""
    missing = _missing(before, concepts)
    if not missing:
        return []
    still = _missing(after, concepts)
    came = {uri for number, uri in _names(after, concepts).items() if number not in still}
    return [[uri, uri] for number, uri in missing.items() if number not in still and uri in came]


def _missing(reader: Reader, numbers: list[int]) -> dict[int, str]:
    """The placeholders among these concepts."""
    return {
        line.number: uri_of(reader.type_name(line.type), line.name)
        for line in outline.concepts_among(reader, numbers)
        if keeps_place(reader.type_name(line.type), line.name)
    }


def _links(before: Reader, after: Reader, numbers: list[int]) -> list[JsonObject]:
    old = {link.number: link for link in outline.links_among(before, numbers)}
    new = {link.number: link for link in outline.links_among(after, numbers)}
    rows = []
    for number in numbers:
        link = new.get(number) or old.get(number)
        if link is None:
            continue
        reader = after if number in new else before
        ends = _names(reader, [link.subject, link.object])
        change = _ADDED if number not in old else "changed" if number in new else "removed"
        relation = reader.predicate_name(link.predicate)
        rows.append(
            {
                "id": f"P:{number}:{relation}",
                "source": ends.get(link.subject, f"kip:{reader.outer_id(link.subject)}"),
                "target": ends.get(link.object, f"kip:{reader.outer_id(link.object)}"),
                "relation": relation,
                "change": change,
            }
        )
    return rows
