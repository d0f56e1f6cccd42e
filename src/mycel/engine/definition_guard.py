"""The guard of flexible definitions: rules on every write, through every door.

    a value of another JSON type than `instance_schema` says     KIP_2003, at the change
    an end outside `subject_types` or `object_types`             KIP_2002, at the change
    a required attribute that is missing, or a value outside     a warning, at the commit;
    an `enum`                                                    KIP_2002 if the rules are strict
    a definition with parts that have no effect                  a warning, at the commit

Missing attributes are checked at the commit, so that an element may be built in several steps.
Rules are strict for the whole graph, or for a type whose definition says so. A list of types admits
concepts by the name of their type, and links by the name of their predicate; `*` admits all.

An element is checked against a definition when it changes; values that do not change stay valid.
Types that a schema declares are left to `schema_guard`, whose rules are stricter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, Literal

import orjson

from mycel.engine.definition_cache import Definition, Definitions
from mycel.errors import ConstraintViolation
from mycel.model import ids
from mycel.model.elements import Concept, Proposition
from mycel.model.names import META_TYPES, PROPOSITION_TYPE
from mycel.model.values import JsonObject
from mycel.schema.definition_lint import slips, undefined_ends
from mycel.schema.definitions import (
    ANY,
    ConceptDefinition,
    PredicateDefinition,
    check_values,
    concept_definition,
    missing,
    predicate_definition,
    see,
    unexpected,
)
from mycel.schema.model import quoted
from mycel.schema.stored_declaration import PG
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.query import lookup, summary
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

LINKS_COMPARED: Final = 10_000
"""The maximum number of stored links that are checked when a definition of a predicate becomes
narrower."""
KINDS_SHOWN: Final = 3

WARNINGS_MAX: Final = 20
"""The maximum number of incomplete elements of a transaction that are named; the others are
counted."""


class _Scope:
    """The elements that one transaction left incomplete, and the definitions that it wrote."""

    def __init__(self) -> None:
        self.incomplete: Final[dict[tuple[str, str], None]] = {}
        self.definitions: Final[dict[tuple[str, str], Concept | None]] = {}
        """Definitions before the transaction, by meta-type and name."""


class DefinitionGuard:
    """Checks every change against the definitions in the graph."""

    in_bulk = True  # A check needs the type of a concept, and ends that exist.

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self._types = Definitions(CONCEPT_TYPE_NUMBER, _flexible(concept_definition))
        self._predicates = Definitions(PROPOSITION_TYPE_NUMBER, _flexible(predicate_definition))

    # Methods that the store calls.

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """True if the definition of this type or predicate has any rule.

        The store asks again after each change of a definition, so it is read again here.
        """
        definition: ConceptDefinition | PredicateDefinition | None
        definition = (self._predicates if link else self._types).refresh(tx, type_or_predicate)
        if not link and type_or_predicate in META_TYPES:
            return True
        return definition is not None and not definition.takes_anything

    def check(self, tx: Transaction, change: Change) -> None:
        """Refuse values of the wrong JSON type, and links between the wrong types."""
        if change.kind == "retire":
            return
        scope: _Scope = tx.memo.get(self) or tx.memo.setdefault(self, _Scope())
        if isinstance(change.name_or_ends, str):
            if change.type_or_predicate in META_TYPES:
                before = change.before if isinstance(change.before, Concept) else None
                identity = change.type_or_predicate, change.name_or_ends
                scope.definitions.setdefault(identity, before)
            definition = self._types.read(tx, change.type_or_predicate)
            if definition is not None:
                self._check_concept(scope, definition, change, change.name_or_ends)
            return
        predicate = self._predicates.read(tx, change.type_or_predicate)
        if predicate is not None and not _keeps_its_kinds(tx, change, change.name_or_ends):
            _check_ends(tx, predicate, *change.name_or_ends)

    def check_commit(self, tx: Transaction) -> None:
        """Warn about elements that are incomplete, or refuse them if the rules are strict."""
        scope: _Scope | None = tx.memo.get(self)
        if scope is None:
            return
        tx.warnings.extend(islice(_slips(tx, scope), WARNINGS_MAX))
        count = 0
        for definition, violation in self._violations(tx, scope):
            if self._strict or definition.is_strict:
                raise violation
            count += 1
            if count <= WARNINGS_MAX:
                tx.warnings.append(violation.message)
        if count > WARNINGS_MAX:
            tx.warnings.append(
                f"{count - WARNINGS_MAX} more lack attributes that their types require."
            )

    # Checks of concepts.

    def _check_concept(
        self, scope: _Scope, definition: ConceptDefinition, change: Change, name: str
    ) -> None:
        before = change.before
        stays = isinstance(before, Concept) and before.type == definition.name
        check_values(
            definition, name, change.attributes, before.attributes if before and stays else None
        )
        if missing(definition, change.attributes) or unexpected(definition, change.attributes):
            # The commit checks it again: the element may be completed or removed until then.
            scope.incomplete[definition.name, name] = None

    def _violations(
        self, tx: Transaction, scope: _Scope
    ) -> Iterator[tuple[ConceptDefinition, ConstraintViolation]]:
        for type_name, name in scope.incomplete:
            definition = self._types.refresh(tx, type_name)
            element = tx.get_concept(type_name, name) if definition is not None else None
            if definition is None or element is None:
                continue
            for violation in _violations(definition, element):
                yield definition, violation


def _flexible(
    parse: Callable[[str, Mapping[str, Any]], Definition],
) -> Callable[[str, Mapping[str, Any]], Definition | None]:
    """Wrap a parser of definitions so that it returns None for definitions of a schema."""

    def flexible(name: str, attributes: Mapping[str, Any]) -> Definition | None:
        return None if PG in attributes else parse(name, attributes)

    return flexible


def _slips(tx: Transaction, scope: _Scope) -> Iterator[str]:
    """Warnings about mistakes in the definitions that a transaction has written."""
    defined: set[str] = set()
    for (meta_type, name), before in scope.definitions.items():
        definition = tx.get_concept(meta_type, name)
        attributes = {} if definition is None else definition.attributes
        if PG in attributes:
            continue  # A schema wrote the definition, and was checked as a whole.
        if attributes:
            yield from slips(meta_type, name, attributes)
        if meta_type == PROPOSITION_TYPE and attributes:
            defined = defined or _defined(tx)
            yield from undefined_ends(name, attributes, defined)
            if before is not None:
                yield from _narrowed(tx, before, predicate_definition(name, attributes))


def _narrowed(tx: Transaction, before: Concept, now: PredicateDefinition) -> Iterator[str]:
    """Warnings about stored links with ends that their predicate no longer admits."""
    was = predicate_definition(before.name, before.attributes)
    ends: tuple[Literal["subject", "object"], ...] = ("subject", "object")
    for end in ends:
        old, new = set(was.types_at(end)), set(now.types_at(end))
        if ANY in new or old <= new:
            continue
        number = tx.reader.predicate_number(now.name)
        kinds = summary.kinds_at(tx.reader, number, end, LINKS_COMPARED)
        outside = [(kind, count) for kind, count in kinds if kind not in new]
        if outside:
            kind_list = " or ".join(kind for kind, _ in outside[:KINDS_SHOWN])
            count = sum(count for _, count in outside)
            noun, stays = ("link has", "it stays") if count == 1 else ("links have", "they stay")
            is_all = sum(count for _, count in kinds) < LINKS_COMPARED
            yield (
                f"{'' if is_all else 'At least '}{count} stored {noun} {kind_list} as {end}, which"
                f" the {end}_types of {now.name} no longer name; {stays}, and new ones are refused."
            )


def _defined(tx: Transaction) -> set[str]:
    """The names of all types and predicates; predicates because an end may be a link."""
    return {*tx.defined_types(), *tx.defined_predicates()}


def _violations(definition: ConceptDefinition, element: Concept) -> Iterator[ConstraintViolation]:
    """Attributes that a concept lacks, or that are outside their `enum`."""
    label = f"{definition.name} {quoted(element.name)}"
    data: JsonObject = {"type": definition.name, "name": element.name}
    hint = f"Complete or correct it; {see(definition)}"
    attributes = element.attributes
    if absent := missing(definition, attributes):
        noun = "attribute" if len(absent) == 1 else "attributes"
        message = f"{label} lacks the required {noun} {', '.join(map(quoted, absent))}."
        yield ConstraintViolation(message, hint=hint, data=data | {"missing": list(absent)})
    for name in unexpected(definition, attributes):
        expected = next(rule.enum for rule in definition.rules if rule.name == name)
        alternatives = ", ".join(orjson.dumps(alternative).decode() for alternative in expected)
        yield ConstraintViolation(
            f"The attribute {quoted(name)} of {label} is none of {alternatives}.",
            hint=hint,
            data=data | {"attribute": name, "expected": list(expected)},
        )


# Checks of links.


def _keeps_its_kinds(tx: Transaction, change: Change, ends: tuple[str, str]) -> bool:
    """True if the ends of a changed link are of the same kinds as before.

    Such a link stays valid, even if its predicate has been redefined since it was written.
    """
    before = change.before
    if not isinstance(before, Proposition) or before.predicate != change.type_or_predicate:
        return False
    pairs = zip((before.subject, before.object), ends, strict=True)
    return all(old == new or kind_at(tx, old) == kind_at(tx, new) for old, new in pairs)


def _check_ends(
    tx: Transaction, definition: PredicateDefinition, subject: str, object_: str
) -> None:
    if not _admits(tx, definition.subject_types, subject) or not _admits(
        tx, definition.object_types, object_
    ):
        raise wrong_ends(tx, definition, subject, object_)


def wrong_ends(
    tx: Transaction, definition: PredicateDefinition, subject: str, object_: str
) -> ConstraintViolation:
    """The error for a link whose subject or object has a type that its predicate excludes."""
    subject_types, object_types = definition.subject_types, definition.object_types
    wrong = [
        f"its {place} must be {' or '.join(allowed)}, not {kind_at(tx, end)}"
        for place, end, allowed in (
            ("subject", subject, subject_types),
            ("object", object_, object_types),
        )
        if not _admits(tx, allowed, end)
    ]
    fits_reversed = _admits(tx, subject_types, object_) and _admits(tx, object_types, subject)
    turn = "Swap subject and object if the link has the wrong direction; " if fits_reversed else ""
    return ConstraintViolation(
        f"{quoted(definition.name)} cannot lead from {shown_end(tx, subject)} to"
        f" {shown_end(tx, object_)}: {'; '.join(wrong)}.",
        hint=turn + see(definition),
        data={
            "predicate": definition.name,
            "subject_type": kind_at(tx, subject),
            "object_type": kind_at(tx, object_),
            "subject_types": list(subject_types),
            "object_types": list(object_types),
        },
    )


def _admits(tx: Transaction, allowed: tuple[str, ...], end: str) -> bool:
    return ANY in allowed or kind_at(tx, end) in allowed


def kind_at(tx: Transaction, end: str) -> str:
    """The type of a concept, or the predicate of a link."""
    number = ids.parse_id(end)
    if not ids.is_concept(number):
        return end.split(":", 2)[2]
    kind = lookup.type_of(tx.reader, number)
    return "" if kind is None else tx.reader.type_name(kind)


def shown_end(tx: Transaction, end: str) -> str:
    """An end of a link as a message names it."""
    element = tx.get(end)
    if isinstance(element, Concept):
        return f"{element.type} {quoted(element.name)}"
    return f"the link {element.id}"
