"""Commands that work on a given graph, made of the names that it has most of.

A model that has never seen KIP learns it from these faster than from a grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import orjson

from mycel.engine.graph_facts import MEMBERSHIP, Facts
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER


def quoted(text: str) -> str:
    """A text as a string of KIP, which is one of JSON."""
    return orjson.dumps(text).decode()


_Example = Callable[["Facts", Sequence[str]], str | None]


def examples(facts: Facts, types: Sequence[str]) -> list[str]:
    """Commands that work on this graph, made of the names that it has most of.

    Types that every graph has are taken only when there is nothing else.
    """
    own = [name for name in types if name in facts.concepts and name not in facts.core_types]
    made = (example(facts, own or types) for example in _EXAMPLES)
    return [command for command in made if command is not None]


def _example_describe(facts: Facts, types: Sequence[str]) -> str | None:
    return f"DESCRIBE CONCEPT TYPE {quoted(types[0])}" if types else "DESCRIBE CONCEPT TYPES"


def _example_list(facts: Facts, types: Sequence[str]) -> str | None:
    if not types:
        return None
    return f"FIND(?x.name, ?x.attributes) WHERE {{ ?x {{type: {quoted(types[0])}}} }} LIMIT 10"


def _example_join(facts: Facts, types: Sequence[str]) -> str | None:
    meta = {CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER}
    for shape in facts.shapes:
        ends = (shape.subject_type, shape.object_type)
        if None in ends or meta & set(ends):
            continue
        subject, object_ = (facts.type_name(end or 0) for end in ends)
        return (
            f"FIND(?a.name, ?b.name) WHERE {{ ?a {{type: {quoted(subject)}}}"
            f" ?b {{type: {quoted(object_)}}}"
            f" (?a, {quoted(facts.predicate_name(shape.predicate))}, ?b) }} LIMIT 10"
        )
    return None


def _example_count(facts: Facts, types: Sequence[str]) -> str | None:
    for name in facts.links:
        if name != MEMBERSHIP:
            return (
                f"FIND(?a.type, COUNT(?link)) WHERE {{ ?link (?a, {quoted(name)}, ?b) }}"
                " ORDER BY COUNT(?link) DESC LIMIT 5"
            )
    return None


def _example_search(facts: Facts, types: Sequence[str]) -> str | None:
    return "SEARCH CONCEPT :words LIMIT 5"


def _example_write(facts: Facts, types: Sequence[str]) -> str | None:
    if not types:
        return None
    return (
        f"UPSERT {{ CONCEPT ?new {{ {{type: {quoted(types[0])}, name: :name}}"
        " SET ATTRIBUTES { description: :description } } }"
        " WITH METADATA { source: :source, confidence: 0.9 }"
    )


_EXAMPLES: Final[tuple[_Example, ...]] = (
    _example_describe,
    _example_list,
    _example_join,
    _example_count,
    _example_search,
    _example_write,
)
