"""What a KML command refers to: definitions, and elements that must exist already.

Everything is asked of the transaction, so what it wrote before counts. A reference to nothing is
an error that says what to do: the reader is often a model that will try again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mycel.engine.values import Values
from mycel.errors import MycelError, NotFound, TypeMismatch, did_you_mean
from mycel.kip import ast
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.ids import parse_concept_id, parse_proposition_id
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, shorten
from mycel.schema.definitions import predicate_definition
from mycel.store.query import lookup
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import located

_NAMES_COMPARED_MAX: Final = 1000


# Definitions.


def type_number(tx: Transaction, name: str) -> int:
    """The number of a type that is defined right now.

    Raises:
        TypeMismatch: it is not.
    """
    return _defined(tx.defined_types(), "type", name, CONCEPT_TYPE)


def predicate_number(tx: Transaction, name: str) -> int:
    """The number of a predicate that is defined right now.

    Raises:
        TypeMismatch: it is not.
    """
    return _defined(tx.defined_predicates(), "predicate", name, PROPOSITION_TYPE)


def _defined(known: Mapping[str, int], what: str, name: str, meta: str) -> int:
    if name in known:
        return known[name]
    kind = "CONCEPT" if meta == CONCEPT_TYPE else "PROPOSITION"
    close = did_you_mean(name, list(known))
    shown = shorten(name)
    raise TypeMismatch(
        f"The {what} {shown!r} is not defined.",
        hint=f"{close} DESCRIBE {kind} TYPES lists what is defined; a block"
        f' CONCEPT {{ {{type: "{meta}", name: "{shown}"}} }} before this one defines it.'.strip(),
    )


def is_symmetric(tx: Transaction, predicate: str) -> bool:
    """Whether a predicate's definition says that its links hold in both directions."""
    definition = tx.get_concept(PROPOSITION_TYPE, predicate)
    if definition is None:
        return False
    return predicate_definition(predicate, definition.attributes).is_symmetric


# Elements that must exist.


def concept_with_id(tx: Transaction, text: str) -> Concept:
    """The live concept with this id.

    Raises:
        InvalidId: it is no id of a concept.
        NotFound: there is none.
    """
    found = tx.reader.concept(parse_concept_id(text))
    if found is None:
        raise _no_such_id("concept", text)
    return found


def link_with_id(tx: Transaction, text: str) -> Proposition:
    """The live link with this id; the predicate in the id has to be its own.

    Raises:
        InvalidId: it is no id of a link.
        NotFound: there is none.
    """
    found = tx.reader.proposition(parse_proposition_id(text))
    if found is None or found.id != text:
        raise _no_such_id("proposition", text)
    return found


def _no_such_id(what: str, text: str) -> NotFound:
    return NotFound(
        f"There is no {what} with the id {shorten(text)!r}.",
        hint="An id only matches what exists. It may have been removed: find the element again"
        f" with SEARCH or FIND{', or name it by type and name' if what == 'concept' else ''}.",
    )


def no_such_concept(tx: Transaction, type_name: str, name: str, otherwise: str = "") -> NotFound:
    """The error for a concept that is referred to by type and name and does not exist.

    `otherwise` says what could be done instead of naming another one.
    """
    reader = tx.reader
    number = type_number(tx, type_name)
    elsewhere = lookup.types_named(reader, name, 3)
    types = [reader.type_name(each) for each in elsewhere]
    close = did_you_mean(name, lookup.names_of_type(reader, number, _NAMES_COMPARED_MAX))
    if types:
        close = f"There is one of that name of type {' and '.join(types)}."
    return NotFound(
        f"There is no {type_name} named {shorten(name)!r}.",
        hint=f"{close} Find it with SEARCH CONCEPT or FIND{otherwise}.".lstrip(),
        data={"type": type_name, "name": name},
    )


# Targets that a WHERE names outright.


def missing_target(
    tx: Transaction, where: ast.Block, variable: str, values: Values
) -> MycelError | None:
    """Why a variable that WHERE grounds is bound to nothing: the element does not exist.

    A clause grounds a variable when it says its id, or its type and its name. None when no clause
    does, or when the element exists and something else in WHERE excludes it.
    """
    for clause in where:
        if isinstance(clause, ast.ConceptClause | ast.LinkClause) and clause.variable is not None:
            if clause.variable.name != variable:
                continue
            try:
                grounded(tx, clause, values)
            except NotFound as error:
                return located(error, clause.span)
    return None


def grounded(
    tx: Transaction, clause: ast.ConceptClause | ast.LinkClause, values: Values
) -> Element | None:
    """The element that a clause names outright, or None if it names none.

    Raises:
        NotFound: it names one that does not exist.
    """
    if isinstance(clause, ast.LinkClause):
        if isinstance(clause.pattern, ast.LinkById):
            return link_with_id(tx, values.text(clause.pattern.id, "id of a proposition"))
        return None
    return matched(tx, clause.matcher, values)


def matched(tx: Transaction, matcher: ast.ConceptMatcher, values: Values) -> Concept | None:
    """The concept that a matcher names by id, or by type and name; None if it says less."""
    if matcher.id is not None:
        return concept_with_id(tx, values.text(matcher.id, "id of a concept"))
    if matcher.type is None or matcher.name is None:
        return None
    type_name = values.text(matcher.type, "type of a concept")
    name = values.text(matcher.name, "name of a concept")
    found = tx.reader.concept_named(type_number(tx, type_name), name)
    if found is None:
        raise no_such_concept(tx, type_name, name)
    return found
