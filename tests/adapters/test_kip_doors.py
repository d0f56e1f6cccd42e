"""One command gives the same result, warnings and error through every door of KIP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from shutil import copyfile
from typing import Any, NamedTuple

import pytest

import mycel
from mycel.cli.session.shell import Shell
from mycel.errors import MycelError
from tests.adapters.cli.conftest import in_process
from tests.adapters.http.conftest import HTTP, Server
from tests.adapters.mcp.clients import connected

GARDEN = """
UPSERT {
  CONCEPT { {type: "$ConceptType", name: "Plant"} SET ATTRIBUTES {description: "It grows"} }
  CONCEPT { {type: "$PropositionType", name: "shades"} SET ATTRIBUTES {description: "Takes light"} }
}
UPSERT {
  CONCEPT ?oak { {type: "Plant", name: "Oak"} SET ATTRIBUTES {height_m: 20} }
  CONCEPT ?fern { {type: "Plant", name: "Fern"} }
  PROPOSITION { (?oak, "shades", ?fern) }
}
"""
GROW = 'UPDATE ?p SET ATTRIBUTES { height_m: :metres } WHERE { ?p {type: "Plant", name: "Oak"} }'
PUT = 'UPSERT { CONCEPT { {type: "Plant", name: :name} } }'
OAK = 'FIND(?p) WHERE { ?p {type: "Plant", name: "Oak"} }'


class Case(NamedTuple):
    """A command, how it is sent, and a word that the answer must have."""

    command: str
    parameters: Mapping[str, Any]
    options: Mapping[str, bool]
    expected: str


def case(
    command: str, expected: str, /, *, readonly: bool = False, dry_run: bool = False, **given: Any
) -> Case:
    return Case(command, given, {"readonly": readonly, "dry_run": dry_run}, expected)


CASES = (
    # Reads, with an open conflict at the oak.
    case(OAK, "an open conflict"),
    case(OAK, "an open conflict", readonly=True),
    case('FIND(?p.name, ?p) WHERE { ?p {type: "Plant"} } ORDER BY ?p.name', "an open conflict"),
    case('FIND(?p.name) WHERE { ?p {type: "Plant"} } ORDER BY ?p.name LIMIT 1', "next_cursor"),
    case('SEARCH CONCEPT "Oak" WITH TYPE "Plant" MODE "keyword"', "an open conflict"),
    case('TRAVERSE FROM {type: "Plant", name: "Fern"} DIRECTION "both"', "an open conflict"),
    case("DESCRIBE CONCEPT TYPES", "Plant"),
    case('EXPORT ?p WHERE { ?p {type: "Plant", name: "Fern"} }', "capsule"),
    case(f"EXPLAIN {OAK}", "sql"),
    # Warnings of other kinds.
    case('FIND(?p.name) WHERE { ?p {type: "Plant", name: ":name"} }', "only text", name="Oak"),
    case('FIND(?p.attributes.size) WHERE { ?p {type: "Plant"} }', "warnings"),
    case('FIND(?p) WHERE { ?p {type: "Plant", name: "Elm"} }', "warnings"),
    # Dry runs.
    case(OAK, "valid", dry_run=True),
    case('FIND(?p.name) WHERE { ?p {type: "Plant", name: ":x"} }', "only text", dry_run=True, x=1),
    case(f"EXPLAIN {OAK}", "valid", dry_run=True),
    case(f"EXPLAIN ANALYZE {GROW}", "would", dry_run=True, metres=1),
    case(PUT, "would", dry_run=True, name="Ash"),
    case(GROW, "would", dry_run=True, metres=7),
    case('UPSERT { CONCEPT { {type: "Tree", name: "x"} } }', "TypeMismatch", dry_run=True),
    case('FIND(?p) WHERE { ?p {type: "Tree"} }', "TypeMismatch", dry_run=True),
    # Refused writes.
    case(PUT, "only reading is allowed", readonly=True, name="Ash"),
    case(PUT, "only reading is allowed", readonly=True, dry_run=True, name="Ash"),
    case(GROW, "only reading is allowed", readonly=True, metres=7),
    case(f"EXPLAIN ANALYZE {GROW}", "only reading is allowed", readonly=True, metres=7),
    # Errors.
    case("FIND(?p WHERE {}", "InvalidSyntax"),
    case('FIND(?p) WHERE { ?p {type: "Tree"} }', "TypeMismatch"),
    case(OAK.replace('"Oak"', ":name"), "ReferenceError"),
    case(OAK.replace('"Oak"', ":name"), "InvalidValueType", name=5),
    case(PUT, "InvalidValueType", name=5),
    case('UPSERT { CONCEPT { {type: "Tree", name: "x"} } }', "TypeMismatch"),
    case('DELETE CONCEPT ?t DETACH WHERE { ?t {name: "$ConceptType"} }', "ImmutableTarget"),
    # Writes, and what they left.
    case(PUT, "upsert_concept_nodes", name="Ash"),
    case(f"{PUT} {PUT.replace(':name', ':other')}", "blocks", name="Yew", other="Box"),
    case(PUT.replace(":name", '":name"'), "only text", name="Ivy"),
    case(GROW, "matched", metres=25),
    case('DELETE CONCEPT ?p DETACH WHERE { ?p {type: "Plant", name: "Ash"} }', "deleted_concepts"),
    case('FIND(?p.name) WHERE { ?p {type: "Plant"} } ORDER BY ?p.name', "Yew"),
)

Door = Callable[[Case], Any]
"""Sends one command and returns the response of KIP, as its caller sees it."""


@pytest.fixture(scope="module")
def garden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with an open merge, whose conflict is about the height of the oak."""
    path = tmp_path_factory.mktemp("doors") / "garden.db"
    with mycel.open(path) as db:
        db.execute(GARDEN)
        db.branches.create("draft")
        db.execute(GROW, metres=21)
        with db.open_branch("draft") as draft:
            draft.execute(GROW, metres=22)
        assert db.merge("draft").unresolved
    return path


def python(path: Path, _stack: ExitStack) -> Door:
    def send(case: Case) -> Any:
        try:
            with mycel.open(path) as db:
                return db.execute(case.command, dict(case.parameters), **case.options).to_dict()
        except MycelError as error:
            return {"error": error.to_dict()}

    return send


def request_of(case: Case) -> dict[str, Any]:
    request = {"command": case.command, "parameters": dict(case.parameters)}
    return request | ({"dry_run": True} if case.options["dry_run"] else {})


def request(path: Path, stack: ExitStack) -> Door:
    db = stack.enter_context(mycel.open(path))
    return lambda case: db.request(request_of(case), readonly=case.options["readonly"])


def batch(path: Path, stack: ExitStack) -> Door:
    db = stack.enter_context(mycel.open(path))

    def send(case: Case) -> Any:
        wanted = request_of(case)
        wanted["commands"] = [wanted.pop("command")]
        (response,) = db.request(wanted, readonly=case.options["readonly"])["result"]
        return response

    return send


def command_line(path: Path, _stack: ExitStack) -> Door:
    def send(case: Case) -> Any:
        flags = [f"--{name.replace('_', '-')}" for name, is_on in case.options.items() if is_on]
        words = ["--db", str(path), "--json", "kip", case.command, *flags]
        done = in_process(*words, "--params", json.dumps(case.parameters))
        return done.object if done.status == 0 else {"error": done.error}

    return send


def session(path: Path, stack: ExitStack) -> Door:
    db = stack.enter_context(mycel.open(path))

    def send(case: Case) -> Any:
        shell = Shell(db, as_json=True, **case.options)
        shell.parameters |= case.parameters
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as error:
            assert shell.take(case.command)
        return json.loads(out.getvalue() or error.getvalue())

    return send


def http(path: Path, stack: ExitStack) -> Door:
    server = Server("mycel", "serve", "--db", path, "--port", "0", "--json")
    stack.callback(server.end)
    server.wait_until_ready()

    def send(case: Case) -> Any:
        method = "execute_kip_readonly" if case.options["readonly"] else "execute_kip"
        body = {"method": method, "params": request_of(case)}
        return HTTP.post(f"{server.url}/kip", json=body).json()

    return send


def mcp(path: Path, stack: ExitStack) -> Door:
    client = stack.enter_context(connected(path))

    def send(case: Case) -> Any:
        tool = "execute_kip_readonly" if case.options["readonly"] else "execute_kip"
        return client.call(tool, **request_of(case)).data

    return send


@pytest.fixture(scope="module")
def doors(garden: Path) -> Iterator[dict[str, Door]]:
    """Every door, each to a copy of the graph, so that each writes the same elements."""
    with ExitStack() as stack:
        opened = {}
        for make in (python, request, batch, command_line, session, http, mcp):
            path = garden.with_name(f"{make.__name__}.db")
            copyfile(garden, path)
            opened[make.__name__] = make(path, stack)
        yield opened


def comparable(response: Any) -> Any:
    """A response without hints, in which the command line names its own options."""
    if "error" in response:
        error = response["error"]
        return {key: error[key] for key in ("code", "name", "message")}
    return {key: response[key] for key in ("result", "next_cursor", "warnings") if key in response}


def test_every_door_gives_the_same_result_warnings_and_error(
    doors: dict[str, Door], garden: Path
) -> None:
    differences = []
    for each in CASES:
        responses = {name: send(each) for name, send in doors.items()}
        first = comparable(responses["python"])
        if each.expected not in json.dumps(responses["python"]):
            differences.append(f"{each}\n  {each.expected!r} is not in {responses['python']}")
        differences += [
            f"{each}\n  python: {first}\n  {name}: {comparable(response)}"
            for name, response in responses.items()
            if comparable(response) != first
        ]
    assert not differences, "\n".join(differences)

    def journal(name: str) -> list[tuple[str, int]]:
        with mycel.open(garden.with_name(f"{name}.db"), readonly=True) as db:
            return [(entry.message, entry.seq) for entry in db.history.log()]

    assert len(journal("python")) > len(journal("garden"))
    assert {name: journal(name) for name in doors} == dict.fromkeys(doors, journal("python"))
