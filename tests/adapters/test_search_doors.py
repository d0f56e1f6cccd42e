"""Every filter of a search through every door, and questions that nobody should ask."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.knowledge.knowledge import Knowledge
from tests.adapters.cli.conftest import in_process
from tests.adapters.http.conftest import HTTP, Server
from tests.adapters.mcp.clients import connected

Door = Callable[..., set[str]]
"""Takes a question and filters by their names in Python, returns the URIs that it found."""

CLAUSES = {
    "type": "WITH TYPE",
    "path": "UNDER",
    "workspace": "WORKSPACE",
    "actor": "ACTOR",
    "since": "SINCE",
    "until": "UNTIL",
    "metadata": "METADATA",
    "near": "NEAR",
    "as_of": "AS OF",
}
SHOP, PORT = "concept://shop/", "concept://port/"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two workspaces in one graph, written by two actors at two times; one note has changed."""
    made = tmp_path_factory.mktemp("doors") / "graph.db"
    hours = iter(range(1_000))
    with mycel.open(made, clock_us=lambda: 1_767_225_600_000_000 + next(hours) * 1_000_000) as db:
        with db.transaction(actor="ines") as tx:
            tx.define_type("Note")
            tx.define_type("Ship")
            tx.define_predicate("follows")
            tx.put_concept("Note", f"{PORT}tide", {"text": "harbour water"}, {"source": "log"})
            tx.put_concept("Ship", f"{PORT}boat", {"text": "harbour boat"})
        db.tag("first")
        with db.transaction(actor="omar") as tx:
            tx.put_concept("Note", f"{PORT}tide", {"text": "harbour flood"}, {"source": "log"})
            tx.put_concept("Note", f"{SHOP}cart", {"text": "harbour cart"})
            tx.put_concept("Note", f"{SHOP}till", {"text": "harbour till"})
            tx.put_proposition(f"{SHOP}cart", "follows", f"{SHOP}till")
    return made


@pytest.fixture(scope="module")
def doors(path: Path) -> Iterator[dict[str, Door]]:
    def kip(question: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        clauses = " ".join(f"{CLAUSES[name]} :{name}" for name in given)
        command = f'SEARCH CONCEPT :question MODE "keyword" {clauses} LIMIT 50'
        return command, {"question": question, **given}

    def cli(question: str, **given: Any) -> set[str]:
        words = ["--db", str(path), "search", question, "--mode", "keyword", "--kind", "concept"]
        for name, value in given.items():
            option = {"actor": "by", "as_of": "as-of", "workspace": "in-workspace"}.get(name, name)
            words += [f"--{option}", value if isinstance(value, str) else json.dumps(value)]
        done = in_process(*words, "--limit", "50", "--json")
        assert done.status == 0, done.stderr
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
                return {each["name"] for each in answer["result"]}

            def mcp(question: str, **given: Any) -> set[str]:
                told = session.ok(
                    "search_knowledge", query=question, mode="keyword", limit=50, **given
                )
                return {hit["uri"] for hit in told.data["hits"]}

            yield {
                "KIP": lambda question, **given: {
                    each["name"] for each in db.execute(*kip(question, given)).value
                },
                "db.search": lambda question, **given: {
                    element.name
                    for element, _ in db.search(
                        question, mode="keyword", kind="CONCEPT", limit=50, **given
                    )
                },
                "Knowledge.search": lambda question, **given: {
                    hit.uri for hit in knowledge.search(question, mode="keyword", limit=50, **given)
                },
                "mycel search": cli,
                "search_knowledge": mcp,
                "HTTP": http,
            }
        finally:
            server.process.terminate()
            server.process.wait()


ALL = {f"{PORT}tide", f"{PORT}boat", f"{SHOP}cart", f"{SHOP}till"}
FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, ALL),
    ({"type": "Ship"}, {f"{PORT}boat"}),
    ({"path": "concept://shop"}, {f"{SHOP}cart", f"{SHOP}till"}),
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
            assert door("harbour", **given) == expected, (name, given)
    for name, door in doors.items():
        assert door("water", as_of="first") == {f"{PORT}tide"}, name
        assert door("water") == set(), name


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
            found = door(question)
            assert found <= ALL, (name, question[:40])
            assert ("harbour " in f"{question} ") <= bool(found), (name, question[:40])
