"""ARCHIVE, RESTORE, SUPERSEDE, SUPPORT and CHALLENGE."""

from __future__ import annotations

from mycel.errors import ConstraintViolation, DuplicateExists, ImmutableTarget, NotFound
from mycel.kip import ast
from mycel.model import times
from mycel.model.evidence import check_details
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.model.retention import parse_retention
from tests.reference import periods
from tests.reference.draft import META_TYPES, Draft
from tests.reference.evidence import is_source, status
from tests.reference.graph import Concept, Element, JsonObject
from tests.reference.parameters import Parameters
from tests.reference.protection import ACTORS, DOMAINS, FOUNDATION
from tests.reference.scopes import check_predicate, check_type
from tests.reference.targets import required_targets, targets


def archive(draft: Draft, node: ast.Archive, parameters: Parameters) -> JsonObject:
    """Mark every target as archived, unless it is."""
    reason = "" if node.reason is None else parameters.text(node.reason)
    limit = None if node.limit is None else parameters.positive(node.limit)
    numbers = required_targets(node.target, node.where, draft.graph, parameters)[:limit]
    archived = 0
    for number in numbers:
        element = draft.graph.elements[number]
        _check_free(element)
        if element.metadata.get("archived_at") is not None:
            continue
        kept = {key: value for key, value in element.metadata.items() if key != "restored_at"}
        because = {"archived_because": reason} if reason else {}
        marks = {"archived_at": times.to_text(draft.time_us), **because}
        draft.replace(number, attributes=element.attributes, metadata=kept | marks)
        archived += 1
    return {"archived": archived, "matched": len(numbers)}


def _check_free(element: Element) -> None:
    if isinstance(element, Concept) and (
        (element.type, element.name) in FOUNDATION | ACTORS | DOMAINS or element.type in META_TYPES
    ):
        raise ImmutableTarget(f"{element.name} cannot be archived.")


def restore(draft: Draft, node: ast.Restore, parameters: Parameters) -> JsonObject:
    """Take the mark from every target, and an expiry that has passed."""
    limit = None if node.limit is None else parameters.positive(node.limit)
    numbers = required_targets(
        node.target, node.where, draft.graph, parameters, include_archived=True
    )[:limit]
    restored = 0
    for number in numbers:
        element = draft.graph.elements[number]
        if element.metadata.get("archived_at") is None:
            continue
        gone = {"archived_at", "archived_because"}
        if times.is_past(element.metadata.get("expires_at"), draft.time_us):
            gone.add("expires_at")
        kept = {key: value for key, value in element.metadata.items() if key not in gone}
        kept["restored_at"] = times.to_text(draft.time_us)
        draft.replace(number, attributes=element.attributes, metadata=kept)
        restored += 1
    return {"restored": restored, "matched": len(numbers)}


def set_retention(
    draft: Draft, node: ast.SetTypeRetention | ast.SetRetention, parameters: Parameters
) -> JsonObject:
    """Write the rule to a definition, or to every target."""
    rule = parameters.value(node.rule)
    parse_retention(rule)
    if isinstance(node, ast.SetTypeRetention):
        name = parameters.text(node.name)
        is_type = node.kind == "CONCEPT"
        (check_type if is_type else check_predicate)(name, draft.graph)
        definition = draft.graph.concept(CONCEPT_TYPE if is_type else PROPOSITION_TYPE, name)
        updated = definition is not None and draft.merge_keys(
            definition.number, {"retention": rule}, {}
        )
        return {"updated": int(updated), "matched": 1}
    limit = None if node.limit is None else parameters.positive(node.limit)
    numbers = required_targets(node.target, node.where, draft.graph, parameters)[:limit]
    updated_count = sum(draft.merge_keys(number, {}, {"retention": rule}) for number in numbers)
    return {"updated": updated_count, "matched": len(numbers)}


def supersede(draft: Draft, node: ast.Supersede, parameters: Parameters) -> JsonObject:
    """Link the new element to the old one, and end the validity of the old one."""
    reason = "" if node.reason is None else parameters.text(node.reason)
    given = "" if node.until is None else parameters.text(node.until)
    if node.until is not None:
        times.from_text(given)
    old, new = (
        _only(draft, variable, node.where, parameters) for variable in (node.target, node.successor)
    )
    draft.check_not_self(old.number, new.number)
    if new.number in _superseded_before(draft, old.number):
        raise ConstraintViolation("It is the other way round already.")
    metadata = {"reason": reason} if reason else {}
    link = draft.put_link(new.number, "supersedes", old.number, {}, metadata)
    begins = new.metadata.get("valid_from")
    until = given or (begins if times.is_time(begins) else times.to_text(draft.time_us))
    last = times.from_text(until)
    present, earlier = periods.span(old.metadata), periods.former(old.metadata)
    cut = [
        one if one.end <= last else periods.Span(one.begin, last, (one.texts[0], until))
        for one in (*earlier, present)
        if one.begin < last
    ]
    if given and present.begin < last:
        cut[-1] = periods.Span(present.begin, last, (present.texts[0], until))
    if not cut and given:
        raise ConstraintViolation("It begins later.")
    if not cut:  # It holds at no time.
        first = (*earlier, present)[0]
        cut = [periods.Span(first.begin, first.begin, (first.texts[0], first.texts[0]))]
    kept = {
        key: value
        for key, value in old.metadata.items()
        if key not in ("valid_from", "valid_until") or not times.is_time(value)
    }
    changes: JsonObject = {"status": "superseded"}
    before = periods.together(cut[:-1])
    if before != earlier:
        kept.pop("former_periods", None)
        changes |= periods.said(periods.span({}), before)
    changes |= periods.said(cut[-1], [])
    draft.replace(old.number, attributes=old.attributes, metadata=kept | changes)
    graph = draft.graph
    return {
        "superseded": graph.id_of(old.number),
        "by": graph.id_of(new.number),
        "link": graph.id_of(link),
        "valid_until": changes["valid_until"],
    }


def take_stance(draft: Draft, node: ast.TakeStance, parameters: Parameters) -> JsonObject:
    """Add a source to the evidence of every target, in place of its last word."""
    reason = "" if node.reason is None else parameters.text(node.reason)
    details = {} if node.details is None else parameters.value(node.details)
    limit = None if node.limit is None else parameters.positive(node.limit)
    numbers = required_targets(node.target, node.where, draft.graph, parameters)[:limit]
    statuses: dict[str, int] = {}
    for number in numbers:
        element = draft.graph.elements[number]
        if isinstance(element, Concept):
            raise ConstraintViolation("Evidence is about links.")
        check_details(details)
        because = {"reason": reason} if reason else {}
        source = {"stance": node.stance, "by": draft.actor, **details, **because}
        given = element.metadata.get("evidence")
        entries = list(given) if isinstance(given, list) else []
        place = (source["by"], source.get("source"))
        earlier = [e for e in entries if is_source(e) and (e.get("by"), e.get("source")) == place]
        if not any({**source, "at": e.get("at")} == e for e in earlier):
            entries = [e for e in entries if e not in earlier]
            entries.append({"at": times.to_text(draft.time_us), **source})
            draft.merge_keys(number, {}, {"evidence": entries})
        found = status({**element.metadata, "evidence": entries})
        statuses[found] = statuses.get(found, 0) + 1
    return {"belief": statuses, "matched": len(numbers)}


def _superseded_before(draft: Draft, number: int) -> set[int]:
    """All that an element supersedes, directly or not."""
    found: set[int] = set()
    waiting = [number]
    while waiting:
        place = waiting.pop()
        for link in draft.graph.links():
            if (link.subject, link.predicate) == (place, "supersedes") and link.object not in found:
                found.add(link.object)
                waiting.append(link.object)
    return found


def _only(
    draft: Draft, variable: ast.Variable, where: ast.Block, parameters: Parameters
) -> Element:
    numbers = targets(variable, where, draft.graph, parameters)
    if not numbers:
        raise NotFound(f"?{variable.name} is bound to nothing.")
    if len(numbers) > 1:
        raise DuplicateExists(f"?{variable.name} is bound to {len(numbers)} elements.")
    return draft.graph.elements[numbers[0]]
