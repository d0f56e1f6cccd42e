"""All bytes that a database keeps of a graph: purged texts must not be among them."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from mycel.store.backend.postgres.address import parse_address
from mycel.store.file.workspace_databases import is_address
from tests.postgres_server import SERVER


def stored_bytes(place: str | os.PathLike[str]) -> bytes:
    """The bytes of a file and its logs, or of all rows of a workspace; `place` is `db.path`."""
    name = os.fspath(place)
    if SERVER and not is_address(name):
        name = SERVER[0].place(name)
    if is_address(name):
        return _row_bytes(name)
    files = (Path(name + ending) for ending in ("", "-wal", "-journal"))
    return b"".join(file.read_bytes() for file in files if file.exists())


def _row_bytes(url: str) -> bytes:
    import psycopg

    from mycel.store.backend.postgres import layout

    address = parse_address(url)
    parts = []
    with closing(psycopg.connect(address.url)) as connection, connection.cursor() as cursor:
        for table in layout.NAMES:
            query = f'COPY "{address.schema}".{table} TO STDOUT (FORMAT binary)'
            with cursor.copy(query.encode()) as copy:
                parts += [bytes(part) for part in copy]
    return b"".join(parts)
