"""DELETE: keys of elements, links, and concepts with their links (KIP §4.2).

A target that WHERE names outright and that does not exist is an error; a pattern that matches
nothing deletes nothing.
"""

from __future__ import annotations

from mycel.engine import declaration_guard
from mycel.engine.outcome import Outcome, all_or_nothing
from mycel.engine.protection_guard import check_removal
from mycel.engine.values import Values
from mycel.engine.where_targets import named_targets, to_change
from mycel.errors import ConstraintViolation
from mycel.kip import ast
from mycel.model.elements import Concept
from mycel.model.ids import is_concept
from mycel.model.names import CONCEPT_TYPE
from mycel.model.values import check_metadata_keys
from mycel.store.query import lookup
from mycel.store.write.transaction import Retired, Transaction
from mycel.syntax.diagnostics import located


def delete_keys(tx: Transaction, node: ast.DeleteKeys, values: Values) -> Outcome:
    """DELETE ATTRIBUTES and DELETE METADATA: counts what had one of the keys.

    Raises:
        ConstraintViolation: a metadata key belongs to the engine.
        NotFound: the target is named outright and does not exist.
    """
    keys = tuple(values.text(key, "key to delete") for key in node.keys)
    metadata = node.part == "METADATA"
    if metadata:
        check_metadata_keys(keys)
    concepts = propositions = 0
    with all_or_nothing(tx):
        for element in to_change(tx, named_targets(tx, node, values)):
            present = element.metadata if metadata else element.attributes
            if present.keys().isdisjoint(keys):
                continue
            if metadata:
                tx.update_found(element, drop_metadata=keys)
            else:
                tx.update_found(element, drop_attributes=keys)
            concepts += is_concept(element.number)
            propositions += not is_concept(element.number)
    return Outcome({"updated_concepts": concepts, "updated_propositions": propositions})


def delete_propositions(tx: Transaction, node: ast.DeletePropositions, values: Values) -> Outcome:
    """DELETE PROPOSITIONS: counts the links about deleted links too, which go with them.

    Raises:
        ConstraintViolation: the target is bound to a concept.
        NotFound: the target is named outright and does not exist.
    """
    with all_or_nothing(tx):
        numbers = named_targets(tx, node, values)
        for number in numbers:
            if is_concept(number):
                raise _of_the_other_kind(tx, node, number)
        deleted = 0
        for number in numbers:
            link = tx.reader.proposition(number)
            if link is not None:  # Otherwise it went with another one.
                deleted += tx.retire_found(link).propositions
    return Outcome({"deleted_propositions": deleted})


def delete_concept(tx: Transaction, node: ast.DeleteConcept, values: Values) -> Outcome:
    """DELETE CONCEPT … DETACH: the concepts, their links, and the links about those.

    Raises:
        ConstraintViolation: the target is bound to a link, or a definition is still in use.
        ImmutableTarget: the target is part of the foundation.
        NotFound: the target is named outright and does not exist.
    """
    with all_or_nothing(tx):
        numbers = named_targets(tx, node, values)
        for number in numbers:
            if not is_concept(number):
                raise _of_the_other_kind(tx, node, number)
        concepts = propositions = 0
        for number in _definitions_last(tx, numbers):
            concept = tx.reader.concept(number)
            if concept is not None:
                check_removal(concept)
                declaration_guard.check_removal(concept)
                retired = _retired(tx, concept)
                concepts += retired.concepts
                propositions += retired.propositions
    return Outcome({"deleted_concepts": concepts, "deleted_propositions": propositions})


def _retired(tx: Transaction, concept: Concept) -> Retired:
    """Remove a concept; of a definition in use, the hint has the command that shows its users.

    Raises:
        ConstraintViolation: it is a definition that is still in use.
    """
    try:
        return tx.retire_found(concept)
    except ConstraintViolation as error:
        if "users" in error.data:
            statement, pattern = "DELETE PROPOSITIONS ?x", f'?x (?s, "{concept.name}", ?o)'
            if concept.type == CONCEPT_TYPE:
                statement, pattern = "DELETE CONCEPT ?x DETACH", f'?x {{type: "{concept.name}"}}'
            error.hint = (
                f"FIND(?x) WHERE {{ {pattern} }} shows them all. If they may go, delete them first:"
                f" {statement} WHERE {{ {pattern} }}."
            )
        raise


def _definitions_last(tx: Transaction, numbers: list[int]) -> list[int]:
    """The numbers with definitions last: their instances are deleted before them."""
    definitions = lookup.definitions(tx.reader)
    return sorted(numbers, key=lambda number: number in definitions)


def _of_the_other_kind(
    tx: Transaction, node: ast.DeletePropositions | ast.DeleteConcept, number: int
) -> ConstraintViolation:
    shown = tx.reader.outer_id(number)
    if isinstance(node, ast.DeletePropositions):
        message = f"?{node.target.name} is bound to the concept {shown}, not to a proposition."
        hint = "Use DELETE CONCEPT ?node DETACH for concepts, or bind the link: ?link (?s, …, ?o)."
    else:
        message = f"?{node.target.name} is bound to the proposition {shown}, not to a concept."
        hint = "Use DELETE PROPOSITIONS ?link for links, or bind the concept: ?node {type: …}."
    return located(ConstraintViolation(message, hint=hint), node.target.span)
