"""Applying a schema: definitions, rows, indexes and checks, as one transaction.

The changes follow from two catalogs, the present and the desired one, whose types and properties
are matched by their ids. The steps of the plan only tell which types and properties are restored,
and which rows are checked. Each stage makes the graph agree with the desired catalog in one
respect:

    1. types that are no longer declared are dropped, with their instances
    2. definitions get the new declarations; a renamed type gets a new definition
    3. instances of renamed types move to it
    4. instances of restored types come back
    5. rows are rewritten for their declarations; violations are noted
    6. indexes are defined for the constraints
    7. rules about several rows are checked: uniqueness, ends, cardinality

If a violation is noted, everything is rolled back and reported. Guards check nothing meanwhile,
because rows in between satisfy neither schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from mycel.engine.protection_guard import ACTORS, FOUNDATION
from mycel.engine.schema_guard import APPLYING
from mycel.errors import ConstraintViolation
from mycel.migration import data_violations, restore, row_rewrite, schema_in_force
from mycel.migration.consent import Consent, has_rows, refuse_removals
from mycel.migration.data_violations import Findings
from mycel.migration.definition_writer import (
    DefinitionWriter,
    existing,
    number_of,
    place_of,
    table_of,
)
from mycel.migration.lock import schema_apply_lock
from mycel.migration.restore import RestoredType
from mycel.migration.row_rewrite import DROPPED, RewriteCounts
from mycel.schema.catalog import Catalog
from mycel.schema.model import (
    EdgeType,
    InstanceType,
    Interface,
    NodeType,
    SchemaType,
    index_slots,
)
from mycel.schema.planner import Plan, plan
from mycel.schema.schema_match import may_hold
from mycel.schema.steps import (
    RemoveProperty,
    RemoveType,
    RestoreProperty,
    RestoreType,
    SchemaStep,
    UnsupportedChange,
)
from mycel.schema.stored_declaration import (
    PG,
    HiddenProperty,
    declaration,
    dropped_entry,
    hidden_properties,
    remembered,
)
from mycel.store.database import Store
from mycel.store.query.bulk import instances
from mycel.store.query.bulk.instances import Instance
from mycel.store.write.transaction import Transaction

MESSAGE: Final = "schema apply"
"""The beginning of the message of a transaction that applies a schema; its hash follows."""

_RENAMED: Final = "renamed by a schema"


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """The outcome of applying a schema."""

    supported: bool
    applied: bool
    manifest_version: int
    """The position of the journal after the schema was applied; without a change, the present
    position.
    """
    changes: tuple[SchemaStep, ...]
    """The steps of the plan, and the violations of the data."""
    warnings: tuple[str, ...] = ()
    """Sentences about likely mistakes, and about values that stay hidden."""

    @property
    def steps(self) -> tuple[dict[str, Any], ...]:
        """The steps as JSON."""
        return tuple(change.to_dict() for change in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """The result for JSON, with warnings only if there are any."""
        payload: dict[str, Any] = {
            "supported": self.supported,
            "applied": self.applied,
            "manifest_version": self.manifest_version,
            "steps": list(self.steps),
        }
        return payload | {"warnings": list(self.warnings)} if self.warnings else payload


class _RolledBack(Exception):  # noqa: N818 - It is how the transaction ends, and no error.
    """Raised to leave the transaction, so that nothing is written."""


class PlannedChange(NamedTuple):
    """A plan, and the schema in force for which it was made."""

    definitions: int
    """The count of changes of definitions at that time. The schema changes only with this count."""
    accepted: Catalog
    plan: Plan


def plan_for(
    store: Store, desired: Catalog, consent: Consent, earlier: PlannedChange | None = None
) -> PlannedChange:
    """The plan from the schema in force; `earlier` itself if the schema has not changed since."""
    with store.reading() as reader:
        definitions = reader.head().definitions
        if earlier is not None and earlier.definitions == definitions:
            return earlier
        accepted = schema_in_force.read(reader, dropped=True)
        schema_plan = plan(
            accepted,
            desired,
            allow_data_loss=consent.data_loss,
            is_empty=lambda declared: not has_rows(reader, accepted, declared),
        )
    return PlannedChange(definitions, accepted, schema_plan)


def apply(
    store: Store, desired: Catalog, *, actor: str, consent: Consent, message: str = ""
) -> ApplyResult:
    """Put a schema in force, if the plan is supported and the data satisfies it."""
    planned, version = _attempt(
        store, desired, None, actor=actor, consent=consent, dry_run=False, message=message
    )
    is_applied = version is not None
    if version is None:
        with store.reading() as reader:
            version = reader.head().seq
    changes, warnings = planned.changes, planned.warnings
    return ApplyResult(planned.supported, is_applied, version, changes, warnings)


def rehearse(
    store: Store, desired: Catalog, planned: PlannedChange, *, actor: str, consent: Consent
) -> Plan:
    """The plan with the violations of the data: it is carried out, checked and rolled back."""
    return _attempt(store, desired, planned, actor=actor, consent=consent, dry_run=True)[0]


def _attempt(
    store: Store,
    desired: Catalog,
    earlier: PlannedChange | None,
    *,
    actor: str,
    consent: Consent,
    dry_run: bool,
    message: str = "",
) -> tuple[Plan, int | None]:
    """The plan, and the entry from which the schema is in force if the plan was carried out."""
    with schema_apply_lock(store.location):
        _, accepted, planned = plan_for(store, desired, consent, earlier)
        if not planned.supported or not planned.changes:
            return planned, None
        if not (dry_run or consent.removals):
            with store.reading() as reader:
                refuse_removals(reader, planned)
        findings = Findings()
        text = f"{MESSAGE} {planned.catalog.ir_hash} {message}".rstrip()
        seq = None
        try:
            with store.transaction(actor=actor, message=text) as tx:
                run = _Apply(tx, accepted, planned, findings, consent)
                run.run()
                planned = run.counted()
                if findings or dry_run:
                    raise _RolledBack
                seq = tx.position + 1  # The row that closes the transaction counts too.
        except _RolledBack:
            planned = replace(planned, changes=(*planned.changes, *findings.steps()))
        return planned, seq


def apply_within(tx: Transaction, accepted: Catalog, desired: Catalog) -> tuple[SchemaStep, ...]:
    """Put a schema in force inside of a transaction that goes on afterwards under the new rules.

    Types and properties of the two catalogs are matched by their ids. Returns the steps that are
    not possible, with the rows that prevent them; if there are any, the transaction has to be
    rolled back.
    """
    planned = plan(accepted, schema_in_force.with_renames(accepted, desired))
    impossible = tuple(
        change for change in planned.changes if isinstance(change, UnsupportedChange)
    )
    if impossible or not planned.changes:
        return impossible
    findings = Findings()
    _Apply(tx, accepted, planned, findings, Consent(removals=True)).run()
    del tx.memo[APPLYING]
    return tuple(findings.steps())


class _Apply:
    """One schema on its way into the graph."""

    def __init__(
        self,
        tx: Transaction,
        accepted: Catalog,
        planned: Plan,
        findings: Findings,
        consent: Consent,
    ) -> None:
        tx.memo[APPLYING] = True
        self._tx: Final = tx
        self._planned: Final = planned
        self._catalog: Final = planned.catalog
        self._findings: Final = findings
        self._remembers: Final = not consent.data_loss
        self._accepted: Final = {type_name.identity: type_name for type_name in accepted.types}
        self._definitions: Final = DefinitionWriter(tx, planned.catalog)
        self._looked_at: Final = {
            schema_type.identity
            for change in planned.changes
            if change.needs_data and (schema_type := change.changed_type) is not None
        }
        """Identities of types whose rows are checked."""
        self._returning: Final = {
            (change.owner.identity, change.declared.name): change.declared.type
            for change in planned.changes
            if isinstance(change, RestoreProperty)
        }
        """The restored properties, with their present types."""
        self._adopted: Final[set[str]] = set()
        """Identities of types that had flexible definitions."""
        self._remembered: Final = {
            change.declared.identity: change.remembered
            for change in planned.changes
            if isinstance(change, RestoreType)
        }
        """Restored types, by identity, as they were declared."""
        self._restored: Final[list[RestoredType]] = []
        self._past: Final[dict[str, dict[str, list[HiddenProperty]]]] = {}
        """For each type, its restored properties by name, as its definition remembers them, newest
        first.
        """
        self._memories: Final[dict[str, list[Mapping[str, Any]]]] = {}
        """For each type, the hidden properties that its definition still remembers."""
        self._retired: Final[Counter[str]] = Counter()
        """The number of instances removed, by type."""
        self._revived: Mapping[str, int] = {}
        """The number of instances that came back, by type."""
        self._counts: Final[dict[str, RewriteCounts]] = {}
        """For each type, the counts of its rewritten rows."""

    def run(self) -> None:
        for schema_type in self._catalog.types:
            if place_of(schema_type) in FOUNDATION:
                message = "it is part of the foundation, which a schema cannot declare"
                self._findings.refuse(schema_type, message)
        if self._findings:
            return
        self._drop_types()
        for schema_type in self._catalog.types:
            if not self._is_as_it_was(schema_type):
                self._define(schema_type)
        self._move_instances()
        self._revived = restore.restore(self._tx, self._restored)
        new = {*self._adopted, *self._remembered}
        changed: list[InstanceType] = [
            type_name
            for type_name in self._catalog.types
            if not isinstance(type_name, Interface)
            and (type_name.identity in new or self._before(type_name) != type_name)
        ]
        for changed_type in changed:
            before = self._before(changed_type)
            rewrite = row_rewrite.rewrite_of(
                None if isinstance(before, Interface) else before,
                changed_type,
                restored=self._past.get(changed_type.identity, {}),
                is_checked=changed_type.identity in self._looked_at,
                adopts=changed_type.identity in self._adopted,
            )
            if rewrite.is_needed:
                number = number_of(self._tx, changed_type)
                counts = row_rewrite.run(self._tx, rewrite, number, self._findings)
                self._counts[changed_type.identity] = counts
                self._remember_again(changed_type, counts)
        for changed_type in changed:
            self._index(changed_type, list(index_slots(changed_type).items()))
        self._check(changed)

    def _before(self, schema_type: SchemaType) -> SchemaType | None:
        """The declaration of a type in the schema in force, or the last one of a hidden type."""
        identity = schema_type.identity
        return self._accepted.get(identity) or self._remembered.get(identity)

    def _is_as_it_was(self, schema_type: SchemaType) -> bool:
        """True if the definition of a type needs no change, the names of its ends included."""
        if self._accepted.get(schema_type.identity) != schema_type:
            return False
        if not isinstance(schema_type, EdgeType):
            return True
        ends = (self._catalog.nodes[name] for name in (schema_type.from_type, schema_type.to_type))
        return all(self._accepted.get(end.identity) == end for end in ends)

    # 1. Types that are no longer declared.

    def _drop_types(self) -> None:
        identities = {type_name.identity for type_name in self._catalog.types}
        places = {place_of(type_name) for type_name in self._catalog.types}
        declared_types = [
            declared for identity, declared in self._accepted.items() if identity not in identities
        ]
        for declared in sorted(
            declared_types, key=lambda declared: not isinstance(declared, EdgeType)
        ):
            if not isinstance(declared, Interface):
                self._retire_instances(declared)
                self._index(declared, ())
            if place_of(declared) not in places:
                self._definitions.retire(declared, reason=DROPPED, remember=self._remembers)

    def _retire_instances(self, instance_type: InstanceType) -> None:
        table = table_of(instance_type)
        for row in instances.rows(self._tx.reader, table, number_of(self._tx, instance_type)):
            # The element may have been removed together with another one.
            is_there = self._tx.is_live(row.number)
            if is_there and (instance_type.kip_name, row.name) not in ACTORS:
                self._retired[instance_type.identity] += 1
                self._tx.retire(self._tx.reader.outer_id(row.number), reason=DROPPED)

    # 2. Definitions.

    def _define(self, schema_type: SchemaType) -> None:
        before = self._before(schema_type)
        left = restore.left_of(self._tx, schema_type)
        if left is not None and schema_type.identity in self._remembered:
            self._define_again(left)
            return
        concept = existing(self._tx, before or schema_type)
        payload = {} if concept is None else concept.attributes
        dropped = self._dropped(schema_type, payload, self._tx.first_seq - 1)
        if before is not None and before.kip_name != schema_type.kip_name:
            self._definitions.rename(before, schema_type)
        elif before is None and concept is not None and PG not in payload:
            self._adopted.add(schema_type.identity)
        self._definitions.write(schema_type, dropped)

    def _define_again(self, restored: RestoredType) -> None:
        """Define a dropped type again, and note the instances that were removed with it."""
        declared, left, drop = restored
        self._restored.append(restored)
        payload = left.attributes
        memory = remembered(payload)
        if memory is not None:  # Instances written since then were not checked against a schema.
            self._adopted.add(declared.identity)
            payload |= {PG: memory.payload}
        self._definitions.write(declared, self._dropped(declared, payload, drop.seq), left)

    def _dropped(
        self, schema_type: SchemaType, attributes: Mapping[str, Any], seq: int
    ) -> list[Mapping[str, Any]]:
        """The entries of hidden properties for a definition; those of restored ones go to `_past`.

        Properties that this change hides had values up to the entry `seq`.
        """
        before = self._before(schema_type)
        entries: list[Mapping[str, Any]] = []
        for hidden in (
            hidden_properties(schema_type, attributes[PG]) if declaration(attributes) else ()
        ):
            was = hidden.declared
            type_ = self._returning.get((schema_type.identity, was.name))
            if type_ is not None and may_hold(type_, was.type):
                past = self._past.setdefault(schema_type.identity, {})
                past.setdefault(was.name, []).insert(0, hidden)
            else:
                entries.append(hidden.entry)
        if before is not None and self._remembers:
            prop_ids = {property_.prop_id for property_ in schema_type.properties}
            entries += [
                dropped_entry(property_, seq)
                for property_ in before.properties
                if property_.prop_id not in prop_ids
            ]
        self._memories[schema_type.identity] = entries
        return entries

    def _remember_again(self, instance_type: InstanceType, counts: RewriteCounts) -> None:
        """Let a definition remember restored properties of which some values stay hidden."""
        past = self._past.get(instance_type.identity, {})
        names = {**counts.left, **dict.fromkeys(sorted(counts.superseded))}
        left = [hidden.entry for name in names for hidden in reversed(past[name])]
        if left:
            self._definitions.write(instance_type, [*self._memories[instance_type.identity], *left])

    # 3. Renamed types.

    def _move_instances(self) -> None:
        renamed: dict[str, str] = {}
        for schema_type in self._catalog.types:
            before = self._before(schema_type)
            if before is None or before.kip_name == schema_type.kip_name:
                continue
            is_done = True
            if not isinstance(schema_type, Interface) and not isinstance(before, Interface):
                self._adopt(schema_type)
                is_done = self._move(before, schema_type)
                self._index(before, ())
            if not isinstance(schema_type, EdgeType):
                renamed[before.kip_name] = schema_type.kip_name
            if is_done:
                self._definitions.retire(before, reason=_RENAMED, remember=False)
        self._definitions.follow(renamed)

    def _adopt(self, instance_type: InstanceType) -> None:
        """Check the rows that KIP has already written under the new name."""
        rewrite = row_rewrite.rewrite_of(
            None, instance_type, restored={}, is_checked=True, adopts=True
        )
        row_rewrite.run(self._tx, rewrite, number_of(self._tx, instance_type), self._findings)
        if isinstance(instance_type, EdgeType):
            data_violations.check_ends(self._tx, instance_type, self._catalog, self._findings)

    def _move(self, before: InstanceType, instance_type: InstanceType) -> bool:
        """Move instances to the new name. Returns False if some of them cannot be moved."""
        tx = self._tx
        table, old = table_of(instance_type), number_of(self._tx, before)
        is_done, new, outer = True, instance_type.kip_name, tx.reader.outer_id
        concepts: list[tuple[str, str, None]] = []
        for row in instances.rows(tx.reader, table, old):
            if (before.kip_name, row.name) in ACTORS:
                continue
            if self._is_taken(instance_type, row):
                constraint_violation = ConstraintViolation(
                    f"there is already one like it among {new}"
                )
                self._findings.add(tx, instance_type, constraint_violation, row.number)
                is_done = False
            elif table == "proposition":
                tx.move(outer(row.number), predicate=new)
            else:
                concepts.append((outer(row.number), new, None))
        tx.move_concepts(concepts)
        return is_done

    def _is_taken(self, instance_type: InstanceType, instance: Instance) -> bool:
        """True if another element has the identity to which an instance is to move."""
        if isinstance(instance_type, NodeType):
            return self._tx.get_concept(instance_type.kip_name, instance.name) is not None
        subject, object_ = map(self._tx.reader.outer_id, (instance.subject, instance.object))
        return self._tx.get_edge(subject, instance_type.kip_name, object_) is not None

    def _index(
        self, instance_type: InstanceType, indexes: Sequence[tuple[tuple[str, ...], bool]]
    ) -> None:
        owner, link = number_of(self._tx, instance_type), isinstance(instance_type, EdgeType)
        self._tx.define_indexes(owner, link=link, indexes=indexes)

    # 7. Rules about several rows.

    def _check(self, changed: list[InstanceType]) -> None:
        tx, findings = self._tx, self._findings
        for interface in self._catalog.interfaces.values():
            if interface.identity in self._adopted:
                data_violations.check_interface(tx, interface, number_of(tx, interface), findings)
        data_violations.check_unique(
            tx, [(declared, number_of(tx, declared)) for declared in changed], findings
        )
        for declared in changed:
            if not isinstance(declared, EdgeType):
                continue
            before = self._accepted.get(declared.identity)
            if before is None:
                data_violations.check_ends(tx, declared, self._catalog, findings)
            if not isinstance(before, EdgeType) or before.cardinality != declared.cardinality:
                data_violations.check_cardinality(tx, declared, findings)

    def counted(self) -> Plan:
        """The plan, with the numbers of rows that its steps touched."""
        changes = tuple(map(self._counted, self._planned.changes))
        left = (
            f"property {change.owner.name}.{change.declared.name}: {change.left} of"
            f" {change.left + (change.rows or 0)} hidden values do not fit and stay hidden."
            f" {self._counts[change.owner.identity].reasons[change.declared.name]}"
            for change in changes
            if isinstance(change, RestoreProperty) and change.left
        )
        return replace(self._planned, changes=changes, warnings=(*self._planned.warnings, *left))

    def _counted(self, step: SchemaStep) -> SchemaStep:
        match step:
            case RemoveType() if not isinstance(step.before, Interface):
                return replace(step, rows=self._retired[step.before.identity])
            case RestoreType() if not isinstance(step.declared, Interface):
                return replace(step, rows=self._revived.get(step.declared.identity, 0))
            case RemoveProperty() if not isinstance(step.owner, Interface):
                counts = self._counts.get(step.owner.identity, RewriteCounts())
                return replace(step, rows=counts.removed[step.before.name])
            case RestoreProperty() if not isinstance(step.owner, Interface):
                counts = self._counts.get(step.owner.identity, RewriteCounts())
                name = step.declared.name
                return replace(step, rows=counts.restored[name], left=counts.left[name])
            case _:
                return step
