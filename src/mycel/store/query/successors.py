"""Finds the concepts that supersede others, by links of some predicates."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from mycel.store.file.rows import json_array
from mycel.store.query.reader import Reader

_LINKS: Final = (("supersedes", "object", "subject"), ("superseded_by", "subject", "object"))
"""The predicates that supersede, each with the replaced end and the replacing end."""

SUCCESSORS_MAX: Final = 3
"""The maximum number of successors that are read for one element."""


def successors(reader: Reader, numbers: Collection[int]) -> dict[int, list[int]]:
    """The live concepts that supersede each of these elements, the newest first."""
    by_number: dict[int, list[int]] = {}
    if not numbers:
        return by_number
    for name, old, new in _LINKS:
        predicate = reader.find_predicate(name)
        if predicate is None:
            continue
        rows = reader.fetch_all(
            f"{reader.tables_text}SELECT p.{old}, p.{new} FROM json_each(?1) given"
            f" CROSS JOIN proposition p"
            f" JOIN concept c ON c.id = p.{new} WHERE p.{old} = given.value"
            f" AND p.predicate = ?2 AND p.{new} <> p.{old}"
            " ORDER BY p.seq DESC",
            (json_array(numbers), predicate),
        )
        for number, successor in rows:
            others = by_number.setdefault(number, [])
            if successor not in others and len(others) < SUCCESSORS_MAX:
                others.append(successor)
    return by_number
