"""The engine answers as the reference does: the same rows, the same errors, the same graph after.

Both get the same commands. Ids are each engine's own, so elements are compared by what identifies
them: type and name, or subject, predicate and object.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, Protocol

from hypothesis import given
from hypothesis import strategies as st

import mycel
from mycel.kip import ast
from tests.prepared import NEW, Prepared
from tests.properties.kip_commands import (
    CORE,
    KEYS,
    PREDICATES,
    TYPES,
    VOCABULARY,
    Command,
    changes,
    faulty_finds,
    finds,
    graphs,
)
from tests.reference import ReferenceNexus
from tests.reference.find import answers
from tests.reference.json_values import canonical
from tests.reference.parameters import Parameters
from tests.unit.engine.indexes import define_slots

ID = re.compile(r"C:[1-9][0-9]*|P:[1-9][0-9]*:[A-Za-z_][A-Za-z0-9_]*")
OUTSIDE_COMPARISON = ("_updated_at", "_version")
"""Metadata that depends on when and how often a graph was made, and is compared elsewhere."""
CLOCKED = ("archived_at", "restored_at", "valid_until", "at")
"""Metadata that may be a time of the engine's own clock: all texts are one there."""

Identity = tuple[Any, ...]


class Engine(Protocol):
    def request(self, request: dict[str, Any]) -> dict[str, Any]: ...


# Looking at an engine from outside.


def elements_of(engine: Engine) -> dict[str, dict[str, Any]]:
    """Every live element of an engine, by its id."""
    if isinstance(engine, ReferenceNexus):
        # Its elements are plain objects, and its FIND, which is slow, would show just these.
        found = [engine.graph.wire(number) for number in engine.graph.elements]
        return {element["id"]: element for element in found}
    types = engine.request({"command": 'FIND(?t.name) WHERE { ?t {type: "$ConceptType"} }'})
    found = []
    for name in types["result"]:
        command = "FIND(?c) INCLUDE ARCHIVED WHERE { ?c {type: :type} }"
        found += engine.request({"command": command, "parameters": {"type": name}})["result"]
    links = "FIND(?l) INCLUDE ARCHIVED WHERE { ?l (?s, ?p, ?o) }"
    found += engine.request({"command": links})["result"]
    return {element["id"]: element for element in found}


class Names:
    """What the ids of one engine stand for."""

    def __init__(self, engine: Engine, born: dict[Identity, int] | None = None) -> None:
        self.elements = elements_of(engine)
        self.born = born or {}
        """The versions with which an engine starts: bootstrapping may take it several steps."""

    @cached_property
    def versions(self) -> dict[Identity, int]:
        return {
            self.identity(id_): element["metadata"]["_version"]
            for id_, element in self.elements.items()
        }

    def identity(self, id_: str) -> Identity:
        element = self.elements[id_]
        if element["_type"] == "ConceptNode":
            return (element["type"], element["name"])
        ends = (self.identity(element["subject"]), self.identity(element["object"]))
        return (ends[0], element["predicate"], ends[1])

    @cached_property
    def state(self) -> dict[Identity, Any]:
        """The whole graph, in the form of `ReferenceNexus.state`, with values made comparable."""
        return {
            identity: (
                self.plain(element["attributes"]),
                self.plain(element["metadata"]),
                version - self.born.get(identity, 0),
            )
            for (identity, version), element in zip(
                self.versions.items(), self.elements.values(), strict=True
            )
        }

    def plain(self, value: Any) -> Any:
        """A value without what is this engine's own: hashable, and equal if it should be."""
        match value:
            case {"_type": "ConceptNode" | "PropositionLink", "id": str(id_)}:
                contents = (value["attributes"], value["metadata"])
                return "element", self.identity(id_), tuple(map(self.plain, contents))
            case dict():
                kept = {
                    key: "a time" if key in CLOCKED and isinstance(item, str) else item
                    for key, item in value.items()
                    if key not in OUTSIDE_COMPARISON
                }
                return "object", frozenset((key, self.plain(item)) for key, item in kept.items())
            case list():
                return "array", tuple(self.plain(item) for item in value)
            case str() if ID.fullmatch(value) and value in self.elements:
                return "id", self.identity(value)
            case bool() | None | str():
                return type(value).__name__, value
            case _:
                return "number", float(f"{value:.12g}")


def begin(engine: Engine) -> None:
    """What all graphs here have."""
    for command in (VOCABULARY, CORE):
        assert "result" in engine.request({"command": command})


BEGUN = Prepared(begin)


@cache
def begun_reference() -> ReferenceNexus:
    begin(made := ReferenceNexus())
    return made


@cache
def born() -> tuple[dict[Identity, int], dict[Identity, int]]:
    """The versions of what the engine and the reference start with."""
    with NEW.opened() as engine:
        return Names(engine).versions, Names(ReferenceNexus()).versions


class Pair:
    """An engine that has begun and the reference, with the same graph in both."""

    def __init__(self, engine: mycel.Graph, graph: Command) -> None:
        self.engine = engine
        self.reference = ReferenceNexus()
        self.reference.graph = begun_reference().graph.copy()
        for side in (self.engine, self.reference):
            assert "result" in side.request(graph.request), side.request(graph.request)

    def names(self) -> tuple[Names, Names]:
        ours, theirs = born()
        return Names(self.engine, ours), Names(self.reference, theirs)


@contextmanager
def pair_with(graph: Command) -> Iterator[Pair]:
    with BEGUN.opened() as engine:
        yield Pair(engine, graph)


@contextmanager
def indexed_pair_with(graph: Command) -> Iterator[Pair]:
    """The engine finds concepts and links by whatever they say; the reference knows no index."""
    with pair_with(graph) as pair:
        with pair.engine.transaction() as tx:
            for owner in (*TYPES, *PREDICATES):
                define_slots(tx, owner, **dict.fromkeys(KEYS, False))
        for side in (pair.engine, pair.reference):
            assert "result" in side.request({"command": NOTED})
        yield pair


NOTED = 'UPSERT { CONCEPT { {type: "$ConceptType", name: "Plant"} SET ATTRIBUTES { noted: 1 } } }'
"""Any change of a definition: plans are made anew after it."""


# FIND.


def rows_of(find: ast.Find, result: Any) -> list[list[Any]]:
    """The rows of a columnar result."""
    if all(isinstance(each, ast.Aggregate) for each in find.expressions):
        return [result] if len(find.expressions) > 1 else [[result]]
    if len(find.expressions) == 1:
        return [[value] for value in result]
    return [list(row) for row in zip(*result, strict=True)]


def groups_of(command: Command, reference: ReferenceNexus, names: Names) -> list[list[Any]]:
    """All rows that the reference has, in runs that ORDER BY does not tell apart."""
    assert isinstance(command.tree, ast.Find)
    groups: list[list[Any]] = []
    last_keys: Any = None
    for values, keys in answers(command.tree, reference.graph, Parameters(command.parameters)):
        told = [canonical(key) for key in keys]
        if not groups or told != last_keys:
            groups.append([])
        groups[-1].append(tuple(names.plain(value) for value in values))
        last_keys = told
    return groups


def check_rows(rows: list[Any], groups: list[list[Any]], limit: int | None) -> None:
    """The rows are as many as there should be, and come out of each run in turn."""
    total = sum(len(group) for group in groups)
    expected = total if limit is None else min(limit, total)
    assert len(rows) == expected, f"{len(rows)} rows instead of {expected}"
    for group in groups:
        run, rows = rows[: len(group)], rows[len(group) :]
        missing = Counter(group) - Counter(run)
        extra = Counter(run) - Counter(group)
        assert not extra, f"not to be there: {extra}"
        assert not missing or not rows, f"missing: {missing}"
        if not rows:
            return


def check_find(pair: Pair, command: Command) -> None:
    find = command.tree
    assert isinstance(find, ast.Find)
    ours, theirs = pair.names()
    response = pair.engine.request(command.request)
    assert "result" in response, response
    rows = [tuple(map(ours.plain, row)) for row in rows_of(find, response["result"])]
    limit = None if find.limit is None else Parameters(command.parameters).positive(find.limit)
    groups = groups_of(command, pair.reference, theirs)
    check_rows(rows, groups, limit)
    more = limit is not None and sum(map(len, groups)) > limit
    assert ("next_cursor" in response) == more


@given(graph=graphs(), commands=st.lists(finds(), min_size=1, max_size=3))
def test_the_engine_finds_what_the_reference_finds(graph: Command, commands: list[Command]) -> None:
    with pair_with(graph) as pair:
        for command in commands:
            check_find(pair, command)


@given(graph=graphs(), commands=st.lists(finds(), min_size=1, max_size=3))
def test_indexes_change_no_answer(graph: Command, commands: list[Command]) -> None:
    with indexed_pair_with(graph) as pair:
        for command in commands:
            check_find(pair, command)


@given(graph=graphs(), changes_=st.lists(changes(), min_size=1, max_size=3), command=finds())
def test_indexes_follow_every_change(
    graph: Command, changes_: list[Command], command: Command
) -> None:
    with indexed_pair_with(graph) as pair:
        ours, theirs = pair.names()
        for change in changes_:
            told, ours = outcome(pair.engine, change, ours)
            expected, theirs = outcome(pair.reference, change, theirs)
            assert told == expected, change
            assert ours.state == theirs.state, change
        check_find(pair, command)


@given(graph=graphs(), command=finds(depth=3))
def test_deeply_nested_blocks_mean_the_same_to_both(graph: Command, command: Command) -> None:
    with pair_with(graph) as pair:
        check_find(pair, command)


@given(command=faulty_finds())
def test_a_find_that_cannot_be_answered_is_refused_with_the_same_code(command: Command) -> None:
    with pair_with(Command(ast.Capsule((_SOMETHING,)))) as pair:
        refusal = pair.reference.request(command.request)["error"]
        response = pair.engine.request(command.request)
        assert response.get("error", response).get("code") == refusal["code"], refusal


@given(graph=graphs(), command=finds(depth=1), size=st.integers(1, 4))
def test_pages_put_together_are_the_whole_result(
    graph: Command, command: Command, size: int
) -> None:
    find = command.tree
    assert isinstance(find, ast.Find)
    paged = replace(find, limit=ast.Literal(size), cursor=None)
    whole = Command(replace(find, limit=None), command.parameters)
    with pair_with(graph) as pair:
        ours, theirs = pair.names()
        rows: list[Any] = []
        for result in pages(pair.engine.request, paged, command.parameters):
            rows += [tuple(map(ours.plain, row)) for row in rows_of(find, result)]
        check_rows(rows, groups_of(whole, pair.reference, theirs), None)


def pages(
    request: Callable[[dict[str, Any]], dict[str, Any]], find: ast.Find, parameters: Any
) -> Iterator[Any]:
    response = request(Command(find, parameters).request)
    yield response["result"]
    following = replace(find, cursor=ast.Placeholder("next_cursor"))
    while "next_cursor" in response:
        given_ = {**parameters, "next_cursor": response["next_cursor"]}
        response = request(Command(following, given_).request)
        yield response["result"]


# KML.


_SOMETHING = ast.Upsert(
    (
        ast.ConceptBlock(
            None, ast.ConceptMatcher(type=ast.Literal("Plant"), name=ast.Literal("Ash"))
        ),
    )
)


def outcome(engine: Engine, command: Command, before: Names) -> tuple[Any, Names]:
    """What a command came to: an error's code or a result, and the graph after it."""
    response = engine.request(command.request)
    after = Names(engine, before.born)
    if "error" in response:
        assert after.state == before.state, "a command that failed has changed something"
        return response["error"]["code"], after
    return after.plain(response["result"]), after


@given(graph=graphs(), commands=st.lists(changes(), min_size=1, max_size=4))
def test_the_engine_writes_what_the_reference_writes(
    graph: Command, commands: list[Command]
) -> None:
    with pair_with(graph) as pair:
        ours, theirs = pair.names()
        assert ours.state == theirs.state
        for command in commands:
            told, ours = outcome(pair.engine, command, ours)
            expected, theirs = outcome(pair.reference, command, theirs)
            assert told == expected, command
            assert ours.state == theirs.state, command


@given(graph=graphs(), command=changes())
def test_a_dry_run_tells_the_same_and_changes_nothing(graph: Command, command: Command) -> None:
    with pair_with(graph) as pair:
        before = Names(pair.engine).state
        dry = pair.engine.request({**command.request, "dry_run": True})
        assert Names(pair.engine).state == before
        refusal = pair.reference.request(command.request).get("error", {})
        assert dry.get("error", {}).get("code") == refusal.get("code")


@given(graph=graphs())
def test_a_capsule_that_is_repeated_changes_nothing(graph: Command) -> None:
    with pair_with(graph) as pair:
        before = Names(pair.engine).state
        assert "result" in pair.engine.request(graph.request)
        assert Names(pair.engine).state == before
