"""Merges of a graph: those that are open, their conflicts, and choices of those that are done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mycel.store.log import merges
from mycel.store.query.reader import Reader


def opened(reader: Reader) -> list[dict[str, Any]]:
    """The open merges, oldest first, as they are stored."""
    return merges.opened(reader.connection)


def may_have_conflicts(reader: Reader) -> bool:
    """False if no merge ever had a conflict in this file: a test that costs next to nothing."""
    return merges.are_there(reader.connection)


def stored_conflicts(reader: Reader, id_: str) -> list[dict[str, Any]]:
    """The conflicts of one open merge, as they were computed last."""
    return merges.stored_conflicts(reader.connection, id_)


def open_conflicts(reader: Reader, numbers: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
    """The conflicts of open merges that are about elements, by number; those decided, too."""
    return merges.conflicts_of(reader.connection, list(numbers))


def count_undecided(reader: Reader) -> int:
    """The number of conflicts of open merges, as computed last, that nobody has decided about."""
    return merges.count_undecided(reader.connection)


def conflicts_named(reader: Reader, name: str) -> list[dict[str, Any]]:
    """The conflicts of open merges about concepts of a name, also of those that are not there."""
    return merges.conflicts_named(reader.connection, name)


def match(reader: Reader, number: int, among: str, *, of_source: bool) -> tuple[int, int] | None:
    """The newest of some merges that knows an element, and its number on the other side."""
    if not merges.are_there(reader.connection):
        return None
    return merges.match(reader.connection, number, among, of_source=of_source)


def choices(reader: Reader, seq: int | None = None) -> list[tuple[int, dict[str, Any]]]:
    """Automatic choices of one merge, or of all, newest first, each with the merge's last entry."""
    return merges.choices(reader.connection, seq)
