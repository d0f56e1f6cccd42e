"""Every filter of a search through every door, and questions that nobody should ask."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import pytest

import mycel
from mycel.explorer.explorer import Explorer
from mycel.knowledge.knowledge import Knowledge
from tests.adapters.cli.conftest import in_process
from tests.adapters.http.conftest import HTTP, Server
from tests.adapters.mcp.clients import connected

Door = Callable[..., set[str]]
"""Takes a question and filters by their names in Python, returns the URIs that it found.

Warnings of the answer go to the list `warned`.
"""

CLAUSES = {
    "kind": "KIND",
    "type": "WITH TYPE",
    "path": "UNDER",
    "workspace": "WORKSPACE",
    "actor": "ACTOR",
    "since": "SINCE",
    "until": "UNTIL",
    "metadata": "METADATA",
    "near": "NEAR",
    "as_of": "AS OF",
    "mode": "MODE",
}
SHOP, PORT = "concept://shop/", "concept://port/"
CODE = f"{SHOP}src/till.py/openTill"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two workspaces in one graph, written by two actors at two times; one note has changed."""
    made = tmp_path_factory.mktemp("doors") / "graph.db"
    hours = iter(range(1_000))
    with mycel.open(made, clock_us=lambda: 1_767_225_600_000_000 + next(hours) * 1_000_000) as db:
        with db.transaction(actor="ines") as tx:
            tx.define_type("Note")
            tx.define_type("Ship")
            tx.define_type("Symbol")
            tx.define_predicate("follows")
            tx.put_concept("Note", f"{PORT}tide", {"text": "harbour water"}, {"source": "log"})
            tx.put_concept("Ship", f"{PORT}boat", {"text": "harbour boat"})
        db.history.tag("first")
        with db.transaction(actor="omar") as tx:
            tx.put_concept("Note", f"{PORT}tide", {"text": "harbour flood"}, {"source": "log"})
            tx.put_concept("Note", f"{SHOP}cart", {"text": "harbour cart"})
            tx.put_concept("Note", f"{SHOP}till", {"text": "harbour till"})
            tx.put_proposition(f"{SHOP}cart", "follows", f"{SHOP}till")
            stamp = {"_bootstrap": {"wrote": "x"}}
            tx.put_concept("Symbol", CODE, {"doc": "harbour entry"} | stamp)
    return made


@pytest.fixture(scope="module")
def warned() -> list[str]:
    return []


@pytest.fixture(scope="module")
def doors(path: Path, warned: list[str]) -> Iterator[dict[str, Door]]:
    def kip(question: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        types = given.pop("type", ())
        types = [types] if isinstance(types, str) else types
        clauses = " ".join(f"{CLAUSES[name]} :{name}" for name in given)
        if types:
            clauses += " WITH TYPE " + " | ".join(f":type{at}" for at in range(len(types)))
        given |= {f"type{at}": each for at, each in enumerate(types)}
        command = f"SEARCH CONCEPT :question {clauses} LIMIT 50"
        return command, {"question": question, **given}

    def cli(question: str, **given: Any) -> set[str]:
        words = ["--db", str(path), "search", question, "--element", "concept"]
        for name, value in given.items():
            option = {"actor": "by", "as_of": "as-of", "workspace": "in-workspace"}.get(name, name)
            for each in value if isinstance(value, list) else [value]:
                words += [f"--{option}", each if isinstance(each, str) else json.dumps(each)]
        done = in_process(*words, "--limit", "50", "--json")
        assert done.status == 0, done.stderr
        warned.append(done.stderr)
        return {json.loads(line)["name"] for line in done.stdout.splitlines()}

    with (
        mycel.open(path) as db,
        connected(path) as session,
    ):
        server = Server("mycel", "serve", "--db", path, "--port", "0", "--json")
        try:
            server.wait_until_ready()
            knowledge = Knowledge(db, workspace="port")

            def http(question: str, **given: Any) -> set[str]:
                command, parameters = kip(question, given)
                answer = HTTP.post(
                    f"{server.url}/kip", json={"command": command, "parameters": parameters}
                ).json()
                warned.extend(answer.get("warnings", ()))
                return {each["name"] for each in answer["result"]}

            def mcp(question: str, **given: Any) -> set[str]:
                told = session.ok("search_knowledge", query=question, limit=50, **given)
                warned.append(told.text)
                return {hit["uri"] for hit in told.data["hits"]}

            def execute(question: str, **given: Any) -> set[str]:
                result = db.execute(*kip(question, given))
                warned.extend(result.warnings)
                return {each["name"] for each in result.value}

            def search(question: str, **given: Any) -> set[str]:
                with catch_warnings(record=True) as told:
                    simplefilter("always")
                    found = db.search(question, element="CONCEPT", limit=50, **given)
                warned.extend(str(each.message) for each in told)
                return {element.name for element, _ in found}

            def know(question: str, **given: Any) -> set[str]:
                found = knowledge.search(question, limit=50, warnings=warned, **given)
                return {hit.uri for hit in found}

            yield {
                "KIP": execute,
                "db.search": search,
                "Knowledge.search": know,
                "mycel search": cli,
                "search_knowledge": mcp,
                "HTTP": http,
            }
        finally:
            server.end()


NOTES = {f"{PORT}tide", f"{PORT}boat", f"{SHOP}cart", f"{SHOP}till"}
ALL = NOTES | {CODE}
FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, ALL),
    ({"type": "Ship"}, {f"{PORT}boat"}),
    ({"type": ["Ship", "Symbol"]}, {f"{PORT}boat", CODE}),
    ({"kind": "notes"}, NOTES),
    ({"kind": "code"}, {CODE}),
    ({"kind": "any"}, ALL),
    ({"kind": "code", "type": ["Ship", "Note"]}, set()),
    ({"path": "concept://shop"}, {f"{SHOP}cart", f"{SHOP}till", CODE}),
    ({"workspace": "port"}, {f"{PORT}tide", f"{PORT}boat"}),
    ({"workspace": "por"}, set()),
    ({"actor": "ines"}, {f"{PORT}tide", f"{PORT}boat"}),
    ({"since": "2000-01-01", "until": "2000-01-02"}, set()),
    ({"since": "2020-01-01"}, ALL),
    ({"metadata": {"source": "log"}}, {f"{PORT}tide"}),
    ({"near": f"{SHOP}till"}, ALL),
    ({"as_of": "first"}, {f"{PORT}tide", f"{PORT}boat"}),
    ({"as_of": "first", "type": "Note", "workspace": "port"}, {f"{PORT}tide"}),
]


def test_every_filter_means_the_same_through_every_door(doors: dict[str, Door]) -> None:
    for given, expected in FILTERS:
        for name, door in doors.items():
            assert door("harbour", mode="keyword", **given) == expected, (name, given)
    for name, door in doors.items():
        assert door("water", mode="keyword", as_of="first") == {f"{PORT}tide"}, name
        assert door("water", mode="keyword") == set(), name


def test_notes_come_before_code_unless_the_question_asks_for_code(path: Path) -> None:
    with mycel.open(path) as db, connected(path) as session:
        known = Knowledge(db, workspace="shop")
        explorer = Explorer(db, known)
        for question, first in (("harbour", "notes"), ("openTill", "code")):
            hits = known.search(question)
            assert hits[0].kind == first, question
            shown = explorer.view("search", {"q": question})["hits"]
            assert [each["section"] for each in shown] == [hit.kind for hit in hits]
            told = session.ok("search_knowledge", query=question)
            assert [each["kind"] for each in told.data["hits"]] == [hit.kind for hit in hits]
        told = session.ok("search_knowledge", query="harbour")
        assert told.text.startswith("Notes:\n")
        assert f"\nCode:\n{told.data['hits'][-1]['score']:.2f} {CODE} " in told.text
        only = explorer.view("search", {"q": "harbour", "kind": "code"})["hits"]
        assert [each["id"] for each in only] == [CODE]
        for kind in ("notes", "code"):
            recalled = known.recall("harbour", kind=kind, max_cost=0)
            assert {each.uri for each in recalled.nodes} <= (NOTES if kind == "notes" else {CODE})
            told = session.ok("search_knowledge", query="harbour", kind=kind, context_tokens=1000)
            assert told.data["nodes"][0]["uri"] in (NOTES if kind == "notes" else {CODE})


def test_pages_of_a_search_show_every_hit_once_and_notes_before_code(path: Path) -> None:
    with connected(path) as session:
        told = session.ok("search_knowledge", query="harbour", limit=2)
        seen = [each["uri"] for each in told.data["hits"]]
        while cursor := told.data.get("next_cursor"):
            told = session.ok("search_knowledge", query="harbour", limit=2, cursor=cursor)
            seen += [each["uri"] for each in told.data["hits"]]
        assert sorted(seen) == sorted(ALL)


def test_questions_that_say_nothing_or_too_much_are_answered_by_every_door(
    doors: dict[str, Door],
) -> None:
    questions = [
        "the of and a",
        "\U0001f6a2\U0001f30a",
        "harbour гавань 海港 ميناء",
        '" OR NOT (title:* ^ NEAR) harbour"',
        "har\u0000bour",
        "harbour " * 2_000,
        "harbour " + "x" * 1_000_000,
    ]
    for question in questions:
        for name, door in doors.items():
            if name == "mycel search" and "\0" in question:
                continue  # No argument of a process has one.
            found = door(question, mode="keyword")
            assert found <= ALL, (name, question[:40])
            assert ("harbour " in f"{question} ") <= bool(found), (name, question[:40])


def test_an_answer_without_the_chosen_embedder_or_of_the_past_says_so_through_every_door(
    path: Path, doors: dict[str, Door], warned: list[str]
) -> None:
    chosen = Path(f"{path}.embedder")
    chosen.write_text("onnx:/nowhere\n", encoding="utf-8")
    try:
        for name, door in doors.items():
            warned.clear()
            assert door("harbour") == ALL, name
            assert "the embedder inside the package" in " ".join(warned), (name, warned)
    finally:
        chosen.unlink()
    for name, door in doors.items():
        warned.clear()
        assert door("harbour", as_of="first") == {f"{PORT}tide", f"{PORT}boat"}, name
        assert "goes by names and words" in " ".join(" ".join(warned).split()), (name, warned)
