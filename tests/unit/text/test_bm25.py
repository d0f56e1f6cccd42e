"""BM25 as FTS5 computes it."""

from __future__ import annotations

import apsw
import pytest

from mycel.text.bm25 import frequency, rarity


def test_bm25_equals_that_of_fts5() -> None:
    texts = ["sea", "sea sea boat", "harbour wall of stone", "boat", "rope"]
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (body)")
    connection.executemany("INSERT INTO t VALUES (?)", [(text,) for text in texts])
    usual = sum(len(text.split()) for text in texts) / len(texts)
    for term in ("sea", "boat", "harbour"):
        having = [text for text in texts if term in text.split()]
        scores = connection.execute("SELECT body, -bm25(t) FROM t WHERE t MATCH ?", (term,))
        for text, score in scores:
            words = text.split()
            weight = frequency(words.count(term), len(words) / usual)
            assert score == pytest.approx(rarity(len(texts), len(having)) * weight)


def test_a_term_that_most_have_is_still_worth_something() -> None:
    assert rarity(10, 9) == 1e-6
