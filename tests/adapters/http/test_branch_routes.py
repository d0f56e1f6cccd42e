"""Branches and merges over HTTP: made, merged, decided, and given up, each with its status."""

from pathlib import Path
from typing import Any

import mycel
from tests.adapters.http.conftest import HTTP, Server, Start

HEIGHT = 'UPDATE ?p SET ATTRIBUTES { height_m: :h } WHERE { ?p {type: "Plant", name: "Oak"} }'
FIND = 'FIND(?p.attributes.height_m) WHERE { ?p {type: "Plant", name: "Oak"} }'


def send(server: Server, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any]:
    answer = HTTP.request(method, f"{server.url}{path}", json=body, params=query)
    return answer.status_code, answer.json()


def grow(server: Server, height: int, **query: str) -> None:
    body = {"command": HEIGHT, "parameters": {"h": height}}
    assert server.ask(body, params=query).status_code == 200


def test_branches_are_made_merged_and_deleted(start: Start) -> None:
    server = start()
    status, made = send(server, "POST", "/branches", {"name": "draft"})
    assert (status, made["branch"], made["ahead"]) == (201, "draft", 0)
    assert "path" not in made
    grow(server, 21, branch="draft")
    grow(server, 22)
    status, merge = send(server, "POST", "/merges", {"source": "draft", "dry_run": True})
    assert (status, merge["status"], merge["id"]) == (200, "conflicts", "")
    status, merge = send(server, "POST", "/merges", {"source": "draft"})
    (conflict,) = merge["conflicts"]
    assert (status, conflict["base"], conflict["ours"], conflict["theirs"]) == (202, 20, 22, 21)
    here = f"/merges/{merge['id']}"
    assert send(server, "GET", here)[1]["conflicts"] == [conflict]
    assert [each["id"] for each in send(server, "GET", "/merges")[1]["merges"]] == [merge["id"]]
    wrong = {"resolutions": [{"conflict": "ffffffff", "choice": "ours"}]}
    status, refused = send(server, "POST", here, wrong)
    assert (status, refused["error"]["hint"][:21]) == (404, "GET /merges/ID lists ")
    status, refused = send(server, "GET", "/merges", branch="dratf")
    hint = "Did you mean 'draft'? GET /branches lists all of them."
    assert (status, refused["error"]["hint"]) == (404, hint)
    decided = {"resolutions": [{"conflict": conflict["id"], "choice": "theirs"}], "commit": False}
    status, merge = send(server, "POST", here, decided)
    assert (status, merge["conflicts"][0]["resolution"]) == (202, {"choice": "theirs"})
    assert server.run(FIND) == [22]
    status, merge = send(server, "POST", here, {"message": "The draft was right"})
    assert (status, merge["status"], server.run(FIND)) == (200, "merged", [21])
    assert send(server, "GET", here)[0] == 404
    assert send(server, "POST", "/merges", {"source": "draft"})[1]["status"] == "up_to_date"
    grow(server, 23, branch="draft")
    status, refused = send(server, "DELETE", "/branches/draft")
    assert (status, refused["error"]["data"]["ahead"] > 0) == (400, True)
    assert send(server, "DELETE", "/branches/draft", unmerged="true")[0] == 200
    assert [each["branch"] for each in send(server, "GET", "/branches")[1]["branches"]] == ["main"]


def test_a_merge_is_given_up_and_a_server_that_only_reads_begins_none(
    start: Start, graph: Path
) -> None:
    server = start()
    send(server, "POST", "/branches", {"name": "draft"})
    grow(server, 21, branch="draft")
    grow(server, 22)
    merge = send(server, "POST", "/merges", {"source": "draft"})[1]
    assert send(server, "DELETE", f"/merges/{merge['id']}")[1]["status"] == "aborted"
    into = send(server, "POST", "/merges", {"source": "main", "policy": "theirs"}, branch="draft")
    assert (into[0], into[1]["into"], into[1]["choices"][0]["side"]) == (200, "draft", "theirs")
    for body, status in (
        ({}, 400),
        ({"source": "nowhere"}, 404),
        ({"source": "draft", "policy": "random"}, 400),
        ({"source": "draft", "sauce": 1}, 400),
        ({"source": 5}, 400),
    ):
        assert send(server, "POST", "/merges", body)[0] == status, body
    reading = start("--readonly")
    for method, path, body in (
        ("POST", "/branches", {"name": "x"}),
        ("POST", "/merges", {"source": "draft"}),
        ("DELETE", "/branches/draft", None),
    ):
        assert send(reading, method, path, body)[0] == 403
    assert send(reading, "GET", "/merges")[0] == 200
    with mycel.open(graph) as db:
        assert db.branches.names() == ["main", "draft"]
