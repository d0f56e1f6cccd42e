"""Queries of the text index: elements that have some or all of a few phrases."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

from mycel.text.names import Standing, marked_keys

Column = Literal["keys", "title"]


class TextQuery(NamedTuple):
    """A query for elements with all, or some, of these phrases. A phrase is a sequence of words."""

    phrases: tuple[str, ...]
    has_all: bool = False
    """True if an element has to have all phrases."""
    column: Column | None = None
    """The column that has to contain them; None for any column."""
    is_beginning: bool = False
    """True if the last word of each phrase is a prefix."""
    without_key: str = ""
    """A key that an element must not have."""


class ColumnWeights(NamedTuple):
    """The weights of the columns of the text index in BM25; that of keys is 0."""

    title: float
    body: float


class TextMatch(NamedTuple):
    """An element that has some of the terms."""

    number: int
    bm25: float
    """The BM25 score; greater is better."""
    terms: int
    """The number of the terms that it has."""


def any_of(terms: Iterable[str]) -> TextQuery:
    """A query for documents with any of these terms."""
    return TextQuery(tuple(terms))


def all_of(terms: Iterable[str]) -> TextQuery:
    """A query for documents with all of these terms."""
    return TextQuery(tuple(terms), has_all=True)


def with_keys(keys: Collection[str], *standings: Standing) -> TextQuery:
    """A query for elements of some standings that have one of these keys."""
    marked = (key for standing in standings for key in marked_keys(keys, standing))
    return TextQuery(tuple(marked), column="keys")
