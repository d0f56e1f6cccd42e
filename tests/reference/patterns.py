"""The rows that one concept clause or link clause matches on its own.

A row says which variable is what: the number of an element, the name of a predicate, or null. No
clause knows the others. They meet in `join`, so their order cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from typing import NamedTuple, assert_never

from mycel.kip import ast
from mycel.model import ids
from tests.reference.graph import Concept, Graph, Link
from tests.reference.parameters import Parameters

Term = int | str | None
Row = dict[str, Term]


def join(*rows: Row) -> Row | None:
    """All rows as one, or None if two of them disagree. Null agrees with nothing, not even null."""
    joined: Row = {}
    for row in rows:
        for variable, term in row.items():
            if variable in joined and (term is None or joined[variable] != term):
                return None
            joined[variable] = term
    return joined


def distinct_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows, each once."""
    return list({frozenset(row.items()): row for row in rows}.values())


class Connection(NamedTuple):
    """A way from one element to another that a predicate allows."""

    subject: int
    object: int
    link: int | None
    """The link on which the way ends; none if it has no step at all."""
    row: Row
    """The value of a variable in the predicate's place."""


Ends = Callable[[int], list[Row]]
"""The rows under which an endpoint can be a given element."""


class Patterns:
    """Matches clauses against one graph."""

    def __init__(
        self, graph: Graph, parameters: Parameters, without: Set[int] = frozenset()
    ) -> None:
        """`without` are the elements that only those patterns find which name them."""
        self.graph = graph
        self.parameters = parameters
        self.without = without

    def rows(self, clause: ast.ConceptClause | ast.LinkClause) -> list[Row]:
        """Every row of the clause."""
        match clause:
            case ast.ConceptClause(variable, matcher):
                return [{variable.name: number} for number in self.concepts(matcher)]
            case ast.LinkClause(variable, ast.LinkById() as by_id):
                return [_named(variable, number) for number in self.link_by_id(by_id)]
            case ast.LinkClause(variable, ast.LinkPattern() as pattern):
                matches = self.matches(pattern)
                joined = [join(row, _named(variable, link)) for link, row in matches]
                return distinct_rows(row for row in joined if row is not None)
            case _:
                raise TypeError(clause)

    # Elements.

    def concepts(self, matcher: ast.ConceptMatcher) -> list[int]:
        """The concepts that a matcher describes. An id must be one of a concept."""
        found: list[Concept] = list(self.graph.concepts())
        if matcher.id is not None:
            number = ids.parse_concept_id(self.parameters.text(matcher.id))
            found = [concept for concept in found if concept.number == number]
        if matcher.type is not None:
            type_name = self.parameters.text(matcher.type)
            found = [concept for concept in found if concept.type == type_name]
        if matcher.name is not None:
            name = self.parameters.text(matcher.name)
            found = [concept for concept in found if concept.name == name]
        if matcher.id is None and None in (matcher.type, matcher.name):
            found = [concept for concept in found if concept.number not in self.without]
        return [concept.number for concept in found]

    def link_by_id(self, by_id: ast.LinkById) -> list[int]:
        """The link with this id, predicate included, if there is one."""
        text = self.parameters.text(by_id.id)
        number = ids.parse_link_id(text)
        return (
            [number] if number in self.graph.elements and self.graph.id_of(number) == text else []
        )

    def shown(self, endpoint: ast.Endpoint) -> str:
        """The words for an endpoint in a message."""
        match endpoint:
            case ast.Variable(name):
                return f"?{name}"
            case ast.ConceptMatcher(type_name, name, id_):
                said = (each for each in (id_, type_name, name) if each is not None)
                return " ".join(self.parameters.text(each) for each in said)
            case ast.LinkById(id_):
                return self.parameters.text(id_)
            case ast.LinkPattern(subject, _, object_):
                return f"such link from {self.shown(subject)} to {self.shown(object_)}"
            case _:
                assert_never(endpoint)

    # Links.

    def matches(self, pattern: ast.LinkPattern) -> list[tuple[int | None, Row]]:
        """Every link that fits the pattern, with the row under which it does."""
        subject_is = self.ends(pattern.subject)
        object_is = self.ends(pattern.object)
        found = []
        for step in self.steps(pattern.predicate):
            for subject in subject_is(step.subject):
                for object_ in object_is(step.object):
                    row = join(subject, step.row, object_)
                    if row is not None:
                        found.append((step.link, row))
        return found

    def ends(self, endpoint: ast.Endpoint) -> Ends:
        match endpoint:
            case ast.Variable(name):
                return lambda number: [{name: number}]
            case ast.ConceptMatcher():
                concepts = set(self.concepts(endpoint))
                return lambda number: [{}] if number in concepts else []
            case ast.LinkById():
                links = set(self.link_by_id(endpoint))
                return lambda number: [{}] if number in links else []
            case ast.LinkPattern():
                matches = self.matches(endpoint)
                return lambda number: [row for link, row in matches if link == number]
            case _:
                assert_never(endpoint)

    def steps(self, predicate: ast.Predicate) -> list[Connection]:
        match predicate:
            case ast.Literal() | ast.Placeholder():
                return self.single_steps(self.parameters.text(predicate))
            case ast.PredicateChoice(names):
                every = {self.parameters.text(name): None for name in names}
                return [step for name in every for step in self.single_steps(name)]
            case ast.Variable(variable):
                return [
                    step._replace(row={variable: name})
                    for name in self.graph.predicate_names()
                    for step in self.single_steps(name)
                ]
            case ast.PredicateHops(name, minimum, maximum):
                return list(self.walks(self.parameters.text(name), minimum, maximum))
            case _:
                assert_never(predicate)

    def single_steps(self, predicate: str) -> list[Connection]:
        """The links of a predicate; those of a symmetric one can be gone either way."""
        links: list[Link] = [
            link
            for link in self.graph.links()
            if link.predicate == predicate and link.number not in self.without
        ]
        steps = [Connection(link.subject, link.object, link.number, {}) for link in links]
        if self.graph.is_symmetric(predicate):
            steps += [Connection(link.object, link.subject, link.number, {}) for link in links]
        return steps

    def walks(self, predicate: str, minimum: int, maximum: int | None) -> Iterator[Connection]:
        """Every pair that some walk of a length within the bounds joins, each pair once.

        The link is the last one of a shortest such walk; of several, that with the least number.
        """
        steps = sorted(self.single_steps(predicate), key=lambda step: step.link or 0)
        # Whatever can be reached at all after `minimum` steps is reached within this many more.
        longest = minimum + len(self.graph.elements) if maximum is None else maximum
        for start in self.graph.elements:
            here = {start}
            joined: set[int] = set()
            is_concept = isinstance(self.graph.elements[start], Concept)
            if minimum == 0 and is_concept and start not in self.without:
                joined.add(start)
                yield Connection(start, start, None, {})
            for length in range(1, longest + 1):
                taken = [step for step in steps if step.subject in here]
                here = {step.object for step in taken}
                if not here:
                    break
                for step in taken if length >= minimum else []:
                    if step.object not in joined:
                        joined.add(step.object)
                        yield Connection(start, step.object, step.link, {})


def _named(variable: ast.Variable | None, term: Term) -> Row:
    return {} if variable is None else {variable.name: term}
