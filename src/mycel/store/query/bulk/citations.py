"""Finds citations whose cited concept was written again later."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from mycel.store.file.rows import json_array
from mycel.store.query.reader import Reader

CITATIONS_MAX: Final = 1_000
"""The maximum number of citations that one question reads."""

_CITED: Final = (
    "SELECT n.id AS note, t.id AS cited, t.name, t.attributes, CASE WHEN n.seq > p.seq THEN n.seq"
    " ELSE p.seq END AS written"
    " FROM json_each(?1) j CROSS JOIN concept n CROSS JOIN proposition p CROSS JOIN concept t"
    " WHERE n.id = j.value AND p.{here} = n.id AND t.id = p.{there} AND t.seq > n.seq AND t.seq >"
    " p.seq AND p.metadata IS DISTINCT FROM ?2"
)
_QUERY: Final = (
    f"{_CITED.format(here='subject', there='object')} UNION"
    f" {_CITED.format(here='object', there='subject')} ORDER BY 1, 2 LIMIT {CITATIONS_MAX}"
)
_THEN: Final = (
    "SELECT attributes FROM concept_past WHERE id = ?1 AND from_seq <= ?2 AND to_seq > ?2"
)


class ChangedCitation(NamedTuple):
    """A concept that was written again after the note that cites it, and after the link."""

    note: int
    cited: int
    name: str
    attributes: str
    written: int
    """The journal entry of the note or the link, whichever is later."""


def changed_citations(
    reader: Reader, notes: Collection[int], without: str
) -> list[ChangedCitation]:
    """Concepts that changed after a link with these notes; metadata `without` excludes a link."""
    rows = reader.fetch_all(_QUERY, (json_array(notes), without))
    return list(map(ChangedCitation._make, rows))


def attributes_then(reader: Reader, number: int, seq: int) -> str | None:
    """The attributes of a concept after a journal entry; None if it has not changed since."""
    row = reader.fetch_first(_THEN, (number, seq))
    return None if row is None else str(row[0])
