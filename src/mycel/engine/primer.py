"""DESCRIBE PRIMER and DOMAINS: the overview that a model reads before its first query (KIP §5.1.1).

The primer describes the agent, its knowledge, the structure of the knowledge and the commands. Its
size is limited: for a large graph it shows the largest domains and the most linked concepts, and
counts the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import orjson

from mycel.engine.graph_facts import DomainContents, Facts, by_size
from mycel.engine.outcome import Outcome
from mycel.engine.protection_guard import MEMBERSHIP
from mycel.kip.fragments import quoted
from mycel.model import ids
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, shorten
from mycel.model.values import JsonObject, parse_object
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.query import retention, summary
from mycel.store.query.reader import Reader

PRIMER_BYTES_MAX: Final = 16_000
"""The maximum number of bytes of the primer as JSON: about 4,000 tokens."""

IDENTITY_BYTES_MAX: Final = 5_000
"""The maximum number of bytes of the part of the primer that describes the agent."""

DOMAINS_LISTED_MAX: Final = 1_000
"""The maximum number of domains that DESCRIBE DOMAINS lists."""

DOMAINS_LOOKED_INTO_MAX: Final = 100
"""The maximum number of domains for which DESCRIBE DOMAINS reads the types of members."""

ENDS_SHOWN: Final = 3
"""The maximum number of types that the primer shows at each end of a predicate."""

NO_DOMAIN: Final = "(no domain)"
"""The heading of types and predicates that no domain claims."""

_SELF: Final = ("Person", "$self")
_IDENTITY_FIRST: Final = (
    "name", "handle", "person_class", "role", "persona", "mission", "core_mission", "goals",
    "core_directives", "directives", "capabilities", "strengths", "weaknesses", "values",
    "behavior_preferences", "identity_narrative", "status",
)  # fmt: skip
_IDENTITY_LEFT_OUT: Final = frozenset(
    ("avatar", "growth_log", "maintenance_log", "service_endpoints", "privacy_settings", "id")
)


_TRIMS: Final = ((12, 600), (8, 200), (4, 80))
"""Limits of one attribute, from large to small: items of a list, and characters of a text."""


class Detail(NamedTuple):
    """The sizes of one primer."""

    domains: int
    types_per_domain: int
    types: int
    text: int
    name: int
    """The maximum number of characters of the name of a domain or concept. Names of types are never
    cut."""


DETAILS: Final = (
    Detail(24, 12, 40, 160, 200),
    Detail(20, 8, 30, 100, 200),
    Detail(16, 6, 20, 80, 100),
    Detail(12, 5, 12, 60, 100),
    Detail(8, 3, 6, 40, 60),
    Detail(4, 2, 3, 30, 40),
    Detail(2, 1, 2, 30, 40),
)
"""Sizes from the largest to the smallest; the first whose primer fits the budget is taken."""


def primer(reader: Reader) -> JsonObject:
    """The cognitive primer of a graph."""
    facts = Facts(reader)
    identity = _identity(reader)
    payload: JsonObject = {}
    for detail in DETAILS:
        payload = _primer_fields(facts, identity, detail)
        if len(orjson.dumps(payload)) <= PRIMER_BYTES_MAX:
            break
    return payload


def domain_summaries(reader: Reader) -> Outcome:
    """All domains by name, each with its description and contents."""
    facts = Facts(reader)
    domains = facts.domains(DOMAINS_LISTED_MAX)
    summaries = [
        _summary(facts, domain, look_inside=place < DOMAINS_LOOKED_INTO_MAX)
        for place, domain in enumerate(domains)
    ]
    left_out = facts.domain_count - len(summaries)
    warnings = (f"{left_out} smaller domains are left out; FIND returns all.",) if left_out else ()
    return Outcome(sorted(summaries, key=lambda domain: str(domain["name"])), warnings=warnings)


def _summary(facts: Facts, domain: summary.Domain, *, look_inside: bool) -> JsonObject:
    if look_inside:
        domain_contents = facts.contents_of(domain)
        types, predicates = domain_contents.types, domain_contents.predicates
    else:
        types = facts.defined_types(domain.number)
        predicates = facts.defined_predicates(domain.number)
    return {
        "id": ids.concept_id(domain.number),
        "name": domain.name,
        "description": _description(parse_object(domain.attributes_json)),
        **_members(domain),
        "concept_types": types,
        "proposition_types": predicates,
    }


# The parts of the primer.


def _primer_fields(facts: Facts, identity: JsonObject, detail: Detail) -> JsonObject:
    concepts, links = facts.totals
    domain_contentses = facts.contents[: detail.domains]
    map_ = [_entry(domain_contents, detail) for domain_contents in domain_contentses]
    if facts.unclaimed.types or facts.unclaimed.predicates:
        map_.append(_entry(facts.unclaimed, detail))
    types = by_size(set(facts.type_names) - {CONCEPT_TYPE, PROPOSITION_TYPE}, facts.concepts)
    predicates = by_size(facts.predicate_names, facts.links)
    return {
        "identity": identity,
        "nexus": {
            "concepts": concepts,
            "links": links,
            "concept_types": len(facts.type_names),
            "proposition_types": len(facts.predicate_names),
        },
        "domain_map": map_,
        "total_domains": facts.domain_count,
        **_more("more_domains", facts.domain_count - len(domain_contentses)),
        "concept_types": [_type(facts, name, detail) for name in types[: detail.types]],
        **_more("more_concept_types", len(types) - detail.types),
        "proposition_types": [
            _predicate(facts, name, detail) for name in predicates[: detail.types]
        ],
        **_more("more_proposition_types", len(predicates) - detail.types),
        "maintenance": _maintenance(facts.reader),
        "how_to": {"use": list(_USE), "examples": _example_commands(facts, types)},
    }


def _maintenance(reader: Reader) -> JsonObject:
    """The time of the last cycle, the number of open tasks, and that of archived concepts."""
    return {
        "last_cycle": retention.cycle_state(reader).get("last"),
        "tasks_waiting": retention.count_open_tasks(reader),
        "archived": retention.count_archived(reader),
    }


def _identity(reader: Reader) -> JsonObject:
    type_name, name = _SELF
    concept = reader.find_concept(type_name, name)
    if concept is None:
        return {
            "name": None,
            "memory": _MEMORY,
            "note": f"There is no {type_name} {name!r} yet: the user is not described.",
        }
    return {
        "id": concept.id,
        "type": concept.type,
        "name": concept.name,
        "attributes": _self_portrait(concept.attributes),
        "memory": _MEMORY,
    }


def _self_portrait(attributes: JsonObject) -> JsonObject:
    """The attributes that describe the agent, as many as the budget allows."""
    first = [key for key in _IDENTITY_FIRST if key in attributes]
    rest = sorted(set(attributes) - set(first) - _IDENTITY_LEFT_OUT)
    payload: JsonObject = {}
    for key in (*first, *rest):
        if attributes[key] in (None, "", [], {}):
            continue
        for items, text in _TRIMS:
            value = _trimmed(attributes[key], items=items, text=text)
            if len(orjson.dumps(payload | {key: value})) <= IDENTITY_BYTES_MAX:
                payload[key] = value
                break
    return payload


def _trimmed(value: Any, *, items: int, text: int) -> Any:
    if isinstance(value, str):
        return shorten(value, text)
    if isinstance(value, list):
        members = [_trimmed(member, items=items, text=text // 2) for member in value[:items]]
        return [*members, f"… and {len(value) - items} more"] if len(value) > items else members
    if isinstance(value, dict):
        entries = list(value.items())[:items]
        return {key: _trimmed(member, items=items, text=text // 2) for key, member in entries}
    return value


def _entry(contents: DomainContents, detail: Detail) -> JsonObject:
    most, domain = detail.types_per_domain, contents.domain
    name = NO_DOMAIN if domain is None else shorten(domain.name, detail.name)
    description = (
        f"Types and predicates that no domain claims; assign them with {MEMBERSHIP!r}."
        if domain is None
        else shorten(_description(parse_object(domain.attributes_json)), detail.text)
    )
    entry = {
        "name": name,
        "description": description,
        "key_concept_types": contents.types[:most],
        **_more("more_concept_types", len(contents.types) - most),
        "key_proposition_types": contents.predicates[:most],
        **_more("more_proposition_types", len(contents.predicates) - most),
    }
    if domain is not None:
        entry |= _members(domain)
    if contents.members:
        entry["key_concepts"] = [
            {"type": type_, "name": shorten(member, detail.name)}
            for type_, member in contents.members[:most]
        ]
    return entry


def _members(domain: summary.Domain) -> JsonObject:
    key = "members" if domain.members < summary.DEGREE_MAX else "members_at_least"
    return {key: domain.members}


def _type(facts: Facts, name: str, detail: Detail) -> JsonObject:
    return {
        "name": name,
        **_size("instances", facts.concepts.get(name)),
        **_description_field(facts.definition(CONCEPT_TYPE_NUMBER, name), detail.text),
    }


def _predicate(facts: Facts, name: str, detail: Detail) -> JsonObject:
    attributes = facts.definition(PROPOSITION_TYPE_NUMBER, name)
    subjects, objects = facts.ends.get(name, (Counter(), Counter()))
    flags = [key for key in ("is_symmetric", "is_transitive") if attributes.get(key) is True]
    return {
        "name": name,
        **_size("links", facts.links.get(name)),
        **_ends("from", attributes.get("subject_types"), subjects, detail),
        **_ends("to", attributes.get("object_types"), objects, detail),
        **dict.fromkeys(flags, True),
        **_description_field(attributes, detail.text),
    }


def _ends(key: str, declared: object, seen: Counter[str], detail: Detail) -> JsonObject:
    """The types at one end of a predicate: the declared ones, or else the most frequent."""
    most = min(ENDS_SHOWN, detail.types_per_domain)
    if isinstance(declared, list) and declared and "*" not in declared:
        return {key: [shorten(str(name), 255) for name in declared[:most]]}
    usual = sorted(seen, key=lambda name: (-seen[name], name))[:most]
    return {key: usual} if usual else {}


def _size(key: str, count: summary.Count | None) -> JsonObject:
    if count is None:
        return {key: 0}
    return {key: count.rows} if count.exact else {f"about_{key}": count.rows}


def _description_field(definition: JsonObject, text: int) -> JsonObject:
    message = _description(definition)
    return {"description": shorten(message, text)} if message else {}


def _description(attributes: JsonObject) -> str:
    attribute = attributes.get("description")
    return attribute if isinstance(attribute, str) else ""


def _more(key: str, count: int) -> JsonObject:
    return {key: count} if count > 0 else {}


# Example commands. A model that has never seen KIP learns it faster from examples than from a
# grammar.

_MEMORY: Final = (
    "What I know and remember is a graph of concepts joined by propositions. It is kept between"
    " conversations, and I read and write it with KIP commands."
)

_USE: Final = (
    (
        "FIND matches patterns, SEARCH finds words when the exact name is unknown, TRAVERSE"
        " finds elements near a concept, DESCRIBE shows types. UPSERT writes, UPDATE changes"
        " many elements at once, MERGE joins duplicates, DELETE removes."
    ),
    (
        "Types and predicates are case-sensitive and must be defined before they are used. Read"
        ' a definition with DESCRIBE CONCEPT TYPE "…" or DESCRIBE PROPOSITION TYPE "…" before you'
        " use it."
    ),
    (
        "Search before you write: the same type and name mean the same concept, and writing it"
        " again adds to it."
    ),
    "Values that come from outside belong into parameters (:name), never into the command's text.",
)


def _example_commands(facts: Facts, types: Sequence[str]) -> list[str]:
    """Commands that work on this graph.

    They prefer types of this graph to types that every graph has.
    """
    own = [name for name in types if name in facts.concepts and name not in facts.core_types]
    return list(_examples(facts, own or types))


def _examples(facts: Facts, types: Sequence[str]) -> Iterator[str]:
    name = quoted(types[0]) if types else None
    yield f"DESCRIBE CONCEPT TYPE {name}" if name else "DESCRIBE CONCEPT TYPES"
    if name:
        yield f"FIND(?x.name, ?x.attributes) WHERE {{ ?x {{type: {name}}} }} LIMIT 10"
    yield from _join(facts)
    predicate = next((link for link in facts.links if link != MEMBERSHIP), None)
    if predicate is not None:
        yield (
            f"FIND(?a.type, COUNT(?link)) WHERE {{ ?link (?a, {quoted(predicate)}, ?b) }}"
            " ORDER BY COUNT(?link) DESC LIMIT 5"
        )
    yield "SEARCH CONCEPT :words LIMIT 5"
    if name:
        yield (
            f"UPSERT {{ CONCEPT ?new {{ {{type: {name}, name: :name}}"
            " SET ATTRIBUTES { description: :description } } }"
            " WITH METADATA { source: :source, confidence: 0.9 }"
        )


def _join(facts: Facts) -> Iterator[str]:
    """A FIND along the most frequent predicate between concepts, definitions left out."""
    meta = {CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER, None}
    for shape in facts.shapes:
        ends = (shape.subject_type, shape.object_type)
        if meta.isdisjoint(ends):
            subject, object_ = (quoted(facts.reader.type_name(end or 0)) for end in ends)
            predicate = quoted(facts.reader.predicate_name(shape.predicate))
            yield (
                f"FIND(?a.name, ?b.name) WHERE {{ ?a {{type: {subject}}} ?b {{type: {object_}}}"
                f" (?a, {predicate}, ?b) }} LIMIT 10"
            )
            return
