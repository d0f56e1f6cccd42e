"""`ReferenceNexus`: a command goes in, a result comes out, and nothing else happens.

A statement that writes works on a draft of the graph. The draft takes the graph's place when the
statement has succeeded, and is forgotten when it has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from mycel import capsules, kip
from mycel.kip import ast
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, SYSTEM_ACTOR
from tests.reference import envelope
from tests.reference.delete import delete_concept, delete_keys, delete_propositions
from tests.reference.describe import describe_domains, describe_type, type_names
from tests.reference.draft import Draft
from tests.reference.export import export
from tests.reference.find import answers, columns
from tests.reference.graph import Concept, Graph, JsonObject
from tests.reference.lifecycle import archive, restore, set_retention, supersede, take_stance
from tests.reference.merge import merge
from tests.reference.nearest import nearest
from tests.reference.pages import Pages
from tests.reference.parameters import Parameters
from tests.reference.scopes import misplaced_clauses
from tests.reference.targets import targets
from tests.reference.traverse import traverse
from tests.reference.update import update
from tests.reference.upsert import upsert

DEFAULT_ACTOR = "$self"


class ReferenceNexus:
    """A whole knowledge graph in plain Python objects, with every rule of KIP and no haste.

    It starts from the capsules that every nexus starts from. Time is a count of the statements
    that wrote, unless `clock_us` tells another one.
    """

    def __init__(
        self, *, actor: str = DEFAULT_ACTOR, clock_us: Callable[[], int] | None = None
    ) -> None:
        self.actor = actor
        self.graph = bootstrapped().copy()
        self._clock_us = clock_us
        self._writes = 0
        self._pages = Pages()

    def execute(
        self, command: str | ast.Command, parameters: Mapping[str, Any] | None = None
    ) -> Any:
        """Run one command, given as text or as a tree, and return its result.

        Raises:
            MycelError: with the code that the specification has for it; nothing has changed.
            NotImplementedError: it is beyond the reference.
        """
        return self.answer(command, parameters)["result"]

    def answer(
        self, command: str | ast.Command, parameters: Mapping[str, Any] | None = None
    ) -> JsonObject:
        """Run one command and return its whole answer: a result, a cursor, warnings.

        Raises:
            MycelError, NotImplementedError: as `execute` does.
        """
        tree = kip.parse(command) if isinstance(command, str) else command
        values = Parameters(parameters)
        if isinstance(tree, ast.Manipulation):
            return self._write(tree, values)
        return self._read(tree, values)

    def request(self, request: Any, *, readonly: bool = False) -> JsonObject:
        """Answer a request as KIP §6 describes it; errors are part of the answer."""
        return envelope.respond(self, request, readonly=readonly)

    def state(self) -> dict[tuple[Any, ...], JsonObject]:
        """All elements by their identities: (type, name), or (subject, predicate, object).

        Each with its attributes, metadata and version. Two engines that ran the same commands
        have the same state, even if their ids differ.
        """
        return self.graph.state()

    # Writing.

    def _write(self, statement: ast.Manipulation, values: Parameters) -> JsonObject:
        draft = Draft(self.graph, actor=self.actor, time_us=self._now_us())
        result = _run(draft, statement, values)
        warnings = draft.finish()
        self.graph = draft.graph
        self._writes += 1
        has_none = (ast.Capsule, ast.SetTypeRetention)
        where = () if isinstance(statement, has_none) else statement.where
        return _answer(result, None, [*misplaced_clauses(where), *warnings])

    def _now_us(self) -> int:
        return self._writes if self._clock_us is None else self._clock_us()

    # Reading.

    def _read(self, query: ast.Command, values: Parameters) -> JsonObject:
        match query:
            case ast.Find(as_of=None):
                page, cursor = self._pages.page(
                    query, values, lambda: answers(query, self.graph, values)
                )
                return _answer(columns(query, page), cursor, [*misplaced_clauses(query.where)])
            case ast.DescribeTypes(kind):
                page, cursor = self._pages.page(query, values, lambda: type_names(kind, self.graph))
                return _answer(page, cursor)
            case ast.DescribeType():
                return _answer(describe_type(query, self.graph, values))
            case ast.DescribeDomains():
                return _answer(describe_domains(self.graph))
            case ast.Export(target, where, include_archived=archived):
                page, cursor = self._pages.page(
                    query,
                    values,
                    lambda: targets(target, where, self.graph, values, include_archived=archived),
                )
                new = bootstrapped() if query.definitions else None
                capsule = export(page, self.graph, new)
                return _answer(capsule, cursor, [*misplaced_clauses(where)])
            case ast.Nearest():
                return _answer(nearest(query, self.graph, values))
            case ast.Traverse():
                result, warnings = traverse(query, self.graph, values)
                return _answer(result, None, warnings)
            case _:
                raise NotImplementedError(f"{type(query).__name__} is beyond the reference.")


def _run(draft: Draft, statement: ast.Manipulation, values: Parameters) -> JsonObject:
    match statement:
        case ast.Capsule():
            return upsert(draft, statement, values)
        case ast.DeleteKeys():
            return delete_keys(draft, statement, values)
        case ast.DeletePropositions():
            return delete_propositions(draft, statement, values)
        case ast.DeleteConcept():
            return delete_concept(draft, statement, values)
        case ast.Update():
            return update(draft, statement, values)
        case ast.MergeConcept():
            return merge(draft, statement, values)
        case ast.Archive():
            return archive(draft, statement, values)
        case ast.Restore():
            return restore(draft, statement, values)
        case ast.Supersede():
            return supersede(draft, statement, values)
        case ast.TakeStance():
            return take_stance(draft, statement, values)
        case ast.SetTypeRetention() | ast.SetRetention():
            return set_retention(draft, statement, values)


def _answer(result: Any, cursor: str | None = None, warnings: Sequence[str] = ()) -> JsonObject:
    answer = {"result": result}
    if cursor is not None:
        answer["next_cursor"] = cursor
    if warnings:
        answer["warnings"] = list(warnings)
    return answer


@cache
def bootstrapped() -> Graph:
    """The graph that every nexus starts from. Copy it before you change it.

    The two meta-types are there before the first command: without them nothing can be defined, not
    even they themselves.
    """
    graph = Graph()
    for name in (CONCEPT_TYPE, PROPOSITION_TYPE):
        number = graph.next_concept
        graph.elements[number] = Concept(number, CONCEPT_TYPE, name, {}, {}, 1, 0)
        graph.next_concept += 2
    for name in capsules.NAMES:
        tree = kip.parse(capsules.read(name))
        draft = Draft(graph, actor=SYSTEM_ACTOR, time_us=0)
        if isinstance(tree, ast.Capsule):
            upsert(draft, tree, Parameters())
        graph = draft.graph
    return graph
