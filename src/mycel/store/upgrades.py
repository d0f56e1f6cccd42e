"""From the format of an older file to the present one.

Each step takes a file from one format to the next and changes nothing that is hashed: journal,
records and roots stay as they are. All steps that a file needs run in one transaction, with the
number of the format, so a file that loses power on the way is still the old one. A file that is
opened for reading only stays as it is: whoever reads has to cope with what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import apsw

from mycel.errors import FormatTooNew
from mycel.store import layout, link_ends
from mycel.store.rows import only


def _add_the_index_of_properties(connection: apsw.Connection) -> None:
    """1 to 2. No type has a slot yet, so there is nothing to fill; and one index has no use.

    The views leave concepts out that nobody has written yet.
    """
    connection.execute(layout.PROPERTIES)
    connection.execute("DROP INDEX journal_relink")
    connection.execute("DROP VIEW nodes")
    connection.execute("DROP VIEW relations")
    connection.execute(layout.VIEWS)


def _note_links_at_the_ends_of_links(connection: apsw.Connection) -> None:
    """2 to 3."""
    connection.execute(layout.LINK_ENDS)
    connection.execute(f"INSERT INTO link_end {link_ends.FOUND}")


STEPS: Final[tuple[Callable[[apsw.Connection], None], ...]] = (
    _add_the_index_of_properties,
    _note_links_at_the_ends_of_links,
)
"""The first takes a file of format 1 to format 2, and so on."""


def upgrade(connection: apsw.Connection) -> None:
    """Bring a file of ours that has an older format to the present one."""
    if format_of(connection) >= layout.FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been faster.
        for step in STEPS[format_of(connection) - 1 :]:
            step(connection)
        connection.execute(f"PRAGMA user_version = {layout.FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def refuse_newer(path: str, connection: apsw.Connection) -> None:
    """Keep hands off a file whose format only a later version understands.

    Raises:
        FormatTooNew: it is such a file.
    """
    found = format_of(connection)
    if found > layout.FORMAT:
        raise FormatTooNew(
            f"{path!r} has format {found}; this version of Mycel reads up to {layout.FORMAT}."
        )


def format_of(connection: apsw.Connection) -> int:
    """The number of the format that a file says it has."""
    (found,) = only(connection, "PRAGMA user_version")
    return int(found)
