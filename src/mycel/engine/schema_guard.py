"""The guard of the declarations of a schema: rules on every write, through every door.

    undeclared names, kinds of values, enums, ranges, patterns,      at the change
    keys, the types at both ends of a link, more edges than `@card`
    required properties, `@unique`, fewer edges than `@card`,        at the commit
    the number of edges after a bulk put

`schema.row_rules` handles one element alone: it fills in defaults and keys, and gives values their
stored form. This module checks the rules that involve other elements. Rules that may take several
steps to satisfy are checked at the commit, for the elements that the transaction touched.

A transaction that applies a schema sets `APPLYING`, and the guard checks nothing: until the end,
rows satisfy neither the old schema nor the new one. No schema applies to `$self` and `$system`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import orjson

from mycel.engine.declaration_guard import check_definition
from mycel.engine.definition_cache import Definitions
from mycel.engine.definition_guard import kind_at, wrong_ends
from mycel.engine.protection_guard import ACTORS
from mycel.engine.violation_list import LISTED_MAX, UNLIMITED, together
from mycel.errors import ConstraintViolation, MycelError
from mycel.model import ids
from mycel.model.elements import Concept, Proposition
from mycel.model.names import META_TYPES
from mycel.model.values import JsonObject
from mycel.schema.definitions import PredicateDefinition, predicate_definition
from mycel.schema.model import ENDS, Cardinality, EdgeType, Interface, SchemaType
from mycel.schema.property_values import format_value
from mycel.schema.row_rules import RowRules
from mycel.schema.stored_declaration import declaration
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.index.properties import UniqueConflict
from mycel.store.query import lookup
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

APPLYING: Final = "mycel.engine.schema_guard.APPLYING"
"""A key in the memo of a transaction that applies a schema, which checks the rows itself."""

LOADING: Final = "mycel.engine.schema_guard.LOADING"
"""A key in the memo of a transaction that loads rows; edges are counted only at its end."""

KINDS_MAX: Final = 1 << 17
"""The maximum number of subjects whose types are remembered, and of objects."""
AHEAD_MAX: Final = 1024
"""The maximum number of concepts that one query reads ahead."""
CONFLICTS_MAX: Final = LISTED_MAX + 1
ALL_CONFLICTS: Final = 1 << 30


_Identity = tuple[str, str | tuple[str, str]]
"""The type and name of a concept, or the predicate and ends of a link."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """A type or predicate that a schema declares, with its rules."""

    kip_name: str
    declared: SchemaType
    rules: RowRules | None
    """The rules for attributes; None for an interface."""
    predicate: PredicateDefinition | None = None
    """The types at the ends of an edge; None for a node."""
    subject_type: str = ""
    object_type: str = ""
    card: Cardinality | None = None
    """The cardinality of an edge; None if it has none."""

    @property
    def name(self) -> str:
        return self.declared.name


def _declared(name: str, attributes: Mapping[str, Any]) -> _Declared | None:
    schema_type = declaration(attributes)
    if schema_type is None:
        return None
    if isinstance(schema_type, Interface):
        return _Declared(name, schema_type, None)
    rules = RowRules(schema_type)
    if not isinstance(schema_type, EdgeType):
        return _Declared(name, schema_type, rules)
    predicate = predicate_definition(name, attributes)
    (subject_type, *_), (object_type, *_) = predicate.subject_types, predicate.object_types
    card = None if schema_type.cardinality == Cardinality() else schema_type.cardinality
    return _Declared(name, schema_type, rules, predicate, subject_type, object_type, card)


class _TypesOfEnds:
    """The types of the concepts at one end of links, by outer id.

    A load often goes through concepts in the order of their numbers. So a look-up that begins where
    the one before it ended reads twice as many concepts.
    """

    __slots__ = ("_known", "_next", "_span")

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._next = 0
        self._span = 1

    def type(self, tx: Transaction, end: str) -> str:
        """The type of a concept; empty for a link."""
        cached_type = self._known.get(end)
        return cached_type if cached_type is not None else self._look(tx, end)

    def forget(self, number: int) -> None:
        """Forget a concept that gets another type."""
        self._known.pop(ids.concept_id(number), None)

    def _look(self, tx: Transaction, end: str) -> str:
        number = ids.parse_id(end)
        if not ids.is_concept(number):
            return ""
        self._span = min(2 * self._span, AHEAD_MAX) if number == self._next else 1
        self._next = number + self._span * ids.ID_STEP
        if len(self._known) >= KINDS_MAX:
            self._known.clear()
        for concept_number, type_number in lookup.types_between(tx.reader, number, self._next):
            self._known[ids.concept_id(concept_number)] = tx.reader.type_name(type_number)
        return self._known.get(end, "")


class _Scope:
    """The checks that one transaction leaves to its commit."""

    def __init__(self) -> None:
        self.subjects: Final = _TypesOfEnds()
        self.objects: Final = _TypesOfEnds()
        self.incomplete: Final[dict[_Identity, None]] = {}
        self.moved: Final[dict[int, None]] = {}
        """Concepts that got another type."""
        self.gaining: Final[dict[str, dict[str, None]]] = {}
        """For each predicate with a cardinality, the sources that got edges."""
        self.losing: Final[dict[str, dict[str, None]]] = {}
        """For each predicate with a cardinality, the sources that lost edges."""
        self.counted_at = -1
        """The position of the journal at the last change that counted edges."""


class SchemaGuard:
    """Checks every change against the schema."""

    in_bulk = True

    def __init__(self) -> None:
        self._types: Final = Definitions(CONCEPT_TYPE_NUMBER, _declared)
        self._predicates: Final = Definitions(PROPOSITION_TYPE_NUMBER, _declared)

    # Methods that the store calls.

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """True for a type or predicate that a schema declares, and for definitions."""
        if not link and type_or_predicate in META_TYPES:
            return True
        definitions = self._predicates if link else self._types
        return definitions.refresh(tx, type_or_predicate) is not None

    def check(self, tx: Transaction, change: Change) -> JsonObject | None:
        """Check a change against the schema; returns the attributes in the form to store."""
        memo = tx.memo
        if APPLYING in memo:
            return None
        scope: _Scope | None = memo.get(self)
        if scope is None:
            scope = memo[self] = _Scope()
        name_or_ends = change.name_or_ends
        if isinstance(name_or_ends, tuple):
            return self._check_link(tx, scope, change, *name_or_ends)
        if change.type_or_predicate in META_TYPES:
            return check_definition(tx, change, name_or_ends)
        return self._check_concept(tx, scope, change, name_or_ends)

    def check_commit(self, tx: Transaction) -> None:
        """Check the rules that hold at the commit; all violations are raised as one error."""
        scope: _Scope | None = tx.memo.get(self)
        if scope is None or APPLYING in tx.memo:
            return
        most = None if UNLIMITED in tx.memo else LISTED_MAX
        errors = list(islice(self._violations(tx, scope), most and most + 1))
        if errors:
            raise together(errors[:most], has_more=most is not None and len(errors) > most)

    def _violations(self, tx: Transaction, scope: _Scope) -> Iterator[MycelError]:
        yield from self._missing_properties(tx, scope)
        yield from self._wrong_ends_of_moved(tx, scope)
        yield from self._repeated_values(tx, scope)
        yield from self._wrong_counts(tx, scope)

    # Checks of concepts.

    def _check_concept(
        self, tx: Transaction, scope: _Scope, change: Change, name: str
    ) -> JsonObject | None:
        kind, before, type_name, _, attributes, _, number = change
        if kind == "retire" or (type_name == "Person" and (type_name, name) in ACTORS):
            return None
        moves = isinstance(before, Concept) and before.type != type_name
        if moves and number is not None:
            scope.subjects.forget(number)
            scope.objects.forget(number)
            scope.moved[number] = None
        typed = self._types.read(tx, type_name)
        if typed is None:  # The concept was moved to a type that no schema declares.
            return None
        rules = typed.rules
        if rules is None:
            raise _no_instances(typed)
        creating = kind == "create" or moves
        shaped = rules.shape(attributes, name=name, creating=creating)
        if rules.missing(shaped):
            # The commit checks it again: the element may be completed or removed until then.
            scope.incomplete[type_name, name] = None
        return None if shaped is attributes else shaped

    # Checks of links.

    def _check_link(
        self, tx: Transaction, scope: _Scope, change: Change, subject: str, object_: str
    ) -> JsonObject | None:
        kind, before, predicate, _, attributes, _, _ = change
        was = before if isinstance(before, Proposition) else None
        leaves = was is not None and (was.predicate, was.subject) != (predicate, subject)
        if was is not None and (leaves or kind == "retire"):
            self._note_loss(tx, scope, was)
        typed = self._predicates.read(tx, predicate)
        if typed is None or typed.rules is None or kind == "retire":
            return None
        if was is None or leaves or was.object != object_:
            self._check_ends(tx, scope, typed, subject, object_)
        if typed.card is not None and (was is None or leaves):
            self._note_gain(tx, scope, typed, subject, alone=leaves)
        creating = was is None or was.predicate != predicate
        try:
            shaped = typed.rules.shape(attributes, name=None, creating=creating)
        except MycelError as error:
            raise _with_ends(tx, error, subject, object_) from None
        if typed.rules.missing(shaped):
            scope.incomplete[predicate, (subject, object_)] = None
        return None if shaped is attributes else shaped

    def _check_ends(
        self, tx: Transaction, scope: _Scope, typed: _Declared, subject: str, object_: str
    ) -> None:
        if (
            scope.subjects.type(tx, subject) != typed.subject_type
            or scope.objects.type(tx, object_) != typed.object_type
        ):
            raise _wrong_ends(tx, typed, subject, object_)

    # The number of edges that leave a source.

    def _note_gain(
        self, tx: Transaction, scope: _Scope, typed: _Declared, source: str, *, alone: bool
    ) -> None:
        """Note a source that gets an edge. Count its edges now, unless the commit will."""
        scope.gaining.setdefault(typed.kip_name, {})[source] = None
        # A bulk put passes several rows to the guard at one journal position, before they are
        # written. Their edges are counted at the commit.
        at = tx.position
        together, scope.counted_at = scope.counted_at == at and not alone, at
        is_load = LOADING in tx.memo or UNLIMITED in tx.memo
        if together or is_load or typed.card is None or typed.card.maximum is None:
            return
        count = _count(tx, typed, ids.parse_id(source)) + 1
        if count > typed.card.maximum:
            raise card_violation(tx, typed.name, typed.card, ids.parse_id(source), count)

    def _note_loss(self, tx: Transaction, scope: _Scope, link: Proposition) -> None:
        """Note a source that loses an edge."""
        typed = self._predicates.read(tx, link.predicate)
        if typed is not None and typed.card is not None and typed.card.minimum:
            scope.losing.setdefault(typed.kip_name, {})[link.subject] = None

    def _wrong_counts(self, tx: Transaction, scope: _Scope) -> Iterator[MycelError]:
        for predicate in scope.gaining | scope.losing:
            typed = self._predicates.read(tx, predicate)
            if typed is None or typed.card is None:
                continue
            for source in scope.gaining.get(predicate, {}) | scope.losing.get(predicate, {}):
                number = ids.parse_id(source)
                count = _count(tx, typed, number)
                if not _fits(typed.card, count) and tx.is_live(number):
                    yield card_violation(tx, typed.name, typed.card, number, count)

    # Checks at the commit.

    def _missing_properties(self, tx: Transaction, scope: _Scope) -> Iterator[MycelError]:
        """Yield a violation for each live element that lacks a required property."""
        for type_or_predicate, name_or_ends in scope.incomplete:
            element: Concept | Proposition | None
            if isinstance(name_or_ends, str):
                typed = self._types.read(tx, type_or_predicate)
                element = tx.get_concept(type_or_predicate, name_or_ends)
            else:
                typed = self._predicates.read(tx, type_or_predicate)
                subject, object_ = name_or_ends
                element = tx.get_edge(subject, type_or_predicate, object_)
            if typed is None or typed.rules is None or element is None:
                continue
            missing = typed.rules.missing(element.attributes)
            if missing:
                yield _lacks(tx, typed, element, missing)

    def _wrong_ends_of_moved(self, tx: Transaction, scope: _Scope) -> Iterator[MycelError]:
        """Yield a violation for each link with an end that moved to an excluded type."""
        for number in scope.moved:
            for link in tx.reader.touching_links(number):
                typed = self._predicates.read(tx, link.predicate)
                if typed is None or typed.predicate is None:
                    continue
                kinds = kind_at(tx, link.subject), kind_at(tx, link.object)
                if kinds != (typed.subject_type, typed.object_type):
                    yield _wrong_ends(tx, typed, link.subject, link.object)

    def _repeated_values(self, tx: Transaction, scope: _Scope) -> Iterator[MycelError]:
        """Yield a violation for each unique tuple that several elements hold."""
        reader = tx.reader
        for conflict in tx.conflicts(ALL_CONFLICTS if UNLIMITED in tx.memo else CONFLICTS_MAX):
            slot = conflict.slot
            if slot.is_link:
                typed = self._predicates.read(tx, reader.predicate_name(slot.owner))
            else:
                typed = self._types.read(tx, reader.type_name(slot.owner))
            holders = [element for element in conflict.elements if not is_actor(tx, element)]
            if typed is not None and len(holders) > 1:
                yield unique_violation(tx, typed.name, conflict, holders)


def admits(tx: Transaction, type_name: str, attribute: str, value: object) -> bool:
    """True if concepts of a type may have this attribute; without a schema they may have any."""
    typed = Definitions(CONCEPT_TYPE_NUMBER, _declared).read(tx, type_name)
    if typed is None or typed.rules is None:
        return True
    try:
        typed.rules.shape({attribute: value}, name=None, creating=False)
    except MycelError:
        return False
    return True


# Errors for violations.


def _no_instances(typed: _Declared) -> ConstraintViolation:
    return ConstraintViolation(
        f"{typed.name} is an interface and has no instances.",
        hint=f"Use a type that implements {typed.name}, or declare one: `node Name implements"
        f" {typed.name} {{ … }}`.",
        data={"type": typed.name},
    )


def _wrong_ends(tx: Transaction, typed: _Declared, subject: str, object_: str) -> MycelError:
    if typed.predicate is None:
        return _no_instances(typed)
    error = wrong_ends(tx, typed.predicate, subject, object_)
    leads = f"edge {typed.name}: {typed.subject_type} -> {typed.object_type}"
    error.data |= {"type": typed.name, "constraint": leads} | _ends(tx, subject, object_)
    return error


def _with_ends(tx: Transaction, error: MycelError, subject: str, object_: str) -> MycelError:
    """The error for a violation by a link, with the ends of the link in its data."""
    ends = _ends(tx, subject, object_)
    error.data |= ends
    leads = f"from {format_value(ends['subject'])} to {format_value(ends['object'])}"
    error.hint = f"{error.hint} It is in the link {leads}."
    return error


def _ends(tx: Transaction, subject: str, object_: str) -> dict[str, str]:
    return {
        "subject": _name_of(tx, ids.parse_id(subject)),
        "object": _name_of(tx, ids.parse_id(object_)),
    }


def _lacks(
    tx: Transaction, typed: _Declared, element: Concept | Proposition, missing: tuple[str, ...]
) -> ConstraintViolation:
    places = [f"{typed.name}.{name}" for name in missing]
    names = places[0] if len(places) == 1 else f"{', '.join(places[:-1])} and {places[-1]}"
    whose = f"{typed.name} {shown_element(tx, element.number)}"
    return ConstraintViolation(
        f"{names} {'is' if len(places) == 1 else 'are'} required: {whose}"
        f" {'has none' if len(places) == 1 else 'has some of them missing'}.",
        hint=f"Give {' and '.join(map(repr, missing))} a value in the same command or transaction.",
        data={"type": typed.name, "property": missing[0], "missing": list(missing)}
        | {"value": None, "constraint": "required"}
        | {"id": element.id, "name": _name_of(tx, element.number)},
    )


def unique_violation(
    tx: Transaction, type_name: str, conflict: UniqueConflict, holders: list[int]
) -> ConstraintViolation:
    """The error for values that several elements of a type hold."""
    columns = conflict.slot.columns
    values = [
        _name_of(tx, value) if conflict.slot.is_link and column in ENDS else value
        for column, value in zip(columns, conflict.values, strict=True)
    ]
    value = ", ".join(map(_plain, values))
    one, other, *more = (shown_element(tx, holder) for holder in holders)
    rest = f", and {len(more)} more" if more else ""
    return ConstraintViolation(
        f"@unique violation on {type_name}.({', '.join(columns)}): value {format_value(value)}"
        " held by"
        f" {one} and {other}{rest}.",
        hint="Give one of them another value, or write to the existing element.",
        data={
            "type": type_name,
            "property": columns[0],
            "properties": list(columns),
            "value": value,
            "constraint": f"@unique({', '.join(columns)})",
            "elements": [tx.reader.outer_id(holder) for holder in holders],
        },
    )


def card_violation(
    tx: Transaction, edge_name: str, card: Cardinality, source: int, count: int
) -> ConstraintViolation:
    """The error for a source that has too many edges, or too few."""
    too_few = count < card.minimum
    bound = f"min {card.minimum}" if too_few else f"max {card.maximum}"
    return ConstraintViolation(
        f"@card violation on edge {edge_name}: source {shown_element(tx, source)} has {count}"
        f" {'edge' if count == 1 else 'edges'} ({bound}).",
        hint="Add the missing edges in the same transaction, or remove the source as well."
        if too_few
        else "Remove one of its edges first, or change it instead of adding another.",
        data={"type": edge_name, "id": ids.concept_id(source), "name": _name_of(tx, source)}
        | {"count": count, "min": card.minimum, "max": card.maximum}
        | {"constraint": f"@card({card})"},
    )


def shown_element(tx: Transaction, number: int) -> str:
    """An element for people: a concept by its name, a link by the names of its ends."""
    link = None if ids.is_concept(number) else tx.reader.link(number)
    if link is None:
        return format_value(_name_of(tx, number))
    return format_value(" -> ".join(_name_of(tx, end) for end in link.ends))


def _name_of(tx: Transaction, number: int) -> str:
    reader = tx.reader
    concept = reader.concept(number) if ids.is_concept(number) else None
    return reader.outer_id(number) if concept is None else concept.name


def _plain(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def is_actor(tx: Transaction, number: int) -> bool:
    """True for `$self` and `$system`, to which no schema applies."""
    concept = tx.reader.concept(number) if ids.is_concept(number) else None
    return concept is not None and (concept.type, concept.name) in ACTORS


# Counts of edges.


def _count(tx: Transaction, typed: _Declared, source: int) -> int:
    return lookup.count_out(tx.reader, source, tx.reader.predicate_number(typed.kip_name))


def _fits(card: Cardinality, count: int) -> bool:
    return card.minimum <= count and (card.maximum is None or count <= card.maximum)
