"""Writes and reads relations, and placeholders for missing ends.

A relation to a missing resource creates the resource. A relation to a missing concept creates a
placeholder under its URI, a concept of the type `Missing`, with a warning: it is a broken link.
Adding the concept changes the type of the placeholder, so the relations stay. For other ways of
writing, `engine.missing_concepts` does the same. A placeholder is removed with its last relation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, NamedTuple

from mycel.engine.functional_guard import warn_ended
from mycel.engine.missing_concepts import MISSING, MISSING_ENTITY, SCHEME, is_placeholder
from mycel.engine.stance import update_from_source
from mycel.errors import (
    ConstraintViolation,
    InternalError,
    InvalidValueType,
    NotFound,
    SelfEdgeError,
)
from mycel.knowledge.name_resolution import (
    NAMES_SOUGHT_MAX,
    closest,
    name_line,
    not_found,
    resolve_all,
)
from mycel.knowledge.node_lookup import NodeMatch, as_relation, find, find_all, uri_at
from mycel.knowledge.node_values import Linked, NewRelation, Page, Relation
from mycel.knowledge.relation_pages import bad_cursor, is_number
from mycel.knowledge.uris import Uri
from mycel.knowledge.vocabulary import (
    GENERAL_RELATIONS,
    REFERENCES,
    RELATIONS,
    RESERVED_IN_RELATIONS,
    RESOURCE,
    check_names,
    require_relation,
    require_type,
)
from mycel.model import ids
from mycel.model.elements import Proposition
from mycel.model.names import PROPOSITION_TYPE, kind_of, shorten
from mycel.model.retention import is_kept
from mycel.store.query import lookup
from mycel.store.query.reader import Reader
from mycel.store.write.bulk import ConceptRow, PropositionRow
from mycel.store.write.transaction import Transaction

SUGGESTED_FOR_MAX: Final = 5
"""The maximum number of missing concepts of one call for which similar URIs are suggested."""

RelationEnds = tuple[Uri, Uri]


# Writing.


def put_relations(
    tx: Transaction,
    drafts: Sequence[NewRelation],
    end_pairs: Sequence[RelationEnds],
    file_at: Callable[[Uri], Uri | None] = lambda _uri: None,
    own: Collection[int] = (),
) -> tuple[list[Linked], list[str]]:
    """Write relations, each with its two ends. Returns results and warnings.

    `file_at` returns the URI of the file at a bare path, if the file has no node yet. `own` are
    nodes that the same call wrote.
    """
    for draft in drafts:
        check_names(draft.properties, "properties", "relation", RESERVED_IN_RELATIONS)
        check_names(draft.metadata, "metadata", "relation", RESERVED_IN_RELATIONS)
    lines = [line for name in _relation_types(drafts) for line in require_relation(tx, name)]
    reader = tx.reader
    present, warnings, names = _present_uris(reader, end_pairs, file_at, own)
    ends = [(present.get(one, one), present.get(other, other)) for one, other in end_pairs]
    matches, missing = require_ends(tx, [end for pair in ends for end in pair])
    lines += warnings + missing
    drafts, substitutions = _generalized(tx, drafts, [matches[source.text] for source, _ in ends])
    lines += substitutions + names
    places = []
    for draft, (source, target) in zip(drafts, ends, strict=True):
        subject, object_ = matches[source.text].number, matches[target.text].number
        if subject == object_:
            raise SelfEdgeError(f"{shorten(source.text, 200)} cannot be related to itself.")
        predicate = reader.predicate_number(draft.relation)
        places.append((subject, predicate, object_))
    before = lookup.links_between(reader, set(places))
    new_rows = {
        place: _row(reader, place, draft)
        for place, draft in reversed(tuple(zip(places, drafts, strict=True)))
        if place not in before
    }
    # Where a guard may need their order, new ones are written between the others.
    in_order = {
        draft.relation for draft in drafts if tx.guards.goes_alone(tx, draft.relation, link=True)
    }
    with _advised():
        tx.put_propositions(
            new_rows[place]
            for place in dict.fromkeys(places)
            if place in new_rows and new_rows[place].predicate not in in_order
        )
    numbers = before | lookup.links_between(reader, new_rows)
    outcomes = []
    for place, draft, (source, target) in zip(places, drafts, ends, strict=True):
        row = new_rows.pop(place, None)
        is_new = changed = row is not None
        if row is None:
            changed, added = _merge(tx, numbers[place], draft)
            lines += [added] if added else []
        elif place not in numbers:
            with _advised():
                numbers[place] = reader.number(tx.put_proposition(*row[:5], weight=row.weight))
        outcomes.append(
            Linked(
                ids.link_id(numbers[place], draft.relation),
                source.text,
                draft.relation,
                target.text,
                created=is_new,
                changed=changed,
            )
        )
    return outcomes, lines


@contextmanager
def _advised() -> Iterator[None]:
    """Add to the error for a source of a wrong type which relations join any two nodes."""
    try:
        yield
    except ConstraintViolation as error:
        if "subject_types" in error.data:
            error.hint = f"related_to and {REFERENCES} join any two nodes. {error.hint}"
        raise


def _generalized(
    tx: Transaction, drafts: Sequence[NewRelation], sources: Sequence[NodeMatch]
) -> tuple[list[NewRelation], list[str]]:
    """Relations, with a general type where theirs does not allow the source; and warnings."""
    allowed = {
        name: (definition.attributes.get("subject_types") or ["*"])
        for name in {draft.relation for draft in drafts} & GENERAL_RELATIONS.keys()
        if (definition := tx.get_concept(PROPOSITION_TYPE, name)) is not None
    }
    relations: list[NewRelation] = []
    warnings: dict[str, None] = {}
    for draft, source in zip(drafts, sources, strict=True):
        types: Any = allowed.get(draft.relation, ["*"])
        if "*" in types or source.type in types:
            relations.append(draft)
            continue
        name = GENERAL_RELATIONS[draft.relation]
        relations.append(replace(draft, relation=name))
        require_relation(tx, name, RELATIONS[name])
        warnings[
            f"{draft.relation} leads from {' or '.join(types)} alone, and a source is of the type"
            f" {source.type}: {name} is written instead."
        ] = None
    return relations, list(warnings)


def _present_uris(
    reader: Reader,
    end_pairs: Sequence[RelationEnds],
    file_at: Callable[[Uri], Uri | None],
    own: Collection[int],
) -> tuple[dict[Uri, Uri], list[str], list[str]]:
    """The URIs of nodes that were given by another name, warnings, and a line about these names."""
    uris = list(dict.fromkeys(end for pair in end_pairs for end in pair))
    matches = find_all(reader, uris)
    absent = dict.fromkeys(
        uri for uri in uris if uri.text not in matches or matches[uri.text].is_missing
    )
    if not absent:
        return {}, [], []
    others: dict[Uri, set[int]] = {}  # A relation never joins a node to itself.
    for one, other in (way for pair in end_pairs for way in (pair, pair[::-1])):
        if one in absent and other not in absent:
            others.setdefault(one, set()).add(matches[other.text].number)
    resolved = resolve_all(reader, absent, own=own, others=others)
    present = {uri: node.uri for uri, node in resolved.items()}
    for uri in absent:
        is_free = uri.is_bare and uri not in present and uri.text not in matches
        if is_free and (file := file_at(uri)) is not None:
            present[uri] = file
    warnings = []
    if len(absent) > NAMES_SOUGHT_MAX:
        warnings.append(
            f"{len(absent):,} ends are no URI of a node. Only {NAMES_SOUGHT_MAX:,} of them were"
            " sought among short names; write fewer relations in one call."
        )
    return present, warnings, name_line(resolved)


def _relation_types(drafts: Iterable[NewRelation]) -> Iterable[str]:
    names: dict[str, None] = {}
    for draft in drafts:
        name: object = draft.relation
        if not isinstance(name, str):
            raise InvalidValueType(
                f"A relation type must be a name, not {kind_of(name)}.",
                hint="Write a name such as depends_on.",
            )
        names[name] = None
    return names


def _row(reader: Reader, place: tuple[int, int, int], draft: NewRelation) -> PropositionRow:
    subject, _, object_ = place
    return PropositionRow(
        reader.outer_id(subject),
        draft.relation,
        reader.outer_id(object_),
        draft.properties,
        draft.metadata,
        draft.weight,
    )


def _merge(tx: Transaction, number: int, draft: NewRelation) -> tuple[bool, str]:
    """Merge values into an existing relation. Returns True if it changed, and a remark."""
    id_ = tx.reader.outer_id(number)
    link = tx.get(id_)
    if not isinstance(link, Proposition):
        raise InternalError(f"{id_} is no link.")
    if tx.guards.settle(tx, link.predicate, link.ends[0]):
        link = tx.reader.link(number) or link
    warn_ended(tx, id_, draft.metadata)
    return update_from_source(
        tx, link, attributes=draft.properties, metadata=draft.metadata, weight=draft.weight
    )


class RemovedRelation(NamedTuple):
    """A relation to remove, with the URIs of its ends, and hints about the given names."""

    source: str
    relation: str
    target: str
    is_removed: bool
    """False if the relation did not exist."""
    hints: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.source} —{self.relation}→ {self.target}"


def remove_relation(
    tx: Transaction, ends: RelationEnds, relation: str, reason: str
) -> RemovedRelation:
    """Remove a relation if it exists, and placeholders that have no relation any more."""
    link, hints = _stored(tx, ends, relation)
    if link is None:
        resolved = resolve_all(tx.reader, ends)
        source, target = (resolved[end].uri if end in resolved else end for end in ends)
        return RemovedRelation(source.text, relation, target.text, is_removed=False, hints=hints)
    uris = [uri_at(tx.reader, end) for end in link.ends]
    placeholders = placeholders_of(tx.reader, (link,))
    tx.retire(link.id, reason=reason)
    sweep(tx, placeholders)
    return RemovedRelation(uris[0], link.predicate, uris[1], is_removed=True, hints=hints)


def set_weight(tx: Transaction, ends: RelationEnds, relation: str, weight: float) -> Linked:
    """Set the weight of a relation that exists."""
    link, hints = _stored(tx, ends, relation)
    if link is None:
        source, target = (end.text for end in ends)
        raise NotFound(
            f"There is no relation {shorten(repr(relation))} from {source} to {target}.",
            hint="Look at the relations of one end, or link the two first.",
        )
    source, target = (uri_at(tx.reader, end) for end in link.ends)
    changed = tx.update(link.id, weight=weight)
    return Linked(link.id, source, link.predicate, target, changed=changed, warnings=hints)


def _stored(
    tx: Transaction, ends: RelationEnds, relation: str
) -> tuple[Proposition | None, tuple[str, ...]]:
    """The relation between two nodes, if it exists, and hints about their names."""
    if not isinstance(relation, str):
        raise InvalidValueType(f"A relation type must be a name, not {kind_of(relation)}.")
    resolved = resolve_all(tx.reader, ends)
    hints = tuple(node.hint for node in resolved.values() if node.hint is not None)
    # At a relation to a missing concept, the end has the URI of that concept.
    for uris in (ends, [resolved[end].uri if end in resolved else end for end in ends]):
        source, target = (find(tx.reader, uri) for uri in uris)
        for name in (relation, GENERAL_RELATIONS.get(relation)):
            if source is None or target is None or name is None:
                continue
            link = tx.reader.find_link(source.number, name, target.number)
            if link is not None:
                return link, () if uris is ends else hints
    return None, hints


def require_ends(tx: Transaction, uris: Sequence[Uri]) -> tuple[dict[str, NodeMatch], list[str]]:
    """The elements at the ends of relations; missing elements are created.

    Returns the elements by URI, and a warning for each missing concept.
    """
    reader = tx.reader
    by_text = {uri.text: uri for uri in uris}
    matches = find_all(reader, by_text.values())
    absent = [uri for text, uri in by_text.items() if text not in matches]
    for uri in absent:
        if uri.is_kip:
            raise not_found(reader, uri)
    for type_name in {_made_as(uri) for uri in absent}:
        require_type(tx, type_name)
    concepts = tx.put_concepts([ConceptRow(_made_as(uri), uri.text) for uri in absent])
    for uri, id_ in zip(absent, concepts, strict=True):
        matches[uri.text] = NodeMatch(ids.parse_id(id_), _made_as(uri), uri.is_concept)
    dangling = [by_text[text] for text, match in matches.items() if match.is_missing]
    return matches, [
        _warning(reader, uri, suggest=at < SUGGESTED_FOR_MAX) for at, uri in enumerate(dangling)
    ]


def _made_as(uri: Uri) -> str:
    return MISSING if uri.is_concept else RESOURCE


def _warning(reader: Reader, uri: Uri, *, suggest: bool) -> str:
    close = closest(reader, uri) if suggest else []
    advice = f" Did you mean {' or '.join(close)}?" if close else ""
    return (
        f"There is no concept {uri.text} yet. The relation is kept, and heals when the concept is"
        f" added.{advice}"
    )


# Placeholders.


def placeholders_of(reader: Reader, links: Iterable[Proposition]) -> set[int]:
    """The placeholders at the ends of links, by number."""
    ends = {end for link in links for end in link.ends}
    return {
        number
        for number in ends
        if ids.is_concept(number) and is_placeholder(reader.concept(number))
    }


def sweep(tx: Transaction, placeholders: Iterable[int]) -> None:
    """Remove the placeholders among these that have no relations and no attributes."""
    for number in sorted(placeholders):
        reader = tx.reader
        concept = reader.concept(number)
        if concept is None or concept.attributes or reader.touching(number):
            continue
        if not is_kept(concept.metadata):
            tx.retire(ids.concept_id(number), reason="its last relation was removed")


# Reading.


def broken_page(reader: Reader, limit: int, cursor: str | None) -> Page[Relation]:
    """A page of relations to or from missing concepts."""
    if cursor is not None and not is_number(cursor):
        raise bad_cursor(cursor)
    after = int(cursor or 0)
    numbers = lookup.links_at_named(reader, _placeholders(reader), after, limit + 1)
    links = [reader.link(number) for number in numbers[:limit]]
    items = tuple(as_relation(reader, link) for link in links if link is not None)
    return Page(items, str(numbers[limit - 1]) if len(numbers) > limit else None)


def broken_counts(reader: Reader, numbers: Collection[int]) -> dict[int, int]:
    """For each node with links to missing concepts, the number of these links."""
    beginnings = _placeholders(reader) if numbers else {}
    return lookup.links_to_named(reader, numbers, beginnings) if beginnings else {}


def _placeholders(reader: Reader) -> dict[int, str]:
    """The types of placeholders, each with the prefix of their names."""
    return {
        number: beginning
        for name, beginning in ((MISSING, SCHEME), (MISSING_ENTITY, ""))
        if (number := reader.find_type(name)) is not None
    }
