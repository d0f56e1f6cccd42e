"""Rewrites the rows of one type when its declaration changes.

Ids survive renames, so the two declarations determine the changes of a row: attributes that are
renamed, removed, restored or filled with a default, and a name by another key. Every row is read
once and written at most once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mycel.engine.protection_guard import ACTORS
from mycel.engine.schema_guard import shown_element
from mycel.errors import ConstraintViolation, MycelError
from mycel.migration.data_violations import Findings
from mycel.migration.definition_writer import table_of
from mycel.model.names import check_name
from mycel.model.values import JsonObject, parse_object
from mycel.schema.model import InstanceType, NodeType
from mycel.schema.property_values import parse_default
from mycel.schema.row_rules import RowRules
from mycel.schema.stored_declaration import HiddenProperty
from mycel.store.file.layout import Table
from mycel.store.query.bulk import instances
from mycel.store.query.bulk.instances import Instance
from mycel.store.write.transaction import Transaction

DROPPED: Final = "dropped by a schema"
"""The reason in tombstones of instances whose type is no longer declared."""
_ASIDE: Final = "__renamed__"
"""The prefix of the interim name of a row, while another row still has its new name."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The changes to the rows of one type."""

    declared: InstanceType
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Renamed attributes: the new name of each."""
    dropped: frozenset[str] = frozenset()
    restored: Mapping[str, Sequence[HiddenProperty]] = field(default_factory=dict)
    """Restored attributes, each with the hidden properties whose values it gets, newest first."""
    filled: dict[str, Any] = field(default_factory=dict)
    """Default values for rows without the attribute."""
    adopts: bool = False
    """True if the rows were written without a schema."""
    rekeys: bool = False
    """True if rows are named by another key than before."""
    is_checked: bool = False
    """True if rows may break the declaration even without the changes above."""

    @property
    def is_needed(self) -> bool:
        return bool(
            self.renamed
            or self.dropped
            or self.restored
            or self.filled
            or self.adopts
            or self.rekeys
            or self.is_checked
        )


def rewrite_of(
    before: InstanceType | None,
    after: InstanceType,
    *,
    restored: Mapping[str, Sequence[HiddenProperty]],
    is_checked: bool,
    adopts: bool,
) -> Rewrite:
    """The changes to rows when one declaration takes the place of another."""
    if before is None:
        return Rewrite(after, adopts=adopts, rekeys=adopts and bool(_key(after)))
    old = {property_.prop_id: property_ for property_ in before.properties}
    new = {property_.prop_id: property_ for property_ in after.properties}
    prop_ids = old.keys() & new.keys()
    renamed = {
        old[prop_id].name: new[prop_id].name
        for prop_id in prop_ids
        if old[prop_id].name != new[prop_id].name
    }
    filled = {
        prop.name: parse_default(prop)
        for prop_id, prop in new.items()
        if prop.default is not None
        and (prop_id not in old or (prop.is_required and not old[prop_id].is_required))
    }
    key = [renamed.get(name, name) for name in _key(before)]
    # Rows of an open type may have any value under the name of a new property.
    is_met = before.is_open and not new.keys() <= old.keys()
    return Rewrite(
        after,
        renamed,
        frozenset(old[prop_id].name for prop_id in old.keys() - new.keys()),
        restored,
        filled,
        adopts,
        list(_key(after)) != key,
        is_checked or is_met,
    )


def _key(instance_type: InstanceType) -> tuple[str, ...]:
    return instance_type.key if isinstance(instance_type, NodeType) else ()


@dataclass(slots=True)
class RewriteCounts:
    """Numbers of rows that a rewrite touched, by attribute."""

    removed: Counter[str] = field(default_factory=Counter)
    restored: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    """Rows whose hidden values do not fit."""
    reasons: dict[str, str] = field(default_factory=dict)
    """The first of these rows, and the reason why its value does not fit."""
    superseded: set[str] = field(default_factory=set)
    """Attributes for which a row has both a value and a different hidden value."""


def run(tx: Transaction, rewrite: Rewrite, number: int, findings: Findings) -> RewriteCounts:
    """Rewrite every row of a type; rows that do not fit are noted and left unchanged."""
    table = table_of(rewrite.declared)
    run_ = _Run(tx, rewrite, table, findings)
    for chunk in instances.chunks(tx.reader, table, instances.numbers(tx.reader, table, number)):
        run_.take(chunk)
    if not findings:  # If rows do not fit, they may still have the names that others need.
        run_.rename()
    return run_.counts


_Past = Mapping[str, Sequence[tuple[HiddenProperty, Mapping[int, str]]]]
"""For each restored attribute, its hidden properties and the past attributes of rows."""


class _Run:
    """One pass over the rows of a type."""

    def __init__(self, tx: Transaction, rewrite: Rewrite, table: Table, findings: Findings) -> None:
        self._tx: Final = tx
        self._rewrite: Final = rewrite
        self._table: Final[Table] = table
        self._findings: Final = findings
        self._rules: Final = RowRules(rewrite.declared)
        self._prop_ids: Final = {
            property_.name: property_.prop_id for property_ in rewrite.declared.properties
        }
        self.counts: Final = RewriteCounts()
        self._names: Final[dict[int, str]] = {}
        """The rows that get a new name."""
        self._finals: Final[dict[str, int]] = {}
        """The row of each final name; empty if no names change."""

    def take(self, chunk: list[Instance]) -> None:
        past = self._past(chunk)
        for row in chunk:
            if (self._rewrite.declared.kip_name, row.name) in ACTORS:
                continue
            try:
                self._row(row, past)
            except MycelError as error:
                self._findings.add(self._tx, self._rewrite.declared, error, row.number)

    def _past(self, chunk: list[Instance]) -> _Past:
        numbers = [row.number for row in chunk]
        reader, table = self._tx.reader, self._table
        return {
            name: [
                (
                    hidden_property,
                    instances.attributes_at(
                        reader, table, numbers, hidden_property.seq, besides=DROPPED
                    ),
                )
                for hidden_property in hidden
            ]
            for name, hidden in self._rewrite.restored.items()
        }

    def _row(self, row: Instance, past: _Past) -> None:
        before = row.attributes
        after = self._changed(before)
        self._restore(row, after, past)
        for key, value in self._rewrite.filled.items():
            if after.get(key) is None:
                after[key] = value
        name = row.name if isinstance(self._rewrite.declared, NodeType) else None
        columns = _key(self._rewrite.declared)
        if self._rewrite.rekeys and all(after.get(column) is not None for column in columns):
            name = None  # The key determines the name, not the other way round.
        after = self._rules.shape(after, name=name, creating=self._rewrite.adopts)
        missing = self._rules.missing(after)
        if missing:
            names = ", ".join(f"{self._rewrite.declared.name}.{name}" for name in missing)
            raise ConstraintViolation(
                f"{names} {'is' if len(missing) == 1 else 'are'} required",
                data={"property": missing[0], "value": None, "constraint": "required"},
            )
        changes = {
            key: after[key] for key in after if key not in before or after[key] != before[key]
        }
        removals = [key for key in before if key not in after]
        if changes or removals:
            outer = self._tx.reader.outer_id(row.number)
            self._tx.update(outer, attributes=changes, drop_attributes=removals)
        if self._rewrite.rekeys:
            self._note_name(row, after)

    def _restore(self, row: Instance, after: JsonObject, past: _Past) -> None:
        """Restore the hidden values of a row that fit.

        Returns an error if a required value does not.
        """
        for key, versions in past.items():
            values = [
                (hidden.declared.prop_id, value)
                for hidden, texts in versions
                if row.number in texts
                and (value := parse_object(texts[row.number]).get(hidden.attribute)) is not None
            ]
            is_there = after.get(key) is not None
            own = self._prop_ids[key] if is_there or not values else values[0][0]
            if any(prop_id != own for prop_id, _ in values):
                self.counts.superseded.add(key)
            if is_there or not values:
                continue
            value = values[0][1]
            try:
                new_value = self._rules.value(key, value)
            except MycelError as error:
                if key in self._rules.missing(self._rewrite.filled | after):
                    raise
                self.counts.left[key] += 1
                if key not in self.counts.reasons:
                    label = shown_element(self._tx, row.number)
                    self.counts.reasons[key] = f"{label}: {error.message}"
                continue
            after[key] = new_value
            self.counts.restored[key] += 1

    def _changed(self, before: JsonObject) -> JsonObject:
        rewrite = self._rewrite
        after: JsonObject = {}
        for key, value in before.items():
            if key in rewrite.dropped:
                self.counts.removed[key] += value is not None
                continue
            new = rewrite.renamed.get(key, key)
            if new != key and new in before and new not in rewrite.renamed:
                raise ConstraintViolation(
                    f"it has an attribute {new!r} already", data={"property": new}
                )
            after[new] = value
        return after

    def rename(self) -> None:
        """Name rows by their keys; a row whose new name is taken gets an interim name first."""
        outer = self._tx.reader.outer_id
        type_name = self._rewrite.declared.kip_name
        waiting = {
            number: name
            for number, name in self._names.items()
            if self._tx.get_concept(type_name, name) is not None
        }
        free = {number: name for number, name in self._names.items() if number not in waiting}
        aside = {number: f"{_ASIDE}{number}" for number in waiting}
        for names in (free, aside, waiting):
            self._tx.move_concepts((outer(number), None, name) for number, name in names.items())

    def _note_name(self, row: Instance, after: JsonObject) -> None:
        """Note the final name of a row."""
        name = check_name(self._rules.name(after) or row.name)
        holder = self._finals.setdefault(name, row.number)
        if holder != row.number:
            key = ", ".join(_key(self._rewrite.declared))
            labels = (shown_element(self._tx, number) for number in (holder, row.number))
            raise ConstraintViolation(
                f"@key violation on {self._rewrite.declared.name}.({key}): value {name!r}"
                f" held by {' and '.join(labels)}",
                data={"property": _key(self._rewrite.declared)[0], "value": name}
                | {"constraint": f"@key({key})"},
            )
        if name != row.name:
            self._names[row.number] = name
