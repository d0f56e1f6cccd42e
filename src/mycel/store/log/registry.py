"""Names interned to small integers: types, predicates, actors.

Rows are only added, with increasing numbers, and never changed or removed, so cached rows stay
valid. Another process may have added a name that is not cached, so newer rows are read before a
name or number is refused. A registered name may be undefined now, because its definition is a
concept and can be retired. `head.definitions` counts such changes.
"""

from __future__ import annotations

from typing import Final

from mycel.errors import DatabaseCorrupt, TypeMismatch, did_you_mean
from mycel.model.client_names import SEPARATOR
from mycel.model.limits import IDENTIFIER_BYTES_MAX
from mycel.model.names import shorten
from mycel.store.backend.interface import Connection
from mycel.store.file.layout import (
    CONCEPT_TYPE_NUMBER,
    FIRST_PREDICATE_NUMBER,
    FIRST_TYPE_NUMBER,
    PROPOSITION_TYPE_NUMBER,
)
from mycel.store.file.rows import fetch_all, fetch_one

LISTED_MAX: Final = 10
"""The maximum number of names that an error lists."""


class NameTable:
    """The names of one kind and their numbers, cached in both directions."""

    def __init__(self, table: str, first_number: int) -> None:
        self.table: Final = table
        self.first_number: Final = first_number
        self.numbers: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.defined: dict[str, int] = {}
        """Names whose definition is in force, as of the last `Registry.read_definitions`."""
        self._last = -1
        """The number of the last cached row; all rows before it are cached too."""

    def number(self, connection: Connection, name: str) -> int | None:
        """The number of a name; None if it has none."""
        number = self.numbers.get(name)
        if number is None:
            self.load(connection)
            number = self.numbers.get(name)
        return number

    def known_number(self, connection: Connection, name: object) -> int:
        """The number of a type or predicate that queries may name.

        Raises:
            TypeMismatch: nothing of this name was ever defined.
        """
        number = self.number(connection, name) if isinstance(name, str) else None
        if number is None:
            raise unknown(name, self)
        return number

    def name(self, connection: Connection, number: int) -> str:
        """The name for a number in a row."""
        name = self.names.get(number)
        if name is None:
            self.load(connection)
            name = self.names.get(number)
            if name is None:
                raise DatabaseCorrupt(f"The table {self.table!r} has no number {number}.")
        return name

    def load(self, connection: Connection) -> None:
        """Read the rows that were added since the last call."""
        query = f"SELECT id, name FROM {self.table} WHERE id > ? ORDER BY id"
        for number, name in fetch_all(connection, query, (self._last,)):
            self.know(number, name)

    def know(self, number: int, name: str) -> None:
        """Cache the row after the last one."""
        # `_last` is set last: another thread that sees it finds all rows up to it.
        self.numbers[name], self.names[number] = number, name
        self._last = max(self._last, number)


class Registry:
    """The three tables, and the definitions in force. All connections of a database share it."""

    def __init__(self) -> None:
        self.types = NameTable("type", FIRST_TYPE_NUMBER)
        self.predicates = NameTable("predicate", FIRST_PREDICATE_NUMBER)
        self.actors = NameTable("actor", 1)
        self.definitions = -1
        """The number of changes of definitions that `read_definitions` has seen."""

    def reset(self) -> None:
        """Forget names that a rolled-back transaction added."""
        self.__init__()  # type: ignore[misc]  # The one place where starting over is the meaning.

    def read_definitions(self, connection: Connection, definitions: int) -> None:
        """Read which definitions are in force. The caller is a writer who has read the head."""
        for meta, names in (
            (CONCEPT_TYPE_NUMBER, self.types),
            (PROPOSITION_TYPE_NUMBER, self.predicates),
        ):
            query = (
                f"SELECT n.name, n.id FROM {names.table} n JOIN concept c"
                " ON c.name = n.name AND c.type = ?"
            )
            names.defined = dict(connection.execute(query, (meta,)))
        self.definitions = definitions

    def add(self, connection: Connection, names: NameTable, name: str) -> int:
        """The number of a name; a new name gets the next number."""
        number = names.number(connection, name)
        if number is None:
            (last,) = fetch_one(connection, f"SELECT max(id) FROM {names.table}")
            number = max(names.first_number, (last or 0) + 1)
            connection.execute(f"INSERT INTO {names.table} VALUES (?, ?)", (number, name))
            names.know(number, name)
        return number

    def defined_by(self, type_number: int) -> NameTable | None:
        """The table of the names that a concept of this type defines; None for other types."""
        metas = {CONCEPT_TYPE_NUMBER: self.types, PROPOSITION_TYPE_NUMBER: self.predicates}
        return metas.get(type_number)


def undefined(name: object, names: NameTable) -> TypeMismatch:
    """The error for writing with a type or predicate that is not defined."""
    noun = names.table
    define = f"Define it first: tx.define_{noun}(name), or `mycel define {noun} NAME`."
    close = _close(name, [user_name for user_name in _user_names(names) if user_name != name])
    return TypeMismatch(
        f"The {noun} {shorten(repr(name))} is not defined.", hint=f"{close} {define}".strip()
    )


def unknown(name: object, *tables: NameTable) -> TypeMismatch:
    """The error for asking about a type or predicate that was never defined."""
    user_names = [name for names in tables for name in _user_names(names)]
    return TypeMismatch(
        f"There is no {' or '.join(names.table for names in tables)} {shorten(repr(name))}.",
        hint=_close(name, user_names) or " ".join(map(_list_names, tables)),
    )


def _user_names(names: NameTable) -> list[str]:
    """The names of a table in order, without the meta-types."""
    return sorted(number for number in names.numbers if not number.startswith("$"))


def _close(name: object, candidates: list[str]) -> str:
    is_name = isinstance(name, str) and len(name) <= IDENTIFIER_BYTES_MAX
    return did_you_mean(str(name), candidates) if is_name else ""


def _list_names(names: NameTable) -> str:
    user_names = _user_names(names)
    if not user_names:
        return f"No {names.table} is defined yet."
    more = f" and {len(user_names) - LISTED_MAX} more" if len(user_names) > LISTED_MAX else ""
    return f"The {names.table}s are {', '.join(map(shorten, user_names[:LISTED_MAX]))}{more}."


def named_actor(column: str, name: str) -> str:
    """A condition that an actor has this name, or is a program that writes for this actor."""
    return (
        f"({column} = {name} OR substr({column}, 1, length({name}) + 1) = {name} || '{SEPARATOR}')"
    )
