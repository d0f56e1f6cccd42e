"""The text index is merged a few pages at a time: no write pays for the texts of all before it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import apsw

import mycel
from mycel.store.backend.sqlite import text_index
from mycel.store.file.layout import FTS
from mycel.text.analysis import concept_document

WORDS = 2_000


def add_documents(connection: apsw.Connection, random: Random, first: int, count: int) -> int:
    """Add documents of 200 words in one transaction. Returns the number of pages it wrote."""
    documents = []
    for number in range(first, first + count):
        text = " ".join(f"word{random.randrange(WORDS)}" for _ in range(200))
        document = concept_document(f"n{number}", {"content": text})
        assert document is not None
        documents.append((number, document))
    statements: list[str] = []
    connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: statements.append(event["sql"]))
    with connection:
        text_index.add(connection, documents)
    connection.trace_v2(0)
    return sum("REPLACE INTO 'main'.'text_data'" in statement for statement in statements)


def test_an_addition_writes_few_pages_however_large_the_index_is(tmp_path: Path, seed: int) -> None:
    mycel.open(tmp_path / "new.db", core_capsules=False).close()
    new = apsw.Connection(str(tmp_path / "new.db"))
    old = apsw.Connection(str(tmp_path / "old.db"))  # As FTS5 makes it.
    old.execute(FTS)
    text_index.merge_some(old)
    for connection in (new, old):
        random = Random(seed)
        for load in range(12):
            add_documents(connection, random, 1 + 100 * load, 100)
        most = max(
            add_documents(connection, random, 10_000 + 4 * addition, 4) for addition in range(70)
        )
        assert 0 < most < 64, (most, connection.filename)
        while text_index.merge_some(connection):
            pass
        query = "SELECT count(*) FROM text WHERE text MATCH 'n1 OR n1101 OR n10279'"
        assert connection.execute(query).get == 3
        connection.close()
