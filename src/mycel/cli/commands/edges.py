"""`mycel edge` and `mycel find`: typed, directed edges, and what can be reached along them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import rich_click as click

from mycel.cli.console.conflict_warnings import warn_conflicts
from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.cli.console.labels import labels, readable_text
from mycel.cli.console.output import when, wire
from mycel.cli.console.parameters import (
    ELEMENT,
    direction_option,
    exactly,
    follow_option,
    json_object,
    moment,
    resolve,
    together,
)
from mycel.errors import InvalidId, NotFound
from mycel.model.directions import Way
from mycel.model.elements import Proposition

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.api.graph_view import GraphView

_LIMIT = 100
_EDGE = "SRC PREDICATE DST"

_ends = together(
    click.argument("src", metavar="SRC", help=f"Where the edge starts: {ELEMENT}"),
    click.argument("predicate", help="A defined predicate"),
    click.argument("dst", metavar="DST", help=f"Where the edge ends: {ELEMENT}"),
)
_as_of = click.option("--as-of", type=moment, metavar="SEQ|TIME", help="The state at this moment")


@click.group(cls=Group)
def edge() -> None:
    """Add, remove and show edges.

    The two ends of an edge are given as ids (C:12, P:13:treats) or as Type:name.
    """


@edge.command("add")
@_ends
@click.option("--weight", type=float, default=1.0, metavar="W", help="Traversal cost, from 0 to 1")
@click.option(
    "--data", type=json_object, metavar="JSON", help="The edge's attributes; @FILE reads a file"
)
@pass_session
def add(
    session: Invocation,
    /,
    src: str,
    predicate: str,
    dst: str,
    **values: Any,
) -> None:
    """Add an edge. An existing one stays as it is; a removed one is revived."""
    with session.open() as db, db.transaction() as tx:
        id_ = tx.add_edge(resolve(tx, src), predicate, resolve(tx, dst), **values)
        added = not tx.is_empty
    session.out.warn(tx.warnings)
    session.out.say(
        f"Added {id_}." if added else f"{id_} is there already; its weight and data stay.",
        {"id": id_, "added": added},
    )


@edge.command("remove")
@_ends
@click.option(
    "--reason", default="", show_default=False, metavar="TEXT", help="Why, for the journal"
)
@pass_session
def remove(session: Invocation, src: str, predicate: str, dst: str, reason: str) -> None:
    """Remove an edge; history and `edge get` still show it."""
    with session.open() as db, db.transaction() as tx:
        removed = tx.remove_edge(resolve(tx, src), predicate, resolve(tx, dst), reason=reason)
    session.out.warn(tx.warnings)
    session.out.say(
        "Removed." if removed else "There is no such live edge; nothing changed.",
        {"removed": removed},
    )


@edge.command("get")
@click.argument("words", metavar=f"{_EDGE}|ID", nargs=-1, required=True, help="The edge")
@_as_of
@pass_session
def get(session: Invocation, words: tuple[str, ...], as_of: int | str | None) -> None:
    """Show an edge, even one that was removed."""
    exactly(words, 1, 3, form=f"mycel edge get {_EDGE}, or with the edge's id")
    with session.open(reading=True) as db:
        view = _view(db, as_of)
        if len(words) == 3:
            src, predicate, dst = words
            link = view.get_edge(resolve(view, src), predicate, resolve(view, dst))
        else:
            link = _by_id(view, words[0])
        if as_of is None:
            warn_conflicts(session, db, [link.id])
        label = labels(view)
        session.out.fields(
            (
                ("id", link.id),
                ("source", label(link.src)),
                ("predicate", link.predicate),
                ("target", label(link.dst)),
                ("weight", link.weight),
                ("data", link.data),
                ("metadata", link.metadata),
                ("version", link.version),
                ("created", f"{when(link.created_at)} by {link.created_by}"),
                ("removed", _removal(link)),
                ("reason", link.tombstoned_reason),
            ),
            wire(link),
        )


_choice = together(
    click.option(
        "--type", "types", multiple=True, metavar="P", help="Only this predicate; repeatable"
    ),
    click.option("--tombstoned", is_flag=True, help="Removed edges too"),
    click.option(
        "--limit", type=click.IntRange(min=1), default=_LIMIT, help="Maximum number of rows"
    ),
    _as_of,
)


@edge.command("out")
@click.argument("end", metavar=ELEMENT, help="Where the edges start")
@_choice
@pass_session
def edges_out(session: Invocation, /, **options: Any) -> None:
    """List the edges that leave an element."""
    _list(session, "out", **options)


@edge.command("in")
@click.argument("end", metavar=ELEMENT, help="Where the edges end")
@_choice
@pass_session
def edges_in(session: Invocation, /, **options: Any) -> None:
    """List the edges that reach an element."""
    _list(session, "in", **options)


def _list(
    session: Invocation,
    direction: Way,
    *,
    end: str,
    types: tuple[str, ...],
    tombstoned: bool,
    limit: int,
    as_of: int | str | None,
) -> None:
    with session.open(reading=True) as db:
        view = _view(db, as_of)
        edges = (view.edges_out if direction == "out" else view.edges_in)(
            resolve(view, end), types or None, include_tombstoned=tombstoned
        )
        label = labels(view)
        state = ("removed",) if tombstoned else ()
        session.out.list(
            islice(edges, limit),
            ("id", "source", "predicate", "target", "weight", "data", *state),
            lambda link: (
                link.id,
                label(link.src),
                link.predicate,
                label(link.dst),
                link.weight,
                link.data or None,
                *((_removal(link),) if tombstoned else ()),
            ),
            wire,
            empty="No edges.",
        )
        if next(edges, None) is not None:
            session.out.note(f"There are more than {limit} edges: raise --limit to see them.")


@click.command(cls=Command)
@click.argument("start", metavar=ELEMENT, help="Where to start")
@follow_option
@click.option("--hops", "max_hops", type=int, default=1, help="Maximum number of hops, up to 6")
@click.option("--min-hops", type=int, default=1, help="Minimum number of hops")
@direction_option
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="T",
    help="Show only concepts of this type; repeatable",
)
@click.option("--limit", type=int, default=_LIMIT, help="Maximum number of rows")
@click.option(
    "--form",
    type=click.Choice(["short", "medium", "full"]),
    default="medium",
    help="The size of each text: 50 tokens, 200 tokens, or all of it",
)
@click.option("--tombstoned", is_flag=True, help="Follow and show removed edges and elements too")
@_as_of
@pass_session
def find(
    session: Invocation,
    /,
    *,
    start: str,
    types: tuple[str, ...],
    limit: int,
    form: Literal["short", "medium", "full"],
    tombstoned: bool,
    as_of: int | str | None,
    follow: tuple[str, ...],
    **bounds: Any,
) -> None:
    """Find the elements that can be reached from an element, nearest first."""
    from mycel.graph.walk import Follow

    along = Follow(types=follow or None, include_tombstoned=tombstoned, **bounds)
    with session.open(reading=True) as db:
        view = _view(db, as_of)
        find_result = view.find(
            resolve(view, start), along, types=types or None, limit=limit, form=form
        )
    session.out.list(
        zip(find_result.memories, find_result.hop_distances, strict=True),
        ("id", "hops", "type", "text"),
        lambda pair: (pair[0].id, pair[1], pair[0].type, readable_text(pair[0])),
        lambda pair: pair[0].to_dict() | {"hops": pair[1]},
        empty="Nothing can be reached that way.",
    )
    if find_result.more:
        session.out.note(f"There is more than {limit}: raise --limit to see it.")


def _view(db: Graph, as_of: int | str | None) -> GraphView:
    return db if as_of is None else db.as_of(as_of)


def _by_id(view: GraphView, text: str) -> Proposition:
    try:
        element = view.get(text)
    except NotFound as error:
        raise NotFound(error.message, hint=f"`mycel history {text}` shows removed ones.") from None
    if not isinstance(element, Proposition):
        raise InvalidId(
            f"{text!r} is a concept's id; an edge's is needed here.",
            hint="For concepts there is `mycel concept get`.",
        )
    return element


def _removal(link: Proposition) -> str | None:
    at = link.tombstoned_at
    return None if at is None else f"{when(at)} by {link.tombstoned_by}"
