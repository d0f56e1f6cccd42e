"""Nodes and links by the time and the author of their changes."""

from __future__ import annotations

from collections.abc import Sequence

from mycel.errors import ConstraintViolation
from mycel.explorer import limits, neighbours
from mycel.explorer.moments import Scene, moment_of
from mycel.model import times
from mycel.model.names import ACTORS, CORE_DOMAINS, META_TYPES
from mycel.model.values import JsonObject
from mycel.store.query import authorship, history, outline
from mycel.store.query.authorship import WritingSpan
from mycel.store.query.outline import ConceptLine


def authors(scene: Scene, *, since: str | None, until: str | None, limit: int) -> JsonObject:
    """The actors who wrote in a span, with the numbers of their commits and changes."""
    span = _span(scene, since, until, None)
    author_counts = authorship.authors(scene.reader, span.after, span.until)
    rows = [
        {
            "actor": author_count.name,
            "commits": author_count.commits,
            "changes": author_count.changes,
            "time": times.to_text(author_count.time_us),
        }
        for author_count in author_counts[:limit]
    ]
    return scene.answer(authors=rows, total=len(author_counts))


def touched(
    scene: Scene,
    *,
    ids: Sequence[str] | None,
    since: str | None,
    until: str | None,
    actors: Sequence[str] | None,
    limit: int,
) -> JsonObject:
    """The nodes and links with a version that was written in a span, by some actors or anybody.

    With `ids`, only these nodes and the links between them are searched. Otherwise all nodes of the
    graph are searched, and the last changed ones come first.
    """
    span = _span(scene, since, until, actors)
    if ids is None:
        return _all(scene, span, limit)
    numbers = scene.find_all(ids)
    rows = neighbours.links_among(scene, list(numbers.values()))
    written = authorship.written_in(
        scene.reader, [*numbers.values(), *(row.number for row in rows)], span
    )
    scene.cards.read(numbers.values())
    links = scene.cards.links(row for row in rows[: limits.LINKS_MAX] if row.number in written)
    nodes = [id_ for id_, number in numbers.items() if number in written]
    return scene.answer(nodes=nodes, links=links, total=len(nodes))


def _all(scene: Scene, span: WritingSpan, limit: int) -> JsonObject:
    numbers = authorship.concepts_written(scene.reader, span)
    lines = {line.number: line for line in outline.concepts_among(scene.reader, numbers)}
    nodes = [number for number in numbers if number in lines and _is_node(scene, lines[number])]
    cards = scene.cards.all(nodes[:limit])
    return scene.answer(nodes=[card["id"] for card in cards], links=[], total=len(nodes))


def _is_node(scene: Scene, line: ConceptLine) -> bool:
    """True unless the concept is a definition, or part of every graph."""
    type_name = scene.reader.type_name(line.type)
    return type_name not in META_TYPES and (type_name, line.name) not in CORE_DOMAINS | ACTORS


def _span(
    scene: Scene, since: str | None, until: str | None, actors: Sequence[str] | None
) -> WritingSpan:
    """The span from one moment to another, both included, up to the shown state."""
    reader = scene.reader
    after = 0 if since is None else history.before_moment(reader, moment_of(since))
    last = scene.position
    if until is not None:
        last = min(last, history.entry_at(reader, moment_of(until)))
    if since is not None and until is not None and after > last:
        raise ConstraintViolation("`since` is after `until`.", hint="Exchange them.")
    return WritingSpan(after, last, actors)
