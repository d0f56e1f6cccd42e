"""Example commands for a graph, made of its most frequent names.

A model that has never seen KIP learns it from these faster than from a grammar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mycel.engine.graph_facts import Facts
from mycel.engine.protection_guard import MEMBERSHIP
from mycel.kip.fragments import quoted
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER


def examples(facts: Facts, types: Sequence[str]) -> list[str]:
    """Commands that work on this graph; types that every graph has are taken last."""
    own = [name for name in types if name in facts.concepts and name not in facts.core_types]
    return list(_examples(facts, own or types))


def _examples(facts: Facts, types: Sequence[str]) -> Iterator[str]:
    name = quoted(types[0]) if types else None
    yield f"DESCRIBE CONCEPT TYPE {name}" if name else "DESCRIBE CONCEPT TYPES"
    if name:
        yield f"FIND(?x.name, ?x.attributes) WHERE {{ ?x {{type: {name}}} }} LIMIT 10"
    yield from _join(facts)
    predicate = next((each for each in facts.links if each != MEMBERSHIP), None)
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
    """A join along the most frequent links between concepts that are no definitions."""
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
