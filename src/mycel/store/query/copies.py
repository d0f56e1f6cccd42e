"""Reads the pairs of numbers of a filtered copy and its source (`store.log.copied`)."""

from __future__ import annotations

from collections.abc import Iterable

from mycel.store.log import copied
from mycel.store.log.copied import CopyHead
from mycel.store.query.reader import Reader


def copy_head(reader: Reader) -> CopyHead | None:
    """The last entry of the source that a filtered copy has; None if it has none yet."""
    return copied.head(reader.connection)


def numbers_of(reader: Reader, sources: Iterable[int]) -> dict[int, int]:
    """The numbers in the copy for elements of the source that it has."""
    return copied.numbers_of(reader.connection, sources)


def sources_of(reader: Reader, numbers: Iterable[int]) -> dict[int, int]:
    """The numbers in the source for elements of the copy, where they are known."""
    return copied.sources_of(reader.connection, numbers)
