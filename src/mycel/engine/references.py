"""Elements and definitions that a command refers to and that must exist.

A reference to a missing element is an error that names the closest matches, because the caller is
often a model that will try again. The reader of a transaction also shows the earlier writes of that
transaction.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from mycel.engine.values import Values
from mycel.errors import MycelError, NotFound, close_names, did_you_mean
from mycel.kip import ast
from mycel.model.elements import Concept, Proposition
from mycel.model.ids import parse_concept_id, parse_link_id
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, is_identifier, shorten
from mycel.schema.definitions import predicate_definition
from mycel.store.query import lookup
from mycel.store.query.reader import Reader
from mycel.store.query.vocabulary import undefined
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import located

NAMES_COMPARED_MAX: Final = 250
"""The maximum number of names of a type that are compared, and of names with the same beginning."""
TYPES_SHOWN_MAX: Final = 3
SHOWN_CHARACTERS_MAX: Final = 255
"""The maximum length of a name in a proposed block."""
_PREFIX: Final = 3


# Definitions that must exist.


def check_type(tx: Transaction, name: str, *, in_upsert: bool = False) -> None:
    """Raise TypeMismatch for a type that is not defined.

    In an UPSERT, where a block can define it, the hint has the block.
    """
    _check_defined(tx.defined_types(), "type", name, CONCEPT_TYPE, in_upsert=in_upsert)


def check_predicate(tx: Transaction, name: str, *, in_upsert: bool = False) -> None:
    """Raise TypeMismatch for a predicate that is not defined, as `check_type` does."""
    predicates = tx.defined_predicates()
    _check_defined(predicates, "predicate", name, PROPOSITION_TYPE, in_upsert=in_upsert)


def _check_defined(
    defined_names: Collection[str], noun: str, name: str, meta: str, *, in_upsert: bool
) -> None:
    if name not in defined_names:
        kind = "CONCEPT" if meta == CONCEPT_TYPE else "PROPOSITION"
        error = undefined(noun, name, list(defined_names), f"DESCRIBE {kind} TYPES")
        if in_upsert and is_identifier(name) and len(name) <= SHOWN_CHARACTERS_MAX:
            block = f'CONCEPT {{ {{type: "{meta}", name: "{name}"}} }}'
            error.hint += f" A block {block} before this one defines it."
        raise error


def is_symmetric(tx: Transaction, predicate: str) -> bool:
    """True if the definition of a predicate says that its links hold in both directions."""
    definition = tx.get_concept(PROPOSITION_TYPE, predicate)
    if definition is None:
        return False
    return predicate_definition(predicate, definition.attributes).is_symmetric


# Elements that must exist.


def concept_with_id(reader: Reader, text: str) -> Concept:
    """The live concept with this id; raises NotFound if there is none."""
    concept = reader.concept(parse_concept_id(text))
    if concept is None:
        raise _no_such_id("concept", text)
    return concept


def link_with_id(reader: Reader, text: str) -> Proposition:
    """The live link with this id, predicate included; raises NotFound if there is none."""
    link = reader.link(parse_link_id(text))
    if link is None or link.id != text:
        raise _no_such_id("proposition", text)
    return link


def _no_such_id(noun: str, text: str) -> NotFound:
    return NotFound(
        f"There is no {noun} with the id {shorten(text)!r}.",
        hint="It may have been removed: find the element again with SEARCH or FIND"
        f"{', or name it by type and name' if noun == 'concept' else ''}.",
    )


def no_such_concept(reader: Reader, type_name: str, name: str, otherwise: str = "") -> NotFound:
    """The error for a concept that is referred to by type and name and does not exist.

    `otherwise` is a second hint, for example to create the concept.
    """
    types = types_of(reader, name)
    if (renamed := _renamed(reader, type_name, name)) is not None:
        close = f"It is named {shorten(renamed)!r} now."
    elif types:
        close = f"Type of a concept with that name: {' or '.join(types)}."
    else:
        close = did_you_mean(name, close_to(reader, reader.type_number(type_name), name))
    return NotFound(
        f"There is no {type_name} named {shorten(name)!r}.",
        hint=f"{close} Find it with SEARCH CONCEPT or FIND{otherwise}.".lstrip(),
        data={"type": type_name, "name": name},
    )


def _renamed(reader: Reader, type_name: str, name: str) -> str | None:
    """The present name of the live concept that had this type and name last."""
    former = lookup.former_names(reader, (name,)).get(name)
    if former is None or former.type_number != reader.type_number(type_name):
        return None
    concept = reader.concept(former.number)
    return None if concept is None or concept.name == name else concept.name


def matched(reader: Reader, matcher: ast.ConceptMatcher, values: Values) -> Concept | None:
    """The concept that a matcher names; None if the matcher has no id, and no type and name.

    Raises NotFound if the concept does not exist.
    """
    if matcher.id is not None:
        return concept_with_id(reader, values.text(matcher.id, "id of a concept"))
    if matcher.type is None or matcher.name is None:
        return None
    type_name = values.text(matcher.type, "type of a concept")
    name = values.text(matcher.name, "name of a concept")
    concept = reader.concept_named(reader.type_number(type_name), name)
    if concept is None:
        raise no_such_concept(reader, type_name, name)
    return concept


def missing_target(
    reader: Reader, where: ast.Block, variable: str, values: Values
) -> MycelError | None:
    """The error for a variable if WHERE names its element by key or id, and no such element exists.

    Returns None if no clause names the element, or if the element exists and another clause
    excludes it.
    """
    for clause in where:
        try:
            match clause:
                case ast.ConceptClause(ast.Variable(name), matcher) if name == variable:
                    matched(reader, matcher, values)
                case ast.LinkClause(ast.Variable(name), ast.LinkById(id_)) if name == variable:
                    link_with_id(reader, values.text(id_, "id of a proposition"))
        except NotFound as error:
            return located(error, clause.span)
    return None


# Similar names.


def types_of(reader: Reader, name: str) -> list[str]:
    """Up to three types of concepts with this name, and "…" if there are more."""
    numbers = lookup.types_named(reader, name, TYPES_SHOWN_MAX + 1)
    more = ["…"] if len(numbers) > TYPES_SHOWN_MAX else []
    return [reader.type_name(number) for number in numbers[:TYPES_SHOWN_MAX]] + more


def close_to(reader: Reader, type_number: int | None, name: str) -> list[str]:
    """Names of concepts, of one type or any, that are similar to a name.

    Some names of the type are compared. If the type has more, names with the same beginning are
    compared as well.
    """
    names = lookup.names_of_type(reader, type_number, NAMES_COMPARED_MAX)
    if len(names) == NAMES_COMPARED_MAX:
        start = name[:_PREFIX]
        for begin in {start, start.lower(), start.upper(), start.capitalize()}:
            names += lookup.names_from(reader, begin, type_number, NAMES_COMPARED_MAX)
    return close_names(name, names)
