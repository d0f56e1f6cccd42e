"""DESCRIBE: the types and predicates of the graph (KIP §5.1).

A type is described by its definition, and by a sample of its instances: their number, attributes
and links. If a schema declares the type, its declaration is shown as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, assert_never

from mycel.engine.capabilities import describe_capabilities
from mycel.engine.find import moment_value
from mycel.engine.outcome import Outcome
from mycel.engine.page_cursor import cursor_after, place_of
from mycel.engine.primer import domain_summaries, primer
from mycel.engine.values import Values
from mycel.errors import NotFound, ResourceExhausted, did_you_mean
from mycel.kip import ast
from mycel.kip.fragments import quoted
from mycel.model import ids
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.model.state import LIVE
from mycel.model.values import JsonObject, parse_object
from mycel.schema.definitions import json_type
from mycel.schema.formatter import format_declared
from mycel.schema.stored_declaration import PG, declaration
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.query import summary
from mycel.store.query.commits import LogFilter, transactions
from mycel.store.query.diff import diff
from mycel.store.query.history import before_moment, entry_at, state_at
from mycel.store.query.paths import path_of
from mycel.store.query.reader import Reader

TYPES_PAGE: Final = 1_000
"""The maximum number of names of a page of DESCRIBE … TYPES."""

HISTORY_PAGE: Final = 50
HISTORY_MAX: Final = 1_000
"""The page size of DESCRIBE HISTORY without LIMIT, and the largest LIMIT."""

CHANGES_MAX: Final = 10_000
"""The maximum number of elements of DESCRIBE CHANGES."""

COUNT_MAX: Final = 1_000_000
"""The number up to which instances and links are counted (about 40 ms)."""

SAMPLED_ELEMENTS: Final = 200
"""The number of instances or links of a type that a sample reads."""

SAMPLED_LINKS: Final = 20
"""The number of links of a sampled instance that are read in each direction."""

SHOWN: Final = 10
"""The maximum number of instances, and of relationships, that a description shows."""

TYPES_SHOWN: Final = 5
"""The maximum number of types that are shown at an end of a link, or of one attribute."""

ATTRIBUTES_SHOWN: Final = 30
SAMPLE_LINKS_SHOWN: Final = 5

_META: Final[dict[ast.ElementKind, int]] = {
    "CONCEPT": CONCEPT_TYPE_NUMBER,
    "PROPOSITION": PROPOSITION_TYPE_NUMBER,
}
_CALLED: Final[dict[ast.ElementKind, str]] = {
    "CONCEPT": "concept type",
    "PROPOSITION": "proposition type",
}


def describe(reader: Reader, node: ast.Describe, values: Values) -> Outcome:
    """Run a DESCRIBE; raises NotFound for an unknown type."""
    match node:
        case ast.DescribePrimer():
            return Outcome(primer(reader))
        case ast.DescribeDomains():
            return domain_summaries(reader)
        case ast.DescribeTypes():
            return _types(reader, node, values)
        case ast.DescribeChanges():
            return _changes(reader, node, values)
        case ast.DescribeCapabilities():
            return Outcome(describe_capabilities())
        case ast.DescribeHistory():
            return _history(reader, node, values)
        case ast.DescribeType(kind="CONCEPT"):
            return Outcome(_concept_type(reader, values.text(node.name, "name of the type")))
        case ast.DescribeType():
            return Outcome(_predicate(reader, values.text(node.name, "name of the predicate")))
        case _:
            assert_never(node)


def _changes(reader: Reader, node: ast.DescribeChanges, values: Values) -> Outcome:
    """The differences between two states, in the form of `Diff`."""
    since = state_at(reader, moment_value(node.since, values, "FROM"))
    until = LIVE
    if node.until is not None:
        until = state_at(reader, moment_value(node.until, values, "TO"))
    paths = () if node.under is None else (values.text(node.under, "path"),)
    difference = diff(reader, since, until, paths)
    if len(difference.elements) > CHANGES_MAX:
        raise ResourceExhausted(
            f"{len(difference.elements)} elements differ; at most {CHANGES_MAX} are described.",
            hint='Narrow it with UNDER "path", or take a shorter time.',
        )
    return Outcome(difference.to_dict())


def _history(reader: Reader, node: ast.DescribeHistory, values: Values) -> Outcome:
    """Commits, newest first."""
    purpose = "DESCRIBE HISTORY"
    limit = HISTORY_PAGE
    if node.limit is not None:
        limit = min(values.positive(node.limit, "LIMIT"), HISTORY_MAX)
    cursor = None if node.cursor is None else values.cursor(node.cursor)
    path, actor, since, until = (
        None if text is None else values.text(text, f"{name} of {purpose}")
        for name, text in (
            ("path", node.path),
            ("actor", node.actor),
            ("since", node.since),
            ("until", node.until),
        )
    )
    where = LogFilter(
        None if path is None else path_of(path),
        actor=actor,
        after=None if since is None else before_moment(reader, since),
        until=None if until is None else entry_at(reader, until),
    )
    before = None if cursor is None else int(place_of(cursor, purpose))
    entries = list(transactions(reader, limit=limit + 1, before=before, where=where))
    page = entries[:limit]
    more = cursor_after(purpose, page[-1].seq) if len(entries) > limit else None
    return Outcome([entry.to_dict() for entry in page], more)


def _types(reader: Reader, node: ast.DescribeTypes, values: Values) -> Outcome:
    purpose = f"DESCRIBE {node.kind} TYPES"
    limit = TYPES_PAGE
    if node.limit is not None:
        limit = min(limit, values.positive(node.limit, "LIMIT"))
    cursor = None if node.cursor is None else values.cursor(node.cursor)
    after = "" if cursor is None else place_of(cursor, purpose)
    names = summary.definitions(reader, _META[node.kind], after=str(after), limit=limit + 1)
    more = cursor_after(purpose, names[limit - 1]) if len(names) > limit else None
    return Outcome(names[:limit], more)


def _definition(reader: Reader, kind: ast.ElementKind, name: str) -> Concept:
    concept = reader.concept_named(_META[kind], name)
    if concept is not None:
        return concept
    other: ast.ElementKind = "PROPOSITION" if kind == "CONCEPT" else "CONCEPT"
    if reader.concept_named(_META[other], name) is not None:
        hint = f"It is a {_CALLED[other]}: DESCRIBE {other} TYPE {quoted(name)}."
    else:
        close = did_you_mean(name, summary.definitions(reader, _META[kind]))
        hint = f"{close} DESCRIBE {kind} TYPES lists all; names are case-sensitive.".strip()
    raise NotFound(f"There is no {_CALLED[kind]} {shorten(name)!r}.", hint=hint)


def _defined(definition: Concept) -> JsonObject:
    """A definition, with the text of its declaration if a schema declares it."""
    payload = definition.to_dict()
    schema_type = declaration(payload["attributes"])
    if schema_type is None:
        return payload
    payload["attributes"].pop(PG)
    return payload | {"schema": format_declared(schema_type)}


# The description of a concept type.


def _concept_type(reader: Reader, name: str) -> JsonObject:
    definition = _definition(reader, "CONCEPT", name)
    number = reader.type_number(name)
    seen = summary.instances(reader, number, SAMPLED_ELEMENTS)
    links = summary.relationships(
        reader, [sampled_concept.number for sampled_concept in seen], SAMPLED_LINKS
    )
    count = summary.count_up_to(reader, "concept", "type", number, COUNT_MAX)
    return _defined(definition) | {
        "instance_count": count,
        **_at_least(count, "instance_count"),
        "sample_instances": _sample_instances(reader, definition, number, seen),
        "attributes_seen": _attributes_seen(
            sampled_concept.attributes_json for sampled_concept in seen
        ),
        "relationships": {
            "outgoing": _relationships(reader, links, "out", "object_types"),
            "incoming": _relationships(reader, links, "in", "subject_types"),
            "instances_looked_at": len(seen),
        },
        "example": f"FIND(?x) WHERE {{ ?x {{type: {quoted(name)}}} }} LIMIT 10",
    }


def _sample_instances(
    reader: Reader, definition: Concept, number: int, seen: list[summary.SampledConcept]
) -> list[str]:
    """Names of instances: the key instances of the definition first, then the most linked ones."""
    instances = definition.attributes.get("key_instances")
    keys = [key for key in instances if isinstance(key, str)] if isinstance(instances, list) else []
    live = [key for key in keys[:SHOWN] if key and reader.concept_named(number, key)]
    return list(
        dict.fromkeys([*live, *(sampled_concept.name for sampled_concept in seen[:SHOWN])])
    )[:SHOWN]


def _relationships(
    reader: Reader, links: Iterable[tuple[str, int, int | None, int]], direction: str, ends: str
) -> list[JsonObject]:
    counts: Counter[str] = Counter()
    others: dict[str, Counter[str]] = {}
    for way, predicate, other, count in links:
        if way == direction:
            name = reader.predicate_name(predicate)
            counts[name] += count
            others.setdefault(name, Counter())[_end_type(reader, other)] += count
    return [
        {"predicate": name, "links_seen": count, ends: _names(others[name])}
        for name, count in _ranked(counts)[:SHOWN]
    ]


# The description of a predicate.


def _predicate(reader: Reader, name: str) -> JsonObject:
    definition = _definition(reader, "PROPOSITION", name)
    number = reader.predicate_number(name)
    seen = summary.links_of(reader, number, SAMPLED_ELEMENTS)
    subjects = Counter(_end_type(reader, sampled_link.subject_type) for sampled_link in seen)
    objects = Counter(_end_type(reader, sampled_link.object_type) for sampled_link in seen)
    count = summary.count_up_to(reader, "proposition", "predicate", number, COUNT_MAX)
    attributes = definition.attributes
    apart = max(1, len(seen) // SAMPLE_LINKS_SHOWN)
    symmetric, transitive = (
        attributes.get(key) is True for key in ("is_symmetric", "is_transitive")
    )
    return _defined(definition) | {
        "link_count": count,
        **_at_least(count, "link_count"),
        "subject_types_seen": _names(subjects),
        "object_types_seen": _names(objects),
        "sample_links": [
            _sample_link(reader, name, sampled_link) for sampled_link in seen[::apart]
        ][:SAMPLE_LINKS_SHOWN],
        "attributes_seen": _attributes_seen(sampled_link.attributes_json for sampled_link in seen),
        "links_looked_at": len(seen),
        "is_symmetric": symmetric,
        "is_transitive": transitive,
        "advice": _advice(name, symmetric=symmetric, transitive=transitive),
        "example": f"FIND(?s, ?o) WHERE {{ (?s, {quoted(name)}, ?o) }} LIMIT 10",
    }


def _advice(name: str, *, symmetric: bool, transitive: bool) -> list[str]:
    lines = []
    if symmetric:
        lines.append(
            "Symmetric: a pattern finds a link in both directions. A link is stored once, so"
            " write it in one direction only."
        )
    if transitive:
        lines.append(
            f"Transitive: (?s, {quoted(name)}, ?o) finds stored links only. Find indirect links"
            f" with hops: (?s, {quoted(name)}{{1,}}, ?o)."
        )
    return lines


def _sample_link(reader: Reader, predicate: str, link: summary.SampledLink) -> JsonObject:
    return {
        "id": ids.link_id(link.number, predicate),
        "subject": _end(reader, link.subject, link.subject_type, link.subject_name),
        "object": _end(reader, link.object, link.object_type, link.object_name),
    }


def _end(reader: Reader, number: int, type_number: int | None, name: str | None) -> JsonObject:
    if type_number is None:
        return {"id": reader.outer_id(number)}
    return {"type": reader.type_name(type_number), "name": name}


# Helpers for types and predicates.


def _end_type(reader: Reader, type_number: int | None) -> str:
    """The type at an end of a link; an end that is a link has none."""
    if type_number is None:
        return "PropositionLink"
    return reader.type_name(type_number)


def _at_least(count: int, key: str) -> JsonObject:
    return {f"{key}_is_minimum": True} if count >= COUNT_MAX else {}


def _attributes_seen(texts: Iterable[str]) -> list[JsonObject]:
    """The attributes of sampled elements, the most frequent first, with their JSON types."""
    counts: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    for text in texts:
        for key, value in parse_object(text).items():
            counts[key] += 1
            kinds.setdefault(key, Counter())[json_type(value)] += 1
    return [
        {"key": key, "seen": count, "types": _names(kinds[key])}
        for key, count in _ranked(counts)[:ATTRIBUTES_SHOWN]
    ]


def _names(counts: Counter[str]) -> list[str]:
    return [name for name, _ in _ranked(counts)[:TYPES_SHOWN]]


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
