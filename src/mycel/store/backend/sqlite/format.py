"""Checks the header of a file: a database of Mycel, in the format that this version reads.

There is one format so far. A later version that changes the tables raises `layout.FORMAT`, and
`creation.open_or_create` upgrades an older file right after `check_format`, in one transaction.
"""

from __future__ import annotations

import apsw

from mycel.errors import FormatTooNew, NotADatabase
from mycel.store.file.layout import APPLICATION_ID, DEVELOPMENT_APPLICATION_ID, FORMAT
from mycel.store.file.rows import fetch_one


def check_format(path: str, connection: apsw.Connection) -> None:
    """Refuse a file that this version cannot read.

    Raises:
        NotADatabase: another program made it, or a version of Mycel before the first release.
        FormatTooNew: a later version of Mycel made it.
    """
    (application,) = fetch_one(connection, "PRAGMA application_id")
    (version,) = fetch_one(connection, "PRAGMA user_version")
    if application == DEVELOPMENT_APPLICATION_ID:
        raise NotADatabase(
            f"{path!r} has format {version} of the time before the first release, which this"
            " version of Mycel does not read.",
            hint="With the version that wrote it, run `mycel schema infer > old.pg` and `mycel"
            " export --output old.jsonl`; then `mycel schema apply old.pg` and `mycel load"
            " old.jsonl` on a new database.",
        )
    if application != APPLICATION_ID:
        raise NotADatabase(f"{path!r} is a SQLite database, but not one of Mycel.")
    if version > FORMAT:
        raise FormatTooNew(
            f"{path!r} has format {version} and was made by a newer Mycel; this version reads"
            f" format {FORMAT}."
        )
    if version < FORMAT:
        raise NotADatabase(f"{path!r} has format {version}, which does not exist.")
