"""Commits, the timeline, and differences between moments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from mycel.api.graph import Graph
from mycel.errors import ConstraintViolation, NotFound
from mycel.explorer import limits
from mycel.explorer.cards import concept_card
from mycel.explorer.moments import Scene, moment_of
from mycel.knowledge.relation_pages import bad_cursor
from mycel.knowledge.uris import uri_of
from mycel.model import times
from mycel.model.commits import with_short_hashes
from mycel.model.elements import Concept, Proposition
from mycel.model.names import shorten
from mycel.model.state import LIVE, State
from mycel.model.values import JsonObject
from mycel.store.query import history, neighbours
from mycel.store.query.commits import LogEntry, transaction_of
from mycel.store.query.diff import ElementChange

_MESSAGE_CHARACTERS_MAX: Final = 2_000
DAY_US: Final = 86_400_000_000
_ZONE: Final = re.compile(r"Z|(?P<sign>[+-])(?P<hours>[01]\d):(?P<minutes>[0-5]\d)", re.ASCII)


def commit_of(entry: LogEntry) -> JsonObject:
    """A commit: `before` is the position of the state before it."""
    return {
        "commit": entry.commit,
        "seq": entry.seq,
        "before": entry.first_seq - 1,
        "time": times.to_text(entry.time_us),
        "actor": entry.actor,
        "message": shorten(with_short_hashes(entry.message), _MESSAGE_CHARACTERS_MAX),
        "changes": entry.changes,
    }


def commits(db: Graph, limit: int, before: int | None, where: Mapping[str, Any]) -> JsonObject:
    """A page of commits, newest first."""
    conditions = {key: value for key, value in where.items() if value is not None}
    for key in ("since", "until"):
        if key in conditions:
            conditions[key] = moment_of(conditions[key])
    entries = list(db.history.log(limit=limit + 1, before=before, **conditions))
    payload: JsonObject = {"commits": [commit_of(entry) for entry in entries[:limit]]}
    if len(entries) > limit:
        payload["next_before"] = entries[limit - 1].seq
    return payload


def commit_with(scene: Scene, entry: int) -> JsonObject:
    """The commit that an entry of the journal is part of.

    Raises:
        NotFound: the journal is shorter.
    """
    if entry > scene.position:
        raise NotFound(
            f"The journal has no entry {entry}.", hint=f"The last one is {scene.position}."
        )
    return scene.answer(commit=commit_of(transaction_of(scene.reader, entry)))


def moments_to_choose(scene: Scene, zone: str) -> JsonObject:
    """Moments that a reader may choose from: tags, the newest commits, and days.

    Days are those on which something was written, with this offset from UTC; `seq` is the position
    at the end of the day.
    """
    newest = [
        commit_of(entry) for entry in scene.knowledge.db.history.log(limit=limits.MOMENTS_COMMITS)
    ]
    days = _days(scene, _offset_us(zone), limits.MOMENTS_DAYS)
    return scene.answer(tags=_tags(scene), commits=newest, days=days)


def _days(scene: Scene, offset_us: int, most: int) -> list[JsonObject]:
    """The last days on which something was written, newest first."""
    days: list[JsonObject] = []
    seq, time_us = history.end_at(scene.reader, None, last=True)
    while seq and len(days) < most:
        begin_us = (time_us + offset_us) // DAY_US * DAY_US - offset_us
        before = history.position_at_time(scene.reader, begin_us - 1)
        day = times.to_text(begin_us + offset_us)[:10]
        days.append({"day": day, "seq": seq, "before": before, "changes": seq - before})
        if not before:
            break
        seq, time_us = history.end_at(scene.reader, before, last=True)
    return days


def _offset_us(zone: str) -> int:
    """The offset of a zone such as +05:30 or Z, in microseconds."""
    parts = _ZONE.fullmatch(zone)
    if parts is None:
        raise ConstraintViolation(
            f"zone cannot be {shorten(zone)!r}.", hint="It is an offset such as +01:00, or Z."
        )
    if not parts["hours"]:
        return 0
    minutes = int(parts["hours"]) * 60 + int(parts["minutes"])
    return (-1 if parts["sign"] == "-" else 1) * minutes * 60_000_000


# The timeline.


def timeline(scene: Scene, *, buckets: int, from_: str | None, to: str | None) -> JsonObject:
    """Equal spans of time with the number of changes in each.

    `to_seq` of a span is the journal position at its end.
    """
    reader = scene.reader
    first = history.end_at(reader, None if from_ is None else moment_of(from_), last=False)
    last = history.end_at(reader, None if to is None else moment_of(to), last=True)
    if first.time_us > last.time_us:
        raise ConstraintViolation("`from` is after `to`.", hint="Exchange them.")
    step = max(1, -(-(last.time_us - first.time_us) // buckets))
    ends = [min(last.time_us, first.time_us + step * (at + 1)) for at in range(buckets)]
    bars = []
    since = first.seq
    for end_us in ends:
        seq = history.position_at_time(reader, end_us)
        upto = min(max(seq, since), last.seq) if end_us < last.time_us else last.seq
        bars.append(
            {
                "from_seq": since,
                "to_seq": upto,
                "time": times.to_text(end_us),
                "count": upto - since,
            }
        )
        since = upto
        if end_us >= last.time_us:
            break
    return scene.answer(
        **{"from": _moment(first), "to": _moment(last), "buckets": bars, "tags": _tags(scene)}
    )


def _moment(at: history.End) -> JsonObject:
    return {"seq": at.seq, "time": times.to_text(at.time_us)}


def _tags(scene: Scene) -> list[JsonObject]:
    return [{"name": name, "seq": seq} for name, seq in history.tagged(scene.reader)]


# Differences.


def diff(db: Graph, values: Mapping[str, Any]) -> JsonObject:
    """The elements that differ between two moments or branches, a page of them."""
    cursor, limit = values["cursor"], values["limit"]
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 9):
        raise bad_cursor(cursor)
    paths = [values["path"]] if values["path"] else ()
    until = None if values["to"] is None else moment_of(values["to"])
    difference = db.history.diff(moment_of(values["from"]), until, paths=paths)
    start = int(cursor or 0)
    page = difference.elements[start : start + limit]
    linked = _degrees(db, page)
    payload: dict[str, Any] = {
        "position": difference.b.seq,
        "from": _side(db, difference.a, values["from"]),
        "to": _side(db, difference.b, values["to"]),
        "counts": difference.counts,
        "nodes": [
            changed_node(element_change) | {"degree": linked.get(element_change.element.number, 0)}
            for element_change in page
            if isinstance(element_change.element, Concept)
        ],
        "links": [
            changed_link(element_change)
            for element_change in page
            if isinstance(element_change.element, Proposition)
        ],
        "total": len(difference.elements),
        "purged": difference.purged,
    }
    if start + limit < len(difference.elements):
        payload["next_cursor"] = str(start + limit)
    return payload


def _side(db: Graph, state: State, moment: str | None) -> JsonObject:
    """One side of a comparison: its position, its time and its branch."""
    name = (moment or "").partition(":")[0]
    is_branch = bool(name) and db.path != ":memory:" and name in db.branches.names()
    payload: JsonObject = {"seq": state.seq} | ({"branch": name} if is_branch else {})
    opened = db.branches.reading(name) if is_branch else db.reading()
    with opened as reader:
        at = history.end_at(reader, LIVE if state.seq is None else state.seq, last=True)
    return payload | {"time": times.to_text(at.time_us)}


def _degrees(db: Graph, changes: Iterable[ElementChange]) -> Mapping[int, int]:
    """The present degrees of changed nodes."""
    with db.reading() as reader:
        return neighbours.degrees(reader, [change.element.number for change in changes])


def changed_node(change: ElementChange) -> JsonObject:
    """A node that differs, with each value before and after."""
    concept = change.element
    if not isinstance(concept, Concept):
        return {}
    payload = concept_card(concept) | {"change": change.kind, "values": _values(change)}
    if change.kind == "moved" and isinstance(change.before, Concept):
        payload["was"] = concept_card(change.before)["id"]
    return payload


def changed_link(change: ElementChange) -> JsonObject:
    """A link that differs, with each value before and after."""
    link = change.element
    identity = change.identity
    return {
        "id": link.id,
        "source": _end(identity["subject"]),
        "target": _end(identity["object"]),
        "relation": identity["predicate"],
        "weight": link.weight if isinstance(link, Proposition) else None,
        "change": change.kind,
        "values": _values(change),
    }


def _values(change: ElementChange) -> list[JsonObject]:
    return [value.to_dict() for value in change.values]


def _end(identity: Mapping[str, Any]) -> str:
    if "predicate" in identity:
        ends = [_end(identity[key]) for key in ("subject", "object")]
        return f"{ends[0]} —{identity['predicate']}→ {ends[1]}"
    if "name" not in identity:
        return f"kip:{identity.get('id')}"
    return uri_of(identity["type"], identity["name"])


def list_changes(changes: Iterable[ElementChange]) -> list[JsonObject]:
    """Changes, divided into nodes and links, up to a limit."""
    rows = []
    for change in islice(changes, limits.CHANGES):
        is_node = isinstance(change.element, Concept)
        rows.append(changed_node(change) if is_node else changed_link(change))
    return rows
