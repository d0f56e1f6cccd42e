"""`db.schema`: the methods for the schema of a graph."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from mycel.errors import InvalidValueType
from mycel.migration import apply, hidden_data, inference, schema_in_force
from mycel.migration.apply import ApplyResult
from mycel.migration.consent import Consent
from mycel.migration.hidden_data import Hidden
from mycel.model import times
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, kind_of
from mycel.model.state import State
from mycel.schema import load
from mycel.schema.catalog import Catalog
from mycel.schema.model import SchemaType
from mycel.schema.planner import Plan, plan
from mycel.schema.steps import DropProperty, DropType, HideProperty, HideType, SchemaStep
from mycel.store.database import Store
from mycel.store.query import commits, history
from mycel.store.query.commits import LogFilter
from mycel.store.query.history import Moment


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One schema that was applied."""

    seq: int
    time_us: int
    actor: str
    ir_hash: str
    steps: tuple[dict[str, Any], ...]
    """Its changes."""

    @property
    def time(self) -> datetime:
        return times.to_datetime(self.time_us)

    def to_dict(self) -> dict[str, Any]:
        """The version for JSON."""
        return {
            "seq": self.seq,
            "time": times.to_text(self.time_us),
            "actor": self.actor,
            "ir_hash": self.ir_hash,
            "steps": list(self.steps),
        }


class SchemaApi:
    """The schema of one graph: the present and past schemas, plans, and changes."""

    def __init__(
        self,
        store: Store,
        actor: Callable[[], str],
        message: Callable[[], str] = str,
        check: Callable[[Catalog, Catalog], None] = lambda _before, _desired: None,
    ) -> None:
        self._store: Final = store
        self._check: Final = check
        self._actor: Final = actor
        self._message: Final = message
        self._known: tuple[int, Catalog] | None = None

    @property
    def catalog(self) -> Catalog:
        """The schema in force; empty in a new graph."""
        with self._store.reading() as reader:
            definitions = reader.head().definitions
            if self._known is None or self._known[0] != definitions:
                self._known = definitions, schema_in_force.read(reader)
            return self._known[1]

    def at(self, moment: Moment) -> Catalog:
        """The schema that was in force after entry `seq`, or at a time."""
        with self._store.reading() as reader:
            # A scrub keeps all definitions, so no check is needed.
            state = State(history.entry_at(reader, moment))
            return schema_in_force.read(reader.at(state))

    def plan(
        self, desired: str | Catalog, *, check_data: bool = True, allow_data_loss: bool = False
    ) -> Plan:
        """The steps that applying a schema would take, without applying it.

        Data is checked if it decides whether a change is supported, and removed or restored rows
        are counted. Neither happens in a read-only graph, or without `check_data`. With
        `allow_data_loss`, removed types and properties are dropped instead of hidden.

        Raises:
            SchemaError: the text is no schema.
        """
        catalog, consent = self._desired_catalog(desired), Consent(data_loss=allow_data_loss)
        planned = apply.plan_for(self._store, catalog, consent)
        is_all = not planned.plan.supported or not planned.plan.changes
        if is_all or not check_data or self._store.location.readonly:
            return planned.plan
        actor = self._actor()
        return apply.rehearse(self._store, catalog, planned, actor=actor, consent=consent)

    def apply(
        self,
        desired: str | Catalog,
        *,
        allow_removals: bool = False,
        allow_data_loss: bool = False,
        actor: str | None = None,
        message: str = "",
    ) -> ApplyResult:
        """Put a schema in force: definitions, data and indexes, as one transaction.

        Types that are no longer declared are removed only with `allow_removals`. They are hidden,
        and return when they are declared again; with `allow_data_loss` they are dropped for good.
        If the plan is not supported, or the data does not satisfy the schema, nothing changes, and
        the result says why.

        Raises:
            SchemaError: the text is no schema, or it leaves out types without `allow_removals`.
            ConstraintViolation: the embedder in use makes vectors of another size than a property
                with `@embed` has.
            SchemaApplyInProgress: another schema is being applied.
        """
        return apply.apply(
            self._store,
            self._desired_catalog(desired),
            actor=self._actor() if actor is None else actor,
            consent=Consent(allow_removals, allow_data_loss),
            message=message or self._message(),
        )

    def _desired_catalog(self, desired: str | Catalog) -> Catalog:
        """The schema that a caller wants, checked against the embedder of the graph."""
        catalog = _catalog(desired)
        self._check(self.catalog, catalog)
        return catalog

    def hidden(self) -> list[Hidden]:
        """Types and properties that are hidden and can be restored, in the order of hiding."""
        with self._store.reading() as reader:
            return hidden_data.list_hidden(reader)

    def restore(self, *names: str, actor: str | None = None, message: str = "") -> ApplyResult:
        """Declare hidden types (`Team`) and properties (`Person.city`) again, as they were.

        The effect is that of applying the present schema with these declarations added. The hidden
        data is there again.

        Raises:
            NotFound: nothing of this name is hidden.
            SchemaError: one of them needs a missing declaration, such as the type at an end of an
                edge.
        """
        with self._store.reading() as reader:
            desired = hidden_data.with_restored(reader, names)
        who = self._actor() if actor is None else actor
        text = message or self._message()
        return apply.apply(self._store, desired, actor=who, consent=Consent(), message=text)

    def discard(self, *names: str, actor: str | None = None, message: str = "") -> list[Hidden]:
        """Discard hidden types and properties: they can no longer be restored.

        If they are declared again, they are new and empty. Earlier states still show their data;
        `scrub` removes it from there.

        Raises:
            NotFound: nothing of this name is hidden.
            SchemaApplyInProgress: a schema is being applied.
        """
        who = self._actor() if actor is None else actor
        text = message or self._message()
        return hidden_data.discard(self._store, names, actor=who, message=text)

    def history(self) -> list[SchemaVersion]:
        """Every schema that was in force, oldest first: applied, or brought by a merge."""
        with self._store.reading() as reader:
            before, versions = Catalog(), []
            changes = {
                entry.seq: entry
                for meta_type in (CONCEPT_TYPE, PROPOSITION_TYPE)
                for entry in commits.transactions(reader, where=LogFilter(type=meta_type))
            }
            for seq, entry in sorted(changes.items()):
                after = schema_in_force.read(reader.at(State(seq)), dropped=True)
                steps = _steps_between(before, after)
                if steps:
                    versions.append(
                        SchemaVersion(seq, entry.time_us, entry.actor, after.ir_hash, steps)
                    )
                    before = after
            return versions

    def infer(self, types: Collection[str] | None = None) -> str:
        """A schema for types and predicates that grew without one, as text.

        It declares what all their instances have in common, so that it can be applied as it is.
        Comments name the parts that cannot be declared.
        """
        with self._store.reading() as reader:
            return inference.infer(reader, types)


def _steps_between(before: Catalog, after: Catalog) -> tuple[dict[str, Any], ...]:
    """The steps from one schema to the next.

    A removed part that is not remembered was dropped.
    """
    remembered = {part.place() for part in after.dropped}
    changes = plan(
        before, schema_in_force.with_renames(before, after), is_empty=lambda _: True
    ).changes

    def as_it_was(step: SchemaStep) -> SchemaStep:
        match step:
            case HideType(hidden_type) if _place(hidden_type) not in remembered:
                return DropType(hidden_type)
            case HideProperty(owner, prop) if _place(owner, prop.name) not in remembered:
                return DropProperty(owner, prop)
            case _:
                return step

    return tuple(as_it_was(change).to_dict() for change in changes)


def _place(
    schema_type: SchemaType, property_name: str | None = None
) -> tuple[str, str, str | None]:
    return schema_type.kind, schema_type.name, property_name


def _catalog(desired: str | Catalog) -> Catalog:
    if isinstance(desired, str):
        return load(desired)
    if isinstance(desired, Catalog):
        return desired
    raise InvalidValueType(
        f"A schema must be a text or a catalog, not {kind_of(desired)}.",
        hint="Read the file first: Path(name).read_text().",
    )
