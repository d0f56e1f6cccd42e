"""DELETE: keys, links, and concepts with all their links (KIP §4.2)."""

from __future__ import annotations

from mycel.errors import ConstraintViolation
from mycel.kip import ast
from mycel.model.values import check_metadata_keys
from tests.reference.draft import Draft
from tests.reference.graph import Concept, JsonObject, Link
from tests.reference.parameters import Parameters
from tests.reference.targets import required_targets


def delete_keys(draft: Draft, delete: ast.DeleteKeys, parameters: Parameters) -> JsonObject:
    """`DELETE ATTRIBUTES` and `DELETE METADATA`: count the elements that had such a key."""
    keys = {parameters.text(key) for key in delete.keys}
    if delete.part == "METADATA":
        check_metadata_keys(keys)
    counts = {"updated_concepts": 0, "updated_propositions": 0}
    for number in _targets(draft, delete, parameters):
        element = draft.graph.elements[number]
        attributes, metadata = element.attributes, element.metadata
        if delete.part == "ATTRIBUTES":
            attributes = {key: value for key, value in attributes.items() if key not in keys}
        else:
            metadata = {key: value for key, value in metadata.items() if key not in keys}
        if draft.replace(number, attributes=attributes, metadata=metadata):
            is_concept = isinstance(element, Concept)
            counts["updated_concepts" if is_concept else "updated_propositions"] += 1
    return counts


def delete_propositions(
    draft: Draft, delete: ast.DeletePropositions, parameters: Parameters
) -> JsonObject:
    """`DELETE PROPOSITIONS`: count the links that were chosen and those that went with them."""
    numbers = _targets(draft, delete, parameters)
    if any(isinstance(draft.graph.elements[number], Concept) for number in numbers):
        raise ConstraintViolation(f"?{delete.target.name} is a concept; a link is needed.")
    _, links = draft.remove(numbers)
    return {"deleted_propositions": links}


def delete_concept(draft: Draft, delete: ast.DeleteConcept, parameters: Parameters) -> JsonObject:
    """`DELETE CONCEPT … DETACH`."""
    numbers = _targets(draft, delete, parameters)
    if any(isinstance(draft.graph.elements[number], Link) for number in numbers):
        raise ConstraintViolation(f"?{delete.target.name} is a link; a concept is needed.")
    concepts, links = draft.remove(numbers)
    return {"deleted_concepts": concepts, "deleted_propositions": links}


def _targets(
    draft: Draft,
    delete: ast.DeleteKeys | ast.DeletePropositions | ast.DeleteConcept,
    parameters: Parameters,
) -> list[int]:
    return required_targets(delete.target, delete.where, draft.graph, parameters)
