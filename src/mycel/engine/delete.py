"""DELETE: keys of elements, links, and concepts with their links (KIP §4.2).

If WHERE names a target by id, or by type and name, the target has to exist. A pattern without a
match deletes nothing, and is no error.
"""

from __future__ import annotations

from typing import TypeAlias

from mycel.engine import declaration_guard
from mycel.engine.outcome import Outcome, all_or_nothing
from mycel.engine.protection_guard import check_removal
from mycel.engine.values import Values
from mycel.engine.where_targets import named_targets, paced, to_change
from mycel.errors import ConstraintViolation
from mycel.kip import ast
from mycel.model.elements import Concept
from mycel.model.ids import is_concept
from mycel.model.names import CONCEPT_TYPE
from mycel.model.values import check_metadata_keys
from mycel.store.query import lookup
from mycel.store.write.transaction import Retired, Transaction

Deletion: TypeAlias = ast.DeleteKeys | ast.DeletePropositions | ast.DeleteConcept


def delete(tx: Transaction, node: Deletion, values: Values) -> Outcome:
    """Delete keys of elements, links, or concepts with their links."""
    with all_or_nothing(tx):
        match node:
            case ast.DeleteKeys():
                return _delete_keys(tx, node, values)
            case ast.DeletePropositions():
                return _delete_propositions(tx, node, values)
            case ast.DeleteConcept():
                return _delete_concept(tx, node, values)


def _delete_keys(tx: Transaction, node: ast.DeleteKeys, values: Values) -> Outcome:
    """Delete keys, and count the elements that had one of them."""
    keys = tuple(values.text(key, "key to delete") for key in node.keys)
    metadata = node.part == "METADATA"
    if metadata:
        check_metadata_keys(keys)
    concepts = propositions = 0
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


def _delete_propositions(tx: Transaction, node: ast.DeletePropositions, values: Values) -> Outcome:
    """Delete links and the links about them; returns how many were deleted."""
    deleted = 0
    for number in paced(_targets_of_kind(tx, node, values, concepts=False)):
        link = tx.reader.link(number)
        if link is not None:  # The link may have been deleted together with another link.
            deleted += tx.retire_found(link).propositions
    return Outcome({"deleted_propositions": deleted})


def _delete_concept(tx: Transaction, node: ast.DeleteConcept, values: Values) -> Outcome:
    """Delete concepts, their links, and the links about those."""
    definitions = lookup.definitions(tx.reader)
    numbers = _targets_of_kind(tx, node, values, concepts=True)
    concepts = propositions = 0
    # The instances of a definition are deleted before it, so that one command can delete both.
    for number in paced(sorted(numbers, key=lambda number: number in definitions)):
        concept = tx.reader.concept(number)
        if concept is not None:
            check_removal(concept)
            declaration_guard.check_removal(concept)
            retired = _retired(tx, concept)
            concepts += retired.concepts
            propositions += retired.propositions
    return Outcome({"deleted_concepts": concepts, "deleted_propositions": propositions})


def _retired(tx: Transaction, concept: Concept) -> Retired:
    """Remove a concept. The error for a definition in use has a command that shows its uses."""
    try:
        return tx.retire_found(concept)
    except ConstraintViolation as error:
        if "users" in error.data:
            statement, pattern = "DELETE PROPOSITIONS ?x", f'?x (?s, "{concept.name}", ?o)'
            if concept.type == CONCEPT_TYPE:
                statement, pattern = "DELETE CONCEPT ?x DETACH", f'?x {{type: "{concept.name}"}}'
            error.hint = (
                f"FIND(?x) WHERE {{ {pattern} }} shows them all. To delete the definition,"
                " delete them first:"
                f" {statement} WHERE {{ {pattern} }}."
            )
        raise


def _targets_of_kind(
    tx: Transaction,
    node: ast.DeletePropositions | ast.DeleteConcept,
    values: Values,
    *,
    concepts: bool,
) -> list[int]:
    numbers = named_targets(tx, node, values)
    for number in numbers:
        if is_concept(number) != concepts:
            raise _of_the_other_kind(tx, node, number)
    return numbers


def _of_the_other_kind(
    tx: Transaction, node: ast.DeletePropositions | ast.DeleteConcept, number: int
) -> ConstraintViolation:
    id_ = tx.reader.outer_id(number)
    if isinstance(node, ast.DeletePropositions):
        message = f"?{node.target.name} is bound to the concept {id_}, not to a proposition."
        hint = "Use DELETE CONCEPT ?node DETACH for concepts, or bind the link: ?link (?s, …, ?o)."
    else:
        message = f"?{node.target.name} is bound to the proposition {id_}, not to a concept."
        hint = "Use DELETE PROPOSITIONS ?link for links, or bind the concept: ?node {type: …}."
    return ConstraintViolation(message, hint=hint, span=node.target.span)
