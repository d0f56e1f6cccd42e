"""Batches: commands that write share a commit, and each is still a transaction of its own."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import mycel
from mycel.errors import CommitUncertain
from mycel.store.write import writer
from mycel.store.write.writer import GROUP_SIZE_MAX, Writer

TYPES = 'UPSERT { CONCEPT { {type: "$ConceptType", name: "River"} } }'
PUT = 'UPSERT { CONCEPT { {type: "River", name: :name} SET ATTRIBUTES { km: :km } } }'
LIST = 'FIND(?r.name) WHERE { ?r {type: "River"} } ORDER BY ?r.name'
MISTAKE = 'UPSERT { CONCEPT { {type: "Rivre", name: "x"} } }'


@pytest.fixture
def db(tmp_path: Path) -> Iterator[mycel.Graph]:
    with mycel.open(tmp_path / "graph.db", durability="off", actor="tester") as db:
        db.execute(TYPES)
        yield db


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[Exception | None]:
    """The commits that are made; one in place of which a failure stands fails."""
    made: list[Exception | None] = []
    commit = Writer._commit

    def counted(self: Writer, tools: Any) -> None:
        if made and isinstance(made[0], Exception):
            error = made.pop(0)
            self._roll_back(tools.connection)
            raise error
        commit(self, tools)
        made.append(None)

    monkeypatch.setattr(Writer, "_commit", counted)
    monkeypatch.setattr(writer, "GROUP_AGE_MAX_S", inf)  # However busy the machine is.
    return made


def put(name: str, km: object = 1) -> dict[str, Any]:
    return {"command": PUT, "parameters": {"name": name, "km": km}}


def ask(db: mycel.Graph, *commands: object) -> list[dict[str, Any]]:
    responses: list[dict[str, Any]] = db.request({"commands": list(commands)})["result"]
    return responses


def rivers(db: mycel.Graph) -> Any:
    return db.execute(LIST).value


def test_commands_that_follow_one_another_share_a_commit(
    db: mycel.Graph, commits: list[Exception | None]
) -> None:
    before = len(list(db.history.log()))
    answers = ask(db, *(put(f"r{n}") for n in range(20)))
    assert all(len(each["result"]["upsert_concept_nodes"]) == 1 for each in answers)
    assert len(commits) == 1
    assert len(list(db.history.log())) == before + 20
    ask(db, *(put(f"s{n}") for n in range(GROUP_SIZE_MAX + 1)))
    assert len(commits) == 3
    assert db.verify().problems == ()


def test_commands_that_take_long_are_committed_one_by_one(
    db: mycel.Graph, commits: list[Exception | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "GROUP_AGE_MAX_S", 0)  # As if each had taken that long.
    answers = ask(db, put("a"), put("b"), put("c"))
    assert ["error" in each for each in answers] == [False] * 3
    assert len(commits) == 3, "nobody waits for the whole batch"


def test_what_reads_sees_what_was_written_before_it(
    db: mycel.Graph, commits: list[Exception | None]
) -> None:
    answers = ask(db, put("a"), put("b"), LIST, "// another\n" + LIST, put("c"), LIST)
    assert [each["result"] for each in answers if isinstance(each["result"], list)] == [
        ["a", "b"],
        ["a", "b"],
        ["a", "b", "c"],
    ]
    assert len(commits) == 2


def test_one_that_fails_keeps_what_came_before_it_and_ends_the_batch(
    db: mycel.Graph, commits: list[Exception | None]
) -> None:
    answers = ask(db, put("a"), put("b"), MISTAKE, put("c"), LIST)
    assert ["error" in each for each in answers] == [False, False, True]
    assert rivers(db) == ["a", "b"]
    assert len(commits) == 1
    answers = ask(db, MISTAKE, put("c"))
    assert [each["error"]["code"] for each in answers] == ["KIP_2001"]
    answers = ask(db, put("c"), "UPSERT {", put("d"))  # No command: it stands in its place.
    assert ["error" in each for each in answers] == [False, True, False]
    assert rivers(db) == ["a", "b", "c", "d"]
    assert db.verify().problems == ()


def test_a_commit_that_fails_is_told_for_every_command_that_shared_it(
    db: mycel.Graph, commits: list[Exception | None]
) -> None:
    commits.append(CommitUncertain("The disk has gone."))
    answers = ask(db, put("a"), put("b"), LIST)
    assert [each["error"]["name"] for each in answers] == ["CommitUncertain"] * 2
    assert rivers(db) == []
    assert ["error" in each for each in ask(db, put("a"), put("b"), LIST)] == [False] * 3
    commits.insert(0, CommitUncertain("The disk has gone."))
    answers = ask(db, *(put(f"c{n}") for n in range(GROUP_SIZE_MAX + 5)))
    assert [each["error"]["name"] for each in answers] == ["CommitUncertain"] * GROUP_SIZE_MAX
    assert rivers(db) == ["a", "b"]
    assert db.verify().problems == ()


def test_a_graph_that_is_only_read_refuses_each_in_its_place(tmp_path: Path) -> None:
    mycel.open(tmp_path / "graph.db").close()
    with mycel.open(tmp_path / "graph.db", readonly=True) as db:
        (answer,) = ask(db, put("a"), put("b"))
        assert answer["error"]["name"] == "DatabaseReadOnly"


def test_batches_of_several_threads_are_all_written(db: mycel.Graph) -> None:
    answers: list[list[dict[str, Any]]] = []

    def send(at: int) -> None:
        answers.append(ask(db, *(put(f"t{at}-{n}") for n in range(30))))

    threads = [Thread(target=send, args=(at,)) for at in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [len(each) for each in answers] == [30] * 4
    assert len(rivers(db)) == 120
    assert db.verify().problems == ()


def test_every_kind_of_write_shares_the_commit(
    db: mycel.Graph, commits: list[Exception | None]
) -> None:
    river = '{type: "River", name: "Elbe"}'
    commands = [
        {"command": PUT, "parameters": {"name": "Elbe", "km": 1_094}},
        f"ARCHIVE ?r WHERE {{ ?r {river} }}",
        f"RESTORE ?r WHERE {{ ?r {river} }}",
        f"UPDATE ?r SET ATTRIBUTES {{ km: 1_095 }} WHERE {{ ?r {river} }}".replace("_", ""),
        f"DELETE CONCEPT ?r DETACH WHERE {{ ?r {river} }}",
    ]
    responses = db.request({"commands": commands})["result"]
    assert [response.get("error") for response in responses] == [None] * len(commands)
    assert len(commits) == 1
