"""Reads the past texts of elements that have changed since a moment.

The text index has only the present texts, so it finds elements that have not changed since the
moment. Of the changed elements, this module reads those that may have a word of the question. All
words with one ASCII stem begin with the stem without its last two letters. SQLite tests for these
beginnings with LIKE, which is many times faster than an index of all past texts. Two kinds of texts
are candidates without such a word: texts with letters outside ASCII, because the tokenizer drops
accents, and texts with aliases, because search compares their spelling. Up to `READ_MAX` candidates
are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from mycel.store.backend.tokens import tokens_of
from mycel.store.file.layout import Table
from mycel.store.file.rows import json_array
from mycel.store.index import text
from mycel.store.query.filters import Condition
from mycel.store.query.reader import Reader
from mycel.text.analysis import AnalysedText

READ_MAX: Final = 1_000
"""The maximum number of elements that are read.

Those that contain most of the words themselves come first, then those that contain most of their
beginnings, then those with the highest numbers.
"""


class ChangedTexts:
    """The elements that have changed since the state of a reader, as that state has them."""

    def __init__(self, reader: Reader, terms: Sequence[str]) -> None:
        self._reader = reader
        self._patterns = _patterns(terms)
        self._numbers: dict[Table, set[int]] = {}

    def documents(
        self, condition: Condition, without: Collection[int]
    ) -> Iterator[tuple[int, AnalysedText | None]]:
        """The texts of elements that pass the filters and may have words of the question."""
        table = condition.table
        numbers = self._changed(table).difference(without)
        is_concept = table == "concept"
        name = "replace(replace(replace(e.name, ' ', ''), '_', ''), '-', '')"
        places = ("e.attributes", "e.name", name) if is_concept else ("e.attributes",)
        like = self._reader.connection.dialect.like
        all_fit, fits = (
            " + ".join(
                f"CASE WHEN {' OR '.join(like(place, f':{word}{at}') for place in places)}"
                " THEN 1 ELSE 0 END"
                for at in range(len(self._patterns))
            )
            or "0"
            for word in ("term", "like")
        )
        unseen = " OR ".join(f"octet_length({place}) > length({place})" for place in places[:2])
        unseen = f"({unseen} OR instr(e.attributes, '\"aliases\"') > 0)"
        query = (
            f"{self._reader.tables_text}SELECT id, name, attributes FROM ("
            f"SELECT e.id, {'e.name' if is_concept else repr('')} AS name, e.attributes,"
            f" {unseen} AS is_unseen, {fits} AS fits, {all_fit} AS whole FROM json_each(:numbers) j"
            f" CROSS JOIN (SELECT *, from_seq AS seq FROM {table}_past) e"
            " WHERE e.id = j.value AND e.from_seq <= :state AND e.to_seq > :state AND"
            " e.tombstoned_at IS NULL"
            f"{condition.sql}"
            ") f WHERE fits > 0 OR is_unseen ORDER BY whole DESC, fits DESC, id DESC LIMIT :most"
        )
        bindings: dict[str, Any] = {
            "numbers": json_array(numbers),
            "most": READ_MAX,
            "state": self._reader.state.seq,
            **condition.bindings,
            **{f"like{at}": beginning for at, (_, beginning) in enumerate(self._patterns)},
            **{f"term{at}": term for at, (term, _) in enumerate(self._patterns)},
        }
        for number, name, attributes in self._reader.execute(query, bindings):
            yield number, text.document(number, name, attributes)

    def _changed(self, table: Table) -> set[int]:
        if table not in self._numbers:
            query = "SELECT DISTINCT element FROM journal WHERE seq > ? AND element & 1 = ?"
            rows = self._reader.fetch_all(query, (self._reader.state.seq, table == "proposition"))
            self._numbers[table] = {number for (number,) in rows}
        return self._numbers[table]


def _patterns(terms: Sequence[str]) -> list[tuple[str, str]]:
    """Two LIKE patterns for each term: one for the term itself, one for all words with its stem."""
    patterns: list[tuple[str, str]] = []
    for term in terms:
        longest = max(tokens_of(term), key=len, default="")
        beginning = longest[: max(1, len(longest) - 2)]
        is_plain = beginning.isascii() and beginning.isalnum()
        patterns.append((f"%{term}%", f"%{beginning}%" if is_plain else "%"))
    return patterns
