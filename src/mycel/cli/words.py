"""`mycel search`: elements whose text matches words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.context import Command, Session, pass_session

if TYPE_CHECKING:
    from mycel.model.elements import Element


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True, help="Words; any of them is enough")
@click.option("--limit", type=click.IntRange(min=1), default=10, help="At most so many")
@pass_session
def search(session: Session, words: tuple[str, ...], limit: int) -> None:
    """Find elements by the words in their names and attributes, best first."""
    # Not read-only: words that were written lately are put into the index first.
    with session.open() as db:
        found = db.search(" ".join(words), limit=limit)
    session.out.list(
        found,
        ("id", "score", "type", "text"),
        lambda pair: (pair[0].id, f"{pair[1]:.2f}", _kind(pair[0]), _text(pair[0])),
        lambda pair: pair[0].to_dict() | {"score": pair[1]},
        empty="No element has these words.",
    )


def _kind(element: Element) -> str:
    # Late: see the package's docstring.
    from mycel.model.elements import Concept

    return element.type if isinstance(element, Concept) else element.predicate


def _text(element: Element) -> str:
    # Late: see the package's docstring.
    from mycel.graph.walk import remember

    return remember(element, "short").text
