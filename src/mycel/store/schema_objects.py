"""The objects of a file: tables, indexes, views and triggers, and foreign ones among them.

SQLite runs code that a file contains: a view in place of a table, a trigger, an index on an
expression, a virtual table. A file with a foreign object is therefore refused before anything else
in it is read, and the error names the object. The exception is a plain foreign table, which runs no
code, and which programs that replicate databases need. `verify` reports it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from mycel.errors import NotADatabase
from mycel.model.names import shorten
from mycel.store.backend.interface import Connection
from mycel.store.file import layout
from mycel.store.index import passages, property_vectors
from mycel.store.log import copied, marks, merges, saved_views, submissions

_TEXT_TABLES: Final = """
CREATE TABLE 'text_data'(id INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE 'text_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE 'text_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);
CREATE TABLE 'text_config'(k PRIMARY KEY, v) WITHOUT ROWID;
"""
"""The tables of the full-text index, as SQLite itself makes them."""
_HEAD: Final = re.compile(
    r"CREATE\s++(?:UNIQUE\s++|VIRTUAL\s++)?(TABLE|INDEX|VIEW|TRIGGER)\s++['\"`\[]?(\w++)",
    re.IGNORECASE | re.ASCII,
)
_OWN_PREFIXES: Final = (
    passages.PREFIX,
    merges.PREFIX,
    saved_views.PREFIX,
    copied.PREFIX,
    submissions.PREFIX,
)
"""Tables of derived data, of merges, of saved views, of filtered copies and of
submissions.

An earlier version of Mycel may have made them with other columns."""
_EXPRESSIONS: Final = re.compile(
    r"\b(?:AS|CHECK|DEFAULT|COLLATE|REFERENCES|USING)\b", re.IGNORECASE
)
"""Words in the definition of a table that computes something, or that concerns other tables."""
_STATISTICS: Final = frozenset(("sqlite_stat1", "sqlite_stat4", "sqlite_sequence"))
_AUTOMATIC: Final = "sqlite_autoindex_"


class SchemaObject(NamedTuple):
    """An object of a file: a row of its schema."""

    kind: str
    name: str
    table: str
    sql: str | None
    """The statement that makes the object; None for an index that SQLite makes itself."""

    @property
    def is_plain_table(self) -> bool:
        """True for a table that computes nothing and has no name of a table of Mycel."""
        if self.kind != "table" or self.sql is None:
            return False
        if ("table", self.name) in _own_objects() and not self.name.startswith(_OWN_PREFIXES):
            return False
        head = _HEAD.match(self.sql)
        return head is not None and head[1].upper() == "TABLE" and not _EXPRESSIONS.search(self.sql)

    def __str__(self) -> str:
        return f"{self.kind} {shorten(self.name)}"


def check_objects(path: str, connection: Connection) -> None:
    """Refuse a file with objects that could run code.

    Raises:
        NotADatabase: there is one.
    """
    for object_ in foreign_objects(connection):
        if not object_.is_plain_table:
            raise NotADatabase(
                f"{path!r} has the {object_}, which Mycel did not make: it could run code when"
                " the file is read.",
                hint="If it is yours, remove it with the program that made it. If the file came"
                " from somebody else, do not trust it.",
            )


def foreign_objects(connection: Connection) -> list[SchemaObject]:
    """Objects that Mycel did not make, or that have another definition; views come first."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1 DESC")
    return [
        schema_object
        for kind, name, table, sql in rows
        # A damaged file may have anything in this column.
        if not _is_own(
            schema_object := SchemaObject(str(kind), str(name), str(table), sql and str(sql))
        )
    ]


def _is_own(object_: SchemaObject) -> bool:
    if object_.sql is not None and _own_objects().get((object_.kind, object_.name)) == object_.sql:
        return True
    if object_.kind == "index":
        return object_.sql is None and object_.name.startswith(_AUTOMATIC)
    if object_.name in _STATISTICS or object_.name.startswith(_OWN_PREFIXES):
        return object_.is_plain_table
    return False


@cache
def _own_objects() -> dict[tuple[str, str], str]:
    """The statement of every object that Mycel makes, by kind and name."""
    texts = (
        layout.CREATE,
        _TEXT_TABLES,
        marks.INDEX,
        merges.TABLES,
        saved_views.TABLES,
        copied.TABLES,
        submissions.TABLES,
        passages.TABLES,
        property_vectors.TABLES,
    )
    objects = {}
    for part in ";".join(texts).split(";"):
        statement = part.strip().replace(" IF NOT EXISTS", "", 1)  # The text as SQLite stores it.
        if head := _HEAD.match(statement):
            objects[head[1].lower(), head[2]] = statement
    return objects
