"""Filters of a search: conditions on elements, the same for candidates by words and by meaning.

Every query for candidates has the condition in its WHERE, and the ranking by meaning ignores all
other passages, so a limit counts only elements that pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypedDict

import orjson

from mycel.errors import InvalidValueType, ResourceExhausted
from mycel.model import times
from mycel.model.limits import INTEGER_MAX
from mycel.model.names import check_actor, check_text, kind_of
from mycel.model.state import Visibility
from mycel.model.values import with_times_as_text
from mycel.sql.dialect import Dialect
from mycel.sql.state_tables import StateTables
from mycel.store.file.layout import KIND_COLUMN, OPEN_END, Table
from mycel.store.file.rows import json_array, text_array
from mycel.store.log.registry import named_actor
from mycel.store.query.history import Moment, state_at
from mycel.store.query.paths import below, path_of
from mycel.store.query.paths import condition as covers
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref
from mycel.text.kinds import (
    CODE,
    CODE_TYPES,
    DOCUMENT_TYPES,
    STAMP,
    AnswerKind,
    checked_kind,
)

TEXT_BYTES_MAX: Final = 4_096
"""The size limit of a path, and of a key or value of metadata."""
METADATA_KEYS_MAX: Final = 100
"""The maximum number of metadata keys of one search: each adds a condition to the SQL statement."""


class Filters(TypedDict, total=False):
    """The filters of a search, as callers give them. A filter that is None does nothing."""

    kind: AnswerKind | None
    """"notes", "code" (which a bootstrap read from files), or "any"."""
    path: str | None
    """A URI, `kip:Type`, or an id. It finds the concept there, all below it, and links that leave
    them."""
    workspace: str | None
    """A workspace. It finds its concepts and files, and links that leave them."""
    actor: str | None
    """The actor who created the element, or who wrote it last."""
    since: datetime | str | None
    """The element was last written at this time or later."""
    until: datetime | str | None
    """The element was last written before this time."""
    metadata: Mapping[str, Any] | None
    """Metadata keys with values. A list in the metadata fits if it has the value."""
    near: Ref | None
    """An element; its neighbours rank higher. This excludes nothing."""
    as_of: Moment | None
    """A past moment. Its state is searched by names and words only."""
    without: str | Sequence[str] | None
    """Types of concepts to leave out, such as Event, the type of turns of conversations."""
    for_time: datetime | str | None
    """The element holds at this time, by its `valid_from` and `valid_until`."""
    include_archived: bool | None
    """True to find archived elements too, by names and words only."""


class Condition(NamedTuple):
    """A condition on the row `e` of an element.

    Types and the kind are separate fields: search by meaning checks them without the tables.
    """

    others: str = ""
    """The SQL condition of all filters except types and kind; it begins with AND."""
    bindings: Mapping[str, Any] = MappingProxyType({})
    types: frozenset[int] | None = None
    """The allowed types, or predicates, of the element."""
    kind: AnswerKind | None = None
    """The required kind of the element; None for any."""
    table: Table = "concept"
    few: frozenset[int] | None = None
    """The numbers of all elements that can pass, if they are few; otherwise None."""
    visible: str = ""
    """An SQL condition that the element is not archived, and so has passages."""
    time_us: int | None = None
    """The time of `for_time`: the element has to hold then."""
    has_archived: bool = False
    """True if archived elements pass. They have no passages."""

    @property
    def sql(self) -> str:
        """The whole condition, to follow another one; empty if every element passes."""
        sql = self.others + self.visible
        if self.types is not None:
            column = KIND_COLUMN[self.table]
            # The plus sign makes SQLite use the index of the name or row, not that of the type.
            numbers = ", ".join(map(str, sorted(self.types))) or "NULL"
            sql += f" AND +e.{column} IN ({numbers})"
        if self.kind is not None:
            sql += f" AND {'' if self.kind == CODE else 'NOT '}{_IS_CODE[self.table]}"
        return sql

    def among(self, columns: Sequence[str], numbers: Collection[int]) -> Condition:
        """A condition that also asks for one of these numbers in one of these columns."""
        among = "(SELECT value FROM json_each(:filter_among))"
        fits = " OR ".join(f"e.{column} IN {among}" for column in columns)
        bindings = {**self.bindings, "filter_among": json_array(numbers)}
        few = frozenset(numbers) if columns == ("id",) else None
        return self._replace(others=f"{self.others} AND ({fits})", bindings=bindings, few=few)

    def of_archived(self) -> Condition:
        """A condition that only archived elements pass."""
        return self._replace(others=f"{self.others} AND {_IS_HIDDEN}")

    def passing(self, reader: Reader) -> list[int]:
        """The elements that pass, in the state of the reader.

        Meant for conditions that few elements pass.
        """
        query = f"{reader.tables_text}SELECT e.id FROM {self.table} e WHERE TRUE{self.sql}"
        return reader.column(query, dict(self.bindings))

    def numbers(self, reader: Reader) -> list[int]:
        """The elements that pass all filters except types and kind, in the reader's state."""
        query = f"{reader.tables_text}SELECT e.id FROM {self.table} e WHERE TRUE{self.others}"
        return reader.column(query, dict(self.bindings))


ALL: Final = Condition()
_IS_HIDDEN: Final = (
    f"EXISTS (SELECT 1 FROM hidden h WHERE h.element = e.id AND h.to_seq = {OPEN_END})"
)

_IS_CODE: Final[dict[Table, str]] = {
    # The first test is quick, and most rows fail it.
    "concept": f"(instr(e.attributes, '\"{STAMP}\":') > 0"
    f" AND json_type(e.attributes, '$.{STAMP}') IS NOT NULL"
    " AND json_type(e.attributes, '$.content') IS NULL"
    f" AND coalesce(e.attributes ->> '$.file_type', '') NOT IN {DOCUMENT_TYPES}"
    f" AND +e.type IN (SELECT id FROM type WHERE name IN {CODE_TYPES}))",
    "proposition": "(coalesce(e.metadata ->> '$.author', '') = 'bootstrap')",
}
"""SQL conditions that an element is of the kind code (`search.kinds`)."""

# The path of a link is that of its subject. If the subject is a link too, its subject counts, and
# so on.
_OWNERS: Final = (
    "WITH RECURSIVE owner (id) AS (SELECT e.subject UNION ALL"
    " SELECT p.subject FROM owner JOIN proposition p ON p.id = owner.id)"
    " SELECT 1 FROM owner JOIN concept c ON c.id = owner.id"
)


_SCHEMES: Final = ("concept", "file")
"""The schemes of URIs whose first part is the name of a workspace."""
_WRITER: Final = "(SELECT t.actor FROM tx t WHERE t.seq >= e.seq ORDER BY t.seq LIMIT 1)"


def state_reader(reader: Reader, filters: Filters) -> Reader:
    """A reader of the state that `as_of` names; the given reader if there is none.

    Raises:
        ConstraintViolation: there is no such state, or it was scrubbed.
        NotFound: there is no such commit or tag.
    """
    moment = filters.get("as_of")
    return reader if moment is None else reader.at(state_at(reader, moment))


def visibility_of(filters: Filters) -> Visibility:
    """The visibility for a search: with or without archived elements, and at which time."""
    time = filters.get("for_time")
    return Visibility(
        bool(filters.get("include_archived")),
        None if time is None else _microseconds("for_time", time),
    )


def condition(
    reader: Reader, filters: Filters, table: Table, types: Collection[int] | None = None
) -> Condition:
    """The condition of all filters and of `types` (or predicates), for the elements of a table.

    Raises:
        InvalidValueType: the value of a filter is of a wrong kind.
        InvalidSyntax: a text is no time.
    """
    parts: list[str] = []
    bindings: dict[str, Any] = {}
    if (path := filters.get("path")) is not None:
        parts += _path(path, table, bindings)
    if (workspace := filters.get("workspace")) is not None:
        if not isinstance(workspace, str):
            raise InvalidValueType(f"workspace must be a text, not {kind_of(workspace)}.")
        row = "e" if table == "concept" else "c"
        fits = " OR ".join(below(row, f"filter_{scheme}") for scheme in _SCHEMES)
        parts.append(f"({fits})" if table == "concept" else f"EXISTS ({_OWNERS} WHERE {fits})")
        bindings |= {f"filter_{scheme}": f"{scheme}://{workspace}" for scheme in _SCHEMES}
    if (actor := filters.get("actor")) is not None:
        actor_ids = f"(SELECT a.id FROM actor a WHERE {named_actor('a.name', ':filter_actor')})"
        parts.append(f"(e.created_by IN {actor_ids} OR {_WRITER} IN {actor_ids})")
        bindings["filter_actor"] = check_actor(actor)
    for name, sign, moment in (
        ("since", ">=", filters.get("since")),
        ("until", "<", filters.get("until")),
    ):
        if moment is not None:
            parts.append(f"e.updated_at {sign} :filter_{name}")
            bindings[f"filter_{name}"] = _microseconds(name, moment)
    if (metadata := filters.get("metadata")) is not None:
        parts += _metadata(reader.connection.dialect, metadata, bindings)
    if (without := filters.get("without")) is not None and table == "concept":
        names = [without] if isinstance(without, str) else list(without)
        if not all(isinstance(name, str) for name in names):
            raise InvalidValueType("without must be the name of a type, or a list of names.")
        name_list = "(SELECT value FROM json_each(:filter_without))"
        parts.append(f"+e.type NOT IN (SELECT t.id FROM type t WHERE t.name IN {name_list})")
        bindings["filter_without"] = text_array(names)
    visibility = visibility_of(filters)
    tests = _tests(reader.tables_of(visibility._replace(valid_at_us=None)), table)
    if visibility.valid_at_us is not None:
        at_time = Visibility(True, visibility.valid_at_us)
        parts += _tests(reader.tables_of(at_time), table)
    for value in bindings.values():
        if isinstance(value, str):
            check_text(value, "filter", TEXT_BYTES_MAX)
    return Condition(
        "".join(f" AND {part}" for part in parts),
        bindings,
        None if types is None else frozenset(types),
        checked_kind(filters.get("kind")),
        table,
        visible="".join(f" AND {test}" for test in tests),
        time_us=visibility.valid_at_us,
        has_archived=visibility.include_archived and reader.has_hidden(),
    )


def _tests(tables: StateTables, table: Table) -> list[str]:
    return tables.concept_tests("e") if table == "concept" else tables.link_tests("e")


def _path(path: object, table: Table, bindings: dict[str, Any]) -> Iterator[str]:
    read = path_of(path)
    row = "e" if table == "concept" or read.number is not None else "c"
    fits, values = covers(read, row)
    bindings.update(values)
    yield fits if row == "e" else f"EXISTS ({_OWNERS} WHERE {fits})"


def _microseconds(name: str, moment: object) -> int:
    if isinstance(moment, datetime):
        moment = moment.isoformat()
    if not isinstance(moment, str):
        raise InvalidValueType(
            f"{name} must be a time, not {kind_of(moment)}.", hint="Such as 2026-01-31T12:00:00Z."
        )
    return times.from_text(moment)


def _metadata(dialect: Dialect, metadata: object, bindings: dict[str, Any]) -> Iterator[str]:
    if not isinstance(metadata, Mapping) or not all(isinstance(key, str) for key in metadata):
        raise InvalidValueType(
            f"metadata must be an object with a value for each key, not {kind_of(metadata)}.",
            hint='Such as {"source": "interview"}.',
        )
    if len(metadata) > METADATA_KEYS_MAX:
        raise ResourceExhausted(
            f"metadata has {len(metadata)} keys; a search compares {METADATA_KEYS_MAX} at most.",
            hint="Keep the keys that narrow the search most.",
        )
    for at, (key, wanted_value) in enumerate(metadata.items()):
        value = with_times_as_text(wanted_value)
        if not isinstance(value, str | int | float | None):
            raise InvalidValueType(
                f"The metadata {key!r} is compared with a text, a number, true, false or null,"
                f" not with {kind_of(value)}."
            )
        if isinstance(value, int) and abs(value) > INTEGER_MAX:
            raise InvalidValueType(f"The number for the metadata {key!r} is too large to compare.")
        word = orjson.dumps(value).decode() if value is None or isinstance(value, bool) else None
        if word is None:
            bindings[f"filter_value_{at}"] = value
        bindings[f"filter_key_{at}"] = key
        own, inside = (
            dialect.has_value(row, f":filter_value_{at}") if word is None
            else dialect.has_word(row, word)
            for row in ("m", "item")
        )  # fmt: skip
        yield (
            f"EXISTS (SELECT 1 FROM json_each(e.metadata) m WHERE m.key = :filter_key_{at}"
            f" AND ({own} OR m.type = 'array' AND EXISTS"
            f" (SELECT 1 FROM json_each(m.value) item WHERE {inside})))"
        )
