"""MERGE: two concepts become one."""

from __future__ import annotations

from typing import Any

from mycel.errors import ConstraintViolation, DuplicateExists, ImmutableTarget, NotFound
from mycel.kip import ast
from mycel.model import times
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.search.validity import OUTDATED
from tests.reference import periods
from tests.reference.draft import Draft
from tests.reference.graph import Concept, Element, JsonObject, Link
from tests.reference.json_values import distinct
from tests.reference.parameters import Parameters
from tests.reference.protection import ACTORS, DOMAINS, FOUNDATION
from tests.reference.targets import targets

OF_STATE = ("status", "expires_at", "archived_at")


def merge(draft: Draft, merge_: ast.MergeConcept, parameters: Parameters) -> JsonObject:
    """Give the target all that the source has, and remove the source."""
    source = _only(draft, merge_.source, merge_.where, parameters)
    target = _only(draft, merge_.target, merge_.where, parameters)
    moved: set[int] = set()
    gone = filled = 0
    if source.number != target.number:
        _check(source, target)
        gone = _repoint(draft, source.number, target.number, moved)
        draft.remove([source.number])
        filled = _fill_concept(draft, source, target)
    return {
        "merged": True,
        "links_repointed": len(moved & draft.graph.elements.keys()),
        "links_deduplicated": gone,
        "attributes_filled": filled,
    }


def _only(
    draft: Draft, variable: ast.Variable, where: ast.Block, parameters: Parameters
) -> Concept:
    """The one concept that a variable is bound to."""
    numbers = targets(variable, where, draft.graph, parameters)
    if not numbers:
        raise NotFound(
            f"?{variable.name} is bound to nothing.",
            hint="If this is the second attempt, the first one may have merged the two already.",
        )
    if len(numbers) > 1:
        raise DuplicateExists(f"?{variable.name} is bound to {len(numbers)} elements.")
    element = draft.graph.elements[numbers[0]]
    if not isinstance(element, Concept):
        raise ConstraintViolation(f"?{variable.name} is a link; a concept is needed.")
    return element


def _check(source: Concept, target: Concept) -> None:
    for concept in (source, target):
        is_protected = (concept.type, concept.name) in FOUNDATION | ACTORS | DOMAINS
        if is_protected or concept.type in (CONCEPT_TYPE, PROPOSITION_TYPE):
            raise ImmutableTarget(f"{concept.name} cannot be merged.")
    if source.type != target.type:
        raise ConstraintViolation(f"{source.type} and {target.type} cannot be merged.")


def _fill_concept(draft: Draft, source: Concept, target: Concept) -> int:
    """Attributes that only the source has; all names of both; and where it came from."""
    missing = {
        key: value
        for key, value in source.attributes.items()
        if key not in target.attributes and key != "aliases"
    }
    own, others = (_names(concept.attributes.get("aliases")) for concept in (target, source))
    aliases = {} if own is None else {"aliases": distinct([*own, *(others or ()), source.name])}
    trails = [concept.metadata.get("_merged_from", []) for concept in (target, source)]
    sources = [*trails[0], *trails[1], f"{source.type}:{source.name}"]
    draft.replace(
        target.number,
        attributes=target.attributes | missing | aliases,
        metadata=target.metadata | {"_merged_from": distinct(sources)},
    )
    grew = own is not None and len(distinct([*own, *(others or ())])) > len(distinct(own))
    return len(missing) + grew


def _names(aliases: Any) -> list[Any] | None:
    """Aliases as a list; None if they are something that cannot be extended."""
    match aliases:
        case None:
            return []
        case str():
            return [aliases]
        case list():
            return aliases
        case _:
            return None


def _repoint(draft: Draft, old: int, new: int, moved: set[int]) -> int:
    """Let every link that refers to `old` refer to `new`; count those that are gone.

    Where that makes two links one, the link that was there before wins, is given the keys that
    only the other has, and takes over the links about it: the same thing, one level higher.
    """
    gone = 0
    for number in sorted(link.number for link in draft.graph.links()):
        link = draft.graph.elements.get(
            number
        )  # As it is by now: the last round may have moved it.
        if not isinstance(link, Link) or old not in (link.subject, link.object):
            continue
        subject = new if link.subject == old else link.subject
        object_ = new if link.object == old else link.object
        winner = draft.graph.link(subject, link.predicate, object_)
        if subject == object_:
            gone += draft.remove([number])[1]
        elif winner is not None:
            _fill_link(draft, link, winner)
            gone += _repoint(draft, number, winner.number, moved)
            gone += draft.remove([number])[1]
        else:
            draft.move(number, subject, object_)
            moved.add(number)
    return gone


def _fill_link(draft: Draft, loser: Link, winner: Element) -> None:
    metadata = loser.metadata | winner.metadata
    for key in (*OF_STATE, *periods.KEYS):
        metadata.pop(key, None)
    draft.replace(
        winner.number,
        attributes=loser.attributes | winner.attributes,
        metadata=metadata | _time_of(draft, winner.metadata, loser.metadata),
    )


def _time_of(draft: Draft, own: JsonObject, other: JsonObject) -> JsonObject:
    """When the one link holds that two became: whenever one of them did."""

    def holds(one: JsonObject) -> bool:
        is_over = str(one.get("status")).lower() in OUTDATED or one.get("archived_at") is not None
        expires = one.get("expires_at")
        if is_over or (times.is_time(expires) and times.from_text(expires) <= draft.time_us):
            return False
        return any(
            each.begin <= draft.time_us < each.end
            for each in (periods.span(one), *periods.former(one))
        )

    state = other if holds(other) and not holds(own) else own
    kept = {key: value for key in OF_STATE if (value := state.get(key)) is not None}
    now, former = _periods_of(own, other, is_own=holds(own), is_other=holds(other))
    found = periods.said(now, former)
    if former == periods.former(own) and "former_periods" in own:
        found["former_periods"] = own["former_periods"]
    untimely = {
        key: own[key] for key in periods.KEYS[:2] if key in own and not times.is_time(own[key])
    }
    return kept | untimely | found


def _periods_of(
    own: JsonObject, other: JsonObject, *, is_own: bool, is_other: bool
) -> tuple[periods.Span, list[periods.Span]]:
    spans = [periods.span(one) for one in (own, other)]
    former = [*periods.former(own), *periods.former(other)]
    has_dates = [one.texts != (None, None) for one in spans]
    if all(has_dates):
        rows = periods.together([*former, *spans])
        return (rows[-1], rows[:-1]) if rows else (spans[0], [])
    now, holds_now, other_holds = (
        (spans[0], is_own, is_other) if has_dates[0] else (spans[1], is_other, is_own)
    )
    if other_holds and not holds_now:
        return periods.span({}), periods.together([*former, *([now] if any(has_dates) else [])])
    rest = [
        one
        for one in periods.together(former)
        if not (now.begin <= one.begin and one.end <= now.end)
    ]
    return now, rest
