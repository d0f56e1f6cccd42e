"""Elements that may not be changed or removed (KIP §4.2.4 and Appendix 4, KIP_3004), and pins."""

from __future__ import annotations

from mycel.errors import ConstraintViolation, ImmutableTarget
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, SYSTEM_ACTOR
from tests.reference.graph import Concept, Element, Graph
from tests.reference.json_values import identical

CORE_DOMAIN = ("Domain", "CoreSchema")

FOUNDATION = {
    (CONCEPT_TYPE, CONCEPT_TYPE),
    (CONCEPT_TYPE, PROPOSITION_TYPE),
    (CONCEPT_TYPE, "Domain"),
    (PROPOSITION_TYPE, "belongs_to_domain"),
    CORE_DOMAIN,
}
"""Definitions that all others depend on, and their domain."""

ACTORS = {("Person", "$self"), ("Person", SYSTEM_ACTOR)}

DOMAINS = {("Domain", name) for name in ("Unsorted", "Archived", "System")}
"""Domains that every graph has. Their attributes may change."""

DIRECTIVES = "core_directives"


def check_change(before: Element, after: Element, actor: str, graph: Graph) -> None:
    """Refuse a change to the foundation and its links, or to the directives of an actor.

    What is pinned or held cannot be archived.
    """
    archived = [element.metadata.get("archived_at") is not None for element in (before, after)]
    if archived == [False, True]:
        _check_unmarked(before)
    if not isinstance(before, Concept):
        if actor != SYSTEM_ACTOR:
            _check_link(before, graph)
        return
    identity = (before.type, before.name)
    if identity in FOUNDATION and actor != SYSTEM_ACTOR:
        raise ImmutableTarget(
            f"{before.name} is part of the foundation.",
            hint=f"Only {SYSTEM_ACTOR} may develop it further.",
        )
    old, new = before.attributes.get(DIRECTIVES), after.attributes.get(DIRECTIVES)
    may_give_them = old is None and actor == SYSTEM_ACTOR
    if identity in ACTORS and not identical(old, new) and not may_give_them:
        raise ImmutableTarget(f"The core directives of {before.name} cannot be changed.")


def check_removal(element: Element, graph: Graph) -> None:
    """Refuse to remove the foundation, an actor, or a link that genesis gave to the foundation.

    What is pinned or held cannot be removed either.
    """
    if not isinstance(element, Concept):
        _check_link(element, graph)
    elif (element.type, element.name) in FOUNDATION | ACTORS | DOMAINS:
        raise ImmutableTarget(f"{element.name} cannot be removed.")
    _check_unmarked(element)


def _check_unmarked(element: Element) -> None:
    pinned, held = (element.metadata.get(key) for key in ("pinned", "hold"))
    if pinned is True or held not in (None, False, ""):
        raise ConstraintViolation("It is pinned or held.")


def is_foundation_link(element: Element, graph: Graph) -> bool:
    """True for a link that genesis gave to the foundation."""
    subject, predicate, object_ = graph.identity(element.number)
    is_member = predicate == "belongs_to_domain" and object_ == CORE_DOMAIN
    return is_member and subject in FOUNDATION


def _check_link(element: Element, graph: Graph) -> None:
    if is_foundation_link(element, graph):
        subject, predicate, _ = graph.identity(element.number)
        raise ImmutableTarget(f"{predicate} of {subject[1]} is part of the foundation.")
