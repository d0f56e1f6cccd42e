"""DESCRIBE: the vocabulary of the graph (KIP §5.1)."""

from __future__ import annotations

from mycel.errors import NotFound, did_you_mean
from mycel.kip import ast
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from tests.reference.graph import Graph, JsonObject
from tests.reference.parameters import Parameters


def type_names(kind: ast.ElementKind, graph: Graph) -> list[str]:
    """`DESCRIBE … TYPES`: the names of all types, or of all predicates."""
    return sorted(graph.type_names() if kind == "CONCEPT" else graph.predicate_names())


def describe_type(node: ast.DescribeType, graph: Graph, values: Parameters) -> JsonObject:
    """`DESCRIBE … TYPE`: the node that defines it."""
    name = values.text(node.name)
    meta_type = CONCEPT_TYPE if node.kind == "CONCEPT" else PROPOSITION_TYPE
    definition = graph.concept(meta_type, name)
    if definition is None:
        known = type_names(node.kind, graph)
        raise NotFound(f"{name!r} is not defined.", hint=did_you_mean(name, known))
    return graph.wire(definition.number)


def describe_domains(graph: Graph) -> list[JsonObject]:
    """`DESCRIBE DOMAINS`: the name and description of each."""
    domains = [concept for concept in graph.concepts() if concept.type == "Domain"]
    return [
        {"name": domain.name, "description": domain.attributes.get("description")}
        for domain in sorted(domains, key=lambda domain: domain.name)
    ]
