"""Errors that show their place in a text.

Line, column and excerpt are in the message, for people, and in `data`, for programs. A stage that
has a span but not the text uses `located`; a stage with the text uses `shown`.
"""

from __future__ import annotations

from typing import TypeVar

from mycel.errors import MycelError
from mycel.syntax.source import NOWHERE, Source, Span

Error = TypeVar("Error", bound=MycelError)


def locate(
    error_class: type[Error], message: str, text: str, span: Span, hint: str | None = None
) -> Error:
    r"""An error at a place in a text, to be raised.

    The error of a node that a program made (`NOWHERE`) has the message alone.

    >>> from mycel.errors import InvalidSyntax
    >>> error = locate(InvalidSyntax, "Expected WHERE, found WHER.", "FIND(?x)\nWHER", Span(9, 13))
    >>> print(error.message)
    Line 2, column 1: Expected WHERE, found WHER.
    2 | WHER
      | ^^^^
    >>> error.data["line"], error.data["column"]
    (2, 1)
    """
    return locate_error(located(error_class(message, hint=hint), span), text)


def located(error: Error, span: Span) -> Error:
    """The error with a span, unless it has one already; for stages without the text."""
    if span != NOWHERE:
        error.data.setdefault("span", {"start": span.start, "end": span.end})
    return error


def locate_error(error: Error, text: str) -> Error:
    """The error with its span, if it has one, turned into line, column and excerpt."""
    place = error.data.pop("span", None)
    if place is None:
        return error
    source = Source(text)
    line, column = source.position(place["start"])
    excerpt = source.excerpt(Span(place["start"], place["end"]))
    error.message = f"Line {line}, column {column}: {error.message}\n{excerpt}"
    error.args = (error.message,)
    error.data |= {"line": line, "column": column, "excerpt": excerpt}
    return error
