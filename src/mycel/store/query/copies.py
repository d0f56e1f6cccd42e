"""The pairs of a filtered copy and its source, as a reader finds them (`store.log.copied`)."""

from __future__ import annotations

from collections.abc import Iterable

from mycel.store.log import copied
from mycel.store.log.copied import CopyHead
from mycel.store.query.reader import Reader


def copy_head(reader: Reader) -> CopyHead | None:
    """The last entry of its source that a copy has; None if it has nothing of it yet."""
    return copied.head(reader.connection)


def numbers_of(reader: Reader, sources: Iterable[int]) -> dict[int, int]:
    """The numbers in the copy of elements of the source, as far as it has them."""
    return copied.numbers_of(reader.connection, sources)


def sources_of(reader: Reader, numbers: Iterable[int]) -> dict[int, int]:
    """The numbers in the source of elements of the copy, as far as they are known."""
    return copied.sources_of(reader.connection, numbers)
