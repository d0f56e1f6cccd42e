"""The guard of the foundation of the graph and its two actors (KIP_3004).

    $ConceptType, $PropositionType, Domain,    never removed or renamed; changed only by `$system`,
    belongs_to_domain, CoreSchema              who may develop them further (KIP §2.9.1)
    the links from these definitions           never severed; changed only by `$system`
    to CoreSchema
    the domains Unsorted, Archived, System     never removed, renamed or merged; maintenance files
                                               concepts there
    $self, $system                             never removed, renamed or merged; everything else
                                               about them may change except their `core_directives`
    core_directives                            set when the actor is created, or later once by
                                               `$system`; from then on they stay

Applying genesis again changes nothing and succeeds. Attaching a concept to CoreSchema does not
change CoreSchema.
"""

from __future__ import annotations

from typing import Final

from mycel.errors import ImmutableTarget
from mycel.model import ids, names
from mycel.model.elements import Concept, Proposition
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, SYSTEM_ACTOR
from mycel.schema.definitions import is_unchanged
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

DIRECTIVES: Final = "core_directives"
MEMBERSHIP: Final = "belongs_to_domain"

CORE_DOMAIN: Final = ("Domain", "CoreSchema")
DEFINITIONS: Final = frozenset(
    (
        (CONCEPT_TYPE, CONCEPT_TYPE),
        (CONCEPT_TYPE, PROPOSITION_TYPE),
        (CONCEPT_TYPE, "Domain"),
        (PROPOSITION_TYPE, MEMBERSHIP),
    )
)
FOUNDATION: Final = DEFINITIONS | {CORE_DOMAIN}
FOUNDATION_LINKS: Final = frozenset((definition, CORE_DOMAIN) for definition in DEFINITIONS)
ACTORS: Final = names.ACTORS
DOMAINS: Final = names.CORE_DOMAINS - {CORE_DOMAIN}

_TYPES: Final = frozenset(type_name for type_name, _ in FOUNDATION | ACTORS)


_ATTRIBUTES_ONLY: Final = (
    "It cannot be removed or replaced, but its attributes other than core_directives may be"
    " changed, and so may its links."
)
_OF_YOUR_OWN: Final = (
    "Leave it out of the command. You may refer to it, attach concepts to it, and define types,"
    " predicates and domains of your own."
)
_SYSTEM_ALONE: Final = (
    f"{_OF_YOUR_OWN} Only the actor $system may develop it further: apply a genesis capsule on a"
    ' graph opened with actor="$system" (--actor on the command line).'
)


_DOMAIN: Final = (
    "Every graph has this domain. Its attributes may be changed, and its members may be"
    " moved or removed; domains of your own can be deleted."
)


class ProtectionGuard:
    """Refuses every forbidden change of a protected element."""

    in_bulk = True  # A new element changes no protected element.

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """True if an element of this type, or a link with this predicate, is protected."""
        return type_or_predicate == MEMBERSHIP if link else type_or_predicate in _TYPES

    def check(self, tx: Transaction, change: Change) -> None:
        """Refuse the removal, or a forbidden change, of a protected element."""
        if isinstance(change.before, Proposition):
            _check_link(tx, change, change.before)
        elif change.before is not None:
            _check_concept(tx, change, change.before)

    def check_commit(self, tx: Transaction) -> None:
        """Do nothing: forbidden changes were refused at once."""


def check_removal(concept: Concept) -> None:
    """Raise ImmutableTarget for a protected concept.

    DELETE calls this before the store counts the uses of a definition; otherwise the error would
    advise removing the uses first.
    """
    identity = concept.type, concept.name
    if identity in FOUNDATION:
        raise _refused(concept, "removed", _OF_YOUR_OWN)
    if identity in ACTORS:
        raise _refused(concept, "removed", _ATTRIBUTES_ONLY)
    if identity in DOMAINS:
        raise _refused(concept, "removed", _DOMAIN)


def check_merge(source: Concept, target: Concept) -> None:
    """Raise ImmutableTarget if one of two concepts to merge is protected."""
    for concept in (source, target):
        if (concept.type, concept.name) in FOUNDATION | ACTORS | DOMAINS:
            raise ImmutableTarget(
                f"{concept.type} {concept.name!r} is protected and cannot be merged.",
                hint="Merge two concepts of your own, or copy the values that you need with"
                " UPSERT.",
                data={"type": concept.type, "name": concept.name},
            )


def _check_concept(tx: Transaction, change: Change, before: Concept) -> None:
    identity = before.type, before.name
    if change.kind == "retire":
        check_removal(before)
    elif identity in FOUNDATION | ACTORS | DOMAINS and (
        (change.type_or_predicate, change.name_or_ends) != identity
    ):
        raise _refused(before, "renamed", _OF_YOUR_OWN)
    elif identity in ACTORS:
        _check_directives(tx, change, before)
    elif identity in FOUNDATION and tx.actor != SYSTEM_ACTOR:
        raise _refused(before, "changed", _SYSTEM_ALONE)


def _refused(concept: Concept, change: str, hint: str) -> ImmutableTarget:
    return ImmutableTarget(
        f"{concept.type} {concept.name!r} is part of the foundation and cannot be {change}.",
        hint=hint,
        data={"type": concept.type, "name": concept.name},
    )


def _check_directives(tx: Transaction, change: Change, before: Concept) -> None:
    old, new = before.attributes, change.attributes
    if is_unchanged(DIRECTIVES, new, old) or (DIRECTIVES not in old and DIRECTIVES not in new):
        return
    if old.get(DIRECTIVES) is None and tx.actor == SYSTEM_ACTOR:
        return
    raise ImmutableTarget(
        f"The {DIRECTIVES} of {before.name!r} are set and cannot be changed.",
        hint=f"Leave {DIRECTIVES} out. Other attributes, such as persona, values or growth_log,"
        " may be changed.",
        data={"type": before.type, "name": before.name, "attribute": DIRECTIVES},
    )


def _check_link(tx: Transaction, change: Change, before: Proposition) -> None:
    ends = before.subject, before.object
    stays = (change.type_or_predicate, change.name_or_ends) == (before.predicate, ends)
    if change.kind != "retire" and stays and tx.actor == SYSTEM_ACTOR:
        return
    subject, object_ = (_identity(tx, end) for end in ends)
    if subject in DEFINITIONS and object_ == CORE_DOMAIN:
        if change.kind != "retire" and stays:
            raise ImmutableTarget(
                f"The link {before.id} is part of the foundation and cannot be changed.",
                hint=_SYSTEM_ALONE,
                data={"id": before.id},
            )
        raise ImmutableTarget(
            f"The link {before.id} holds the definition {subject[1]!r} in the domain"
            f" {CORE_DOMAIN[1]!r}, and cannot be removed, alone or with one of its ends.",
            hint="Narrow the pattern so that it leaves this link out, for example by the type of"
            " the subject.",
            data={"id": before.id},
        )


def _identity(tx: Transaction, ref: str) -> tuple[str, str] | None:
    concept = tx.reader.element(ids.parse_id(ref))
    return (concept.type, concept.name) if isinstance(concept, Concept) else None
